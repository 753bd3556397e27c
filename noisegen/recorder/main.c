/* noiselab-record: what an agent does to CPUs, as a trace. Wiring only. */
#include "noisegen/recorder/recorder_options.h"
#include "noisegen/recorder/recorder_session.h"

int main(int argc, char **argv) {
    static struct nr_options options; /* its lists are too long for the stack */
    nl_set_program("noiselab-record");
    int go_on = nr_options_parse(argc, argv, &options);
    if (go_on <= 0) return go_on < 0 ? NL_EXIT_USAGE : NL_EXIT_OK;
    return nr_session(&options);
}
