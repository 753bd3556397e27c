#include "noisegen/certificate.h"
#include "noisegen/worker.h"
#include "common/base/nl_json.h"
#include "common/base/nl_units.h"
#include "common/base/version.h"

/* Percent of one CPU. */
static double percent_of(int64_t part_ns, int64_t whole_ns) {
    return whole_ns > 0 ? 100. * (double)part_ns / (double)whole_ns : 0;
}

static int is_counted(const struct ng_certificate *c) { return c->options->rate_per_s > 0; }

/* What workers' accounts come to, at one level or (-1) alone and of all. */
static struct ng_account sum_of(const struct ng_certificate *c, int level) {
    struct ng_account total = {0};
    for (int i = 0; i < c->n_workers; i++)
        ng_account_add(&total, level < 0 ? &c->workers[i].account : &c->workers[i].levels[level].account);
    return total;
}

struct ng_account ng_certificate_total(const struct ng_certificate *c) {
    return sum_of(c, -1);
}

static struct ng_switches total_switches(const struct ng_certificate *c, int64_t *n_migrations) {
    struct ng_switches sum = {0};
    *n_migrations = 0;
    for (int i = 0; i < c->n_workers; i++) {
        *n_migrations += c->workers[i].cpus.n_migrations;
        sum.n_voluntary += c->workers[i].switches.n_voluntary;
        sum.n_involuntary += c->workers[i].switches.n_involuntary;
    }
    return sum;
}

/* ---- was it delivered? ---- */

static int account_ok(const struct ng_certificate *c, const struct ng_account *a) {
    double delivered = ng_delivered(a, is_counted(c));
    /* units are whole: one more or less is no failure */
    if (is_counted(c) && a->requested > 0 && delivered > 0 && delivered - a->requested <= 1 &&
        a->requested - delivered <= 1)
        return 1;
    return ng_within_tolerance(a->requested, delivered, c->options->tolerance_percent);
}

/* Under a detector the account is never settled: it may still save for a wake-up, or have paid half of one in
 * advance, and that much less or more is no failure of the generator (if it delivered anything at all). */
static double saved_ns(const struct ng_worker *w, int level) {
    const struct ng_account *a = &w->levels[level].account;
    double most_ns = (double)ng_wake_cost_ns(&w->wake);
    if (a->delivered_ns == 0) return 0;
    return a->owed > most_ns ? most_ns : a->owed < -most_ns ? -most_ns : a->owed;
}

static int level_ok(const struct ng_certificate *c, int level) {
    struct ng_account a = sum_of(c, level);
    double saved = 0;
    for (int i = 0; i < c->n_workers; i++)
        saved += saved_ns(&c->workers[i], level);
    return ng_within_tolerance(a.requested, (double)a.delivered_ns + saved, c->options->tolerance_percent);
}

static int is_level_used(const struct ng_certificate *c, int level) {
    for (int i = 0; i < c->n_workers; i++)
        if (c->workers[i].levels[level].is_used) return 1;
    return 0;
}

int ng_certificate_ok(const struct ng_certificate *c) {
    int all = -1, n = c->n_levels > 0 ? c->n_levels : c->n_workers;
    for (int i = 0; i < n; i++) {
        int ok = -1;
        if (c->n_levels == 0)
            ok = account_ok(c, &c->workers[i].account);
        else if (is_level_used(c, i))
            ok = level_ok(c, i);
        if (ok == 0) return 0;
        if (ok == 1) all = 1;
    }
    return all;
}

/* ---- JSON ---- */

static json_t *json_ok(int ok) { return ok < 0 ? json_null() : json_boolean(ok); }

static json_t *json_ratio(const struct ng_account *a, int counted) {
    return a->requested > 0 ? json_real(ng_delivered(a, counted) / a->requested) : json_null();
}

static json_t *json_rounded(double value) { return json_integer((json_int_t)(value + 0.5)); }

static json_t *json_known(int is_known, int64_t value) {
    return is_known ? json_integer((json_int_t)value) : json_null();
}

