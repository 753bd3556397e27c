/* What a watch makes of records: switches, births and ends that a test invents, with sums that are known. */
#include "noisegen/top/print.h"
#include "noisegen/top/watch.h"
#include "tests/unit/unit.h"
#include "noisegen/top/fields.h"
#include "noisegen/top/metrics.h"
#include "noisegen/top/period.h"
#include "noisegen/top/processes.h"
#include "noisegen/top/scale.h"
#include "noisegen/top/tell.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

/* A source of nothing: the test says who ran. */
static int open_nothing(struct nt_watch *w, char *why, size_t size) {
    (void)w, (void)why, (void)size;
    return 0;
}
static void look_at_nothing(struct nt_watch *w, int64_t until_ns) { (void)w, (void)until_ns; }
static void close_nothing(struct nt_watch *w) { (void)w; }
static const struct nt_source nothing = {.name = "nothing",
                                         .sees_bursts = 1,
                                         .open = open_nothing,
                                         .look = look_at_nothing,
                                         .close = close_nothing};

static struct nt_watch *watch_of(const struct nt_config *config) {
    struct nt_watch *w;
    struct nt_config own = *config;
    own.source = "proc"; /* needs nothing, and is put away before it has looked */
    assert_int_equal(nt_watch_open(&w, &own), 0);
    w->source->close(w);
    w->state = NULL;
    w->source = &nothing;
    w->sample->hidden[0] = '\0';
    w->begin_ns = S;
    w->end_ns = 2 * S;
    w->stat_ns = INT64_MAX; /* /proc/stat would be of this machine */
    w->has_stat = 1;
    return w;
}

static struct nt_watch *any_watch(void) {
    return watch_of(&(struct nt_config){.n_nodes = 1000, .every_ns = MS});
}

static int32_t named(struct nt_watch *w, pid_t pid, pid_t parent, const char *name) {
    nt_born(w, pid, parent);
    nt_renamed(w, pid, name);
    int32_t place = nt_process(w, pid);
    w->processes[place].is_placed = 1;
    return place;
}

/* A burst of one process, of one stretch. */
static void burst(struct nt_watch *w, int32_t process, int cpu, int64_t start_ns, int64_t length_ns) {
    nt_ran(w, process, cpu, start_ns, start_ns + length_ns);
    nt_count_burst(w, process, start_ns, length_ns);
}

static const struct nt_task *row_of(const struct nt_sample *s, int64_t pid) {
    for (int i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].pid == pid) return &s->tasks[i];
    return NULL;
}

/* The interval lasts from 1 s to 2 s. */
static const struct nt_sample *told(struct nt_watch *w) {
    nt_tell(w, &(struct nt_wish){.sort = NT_BY_SHARE, .n_rows = 20, .n_visits = 1000});
    return w->sample;
}

TEST(who_has_most_of_a_cpu_is_the_program_and_the_others_interrupt_it) {
    struct nt_watch *w = any_watch();
    int32_t rank = named(w, 30001, 1, "rank"), agent = named(w, 30002, 1, "agent"),
            other = named(w, 30003, 1, "other");
    int64_t at = S;
    for (int i = 0; i < 10;
         i++) { /* each 100 ms: 3 ms of the agent, and right after it 1 ms of somebody else */
        nt_ran(w, rank, 0, at, at + 90 * MS);
        burst(w, agent, 0, at + 90 * MS, 3 * MS);
        burst(w, other, 0, at + 93 * MS + 2 * US, MS);
        nt_ran(w, rank, 0, at + 94 * MS + 4 * US, at + 100 * MS);
        at += 100 * MS;
    }
    const struct nt_sample *s = told(w);
    assert_near(s->cpus[0].lost_percent, 4.0, 1e-9);
    assert_int_equal(s->cpus[0].longest_ns, 4 * MS + 2 * US); /* one interruption, not two */
    assert_near(s->cpus[0].interruptions_per_second, 10, 1e-9);
    assert_int_equal(s->cpus[0].latest_ago_ns, 6 * MS - 2 * US);
    EQUAL(s->cpus[0].program_pid, 30001, s->n_tasks, 3, s->tasks[0].pid, 30002, s->tasks[1].pid, 30003,
          s->tasks[2].pid, 30001);
    assert_near(s->tasks[0].share_percent, 3, 1e-9);
    assert_near(s->tasks[0].bursts_per_second, 10, 1e-9);
    EQUAL(s->tasks[0].length_ns, 3 * MS, s->tasks[0].longest_ns, 3 * MS, s->tasks[0].period_ns, 100 * MS,
          s->tasks[2].is_program, 1);
    assert_string_equal(s->tasks[0].cpus, "0");
    assert_contains(s->program, "assumed to be rank (30001)");
    /* the record for the walk: 10 interruptions of 4 ms in 1 s */
    EQUAL(w->train.n, 10, w->train.events[0].end_ns - w->train.events[0].start_ns, 4 * MS + 2 * US);
    nt_watch_close(w);
}

