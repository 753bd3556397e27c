/* noiselab-agent: switches a real agent on and off for a detector. Wiring only. */
#include "noisegen/agent/dry_run.h"
#include "noisegen/agent/journal.h"
#include "common/base/nl_error.h"
#include "noisegen/agent/companion_options.h"
#include "noisegen/agent/session.h"

int main(int argc, char **argv) {
    struct na_options options;
    nl_set_program("noiselab-agent");
    int go_on = na_options_parse(argc, argv, &options);
    if (go_on <= 0) return go_on < 0 ? NL_EXIT_USAGE : NL_EXIT_OK;
    if (options.restore) return na_journal_restore() ? NL_EXIT_USAGE : NL_EXIT_OK;
    return options.dry_run ? na_dry_run(&options) : na_session(&options);
}
