#include "detector/acceptance/accept_record.h"
#include "common/base/nl_secret.h"
#include "common/sys/nl_whole.h"

struct nx_record {
    char launch[192], folder[PATH_MAX];
    FILE *rows;
    FILE *mismatches; /* NULL: none yet */
    struct nl_whole hists; /* while it is written */
    int64_t n_rows;
    int has_failed;   /* and said so: a full disk makes every later write fail, too */
};

/* The first failure is said; the others follow from it. -1. */
static int fail(struct nx_record *r, const char *file) {
    if (!r->has_failed++) nl_error("--out: cannot write '%s/%s': %s; what was written before is kept", r->folder, file, strerror(errno));
    return -1;
}

static FILE *open_in_folder(struct nx_record *r, const char *name, const char *mode) {
    char path[PATH_MAX + 300];
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    FILE *f = fopen(path, mode);
    if (!f) fail(r, name);
    return f;
}

static FILE *begin(struct nx_record *r, struct nl_whole *whole, const char *name) {
    char path[NL_WHOLE_BYTES];
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    if (nl_whole_open(whole, path, 0666)) fail(r, name);
    return whole->f;
}

static int hand_over(struct nx_record *r, FILE *f, const char *name) { return fflush(f) || ferror(f) ? fail(r, name) : 0; }

static int replace(struct nx_record *r, struct nl_whole *whole, const char *name) { return nl_whole_close(whole, 0) ? fail(r, name) : 0; }

/* Time, host and process number: names of launches sort by time. */
static void name_launch(const char *asked, char *name, size_t size) {
    char host[64] = "";
    time_t now = time(NULL);
    struct tm t;
    if (asked) {
        snprintf(name, size, "%s", asked);
        return;
    }
    gethostname(host, sizeof host - 1);
    gmtime_r(&now, &t);
    snprintf(name, size, "%04d%02d%02dT%02d%02d%02dZ-%s-%ld", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
             host, (long)getpid());
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '.' && *name != '-') *name = '_';
}

/* Makes every folder of a path that is not there; the last one too. 0 or -1. */
static int make_path(const char *path) {
    char begin[PATH_MAX];
    for (const char *end = path; *end; end++) {
        if (end == path || (*end != '/' && end[1] != '\0')) continue;
        snprintf(begin, sizeof begin, "%.*s", (int)(end - path) + (end[1] == '\0'), path);
        if (mkdir(begin, 0777) && errno != EEXIST) return -1;
    }
    return 0;
}

int nx_record_open(struct nx_record **record, const char *out, const char *launch_id) {
    struct nx_record *r = calloc(1, sizeof *r);
    if (!r) return nl_error("--out: not enough memory");
    *record = r;
    name_launch(launch_id, r->launch, sizeof r->launch);
    if (strlen(out) + strlen(r->launch) > PATH_MAX - 300) return nl_error("--out: the path is too long");
    snprintf(r->folder, sizeof r->folder, "%s/%s", out, r->launch);
    if (make_path(out)) return nl_error("--out: cannot make '%s': %s", out, strerror(errno));
    /* a launch never writes over another one */
    if (mkdir(r->folder, 0777)) return nl_error("--launch-id: cannot make '%s': %s", r->folder, strerror(errno));
    r->rows = open_in_folder(r, "accept.csv", "wx");
    if (!r->rows) return -1;
    fputs(
        "launch,check,variant,metric,unit,value,n,sd,min,max,median,repetition,order,start_ns,wall_ns,bytes,ranks,nodes,node,host,rank,cpu,"
        "peer_node,peer_host,peer_rank\n",
        r->rows);
    return nx_record_flush(r);
}

const char *nx_record_launch(const struct nx_record *r) { return r->launch; }
const char *nx_record_folder(const struct nx_record *r) { return r->folder; }
int64_t nx_record_rows(const struct nx_record *r) { return r->n_rows; }

/* Fields with their comma; empty where nothing is known. */
static void put_double(FILE *f, double value) {
    if (isnan(value)) fputc(',', f);
    else fprintf(f, "%.9g,", value);
}
static void put_whole(FILE *f, int64_t value) {
    if (value < 0) fputc(',', f);
    else fprintf(f, "%" PRId64 ",", value);
}
static void put_text(FILE *f, const char *text) { fprintf(f, "%s,", text ? text : ""); }

