#include "detector/record/rehearsal.h"
#include "detector/record/launch_json.h"
#include "detector/record/record.h"

#include <jansson.h>

#include "common/base/nl_json.h"
#include "common/base/nl_units.h"

/* Halves of the schedule and of the warm-up: before each of them an agent may be switched. */
static int64_t n_switches(const struct nd_options *o) {
    return nd_options_n_halves(o) + o->warmup_ns / o->half_ns;
}

static void print_agent(const struct nd_options *o) {
    char settle[32], total[32];
    printf("agent %s (%s)\n", o->agent.name, o->agent.way);
    if (o->design->has_stretches) {
        printf("--seconds holds up to %lld switches, and the settling after them\n",
               (long long)n_switches(o));
        return;
    }
    printf("--seconds is measuring time: up to %lld switches with %s of settling each are added, %s in all, "
           "and the time of the switches\n",
           (long long)n_switches(o), nl_format_duration(o->agent.settle_ns, settle, sizeof settle),
           nl_format_duration(n_switches(o) * o->agent.settle_ns, total, sizeof total));
}

void nd_rehearsal_print(const struct nd_options *o) {
    char half[32], limit[32], period[32] = "-";
    if (nd_options_has_generator(o)) nl_format_duration(o->period_ns, period, sizeof period);
    printf("design %s: %lld rounds of %d halves of %s, noise period %s\n", o->design->name,
           (long long)o->n_rounds, nd_options_round_steps(o),
           nl_format_duration(o->half_ns, half, sizeof half), period);
    if (nd_options_limit_ns(o))
        printf("rounds that would end after %s are left out\n",
               nl_format_duration(nd_options_limit_ns(o), limit, sizeof limit));
    for (int i = 0; i < o->n_configs; i++)
        printf("operation %s, %lld bytes\n", o->configs[i].name, (long long)o->configs[i].bytes);
    if (o->external) printf("treatment %s, from outside: %s\n", o->external, nd_arms_names[o->which_arms]);
    for (int i = 0; i < o->n_doses; i++) {
        const struct nd_arm *arm = &o->arms[i];
        printf("level %g %% of %s, %s, on %s, phase %s\n", arm->level_percent, o->kinds[arm->kind],
               o->patterns[arm->pattern], o->places[arm->place], nd_phase_names[o->phases[arm->phase]]);
    }
    if (nd_options_is_late(o, o->n_arms - 1)) printf("late ranks: %s\n", o->start.arrival->name);
    if (nd_options_has_agent(o)) print_agent(o);
    if (o->sequential.stops) {
        printf("looks after rounds");
        for (int k = 0; k < o->sequential.n_looks; k++)
            printf("%s%lld", k ? ", " : " ", (long long)o->sequential.rounds[k]);
        printf(": the run ends when every slowdown is decided against %g %%\n", o->sequential.margin_percent);
    }
    printf("seed %llu\ncampaign %s\n", (unsigned long long)o->seed, o->out);
}

static json_t *treatment_json(const struct nd_options *o, int arm) {
    struct nd_arm_words words;
    nd_arm_tell(o, arm, &words);
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "kind", words.kind, "pattern", words.pattern, "placement",
                     words.placement, "phase", words.phase, "level_percent",
                     words.has_level ? json_real(words.level_percent) : json_null());
}

static json_t *agent_json(const struct nd_options *o) {
    if (!nd_options_has_agent(o)) return json_null();
    return json_pack("{s:s, s:s, s:I, s:I}", "name", o->agent.name, "way", o->agent.way, "switches",
                     (json_int_t)n_switches(o), "settle_ns", (json_int_t)o->agent.settle_ns);
}

int nd_rehearsal_print_json(const struct nd_options *o) {
    char seed[32];
    int64_t limit_ns = nd_options_limit_ns(o);
    snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:s, s:I, s:i, s:I, s:I, s:o, s:I}", "schema", 1, "program",
                  "noiselab-detect", "design", o->design->name, "arms", nd_arms_names[o->which_arms],
                  "rounds", (json_int_t)o->n_rounds, "halves_per_round", nd_options_round_steps(o), "half_ns",
                  (json_int_t)o->half_ns, "measuring_ns", (json_int_t)o->measure_ns, "limit_ns",
                  limit_ns ? json_integer(limit_ns) : json_null(), "warmup_ns", (json_int_t)o->warmup_ns);
    int failed = !json;
    failed |= nl_json_set(
        json, "noise_period_ns", nd_options_has_generator(o) ? json_integer(o->period_ns) : json_null(),
        "operations", NL_JSON_LIST(i, o->n_configs, nd_config_json(&o->configs[i])), "treatments",
        NL_JSON_LIST(i, o->n_arms, treatment_json(o, i)), "external",
        o->external ? json_string(o->external) : json_null(), "agent", agent_json(o), "looks_after_rounds",
        NL_JSON_LIST(k, o->sequential.stops ? o->sequential.n_looks : 0,
                     json_integer(o->sequential.rounds[k])),
        "seed", json_string(seed), "campaign", json_string(o->out), "notes",
        NL_JSON_LIST(i, o->n_notes, json_string(o->notes[i])), NULL);
    failed = failed || json_dumpf(json, stdout, JSON_COMPACT) || putchar('\n') == EOF || fflush(stdout);
    json_decref(json);
    return failed ? -1 : 0;
}
