/* What a recorder sees of a node: on each CPU when it was taken, as long as bursts that queue behind each
   other last. A burst that the begin or the end of the record cuts has no line, as noiselab record has none
   of it. */
#include "tests/reference/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const double begin_s = 50; /* the machine has been running for so long */

struct line {
    int64_t start_ns, duration_ns;
    unsigned cpu;
};

struct lines {
    struct line *lines;
    size_t n, room;
};

static int add_line(struct lines *all, struct line line) {
    if (all->n == all->room) {
        size_t room = all->room ? 2 * all->room : 256;
        struct line *lines = realloc(all->lines, room * sizeof *lines);
        if (!lines) return -1;
        all->lines = lines;
        all->room = room;
    }
    all->lines[all->n++] = line;
    return 0;
}

static int by_start(const void *a, const void *b) {
    const struct line *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* The lines of one CPU; returns how many bursts are cut, -1: no memory. */
static int record_cpu(const struct rs_machine *machine, uint64_t seed, uint64_t node, unsigned cpu,
    double seconds, struct lines *all) {
    struct rs_train train;
    int cut = 0, status = rs_train_open(&train, machine, seed, node, cpu);
    for (; !status && train.begin_s < begin_s + seconds; status = rs_next_busy(&train, machine)) {
        if (train.end_s <= begin_s) continue;
        int64_t start = llround((train.begin_s - begin_s) * 1e9),
            end = llround((train.end_s - begin_s) * 1e9);
        if (start < 0 || train.end_s > begin_s + seconds) cut++;
        else if (end > start) status = add_line(all, (struct line){start, end - start, cpu});
        if (status) break;
    }
    rs_train_close(&train);
    return status ? -1 : cut;
}

int rs_record(const struct rs_machine *machine, uint64_t seed, uint64_t node, double seconds, FILE *file) {
    struct lines all = {0};
    int cut = 0, status = -1;
    for (unsigned cpu = 0; cpu < machine->cpus; cpu++) {
        int of_cpu = record_cpu(machine, seed, node, cpu, seconds, &all);
        if (of_cpu < 0) goto done;
        cut += of_cpu;
    }
    if (all.n > 0) qsort(all.lines, all.n, sizeof *all.lines, by_start);
    fprintf(file, "# source: cpu\n# origin_monotonic_ns: 0\n# host: node%" PRIu64 "\n", node);
    fprintf(file, "# lost: 0\n# cut: %d\n", cut);
    fprintf(file, "# not_kept: 0\n# span_ns: %lld\n", llround(seconds * 1e9));
    fprintf(file, "# start_ns\tduration_ns\tcpu\tkind\ttask\n");
    for (size_t i = 0; i < all.n; i++) {
        fprintf(file, "%" PRId64 "\t%" PRId64 "\t%u\t-\tagent\n", all.lines[i].start_ns,
            all.lines[i].duration_ns, all.lines[i].cpu);
    }
    status = ferror(file) ? -1 : 0;
done:
    free(all.lines);
    return status;
}
