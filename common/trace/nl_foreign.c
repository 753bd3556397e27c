#include "common/trace/nl_foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

enum { HEAD_LINES = 2000, MOST_INTERRUPTIONS = 1 << 24 };

/* Where the mark of a file stands. */
enum place {
    AT_BEGIN,       /* its first bytes */
    IN_COMMENT,     /* in a comment of its head */
    BEGINS_COMMENT, /* behind the # of such a comment; a # of the mark is a digit */
    IN_LINE         /* in a line that is neither a comment nor two numbers */
};

/* What has single interruptions is read, in these forms; all else is refused. */
enum form { REFUSED, DETOURS, OSNOISE };

#define SWITCHES                                                                                             \
    "awk '/sched_switch:/ { match($0, /\\[[0-9]+\\]/); c = substr($0, RSTART + 1, RLENGTH - 2) + 0; "        \
    "match($0, /[0-9]+\\.[0-9]+:/); "                                                                        \
    "t = substr($0, RSTART, RLENGTH - 1) * 1e9; if (s[c] && t > s[c]) printf \"%.0f\\t%.0f\\t%d\\n\", "      \
    "s[c], t - s[c], c; "                                                                                    \
    "s[c] = /next_pid=0 / ? 0 : t }' FILE | sort -n"

/* Of several rows that fit the last one counts. `make`: the command that makes a trace of FILE; NULL: what
 * `why` says is to be done. */
