#include "detector/program/program.h"
#include "common/base/nl_units.h"

#define OPEN_NS        INT64_C(60000000000) /* a program may take its time to MPI_Init */
#define WATCH_NS       INT64_C(20000000000) /* how long a beat is looked for */
#define LEAST_WATCH_NS INT64_C(2000000000)
#define LOOK_NS        INT64_C(100000000) /* between two looks */
#define NAP_NS         INT64_C(200000)    /* shortest sleep while a stretch ends */
enum { MOST_LOOKS = WATCH_NS / LOOK_NS + 1, ENOUGH_CALLS = 5 /* in a window */, LEAST_CALLS = 20 };

struct nd_program {
    struct nf_file *file;
    uint64_t (*looks)[NF_MAX_ROWS]; /* while a beat is looked for: calls of each row, look by look */
};

static int is_whole(const struct nf_file *f) {
    return f->file_bytes == sizeof *f && f->row_bytes == sizeof(struct nf_row) && f->pid > 0 && f->tid > 0 &&
           memchr(f->host, 0, sizeof f->host) && memchr(f->program, 0, sizeof f->program);
}

/* NULL: not there yet, or another version's. What it lies about costs a wrong measurement, never memory. */
static struct nf_file *map(const char *path) {
    struct stat about;
    struct nf_file *f = MAP_FAILED;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return NULL;
    if (!fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_size == (off_t)sizeof *f)
        f = mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (f == MAP_FAILED) return NULL;
    if (!memcmp(f->magic, NF_MAGIC, sizeof f->magic) && is_whole(f)) return f;
    munmap(f, sizeof *f);
    return NULL;
}

static int check(const struct nf_file *f, int rank, int n_ranks, char *reason, size_t size) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    if (f->rank != rank || f->n_ranks != n_ranks)
        snprintf(reason, size, "rank %d of %d follows rank %d of %d: start as many ranks as the program has",
                 rank, n_ranks, f->rank, f->n_ranks);
    else if (strcmp(f->host, host) != 0)
        snprintf(reason, size,
                 "rank %d of the program is on %.60s and its follower on %.60s: give both launchers one list "
                 "of nodes",
                 rank, f->host, host);
    else
        return 0;
    return -1;
}

int nd_program_open(struct nd_program **program, const char *folder, int rank, int n_ranks,
                    const volatile int *stop_asked, char *reason, size_t size) {
    char path[4096];
    int64_t end_ns = nl_mono_ns() + OPEN_NS;
    struct nd_program *p = calloc(1, sizeof *p);
    *program = p;
    if (!p || snprintf(path, sizeof path, "%s/rank.%d.profile", folder, rank) >= (int)sizeof path)
        return nl_say(reason, size, "not enough memory");
    while (!(p->file = map(path)) && nl_mono_ns() < end_ns && !*stop_asked && !access(folder, F_OK))
        nl_sleep_ns(LOOK_NS);
    if (p->file) return check(p->file, rank, n_ranks, reason, size);
    return nl_say(reason, size, "no rank %d of a program in '%.200s' (see noiselab profile)", rank, folder);
}

void nd_program_close(struct nd_program *p) {
    if (!p) return;
    if (p->file) {
        p->file->beats.row = 0;
        munmap(p->file, sizeof *p->file);
    }
    NL_FREE(p->looks, p);
}

pid_t nd_program_pid(const struct nd_program *p) { return p->file->pid; }
pid_t nd_program_tid(const struct nd_program *p) { return p->file->tid; }
const char *nd_program_path(const struct nd_program *p) { return p->file->program; }

static int is_over(const struct nd_program *p) {
    return __atomic_load_n(&p->file->state, __ATOMIC_ACQUIRE) != NF_RUNNING ||
           (kill(p->file->pid, 0) && errno == ESRCH);
}

void nd_program_rest(const struct nd_program *p, int64_t ns) {
    int64_t end_ns = nl_mono_ns() + ns, left_ns;
    while ((left_ns = end_ns - nl_mono_ns()) > 0 && !is_over(p))
        nl_sleep_ns(left_ns < LOOK_NS ? left_ns : LOOK_NS);
}

int nd_beat_parse(const char *text, struct nd_beat *beat) {
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    int64_t bytes = 0;
    *beat = (struct nd_beat){.size_class = -1, .communicator = -1};
    if (n == 0 || n >= sizeof beat->operation || (colon && nl_parse_size(colon + 1, &bytes))) return -1;
    for (size_t i = 0; i < n; i++)
        beat->operation[i] = (char)tolower((unsigned char)text[i]);
    if (colon) beat->size_class = bytes <= 0 ? 0 : 64 - __builtin_clzll((uint64_t)bytes);
    return 0;
}

