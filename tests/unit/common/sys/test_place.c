
#include "common/sys/nl_place.h"
#include "tests/unit/unit.h"

/* hwloc's synthetic machines: two packages of two cores with two hardware threads each */
static int synthetic(void **state) {
    setenv("HWLOC_SYNTHETIC", "package:2 core:2 pu:2", 1);
    return nl_place_open((struct nl_place **)state);
}

static int real(void **state) {
    unsetenv("HWLOC_SYNTHETIC");
    return nl_place_open((struct nl_place **)state);
}

static int done(void **state) {
    nl_place_close(*state);
    unsetenv("HWLOC_SYNTHETIC");
    return 0;
}

TEST_WITH(a_synthetic_machine_has_what_it_was_given, synthetic, done) {
    char text[160];
    struct nl_place *p = *state;
    assert_string_equal(nl_place_list(p, text, sizeof text), "0-7");
    EQUAL(nl_place_count(p), 8, nl_place_cores(p), 4, nl_place_smt(p), 2, nl_place_first(p), 0);
    EQUAL(nl_place_is_allowed(p, 7), 1, nl_place_is_allowed(p, 8), 0, nl_place_is_allowed(p, -1), 0);
    assert_contains(nl_place_summary(p, text, sizeof text), "Package:2");
    assert_contains(text, "Core:4 PU:8");
}

TEST_WITH(pinning_outside_the_allowed_cpus_is_refused, real, done) {
    assert_int_equal(nl_place_pin(*state, 4096), -1);
    assert_int_equal(nl_place_pin(*state, -1), -1);
}

/* ---- placement in words ---- */

/* Machines as hwloc makes them; CPUs are numbered core by core. */
#define WITH_SMT    "package:2 l3:1 core:2 pu:2" /* packages 0-3 and 4-7; cores 0-1, 2-3, 4-5, 6-7 */
#define WITHOUT_SMT "package:2 l3:1 core:4 pu:1" /* packages 0-3 and 4-7 */
#define TWO_CACHES  "package:1 l3:2 core:2 pu:2" /* caches over 0-3 and 4-7 */
#define L2_ONLY     "package:1 l2:2 core:2 pu:1" /* caches over 0-1 and 2-3 */
#define NO_CACHE    "package:1 core:4 pu:1"
#define NO_CORES    "package:1 l3:1 pu:4"
#define OWN_CACHES  "package:1 l3:2 core:1 pu:2"
#define SMT_NUMBERED_LAST                                                                                    \
    "package:1 l3:1 core:4 pu:2(indexes=core:pu)" /* as Linux does it: siblings 0 and 4, 1 and 5, ... */

/* What words mean on a machine whose ranks run on `ranks` ("0,2"; "-" for an unbound one): "3,4", or the
 * reason why they cannot be had. */
static const char *meaning(const char *machine, const char *words, const char *ranks) {
    static char text[600];
    int rank_cpus[16], n_ranks = 0, cpus[64];
    struct nl_place *place;
    for (const char *p = ranks; p && *p; p += strcspn(p, ","), p += *p == ',')
        rank_cpus[n_ranks++] = *p == '-' ? -1 : atoi(p);
    setenv("HWLOC_SYNTHETIC", machine, 1);
    assert_int_equal(nl_place_open(&place), 0);
    unsetenv("HWLOC_SYNTHETIC");
    text[0] = '\0';
    int n = nl_place_resolve(place, words, n_ranks ? rank_cpus : NULL, n_ranks, cpus, 64, text, sizeof text);
    assert_true(n > 0 || text[0]);
    if (n > 0) text[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? "," : "", cpus[i]);
    nl_place_close(place);
    return text;
}

struct place_row {
    const char *machine, *words, *ranks, *wanted;
};

static void assert_means(const struct place_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *got = meaning(rows[i].machine, rows[i].words, rows[i].ranks);
        /* reasons may say more than is wanted here */
        int is_right = strchr(rows[i].wanted, ' ') ? strstr(got, rows[i].wanted) != NULL
                                                   : strcmp(got, rows[i].wanted) == 0;
        if (!is_right)
            fail_msg("'%s' beside ranks on %s of %s: '%s' instead of '%s'", rows[i].words, rows[i].ranks,
                     rows[i].machine, got, rows[i].wanted);
        assert_null(strchr(got, '\n'));
    }
}
#define ASSERT_MEANS(rows) assert_means(rows, sizeof rows / sizeof *rows)

