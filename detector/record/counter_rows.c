#include "detector/record/record.h"

struct nd_node_rows *nd_counter_rows_open(const struct nd_options *o, const char *folder, const char *launch,
                                          int node, const char *host) {
    struct nd_node_rows *rows = nd_node_rows_open(o, folder, launch, node, host, "counters", "");
    if (!rows) return NULL;
    fputs("launch,node,host,operation,bytes,pair,order,arm,kind,level_requested_percent,planned_ns,span_ns,"
          "cpus,ranks",
          rows->file);
    for (int i = 0; i < NL_N_KERNEL; i++)
        fprintf(rows->file, ",%s", nl_kernel_names[i]);
    fputs(",faults,major_faults,rank_voluntary,rank_involuntary,rank_moves,speed_ns,memory_ns,lock_ns,cycles,"
          "instructions,cache_misses\n",
          rows->file);
    return rows;
}

/* A mean over the ranks that know it, ns. */
static void put_mean(FILE *f, double sum_ns, int n) {
    if (n > 0) fprintf(f, "%.5g", sum_ns / n);
    fputc(',', f);
}

int nd_counter_rows_add(struct nd_node_rows *rows, const struct nd_counter_half *half) {
    const struct nd_config *config = &rows->options->configs[half->step.config];
    const struct nd_probe_sum *p = half->ranks;
    struct nd_arm_words words;
    FILE *f = rows->file;
    if (rows->files.has_failed) return -1;
    rows->files.n_rows++;
    nd_arm_tell(rows->options, half->step.level, &words);
    fprintf(f, "%s,%d,%s,%s,%" PRId64 ",%" PRId64 ",%d,%s,%s,", rows->files.launch, rows->node, rows->host,
            config->name, config->bytes, half->step.pair, half->step.order,
            half->step.level == ND_OFF ? "off" : "on", words.kind);
    if (words.has_level) fprintf(f, "%.10g", words.level_percent);
    fputc(',', f);
    nd_put(f, half->step.planned_ns, half->span_ns, half->n_cpus, p->n_ranks);
    nd_put_all(f, 0, half->counts, NL_N_KERNEL);
    int64_t is_known = p->n_ranks > 0 ? 0 : INT64_MIN,
            has_perf = p->n_perf == p->n_ranks && p->n_perf > 0 ? 0 : INT64_MIN;
    nd_put_known(f, is_known + p->faults, is_known + p->major_faults, is_known + p->voluntary,
                 is_known + p->involuntary, is_known + p->moved);
    put_mean(f, p->speed_ns, p->n_speed);
    put_mean(f, p->memory_ns, p->n_memory);
    put_mean(f, p->lock_ns, p->n_lock);
    nd_put_known(f, has_perf + p->cycles, has_perf + p->instructions);
    if (has_perf == 0) fprintf(f, "%" PRId64, p->misses);
    fputc('\n', f);
    return nd_files_flush(&rows->files, f, rows->name);
}
