/* tasks.HOST.csv and bursts.HOST.trace. */
#include "noisegen/recorder/source.h"
#include "noisegen/recorder/write.h"

/* A number, or nothing where it is not known. */
static void write_known(FILE *file, int64_t value) {
    if (value >= 0)
        fprintf(file, ",%" PRId64, value);
    else
        fputc(',', file);
}

/* Share of a CPU's busy time in an arm that the hypervisor took: /proc/stat's steal by the time on the CPU of all but the idle task. */
static double steal_share(const struct nr_recorder *r, int arm, int cpu) {
    int64_t busy_ns = 0, steal_ns = 0;
    for (uint32_t i = 0; i < r->tally.n_rows; i++) {
        const struct nr_row *row = &r->tally.rows[i];
        if ((arm >= 0 && row->arm != arm) || row->cpu != cpu) continue;
        if (row->group == NR_STEAL) steal_ns += row->wall_ns;
        if (row->group < NR_UNKNOWN && row->group != NR_IDLE) busy_ns += row->wall_ns;
    }
    return busy_ns > steal_ns ? (double)steal_ns / (double)busy_ns : 0;
}

double nr_cpu_time_share(const struct nr_recorder *r, int arm, int cpu) {
    if (r->source->is_cpu_time) return 1;
    return r->source == &nr_source_cpu && r->knows_steal ? 1 - steal_share(r, arm, cpu) : -1;
}

void nr_write_name(FILE *file, const char *name) {
    for (; *name; name++) fputc(isalnum((unsigned char)*name) || strchr("._:+-?/", *name) ? *name : '_', file);
}

static int compare_rows(const void *a, const void *b) {
    const struct nr_row *x = *(const struct nr_row *const *)a, *y = *(const struct nr_row *const *)b;
    if (x->arm != y->arm) return x->arm < y->arm ? -1 : 1;
    if (x->cpu != y->cpu) return x->cpu < y->cpu ? -1 : 1;
    return (x->wall_ns < y->wall_ns) - (x->wall_ns > y->wall_ns);
}

static int64_t cpu_ns(const struct nr_recorder *r, const struct nr_row *row) {
    if (row->cpu_ns >= 0) return row->cpu_ns;
    if (row->group > NR_UNKNOWN || row->group == NR_IDLE || !row->has_wall) return -1;
    double share = nr_cpu_time_share(r, row->arm, row->cpu);
    return share >= 0 ? (int64_t)((double)row->wall_ns * share) : -1;
}

int nr_write_tasks(const struct nr_recorder *r, FILE *file, const char *launch, const char *host, const struct nr_arm_words *arms) {
    size_t n_bins;
    uint32_t n = r->tally.n_rows;
    const struct nr_row **rows = malloc((n + 1) * sizeof *rows);
    if (!rows) return -1;
    struct nr_map_entry *sorted = nr_tally_sorted_bins(&r->tally, &n_bins);
    for (uint32_t i = 0; i < n; i++) rows[i] = &r->tally.rows[i];
    qsort(rows, n, sizeof *rows, compare_rows);
    fprintf(
        file,
        "launch,host,source,arm,kind,level_requested_percent,cpu,task,group,bursts,cpu_ns,wall_ns,p50_ns,p90_ns,p99_ns,max_ns,threads\n");
    for (uint32_t i = 0; i < n; i++) {
        const struct nr_row *row = rows[i];
        const struct nr_arm_words *words = &arms[row->arm];
        struct nr_quantiles q = nr_tally_quantiles(sorted, n_bins, (uint32_t)(row - r->tally.rows));
        fprintf(file, "%s,%s,%s,%s,%s,%s", launch, host, r->source->name, words->arm, words->kind, words->level);
        write_known(file, row->cpu);
        fputc(',', file);
        nr_write_name(file, nr_task_name(r, row->name));
        fprintf(file, ",%s", nr_group_name(row->group));
        int has_bursts = row->group < NR_IRQ;
        write_known(file, has_bursts ? row->n_bursts : -1);
        write_known(file, cpu_ns(r, row));
        write_known(file, row->has_wall && !r->source->is_cpu_time ? row->wall_ns : row->group >= NR_IRQ ? row->wall_ns : -1);
        write_known(file, q.p50_ns);
        write_known(file, q.p90_ns);
        write_known(file, q.p99_ns);
        write_known(file, row->max_ns);
        write_known(file, row->n_threads > 0 && r->tally.threads.n_dropped == 0 ? row->n_threads : -1);
        fputc('\n', file);
    }
    free(rows);
    free(sorted);
    return fflush(file) || ferror(file) ? -1 : 0;
}

void nr_write_trace_head(const struct nr_recorder *r, FILE *file, const char *host, const char *origin, int64_t span_ns) {
    struct nr_totals t = nr_totals(r);
    fprintf(file, "# source: %s\n", r->source->name);
    if (r->reason[0]) fprintf(file, "# source_reason: %s\n", r->reason);
    fprintf(file, "# origin: %s\n# origin_monotonic_ns: %" PRId64 "\n# host: %s\n", origin, r->origin_ns, host);
    fprintf(file, "# lost: %" PRId64 "\n# ins: %" PRId64 "\n# outs: %" PRId64 "\n# cut: %" PRId64 "\n# not_kept: %" PRId64 "\n", t.lost,
            t.ins, t.outs, t.cut, t.not_kept);
    fprintf(file, "# span_ns: %" PRId64 "\n", span_ns);
}

static int compare_bursts(const void *a, const void *b) {
    const struct nr_burst *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

int nr_write_bursts(const struct nr_recorder *r, FILE *file, const char *host) {
    int64_t n, span_ns = r->end_ns == INT64_MAX ? 0 : r->end_ns - r->origin_ns;
    const struct nr_burst *bursts = nr_bursts(r, &n);
    struct nr_burst *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
    if (!sorted) return -1;
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = bursts[i];
        if (bursts[i].end_ns - r->origin_ns > span_ns) span_ns = bursts[i].end_ns - r->origin_ns;
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare_bursts);
    nr_write_trace_head(r, file, host, "first half", span_ns > 0 ? span_ns : 1);
    fprintf(file, "# start_ns\tduration_ns\tcpu\tkind\ttask\n");
    for (int64_t i = 0; i < n; i++) {
        fprintf(file, "%" PRId64 "\t%" PRId64 "\t", sorted[i].start_ns - r->origin_ns, sorted[i].end_ns - sorted[i].start_ns);
        if (sorted[i].cpu >= 0)
            fprintf(file, "%d\t-\t", sorted[i].cpu);
        else
            fprintf(file, "-\t-\t");
        nr_write_name(file, nr_task_name(r, sorted[i].name));
        fputc('\n', file);
    }
    free(sorted);
    return fflush(file) || ferror(file) ? -1 : 0;
}
