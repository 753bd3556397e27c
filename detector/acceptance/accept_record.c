#include "detector/acceptance/accept_record.h"

int nx_record_open(struct nx_record **record, const char *out, const char *launch_id) {
    struct nx_record *r = *record = calloc(1, sizeof *r);
    if (!r) return nl_error("--out: not enough memory");
    if (nd_files_open(&r->files, out, launch_id) || !(r->rows = nd_files_make(&r->files, "accept.csv", "wx"))) return -1;
    fputs(
        "launch,check,variant,metric,unit,value,n,sd,min,max,median,repetition,order,start_ns,wall_ns,bytes,ranks,nodes,node,host,rank,cpu,"
        "peer_node,peer_host,peer_rank\n",
        r->rows);
    return nx_record_flush(r);
}

/* Fields with their comma; empty where nothing is known. */
static void put_double(FILE *f, double value) {
    if (isnan(value)) fputc(',', f);
    else fprintf(f, "%.9g,", value);
}
static void put_text(FILE *f, const char *text) { fprintf(f, "%s,", text ? text : ""); }

int nx_record_row(struct nx_record *r, const struct nx_row *row, const struct nx_row_context *c) {
    FILE *f = r->rows;
    const double values[] = {row->sd, row->min, row->max, row->median};
    const char *const words[] = {r->files.launch, c->check, row->variant, row->metric, row->unit};
    if (r->files.has_failed) return -1;
    for (int i = 0; i < 5; i++) put_text(f, words[i]);
    put_double(f, row->value);
    nd_put_known(f, row->n);
    for (int i = 0; i < 4; i++) put_double(f, values[i]);
    nd_put_known(f, c->repetition ? c->repetition : -1);
    nd_put_known(f, c->repetition ? c->order : -1);
    const int64_t wholes[] = {c->start_ns, c->wall_ns, row->bytes, c->n_ranks, c->n_nodes, c->node};
    for (int i = 0; i < 6; i++) nd_put_known(f, wholes[i]);
    put_text(f, c->host);
    nd_put_known(f, row->rank);
    nd_put_known(f, c->cpu);
    nd_put_known(f, c->peer_node);
    put_text(f, c->peer_host);
    if (row->peer_rank >= 0) fprintf(f, "%d", row->peer_rank);
    fputc('\n', f);
    r->files.n_rows++;
    return ferror(f) ? nd_files_fail(&r->files, "accept.csv", strerror(errno)) : 0;
}

int nx_record_flush(struct nx_record *r) { return r->files.has_failed ? -1 : nd_files_flush(&r->files, r->rows, "accept.csv"); }

int nx_record_hists_begin(struct nx_record *r) {
    if (nd_files_begin(&r->files, "accept_hist.csv")) return -1;
    fputs("check,variant,metric,bytes,node,host,rank,cpu,lo_ns,hi_ns,count\n", r->files.whole.f);
    return 0;
}

void nx_record_hist_bin(struct nx_record *r, const struct nx_hist_name *name, int rank, int node, const char *host, int bin,
                        uint64_t count) {
    FILE *f = r->files.whole.f;
    if (!f) return;
    fprintf(f, "%s,%s,%s,", name->check, name->variant, name->metric);
    nd_put_known(f, name->bytes);
    fprintf(f, "%d,%s,%d,", node, host, rank);
    nd_put_known(f, name->cpu);
    fprintf(f, "%" PRId64 ",%" PRId64 ",%" PRIu64 "\n", nl_hist_lo(bin), nl_hist_hi(bin), count);
}

int nx_record_hists_end(struct nx_record *r) { return nd_files_end(&r->files, "accept_hist.csv", 0); }

int nx_record_mismatch(struct nx_record *r, const struct nx_mismatch *m, const char *sender_host, const char *receiver_host) {
    if (!r->mismatches) {
        r->mismatches = nd_files_make(&r->files, "mismatches.csv", "wx");
        if (!r->mismatches) return -1;
        fputs("launch,repetition,sender_rank,sender_host,receiver_rank,receiver_host,bytes,offset_bytes,expected_hex,found_hex\n",
              r->mismatches);
    }
    fprintf(r->mismatches, "%s,%d,%d,%s,%d,%s,%" PRId64 ",%" PRId64 ",%08" PRIx32 ",%08" PRIx32 "\n", r->files.launch, m->repetition,
            m->sender, sender_host, m->receiver, receiver_host, m->bytes, m->offset_bytes, m->expected, m->found);
    return nd_files_flush(&r->files, r->mismatches, "mismatches.csv");
}

int nx_record_trace(struct nx_record *r, const char *host, const struct nx_trace_head *head, const struct nx_detour *detours) {
    char name[256];
    snprintf(name, sizeof name, "detours.%.200s.trace", host);
    FILE *f = nd_files_make(&r->files, name, "a");
    if (!f) return -1;
    if (fseeko(f, 0, SEEK_END) == 0 && ftello(f) == 0) fputs("# detours; each scan begins at 0\n# start_ns\tduration_ns\tcpu\n", f);
    fprintf(f, "# scan: repetition %d variant %s cpu %d wall_ns %" PRId64 " detours %" PRId64 " kept %" PRId64 "\n", head->repetition,
            head->is_alone ? "alone" : "all", head->cpu, head->wall_ns, head->n_detours, head->n_kept);
    for (int64_t i = 0; i < head->n_kept; i++)
        fprintf(f, "%" PRId64 "\t%" PRId64 "\t%d\n", detours[i].start_ns, detours[i].duration_ns, head->cpu);
    int is_bad = ferror(f) != 0;
    return fclose(f) || is_bad ? nd_files_fail(&r->files, name, strerror(errno)) : 0;
}

void nx_record_close(struct nx_record *r) {
    if (!r) return;
    if (r->rows) fclose(r->rows);
    if (r->mismatches) fclose(r->mismatches);
    free(r);
}
