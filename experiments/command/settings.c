#include "experiments/command/settings.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

#include "common/sys/nl_whole.h"

const struct nc_setting nc_settings[] = {
#define SYSCTL(name, settling, does)                {name, NC_SYSCTL, NULL, does, NULL, settling},
#define FILE(name, settling, path, does, permanent) {name, NC_FILE, path, does, permanent, settling},
#define BOOT(name, does)                            {name, NC_BOOT, NULL, does, NULL, NULL},
#define TASK(name, does, permanent)                 {name, NC_TASK, NULL, does, permanent, NULL},
#include "experiments/command/settings.table"
#undef SYSCTL
#undef FILE
#undef BOOT
#undef TASK
    {NULL, NC_FILE, NULL, NULL, NULL, NULL},
};

enum { MAX_DISTINCT = 4, LINE_BYTES = 4096 };

/* The word in brackets, where there is one; else the text as it is. In place. */
static char *chosen(char *text) {
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    if (!close) return text;
    *close = '\0';
    return open + 1;
}

/* Whether the list a,b,c has the word. */
static int has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ',')) return 1;
    return 0;
}

/* Why the file cannot be written, NULL where it can. Rights alone are asked for: writing would change it. */
static const char *why_not(const char *path) {
    struct stat s;
    if (stat(path, &s) == 0 && !(s.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)))
        return "the kernel takes no other value while it runs";
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0) return NULL;
    if (errno == EROFS) return "it is mounted read-only here, as in a container";
    return geteuid() == 0 ? "root may not change it here, as in a container" : "only root may";
}

static void look_at_files(const char *pattern, struct nc_setting_found *found) {
    char text[LINE_BYTES];
    glob_t files;
    int n_distinct = 0;
    if (glob(pattern, 0, NULL, &files)) return;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (nl_read(files.gl_pathv[i], text, sizeof text) < 0) {
            if (!found->is_here) found->why_not = "it cannot be read";
            continue;
        }
        text[strcspn(text, "\n")] = '\0';
        const char *value = chosen(text);
        if (!found->is_here) {
            found->is_here = 1;
            snprintf(found->source, sizeof found->source, "%s", files.gl_pathv[i]);
            found->why_not = why_not(files.gl_pathv[i]);
            found->is_permitted = !found->why_not;
        } else if (has_word(found->here, value)) {
            continue;
        }
        size_t used = strlen(found->here);
        if (n_distinct++ < MAX_DISTINCT)
            snprintf(found->here + used, sizeof found->here - used, "%s%s", used ? ", " : "",
                     value[0] ? value : "none");
    }
    globfree(&files);
}

static void look_at_boot(const char *path, const char *name, struct nc_setting_found *found) {
    char text[LINE_BYTES];
    char *rest = text;
    size_t length = strlen(name);
    found->why_not = "only a boot changes it";
    if (nl_read(path, text, sizeof text) < 0) return;
    found->is_here = 1;
    snprintf(found->source, sizeof found->source, "%s", path);
    snprintf(found->here, sizeof found->here, "not set");
    text[strcspn(text, "\n")] = '\0';
    /* The last one counts, as for the kernel. */
    for (char *word; (word = strsep(&rest, " "));) {
        if (strncmp(word, name, length) || (word[length] != '=' && word[length] != '\0')) continue;
        snprintf(found->here, sizeof found->here, "%.*s", (int)sizeof found->here - 1,
                 word[length] ? word + length + 1 : "set");
    }
}

static void look_at_tasks(const char *pattern, const char *name, struct nc_setting_found *found) {
    char text[64];
    glob_t files;
    found->is_here = 1;
    found->why_not = geteuid() == 0 ? NULL : "only root may";
    found->is_permitted = !found->why_not;
    snprintf(found->here, sizeof found->here, "not running");
    if (glob(pattern, 0, NULL, &files)) return;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (strcmp(nl_read_line(files.gl_pathv[i], text, sizeof text), name)) continue;
        snprintf(found->here, sizeof found->here, "running");
        snprintf(found->source, sizeof found->source, "%s", files.gl_pathv[i]);
        break;
    }
    globfree(&files);
}

int64_t nc_setting_settling_ms(const char *root, const struct nc_setting *setting) {
    char path[PATH_MAX], text[64];
    const char *blank = setting->settling ? strchr(setting->settling, ' ') : NULL;
    if (!setting->settling) return -1;
    if (!blank) return atoll(setting->settling);
    snprintf(path, sizeof path, "%s%.*s", root, (int)(blank - setting->settling), setting->settling);
    long long ms = atoll(nl_read_line(path, text, sizeof text));
    return ms > 0 ? ms : atoll(blank + 1);
}

void nc_setting_look(const char *root, const struct nc_setting *setting, struct nc_setting_found *found) {
    char path[PATH_MAX];
    memset(found, 0, sizeof *found);
    snprintf(found->permanent, sizeof found->permanent, "%s", setting->permanent ? setting->permanent : "");
    switch (setting->kind) {
    case NC_SYSCTL: {
        int skipped = snprintf(path, sizeof path, "%s/proc/sys/", root);
        snprintf(path + skipped, sizeof path - (size_t)skipped, "%s", setting->name);
        for (char *at = path + skipped; *at; at++)
            if (*at == '.') *at = '/';
        look_at_files(path, found);
        snprintf(found->permanent, sizeof found->permanent, "%s = VALUE in a file of /etc/sysctl.d",
                 setting->name);
        break;
    }
    case NC_FILE:
        snprintf(path, sizeof path, "%s%s", root, setting->path);
        look_at_files(path, found);
        break;
    case NC_BOOT:
        snprintf(path, sizeof path, "%s/proc/cmdline", root);
        look_at_boot(path, setting->name, found);
        snprintf(found->permanent, sizeof found->permanent, "%s=VALUE on the kernel's command line",
                 setting->name);
        break;
    case NC_TASK:
        snprintf(path, sizeof path, "%s/proc/[0-9]*/comm", root);
        look_at_tasks(path, setting->name, found);
        break;
    }
    if (!found->is_here && !found->why_not) found->why_not = "this machine does not have it";
}
