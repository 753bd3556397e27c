/* sum: walks an array and adds it up, so it takes cache and memory bandwidth as well as CPU time. */
#include <stddef.h>
#include <stdlib.h>

#include "kinds.h"

extern const struct ng_kind ng_kind_sum;

/* 2 KiB per quantum: some 0.1 us from a cache and still below 1 us from memory, so that bursts of a microsecond are possible. */
enum { STRETCH = 256 };

struct sum_state {
    size_t n_elements, position;
    int64_t *array;
};

static int prepare(const struct ng_kind_options *options, void **state) {
    struct sum_state *s = calloc(1, sizeof *s);
    if (!s) return -1;
    s->n_elements = (size_t)options->array_bytes / sizeof(int64_t);
    s->array = calloc(s->n_elements, sizeof(int64_t));
    if (!s->array) {
        free(s);
        return -1;
    }
    for (size_t i = 0; i < s->n_elements; i++) s->array[i] = (int64_t)i; /* untouched pages would all be the one zero page */
    *state = s;
    return 0;
}

static void work(void *state) {
    struct sum_state *s = state;
    size_t end = s->n_elements - s->position > STRETCH ? s->position + STRETCH : s->n_elements;
    int64_t sum = 0;
    for (size_t i = s->position; i < end; i++) sum += s->array[i];
    __asm__ volatile("" : : "r"(sum));
    s->position = end < s->n_elements ? end : 0;
}

static void clean_up(void *state) {
    struct sum_state *s = state;
    if (!s) return;
    free(s->array);
    free(s);
}

const struct ng_kind ng_kind_sum = {
    .name = "sum",
    .help = "adds up an array, a stretch at a time: CPU time, cache and memory",
    .pacing = NG_PACING_DEADLINE,
    .period_ns = 10000000,
    .array_bytes = 2000000,
    .prepare = prepare,
    .work = work,
    .clean_up = clean_up,
};
