#include "common/base/nl_units.h"
#include "tests/unit/unit.h"

TEST(durations_take_every_unit) {
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"10ms", 10000000}, {"500us", 500000}, {"2s", 2000000000}, {"0.5 s", 500000000},
                {"1min", 60000000000}, {"1h", 3600000000000}, {"7ns", 7}, {".25ms", 250000}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ns = -1;
        assert_int_equal(nl_parse_duration(good[i].text, &ns), 0);
        assert_int_equal(ns, good[i].ns);
    }
}

TEST(durations_refuse_what_is_not_one) {
    static const char *const bad[] = {"",      "ms",  "2",   "0.5",  "-1ms",  "+1s",   "0",  "0ms", "1 fortnight",
                                      "10msx", "nan", "inf", "0x10", "1e400", "0.1ns", " 1s"};
    int64_t ns = 42;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_int_equal(nl_parse_duration(bad[i], &ns), -1);
    assert_int_equal(ns, 42);
}

TEST(zero_is_a_duration_only_where_it_is_asked_for) {
    int64_t ns = -1;
    assert_int_equal(nl_parse_duration_or_zero("0s", &ns), 0);
    assert_int_equal(ns, 0);
    assert_int_equal(nl_parse_duration("0s", &ns), -1);
    ns = -1;
    assert_int_equal(nl_parse_duration_or_zero("0", &ns), 0);
    assert_int_equal(ns, 0);
    assert_int_equal(nl_parse_duration_or_zero("1", &ns), -1);
}

TEST(a_bare_number_is_a_time_only_where_the_options_name_says_the_unit) {
    int64_t ns = -1;
    assert_int_equal(nl_parse_seconds("2", &ns), 0);
    assert_int_equal(ns, 2000000000);
    assert_int_equal(nl_parse_seconds("0.3", &ns), 0);
    assert_int_equal(ns, 300000000);
    assert_int_equal(nl_parse_seconds("5ms", &ns), 0);
    assert_int_equal(ns, 5000000);
    static const char *const bad[] = {"", "0", "0s", "-1", "2x", "ms", "nan"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_int_equal(nl_parse_seconds(bad[i], &ns), -1);
    assert_int_equal(ns, 5000000);
}

TEST(sizes_tell_kibibytes_from_kilobytes) {
    int64_t bytes = 0;
    assert_int_equal(nl_parse_size("2KiB", &bytes), 0);
    assert_int_equal(bytes, 2048);
    assert_int_equal(nl_parse_size("2kB", &bytes), 0);
    assert_int_equal(bytes, 2000);
    assert_int_equal(nl_parse_size("1MiB", &bytes), 0);
    assert_int_equal(bytes, 1048576);
    assert_int_equal(nl_parse_size("0.5KiB", &bytes), 0);
    assert_int_equal(bytes, 512);
}

TEST(sizes_refuse_fractions_of_a_byte_and_unknown_units) {
    int64_t bytes;
    static const char *const bad[] = {"12x", "", "-8", "0.3", "8 bytes", "1TiB", "1e30"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_int_equal(nl_parse_size(bad[i], &bytes), -1);
}

TEST(percentages_take_a_sign_and_refuse_words) {
    double percent = -1;
    assert_int_equal(nl_parse_percent("0.3%", &percent), 0);
    assert_true(percent == 0.3);
    assert_int_equal(nl_parse_percent("5", &percent), 0);
    assert_true(percent == 5);
    static const char *const bad[] = {"", "%", "nan", "inf", "-1", "1%%", "0.1 percent"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_int_equal(nl_parse_percent(bad[i], &percent), -1);
}

TEST(rates_take_the_units_of_sizes_and_thousands) {
    static const struct {
        const char *text;
        double per_s;
    } good[] = {{"100", 100},   {"2.5", 2.5},        {"10k", 10000},         {"0.1", 0.1},          {".5", 0.5},   {"1e3", 1000},
                {"500MB", 5e8}, {"64KiB", 65536},    {"1GiB", 1073741824.},  {"1.5GB", 1.5e9},      {"7B", 7},     {"3kB", 3000},
                {"2MiB", 2097152}, {"10 k", 10000}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double rate = -1;
        assert_int_equal(nl_parse_rate(good[i].text, &rate), 0);
        assert_true(rate == good[i].per_s);
    }
}

TEST(rates_refuse_what_is_not_one) {
    static const char *const bad[] = {"",   "0",     "0.0",  "-1",   "+1",   "k",    "1K",   "1m",       "1kk",  "nan",      "inf",
                                      "0x1", "1/s", "10 per s", "1e30", "1e-400", "1e400", " 1", "10k/s", "1,000", "9e15GB"};
    double rate = 42;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (nl_parse_rate(bad[i], &rate) != -1) fail_msg("'%s' was taken for a rate", bad[i]);
    assert_true(rate == 42);
}

TEST(factors_are_positive_and_within_their_range) {
    static const struct {
        const char *text;
        double factor;
    } good[] = {{"2", 2}, {"0.1", 0.1}, {".5", 0.5}, {"1e-9", 1e-9}, {"1e9", 1e9}, {"1", 1}};
    static const char *const bad[] = {"", "0", "0.0", "-1", "+1", "nan", "inf", "0x2", "2x", "2 ", " 2", "50%", "1e300",
                                      "1e-300", "1.1e9", "9e-10"};
    double factor = -1;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(nl_parse_factor(good[i].text, &factor), 0);
        assert_true(factor == good[i].factor);
    }
    factor = 42;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (nl_parse_factor(bad[i], &factor) != -1) fail_msg("'%s' was taken for a factor", bad[i]);
    assert_true(factor == 42);
}

TEST(whole_numbers_keep_to_their_range) {
    int64_t n = 0;
    assert_int_equal(nl_parse_int("17", 1, 20, &n), 0);
    assert_int_equal(n, 17);
    assert_int_equal(nl_parse_int("21", 1, 20, &n), -1);
    assert_int_equal(nl_parse_int("1.5", 1, 20, &n), -1);
    assert_int_equal(nl_parse_int("99999999999999999999", 0, INT64_MAX, &n), -1);
}

TEST(seeds_use_all_64_bits) {
    uint64_t seed = 0;
    assert_int_equal(nl_parse_seed("18446744073709551615", &seed), 0);
    assert_true(seed == UINT64_MAX);
    assert_int_equal(nl_parse_seed("0xff", &seed), 0);
    assert_int_equal(seed, 255);
    assert_int_equal(nl_parse_seed("-1", &seed), -1);
    assert_int_equal(nl_parse_seed("18446744073709551616", &seed), -1);
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
