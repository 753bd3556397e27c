#include "detector/record/launch_json.h"
#include "detector/nodes/launcher.h"
#include "detector/record/record.h"
#include "noisegen/agent/setting.h"
#include "common/base/nl_json.h"
#include "common/base/nl_options.h"
#include "common/base/version.h"
#include "common/sys/nl_account_json.h"

/* A delivered level further than this from the requested one is said aloud, percent of the level. */
static const double tolerance_percent = 5;

static json_t *utc_now(void) {
    char stamp[32];
    time_t now = (time_t)nl_wall_s(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(stamp);
}

static json_t *names_json(const char *const *names, int n) {
    return NL_JSON_LIST(i, n, nl_json_text(names[i]));
}

static json_t *known_ns(int64_t ns) { return ns > 0 ? json_integer(ns) : json_null(); }

static json_t *start_options_json(const struct nd_options *o) {
    const struct nd_start_options *s = &o->start;
    if (!s->mode->is_synchronised) return json_null();
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:b, s:I, s:f, s:f, s:i, s:i, s:s, s:f, s:s, s:f, s:I}", "mode", s->mode->name,
        "clock", s->clock ? s->clock->name : "auto", "sync",
        s->sync.method ? s->sync.method->name : nd_sync_methods[0]->name, "sync_every_rank",
        s->sync.every_rank, "sync_every_ns", (json_int_t)s->sync_every_ns, "gamma", s->gamma, "eps", s->eps,
        "stage_starts", s->n_stage_starts, "stage_0_operations", s->n_first_starts, "stop_rule",
        nd_stop_rule_names[s->stop_rule], "precision_percent", s->precision_percent, "arrival",
        s->arrival->name, "arrival_factor", s->arrival_factor, "work_ns", (json_int_t)s->work_ns);
    nl_json_set(json, "slot_ns", known_ns(s->slot_ns), "late_bound_ns", known_ns(s->late_bound_ns),
                "arrival_ns", known_ns(s->arrival_ns), "arrival_trace", nl_json_text(s->arrival_trace),
                "fake_clock", nl_json_text(s->fake_clock), NULL);
    return json;
}

/* The arm of late ranks. */
static json_t *late_options_json(const struct nd_options *o) {
    const struct nd_start_options *s = &o->start;
    if (s->mode->is_synchronised || s->arrival == nd_arrivals[0]) return json_null();
    return json_pack("{s:s, s:o, s:o}", "arrival", s->arrival->name, "arrival_ns", known_ns(s->arrival_ns),
                     "arrival_trace", nl_json_text(s->arrival_trace));
}

static json_t *arm_json(const struct na_settings *s, const struct na_setting_arm *arm) {
    return json_pack("{s:o, s:o}", "kind", nl_json_text(arm->name), "values",
                     NL_JSON_LIST(i, s->n, nl_json_text(s->settings[i].values[arm->at[i]])));
}

/* What is compared: keys with their values, the first of which is the reference, and of each arm which values
 * it has. */
static json_t *settings_json(const struct na_settings *s) {
    json_t *settings = json_array();
    for (int i = 0; i < s->n; i++) {
        const struct na_setting *one = &s->settings[i];
        json_array_append_new(settings,
                              json_pack("{s:o, s:o}", "key", nl_json_text(one->key), "values",
                                        NL_JSON_LIST(k, one->n_values, nl_json_text(one->values[k]))));
    }
    return json_pack("{s:o, s:o}", "settings", settings, "arms",
                     NL_JSON_LIST(i, s->n_arms, arm_json(s, &s->arms[i])));
}

