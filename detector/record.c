#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nl_error.h"
#include "version.h"

struct nd_record {
    const struct nd_options *options;
    int n_ranks;
    char launch[192];
    char folder[PATH_MAX];
    FILE *rows;
    FILE *hist;
    FILE *starts_hist;
    FILE *clocks; /* opened by the first synchronisation */
    int64_t n_rows;
};

/* ---- the campaign's folder ------------------------------------------------------------------------------------------------------- */

static int make_folder(const char *path) {
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *p = part + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        if (mkdir(part, 0777) && errno != EEXIST) return -1;
        *p = '/';
    }
    return mkdir(part, 0777) && errno != EEXIST ? -1 : 0;
}

static int check_schema(const char *path) {
    json_error_t error;
    json_t *launch = json_load_file(path, 0, &error);
    if (!launch) {
        nl_error("--out: %s:%d is damaged (%s); choose another folder or remove that launch", path, error.line, error.text);
        return -1;
    }
    json_t *schema = json_object_get(launch, "schema");
    int64_t found = json_is_integer(schema) ? json_integer_value(schema) : -1;
    json_decref(launch);
    if (found == NOISELAB_SCHEMA) return 0;
    nl_error("--out: %s has schema %" PRId64 ", this program writes schema %d; choose another folder", path, found, NOISELAB_SCHEMA);
    return -1;
}

int nd_record_check_campaign(const char *out) {
    struct stat st;
    if (stat(out, &st)) {
        if (errno == ENOENT) return 0;
        nl_error("--out: cannot read '%s': %s", out, strerror(errno));
        return -1;
    }
    if (!S_ISDIR(st.st_mode)) {
        nl_error("--out: '%s' is not a directory", out);
        return -1;
    }
    DIR *dir = opendir(out);
    if (!dir) {
        nl_error("--out: cannot read '%s': %s", out, strerror(errno));
        return -1;
    }
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

static void make_launch_id(const struct nd_options *o, char *id, size_t size) {
    if (o->launch_id) {
        snprintf(id, size, "%s", o->launch_id);
        return;
    }
    char host[64] = "host", stamp[32];
    struct timespec now;
    struct tm utc;
    gethostname(host, sizeof host - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    snprintf(id, size, "%s-%.63s-%ld", stamp, host, (long)getpid());
    for (char *p = id; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *p)) *p = '_';
}

static FILE *open_file(struct nd_record *r, const char *name, const char *mode) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    FILE *f = fopen(path, mode);
    if (!f) nl_error("--out: cannot write '%s': %s", path, strerror(errno));
    return f;
}

/* Moves `name`.tmp over `name` once its content is complete: readers see the old file or the new one, never half of one. */
static int close_and_replace(struct nd_record *r, FILE *f, const char *name) {
    char from[PATH_MAX + 64], to[PATH_MAX + 64];
    snprintf(from, sizeof from, "%s/%s.tmp", r->folder, name);
    snprintf(to, sizeof to, "%s/%s", r->folder, name);
    int failed = ferror(f);
    if (fclose(f) || failed || rename(from, to)) {
        nl_error("--out: cannot write '%s': %s", to, strerror(errno));
        return -1;
    }
    return 0;
}

