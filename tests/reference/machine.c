/* What a machine is, from words. */
#include "tests/reference/reference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads `n` numbers, separated by colons, none below 0. */
static bool numbers(const char *text, size_t n, double *values) {
    for (size_t i = 0; i < n; i++) {
        char *end;
        errno = 0;
        values[i] = strtod(text, &end);
        if (end == text || errno || !isfinite(values[i]) || values[i] < 0) return false;
        if (*end != (i + 1 < n ? ':' : '\0')) return false;
        text = end + 1;
    }
    return true;
}

static bool whole(const char *text, unsigned *value) {
    double number;
    if (!numbers(text, 1, &number) || number < 1 || number > 1024 || number != floor(number)) return false;
    *value = (unsigned)number;
    return true;
}

/* The position of `text` among `n` words, or -1. */
static int among(const char *text, const char *const *words, int n) {
    for (int i = 0; i < n; i++) {
        if (!strcmp(text, words[i])) return i;
    }
    return -1;
}

static const char *set_cost(struct rs_machine *machine, const char *text) {
    static const char *const kinds[] = {"fixed", "exponential", "two", "pareto"};
    static const size_t wanted[] = {1, 1, 3, 3};
    char kind[16];
    size_t length = strcspn(text, ":");
    if (length >= sizeof kind || text[length] == '\0') return "cost: wanted is KIND:NUMBERS";
    memcpy(kind, text, length);
    kind[length] = '\0';
    int which = among(kind, kinds, 4);
    if (which < 0) return "cost: the kind is fixed, exponential, two or pareto";
    double values[3];
    if (!numbers(text + length + 1, wanted[which],
        values)) return "cost: fixed:S, exponential:MEAN_S, two:S:RARER_S:SHARE or pareto:MEAN_S:INDEX:CAP_S";
    machine->costs = (enum rs_costs)which;
    machine->cost_s = values[0];
    if (machine->costs == RS_TWO) {
        machine->second_s = values[1];
        machine->second_share = values[2];
    } else if (machine->costs == RS_PARETO) {
        machine->shape = values[1];
        machine->cap_s = values[2];
    }
    return NULL;
}

const char *rs_set(struct rs_machine *machine, const char *word) {
    static const char *const arrivals[] = {"poisson", "one-by-one", "periodic"}, *const phases[] = {"own",
        "shared", "same"}, *const cpus[] = {"together", "own", "own-costs"};
    const struct {
        const char *key;
        double *value;
    } reals[] = {{"gap_s", &machine->gap_s},     {"spread", &machine->spread},   {"late_s", &machine->late_s},
        {"left_out", &machine->left_out},
                 {"apart_s", &machine->apart_s}, {"lag_s", &machine->lag_s},     {"rate_sd",
                     &machine->rate_sd}, {"cost_sd", &machine->cost_sd}};
    const char *value = strchr(word, '=');
    if (!value) return "wanted is KEY=VALUE";
    size_t length = (size_t)(value++ - word);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        if (strlen(reals[i].key) == length && !strncmp(word, reals[i].key, length)) return numbers(value, 1,
            reals[i].value) ? NULL : "not a number from 0 on";
    }
#define IS(name) (length == sizeof name - 1 && !strncmp(word, name, length))
    if (IS("cost")) return set_cost(machine, value);
    if (IS("clump")) return whole(value, &machine->clump) ? NULL : "not a whole number from 1 to 1024";
    if (IS("cpus")) return whole(value, &machine->cpus) ? NULL : "not a whole number from 1 to 1024";
    int which = IS("arrivals") ? among(value, arrivals, 3) : IS("phase") ? among(value, phases, 3) :
        IS("hit") ? among(value, cpus, 3) : -2;
    if (which == -2) return "no such key";
    if (which == -1)
        return "no such word (arrivals: poisson, one-by-one, periodic; phase: own, shared, same; hit: "
               "together, "
               "own, own-costs)";
    if (IS("arrivals")) machine->arrivals = (enum rs_arrivals)which;
    if (IS("phase")) machine->phase = (enum rs_phase)which;
    if (IS("hit")) machine->own_cpus = which == 1, machine->own_costs = which == 2;
#undef IS
    return NULL;
}

/* Mean of a Pareto variable from `least` on, of those that are no longer than the cap. */
static double pareto_mean(double least, double shape, double cap) {
    double beyond = pow(least / cap, shape);
    if (shape == 1) return least * log(cap / least) / (1 - beyond);
    return shape * least / (shape - 1) * (1 - pow(least / cap, shape - 1)) / (1 - beyond);
}

const char *rs_complete(struct rs_machine *machine) {
    if (machine->gap_s <= 0) return "gap_s: how far are beats apart?";
    if (machine->cost_s <= 0) return "cost: what does a burst cost?";
    if (machine->left_out >= 1) return "left_out: no beat is left";
    if (machine->arrivals == RS_ONE_BY_ONE &&
        machine->clump * machine->apart_s >= machine->gap_s) return "gap_s: a beat is longer";
    if (machine->spread >= 1) return "spread: it is below 1";
    if (machine->second_share > 1) return "cost: a share is at most 1";
    if (machine->costs == RS_PARETO) {
        if (machine->shape <= 0 ||
            machine->cap_s <= machine->cost_s) return "cost: the index is above 0, the cap above the mean";
        double low = 0, high = machine->cap_s;
        for (int i = 0; i < 200; i++) {
            double middle = (low + high) / 2;
            if (pareto_mean(middle, machine->shape, machine->cap_s) < machine->cost_s) low = middle;
            else high = middle;
        }
        machine->least_s = (low + high) / 2;
    }
    if (rs_load(machine) >= 0.95) return "bursts take 95 % of a CPU or more";
    return NULL;
}

double rs_load(const struct rs_machine *machine) {
    double mean = machine->cost_s;
    if (machine->costs == RS_TWO) mean += (machine->second_s - machine->cost_s) * machine->second_share;
    return mean * machine->clump * (1 - machine->left_out) / machine->gap_s;
}

bool rs_is_ergodic(const struct rs_machine *machine) {
    if (machine->rate_sd > 0 || machine->cost_sd > 0) return false;
    return machine->arrivals != RS_PERIODIC || machine->phase != RS_OWN || machine->spread > 0;
}

double rs_draw_cost(const struct rs_machine *machine, struct rs_random *random) {
    switch (machine->costs) {
    case RS_FIXED: return machine->cost_s;
    case RS_EXPONENTIAL: return machine->cost_s * rs_exponential(random);
    case RS_TWO: return rs_uniform(random) < machine->second_share ? machine->second_s : machine->cost_s;
    case RS_PARETO: break;
    }
    double beyond = pow(machine->least_s / machine->cap_s, machine->shape);
    return machine->least_s * pow(beyond + (1 - beyond) * rs_uniform(random), -1 / machine->shape);
}
