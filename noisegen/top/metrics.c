/* The file for the textfile collector of node_exporter: Prometheus' text format, and OpenMetrics as well
 * (gauges only, whose names are the same in both). How many series there are is bounded: twenty tasks, by
 * name; all others are one. */
#include "noisegen/top/metrics.h"
#include "common/sys/nl_whole.h"
#include "noisegen/top/print.h"
#include "noisegen/top/fields.h"

enum { MOST_TASKS = 20, DIGITS = 9 };

#define OTHERS "(others)"

/* Text as the value of a label. */
static void put_label(FILE *f, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putc_unlocked('\\', f);
        /* a name may hold anything, a value only UTF-8 */
        putc_unlocked(*text >= ' ' && *text < 127 ? *text : '?', f);
    }
}

static void put(FILE *f, const char *text) { fputs_unlocked(text, f); }

static void put_head(FILE *f, const char *metric, const char *help) {
    put(f, "# HELP ");
    put(f, metric);
    putc_unlocked(' ', f);
    put(f, help);
    put(f, "\n# TYPE ");
    put(f, metric);
    put(f, " gauge\n");
    static const char *const units[] = {"seconds", "ratio"};
    for (size_t i = 0, length = strlen(metric); i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i]);
        if (length > n && strcmp(metric + length - n, units[i]) == 0)
            fprintf(f, "# UNIT %s %s\n", metric, units[i]);
    }
}

/* Most values have less digits before and after the point than would need an exponent. */
const char *nt_nine_digits(double value, char text[NT_NUMBER_BYTES]) {
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
    int exponent = 0; /* of the first digit */
    if (value == 0 && !signbit(value)) return strcpy(text, "0");
    if (!(value >= 1e-4 && value < 1e8)) {
        snprintf(text, NT_NUMBER_BYTES, "%.9g", value);
        return text;
    }
    while (exponent < 7 && value >= powers[exponent + 1]) exponent++;
    while (exponent > -4 && exponent <= 0 && value * powers[-exponent] < 1) exponent--;
    double scaled = value * powers[DIGITS - 1 - exponent], rest = scaled - floor(scaled);
    int64_t digits = (int64_t)(scaled + 0.5);
    /* near a half the product is not exact enough to say which way it goes */
    if (fabs(rest - 0.5) < 1e-3 || digits >= 1000000000 || digits < 100000000) {
        snprintf(text, NT_NUMBER_BYTES, "%.9g", value);
        return text;
    }
    int n_after = DIGITS - 1 - exponent; /* digits after the point */
    for (; n_after > 0 && digits % 10 == 0; n_after--) digits /= 10;
    char *p = text + NT_NUMBER_BYTES - 1;
    *p = '\0';
    for (int i = 0; i <= n_after || digits > 0; i++, digits /= 10) {
        if (i == n_after && n_after > 0) *--p = '.';
        *--p = (char)('0' + digits % 10);
    }
    return p;
}

static void put_value(FILE *f, double value) {
    char text[NT_NUMBER_BYTES];
    putc_unlocked(' ', f);
    put(f, nt_nine_digits(value, text));
    putc_unlocked('\n', f);
}

/* The name of a metric with the begin of its label. */
static void put_name(FILE *f, const char *metric, const char *label) {
    put(f, metric);
    putc_unlocked('{', f);
    put(f, label);
    put(f, "=\"");
}

static void put_cpus(FILE *f, const struct nt_sample *s, struct nt_watch *watch) {
    char number[NT_NUMBER_BYTES];
    for (const struct nt_field *field = nt_cpu_fields; field->key; field++) {
        int has_head = 0;
        nt_breathe(watch);
        for (int i = 0; field->metric && i < s->n_cpus; i++) {
            double value = nt_base_value(field, &s->cpus[i]);
            if (isnan(value)) continue;
            if (!has_head++) put_head(f, field->metric, field->help);
            put_name(f, field->metric, "cpu");
            put(f, nt_nine_digits(s->cpus[i].cpu, number));
            put(f, "\"}");
            put_value(f, value);
        }
    }
}