/* The agent's options: the detector's own, and every word of its companion's by its name. */
static void add_agent_options(json_t *json, const struct nd_agent_options *a, const struct nd_nodes *nodes) {
    int is_there = a->name != NULL;
    nl_json_set(json, "agent", is_there ? nl_json_text(a->name) : json_null(), "agent_options",
                names_json(a->words, a->n_words), "agent_period_ns", known_ns(a->period_ns),
                "agent_interval_ns", known_ns(a->interval_ns), "agent_settle_ns",
                is_there ? json_integer(a->settle_ns) : json_null(), "agent_timeout_ns",
                is_there ? json_integer(a->timeout_ns) : json_null(), "agent_nodes",
                is_there ? nl_json_text(nodes->text ? nodes->text : "all") : json_null(), NULL);
    if (a->against) json_object_set_new(json, "against_command", nl_json_text(a->against));
    if (a->settings) json_object_set_new(json, "settings", settings_json(a->settings));
    for (int i = 0; i < a->n_words; i++) {
        char key[48];
        const char *word = a->words[i] + strlen("--"), *value = strchr(word, '=');
        snprintf(key, sizeof key, "%.*s", (int)(value ? value - word : (ptrdiff_t)strlen(word)), word);
        for (char *c = key; *c; c++)
            if (*c == '-') *c = '_';
        json_object_set_new(json, key, !value ? json_true() : nl_json_text(value + 1));
    }
    if (a->against) json_object_set_new(json, "against", nl_json_text(a->against_name));
}

/* What a row's place holds; 0 is null where it stands for what was not given. */
static json_t *row_json(const struct nl_option *row, const struct nd_options *o) {
    const void *at = (const char *)o + row->at;
    switch (row->type) {
    case NL_FLAG: return json_boolean(*(const int *)at);
    case NL_TEXT:
    case NL_NAME: return *(const char *const *)at ? nl_json_text(*(const char *const *)at) : json_null();
    case NL_WORD: return json_string(((const char *const *)row->table)[*(const int *)at]);
    case NL_INT: return *(const int *)at ? json_integer(*(const int *)at) : json_null();
    case NL_NUMBER:
    case NL_PERCENT: return json_real(*(const double *)at);
    case NL_DURATION_OR_ZERO: return json_integer(*(const int64_t *)at);
    default: return *(const int64_t *)at ? json_integer(*(const int64_t *)at) : json_null();
    }
}

/* Whether none before has this one's name, or size. */
static int is_new(const struct nd_config *all, int i, int is_size) {
    int k = 0;
    while (k < i && (is_size ? all[k].bytes != all[i].bytes : strcmp(all[k].name, all[i].name) != 0))
        k++;
    return k == i;
}

static json_t *options_json(const struct nd_options *o) {
    const struct nd_config *c = o->configs;
    json_t *json =
        json_pack("{s:s, s:o, s:o, s:o, s:f}", "design", o->design->name, "operations",
                  NL_JSON_LIST(i, o->n_configs, is_new(c, i, 0) ? json_string(c[i].name) : NULL), "bytes",
                  NL_JSON_LIST(i, o->n_configs,
                               c[i].op->has_bytes && is_new(c, i, 1) ? json_integer(c[i].bytes) : NULL),
                  "levels_percent", NL_JSON_LIST(i, o->n_levels, json_real(o->levels_percent[i])), "seconds",
                  (double)o->measure_ns * 1e-9);
    json_object_set_new(json, o->design->is_paired ? "half_period_ns" : "block_ns", json_integer(o->half_ns));
    if (o->design->has_stretches)
        nl_json_set(json, "long_half_ns", json_integer(nd_options_long_ns(o)), "block_ns",
                    json_integer(o->stretch_ns), NULL);
    nl_json_set(
        json, "period_ns", nd_options_has_generator(o) ? json_integer(o->period_ns) : json_null(), "kind",
        nd_options_has_generator(o) ? nl_json_text(o->kinds[0]) : json_null(), "kinds",
        names_json(o->kinds, o->n_kinds), "patterns", names_json(o->patterns, o->n_patterns), "placements",
        NL_JSON_LIST(i, o->n_places, nl_json_text(nd_place_name(o, i, (char[ND_PLACE_BYTES]){0}))), "phases",
        NL_JSON_LIST(i, o->n_phases, json_string(nd_phase_names[o->phases[i]])), "generator_options",
        names_json(o->passed, o->n_passed), "noise_nodes",
        o->external ? json_null() : nl_json_text(o->noise_nodes.text ? o->noise_nodes.text : "all"), NULL);
    add_agent_options(json, &o->agent, &o->noise_nodes);
    /* covariates of the mean slowdown, declared before anything is measured; what is chosen after looking
     * decides nothing */
    nl_json_set(json, "adjust", json_pack("[s]", "steal"), "per_operation_timing",
                json_boolean(nd_options_times_operations(o)), "datatype",
                o->op.datatype ? json_string(o->op.datatype->name) : json_null(), "reduction",
                o->op.reduction ? json_string(o->op.reduction->name) : json_null(), "root",
                o->op.rotates_root ? json_string("rotate") : json_integer(o->op.root), "buffer",
                json_string(nd_buffer_use_names[o->op.buffer.use]), "arms",
                json_string(nd_arms_names[o->which_arms]), "start", start_options_json(o), "late",
                late_options_json(o), "generator", nl_json_text(o->generator_path), NULL);
    const struct nl_option *row;
    for (int i = 0; (row = nd_options_row(i)); i++)
        if (row->key) json_object_set_new(json, row->key, row_json(row, o));
    return json;
}

