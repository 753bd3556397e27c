#include "common/sys/nl_kernel.h"

enum { READ_BYTES = 1 << 16, MOST_COLUMNS = 8192, TRIES = 5, WAKES = 51, SLEEP_NS = 50000 };

/* A file that is read again and again, as a whole. */
struct source {
    const char *name;
    int fd;
    char *text;
    size_t room, length;
};

enum { INTERRUPTS, SOFTIRQS, SCHEDSTAT, N_SOURCES };

struct nl_kernel {
    const unsigned char *is_watched;
    int n_cpus;
    struct source sources[N_SOURCES];
    int *columns; /* CPUs of the columns of a table, by its first line; MOST_COLUMNS */
    int n_columns;
};

/* ---- reading ---- */

static int read_all(struct source *s) {
    s->length = 0;
    if (s->fd < 0) return -1;
    while (s->length + 1 < s->room) {
        ssize_t n = pread(s->fd, s->text + s->length, s->room - s->length - 1, (off_t)s->length);
        if (n < 0) return -1;
        if (n == 0) break;
        s->length += (size_t)n;
    }
    s->text[s->length] = '\0';
    return s->length > 0 ? 0 : -1;
}

/* The room is found at the beginning: a quarter more than the file has, as numbers grow. */
static void open_source(struct source *s, const char *proc, const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", proc, name);
    s->name = name;
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    for (s->room = READ_BYTES; s->fd >= 0; s->room *= 2) {
        char *text = realloc(s->text, s->room);
        if (text) s->text = text;
        if (text && read_all(s) == 0 && s->length < s->room / 5 * 4) return;
        if (text && s->length > 0 && s->room < SIZE_MAX / 4) continue;
        close(s->fd);
        s->fd = -1;
    }
}

struct nl_kernel *nl_kernel_open(const char *proc, const unsigned char *is_watched, int n_cpus) {
    static const char *const names[N_SOURCES] = {"interrupts", "softirqs", "schedstat"};
    struct nl_kernel *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    *k = (struct nl_kernel){
        .is_watched = is_watched, .n_cpus = n_cpus, .sources = {{.fd = -1}, {.fd = -1}, {.fd = -1}}};
    if (!NL_NEW(k->columns, MOST_COLUMNS)) {
        nl_kernel_close(k);
        return NULL;
    }
    for (int i = 0; i < N_SOURCES; i++)
        open_source(&k->sources[i], proc, names[i]);
    return k;
}

void nl_kernel_close(struct nl_kernel *k) {
    if (!k) return;
    for (int i = 0; i < N_SOURCES; i++) {
        if (k->sources[i].fd >= 0) close(k->sources[i].fd);
        free(k->sources[i].text);
    }
    NL_FREE(k->columns, k);
}

/* ---- tables whose columns are CPUs ---- */

static int is_watched(const struct nl_kernel *k, long cpu) {
    return cpu >= 0 && cpu < k->n_cpus && k->is_watched[cpu];
}

/* The numbers of the CPUs in a table's first line; returns the line after it. */
static const char *read_columns(struct nl_kernel *k, const char *text) {
    const char *end = text + strcspn(text, "\n");
    k->n_columns = 0;
    for (const char *at = text; (at = strstr(at, "CPU")) && at < end && k->n_columns < MOST_COLUMNS;)
        k->columns[k->n_columns++] = (int)strtol(at + 3, (char **)&at, 10);
    return *end ? end + 1 : end;
}

/* A row's sum over the watched CPUs, -1 where it has not a number for each CPU; `rest` is what follows the
 * numbers. */
static int64_t sum_row(const struct nl_kernel *k, const char *at, const char **rest) {
    int64_t sum = 0;
    for (int i = 0; i < k->n_columns; i++) {
        at += strspn(at, " \t");
        if (!isdigit((unsigned char)*at)) return -1;
        uint64_t value = 0;
        for (; isdigit((unsigned char)*at); at++)
            value = 10 * value + (uint64_t)(*at - '0');
        if (is_watched(k, k->columns[i])) sum += (int64_t)value;
    }
    *rest = at + strspn(at, " \t");
    return sum;
}

/* By the words behind the numbers, which are the same on all architectures; labels are not. */
static enum nl_kernel_count kind_of_interrupt(const char *label, const char *words, size_t length) {
    static const struct {
        const char *words;
        enum nl_kernel_count kind;
    } kinds[] = {{"Local timer interrupts", NL_IRQ_TIMER},
                 {"Rescheduling interrupts", NL_IRQ_RESCHEDULE},
                 {"Function call interrupts", NL_IRQ_CALL},
                 {"TLB shootdowns", NL_IRQ_TLB}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(words, kinds[i].words, strlen(kinds[i].words)) == 0) return kinds[i].kind;
    /* the timer of each CPU has a number there */
    const char *timer = memmem(words, length, "arch_timer", strlen("arch_timer"));
    if (timer) return NL_IRQ_TIMER;
    return isdigit((unsigned char)*label) ? NL_IRQ_DEVICE : NL_IRQ_OTHER;
}

