/* Which processes there are, whose they are, and who started them. */
#include <pwd.h>

#include "noisegen/top/processes.h"
#include "common/sys/nl_cgroup.h"
#include "noisegen/top/watch.h"

#define USERS_NS 250000 /* what reading them takes about */

enum {
    LAST_OF_SYSTEM = 2 /* init and kthreadd: what they started stands for itself */,
    PORTION = 256 /* of tasks that have ended, some 50 us */
};

int nt_processes_open(struct nt_watch *w) {
    w->n_numbers = (uint32_t)nr_proc_number("/proc/sys/kernel/pid_max", 1 << 22) + 1;
    /* room for all of them, which takes no memory before it is used: to grow a table of thousands takes a
     * millisecond */
    if (NL_NEW(w->process_of, w->n_numbers) && NL_NEW(w->thread_of, w->n_numbers / NT_THREAD_PAGE + 1) &&
        NL_NEW(w->processes, NT_MOST_PROCESSES))
        return 0;
    return nl_error("no memory for the table of tasks");
}

/* Room for the last bursts of a process; where many begin and end, malloc would take most of the time. */
static struct nt_burst *new_last(struct nt_watch *w) {
    struct nt_burst *last = w->spare_lasts;
    if (!last) return malloc(NT_LAST_BURSTS * sizeof *last);
    memcpy(&w->spare_lasts, last, sizeof w->spare_lasts);
    return last;
}

static void put_back_last(struct nt_watch *w, struct nt_burst *last) {
    if (!last) return;
    memcpy(last, &w->spare_lasts, sizeof w->spare_lasts);
    w->spare_lasts = last;
}

void nt_processes_close(struct nt_watch *w) {
    while (w->spare_lasts) free(new_last(w));
    for (int i = 0; i < w->n_processes; i++)
        free(w->processes[i].last);
    for (uint32_t i = 0; w->thread_of && i <= w->n_numbers / NT_THREAD_PAGE; i++)
        free(w->thread_of[i]);
    NL_FREE(w->processes, w->free_places, w->process_of, w->thread_of, w->active, w->ended, w->users);
}

/* ---- the table ---- */

int32_t nt_new_process(struct nt_watch *w, pid_t pid) {
    int32_t place;
    if (w->n_free > 0)
        place = w->free_places[--w->n_free];
    else {
        if (w->n_processes == NT_MOST_PROCESSES) return -1;
        place = w->n_processes++;
    }
    w->processes[place] = (struct nt_process){.pid = pid, .name = "?"};
    w->process_of[pid] = place + 1;
    return place;
}

struct nt_thread *nt_new_thread(struct nt_watch *w, uint32_t tid) {
    struct nt_thread **page = &w->thread_of[tid / NT_THREAD_PAGE];
    return NL_NEW(*page, NT_THREAD_PAGE) ? &(*page)[tid % NT_THREAD_PAGE] : NULL;
}

void nt_add_active(struct nt_watch *w, int32_t place) {
    if (NL_GROW(w->active, w->n_active, w->active_room)) return;
    w->processes[place].is_active = 1;
    w->active[w->n_active++] = place;
}

/* What a name says of it. */
static void take_name(const struct nt_watch *w, struct nt_process *p, const char *name) {
    size_t n = strnlen(name, sizeof p->name - 1);
    memset(p->name, 0, sizeof p->name);
    memcpy(p->name, name, n);
    p->is_named = 1;
    if (w->config.command && strncmp(name, w->config.command, strlen(w->config.command)) == 0)
        p->is_program = 1;
}

void nt_born(struct nt_watch *w, pid_t pid, pid_t parent) {
    if ((uint32_t)pid >= w->n_numbers || pid <= 0) return;
    /* one of this number that ended unseen */
    if (w->process_of[pid] > 0) nt_ended(w, pid, 0);
    w->process_of[pid] = 0;
    int32_t from = nt_process(w, parent), place = nt_process(w, pid);
    if (place < 0) return;
    struct nt_process *p = &w->processes[place];
    p->parent = parent;
    if (from < 0) return;
    const struct nt_process *before = &w->processes[from];
    p->is_kernel = before->is_kernel || parent == LAST_OF_SYSTEM;
    p->is_program = before->is_program && w->has_named_program;
    if (!before->is_named) return;
    memcpy(p->name, before->name, sizeof p->name);
    p->is_named = 1;
}

void nt_renamed(struct nt_watch *w, pid_t pid, const char *name) {
    int32_t place = nt_process(w, pid);
    if (place >= 0) take_name(w, &w->processes[place], name);
}

