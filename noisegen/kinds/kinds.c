#include "noisegen/kinds/kinds.h"

extern const struct ng_kind ng_kind_spin, ng_kind_sum, ng_kind_cache, ng_kind_membw, ng_kind_syscall, ng_kind_procfs, ng_kind_fork,
    ng_kind_ipi, ng_kind_pagefault, ng_kind_net, ng_kind_disk, ng_kind_wakeup, ng_kind_seed;

const struct ng_kind *const ng_kinds[] = {
    &ng_kind_spin, &ng_kind_sum,       &ng_kind_cache, &ng_kind_membw, &ng_kind_syscall, &ng_kind_procfs, &ng_kind_fork,
    &ng_kind_ipi,  &ng_kind_pagefault, &ng_kind_net,   &ng_kind_disk,  &ng_kind_wakeup,  &ng_kind_seed,   NULL,
};

const struct ng_kind *ng_kind_find(const char *name) { return nl_find(ng_kinds, name); }