/* Rows of one name as one; of the kernel's threads what stands before the slash (kworker/1:2 is kworker).
 * Tasks of the program disturb nobody, and are left out. @return the number of names, those that run most
 * first; the last may be all others. */
static int by_name(const struct nt_sample *s, struct nt_task tasks[MOST_TASKS + 1]) {
    struct nt_task others = {.command = OTHERS,
                             .share_percent = s->others_percent,
                             .bursts_per_second = s->others_bursts_per_second};
    int n = 0;
    for (int i = 0; i < s->n_tasks; i++) {
        const struct nt_task *one = &s->tasks[i];
        size_t length = strlen(one->command);
        int at = 0;
        if (one->is_program) continue;
        if (strcmp(one->unit, "kernel") == 0) length = strcspn(one->command, "/");
        while (at < n && (strncmp(tasks[at].command, one->command, length) != 0 || tasks[at].command[length]))
            at++;
        if (at == n && n < MOST_TASKS) {
            tasks[n] = *one;
            tasks[n++].command[length] = '\0';
            continue;
        }
        struct nt_task *to = at < n ? &tasks[at] : &others;
        to->share_percent += one->share_percent;
        if (one->bursts_per_second > 0) to->bursts_per_second += one->bursts_per_second;
        if (one->longest_ns > to->longest_ns) to->longest_ns = one->longest_ns;
    }
    if (others.share_percent > 0 || others.bursts_per_second > 0) tasks[n++] = others;
    return n;
}

static void put_tasks(FILE *f, const struct nt_sample *s, struct nt_watch *watch) {
    struct nt_task tasks[MOST_TASKS + 1];
    memset(tasks, 0, sizeof tasks);
    int n = by_name(s, tasks);
    for (const struct nt_field *field = nt_task_fields; field->key; field++) {
        int has_head = 0;
        nt_breathe(watch);
        for (int i = 0; field->metric && i < n; i++) {
            double value = nt_base_value(field, &tasks[i]);
            if (isnan(value)) continue;
            if (!has_head++) put_head(f, field->metric, field->help);
            put_name(f, field->metric, "task");
            put_label(f, tasks[i].command);
            put(f, "\"}");
            put_value(f, value);
        }
    }
}

static void put_plain(FILE *f, const struct nt_field *fields, const void *row, const char *labels) {
    for (const struct nt_field *field = fields; field->key; field++) {
        double value = nt_base_value(field, row);
        if (!field->metric || isnan(value)) continue;
        put_head(f, field->metric, field->help);
        fprintf(f, "%s%s", field->metric, labels);
        put_value(f, value);
    }
}

static void put_sample(FILE *f, const struct nt_sample *s, struct nt_watch *watch) {
    char labels[96];
    put_cpus(f, s, watch);
    put_tasks(f, s, watch);
    nt_breathe(watch);
    snprintf(labels, sizeof labels, "{nodes=\"%d\",every_seconds=\"%.9g\"}", s->scale.n_nodes,
             (double)s->scale.every_ns / 1e9);
    put_plain(f, nt_scale_fields, &s->scale, labels);
    put_plain(f, nt_own_fields, &s->own, "");
    put_head(f, "noiselab_top_interval_seconds", "length of the interval that all figures are of");
    fprintf(f, "noiselab_top_interval_seconds");
    put_value(f, (double)s->interval_ns / 1e9);
    put_head(
        f, "noiselab_top_lost_records",
        "records of context switches that the kernel could not write: figures are too low where it rises");
    fprintf(f, "noiselab_top_lost_records");
    put_value(f, (double)s->n_lost);
    put_head(f, "noiselab_top_source_info",
             "the source of all figures: cpu (every context switch), proc (accounts in /proc)");
    fprintf(f, "noiselab_top_source_info{source=\"%s\"} 1\n# EOF\n", s->source);
}

int nt_write_metrics(const char *path, const struct nt_sample *s, struct nt_watch *watch) {
    struct nl_whole file;
    if (nl_whole_open(&file, path, 0644)) return -1;
    fchmod(fileno(file.f), 0644); /* whatever the umask: who reads it is another user */
    put_sample(file.f, s, watch);
    nt_breathe(watch);
    return nl_whole_replace(&file, 0);
}
