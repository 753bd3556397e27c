/* Options as noiselab-detect reads them, for tests of what is made of them. */
#pragma once

#include "detector/options/options.h"
#include "tests/unit/unit.h"

/* What options hold belongs to the process: kept here, so that a checker of leaks finds it. */
static inline int parsed(struct nd_options *o, char *const *words) {
    static struct nd_options kept[32];
    static int n_kept;
    int n = 0;
    assert_true(n_kept < 32);
    while (words[n])
        n++;
    int status = nd_options_parse(n, (char **)words, 0, &kept[n_kept]);
    *o = kept[n_kept++];
    return status;
}
