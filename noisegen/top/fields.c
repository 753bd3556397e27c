/* Every field of the model, once: its name, its unit, where it is printed, and how it looks. */
#include "noisegen/top/fields.h"
#include "noisegen/top/top.h"
#include "noisegen/top/scale.h"

#define AT(member) offsetof(ROW, member)

#define ROW struct nt_cpu
const struct nt_field nt_cpu_fields[] = {
    {"cpu", "CPU", "number of the CPU", NT_INT, AT(cpu), 4, 0, NULL},
    {"lost_percent", "LOST%", "its time that tasks other than the program had", NT_PERCENT, AT(lost_percent),
     7, 0, "noiselab_cpu_lost_ratio"},
    {"longest_ns", "LONGEST", "longest interruption of the interval", NT_NS, AT(longest_ns), 8, 0,
     "noiselab_cpu_longest_interruption_seconds"},
    {"latest_ns", "LATEST", "length of the latest interruption", NT_NS, AT(latest_ns), 8, 0, NULL},
    {"latest_ago_ns", "AGO", "since the end of the latest interruption", NT_NS, AT(latest_ago_ns), 8, 0,
     NULL},
    {"interruptions_per_second", "PER-S", "interruptions", NT_PER_SECOND, AT(interruptions_per_second), 7, 0,
     "noiselab_cpu_interruptions_per_second"},
    {"steal_percent", "STEAL%", "its time that the hypervisor took", NT_PERCENT, AT(steal_percent), 7, 0,
     "noiselab_cpu_steal_ratio"},
    {"interrupts_percent", "IRQ%", "its time in interrupts, by /proc/stat", NT_PERCENT,
     AT(interrupts_percent), 6, 0, "noiselab_cpu_interrupts_ratio"},
    {"unaccounted_percent", NULL, "its busy time by /proc/stat that no visible task had", NT_PERCENT,
     AT(unaccounted_percent), 0, 0, "noiselab_cpu_unaccounted_ratio"},
    {"program_pid", NULL, "process of the program on this CPU", NT_NUMBER, AT(program_pid), 0, 0, NULL},
    {"program", "PROGRAM", "the program on this CPU", NT_TEXT, AT(program), -15, 0, NULL},
    {0},
};
#undef ROW

#define ROW struct nt_task
const struct nt_field nt_task_fields[] = {
    {"pid", "PID", "process", NT_NUMBER, AT(pid), 7, 0, NULL},
    {"user", "USER", "its user", NT_TEXT, AT(user), -8, 0, NULL},
    {"command", "COMMAND", "its name", NT_TEXT, AT(command), -15, 0, NULL},
    {"unit", "UNIT", "its unit of systemd, or cgroup", NT_TEXT, AT(unit), -10, 0, NULL},
    {"bursts_per_second", "PER-S", "bursts, from waking up to going to sleep", NT_PER_SECOND,
     AT(bursts_per_second), 6, 0, "noiselab_task_bursts_per_second"},
    {"length_ns", "LENGTH", "mean CPU time of its bursts", NT_NS, AT(length_ns), 7, 0, NULL},
    {"longest_ns", "LONGEST", "the longest of its bursts", NT_NS, AT(longest_ns), 7, 100,
     "noiselab_task_longest_burst_seconds"},
    {"period_ns", "PERIOD", "period of its bursts, where there is one", NT_NS, AT(period_ns), 7, 0, NULL},
    {"share_percent", "SHARE%", "its CPU time, of one CPU", NT_PERCENT, AT(share_percent), 6, 0,
     "noiselab_task_cpu_ratio"},
    {"ended_percent", "ENDED%", "of its share, by children that have ended", NT_PERCENT, AT(ended_percent), 6,
     120, NULL},
    {"cpus", "CPUS", "CPUs that it ran on, the busiest first", NT_TEXT, AT(cpus), -5, 0, NULL},
    {"is_program", NULL, "1: it is of the program, and disturbs nobody", NT_NUMBER, AT(is_program), 0, 0,
     NULL},
    {0},
};
#undef ROW

#define ROW struct nt_own
const struct nt_field nt_own_fields[] = {
    {"cpu_percent", NULL, "CPU time of noiselab top itself, of one CPU", NT_PERCENT, AT(cpu_percent), 0, 0,
     "noiselab_top_own_cpu_ratio"},
    {"longest_ns", NULL, "longest burst of noiselab top itself", NT_NS, AT(longest_ns), 0, 0,
     "noiselab_top_own_longest_burst_seconds"},
    {"wakeups_per_second", NULL, "bursts of noiselab top itself", NT_PER_SECOND, AT(wakeups_per_second), 0, 0,
     "noiselab_top_own_bursts_per_second"},
    {"cpu_ns", NULL, "CPU time of noiselab top itself since it began", NT_NS, AT(cpu_ns), 0, 0,
     "noiselab_top_own_cpu_seconds"},
    {0},
};
#undef ROW

