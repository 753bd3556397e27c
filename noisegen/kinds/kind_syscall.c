/* syscall: a storm of the cheapest system call that the kernel really executes. Beside CPU time it takes what
 * entering and leaving the kernel does to branch predictors and, with mitigations, to much else. */
#include "noisegen/kinds/kinds.h"

static int64_t work(void *state) {
    (void)state;
    syscall(SYS_getppid); /* not the library's functions: some answer from memory */
    return 1;
}

const struct ng_kind ng_kind_syscall = {
    .name = "syscall",
    .help = "a storm of cheap system calls (getppid)",
    .unit = "calls",
    .period_ns = 10000000,
    .work = work,
};
