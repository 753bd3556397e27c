#include "detector/record/raw.h"
#include "detector/record/record.h"
#include "common/base/nl_usual.h"

#define BLOCK_BYTES (INT64_C(8) << 20) /* what rank 0 holds of a block at most */
#define WIDE        INT32_MIN          /* stands where a value needs more than 32 bits */

/* A value that did not fit. Sent as bytes; the file gets it without the gap. */
struct wide {
    uint32_t rank, field, index, pad;
    double value;
};

struct nd_raw {
    const struct nd_team *team;
    int n_most;         /* starts in a block */
    int32_t *mine;      /* 3 x n_most */
    struct wide *wides; /* 3 x n_most */
    /* rank 0 */
    FILE *file;
    char *path;
    int32_t *all;           /* n_ranks x 3 x n_most */
    int *n_wides, *offsets; /* n_ranks */
    int has_failed;
};

static void put_u32(FILE *f, uint32_t v) {
    v = nl_little32(v);
    fwrite(&v, sizeof v, 1, f);
}

static void put_f64(FILE *f, double value) {
    uint64_t v;
    memcpy(&v, &value, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    fwrite(&v, sizeof v, 1, f);
}

static int write_header(struct nd_raw *r, const json_t *header) {
    char *text = json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER);
    if (!text) return -1;
    fwrite("NLSTARTS", 8, 1, r->file);
    put_u32(r->file, 1);
    put_u32(r->file, (uint32_t)strlen(text));
    fputs(text, r->file);
    free(text);
    return fflush(r->file) || ferror(r->file) ? -1 : 0;
}

static int allocate(struct nd_raw *r) {
    size_t n_ranks = (size_t)r->team->n_ranks, n = (size_t)r->n_most;
    if (!NL_NEW(r->mine, 3 * n) || !NL_NEW(r->wides, 3 * n)) return 0;
    return r->team->rank != 0 ||
           (NL_NEW(r->all, n_ranks * 3 * n) && NL_NEW(r->n_wides, n_ranks) && NL_NEW(r->offsets, n_ranks));
}

int nd_raw_open(struct nd_raw **raw, const struct nd_team *team, const char *path, const json_t *header) {
    struct nd_raw *r = calloc(1, sizeof *r);
    int failed = !r;
    if (r) {
        int64_t n = BLOCK_BYTES / (12 * (int64_t)team->n_ranks);
        *r = (struct nd_raw){.team = team, .n_most = (int)(n < 1 ? 1 : n > ND_BATCH ? ND_BATCH : n)};
        failed = !allocate(r);
    }
    if (failed) nl_error("--starts: raw: not enough memory");
    if (!failed && team->rank == 0) {
        r->path = strdup(path);
        r->file = fopen(path, "wxb");
        if (!r->file) nl_error("--starts: raw: cannot make '%s': %s", path, strerror(errno));
        failed = !r->file;
        if (r->file && write_header(r, header)) {
            nl_error("--starts: raw: cannot write '%s': %s", path, strerror(errno));
            failed = 1;
        }
    }
    if (nd_team_agree(team, failed ? ND_FLAG_SETUP : 0)) {
        nd_raw_close(r);
        return -1;
    }
    *raw = r;
    return 0;
}

/* A value as 32 bits, or a note that it is wide. */
static int32_t narrow(struct nd_raw *r, int *n_wide, int field, int index, int64_t value_ns) {
    if (value_ns > INT32_MIN && value_ns <= INT32_MAX)
        return (int32_t)nl_little32((uint32_t)(int32_t)value_ns);
    struct wide *w = &r->wides[(*n_wide)++];
    *w = (struct wide){nl_little32((uint32_t)r->team->rank), nl_little32((uint32_t)field),
                       nl_little32((uint32_t)index), 0, (double)value_ns};
    return (int32_t)nl_little32((uint32_t)WIDE);
}

