/* Which CPUs may be used, and pinning to one of them, through hwloc. */
#pragma once

#include "common/base/nl_usual.h"

struct nl_place; /* an open topology; owns its memory */

/* Loads the topology. Takes a few ms and, on big machines, some MB: open it only where it is needed, and
 * close it.
 * @return 0, or -1 when hwloc cannot read this machine. */
int nl_place_open(struct nl_place **place);
void nl_place_close(struct nl_place *place);

/* Narrows the allowed CPUs (at first: what the machine and the cgroup allow) to those the calling thread is
 * bound to. */
void nl_place_restrict_to_binding(struct nl_place *place);

/* Whether a CPU (operating system number) is allowed. */
int nl_place_is_allowed(const struct nl_place *place, int cpu);

/* First allowed CPU, -1 when there is none. */
int nl_place_first(const struct nl_place *place);

/* Number of allowed CPUs. */
int nl_place_count(const struct nl_place *place);

/* Number of cores with at least one allowed CPU; that of nl_place_count where hwloc knows no cores. */
int nl_place_cores(const struct nl_place *place);

/* The allowed CPUs, rising, into `cpus`; returns their number, at most `max`. */
int nl_place_cpus(const struct nl_place *place, int *cpus, int max);

/* What words stand for in nl_place_resolve. */
#define NL_PLACE_HELP "cpu:N, rank:N, last, spare, all, sibling:..., same-l3:... (comma-separated)"

/* Finds the allowed CPUs that a list of words means: `cpu:N` (operating system's number), `rank:N` (CPU of
 * the N-th rank on this node), `last` (of the last rank), `spare` (a CPU no rank uses, best one whose core is
 * idle, too), `all`, `sibling:W` (another hardware thread of the core of word W), `same-l3:W` (another core's
 * CPU below the same last-level cache, best one that no rank uses). W itself need not be allowed.
 * @param rank_cpus  CPU of each rank on this node; negative: not bound to one CPU.
 * @param cpus       receives the CPUs, each once, in the order of the words.
 * @return number of CPUs, -1 with a line in `reason`. */
int nl_place_resolve(const struct nl_place *place, const char *words, const int *rank_cpus, int n_ranks,
                     int *cpus, int max, char *reason, size_t reason_size);

/* The allowed CPUs as a list ("0-3,8") into `buf`; returns buf. */
const char *nl_place_list(const struct nl_place *place, char *buf, size_t size);

/* Binds the calling thread to one allowed CPU.
 * @return 0, -1 when the CPU is not allowed or the system refuses. */
int nl_place_pin(struct nl_place *place, int cpu);

/* "Package:1 L3:1 Core:2 PU:2" into `buf`; returns buf. */
const char *nl_place_summary(const struct nl_place *place, char *buf, size_t size);

/* Number of hardware threads per core, 1 without SMT. */
int nl_place_smt(const struct nl_place *place);

/* The CPUs of the calling thread's binding as a list; `n_cpus` is their number, `first` the lowest. Needs no
 * topology. Returns 0 or -1. */
int nl_binding_of_thread(char *list, size_t size, int *n_cpus, int *first);

/* Binds the calling thread to the first hardware thread of its core when it is bound to just that core: "bind
 * to core" leaves a rank free to move between the threads of one core, and then no load can be put where it
 * is. Changes nothing otherwise. */
void nl_narrow_to_one_thread(void);
