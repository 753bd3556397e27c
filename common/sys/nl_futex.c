#include "common/sys/nl_futex.h"

#include <linux/futex.h>

int nl_futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t deadline_ns) {
    struct timespec deadline = nl_timespec(deadline_ns < 0 ? 0 : deadline_ns);
    while (atomic_load(word) == seen) {
        /* FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC deadline: clock_nanosleep that a wake-up can
         * end */
        long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, deadline_ns < 0 ? NULL : &deadline, NULL,
                          FUTEX_BITSET_MATCH_ANY);
        if (rc < 0 && errno == ETIMEDOUT) return atomic_load(word) != seen;
    }
    return 1;
}

void nl_futex_wake(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }
