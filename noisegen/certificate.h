/* The certificate of the delivered load: JSON for machines, one line for people. Keys: docs/formats.md. */
#ifndef NG_CERTIFICATE_H
#define NG_CERTIFICATE_H

#include <stddef.h>
#include <stdint.h>

#include "machine.h"
#include "options.h"
#include "pace.h"

/* What was delivered at one level under a detector. */
struct ng_level {
    double level_percent;
    int is_used;
    int64_t n_halves; /* RUN commands */
    int64_t wall_ns;  /* from RUN to the next command, summed */
    struct ng_account account;
};

struct ng_certificate {
    const struct ng_options *options;
    int64_t period_ns;    /* 0: none yet */
    double level_percent; /* negative: several, see `levels` */
    int cpu;              /* -1: not placed */
    const struct ng_cpus *cpus;
    int64_t elapsed_ns;
    struct ng_account account; /* of all levels together */
    const struct ng_lateness *lateness;
    struct ng_switches switches;
    const char *ended;    /* "complete" or "interrupted" */
    int64_t wake_cost_ns; /* under a detector: what an account may still be saving for */
    const struct ng_level *levels;
    int n_levels; /* 0: a generator alone */
};

/* Whether every load asked for was delivered within the tolerance: 1 yes, 0 no, -1 nothing was asked for. */
int ng_certificate_ok(const struct ng_certificate *certificate);

/* The certificate as JSON; `indent` 0: compact. To be freed by the caller; NULL without memory. */
char *ng_certificate_json(const struct ng_certificate *certificate, int indent);

/* The certificate as one line of text without its end of line into `buf`; returns buf. */
const char *ng_certificate_line(const struct ng_certificate *certificate, char *buf, size_t size);

#endif