static json_t *cells_json(const struct nd_options *o, const struct nd_cell *cells) {
    json_t *array = json_array();
    for (int i = 0; i < o->n_configs; i++) {
        json_t *cell = json_pack("{s:s, s:I, s:I, s:f, s:I, s:I}", "operation", o->configs[i].name, "bytes",
                                 (json_int_t)o->configs[i].bytes, "operations_per_half",
                                 (json_int_t)cells[i].n_operations, "pilot_ns", cells[i].pilot_ns,
                                 "typical_ns", (json_int_t)cells[i].typical_ns, "detour_threshold_ns",
                                 (json_int_t)cells[i].detour_threshold_ns);
        json_array_append_new(array, cell);
        if (cells[i].slot_ns) json_object_set_new(cell, "slot_ns", json_integer(cells[i].slot_ns));
        if (cells[i].work_steps) json_object_set_new(cell, "work_steps", json_integer(cells[i].work_steps));
    }
    return array;
}

static json_t *sequential_json(const struct nd_options *o) {
    const struct nd_sequential_options *s = &o->sequential;
    if (!s->stops) return json_null();
    return json_pack("{s:s, s:f, s:f, s:s, s:i, s:I, s:[], s:b}", "stop_when", "decided", "margin_percent",
                     s->margin_percent, "alpha", s->alpha, "spending", s->spending->name, "looks_planned",
                     s->n_looks, "rounds_planned", (json_int_t)o->n_rounds, "looks", "decided", 0);
}

/* A slowdown in percent from a log ratio; null where it is not known, or has no number. */
static json_t *slowdown_json(double log_ratio) {
    double percent = 100 * expm1(log_ratio);
    return isfinite(percent) ? json_real(percent) : json_null();
}

static json_t *word_or_null(const char *word) { return *word ? nl_json_text(word) : json_null(); }

/* What an arm is called, into an object; null what it has not. */
static void add_arm_words(json_t *json, const char *level_key, const struct nd_options *o, int arm) {
    struct nd_arm_words words;
    nd_arm_tell(o, arm, &words);
    nl_json_set(json, level_key, words.has_level ? json_real(words.level_percent) : json_null(), "kind",
                word_or_null(words.kind), "pattern", word_or_null(words.pattern), "placement",
                word_or_null(words.placement), "phase", word_or_null(words.phase), NULL);
}

