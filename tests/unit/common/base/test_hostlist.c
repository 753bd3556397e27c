/* Lists of nodes: what Slurm's scontrol show hostnames makes of them, and more that sites write. */
#include "common/base/nl_hostlist.h"
#include "tests/unit/unit.h"

/* The names with blanks between them; or "!" and the reason. */
static const char *read_list(const char *text, int max) {
    static char all[4096];
    struct nl_hostlist list;
    char reason[256];
    if (nl_hostlist_read(text, max, &list, reason, sizeof reason)) {
        assert_int_equal(list.n, 0);
        snprintf(all, sizeof all, "!%s", reason);
        return all;
    }
    all[0] = '\0';
    for (int i = 0; i < list.n; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? " " : "", list.names[i]);
    nl_hostlist_free(&list);
    return all;
}

/* What is wrong begins with an !; Slurm's own reader knows no suffixes and no brackets within brackets. */
static const char *const lists[][2] = {
    {"n1", "n1"},
    {"n1,n2.example.org,a_b-c", "n1 n2.example.org a_b-c"},
    {"n[1-3]", "n1 n2 n3"},
    {"n[3,1-2]", "n3 n1 n2"},
    {"n[08-11]", "n08 n09 n10 n11"},
    {"n[8-011]", "n8 n9 n10 n11"},
    {"n[01-3,005]", "n01 n02 n03 n005"},
    {"n[1-2]c[0-1]", "n1c0 n1c1 n2c0 n2c1"},
    {"n[0-1][0-1]", "n00 n01 n10 n11"},
    {"a-[1-2],b[7]", "a-1 a-2 b7"},
    {"n[999999999999999999]", "n999999999999999999"},
    {"n[1-2]-ib.cluster.local,x", "n1-ib.cluster.local n2-ib.cluster.local x"},
    {"opasw[06,14-15,07].x", "opasw06.x opasw14.x opasw15.x opasw07.x"},
    {"n[1-2,[4-5],9]", "n1 n2 n4 n5 n9"},
    {"n[1[0-2],5]", "n10 n11 n12 n5"},
    {"n[[1-2],[3,[4]]]x[0]", "n1x0 n2x0 n3x0 n4x0"},
    {"", "!the list is empty"},
    {"a,", "!the list is empty or has an empty part"},
    {",a", "!empty part"},
    {"a,,b", "!empty part"},
    {"n[1-3", "!'n[1-3': a bracket has no end"},
    {"n[1-3,x", "!a bracket has no end"},
    {"n1-3]", "!'n1-3]' is not a name"},
    {"n[1]]", "!'n1]' is not a name"},
    {"n[]", "!'' in brackets is no number"},
    {"n[1,,2]", "!'' in brackets"},
    {"n[a,b]", "!'a' in brackets is no number and no range"},
    {"n[-3]", "!'-3' in brackets"},
    {"n[1-]", "!'1-' in brackets"},
    {"n[1-2-3]", "!'1-2-3' in brackets"},
    {"n[1-[2-3]]", "!'1-[2-3]' in brackets"},
    {"n[00x11]", "!'00x11' in brackets"},
    {"n[1, 2]", "!' 2' in brackets"},
    {"n[5-3]", "!'5-3' in brackets runs backwards"},
    {"n[3,1-3]", "!'n3' stands twice"},
    {"n1,n[1-2]", "!'n1' stands twice"},
    {"a b", "!'a b' is not a name"},
    {"-n", "!'-n' is not a name"},
    {".n", "!'.n' is not a name"},
    {"n/../m", "!is not a name"},
    {"n[0-8]", "!more than 8 nodes"},
    {"n[0-999999999999999999]", "!more than 8 nodes"},
    {"n[9999999999999999999]", "!'9999999999999999999' in brackets"},
};

TEST(a_list_is_read_as_slurm_reads_it_and_what_is_none_is_refused_with_the_part_that_is_wrong) {
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *wanted = lists[i][1], *got = read_list(lists[i][0], *wanted == '!' ? 8 : 100);
        int is_right = *wanted == '!' ? *got == '!' && strstr(got, wanted + 1) : strcmp(got, wanted) == 0;
        if (!is_right) fail_msg("'%s': %s", lists[i][0], got);
    }
}
