#include "detector/acceptance/scan.h"
#include "common/sys/nl_preempted.h"
#include "detector/ops/ops.h"
#include "detector/ops/work.h"

/* Time of a turn of the loop below, in ticks: the mean of the least disturbed of some batches. */
static double turn_ticks(const struct nl_ticks *ticks) {
    enum { BATCHES = 200, TURNS = 1000 };
    const struct nl_ticks t = *ticks;
    const uint64_t threshold = UINT64_MAX >> 1;
    double least = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t first = nl_ticks_now(&t), before = first, n = 0;
        for (int i = 0; i < TURNS; i++) {
            uint64_t now = nl_ticks_now(&t);
            if (__builtin_expect(now - before > threshold, 0)) n++;
            before = now;
        }
        __asm__ volatile("" : : "r"(n));
        double turn = (double)(before - first) / TURNS;
        if (batch == 0 || turn < least) least = turn;
    }
    return least;
}

static void note(struct nx_scan *s, int64_t start_ns, int64_t gap_ns) {
    int64_t duration_ns = gap_ns - (int64_t)s->base_ns;
    if (duration_ns < 1) duration_ns = 1;
    if (s->detours && s->n_detours < s->n_room)
        s->detours[s->n_detours] = (struct nx_detour){start_ns, duration_ns};
    s->n_detours++;
    s->lost_ns += duration_ns;
    if (duration_ns > s->longest_ns) s->longest_ns = duration_ns;
    nl_hist_add(s->hist, duration_ns);
}

static void begin(struct nx_scan *s, struct nl_preempted *preempted) {
    nl_preempted_open(preempted, NL_PREEMPTED_AUTO);
    s->preempted_ns = -nl_preempted_ns(preempted);
    s->wall_ns = -nl_now_ns(CLOCK_MONOTONIC_RAW);
}

static void end(struct nx_scan *s, struct nl_preempted *preempted) {
    s->wall_ns += nl_now_ns(CLOCK_MONOTONIC_RAW);
    s->preempted_ns += nl_preempted_ns(preempted);
    nl_preempted_close(preempted);
}

void nx_scan_detours(struct nx_scan *s) {
    const struct nl_ticks t = *s->ticks;
    s->base_ns = turn_ticks(&t) * t.tick_ns;
    s->n_turns = s->n_detours = s->lost_ns = s->longest_ns = 0;
    const uint64_t threshold = (uint64_t)((double)s->threshold_ns / t.tick_ns),
                   span = (uint64_t)((double)s->span_ns / t.tick_ns);
    uint64_t gaps = 0, noting = 0;
    struct nl_preempted preempted;
    int64_t n = 0;
    begin(s, &preempted);
    const uint64_t first = nl_ticks_now(&t);
    uint64_t before = first;
    while (before - first < span) {
        uint64_t now = nl_ticks_now(&t), gap = now - before;
        n++;
        /* a counter that differs between CPUs could run backwards: the difference is huge then, and no detour
         */
        if (__builtin_expect(gap > threshold, 0) && gap < UINT64_MAX >> 1) {
            note(s, (int64_t)nl_ticks_to_ns(&t, before - first), (int64_t)nl_ticks_to_ns(&t, gap));
            gaps += gap;
            before = nl_ticks_now(&t);
            noting += before - now;
            continue;
        }
        before = now;
    }
    uint64_t whole = before - first;
    end(s, &preempted);
    s->looked_ns = s->wall_ns - (int64_t)nl_ticks_to_ns(&t, noting);
    s->n_turns = n;
    if (n > s->n_detours)
        s->base_ns = (double)(whole - gaps - noting) * t.tick_ns / (double)(n - s->n_detours);
}

void nx_scan_quanta(struct nx_scan *s) {
    const struct nl_ticks t = *s->ticks;
    const uint64_t span = (uint64_t)((double)s->span_ns / t.tick_ns);
    double mean = 0, squares = 0;
    struct nl_preempted preempted;
    s->n_turns = s->longest_ns = 0;
    s->least_ns = INFINITY;
    begin(s, &preempted);
    const uint64_t first = nl_ticks_now(&t);
    uint64_t before = first;
    while (before - first < span) {
        nd_work(s->n_steps);
        uint64_t now = nl_ticks_now(&t);
        int64_t ns = (int64_t)nl_ticks_to_ns(&t, now - before);
        double away = (double)ns - mean;
        nl_hist_add(s->hist, ns);
        s->n_turns++;
        mean += away / (double)s->n_turns;
        squares += away * ((double)ns - mean);
        if (ns > s->longest_ns) s->longest_ns = ns;
        if ((double)ns < s->least_ns) s->least_ns = (double)ns;
        before = now;
    }
    end(s, &preempted);
    s->mean_ns = mean;
    s->sd_ns = s->n_turns > 1 ? sqrt(squares / (double)(s->n_turns - 1)) : NAN;
}