TEST(every_word_means_the_cpu_it_should) {
    static const struct place_row rows[] = {
        {WITH_SMT, "cpu:0", "", "0"},
        {WITH_SMT, "cpu:7", "", "7"},
        {WITH_SMT, "cpu:007", "", "7"},
        {WITH_SMT, "all", "", "0,1,2,3,4,5,6,7"},
        {WITH_SMT, "rank:0", "4,2", "4"},
        {WITH_SMT, "rank:1", "4,2", "2"},
        {WITH_SMT, "rank:1", "-,2", "2"}, /* only the rank asked for has to be bound */
        {WITH_SMT, "last", "4,2", "2"},
        {WITH_SMT, "last", "4", "4"},
        {WITH_SMT, "sibling:rank:0", "4,2", "5"},
        {WITH_SMT, "sibling:cpu:3", "", "2"},
        {WITH_SMT, "sibling:last", "0,6", "7"},
        {WITH_SMT, "sibling:sibling:cpu:3", "", "3"},
        {SMT_NUMBERED_LAST, "sibling:cpu:1", "", "5"},
        {SMT_NUMBERED_LAST, "sibling:cpu:6", "", "2"},
    };
    ASSERT_MEANS(rows);
}

TEST(a_spare_cpu_is_on_an_idle_core_if_there_is_one) {
    static const struct place_row rows[] = {
        {WITH_SMT, "spare", "0", "2"}, /* 1 would share the core of 0 */
        {WITH_SMT, "spare", "1,2", "4"},
        {WITH_SMT, "spare", "0,2,4,6", "1"}, /* no idle core is left: a sibling will do */
        {WITH_SMT, "spare", "0,1,2,4,6", "3"},
        {WITH_SMT, "spare", "-", "0"}, /* an unbound rank uses none of them for sure */
        {SMT_NUMBERED_LAST, "spare", "0,1,2", "3"},
        {SMT_NUMBERED_LAST, "spare", "0,1,2,3", "4"},
        {WITHOUT_SMT, "spare", "0,1,2,3,5,6,7", "4"},
        {WITHOUT_SMT, "spare", "0,1,2,3,4,5,6,7", "'spare': ranks use every allowed CPU (0-7)"},
        {WITH_SMT, "sibling:spare", "0", "3"},
    };
    ASSERT_MEANS(rows);
}

TEST(another_core_of_the_same_cache_is_an_idle_one_if_there_is_one) {
    static const struct place_row rows[] = {
        {WITH_SMT, "same-l3:rank:0", "0", "2"},
        {WITH_SMT, "same-l3:rank:1", "0,4", "6"},
        {WITH_SMT, "same-l3:rank:0", "0,2", "3"},   /* not the core of rank 0, and not the CPU of rank 1 */
        {WITH_SMT, "same-l3:rank:0", "0,2,3", "2"}, /* nothing is unused: beside another rank */
        {TWO_CACHES, "same-l3:rank:0", "4,6", "7"},
        {WITHOUT_SMT, "same-l3:cpu:1", "0", "2"}, /* not 0, which a rank uses */
        {WITHOUT_SMT, "same-l3:cpu:1", "", "0"},
        {L2_ONLY, "same-l3:cpu:0", "", "1"}, /* the last level there is */
        {L2_ONLY, "same-l3:cpu:3", "", "2"},
        {NO_CACHE, "same-l3:cpu:0", "", "'same-l3:cpu:0': the topology knows no L3 or L2 cache of CPU 0"},
        {"package:4 l3:1 core:1 pu:2", "same-l3:cpu:0", "",
         "the core of CPU 0 has its last-level cache to itself"},
        {WITH_SMT, "sibling:same-l3:rank:0", "0", "3"},
        {WITH_SMT, "same-l3:sibling:rank:0", "0", "2"},
        {WITH_SMT, "same-l3:same-l3:rank:0", "0", "1"}, /* back on the first core, but not on the rank */
    };
    ASSERT_MEANS(rows);
}

TEST(several_words_mean_several_cpus_each_once_in_their_order) {
    static const struct place_row rows[] = {
        {WITH_SMT, "cpu:5,cpu:1", "", "5,1"},
        {WITH_SMT, "cpu:1,cpu:1", "", "1"},
        {WITH_SMT, "rank:0,rank:1,last", "4,2", "4,2"},
        {WITH_SMT, "cpu:3,all", "", "3,0,1,2,4,5,6,7"},
        {WITH_SMT, "all,cpu:3,all", "", "0,1,2,3,4,5,6,7"},
        {WITH_SMT, "rank:0,sibling:rank:0,spare", "4,2", "4,5,0"},
        {WITH_SMT, "spare,spare", "0", "2"}, /* the same one */
    };
    ASSERT_MEANS(rows);
}

