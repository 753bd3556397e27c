#include "common/trace/nl_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/trace/nl_foreign.h"
#include "common/trace/nl_kinds.h"

enum { MAX_CPU_NUMBER = 65535 };

/* ---- one line; what is wrong with it as text that needs no memory ---- */

/* strspn and strcspn make a table in each call, which takes longer than the rest of a line. */
static char *behind_blanks(char *p) {
    while (*p == '\t' || *p == ' ')
        p++;
    return p;
}

static char *behind_field(char *p) {
    while (*p && *p != '\t' && *p != ' ')
        p++;
    return p;
}

/* A whole number of `least` to 2^63 - 1; strtoll takes thrice as long. */
static int parse_number(const char *p, int64_t least, int64_t *value) {
    int64_t v = 0;
    if (!*p) return -1;
    for (; *p; p++) {
        if (*p < '0' || *p > '9' || v > (INT64_MAX - (*p - '0')) / 10) return -1;
        v = v * 10 + (*p - '0');
    }
    *value = v;
    return v < least ? -1 : 0;
}

#define NAME(name, keeps_duration)  #name,
#define KEEPS(name, keeps_duration) keeps_duration,

const char *const nl_trace_kinds[] = {NL_KINDS(NAME) NULL};
static const char keeps_duration[] = {NL_KINDS(KEEPS)};

static int kind_row(const char *name) {
    for (int i = 0; nl_trace_kinds[i]; i++)
        if (strcmp(nl_trace_kinds[i], name) == 0) return i;
    return -1;
}

/* Parses a line, and takes it apart; a burst lasts `least_ns` or longer. A - is no CPU, the kind that the
 * options give, and no task. NULL, or what is wrong. */
static const char *parse_line(char *p, int64_t least_ns, struct nl_trace_line *line, int *n_columns) {
    char *fields[6];
    int n = 0;
    int64_t cpu;
    for (p = behind_blanks(p); *p && n < 6; p = behind_blanks(p)) {
        fields[n++] = p;
        p = behind_field(p);
        if (*p) *p++ = '\0';
    }
    *line = (struct nl_trace_line){.cpu = -1, .kind_row = -1};
    *n_columns = n;
    if (n < 2) return "has no duration (wanted: start_ns<TAB>duration_ns)";
    if (n > 5) return "has more than five columns (start_ns, duration_ns, cpu, kind, task)";
    if (parse_number(fields[0], 0, &line->start_ns))
        return "the start is not a whole number of ns, 0 or more";
    if (parse_number(fields[1], least_ns, &line->duration_ns))
        return "the duration is not a positive whole number of ns";
    if (line->duration_ns > INT64_MAX - line->start_ns) return "ends beyond the range of 64 bits";
    if (n >= 3 && strcmp(fields[2], "-") != 0) {
        if (parse_number(fields[2], 0, &cpu) || cpu > MAX_CPU_NUMBER)
            return "the third column is not a CPU number (or -)";
        line->cpu = (int)cpu;
    }
    if (n >= 4 && strcmp(fields[3], "-") != 0) {
        line->kind_row = kind_row(fields[3]);
        if (line->kind_row < 0) return "the fourth column is not a kind of load (see --list kinds), nor -";
        if (!keeps_duration[line->kind_row]) return "this kind of load does not keep to a duration";
    }
    if (n >= 5 && strcmp(fields[4], "-") != 0) line->task = fields[4];
    return NULL;
}

/* ---- reading by blocks ---- */

/* Moves what is left to the buffer's begin and reads on; 0 when something came, 1 at the end of the file, -1.
 */
static int refill(struct nl_trace_reader *r) {
    memmove(r->buffer, r->buffer + r->lo, r->hi - r->lo);
    r->hi -= r->lo;
    r->lo = 0;
    ssize_t n;
    do
        n = pread(r->fd, r->buffer + r->hi, NL_TRACE_BLOCK_BYTES - r->hi, r->offset);
    while (n < 0 && errno == EINTR);
    if (n < 0) return -1;
    if (n == 0) return 1;
    r->offset += n;
    r->hi += (size_t)n;
    return 0;
}

static int failed(struct nl_trace_reader *r, const char *problem) {
    r->problem = problem;
    return -1;
}