char *nd_beat_tell(const struct nd_beat *beat, char *text, size_t size) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int power = beat->size_class - 1;
    if (power < 0)
        snprintf(text, size, "%s", beat->operation);
    else
        snprintf(text, size, "%s %d %s", beat->operation, 1 << (power < 40 ? power % 10 : 9),
                 units[power < 40 ? power / 10 : 3]);
    return text;
}

static const char *name_of(const struct nf_file *f, const struct nf_row *row) {
    return row->operation < NF_MAX_NAMES ? f->names[row->operation] : "";
}

static int is_polling(const char *name) {
    return strstr(name, "test") == name || strstr(name, "probe") != NULL;
}

static uint32_t n_rows(const struct nf_file *f) {
    uint32_t n = __atomic_load_n(&f->n_rows, __ATOMIC_ACQUIRE);
    return n < NF_MAX_ROWS ? n : NF_MAX_ROWS;
}

/* The row that repeats most regularly in the windows up to the last of n looks; -1: none. */
static int choose(const struct nd_program *p, int n_looks, int64_t *n_calls) {
    static struct nd_beat_counts counts[NF_MAX_ROWS];
    const struct nf_file *f = p->file;
    int n = (int)n_rows(f), per_window = (n_looks - 1) / ND_BEAT_WINDOWS,
        first = n_looks - 1 - per_window * ND_BEAT_WINDOWS;
    for (int i = 0; i < n; i++) {
        const char *name = name_of(f, &f->rows[i]);
        counts[i] =
            (struct nd_beat_counts){.is_polling = is_polling(name),
                                    .is_synchronising = f->rows[i].operation < NF_MAX_NAMES &&
                                                        f->classes[f->rows[i].operation] == NF_SYNCHRONISING};
        for (int w = 0; w < ND_BEAT_WINDOWS; w++)
            counts[i].n[w] =
                (int64_t)(p->looks[first + (w + 1) * per_window][i] - p->looks[first + w * per_window][i]);
    }
    int best = nd_beats_choose(counts, n);
    *n_calls = best < 0 ? 0 : (int64_t)(p->looks[n_looks - 1][best] - p->looks[first][best]);
    return best;
}

static void look(struct nd_program *p, int at) {
    for (uint32_t i = 0; i < NF_MAX_ROWS; i++)
        p->looks[at][i] = i < n_rows(p->file) ? p->file->rows[i].n_calls : 0;
}

int nd_program_find_beat(struct nd_program *p, const volatile int *stop_asked, struct nd_beat *beat,
                         char *reason, size_t size) {
    int64_t n_calls = 0;
    int row = -1;
    p->looks = calloc(MOST_LOOKS, sizeof *p->looks);
    if (!p->looks) return nl_say(reason, size, "not enough memory");
    for (int at = 0; at < MOST_LOOKS && !*stop_asked && !is_over(p); at++) {
        look(p, at);
        if (at * LOOK_NS >= LEAST_WATCH_NS) row = choose(p, at + 1, &n_calls);
        if (row >= 0 && n_calls >= ENOUGH_CALLS * ND_BEAT_WINDOWS) break;
        nl_sleep_ns(LOOK_NS);
    }
    free(p->looks);
    p->looks = NULL;
    if (row < 0 || n_calls < LEAST_CALLS)
        return nl_say(reason, size, "%s",
                      is_over(p)
                          ? "the program ended before a call of it had repeated often enough"
                          : "in 20 s no MPI call of the program repeated 20 times: it has no beat to time "
                            "(say one with --beat, or compare whole runs)");
    const struct nf_row *chosen = &p->file->rows[row];
    *beat = (struct nd_beat){.size_class = chosen->size_class, .communicator = chosen->communicator};
    snprintf(beat->operation, sizeof beat->operation, "%.*s", NF_NAME_BYTES - 1, name_of(p->file, chosen));
    return 0;
}

/* How much of the beat's name a row has; 0: another operation. */
static int likeness(const struct nf_file *f, const struct nf_row *row, const struct nd_beat *beat) {
    if (strncmp(name_of(f, row), beat->operation, NF_NAME_BYTES) != 0) return 0;
    return 1 + 2 * (beat->size_class < 0 || row->size_class == beat->size_class) +
           (beat->communicator < 0 || row->communicator == beat->communicator);
}

static int find_row(const struct nf_file *f, const struct nd_beat *beat) {
    int best = -1, most = 0;
    for (int i = 0; i < (int)n_rows(f); i++) {
        int like = likeness(f, &f->rows[i], beat);
        if (like > most || (like > 0 && like == most && f->rows[i].n_calls > f->rows[best].n_calls)) {
            most = like;
            best = i;
        }
    }
    return best;
}

