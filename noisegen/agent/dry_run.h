/* What `noiselab-agent --dry-run` does: finds and checks, starts a command for a second, and leaves nothing behind. */
#ifndef NA_DRY_RUN_H
#define NA_DRY_RUN_H

#include "noisegen/agent/companion_options.h"

/* Says what would be done on stdout unless a control page is given. Returns the exit status. */
int na_dry_run(const struct na_options *options);

#endif