static enum nl_kernel_count kind_of_softirq(const char *label, const char *words, size_t length) {
    static const struct {
        const char *label;
        enum nl_kernel_count kind;
    } kinds[] = {{"TIMER:", NL_SOFTIRQ_TIMER}, {"HRTIMER:", NL_SOFTIRQ_TIMER},
                 {"NET_TX:", NL_SOFTIRQ_NET},  {"NET_RX:", NL_SOFTIRQ_NET},
                 {"BLOCK:", NL_SOFTIRQ_BLOCK}, {"IRQ_POLL:", NL_SOFTIRQ_BLOCK},
                 {"HI:", NL_SOFTIRQ_TASKLET},  {"TASKLET:", NL_SOFTIRQ_TASKLET},
                 {"SCHED:", NL_SOFTIRQ_SCHED}, {"RCU:", NL_SOFTIRQ_RCU}};
    (void)words;
    (void)length;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(label, kinds[i].label, strlen(kinds[i].label)) == 0) return kinds[i].kind;
    return NL_N_KERNEL;
}

static void add_table(struct nl_kernel *k, struct source *s, enum nl_kernel_count first,
                      enum nl_kernel_count end_of,
                      enum nl_kernel_count (*kind_of)(const char *label, const char *words, size_t length),
                      int64_t *counts) {
    if (read_all(s)) return;
    const char *line = read_columns(k, s->text), *end;
    if (k->n_columns == 0) return;
    for (int i = (int)first; i < (int)end_of; i++)
        counts[i] = 0;
    for (; *line; line = *end ? end + 1 : end) {
        const char *label = line + strspn(line, " "), *numbers = label + strcspn(label, ": \n"), *words;
        end = line + strcspn(line, "\n");
        if (*numbers != ':') continue;
        int64_t sum = sum_row(k, numbers + 1, &words);
        if (sum < 0) continue;
        enum nl_kernel_count kind = kind_of(label, words, words < end ? (size_t)(end - words) : 0);
        if (kind < end_of) counts[kind] += sum;
    }
}

/* cpuN, then of its ninth number how often a task was put on it, of the eighth how long tasks waited for it,
 * ns. */
static void add_schedstat(struct nl_kernel *k, int64_t *counts) {
    enum { WAITED = 7, RUNS = 8 };
    struct source *s = &k->sources[SCHEDSTAT];
    if (read_all(s)) return;
    int64_t runs = 0, waited_ns = 0;
    int n = 0;
    for (const char *line = s->text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        char *at;
        long long values[RUNS + 1];
        int i = 0;
        if (strncmp(line, "cpu", 3) != 0 || !isdigit((unsigned char)line[3])) continue;
        if (!is_watched(k, strtol(line + 3, &at, 10))) continue;
        for (; i <= RUNS && *at == ' '; i++)
            values[i] = strtoll(at, &at, 10);
        if (i <= RUNS) return;
        waited_ns += values[WAITED];
        runs += values[RUNS];
        n++;
    }
    if (n == 0) return;
    counts[NL_CPU_SWITCHES] = runs;
    counts[NL_CPU_WAITED] = waited_ns;
}

void nl_kernel_read(struct nl_kernel *k, int64_t counts[NL_N_KERNEL]) {
    for (int i = 0; i < NL_N_KERNEL; i++)
        counts[i] = -1;
    add_table(k, &k->sources[INTERRUPTS], NL_IRQ_TIMER, NL_SOFTIRQ_TIMER, kind_of_interrupt, counts);
    add_table(k, &k->sources[SOFTIRQS], NL_SOFTIRQ_TIMER, NL_CPU_SWITCHES, kind_of_softirq, counts);
    add_schedstat(k, counts);
}

void nl_kernel_between(const int64_t before[NL_N_KERNEL], const int64_t after[NL_N_KERNEL],
                       int64_t counts[NL_N_KERNEL]) {
    for (int i = 0; i < NL_N_KERNEL; i++) {
        int64_t n = before[i] < 0 || after[i] < 0 ? -1 : after[i] - before[i];
        /* of one CPU at a time */
        while (before[i] >= 0 && after[i] >= 0 && n < 0 && i < NL_CPU_SWITCHES)
            n += INT64_C(1) << 32;
        counts[i] = n < 0 ? -1 : n;
    }
}

NL_ORDER(smallest_first, int64_t)

int64_t nl_kernel_reading_ns(struct nl_kernel *k) {
    int64_t took_ns[TRIES], counts[NL_N_KERNEL];
    for (int i = 0; i < TRIES; i++) {
        int64_t from_ns = nl_mono_ns();
        nl_kernel_read(k, counts);
        took_ns[i] = nl_mono_ns() - from_ns;
    }
    qsort(took_ns, TRIES, sizeof *took_ns, smallest_first);
    return took_ns[TRIES / 2];
}

int64_t nl_kernel_wake_ns(void) {
    const struct timespec pause = {.tv_nsec = SLEEP_NS};
    int64_t took_ns[WAKES], from_ns = nl_thread_cpu_ns();
    for (int i = 0; i < WAKES; i++) {
        nanosleep(&pause, NULL);
        int64_t now_ns = nl_thread_cpu_ns();
        took_ns[i] = now_ns - from_ns;
        from_ns = now_ns;
    }
    qsort(took_ns, WAKES, sizeof *took_ns, smallest_first);
    return took_ns[WAKES / 2];
}

void nl_kernel_problem(const struct nl_kernel *k, char *text, size_t size) {
    int64_t counts[NL_N_KERNEL];
    text[0] = '\0';
    nl_kernel_read((struct nl_kernel *)k, counts);
    const int first[N_SOURCES] = {NL_IRQ_TIMER, NL_SOFTIRQ_TIMER, NL_CPU_SWITCHES};
    for (int i = 0; i < N_SOURCES; i++) {
        size_t n = strlen(text);
        if (counts[first[i]] < 0 && n < size)
            snprintf(text + n, size - n, "%s%s", n ? ", " : "", k->sources[i].name);
    }
}
