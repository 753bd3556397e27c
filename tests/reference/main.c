/* reference truth|record|mean KEY=VALUE...: what the noise of a known machine costs, and what a recorder sees
   of it. */
#include "tests/reference/reference.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: reference truth  MACHINE... nodes=N,... step_s=S,... [steps=400] [gaps=20] [draws=400]\n"
    "                        [precision=0.003] [each=yes] [seed=1]\n"
    "       reference record MACHINE... seconds=S out=FOLDER [records=1] [recorded=1] [seed=1]\n"
    "       reference mean   MACHINE... [draws=1000000] [seed=1]\n"
    "truth: CSV of slowdowns in percent: the mean over draws of the machine, its standard error, how far\n"
    "  draws spread. A run has so many steps, and as many as so many gaps take; draws end where the standard "
    "error is\n"
    "  below precision times the mean. each=yes: what every draw gave, a line each, instead.\n"
    "record: files FOLDER/SEED-NODE.trace: of so many records, each of a machine of its own seed, so many\n"
    "  recorded nodes, for so many seconds.\n"
    "mean: the mean of the costs drawn, in seconds, and the share of the time that bursts take of a CPU.\n"
    "MACHINE: words of these; times are in seconds\n"
    "  arrivals=poisson|one-by-one|periodic   when beats come (poisson); one by one: a beat waits until the\n"
    "                    one before it is over\n"
    "  gap_s=S           mean time between two beats of a node\n"
    "  cost=KIND         what a burst takes: fixed:S, exponential:MEAN_S, two:S:RARER_S:SHARE or\n"
    "                    pareto:MEAN_S:INDEX:CAP_S\n"
    "  left_out=P        a beat does not come with this probability\n"
    "  late_s=S          a beat is late by a uniform time up to this\n"
    "  spread=R          periods of nodes differ by up to this share, so that phases wander\n"
    "  clump=N apart_s=S a beat has N bursts, so far apart\n"
    "  cpus=N hit=together|own|own-costs lag_s=S   CPUs of a node: hit together (in lockstep: CPU i comes i\n"
    "                    times lag_s later), together with costs of their own, or each by itself\n"
    "  rate_sd=R cost_sd=R   nodes differ: lognormal factors of rate and cost, of mean 1 and this standard\n"
    "                    deviation of the logarithm\n"
    "  phase=own|shared|same   nodes are hit each by itself; at the same moments; or alike\n";

struct asked {
    struct rs_machine machine;
    const char *nodes, *steps_s, *out;
    double steps, gaps, draws, precision, seed, seconds, records, recorded;
    bool each;
};

static int refuse(const char *word, const char *why) {
    fprintf(stderr, "reference: %s: %s\n", word, why);
    return 2;
}

static int no_memory(void) {
    fputs("reference: no memory\n", stderr);
    return 2;
}

/* The next of numbers separated by commas; moves `text` behind it. */
static bool next_number(const char **text, double *value) {
    char *end;
    *value = strtod(*text, &end);
    if (end == *text || (*end && *end != ',') || !(*value > 0) || !isfinite(*value)) return false;
    *text = *end ? end + 1 : end;
    return true;
}

/* 1: the word is one of the program's own, and is set; 0: it is not; 2: it is wrong. */
static int set_own(struct asked *asked, const char *word) {
    const struct {
        const char *key;
        double *value;
        double least;
    } reals[] = {{"steps=", &asked->steps, 1},     {"gaps=", &asked->gaps, 0},       {"draws=", &asked->draws,
        1},     {"precision=", &asked->precision, 0},
                 {"seed=", &asked->seed, 0},       {"seconds=", &asked->seconds, 0}, {"records=",
                     &asked->records, 1}, {"recorded=", &asked->recorded, 1}};
    const struct {
        const char *key;
        const char **value;
    } texts[] = {{"nodes=", &asked->nodes}, {"step_s=", &asked->steps_s}, {"out=", &asked->out}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t length = strlen(texts[i].key);
        if (strncmp(word, texts[i].key, length)) continue;
        *texts[i].value = word + length;
        return 1;
    }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        size_t length = strlen(reals[i].key);
        if (strncmp(word, reals[i].key, length)) continue;
        char *end;
        double value = strtod(word + length, &end);
        if (end == word + length || *end || !(value >= reals[i].least) || value > 1e15) return refuse(word,
            "not such a number");
        *reals[i].value = value;
        return 1;
    }
    if (strcmp(word, "each=yes")) return 0;
    asked->each = true;
    return 1;
}

