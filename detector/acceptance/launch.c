#include "detector/acceptance/launch.h"
#include "detector/acceptance/accept_run.h"
#include "detector/record/launch_json.h"
#include "common/base/nl_json.h"

static json_t *fault_json(const struct nx_fault *f) {
    if (!f->is_given) return json_null();
    return json_pack("{s:i, s:i, s:I}", "sender", f->sender, "receiver", f->receiver, "offset_bytes",
                     (json_int_t)f->offset_bytes);
}

static json_t *options_json(const struct nx_options *o) {
    json_t *sizes = NL_JSON_LIST(i, o->n_sizes, json_integer(o->sizes[i]));
    json_t *checks = NL_JSON_LIST(i, NX_MAX_CHECKS, o->is_chosen[i] ? json_string(nx_checks[i]->name) : NULL);
    json_t *json = json_pack("{s:o, s:s, s:f, s:i, s:o, s:I}", "checks", checks, "length",
                             o->is_quick ? "quick" : "full", "seconds", (double)o->measure_ns * 1e-9,
                             "repetitions", o->n_repetitions, "sizes_bytes", sizes, "detour_threshold_ns",
                             (json_int_t)o->detour_threshold_ns);
    nl_json_set(json, "wait_quiet_ns", json_integer((json_int_t)o->wait_quiet_ns), "cpus",
                json_string(nx_cpus_names[o->cpus]), "injected_fault", fault_json(&o->fault), "out",
                nl_json_text(o->out), NULL);
    return json;
}

json_t *nx_launch_new(const struct nx_run *r) {
    static const char *const operations[] = {"barrier", "allreduce", "alltoall", "reduce", "bcast", "gather"};
    const struct nd_launch l = {
        r->record->files.launch, r->o->argc, r->o->argv, r->seed, &r->team, &r->ticks, r->hosts, r->bindings};
    json_t *json = nd_launch_json_begin("noiselab-accept", &l, options_json(r->o), operations, 6);
    nl_json_set(json, "shared_kernel", json_boolean(r->shares_kernel), "start", json_null(), "checks",
                json_array(), "wrong_data", json_null(), "others", json_array(), NULL);
    return json;
}

static json_t *check_json(const struct nx_run *r, const struct nx_task *t) {
    return json_pack("{s:s, s:s, s:o, s:i, s:f, s:f}", "name", t->check->name, "status",
                     nx_status_names[t->status], "reason", nl_json_text(t->reason[0] ? t->reason : NULL),
                     "repetitions", t->n_repetitions, "seconds", (double)t->took_ns * 1e-9, "planned_seconds",
                     (double)t->planned_ns * 1e-9 * r->o->n_repetitions);
}

void nx_launch_update(struct nx_run *r) {
    const struct nd_starter *s = r->starter;
    nl_json_set(r->launch, "checks", NL_JSON_LIST(i, r->n_tasks, check_json(r, &r->tasks[i])), "wrong_data",
                json_integer(r->n_wrong), NULL);
    /* starts that could not be synchronised have no clock */
    if (!s || !s->clock.kind) return;
    json_object_set_new(r->launch, "start",
                        json_pack("{s:s, s:o, s:I, s:f, s:I, s:I}", "mode", r->start.mode->name, "clock",
                                  nd_clock_json(&s->clock), "late_bound_ns", (json_int_t)s->late_bound_ns,
                                  "residual_ns", s->sync.residual_ns, "starts", (json_int_t)s->n_starts,
                                  "late_starts", (json_int_t)s->n_late));
}