static json_t *look_cell_json(const struct nd_options *o, const struct nd_look_cell *cell) {
    json_t *json = nd_config_json(&o->configs[cell->config]);
    add_arm_words(json, "level_percent", o, cell->arm);
    nl_json_set(json, "n", json_integer(cell->n), "mean_log_ratio",
                cell->n > 0 ? json_real(cell->mean) : json_null(), "sd",
                cell->sd >= 0 ? json_real(cell->sd) : json_null(), "low_percent", slowdown_json(cell->low),
                "high_percent", slowdown_json(cell->high), "decision",
                json_string(nd_decision_names[cell->decision]), NULL);
    return json;
}

void nd_launch_json_look(json_t *launch, const struct nd_options *o, const struct nd_look *look) {
    json_t *sequential = json_object_get(launch, "sequential"),
           *cells = NL_JSON_LIST(i, look->n_cells, look_cell_json(o, &look->cells[i]));
    json_array_append_new(json_object_get(sequential, "looks"),
                          json_pack("{s:i, s:f, s:I, s:f, s:o}", "look", look->look, "fraction",
                                    look->fraction, "rounds", (json_int_t)look->rounds, "nominal_p",
                                    look->nominal_p, "cells", cells));
    json_object_set_new(sequential, "decided", json_boolean(look->n_decided == look->n_cells));
}

json_t *nd_launch_json_begin(const char *program, const struct nd_launch *l, json_t *options,
                             const char *const *operations, int n) {
    char seed[32];
    struct nd_launcher launcher;
    nd_launcher_read(&launcher);
    snprintf(seed, sizeof seed, "%" PRIu64, l->seed);
    json_t *clock = json_pack("{s:s, s:s, s:f, s:f, s:f}", "name", l->ticks->name, "source",
                              l->hosts[0].clocksource, "tick_ns", l->ticks->tick_ns, "read_ns",
                              l->ticks->read_ns, "resolution_ns", l->ticks->resolution_ns);
    json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:i, s:i}", "schema", NOISELAB_SCHEMA,
                             "program", program, "version", NOISELAB_VERSION, "git", nl_git, "launch", l->id,
                             "command", NL_JSON_LIST(i, l->argc, nl_json_text(l->argv[i])), "options",
                             options, "seed", seed, "ranks", l->team->n_ranks, "nodes", l->team->n_nodes);
    nl_json_set(json, "placement", NL_JSON_LIST(i, l->team->n_ranks, nd_binding_json(&l->bindings[i])),
                "hosts", NL_JSON_LIST(i, l->team->n_nodes, nd_host_json(&l->hosts[i])), "mpi",
                nd_mpi_json(operations, n), "launcher", json_string(launcher.name), "slurm", nd_slurm_json(),
                "clock", clock, "warnings", json_array(), "started_utc", utc_now(), "ended_utc", json_null(),
                "ended", json_null(), "rows", json_null(), NULL);
    return json;
}

json_t *nd_launch_json_new(const struct nd_launch *l, const struct nd_options *o,
                           const struct nl_preempted *preempted, const struct nd_cell *cells, int64_t n_pairs,
                           int n_generators, int n_agents) {
    const char *names[ND_MAX_CONFIGS];
    for (int i = 0; i < o->n_configs; i++)
        names[i] = o->configs[i].op->name;
    json_t *json = nd_launch_json_begin("noiselab-detect", l, options_json(o), names, o->n_configs);
    nl_json_set(json, "preempted_by", json_string(nl_preempted_names[nl_preempted_source(preempted)]),
                "cells", cells_json(o, cells), "pairs_planned", json_integer(n_pairs), "rounds_planned",
                json_integer(o->n_rounds), "rounds_done", json_null(), "sequential", sequential_json(o),
                "n_generators", json_integer(n_generators), "generators", json_array(), "switching",
                json_null(), "n_agents", json_integer(n_agents), "agents", json_array(), "cpu_account",
                json_array(), "warnings", NL_JSON_LIST(i, o->n_notes, nl_json_text(o->notes[i])), NULL);
    return json;
}

