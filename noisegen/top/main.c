/* noiselab-top: who disturbs the ranks now. Wiring only. */
#include "noisegen/top/top_session.h"

int main(int argc, char **argv) {
    static struct nt_options options; /* its lists are too long for the stack */
    nl_set_program("noiselab-top");
    int go_on = nt_options_parse(argc, argv, &options);
    if (go_on <= 0) return go_on < 0 ? NL_EXIT_USAGE : NL_EXIT_OK;
    return nt_session(&options);
}
