#include "detector/sync/clocks.h"
#include "common/base/nl_units.h"

/* Length of each of the two calibrations of the counter. */
static const int64_t calibration_ns = 25000000;
/* Beyond this the counter and the kernel's clock do not run together, whatever the cause; a quiet machine
 * reaches some ppm. */
static const double max_error_ppm = 100;

/* The rate against CLOCK_MONOTONIC_RAW, which NTP does not slew, and its error, from two calibrations. 0, -1:
 * it cannot be trusted. */
static int calibrate_once(struct nd_clock *c) {
    struct nl_counter_pair p[3];
    uint64_t width = 0;
    for (int i = 0; i < 3; i++) {
        while (i > 0 && nl_now_ns(CLOCK_MONOTONIC_RAW) - p[i - 1].ns < calibration_ns) {}
        p[i] = nl_counter_pair(CLOCK_MONOTONIC_RAW);
        if (i > 0 && p[i].counter <= p[i - 1].counter) return -1;
        if (p[i].width > width) width = p[i].width;
    }
    double first = (double)(p[1].ns - p[0].ns) / (double)(p[1].counter - p[0].counter);
    double second = (double)(p[2].ns - p[1].ns) / (double)(p[2].counter - p[1].counter);
    double both = (double)(p[2].ns - p[0].ns) / (double)(p[2].counter - p[0].counter);
    /* half the width at both ends, and the tick in which the counter was read */
    double resolution = (double)(width + 1) * both / (double)calibration_ns;
    c->error_ppm = 1e6 * fmax(fabs(first / second - 1), resolution);
    c->origin = p[2].counter;
    c->origin_ns = p[2].ns;
    c->mult = (uint64_t)llround(both * 4294967296.0);
    return c->error_ppm <= max_error_ppm ? 0 : -1;
}

static int open_tsc(struct nd_clock *c, char *reason, size_t reason_size) {
    if (nl_counter_check(reason, reason_size)) return -1;
    /* twice: the first may have been disturbed for as long as it took, on a machine shared with others */
    if (calibrate_once(c) == 0 || calibrate_once(c) == 0) return 0;
    return nl_say(
        reason, reason_size,
        "its rate against CLOCK_MONOTONIC_RAW is not known to %g ppm: two calibrations of %d ms differ",
        max_error_ppm, (int)(calibration_ns / 1000000));
}

static int open_wtime(struct nd_clock *c, char *reason, size_t reason_size) {
    int is_on = 0, is_over = 0;
    (void)c;
    MPI_Initialized(&is_on);
    MPI_Finalized(&is_over);
    if (is_on && !is_over) return 0;
    return nl_say(reason, reason_size, "MPI is not initialised");
}

/* Open MPI subtracts an origin of its own from MPI_Wtime in each process, so even two ranks of a node do not
 * agree. */
static const struct nd_clock_kind kinds[] = {
    {"tsc",
     "the processor's tick counter (on ARM the virtual counter), calibrated against CLOCK_MONOTONIC_RAW",
     ND_READ_COUNTER, .open = open_tsc},
    {"monotonic-raw", "CLOCK_MONOTONIC_RAW: the kernel's clock at the hardware's own rate", ND_READ_KERNEL,
     .id = CLOCK_MONOTONIC_RAW},
    {"monotonic", "CLOCK_MONOTONIC: the kernel's clock, whose rate NTP steers", ND_READ_KERNEL,
     .id = CLOCK_MONOTONIC},
    {"mpi-wtime", "MPI_Wtime; its zero may differ from rank to rank, so every rank is synchronised",
     ND_READ_WTIME, .is_per_process = 1, .open = open_wtime},
    {"gettimeofday", "the time of day, in us; NTP and the administrator may set it",
     .read = ND_READ_TIMEOFDAY},
};

const struct nd_clock_kind *const nd_clock_kinds[] = {&kinds[0], &kinds[1], &kinds[2],
                                                      &kinds[3], &kinds[4], NULL};

struct examination {
    int64_t n_readings, n_backwards;
    int64_t smallest_step_ns; /* between two different readings; INT64_MAX: none differed */
    int64_t worst_step_ns;    /* most negative one, or 0 */
};