void nd_launch_json_program(json_t *launch, const struct nd_options *o, const char *executable,
                            const struct nd_beat *beat) {
    char name[64];
    json_t *json = json_null();
    if (executable)
        json = json_pack("{s:o, s:o, s:s, s:o, s:I, s:I, s:I}", "executable", nl_json_text(executable),
                         "profile", nl_json_text(o->app), "beat", nd_beat_tell(beat, name, sizeof name),
                         "beat_given", nl_json_text(o->beat), "beat_ns", (json_int_t)beat->beat_ns,
                         "beat_median_ns", (json_int_t)beat->median_ns, "beats_in_period",
                         (json_int_t)beat->period);
    json_object_set_new(launch, "follows", json);
}

void nd_launch_json_start(json_t *launch, const struct nd_options *o, const struct nd_starter *s) {
    json_t *json = json_null();
    if (s) {
        json =
            json_pack("{s:s, s:o, s:I, s:f}", "mode", o->start.mode->name, "clock", nd_clock_json(&s->clock),
                      "late_bound_ns", (json_int_t)s->late_bound_ns, "residual_ns", s->sync.residual_ns);
        json_t *sync = json_null();
        if (!s->is_shared)
            sync = json_pack("{s:s, s:i, s:f}", "method", s->sync.options.method->name, "runs",
                             s->sync.n_runs, "seconds", (double)s->sync.run_ns * 1e-9);
        nl_json_set(json, "sync", sync, "starts", json_null(), "late_starts", json_null(), "overshoot_ns",
                    json_null(), "raw", nl_json_text(o->start.raw), NULL);
    }
    json_object_set_new(launch, "start", json);
}

void nd_launch_json_start_end(json_t *launch, const struct nd_starter *s, const struct nl_hist *overshoots) {
    json_t *json = json_object_get(launch, "start"), *sync = json_object_get(json, "sync");
    nl_json_set(json, "starts", json_integer(s->n_starts), "late_starts", json_integer(s->n_late),
                "late_bound_ns", json_integer(s->late_bound_ns), "residual_ns",
                json_real(s->sync.residual_ns), NULL);
    if (json_is_object(sync)) json_object_set_new(sync, "runs", json_integer(s->sync.n_runs));
    if (s->n_starts > 0)
        json_object_set_new(json, "overshoot_ns",
                            json_pack("{s:I, s:I, s:I}", "p50", (json_int_t)nl_hist_quantile(overshoots, 0.5),
                                      "p99", (json_int_t)nl_hist_quantile(overshoots, 0.99), "max",
                                      (json_int_t)nl_hist_max(overshoots)));
}

json_t *nd_config_json(const struct nd_config *c) {
    return json_pack("{s:s, s:I}", "operation", c->name, "bytes", (json_int_t)c->bytes);
}

/* Adds `configs` and `arms` to the header of a binary file, whose blocks name them by number. */
static void add_cells(json_t *header, const struct nd_options *o) {
    json_t *arms = json_array();
    for (int i = ND_OFF; i < o->n_arms; i++) {
        json_t *arm = json_pack("{s:s}", "arm", i == ND_OFF ? "off" : "on");
        add_arm_words(arm, "level_requested_percent", o, i);
        json_array_append_new(arms, arm);
    }
    nl_json_set(header, "configs", NL_JSON_LIST(i, o->n_configs, nd_config_json(&o->configs[i])), "arms",
                arms, NULL);
}

json_t *nd_launch_json_raw_header(const json_t *launch, const struct nd_options *o,
                                  const struct nd_starter *s) {
    json_t *header = json_pack("{s:O, s:i, s:s, s:I}", "launch", json_object_get(launch, "launch"), "ranks",
                               s->team->n_ranks, "mode", o->start.mode->name, "late_bound_ns",
                               (json_int_t)s->late_bound_ns);
    add_cells(header, o);
    return header;
}

