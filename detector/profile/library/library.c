/* Begin and end of the profile of one rank: MPI_Init, MPI_Finalize, MPI_Abort, and the file. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "common/base/nl_error.h"
#include "detector/nodes/launcher.h"
#include "detector/nodes/team.h"
#include "detector/profile/library/count.h"
#include "detector/profile/library/counters.h"
#include "detector/sync/sync.h"

struct nf_process nf_process;
__thread struct nf_thread nf_thread;

static struct {
    struct nf_file *file;
    struct nd_team team;
    struct nd_sync sync;
    int is_synchronised;
} run;

/* ---- before MPI ---- */

#if defined(OPEN_MPI)
#define BUILT_WITH "Open MPI"
#else
#define BUILT_WITH "MPICH"
#endif

static const char *folder(void) { return getenv(NF_ENVIRONMENT); }

static void name_of_program(char *name, size_t size) {
    ssize_t n = readlink("/proc/self/exe", name, size - 1);
    name[n > 0 ? n : 0] = '\0';
}

/* Whether the program or a library of it was linked with an MPI library. What an interpreter loads later is
 * not seen. */
static int look_for_mpi(struct dl_phdr_info *object, size_t size, void *found) {
    (void)size;
    /* libraries of MPI need each other, and so does this one */
    if (strstr(object->dlpi_name, "libmpi") || strstr(object->dlpi_name, "libnoiselab") ||
        strstr(object->dlpi_name, "libopen-"))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *dynamic = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        const char *strings = NULL;
        for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_STRTAB) strings = (const char *)d->d_un.d_ptr;
        for (const ElfW(Dyn) *d = dynamic; strings && d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_NEEDED && !strncmp(strings + d->d_un.d_val, "libmpi", 6)) *(int *)found = 1;
    }
    return 0;
}

/* What is known of a rank that has no profile, from the least that tells to the most. */
static const char *const note_words[] = {"started", "no-mpi", "loaded", "by-handle", "lone", "other-library"};
enum { N_NOTE_WORDS = sizeof note_words / sizeof *note_words };

/* The place of a word in the list; of the note in that file, -1 where there is none. */
static int weight_of(const char *word) {
    int i = N_NOTE_WORDS - 1;
    while (i >= 0 && strcmp(note_words[i], word) != 0)
        i--;
    return i;
}

static int weight_of_note(const char *path) {
    char text[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\t")] = '\0';
    return weight_of(text);
}

/* Leaves a note for noiselab profile: a line "WORD PROGRAM DETAIL". Where no rank comes to MPI_Init it says
 * why. A rank may be several processes, a shell and what it runs: of them the one counts that came nearest to
 * MPI, and of equals the one that began last. */
static void leave_note(const char *word, const char *detail) {
    struct nd_launcher launcher;
    char path[4096], program[256], line[640];
    nd_launcher_read(&launcher);
    if (!folder() ||
        snprintf(path, sizeof path, "%s/rank.%d.note", folder(), launcher.rank) >= (int)sizeof path)
        return;
    int before = weight_of_note(path), now = weight_of(word);
    if (now == 0 ? before > weight_of("no-mpi") : before >= now) return;
    name_of_program(program, sizeof program);
    int n = snprintf(line, sizeof line, "%s\t%s\t%.256s\n", word, program, detail);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return;
    if (write(fd, line, (size_t)n) != n) unlink(path);
    close(fd);
}

__attribute__((constructor)) static void begin(void) {
    int has_mpi = 0;
    if (!folder()) return;
    dl_iterate_phdr(look_for_mpi, &has_mpi);
    leave_note(has_mpi ? "loaded" : "started", "-");
}

/* What an interpreter loads later is known at its end. Symbols that it looks up in the library itself (dlsym)
 * are not ours. */
__attribute__((destructor)) static void judge(void) {
    int has_mpi = 0, was_begun = 0;
    if (!folder() || run.file) return;
    dl_iterate_phdr(look_for_mpi, &has_mpi);
    PMPI_Initialized(&was_begun);
    leave_note(was_begun ? "by-handle" : has_mpi ? "loaded" : "no-mpi", "-");
}

void *nf_next(const char *name) {
    void *next = dlsym(RTLD_NEXT, name);
    if (!next) {
        nl_error("libnoiselab-profile: this MPI library has no %s", name);
        abort();
    }
    return next;
}

/* ---- the file ---- */

static int is_our_library(char *version, size_t size) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0;
    PMPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = '\0';
    snprintf(version, size, "%.120s", text);
    return strstr(text, BUILT_WITH) != NULL;
}