/* On which CPUs any of n workers was. */
static json_t *json_seen(const struct ng_worker *w, int n) {
    uint64_t seen[NG_MAX_CPUS / 64] = {0};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < NG_MAX_CPUS / 64; k++)
            seen[k] |= w[i].cpus.seen[k];
    return NL_JSON_LIST(cpu, NG_MAX_CPUS, seen[cpu / 64] >> (cpu % 64) & 1 ? json_integer(cpu) : NULL);
}

static int uses_seed(const struct ng_options *o) {
    int uses = o->phase == NG_PHASE_RANDOM;
    for (int i = 0; i < o->n_patterns; i++)
        uses |= (o->patterns[i]->uses & NG_SHAPE_SEED) != 0;
    return uses;
}

static json_t *json_seed(const struct ng_certificate *c) {
    const struct ng_options *o = c->options;
    char text[24];
    if (c->n_levels > 0 || !uses_seed(o)) return json_null(); /* under a detector its launch says both */
    snprintf(text, sizeof text, "%" PRIu64,
             o->shape.seed); /* 64 bits do not fit into a JSON reader's double */
    return json_string(text);
}

static json_t *json_lateness(const struct ng_lateness *l) {
    if (nl_hist_total(&l->hist) == 0) return json_pack("{s:n,s:n,s:n}", "p50", "p99", "max");
    return json_pack("{s:I,s:I,s:I}", "p50", (json_int_t)nl_hist_quantile(&l->hist, 0.5), "p99",
                     (json_int_t)nl_hist_quantile(&l->hist, 0.99), "max", (json_int_t)l->max_ns);
}

/* All workers' lateness; until the next call. */
static const struct ng_lateness *total_lateness(const struct ng_certificate *c) {
    static struct ng_lateness sum;
    memset(&sum, 0, sizeof sum);
    for (int i = 0; i < c->n_workers; i++) {
        const struct ng_lateness *l = &c->workers[i].lateness;
        nl_hist_join(&sum.hist, &l->hist);
        if (l->max_ns > sum.max_ns) sum.max_ns = l->max_ns;
    }
    return &sum;
}

static json_t *json_level(const struct ng_certificate *c, int index) {
    const struct ng_options *o = c->options;
    const struct ng_level *level = NULL;
    struct ng_account a = sum_of(c, index);
    int64_t wall_ns = 0;
    for (int i = 0; i < c->n_workers; i++) {
        if (c->workers[i].levels[index].is_used && !level) level = &c->workers[i].levels[index];
        wall_ns += c->workers[i].levels[index].wall_ns;
    }
    return json_pack("{s:f,s:s,s:s,s:I,s:I,s:I,s:I,s:f,s:I,s:I,s:o,s:o}", "level_requested_percent",
                     level->level_percent, "kind", o->kinds[level->kind]->name, "pattern",
                     o->patterns[level->pattern]->name, "halves", (json_int_t)level->n_halves, "wall_ns",
                     (json_int_t)wall_ns, "delivered_ns", (json_int_t)a.delivered_ns, "delivered_units",
                     (json_int_t)a.delivered_units, "level_delivered_percent",
                     percent_of(a.delivered_ns, wall_ns), "bursts_planned", (json_int_t)a.n_planned,
                     "bursts_run", (json_int_t)a.n_run, "ratio", json_ratio(&a, 0), "ok",
                     json_ok(level_ok(c, index)));
}

static json_t *json_levels(const struct ng_certificate *c) {
    return NL_JSON_LIST(i, c->n_levels, is_level_used(c, i) ? json_level(c, i) : NULL);
}

static json_t *json_kind(const struct ng_certificate *c, const struct ng_worker *w, int index) {
    int counted = is_counted(c);
    const struct ng_tally *tally = &w->tallies[index];
    const struct ng_kind *kind = c->options->kinds[index];
    json_t *json = json_pack(
        "{s:s,s:o,s:o,s:o,s:I,s:I,s:I}", "kind", kind->name, "unit", nl_json_text(kind->unit), "requested_ns",
        counted ? json_null() : json_rounded(tally->requested), "requested_units",
        counted ? json_real(tally->requested) : json_null(), "delivered_ns", (json_int_t)tally->delivered_ns,
        "delivered_units", (json_int_t)tally->delivered_units, "bursts_run", (json_int_t)tally->n_run);
    if (kind->remark && index < w->n_loads)
        json_object_set_new(json, "remark", nl_json_text(kind->remark(w->loads[index].state)));
    return json;
}

