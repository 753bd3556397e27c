#include "detector/record/record.h"

#include <stdio_ext.h>

#include "common/base/version.h"
#include "common/contract/clocks.h"
#include "common/contract/halves.h"
#include "common/contract/hist.h"
#include "common/contract/nodes.h"
#include "common/contract/ranks.h"
#include "common/contract/starts_hist.h"

static int check_schema(const char *path) {
    json_error_t error;
    json_t *launch = json_load_file(path, 0, &error);
    if (!launch)
        return nl_error("--out: %s:%d is damaged (%s); choose another folder or remove that launch", path,
                        error.line, error.text);
    json_t *schema = json_object_get(launch, "schema");
    int64_t found = json_is_integer(schema) ? json_integer_value(schema) : -1;
    json_decref(launch);
    if (found == NOISELAB_SCHEMA) return 0;
    return nl_error("--out: %s has schema %" PRId64 ", this program writes schema %d; choose another folder",
                    path, found, NOISELAB_SCHEMA);
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

static const char *rows_name(const struct nd_record *r) {
    return r->options->design->is_paired ? "halves.csv" : "blocks.csv";
}

int nd_record_open(struct nd_record **record, const struct nd_options *o, int n_ranks) {
    struct nd_record *r = *record = calloc(1, sizeof *r);
    if (!r) return nl_error("not enough memory for the records");
    r->options = o;
    r->n_ranks = n_ranks;
    if (nd_files_open(&r->files, o->out, o->launch_id) ||
        !(r->rows = nd_files_make(&r->files, rows_name(r), "wx")))
        return -1;
    fputs(NL_HALVES_HEADER, r->rows);
    if (nd_files_flush(&r->files, r->rows, rows_name(r))) return -1;
    r->rows_bytes = ftello(r->rows);
    return 0;
}

/* What a failed write left of a row goes: the file ends with a complete one. */
static int cut_back(struct nd_record *r, const char *why) {
    __fpurge(r->rows);
    int is_left =
        ftruncate(fileno(r->rows), r->rows_bytes); /* then the reader sees a last line that is no row */
    (void)is_left;
    return nd_files_fail(&r->files, rows_name(r), why);
}

int nd_record_row(struct nd_record *r, const struct nd_half *h, int n_cpus) {
    const struct nd_options *o = r->options;
    struct nd_arm_words words;
    FILE *f = r->rows;
    if (r->files.has_failed) return -1;
    nd_arm_tell(o, h->step.level, &words);
    nl_put_halves(f, r->files.launch, r->n_ranks, n_cpus, &o->configs[h->step.config], h, &h->all, &words);
    if (fflush(f) || ferror(f)) return cut_back(r, strerror(errno));
    if (nd_files_flush(&r->files, f, rows_name(r))) return -1;
    r->rows_bytes = ftello(f);
    r->files.n_rows++;
    return 0;
}

static const struct {
    const char *name, *header;
} tables[] = {
    [ND_TABLE_HIST] = {"hist.csv", NL_HIST_HEADER},
    [ND_TABLE_STARTS_HIST] = {"starts_hist.csv", NL_STARTS_HIST_HEADER},
    [ND_TABLE_RANKS] = {"ranks.csv", NL_RANKS_HEADER},
    [ND_TABLE_NODES] = {"nodes.csv", NL_NODES_HEADER},
};

int nd_record_begin(struct nd_record *r, enum nd_table table) {
    if (r->files.has_failed || nd_files_begin(&r->files, tables[table].name)) return -1;
    r->table = tables[table].name;
    fputs(tables[table].header, r->files.whole.f);
    return 0;
}

int nd_record_hist_add(struct nd_record *r, const struct nd_config *config, int arm, int measure,
                       const struct nl_hist *h) {
    FILE *f = r->files.whole.f;
    struct nd_arm_words words;
    nd_arm_tell(r->options, arm, &words);
    for (int i = 0; i < NL_HIST_BINS && !words.is_late; i++) {
        if (!h->bins[i]) continue;
        int64_t lo_ns = nl_hist_lo(i), hi_ns = nl_hist_hi(i);
        if (measure < 0)
            nl_put_hist(f, config, &words, lo_ns, hi_ns, h->bins[i]);
        else
            nl_put_starts_hist(f, config, &words, nd_start_measure_names[measure], lo_ns, hi_ns, h->bins[i]);
    }
    return ferror(f) ? -1 : 0;
}

int nd_record_end(struct nd_record *r) { return nd_files_end(&r->files, r->table, 0); }

int nd_record_clocks(struct nd_record *r, int run, const char *reason, const char *method,
                     const struct nd_sync_report *reports, const struct nd_binding *bindings,
                     int64_t zero_ns) {
    if (!r->clocks) {
        r->clocks = nd_files_make(&r->files, "clocks.csv", "wx");
        if (!r->clocks) return -1;
        fputs(NL_CLOCKS_HEADER, r->clocks);
    }
    for (int rank = 0; rank < r->n_ranks; rank++) {
        const struct nd_sync_report *p = &reports[rank];
        if (r->n_ranks > ALL_CLOCKS && rank > 0 && !p->is_measured) continue;
        nl_put_clocks(r->clocks, run, reason, method, rank, bindings[rank].host, p, zero_ns);
    }
    return nd_files_flush(&r->files, r->clocks, "clocks.csv");
}

int nd_record_ranks_add(struct nd_record *r, const struct nd_binding *binding, const struct nd_rank_sum *sums,
                        const int64_t *n_slowest, const struct nd_start_rank *starts) {
    const struct nd_options *o = r->options;
    FILE *f = r->files.whole.f;
    struct nd_arm_words words;
    for (int arm = 0; arm <= o->n_arms; arm++) {
        const struct nd_rank_sum *s = &sums[arm];
        if (s->sum.n_halves == 0 || nd_options_is_late(o, arm - 1)) continue;
        nd_arm_tell(o, arm - 1, &words);
        nl_put_ranks(f, binding, &words, s, &s->sum, n_slowest[arm], starts ? &starts[arm] : NULL);
    }
    return ferror(f) ? -1 : 0;
}

int nd_record_nodes_add(struct nd_record *r, int node, const struct nd_host *host, const struct nd_sum *sums,
                        const int64_t *n_slowest) {
    const struct nd_options *o = r->options;
    FILE *f = r->files.whole.f;
    struct nd_arm_words words;
    for (int arm = 0; arm <= o->n_arms; arm++) {
        if (sums[arm].n_halves == 0 || nd_options_is_late(o, arm - 1)) continue;
        nd_arm_tell(o, arm - 1, &words);
        nl_put_nodes(f, r->files.launch, node, host, &words, &sums[arm], n_slowest[arm]);
    }
    return ferror(f) ? -1 : 0;
}

void nd_record_close(struct nd_record *r) {
    if (!r) return;
    if (r->rows) fclose(r->rows);
    if (r->clocks) fclose(r->clocks);
    free(r);
}
