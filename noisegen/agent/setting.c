#include "noisegen/agent/setting.h"
#include "noisegen/agent/kept.h"

#include <fnmatch.h>
#include <glob.h>

#include "common/base/nl_options.h"
#include "noisegen/agent/spawn.h"

/* ---- the words ---- */

/* Which kind a key is, and where its own word begins. */
static const char *kind_of(const char *key, enum na_setting_kind *kind) {
    static const struct {
        const char *prefix;
        enum na_setting_kind kind;
    } prefixes[] = {{"irq:", NA_SETTING_IRQ}, {"confine:", NA_SETTING_CONFINE}};
    *kind = NA_SETTING_FILES;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(key, prefixes[i].prefix, strlen(prefixes[i].prefix)) != 0) continue;
        *kind = prefixes[i].kind;
        return key + strlen(prefixes[i].prefix);
    }
    return key;
}

/* A sysctl is called by dots, or is the path of a file. */
static int is_key(const char *key, enum na_setting_kind kind, const char *target) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    if (!*target || strpbrk(key, "\t\n")) return 0;
    if (kind != NA_SETTING_FILES || *key == '/') return 1;
    return strspn(key, letters) == strlen(key) && isalpha((unsigned char)*key) && !strstr(key, "..");
}

/* Takes the next value of a list; \, is a comma of the value. Where it goes on, NULL: it is too long. */
static const char *next_value(const char *text, char *value) {
    size_t n = 0;
    for (; *text && *text != ','; text++) {
        if (*text == '\\' && text[1] == ',') text++;
        if (n + 1 == NA_UNDO_VALUE_BYTES || *text == '\n' || *text == '\t') return NULL;
        value[n++] = *text;
    }
    value[n] = '\0';
    return text;
}

static int take_values(struct na_setting *s, const char *text, char *reason, int size) {
    cpu_set_t ignored;
    for (;; text++) {
        if (s->n_values == NA_SETTING_VALUES)
            return nl_say(reason, size, "at most %d values can be compared", NA_SETTING_VALUES);
        char *value = s->values[s->n_values];
        text = next_value(text, value);
        if (!text)
            return nl_say(reason, size, "a value is one line of at most %d bytes", NA_UNDO_VALUE_BYTES - 1);
        if (!*value) return nl_say(reason, size, "one of its values is empty (try NAME=REFERENCE,OTHER)");
        if (s->kind != NA_SETTING_FILES && s->n_values >= (s->kind == NA_SETTING_CONFINE) &&
            na_cpus_parse(value, &ignored))
            return nl_say(reason, size, "'%s' is not a list of CPUs (try 0-3, or 0+2)", value);
        for (int i = 0; i < s->n_values; i++)
            if (strcmp(s->values[i], value) == 0)
                return nl_say(reason, size, "the value '%s' stands twice", value);
        s->n_values++;
        if (!*text) return 0;
    }
}

int na_settings_add(struct na_settings *all, const char *text, char *reason, int size) {
    const char *equals = strchr(text, '=');
    struct na_setting *s = &all->settings[all->n];
    if (all->n == NA_SETTINGS) return nl_say(reason, size, "at most %d settings can be crossed", NA_SETTINGS);
    *s = (struct na_setting){.kind = NA_SETTING_FILES};
    if (!equals || equals == text ||
        equals - text >= (ptrdiff_t)sizeof s->key - (ptrdiff_t)sizeof "/proc/sys/")
        return nl_say(reason, size, "'%s' is not NAME=REFERENCE,OTHER (try kernel.numa_balancing=1,0)", text);
    memcpy(s->key, text, (size_t)(equals - text));
    s->target = kind_of(s->key, &s->kind);
    if (!is_key(s->key, s->kind, s->target))
        return nl_say(reason, size,
                      "'%s' is neither a sysctl (kernel.numa_balancing) nor a path, irq:NAME or confine:NAME",
                      s->key);
    if (s->kind == NA_SETTING_CONFINE) {
        snprintf(s->values[s->n_values++], NA_UNDO_VALUE_BYTES, "found");
        if (strlen(s->target) >= sizeof((struct na_undo *)0)->confine_pattern)
            return nl_say(reason, size, "the pattern of confine is longer than names of tasks are");
        for (int i = 0; i < all->n; i++)
            if (all->settings[i].kind == NA_SETTING_CONFINE)
                return nl_say(reason, size, "confine may be given once");
    }
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->settings[i].key, s->key) == 0)
            return nl_say(reason, size, "%s is given twice", s->key);
    if (take_values(s, equals + 1, reason, size)) return -1;
    if (s->n_values < 2)
        return nl_say(reason, size, "%s has one value, and is compared with nothing (try %s=%s,OTHER)",
                      s->key, s->key, s->values[0]);
    all->texts[all->n++] = text;
    return 0;
}

