/* The command line of noiselab-detect. argv is parsed once, here; everything else gets this structure, const.
 */
#pragma once

#include "common/base/nl_hostlist.h"
#include "common/base/nl_progress.h"
#include "common/page/nl_control.h"
#include "detector/design/schedule.h"
#include "detector/measure/starts.h"
#include "detector/ops/algorithms.h"
#include "detector/ops/ops.h"
#include "detector/options/agent_options.h"

#define ND_MAX_NODES_LISTED 1024

enum nd_which_nodes { ND_NODES_ALL, ND_NODES_FIRST /* that of rank 0 */, ND_NODES_LISTED };

struct nd_nodes {
    enum nd_which_nodes which;
    struct nl_hostlist hosts; /* LISTED: names, with or without their domain; lives as long as the process */
    const char *text;         /* as given; NULL: not given */
};

#define ND_MAX_OPERATIONS 256
#define ND_MAX_SIZES      32
#define ND_MAX_CONFIGS    256
#define ND_MAX_LEVELS     (NL_CONTROL_MAX_LEVELS - 1) /* one account is for the off halves */
#define ND_MAX_ARMS       (ND_MAX_LEVELS + 1)         /* the last one is a treatment that has no level */
#define ND_MAX_FACTOR     16 /* kinds, patterns, places or phases that one launch crosses */
#define ND_MAX_PASSED     32
#define ND_MAX_NOTES      8

struct nd_config {
    const struct nd_op *op;
    int64_t bytes;                      /* 0 where the operation has none */
    char algorithm[ND_ALGORITHM_BYTES]; /* of the MPI library; "": nobody asked for one */
    char name[64];                      /* in files: the operation's, or bcast=binomial */
};

/* When an operation's result is looked at. */
enum nd_check { ND_CHECK_ONCE, ND_CHECK_EVERY, ND_CHECK_OFF };

/* What the noise does on several nodes at once. */
enum nd_phase {
    ND_PHASE_RANDOM,   /* drawn for every node and half */
    ND_PHASE_ALIGNED,  /* the same on all nodes */
    ND_PHASE_STAGGERED /* spread evenly over the period, node by node */
};
extern const char *const nd_phase_names[]; /* by enum nd_phase, ends with NULL */

/* One arm other than off: the generator at a level, or a treatment that has none. The first four are indices
 * into the options' lists. */
struct nd_arm {
    int kind, pattern, place, phase;
    double level_percent; /* of each CPU it loads */
    /* of a treatment without level: an agent, or one from outside; NULL: the generator's */
    const char *name;
    int is_late; /* 1: ranks that come late; its name is the arrival's */
};

/* Whether it is the generator with nothing to do. */
static inline int nd_arm_is_placebo(const struct nd_arm *arm) {
    return !arm->name && arm->level_percent <= 0;
}

#define ND_PLACE_BYTES 132

/* What an arm is called in files: "" where it has no such word. */
struct nd_arm_words {
    const char *arm; /* off, on */
    const char *kind, *pattern, *phase;
    char placement[ND_PLACE_BYTES];
    int has_level;
    int is_late; /* an arm of late ranks */
    double level_percent;
};

/* Which arms a launch has. One of them alone only in the design single. */
enum nd_arms { ND_ARMS_BOTH, ND_ARMS_OFF, ND_ARMS_ON };
extern const char *const nd_arms_names[]; /* by enum nd_arms, ends with NULL */

/* Whether a run may end before its time, and what it looks at. */
struct nd_sequential_options {
    int stops;             /* 0: never; nothing else here counts then */
    double margin_percent; /* of slowdown */
    double alpha;          /* one-sided, over all looks */
    int n_looks;
    const struct nd_spending *spending;
    int64_t rounds[ND_MAX_LOOKS]; /* rounds after which a look is due, rising */
};

enum nd_switch { ND_AUTO, ND_ON, ND_OFF_SWITCH };

