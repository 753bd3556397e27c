#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "experiments/command/values.h"

static const char launch[] =
    "{\"ended\": null, \"ranks\": 4, \"share\": 0.5, \"quiet\": true, \"name\": \"\", \"text\": \"a b\", \"two\": \"a\\nb\","
    " \"cells\": [{\"operation\": \"barrier\", \"pilot_ns\": 1500}, {\"operation\": \"bcast\", \"pilot_ns\": 2500.5}],"
    " \"none\": [], \"agent\": {\"settle_ns\": 7, \"ended\": \"complete\"}}";

static char reason[256];

/* What the paths mean in `launch`, or NULL. */
static const char *values(const char *before, const char *const *paths, int n) {
    static char text[1024];
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    json_t *json = json_loads(launch, 0, NULL);
    assert_non_null(json);
    int failed = nc_values_write(f, json, paths, n, before, reason, sizeof reason);
    fclose(f);
    json_decref(json);
    strncpy(text, out, sizeof text - 1);
    free(out);
    if (failed) assert_string_equal(text, "");
    return failed ? NULL : text;
}

#define VALUES(...) values("", (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void every_type_has_one_spelling(void **state) {
    (void)state;
    assert_string_equal(VALUES("ended", "ranks", "share", "quiet", "name", "text"), "-\t4\t0.5\ttrue\t\"\"\ta b\n");
}

static void a_field_is_found_by_its_path_and_not_by_its_name(void **state) {
    (void)state;
    assert_string_equal(VALUES("agent.ended"), "complete\n");
    assert_string_equal(VALUES("ended"), "-\n");
}

static void a_star_is_a_line_for_every_element(void **state) {
    (void)state;
    assert_string_equal(VALUES("cells.*.operation", "ranks", "cells.*.pilot_ns"), "barrier\t4\t1500\nbcast\t4\t2500.5\n");
    assert_string_equal(VALUES("none.*"), "");
    assert_string_equal(values("file\t", (const char *const[]){"cells.*.pilot_ns"}, 1), "file\t1500\nfile\t2500.5\n");
}

static void what_is_missing_is_an_error_that_names_it(void **state) {
    (void)state;
    assert_null(VALUES("ranks", "rank"));
    assert_string_equal(reason, "there is no value 'rank'");
    assert_null(VALUES("cells.*.operation", "cells.*.median_ns"));
    assert_string_equal(reason, "there is no value 'cells.*.median_ns'");
    assert_null(VALUES("agent"));
    assert_null(VALUES("ranks.settle_ns"));
    assert_null(VALUES("ranks.*"));
    assert_null(VALUES(""));
}

static void what_does_not_fit_on_a_line_is_an_error(void **state) {
    (void)state;
    assert_null(VALUES("two"));
    assert_string_equal(reason, "'two' holds a tab or the end of a line");
    assert_null(VALUES("cells.*.operation", "none.*"));
    assert_string_equal(reason, "'cells.*.operation' and 'none.*' have different numbers of values");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_one_spelling),
        cmocka_unit_test(a_field_is_found_by_its_path_and_not_by_its_name),
        cmocka_unit_test(a_star_is_a_line_for_every_element),
        cmocka_unit_test(what_is_missing_is_an_error_that_names_it),
        cmocka_unit_test(what_does_not_fit_on_a_line_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