TEST(without_a_program_everybody_disturbs_and_a_named_one_is_left_out_with_its_children) {
    struct nt_watch *w = any_watch();
    int32_t a = named(w, 30001, 1, "a");
    nt_ran(w, a, 0, S, S + 400 * MS);
    const struct nt_sample *s = told(w);
    assert_near(s->cpus[0].lost_percent, 40, 1e-9);
    assert_contains(s->program, "none assumed");
    nt_watch_close(w);
    w = watch_of(&(struct nt_config){.command = "lul", .n_nodes = 1000, .every_ns = MS});
    int32_t rank = named(w, 30001, 1, "lulesh");
    nt_born(w, 30002, 30001);
    int32_t helper = nt_process(w, 30002);
    w->processes[helper].is_placed = 1;
    int32_t b = named(w, 30003, 1, "b");
    nt_ran(w, rank, 0, S, S + 120 * MS);
    nt_ran(w, helper, 0, S + 120 * MS, S + 200 * MS);
    nt_ran(w, b, 0, S + 200 * MS, S + 250 * MS);
    s = told(w);
    assert_near(s->cpus[0].lost_percent, 5, 1e-9);
    EQUAL(s->tasks[0].pid, 30003, row_of(s, 30002)->is_program, 1);
    assert_contains(s->program, "program: lulesh (30001)");
    nt_watch_close(w);
}

TEST(tasks_that_have_ended_count_for_their_parents) {
    struct nt_watch *w = any_watch();
    int32_t shell = named(w, 30001, 1, "shell");
    burst(w, shell, 0, S, 5 * MS);
    for (int i = 0; i < 50; i++) {
        int32_t child = named(w, 30100 + i, 30001, "date");
        burst(w, child, 1, S + (10 + i * 10) * MS, 2 * MS);
        nt_ended(w, 30100 + i, 30001);
    }
    /* a grandchild whose parent ended, too; and one of init's own that ended */
    named(w, 30200, 30001, "sub");
    int32_t grandchild = named(w, 30201, 30200, "deep");
    burst(w, grandchild, 0, S + 600 * MS, MS);
    nt_ended(w, 30200, 30001);
    nt_ended(w, 30201, 1);
    int32_t orphan = named(w, 30300, 1, "orphan");
    burst(w, orphan, 0, S + 700 * MS, 3 * MS);
    nt_ended(w, 30300, 1);
    const struct nt_sample *s = told(w);
    EQUAL(s->n_tasks, 2, s->tasks[0].pid, 30001, s->tasks[1].pid, 30300);
    assert_near(s->tasks[0].share_percent, 10.6, 1e-9);
    assert_near(s->tasks[0].ended_percent, 10.1, 1e-9);
    assert_near(s->tasks[0].bursts_per_second, 52, 1e-9);
    assert_string_equal(s->tasks[0].command, "shell");
    assert_string_equal(s->tasks[0].cpus, "1,0");
    /* what was told of is forgotten, and its number is free */
    nt_forget_ended(w);
    EQUAL(w->process_of[30100], 0, w->process_of[30300], 0, w->process_of[30001] > 0, 1);
    nt_watch_close(w);
}

/* Rings are read before the end of an interval where they are full; the sample itself, by the way that
 * sessions take. */
TEST(a_child_that_ended_before_the_sample_is_told_once_and_its_place_is_free_after_it) {
    struct nt_watch *w = any_watch();
    int32_t shell = named(w, 30001, 1, "shell");
    burst(w, shell, 0, S, 5 * MS);
    w->begin_ns = nl_mono_ns() - S;
    for (int i = 0; i < 20; i++) {
        int32_t child = named(w, 30100, 30001, "date"); /* always the same number */
        burst(w, child, 0, w->begin_ns + (10 + i * 10) * MS, 2 * MS);
        nt_ended(w, 30100, 30001);
    }
    const struct nt_sample *s =
        nt_watch_sample(w, &(struct nt_wish){.sort = NT_BY_SHARE, .n_rows = 20, .n_visits = 100});
    assert_int_equal(s->n_tasks, 1);
    assert_near(s->tasks[0].ended_percent, 4, 0.1);
    EQUAL(w->n_ended, 0, w->n_free, 20, w->process_of[30100], 0);
    nt_watch_close(w);
}