struct nd_options {
    const struct nd_design *design;
    struct nd_config configs[ND_MAX_CONFIGS];
    int n_configs;
    double levels_percent[ND_MAX_LEVELS];
    int n_levels;
    const char *kinds[ND_MAX_FACTOR];
    const char *patterns[ND_MAX_FACTOR];
    const char *places[ND_MAX_FACTOR]; /* lists of words, see nl_place_resolve */
    enum nd_phase phases[ND_MAX_FACTOR];
    int n_kinds, n_patterns, n_places, n_phases;
    struct nd_arm
        arms[ND_MAX_ARMS]; /* kinds x patterns x places x phases x levels, and then the one without a level */
    int n_arms;            /* on arms; 0: only off */
    int n_doses;           /* of them, the generator's: the first ones */
    const char *passed[ND_MAX_PASSED]; /* options for the generator, as words of a command line */
    int n_passed;
    const char *preset; /* NULL: none */
    struct nd_op_options op;
    enum nd_check check;
    enum nl_preempted_source preempted_by;
    struct nd_start_options start;
    struct nd_sequential_options sequential;
    enum nd_arms which_arms;
    int set; /* number of the set of launches that this one belongs to; 0: none */
    int sync_only;
    int64_t measure_ns; /* planned measuring time over all halves */
    int64_t half_ns;    /* length of a half (lockin), block (blocks) or loop (single) */
    int64_t stretch_ns; /* quick: length of an undisturbed stretch; 0 in other designs */
    int64_t count;      /* operations per loop; 0: from the pilot */
    int64_t period_ns;  /* of the noise */
    int64_t warmup_ns;
    int64_t wait_quiet_ns;       /* how long to wait for quiet CPUs before measuring; 0: do not */
    int64_t detour_threshold_ns; /* 0: from the pilot */
    struct nd_nodes noise_nodes; /* that get a generator, or whose agent is switched */
    struct nd_agent_options agent;
    const char *app;  /* folder of the profile of a program that is followed; NULL: operations of our own */
    const char *beat; /* of it, as given; NULL: found */
    const char *external;       /* name of a treatment that the launch is under as a whole, from outside: no
                                   generator is started; NULL: none */
    const char *generator_path; /* by the environment; NULL: beside this program, then PATH */
    uint64_t seed;
    const char *out;       /* campaign directory; NULL: rows are not kept (dry run only) */
    const char *launch_id; /* NULL: made from time, host and pid */
    enum nd_switch per_operation_timing;
    enum nl_progress_form progress;
    int oversubscribe;
    int dry_run;
    int is_json;                   /* the dry run's plan as JSON */
    int64_t n_rounds;              /* rounds of the schedule that fill measure_ns */
    char notes[ND_MAX_NOTES][192]; /* what was adjusted; repeated in launch.json */
    int n_notes;
    struct {
        const char *operations, *sizes, *levels, *kinds, *patterns, *phases; /* lists as given; NULL: not */
        int64_t half_ns, block_ns;                                           /* 0: not */
    } given;
    int argc;
    char **argv;
};

/* Parses and checks the command line; one line on stderr for what is wrong. Local. `speaks`: this process
 * prints lists and notes. 1 go on, 0 everything was done (--list, --help), -1 usage error. */
int nd_options_parse(int argc, char **argv, int speaks, struct nd_options *o);

/* Row i of its table, from 0; NULL: there are no more. */
const struct nl_option *nd_options_row(int i);

/* The name of place `i` as it stands in files: its words, joined by +. Returns buf. */
const char *nd_place_name(const struct nd_options *o, int i, char buf[ND_PLACE_BYTES]);

void nd_arm_tell(const struct nd_options *o, int arm, struct nd_arm_words *words);

static inline int nd_options_has_generator(const struct nd_options *o) { return o->n_doses > 0; }

static inline int nd_options_is_late(const struct nd_options *o, int arm) {
    return arm != ND_OFF && o->arms[arm].is_late;
}

/* Whether nodes have an agent: on, or in a launch of off arms kept off. */
static inline int nd_options_has_agent(const struct nd_options *o) { return o->agent.name != NULL; }

/* Halves in one round, and in the whole schedule. */
int nd_options_round_steps(const struct nd_options *o);
static inline int64_t nd_options_n_halves(const struct nd_options *o) {
    return o->n_rounds * nd_options_round_steps(o);
}

/* How long the schedule may take by the wall clock, ns; 0: as long as it takes. */
int64_t nd_options_limit_ns(const struct nd_options *o);

/* quick: planned length of its longer halves; 0 in other designs. */
int64_t nd_options_long_ns(const struct nd_options *o);

/* Untimed operations before a half of planned length, after the agent was switched, ns. */
int64_t nd_options_settle_ns(const struct nd_options *o, int64_t planned_ns);

struct nd_schedule nd_options_schedule(const struct nd_options *o);

/* What a round takes, ns; without switching and settling, but in the design quick with them. */
int64_t nd_options_round_ns(const struct nd_options *o);

/* Whether arms are compared: within this launch, or (--arms) among the launches of its campaign. */
static inline int nd_options_compares_arms(const struct nd_options *o) {
    return o->n_arms > 0 || o->which_arms != ND_ARMS_BOTH;
}
/* Lengthens halves to `least_ns` and what goes with them. 0, or -1 after a message: --seconds does not hold a
 * round. */
int nd_options_hold_beats(struct nd_options *o, int64_t least_ns, int speaks);

int nd_options_times_operations(const struct nd_options *o);
