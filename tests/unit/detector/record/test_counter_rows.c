/* counters.HOST.csv: each counter of the kernel has a column. */
#include "detector/record/record.h"
#include "tests/unit/files.h"
#include "detector/record/counter_rows.h"

/* The line number `n` of the file, from 0, without its end; to be freed. */
static char *line_of(const char *path, int n) {
    char *line = NULL;
    size_t size = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int i = 0; i <= n; i++)
        assert_true(getline(&line, &size, f) > 0);
    fclose(f);
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static int columns(const char *line) {
    int n = 1;
    for (; *line; line++)
        n += *line == ',';
    return n;
}

TEST_WITH(every_counter_of_the_kernel_has_a_column_and_what_is_not_known_is_empty, make_folder, remove_tree) {
    static const struct nd_options o = {.configs = {{.name = "barrier"}}, .n_configs = 1};
    struct nd_probe_sum ranks = {.n_ranks = 2, .faults = 71, .n_speed = 2, .speed_ns = 5};
    struct nd_counter_half half = {
        .step = {.pair = 3, .level = ND_OFF, .planned_ns = 7}, .span_ns = 9, .n_cpus = 2, .ranks = &ranks};
    char path[PATH_MAX], value[16];
    for (int i = 0; i < NL_N_KERNEL; i++)
        half.counts[i] = 100001 + i;
    half.counts[NL_SOFTIRQ_RCU] = -1;
    struct nd_node_rows *rows = nd_counter_rows_open(&o, folder, "one", 0, "host");
    assert_non_null(rows);
    assert_int_equal(nd_counter_rows_add(rows, &half), 0);
    nd_node_rows_close(rows);
    snprintf(path, sizeof path, "%s/counters.host.csv", folder);
    char *header = line_of(path, 0), *line = line_of(path, 1);
    assert_int_equal(columns(header), columns(line));
    for (int i = 0; i < NL_N_KERNEL; i++) {
        snprintf(value, sizeof value, ",%d,", 100001 + i);
        if (!strstr(line, value) && i != NL_SOFTIRQ_RCU)
            fail_msg("counter %d of enum nl_kernel_count has no line in common/contract/counters.table", i);
    }
    assert_contains(line, "one,0,host,barrier,0,3,0,off,,0,7,9,2,2,100001,");
    assert_contains(line, ",100011,,100013,100014,71,0,0,0,0,2.5,,,,,");
    free(header);
    free(line);
}
