/* The command line of noiselab-gen. argv is parsed once, here; everything else gets this structure, const. */
#pragma once

#include "noisegen/kinds/kinds.h"
#include "noisegen/patterns/pattern.h"

enum { NG_MAX_KINDS = 24, NG_MAX_PATTERNS = 8, NG_MAX_RANKS = 1024 };

/* Where in time the first period begins. */
enum ng_phase {
    NG_PHASE_OFFSET,    /* phase_ns from now */
    NG_PHASE_ALIGNED,   /* the same moment on every node */
    NG_PHASE_STAGGERED, /* spread evenly over one period, node by node */
    NG_PHASE_RANDOM     /* anywhere in one period, drawn for each node */
};
extern const char *const ng_phase_names[];

struct ng_options {
    /* alone: the first is --kind, the others occur in the trace; under a detector: all it may ask for */
    const struct ng_kind *kinds[NG_MAX_KINDS];
    int n_kinds;
    struct ng_kind_options
        kind_options; /* what is known from the command line; cpu and cpus are filled in later */
    const struct ng_pattern *patterns[NG_MAX_PATTERNS];
    int n_patterns;
    struct ng_shape shape;
    const char *replay;            /* path of the trace; NULL: none */
    struct nl_trace *trace;        /* checked; NULL: none */
    struct nl_trace checked_trace; /* what it points to */
    const char *preset;            /* NULL: none */
    double level_percent; /* of each CPU; -1: not given (under a detector, with --rate, in a replay) */
    double rate_per_s;    /* units of the kind's dose on each CPU; 0: not given */
    int64_t period_ns;
    int64_t duration_ns; /* 0: not given (under a detector, in a replay) */
    enum ng_phase phase;
    int64_t phase_ns;  /* NG_PHASE_OFFSET */
    int node, n_nodes; /* which of how many nodes this is; n_nodes 0: unknown */
    const char *on;    /* places, see nl_place_resolve; NULL: the first allowed CPU, or those of the trace */
    int rank_cpus[NG_MAX_RANKS]; /* --ranks */
    int n_ranks;
    int control_fd; /* -1: alone */
    int64_t carry_bursts;
    double duty_cap_percent; /* most in any one period */
    double tolerance_percent;
    int outlive_parent;
    int json;
    int dry_run;
};

/* Parses and checks the command line. Prints one line on stderr for what is wrong. Local.
 * @return 1 go on, 0 everything was done (--help, --list kinds, --version), -1 usage error. */
int ng_options_parse(int argc, char **argv, struct ng_options *options);

/* The index of a kind in options->kinds; it is added when it is not there. -1: no room. */
int ng_options_add_kind(struct ng_options *options, const struct ng_kind *kind);

/* Where in time a generator alone begins, so that noise on several nodes is in step, out of step, or
 * unrelated (docs/methods.md). */
