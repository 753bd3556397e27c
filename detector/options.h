/* The command line of noiselab-detect. argv is parsed once, here; everything else gets this structure, const. */
#ifndef ND_OPTIONS_H
#define ND_OPTIONS_H

#include <stdint.h>

#include "nl_control.h"
#include "ops.h"
#include "schedule.h"

#define ND_MAX_OPERATIONS 32
#define ND_MAX_SIZES 32
#define ND_MAX_CONFIGS 256
#define ND_MAX_LEVELS (NL_CONTROL_MAX_LEVELS - 1) /* one account is for the off halves */
#define ND_MAX_NOTES 8

/* An operation at a message size. */
struct nd_config {
    const struct nd_op *op;
    int64_t bytes; /* 0 where the operation has none */
};

enum nd_switch { ND_AUTO, ND_ON, ND_OFF_SWITCH };

struct nd_options {
    const struct nd_design *design;
    struct nd_config configs[ND_MAX_CONFIGS];
    int n_configs;
    int64_t bytes[ND_MAX_SIZES];
    int n_bytes;
    double levels_percent[ND_MAX_LEVELS];
    int n_levels;               /* 0: no generator is started */
    int64_t measure_ns;         /* planned measuring time over all halves */
    int64_t half_ns;            /* length of a half (lockin), block (blocks) or loop (single) */
    int64_t count;              /* operations per loop; 0: from the pilot */
    int64_t period_ns;          /* of the noise */
    int64_t warmup_ns;
    int64_t detour_threshold_ns; /* 0: from the pilot */
    const char *kind;
    const char *noise_cpu;      /* "last", "rank:N" or a CPU number */
    int noise_rank;             /* node-local rank whose CPU gets the noise; -1: the last one, -2: see noise_cpu_number */
    int noise_cpu_number;       /* operating system's number, -1: none */
    int noise_on_all_nodes;
    const char *generator_path; /* NULL: beside this program, then PATH */
    uint64_t seed;
    int seed_given;
    const char *out;            /* campaign directory; NULL: rows are not kept (dry run only) */
    const char *launch_id;      /* NULL: made from time, host and pid */
    enum nd_switch per_operation_timing;
    enum nd_switch progress;
    int oversubscribe;
    int dry_run;
    int64_t n_rounds;           /* rounds of the schedule that fill measure_ns */
    char notes[ND_MAX_NOTES][192]; /* what was adjusted; repeated in launch.json */
    int n_notes;
    int argc;
    char **argv;
};

/* Parses and checks the command line. Prints one line on stderr for what is wrong. Local.
 * @param speaks  whether this process prints lists and notes (one of many ranks does).
 * @return 1 go on, 0 everything was done (--list-..., --help), -1 usage error. */
int nd_options_parse(int argc, char **argv, int speaks, struct nd_options *o);

/* Whether operations are timed one by one. */
int nd_options_times_operations(const struct nd_options *o);

#endif
