#include "detector/ops/buffers.h"
#include "tests/unit/unit.h"

#define MIB (INT64_C(1) << 20)

static void open_or_fail(struct nd_buffers *b, const struct nd_buffer_options *o, int64_t send_bytes,
                         int64_t receive_bytes) {
    assert_int_equal(nd_buffers_open(b, o, send_bytes, receive_bytes), 0);
}

TEST(the_last_level_cache_is_at_least_as_large_as_any_other) {
    int64_t bytes = nd_buffers_cache_bytes();
    assert_true(bytes >= sysconf(_SC_LEVEL1_DCACHE_SIZE) && bytes >= sysconf(_SC_LEVEL2_CACHE_SIZE));
    assert_true(bytes >= 16 * 1024 && bytes < 16384 * MIB);
}

TEST(rotating_sets_exceed_the_cache_twice_or_are_as_many_as_allowed) {
    const struct nd_buffer_options rotate = {.use = ND_BUFFER_ROTATE};
    for (int64_t set_bytes = 1; set_bytes < INT64_C(1) << 40; set_bytes *= 3) {
        int64_t n = nd_buffers_sets(&rotate, set_bytes);
        assert_true(n >= 2 && n <= ND_BUFFERS_MOST_SETS);
        assert_true(n * set_bytes > 2 * nd_buffers_cache_bytes() || n == ND_BUFFERS_MOST_SETS);
        if (n > 2)
            assert_true((n - 1) * set_bytes <=
                        2 * nd_buffers_cache_bytes()); /* and no more than that takes */
    }
    assert_int_equal(nd_buffers_sets(&rotate, 0), ND_BUFFERS_MOST_SETS);
}

TEST(without_rotation_there_is_one_set_and_a_wish_comes_first) {
    EQUAL(nd_buffers_sets(&(struct nd_buffer_options){.use = ND_BUFFER_REUSE}, 64), 1,
          nd_buffers_sets(&(struct nd_buffer_options){.use = ND_BUFFER_FLUSH}, 64), 1,
          nd_buffers_sets(&(struct nd_buffer_options){.use = ND_BUFFER_ROTATE, .n_sets = 5}, 64), 5);
}

/* Every buffer gets a byte of its own: had two a place in common, the one filled later would show. */
TEST(sets_are_aligned_do_not_overlap_and_lie_within_their_memory) {
    static const int64_t sizes[][2] = {{1, 1}, {0, 4096}, {4096, 0}, {4097, 4095}, {64, 100000}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct nd_buffer_options o = {.use = ND_BUFFER_ROTATE, .n_sets = 7};
        OWNED(nd_buffers_close) struct nd_buffers b;
        open_or_fail(&b, &o, sizes[i][0], sizes[i][1]);
        EQUAL(b.n_sets, 7, b.current, 0, b.send_bytes, sizes[i][0] ? sizes[i][0] : 1, b.receive_bytes,
              sizes[i][1] ? sizes[i][1] : 1);
        for (int k = 0; k < 14; k++)
            memset(k % 2 ? b.receive[k / 2] : b.send[k / 2], k + 1,
                   (size_t)(k % 2 ? b.receive_bytes : b.send_bytes));
        for (int k = 0; k < 14; k++) {
            const unsigned char *buffer = k % 2 ? b.receive[k / 2] : b.send[k / 2];
            int64_t n_bytes = k % 2 ? b.receive_bytes : b.send_bytes;
            for (int64_t at = 0; at < n_bytes; at++)
                assert_int_equal(buffer[at], k + 1);
            assert_int_equal((uintptr_t)buffer % 4096, 0);
            assert_true(buffer >= (unsigned char *)b.memory &&
                        buffer + n_bytes <= (unsigned char *)b.memory + b.memory_bytes);
        }
    }
}

TEST(memory_that_is_not_there_is_refused) {
    OWNED(nd_buffers_close) struct nd_buffers b;
    assert_int_equal(nd_buffers_open(&b, &(struct nd_buffer_options){0}, INT64_C(1) << 60, 1), -1);
    assert_null(b.memory);
    assert_int_equal(b.n_sets, 0);
    assert_int_equal(nd_buffers_open(&b, &(struct nd_buffer_options){.use = ND_BUFFER_ROTATE, .n_sets = 4096},
                                     INT64_C(1) << 60, INT64_C(1) << 60),
                     -1);
}

/* Reads every line of the buffer once; ns. */
static int64_t reading_ns(const volatile char *buffer, int64_t bytes) {
    int64_t start_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    for (int64_t i = 0; i < bytes; i += 64)
        (void)buffer[i];
    return nl_now_ns(CLOCK_MONOTONIC_RAW) - start_ns;
}

NL_ORDER(compare, int64_t)

/* Not how long, but which of the two takes longer: reading 512 lines from memory or from the cache. */
TEST(flushed_buffers_are_read_more_slowly_than_cached_ones) {
    enum { TRIALS = 101, BYTES = 32768 };
    int64_t cached_ns[TRIALS], flushed_ns[2][TRIALS];
    struct nd_buffers b;
    open_or_fail(&b, &(struct nd_buffer_options){.use = ND_BUFFER_FLUSH}, BYTES, BYTES);
    for (int i = 0; i < TRIALS; i++) {
        reading_ns(b.send[0], BYTES);
        cached_ns[i] = reading_ns(b.send[0], BYTES);
        nd_buffers_flush(&b);
        flushed_ns[0][i] = reading_ns(b.send[0], BYTES);
        flushed_ns[1][i] = reading_ns(b.receive[0], BYTES);
    }
    nd_buffers_close(&b);
    qsort(cached_ns, TRIALS, sizeof *cached_ns, compare);
    for (int k = 0; k < 2; k++) {
        qsort(flushed_ns[k], TRIALS, sizeof **flushed_ns, compare);
        assert_true(2 * flushed_ns[k][TRIALS / 2] > 3 * cached_ns[TRIALS / 2]);
    }
}