void nt_ended(struct nt_watch *w, pid_t pid, pid_t parent) {
    if ((uint32_t)pid >= w->n_numbers || pid <= 0 || w->process_of[pid] <= 0) return;
    int32_t place = w->process_of[pid] - 1;
    struct nt_process *p = &w->processes[place];
    if (p->has_ended || NL_GROW(w->ended, w->n_ended, w->ended_room)) return;
    p->has_ended = 1;
    /* an orphan is its new parent's */
    if (parent > 0 &&
        (p->parent <= 0 || (uint32_t)p->parent >= w->n_numbers || w->process_of[p->parent] == 0))
        p->parent = parent;
    w->ended[w->n_ended++] = place;
}

/* The nearest of its ancestors that lives; else the first of those that have ended; -1: it has none but the
 * system's. */
static int32_t heir_of(const struct nt_watch *w, int32_t place) {
    int32_t heir = -1;
    for (int depth = 0; depth < 64; depth++) {
        pid_t parent = w->processes[place].parent;
        if (parent <= LAST_OF_SYSTEM || (uint32_t)parent >= w->n_numbers || w->process_of[parent] == 0)
            return heir;
        place = heir = w->process_of[parent] - 1;
        if (!w->processes[heir].has_ended) return heir;
    }
    return heir;
}

void nt_fold_ended(struct nt_watch *w) {
    for (int i = 0; i < w->n_ended; i++) {
        if (i % PORTION == PORTION - 1) nt_breathe(w);
        int32_t heir = heir_of(w, w->ended[i]);
        struct nt_process *p = &w->processes[w->ended[i]];
        if (heir < 0 || heir == w->ended[i] || p->run_ns + p->n_bursts == 0) continue;
        nt_is_active(w, heir);
        p->heir = heir + 1;
        struct nt_process *to = &w->processes[heir];
        to->run_ns += p->run_ns;
        to->ended_ns += p->run_ns;
        to->n_bursts += p->n_bursts;
        to->burst_ns += p->burst_ns;
        if (p->longest_ns > to->longest_ns) to->longest_ns = p->longest_ns;
        p->run_ns = p->n_bursts = p->burst_ns = p->longest_ns = p->ended_ns = 0;
    }
}

static int is_running(const struct nt_watch *w, int32_t place) {
    for (int cpu = 0; cpu < w->n_cpus; cpu++)
        if (w->runners[cpu].knowledge == NT_KNOWN && w->runners[cpu].process == place) return 1;
    return 0;
}

void nt_forget_ended(struct nt_watch *w) {
    int n_left = 0;
    for (int i = 0; i < w->n_ended; i++) {
        if (i % PORTION == PORTION - 1) nt_breathe(w);
        int32_t place = w->ended[i];
        struct nt_process *p = &w->processes[place];
        if (is_running(w, place) || NL_GROW(w->free_places, w->n_free, w->free_room)) {
            w->ended[n_left++] = place;
            continue;
        }
        if (w->process_of[p->pid] == place + 1) w->process_of[p->pid] = 0;
        put_back_last(w, p->last);
        *p = (struct nt_process){0};
        w->free_places[w->n_free++] = place;
    }
    w->n_ended = n_left;
}

void nt_count_burst(struct nt_watch *w, int32_t place, int64_t start_ns, int64_t length_ns) {
    struct nt_process *p = &w->processes[place];
    nt_is_active(w, place);
    p->n_bursts++;
    p->burst_ns += length_ns;
    if (length_ns > p->longest_ns) p->longest_ns = length_ns;
    if (w->config.forgets_bursts || (!p->last && !(p->last = new_last(w)))) return;
    p->last[p->n_last++ % NT_LAST_BURSTS] = (struct nt_burst){start_ns, length_ns};
}

int nt_last_bursts(const struct nt_watch *w, int32_t place, int64_t pid,
                   struct nt_burst bursts[NT_LAST_BURSTS], int64_t *now_ns) {
    *now_ns = w->end_ns;
    if (place < 0 || place >= w->n_processes || !w->processes[place].last) return 0;
    const struct nt_process *p = &w->processes[place];
    if (p->pid != pid) return 0; /* it has ended, and its place is another one's */
    int n = p->n_last < NT_LAST_BURSTS ? (int)p->n_last : NT_LAST_BURSTS;
    for (int i = 0; i < n; i++)
        bursts[i] = p->last[(p->n_last - (uint32_t)n + (uint32_t)i) % NT_LAST_BURSTS];
    return n;
}

/* ---- names ---- */

void nt_take_name(struct nt_watch *w, int32_t place, const struct nl_stat *stat) {
    struct nt_process *p = &w->processes[place];
    if (p->is_named) return;
    take_name(w, p, stat->name);
    p->parent = stat->ppid;
    p->is_kernel = stat->is_kernel != 0;
}