TEST(words_that_mean_nothing_are_refused_by_name) {
    static const char *const rows[][2] = {
        /* and the part that is none */
        {"", ""},
        {"cpu:1,", ""},
        {",cpu:1", ""},
        {"cpu:1,,cpu:2", ""},
        {"3", "3"},
        {"cpu:", "cpu:"},
        {"cpu:1x", "cpu:1x"},
        {"cpu:-1", "cpu:-1"},
        {"cpu:+1", "cpu:+1"},
        {"cpu:1-3", "cpu:1-3"},
        {"CPU:1", "CPU:1"},
        {" cpu:1", " cpu:1"},
        {"rank:", "rank:"},
        {"first", "first"},
        {"sibling", "sibling"},
        {"sibling:", ""},
        {"sibling:all", "all"},
        {"same-l3:all", "all"},
        {"same-l2:cpu:0", "same-l2:cpu:0"},
        {"cpu:99999999999999999999", "cpu:99999999999999999999"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char wanted[160];
        snprintf(wanted, sizeof wanted, "'%s' is not a place (" NL_PLACE_HELP ")", rows[i][1]);
        assert_string_equal(meaning(WITH_SMT, rows[i][0], "0"), wanted);
    }
}

TEST(words_that_cannot_be_had_are_refused_with_the_reason) {
    static const struct place_row rows[] = {
        {WITH_SMT, "cpu:8", "", "CPU 8 is not among the allowed CPUs (0-7)"},
        {WITH_SMT, "cpu:0,cpu:4095", "", "CPU 4095 is not among the allowed CPUs (0-7)"},
        {WITH_SMT, "rank:0", "", "'rank:0': there are no ranks here; say where they run (--ranks 0,1)"},
        {WITH_SMT, "last", "", "'last': there are no ranks here"},
        {WITH_SMT, "spare", "", "'spare': there are no ranks here"},
        {WITH_SMT, "sibling:rank:0", "", "'rank:0': there are no ranks here"},
        {WITH_SMT, "rank:2", "0,1", "'rank:2': this node has ranks 0 to 1 (counted on the node)"},
        {WITH_SMT, "rank:0", "-,1", "'rank:0': rank 0 is not bound to one CPU"},
        {WITH_SMT, "last", "1,-", "'last': rank 1 is not bound to one CPU"},
        {WITH_SMT, "rank:0", "9", "CPU 9, which is 'rank:0', is not among the allowed CPUs (0-7)"},
        /* each cause its own sentence */
        {WITHOUT_SMT, "sibling:cpu:0", "",
         "'sibling:cpu:0': the core of CPU 0 has one hardware thread (no SMT, or it is switched off)"},
        {WITH_SMT, "sibling:cpu:99", "", "'sibling:cpu:99': this machine has no CPU 99"},
        {NO_CORES, "sibling:cpu:1", "", "'sibling:cpu:1': the topology knows no cores here"},
        {WITH_SMT, "same-l3:cpu:99", "", "'same-l3:cpu:99': this machine has no CPU 99"},
        {NO_CACHE, "same-l3:cpu:0", "", "'same-l3:cpu:0': the topology knows no L3 or L2 cache of CPU 0"},
        {OWN_CACHES, "same-l3:cpu:0", "",
         "'same-l3:cpu:0': the core of CPU 0 has its last-level cache to itself"},
    };
    ASSERT_MEANS(rows);
}

TEST_WITH(a_list_that_is_too_long_or_means_too_many_cpus_is_refused, synthetic, done) {
    char reason[256], words[2000] = "cpu:0";
    int cpus[8];
    for (int i = 0; i < 200; i++)
        strcat(words, ",cpu:0");
    assert_int_equal(nl_place_resolve(*state, words, NULL, 0, cpus, 8, reason, sizeof reason), -1);
    assert_string_equal(reason, "the list of places is too long");
    assert_int_equal(nl_place_resolve(*state, "all", NULL, 0, cpus, 8, reason, sizeof reason), 8);
    assert_int_equal(nl_place_resolve(*state, "all", NULL, 0, cpus, 7, reason, sizeof reason), -1);
    assert_string_equal(reason, "'all' means more than 7 CPUs");
    assert_int_equal(nl_place_resolve(*state, "cpu:1,cpu:1,cpu:2", NULL, 0, cpus, 2, reason, sizeof reason),
                     2);
}

/* hwloc binds nothing on a machine that is not there, so the real one has to do for this. */
TEST_WITH(after_pinning_the_binding_is_that_cpu, real, done) {
    char list[64];
    int n = 0, first = -1, cpu = nl_place_first(*state);
    assert_int_equal(nl_place_pin(*state, cpu), 0);
    assert_int_equal(nl_binding_of_thread(list, sizeof list, &n, &first), 0);
    EQUAL(n, 1, first, cpu);
    nl_place_restrict_to_binding(*state);
    assert_int_equal(nl_place_count(*state), 1);
    assert_int_equal(nl_place_cores(*state), 1);
}
