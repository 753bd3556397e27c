/* membw: streaming writes over an array. Non-temporal stores go past the caches, so it takes memory bandwidth
 * and leaves the caches of others as they are; processors without them fill caches as well. */

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "noisegen/kinds/kinds.h"

enum { LINE = 64, STRETCH = 4096, DEFAULT_BYTES = 64 << 20 };

struct membw_state {
    struct ng_array array;
    size_t n_bytes; /* whole lines of it */
    size_t position;
};

static int prepare(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size) {
    int64_t n_bytes = options->array_bytes ? options->array_bytes : DEFAULT_BYTES;
    if (n_bytes < LINE)
        return nl_say(reason, reason_size, "--kind: array-bytes: streaming writes need at least %d bytes",
                      LINE);
    struct membw_state *s = state;
    if (ng_array_open(&s->array, n_bytes, NG_PAGES_HUGE, reason, reason_size)) return -1;
    s->n_bytes = s->array.n_bytes / LINE * LINE;
    return 0;
}

/* Writes whole lines. Not with zeros, which some processors do not write at all. The fence at the end makes
 * the burst last as long as its writes do. */
#if defined(__SSE2__)
static void write_lines(unsigned char *begin, const unsigned char *end) {
    __m128i ones = _mm_set1_epi8(-1);
    for (; begin < end; begin += LINE)
        for (int i = 0; i < LINE; i += 16)
            _mm_stream_si128((__m128i *)(begin + i), ones);
    _mm_sfence();
}
#elif defined(__aarch64__)
static void write_lines(unsigned char *begin, const unsigned char *end) {
    for (; begin < end; begin += LINE)
        __asm__ volatile("movi v0.16b, #255\n\t"
                         "stnp q0, q0, [%0]\n\t"
                         "stnp q0, q0, [%0, #32]"
                         :
                         : "r"(begin)
                         : "v0", "memory");
    __asm__ volatile("dmb ishst" : : : "memory");
}
#else
static void write_lines(unsigned char *begin, const unsigned char *end) {
    for (; begin < end; begin += LINE)
        for (int i = 0; i < LINE; i += 8)
            *(volatile uint64_t *)(begin + i) = UINT64_MAX;
}
#endif

static int64_t work(void *state) {
    struct membw_state *s = state;
    size_t begin = s->position, end = s->n_bytes - begin > STRETCH ? begin + STRETCH : s->n_bytes;
    write_lines(s->array.bytes + begin, s->array.bytes + end);
    s->position = end < s->n_bytes ? end : 0;
    return (int64_t)(end - begin);
}

const struct ng_kind ng_kind_membw = {
    .name = "membw",
    .help = "streaming writes past the caches: memory bandwidth",
    .unit = "bytes",
    .period_ns = 10000000,
    .array_bytes = DEFAULT_BYTES,
    .uses = NG_USES_ARRAY,
    .state_bytes = sizeof(struct membw_state),
    .prepare = prepare,
    .work = work,
    .clean_up = ng_array_clean_up,
};