TEST(an_interruption_across_the_end_of_an_interval_is_one) {
    struct nt_watch *w = any_watch();
    int32_t rank = named(w, 30001, 1, "rank"), agent = named(w, 30002, 1, "agent");
    nt_ran(w, rank, 0, S, S + 990 * MS);
    nt_ran(w, agent, 0, S + 990 * MS, 2 * S);
    const struct nt_sample *s = told(w);
    EQUAL(s->cpus[0].longest_ns, 10 * MS, w->train.n, 1);
    assert_near(s->cpus[0].interruptions_per_second, 0, 0); /* it lasts */
    for (int i = 0; i < w->n_active; i++)
        w->processes[w->active[i]].run_ns = w->processes[w->active[i]].n_bursts = 0;
    memset(w->pairs.entries, 0, w->pairs.capacity * sizeof *w->pairs.entries);
    w->pairs.n = 0;
    w->begin_ns = 2 * S, w->end_ns = 3 * S;
    nt_ran(w, agent, 0, 2 * S, 2 * S + 15 * MS);
    nt_ran(w, rank, 0, 2 * S + 15 * MS, 3 * S);
    s = told(w);
    EQUAL(s->cpus[0].longest_ns, 25 * MS, w->train.n, 2,
          w->train.events[1].end_ns - w->train.events[1].start_ns, 15 * MS);
    nt_watch_close(w);
}

TEST(the_record_of_a_minute_keeps_the_longest_and_its_room) {
    struct nt_watch *w = any_watch();
    w->train.since_ns = 1;
    for (int i = 0; i < 100000; i++)
        nt_train_add(w, 0, i * 500 * US, i * 500 * US + (i % 1000 == 7 ? 300 * US : 1000 + i % 997));
    int n_long = 0;
    for (int i = 0; i < w->train.n; i++)
        n_long += w->train.events[i].end_ns - w->train.events[i].start_ns == 300 * US;
    assert_true(w->train.n <= NT_TRAIN);
    assert_int_equal(n_long, 100);
    nt_watch_close(w);
}

TEST(periods_are_found_through_jitter_gaps_and_companions_and_not_in_chance) {
    int64_t starts[NT_LAST_BURSTS];
    int n = 0;
    for (int i = 0; i < 40; i++)
        if (i % 7 != 3) starts[n++] = i * 100 * MS + (i * 37 % 11) * 100 * US;
    assert_near((double)nt_period(starts, n), 100 * MS, 0.5 * MS);
    n = 0;
    for (int i = 0; i < 20; i++)
        for (int part = 0; part < 3; part++)
            starts[n++] = i * INT64_C(250000000) + part * 40 * US + i % 3 * 10 * US;
    assert_near((double)nt_period(starts, n), 250 * MS, 0.5 * MS);
    n = 0;
    uint64_t x = 5;
    for (int64_t at = 0; n < NT_LAST_BURSTS; starts[n++] = at) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        at += (int64_t)(-log(((double)(x >> 11) + 1) / 9007199254740993.0) * 1e8);
    }
    assert_int_equal(nt_period(starts, n), 0);
    assert_int_equal(nt_period(starts, 3), 0);
    for (int i = 0; i < 5; i++) starts[i] = 7;
    assert_int_equal(nt_period(starts, 5), 0);
}

TEST(a_period_of_all_bursts_that_are_kept_is_told_anew_after_ten_seconds_and_of_fewer_at_once) {
    struct nt_watch *w = any_watch();
    int32_t agent = named(w, 30001, 1, "agent"), rare = named(w, 30002, 1, "rare");
    for (int i = 0; i < NT_LAST_BURSTS; i++) burst(w, agent, 0, S + i * 10 * MS, MS);
    for (int i = 0; i < 4; i++) burst(w, rare, 0, S + (const int[]){0, 100, 150, 420}[i] * MS, MS);
    const struct nt_sample *s = told(w);
    EQUAL(row_of(s, 30001)->period_ns, 10 * MS, row_of(s, 30002)->period_ns, 0);
    for (int i = 0; i < NT_LAST_BURSTS; i++) burst(w, agent, 0, 2 * S + i * 5 * MS, MS);
    for (int i = 0; i < 40; i++) burst(w, rare, 0, S + (520 + i * 100) * MS, MS);
    w->end_ns = 11 * S;
    s = told(w);
    EQUAL(row_of(s, 30001)->period_ns, 10 * MS);
    assert_near((double)row_of(s, 30002)->period_ns, 100 * MS, 2 * MS);
    w->end_ns = 12 * S;
    assert_int_equal(row_of(told(w), 30001)->period_ns, 5 * MS);
    nt_watch_close(w);
}

