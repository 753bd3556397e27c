/* The kernel's account of the ranks' CPUs around a launch. */
#pragma once

#include "detector/run_state.h"

/* account.c: where the time of the ranks' CPUs goes between these two, into the launch's "cpu_account".
 * Collective; begin: 0 or -1. */
int nd_run_account_begin(struct nd_run *r);
void nd_run_account_end(struct nd_run *r);
void nd_run_account_close(struct nd_run *r);
