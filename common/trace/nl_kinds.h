/* The names of the load kinds, in the order of the lists: the table of kinds (noisegen/kinds/kinds.c) is made
 * from them, and a trace names them. 1: the kind keeps to a duration, so that a line of a trace can ask for
 * it. */
#pragma once

#define NL_KINDS(KIND)                                                                                       \
    KIND(spin, 1)                                                                                            \
    KIND(sum, 1)                                                                                             \
    KIND(cache, 1)                                                                                           \
    KIND(membw, 1)                                                                                           \
    KIND(syscall, 1)                                                                                         \
    KIND(procfs, 1)                                                                                          \
    KIND(fork, 1)                                                                                            \
    KIND(ipi, 1)                                                                                             \
    KIND(pagefault, 1)                                                                                       \
    KIND(net, 1)                                                                                             \
    KIND(disk, 1)                                                                                            \
    KIND(wakeup, 1)                                                                                          \
    KIND(seed, 0)
