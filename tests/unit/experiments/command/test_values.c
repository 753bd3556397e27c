#include "experiments/command/values.h"
#include "tests/unit/unit.h"

static const char launch[] =
    "{\"ended\": null, \"ranks\": 4, \"share\": 0.5, \"quiet\": true, \"name\": \"\", \"text\": \"a b\", \"two\": \"a\\nb\","
    " \"cells\": [{\"operation\": \"barrier\", \"pilot_ns\": 1500}, {\"operation\": \"bcast\", \"pilot_ns\": 2500.5}],"
    " \"none\": [], \"agent\": {\"settle_ns\": 7, \"ended\": \"complete\"}}";

static char reason[256];

/* What the paths mean in `launch`, or NULL. */
static const char *values(const char *const *paths, int n) {
    static char text[1024];
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    json_auto_t *json = json_loads(launch, 0, NULL);
    assert_non_null(json);
    int failed = nc_values_write(f, json, paths, n, reason, sizeof reason);
    fclose(f);
    strncpy(text, out, sizeof text - 1);
    free(out);
    if (failed) assert_string_equal(text, "");
    return failed ? NULL : text;
}

#define VALUES(...) values((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

TEST(every_type_has_one_spelling) {
    assert_string_equal(VALUES("ended", "ranks", "share", "quiet", "name", "text"), "-\t4\t0.5\ttrue\t\"\"\ta b\n");
}

TEST(a_field_is_found_by_its_path_and_not_by_its_name) {
    assert_string_equal(VALUES("agent.ended"), "complete\n");
    assert_string_equal(VALUES("ended"), "-\n");
}

TEST(a_star_is_a_line_for_every_element) {
    assert_string_equal(VALUES("cells.*.operation", "ranks", "cells.*.pilot_ns"), "barrier\t4\t1500\nbcast\t4\t2500.5\n");
    assert_string_equal(VALUES("none.*"), "");
}

TEST(what_is_missing_is_an_error_that_names_it) {
    assert_null(VALUES("ranks", "rank"));
    assert_string_equal(reason, "there is no value 'rank'");
    assert_null(VALUES("cells.*.operation", "cells.*.median_ns"));
    assert_string_equal(reason, "there is no value 'cells.*.median_ns'");
    assert_null(VALUES("agent"));
    assert_null(VALUES("ranks.settle_ns"));
    assert_null(VALUES("ranks.*"));
    assert_null(VALUES(""));
}

TEST(what_does_not_fit_on_a_line_is_an_error) {
    assert_null(VALUES("two"));
    assert_string_equal(reason, "'two' holds a tab or the end of a line");
    assert_null(VALUES("cells.*.operation", "none.*"));
    assert_string_equal(reason, "'cells.*.operation' and 'none.*' have different numbers of values");
}
