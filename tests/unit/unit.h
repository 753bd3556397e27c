/* A file of cmocka tests: each is a function TEST(what_it_shows) {...}, and they run in the order of the
 * file. This has main. */
#pragma once

#include <setjmp.h>

#include "common/base/nl_usual.h"

#include <cmocka.h>

static struct CMUnitTest unit_tests[128];
static size_t n_unit_tests;
static CMFixtureFunction unit_set_up, unit_tear_down; /* of the file; NULL: none */

/* set_up and tear_down, before and after this test, may be NULL; `state` is what they make it. */
#define TEST_WITH(name, set_up, tear_down)                                                                   \
    static void name(void **state);                                                                          \
    __attribute__((constructor)) static void register_##name(void) {                                         \
        unit_tests[n_unit_tests++] = (struct CMUnitTest){#name, name, set_up, tear_down, NULL};              \
    }                                                                                                        \
    static void name(__attribute__((unused)) void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* What is handed to TEST_WITH and GROUP. */
#define FIXTURE(name) static int name(__attribute__((unused)) void **state)

/* OWNED(close) struct thing t: close(&t) when its block is left. */
#define OWNED(close) __attribute__((cleanup(close)))

/* Before and after all tests of the file. */
#define GROUP(set_up, tear_down)                                                                             \
    __attribute__((constructor)) static void register_group(void) {                                          \
        unit_set_up = set_up, unit_tear_down = tear_down;                                                    \
    }

/* Skips a test with its reason, a format and its arguments, which tests/run.sh shows beside the test's name.
 */
#define SKIP(...)                                                                                            \
    do {                                                                                                     \
        print_message("skipped: " __VA_ARGS__);                                                              \
        print_message("\n");                                                                                 \
        skip();                                                                                              \
    } while (0)

__attribute__((unused)) static void assert_contains(const char *text, const char *part) {
    if (!text || !strstr(text, part)) fail_msg("'%s' does not contain '%s'", text ? text : "(nothing)", part);
}

__attribute__((unused)) static void assert_near(double value, double wanted, double tolerance) {
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%.17g is not within %.3g of %.17g", value, tolerance, wanted);
}

/* Pairs of whole numbers, each of which is equal: EQUAL(n_rows, 2, n_columns, 3). */
#define EQUAL(...)                                                                                           \
    assert_pairs(__FILE__, __LINE__, #__VA_ARGS__, (const int64_t[]){__VA_ARGS__},                           \
                 sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t))

__attribute__((unused)) static void assert_pairs(const char *file, int line, const char *text,
                                                 const int64_t *values, size_t n) {
    for (size_t i = 0; i < n; i += 2) {
        if (values[i] == values[i + 1]) continue;
        print_error("pair %zu of (%s): %" PRId64 " is not %" PRId64 "\n", i / 2 + 1, text, values[i],
                    values[i + 1]);
        _fail(file, line);
    }
}

int main(void) {
    return _cmocka_run_group_tests("tests", unit_tests, n_unit_tests, unit_set_up, unit_tear_down);
}
