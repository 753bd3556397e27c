#include "detector/treatment/burst_log.h"
#include "detector/treatment/treatment.h"
#include "common/page/nl_control.h"

enum {
    MOST = 1 << 16
}; /* bursts waiting to be written: of a half, or of the tenths of a second that a long one has */

struct waiting {
    struct nl_burst burst;
    int32_t cpu;
};

struct nd_burst_log {
    struct nd_treatment *treatment;
    FILE *file;
    int64_t origin_ns;     /* 0: the file's time has not begun */
    int64_t last_start_ns; /* of what was written last */
    int64_t n_lost;
    int64_t taken[NL_CONTROL_MAX_WORKERS];
    struct nl_burst fresh[NL_BURSTS_MOST];
    int n;
    struct waiting waiting[MOST];
};

struct nd_burst_log *nd_burst_log_open(const char *path, const char *host, struct nd_treatment *treatment) {
    struct nd_burst_log *log = calloc(1, sizeof *log);
    if (!log) return NULL;
    log->treatment = treatment;
    log->file = fopen(path, "wxe");
    if (!log->file) {
        free(log);
        return NULL;
    }
    fprintf(log->file, "# source: generator\n# origin: first half\n# host: %s\n", host);
    return log;
}

void nd_burst_log_begin(struct nd_burst_log *log, int64_t now_ns) {
    if (!log || log->origin_ns) return;
    nd_burst_log_take(log); /* what ran in the warm-up */
    log->n = 0;
    log->n_lost = 0;
    log->origin_ns = log->last_start_ns = now_ns;
    fprintf(log->file, "# origin_monotonic_ns: %" PRId64 "\n# start_ns\tduration_ns\tcpu\n", now_ns);
}

void nd_burst_log_take(struct nd_burst_log *log) {
    struct nl_control *page = log ? nd_treatment_page(log->treatment) : NULL;
    for (int worker = 0; page && worker < page->n_cpus; worker++) {
        int n = nl_bursts_take(&page->bursts[worker], &log->taken[worker], log->fresh, &log->n_lost);
        for (int i = 0; i < n; i++) {
            if (log->n < MOST)
                log->waiting[log->n++] = (struct waiting){log->fresh[i], page->cpus[worker]};
            else
                log->n_lost++;
        }
    }
}

static int compare(const void *a, const void *b) {
    const struct waiting *x = a, *y = b;
    if (x->burst.start_ns != y->burst.start_ns) return x->burst.start_ns < y->burst.start_ns ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* Whatever is still to come begins at or after this moment. */
static int64_t settled_ns(struct nd_burst_log *log) {
    const struct nl_control *page = nd_treatment_page(log->treatment);
    int64_t until_ns = nl_mono_ns();
    for (int worker = 0; worker < page->n_cpus; worker++) {
        int64_t since_ns = atomic_load_explicit(&page->bursts[worker].since_ns, memory_order_acquire);
        if (since_ns > 0 && since_ns < until_ns) until_ns = since_ns;
    }
    return until_ns;
}

static int write_until(struct nd_burst_log *log, int64_t until_ns) {
    int n_written = 0, n_left = 0;
    qsort(log->waiting, (size_t)log->n, sizeof *log->waiting, compare);
    for (; n_written < log->n && log->waiting[n_written].burst.start_ns < until_ns; n_written++) {
        struct waiting *w = &log->waiting[n_written];
        if (!log->origin_ns || w->burst.start_ns < log->origin_ns || w->burst.end_ns <= w->burst.start_ns)
            continue;
        /* one that had begun and not said so yet when others were written: files are in the order of starts
         */
        if (w->burst.start_ns < log->last_start_ns) w->burst.start_ns = log->last_start_ns;
        log->last_start_ns = w->burst.start_ns;
        if (w->burst.end_ns <= w->burst.start_ns) w->burst.end_ns = w->burst.start_ns + 1;
        fprintf(log->file, "%" PRId64 "\t%" PRId64 "\t%d\n", w->burst.start_ns - log->origin_ns,
                w->burst.end_ns - w->burst.start_ns, w->cpu);
    }
    for (int i = n_written; i < log->n; i++)
        log->waiting[n_left++] = log->waiting[i];
    log->n = n_left;
    return fflush(log->file) || ferror(log->file) ? -1 : 0;
}

int nd_burst_log_write(struct nd_burst_log *log) {
    if (!log) return 0;
    int64_t until_ns = settled_ns(log); /* first: what is taken now may have begun after it */
    nd_burst_log_take(log);
    return write_until(log, until_ns);
}

int64_t nd_burst_log_n_lost(const struct nd_burst_log *log) { return log->n_lost; }

int nd_burst_log_close(struct nd_burst_log *log) {
    if (!log) return 0;
    nd_burst_log_take(log);
    int failed = write_until(log, INT64_MAX);
    if (log->origin_ns)
        fprintf(log->file, "# lost: %" PRId64 "\n# span_ns: %" PRId64 "\n", log->n_lost,
                nl_mono_ns() - log->origin_ns);
    failed |= fclose(log->file);
    free(log);
    return failed ? -1 : 0;
}
