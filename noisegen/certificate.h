/* The certificate of the delivered load: JSON for machines, one line for people. Keys:
 * docs/reference/formats.md. */
#pragma once

#include "noisegen/worker.h"

struct ng_certificate {
    const struct ng_options *options;
    const struct ng_worker *workers;
    int n_workers;     /* 0: not placed */
    int64_t period_ns; /* 0: none yet */
    int64_t elapsed_ns;
    int n_levels;      /* NL_CONTROL_MAX_LEVELS under a detector; 0: alone */
    const char *ended; /* "complete", "interrupted" or "failed: ..." */
};

/* Whether every load asked for was delivered within the tolerance: 1 yes, 0 no, -1 nothing was asked for. */
int ng_certificate_ok(const struct ng_certificate *certificate);

/* The sum of the workers' accounts. */
struct ng_account ng_certificate_total(const struct ng_certificate *certificate);

/* The certificate as JSON; `indent` 0: compact. To be freed by the caller; NULL without memory.
 * @param size  what it has to fit into with its end: single threads are left off when they do not; 0: no
 * limit. */
char *ng_certificate_json(const struct ng_certificate *certificate, int indent, size_t size);

/* The certificate as one line of text without its end of line into `buf`; returns buf. */
const char *ng_certificate_line(const struct ng_certificate *certificate, char *buf, size_t size);
