/* noiselab-agent: switches a real agent on and off for a detector. Wiring only. */
#include "noisegen/agent/agent.h"
#include "noisegen/agent/dry_run.h"
#include "noisegen/agent/journal.h"
#include "common/base/nl_error.h"
#include "common/base/nl_options.h"
#include "noisegen/agent/companion_options.h"
#include "noisegen/agent/session.h"

static int print_list(const char *what) {
    int is_ways = strcmp(what, "ways") == 0, is_freezers = strcmp(what, "freezers") == 0, is_accounts = strcmp(what, "accounts") == 0;
    for (const struct na_way *const *w = na_ways; is_ways && *w; w++) printf("%-10s --%s: %s\n", (*w)->name, (*w)->option, (*w)->help);
    for (const struct na_freezer *const *f = na_freezers; is_freezers && *f; f++) printf("%-10s %s\n", (*f)->name, (*f)->help);
    for (const struct na_cpu_source *const *c = na_cpu_sources; is_accounts && *c; c++) printf("%-10s %s\n", (*c)->name, (*c)->help);
    return is_ways || is_freezers || is_accounts ? 0 : -1;
}

static void print_tables(void) {
    NL_TABLES_ROWS("way", na_ways);
    NL_TABLES_ROWS("freezer", na_freezers);
    NL_TABLES_ROWS("account", na_cpu_sources);
}

int main(int argc, char **argv) {
    static const struct na_lists lists = {print_list, print_tables};
    struct na_options options;
    nl_set_program("noiselab-agent");
    int go_on = na_options_parse(argc, argv, &lists, &options);
    if (go_on <= 0) return go_on < 0 ? NL_EXIT_USAGE : NL_EXIT_OK;
    if (options.restore) return na_journal_restore() ? NL_EXIT_USAGE : NL_EXIT_OK;
    return options.dry_run ? na_dry_run(&options) : na_session(&options);
}
