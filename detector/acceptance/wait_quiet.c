#include "detector/acceptance/wait_quiet.h"
#include "common/base/nl_units.h"
#include "common/sys/nl_place.h"
#include "detector/acceptance/accept_run.h"
#include "detector/nodes/quiet.h"

#define LOOK_NS  INT64_C(1000000000)
#define PAUSE_NS INT64_C(1000000000) /* between two looks */

/* Flags of the CPUs that this node's processes may use; NULL: unknown. To be freed. */
static unsigned char *allowed_cpus(int *n_cpus) {
    struct nl_place *place;
    unsigned char *used = NULL;
    *n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
    if (nl_place_open(&place)) return NULL;
    if (*n_cpus > 0) used = calloc((size_t)*n_cpus, sizeof *used);
    for (int cpu = 0; used && cpu < *n_cpus; cpu++)
        used[cpu] = (unsigned char)nl_place_is_allowed(place, cpu);
    nl_place_close(place);
    return used;
}

void nx_wait_quiet(struct nx_others *o, const struct nd_launcher *launcher, int64_t most_ns,
                   const volatile int *stop_asked) {
    struct nd_quiet_node *node = NULL;
    char line[400], time[32];
    int n_cpus, n_own = strcmp(launcher->name, "none") == 0 ? 1 : 2;
    const pid_t own[] = {
        getpid(),
        getppid()}; /* without a launcher our parent is a shell, whose other children are not ours */
    if (most_ns <= 0 || launcher->local_rank != 0) return;
    unsigned char *used = allowed_cpus(&n_cpus);
    struct nd_quiet *quiet =
        used && NL_NEW(node, 1) ? nd_quiet_open("/proc", used, n_cpus, own, n_own) : NULL;
    int64_t begin_ns = nl_mono_ns();
    for (int is_over = !quiet; !is_over;) {
        nd_quiet_begin(quiet);
        nl_sleep_ns(LOOK_NS);
        nd_quiet_end(quiet, node);
        o->waited_ns = nl_mono_ns() - begin_ns;
        o->was_quiet = nd_quiet_is(node, 1, ND_QUIET_LIMIT_PERCENT);
        is_over = o->was_quiet || *stop_asked || o->waited_ns + PAUSE_NS + LOOK_NS > most_ns;
        if (!is_over) nl_sleep_ns(PAUSE_NS);
    }
    gethostname(node ? node->host : line, ND_HOST_BYTES - 1);
    if (!quiet)
        nl_warn("--wait-quiet: how busy the CPUs are cannot be read; goes on");
    else if (!o->was_quiet && nd_quiet_tell(node, 1, ND_QUIET_LIMIT_PERCENT, line, sizeof line) > 0)
        nl_warn("--wait-quiet: the CPUs are not quiet after %s: %s; goes on",
                nl_format_duration(o->waited_ns, time, sizeof time), line);
    if (quiet) nd_quiet_close(quiet);
    NL_FREE(used, node);
}
