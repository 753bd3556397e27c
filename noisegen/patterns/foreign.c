#include "noisegen/patterns/trace.h"

enum { HEAD_LINES = 200, MOST_INTERRUPTIONS = 1 << 24 };

enum format { OURS, DETOURS, OSNOISE, FTQ, TIMERLAT, FUNCTIONS };

/* What the comments at the begin of a file say of its origin. `marks`: the format is the last one that the head has. */
static const struct {
    const char *mark;
    enum format format;
} marks[] = {{"# Frequency ", FTQ},         {"# Ticks per ns:", FTQ},  {"tracer: osnoise", OSNOISE}, {"tracer: timerlat", TIMERLAT},
             {"tracer: function", FUNCTIONS}, {"netgauge", DETOURS}, {"selfish", DETOURS},          {"loggopsim", DETOURS}};

static const char *const refusals[] = {
    [FTQ] = "is of FTQ, whose columns are times and amounts of work, not interruptions (selfish, osnoise and noiselab-record find those)",
    [TIMERLAT] = "is of the tracer timerlat, whose lines are latencies of a timer, not interruptions (take osnoise's events)",
    [FUNCTIONS] = "is of a tracer of functions, whose lines are no interruptions (take osnoise's events)"};

static int is_blank_line(const char *line) { return line[strspn(line, " \t\r\n")] == '\0'; }

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

static enum format format_of(FILE *f) {
    char *line = NULL;
    size_t size = 0;
    enum format format = OURS;
    for (int i = 0; i < HEAD_LINES && getline(&line, &size, f) > 0; i++) {
        const char *text = line + strspn(line, " \t");
        if (is_blank_line(line) || !strncmp(text, "cpus=", 5)) continue;
        if (*text != '#') {
            if (strstr(line, "_noise: ") && strstr(line, " duration ")) format = OSNOISE;
            /* our own times are whole */
            size_t n = strcspn(text, " \t\r\n"), n_second = strspn(text + n, " \t") + n;
            n_second += strcspn(text + n_second, " \t\r\n");
            if (format == OURS && strspn(text, "0123456789.eE+- \t") >= n_second && memchr(text, '.', n_second)) format = DETOURS;
            break;
        }
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
            if (strcasestr(line, marks[k].mark)) format = marks[k].format;
    }
    free(line);
    rewind(f);
    return format;
}

/* ---- start and duration in two columns ---- */

struct detours {
    int64_t start_ns, end_ns; /* of the line that is not yet written */
    char rest[NG_TRACE_LINE_BYTES];
    int has_line;
    int64_t n_blank; /* lines behind it that became nothing */
    int64_t n, n_merged, n_empty;
};

static void write_detour(FILE *to, struct detours *d) {
    if (d->has_line) fprintf(to, "%" PRId64 "\t%" PRId64 "%s\n", d->start_ns, d->end_ns - d->start_ns, d->rest);
    for (; d->n_blank > 0; d->n_blank--) fputc('\n', to);
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
        *d = (struct detours){.start_ns = start_ns, .end_ns = start_ns + duration_ns, .has_line = 1, .n = d->n, .n_merged = d->n_merged,
                              .n_empty = d->n_empty};
        snprintf(d->rest, sizeof d->rest, "%.*s", (int)n_rest, rest);
    }
    return NULL;
}

static int convert_detours(struct ng_trace *t, FILE *from, FILE *to, double unit_ns, char *reason, size_t reason_size) {
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
            problem = "holds a byte 0";
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
    if (problem) snprintf(reason, reason_size, "%s:%" PRId64 ": %s", t->path, number, problem);
    snprintf(t->said, sizeof t->said, "%" PRId64 " interruptions in units of %g ns, rounded to ns", d.n, unit_ns);
    if (d.n_merged + d.n_empty)
        snprintf(t->said + strlen(t->said), sizeof t->said - strlen(t->said),
                 "; %" PRId64 " with the start of another added to that, %" PRId64 " shorter than 1 ns left out", d.n_merged, d.n_empty);
    return problem ? -1 : 0;
}

/* ---- events of the tracer osnoise ---- */

struct interruption { int64_t start_ns, duration_ns; int cpu; };