int nd_record_open(struct nd_record **record, const struct nd_options *o, int n_ranks) {
    struct nd_record *r = calloc(1, sizeof *r);
    if (!r) return -1;
    r->options = o;
    r->n_ranks = n_ranks;
    make_launch_id(o, r->launch, sizeof r->launch);
    if (snprintf(r->folder, sizeof r->folder, "%s/%s", o->out, r->launch) >= PATH_MAX - 32) {
        nl_error("--out: the path is too long");
        goto fail;
    }
    if (make_folder(o->out)) {
        nl_error("--out: cannot make '%s': %s", o->out, strerror(errno));
        goto fail;
    }
    /* not make_folder: a launch never writes over another one */
    if (mkdir(r->folder, 0777)) {
        nl_error("--launch-id: cannot make '%s': %s", r->folder, strerror(errno));
        goto fail;
    }
    r->rows = open_file(r, o->design->is_paired ? "halves.csv" : "blocks.csv", "wx");
    if (!r->rows) goto fail;
    fputs("launch,operation,bytes,ranks,pair,order,arm,level_requested_percent,level_delivered_percent,start_ns,wall_ns,operations,"
          "stolen_ns_max,stolen_ns_sum,stolen_rank,detour_ns,detours,base_ns,steal_ns,involuntary_switches,slowest_rank,delivered_ns,bursts,bursts_due,"
          "kind,pattern,placement,phase,requested_ns,global_ns,after_last_ns,spread_ns,late_starts,overshoot_ns_p50,overshoot_ns_p99,overshoot_ns_max,"
          "slot_ns,within_ns2,between_ns2\n",
          r->rows);
    if (fflush(r->rows)) goto fail;
    *record = r;
    return 0;
fail:
    nd_record_close(r);
    return -1;
}

const char *nd_record_launch(const struct nd_record *r) { return r->launch; }

const char *nd_record_folder(const struct nd_record *r) { return r->folder; }

int64_t nd_record_rows(const struct nd_record *r) { return r->n_rows; }

/* ---- rows ------------------------------------------------------------------------------------------------------------------------- */

/* An empty field for what is not known (negative). */
static void put_known(FILE *f, int64_t value) {
    if (value < 0)
        fputc(',', f);
    else
        fprintf(f, "%" PRId64 ",", value);
}

/* What synchronised starts came to; empty fields without them. */
static void put_starts(FILE *f, const struct nd_start_half *h) {
    if (h->n_starts == 0)
        fputs(",,,,,,,,,", f);
    else
        fprintf(f, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%.6g,%.6g", h->global_ns,
                h->after_last_ns, h->spread_ns, h->n_late, h->overshoot_p50_ns, h->overshoot_p99_ns, h->overshoot_max_ns, h->slot_ns,
                h->within_ns2, h->between_ns2);
}

/* The treatment's four words, empty where there is none. `arm` counts from 0, ND_OFF: off. */
static void put_treatment(FILE *f, const struct nd_options *o, int arm) {
    char place[ND_PLACE_BYTES];
    if (arm == ND_OFF)
        fputs(",,,", f);
    else
        fprintf(f, "%s,%s,%s,%s", o->kinds[o->arms[arm].kind], o->patterns[o->arms[arm].pattern], nd_place_name(o, o->arms[arm].place, place),
                nd_phase_names[o->phases[o->arms[arm].phase]]);
}

int nd_record_row(struct nd_record *r, const struct nd_half *h, int n_cpus) {
    const struct nd_options *o = r->options;
    const struct nd_config *config = &o->configs[h->step.config];
    FILE *f = r->rows;
    int is_on = h->step.level != ND_OFF;
    fprintf(f, "%s,%s,%" PRId64 ",%d,%" PRId64 ",%d,%s,%.10g,", r->launch, config->name, config->bytes, r->n_ranks, h->step.pair,
            h->step.order, is_on ? "on" : "off", is_on ? o->arms[h->step.level].level_percent : 0.);
    if (h->delivered_ns >= 0) fprintf(f, "%.6g", 100. * (double)h->delivered_ns / ((double)h->wall_ns * n_cpus));
    fprintf(f, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,", h->start_ns, h->wall_ns, h->n_operations,
            h->stolen_ns_max, h->stolen_ns_sum, h->stolen_rank);
    put_known(f, h->detour_ns);
    put_known(f, h->n_detours);
    if (h->base_ns >= 0) fprintf(f, "%.3f", h->base_ns);
    fputc(',', f);
    put_known(f, h->steal_ns);
    fprintf(f, "%" PRId64 ",%d,", h->n_involuntary, h->slowest_rank);
    put_known(f, h->delivered_ns);
    put_known(f, h->n_bursts);
    put_known(f, h->n_due);
    put_treatment(f, o, h->step.level);
    fputc(',', f);
    if (h->requested_ns >= 0) fprintf(f, "%" PRId64, h->requested_ns);
    fputc(',', f);
    put_starts(f, &h->starts);
    fputc('\n', f);
    if (fflush(f) || ferror(f)) {
        nl_error("--out: cannot write rows to '%s': %s", r->folder, strerror(errno));
        return -1;
    }
    r->n_rows++;
    return 0;
}

