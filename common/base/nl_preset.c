#include "common/base/nl_preset.h"

enum { LINE_BYTES = 1024 };

const char *nl_preset_folder(char *buf) {
    const char *told = getenv("NOISELAB_PRESETS");
    if (told && *told) {
        snprintf(buf, PATH_MAX, "%s", told);
        return buf;
    }
    char self[PATH_MAX];
    if (snprintf(buf, PATH_MAX, "%s/../share/noiselab/presets", nl_own_folder(self)) >= PATH_MAX)
        buf[0] = '\0';
    return buf;
}

static char *trim(char *text) {
    text += strspn(text, " \t\r\n");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]))
        text[--n] = '\0';
    return text;
}

static FILE *open_preset(const char *name, char *path, size_t size, char *reason, size_t reason_size) {
    char folder[PATH_MAX];
    nl_preset_folder(folder);
    if (!*name || strchr(name, '/') || name[0] == '.') {
        snprintf(reason, reason_size, "'%s' is not the name of a preset (see --list presets)", name);
        return NULL;
    }
    FILE *f = snprintf(path, size, "%s/%s.preset", folder, name) < (int)size ? fopen(path, "r") : NULL;
    if (!f && (errno == ENOENT || errno == ENOTDIR))
        snprintf(reason, reason_size, "there is no preset '%s' in '%s' (see --list presets)", name, folder);
    else if (!f)
        snprintf(reason, reason_size, "cannot read '%s': %s", path, strerror(errno));
    return f;
}

/* One line that is neither empty nor a comment. */
static int take_line(char *line, const char *where,
                     int (*take)(void *, const char *, const char *, const char *), void *context,
                     char *reason, size_t reason_size) {
    char *equals = strchr(line, '=');
    if (!equals) return nl_say(reason, reason_size, "%s: not of the form 'option = value'", where);
    *equals = '\0';
    const char *option = trim(line), *value = trim(equals + 1);
    char path[2 * PATH_MAX];
    if (strcmp(option, "replay") == 0 && value[0] != '/') {
        char folder[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", nl_preset_folder(folder), value);
        value = path;
    }
    return take(context, option, value, where);
}

int nl_preset_read(const char *name, int (*take)(void *, const char *, const char *, const char *),
                   void *context, char *reason, size_t reason_size) {
    char path[PATH_MAX + 16], line[LINE_BYTES], where[PATH_MAX + 64];
    int rc = 0;
    reason[0] = '\0';
    FILE *f = open_preset(name, path, sizeof path, reason, reason_size);
    if (!f) return -1;
    for (int number = 1; rc == 0 && fgets(line, sizeof line, f); number++) {
        int is_cut = !strchr(line, '\n') && !feof(f);
        char *text = trim(line);
        snprintf(where, sizeof where, "%s:%d", path, number);
        if (is_cut)
            rc = nl_say(reason, reason_size, "%s: longer than %d characters", where, LINE_BYTES - 2);
        else if (*text && *text != '#')
            rc = take_line(text, where, take, context, reason, reason_size);
    }
    if (rc == 0 && ferror(f)) rc = nl_say(reason, reason_size, "cannot read '%s': %s", path, strerror(errno));
    fclose(f);
    return rc;
}

/* ---- the list ---- */

static int is_preset(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return dot && dot != entry->d_name && strcmp(dot, ".preset") == 0;
}

static void describe(const char *path, char *buf, size_t size) {
    char line[LINE_BYTES];
    FILE *f = fopen(path, "r");
    buf[0] = '\0';
    while (f && fgets(line, sizeof line, f)) {
        char *text = trim(line);
        if (*text != '#') continue;
        snprintf(buf, size, "%s", trim(text + 1));
        break;
    }
    if (f) fclose(f);
}

int nl_preset_list(void (*show)(const char *, const char *), char *reason, size_t reason_size) {
    char folder[PATH_MAX];
    struct dirent **entries;
    int n = scandir(nl_preset_folder(folder), &entries, is_preset, alphasort);
    if (n < 0) return nl_say(reason, reason_size, "cannot read '%s': %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        char path[2 * PATH_MAX], description[LINE_BYTES];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        describe(path, description, sizeof description);
        *strrchr(entries[i]->d_name, '.') = '\0';
        show(entries[i]->d_name, description);
        free(entries[i]);
    }
    free(entries);
    return 0;
}
