#include "certificate.h"

#include <inttypes.h>
#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "nl_units.h"
#include "version.h"

/* Percent of one CPU. */
static double percent_of(int64_t part_ns, int64_t whole_ns) {
    return whole_ns > 0 ? 100. * (double)part_ns / (double)whole_ns : 0;
}

static int account_ok(const struct ng_account *a, double tolerance_percent) {
    return ng_within_tolerance(a->requested_ns, (double)a->delivered_ns, tolerance_percent);
}

/* Under a detector the account is never settled: it may still save for a wake-up, and that much less is no failure of the generator (if it
 * delivered anything at all). */
static int level_ok(const struct ng_certificate *c, const struct ng_level *level) {
    const struct ng_account *a = &level->account;
    double saved_ns = a->owed_ns < 0 ? 0 : a->owed_ns < (double)c->wake_cost_ns ? a->owed_ns : (double)c->wake_cost_ns;
    if (a->delivered_ns == 0) saved_ns = 0;
    return ng_within_tolerance(a->requested_ns, (double)a->delivered_ns + saved_ns, c->options->tolerance_percent);
}

int ng_certificate_ok(const struct ng_certificate *c) {
    if (c->n_levels == 0) return account_ok(&c->account, c->options->tolerance_percent);
    int all = -1;
    for (int i = 0; i < c->n_levels; i++) {
        int ok = c->levels[i].is_used ? level_ok(c, &c->levels[i]) : -1;
        if (ok == 0) return 0;
        if (ok == 1) all = 1;
    }
    return all;
}

/* ---- JSON ---- */

static json_t *json_ok(int ok) {
    return ok < 0 ? json_null() : json_boolean(ok);
}

static json_t *json_ratio(const struct ng_account *a) {
    return a->requested_ns > 0 ? json_real((double)a->delivered_ns / a->requested_ns) : json_null();
}

static json_t *json_cpus(const struct ng_cpus *cpus) {
    json_t *list = json_array();
    for (int cpu = 0; cpu < NG_MAX_CPUS; cpu++)
        if (cpus->seen[cpu / 64] >> (cpu % 64) & 1) json_array_append_new(list, json_integer(cpu));
    return list;
}

static json_t *json_policy(void) {
    char text[32] = "other";
    struct sched_param parameter = {0};
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    sched_getparam(0, &parameter);
    if (policy == SCHED_FIFO) snprintf(text, sizeof text, "fifo:%d", parameter.sched_priority);
    if (policy == SCHED_RR) snprintf(text, sizeof text, "rr:%d", parameter.sched_priority);
    if (policy == SCHED_BATCH) snprintf(text, sizeof text, "batch");
    if (policy == SCHED_IDLE) snprintf(text, sizeof text, "idle");
    return json_string(text);
}

static json_t *json_host(void) {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return json_string(name);
}

static json_t *json_seed(const struct ng_options *o) {
    char text[24];
    if (!o->is_random) return json_null();
    snprintf(text, sizeof text, "%" PRIu64, o->random_seed); /* 64 bits do not fit into a JSON reader's double */
    return json_string(text);
}

static json_t *json_lateness(const struct ng_lateness *l) {
    if (nl_hist_total(&l->hist) == 0) return json_pack("{s:n,s:n,s:n}", "p50", "p99", "max");
    return json_pack("{s:I,s:I,s:I}", "p50", (json_int_t)nl_hist_quantile(&l->hist, 0.5), "p99",
                     (json_int_t)nl_hist_quantile(&l->hist, 0.99), "max", (json_int_t)l->max_ns);
}

static json_t *json_level(const struct ng_certificate *c, const struct ng_level *level) {
    const struct ng_account *a = &level->account;
    return json_pack("{s:f,s:I,s:I,s:I,s:f,s:I,s:I,s:o,s:o}", "level_requested_percent", level->level_percent, "halves",
                     (json_int_t)level->n_halves, "wall_ns", (json_int_t)level->wall_ns, "delivered_ns", (json_int_t)a->delivered_ns,
                     "level_delivered_percent", percent_of(a->delivered_ns, level->wall_ns), "bursts_planned", (json_int_t)a->n_planned,
                     "bursts_run", (json_int_t)a->n_run, "ratio", json_ratio(a), "ok", json_ok(level_ok(c, level)));
}

static json_t *json_levels(const struct ng_certificate *c) {
    json_t *list = json_array();
    for (int i = 0; i < c->n_levels; i++)
        if (c->levels[i].is_used) json_array_append_new(list, json_level(c, &c->levels[i]));
    return list;
}

static void set_identity(json_t *json, const struct ng_certificate *c) {
    const struct ng_options *o = c->options;
    json_object_set_new(json, "schema", json_integer(NOISELAB_SCHEMA));
    json_object_set_new(json, "program", json_string("noiselab-gen"));
    json_object_set_new(json, "version", json_string(NOISELAB_VERSION));
    json_object_set_new(json, "host", json_host());
    json_object_set_new(json, "kind", json_string(o->kind->name));
    json_object_set_new(json, "kind_bytes", o->array_bytes > 0 ? json_integer(o->array_bytes) : json_null());
    json_object_set_new(json, "cpu", c->cpu >= 0 ? json_integer(c->cpu) : json_null());
    json_object_set_new(json, "cpus_seen", json_cpus(c->cpus));
    json_object_set_new(json, "period_ns", c->period_ns > 0 ? json_integer(c->period_ns) : json_null());
    json_object_set_new(json, "phase_ns", json_integer(o->phase_ns));
    json_object_set_new(json, "random_seed", json_seed(o));
    json_object_set_new(json, "carry_bursts", json_integer(o->carry_bursts));
    json_object_set_new(json, "duty_cap_percent", json_real(o->duty_cap_percent));
    json_object_set_new(json, "policy", json_policy());
}

