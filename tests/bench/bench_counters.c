/* What the counters around a half cost, outside of what is timed: lines of a name and a number (medians, us).
 *   bench_counters [ROUNDS]
 * reading_us: the kernel's counters of all CPUs here; reading_64_us, reading_256_us: tables of so many CPUs
 * with 120 rows, from files: the kernel's own time to write such a table is not in it; with_kernel_64_us: at
 * most so much with it, extrapolated as if all that a row takes here were its numbers; probe_us: what a rank
 * finds out about itself, with memory that has gone cold. */
#include "common/sys/nl_kernel.h"
#include "detector/measure/probe.h"
#include "tests/bench/median.h"

enum { MOST_ROUNDS = 2000, ROWS = 120, MOST_CPUS = 1024 };
#define COLD_NS INT64_C(5000000)

static unsigned char all[MOST_CPUS];

static int put_table(const char *folder, const char *name, int n_cpus, int n_rows) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    if (!f) return -1;
    for (int i = 0; i < n_cpus; i++)
        fprintf(f, "       CPU%d", i);
    for (int row = 0; row < n_rows; row++) {
        fprintf(f, "\n%4d:", row);
        for (int i = 0; i < n_cpus; i++)
            fprintf(f, " %10d", 1234567 + row * i);
        fprintf(f, "  PCI-MSIX-0000:00:01.0   0-edge      device%d", row);
    }
    fputc('\n', f);
    return fclose(f);
}

static double reading_us(struct nl_kernel *k, int n) {
    static double took[MOST_ROUNDS];
    int64_t counts[NL_N_KERNEL];
    for (int i = 0; i < n; i++) {
        int64_t from_ns = nl_mono_ns();
        nl_kernel_read(k, counts);
        took[i] = (double)(nl_mono_ns() - from_ns) / 1e3;
    }
    return median(took, n);
}

/* Numbers in a table of the kernel's here, and how long it takes to write them, us. */
static double kernel_us(const char *path, int n, int *n_numbers) {
    static double took[MOST_ROUNDS];
    static char text[1 << 20];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    for (int i = 0; i < n; i++) {
        int64_t from_ns = nl_mono_ns();
        ssize_t got;
        for (off_t at = 0; (got = pread(fd, text + at, sizeof text - 1 - (size_t)at, at)) > 0; at += got)
            text[at + got] = '\0';
        took[i] = (double)(nl_mono_ns() - from_ns) / 1e3;
    }
    close(fd);
    int n_rows = 0, n_cpus = 0;
    for (const char *at = text; (at = strstr(at, "CPU")) && at < text + strcspn(text, "\n"); at++)
        n_cpus++;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        n_rows++;
    *n_numbers = (n_rows - 1) * n_cpus;
    return *n_numbers > 0 ? median(took, n) : -1;
}

/* How long reading takes, us; -1: it cannot be tried. */
static double tables(int n_cpus, int n) {
    char folder[] = "/tmp/noiselab-bench.XXXXXX", command[64];
    if (!mkdtemp(folder)) return -1;
    int failed = put_table(folder, "interrupts", n_cpus, ROWS) || put_table(folder, "softirqs", n_cpus, 10);
    struct nl_kernel *k = failed ? NULL : nl_kernel_open(folder, all, n_cpus);
    double us = k ? reading_us(k, n) : -1;
    if (k) printf("reading_%d_us %.1f\n", n_cpus, us);
    nl_kernel_close(k);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) ? -1 : us;
}

int main(int argc, char **argv) {
    static double took[MOST_ROUNDS];
    int n = argc > 1 ? atoi(argv[1]) : 200;
    struct nd_probe_sum sum;
    if (n < 1 || n > MOST_ROUNDS) return 2;
    memset(all, 1, sizeof all);
    struct nl_kernel *k = nl_kernel_open("/proc", all, MOST_CPUS);
    struct nd_probe *p = nd_probe_open();
    if (!k || !p) return 1;
    printf("reading_us %.1f\n", reading_us(k, n));
    nl_kernel_close(k);
    int n_numbers = 0;
    double write_us = kernel_us("/proc/interrupts", n, &n_numbers), reading_64_us = tables(64, n);
    if (reading_64_us < 0 || tables(256, n) < 0) return 1;
    if (write_us >= 0)
        printf("with_kernel_64_us %.1f\n", reading_64_us + write_us / n_numbers * 64 * (ROWS + 10));
    const struct timespec cold = nl_timespec(COLD_NS);
    for (int i = 0; i < n; i++) {
        nanosleep(&cold, NULL);
        int64_t from_ns = nl_mono_ns();
        nd_probe_begin(p);
        nd_probe_end(p, &sum);
        took[i] = (double)(nl_mono_ns() - from_ns) / 1e3;
    }
    printf("probe_us %.1f\n", median(took, n));
    nd_probe_close(p);
    return 0;
}