json_t *nd_launch_json_slices_header(const char *launch, const struct nd_options *o,
                                     const struct nd_binding *binding) {
    json_t *header = json_pack("{s:s, s:s, s:i, s:i, s:s}", "launch", launch, "host", binding->host, "rank",
                               binding->rank, "cpu", binding->cpu, "clock", "monotonic");
    add_cells(header, o);
    return header;
}

static json_t *quiet_cpu_json(const struct nd_quiet_cpu *cpu) {
    json_t *tasks = NL_JSON_LIST(t, cpu->n_tasks,
                                 json_pack("{s:o, s:i, s:f, s:b}", "name", nl_json_text(cpu->tasks[t].name),
                                           "pid", (int)cpu->tasks[t].pid, "percent", cpu->tasks[t].percent,
                                           "realtime", (int)cpu->tasks[t].is_realtime));
    return json_pack("{s:i, s:f, s:f, s:o}", "cpu", (int)cpu->cpu, "busy_percent", cpu->busy_percent,
                     "steal_percent", cpu->steal_percent, "tasks", tasks);
}

static json_t *quiet_node_json(const struct nd_quiet_node *node) {
    return json_pack("{s:s, s:i, s:f, s:f, s:f, s:o}", "host", node->host, "n_cpus", (int)node->n_cpus,
                     "busy_percent", node->busy_percent, "steal_percent", node->steal_percent,
                     "resolution_percent", node->resolution_percent, "cpus",
                     NL_JSON_LIST(i, node->n_listed, quiet_cpu_json(&node->cpus[i])));
}

void nd_launch_json_before(json_t *launch, const struct nd_quiet_node *nodes, int n_nodes, int64_t look_ns,
                           int n_looks, int64_t waited_ns) {
    json_object_set_new(launch, "before",
                        !nodes ? json_null()
                               : json_pack("{s:f, s:i, s:f, s:b, s:o}", "look_s", (double)look_ns * 1e-9,
                                           "looks", n_looks, "waited_s", (double)waited_ns * 1e-9, "quiet",
                                           nd_quiet_is(nodes, n_nodes, ND_QUIET_LIMIT_PERCENT), "nodes",
                                           NL_JSON_LIST(i, n_nodes, quiet_node_json(&nodes[i]))));
}

void nd_launch_json_account(json_t *launch, const char *host, const struct nl_account_sum *sum) {
    json_t *account = nl_account_json(sum, NULL, 0);
    json_object_set_new(account, "host", nl_json_text(host));
    json_array_append_new(json_object_get(launch, "cpu_account"), account);
    if (!nl_account_is_blind(sum, ND_QUIET_LIMIT_PERCENT)) return;
    if (sum->span_ns == 0)
        nd_launch_json_warn(launch, "%s: where its CPUs' time went is not known: /proc/stat cannot be read",
                            host);
    else
        nd_launch_json_warn(
            launch, "%s: nobody accounts for %.3g %% of the time of its ranks' CPUs (CPU %d: %.3g %%)%s%s",
            host, nl_account_unaccounted_percent(sum), (int)sum->worst.cpu,
            nl_account_percent_of_cpu(sum, sum->worst.unaccounted_ns), sum->blind[0] ? ": " : "", sum->blind);
}

void nd_launch_json_counters(json_t *launch, int64_t reading_ns, int64_t wake_ns, int is_read,
                             const char *unknown, const char *problem) {
    json_object_set_new(
        launch, "counters",
        json_pack("{s:I, s:I, s:b, s:o, s:o}", "reading_ns", (json_int_t)reading_ns, "wake_ns",
                  (json_int_t)wake_ns, "read", is_read, "not_there",
                  nl_json_text(unknown[0] ? unknown : NULL), "hardware",
                  nl_json_text(problem[0] ? problem : NULL)));
}

void nd_launch_json_likwid(json_t *launch, int is_asked, const char *problem) {
    json_object_set_new(launch, "likwid",
                        !nl_likwid ? json_null()
                                   : json_pack("{s:s, s:b, s:o}", "library", nl_likwid, "active",
                                               is_asked && !problem, "reason", nl_json_text(problem)));
}

