#include "noisegen/agent/journal.h"
#include "common/base/nl_error.h"
#include "common/sys/nl_whole.h"

#define SUFFIX ".journal"

/* "" where there is none that only we can write. */
static void folder(char *path, size_t size) {
    const char *runtime = geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");
    struct stat st;
    path[0] = '\0';
    if (!runtime || !runtime[0] || snprintf(path, size, "%s/noiselab", runtime) >= (int)size) {
        path[0] = '\0';
        return;
    }
    mkdir(path, 0700);
    if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077) path[0] = '\0';
}

static void boot_id(char *text, int size) {
    if (na_read("/proc/sys/kernel/random/boot_id", text, size) < 0) text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

void na_journal_open(struct na_undo *u) {
    char path[PATH_MAX - 64];
    folder(path, sizeof path);
    if (path[0]) snprintf(u->journal_file, sizeof u->journal_file, "%s/%d" SUFFIX, path, (int)getpid());
}

/* ---- writing ---- */

static void print_process(FILE *f, const char *word, struct na_process p) {
    fprintf(f, "%s\t%d\t%llu\n", word, (int)p.pid, (unsigned long long)p.start_ticks);
}

static int write_all(FILE *f, struct na_undo *u) {
    char boot[64];
    boot_id(boot, sizeof boot);
    fprintf(f, "boot\t%s\n", boot);
    print_process(f, "owner", u->companion);
    print_process(f, "owner", u->guardian);
    if (atomic_load(&u->is_frozen)) fprintf(f, "frozen\t%s\t%s\t%s\t%s\n", u->thaw_file, u->thaw_text, u->look_file, u->look_text);
    if (atomic_load(&u->has_cgroup)) fprintf(f, "cgroup\t%s\t%s\n", u->own_directory, u->origin_directory);
    for (int i = 0; i < atomic_load(&u->n_stopped); i++) print_process(f, "stopped", u->stopped[i]);
    fputs("end\n", f);
    return ferror(f) ? -1 : 0;
}

int na_journal_note(struct na_undo *u) {
    struct nl_whole whole;
    if (!u->journal_file[0]) return 0;
    if (!atomic_load(&u->is_frozen) && !atomic_load(&u->has_cgroup) && atomic_load(&u->n_stopped) == 0)
        return unlink(u->journal_file) && errno != ENOENT ? -1 : 0;
    if (nl_whole_open(&whole, u->journal_file, 0600)) return -1;
    return nl_whole_close(&whole, write_all(whole.f, u));
}

/* ---- reading ---- */

static int copy(char *to, int size, const char *from) { return from && snprintf(to, (size_t)size, "%s", from) < size ? 0 : -1; }

static int read_process(struct na_process *p, const char *pid, const char *start) {
    if (!pid || !start) return -1;
    *p = (struct na_process){(pid_t)strtol(pid, NULL, 10), strtoull(start, NULL, 10)};
    return p->pid > 1 ? 0 : -1;
}

/* Takes a line in: 0, -1 not one of ours. */
static int take(struct na_undo *u, char *line, char *boot, int boot_size, int *is_owned, int *is_whole) {
    char *word = strsep(&line, "\t"), *field[4];
    struct na_process p;
    for (int i = 0; i < 4; i++) field[i] = line ? strsep(&line, "\t") : NULL;
    if (strcmp(word, "end") == 0) {
        *is_whole = 1;
        return 0;
    }
    if (strcmp(word, "boot") == 0) return copy(boot, boot_size, field[0]);
    if (strcmp(word, "owner") == 0) {
        if (read_process(&p, field[0], field[1])) return 0; /* there was no guardian */
        *is_owned |= na_process_lives(p);
        return 0;
    }
    if (strcmp(word, "frozen") == 0) {
        atomic_store(&u->is_frozen, 1);
        return copy(u->thaw_file, sizeof u->thaw_file, field[0]) || copy(u->thaw_text, sizeof u->thaw_text, field[1]) ||
               copy(u->look_file, sizeof u->look_file, field[2]) || copy(u->look_text, sizeof u->look_text, field[3]) ? -1 : 0;
    }
    if (strcmp(word, "cgroup") == 0) {
        atomic_store(&u->has_cgroup, 1);
        return copy(u->own_directory, sizeof u->own_directory, field[0]) || copy(u->origin_directory, sizeof u->origin_directory, field[1])
                   ? -1
                   : 0;
    }
    if (strcmp(word, "stopped") == 0) return read_process(&p, field[0], field[1]) ? -1 : na_undo_note(u->stopped, &u->n_stopped, p);
    return -1;
}

/* 0 undone, or nothing to do; -1 it stays as it is. */
static int restore(const char *path, struct na_undo *u) {
    char line[2 * PATH_MAX + 64], boot[64] = "", now[64], problem[512] = "it is damaged";
    int is_owned = 0, is_whole = 0, is_bad = 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f) return errno == ENOENT ? 0 : -1;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        is_bad |= take(u, line, boot, sizeof boot, &is_owned, &is_whole);
    }
    fclose(f);
    if (is_owned) return 0;
    boot_id(now, sizeof now);
    if (boot[0] && strcmp(boot, now) != 0) return unlink(path); /* nothing stays frozen over a boot */
    snprintf(u->journal_file, sizeof u->journal_file, "%s", path); /* na_undo_all removes it when all is done */
    if (is_bad || !is_whole || na_undo_all(u, problem, sizeof problem))
        return nl_error("%s: what it says is frozen cannot be given back: %s", path, problem);
    nl_warn("an agent that a killed launch had left frozen runs again (%s)", path);
    return 0;
}

int na_journal_restore(void) {
    char directory[PATH_MAX - 300], path[PATH_MAX];
    int n_left = 0;
    folder(directory, sizeof directory);
    DIR *d = directory[0] ? opendir(directory) : NULL;
    struct dirent *e;
    while (d && (e = readdir(d))) {
        size_t length = strlen(e->d_name), suffix = sizeof SUFFIX - 1;
        if (length <= suffix || strcmp(e->d_name + length - suffix, SUFFIX) != 0) continue;
        struct na_undo *u = na_undo_create();
        snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        if (!u || restore(path, u)) n_left++;
        if (u) munmap(u, sizeof *u);
    }
    if (d) closedir(d);
    return n_left;
}
