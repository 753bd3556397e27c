#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "nl_place.h"

/* hwloc's synthetic machines: two packages of two cores with two hardware threads each */
static int synthetic(void **state) {
    setenv("HWLOC_SYNTHETIC", "package:2 core:2 pu:2", 1);
    return nl_place_open((struct nl_place **)state);
}

static int real(void **state) {
    unsetenv("HWLOC_SYNTHETIC");
    return nl_place_open((struct nl_place **)state);
}

static int done(void **state) {
    nl_place_close(*state);
    unsetenv("HWLOC_SYNTHETIC");
    return 0;
}

static void a_synthetic_machine_has_the_cpus_it_was_given(void **state) {
    char list[64];
    struct nl_place *p = *state;
    assert_string_equal(nl_place_list(p, list, sizeof list), "0-7");
    assert_int_equal(nl_place_count(p), 8);
    assert_int_equal(nl_place_smt(p), 2);
    assert_int_equal(nl_place_first(p), 0);
    assert_true(nl_place_is_allowed(p, 7));
    assert_false(nl_place_is_allowed(p, 8));
    assert_false(nl_place_is_allowed(p, -1));
}

static void the_summary_counts_packages_cores_and_threads(void **state) {
    char text[160];
    nl_place_summary(*state, text, sizeof text);
    assert_non_null(strstr(text, "Package:2"));
    assert_non_null(strstr(text, "Core:4 PU:8"));
}

static void pinning_outside_the_allowed_cpus_is_refused(void **state) {
    assert_int_equal(nl_place_pin(*state, 4096), -1);
    assert_int_equal(nl_place_pin(*state, -1), -1);
}

static void after_pinning_the_binding_is_that_cpu(void **state) {
    char list[64];
    int n = 0, first = -1, cpu = nl_place_first(*state);
    assert_int_equal(nl_place_pin(*state, cpu), 0);
    assert_int_equal(nl_binding_of_thread(list, sizeof list, &n, &first), 0);
    assert_int_equal(n, 1);
    assert_int_equal(first, cpu);
    nl_place_restrict_to_binding(*state);
    assert_int_equal(nl_place_count(*state), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_synthetic_machine_has_the_cpus_it_was_given, synthetic, done),
        cmocka_unit_test_setup_teardown(the_summary_counts_packages_cores_and_threads, synthetic, done),
        cmocka_unit_test_setup_teardown(pinning_outside_the_allowed_cpus_is_refused, real, done),
        cmocka_unit_test_setup_teardown(after_pinning_the_binding_is_that_cpu, real, done),
    };
    return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
