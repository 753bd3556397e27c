/* The command line of noiselab-accept. argv is parsed once, here; everything else gets this structure, const.
 */
#pragma once

#include "detector/acceptance/checks.h"
#include "common/base/nl_progress.h"

enum { NX_MAX_SIZES = 64, NX_FAULT_BYTES = 256 << 10 /* the largest message of the check integrity */ };

/* Which CPUs of a node are scanned. */
enum nx_cpus {
    NX_CPUS_AUTO, /* allowed, but those of its ranks where several nodes are parts of one machine (one kernel)
                   */
    NX_CPUS_ALLOWED, /* every CPU that its processes may use */
    NX_CPUS_RANKS    /* those that its ranks are bound to */
};
extern const char *const nx_cpus_names[]; /* by enum, ends with NULL */

/* A byte that is turned round on purpose, in every repetition of the integrity check. */
struct nx_fault {
    int is_given, sender, receiver;
    int64_t offset_bytes;
};

struct nx_options {
    int is_chosen[NX_MAX_CHECKS]; /* by index into nx_checks */
    int is_quick, is_full;        /* one of them */
    int64_t measure_ns;           /* over all checks */
    int64_t wait_quiet_ns;        /* how long to wait for quiet CPUs before measuring; 0: do not */
    int n_repetitions;
    int64_t sizes[NX_MAX_SIZES]; /* rising, bytes */
    int n_sizes;
    int64_t detour_threshold_ns;
    enum nx_cpus cpus;
    struct nx_fault fault;
    uint64_t seed;
    const char *out;
    const char *launch_id; /* NULL: made from time, host and pid */
    enum nl_progress_form progress;
    int dry_run;
    int planned_ranks; /* of the plan that a dry run prints; 0: those that were started */
    int is_json;       /* the dry run's plan as JSON */
    int argc;
    char **argv;
};

/* Parses and checks the command line. Prints one line on stderr for what is wrong. Local.
 * @param speaks  whether this process prints lists (one of many ranks does).
 * @return 1 go on, 0 everything was done (--list checks, --help), -1 usage error. */
int nx_options_parse(int argc, char **argv, int speaks, struct nx_options *o);

/* Time of one repetition of a check: its share of the measuring time by the weights of all that are chosen.
 */
int64_t nx_options_budget_ns(const struct nx_options *o, int check);