static void set_delivery(json_t *json, const struct ng_certificate *c) {
    const struct ng_account *a = &c->account;
    int is_alone = c->level_percent >= 0;
    json_object_set_new(json, "level_requested_percent", is_alone ? json_real(c->level_percent) : json_null());
    json_object_set_new(json, "level_delivered_percent", is_alone ? json_real(percent_of(a->delivered_ns, c->elapsed_ns)) : json_null());
    json_object_set_new(json, "ratio", is_alone ? json_ratio(a) : json_null());
    json_object_set_new(json, "tolerance_percent", json_real(c->options->tolerance_percent));
    json_object_set_new(json, "ok", json_ok(ng_certificate_ok(c)));
    json_object_set_new(json, "elapsed_ns", json_integer(c->elapsed_ns));
    json_object_set_new(json, "requested_ns", json_integer((json_int_t)(a->requested_ns + 0.5)));
    json_object_set_new(json, "delivered_ns", json_integer(a->delivered_ns));
    json_object_set_new(json, "overhead_ns", json_integer(a->overhead_ns));
    json_object_set_new(json, "bursts_planned", json_integer(a->n_planned));
    json_object_set_new(json, "bursts_run", json_integer(a->n_run));
    json_object_set_new(json, "bursts_merged", json_integer(a->n_merged));
    json_object_set_new(json, "bursts_late", json_integer(a->n_late));
    json_object_set_new(json, "carried_ns", json_integer((json_int_t)(a->carried_ns + 0.5)));
    json_object_set_new(json, "dropped_ns", json_integer((json_int_t)(a->dropped_ns + 0.5)));
    json_object_set_new(json, "lateness_ns", json_lateness(c->lateness));
}

char *ng_certificate_json(const struct ng_certificate *c, int indent) {
    json_t *json = json_object();
    set_identity(json, c);
    set_delivery(json, c);
    json_object_set_new(json, "migrations", json_integer(c->cpus->n_migrations));
    json_object_set_new(json, "involuntary_switches", json_integer(c->switches.n_involuntary));
    json_object_set_new(json, "voluntary_switches", json_integer(c->switches.n_voluntary));
    json_object_set_new(json, "ended", json_string(c->ended));
    if (c->n_levels > 0) json_object_set_new(json, "levels", json_levels(c));
    size_t format = JSON_REAL_PRECISION(9) | (indent > 0 ? (size_t)JSON_INDENT(indent) : (size_t)JSON_COMPACT);
    char *text = json_dumps(json, format);
    json_decref(json);
    return text;
}

/* ---- one line ---- */

static void describe_delivery(const struct ng_certificate *c, char *buf, size_t size) {
    const struct ng_account *a = &c->account;
    double delivered_percent = percent_of(a->delivered_ns, c->elapsed_ns);
    if (a->requested_ns > 0)
        snprintf(buf, size, "%.4g %% requested, %.4g %% delivered (ratio %.4f)", c->level_percent, delivered_percent,
                 (double)a->delivered_ns / a->requested_ns);
    else
        snprintf(buf, size, "nothing requested, %.2g %% used for starting and stopping", delivered_percent);
}

static void describe_lateness(const struct ng_lateness *l, char *buf, size_t size) {
    char p50[32], p99[32], max[32];
    if (nl_hist_total(&l->hist) == 0) {
        snprintf(buf, size, "no burst");
        return;
    }
    snprintf(buf, size, "starts late by %s (median), %s (p99), %s (max)",
             nl_format_duration(nl_hist_quantile(&l->hist, 0.5), p50, sizeof p50),
             nl_format_duration(nl_hist_quantile(&l->hist, 0.99), p99, sizeof p99), nl_format_duration(l->max_ns, max, sizeof max));
}

const char *ng_certificate_line(const struct ng_certificate *c, char *buf, size_t size) {
    char delivery[160], lateness[160], elapsed[32], dropped[32];
    const struct ng_account *a = &c->account;
    describe_delivery(c, delivery, sizeof delivery);
    describe_lateness(c->lateness, lateness, sizeof lateness);
    snprintf(buf, size,
             "%s on CPU %d, %s: %s; bursts: %" PRId64 " planned, %" PRId64 " run, %" PRId64 " merged, %" PRId64
             " late; %s; %s dropped; %" PRId64 " migrations, %" PRId64 " involuntary switches; %s",
             c->options->kind->name, c->cpu, nl_format_duration(c->elapsed_ns, elapsed, sizeof elapsed), delivery, a->n_planned, a->n_run,
             a->n_merged, a->n_late, lateness, nl_format_duration((int64_t)a->dropped_ns, dropped, sizeof dropped), c->cpus->n_migrations,
             c->switches.n_involuntary, c->ended);
    return buf;
}
