#include "detector/profile/tables.h"
#include "common/sys/nl_whole.h"
#include "detector/profile/profile_file.h"

#include "common/contract/profile_arrivals.h"
#include "common/contract/profile_operations.h"
#include "common/contract/profile_ranks.h"

enum { PATH_BYTES = 4096 };

struct ranks {
    struct nf_file **files; /* by rank; NULL: not there */
    int n;
    int64_t origin_ns; /* end of the first MPI_Init, by rank 0's clock */
};

/* ---- the files ---- */

static int is_whole(const struct nf_file *f) {
    return f->file_bytes == sizeof *f && f->row_bytes == sizeof(struct nf_row) && f->rank >= 0 &&
           f->rank < f->n_ranks && f->n_rows <= NF_MAX_ROWS && f->n_samples <= NF_MAX_SAMPLES &&
           f->n_communicators <= NF_MAX_COMMUNICATORS && f->host[sizeof f->host - 1] == '\0' &&
           f->program[sizeof f->program - 1] == '\0' && f->library[sizeof f->library - 1] == '\0' &&
           f->clock[sizeof f->clock - 1] == '\0';
}

static int are_names_whole(const struct nf_file *f) {
    for (uint32_t i = 0; i < f->n_rows; i++)
        if (f->rows[i].operation >= NF_MAX_NAMES) return 0;
    for (uint32_t i = 0; i < f->n_samples; i++)
        if (f->samples[i].operation >= NF_MAX_NAMES) return 0;
    for (int i = 0; i < NF_MAX_NAMES; i++)
        if (f->names[i][NF_NAME_BYTES - 1]) return 0;
    return 1;
}