static const struct known {
    enum place place;
    const char *mark;
    enum form form;
    const char *why;
    const char *make;
} known[] = {
    {AT_BEGIN, "\xef\xbb\xbf", REFUSED, "begins with a byte-order mark", "sed '1s/^...//' FILE"},
    {AT_BEGIN, "\xff\xfe", REFUSED, "is text in UTF-16", "iconv -f UTF-16 -t ASCII FILE"},
    {AT_BEGIN, "\xfe\xff", REFUSED, "is text in UTF-16", "iconv -f UTF-16 -t ASCII FILE"},
    {AT_BEGIN, "\x1f\x8b", REFUSED, "is compressed by gzip", "gzip -dc FILE"},
    {AT_BEGIN,
     "\xfd"
     "7zXZ",
     REFUSED, "is compressed by xz", "xz -dc FILE"},
    {AT_BEGIN, "\x28\xb5\x2f\xfd", REFUSED, "is compressed by zstd", "zstd -dc FILE"},
    {AT_BEGIN, "PERFILE2", REFUSED,
     "is a recording of perf: write it as text, and give that ('perf sched timehist -i FILE' of 'perf sched "
     "record')",
     NULL},
    {AT_BEGIN, "\x17\x08\x44tracing", REFUSED,
     "is a recording of trace-cmd: write it as text, and give that ('trace-cmd report FILE')", NULL},
    {IN_COMMENT, "netgauge", DETOURS, NULL, NULL},
    {IN_COMMENT, "selfish", DETOURS, NULL, NULL},
    {IN_COMMENT, "loggopsim", DETOURS, NULL, NULL},
    {BEGINS_COMMENT, " scan: repetition ", REFUSED,
     "has the detours of noiselab-accept, whose times begin anew with each scan: give the folder of the "
     "launch ('noiselab project DIR')",
     NULL},
    {BEGINS_COMMENT, " Frequency #", REFUSED,
     "is of FTQ: its columns are times and amounts of work, not interruptions",
     "awk '!/^#/ { t[n + 0] = $1; c[n++] = $2; if ($2 > m) m = $2 } END { for (i = 0; i < n - 1; i++) "
     "if ((d = (t[i + 1] - t[i]) * (1 - c[i] / m)) >= 1) printf \"%.0f\\t%.0f\\n\", t[i], d }' FILE"},
    {BEGINS_COMMENT, " Ticks per ns:", REFUSED,
     "is of FTQ: its columns are times and amounts of work, not interruptions",
     "awk '!/^#/ { t[n + 0] = $1; c[n++] = $2; if ($2 > m) m = $2 } END { for (i = 0; i < n - 1; i++) "
     "if ((d = (t[i + 1] - t[i]) * (1 - c[i] / m)) >= 1) printf \"%.0f\\t%.0f\\n\", t[i], d }' FILE"},
    {BEGINS_COMMENT, " tracer: ", REFUSED,
     "is of Linux' tracer, with neither events of osnoise nor switches of tasks: record one of them "
     "(trace-cmd record "
     "-e osnoise -p osnoise, or -e sched_switch)",
     NULL},
    {BEGINS_COMMENT, " tracer: osnoise", REFUSED,
     "is of osnoise and has its sums per second, but no single interruptions: record its events, too "
     "(trace-cmd "
     "record -e osnoise -p osnoise, or rtla osnoise with -e osnoise)",
     NULL},
    {BEGINS_COMMENT, " tracer: timerlat", REFUSED,
     "is of the tracer timerlat: its lines are latencies of a timer, not interruptions: record events of "
     "osnoise (trace-cmd "
     "record -e osnoise -p osnoise)",
     NULL},
    {BEGINS_COMMENT, " tracer: hwlat", REFUSED,
     "is of the tracer hwlat, which looks at one CPU at a time, for a part of the time",
     "awk '/inner\\/outer/ { match($0, /ts:[0-9.]+/); t = substr($0, RSTART + 3, RLENGTH - 3) * 1e9; "
     "sub(/.*inner\\/outer\\(us\\): */, \"\"); split($0, d, /[\\/ \\t]+/); m = d[1] > d[2] ? d[1] : d[2]; "
     "printf \"%.0f\\t%.0f\\n\", t, 1000 * m }' FILE"},
    {BEGINS_COMMENT, " RTLA osnoise", REFUSED,
     "is a histogram of rtla osnoise, which has no single interruptions: take the trace that its option -t "
     "writes, with -e osnoise",
     NULL},
    {BEGINS_COMMENT, " RTLA timerlat", REFUSED,
     "is of rtla timerlat: latencies of a timer are no interruptions: take the trace of rtla osnoise (-t, "
     "with -e osnoise)",
     NULL},
    {BEGINS_COMMENT, " /dev/cpu_dma_latency", REFUSED,
     "is of cyclictest: latencies of a timer are no interruptions: take events of osnoise, or noiselab "
     "record",
     NULL},
    {IN_LINE, "T: 0 (", REFUSED,
     "is of cyclictest: latencies of a timer are no interruptions: take events of osnoise, or noiselab "
     "record",
     NULL},
    {IN_LINE, "Operating System Noise", REFUSED,
     "is a table of rtla osnoise, which has no single interruptions: take the trace that its option -t "
     "writes, with -e osnoise",
     NULL},
    {IN_LINE, "Timer Latency", REFUSED,
     "is a table of rtla timerlat: latencies of a timer are no interruptions: take the trace of rtla osnoise "
     "(-t, with -e osnoise)",
     NULL},
    {IN_LINE, "num_ranks ", REFUSED, "is a schedule of LogGOPSim (GOAL), a program and no noise", NULL},
    {IN_LINE, "launch,", REFUSED,
     "is a table of noiselab: give the folder of the campaign ('noiselab project DIR')", NULL},
    {IN_LINE, "sch delay", REFUSED, "is of perf sched timehist, which has all tasks, yours among them",
     "awk '$2 ~ /^\\[[0-9]+\\]$/ { c = substr($2, 2) + 0; t = $1 * 1e9; s = t - $NF * 1e6; if (s < e[c]) s = "
     "e[c]; "
     "if ($3 !~ /^<idle>/ && t > s) printf \"%.0f\\t%.0f\\t%d\\n\", s, t - s, c; e[c] = t }' FILE | sort -n"},
    {IN_LINE, "Avg delay ms", REFUSED,
     "is of perf sched latency, which has no single bursts: take perf sched timehist of the same recording",
     NULL},
    {IN_LINE, "sched_switch:", REFUSED,
     "has the switches of all tasks (ftrace, trace-cmd or perf script), yours among them", SWITCHES},
    {IN_LINE, "_noise: ", OSNOISE, NULL, NULL},
};

enum { N_KNOWN = sizeof known / sizeof *known };

static int is_blank_line(const char *line) { return line[strspn(line, " \t\r\n")] == '\0'; }

/* Whether `mark` stands in the text, in any letters. */
static int holds(const char *text, const char *mark) {
    size_t n = strlen(mark);
    for (; *text; text++)
        if (strncasecmp(text, mark, n) == 0) return 1;
    return n == 0;
}

