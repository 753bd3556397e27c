/* A folder of a test's own, made and removed by fixtures, and files in it. */
#pragma once

#include "tests/unit/unit.h"

static char folder[PATH_MAX - 64];

/* A file of the folder with the folders above it, by its name in it. */
__attribute__((unused)) static void put_bytes(const char *name, const char *bytes, size_t n) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    }
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

__attribute__((unused)) static void put(const char *name, const char *text) {
    put_bytes(name, text, strlen(text));
}

__attribute__((unused)) FIXTURE(make_folder) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/noiselab-test.XXXXXX", parent && parent[0] ? parent : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

/* With what is left in it. */
__attribute__((unused)) FIXTURE(remove_tree) {
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}