/* ---- whole files ------------------------------------------------------------------------------------------------------------------ */

int nd_record_launch_json(struct nd_record *r, json_t *json) {
    FILE *f = open_file(r, "launch.json.tmp", "w");
    if (!f) return -1;
    int failed = json_dumpf(json, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    fputc('\n', f);
    return close_and_replace(r, f, "launch.json") || failed ? -1 : 0;
}

int nd_record_hist_begin(struct nd_record *r) {
    r->hist = open_file(r, "hist.csv.tmp", "w");
    if (!r->hist) return -1;
    fputs("operation,bytes,arm,level_requested_percent,lo_ns,hi_ns,count,kind,pattern,placement,phase\n", r->hist);
    return 0;
}

int nd_record_hist_add(struct nd_record *r, const struct nd_config *config, int arm, const struct nl_hist *h) {
    for (int i = 0; i < NL_HIST_BINS; i++) {
        if (!h->bins[i]) continue;
        fprintf(r->hist, "%s,%" PRId64 ",%s,%.10g,%" PRId64 ",%" PRId64 ",%" PRIu64 ",", config->name, config->bytes,
                arm == ND_OFF ? "off" : "on", arm == ND_OFF ? 0. : r->options->arms[arm].level_percent, nl_hist_lo(i), nl_hist_hi(i), h->bins[i]);
        put_treatment(r->hist, r->options, arm);
        fputc('\n', r->hist);
    }
    return ferror(r->hist) ? -1 : 0;
}

int nd_record_hist_end(struct nd_record *r) {
    FILE *f = r->hist;
    r->hist = NULL;
    return close_and_replace(r, f, "hist.csv");
}

int nd_record_starts_hist_begin(struct nd_record *r) {
    r->starts_hist = open_file(r, "starts_hist.csv.tmp", "w");
    if (!r->starts_hist) return -1;
    fputs("operation,bytes,arm,level_requested_percent,measure,lo_ns,hi_ns,count,kind,pattern,placement,phase\n", r->starts_hist);
    return 0;
}

int nd_record_starts_hist_add(struct nd_record *r, const struct nd_config *config, int arm, int measure, const struct nl_hist *h) {
    FILE *f = r->starts_hist;
    for (int i = 0; i < NL_HIST_BINS; i++) {
        if (!h->bins[i]) continue;
        fprintf(f, "%s,%" PRId64 ",%s,%.10g,%s,%" PRId64 ",%" PRId64 ",%" PRIu64 ",", config->name, config->bytes, arm == ND_OFF ? "off" : "on",
                arm == ND_OFF ? 0. : r->options->arms[arm].level_percent, nd_start_measure_names[measure], nl_hist_lo(i), nl_hist_hi(i), h->bins[i]);
        put_treatment(f, r->options, arm);
        fputc('\n', f);
    }
    return ferror(f) ? -1 : 0;
}

int nd_record_starts_hist_end(struct nd_record *r) {
    FILE *f = r->starts_hist;
    r->starts_hist = NULL;
    return close_and_replace(r, f, "starts_hist.csv");
}

int nd_record_lateness(struct nd_record *r, const struct nd_lateness *l) {
    FILE *f = open_file(r, "lateness.csv.tmp", "w");
    if (!f) return -1;
    fputs("slice,start_ns,end_ns,rank,starts,last_starts,last_ends,start_cost_ns,end_cost_ns\n", f);
    for (int slice = 0; slice < l->n_slices; slice++)
        for (int rank = 0; rank < l->n_ranks; rank++) {
            const struct nd_lateness_cell *c = &l->cells[(size_t)slice * (size_t)l->n_ranks + (size_t)rank];
            if (c->n_last_starts == 0 && c->n_last_ends == 0) continue;
            fprintf(f, "%d,%" PRId64 ",%" PRId64 ",%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", slice, slice * l->slice_ns,
                    (slice + 1) * l->slice_ns, rank, l->n_starts[slice], c->n_last_starts, c->n_last_ends, c->start_cost_ns, c->end_cost_ns);
        }
    return close_and_replace(r, f, "lateness.csv");
}

int nd_record_clocks(struct nd_record *r, int run, const char *reason, const char *method, const struct nd_sync_report *reports,
                     const struct nd_seat *seats, int64_t zero_ns) {
    if (!r->clocks) {
        r->clocks = open_file(r, "clocks.csv", "w");
        if (!r->clocks) return -1;
        fputs("run,reason,method,rank,host,at_ns,measured,offset_ns,drift_ppm,rtt_ns,residual_ns,exchanges\n", r->clocks);
    }
    for (int rank = 0; rank < r->n_ranks; rank++) {
        const struct nd_sync_report *p = &reports[rank];
        fprintf(r->clocks, "%d,%s,%s,%d,%s,%" PRId64 ",%d,%" PRId64 ",%.6g,%" PRId64 ",%.6g,%" PRId64 "\n", run, reason, method, rank,
                seats[rank].host, p->at_ns - zero_ns, p->is_measured, p->offset_ns, p->drift_ppm, p->rtt_ns, p->residual_ns, p->n_exchanges);
    }
    if (fflush(r->clocks) == 0 && !ferror(r->clocks)) return 0;
    nl_error("--out: cannot write clocks.csv in '%s': %s", r->folder, strerror(errno));
    return -1;
}

int nd_record_ranks(struct nd_record *r, const struct nd_seat *seats, const struct nd_rank_sum *sums, int n_ranks) {
    const struct nd_options *o = r->options;
    int n_arms = o->n_arms + 1;
    FILE *f = open_file(r, "ranks.csv.tmp", "w");
    if (!f) return -1;
    fputs("rank,host,cpu,arm,level_requested_percent,halves,wall_ns,stolen_ns,detours,detour_ns,involuntary_switches,times_slowest,kind,pattern,placement,phase,"
          "first_starts,last_starts,last_ends,start_cost_ns,end_cost_ns,overshoot_ns_sum,overshoot_ns_max\n", f);
    for (int rank = 0; rank < n_ranks; rank++)
        for (int arm = 0; arm < n_arms; arm++) {
            const struct nd_rank_sum *s = &sums[rank * n_arms + arm];
            if (s->n_halves == 0) continue;
            fprintf(f, "%d,%s,%d,%s,%.10g,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", rank,
                    seats[rank].host, seats[rank].cpu, arm ? "on" : "off", arm ? o->arms[arm - 1].level_percent : 0., s->n_halves, s->wall_ns,
                    s->stolen_ns, s->n_detours, s->detour_ns, s->n_involuntary, s->n_slowest);
            put_treatment(f, o, arm - 1);
            if (o->start.mode->is_synchronised)
                fprintf(f, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", s->starts.first_starts,
                        s->starts.last_starts, s->starts.last_ends, s->starts.start_cost_ns, s->starts.end_cost_ns, s->overshoot_ns_sum,
                        s->overshoot_ns_max);
            else
                fputs(",,,,,,,\n", f);
        }
    return close_and_replace(r, f, "ranks.csv");
}

void nd_record_close(struct nd_record *r) {
    if (!r) return;
    if (r->rows) fclose(r->rows);
    if (r->hist) fclose(r->hist);
    if (r->starts_hist) fclose(r->starts_hist);
    if (r->clocks) fclose(r->clocks);
    free(r);
}
