#include "experiments/command/values.h"

/* Appends to `found` what is left of a path means; 0, -1 where there is no such value. */
static int follow(json_t *found, json_t *at, const char *path) {
    char key[NC_PATH_BYTES];
    size_t length = strcspn(path, "."), i;
    const char *rest = path + length + (path[length] == '.'), *name;
    json_t *element;
    if (!*path) return json_is_object(at) || json_is_array(at) ? -1 : json_array_append(found, at);
    if (snprintf(key, sizeof key, "%.*s", (int)length, path) >= (int)sizeof key || length == 0) return -1;
    if (strcmp(key, "*") != 0) {
        json_t *next = json_object_get(at, key);
        return next ? follow(found, next, rest) : -1;
    }
    json_array_foreach(at, i, element) if (follow(found, element, rest)) return -1;
    json_object_foreach(at, name, element) if (follow(found, element, rest)) return -1;
    return json_is_array(at) || json_is_object(at) ? 0 : -1;
}

/* 0, -1 for a text that would break the line. */
static int write_value(FILE *out, const json_t *value) {
    const char *text = json_string_value(value);
    if (text && strpbrk(text, "\t\n")) return -1;
    if (text) fputs(*text ? text : "\"\"", out);
    else if (json_is_null(value)) fputc('-', out);
    else json_dumpf(value, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    return 0;
}

static int write_lines(FILE *out, json_t *const *columns, const char *const *paths, int n, char *reason, size_t reason_size) {
    int starred = -1;
    for (int i = 0; i < n; i++) {
        if (!strchr(paths[i], '*')) continue;
        if (starred >= 0 && json_array_size(columns[i]) != json_array_size(columns[starred]))
            return nl_say(reason, reason_size, "'%s' and '%s' have different numbers of values", paths[starred], paths[i]);
        starred = i;
    }
    for (size_t line = 0; line < (starred < 0 ? 1 : json_array_size(columns[starred])); line++)
        for (int i = 0; i < n; i++) {
            if (write_value(out, json_array_get(columns[i], strchr(paths[i], '*') ? line : 0)))
                return nl_say(reason, reason_size, "'%s' holds a tab or the end of a line", paths[i]);
            fputc(i + 1 < n ? '\t' : '\n', out);
        }
    return 0;
}

int nc_values_write(FILE *out, json_t *json, const char *const *paths, int n, char *reason, size_t reason_size) {
    json_t *columns[NC_MAX_PATHS] = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size); /* all lines or none */
    int failed = !lines || n > NC_MAX_PATHS;
    snprintf(reason, reason_size, "there is not enough memory, or there are more than %d paths", NC_MAX_PATHS);
    for (int i = 0; i < n && !failed; i++) {
        failed = follow(columns[i] = json_array(), json, paths[i]);
        if (failed) snprintf(reason, reason_size, "there is no value '%s'", paths[i]);
    }
    failed = failed || write_lines(lines, columns, paths, n, reason, reason_size);
    if (lines) fclose(lines);
    if (!failed && fwrite(text, 1, size, out) != size) failed = nl_say(reason, reason_size, "it cannot be written");
    for (int i = 0; i < n && i < NC_MAX_PATHS; i++) json_decref(columns[i]);
    free(text);
    return failed ? -1 : 0;
}