/* One more in launch[key]. */
static void count(json_t *launch, const char *key) {
    json_object_set_new(launch, key, json_integer(json_integer_value(json_object_get(launch, key)) + 1));
}

void nd_launch_json_note(json_t *launch, int is_said, const char *format, ...) {
    char line[1024];
    json_t *warnings = json_object_get(launch, "warnings");
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (is_said) nl_warn("%s", line);
    if (json_array_size(warnings) < ND_MOST_WARNINGS)
        json_array_append_new(warnings, nl_json_text(line));
    else
        count(launch, "warnings_left_out");
}

/* A node's certificate into launch[key]. Rank 0 holds them all until the end, so of many nodes it keeps those
 * that say something. */
static void keep_certificate(json_t *launch, const char *key, json_t *certificate, int says_something) {
    json_t *kept = json_object_get(launch, key);
    const size_t n = json_array_size(kept);
    if (n >= ND_FULL_CERTIFICATES) json_object_del(certificate, "threads");
    if (n < ND_FULL_CERTIFICATES || (says_something && n < ND_MOST_CERTIFICATES)) {
        json_array_append_new(kept, certificate);
        return;
    }
    count(launch, "certificates_left_out");
    json_decref(certificate);
}

/* One arm on one node; `ok` is null for the placebo, which has no ratio. */
static json_t *level_json(const struct nd_options *o, int arm, const struct nd_level_sum *s) {
    double delivered_percent = 100. * (double)s->delivered_ns / ((double)s->wall_ns * (double)s->n_cpus);
    double ratio = s->requested_ns > 0 ? (double)s->delivered_ns / (double)s->requested_ns : 0;
    json_t *json =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I}", "cpus", (json_int_t)s->n_cpus, "halves",
                  (json_int_t)s->n_halves, "wall_ns", (json_int_t)s->wall_ns, "requested_ns",
                  (json_int_t)s->requested_ns, "delivered_ns", (json_int_t)s->delivered_ns,
                  "level_delivered_percent", delivered_percent, "bursts_planned",
                  (json_int_t)s->bursts_planned, "bursts_run", (json_int_t)s->bursts_run);
    add_arm_words(json, "level_requested_percent", o, arm);
    nl_json_set(json, "ratio", s->requested_ns > 0 ? json_real(ratio) : json_null(), "ok",
                s->requested_ns > 0 ? json_boolean(fabs(ratio - 1) * 100 <= tolerance_percent) : json_null(),
                NULL);
    return json;
}

/* Puts the arms into a node's certificate; warns of those whose dose was missed, by the one that is furthest
 * off. @return their number. */
static int add_levels(json_t *launch, json_t *certificate, const struct nd_options *o,
                      const struct nd_node_end *node) {
    json_t *levels = json_array();
    int n_off = 0;
    double furthest = 0;
    char line[480] = "";
    const char *host = json_string_value(json_object_get(certificate, "host"));
    for (int i = 0; i < o->n_doses; i++) {
        const struct nd_arm *arm = &o->arms[i];
        if (node->levels[i].n_halves == 0) continue;
        json_t *level = level_json(o, i, &node->levels[i]);
        json_array_append_new(levels, level);
        if (!json_is_false(json_object_get(level, "ok"))) continue;
        double distance = fabs(log(fmax(json_real_value(json_object_get(level, "ratio")), 1e-9)));
        if (n_off++ > 0 && distance <= furthest) continue;
        furthest = distance;
        snprintf(line, sizeof line,
                 "level %g %% of %s (%s, on %s, phase %s): the generator on %s delivered %.3g %% of one CPU",
                 arm->level_percent, o->kinds[arm->kind], o->patterns[arm->pattern], o->places[arm->place],
                 nd_phase_names[o->phases[arm->phase]], host ? host : "?",
                 json_real_value(json_object_get(level, "level_delivered_percent")));
    }
    if (n_off > 0)
        nd_launch_json_warn(launch,
                            "%s (tolerance %g %% of the level%s); the analysis uses what was delivered", line,
                            tolerance_percent, n_off > 1 ? "; other arms missed theirs, too" : "");
    json_object_set_new(certificate, "levels", levels);
    return n_off;
}