/* Not the oldest of those that are kept, in whose place new ones are written. Returns their number. */
static int last_beats(const struct nf_beats *b, int64_t at_ns[NF_MAX_BEATS]) {
    uint64_t n = __atomic_load_n(&b->n, __ATOMIC_ACQUIRE);
    int k = n < NF_MAX_BEATS / 2 ? (int)n : NF_MAX_BEATS / 2;
    for (int i = 0; i < k; i++)
        at_ns[i] = b->at_ns[(n - (uint64_t)(k - 1 - i)) % NF_MAX_BEATS];
    return k;
}

int nd_program_take_beat(struct nd_program *p, const volatile int *stop_asked, struct nd_beat *beat,
                         char *reason, size_t size) {
    static int64_t at_ns[NF_MAX_BEATS];
    struct nf_beats *b = &p->file->beats;
    char name[64];
    int64_t begin_ns = nl_mono_ns(), waited_ns = 0, first_ns = 0;
    uint64_t first = 0, last = 0;
    int row = -1, n = 0;
    b->n = 0;
    b->asked = b->done;
    while (waited_ns < WATCH_NS && !*stop_asked && !is_over(p)) {
        /* one that was named by the user may come first only now */
        if (row < 0 && (row = find_row(p->file, beat)) >= 0)
            __atomic_store_n(&b->row, (uint32_t)row + 1, __ATOMIC_RELEASE);
        last = __atomic_load_n(&b->n, __ATOMIC_ACQUIRE);
        if (first == 0 && last > 0) {
            first = last;
            first_ns = b->at_ns[first % NF_MAX_BEATS];
        }
        if (waited_ns >= LEAST_WATCH_NS && last >= 2 * LEAST_CALLS) break;
        nl_sleep_ns(LOOK_NS);
        waited_ns = nl_mono_ns() - begin_ns;
    }
    n = last_beats(b, at_ns);
    if (n < LEAST_CALLS / 2)
        return nl_say(reason, size, "of the beat '%s' there were %d in %.3g s: too few to time",
                      nd_beat_tell(beat, name, sizeof name), n, (double)waited_ns * 1e-9);
    beat->period = nd_beats_period(at_ns, n);
    last = b->n;
    beat->beat_ns =
        last > first ? (at_ns[n - 1] - first_ns) / (int64_t)(last - first) : at_ns[n - 1] - at_ns[n - 2];
    if (beat->beat_ns < 1) beat->beat_ns = 1;
    beat->median_ns = nd_beats_median_ns(at_ns, n);
    return 0;
}

/* Sleeps until `number` is the one that was asked for: nearly all of the time at once, and then in small
 * parts of it. */
static enum nd_follow_end wait_for(const struct nd_program *p, const uint32_t *number, int64_t expected_ns,
                                   const volatile int *stop_asked) {
    int64_t begin_ns = nl_mono_ns();
    while (__atomic_load_n(number, __ATOMIC_ACQUIRE) != p->file->beats.asked) {
        if (*stop_asked) return ND_FOLLOW_STOPPED;
        if (is_over(p)) return ND_FOLLOW_OVER;
        int64_t passed_ns = nl_mono_ns() - begin_ns, left_ns = expected_ns - passed_ns - expected_ns / 50;
        if (left_ns < expected_ns / 100) left_ns = expected_ns / 100;
        if (left_ns < NAP_NS) left_ns = NAP_NS;
        nl_sleep_ns(left_ns < LOOK_NS ? left_ns : LOOK_NS);
    }
    return ND_FOLLOW_DONE;
}

void nd_program_begin(struct nd_program *p, int64_t n_beats, int64_t beat_ns,
                      const volatile int *stop_asked) {
    struct nf_beats *b = &p->file->beats;
    b->n_wanted = (uint64_t)n_beats;
    __atomic_store_n(&b->asked, b->done + 1, __ATOMIC_RELEASE);
    wait_for(p, &b->begun, beat_ns, stop_asked);
}