/* The kinds of one worker that did anything, or were asked to. */
static json_t *json_kinds(const struct ng_certificate *c, const struct ng_worker *w) {
    return NL_JSON_LIST(i, c->options->n_kinds,
                        w->tallies[i].requested > 0 || w->tallies[i].n_run > 0 ? json_kind(c, w, i) : NULL);
}

static json_t *json_thread(const struct ng_certificate *c, const struct ng_worker *w) {
    const struct ng_account *a = &w->account;
    json_t *json = json_object();
    nl_json_set(json, "cpu", json_integer(w->cpu), "cpus_seen", json_seen(w, 1), "elapsed_ns",
                json_integer(w->elapsed_ns), "requested_ns",
                is_counted(c) ? json_null() : json_rounded(a->requested), "delivered_ns",
                json_integer(a->delivered_ns), "ratio", json_ratio(a, is_counted(c)), "bursts_planned",
                json_integer(a->n_planned), "bursts_run", json_integer(a->n_run), "bursts_late",
                json_integer(a->n_late), "lateness_ns", json_lateness(&w->lateness), "migrations",
                json_integer(w->cpus.n_migrations), "involuntary_switches",
                json_integer(w->switches.n_involuntary), "kinds", json_kinds(c, w), NULL);
    return json;
}

static json_t *json_threads(const struct ng_certificate *c) {
    return NL_JSON_LIST(i, c->n_workers, json_thread(c, &c->workers[i]));
}

static json_t *json_trace(const struct ng_options *o) {
    const struct nl_trace *t = o->trace;
    if (!t) return json_null();
    int64_t longest_ns = 0;
    for (int i = 0; i < (t->n_cpus > 0 ? t->n_cpus : 1); i++)
        if (t->longest_ns[i] > longest_ns) longest_ns = t->longest_ns[i];
    return json_pack("{s:o,s:I,s:I,s:I,s:f,s:f,s:I,s:f,s:f,s:b}", "file", nl_json_text(t->path), "bytes",
                     (json_int_t)t->size_bytes, "bursts", (json_int_t)t->n_bursts, "span_ns",
                     (json_int_t)t->span_ns, "percent_of_cpu", 100 * ng_trace_level(t, -1),
                     "bursts_per_second", (double)t->n_bursts / (double)t->span_ns * 1e9, "longest_ns",
                     (json_int_t)longest_ns, "scale_period", o->shape.scale_period, "scale_burst",
                     o->shape.scale_burst, "loop", o->shape.is_looped);
}

static json_t *json_phase(const struct ng_options *o) {
    json_t *offset_ns = json_known(o->phase == NG_PHASE_OFFSET, o->phase_ns);
    return json_pack("{s:s,s:o,s:o,s:o}", "name", ng_phase_names[o->phase], "offset_ns", offset_ns, "node",
                     json_known(o->n_nodes > 0, o->node), "nodes", json_known(o->n_nodes > 0, o->n_nodes));
}

/* The dose in the kind's own unit; null where it has none. */
static json_t *json_dose(const struct ng_certificate *c, const struct ng_account *a) {
    const struct ng_options *o = c->options;
    if (c->n_levels > 0 || !o->kinds[0]->unit) return json_null();
    return json_pack("{s:s,s:o,s:o,s:I}", "unit", o->kinds[0]->unit, "requested_per_s",
                     is_counted(c) ? json_real(o->rate_per_s) : json_null(), "requested",
                     is_counted(c) ? json_real(a->requested) : json_null(), "delivered",
                     (json_int_t)a->delivered_units);
}

