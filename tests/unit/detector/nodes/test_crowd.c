/* Ranks that are bound to one CPU together. */
#include "detector/nodes/quiet.h"
#include "tests/unit/unit.h"

TEST(ranks_that_share_the_one_cpu_they_may_use_are_named_with_it) {
    static const struct nd_host hosts[] = {{.host = "n1"}, {.host = "n2"}, {.host = "n3"}};
    /* NODE:CPU of each rank, -1: several */
    static const struct { const char *places; int n; const char *line; } rows[] = {
        {"0:0 0:1 1:0 1:1 2:-1 2:-1", 0, ""},
        {"0:1 0:1", 1, "2 ranks of n1 may use CPU 1 only"},
        {"0:2 0:2 0:3 0:3 0:3", 1, "3 ranks of n1 may use CPU 3 only"},
        {"0:5 1:5 2:5", 0, ""},
        {"2:1 0:0 1:1 0:1 2:1 1:1", 2, "2 ranks of n2 may use CPU 1 only, and so on 1 other node(s)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nd_binding bindings[16];
        char line[200];
        int n = 0, used;
        for (const char *at = rows[i].places; sscanf(at, " %d:%d%n", &bindings[n].node, &bindings[n].cpu, &used) == 2; n++) at += used;
        assert_int_equal(nd_crowd_tell(bindings, n, hosts, line, sizeof line), rows[i].n);
        assert_string_equal(line, rows[i].line);
    }
}