TEST(fields_are_printed_as_people_read_them_and_in_base_units) {
    char text[64];
    struct nt_task task = {.pid = 12,
                           .share_percent = 0.0123,
                           .length_ns = 1020 * US,
                           .period_ns = 0,
                           .bursts_per_second = 10.0,
                           .longest_ns = -1};
    static const struct {
        const char *key, *wanted;
    } rows[] = {{"pid", "12"},      {"share_percent", "0.012"},    {"length_ns", "1.02ms"},
                {"period_ns", "-"}, {"bursts_per_second", "10.0"}, {"longest_ns", "-"},
                {"user", "-"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct nt_field *f = nt_task_fields;
        while (strcmp(f->key, rows[i].key) != 0) f++;
        assert_string_equal(nt_format(f, &task, text, sizeof text), rows[i].wanted);
    }
    for (const struct nt_field *f = nt_task_fields; f->key; f++) {
        if (strcmp(f->key, "share_percent") == 0) assert_near(nt_base_value(f, &task), 0.000123, 1e-12);
        if (strcmp(f->key, "length_ns") == 0) assert_near(nt_base_value(f, &task), 0.00102, 1e-12);
        if (strcmp(f->key, "longest_ns") == 0) assert_true(isnan(nt_base_value(f, &task)));
    }
    /* no line is wider than the screen, and each has its columns below the titles */
    for (int columns = 20; columns <= 300; columns += 7) {
        char line[512];
        nt_line(nt_task_fields, NULL, columns, line, sizeof line);
        assert_true((int)strlen(line) <= columns);
        nt_line(nt_task_fields, &task, columns, line, sizeof line);
        assert_true((int)strlen(line) <= columns);
    }
}

TEST(numbers_have_the_decimals_of_their_size_and_are_right_to_the_last_one) {
    static const struct nt_field share = {.key = "share_percent", .unit = NT_PERCENT};
    char text[128];
    for (double value = 1.03e-3; value < 1e9; value *= 1.0173) {
        nt_format(&share, &value, text, sizeof text);
        int n = value < 0.0995 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
        const char *point = strchr(text, '.');
        assert_int_equal(point ? strlen(point + 1) : 0, n);
        assert_near(strtod(text, NULL), value, 0.5000001 * pow(10, -n));
        assert_true(text[0] != '.');
    }
}

TEST(values_of_metrics_have_the_nine_digits_of_printf) {
    static const double some[] = {0,           -0.0,         1,          5,     10,
                                  99999999,    1e8,          123456789,  1e-4,  9.99999999e-5,
                                  0.1,         0.25,         0.5,        1e300, 0.0999999999,
                                  12345.67895, 1.0000000005, 0.99999999, -3,    0.9999999995};
    char text[NT_NUMBER_BYTES], wanted[64];
    uint64_t x = 7;
    for (size_t i = 0; i < 100000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        double value = ((double)(x >> 11) + 1) / 9007199254740993.0 * pow(10, (int)(i % 16) - 6);
        if (i < sizeof some / sizeof *some) value = some[i];
        if (i % 7 == 0) value = round(value * 64) / 64;
        sprintf(wanted, "%.9g", value);
        assert_string_equal(nt_nine_digits(value, text), wanted);
    }
}

/* As printf writes it, without the blanks at the end. */
static void printed(const struct nt_field *fields, const void *row, int columns, char *line) {
    char text[128];
    int at = 0, spare = columns;
    const struct nt_field *last = fields;
    for (const struct nt_field *f = fields; f->key; f++)
        if (f->title && columns >= f->from_columns) spare -= abs(f->width) + 1, last = f;
    for (const struct nt_field *f = fields; f->key; f++) {
        int more = strcmp(f->key, "unit") == 0 && spare > 8 ? spare - 8 < 40 ? spare - 8 : 40 : 0;
        int width = f == last ? 0 : f->width < 0 ? f->width - more : f->width;
        if (!f->title || columns < f->from_columns) continue;
        if (row) nt_format(f, row, text, sizeof text);
        else strcpy(text, f->title);
        at += sprintf(line + at, "%*.*s ", width, width < 0 ? -width : 127, text);
    }
    while (at > 0 && line[at - 1] == ' ') line[--at] = '\0';
    if ((int)strlen(line) > columns) line[columns] = '\0';
}

TEST(lines_of_a_table_are_those_that_printf_would_write) {
    struct nt_task tasks[] = {
        {.pid = 1, .user = "root", .command = "a", .unit = "cron.service", .cpus = "0,1", .period_ns = 7},
        {.pid = 4194303,
         .user = "somebody-with-a-name",
         .command = "a name of 15 b.",
         .unit = "user@1000.service with a name that has more than forty bytes",
         .share_percent = 6400,
         .length_ns = 123456789012345,
         .cpus = "0,1,2,3,4,5,6,7.."},
        {.pid = 77, .command = "", .bursts_per_second = -1, .length_ns = -1}};
    for (int columns = 90; columns <= 250; columns += 5)
        for (int i = -1; i < 3; i++) {
            char line[512], wanted[512];
            const void *row = i < 0 ? NULL : &tasks[i];
            nt_line(nt_task_fields, row, columns, line, sizeof line);
            printed(nt_task_fields, row, columns, wanted);
            assert_string_equal(line, wanted);
        }
}

TEST(a_brief_sample_has_the_same_figures_and_leaves_out_what_metrics_have_not) {
    struct nt_watch *w = any_watch();
    int32_t agent = named(w, 100, 1, "agent");
    for (int i = 0; i < 10; i++) burst(w, agent, 0, S + i * 100 * MS, MS);
    nt_tell(w, &(struct nt_wish){.n_rows = 20, .is_brief = 1});
    const struct nt_task *row = row_of(w->sample, 100);
    assert_non_null(row);
    assert_near(row->share_percent, 1, 1e-9);
    assert_near(row->bursts_per_second, 10, 1e-9);
    assert_int_equal(row->longest_ns, MS);
    assert_int_equal(row->period_ns, -1);
    assert_string_equal(row->cpus, "");
    nt_tell(w, &(struct nt_wish){.n_rows = 20});
    row = row_of(w->sample, 100);
    assert_near((double)row->period_ns, 100e6, 1e6);
    assert_string_equal(row->cpus, "0");
    nt_watch_close(w);
    /* the same where bursts are not kept one by one */
    w = watch_of(&(struct nt_config){.n_nodes = 1000, .every_ns = MS, .forgets_bursts = 1});
    agent = named(w, 100, 1, "agent");
    for (int i = 0; i < 10; i++) burst(w, agent, 0, S + i * 100 * MS, MS);
    nt_tell(w, &(struct nt_wish){.n_rows = 20, .is_brief = 1});
    row = row_of(w->sample, 100);
    EQUAL(row->longest_ns, MS, row->length_ns, MS, w->processes[agent].last != NULL, 0);
    assert_near(row->bursts_per_second, 10, 1e-9);
    nt_watch_close(w);
}

TEST(a_cost_at_scale_is_a_figure_or_as_large_as_figures_tell_nothing_more) {
    static struct nt_sample s = {
        .interval_ns = 2 * S, .source = "cpu", .scale = {.span_ns = 10 * S, .n_nodes = 1000, .every_ns = MS}};
    static char heads[NT_HEADS][NT_HEAD_BYTES];
    const char *of = "nodes like this, 1,000 of them, synchronising every 1 ms: ";
    const struct {
        double percent;
        const char *said;
    } rows[] = {{5, "5.00 % slower (4.50 to 5.50 %, from the last 10 s)"},
                {999, "999 % slower (at least 899 %, from the last 10 s)"},
                {1000, "more than ten times as long (at least 900 %, from the last 10 s)"},
                {2000, "more than ten times as long (from the last 10 s)"},
                {-1, "known after 1 s"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char wanted[NT_HEAD_BYTES];
        s.scale.slowdown_percent = rows[i].percent;
        s.scale.low_percent = 0.9 * rows[i].percent;
        s.scale.high_percent = 1.1 * rows[i].percent;
        s.scale.span_ns = rows[i].percent < 0 ? 1 : 10 * S;
        assert_int_equal(nt_heads(&s, heads), 4);
        snprintf(wanted, sizeof wanted, "%s%s", of, rows[i].said);
        assert_string_equal(heads[1], wanted);
    }
}
