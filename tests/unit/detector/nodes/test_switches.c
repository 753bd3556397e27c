/* The switches above a node, from what Slurm puts into the environment of a task. */
#include "detector/nodes/provenance.h"
#include "tests/unit/unit.h"
#include "detector/nodes/switches.h"

static const char two[] = "switch.switch.node";

TEST(a_switch_is_that_of_all_nodes_below_it_whatever_they_are_called) {
    static const struct {
        const char *address, *pattern, *node, *switches;
    } rows[] = {
        {"s0.s5.node7", two, NULL, "s0.s5"},
        {"s0.s5.node7", two, "node7", "s0.s5"},
        {"s0.s5.node7.cluster.local", two, NULL, "s0.s5"},
        {"s0.s5.node7.cluster.local", two, "node7.cluster.local", "s0.s5"},
        {"leaf.node7", "switch.node", NULL, "leaf"},
        /* brackets hold points and commas; one leaf in three spellings */
        {"opasw[06,14-15,07].node7", "switch.node", NULL, "opasw06,opasw07,opasw14,opasw15"},
        {"opasw[06-07,14-15].node8", "switch.node", NULL, "opasw06,opasw07,opasw14,opasw15"},
        {"opasw06,opasw[14,15],opasw07.node9", "switch.node", NULL, "opasw06,opasw07,opasw14,opasw15"},
        /* too few fields, points in a switch's name, no address, other patterns: not known */
        {"s0.node7", two, NULL, ""},
        {"s0.s5.", two, NULL, ""},
        {"s0..node7", two, NULL, ""},
        {"s0.leaf.x.node7", two, "node7", ""},
        {"s[0.node7", "switch.node", NULL, ""},
        {"node7", "node", NULL, ""},
        {"b1.node7", "block.node", NULL, ""},
        {"s0.s5.node7", "switches.switch.node", NULL, ""},
        {"s0.s5.node7", NULL, NULL, ""},
        {NULL, two, NULL, ""},
    };
    char got[128];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nd_switches_read(rows[i].address, rows[i].pattern, rows[i].node, got, sizeof got);
        assert_string_equal(got, rows[i].switches);
    }
}

TEST(many_switches_that_differ_in_the_last_stay_different) {
    char a[64], b[64], c[64];
    nd_switches_read("spine[001-128].leaf.n1", two, "n1", a, sizeof a);
    nd_switches_read("spine[001-127,129].leaf.n1", two, "n1", b, sizeof b);
    nd_switches_read("spine[128,001-127].leaf.n2", two, "n2", c, sizeof c);
    assert_int_equal(strlen(a), sizeof a - 1);
    assert_string_not_equal(a, b);
    assert_string_equal(a, c);
}

TEST(a_host_reads_them_from_its_environment) {
    struct nd_host h;
    setenv("SLURM_TOPOLOGY_ADDR", "s0.s5.node7.cluster.local", 1);
    setenv("SLURM_TOPOLOGY_ADDR_PATTERN", two, 1);
    unsetenv("SLURMD_NODENAME");
    nd_host_read(&h);
    assert_string_equal(h.switches, "s0.s5");
    setenv("SLURMD_NODENAME", "local", 1);
    nd_host_read(&h);
    assert_string_equal(h.switches, "");
}
