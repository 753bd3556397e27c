#include "noisegen/top/spread.h"

#include "common/base/nl_rng.h"

enum {
    BLOCKS = 30,      /* of the record: two seconds of a minute */
    BINS = 56,        /* of losses, by factors of sqrt 2, from FIRST_NS on */
    MOST_DRAWS = 400, /* kept */
    TAIL = 6,         /* losses that say how much larger another one may be */
    FEWEST = 3,       /* of these */
    HALVINGS = 24,
    LANES = 8 /* bins that are added up at once */
};
_Static_assert(BINS % LANES == 0, "lanes are full");

#define FIRST_NS   500.0
#define ALPHA      0.05
#define NORMAL     1.96 /* standard errors to each side */
#define FEW_TAIL   0.5 /* where there are fewer: another one is larger by half, or more */
#define SURE       40.0 /* a chance of 1 - exp(-SURE) is 1 */
#define MOST_TIMES 16.0 /* windows count at most so many times as often as they are seen, to fit the walk */

struct nt_spread {
    double mass[BLOCKS][BINS]; /* of the record, ns: steps that begin here lose about that much */
    double all[BINS];          /* of all blocks */
    double edge_ns[BINS + 1];
    double base_ns, node_ns; /* the record on one node, ns by node: span / nodes */
    double times;            /* windows count so many times as often as they are seen; 0: not known yet */
    int top;                 /* the bin of the largest loss; -1: nothing is lost */
    double top_ns;           /* mass of one window of it */
    double longest_ns[TAIL]; /* losses, the largest first; 0: there are not so many */
    double tail;             /* mean of the logarithms by which they exceed the last of them */
    double value;            /* with all blocks once */
    int is_short;
    struct nl_rng random;
    double low[MOST_DRAWS], high[MOST_DRAWS]; /* as factors of it */
    int n_draws;
};

/* Two bins for each power of two. */
static int bin_of(double loss_ns) {
    int power;
    if (loss_ns < FIRST_NS) return 0;
    double rest = frexp(loss_ns / FIRST_NS, &power); /* from 0.5 on */
    int bin = 2 * power - 1 + (rest >= M_SQRT1_2);
    return bin < BINS ? bin : BINS - 1;
}

static void keep_longest(double longest_ns[TAIL], double loss_ns) {
    for (int i = 0; i < TAIL; i++) {
        double kept_ns = longest_ns[i];
        if (loss_ns <= kept_ns) continue;
        longest_ns[i] = loss_ns;
        loss_ns = kept_ns;
    }
}

static double tail_of(const double longest_ns[TAIL]) {
    int n = 0;
    double sum = 0;
    while (n < TAIL && longest_ns[n] > 0) n++;
    for (int i = 0; i + 1 < n; i++) sum += log(longest_ns[i] / longest_ns[n - 1]);
    return n >= FEWEST ? sum / (n - 1) : FEW_TAIL;
}

int nt_spread_open(struct nt_spread **spread, const struct nt_event *events, const struct nt_window *windows,
                   size_t n, int64_t span_ns, double base_ns, int n_nodes, int64_t every_ns, uint64_t seed) {
    struct nt_spread *s = *spread = calloc(1, sizeof *s);
    if (!s) return -1;
    nl_rng_init(&s->random, seed, 1);
    s->base_ns = base_ns;
    s->node_ns = (double)span_ns / n_nodes;
    s->is_short = (double)span_ns < -log(ALPHA / 2) * n_nodes * (double)every_ns;
    s->top = -1;
    for (int bin = 0; bin < BINS; bin++) s->edge_ns[bin + 1] = FIRST_NS * pow(2, bin / 2.0);
    for (size_t i = 0; i < n; i++) {
        int block = (int)((double)events[i].start_ns / (double)span_ns * BLOCKS);
        int bin = bin_of((double)windows[i].loss_ns);
        double width_ns = windows[i].width_ns > 0 ? (double)windows[i].width_ns : 0;
        s->mass[block < 0 ? 0 : block < BLOCKS ? block : BLOCKS - 1][bin] += width_ns;
        if (width_ns <= 0) continue;
        keep_longest(s->longest_ns, (double)windows[i].loss_ns);
        if (bin < s->top) continue;
        if (bin > s->top || width_ns > s->top_ns) s->top_ns = width_ns;
        s->top = bin;
    }
    for (int block = 0; block < BLOCKS; block++)
        for (int bin = 0; bin < BINS; bin++) s->all[bin] += s->mass[block][bin];
    s->tail = tail_of(s->longest_ns);
    s->is_short |= s->top < 0; /* how long an interruption is that was not seen nobody knows */
    return 0;
}

