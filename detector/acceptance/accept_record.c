#include "detector/acceptance/accept_record.h"

#include "common/contract/accept.h"
#include "common/contract/accept_hist.h"
#include "common/contract/mismatches.h"

int nx_record_open(struct nx_record **record, const char *out, const char *launch_id) {
    struct nx_record *r = *record = calloc(1, sizeof *r);
    if (!r) return nl_error("--out: not enough memory");
    if (nd_files_open(&r->files, out, launch_id) || !(r->rows = nd_files_make(&r->files, "accept.csv", "wx")))
        return -1;
    fputs(NL_ACCEPT_HEADER, r->rows);
    return nx_record_flush(r);
}

int nx_record_row(struct nx_record *r, const struct nx_row *row, const struct nx_row_context *c) {
    FILE *f = r->rows;
    if (r->files.has_failed) return -1;
    nl_put_accept(f, r->files.launch, row, c);
    r->files.n_rows++;
    return ferror(f) ? nd_files_fail(&r->files, "accept.csv", strerror(errno)) : 0;
}

int nx_record_flush(struct nx_record *r) {
    return r->files.has_failed ? -1 : nd_files_flush(&r->files, r->rows, "accept.csv");
}

int nx_record_hists_begin(struct nx_record *r) {
    if (nd_files_begin(&r->files, "accept_hist.csv")) return -1;
    fputs(NL_ACCEPT_HIST_HEADER, r->files.whole.f);
    return 0;
}

void nx_record_hist_bin(struct nx_record *r, const struct nx_hist_name *name, int rank, int node,
                        const char *host, int bin, uint64_t count) {
    FILE *f = r->files.whole.f;
    if (f) nl_put_accept_hist(f, name, rank, node, host, bin, count);
}

int nx_record_hists_end(struct nx_record *r) { return nd_files_end(&r->files, "accept_hist.csv", 0); }

int nx_record_mismatch(struct nx_record *r, const struct nx_mismatch *m, const char *sender_host,
                       const char *receiver_host) {
    if (!r->mismatches) {
        r->mismatches = nd_files_make(&r->files, "mismatches.csv", "wx");
        if (!r->mismatches) return -1;
        fputs(NL_MISMATCHES_HEADER, r->mismatches);
    }
    nl_put_mismatches(r->mismatches, r->files.launch, m, sender_host, receiver_host);
    return nd_files_flush(&r->files, r->mismatches, "mismatches.csv");
}

int nx_record_trace(struct nx_record *r, const char *host, const struct nx_trace_head *head,
                    const struct nx_detour *detours) {
    char name[256];
    snprintf(name, sizeof name, "detours.%.200s.trace", host);
    FILE *f = nd_files_make(&r->files, name, "a");
    if (!f) return -1;
    if (fseeko(f, 0, SEEK_END) == 0 && ftello(f) == 0)
        fputs("# detours; each scan begins at 0\n# start_ns\tduration_ns\tcpu\n", f);
    fprintf(f,
            "# scan: repetition %d variant %s cpu %d wall_ns %" PRId64 " detours %" PRId64 " kept %" PRId64
            "\n",
            head->repetition, head->is_alone ? "alone" : "all", head->cpu, head->wall_ns, head->n_detours,
            head->n_kept);
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
