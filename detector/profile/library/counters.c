/* What the kernel counts for a rank and on its CPUs: read once at the begin and once at the end of the
 * profile. No file stays open in between: numbers of files are the program's. */
#include "detector/profile/library/counters.h"
#include "detector/profile/library/count.h"

static struct {
    unsigned char is_watched[CPU_SETSIZE];
    int32_t n_cpus;
    int64_t at_ns; /* 0: nothing was read */
    int64_t rank[NF_N_RANK_COUNTS], kernel[NL_N_KERNEL];
} begun;

static void choose_cpus(void) {
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask)) return;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        begun.n_cpus += begun.is_watched[i] = CPU_ISSET(i, &mask) != 0;
}

/* How often this thread moved to another CPU; -1: the kernel keeps no such account. */
static int64_t moves(void) {
    char text[4096];
    int fd = open("/proc/thread-self/sched", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strstr(text, "nr_migrations"), *colon = at ? strchr(at, ':') : NULL;
    return colon ? strtoll(colon + 1, NULL, 10) : -1;
}

static void read_rank(int64_t counts[NF_N_RANK_COUNTS]) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    counts[NF_FAULTS] = usage.ru_minflt + usage.ru_majflt;
    counts[NF_MAJOR_FAULTS] = usage.ru_majflt;
    counts[NF_VOLUNTARY] = usage.ru_nvcsw;
    counts[NF_INVOLUNTARY] = usage.ru_nivcsw;
    counts[NF_MOVES] = moves();
}

/* 0, -1: there is no memory. */
static int read_kernel(int64_t counts[NL_N_KERNEL]) {
    struct nl_kernel *kernel = nl_kernel_open("/proc", begun.is_watched, CPU_SETSIZE);
    if (!kernel) return -1;
    nl_kernel_read(kernel, counts);
    nl_kernel_close(kernel);
    return 0;
}

void nf_counters_begin(void) {
    choose_cpus();
    if (read_kernel(begun.kernel)) return;
    read_rank(begun.rank);
    begun.at_ns = nl_mono_ns();
}

void nf_counters_end(struct nf_counters *c) {
    int64_t rank[NF_N_RANK_COUNTS], kernel[NL_N_KERNEL];
    if (begun.at_ns == 0 || c->span_ns > 0) return;
    int64_t now_ns = nl_mono_ns();
    read_rank(rank);
    if (read_kernel(kernel)) return;
    for (int i = 0; i < NF_N_RANK_COUNTS; i++)
        c->rank[i] = begun.rank[i] < 0 || rank[i] < 0 ? -1 : rank[i] - begun.rank[i];
    nl_kernel_between(begun.kernel, kernel, c->kernel);
    c->n_cpus = begun.n_cpus;
    c->span_ns = now_ns - begun.at_ns;
}
