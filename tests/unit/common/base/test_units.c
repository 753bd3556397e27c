#include "common/base/nl_units.h"
#include "tests/unit/unit.h"

/* What a parser makes of a text; what it refuses leaves the value alone. */
#define GOOD(parse, type, ...)                                                                               \
    do {                                                                                                     \
        static const struct {                                                                                \
            const char *text;                                                                                \
            type value;                                                                                      \
        } rows[] = {__VA_ARGS__};                                                                            \
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {                                            \
            type value = 42;                                                                                 \
            if (parse(rows[i].text, &value) || value != rows[i].value)                                       \
                fail_msg(#parse " of '%s'", rows[i].text);                                                   \
        }                                                                                                    \
    } while (0)
#define BAD(parse, type, ...)                                                                                \
    do {                                                                                                     \
        static const char *const rows[] = {__VA_ARGS__};                                                     \
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {                                            \
            type value = 42;                                                                                 \
            if (!parse(rows[i], &value) || value != 42) fail_msg(#parse " takes '%s'", rows[i]);             \
        }                                                                                                    \
    } while (0)

TEST(durations_have_a_unit_and_are_not_zero_unless_asked_for) {
    GOOD(nl_parse_duration, int64_t, {"10ms", 10000000}, {"500us", 500000}, {"2s", 2000000000},
         {"0.5 s", 500000000}, {"1min", 60000000000}, {"1h", 3600000000000}, {"7ns", 7}, {".25ms", 250000});
    BAD(nl_parse_duration, int64_t, "", "ms", "2", "0.5", "-1ms", "+1s", "0", "0s", "0ms", "1 fortnight",
        "10msx", "nan", "inf", "0x10", "1e400", "0.1ns", " 1s");
    GOOD(nl_parse_duration_or_zero, int64_t, {"0s", 0}, {"0", 0}, {"1s", 1000000000});
    BAD(nl_parse_duration_or_zero, int64_t, "1");
    /* a bare number is a time only where the option's name says the unit */
    GOOD(nl_parse_seconds, int64_t, {"2", 2000000000}, {"0.3", 300000000}, {"5ms", 5000000});
    BAD(nl_parse_seconds, int64_t, "", "0", "0s", "-1", "2x", "ms", "nan");
}

TEST(sizes_rates_and_percentages_have_their_units_and_ranges) {
    GOOD(nl_parse_size, int64_t, {"2KiB", 2048}, {"2kB", 2000}, {"1MiB", 1048576}, {"0.5KiB", 512});
    BAD(nl_parse_size, int64_t, "12x", "", "-8", "0.3", "8 bytes", "1TiB", "1e30");
    GOOD(nl_parse_percent, double, {"0.3%", 0.3}, {"5", 5});
    BAD(nl_parse_percent, double, "", "%", "nan", "inf", "-1", "1%%", "0.1 percent");
    GOOD(nl_parse_rate, double, {"100", 100}, {"2.5", 2.5}, {"10k", 10000}, {".5", 0.5}, {"1e3", 1000},
         {"500MB", 5e8}, {"64KiB", 65536}, {"1GiB", 1073741824.}, {"1.5GB", 1.5e9}, {"7B", 7}, {"3kB", 3000},
         {"2MiB", 2097152}, {"10 k", 10000});
    BAD(nl_parse_rate, double, "", "0", "0.0", "-1", "+1", "k", "1K", "1m", "1kk", "nan", "inf", "0x1", "1/s",
        "10 per s", "1e30", "1e-400", "1e400", " 1", "10k/s", "1,000", "9e15GB");
}

static int from_1_to_20(const char *text, int64_t *n) { return nl_parse_int(text, 1, 20, n); }

TEST(whole_numbers_keep_to_their_range_and_seeds_use_all_64_bits) {
    GOOD(from_1_to_20, int64_t, {"17", 17}, {"1", 1}, {"20", 20});
    BAD(from_1_to_20, int64_t, "0", "21", "1.5", "", "99999999999999999999");
    GOOD(nl_parse_seed, uint64_t, {"18446744073709551615", UINT64_MAX}, {"0xff", 255});
    BAD(nl_parse_seed, uint64_t, "-1", "18446744073709551616", "1x");
}

TEST(lists_of_numbers_have_ranges_where_they_may) {
    static const struct {
        const char *text;
        int with_ranges, n, last;
    } rows[] = {
        {"3", 1, 1, 3},
        {"0-3,8", 1, 5, 8},
        {"7,7", 0, 2, 7},
        {"0-4", 1, 5, 4},
        {"0-5", 1, -1, 0},
        {"1,2,3,4,5,6", 0, -1, 0},
        {"0-3", 0, -1, 0},
        {"3-1", 1, -1, 0},
        {"100", 0, -1, 0},
        {"", 1, -1, 0},
        {"1,", 1, -1, 0},
        {",1", 1, -1, 0},
        {"1,,2", 1, -1, 0},
        {"-1", 1, -1, 0},
        {"1-", 1, -1, 0},
        {"1-2-3", 1, -1, 0},
        {"1x", 1, -1, 0},
        {" 1", 1, -1, 0},
        {"99999999999999999999", 1, -1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int numbers[5], n = nl_parse_list(rows[i].text, 0, 99, rows[i].with_ranges, numbers, 5);
        if (n != rows[i].n || (n > 0 && numbers[n - 1] != rows[i].last))
            fail_msg("'%s': %d numbers", rows[i].text, n);
    }
}

TEST(lists_refuse_empty_parts) {
    char good[] = "a,b,c", empty[] = "", hole[] = "a,,b", tail[] = "a,", full[] = "1,2,3";
    const char *parts[4];
    assert_int_equal(nl_split(good, parts, 4), 3);
    assert_string_equal(parts[2], "c");
    assert_int_equal(nl_split(empty, parts, 4), -1);
    assert_int_equal(nl_split(hole, parts, 4), -1);
    assert_int_equal(nl_split(tail, parts, 4), -1);
    assert_int_equal(nl_split(full, parts, 2), -1);
}

TEST(durations_are_shown_in_the_unit_that_fits) {
    char buf[32];
    assert_string_equal(nl_format_duration(10000000, buf, sizeof buf), "10 ms");
    assert_string_equal(nl_format_duration(1500, buf, sizeof buf), "1.5 us");
    assert_string_equal(nl_format_duration(7, buf, sizeof buf), "7 ns");
    assert_string_equal(nl_format_duration(90000000000, buf, sizeof buf), "90 s");
}
