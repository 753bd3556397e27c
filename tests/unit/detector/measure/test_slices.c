/* Slices of a loop and bursts of a load: what is kept while they run, and the bytes that are written. */
#include "common/page/nl_bursts.h"
#include "common/base/nl_usual.h"
#include "detector/measure/slices.h"
#include "tests/unit/files.h"

static char path[PATH_MAX];
static struct nd_slices slices, *const s = &slices;
static struct {
    uint8_t bytes[1 << 18];
    size_t n_bytes, header_bytes;
} w; /* what was written */

FIXTURE(open_slices) {
    json_auto_t *header = json_pack("{s:s}", "launch", "a");
    make_folder(state);
    snprintf(path, sizeof path, "%s/slices.bin", folder);
    slices = (struct nd_slices){.n_per_slice = 10};
    return nd_slices_open(&s->file, path, header);
}

static void close_slices(void) {
    nd_slices_close(s->file);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    w.n_bytes = fread(w.bytes, 1, sizeof w.bytes, f);
    fclose(f);
    uint32_t n;
    memcpy(&n, w.bytes + 12, 4);
    w.header_bytes = 16 + nl_little32(n);
}

static uint32_t word(size_t i) {
    uint32_t v;
    memcpy(&v, w.bytes + w.header_bytes + 4 * i, 4);
    return nl_little32(v);
}

static const struct nd_step step = {.config = 2, .level = 1, .order = 1, .pair = (INT64_C(3) << 32) + 7};

TEST_WITH(a_file_begins_with_what_it_is_and_a_header_of_whole_words, open_slices, remove_tree) {
    struct nd_slices_file *other = NULL;
    json_auto_t *header = json_object();
    assert_int_equal(nd_slices_open(&other, path, header), -1); /* one that is there is not written to */
    close_slices();
    assert_memory_equal(w.bytes, "NLSLICES\1\0\0\0\20\0\0\0{\"launch\":\"a\"}  ", 32);
    assert_int_equal(w.n_bytes, 32);
}

TEST_WITH(a_block_names_its_half_its_begin_and_what_each_slice_took, open_slices, remove_tree) {
    s->step = &step;
    nd_slices_begin(s, (INT64_C(5) << 32) + 9);
    s->ns[0] = 1000;
    s->ns[1] = UINT32_MAX;
    s->n = 2;
    assert_int_equal(nd_slices_write(s), 0);
    assert_int_equal(s->n, 0);
    assert_int_equal(nd_slices_write(s), 0); /* nothing more */
    close_slices();
    const uint32_t wanted[] = {2, 2, 1, 0, 7, 3, 9, 5, 10, 2};
    uint32_t sum = 0, weighted = 0;
    assert_memory_equal(w.bytes + w.header_bytes, "SLCE", 4);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(word(1 + i), wanted[i]);
        sum += wanted[i];
        weighted += wanted[i] * (uint32_t)(i + 1);
    }
    assert_int_equal(word(13), 1000);
    assert_int_equal(word(14), UINT32_MAX);
    assert_int_equal(word(11), sum + 1000 + UINT32_MAX);
    assert_int_equal(word(12), weighted + 11 * 1000 + 12 * UINT32_MAX);
    assert_int_equal(w.n_bytes, w.header_bytes + 15 * 4);
}

TEST_WITH(a_slice_ends_after_its_operations_and_lasts_until_the_next_begins, open_slices, remove_tree) {
    int64_t begin_ns = nl_mono_ns(), sum_ns = 0;
    nd_slices_begin(s, begin_ns);
    for (int i = 0; i < 39; i++)
        nd_slices_pass(s, 1);
    assert_int_equal(s->n, 3);
    nd_slices_pass(s, 1);
    assert_int_equal(s->n, 4);
    for (int i = 0; i < 4; i++)
        sum_ns += s->ns[i];
    EQUAL(begin_ns + sum_ns, s->last_ns, s->flags, 0);
    close_slices();
}

TEST_WITH(what_is_too_long_for_32_bits_or_has_no_room_is_flagged, open_slices, remove_tree) {
    nd_slices_begin(s, nl_mono_ns() - INT64_C(5000000000));
    nd_slices_pass(s, 10);
    EQUAL(s->ns[0], UINT32_MAX, s->flags, ND_SLICES_SATURATED);
    s->n_per_slice = 1;
    nd_slices_begin(s, nl_mono_ns());
    for (int i = 0; i <= ND_SLICES_MOST; i++)
        nd_slices_pass(s, 1);
    EQUAL(s->n, ND_SLICES_MOST, s->flags, ND_SLICES_CUT);
    nd_slices_begin(s, nl_mono_ns());
    assert_int_equal(s->flags, 0);
    close_slices();
}

TEST_WITH(slices_are_written_before_a_chunk_that_they_leave_no_room_for, open_slices, remove_tree) {
    s->step = &step;
    nd_slices_begin(s, nl_mono_ns());
    s->n = 5;
    nd_slices_before_chunk(s, 10 * (ND_SLICES_MOST - 6));
    assert_int_equal(s->n, 5);
    nd_slices_before_chunk(s, 10 * (ND_SLICES_MOST - 5));
    EQUAL(s->n, 0, s->has_failed, 0);
    s->step = NULL; /* a warm-up: forgotten */
    s->n = 5;
    nd_slices_before_chunk(s, 10 * ND_SLICES_MOST);
    assert_int_equal(s->n, 0);
    close_slices();
    assert_int_equal(w.n_bytes, w.header_bytes + (13 + 5) * 4);
}

TEST(a_slice_is_a_fifth_of_a_millisecond_long_and_at_least_one_operation) {
    EQUAL(nd_slices_operations(400), 500, nd_slices_operations(150000), 1, nd_slices_operations(1e9), 1);
    assert_int_equal(nd_slices_operations(1e-9), UINT32_MAX);
}

TEST(bursts_are_taken_once_each_in_order_and_counted_as_lost_where_nobody_took_them_in_time) {
    static struct nl_bursts ring;
    static struct nl_burst taken[NL_BURSTS_MOST];
    int64_t seen = 0, n_lost = 0;
    for (int i = 1; i <= 3; i++) {
        nl_bursts_begin(&ring, 10 * i);
        assert_int_equal(atomic_load(&ring.since_ns), 10 * i);
        nl_bursts_end(&ring, 10 * i + 4);
        assert_int_equal(atomic_load(&ring.since_ns), 0);
    }
    EQUAL(nl_bursts_take(&ring, &seen, taken, &n_lost), 3, taken[0].start_ns, 10, taken[2].end_ns, 34);
    EQUAL(nl_bursts_take(&ring, &seen, taken, &n_lost), 0, n_lost, 0);
    for (int i = 1; i <= NL_BURSTS_MOST + 99; i++) {
        nl_bursts_begin(&ring, i);
        nl_bursts_end(&ring, i);
    }
    assert_int_equal(nl_bursts_take(&ring, &seen, taken, &n_lost), NL_BURSTS_MOST - 1);
    EQUAL(n_lost, 100, taken[0].start_ns, 101, taken[NL_BURSTS_MOST - 2].start_ns, NL_BURSTS_MOST + 99);
}