#define ROW struct nt_scale
const struct nt_field nt_scale_fields[] = {
    {"slowdown_percent", NULL,
     "slowdown of a program on nodes like this one, by the interruptions of the last minute", NT_PERCENT,
     AT(slowdown_percent), 0, 0, "noiselab_projected_slowdown_ratio"},
    {"low_percent", NULL, "lower end of its interval of 95 %", NT_PERCENT, AT(low_percent), 0, 0,
     "noiselab_projected_slowdown_low_ratio"},
    {"high_percent", NULL, "upper end of its interval of 95 %, left out where it has none", NT_PERCENT,
     AT(high_percent), 0, 0, "noiselab_projected_slowdown_high_ratio"},
    {"error_percent", NULL, "standard error of that, by the walk alone", NT_PERCENT, AT(error_percent), 0, 0,
     NULL},
    {"span_ns", NULL, "length of the record that it is from", NT_NS, AT(span_ns), 0, 0, NULL},
    {"nodes", NULL, "nodes", NT_INT, AT(n_nodes), 0, 0, NULL},
    {"every_ns", NULL, "work between synchronisations", NT_NS, AT(every_ns), 0, 0, NULL},
    {0},
};
#undef ROW

static double number_at(const struct nt_field *field, const void *row) {
    const char *at = (const char *)row + field->at;
    switch (field->unit) {
    case NT_PERCENT:
    case NT_PER_SECOND: return *(const double *)(const void *)at;
    case NT_NS:
    case NT_NUMBER: return (double)*(const int64_t *)(const void *)at;
    case NT_INT: return *(const int *)(const void *)at;
    case NT_TEXT: return NAN;
    }
    return NAN;
}

/* As much of a text as there is room for. Here and below printf would take most of the time that a sample
 * costs. */
static void copy(const char *from, char *text, size_t size) {
    size_t n = strnlen(from, size - 1);
    memcpy(text, from, n);
    text[n] = '\0';
}

/* A number that is not negative, with n decimals. Beyond what fits it has them all the same. */
static void decimals(double value, int n, const char *unit, char *text, size_t size) {
    static const int64_t powers[] = {1, 10, 100, 1000};
    char digits[24];
    int at = (int)sizeof digits;
    if (!(value < 1e15) || size < sizeof digits + 4) {
        snprintf(text, size, "%.*f%s", n, value, unit);
        return;
    }
    int64_t whole = (int64_t)(value * (double)powers[n] + 0.5);
    for (int i = 0; i <= n || whole > 0; i++) {
        if (i == n && n > 0) digits[--at] = '.';
        digits[--at] = (char)('0' + whole % 10);
        whole /= 10;
    }
    size_t length = sizeof digits - (size_t)at;
    memcpy(text, digits + at, length);
    copy(unit, text + length, size - length);
}

/* Three digits that count: "1.02", "10.2", "102". */
static void three_digits(double value, const char *unit, char *text, size_t size) {
    decimals(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit, text, size);
}

static const char *format_ns(double ns, char *text, size_t size) {
    if (ns < 999.5) decimals(ns, 0, "ns", text, size);
    else if (ns < 999.5e3) three_digits(ns / 1e3, "us", text, size);
    else if (ns < 999.5e6) three_digits(ns / 1e6, "ms", text, size);
    else three_digits(ns / 1e9, "s", text, size);
    return text;
}

const char *nt_format(const struct nt_field *field, const void *row, char *text, size_t size) {
    const char *words = (const char *)row + field->at;
    double value = number_at(field, row);
    switch (field->unit) {
    case NT_TEXT: copy(words[0] ? words : "-", text, size); return text;
    case NT_NUMBER:
    case NT_INT:
        if (value < 0) snprintf(text, size, "%.0f", value);
        else decimals(value, 0, "", text, size);
        return text;
    case NT_NS:
        return value > 0 ? format_ns(value, text, size)
                         : strcpy(text, value < 0 || strcmp(field->key, "period_ns") == 0 ? "-" : "0");
    case NT_PERCENT:
    case NT_PER_SECOND:
        if (value < 0 || isnan(value)) return strcpy(text, "-");
        if (value > 0 && value < 0.0995) decimals(value, 3, "", text, size);
        else three_digits(value, "", text, size);
        return text;
    }
    return text;
}

double nt_base_value(const struct nt_field *field, const void *row) {
    double value = number_at(field, row);
    if (field->unit == NT_TEXT || value < 0) return NAN;
    return field->unit == NT_PERCENT ? value / 100 : field->unit == NT_NS ? value / 1e9 : value;
}
