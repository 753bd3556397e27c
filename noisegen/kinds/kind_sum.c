/* sum: walks an array and adds it up, so it takes cache and memory bandwidth as well as CPU time. */
#include "noisegen/kinds/kinds.h"

/* 2 KiB per quantum: some 0.1 us from a cache and still below 1 us from memory, so that bursts of a
 * microsecond are possible. */
enum { STRETCH = 256, DEFAULT_BYTES = 2000000 };

struct sum_state {
    struct ng_array array;
    size_t n_elements, position;
};

static int prepare(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size) {
    int64_t n_bytes = options->array_bytes ? options->array_bytes : DEFAULT_BYTES;
    if (n_bytes < (int64_t)sizeof(int64_t))
        return nl_say(reason, reason_size, "--kind: array-bytes: the sum needs at least 8 bytes");
    struct sum_state *s = state;
    if (ng_array_open(&s->array, n_bytes, NG_PAGES_DEFAULT, reason, reason_size)) return -1;
    s->n_elements = s->array.n_bytes / sizeof(int64_t);
    return 0;
}

static int64_t work(void *state) {
    struct sum_state *s = state;
    const int64_t *elements = (const int64_t *)s->array.bytes;
    size_t begin = s->position, end = s->n_elements - begin > STRETCH ? begin + STRETCH : s->n_elements;
    uint64_t sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += (uint64_t)elements[i];
    __asm__ volatile("" : : "r"(sum));
    s->position = end < s->n_elements ? end : 0;
    return (int64_t)((end - begin) * sizeof *elements);
}

const struct ng_kind ng_kind_sum = {
    .name = "sum",
    .help = "adds up an array, part by part: CPU time, cache and memory",
    .unit = "bytes",
    .period_ns = 10000000,
    .array_bytes = DEFAULT_BYTES,
    .uses = NG_USES_ARRAY,
    .state_bytes = sizeof(struct sum_state),
    .prepare = prepare,
    .work = work,
    .clean_up = ng_array_clean_up,
};