/* The next line as a string without its end, comments included: 1, 0 at the end, -1. */
static int next_raw(struct nl_trace_reader *r, char **line) {
    size_t seen = r->lo;
    for (;;) {
        char *newline = memchr(r->buffer + seen, '\n', r->hi - seen);
        if (!newline && r->is_at_end && r->of == NL_TRACE_OF_LAUNCH)
            r->lo = r->hi; /* the launch was killed within it */
        if (newline || (r->is_at_end && r->hi > r->lo)) {
            char *end = newline ? newline : r->buffer + r->hi;
            *line = r->buffer + r->lo;
            r->lo = (size_t)(end - r->buffer) + (newline != NULL);
            r->line++;
            *end = '\0';
            if (*line + strlen(*line) < end) return failed(r, "has a zero byte");
            if (end > *line && end[-1] == '\r') end[-1] = '\0';
            return 1;
        }
        if (r->is_at_end) return 0;
        if (r->hi - r->lo == NL_TRACE_BLOCK_BYTES) {
            r->line++;
            return failed(r, r->buffer[r->lo] == '#' ? "is a comment longer than 16 KiB"
                                                     : "is longer than 255 characters");
        }
        seen = r->hi - r->lo;
        int rc = refill(r);
        if (rc < 0) return failed(r, NULL);
        r->is_at_end = rc;
    }
}

/* The one comment that means something, behind its #; NULL, or what is wrong with it. */
static const char *read_comment(struct nl_trace_reader *r, char *p) {
    static const char key[] = "span_ns:";
    p = behind_blanks(p);
    if (strncmp(p, key, sizeof key - 1) != 0) return NULL;
    p = behind_blanks(p + sizeof key - 1);
    char *stop = behind_field(p);
    int is_more = *behind_blanks(stop);
    *stop = '\0';
    return is_more || parse_number(p, 1, &r->span_ns) ? "span_ns is not a positive whole number of ns" : NULL;
}

/* The next burst or, where these are wanted, comment, as it stands in the file: 1, 0, -1. */
static int next_line(struct nl_trace_reader *r, int wants_comments, struct nl_trace_line *line,
                     int *n_columns) {
    char *begin;
    for (;;) {
        int got = next_raw(r, &begin);
        if (got <= 0) return got;
        char *p = behind_blanks(begin);
        if (!*p) continue;
        r->comment = *p == '#' ? p + 1 : NULL;
        if (r->comment && wants_comments) return 1;
        if (!r->comment && strlen(begin) >= NL_TRACE_LINE_BYTES)
            return failed(r, "is longer than 255 characters");
        int64_t least_ns = r->of == NL_TRACE_OF_LAUNCH ? 0 : 1;
        const char *problem = r->comment ? read_comment(r, p + 1) : parse_line(p, least_ns, line, n_columns);
        if (problem) return failed(r, problem);
        if (!r->comment) return 1;
    }
}

static void start_reading(struct nl_trace_reader *r, int fd, int of) {
    r->fd = fd;
    r->of = of;
    r->offset = r->line = r->span_ns = 0;
    r->lo = r->hi = 0;
    r->is_at_end = 0;
    r->problem = r->comment = NULL;
}

void nl_trace_open(struct nl_trace_reader *r, const struct nl_trace *trace) {
    r->trace = trace;
    nl_trace_rewind(r);
}

void nl_trace_rewind(struct nl_trace_reader *r) {
    start_reading(r, r->trace->fd, r->trace->of);
    r->last_start_ns = r->trace->first_ns;
}