static inline void examine_step(struct examination *e, int64_t step_ns) {
    e->n_readings++;
    e->n_backwards += step_ns < 0;
    if (step_ns > 0 && step_ns < e->smallest_step_ns) e->smallest_step_ns = step_ns;
    if (step_ns < e->worst_step_ns) e->worst_step_ns = step_ns;
}

/* In ten batches. Cost of a reading, ns: the mean of the least disturbed batch. */
static double examine_readings(const struct nd_clock *c, struct examination *e) {
    enum { BATCHES = 10, READINGS = 10000 };
    double cost_ns = INFINITY;
    int64_t last = nd_clock_true_now(c);
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t start = nl_now_ns(CLOCK_MONOTONIC_RAW);
        for (int i = 0; i < READINGS; i++) {
            int64_t now = nd_clock_true_now(c);
            examine_step(e, now - last);
            last = now;
        }
        cost_ns = fmin(cost_ns, (double)(nl_now_ns(CLOCK_MONOTONIC_RAW) - start) / READINGS);
    }
    return cost_ns;
}

/* Before and after many moves to the next CPU: finds counters of CPUs that differ by more than a move takes.
 */
static void examine_migration(const struct nd_clock *c, struct examination *e) {
    enum { MAX_CPUS = 8192, MAX_MOVES = 4096 }; /* sched_getaffinity wants a mask as wide as the kernel's */
    static const int64_t budget_ns = 20000000;
    cpu_set_t allowed[MAX_CPUS / CPU_SETSIZE], one[MAX_CPUS / CPU_SETSIZE];
    CPU_ZERO_S(sizeof allowed, allowed);
    if (sched_getaffinity(0, sizeof allowed, allowed) || CPU_COUNT_S(sizeof allowed, allowed) < 2) return;
    /* from where it is: ranks that do this at once do not all meet on one CPU */
    int cpu = sched_getcpu();
    int64_t end = nl_now_ns(CLOCK_MONOTONIC_RAW) + budget_ns;
    for (int i = 0; i < MAX_MOVES && nl_now_ns(CLOCK_MONOTONIC_RAW) < end; i++) {
        do
            cpu = (cpu + 1) % MAX_CPUS;
        while (!CPU_ISSET_S((size_t)cpu, sizeof allowed, allowed));
        CPU_ZERO_S(sizeof one, one);
        CPU_SET_S((size_t)cpu, sizeof one, one);
        int64_t before = nd_clock_true_now(c);
        if (sched_setaffinity(0, sizeof one, one)) continue; /* taken away meanwhile */
        examine_step(e, nd_clock_true_now(c) - before);
    }
    sched_setaffinity(0, sizeof allowed, allowed);
}

static int examine(struct nd_clock *c, char *reason, size_t reason_size) {
    struct examination e = {.smallest_step_ns = INT64_MAX};
    c->read_ns = examine_readings(c, &e);
    examine_migration(c, &e);
    c->n_backwards = e.n_backwards;
    if (e.n_backwards)
        return nl_say(reason, reason_size, "it ran backwards in %lld of %lld readings, by up to %lld ns",
                      (long long)e.n_backwards, (long long)e.n_readings, (long long)-e.worst_step_ns);
    if (e.smallest_step_ns == INT64_MAX)
        return nl_say(reason, reason_size, "it stood still over %lld readings", (long long)e.n_readings);
    c->resolution_ns = (double)e.smallest_step_ns;
    return 0;
}

static int open_kind(struct nd_clock *c, const struct nd_clock_kind *kind, char *reason, size_t reason_size) {
    *c = (struct nd_clock){.kind = kind, .read = kind->read, .id = kind->id};
    nl_clocksource(c->source, sizeof c->source);
    c->is_slow_source = !nl_clocksource_is_counter(c->source);
    if (kind->open && kind->open(c, reason, reason_size)) return -1;
    return examine(c, reason, reason_size);
}

int nd_clock_open(struct nd_clock *c, const struct nd_clock_kind *kind, char *reason, size_t reason_size) {
    reason[0] = '\0';
    if (kind) return open_kind(c, kind, reason, reason_size);
    return open_kind(c, &kinds[0], reason, reason_size) ? open_kind(c, &kinds[1], reason, reason_size) : 0;
}

