#include "detector/record/record.h"

#include <stdio_ext.h>

#include "common/base/version.h"

static int check_schema(const char *path) {
    json_error_t error;
    json_t *launch = json_load_file(path, 0, &error);
    if (!launch) return nl_error("--out: %s:%d is damaged (%s); choose another folder or remove that launch", path, error.line, error.text);
    json_t *schema = json_object_get(launch, "schema");
    int64_t found = json_is_integer(schema) ? json_integer_value(schema) : -1;
    json_decref(launch);
    if (found == NOISELAB_SCHEMA) return 0;
    return nl_error("--out: %s has schema %" PRId64 ", this program writes schema %d; choose another folder", path, found, NOISELAB_SCHEMA);
}

int nd_record_check_campaign(const char *out) {
    struct stat st;
    if (stat(out, &st)) {
        if (errno == ENOENT) return 0;
        return nl_error("--out: cannot read '%s': %s", out, strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) return nl_error("--out: '%s' is not a directory", out);
    DIR *dir = opendir(out);
    if (!dir) return nl_error("--out: cannot read '%s': %s", out, strerror(errno));
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        char path[PATH_MAX + 300];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s/launch.json", out, e->d_name);
        if (access(path, F_OK) == 0) rc = check_schema(path);
    }
    closedir(dir);
    return rc;
}

enum { ALL_CLOCKS = 1024 }; /* of more ranks only those have rows in clocks.csv whose clock was measured */

static const char *rows_name(const struct nd_record *r) { return r->options->design->is_paired ? "halves.csv" : "blocks.csv"; }

int nd_record_open(struct nd_record **record, const struct nd_options *o, int n_ranks) {
    struct nd_record *r = *record = calloc(1, sizeof *r);
    if (!r) return nl_error("not enough memory for the records");
    r->options = o;
    r->n_ranks = n_ranks;
    if (nd_files_open(&r->files, o->out, o->launch_id) || !(r->rows = nd_files_make(&r->files, rows_name(r), "wx"))) return -1;
    fputs("launch,operation,bytes,ranks,pair,order,arm,level_requested_percent,level_delivered_percent,start_ns,wall_ns,operations,"
          "preempted_ns_max,preempted_ns_sum,preempted_rank,detour_ns,detours,base_ns,steal_ns,involuntary_switches,slowest_rank,delivered_"
          "ns,bursts,bursts_due,"
          "kind,pattern,placement,phase,requested_ns,global_ns,after_last_ns,spread_ns,late_starts,overshoot_ns_p50,overshoot_ns_p99,"
          "overshoot_ns_max,"
          "slot_ns,within_ns2,between_ns2,rank_steal_ns_max,rank_steal_ns_sum,throttled_ns,planned_ns,late_ns\n",
          r->rows);
    if (nd_files_flush(&r->files, r->rows, rows_name(r))) return -1;
    r->rows_bytes = ftello(r->rows);
    return 0;
}

/* What synchronised starts came to; empty fields without them. */
static void put_starts(FILE *f, const struct nd_start_half *h) {
    if (h->n_starts == 0) fputs(",,,,,,,,,,", f);
    else {
        nd_put(f, h->global_ns, h->after_last_ns, h->spread_ns, h->n_late, h->overshoot_p50_ns, h->overshoot_p99_ns, h->overshoot_max_ns,
               h->slot_ns);
        fprintf(f, "%.6g,%.6g,", h->within_ns2, h->between_ns2);
    }
}

/* The arm and its level with a comma behind, the level empty where the treatment has none. `arm` counts from 0, ND_OFF: off. */
static void put_arm(FILE *f, const struct nd_options *o, int arm) {
    struct nd_arm_words words;
    nd_arm_tell(o, arm, &words);
    fputs(arm == ND_OFF ? "off," : "on,", f);
    if (words.has_level) fprintf(f, "%.10g", words.level_percent);
    fputc(',', f);
}

/* The treatment's four words, empty where there is none, and what follows. */
static void put_treatment(FILE *f, const struct nd_options *o, int arm, char end) {
    struct nd_arm_words words;
    nd_arm_tell(o, arm, &words);
    fprintf(f, "%s,%s,%s,%s%c", words.kind, words.pattern, words.placement, words.phase, end);
}

/* What a failed write left of a row goes: the file ends with a complete one. */
static int cut_back(struct nd_record *r, const char *why) {
    __fpurge(r->rows);
    int is_left = ftruncate(fileno(r->rows), r->rows_bytes); /* then the reader sees a last line that is no row */
    (void)is_left;
    return nd_files_fail(&r->files, rows_name(r), why);
}

