/* launch.json: how the launch was made and how it ended (docs/reference/formats.md). Rank 0 only. */
#pragma once

#include <jansson.h>

#include "common/page/nl_agent.h"
#include "common/sys/nl_account.h"
#include "detector/options/options.h"
#include "detector/program/program.h"
#include "detector/plan/plan.h"
#include "detector/nodes/provenance.h"
#include "detector/nodes/quiet.h"
#include "detector/nodes/team.h"

/* What one node's generator delivered at one level, summed over the on halves. Gathered as bytes. */
struct nd_level_sum {
    int64_t n_halves, wall_ns;
    int64_t requested_ns; /* the dose asked for: bursts x level x period, or level x time where the load goes
                             on until the loop ends */
    int64_t delivered_ns, bursts_run;
    int64_t bursts_planned; /* 0: the pattern is not periodic */
    int64_t n_cpus;         /* loaded on this node */
};

/* What launch.json has of many nodes: the first certificates are whole, the next only where they say
 * something; the others are counted. */
enum { ND_FULL_CERTIFICATES = 256, ND_MOST_CERTIFICATES = 512, ND_MOST_WARNINGS = 1000 };

/* What a node's leader hands in at the end. Gathered as bytes. */
struct nd_node_end {
    char certificate[NL_CONTROL_TEXT_BYTES]; /* "" without a generator */
    struct nd_level_sum levels[ND_MAX_LEVELS];
    int64_t n_switches, switch_p50_ns, switch_p99_ns, switch_max_ns;
    int64_t n_early_bursts; /* on halves whose first burst was due before their loop began */
    int64_t n_lost_bursts;  /* that generator.HOST.trace lacks */
    int has_generator;
    char host[ND_HOST_BYTES];
};

/* The same about the node's agent. */
struct nd_agent_end {
    char certificate[NL_AGENT_TEXT_BYTES]; /* "" without an agent, or when its companion was gone */
    int has_agent;
    char host[ND_HOST_BYTES];
};

/* What launches of all programs have in common. */
struct nd_launch {
    const char *id;
    int argc;
    char **argv;
    uint64_t seed;
    const struct nd_team *team;
    const struct nl_ticks *ticks;
    const struct nd_host *hosts;
    const struct nd_binding *bindings;
};

/* That, with the program's options (taken over) and the MPI library's settings for n operations. New
 * reference. */
json_t *nd_launch_json_begin(const char *program, const struct nd_launch *l, json_t *options,
                             const char *const *operations, int n);

json_t *nd_launch_json_new(const struct nd_launch *l, const struct nd_options *o,
                           const struct nl_preempted *preempted, const struct nd_cell *cells, int64_t n_pairs,
                           int n_generators, int n_agents);

/* Adds "follows": whose beats were timed; `executable` NULL: nobody's. */
void nd_launch_json_program(json_t *launch, const struct nd_options *o, const char *executable,
                            const struct nd_beat *beat);

/* Adds "start"; null without synchronised starts (`s` NULL). Completed at the end by the overshoots of all
 * ranks and recorded starts. */
void nd_launch_json_start(json_t *launch, const struct nd_options *o, const struct nd_starter *s);

void nd_launch_json_start_end(json_t *launch, const struct nd_starter *s, const struct nl_hist *overshoots);

json_t *nd_config_json(const struct nd_config *c); /* {operation, bytes} */

/* Headers of the raw file and of slices.HOST.bin, kept by the rank of this binding. New references. */
json_t *nd_launch_json_raw_header(const json_t *launch, const struct nd_options *o,
                                  const struct nd_starter *s);

json_t *nd_launch_json_slices_header(const char *launch, const struct nd_options *o,
                                     const struct nd_binding *binding);

/* Adds "likwid": whether the launch runs under it, and why its counters cannot be had (NULL: they can). Null
 * when built without it. */
void nd_launch_json_likwid(json_t *launch, int is_asked, const char *problem);

void nd_launch_json_look(json_t *launch, const struct nd_options *o, const struct nd_look *look);

/* Adds a line to "warnings"; nd_launch_json_say says it, too. */
#define nd_launch_json_warn(launch, ...) nd_launch_json_note(launch, 0, __VA_ARGS__)
#define nd_launch_json_say(launch, ...)  nd_launch_json_note(launch, 1, __VA_ARGS__)
void nd_launch_json_note(json_t *launch, int is_said, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a node's certificate, if it had a generator; the switching times are the slowest so far. Warns about
 * doses that were missed. */
void nd_launch_json_generator(json_t *launch, const struct nd_options *o, const struct nd_node_end *node);

/* Adds "before": what the ranks' CPUs did before anything was measured. `nodes` NULL: nobody looked. */
void nd_launch_json_before(json_t *launch, const struct nd_quiet_node *nodes, int n_nodes, int64_t look_ns,
                           int n_looks, int64_t waited_ns);

/* Adds a node's account of its ranks' CPUs to "cpu_account"; warns where more is unaccounted for than a quiet
 * CPU may lose. */
void nd_launch_json_account(json_t *launch, const char *host, const struct nl_account_sum *sum);

/* Adds "counters": what is read around halves, how long a reading of the kernel's and a wake-up take on the
 * slowest node, which files of the kernel this node has not, and why hardware counters are not read ("": they
 * are). */
void nd_launch_json_counters(json_t *launch, int64_t reading_ns, int64_t wake_ns, int is_read,
                             const char *unknown, const char *problem);

void nd_launch_json_agent(json_t *launch, const struct nd_agent_end *node);

/* How it ended, when, the number of rows, and the most memory a rank held (VmHWM, KiB; -1 unknown). */
void nd_launch_json_end(json_t *launch, const char *ended, int64_t n_rows, int64_t peak_memory_kib);