/* NULL: not a file of this version; a rank that died before it was done with MPI_Init has an empty one. */
static struct nf_file *map(const char *path, int *is_empty) {
    struct stat about;
    struct nf_file *f = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    *is_empty = 0;
    if (fd < 0) return NULL;
    /* private: what a program that still runs writes is not awaited, and what is looked at here stays */
    if (!fstat(fd, &about) && about.st_size == (off_t)sizeof *f)
        f = mmap(NULL, sizeof *f, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (f == MAP_FAILED) return NULL;
    *is_empty = f->magic[0] == '\0';
    if (!memcmp(f->magic, NF_MAGIC, sizeof f->magic) && is_whole(f) && are_names_whole(f)) return f;
    munmap(f, sizeof *f);
    return NULL;
}

int nf_each_file(const char *folder, const char *end, int (*use)(const char *path, void *context),
                 void *context) {
    char path[PATH_BYTES], kind[16];
    struct dirent *entry;
    int failed = 0, n = 0;
    DIR *d = opendir(folder);
    if (!d) return -1;
    while (!failed && (entry = readdir(d)))
        if (sscanf(entry->d_name, "rank.%*d.%15s%n", kind, &n) == 1 && !entry->d_name[n] &&
            !strcmp(kind, end) &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            failed = use(path, context);
    closedir(d);
    return failed;
}

static int take_file(const char *path, void *context) {
    struct ranks *r = context;
    int is_empty;
    struct nf_file *f = map(path, &is_empty);
    if (!f && is_empty) return 0;
    if (!f || (r->n && f->n_ranks != r->n))
        return nl_error("'%s' is not a rank of this profile, or of another version", path);
    if (!r->n) {
        r->files = calloc((size_t)f->n_ranks, sizeof *r->files);
        if (!r->files) return -1;
        r->n = f->n_ranks;
    }
    r->files[f->rank] = f;
    return 0;
}

/* ---- clocks ---- */

/* A local time on rank 0's clock: between the two synchronisations in proportion, with the drift of the first
 * where there was no second. */
static int64_t global_ns(const struct nf_file *f, int64_t local_ns) {
    const struct nf_clock_model *a = &f->at_start, *b = &f->at_end;
    double rate = a->drift;
    if (f->state == NF_FINALIZED && b->at_ns > a->at_ns)
        rate = (double)(b->offset_ns - a->offset_ns) / (double)(b->at_ns - a->at_ns);
    return local_ns - a->offset_ns - (int64_t)(rate * (double)(local_ns - a->at_ns));
}

static void find_origin(struct ranks *r) {
    r->origin_ns = INT64_MAX;
    for (int i = 0; i < r->n; i++) {
        if (!r->files[i]) continue;
        int64_t at_ns = global_ns(r->files[i], r->files[i]->started_ns);
        if (at_ns < r->origin_ns) r->origin_ns = at_ns;
    }
}

/* ---- tables ---- */

static int64_t least_bytes(int size_class) { return size_class ? INT64_C(1) << (size_class - 1) : 0; }

static const char *kind_of(int communicator) {
    return communicator == NF_WORLD ? "world" : communicator == NF_PART ? "part" : "";
}

static const char *class_of(char class) {
    return class == NF_SYNCHRONISING ? "synchronising"
           : class == NF_COLLECTIVE  ? "collective"
           : class == NF_LATER       ? "nonblocking"
                                     : "point-to-point";
}

/* Changing, a rank (`number` has room for it), or nothing. */
static const char *root_of(int root, char *number, size_t size) {
    if (root == NF_CHANGING_ROOT) return "changing";
    number[0] = '\0';
    if (root >= 0) snprintf(number, size, "%d", root);
    return number;
}

static int print_operations(FILE *out, const struct nf_tables *t, const struct ranks *r) {
    char root[16];
    fputs(NL_PROFILE_OPERATIONS_HEADER, out);
    for (int i = 0; i < r->n; i++) {
        const struct nf_file *f = r->files[i];
        for (uint32_t k = 0; f && k < f->n_rows; k++) {
            const struct nf_row *row = &f->rows[k];
            nl_put_profile_operations(out, t->launch, i, f->names[row->operation],
                                      class_of(f->classes[row->operation]), kind_of(row->communicator),
                                      root_of(row->root, root, sizeof root), least_bytes(row->size_class),
                                      row);
        }
    }
    return 0;
}

static const char *threads_of(const struct nf_file *f) {
    static const char *const levels[] = {"single", "funneled", "serialized", "multiple"};
    return f->thread_level >= 0 && f->thread_level < 4 ? levels[f->thread_level] : "";
}

static const char *state_of(const struct nf_file *f) {
    static const char *const states[] = {
        [NF_RUNNING] = "unfinished", [NF_FINALIZED] = "finalized", [NF_ABORTED] = "aborted"};
    return states[f->state < 0 || f->state > 2 ? 0 : f->state];
}

static int print_ranks(FILE *out, const struct nf_tables *t, const struct ranks *r) {
    fputs(NL_PROFILE_RANKS_HEADER, out);
    for (int i = 0; i < r->n; i++) {
        const struct nf_file *f = r->files[i];
        if (!f) continue;
        double bound_ns =
            f->at_end.bound_ns > f->at_start.bound_ns ? f->at_end.bound_ns : f->at_start.bound_ns;
        nl_put_profile_ranks(out, t->launch, i, threads_of(f), state_of(f), bound_ns,
                             global_ns(f, f->started_ns) - r->origin_ns, f);
    }
    return 0;
}

static int print_arrivals(FILE *out, const struct nf_tables *t, const struct ranks *r) {
    fputs(NL_PROFILE_ARRIVALS_HEADER, out);
    for (int i = 0; i < r->n; i++) {
        const struct nf_file *f = r->files[i];
        for (uint32_t k = 0; f && k < f->n_samples; k++) {
            const struct nf_sample *s = &f->samples[k];
            int n_ranks = 0;
            for (uint32_t c = 0; c < f->n_communicators; c++)
                if (f->communicators[c].id == s->communicator) n_ranks = f->communicators[c].n_ranks;
            nl_put_profile_arrivals(
                out, t->launch, i, f->names[s->operation], n_ranks, global_ns(f, s->since_ns) - r->origin_ns,
                global_ns(f, s->arrived_ns) - r->origin_ns, global_ns(f, s->left_ns) - r->origin_ns, f, s);
        }
    }
    return 0;
}

typedef int table_printer(FILE *out, const struct nf_tables *t, const struct ranks *r); /* 0, -1: no memory */

static int write_one(const struct nf_tables *t, const struct ranks *r, const char *name,
                     table_printer *print) {
    char path[PATH_BYTES];
    struct nl_whole whole = {.f = NULL};
    snprintf(path, sizeof path, "%s/%s.csv", t->folder, name);
    if (nl_whole_open(&whole, path, 0666) || nl_whole_close(&whole, print(whole.f, t, r)))
        return nl_error("'%s' cannot be written: %s", path, strerror(errno));
    return 0;
}

static void sum_up(struct nf_tables *t, const struct ranks *r) {
    t->n_expected = r->n;
    for (int i = 0; i < r->n; i++) {
        const struct nf_file *f = r->files[i];
        if (!f) continue;
        if (!t->n_ranks++) {
            t->n_nodes = f->n_nodes;
            snprintf(t->library, sizeof t->library, "%s", f->library);
            snprintf(t->program, sizeof t->program, "%s", f->program);
        }
        t->n_unfinished += f->state != NF_FINALIZED;
    }
}

int nf_tables_write(struct nf_tables *t) {
    static const struct {
        const char *name;
        table_printer *print;
    } tables[] = {{"operations", print_operations}, {"ranks", print_ranks}, {"arrivals", print_arrivals}};
    struct ranks r = {.files = NULL};
    int failed = nf_each_file(t->folder, "profile", take_file, &r);
    if (!failed) sum_up(t, &r);
    find_origin(&r);
    for (size_t i = 0; !failed && t->n_ranks && i < sizeof tables / sizeof *tables; i++)
        failed = write_one(t, &r, tables[i].name, tables[i].print);
    for (int i = 0; i < r.n; i++)
        if (r.files[i]) munmap(r.files[i], sizeof *r.files[i]);
    free(r.files);
    return failed ? -1 : 0;
}

static int remove_file(const char *path, void *context) {
    (void)context;
    unlink(path);
    return 0;
}

void nf_tidy(const char *folder, const char *end) { nf_each_file(folder, end, remove_file, NULL); }