/* A node's certificate; where there is none that can be read, the node's name alone, and a warning. */
static json_t *certificate_json(json_t *launch, const char *certificate, const char *host, const char *lost) {
    json_error_t error;
    json_t *json = json_loads(certificate, 0, &error);
    if (json) return json;
    nd_launch_json_warn(launch, "%s: %s", host, lost);
    return json_pack("{s:o}", "host", nl_json_text(host));
}

void nd_launch_json_generator(json_t *launch, const struct nd_options *o, const struct nd_node_end *node) {
    int64_t n_halves = 0;
    if (!node->has_generator) return;
    for (int i = 0; i < o->n_doses; i++)
        n_halves += node->levels[i].n_halves;
    /* what the detector saw of it is kept in any case */
    json_t *certificate =
        certificate_json(launch, node->certificate, node->host, "the generator gave no certificate");
    /* that of the last half followed its length */
    if (json_object_get(certificate, "period_ns"))
        json_object_set_new(certificate, "period_ns", json_integer(o->period_ns));
    if (node->n_early_bursts * 50 > n_halves)
        nd_launch_json_warn(launch,
                            "%s: over 2 %% of the first bursts were due before their loop began: starting a "
                            "half takes long here",
                            node->host);
    if (node->n_lost_bursts)
        nd_launch_json_warn(launch, "%s: %lld bursts of the generator are not in its trace: too many at once",
                            node->host, (long long)node->n_lost_bursts);
    int n_off = add_levels(launch, certificate, o, node);
    keep_certificate(launch, "generators", certificate,
                     n_off > 0 || !node->certificate[0] || json_is_false(json_object_get(certificate, "ok")));
    const json_t *slowest = json_object_get(json_object_get(launch, "switching"), "p99_ns");
    if (!slowest || node->switch_p99_ns > json_integer_value(slowest))
        json_object_set_new(launch, "switching",
                            json_pack("{s:I, s:I, s:I, s:I}", "n", (json_int_t)node->n_switches, "p50_ns",
                                      (json_int_t)node->switch_p50_ns, "p99_ns",
                                      (json_int_t)node->switch_p99_ns, "max_ns",
                                      (json_int_t)node->switch_max_ns));
}

void nd_launch_json_agent(json_t *launch, const struct nd_agent_end *node) {
    if (!node->has_agent) return;
    size_t i;
    json_t *warning, *certificate = certificate_json(launch, node->certificate, node->host,
                                                     "the agent's companion gave no certificate");
    json_array_foreach(json_object_get(certificate, "warnings"), i, warning) if (json_is_string(warning))
        nd_launch_json_warn(launch, "%s: %s", node->host, json_string_value(warning));
    keep_certificate(launch, "agents", certificate,
                     !node->certificate[0] || json_array_size(json_object_get(certificate, "warnings")) > 0);
}

/* A clock that was set moves neither of the launch's times. What time servers correct gradually, 0.05 %, is
 * no step. */
static void say_step(json_t *launch) {
    int64_t step_ns;
    nl_wall_s(&step_ns);
    if (llabs(step_ns) < 2000000000) return;
    nd_launch_json_say(
        launch,
        "the clock was set by %+.0f s during the launch: started_utc and ended_utc are by the clock before",
        (double)step_ns * 1e-9);
}

void nd_launch_json_end(json_t *launch, const char *ended, int64_t n_rows, int64_t peak_memory_kib) {
    say_step(launch);
    nl_json_set(launch, "ended_utc", utc_now(), "ended", json_string(ended), "rows", json_integer(n_rows),
                "peak_memory_kib", json_integer(peak_memory_kib), NULL);
}