static int say_truth(const struct asked *asked) {
    if (!asked->nodes || !asked->steps_s) return refuse("truth", "nodes= and step_s= are needed");
    struct rs_length length = {(unsigned)asked->steps, asked->gaps};
    if (!asked->each) puts("nodes,step_s,draws,slowdown_percent,standard_error,spread,load_percent");
    double nodes, step_s;
    for (const char *left = asked->nodes; *left;) {
        if (!next_number(&left, &nodes) || nodes != floor(nodes) || nodes > 1e7) return refuse("nodes",
            "whole numbers of at most 10000000");
        for (const char *steps = asked->steps_s; *steps;) {
            if (!next_number(&steps, &step_s)) return refuse("step_s", "numbers above 0");
            struct rs_truth truth;
            if (rs_find_truth(&asked->machine, (uint64_t)nodes, step_s, length, (unsigned)asked->draws,
                asked->each ? 0 : asked->precision,
                              (uint64_t)asked->seed, asked->each ? stdout : NULL, &truth))
                return no_memory();
            if (asked->each) continue;
            printf("%.0f,%.9g,%u,%.6g,%.3g,%.4g,%.6g\n", nodes, step_s, truth.draws, 100 * truth.slowdown,
                100 * truth.error, 100 * truth.spread,
                   100 * rs_load(&asked->machine));
            fflush(stdout);
        }
    }
    return 0;
}

static int write_records(const struct asked *asked) {
    if (!asked->out || !(asked->seconds > 0)) return refuse("record", "seconds= and out= are needed");
    uint64_t first = (uint64_t)asked->seed;
    for (uint64_t seed = first; seed < first + (uint64_t)asked->records; seed++) {
        for (uint64_t node = 0; node < (uint64_t)asked->recorded; node++) {
            char name[4096];
            int n = snprintf(name, sizeof name, "%s/%" PRIu64 "-%" PRIu64 ".trace", asked->out, seed, node);
            if (n < 0 || (size_t)n >= sizeof name) return refuse("out", "too long");
            FILE *file = fopen(name, "w");
            if (!file) return refuse(name, strerror(errno));
            int failed = rs_record(&asked->machine, seed, node, asked->seconds, file);
            if (fclose(file) || failed) return refuse(name, "could not be written");
        }
    }
    return 0;
}

static int say_mean(const struct asked *asked) {
    struct rs_random random = rs_stream((uint64_t)asked->seed, 0, 0, 0);
    double sum = 0;
    for (double i = 0; i < asked->draws; i++) sum += rs_draw_cost(&asked->machine, &random);
    printf("%.9g %.9g\n", sum / asked->draws, rs_load(&asked->machine));
    return 0;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)(const struct asked *);
    } tasks[] = {{"truth", say_truth}, {"record", write_records}, {"mean", say_mean}};
    struct asked asked = {.machine = RS_PLAIN, .steps = 400, .gaps = 20, .draws = 0, .precision = 0.003,
        .seed = 1, .records = 1, .recorded = 1};
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        if (strcmp(name, tasks[i].name)) continue;
        for (int w = 2; w < argc; w++) {
            int own = set_own(&asked, argv[w]);
            if (own == 2) return 2;
            const char *wrong = own ? NULL : rs_set(&asked.machine, argv[w]);
            if (wrong) return refuse(argv[w], wrong);
        }
        if (asked.draws == 0) asked.draws = tasks[i].run == say_mean ? 1e6 : 400;
        const char *wrong = rs_complete(&asked.machine);
        return wrong ? refuse(name, wrong) : tasks[i].run(&asked);
    }
    fputs(usage, stderr);
    return 2;
}
