/* The bursts of a CPU. */
#include "tests/reference/reference.h"

#include <math.h>
#include <stdlib.h>

enum { BEATS = 1, OWN, NODE };

/* Beats that are late, or have several bursts, may overtake each other: their bursts wait in a list. */
static bool has_list(const struct rs_machine *machine) { return machine->clump > 1 || machine->late_s > 0; }

static double next_gap(struct rs_train *train, const struct rs_machine *machine) {
    double over = machine->arrivals == RS_ONE_BY_ONE ? machine->clump * machine->apart_s : 0;
    return machine->arrivals == RS_PERIODIC ? train->gap_s :
        over + (train->gap_s - over) * rs_exponential(&train->beats);
}

static double lognormal(struct rs_random *random, double sd) { return sd > 0 ?
    exp(sd * rs_normal(random) - sd * sd / 2) : 1; }

/* Takes the beat that is next, and puts its bursts on the list. */
static int list_beat(struct rs_train *train, const struct rs_machine *machine) {
    double begin = train->beat_s + (machine->late_s > 0 ? machine->late_s * rs_uniform(&train->beats) : 0);
    train->beat_s += next_gap(train, machine);
    if (machine->left_out > 0 && rs_uniform(&train->own) < machine->left_out) return 0;
    if (train->n_clumps == train->room) {
        unsigned room = train->room ? 2 * train->room : 2;
        struct rs_clump *clumps = realloc(train->clumps, room * sizeof *clumps);
        if (!clumps) return -1;
        train->clumps = clumps;
        train->room = room;
    }
    train->clumps[train->n_clumps++] = (struct rs_clump){begin + train->lag_s, machine->clump};
    return 0;
}

/* Finds the next burst's arrival. */
static int find_arrival(struct rs_train *train, const struct rs_machine *machine) {
    if (!has_list(machine)) {
        do {
            train->arrival_s = train->beat_s + train->lag_s;
            train->beat_s += next_gap(train, machine);
        } while (machine->left_out > 0 && rs_uniform(&train->own) < machine->left_out);
        return 0;
    }
    for (;;) {
        unsigned first = 0;
        for (unsigned i = 1; i < train->n_clumps; i++) {
            if (train->clumps[i].next_s < train->clumps[first].next_s) first = i;
        }
        /* no beat to come may have an earlier burst */
        if (train->n_clumps > 0 && train->clumps[first].next_s <= train->beat_s + train->lag_s) {
            struct rs_clump *clump = &train->clumps[first];
            train->arrival_s = clump->next_s;
            clump->next_s += machine->apart_s;
            if (--clump->left == 0) *clump = train->clumps[--train->n_clumps];
            return 0;
        }
        if (list_beat(train, machine)) return -1;
    }
}

int rs_train_open(struct rs_train *train, const struct rs_machine *machine, uint64_t seed, uint64_t node,
    unsigned cpu) {
    uint64_t unit = machine->own_cpus ? node * machine->cpus + cpu : node;
    uint64_t beats = machine->phase == RS_OWN ? unit + 1 : 0, own = machine->phase == RS_SAME ? 0 : unit + 1;
    struct rs_random of_node = rs_stream(seed, NODE, own, 0);
    *train = (struct rs_train){.beats = rs_stream(seed, BEATS, beats, 0), .own = rs_stream(seed, OWN, own,
        machine->own_costs ? cpu : 0),
                               .lag_s = machine->own_cpus ? 0 : cpu * machine->lag_s};
    train->gap_s = machine->gap_s / lognormal(&of_node, machine->rate_sd);
    train->cost_factor = lognormal(&of_node, machine->cost_sd);
    /* a node that would have no time left to work has a tenth of it */
    train->gap_s = fmax(train->gap_s, machine->gap_s * rs_load(machine) * train->cost_factor / 0.9);
    if (machine->spread > 0) train->gap_s *= 1 + machine->spread * (2 * rs_uniform(&of_node) - 1);
    /* from so long before 0 on that bursts which began before it are there at 0 */
    train->beat_s = -10 * train->gap_s - machine->late_s - machine->clump * machine->apart_s;
    train->beat_s -= machine->cpus * machine->lag_s;
    train->beat_s += machine->arrivals == RS_PERIODIC ? train->gap_s * rs_uniform(&train->beats) :
        next_gap(train, machine);
    if (find_arrival(train, machine)) return -1;
    return rs_next_busy(train, machine);
}

void rs_train_close(struct rs_train *train) { free(train->clumps); }

int rs_next_burst(struct rs_train *train, const struct rs_machine *machine, double *arrival_s,
    double *cost_s) {
    *arrival_s = train->arrival_s;
    *cost_s = train->cost_factor * rs_draw_cost(machine, &train->own);
    return find_arrival(train, machine);
}

int rs_next_busy(struct rs_train *train, const struct rs_machine *machine) {
    double arrival, cost;
    if (rs_next_burst(train, machine, &arrival, &cost)) return -1;
    train->begin_s = arrival;
    train->end_s = arrival + cost;
    while (train->arrival_s <= train->end_s) {
        if (rs_next_burst(train, machine, &arrival, &cost)) return -1;
        train->end_s += cost;
    }
    return 0;
}