void nd_clock_share(struct nd_clock *c, MPI_Comm node) {
    struct {
        uint64_t origin, mult;
        int64_t origin_ns;
        double error_ppm;
    } first = {c->origin, c->mult, c->origin_ns, c->error_ppm};
    /* always, so that ranks of different clocks do not wait for each other for ever */
    MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, node);
    if (c->read != ND_READ_COUNTER || first.mult == 0) return;
    c->origin = first.origin;
    c->mult = first.mult;
    c->origin_ns = first.origin_ns;
    c->error_ppm = first.error_ppm;
}

int64_t nd_clock_fake(const struct nd_clock *c, int64_t true_ns) {
    double drift_ns = c->fake_drift * (double)(true_ns - c->fake_at_ns);
    int64_t wrong_ns =
        true_ns + c->fake_offset_ns + (int64_t)(drift_ns < 0 ? drift_ns - 0.5 : drift_ns + 0.5);
    return true_ns >= c->fake_jump_at_ns ? wrong_ns + c->fake_jump_ns : wrong_ns;
}

/* A duration that may be negative, `rank` times. */
static int parse_shift(const char *text, int rank, int64_t *out_ns) {
    static const int64_t limit_ns =
        INT64_C(1000000000000000000); /* 31 years: sums of a few of them, and the time, stay within 64 bits */
    int is_negative = text[0] == '-';
    int64_t ns;
    if (nl_parse_duration_or_zero(text + is_negative, &ns) || ns > limit_ns / (rank + 1)) return -1;
    *out_ns = (is_negative ? -ns : ns) * rank;
    return 0;
}

/* A drift such as 50ppm or -0.5ppm, `rank` times. */
static int parse_drift(const char *text, int rank, double *out) {
    char *end;
    *out = strtod(text, &end) / 1e6 * rank + 0; /* rank 0 drifts by 0, not by -0 */
    return end == text || strcmp(end, "ppm") != 0 || !(fabs(*out) < 0.5)
               ? -1
               : 0; /* it shall still look like a clock, and go forwards */
}

int nd_clock_parse_fake(const char *text, int rank, struct nd_clock *c) {
    char copy[128], *at = NULL;
    const char *parts[3];
    int64_t offset_ns, jump_ns = 0, after_ns = 0;
    double drift = 0;
    int n = snprintf(copy, sizeof copy, "%s", text) < (int)sizeof copy ? nl_split(copy, parts, 3) : -1;
    if (n < 1 || parse_shift(parts[0], rank, &offset_ns) || (n > 1 && parse_drift(parts[1], rank, &drift)))
        return -1;
    if (n > 2 && !(at = strchr(copy + (parts[2] - copy), '@'))) return -1;
    if (at) *at++ = '\0';
    if (at && (parse_shift(parts[2], rank, &jump_ns) || nl_parse_duration_or_zero(at, &after_ns))) return -1;
    c->is_fake = 1;
    c->fake_offset_ns = offset_ns;
    c->fake_drift = drift;
    c->fake_jump_ns = jump_ns;
    c->fake_at_ns = nd_clock_true_now(c);
    c->fake_jump_at_ns = c->fake_at_ns + after_ns;
    return 0;
}

json_t *nd_clock_json(const struct nd_clock *c) {
    json_t *error_ppm = c->read == ND_READ_COUNTER ? json_real(c->error_ppm) : json_null();
    json_t *fake = json_null();
    if (c->is_fake)
        fake = json_pack("{s:I, s:f, s:I}", "offset_ns", (json_int_t)c->fake_offset_ns, "drift_ppm",
                         c->fake_drift * 1e6, "jump_ns", (json_int_t)c->fake_jump_ns);
    return json_pack("{s:s, s:s, s:f, s:f, s:I, s:o, s:o}", "name", c->kind->name, "source", c->source,
                     "resolution_ns", c->resolution_ns, "read_ns", c->read_ns, "backwards",
                     (json_int_t)c->n_backwards, "error_ppm", error_ppm, "fake", fake);
}
