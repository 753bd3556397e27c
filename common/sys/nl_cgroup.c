#include "common/sys/nl_cgroup.h"

/* Whether a comma-separated list has the word. */
static int has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, word, length) == 0) return 1;
    return 0;
}

int nl_cgroup_of(const char *root, pid_t pid, const char *controller, char *path, int size) {
    char name[PATH_MAX], line[PATH_MAX + 256];
    int found = 0;
    if (snprintf(name, sizeof name, "%s/proc/%d/cgroup", root, (int)pid) >= (int)sizeof name) return -1;
    FILE *f = fopen(name, "re");
    if (!f) return -1;
    while (!found && fgets(line, sizeof line, f)) {
        /* number:controllers:path */
        char *controllers = strchr(line, ':'), *where = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!where) continue;
        *where++ = '\0';
        where[strcspn(where, "\n")] = '\0';
        if (*controller ? !has_word(controllers + 1, controller) : controllers[1] != '\0') continue;
        found = snprintf(path, (size_t)size, "%s", where) < size ? 1 : -1;
    }
    fclose(f);
    return found == 1 ? 0 : -1;
}

/* The first mount of a hierarchy, and what of the hierarchy is seen there ("/", or in a container a part). 0, -1. */
static int find_mount(const char *root, const char *controller, char mount[PATH_MAX], char part[PATH_MAX]) {
    char name[PATH_MAX], line[3 * PATH_MAX], type[64], options[1024];
    int found = 0;
    if (snprintf(name, sizeof name, "%s/proc/self/mountinfo", root) >= (int)sizeof name) return -1;
    FILE *f = fopen(name, "re");
    if (!f) return -1;
    while (!found && fgets(line, sizeof line, f)) {
        /* number parent device part mount options... - type source options */
        char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", part, mount) != 2) continue;
        if (sscanf(rest, " - %63s %*s %1023s", type, options) != 2) continue;
        found = *controller ? strcmp(type, "cgroup") == 0 && has_word(options, controller) : strcmp(type, "cgroup2") == 0;
    }
    fclose(f);
    return found ? 0 : -1;
}

int nl_cgroup_mount(const char *root, const char *controller, char *path, int size) {
    char mount[PATH_MAX], part[PATH_MAX];
    return find_mount(root, controller, mount, part) == 0 && snprintf(path, (size_t)size, "%s%s", root, mount) < size ? 0 : -1;
}

int nl_cgroup_each_up(const char *root, pid_t pid, const char *controller, void (*visit)(void *context, const char *path, int depth),
                      void *context) {
    char mount[PATH_MAX], part[PATH_MAX], own[PATH_MAX], folder[3 * PATH_MAX];
    if (find_mount(root, controller, mount, part) || nl_cgroup_of(root, pid, controller, own, sizeof own)) return -1;
    size_t hidden = strcmp(part, "/") == 0 ? 0 : strlen(part);
    /* a path that is not of the part that is seen is of another name space: what is mounted is all there is */
    int is_seen = strncmp(own, part, hidden) == 0 && strcmp(own, "/") != 0 && !strstr(own, "/..") && (!hidden || own[hidden] == '/');
    int top = snprintf(folder, sizeof folder, "%s%s", root, mount);
    if (is_seen) snprintf(folder + top, sizeof folder - (size_t)top, "%s", own + hidden);
    for (int depth = 0;; depth++) {
        visit(context, folder, depth);
        char *slash = strrchr(folder + top, '/');
        if (!slash) return 0;
        *slash = '\0';
    }
}