void nt_find_name(struct nt_watch *w, int32_t place) {
    struct nt_process *p = &w->processes[place];
    struct nr_proc_task task;
    if (p->is_named) return;
    if (nr_proc_read_task(p->pid, p->pid, &task) == 0) nt_take_name(w, place, &task.stat);
    p->is_named = 1;
    nt_breathe(w);
}

/* Users are looked for in /etc/passwd only: what asks a directory server makes traffic that nobody asked for.
 */
const char *nt_user_name(struct nt_watch *w, uid_t uid) {
    for (int i = 0; i < w->n_users; i++)
        if (w->users[i].uid == uid) return w->users[i].name;
    if (NL_GROW(w->users, w->n_users, w->users_room)) return "?";
    nt_breathe_before(w, USERS_NS);
    FILE *file = fopen("/etc/passwd", "re");
    char *name = w->users[w->n_users].name;
    snprintf(name, NT_USER_BYTES, "%u", (unsigned)uid);
    for (struct passwd *entry; file && (entry = fgetpwent(file));)
        if (entry->pw_uid == uid) {
            snprintf(name, NT_USER_BYTES, "%s", entry->pw_name);
            break;
        }
    if (file) fclose(file);
    w->users[w->n_users++].uid = uid;
    return name;
}

static int ends_with(const char *text, size_t length, const char *end) {
    size_t n = strlen(end);
    return length > n && strncmp(text + length - n, end, n) == 0;
}

/* Of a cgroup's path the last part that is a service or scope, else the last one:
 * "/system.slice/cron.service/payload" is cron.service. A job of Slurm is named by its job and step. */
static void unit_of(const char *path, char *unit, size_t size) {
    const char *best = "", *job = strstr(path, "/job_");
    size_t best_length = 0;
    if (job) {
        snprintf(unit, size, "%.*s",
                 (int)strcspn(job + 1, "/") +
                     (int)(strchr(job + 1, '/') ? 1 + strcspn(strchr(job + 1, '/') + 1, "/") : 0),
                 job + 1);
        return;
    }
    for (const char *part = path; *part; part += strcspn(part, "/")) {
        part += strspn(part, "/");
        size_t length = strcspn(part, "/");
        if (length == 0) break;
        int is_unit = ends_with(part, length, ".service") || ends_with(part, length, ".scope");
        int has_unit = ends_with(best, best_length, ".service") || ends_with(best, best_length, ".scope");
        if (is_unit || !has_unit) best = part, best_length = length;
    }
    snprintf(unit, size, "%.*s", (int)best_length, best);
}

void nt_find_place(struct nt_watch *w, int32_t place) {
    struct nt_process *p = &w->processes[place];
    char path[PATH_MAX];
    struct stat status;
    if (p->is_placed) return;
    p->is_placed = 1;
    snprintf(path, sizeof path, "/proc/%d", (int)p->pid);
    p->uid = stat(path, &status) == 0 ? status.st_uid : (uid_t)-1;
    if (p->is_kernel)
        snprintf(p->unit, sizeof p->unit, "kernel");
    else if (nl_cgroup_of("", p->pid, "", path, sizeof path) == 0 ||
             nl_cgroup_of("", p->pid, "name=systemd", path, sizeof path) == 0)
        unit_of(path, p->unit, sizeof p->unit);
    nt_breathe(w);
}

/* ---- the program, where it is named ---- */

static int meet(void *context, pid_t pid) {
    struct nt_watch *w = context;
    int32_t place = nt_process(w, pid);
    if (place >= 0) nt_find_name(w, place);
    return 0;
}

int nt_find_program(struct nt_watch *w) {
    int n_more;
    w->has_named_program = w->config.n_pids > 0 || w->config.command;
    if (!w->has_named_program) return 0;
    if (nl_each_number("/proc", meet, w))
        return nl_error("cannot read the tasks in /proc: %s", strerror(errno));
    for (int i = 0; i < w->config.n_pids; i++) {
        struct nl_stat stat;
        int32_t place = nl_stat_read(w->config.pids[i], &stat) == 0 ? nt_process(w, w->config.pids[i]) : -1;
        if (place < 0) return nl_error("--pid: there is no process %d", w->config.pids[i]);
        w->processes[place].is_program = 1;
    }
    do { /* children may stand before their parents */
        n_more = 0;
        for (int i = 0; i < w->n_processes; i++) {
            struct nt_process *p = &w->processes[i];
            if (p->is_program || p->parent <= 0 || (uint32_t)p->parent >= w->n_numbers ||
                w->process_of[p->parent] == 0)
                continue;
            if (!w->processes[w->process_of[p->parent] - 1].is_program) continue;
            p->is_program = 1;
            n_more++;
        }
    } while (n_more > 0);
    return 0;
}