int nx_record_row(struct nx_record *r, const struct nx_row *row, const struct nx_row_context *c) {
    FILE *f = r->rows;
    const double values[] = {row->sd, row->min, row->max, row->median};
    if (r->has_failed) return -1;
    put_text(f, r->launch);
    put_text(f, c->check);
    put_text(f, row->variant);
    put_text(f, row->metric);
    put_text(f, row->unit);
    put_double(f, row->value);
    put_whole(f, row->n);
    for (int i = 0; i < 4; i++) put_double(f, values[i]);
    put_whole(f, c->repetition ? c->repetition : -1);
    put_whole(f, c->repetition ? c->order : -1);
    const int64_t wholes[] = {c->start_ns, c->wall_ns, row->bytes, c->n_ranks, c->n_nodes, c->node};
    for (int i = 0; i < 6; i++) put_whole(f, wholes[i]);
    put_text(f, c->host);
    put_whole(f, row->rank);
    put_whole(f, c->cpu);
    put_whole(f, c->peer_node);
    put_text(f, c->peer_host);
    if (row->peer_rank >= 0) fprintf(f, "%d", row->peer_rank);
    fputc('\n', f);
    r->n_rows++;
    return ferror(f) ? fail(r, "accept.csv") : 0;
}

int nx_record_flush(struct nx_record *r) {
    struct stat st;
    if (r->has_failed || hand_over(r, r->rows, "accept.csv")) return -1;
    /* a file without a name takes rows as before, and nobody will ever read them */
    if (fstat(fileno(r->rows), &st) || st.st_nlink > 0) return 0;
    errno = ENOENT;
    return fail(r, "accept.csv");
}

int nx_record_launch_json(struct nx_record *r, json_t *json) {
    struct nl_whole whole;
    FILE *f = begin(r, &whole, "launch.json");
    if (!f) return -1;
    nl_secret_redact_json(json);
    /* without memory it is cut short, and the old one stays */
    int is_bad = json_dumpf(json, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    fputc('\n', f);
    return nl_whole_close(&whole, is_bad) ? fail(r, "launch.json") : 0;
}

int nx_record_hists_begin(struct nx_record *r) {
    if (!begin(r, &r->hists, "accept_hist.csv")) return -1;
    fputs("check,variant,metric,bytes,node,host,rank,cpu,lo_ns,hi_ns,count\n", r->hists.f);
    return 0;
}

void nx_record_hist_bin(struct nx_record *r, const struct nx_hist_name *name, int rank, int node, const char *host, int bin,
                        uint64_t count) {
    FILE *f = r->hists.f;
    if (!f) return;
    fprintf(f, "%s,%s,%s,", name->check, name->variant, name->metric);
    put_whole(f, name->bytes);
    fprintf(f, "%d,%s,%d,", node, host, rank);
    put_whole(f, name->cpu);
    fprintf(f, "%" PRId64 ",%" PRId64 ",%" PRIu64 "\n", nl_hist_lo(bin), nl_hist_hi(bin), count);
}

int nx_record_hists_end(struct nx_record *r) { return r->hists.f ? replace(r, &r->hists, "accept_hist.csv") : -1; }

int nx_record_mismatch(struct nx_record *r, const struct nx_mismatch *m, const char *sender_host, const char *receiver_host) {
    if (!r->mismatches) {
        r->mismatches = open_in_folder(r, "mismatches.csv", "wx");
        if (!r->mismatches) return -1;
        fputs("launch,repetition,sender_rank,sender_host,receiver_rank,receiver_host,bytes,offset_bytes,expected_hex,found_hex\n",
              r->mismatches);
    }
    fprintf(r->mismatches, "%s,%d,%d,%s,%d,%s,%" PRId64 ",%" PRId64 ",%08" PRIx32 ",%08" PRIx32 "\n", r->launch, m->repetition, m->sender,
            sender_host, m->receiver, receiver_host, m->bytes, m->offset_bytes, m->expected, m->found);
    return hand_over(r, r->mismatches, "mismatches.csv");
}

int nx_record_trace(struct nx_record *r, const char *host, const struct nx_trace_head *head, const struct nx_detour *detours) {
    char name[256];
    snprintf(name, sizeof name, "detours.%.200s.trace", host);
    FILE *f = open_in_folder(r, name, "a");
    if (!f) return -1;
    if (fseeko(f, 0, SEEK_END) == 0 && ftello(f) == 0) fputs("# detours; each scan begins at 0\n# start_ns\tduration_ns\tcpu\n", f);
    fprintf(f, "# scan: repetition %d variant %s cpu %d wall_ns %" PRId64 " detours %" PRId64 " kept %" PRId64 "\n", head->repetition,
            head->is_alone ? "alone" : "all", head->cpu, head->wall_ns, head->n_detours, head->n_kept);
    for (int64_t i = 0; i < head->n_kept; i++)
        fprintf(f, "%" PRId64 "\t%" PRId64 "\t%d\n", detours[i].start_ns, detours[i].duration_ns, head->cpu);
    int is_bad = ferror(f) != 0;
    return fclose(f) || is_bad ? fail(r, name) : 0;
}

void nx_record_close(struct nx_record *r) {
    if (!r) return;
    FILE *const files[] = {r->rows, r->mismatches, r->hists.f};
    for (int i = 0; i < 3; i++)
        if (files[i]) fclose(files[i]);
    free(r);
}
