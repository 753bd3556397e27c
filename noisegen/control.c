#include "control.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "certificate.h"
#include "machine.h"
#include "nl_clock.h"
#include "nl_control.h"
#include "nl_error.h"
#include "nl_place.h"
#include "pace.h"

/* Whose CPU time is it? A level's account pays for its bursts and their wake-ups, from the answer to RUN up to the last moment before the
 * sleep that the next command ends. That sleep and the command itself are not charged: every half has them, also those without load. */

struct session {
    const struct ng_options *options;
    struct nl_control *page;
    uint32_t seen; /* number of the command being obeyed */
    int cpu;       /* -1: not placed yet */
    void *work_state;
    int64_t period_ns; /* of the last RUN; 0: none yet */
    int64_t started_ns;
    struct ng_switches switches_before;
    struct ng_cpus cpus;
    struct ng_wake_cost wake;
    struct ng_lateness lateness;
    struct ng_level levels[NL_CONTROL_MAX_LEVELS];
};

/* ---- the machine of a controlled generator: sleeps end when a command comes ---- */

static int interrupted(void *context) {
    struct session *s = context;
    return atomic_load_explicit(&s->page->command_number, memory_order_relaxed) != s->seen;
}

static int sleep_until(void *context, int64_t deadline_ns) {
    struct session *s = context;
    int commanded = nl_control_wait(s->page, s->seen, deadline_ns);
    ng_cpus_note(&s->cpus);
    return commanded;
}

/* ---- commands ---- */

static int refuse(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct session *s, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->page->text, sizeof s->page->text, format, arguments);
    va_end(arguments);
    return -1;
}

/* The array is made anew on the CPU that will walk it, so that it lies in that CPU's memory. */
static int prepare_work(struct session *s) {
    const struct ng_kind *kind = s->options->kind;
    struct ng_kind_options kind_options = {.array_bytes = s->options->array_bytes};
    if (kind->clean_up) kind->clean_up(s->work_state);
    s->work_state = NULL;
    return kind->prepare ? kind->prepare(&kind_options, &s->work_state) : 0;
}

static int pin(struct session *s, struct nl_place *place, int cpu, const char *list) {
    char allowed[256];
    if (list[0] && nl_place_restrict_to_list(place, list)) return refuse(s, "'%s' is not a list of CPUs", list);
    if (!nl_place_is_allowed(place, cpu))
        return refuse(s, "CPU %d is not among the allowed CPUs (%s)", cpu, nl_place_list(place, allowed, sizeof allowed));
    if (nl_place_pin(place, cpu)) return refuse(s, "the system refuses to bind to CPU %d", cpu);
    return 0;
}

static int obey_place(struct session *s) {
    struct nl_place *place;
    char list[sizeof s->page->allowed_cpus];
    snprintf(list, sizeof list, "%.*s", (int)sizeof list - 1, s->page->allowed_cpus);
    s->cpu = -1;
    if (nl_place_open(&place)) return refuse(s, "cannot read this machine's topology");
    int cpu = s->page->cpu;
    int rc = pin(s, place, cpu, list);
    nl_place_close(place);
    if (rc) return rc;
    if (prepare_work(s)) return refuse(s, "no memory for the array");
    s->cpu = cpu;
    return 0;
}

static struct ng_plan plan_of_page(const struct session *s) {
    const struct nl_control *page = s->page;
    int64_t most = INT64_MAX / 4 / (page->period_ns > 0 ? page->period_ns : 1);
    int64_t n_bursts = page->n_bursts < most ? page->n_bursts : most;
    if (atomic_load(&page->is_closed)) n_bursts = 0;
    return (struct ng_plan){.start_ns = page->first_burst_ns,
                            .period_ns = page->period_ns,
                            .length_ns = n_bursts * page->period_ns,
                            .level = page->level_percent / 100,
                            .duty_cap = s->options->duty_cap_percent / 100,
                            .carry_bursts = (double)s->options->carry_bursts};
}

/* Checks a RUN and finds its account; -1 when it is refused. */
static int check_run(struct session *s, const struct ng_plan *plan, int32_t index) {
    double level_percent = s->page->level_percent;
    if (s->cpu < 0) return refuse(s, "RUN before PLACE");
    if (index < 0 || index >= NL_CONTROL_MAX_LEVELS)
        return refuse(s, "level index %d is not from 0 to %d", index, NL_CONTROL_MAX_LEVELS - 1);
    if (!(level_percent >= 0 && level_percent <= 100)) return refuse(s, "a level of %g %% is not from 0 to 100", level_percent);
    if (plan->level > plan->duty_cap) return refuse(s, "a level of %g %% is above the duty cap", level_percent);
    if (plan->period_ns < 1000000 || plan->period_ns > INT64_C(60000000000)) return refuse(s, "the period is not from 1 ms to 60 s");
    if (plan->length_ns < 0) return refuse(s, "a negative number of bursts");
    struct ng_level *level = &s->levels[index];
    if (level->is_used && level->level_percent != level_percent)
        return refuse(s, "level index %d is the account of %g %%, not of %g %%", index, level->level_percent, level_percent);
    level->is_used = 1;
    level->level_percent = level_percent;
    return 0;
}

