#include "noisegen/kinds/kinds.h"
#include "common/sys/nl_stat.h"
#include "common/trace/nl_kinds.h"
#include "common/sys/nl_memory.h"

#define DECLARED(name, keeps_duration) extern const struct ng_kind ng_kind_##name;
#define ROW(name, keeps_duration)      &ng_kind_##name,

NL_KINDS(DECLARED)

const struct ng_kind *const ng_kinds[] = {NL_KINDS(ROW) NULL};

const struct ng_kind *ng_kind_find(const char *name) { return nl_find(ng_kinds, name); }

int ng_kind_open(const struct ng_kind *kind, const struct ng_kind_options *options, void **state,
                 char *reason, size_t reason_size) {
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

int ng_array_open(struct ng_array *array, int64_t n_bytes, enum ng_pages pages, char *reason,
                  size_t reason_size) {
    enum { LINE = 64, HUGE_PAGE = 2 << 20 };
    int64_t available = nl_memory_available();
    *array = (struct ng_array){0};
    if (n_bytes < 1) return nl_say(reason, reason_size, "an array of %" PRId64 " bytes is no array", n_bytes);
    if (available >= 0 && n_bytes > available)
        return nl_say(reason, reason_size, "no memory for %" PRId64 " bytes: %" PRId64 " are available",
                      n_bytes, available);
    /* whole huge pages also where the array is smaller: a part of one is still contiguous, and so falls
     * evenly on the sets of a cache */
    size_t unit = pages == NG_PAGES_HUGE ? HUGE_PAGE : LINE;
    size_t rounded = (uint64_t)n_bytes < SIZE_MAX - unit ? ((size_t)n_bytes + unit - 1) / unit * unit : 0;
    array->bytes = rounded ? aligned_alloc(unit, rounded) : NULL;
    if (!array->bytes) return nl_say(reason, reason_size, "no memory for %" PRId64 " bytes", n_bytes);
    array->n_bytes = (size_t)n_bytes;
    if (pages == NG_PAGES_HUGE)
        madvise(array->bytes, rounded, MADV_HUGEPAGE); /* a wish: without it the kind still works */
    memset(array->bytes, 1, array->n_bytes);           /* untouched pages would all be the one zero page */
    return 0;
}

void ng_array_clean_up(void *state) { free(((struct ng_array *)state)->bytes); }