int nd_record_row(struct nd_record *r, const struct nd_half *h, int n_cpus) {
    const struct nd_options *o = r->options;
    const struct nd_config *config = &o->configs[h->step.config];
    const struct nd_half_sum *all = &h->all;
    FILE *f = r->rows;
    if (r->files.has_failed) return -1;
    fprintf(f, "%s,%s,", r->files.launch, config->name);
    nd_put(f, config->bytes, r->n_ranks, h->step.pair, h->step.order);
    put_arm(f, o, h->step.level);
    if (all->delivered_ns >= 0) fprintf(f, "%.6g", 100. * (double)all->delivered_ns / ((double)all->wall_ns * n_cpus));
    fputc(',', f);
    nd_put(f, all->start_ns, all->wall_ns, h->n_operations, all->preempted_ns_max, all->preempted_ns, all->preempted_rank);
    nd_put_known(f, all->detour_ns_max, all->n_detours_max);
    if (all->n_base > 0) fprintf(f, "%.3f", nd_half_base_ns(all));
    fputc(',', f);
    nd_put_known(f, all->steal_ns, all->n_involuntary, all->slowest_rank, all->delivered_ns, all->n_bursts, all->n_due);
    put_treatment(f, o, h->step.level, ',');
    nd_put_known(f, all->requested_ns);
    put_starts(f, &h->starts);
    if (all->n_rank_steal > 0) nd_put(f, all->rank_steal_ns_max, all->rank_steal_ns);
    else fputs(",,", f);
    nd_put_known(f, all->throttled_ns, h->step.planned_ns);
    if (nd_options_is_late(o, h->step.level)) fprintf(f, "%" PRId64, h->late_ns);
    fputc('\n', f);
    if (fflush(f) || ferror(f)) return cut_back(r, strerror(errno));
    if (nd_files_flush(&r->files, f, rows_name(r))) return -1;
    r->rows_bytes = ftello(f);
    r->files.n_rows++;
    return 0;
}

static const struct { const char *name, *header; } tables[] = {
    [ND_TABLE_HIST] = {"hist.csv", "operation,bytes,arm,level_requested_percent,lo_ns,hi_ns,count,kind,pattern,placement,phase\n"},
    [ND_TABLE_STARTS_HIST] = {"starts_hist.csv",
                              "operation,bytes,arm,level_requested_percent,measure,lo_ns,hi_ns,count,kind,pattern,placement,phase\n"},
    [ND_TABLE_RANKS] = {"ranks.csv", "rank,host,cpu,arm,level_requested_percent,halves,wall_ns,preempted_ns,detours,detour_ns,"
                                     "involuntary_switches,times_slowest,kind,pattern,placement,phase,first_starts,last_starts,last_ends,"
                                     "start_cost_ns,end_cost_ns,overshoot_ns_sum,overshoot_ns_max,pairs,preempted_shift_percent_mean,"
                                     "preempted_shift_percent_sd,rank_steal_ns\n"},
    [ND_TABLE_NODES] = {"nodes.csv", "launch,node,host,ranks,arm,level_requested_percent,kind,pattern,placement,phase,halves,wall_ns,"
                                     "preempted_ns,detours,detour_ns,involuntary_switches,times_slowest,pairs,preempted_shift_percent_mean,"
                                     "preempted_shift_percent_sd,rank_steal_ns\n"},
};

int nd_record_begin(struct nd_record *r, enum nd_table table) {
    if (r->files.has_failed || nd_files_begin(&r->files, tables[table].name)) return -1;
    r->table = tables[table].name;
    fputs(tables[table].header, r->files.whole.f);
    return 0;
}

int nd_record_hist_add(struct nd_record *r, const struct nd_config *config, int arm, int measure, const struct nl_hist *h) {
    FILE *f = r->files.whole.f;
    for (int i = 0; i < NL_HIST_BINS && !nd_options_is_late(r->options, arm); i++) {
        if (!h->bins[i]) continue;
        fprintf(f, "%s,%" PRId64 ",", config->name, config->bytes);
        put_arm(f, r->options, arm);
        if (measure >= 0) fprintf(f, "%s,", nd_start_measure_names[measure]);
        fprintf(f, "%" PRId64 ",%" PRId64 ",%" PRIu64 ",", nl_hist_lo(i), nl_hist_hi(i), h->bins[i]);
        put_treatment(f, r->options, arm, '\n');
    }
    return ferror(f) ? -1 : 0;
}

