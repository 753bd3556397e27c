/* Ranks that may use fewer CPUs than they are, by what they are bound to. */
#include "detector/nodes/quiet.h"
#include "tests/unit/unit.h"

static const struct nd_host hosts[] = {{.host = "n1"}, {.host = "n2"}, {.host = "n3"}};

/* `places`: "NODE:CPUS" of each rank, divided by blanks. */
static int tell(const char *places, char *line, size_t size) {
    struct nd_binding bindings[16];
    int n = 0, used;
    memset(bindings, 0, sizeof bindings);
    for (; sscanf(places, " %d:%127s%n", &bindings[n].node, bindings[n].cpus, &used) == 2; n++) places += used;
    return nd_crowd_tell(bindings, n, hosts, 3, line, size);
}

TEST(ranks_with_fewer_cpus_than_they_are_are_named_with_the_cpus) {
    static const struct { const char *places; int n; const char *line; } rows[] = {
        {"0:0 0:1 1:0 1:1 2:0-3 2:0-3", 0, ""}, {"0:0-1 0:0-1", 0, ""}, {"0:1 0:1", 1, "2 ranks of n1 may use CPU 1 only"},
        /* their CPUs together would do, but these three cannot have them */
        {"0:0-7 0:2-3 0:3 0:2-3", 1, "3 ranks of n1 may use CPUs 2-3 only"},
        {"0:0 0:0,4 0:4", 1, "3 ranks of n1 may use CPUs 0,4 only"},
        {"0:5 1:5 2:5", 0, ""},
        /* nodes mixed, and not in order */
        {"2:1 0:0 1:1 0:1 2:1 1:1", 2, "2 ranks of n2 may use CPU 1 only, and so on 1 other node(s)"},
    };
    char line[200];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(tell(rows[i].places, line, sizeof line), rows[i].n);
        assert_string_equal(line, rows[i].line);
    }
}

TEST(a_list_that_was_cut_off_says_nothing) {
    char line[200];
    struct nd_binding bindings[2] = {{.node = 0}, {.node = 0}};
    for (int i = 0; i < 2; i++) memset(bindings[i].cpus, '1', sizeof bindings[i].cpus - 1);
    assert_int_equal(nd_crowd_tell(bindings, 2, hosts, 3, line, sizeof line), 0);
    strcpy(bindings[0].cpus, "");
    strcpy(bindings[1].cpus, "what");
    assert_int_equal(nd_crowd_tell(bindings, 2, hosts, 3, line, sizeof line), 0);
}