static void set_identity(json_t *json, const struct ng_certificate *c) {
    char host[256] = "";
    const struct ng_options *o = c->options;
    gethostname(host, sizeof host - 1);
    nl_json_set(
        json, "schema", json_integer(NOISELAB_SCHEMA), "program", json_string("noiselab-gen"), "version",
        json_string(NOISELAB_VERSION), "host", nl_json_text(host), "kind", json_string(o->kinds[0]->name),
        "kind_bytes", json_known(o->kind_options.array_bytes > 0, o->kind_options.array_bytes), "preset",
        nl_json_text(o->preset), "pattern", json_string(o->patterns[0]->name), "trace", json_trace(o),
        "clock", json_string(c->n_workers > 0 && c->workers[0].stretch.fd >= 0 ? "stretch" : "cpu"), "cpu",
        json_known(c->n_workers == 1, c->n_workers > 0 ? c->workers[0].cpu : -1), "cpus",
        NL_JSON_LIST(i, c->n_workers, json_integer(c->workers[i].cpu)), "cpus_seen",
        json_seen(c->workers, c->n_workers), "period_ns", json_known(c->period_ns > 0, c->period_ns), "phase",
        c->n_levels > 0 ? json_null() : json_phase(o), "random_seed", json_seed(c), "carry_bursts",
        json_integer(o->carry_bursts), "duty_cap_percent", json_real(o->duty_cap_percent), NULL);
}

static void set_delivery(json_t *json, const struct ng_certificate *c) {
    struct ng_account a = ng_certificate_total(c);
    int is_alone = c->n_levels == 0, counted = is_counted(c);
    int64_t cpu_time_ns = c->elapsed_ns * c->n_workers;
    nl_json_set(
        json, "level_requested_percent",
        is_alone && c->options->level_percent >= 0 ? json_real(c->options->level_percent) : json_null(),
        "level_delivered_percent",
        is_alone ? json_real(percent_of(a.delivered_ns, cpu_time_ns)) : json_null(), "dose", json_dose(c, &a),
        "ratio", is_alone ? json_ratio(&a, counted) : json_null(), "tolerance_percent",
        json_real(c->options->tolerance_percent), "ok", json_ok(ng_certificate_ok(c)), "elapsed_ns",
        json_integer(c->elapsed_ns), "requested_ns", counted ? json_null() : json_rounded(a.requested),
        "delivered_ns", json_integer(a.delivered_ns), "bursts_planned", json_integer(a.n_planned),
        "bursts_run", json_integer(a.n_run), "bursts_merged", json_integer(a.n_merged), "bursts_late",
        json_integer(a.n_late), counted ? "carried_units" : "carried_ns", json_rounded(a.carried),
        counted ? "dropped_units" : "dropped_ns", json_rounded(a.dropped), NULL);
}

char *ng_certificate_json(const struct ng_certificate *c, int indent, size_t size) {
    int64_t n_migrations;
    struct ng_switches switches = total_switches(c, &n_migrations);
    json_t *json = json_object();
    set_identity(json, c);
    set_delivery(json, c);
    nl_json_set(json, "lateness_ns", json_lateness(total_lateness(c)), "migrations",
                json_integer(n_migrations), "involuntary_switches", json_integer(switches.n_involuntary),
                "voluntary_switches", json_integer(switches.n_voluntary), "ended", nl_json_text(c->ended),
                NULL);
    if (c->n_levels > 0) json_object_set_new(json, "levels", json_levels(c));
    json_object_set_new(json, "threads", json_threads(c));
    size_t format =
        JSON_REAL_PRECISION(9) | (indent > 0 ? (size_t)JSON_INDENT(indent) : (size_t)JSON_COMPACT);
    char *text = json_dumps(json, format);
    if (text && size > 0 && strlen(text) >= size) {
        free(text);
        json_object_del(json, "threads");
        text = json_dumps(json, format);
    }
    json_decref(json);
    return text;
}

/* ---- one line ---- */

/* Of a recording: what it held, what was made of it, and both as sums over CPUs, in time, which no length of
 * a run changes. */
