/* Hosts, and what is said of nodes that are not alike. */
#include "detector/nodes/provenance.h"
#include "tests/unit/unit.h"

TEST(the_longest_name_of_a_host_is_kept_whole) {
    char name[ND_HOST_BYTES] = "";
    struct nd_host h;
    memset(name, 'n', sizeof name - 1);
    if (unshare(CLONE_NEWUTS) || sethostname(name, sizeof name - 1))
        SKIP("cannot give this process a host name of its own: needs CAP_SYS_ADMIN");
    nd_host_read(&h);
    assert_string_equal(h.host, name);
}

static struct nd_host host(const char *name, const char *model, int n_allowed, int n_ranks) {
    struct nd_host h = {.kernel = "Linux 6.1", .smt = 1, .n_allowed = n_allowed, .n_ranks = n_ranks};
    strcpy(h.host, name);
    strcpy(h.cpu_model, model);
    return h;
}

TEST(the_nodes_that_differ_from_most_are_named) {
    struct nd_host alike[3] = {host("a", "X", 4, 4), host("b", "X", 4, 4),
                               host("c", "", 0, 4)}; /* nothing is known of c's */
    struct nd_host hosts[4] = {host("a", "Y", 8, 4), host("b", "X", 4, 4), host("c", "X", 4, 4),
                               host("d", "X", 4, 2)};
    char line[400] = "x";
    assert_int_equal(nd_unlike_describe(alike, 3, line, sizeof line), 0);
    assert_string_equal(line, "");
    assert_int_equal(nd_unlike_describe(hosts, 4, line, sizeof line), 3);
    assert_string_equal(line, "CPU model: X, but Y on a; CPUs: 4, but 8 on a; ranks: 4, but 2 on d");
}

TEST(many_nodes_that_differ_are_counted) {
    enum { N = 4000 };
    struct nd_host *hosts = calloc(N, sizeof *hosts);
    char line[300];
    assert_non_null(hosts);
    for (int i = 0; i < N; i++)
        hosts[i] = host("n", "X", 1 + i % 2000, 1); /* 2000 kinds of nodes, two of each */
    assert_int_equal(nd_unlike_describe(hosts, N, line, sizeof line), 1);
    assert_string_equal(
        line, "CPUs: 1, but 2 on n, 3 on n, 4 on n, 5 on n, 6 on n, 7 on n and another on 3992 more");
    char little[20];
    nd_unlike_describe(hosts, N, little, sizeof little);
    assert_string_equal(little, "CPUs: 1, but 2 on n");
    free(hosts);
}
