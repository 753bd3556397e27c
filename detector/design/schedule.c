#include "detector/design/schedule.h"
#include "common/base/nl_rng.h"

#define SWITCH_NS INT64_C(500000)
#define SLACK_NS  INT64_C(1000000000)

/* Round r of the schedule uses stream r + 1 of the seed, and needs no memory of the rounds before it. */
static void start_round(const struct nd_schedule *s, int64_t round, struct nl_rng *rng) {
    nl_rng_init(rng, s->seed, (uint64_t)round + 1);
}

static void shuffled_indices(struct nl_rng *rng, int *indices, int n) {
    for (int i = 0; i < n; i++)
        indices[i] = i;
    nl_rng_shuffle(rng, indices, n);
}

/* lockin: all cells in random order, each a pair whose order an independent coin decides: that makes the
 * sign-flip test exact. */
static int lockin_round_steps(const struct nd_schedule *s) { return 2 * s->n_configs * s->n_levels; }

static void lockin_fill_round(const struct nd_schedule *s, int64_t round, struct nd_step *steps) {
    struct nl_rng rng;
    int cells[ND_MAX_SET_STEPS / 2];
    int n_cells = s->n_configs * s->n_levels;
    start_round(s, round, &rng);
    shuffled_indices(&rng, cells, n_cells);
    for (int i = 0; i < n_cells; i++) {
        int on_first = (int)(nl_rng_next(&rng) >> 63);
        for (int order = 0; order < 2; order++)
            steps[2 * i + order] = (struct nd_step){
                .config = cells[i] / s->n_levels,
                .level = (order == 0) == on_first ? cells[i] % s->n_levels : ND_OFF,
                .order = order,
                .pair = round * n_cells + i,
            };
    }
}

/* blocks and single: for every configuration, in random order, one set that holds each arm once, in random
 * order. */
static int blocks_round_steps(const struct nd_schedule *s) {
    return s->n_configs * (s->n_levels + !s->lacks_off);
}

static void blocks_fill_round(const struct nd_schedule *s, int64_t round, struct nd_step *steps) {
    struct nl_rng rng;
    int configs[ND_MAX_SET_STEPS], arms[ND_MAX_SET_STEPS];
    int first = s->lacks_off ? 1 : 0, n_arms = s->n_levels + 1 - first;
    start_round(s, round, &rng);
    shuffled_indices(&rng, configs, s->n_configs);
    for (int i = 0; i < s->n_configs; i++) {
        shuffled_indices(&rng, arms, n_arms);
        for (int order = 0; order < n_arms; order++)
            steps[i * n_arms + order] = (struct nd_step){
                .config = configs[i],
                .level = arms[order] + first == 0 ? ND_OFF : arms[order] + first - 1,
                .order = order,
                .pair = round * s->n_configs + i,
            };
    }
}

/* quick: of every operation and agent, in random order, an undisturbed stretch and pairs about twice as long,
 * in an order that coins decide; the first is the stretch, so that a launch cut short has one. The few longer
 * pairs show whether there is more to see in longer halves. */
enum { MOST_PARTS = 32, SHORT_PAIRS = 24, PART_PAIRS = SHORT_PAIRS + 1, PAIRS_PER_STRETCH = 2 };

/* Parts of a set, each one longer pair and its short ones. */
static int quick_parts(const struct nd_schedule *s) {
    int64_t n = PAIRS_PER_STRETCH * s->stretch_ns / (2 * s->long_ns + 2 * SHORT_PAIRS * s->half_ns);
    return n < 1 ? 1 : n > MOST_PARTS ? MOST_PARTS : (int)n;
}

static int quick_round_steps(const struct nd_schedule *s) {
    return s->n_configs * s->n_levels * (1 + 2 * PART_PAIRS * quick_parts(s));
}

