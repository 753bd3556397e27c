/* Sleeping on a word of memory: a sleep to an absolute time that another thread, process or signal handler
 * can end. */
#pragma once

#include "common/base/nl_usual.h"

/* Sleeps until `*word` differs from `seen`, or until `deadline_ns` (CLOCK_MONOTONIC; negative: for ever).
 * @return 1 the word differs, 0 the deadline passed. */
int nl_futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t deadline_ns);

/* Wakes everybody who sleeps on the word. Safe in a signal handler. */
void nl_futex_wake(_Atomic uint32_t *word);