/* What a step of all nodes takes beyond its work, on average, where the record has this mass in each bin and
 * one more window, of bin more, counts more_times: the largest loss, the integral of the chance that some
 * node loses more. */
static double stall(const struct nt_spread *s, const double *mass, int more, double more_times,
                    double times) {
    double sum_ns = s->base_ns, mass_ns = 0, chance = 0, per_ns = times / s->node_ns;
    for (int bin = more > s->top ? more : s->top; bin >= 0; bin--) {
        double more_ns = bin == more ? more_times * s->top_ns : 0;
        if (bin <= s->top) more_ns += mass[bin];
        mass_ns += more_ns;
        if (mass_ns * per_ns > SURE) return sum_ns + s->edge_ns[bin + 1];
        if (more_ns > 0) chance = -expm1(-mass_ns * per_ns);
        sum_ns += (s->edge_ns[bin + 1] - s->edge_ns[bin]) * chance;
    }
    return sum_ns;
}

/* Windows leave out that nodes wait, and take CPUs that are hit at once for several: both change how often a
 * node seems to be hit. Where no number of times says what was walked they are taken as they are. */
static void fit(struct nt_spread *s, double wanted_ns) {
    double low = 1 / (MOST_TIMES * MOST_TIMES), high = MOST_TIMES;
    s->times = 1;
    if (stall(s, s->all, -1, 0, low) < wanted_ns && stall(s, s->all, -1, 0, high) > wanted_ns) {
        for (int i = 0; i < HALVINGS; i++) {
            s->times = sqrt(low * high);
            *(stall(s, s->all, -1, 0, s->times) < wanted_ns ? &low : &high) = s->times;
        }
    }
    s->value = stall(s, s->all, -1, 0, s->times);
}

/* The mass of as many blocks as there are, with replacement. */
static void draw(struct nt_spread *s, double mass[BINS]) {
    memset(mass, 0, BINS * sizeof *mass);
    for (int i = 0; i < BLOCKS; i++) {
        const double *block = s->mass[(int)(nl_rng_uniform(&s->random) * BLOCKS)];
        for (int first = 0; first <= s->top; first += LANES)
            for (int lane = 0; lane < LANES; lane++) mass[first + lane] += block[first + lane];
    }
}

static double exponential(struct nl_rng *random) { return -log1p(-nl_rng_uniform(random)); }

void nt_spread_go(struct nt_spread *s, double stall_ns, int n_draws) {
    double mass[BINS];
    if (s->times <= 0) fit(s, stall_ns);
    for (; n_draws > 0 && s->n_draws < MOST_DRAWS; n_draws--, s->n_draws++) {
        draw(s, mass);
        double low_ns = stall(s, mass, -1, 0, s->times);
        /* of k that were seen Gamma(k) may be the number, and Gamma(k + 1): one more, larger than all */
        int more = s->top < 0 ? -1 : bin_of(s->longest_ns[0] * exp(s->tail * exponential(&s->random)));
        double high_ns = stall(s, mass, more, exponential(&s->random), s->times);
        s->low[s->n_draws] = s->value > 0 ? low_ns / s->value : 1;
        s->high[s->n_draws] = s->value > 0 ? high_ns / s->value : 1;
    }
}

NL_ORDER(by_size, double)

struct nt_spread_ends nt_spread_result(struct nt_spread *s, double error) {
    int n = s->n_draws, at = (int)(n * ALPHA / 2);
    if (n == 0) return (struct nt_spread_ends){1, -1};
    qsort(s->low, (size_t)n, sizeof *s->low, by_size);
    qsort(s->high, (size_t)n, sizeof *s->high, by_size);
    double low = 1 - hypot(1 - s->low[at], NORMAL * error);
    double high = 1 + hypot(s->high[n - 1 - at] - 1, NORMAL * error);
    return (struct nt_spread_ends){low > 0 ? low : 0, s->is_short ? -1 : high};
}

void nt_spread_close(struct nt_spread *s) { free(s); }
