#include "alone.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certificate.h"
#include "machine.h"
#include "nl_clock.h"
#include "nl_error.h"
#include "nl_place.h"
#include "nl_units.h"
#include "pace.h"

/* Pins this thread to the CPU asked for, out of those that cgroup and binding (taskset, srun) allow; returns the CPU, -1 on error. */
static int place(const struct ng_options *o) {
    struct nl_place *place;
    char list[256];
    if (nl_place_open(&place)) {
        nl_error("cannot read this machine's topology");
        return -1;
    }
    nl_place_restrict_to_binding(place);
    int cpu = o->cpu >= 0 ? o->cpu : nl_place_first(place);
    if (!nl_place_is_allowed(place, cpu)) {
        nl_error("--cpu: %d is not among the allowed CPUs (%s)", cpu, nl_place_list(place, list, sizeof list));
        cpu = -1;
    } else if (nl_place_pin(place, cpu)) {
        nl_error("--cpu: the system refuses to bind to CPU %d", cpu);
        cpu = -1;
    }
    nl_place_close(place);
    return cpu;
}

static int become_fifo(int priority) {
    struct sched_param parameter = {.sched_priority = priority};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) == 0) return 0;
    if (errno == EPERM)
        nl_error("--fifo: this user may not use real-time scheduling (needs CAP_SYS_NICE or an RLIMIT_RTPRIO of at least %d)", priority);
    else
        nl_error("--fifo: the system refuses real-time scheduling: %s", strerror(errno));
    return -1;
}

static struct ng_plan make_plan(const struct ng_options *o) {
    return (struct ng_plan){.period_ns = o->period_ns,
                            .length_ns = o->duration_ns,
                            .level = o->level_percent / 100,
                            .duty_cap = o->duty_cap_percent / 100,
                            .carry_bursts = (double)o->carry_bursts,
                            .is_random = o->is_random,
                            .random_seed = o->random_seed,
                            .is_bounded = 1};
}

/* Runs the plan; fills in what the certificate says about it. */
static void run_plan(const struct ng_options *o, void *work_state, struct ng_certificate *c, struct ng_cpus *cpus,
                     struct ng_lateness *lateness) {
    struct ng_plan plan = make_plan(o);
    struct ng_machine machine = ng_machine_alone(cpus);
    struct ng_wake_cost wake = {0};
    struct ng_run run = {.account = &c->account, .wake = &wake, .lateness = lateness};
    machine.work = o->kind->work;
    machine.work_state = work_state;
    struct ng_switches before = ng_switches_now();
    ng_cpus_note(cpus);
    plan.start_ns = nl_mono_ns() + o->phase_ns;
    int interrupted =
        o->kind->pacing == NG_PACING_PUBLISHED ? ng_run_published(&plan, &machine, &run) : ng_run_deadline(&plan, &machine, &run);
    int64_t elapsed_ns = nl_mono_ns() - plan.start_ns;
    struct ng_switches after = ng_switches_now();
    c->elapsed_ns = elapsed_ns > 0 ? elapsed_ns : 0;
    c->switches.n_voluntary = after.n_voluntary - before.n_voluntary;
    c->switches.n_involuntary = after.n_involuntary - before.n_involuntary;
    c->ended = interrupted ? "interrupted" : "complete";
}

static int print_certificate(const struct ng_certificate *c) {
    char line[768];
    if (c->options->json) {
        char *text = ng_certificate_json(c, 2);
        if (text) puts(text);
        free(text);
        if (!text) return -1;
    } else {
        puts(ng_certificate_line(c, line, sizeof line));
    }
    return fflush(stdout) || ferror(stdout) ? -1 : 0;
}

static int report(const struct ng_certificate *c) {
    if (print_certificate(c)) {
        nl_error("cannot write the certificate: %s", strerror(errno));
        return NL_EXIT_USAGE;
    }
    if (ng_certificate_ok(c) != 0) return NL_EXIT_OK;
    nl_error("delivered %.4g times the requested load, outside the tolerance of %g %%",
             (double)c->account.delivered_ns / c->account.requested_ns, c->options->tolerance_percent);
    return NL_EXIT_FAIL;
}

static void describe_plan(const struct ng_options *o, int cpu) {
    char duration[32], period[32], burst[32];
    struct ng_plan plan = make_plan(o);
    printf("would load CPU %d with %g %% for %s: %s, %" PRId64 " bursts of %s, one every %s%s\n", cpu, o->level_percent,
           nl_format_duration(o->duration_ns, duration, sizeof duration), o->kind->name, ng_n_periods(&plan),
           nl_format_duration((int64_t)ng_share_ns(&plan, 0, 1), burst, sizeof burst),
           nl_format_duration(o->period_ns, period, sizeof period), o->is_random ? ", at random places" : "");
}

int ng_alone(const struct ng_options *o) {
    void *work_state = NULL;
    int status = NL_EXIT_USAGE;
    struct ng_lateness *lateness = calloc(1, sizeof *lateness);
    struct ng_cpus cpus;
    struct ng_kind_options kind_options = {.array_bytes = o->array_bytes};
    struct ng_certificate certificate = {
        .options = o, .period_ns = o->period_ns, .level_percent = o->level_percent, .cpus = &cpus, .lateness = lateness};
    ng_cpus_init(&cpus);
    if (!lateness) {
        nl_error("no memory");
        goto out;
    }
    certificate.cpu = place(o);
    if (certificate.cpu < 0) goto out;
    if (o->dry_run) {
        describe_plan(o, certificate.cpu);
        status = NL_EXIT_OK;
        goto out;
    }
    if (o->kind->prepare && o->kind->prepare(&kind_options, &work_state)) {
        nl_error("--array-bytes: no memory for %" PRId64 " bytes", o->array_bytes);
        goto out;
    }
    ng_machine_be_punctual();
    ng_machine_stop_on_signals();
    if (o->fifo_priority > 0 && become_fifo(o->fifo_priority)) goto out;
    run_plan(o, work_state, &certificate, &cpus, lateness);
    status = report(&certificate);
out:
    if (o->kind->clean_up) o->kind->clean_up(work_state);
    free(lateness);
    return status;
}
