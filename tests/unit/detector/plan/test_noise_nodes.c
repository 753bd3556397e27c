/* Which nodes have the noise, by the names of hosts, and at which phase. */
#include "detector/plan/noise_nodes.h"
#include "tests/unit/unit.h"

TEST(a_name_means_a_host_with_or_without_the_domain) {
    static const struct {
        const char *host, *name;
        int is_called;
    } rows[] = {{"n1", "n1", 1},
                {"n1", "n1.example.org", 1},
                {"n1.example.org", "n1", 1},
                {"n1.example.org", "n1.example.org", 1},
                {"n1.a.org", "n1.b.org", 0},
                {"n1", "n11", 0},
                {"n11", "n1", 0},
                {"n11.a.org", "n1", 0},
                {"N1", "n1.A.org", 1},
                {"N1.a.org", "n1.A.ORG", 1},
                {"", "n1", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (nd_host_is_called(rows[i].host, rows[i].name) != rows[i].is_called)
            fail_msg("'%s' and '%s'", rows[i].host, rows[i].name);
}

TEST(a_list_holds_its_nodes_and_first_only_that_of_rank_0) {
    static char *names[] = {"n2", "n3.example.org"};
    static const struct {
        enum nd_which_nodes which;
        const char *host;
        int has_rank_0, holds;
    } rows[] = {{ND_NODES_LISTED, "n2.example.org", 0, 1},
                {ND_NODES_LISTED, "n3", 0, 1},
                {ND_NODES_LISTED, "n1", 1, 0},
                {ND_NODES_FIRST, "n1", 1, 1},
                {ND_NODES_FIRST, "n2", 0, 0},
                {ND_NODES_ALL, "n9", 0, 1}};
    for (int i = 0; i < 6; i++) {
        const struct nd_nodes nodes = {.which = rows[i].which, .hosts = {.names = names, .n = 2}};
        assert_int_equal(nd_nodes_hold(&nodes, rows[i].host, rows[i].has_rank_0), rows[i].holds);
    }
}

TEST(staggered_nodes_share_the_period_evenly) {
    for (int n = 1; n < 8; n++)
        for (int i = 0; i < n; i++) {
            double at = nd_noise_phase(ND_PHASE_STAGGERED, 0.123, 0.9, i, n), away = at - 0.9;
            if (away < 0) away += 1;
            assert_true(at >= 0 && at < 1);
            assert_float_equal(away, (double)i / n, 1e-12);
            assert_float_equal(nd_noise_phase(ND_PHASE_ALIGNED, 0.123, 0.9, i, n), 0.9, 0);
            assert_float_equal(nd_noise_phase(ND_PHASE_RANDOM, 0.123, 0.9, i, n), 0.123, 0);
        }
}