/* "... [003] ... irq_noise: local_timer:236 start 44226.529123456 duration 1845 ns": 1, 0: another event, -1: damaged. */
static int read_event(const char *line, struct interruption *i) {
    const char *name = strstr(line, "_noise: "), *start = name ? strstr(name, " start ") : NULL, *cpu = strchr(line, '[');
    int64_t s, ns;
    int n_cpu = -1, n = -1;
    if (!start || !cpu || cpu > name) return 0;
    for (const char *next; (next = strchr(cpu + 1, '[')) && next < name;) cpu = next; /* a task may be called [x] */
    if (sscanf(cpu, "[%d]%n", &i->cpu, &n_cpu) != 1 || n_cpu < 0 || i->cpu < 0) return -1;
    const char *point = strchr(start, '.');
    if (!point || strspn(point + 1, "0123456789") != 9) return -1;
    if (sscanf(start, " start %" SCNd64 ".%" SCNd64 " duration %" SCNd64 " ns%n", &s, &ns, &i->duration_ns, &n) != 3 || n < 0) return -1;
    if (s < 0 || s > INT64_C(9000000000) || i->duration_ns < 0 || i->duration_ns > INT64_C(1000000000000)) return -1;
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

/* What interrupts an interruption is not in its duration: it is put behind it, so that nothing overlaps and the sum stays. */
static size_t put_in_order(struct interruption *all, size_t n, int *n_cpus) {
    size_t k = 0;
    qsort(all, n, sizeof *all, by_cpu);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || all[i].cpu != all[i - 1].cpu) ++*n_cpus;
        struct interruption now = all[i], *before = k ? &all[k - 1] : NULL;
        if (before && before->cpu == now.cpu && now.start_ns <= before->start_ns + before->duration_ns)
            before->duration_ns += now.duration_ns;
        else if (now.duration_ns > 0) all[k++] = now;
    }
    qsort(all, k, sizeof *all, by_start);
    return k;
}

static int convert_events(struct ng_trace *t, FILE *from, FILE *to, char *reason, size_t reason_size) {
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
            snprintf(reason, reason_size, "%s:%" PRId64 ": is not an event of osnoise (start SECONDS duration N ns)", t->path, number);
        if (got <= 0) continue;
        if (n == room) {
            struct interruption *larger = n < MOST_INTERRUPTIONS ? realloc(all, (room = 2 * room + 1024) * sizeof *all) : NULL;
            if (!larger) snprintf(reason, reason_size, "'%s' has more than %zu interruptions: cut it in pieces", t->path, n);
            if (!larger) continue;
            all = larger;
        }
        all[n++] = found;
    }
    if (!reason[0] && n == 0)
        snprintf(reason, reason_size, "'%s' is of osnoise and has its sums per second, but no single interruptions: record its events, too "
                 "(trace-cmd record -e osnoise, or events/osnoise/enable)", t->path);
    if (!reason[0]) {
        size_t left = put_in_order(all, n, &n_cpus);
        for (size_t i = 0; i < left; i++) fprintf(to, "%" PRId64 "\t%" PRId64 "\t%d\n", all[i].start_ns, all[i].duration_ns, all[i].cpu);
        snprintf(t->said, sizeof t->said, "%zu events of osnoise on %d CPU(s); %zu within or beside another are added to that", n, n_cpus,
                 n - left);
    }
    NL_FREE(all, line);
    return reason[0] ? -1 : 0;
}

int ng_foreign_convert(struct ng_trace *t, double unit_ns, char *reason, size_t reason_size) {
    int own = dup(t->fd), memory = -1, failed = -1;
    FILE *from = own >= 0 ? fdopen(own, "r") : NULL, *to = NULL;
    struct stat st;
    if (!from) {
        if (own >= 0) close(own);
        return nl_say(reason, reason_size, "cannot read '%s': %s", t->path, strerror(errno));
    }
    enum format format = format_of(from);
    if (format == OURS && unit_ns > 0) format = DETOURS;
    if (format == OURS) failed = 0;
    else if (format >= FTQ) snprintf(reason, reason_size, "'%s' %s", t->path, refusals[format]);
    else if (format == OSNOISE && unit_ns > 0) snprintf(reason, reason_size, "'%s' is of osnoise, which says its units itself", t->path);
    else if ((memory = memfd_create("trace", MFD_CLOEXEC)) < 0 || !(to = fdopen(dup(memory), "w")))
        snprintf(reason, reason_size, "no memory to convert '%s'", t->path);
    else if (format == OSNOISE) failed = convert_events(t, from, to, reason, reason_size);
    else failed = convert_detours(t, from, to, unit_ns > 0 ? unit_ns : 1, reason, reason_size);
    if (to && (fclose(to) || fstat(memory, &st)) && !failed) {
        snprintf(reason, reason_size, "no memory to convert '%s'", t->path);
        failed = -1;
    }
    fclose(from);
    if (memory >= 0 && !failed) {
        dup3(memory, t->fd, O_CLOEXEC);
        t->size_bytes = (int64_t)st.st_size;
        t->changed_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    }
    if (memory >= 0) close(memory);
    return failed;
}
