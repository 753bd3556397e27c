/* The treatment of one node: the generator process, switched through the control page. Only the node's first rank has one. */
#pragma once

#include "common/base/nl_hist.h"
#include "common/page/nl_control.h"

struct nd_treatment;

/* Starts the generator and waits until it is ready. Must be called before MPI_Init: an initialised MPI must not fork.
 * @param path  the program; NULL: noiselab-gen beside this program, else the one in PATH.
 * @param words  further words of its command line, ended by NULL.
 * @return 0, or -1 after a message (the generator's own message stands before it). */
int nd_treatment_start(struct nd_treatment **t, const char *path, const char *const *words);

/* Asks the generator whether it would take these words; it says itself what it does not like. 0, -1. */
int nd_treatment_check(const char *path, const char *const *words);

/* Names a rank of the node, before nd_treatment_place: its end ends the load. */
void nd_treatment_add_rank(struct nd_treatment *t, int pid);

/* Gives the generator one thread on each of these CPUs (at most NL_CONTROL_MAX_WORKERS). 0, or -1 with the generator's reason in
 * `reason`. */
int nd_treatment_place(struct nd_treatment *t, const int *cpus, int n_cpus, char *reason, int reason_size);

/* Switches, and waits for the acknowledgement and until the generator sleeps. Off halves switch too (to zero bursts), so that both arms
 * cost the same.
 * @return 0, or -1 when the generator is gone or refuses. */
int nd_treatment_switch(struct nd_treatment *t, const struct nl_dose *dose);

/* Stops a load at once. 0 or -1. */
int nd_treatment_idle(struct nd_treatment *t);

/* Ends any load for good, without waiting; later switches start none. Safe in a signal handler. */
void nd_treatment_close(struct nd_treatment *t);

/* Whether the generator has ended (1) or not (0). */
int nd_treatment_is_gone(const struct nd_treatment *t);

/* Why the last command was refused; "" when it was not. */
const char *nd_treatment_refusal(const struct nd_treatment *t);

/* CPU time the generator and its children have used since its start, ns (read from outside; costs a system call); -1 when it is gone. */
int64_t nd_treatment_cpu_ns(const struct nd_treatment *t);

/* What the generator says of itself: nl_control_n_due, _requested_ns, _owed_ns, bursts_run. */
struct nl_control *nd_treatment_page(const struct nd_treatment *t);

/* Where worker `worker` notes its bursts, and its CPU; NULL: there is no such worker. */
struct nl_bursts *nd_treatment_bursts(struct nd_treatment *t, int worker, int *cpu);

/* Times from command to acknowledgement, ns. */
const struct nl_hist *nd_treatment_switch_times(const struct nd_treatment *t);

/* Ends the generator and takes its certificate.
 * @param text  receives the certificate (JSON), "" when the generator was gone. */
void nd_treatment_stop(struct nd_treatment *t, char *text, int text_size);

/* Ends the generator without a certificate, and frees everything. NULL is fine. */
void nd_treatment_free(struct nd_treatment *t);

/* generator.HOST.trace: when the node's generator ran, taken from its page by the node's first rank and written between halves
 * (docs/reference/formats.md, generator.HOST.trace). */

struct nd_burst_log;

/* Makes the file, which must not exist yet. The treatment is borrowed and placed. NULL with errno. */
struct nd_burst_log *nd_burst_log_open(const char *path, const char *host, struct nd_treatment *treatment);

/* The file's time begins, with the first half that is recorded: bursts that began before are left out. */
void nd_burst_log_begin(struct nd_burst_log *log, int64_t now_ns);

/* Takes in what has run so far: at least ten times a second, or bursts are lost. NULL is fine. */
void nd_burst_log_take(struct nd_burst_log *log);

/* Writes what was taken in, but for what may come after a burst that still runs. 0, or -1 with errno. NULL is fine: 0. */
int nd_burst_log_write(struct nd_burst_log *log);

/* Bursts that were not written: too many between two looks, or more than there is room for. */
int64_t nd_burst_log_n_lost(const struct nd_burst_log *log);

/* Writes the rest and the end of the file's time, and frees everything. 0, or -1 with errno. NULL is fine: 0. */
int nd_burst_log_close(struct nd_burst_log *log);