static struct nf_file *map_file(int rank) {
    char path[4096];
    if (mkdir(folder(), 0777) && errno != EEXIST) return NULL;
    if (snprintf(path, sizeof path, "%s/rank.%d.profile", folder(), rank) >= (int)sizeof path) return NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return NULL;
    struct nf_file *file = NULL;
    /* blocks are taken now: a full disk later would be a signal in the middle of the program */
    errno = posix_fallocate(fd, 0, sizeof *file);
    if (!errno) file = mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return file == MAP_FAILED ? NULL : file;
}

static struct nf_clock_model model_of(const struct nd_sync *s) {
    return (struct nf_clock_model){.at_ns = s->model.at_ns,
                                   .offset_ns = s->model.offset_ns,
                                   .drift = s->model.drift,
                                   .bound_ns = s->report.bound_ns};
}

static void fill_file(struct nf_file *f, const char *version) {
    const struct nd_team *t = &run.team;
    f->file_bytes = sizeof *f;
    f->row_bytes = sizeof(struct nf_row);
    f->rank = t->rank;
    f->n_ranks = t->n_ranks;
    f->node = t->node_index;
    f->n_nodes = t->n_nodes;
    f->pid = getpid();
    f->tid = gettid();
    PMPI_Query_thread(&f->thread_level);
    gethostname(f->host, sizeof f->host - 1);
    snprintf(f->clock, sizeof f->clock, "%s", nf_process.clock.kind->name);
    snprintf(f->library, sizeof f->library, "%s", version);
    name_of_program(f->program, sizeof f->program);
    for (int i = 0; i < nf_n_calls && i < NF_MAX_NAMES; i++)
        snprintf(f->names[i], NF_NAME_BYTES, "%s", nf_names[i]);
    for (int i = 0; i < nf_n_calls && i < NF_MAX_NAMES; i++)
        f->classes[i] = nf_classes[i];
    f->at_start = model_of(&run.sync);
    f->started_ns = f->last_ns = nd_clock_now(&nf_process.clock);
}

/* ---- with MPI ---- */

/* The ranks agree on a clock: the counter where all may use it. */
static void open_clock(void) {
    char reason[256];
    int is_counter = 0, all = 0;
    if (!nd_clock_open(&nf_process.clock, NULL, reason, sizeof reason))
        is_counter = nf_process.clock.kind->read == ND_READ_COUNTER;
    PMPI_Allreduce(&is_counter, &all, 1, MPI_INT, MPI_MIN, run.team.world);
    if (!all)
        nd_clock_open(&nf_process.clock, nl_find(nd_clock_kinds, "monotonic-raw"), reason, sizeof reason);
    nd_clock_share(&nf_process.clock, run.team.node);
}

/* After MPI_Init. Collective over the world: every rank has the library, or none. */
static void start(void) {
    const struct nd_sync_options options = {0};
    struct nd_launcher launcher;
    char version[128], said[ND_LONE_BYTES];
    int n_ranks;
    MPI_Comm parent;
    if (!folder() || run.file) return;
    nl_set_program("libnoiselab-profile");
    if (!is_our_library(version, sizeof version)) {
        leave_note("other-library", version);
        return;
    }
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return; /* spawned programs have ranks of their own */
    nd_launcher_read(&launcher);
    PMPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (nd_launcher_is_lone(&launcher, n_ranks, said)) {
        leave_note("lone", said);
        return;
    }
    nd_team_open(&run.team);
    open_clock();
    run.is_synchronised =
        !nd_sync_open(&run.sync, &options, &nf_process.clock, &run.team) && !nd_sync_run(&run.sync);
    run.file = map_file(run.team.rank);
    if (!run.file) {
        nl_error("rank %d is not profiled: no file in '%s' (%s)", run.team.rank, folder(), strerror(errno));
        return;
    }
    nf_counters_begin();
    fill_file(run.file, version);
    nf_process.needs_lock = run.file->thread_level == MPI_THREAD_MULTIPLE;
    nf_process.file = run.file;
    nf_count_open();
    /* who follows the program waits for it */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(run.file->magic, NF_MAGIC, sizeof run.file->magic);
}