static void describe_replay(const struct ng_certificate *c, const struct ng_account *a, char *buf,
                            size_t size) {
    const struct ng_options *o = c->options;
    char requested[32], delivered[32], words[256];
    const struct ng_worker *first = &c->workers[0];
    double recorded = ng_trace_level(o->trace, -1), own = ng_trace_level(o->trace, first->trace_cpu), sum = 0;
    for (int i = 0; i < c->n_workers; i++)
        sum += c->workers[i].plan.level;
    snprintf(buf, size,
             "replay of '%.100s', bursts x %.4g, times between them x %.4g: %.4g %% of one CPU summed over "
             "CPUs, %.2f times the recording's "
             "%.4g %% (%s); %s requested, %s delivered (ratio %.4f)",
             o->trace->path, first->plan.level / own * o->shape.scale_period, o->shape.scale_period,
             100 * sum, sum / recorded, 100 * recorded, nl_trace_words(o->trace, words, sizeof words),
             nl_format_duration((int64_t)a->requested, requested, sizeof requested),
             nl_format_duration(a->delivered_ns, delivered, sizeof delivered),
             (double)a->delivered_ns / a->requested);
}

static void describe_delivery(const struct ng_certificate *c, const struct ng_account *a, char *buf,
                              size_t size) {
    const struct ng_options *o = c->options;
    double delivered_percent = percent_of(a->delivered_ns, c->elapsed_ns * c->n_workers);
    if (a->requested <= 0)
        snprintf(buf, size, "nothing requested, %.2g %% used for starting and stopping", delivered_percent);
    else if (is_counted(c))
        snprintf(buf, size, "%.6g %s requested, %" PRId64 " delivered (ratio %.4f) with %.4g %% of a CPU",
                 a->requested, o->kinds[0]->unit, a->delivered_units,
                 (double)a->delivered_units / a->requested, delivered_percent);
    else if (o->trace && c->n_levels == 0)
        describe_replay(c, a, buf, size);
    else
        snprintf(buf, size, "%.4g %% requested, %.4g %% delivered (ratio %.4f)",
                 o->level_percent >= 0 ? o->level_percent
                                       : percent_of((int64_t)a->requested, c->elapsed_ns * c->n_workers),
                 delivered_percent, (double)a->delivered_ns / a->requested);
}

static void describe_lateness(const struct ng_certificate *c, char *buf, size_t size) {
    char p50[32], p99[32], max[32];
    const struct ng_lateness *l = total_lateness(c);
    if (nl_hist_total(&l->hist) == 0)
        snprintf(buf, size, "no burst");
    else
        snprintf(buf, size, "starts late by %s (median), %s (p99), %s (max)",
                 nl_format_duration(nl_hist_quantile(&l->hist, 0.5), p50, sizeof p50),
                 nl_format_duration(nl_hist_quantile(&l->hist, 0.99), p99, sizeof p99),
                 nl_format_duration(l->max_ns, max, sizeof max));
}

static void describe_cpus(const struct ng_certificate *c, char *buf, size_t size) {
    size_t n = (size_t)snprintf(buf, size, c->n_workers == 1 ? "CPU " : "CPUs ");
    for (int i = 0; i < c->n_workers && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%d", i ? "," : "", c->workers[i].cpu);
}

const char *ng_certificate_line(const struct ng_certificate *c, char *buf, size_t size) {
    char delivery[512], lateness[160], elapsed[32], dropped[32], cpus[512];
    struct ng_account a = ng_certificate_total(c);
    int64_t n_migrations, n_involuntary = total_switches(c, &n_migrations).n_involuntary;
    describe_cpus(c, cpus, sizeof cpus);
    describe_delivery(c, &a, delivery, sizeof delivery);
    describe_lateness(c, lateness, sizeof lateness);
    if (is_counted(c))
        snprintf(dropped, sizeof dropped, "%.4g %.16s", a.dropped > 1e-6 ? a.dropped : 0.,
                 c->options->kinds[0]->unit);
    else
        nl_format_duration((int64_t)a.dropped, dropped, sizeof dropped);
    snprintf(buf, size,
             "%s on %s, %s: %s; bursts: %" PRId64 " planned, %" PRId64 " run, %" PRId64 " merged, %" PRId64
             " late; %s; %s dropped; %" PRId64 " migrations, %" PRId64 " involuntary switches; %s",
             c->options->kinds[0]->name, cpus, nl_format_duration(c->elapsed_ns, elapsed, sizeof elapsed),
             delivery, a.n_planned, a.n_run, a.n_merged, a.n_late, lateness, dropped, n_migrations,
             n_involuntary, c->ended);
    return buf;
}
