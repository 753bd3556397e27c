/* noiselab-gen: loads CPUs by an exact dose. Wiring only. */
#include "noisegen/worker.h"
#include "noisegen/alone.h"
#include "noisegen/control.h"

int main(int argc, char **argv) {
    int parent_pid = getppid(); /* before anything that takes time: the parent may be dying */
    struct ng_options options;
    nl_set_program("noiselab-gen");
    int go_on = ng_options_parse(argc, argv, &options);
    if (go_on <= 0) return go_on < 0 ? NL_EXIT_USAGE : NL_EXIT_OK;
    if (!options.outlive_parent) prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
    if (!options.outlive_parent && getppid() != parent_pid) {
        nl_error("the process that started this one has ended (see --outlive-parent)");
        return NL_EXIT_USAGE;
    }
    if (options.control_fd >= 0 && options.dry_run)
        return NL_EXIT_OK; /* a detector asks whether its options would do */
    return options.control_fd >= 0 ? ng_controlled(&options) : ng_alone(&options);
}