/* Before MPI_Finalize, which is collective, too. */
static void end(void) {
    if (!nf_process.clock.kind) return;
    struct nf_file *file = nf_process.file;
    nf_process.file = NULL;
    if (file) nf_counters_end(&file->counters);
    int is_good = run.is_synchronised && !nd_sync_run(&run.sync);
    if (file) {
        file->at_end = is_good ? model_of(&run.sync) : file->at_start;
        file->last_ns = nd_clock_now(&nf_process.clock);
        __atomic_store_n(&file->state, NF_FINALIZED, __ATOMIC_RELEASE);
    }
    nd_sync_close(&run.sync);
    nd_team_close(&run.team);
    nf_process.clock.kind = NULL;
}

static void aborts(void) {
    if (!run.file) return;
    nf_counters_end(&run.file->counters);
    run.file->state = NF_ABORTED;
    run.file->last_ns = nd_clock_now(&nf_process.clock);
}

/* Entry points in the three languages. In Fortran MPI is reached by the name that the program called: only
 * that library knows what else it does. What MPI does within is not counted. */
#define FORTRAN(name, ...) FORTRAN_BY(name##_, __VA_ARGS__) FORTRAN_BY(name##_f08_, __VA_ARGS__)
#define FORTRAN_BY(name, declared, given, before, after)                                                     \
    NF_EXPORT void name declared;                                                                            \
    NF_EXPORT void name declared {                                                                           \
        static void(*next) declared;                                                                         \
        if (!next) *(void **)&next = nf_next(#name);                                                         \
        before;                                                                                              \
        nf_thread.is_inside = 1;                                                                             \
        next given;                                                                                          \
        nf_thread.is_inside = 0;                                                                             \
        after;                                                                                               \
    }

NF_EXPORT int MPI_Init(int *argc, char ***argv) {
    int error = PMPI_Init(argc, argv);
    if (error == MPI_SUCCESS) start();
    return error;
}
FORTRAN(mpi_init, (MPI_Fint * error), (error), , start())

NF_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int error = PMPI_Init_thread(argc, argv, required, provided);
    if (error == MPI_SUCCESS) start();
    return error;
}
FORTRAN(mpi_init_thread, (void *required, void *provided, MPI_Fint *error), (required, provided, error), ,
        start())

NF_EXPORT int MPI_Finalize(void) {
    end();
    return PMPI_Finalize();
}
FORTRAN(mpi_finalize, (MPI_Fint * error), (error), end(), )

NF_EXPORT int MPI_Abort(MPI_Comm comm, int code) {
    aborts();
    return PMPI_Abort(comm, code);
}
FORTRAN(mpi_abort, (void *comm, MPI_Fint *code, MPI_Fint *error), (comm, code, error), aborts(), )

NF_EXPORT int MPI_Comm_free(MPI_Comm *comm) {
    nf_comm_free(*comm);
    return PMPI_Comm_free(comm);
}
FORTRAN(mpi_comm_free, (MPI_Fint * comm, MPI_Fint *error), (comm, error),
        nf_comm_free(PMPI_Comm_f2c(*comm)), )

NF_EXPORT int MPI_Comm_disconnect(MPI_Comm *comm) {
    nf_comm_free(*comm);
    return PMPI_Comm_disconnect(comm);
}
FORTRAN(mpi_comm_disconnect, (MPI_Fint * comm, MPI_Fint *error), (comm, error),
        nf_comm_free(PMPI_Comm_f2c(*comm)), )
