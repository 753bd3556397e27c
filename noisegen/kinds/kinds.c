#include "noisegen/kinds/kinds.h"

extern const struct ng_kind ng_kind_spin, ng_kind_sum, ng_kind_cache, ng_kind_membw, ng_kind_syscall, ng_kind_procfs, ng_kind_fork,
    ng_kind_ipi, ng_kind_pagefault, ng_kind_net, ng_kind_disk, ng_kind_wakeup, ng_kind_seed;

const struct ng_kind *const ng_kinds[] = {
    &ng_kind_spin, &ng_kind_sum,       &ng_kind_cache, &ng_kind_membw, &ng_kind_syscall, &ng_kind_procfs, &ng_kind_fork,
    &ng_kind_ipi,  &ng_kind_pagefault, &ng_kind_net,   &ng_kind_disk,  &ng_kind_wakeup,  &ng_kind_seed,   NULL,
};

const struct ng_kind *ng_kind_find(const char *name) { return nl_find(ng_kinds, name); }

int ng_kind_open(const struct ng_kind *kind, const struct ng_kind_options *options, void **state, char *reason, size_t reason_size) {
    *state = kind->state_bytes ? calloc(1, kind->state_bytes) : NULL;
    if (kind->state_bytes && !*state) return nl_say(reason, reason_size, "no memory");
    if (!kind->prepare || kind->prepare(options, *state, reason, reason_size) == 0) return 0;
    ng_kind_close(kind, *state);
    *state = NULL;
    return -1;
}

void ng_kind_close(const struct ng_kind *kind, void *state) {
    if (state && kind->clean_up) kind->clean_up(state);
    free(state);
}