/* Runs until the next command. The answer goes out first, so that the owner need not wait for us. */
static void obey_run(struct session *s, const struct ng_plan *plan, struct ng_level *level) {
    struct ng_machine machine = {.context = s,
                                 .now_ns = ng_machine_now_ns,
                                 .cpu_ns = ng_machine_cpu_ns,
                                 .sleep_until = sleep_until,
                                 .interrupted = interrupted,
                                 .work = s->options->kind->work,
                                 .work_state = s->work_state};
    struct ng_run run = {.account = &level->account,
                         .wake = &s->wake,
                         .lateness = &s->lateness,
                         .n_run_shared = &s->page->bursts_run};
    s->period_ns = plan->period_ns;
    level->n_halves++;
    int64_t begin_ns = nl_mono_ns();
    /* said before the half, so that an analysis may select halves by it: what happens within the half cannot have decided it */
    int is_due = ng_next_burst(plan, &level->account, ng_wake_cost_ns(&s->wake), 0) < ng_n_periods(plan);
    atomic_store(&s->page->is_burst_due, is_due);
    nl_control_answer(s->page, s->seen, 0);
    ng_run_deadline(plan, &machine, &run);
    level->wall_ns += nl_mono_ns() - begin_ns;
}

/* ---- the end ---- */

static void add_account(struct ng_account *total, const struct ng_account *a) {
    total->requested_ns += a->requested_ns;
    total->owed_ns += a->owed_ns;
    total->carried_ns += a->carried_ns;
    total->dropped_ns += a->dropped_ns;
    total->delivered_ns += a->delivered_ns;
    total->overhead_ns += a->overhead_ns;
    total->n_planned += a->n_planned;
    total->n_run += a->n_run;
    total->n_merged += a->n_merged;
    total->n_late += a->n_late;
}

static int obey_quit(struct session *s) {
    struct ng_switches now = ng_switches_now();
    struct ng_certificate c = {.options = s->options,
                               .period_ns = s->period_ns,
                               .level_percent = -1,
                               .cpu = s->cpu,
                               .cpus = &s->cpus,
                               .elapsed_ns = nl_mono_ns() - s->started_ns,
                               .lateness = &s->lateness,
                               .switches = {.n_voluntary = now.n_voluntary - s->switches_before.n_voluntary,
                                            .n_involuntary = now.n_involuntary - s->switches_before.n_involuntary},
                               .ended = "complete",
                               .wake_cost_ns = ng_wake_cost_ns(&s->wake),
                               .levels = s->levels,
                               .n_levels = NL_CONTROL_MAX_LEVELS};
    for (int i = 0; i < NL_CONTROL_MAX_LEVELS; i++)
        if (s->levels[i].is_used) add_account(&c.account, &s->levels[i].account);
    char *text = ng_certificate_json(&c, 0);
    int rc = 0;
    if (!text)
        rc = refuse(s, "no memory for the certificate");
    else if (strlen(text) >= sizeof s->page->text)
        rc = refuse(s, "the certificate does not fit into the page");
    else
        strcpy(s->page->text, text);
    free(text);
    return rc;
}

/* Obeys the command that has come; returns 1 after QUIT. */
static int obey(struct session *s) {
    struct nl_control *page = s->page;
    s->seen = atomic_load(&page->command_number);
    uint32_t command = page->command; /* the next one may be written as soon as this one is answered */
    if (command == NL_COMMAND_RUN) {
        struct ng_plan plan = plan_of_page(s);
        int32_t index = page->level_index;
        if (check_run(s, &plan, index))
            nl_control_answer(page, s->seen, -1);
        else
            obey_run(s, &plan, &s->levels[index]);
        return 0;
    }
    int rc = -1;
    if (command == NL_COMMAND_PLACE)
        rc = obey_place(s);
    else if (command == NL_COMMAND_IDLE)
        rc = 0; /* any command ends a RUN */
    else if (command == NL_COMMAND_QUIT)
        rc = obey_quit(s);
    else
        refuse(s, "unknown command %u", command);
    nl_control_answer(page, s->seen, rc);
    return command == NL_COMMAND_QUIT;
}

int ng_controlled(const struct ng_options *o) {
    int status = NL_EXIT_USAGE;
    struct session *s = calloc(1, sizeof *s);
    if (!s) {
        nl_error("no memory");
        return status;
    }
    s->options = o;
    s->cpu = -1;
    s->page = nl_control_attach(o->control_fd);
    if (!s->page) {
        nl_error("--control-fd: %d is not a control page of this version", o->control_fd);
        goto out;
    }
    if (s->page->owner_pid != (int32_t)getppid()) {
        nl_error("--control-fd: the page's owner is not the parent of this process");
        goto out;
    }
    /* a Ctrl-C reaches the whole process group; the owner decides when the load ends, and it still wants the certificate */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    ng_machine_be_punctual();
    ng_cpus_init(&s->cpus);
    s->started_ns = nl_mono_ns();
    s->switches_before = ng_switches_now();
    s->seen = 0; /* a command may have come before we were ready */
    atomic_store(&s->page->generator_pid, (int32_t)getpid());
    do nl_control_wait(s->page, s->seen, NG_FOREVER);
    while (!obey(s));
    status = NL_EXIT_OK;
out:
    if (o->kind->clean_up) o->kind->clean_up(s->work_state);
    nl_control_unmap(s->page);
    free(s);
    return status;
}