enum nd_follow_end nd_program_finish(struct nd_program *p, int64_t expected_ns,
                                     const volatile int *stop_asked, struct nd_stretch *s) {
    struct nf_beats *b = &p->file->beats;
    enum nd_follow_end end = wait_for(p, &b->done, expected_ns, stop_asked);
    *s = (struct nd_stretch){.n_beats = 0};
    if (end != ND_FOLLOW_DONE) return end;
    const struct nf_mark first = b->first, last = b->last;
    *s = (struct nd_stretch){.n_beats = (int64_t)(last.beat - first.beat),
                             .start_ns = first.mono_ns,
                             .wall_ns = last.wall_ns - first.wall_ns,
                             .cpu_ns = last.cpu_ns - first.cpu_ns,
                             .waited_ns = last.waited_ns - first.waited_ns,
                             .n_involuntary = last.involuntary - first.involuntary,
                             .n_voluntary = last.voluntary - first.voluntary,
                             .sees_waits = p->file->can_see_waits != 0};
    return end;
}

#define LITTLE_MORE 1.5  /* times the least scatter */
#define REPEATS     0.3  /* autocorrelation from which on beats repeat */
#define AS_GOOD     0.95 /* a shorter period is taken where it explains so much of what the best one does */

/* Relative scatter of the counts; INFINITY for what is no beat. */
static double scatter(const struct nd_beat_counts *row) {
    double sum = 0, squares = 0;
    int n_empty = 0;
    for (int i = 0; i < ND_BEAT_WINDOWS; i++) {
        sum += (double)row->n[i];
        n_empty += row->n[i] == 0;
    }
    if (row->is_polling || 2 * n_empty > ND_BEAT_WINDOWS) return INFINITY;
    double mean = sum / ND_BEAT_WINDOWS;
    for (int i = 0; i < ND_BEAT_WINDOWS; i++)
        squares += ((double)row->n[i] - mean) * ((double)row->n[i] - mean);
    return sqrt(squares / (ND_BEAT_WINDOWS - 1)) / mean + 0.5 / mean;
}

static int64_t total(const struct nd_beat_counts *row) {
    int64_t sum = 0;
    for (int i = 0; i < ND_BEAT_WINDOWS; i++)
        sum += row->n[i];
    return sum;
}

int nd_beats_choose(const struct nd_beat_counts *rows, int n_rows) {
    double least = INFINITY;
    int best = -1;
    for (int i = 0; i < n_rows; i++)
        least = fmin(least, scatter(&rows[i]));
    if (isinf(least)) return -1;
    for (int i = 0; i < n_rows; i++) {
        if (scatter(&rows[i]) > LITTLE_MORE * least) continue;
        if (best < 0 || rows[i].is_synchronising > rows[best].is_synchronising ||
            (rows[i].is_synchronising == rows[best].is_synchronising && total(&rows[i]) > total(&rows[best])))
            best = i;
    }
    return best;
}

NL_ORDER(by_size, int64_t)

int64_t nd_beats_median_ns(const int64_t *at_ns, int n) {
    if (n < 2) return 0;
    int64_t *gaps = malloc(sizeof *gaps * (size_t)(n - 1)), median = (at_ns[n - 1] - at_ns[0]) / (n - 1);
    if (!gaps) return median;
    for (int i = 1; i < n; i++)
        gaps[i - 1] = at_ns[i] - at_ns[i - 1];
    qsort(gaps, (size_t)(n - 1), sizeof *gaps, by_size);
    median = gaps[(n - 1) / 2];
    free(gaps);
    return median;
}

/* Without their mean; logarithms, so that one long delay is not all that they have in common. */
static double *distances(const int64_t *at_ns, int n) {
    double *d = malloc(sizeof *d * (size_t)(n - 1)), mean = 0;
    if (!d) return NULL;
    for (int i = 1; i < n; i++) {
        d[i - 1] = log((double)(at_ns[i] - at_ns[i - 1]) + 1);
        mean += d[i - 1] / (n - 1);
    }
    for (int i = 0; i < n - 1; i++)
        d[i] -= mean;
    return d;
}

static double autocorrelation(const double *d, int n, int lag) {
    double sum = 0, squares = 0;
    for (int i = 0; i + lag < n; i++)
        sum += d[i] * d[i + lag];
    for (int i = 0; i < n; i++)
        squares += d[i] * d[i];
    return squares > 0 ? sum / squares * n / (n - lag) : 0;
}

int64_t nd_beats_period(const int64_t *at_ns, int n) {
    enum { LEAST = 32, SHARE = 4 };
    if (n < LEAST) return 1;
    int most = (n - 1) / SHARE;
    double *d = distances(at_ns, n), *r = d ? calloc((size_t)most + 1, sizeof *r) : NULL, best = 0;
    int64_t period = 1;
    for (int lag = 1; r && lag <= most; lag++) {
        r[lag] = autocorrelation(d, n - 1, lag);
        best = fmax(best, r[lag]);
    }
    if (best >= REPEATS)
        for (period = 1; r[period] < AS_GOOD * best;)
            period++;
    NL_FREE(d, r);
    return period;
}
