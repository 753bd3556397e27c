#include "experiments/command/values.h"

/* The values of one path. */
struct column {
    const json_t **values; /* borrowed from the file's */
    size_t n;
    int has_star;
};

static int add(struct column *c, const json_t *value) {
    const json_t **more = realloc(c->values, (c->n + 1) * sizeof *more);
    if (!more) return -1;
    c->values = more;
    c->values[c->n++] = value;
    return 0;
}

/* Follows what is left of a path. 0, -1 where there is no such value. */
static int follow(struct column *c, const json_t *at, const char *path) {
    char key[NC_PATH_BYTES];
    if (!*path) return json_is_object(at) || json_is_array(at) ? -1 : add(c, at);
    size_t length = strcspn(path, ".");
    const char *rest = path + length + (path[length] == '.');
    if (length == 0 || length >= sizeof key) return -1;
    memcpy(key, path, length);
    key[length] = '\0';
    if (strcmp(key, "*") != 0) {
        const json_t *next = json_object_get(at, key);
        return next ? follow(c, next, rest) : -1;
    }
    c->has_star = 1;
    if (json_is_array(at)) {
        size_t i;
        json_t *element;
        json_array_foreach(at, i, element) if (follow(c, element, rest)) return -1;
        return 0;
    }
    const char *name;
    json_t *element;
    if (!json_is_object(at)) return -1;
    json_object_foreach((json_t *)at, name, element) if (follow(c, element, rest)) return -1;
    return 0;
}

/* 0, -1 for a text that would break the line. */
static int write_value(FILE *out, const json_t *value) {
    const char *text = json_string_value(value);
    if (text && strpbrk(text, "\t\n")) return -1;
    switch (json_typeof(value)) {
    case JSON_INTEGER: fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
    case JSON_REAL: fprintf(out, "%.17g", json_real_value(value)); break;
    case JSON_TRUE: fputs("true", out); break;
    case JSON_FALSE: fputs("false", out); break;
    case JSON_STRING: fputs(*text ? text : "\"\"", out); break;
    default: fputc('-', out);
    }
    return 0;
}

static int write_lines(FILE *out, const struct column *columns, const char *const *paths, int n, const char *before, char *reason,
                       size_t reason_size) {
    int starred = -1;
    for (int i = 0; i < n; i++) {
        if (!columns[i].has_star) continue;
        if (starred >= 0 && columns[i].n != columns[starred].n)
            return nl_say(reason, reason_size, "'%s' and '%s' have different numbers of values", paths[starred], paths[i]);
        starred = i;
    }
    size_t n_lines = starred < 0 ? 1 : columns[starred].n;
    for (size_t line = 0; line < n_lines; line++) {
        fputs(before, out);
        for (int i = 0; i < n; i++) {
            if (i) fputc('\t', out);
            if (write_value(out, columns[i].values[columns[i].has_star ? line : 0]) == 0) continue;
            return nl_say(reason, reason_size, "'%s' holds a tab or the end of a line", paths[i]);
        }
        fputc('\n', out);
    }
    return 0;
}

int nc_values_write(FILE *out, const json_t *json, const char *const *paths, int n, const char *before, char *reason, size_t reason_size) {
    struct column columns[NC_MAX_PATHS] = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size); /* all lines or none */
    int failed = !lines || n > NC_MAX_PATHS;
    snprintf(reason, reason_size, "there is not enough memory, or there are more than %d paths", NC_MAX_PATHS);
    for (int i = 0; i < n && !failed; i++) {
        failed = follow(&columns[i], json, paths[i]);
        if (failed) snprintf(reason, reason_size, "there is no value '%s'", paths[i]);
    }
    if (!failed) failed = write_lines(lines, columns, paths, n, before, reason, reason_size);
    if (lines) fclose(lines);
    if (!failed && fwrite(text, 1, size, out) != size) {
        failed = 1;
        snprintf(reason, reason_size, "it cannot be written");
    }
    for (int i = 0; i < n && i < NC_MAX_PATHS; i++) free(columns[i].values);
    free(text);
    return failed ? -1 : 0;
}