/* "numa_balancing-0" for each that is not its reference. */
static void name_arm(const struct na_settings *all, struct na_setting_arm *arm, int number) {
    char name[2 * NA_UNDO_PATH_BYTES + NA_UNDO_VALUE_BYTES] = "";
    size_t n = 0;
    for (int i = 0; i < all->n; i++) {
        const struct na_setting *s = &all->settings[i];
        const char *last = s->key + strlen(s->key);
        while (last > s->key && !strchr("./:", last[-1])) last--;
        if (arm->at[i] == 0) continue;
        n +=
            (size_t)snprintf(name + n, sizeof name - n, "%s%s-%s", n ? "_" : "", last, s->values[arm->at[i]]);
        if (n >= NA_ARM_NAME_BYTES) break;
    }
    nl_make_plain(name);
    int is_taken = n >= NA_ARM_NAME_BYTES || strcmp(name, NA_PLACEBO) == 0;
    for (int i = 0; i < all->n_arms; i++) is_taken |= strcmp(all->arms[i].name, name) == 0;
    if (is_taken) snprintf(name, sizeof name, "setting-%d", number);
    memcpy(arm->name, name, NA_ARM_NAME_BYTES - 1);
    arm->name[NA_ARM_NAME_BYTES - 1] = '\0';
}

int na_settings_cross(struct na_settings *all, char *reason, int size) {
    int n = 1;
    for (int i = 0; i < all->n; i++) {
        n *= all->settings[i].n_values;
        if (n > NA_SETTING_ARMS)
            return nl_say(reason, size, "these settings have more than %d combinations", NA_SETTING_ARMS);
    }
    all->n_arms = 0;
    for (int k = 1; k < n; k++) {
        struct na_setting_arm arm = {.name = ""};
        for (int i = all->n - 1, rest = k; i >= 0; rest /= all->settings[i--].n_values)
            arm.at[i] = rest % all->settings[i].n_values;
        name_arm(all, &arm, k);
        all->arms[all->n_arms++] = arm;
    }
    all->arms[all->n_arms++] = (struct na_setting_arm){.name = NA_PLACEBO};
    return 0;
}

const struct na_setting_arm *na_settings_find(const struct na_settings *all, const char *name) {
    for (int i = 0; i < all->n_arms; i++)
        if (strcmp(all->arms[i].name, name) == 0) return &all->arms[i];
    return NULL;
}

/* ---- on this node ---- */

static int refuse_file(const char *key, const char *path, char *reason, int size) {
    int error = errno;
    if (error == EFBIG)
        return nl_say(reason, size, "%s: %s is not one line of at most %d bytes", key, path,
                      NA_UNDO_VALUE_BYTES - 1);
    return nl_say(reason, size, "%s: %s cannot be %s: %s", key, path,
                  error == ENOENT ? "found" : "read and written", strerror(error));
}

static int keep(struct na_undo *u, int setting, const char *key, const char *path, int is_cpu_list,
                char *reason, int size) {
    struct na_kept *kept = &u->kept[u->n_kept];
    if (u->n_kept == NA_UNDO_SETTINGS)
        return nl_say(reason, size, "%s: more than %d files", key, NA_UNDO_SETTINGS);
    if (snprintf(kept->path, sizeof kept->path, "%s", path) >= (int)sizeof kept->path ||
        strpbrk(path, "\t\n"))
        return nl_say(reason, size, "%s: a path is longer than %d bytes: %s", key, NA_UNDO_PATH_BYTES - 1,
                      path);
    if (na_value_read(path, kept->value, sizeof kept->value)) return refuse_file(key, path, reason, size);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return refuse_file(key, path, reason, size);
    close(fd);
    kept->setting = setting;
    kept->is_cpu_list = is_cpu_list;
    u->n_kept++;
    return 0;
}

static int look_at_files(const struct na_setting *s, int i, struct na_undo *u, char *reason, int size) {
    char path[NA_UNDO_PATH_BYTES + 16];
    glob_t files;
    int failed = 0;
    snprintf(path, sizeof path, "%s%s", *s->target == '/' ? "" : "/proc/sys/", s->target);
    for (char *c = path; *s->target != '/' && *c; c++)
        if (*c == '.') *c = '/';
    int found = glob(path, 0, NULL, &files);
    if (found == GLOB_NOMATCH)
        return nl_say(reason, size, "%s: this machine has no %s (noiselab doctor settings shows what it has)",
                      s->key, path);
    if (found) return nl_say(reason, size, "%s: %s cannot be looked for", s->key, path);
    for (size_t k = 0; k < files.gl_pathc && !failed; k++)
        failed = keep(u, i, s->key, files.gl_pathv[k], 0, reason, size);
    globfree(&files);
    return failed;
}