static void quick_fill_round(const struct nd_schedule *s, int64_t round, struct nd_step *steps) {
    struct nl_rng rng;
    int cells[ND_MAX_SET_STEPS], pairs[MOST_PARTS * PART_PAIRS];
    int n_parts = quick_parts(s), n_pairs = PART_PAIRS * n_parts, n = 0;
    int n_cells = s->n_configs * s->n_levels;
    int64_t pair = round * nd_schedule_round_pairs(s);
    start_round(s, round, &rng);
    shuffled_indices(&rng, cells, n_cells);
    for (int i = 0; i < n_cells; i++) {
        int config = cells[i] / s->n_levels, level = cells[i] % s->n_levels;
        int stretch_first = (int)(nl_rng_next(&rng) >> 63) || round == 0;
        shuffled_indices(&rng, pairs, n_pairs);
        for (int j = 0; j <= n_pairs; j++, pair++) {
            if (j == (stretch_first ? 0 : n_pairs)) {
                steps[n++] = (struct nd_step){
                    .config = config, .level = level, .pair = pair, .planned_ns = s->stretch_ns};
                continue;
            }
            int on_first = (int)(nl_rng_next(&rng) >> 63), k = pairs[j - stretch_first];
            for (int order = 0; order < 2; order++)
                steps[n++] = (struct nd_step){.config = config,
                                              .level = (order == 0) == on_first ? level : ND_OFF,
                                              .order = order,
                                              .pair = pair,
                                              .planned_ns = k < n_parts ? s->long_ns : s->half_ns};
        }
    }
}

static const struct nd_design rows[] = {
    {.name = "lockin",
     .help = "short half-periods, off and on in random order within each pair",
     .is_paired = 1,
     .fixed_dose = 1,
     .round_steps = lockin_round_steps,
     .fill_round = lockin_fill_round},
    {.name = "blocks",
     .help = "long blocks, every arm once per set, in random order",
     .round_steps = blocks_round_steps,
     .fill_round = blocks_fill_round},
    {.name = "single",
     .help = "one timed loop per arm (the published method: repeat the launch)",
     .single_loop = 1,
     .round_steps = blocks_round_steps,
     .fill_round = blocks_fill_round},
    {.name = "quick",
     .help = "an agent that is frozen: undisturbed segments, and between them pairs of short and of ten "
             "times longer halves",
     .is_paired = 1,
     .has_stretches = 1,
     .round_steps = quick_round_steps,
     .fill_round = quick_fill_round},
};

const struct nd_design *const nd_designs[] = {&rows[0], &rows[1], &rows[2], &rows[3], NULL};

void nd_schedule_fill(const struct nd_schedule *s, int64_t round, struct nd_step *steps) {
    s->design->fill_round(s, round, steps);
    for (int i = 0; i < nd_schedule_round_steps(s); i++)
        if (steps[i].planned_ns == 0) steps[i].planned_ns = s->half_ns;
}

int nd_schedule_round_steps(const struct nd_schedule *s) { return s->design->round_steps(s); }

int64_t nd_schedule_round_ns(const struct nd_schedule *s) {
    if (!s->design->has_stretches) return nd_schedule_round_steps(s) * s->half_ns;
    return s->n_configs * s->n_levels *
           (s->stretch_ns + 2 * quick_parts(s) * (s->long_ns + SHORT_PAIRS * s->half_ns));
}

int nd_schedule_round_pairs(const struct nd_schedule *s) {
    if (s->design->has_stretches) return s->n_configs * s->n_levels * (1 + PART_PAIRS * quick_parts(s));
    return s->design->is_paired ? s->n_configs * s->n_levels : s->n_configs;
}

int64_t nd_schedule_limit_ns(int64_t measure_ns, int64_t n_halves) {
    return measure_ns + measure_ns / 10 + SLACK_NS + n_halves * SWITCH_NS;
}

int nd_schedule_is_over(int64_t limit_ns, int64_t elapsed_ns, int64_t n_rounds) {
    return n_rounds > 0 && elapsed_ns + elapsed_ns / n_rounds / 2 > limit_ns;
}