static int cpu_index(const struct nl_trace *t, int cpu) {
    int lo = 0, hi = t->n_cpus;
    while (lo < hi) {
        int middle = (lo + hi) / 2;
        if (t->cpus[middle] < cpu)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < t->n_cpus && t->cpus[lo] == cpu ? lo : -1;
}

int64_t nl_trace_change_time_ns(const struct stat *st) {
#ifdef __APPLE__
    return (int64_t)st->st_mtimespec.tv_sec * 1000000000 + st->st_mtimespec.tv_nsec;
#else
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
#endif
}

/* A file that changes while it is replayed is noticed at its end, and before that where it would bring what
 * the check rules out. */
static int next(struct nl_trace_reader *r, int wants_comments, struct nl_trace_line *line) {
    int n_columns;
    int got = next_line(r, wants_comments, line, &n_columns);
    if (got <= 0) {
        struct stat st;
        /* at the end, and only there: a system call per round, not per burst */
        int is_same = fstat(r->fd, &st) == 0 && st.st_size == r->trace->size_bytes &&
                      nl_trace_change_time_ns(&st) == r->trace->changed_ns;
        return is_same ? got : failed(r, "the file changed since it was checked");
    }
    if (r->comment) return 1;
    const struct nl_trace *t = r->trace;
    line->cpu_index = t->n_cpus > 0 ? cpu_index(t, line->cpu) : 0;
    if (line->cpu_index < 0 || line->start_ns < r->last_start_ns ||
        line->start_ns - t->first_ns + line->duration_ns > t->span_ns)
        return failed(r, "the file changed since it was checked");
    r->last_start_ns = line->start_ns;
    return 1;
}

int nl_trace_next(struct nl_trace_reader *r, struct nl_trace_line *line) { return next(r, 0, line); }

int nl_trace_next_or_comment(struct nl_trace_reader *r, struct nl_trace_line *line) {
    return next(r, 1, line);
}

/* ---- the first reading ---- */

struct check {
    struct nl_trace *trace;
    struct nl_trace_reader reader;
    int64_t *ends_ns;                       /* by CPU number + 1: where its last burst ended */
    int64_t *busy_ns, *bursts, *longest_ns; /* in the same way */
    char *reason;
    size_t reason_size;
};

int nl_trace_say(char *reason, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(reason, size, format, args);
    va_end(args);
    return -1;
}

/* Names the line that was read last. -1. */
#define refuse(c, format, ...)                                                                               \
    nl_trace_say((c)->reason, (c)->reason_size, "%s:%" PRId64 ": " format, (c)->trace->path,                 \
                 (c)->reader.line, ##__VA_ARGS__)

static int check_line(struct check *c, const struct nl_trace_line *line, int n_columns) {
    struct nl_trace *t = c->trace;
    int slot = line->cpu + 1;
    if (t->n_bursts == 0) {
        t->n_columns = n_columns;
        t->first_ns = line->start_ns;
    } else if (n_columns != t->n_columns)
        return refuse(c, "has %d columns, the lines before it have %d", n_columns, t->n_columns);
    else if (line->start_ns < t->last_ns)
        return refuse(c, "starts before the burst above it: sort the trace by start (sort -n)");
    if ((t->n_cpus > 0) != (line->cpu >= 0) && t->n_bursts > 0)
        return refuse(c, "some lines name a CPU and others do not");
    if (t->of == NL_TRACE_OF_USER && c->bursts[slot] > 0 && line->start_ns < c->ends_ns[slot])
        return refuse(c, "overlaps the burst before it%s, which ends at %" PRId64 " ns",
                      line->cpu >= 0 ? " on this CPU" : "", c->ends_ns[slot]);
    if (line->cpu >= 0 && c->bursts[slot] == 0 && ++t->n_cpus > NL_TRACE_MAX_CPUS)
        return refuse(c, "names more than %d different CPUs", NL_TRACE_MAX_CPUS);
    c->bursts[slot]++;
    c->busy_ns[slot] += line->duration_ns;
    int64_t end_ns = line->start_ns + line->duration_ns;
    if (end_ns > c->ends_ns[slot]) c->ends_ns[slot] = end_ns;
    if (line->duration_ns > c->longest_ns[slot]) c->longest_ns[slot] = line->duration_ns;
    t->last_ns = line->start_ns;
    t->n_bursts++;
    if (line->kind_row >= 0) t->kind_rows |= UINT32_C(1) << line->kind_row;
    return 0;
}

static int check_lines(struct check *c) {
    struct nl_trace_line line;
    int n_columns, got;
    while ((got = next_line(&c->reader, 0, &line, &n_columns)) > 0)
        if (check_line(c, &line, n_columns)) return -1;
    if (got < 0 && c->reader.problem) return refuse(c, "%s", c->reader.problem);
    if (got < 0)
        return nl_trace_say(c->reason, c->reason_size, "cannot read '%s': %s", c->trace->path,
                            strerror(errno));
    if (c->trace->n_bursts > 0 || c->trace->of == NL_TRACE_OF_LAUNCH) return 0;
    return nl_trace_say(c->reason, c->reason_size, "'%s' holds no burst", c->trace->path);
}

/* What the whole trace says of single CPUs and of its length. */
static int sum_up(struct check *c) {
    struct nl_trace *t = c->trace;
    int64_t last_end_ns = 0;
    int n = 0;
    for (int slot = 0; slot <= MAX_CPU_NUMBER + 1; slot++) {
        if (c->bursts[slot] == 0) continue;
        t->cpus[n] = slot - 1;
        t->busy_ns[n] = c->busy_ns[slot];
        t->longest_ns[n] = c->longest_ns[slot];
        t->bursts[n++] = c->bursts[slot];
        if (c->ends_ns[slot] > last_end_ns) last_end_ns = c->ends_ns[slot];
    }
    t->has_span = c->reader.span_ns > 0;
    t->span_ns = c->reader.span_ns;
    int is_short = t->has_span && t->span_ns < last_end_ns - t->first_ns;
    if (is_short && t->of == NL_TRACE_OF_LAUNCH)
        t->span_ns = last_end_ns - t->first_ns;
    else if (is_short)
        return nl_trace_say(c->reason, c->reason_size,
                            "'%s': span_ns is %" PRId64 ", but its bursts last %" PRId64 " ns", t->path,
                            t->span_ns, last_end_ns - t->first_ns);
    if (t->has_span) return 0;
    int64_t covered_ns = t->last_ns - t->first_ns,
            distance_ns = t->n_bursts > 1 ? covered_ns / (t->n_bursts - 1) : 0;
    t->span_ns = distance_ns < INT64_MAX - covered_ns ? covered_ns + distance_ns : INT64_MAX;
    if (t->span_ns < last_end_ns - t->first_ns) t->span_ns = last_end_ns - t->first_ns;
    return 0;
}

static int check_file(const char *path, struct nl_trace *t, char *reason, size_t reason_size) {
    struct stat st;
    t->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not hold us up */
    if (t->fd < 0 || fstat(t->fd, &st))
        snprintf(reason, reason_size, "cannot read '%s': %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        snprintf(reason, reason_size, "'%s' is not a regular file (a trace is read twice)", path);
    else {
        t->size_bytes = (int64_t)st.st_size;
        t->changed_ns = nl_trace_change_time_ns(&st);
        return 0;
    }
    return -1;
}

int nl_trace_check(const char *path, int of, struct nl_trace *trace, char *reason, size_t reason_size) {
    *trace = (struct nl_trace){.path = path, .fd = -1, .of = of};
    enum { SLOTS = MAX_CPU_NUMBER + 2 };
    struct check *c = calloc(1, sizeof *c);
    int64_t *slots = calloc(4 * (size_t)SLOTS, sizeof *slots);
    int rc = -1;
    if (!c || !slots) {
        snprintf(reason, reason_size, "no memory to check '%s'", path);
        goto out;
    }
    if (check_file(path, trace, reason, reason_size)) goto out;
    if (of == NL_TRACE_OF_USER && nl_foreign_convert(trace, reason, reason_size)) goto out;
    c->trace = trace;
    c->ends_ns = slots;
    c->busy_ns = slots + SLOTS;
    c->bursts = slots + 2 * (size_t)SLOTS;
    c->longest_ns = slots + 3 * (size_t)SLOTS;
    c->reason = reason;
    c->reason_size = reason_size;
    start_reading(&c->reader, trace->fd, of);
    rc = check_lines(c) || sum_up(c) ? -1 : 0;
out:
    if (rc) nl_trace_close(trace);
    free(slots);
    free(c);
    return rc;
}

int nl_trace_check_noise(const char *path, struct nl_trace *trace, char *reason, size_t reason_size) {
    if (nl_trace_check(path, NL_TRACE_OF_USER, trace, reason, reason_size)) return -1;
    if (nl_foreign_doubt(trace, reason, reason_size) == 0) return 0;
    nl_trace_close(trace);
    return -1;
}

void nl_trace_close(struct nl_trace *trace) {
    if (trace->fd >= 0) close(trace->fd);
    trace->fd = -1;
}

/* ---- in words ---- */

/* A time as people have it, to four digits. */
static const char *time_words(int64_t ns, char *text, size_t size) {
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t i = 0;
    while (i < 3 && (double)ns < units[i].ns)
        i++;
    snprintf(text, size, "%.4g %s", (double)ns / units[i].ns, units[i].name);
    return text;
}

const char *nl_trace_words(const struct nl_trace *t, char *text, size_t size) {
    char span[32], longest[32], cpus[32] = "", most[64] = "";
    double busy_ns = 0, span_ns = t->span_ns > 0 ? (double)t->span_ns : 1;
    int n = t->n_cpus > 0 ? t->n_cpus : 1, busiest = 0;
    int64_t longest_ns = 0;
    for (int i = 0; i < n; i++) {
        busy_ns += (double)t->busy_ns[i];
        if (t->busy_ns[i] > t->busy_ns[busiest]) busiest = i;
        if (t->longest_ns[i] > longest_ns) longest_ns = t->longest_ns[i];
    }
    if (t->n_cpus > 0) snprintf(cpus, sizeof cpus, " on %d CPU%s", t->n_cpus, t->n_cpus == 1 ? "" : "s");
    if (t->n_cpus > 1)
        snprintf(most, sizeof most, " (CPU %d for %.3g %%)", t->cpus[busiest],
                 100 * (double)t->busy_ns[busiest] / span_ns);
    snprintf(text, size,
             "%" PRId64 " burst%s%s in %s: busy for %.3g %% of a CPU%s, %.4g bursts per second, longest %s",
             t->n_bursts, t->n_bursts == 1 ? "" : "s", cpus, time_words(t->span_ns, span, sizeof span),
             100 * busy_ns / span_ns, most, (double)t->n_bursts / span_ns * 1e9,
             time_words(longest_ns, longest, sizeof longest));
    return text;
}