/* Of a line of /proc/interrupts: its number, -1 where it has none or another name. Names stand at its end,
 * divided by commas; queues of a device are called after it. */
static int number_of(char *line, const char *name) {
    char *end, pattern[NA_UNDO_PATH_BYTES], *last = strrchr(line, ' '), *rest;
    long number = strtol(line, &end, 10);
    if (end == line || *end != ':' || !last) return -1;
    snprintf(pattern, sizeof pattern, "%s-*", name);
    while (last > line && last[-1] == ',') { /* "virtio0, virtio1" */
        char *before = last - 1;
        while (before > line && before[-1] != ' ') before--;
        last = before - 1;
    }
    rest = last + 1;
    for (char *word; (word = strsep(&rest, ", "));)
        if (*word && (fnmatch(name, word, 0) == 0 || fnmatch(pattern, word, 0) == 0)) return (int)number;
    return -1;
}

static int look_at_interrupts(const struct na_setting *s, int i, struct na_undo *u, char *reason, int size) {
    char path[64], line[16384];
    FILE *f = fopen("/proc/interrupts", "re");
    int n = 0, failed = 0;
    if (!f) return nl_say(reason, size, "%s: /proc/interrupts cannot be read: %s", s->key, strerror(errno));
    while (!failed && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        int number = number_of(line, s->target);
        if (number < 0) continue;
        snprintf(path, sizeof path, "/proc/irq/%d/smp_affinity_list", number);
        failed = keep(u, i, s->key, path, 1, reason, size);
        n++;
    }
    fclose(f);
    if (failed || n > 0) return failed;
    return nl_say(reason, size, "%s: no interrupt of /proc/interrupts is called '%s'", s->key, s->target);
}

int na_settings_look(const struct na_settings *all, struct na_undo *u, char *reason, int size) {
    u->n_kept = u->n_confines = 0;
    for (int i = 0; i < all->n; i++) {
        const struct na_setting *s = &all->settings[i];
        if (s->kind == NA_SETTING_FILES && look_at_files(s, i, u, reason, size)) return -1;
        if (s->kind == NA_SETTING_IRQ && look_at_interrupts(s, i, u, reason, size)) return -1;
        if (s->kind != NA_SETTING_CONFINE) continue;
        snprintf(u->confine_pattern, sizeof u->confine_pattern, "%s", s->target);
        for (int k = 1; k < s->n_values; k++) na_cpus_parse(s->values[k], &u->confines[u->n_confines++]);
        for (int k = 0; k < u->n_confines; k++)
            if (na_try_cpus(&u->confines[k]))
                return nl_say(reason, size, "%s: none of the CPUs %s may be used here", s->key,
                              s->values[k + 1]);
    }
    return 0;
}

/* The kernel has commas where ours divide values. */
static void as_the_kernel_has_it(const char *text, char *out) {
    snprintf(out, NA_UNDO_VALUE_BYTES, "%s", text);
    for (char *c = out; *c; c++)
        if (*c == '+') *c = ',';
}

int na_settings_write(const struct na_settings *all, const int *at, struct na_undo *u, char *reason,
                      int size) {
    char value[NA_UNDO_VALUE_BYTES], why[512];
    for (int i = 0; i < u->n_kept; i++) {
        const struct na_setting *s = &all->settings[u->kept[i].setting];
        const char *wanted = s->values[at[u->kept[i].setting]];
        if (u->kept[i].is_cpu_list) as_the_kernel_has_it(wanted, value);
        else snprintf(value, sizeof value, "%s", wanted);
        if (na_value_write(u->kept[i].path, value, u->kept[i].is_cpu_list, why, sizeof why))
            return nl_say(reason, size, "%s=%s: %s", s->key, wanted, why);
    }
    for (int i = 0; i < all->n; i++) {
        if (all->settings[i].kind != NA_SETTING_CONFINE) continue;
        if (at[i] > 0 && na_confine(u, &u->confines[at[i] - 1], why, sizeof why) < 0)
            return nl_say(reason, size, "%s=%s: %s", all->settings[i].key, all->settings[i].values[at[i]],
                          why);
        if (at[i] == 0 && na_confine_end(u))
            return nl_say(reason, size, "%s: tasks cannot be let go: %s", all->settings[i].key,
                          strerror(errno));
    }
    return 0;
}

int na_settings_tell(const struct na_undo *u, int i, const char **path, const char **found, char *now,
                     int size) {
    if (i >= u->n_kept) return 0;
    *path = u->kept[i].path;
    *found = u->kept[i].value;
    if (na_value_read(u->kept[i].path, now, (size_t)size)) snprintf(now, size, "unreadable");
    return 1;
}