/* Gathers what did not fit; returns its number on rank 0, where `wides` holds it afterwards (to be freed). */
static int gather_wides(struct nd_raw *r, int n_mine, struct wide **wides) {
    int n = 0, any = nd_team_agree(r->team, n_mine > 0);
    *wides = NULL;
    if (!any) return 0;
    int n_bytes = n_mine * (int)sizeof(struct wide);
    MPI_Gather(&n_bytes, 1, MPI_INT, r->n_wides, 1, MPI_INT, 0, r->team->world);
    if (r->team->rank == 0) {
        for (int i = 0; i < r->team->n_ranks; i++) {
            r->offsets[i] = n;
            n += r->n_wides[i];
        }
        *wides = malloc((size_t)n);
        /* a few MiB for a run that was disturbed for seconds: nothing can be saved without them */
        if (!*wides) MPI_Abort(r->team->world, 2);
    }
    MPI_Gatherv(r->wides, n_bytes, MPI_BYTE, *wides, r->n_wides, r->offsets, MPI_BYTE, 0, r->team->world);
    return n / (int)sizeof(struct wide);
}

static void write_block(struct nd_raw *r, const struct nd_starter *s, int from, int n, int64_t n_switches,
                        const struct wide *wides, int n_wides) {
    FILE *f = r->file;
    fwrite("BLCK", 4, 1, f);
    const uint32_t words[] = {(uint32_t)s->step->config, (uint32_t)(s->step->level + 1), (uint32_t)n,
                              (uint32_t)s->step->order,  (uint32_t)n_switches,           (uint32_t)n_wides};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        put_u32(f, words[i]);
    put_f64(f, (double)s->step->pair);
    put_f64(f, (double)(s->n_done + from));
    for (int i = 0; i < n; i++)
        put_f64(f, (double)(s->records[from + i].scheduled_ns - s->zero_ns));
    fwrite(r->all, sizeof *r->all, (size_t)r->team->n_ranks * 3 * (size_t)n, f);
    for (int i = 0; i < n_wides; i++) {
        fwrite(&wides[i], 12, 1, f);
        put_f64(f, wides[i].value);
    }
    if (!r->has_failed && (fflush(f) || ferror(f))) {
        nl_error("--starts: raw: cannot write '%s': %s", r->path, strerror(errno));
        r->has_failed = 1;
    }
}

int nd_raw_write(struct nd_raw *r, const struct nd_starter *s, int n_starts, int64_t n_switches) {
    int64_t all_switches = 0;
    MPI_Reduce(&n_switches, &all_switches, 1, MPI_INT64_T, MPI_SUM, 0, r->team->world);
    for (int from = 0; from < n_starts; from += r->n_most) {
        int n = n_starts - from < r->n_most ? n_starts - from : r->n_most, n_wide = 0;
        for (int i = 0; i < n; i++) {
            const struct nd_start_record *record = &s->records[from + i];
            int64_t arrival_ns = nd_sync_to_global(&s->sync.model, record->start_ns) - record->scheduled_ns;
            r->mine[i] = narrow(r, &n_wide, 0, i, s->overshoots_ns[from + i]);
            r->mine[n + i] = narrow(r, &n_wide, 1, i, arrival_ns);
            r->mine[2 * n + i] = narrow(r, &n_wide, 2, i, record->end_ns - record->start_ns);
        }
        struct wide *wides;
        MPI_Gather(r->mine, 3 * n, MPI_INT32_T, r->all, 3 * n, MPI_INT32_T, 0, r->team->world);
        int n_wides = gather_wides(r, n_wide, &wides);
        if (r->file) write_block(r, s, from, n, all_switches, wides, n_wides);
        free(wides);
    }
    return r->has_failed ? -1 : 0;
}

void nd_raw_close(struct nd_raw *r) {
    if (!r) return;
    if (r->file) fclose(r->file);
    NL_FREE(r->path, r->mine, r->wides, r->all, r->n_wides, r->offsets, r);
}
