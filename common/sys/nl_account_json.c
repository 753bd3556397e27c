/* An account of CPUs as JSON. */
#include "common/sys/nl_account_json.h"
#include "common/base/nl_json.h"
#include "common/sys/nl_account.h"

static json_t *known(int64_t value) { return value >= 0 ? json_integer((json_int_t)value) : json_null(); }

/* Sets what a CPU, or all of them, came to; null where nothing is known. */
static void add_times(json_t *json, const struct nl_account_cpu *c, int is_known) {
    const struct {
        const char *key;
        int64_t ns;
    } times[] = {{"busy_ns", c->busy_ns},   {"own_ns", c->own_ns},
                 {"tasks_ns", c->tasks_ns}, {"interrupts_ns", c->interrupts_ns},
                 {"steal_ns", c->steal_ns}, {"unaccounted_ns", c->unaccounted_ns}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        json_object_set_new(json, times[i].key, known(is_known ? times[i].ns : -1));
}

json_t *nl_account_json(const struct nl_account_sum *sum, const struct nl_account_cpu *cpus, int n_cpus) {
    int is_known = sum->span_ns > 0;
    json_t *json = json_pack("{s:i, s:I}", "n_cpus", (int)sum->n_cpus, "span_ns", (json_int_t)sum->span_ns),
           *worst = json_null(), *by_cpu = json_array();
    add_times(json, &sum->all, is_known);
    if (sum->worst.cpu >= 0)
        worst = json_pack("{s:i, s:I, s:f}", "cpu", (int)sum->worst.cpu, "unaccounted_ns",
                          (json_int_t)sum->worst.unaccounted_ns, "unaccounted_percent",
                          nl_account_percent_of_cpu(sum, sum->worst.unaccounted_ns));
    nl_json_set(json, "unaccounted_percent",
                is_known ? json_real(nl_account_unaccounted_percent(sum)) : json_null(), "resolution_percent",
                is_known ? json_real(sum->resolution_percent) : json_null(), "worst_cpu", worst,
                "tasks_there", known(sum->n_there), "tasks_seen", known(sum->n_seen), "blind",
                sum->blind[0] ? nl_json_text(sum->blind) : json_null(), NULL);
    for (int cpu = 0; cpus && is_known && cpu < n_cpus; cpu++) {
        if (!cpus[cpu].is_there) continue;
        json_t *one = json_pack("{s:i}", "cpu", cpu);
        add_times(one, &cpus[cpu], 1);
        json_array_append_new(by_cpu, one);
    }
    if (cpus) json_object_set(json, "by_cpu", by_cpu);
    json_decref(by_cpu);
    return json;
}
