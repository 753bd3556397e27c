/* Many nodes, step by step. A heap has the CPUs by the begin of their next busy period: a CPU that no burst
   meets in a step costs nothing. */
#include "tests/reference/reference.h"

#include <math.h>
#include <stdlib.h>

enum { BATCHES = 20, LEAST_DRAWS = 8, LEAST_DRAWN_NODES = 60 };

struct entry {
    double begin_s;
    uint64_t cpu;
};

struct heap {
    struct entry *entries;
    struct rs_train *trains;
    uint64_t n, opened;
};

static void sift_down(struct entry *entries, uint64_t n, uint64_t at) {
    struct entry moved = entries[at];
    for (uint64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && entries[child + 1].begin_s < entries[child].begin_s) child++;
        if (entries[child].begin_s >= moved.begin_s) break;
        entries[at] = entries[child];
    }
    entries[at] = moved;
}

static void heap_close(struct heap *heap) {
    for (uint64_t i = 0; i < heap->opened; i++) rs_train_close(&heap->trains[i]);
    free(heap->trains);
    free(heap->entries);
}

static int heap_open(struct heap *heap, const struct rs_machine *machine, uint64_t nodes, uint64_t seed) {
    /* CPUs that are hit alike are one */
    unsigned cpus = machine->own_cpus || machine->own_costs || machine->lag_s > 0 ? machine->cpus : 1;
    if (machine->phase == RS_SAME) nodes = 1;
    *heap = (struct heap){.n = nodes * cpus};
    heap->trains = malloc(heap->n * sizeof *heap->trains);
    heap->entries = malloc(heap->n * sizeof *heap->entries);
    if (!heap->trains || !heap->entries) goto failed;
    for (uint64_t i = 0; i < heap->n; i++) {
        if (rs_train_open(&heap->trains[i], machine, seed, i / cpus, (unsigned)(i % cpus))) goto failed;
        heap->opened++;
        heap->entries[i] = (struct entry){heap->trains[i].begin_s, i};
    }
    for (uint64_t i = heap->n / 2; i-- > 0;) sift_down(heap->entries, heap->n, i);
    return 0;
failed:
    heap_close(heap);
    return -1;
}

/* When the step that begins at t0 ends: at the moment at which the last CPU has been free for `step_s` since
   t0. NAN: no memory. */
static double take_step(struct heap *heap, const struct rs_machine *machine, double t0, double step_s) {
    double undisturbed = t0 + step_s, last = undisturbed;
    while (heap->entries[0].begin_s < undisturbed) {
        struct rs_train *train = &heap->trains[heap->entries[0].cpu];
        double done = undisturbed;
        while (train->begin_s < done) {
            if (train->end_s > t0) done += train->end_s - fmax(train->begin_s, t0);
            if (rs_next_busy(train, machine)) return NAN;
        }
        /* what it has met ends before the step does: nothing of it is left for the next one */
        last = fmax(last, done);
        heap->entries[0].begin_s = train->begin_s;
        sift_down(heap->entries, heap->n, 0);
    }
    return last;
}

int rs_run(const struct rs_machine *machine, uint64_t nodes, double step_s, struct rs_length length,
    uint64_t seed, struct rs_result *result) {
    struct heap heap;
    if (heap_open(&heap, machine, nodes, seed)) return -1;
    double steps = fmax(fmax(length.steps, length.gaps * machine->gap_s / step_s), BATCHES);
    uint64_t batch = (uint64_t)ceil(steps / BATCHES), warm = batch * 2 > 20 ? batch * 2 : 20;
    double now = 0, of_batch[BATCHES], mean = 0, squares = 0;
    for (uint64_t i = 0; i < warm; i++) now = take_step(&heap, machine, now, step_s);
    for (int b = 0; b < BATCHES; b++) {
        double begin = now;
        for (uint64_t i = 0; i < batch; i++) now = take_step(&heap, machine, now, step_s);
        of_batch[b] = (now - begin) / ((double)batch * step_s) - 1;
        mean += of_batch[b] / BATCHES;
    }
    heap_close(&heap);
    if (!isfinite(now)) return -1;
    for (int b = 0; b < BATCHES; b++) squares += (of_batch[b] - mean) * (of_batch[b] - mean);
    *result = (struct rs_result){mean, sqrt(squares / (BATCHES - 1) / BATCHES)};
    return 0;
}

int rs_find_truth(const struct rs_machine *machine, uint64_t nodes, double step_s, struct rs_length length,
    unsigned most, double precision, uint64_t seed,
                  FILE *each, struct rs_truth *truth) {
    double mean = 0, squares = 0, within = 0, error = 0;
    unsigned n = 0, least = rs_is_ergodic(machine) ? LEAST_DRAWS : LEAST_DRAWN_NODES;
    while (n < most && (n < least || error > precision * mean)) {
        struct rs_result run;
        if (rs_run(machine, nodes, step_s, length, seed + n, &run)) return -1;
        if (each) fprintf(each, "%.8g\n", 100 * run.slowdown);
        double change = run.slowdown - mean;
        mean += change / ++n;
        squares += change * (run.slowdown - mean);
        /* of a period, parts of a run differ by where in it they lie */
        if (machine->arrivals != RS_PERIODIC) within += run.error * run.error;
        error = n > 1 ? sqrt(squares / (n - 1) / n) : INFINITY;
    }
    double between = n > 1 ? squares / (n - 1) - within / n : 0;
    *truth = (struct rs_truth){mean, error, rs_is_ergodic(machine) ? 0 : sqrt(fmax(0, between)), n};
    return 0;
}
