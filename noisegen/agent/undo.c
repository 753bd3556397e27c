#include "noisegen/agent/undo.h"
#include "noisegen/agent/kept.h"

#include "noisegen/agent/spawn.h"

#define LOOK_NS INT64_C(1000000)
#define PATIENCE_NS                                                                                          \
    INT64_C(2000000000) /* what SIGKILL, a thaw or the end of a cgroup's last member may take before it      \
                           counts as futile */

struct na_undo *na_undo_create(void) {
    void *p = mmap(NULL, sizeof(struct na_undo), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int na_undo_note(struct na_process *list, _Atomic int32_t *n, struct na_process process) {
    int32_t at = atomic_load(n);
    if (at == NA_UNDO_PROCESSES) return -1;
    list[at] = process;
    atomic_store(n, at + 1); /* only now: the guardian must find it complete */
    return 0;
}

/* ---- thawing ---- */

/* Of this process, by number of the record. */
static struct { int thaw, look; } held[] = {{-1, -1}, {-1, -1}};

static int reopen(int *fd, const char *path, int flags) {
    if (*fd >= 0) close(*fd);
    *fd = open(path, flags | O_CLOEXEC);
    return *fd < 0 ? -1 : 0;
}

int na_undo_hold(struct na_undo *u) {
    return reopen(&held[u->number].thaw, u->thaw_file, O_WRONLY) ||
                   reopen(&held[u->number].look, u->look_file, O_RDONLY)
               ? -1
               : 0;
}

void na_undo_let_go(void) {
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) held[i].thaw = held[i].look = -1;
}

/* Whether the state file says that it is thawed; a cgroup that is gone is. */
static int reads_thawed(const struct na_undo *u) {
    char now[256];
    ssize_t n = pread(held[u->number].look, now, sizeof now - 1, 0);
    if (n < 0) return errno == ENODEV;
    now[n] = '\0';
    return strstr(now, u->look_text) != NULL;
}

static int thaw_cgroup(struct na_undo *u) {
    if (!atomic_load(&u->is_frozen)) return 0;
    int64_t deadline_ns = nl_mono_ns() + PATIENCE_NS;
    int is_held = (held[u->number].thaw >= 0 && held[u->number].look >= 0) || na_undo_hold(u) == 0;
    if (!is_held && errno != ENOENT) return -1;
    if (is_held && write(held[u->number].thaw, u->thaw_text, strlen(u->thaw_text)) < 0 && errno != ENODEV)
        return -1;
    while (is_held && !reads_thawed(u)) {
        errno = EBUSY;
        if (nl_mono_ns() > deadline_ns) return -1;
        nl_sleep_ns(LOOK_NS / 10);
    }
    atomic_store(&u->is_frozen, 0);
    return 0;
}

/* In the order in which they were stopped: a parent first, which may wait for its child. Those that fail stay
 * on the list; who dies in between leaves a list that has some twice. */
static int continue_stopped(struct na_undo *u) {
    int n_kept = 0, error = 0;
    for (int i = 0; i < atomic_load(&u->n_stopped); i++) {
        if (na_process_signal(u->stopped[i], SIGCONT) == 0 || errno == ESRCH) continue;
        error = errno;
        u->stopped[n_kept++] = u->stopped[i];
    }
    atomic_store(&u->n_stopped, n_kept);
    errno = error;
    return n_kept > 0 ? -1 : 0;
}

int na_undo_thaw(struct na_undo *u) {
    int rc = thaw_cgroup(u), error = errno;
    if (continue_stopped(u)) return -1;
    if (rc == 0) na_journal_note(u);
    errno = error;
    return rc;
}

/* ---- what was started ---- */

static void signal_all(struct na_set *set, int signal) {
    na_set_add_descendants(set);
    for (int i = 0; i < set->n; i++) na_process_signal(set->p[i], signal);
}

/* How many are left. */
static int await_end(struct na_set *set, int64_t patience_ns) {
    for (int64_t deadline_ns = nl_mono_ns() + patience_ns;; nl_sleep_ns(LOOK_NS)) {
        /* zombies of ours are waited for; those of other parents are not in the set any more */
        for (int i = 0; i < set->n; i++) na_reap(set->p[i].pid);
        if (na_set_prune(set) == 0 || nl_mono_ns() > deadline_ns) return set->n;
    }
}

int na_end_processes(struct na_set *set, int64_t patience_ns) {
    signal_all(set, SIGTERM);
    if (await_end(set, patience_ns) == 0) return 0;
    int64_t deadline_ns = nl_mono_ns() + PATIENCE_NS;
    do signal_all(set, SIGKILL); /* again, as a child may have come just before its parent ended */
    while (await_end(set, 20 * LOOK_NS) > 0 && nl_mono_ns() < deadline_ns);
    return set->n > 0 ? -1 : 1;
}

static int end_started(struct na_undo *u) {
    struct na_set set = {0};
    int rc = 0;
    for (int i = 0; i < atomic_load(&u->n_started); i++) {
        if (!na_process_lives(u->started[i])) continue;
        na_set_add(&set, u->started[i].pid);
        /* no memory, no descriptor */
        if (!na_set_has(&set, u->started[i].pid) && na_process_lives(u->started[i])) rc = -1;
    }
    if (set.n > 0 && na_end_processes(&set, u->patience_ns) < 0) rc = -1;
    na_set_free(&set);
    if (rc) return -1;
    atomic_store(&u->n_started, 0);
    return 0;
}

/* ---- the cgroup of ours ---- */

static int move_back(void *context, pid_t pid) {
    const struct na_undo *u = context;
    char path[PATH_MAX + 16], number[32];
    snprintf(path, sizeof path, "%s/cgroup.procs", u->origin_directory);
    snprintf(number, sizeof number, "%d", (int)pid);
    na_write(path, number);
    return 0;
}

static int remove_cgroup(struct na_undo *u) {
    char path[PATH_MAX + 16];
    if (!atomic_load(&u->has_cgroup)) return 0;
    snprintf(path, sizeof path, "%s/cgroup.procs", u->own_directory);
    for (int64_t deadline_ns = nl_mono_ns() + PATIENCE_NS;; nl_sleep_ns(LOOK_NS)) {
        nl_each_line(path, move_back, u);
        if (rmdir(u->own_directory) == 0 || errno == ENOENT) break;
        if (errno != EBUSY || nl_mono_ns() > deadline_ns) return -1;
    }
    atomic_store(&u->has_cgroup, 0);
    return 0;
}

int na_undo_cgroup(struct na_undo *u) {
    int rc = remove_cgroup(u);
    na_journal_note(u);
    return rc;
}

static int switch_back(struct na_undo *u) {
    char reason[512];
    struct na_command command;
    if (!atomic_load(&u->must_switch)) return 0;
    /* a command that its companion did not survive: what it does at its end must not come after ours */
    for (int64_t end_ns = nl_mono_ns() + u->timeout_ns;
         u->switching.pid > 0 && na_process_lives(u->switching); nl_sleep_ns(LOOK_NS))
        if (nl_mono_ns() > end_ns) kill(-u->switching.pid, SIGKILL);
    if (na_command_make(&command, u->back_command, u->is_shell, reason, sizeof reason)) return -1;
    int rc = na_command_run(&command, -1, u->timeout_ns, NULL, NULL, reason, sizeof reason);
    na_command_free(&command);
    if (rc == 0) atomic_store(&u->must_switch, 0);
    return rc;
}

int na_undo_all(struct na_undo *u, char *problem, int problem_size) {
    int rc = 0;
    if (na_undo_thaw(u))
        rc = nl_say(problem, problem_size, "%s cannot be thawed: %s",
                    atomic_load(&u->is_frozen) ? u->thaw_file : "a stopped process", strerror(errno));
    if (na_undo_settings(u, problem, problem_size)) rc = -1;
    if (remove_cgroup(u))
        rc = nl_say(problem, problem_size, "the cgroup %s cannot be removed: %s", u->own_directory,
                    strerror(errno));
    if (end_started(u))
        rc = nl_say(problem, problem_size,
                    "processes of the started command cannot be ended (another user's?)");
    if (switch_back(u)) rc = nl_say(problem, problem_size, "the command of %s failed", u->back_option);
    na_journal_note(u);
    return rc;
}

int na_undo_is_done(const struct na_undo *u) {
    return !atomic_load(&u->is_frozen) && atomic_load(&u->n_stopped) == 0 && !atomic_load(&u->has_cgroup) &&
           atomic_load(&u->n_started) == 0 && !atomic_load(&u->must_switch) && !atomic_load(&u->must_reset);
}

int na_undo_every(struct na_undo *u, char *problem, int problem_size) {
    int rc = 0;
    for (; u; u = u->next) rc |= na_undo_all(u, problem, problem_size);
    return rc;
}

int na_undo_thaw_every(struct na_undo *u) {
    int rc = 0;
    for (; u; u = u->next) rc |= na_undo_thaw(u);
    return rc;
}

int na_undo_every_is_done(const struct na_undo *u) {
    int is_done = 1;
    for (; u; u = u->next) is_done &= na_undo_is_done(u);
    return is_done;
}

#define SUFFIX ".journal"

/* "" where there is none that only we can write. */
static void folder(char *path, size_t size) {
    const char *runtime = geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");
    struct stat st;
    int is_good = runtime && runtime[0] && snprintf(path, size, "%s/noiselab", runtime) < (int)size;
    if (is_good) mkdir(path, 0700);
    if (!is_good || lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
        path[0] = '\0';
}

void na_journal_open(struct na_undo *u) {
    char path[PATH_MAX - 64];
    folder(path, sizeof path);
    if (path[0])
        snprintf(u->journal_file, sizeof u->journal_file, "%s/%d%s" SUFFIX, path, (int)getpid(),
                 u->number ? "-2" : "");
}

/* A command in one line and one field of a journal, and back: what would end them is escaped. */
static void print_command(FILE *f, const struct na_undo *u) {
    fprintf(f, "switched\t%s\t%d\t%lld\t", u->back_option, (int)u->is_shell, (long long)u->timeout_ns);
    for (const char *c = u->back_command; *c; c++) {
        if (strchr("\\\n\t", *c)) fprintf(f, "\\%c", *c == '\n' ? 'n' : *c == '\t' ? 't' : '\\');
        else fputc(*c, f);
    }
    fputc('\n', f);
}

static int take_command(struct na_undo *u, const char *line) {
    char option[16], *to = u->back_command;
    int shell, at = 0;
    long long timeout_ns;
    if (sscanf(line, "switched\t%15s\t%d\t%lld\t%n", option, &shell, &timeout_ns, &at) != 3 || at == 0 ||
        timeout_ns <= 0)
        return -1;
    for (const char *c = line + at; *c && to < u->back_command + sizeof u->back_command - 1; c++) {
        if (*c == '\\' && c[1]) *to++ = *++c == 'n' ? '\n' : *c == 't' ? '\t' : *c;
        else *to++ = *c;
    }
    *to = '\0';
    u->back_option = strcmp(option, "--agent-on") == 0 ? "--agent-on" : "--agent-off";
    u->is_shell = shell;
    u->timeout_ns = timeout_ns;
    atomic_store(&u->must_switch, 1);
    return 0;
}

/* A set of CPUs as hexadecimal digits, four CPUs each, the first ones first; without zeros at the end. */
static void print_cpus(FILE *f, const cpu_set_t *cpus) {
    int last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET((size_t)last, cpus)) last--;
    for (size_t at = 0; at <= (size_t)last; at += 4) {
        unsigned digit = 0;
        for (size_t i = 0; i < 4; i++) digit |= (CPU_ISSET(at + i, cpus) ? 1U : 0U) << i;
        fprintf(f, "%x", digit);
    }
}

static int take_cpus(const char *text, cpu_set_t *cpus) {
    CPU_ZERO(cpus);
    for (size_t at = 0; *text && at < CPU_SETSIZE; text++, at += 4) {
        const char digit[] = {*text, '\0'};
        if (!isxdigit((unsigned char)*text)) return -1;
        unsigned bits = (unsigned)strtoul(digit, NULL, 16);
        for (size_t i = 0; i < 4; i++)
            if (bits >> i & 1) CPU_SET(at + i, cpus);
    }
    return CPU_COUNT(cpus) > 0 ? 0 : -1;
}

static void print_settings(FILE *f, const struct na_undo *u) {
    for (int i = 0; i < u->n_kept; i++)
        fprintf(f, "kept\t%d\t%s\t%s\n", u->kept[i].is_cpu_list, u->kept[i].path, u->kept[i].value);
    for (int i = 0; i < u->n_confines; i++) {
        fprintf(f, "confines\t%llu\t%s\t", (unsigned long long)u->confined_ticks, u->confine_pattern);
        print_cpus(f, &u->confines[i]);
        fputc('\n', f);
    }
    for (int i = 0; i < atomic_load(&u->n_roamers); i++) {
        const struct na_roamer *r = &u->roamers[i];
        fprintf(f, "roamer\t%d\t%llu\t", (int)r->task.pid, (unsigned long long)r->task.start_ticks);
        print_cpus(f, &r->cpus);
        fputc('\n', f);
    }
}

/* A line of these: 0; -1 it is damaged; 1 it is another one. */
static int take_setting(struct na_undo *u, const char *line) {
    char cpus[CPU_SETSIZE];
    unsigned long long ticks;
    if (strncmp(line, "kept\t", 5) == 0) {
        struct na_kept *k = &u->kept[u->n_kept];
        if (u->n_kept == NA_UNDO_SETTINGS) return -1;
        k->value[0] = '\0'; /* scanf finds no empty text */
        if (sscanf(line, "kept\t%d\t%255[^\t]\t%255[^\n]", &k->is_cpu_list, k->path, k->value) < 2) return -1;
        u->n_kept++;
    } else if (strncmp(line, "confines\t", 9) == 0) {
        if (u->n_confines == NA_UNDO_CONFINED ||
            sscanf(line, "confines\t%llu\t%63[^\t]\t%1023s", &ticks, u->confine_pattern, cpus) != 3 ||
            take_cpus(cpus, &u->confines[u->n_confines]))
            return -1;
        u->confined_ticks = ticks;
        u->n_confines++;
    } else if (strncmp(line, "roamer\t", 7) == 0) {
        int n = atomic_load(&u->n_roamers);
        struct na_roamer *r = &u->roamers[n];
        if (n == NA_UNDO_TASKS || sscanf(line, "roamer\t%d\t%llu\t%1023s", &r->task.pid, &ticks, cpus) != 3)
            return -1;
        if (take_cpus(cpus, &r->cpus)) return -1;
        r->task.start_ticks = ticks;
        atomic_store(&u->n_roamers, n + 1);
    } else return 1;
    atomic_store(&u->must_reset, 1);
    return 0;
}

static void print_process(FILE *f, const char *word, struct na_process p) {
    fprintf(f, "%s\t%d\t%llu\n", word, (int)p.pid, (unsigned long long)p.start_ticks);
}

int na_journal_note(struct na_undo *u) {
    struct nl_whole whole;
    if (!u->journal_file[0]) return 0;
    if (!atomic_load(&u->is_frozen) && !atomic_load(&u->has_cgroup) && atomic_load(&u->n_stopped) == 0 &&
        !atomic_load(&u->must_switch) && !atomic_load(&u->must_reset))
        return unlink(u->journal_file) && errno != ENOENT ? -1 : 0;
    if (nl_whole_open(&whole, u->journal_file, 0600)) return -1;
    print_process(whole.f, "owner", u->companion);
    print_process(whole.f, "owner", u->guardian);
    if (atomic_load(&u->is_frozen))
        fprintf(whole.f, "frozen\t%s\t%s\t%s\t%s\n", u->thaw_file, u->thaw_text, u->look_file, u->look_text);
    if (atomic_load(&u->has_cgroup))
        fprintf(whole.f, "cgroup\t%s\t%s\n", u->own_directory, u->origin_directory);
    if (atomic_load(&u->must_switch)) print_command(whole.f, u);
    if (atomic_load(&u->must_reset)) print_settings(whole.f, u);
    for (int i = 0; i < atomic_load(&u->n_stopped); i++) print_process(whole.f, "stopped", u->stopped[i]);
    return nl_whole_close(&whole, ferror(whole.f));
}

/* Takes a line in: 0, -1 not one of ours. */
static int take(struct na_undo *u, const char *line, int *is_owned) {
    char word[16];
    unsigned long long start;
    struct na_process p;
    if (strncmp(line, "switched\t", 9) == 0) return take_command(u, line);
    int setting = take_setting(u, line);
    if (setting <= 0) return setting;
    if (sscanf(line, "frozen\t%4095[^\t]\t%15[^\t]\t%4095[^\t]\t%15[^\t]", u->thaw_file, u->thaw_text,
               u->look_file, u->look_text) == 4)
        atomic_store(&u->is_frozen, 1);
    else if (sscanf(line, "cgroup\t%4095[^\t]\t%4095[^\t]", u->own_directory, u->origin_directory) == 2)
        atomic_store(&u->has_cgroup, 1);
    else if (sscanf(line, "%15[a-z]\t%d\t%llu", word, &p.pid, &start) != 3) return -1;
    else {
        p.start_ticks = start;
        if (strcmp(word, "owner") != 0)
            return p.pid > 1 && strcmp(word, "stopped") == 0 ? na_undo_note(u->stopped, &u->n_stopped, p)
                                                             : -1;
        *is_owned |= p.pid > 1 && na_process_lives(p); /* 0: there was no guardian */
    }
    return 0;
}

/* 0 undone, or nothing to do; -1 it stays as it is. */
static int restore(const char *path, struct na_undo *u) {
    char line[2 * NA_UNDO_TEXT_BYTES + 128], problem[512] = "it is damaged";
    int is_owned = 0, n_lines = 0, is_bad = 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f) return errno == ENOENT ? 0 : -1;
    for (; fgets(line, sizeof line, f); n_lines++) {
        line[strcspn(line, "\n")] = '\0';
        is_bad |= take(u, line, &is_owned);
    }
    fclose(f);
    if (is_owned) return 0;
    int was_switched = atomic_load(&u->must_switch), was_set = atomic_load(&u->must_reset);
    /* na_undo_all removes it when all is done */
    snprintf(u->journal_file, sizeof u->journal_file, "%s", path);
    if (is_bad || n_lines == 0 || na_undo_all(u, problem, sizeof problem))
        return nl_error("%s: what it says is frozen or switched cannot be given back: %s", path, problem);
    nl_warn("%s (%s)", was_set ? "settings that a killed launch had left changed are as they were found"
            : was_switched ? "an agent that a killed launch had left switched is as it was found, or off"
                           : "an agent that a killed launch had left frozen runs again", path);
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