int nd_record_end(struct nd_record *r) { return nd_files_end(&r->files, r->table, 0); }

int nd_record_clocks(struct nd_record *r, int run, const char *reason, const char *method, const struct nd_sync_report *reports,
                     const struct nd_binding *bindings, int64_t zero_ns) {
    if (!r->clocks) {
        r->clocks = nd_files_make(&r->files, "clocks.csv", "wx");
        if (!r->clocks) return -1;
        fputs("run,reason,method,rank,host,at_ns,measured,offset_ns,drift_ppm,rtt_ns,residual_ns,exchanges\n", r->clocks);
    }
    for (int rank = 0; rank < r->n_ranks; rank++) {
        const struct nd_sync_report *p = &reports[rank];
        if (r->n_ranks > ALL_CLOCKS && rank > 0 && !p->is_measured) continue;
        fprintf(r->clocks, "%d,%s,%s,%d,%s,%" PRId64 ",%d,%" PRId64 ",%.6g,%" PRId64 ",%.6g,%" PRId64 "\n", run,
                reason, method, rank, bindings[rank].host, p->at_ns - zero_ns, p->is_measured, p->offset_ns, p->drift_ppm, p->rtt_ns,
                p->residual_ns, p->n_exchanges);
    }
    return nd_files_flush(&r->files, r->clocks, "clocks.csv");
}

/* What ranks and nodes have in common. `n_slowest`: how often it was the slowest, or held it. */
static void put_sum(FILE *f, const struct nd_sum *s, int64_t n_slowest) {
    nd_put(f, s->n_halves, s->wall_ns, s->preempted_ns, s->n_detours, s->detour_ns, s->n_involuntary, n_slowest);
}

/* The end of the line: pairs, their mean and standard deviation, empty as far as there are too few; steal, empty where it is not known. */
static void put_end(FILE *f, const struct nd_sum *s) {
    const struct nd_moments *m = &s->shift;
    if (m->n > 0) fprintf(f, "%" PRId64 ",%.9g,", m->n, m->mean);
    else fputs(",,", f);
    if (m->n > 1) fprintf(f, "%.9g", sqrt(m->m2 / (double)(m->n - 1)));
    fputc(',', f);
    if (s->knows_rank_steal) fprintf(f, "%" PRId64, s->rank_steal_ns);
    fputc('\n', f);
}

int nd_record_ranks_add(struct nd_record *r, const struct nd_binding *binding, const struct nd_rank_sum *sums, const int64_t *n_slowest,
                        const struct nd_start_rank *starts) {
    const struct nd_options *o = r->options;
    FILE *f = r->files.whole.f;
    for (int arm = 0; arm <= o->n_arms; arm++) {
        const struct nd_rank_sum *s = &sums[arm];
        if (s->sum.n_halves == 0 || nd_options_is_late(o, arm - 1)) continue;
        fprintf(f, "%d,%s,%d,", binding->rank, binding->host, binding->cpu);
        put_arm(f, o, arm - 1);
        put_sum(f, &s->sum, n_slowest[arm]);
        put_treatment(f, o, arm - 1, ',');
        if (starts)
            nd_put(f, starts[arm].first_starts, starts[arm].last_starts, starts[arm].last_ends, starts[arm].start_cost_ns,
                   starts[arm].end_cost_ns, s->overshoot_ns_sum, s->overshoot_ns_max);
        else fputs(",,,,,,,", f);
        put_end(f, &s->sum);
    }
    return ferror(f) ? -1 : 0;
}

int nd_record_nodes_add(struct nd_record *r, int node, const struct nd_host *host, const struct nd_sum *sums, const int64_t *n_slowest) {
    const struct nd_options *o = r->options;
    FILE *f = r->files.whole.f;
    for (int arm = 0; arm <= o->n_arms; arm++) {
        if (sums[arm].n_halves == 0 || nd_options_is_late(o, arm - 1)) continue;
        fprintf(f, "%s,%d,%s,%d,", r->files.launch, node, host->host, host->n_ranks);
        put_arm(f, o, arm - 1);
        put_treatment(f, o, arm - 1, ',');
        put_sum(f, &sums[arm], n_slowest[arm]);
        put_end(f, &sums[arm]);
    }
    return ferror(f) ? -1 : 0;
}

void nd_record_close(struct nd_record *r) {
    if (!r) return;
    if (r->rows) fclose(r->rows);
    if (r->clocks) fclose(r->clocks);
    free(r);
}
