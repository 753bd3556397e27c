/* The treatment of one node: the generator process, switched through the control page. Only the node's first
 * rank has one. */
#pragma once

#include "common/base/nl_hist.h"
#include "common/page/nl_control.h"

struct nd_treatment;

/* Starts the generator and waits until it is ready. Before MPI_Init. `path` NULL: noiselab-gen beside this
 * program, else in PATH. 0, -1. */
int nd_treatment_start(struct nd_treatment **t, const char *path, const char *const *words);

int nd_treatment_check(const char *path, const char *const *words); /* whether it would take these words */

/* Gives it one thread on each of these CPUs. 0, or -1 with the generator's reason. */
int nd_treatment_place(struct nd_treatment *t, const int *cpus, int n_cpus, char *reason, int reason_size);

/* Switches, and waits until the generator sleeps. Off halves switch too (to zero bursts), so that both arms
 * cost the same. 0, -1: refused (the page's text says why), -2: it is gone. */
int nd_treatment_switch(struct nd_treatment *t, const struct nl_dose *dose);

int nd_treatment_idle(struct nd_treatment *t);
void nd_treatment_close(
    struct nd_treatment *t); /* ends any load for good, without waiting. Safe in a signal handler */
int nd_treatment_is_gone(const struct nd_treatment *t);
int64_t nd_treatment_cpu_ns(
    const struct nd_treatment *t); /* that it and its children have used since its start; -1: it is gone */

/* What the generator says of itself, and, before it is placed, the ranks whose end ends the load. */
struct nl_control *nd_treatment_page(const struct nd_treatment *t);
const struct nl_hist *nd_treatment_switch_times(const struct nd_treatment *t);

void nd_treatment_stop(struct nd_treatment *t, char *text,
                       int text_size); /* takes the certificate (JSON), "" when it was gone */
void nd_treatment_free(struct nd_treatment *t);

/* generator.HOST.trace: when the node's generator ran, written between halves by the node's first rank. NULL
 * logs are fine, and take nothing. The file must not exist yet; NULL with errno. */