/* Whether the text begins with the mark, a # of which is a digit. */
static int begins(const char *text, const char *mark) {
    for (; *mark; text++, mark++)
        if (*mark == '#' ? *text < '0' || *text > '9' : *text != *mark) return 0;
    return 1;
}

/* What one is in ns, where the head of the columns names a unit: "# start[usec] duration[usec]". 0: it names
 * none. */
static double unit_of_head(const char *comment) {
    static const struct {
        const char *mark;
        double ns;
    } units[] = {{"[ns]", 1},   {"[nsec]", 1},   {"[us]", 1e3}, {"[usec]", 1e3},
                 {"[ms]", 1e6}, {"[msec]", 1e6}, {"[s]", 1e9},  {"[sec]", 1e9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (holds(comment, units[i].mark)) return units[i].ns;
    return 0;
}

/* Whether the line begins with two numbers, as a trace's do; is_decimal: one of them has a point or an
 * exponent. */
static int is_two_numbers(const char *text, int *is_decimal) {
    *is_decimal = 0;
    for (int i = 0; i < 2; i++) {
        size_t n = strcspn(text, " \t\r\n");
        if (n == 0 || strspn(text, "0123456789.eE+-") < n || !memchr("0123456789.-+", *text, 13)) return 0;
        for (size_t k = 0; k < n; k++)
            *is_decimal |= text[k] == '.' || text[k] == 'e' || text[k] == 'E';
        text += n;
        text += strspn(text, " \t");
    }
    return 1;
}

static int fits(const struct known *row, int n_line, const char *line, const char *text) {
    switch (row->place) {
    case AT_BEGIN: return n_line == 0 && strncmp(line, row->mark, strlen(row->mark)) == 0;
    case IN_COMMENT: return *text == '#' && holds(text, row->mark);
    case BEGINS_COMMENT: return *text == '#' && begins(text + 1, row->mark);
    default: return *text != '#' && holds(text, row->mark);
    }
}

/* What the head of a file says of it. */
struct head {
    const struct known *row; /* NULL: none of the table */
    double unit_ns;          /* of its times; 0: it names none */
    int is_decimal;          /* its first line has a number with a point */
};

static struct head read_head(FILE *f) {
    struct head head = {.row = NULL};
    char *line = NULL;
    size_t size = 0;
    int is_data = 0, has_tracer = 0;
    for (int i = 0; i < HEAD_LINES && !is_data && getline(&line, &size, f) > 0; i++) {
        const char *text = line + strspn(line, " \t");
        if (*text == '#' && unit_of_head(text) > 0) head.unit_ns = unit_of_head(text);
        /* a tracer's lines are no pairs of numbers, whatever a task is called */
        if (*text != '#' && !has_tracer) is_data = is_two_numbers(text, &head.is_decimal);
        for (int k = head.row ? (int)(head.row - known) : 0; k < N_KNOWN && !is_data; k++)
            if (fits(&known[k], i, line, text)) head.row = &known[k];
        has_tracer = has_tracer || (*text == '#' && begins(text + 1, " tracer: "));
    }
    free(line);
    rewind(f);
    return head;
}

/* ---- start and duration in two columns ---- */

struct detours {
    int64_t start_ns, end_ns; /* of the line that is not yet written */
    char rest[NL_TRACE_LINE_BYTES];
    int has_line;
    int64_t n_blank; /* lines behind it that became nothing */
    int64_t n, n_merged, n_empty;
};

/* A decimal number of a field, 0 and more, within 64 bits once it is in ns. */
static int read_decimal(const char *field, double unit_ns, int64_t *ns) {
    char *end;
    size_t n = strcspn(field, " \t\r\n");
    if (n == 0 || strspn(field, "0123456789.eE+-") < n || field[0] == '-') return -1;
    long double value = strtold(field, &end) * (long double)unit_ns;
    if (end != field + n || !(value < 9.2e18L)) return -1;
    *ns = llrintl(value);
    return 0;
}

static void write_detour(FILE *to, struct detours *d) {
    if (d->has_line)
        fprintf(to, "%" PRId64 "\t%" PRId64 "%s\n", d->start_ns, d->end_ns - d->start_ns, d->rest);
    for (; d->n_blank > 0; d->n_blank--)
        fputc('\n', to);
    d->has_line = 0;
}

/* NULL, or what is wrong. */
static const char *take_detour(FILE *to, struct detours *d, const char *text, double unit_ns) {
    int64_t start_ns, duration_ns;
    const char *second = text + strcspn(text, " \t\r\n");
    second += strspn(second, " \t");
    const char *rest = second + strcspn(second, " \t\r\n");
    size_t n_rest = strcspn(rest, "\r\n");
    if (read_decimal(text, unit_ns, &start_ns)) return "the start is not a number, 0 or more";
    if (read_decimal(second, unit_ns, &duration_ns)) return "the duration is not a positive number";
    if (strtold(second, NULL) <= 0) return "the duration is not a positive number";
    if (duration_ns > INT64_MAX - start_ns) return "ends beyond the range of 64 bits";
    if (n_rest >= sizeof d->rest) return "is longer than 255 characters";
    d->n++;
    int is_same = d->has_line && strncmp(d->rest, rest, n_rest) == 0 && d->rest[n_rest] == '\0';
    /* rounding may make two that follow each other meet, or share a nanosecond */
    if (is_same && start_ns == d->end_ns - 1 && duration_ns > 0) start_ns++, duration_ns--;
    if (duration_ns == 0) {
        d->n_empty++;
        d->n_blank++;
    } else if (is_same && start_ns == d->start_ns) {
        d->n_merged++;
        d->n_blank++;
        d->end_ns += duration_ns;
    } else {
        write_detour(to, d);
        *d = (struct detours){.start_ns = start_ns,
                              .end_ns = start_ns + duration_ns,
                              .has_line = 1,
                              .n = d->n,
                              .n_merged = d->n_merged,
                              .n_empty = d->n_empty};
        snprintf(d->rest, sizeof d->rest, "%.*s", (int)n_rest, rest);
    }
    return NULL;
}

static int convert_detours(struct nl_trace *t, FILE *from, FILE *to, double unit_ns, char *reason,
                           size_t reason_size) {
    struct detours d = {.n = 0};
    char *line = NULL;
    size_t size = 0;
    const char *problem = NULL;
    int64_t number = 0;
    ssize_t length;
    while (!problem && (length = getline(&line, &size, from)) > 0) {
        const char *text = line + strspn(line, " \t");
        number++;
        if (strlen(line) != (size_t)length) {
            problem = "has a zero byte";
        } else if (is_blank_line(line) || (*text == '#' && !strstr(text, "span_ns:"))) {
            d.n_blank++;
        } else if (*text == '#') {
            write_detour(to, &d);
            fprintf(to, "%s%s", text, strchr(text, '\n') ? "" : "\n");
        } else {
            problem = take_detour(to, &d, text, unit_ns);
        }
    }
    write_detour(to, &d);
    free(line);
    if (problem) return nl_trace_say(reason, reason_size, "%s:%" PRId64 ": %s", t->path, number, problem);
    if (d.n > 0 && d.n == d.n_empty)
        return nl_trace_say(reason, reason_size,
                            "'%s': none of its %" PRId64
                            " bursts lasts 1 ns: its times are in another unit than ns "
                            "(of times in s awk '!/^#/ { printf \"%%.0f\\t%%.0f\\n\", $1 * 1e9, $2 * 1e9 }' "
                            "'%s' makes a trace)",
                            t->path, d.n, t->path);
    snprintf(t->converted, sizeof t->converted, "%" PRId64 " interruptions in units of %g ns, rounded to ns",
             d.n, unit_ns);
    size_t used = strlen(t->converted);
    if (d.n_merged + d.n_empty)
        snprintf(t->converted + used, sizeof t->converted - used,
                 "; %" PRId64 " with the start of another added to that, %" PRId64
                 " shorter than 1 ns left out",
                 d.n_merged, d.n_empty);
    return 0;
}

/* ---- events of the tracer osnoise ---- */

struct interruption {
    int64_t start_ns, duration_ns;
    int cpu;
};

/* "... [003] ... irq_noise: local_timer:236 start 44226.529123456 duration 1845 ns": 1, 0: another event, -1:
 * damaged. */
static int read_event(const char *line, struct interruption *i) {
    const char *name = strstr(line, "_noise: "), *start = name ? strstr(name, " start ") : NULL,
               *cpu = strchr(line, '[');
    int64_t s, ns;
    int n_cpu = -1, n = -1;
    if (!start || !cpu || cpu > name) return 0;
    for (const char *next; (next = strchr(cpu + 1, '[')) && next < name;)
        cpu = next; /* a task may be called [x] */
    if (sscanf(cpu, "[%d]%n", &i->cpu, &n_cpu) != 1 || n_cpu < 0 || i->cpu < 0) return -1;
    const char *point = strchr(start, '.');
    if (!point || strspn(point + 1, "0123456789") != 9) return -1;
    if (sscanf(start, " start %" SCNd64 ".%" SCNd64 " duration %" SCNd64 " ns%n", &s, &ns, &i->duration_ns,
               &n) != 3 ||
        n < 0)
        return -1;
    if (s < 0 || s > INT64_C(9000000000) || i->duration_ns < 0 || i->duration_ns > INT64_C(1000000000000))
        return -1;
    i->start_ns = s * 1000000000 + ns;
    return 1;
}

static int by_cpu(const void *a, const void *b) {
    const struct interruption *x = a, *y = b;
    if (x->cpu != y->cpu) return x->cpu < y->cpu ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_start(const void *a, const void *b) {
    const struct interruption *x = a, *y = b;
    return x->start_ns == y->start_ns ? by_cpu(a, b) : x->start_ns < y->start_ns ? -1 : 1;
}

/* What interrupts an interruption is not in its duration: it is put behind it, so that nothing overlaps and
 * the sum stays. */
static size_t put_in_order(struct interruption *all, size_t n, int *n_cpus) {
    size_t k = 0;
    qsort(all, n, sizeof *all, by_cpu);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || all[i].cpu != all[i - 1].cpu) ++*n_cpus;
        struct interruption now = all[i], *before = k ? &all[k - 1] : NULL;
        if (before && before->cpu == now.cpu && now.start_ns <= before->start_ns + before->duration_ns)
            before->duration_ns += now.duration_ns;
        else if (now.duration_ns > 0)
            all[k++] = now;
    }
    qsort(all, k, sizeof *all, by_start);
    return k;
}

static int convert_events(struct nl_trace *t, FILE *from, FILE *to, char *reason, size_t reason_size) {
    struct interruption *all = NULL, found;
    char *line = NULL;
    size_t size = 0, room = 0, n = 0;
    int64_t number = 0;
    int got = 0, n_cpus = 0;
    reason[0] = '\0';
    while (!reason[0] && getline(&line, &size, from) > 0) {
        number++;
        got = line[strspn(line, " \t")] == '#' ? 0 : read_event(line, &found);
        if (got < 0)
            snprintf(reason, reason_size,
                     "%s:%" PRId64 ": is not an event of osnoise (start SECONDS duration N ns)", t->path,
                     number);
        if (got <= 0) continue;
        if (n == room) {
            struct interruption *larger =
                n < MOST_INTERRUPTIONS ? realloc(all, (room = 2 * room + 1024) * sizeof *all) : NULL;
            if (!larger)
                snprintf(reason, reason_size, "'%s' has more than %zu interruptions: cut it in pieces",
                         t->path, n);
            if (!larger) continue;
            all = larger;
        }
        all[n++] = found;
    }
    if (!reason[0]) {
        size_t left = n > 0 ? put_in_order(all, n, &n_cpus) : 0;
        for (size_t i = 0; i < left; i++)
            fprintf(to, "%" PRId64 "\t%" PRId64 "\t%d\n", all[i].start_ns, all[i].duration_ns, all[i].cpu);
        snprintf(t->converted, sizeof t->converted,
                 "%zu events of osnoise on %d CPU(s); %zu within or beside another are added to that", n,
                 n_cpus, n - left);
    }
    free(all);
    free(line);
    return reason[0] ? -1 : 0;
}

/* ---- all of them ---- */

/* Why the file is refused, with the command whose FILE is this one. -1. */
static int refuse(const struct nl_trace *t, const struct known *row, char *reason, size_t size) {
    if (!row->make) return nl_trace_say(reason, size, "'%s' %s", t->path, row->why);
    const char *file = strstr(row->make, "FILE");
    return nl_trace_say(reason, size, "'%s' %s; this makes a trace of it: %.*s'%s'%s", t->path, row->why,
                        (int)(file - row->make), row->make, t->path, file + 4);
}

/* A file that is nowhere, and is gone when it is closed. */
static int memory_file(void) {
#ifdef __linux__
    return memfd_create("trace", MFD_CLOEXEC);
#else
    FILE *f = tmpfile();
    int fd = f ? dup(fileno(f)) : -1;
    if (f) fclose(f);
    return fd;
#endif
}

/* `memory` takes the place of the file. */
static int replace(struct nl_trace *t, int memory) {
    struct stat st;
    if (fstat(memory, &st) || dup2(memory, t->fd) < 0) return -1;
    fcntl(t->fd, F_SETFD, FD_CLOEXEC);
    t->size_bytes = (int64_t)st.st_size;
    t->changed_ns = nl_trace_change_time_ns(&st);
    return 0;
}

static int convert(struct nl_trace *t, const struct head *head, FILE *from, char *reason, size_t size) {
    int memory = memory_file(), copy = memory >= 0 ? dup(memory) : -1, failed = -1;
    FILE *to = copy >= 0 ? fdopen(copy, "w") : NULL;
    double unit_ns = head->unit_ns > 0 ? head->unit_ns : 1;
    reason[0] = '\0';
    if (to && head->row && head->row->form == OSNOISE)
        failed = convert_events(t, from, to, reason, size);
    else if (to)
        failed = convert_detours(t, from, to, unit_ns, reason, size);
    if (to && fclose(to)) failed = -1;
    if (!failed) failed = replace(t, memory);
    if (memory >= 0) close(memory);
    if (!failed || reason[0]) return failed;
    return nl_trace_say(reason, size, "no memory to convert '%s'", t->path);
}

int nl_foreign_convert(struct nl_trace *t, char *reason, size_t reason_size) {
    int own = dup(t->fd), failed = 0;
    FILE *from = own >= 0 ? fdopen(own, "r") : NULL;
    if (!from) {
        nl_trace_say(reason, reason_size, "cannot read '%s': %s", t->path, strerror(errno));
        if (own >= 0) close(own);
        return -1;
    }
    struct head head = read_head(from);
    if (head.row && head.row->form == REFUSED)
        failed = refuse(t, head.row, reason, reason_size);
    else if (head.row || head.is_decimal || head.unit_ns > 0)
        failed = convert(t, &head, from, reason, reason_size);
    fclose(from);
    return failed;
}

/* ---- what cannot be noise ---- */

/* The shortest interruption by an operating system is an interrupt, of some 500 ns. The most frequent noise
 * that was measured on a machine is a timer's and a network's, some ten thousand times a second; and what
 * takes a CPU for more than half of the time is a load. */
enum { LEAST_LONGEST_NS = 250, MOST_PER_SECOND = 100000, MOST_PERCENT = 50, FEW_BURSTS = 5 };

int nl_foreign_doubt(const struct nl_trace *t, char *reason, size_t size) {
    char words[256];
    int n_cpus = t->n_cpus > 0 ? t->n_cpus : 1;
    int64_t longest_ns = 0;
    double most_per_s = 0, most_percent = 0, span_s = (double)t->span_ns * 1e-9;
    for (int i = 0; i < n_cpus; i++) {
        double per_s = (double)t->bursts[i] / span_s, percent = 1e-7 * (double)t->busy_ns[i] / span_s;
        if (t->bursts[i] >= FEW_BURSTS && per_s > most_per_s) most_per_s = per_s;
        if (t->bursts[i] >= 2 && percent > most_percent) most_percent = percent;
        if (t->longest_ns[i] > longest_ns) longest_ns = t->longest_ns[i];
    }
    nl_trace_words(t, words, sizeof words);
    if (longest_ns < LEAST_LONGEST_NS || most_per_s > MOST_PER_SECOND)
        return nl_trace_say(
            reason, size,
            "'%s': %s: no operating system interrupts a CPU so %s: its times are in another unit than ns (of "
            "times in us awk '!/^#/ { $1 = sprintf(\"%%.0f\", 1000 * $1); $2 = sprintf(\"%%.0f\", 1000 * "
            "$2); print }' "
            "'%s' makes a trace)",
            t->path, words, longest_ns < LEAST_LONGEST_NS ? "briefly" : "often", t->path);
    /* another tool's durations are durations */
    if (most_percent <= MOST_PERCENT || t->has_span || t->converted[0]) return 0;
    return nl_trace_say(
        reason, size,
        "'%s': %s: no noise takes so much of a CPU: its second column is no duration in ns (if it is one, "
        "and this is the load that you want, say how long the trace is by a line '# span_ns: %" PRId64 "')",
        t->path, words, t->span_ns);
}
