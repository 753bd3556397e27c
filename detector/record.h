/* Writing a launch: rows as they are taken, everything else by replacing whole files. Only rank 0 has one. */
#ifndef ND_RECORD_H
#define ND_RECORD_H

#include <jansson.h>

#include "channels.h"
#include "lateness.h"
#include "nl_hist.h"
#include "options.h"
#include "provenance.h"

struct nd_record;

/* Per rank and arm, summed over the halves (ranks.csv). Gathered as bytes. */
struct nd_rank_sum {
    int64_t n_halves, wall_ns, stolen_ns, n_detours, detour_ns, n_involuntary, n_slowest;
    int64_t overshoot_ns_sum, overshoot_ns_max; /* synchronised starts */
    struct nd_start_rank starts;                /* the same; filled in on rank 0 */
};

/* Whether `out` can hold a campaign of this schema: absent, empty, or with launches of this schema only.
 * @return 0, or -1 after a message. */
int nd_record_check_campaign(const char *out);

/* Makes the launch's folder and opens its rows. 0, or -1 after a message. */
int nd_record_open(struct nd_record **record, const struct nd_options *o, int n_ranks);

/* The launch id, "campaign/launch" path: owned by the record. */
const char *nd_record_launch(const struct nd_record *r);
const char *nd_record_folder(const struct nd_record *r);
int64_t nd_record_rows(const struct nd_record *r);

/* Appends one row and hands it to the system. `n_cpus`: CPUs loaded on all nodes, for the delivered level. 0, or -1 when the disk is full or gone. */
int nd_record_row(struct nd_record *r, const struct nd_half *h, int n_cpus);

/* Replaces launch.json by `json` (borrowed). 0 or -1. */
int nd_record_launch_json(struct nd_record *r, json_t *json);

/* hist.csv is written histogram by histogram: begin, add, ..., end (which replaces the file). 0 or -1. */
int nd_record_hist_begin(struct nd_record *r);
int nd_record_hist_add(struct nd_record *r, const struct nd_config *config, int arm, const struct nl_hist *h); /* arm: from 0, ND_OFF: off */
int nd_record_hist_end(struct nd_record *r);

/* starts_hist.csv likewise; `measure` is an enum nd_start_measure. */
int nd_record_starts_hist_begin(struct nd_record *r);
int nd_record_starts_hist_add(struct nd_record *r, const struct nd_config *config, int arm, int measure, const struct nl_hist *h);
int nd_record_starts_hist_end(struct nd_record *r);

/* Replaces lateness.csv. 0 or -1. */
int nd_record_lateness(struct nd_record *r, const struct nd_lateness *l);

/* Appends a synchronisation to clocks.csv: `reports` and `seats` hold n_ranks. 0 or -1. */
int nd_record_clocks(struct nd_record *r, int run, const char *reason, const char *method, const struct nd_sync_report *reports,
                     const struct nd_seat *seats, int64_t zero_ns);

/* Replaces ranks.csv. `sums` holds n_ranks x (n_arms + 1), arm 0 is off. 0 or -1. */
int nd_record_ranks(struct nd_record *r, const struct nd_seat *seats, const struct nd_rank_sum *sums, int n_ranks);

/* Closes; NULL is fine. */
void nd_record_close(struct nd_record *r);

#endif
