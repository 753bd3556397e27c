/* What files and LIKWID's regions call an arm. */
#include "detector/record/markers.h"
#include "tests/unit/detector/parsed.h"
#include "tests/unit/unit.h"

TEST(files_and_regions_call_an_arm_by_what_it_has) {
    static struct nd_options o;
    static char *const words[] = {"noiselab-detect", "--agent=--agent-cmd 'collectd -f'", "--levels=0.3",
                                  "--op=barrier,alltoall", NULL};
    static char *const crossed[] = {"noiselab-detect",
                                    "--levels=0.3",
                                    "--op=barrier",
                                    "--pattern=periodic,poisson",
                                    "--on=rank:0,rank:1",
                                    "--on=last",
                                    NULL};
    static const char *const names[] = {
        "barrier:off",       "barrier:spin_0.3",       "barrier:collectd",
        "alltoall_2048:off", "alltoall_2048:spin_0.3", "alltoall_2048:collectd"};
    char name[ND_REGION_BYTES];
    struct nd_arm_words w;
    assert_int_equal(parsed(&o, words), 1);
    for (int i = 0; i < 6; i++)
        assert_string_equal(nd_markers_name(&o, i, name), names[i]);
    nd_arm_tell(&o, 1, &w);
    assert_string_equal(w.kind, "collectd");
    assert_string_equal(w.pattern, "");
    assert_false(w.has_level);
    assert_int_equal(parsed(&o, crossed), 1);
    assert_string_equal(nd_markers_name(&o, 1, name), "barrier:spin_0.3_periodic_rank:0+rank:1");
    assert_string_equal(nd_markers_name(&o, 4, name), "barrier:spin_0.3_poisson_last");
}
