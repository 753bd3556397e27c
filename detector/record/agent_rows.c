#include "detector/record/record.h"

struct nd_agent_rows {
    const struct nd_options *options;
    const char *host;
    int node;
    struct nd_files files; /* of the launch's folder */
    char name[ND_HOST_BYTES + 16];
    FILE *file;
    int64_t zero_ns;
};

struct nd_agent_rows *nd_agent_rows_open(const struct nd_options *o, const char *folder, const char *launch, int node, const char *host) {
    struct nd_agent_rows *rows = calloc(1, sizeof *rows);
    if (!rows) {
        nl_error("no memory for the agent's rows");
        return NULL;
    }
    *rows = (struct nd_agent_rows){.options = o, .host = host, .node = node};
    snprintf(rows->files.folder, sizeof rows->files.folder, "%s", folder);
    snprintf(rows->files.launch, sizeof rows->files.launch, "%s", launch);
    snprintf(rows->name, sizeof rows->name, "agent.%s.csv", host);
    rows->file = nd_files_make(&rows->files, rows->name, "wxe");
    if (!rows->file) {
        free(rows);
        return NULL;
    }
    fputs("launch,node,host,operation,bytes,pair,order,arm,kind,level_requested_percent,start_ns,wall_ns,preempted_ns,switch_ns,settle_ns,"
          "agent_cpu_ns,"
          "agent_on_ranks_ns,others_on_ranks_ns,preempted_by_agent_ns,preempted_by_others_ns,"
          "preempted_by_kernel_ns,preempted_by_noiselab_ns,preempted_unknown_ns,scraper_cpu_ns,wakeups,voluntary_switches,involuntary_"
          "switches,migrations,processes,started,rss_kib,read_bytes,"
          "written_bytes,observer_cpu_ns,observer_on_ranks_ns,lost_switches,switch_ins,switch_outs,planned_ns\n",
          rows->file);
    return rows;
}

int nd_agent_rows_add(struct nd_agent_rows *rows, const struct nd_agent_half *half) {
    const struct nd_config *config = &rows->options->configs[half->step.config];
    const struct nl_agent_account *a = &half->account;
    struct nd_arm_words words;
    FILE *f = rows->file;
    if (rows->files.has_failed) return -1;
    if (rows->files.n_rows++ == 0) rows->zero_ns = half->ranks->start_ns;
    nd_arm_tell(rows->options, half->step.level, &words);
    fprintf(f, "%s,%d,%s,%s,%" PRId64 ",%" PRId64 ",%d,%s,%s,", rows->files.launch, rows->node, rows->host, config->name, config->bytes,
            half->step.pair, half->step.order, half->step.level == ND_OFF ? "off" : "on", words.kind);
    if (words.has_level) fprintf(f, "%.10g", words.level_percent);
    fputc(',', f);
    nd_put(f, half->ranks->start_ns - rows->zero_ns, half->ranks->wall_ns, half->ranks->preempted_ns);
    nd_put_known(f, half->switch_ns, half->settle_ns, a->cpu_ns, a->cpu_on_ranks_ns, a->others_on_ranks_ns, a->waited_for_agent_ns,
                 a->waited_for_others_ns, a->waited_for_kernel_ns, a->waited_for_noiselab_ns, a->waited_unknown_ns, a->scraper_cpu_ns,
                 a->wakeups, a->voluntary, a->involuntary, a->migrations, a->n_processes, a->n_started, a->rss_kib, a->read_bytes,
                 a->written_bytes, a->observer_cpu_ns, a->observer_on_ranks_ns, a->lost_switches, a->ins, a->outs);
    fprintf(f, "%" PRId64 "\n", half->step.planned_ns);
    return nd_files_flush(&rows->files, f, rows->name);
}

void nd_agent_rows_close(struct nd_agent_rows *rows) {
    if (!rows) return;
    fclose(rows->file);
    free(rows);
}
