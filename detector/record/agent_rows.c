#include "detector/record/record.h"

struct nd_agent_rows {
    const struct nd_options *options;
    const char *launch, *host;
    int node;
    FILE *file;
    int64_t n_rows, zero_ns;
    int has_failed; /* and said so */
};

static int fail(struct nd_agent_rows *rows) {
    if (!rows->has_failed) nl_error("--out: cannot write 'agent.%s.csv': %s", rows->host, strerror(errno));
    rows->has_failed = 1;
    return -1;
}

struct nd_agent_rows *nd_agent_rows_open(const struct nd_options *o, const char *folder, const char *launch, int node, const char *host) {
    char path[PATH_MAX + 300];
    struct nd_agent_rows *rows = calloc(1, sizeof *rows);
    if (!rows) {
        nl_error("no memory for the agent's rows");
        return NULL;
    }
    *rows = (struct nd_agent_rows){.options = o, .launch = launch, .host = host, .node = node};
    snprintf(path, sizeof path, "%s/agent.%s.csv", folder, host);
    rows->file = fopen(path, "wxe");
    if (!rows->file) {
        nl_error("--out: cannot make '%s': %s (every node with an agent writes there)", path, strerror(errno));
        nd_agent_rows_close(rows);
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
    if (rows->has_failed) return -1;
    if (rows->n_rows++ == 0) rows->zero_ns = half->ranks->start_ns;
    nd_arm_tell(rows->options, half->step.level, &words);
    fprintf(f, "%s,%d,%s,%s,%" PRId64 ",%" PRId64 ",%d,%s,%s,", rows->launch, rows->node, rows->host, config->name, config->bytes,
            half->step.pair, half->step.order, half->step.level == ND_OFF ? "off" : "on", words.kind);
    if (words.has_level) fprintf(f, "%.10g", words.level_percent);
    fputc(',', f);
    nd_put(f, half->ranks->start_ns - rows->zero_ns, half->ranks->wall_ns, half->ranks->preempted_ns);
    nd_put_known(f, half->switch_ns, half->settle_ns, a->cpu_ns, a->cpu_on_ranks_ns, a->others_on_ranks_ns, a->waited_for_agent_ns,
                 a->waited_for_others_ns, a->waited_for_kernel_ns, a->waited_for_noiselab_ns, a->waited_unknown_ns, a->scraper_cpu_ns,
                 a->wakeups, a->voluntary, a->involuntary, a->migrations, a->n_processes, a->n_started, a->rss_kib, a->read_bytes,
                 a->written_bytes, a->observer_cpu_ns, a->observer_on_ranks_ns, a->lost_switches, a->ins, a->outs);
    fprintf(f, "%" PRId64 "\n", half->step.planned_ns);
    return fflush(f) || ferror(f) ? fail(rows) : 0;
}

void nd_agent_rows_close(struct nd_agent_rows *rows) {
    if (!rows) return;
    if (rows->file) fclose(rows->file);
    free(rows);
}
