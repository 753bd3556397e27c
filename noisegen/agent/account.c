#include "noisegen/agent/session.h"
#include "common/base/nl_json.h"

/* The account's fields, as files and sums have them. */
static const struct {
    const char *key;
    size_t offset;
    int is_most; /* a level, not an amount: of halves the most counts */
} fields[] = {
#define FIELD(name, is_most) {#name, offsetof(struct nl_agent_account, name), is_most}
    FIELD(wall_ns, 0), FIELD(cpu_ns, 0), FIELD(cpu_on_ranks_ns, 0), FIELD(others_on_ranks_ns, 0), FIELD(waited_for_agent_ns, 0),
    FIELD(waited_for_others_ns, 0), FIELD(waited_for_kernel_ns, 0), FIELD(waited_for_noiselab_ns, 0), FIELD(waited_unknown_ns, 0),
    FIELD(scraper_cpu_ns, 0), FIELD(wakeups, 0), FIELD(voluntary, 0), FIELD(involuntary, 0), FIELD(migrations, 0), FIELD(n_processes, 1),
    FIELD(n_started, 0), FIELD(rss_kib, 1), FIELD(read_bytes, 0), FIELD(written_bytes, 0), FIELD(observer_cpu_ns, 0),
    FIELD(observer_on_ranks_ns, 0), FIELD(lost_switches, 0), FIELD(ins, 0),
    FIELD(outs, 0)
#undef FIELD
};
enum { N_FIELDS = sizeof fields / sizeof *fields };
_Static_assert(N_FIELDS * sizeof(int64_t) == sizeof(struct nl_agent_account), "every field of the account is in the table");

static int64_t *field(struct nl_agent_account *a, int i) { return (int64_t *)(void *)((char *)a + fields[i].offset); }

void na_account_add(struct nl_agent_account *sum, const struct nl_agent_account *half) {
    struct nl_agent_account copy = *half;
    for (int i = 0; i < N_FIELDS; i++) {
        int64_t *to = field(sum, i), value = *field(&copy, i);
        if (*to < 0 || value < 0) *to = -1;
        else if (!fields[i].is_most) *to += value;
        else if (value > *to) *to = value;
    }
}

static json_t *number(int64_t value) { return value < 0 ? json_null() : json_integer(value); }

static json_t *account(const struct nl_agent_account *a, int64_t n_halves) {
    struct nl_agent_account copy = *a;
    json_t *o = json_object();
    json_object_set_new(o, "halves", json_integer(n_halves));
    for (int i = 0; i < N_FIELDS; i++) json_object_set_new(o, fields[i].key, n_halves ? number(*field(&copy, i)) : json_null());
    return o;
}

static json_t *times(const struct nl_hist *h) {
    uint64_t n = nl_hist_total(h);
    json_t *o = json_object();
    nl_json_set(o, "n", json_integer((json_int_t)n), "p50_ns", number(nl_hist_quantile(h, 0.5)),
        "p99_ns", number(nl_hist_quantile(h, 0.99)), "max_ns", number(nl_hist_max(h)), NULL);
    return o;
}

static json_t *scraper(const struct na_session *s) {
    if (!s->options->scrape) return json_null();
    json_t *o = json_object();
    nl_json_set(o, "command", nl_json_text(s->options->scrape), "period_ns", json_integer(s->options->scrape_period_ns),
        "scrapes", json_integer(atomic_load(&s->scraper.n_scrapes)), "failed", json_integer(atomic_load(&s->scraper.n_failed)),
        "skipped", json_integer(atomic_load(&s->scraper.n_skipped)), NULL);
    return o;
}

static json_t *pids(const struct na_set *set) { return NL_JSON_LIST(i, set->n, json_integer(set->p[i].pid)); }

static json_t *warnings(const struct na_agent *a) { return NL_JSON_LIST(i, a->n_warnings, nl_json_text(a->warnings[i])); }

/* What the agent was chosen by: the value of its option. */
static json_t *command(const struct na_options *o) {
    if (o->pid) return json_integer(o->pid);
    return nl_json_text(o->cmd ? o->cmd : o->cgroup ? o->cgroup : o->unit ? o->unit : o->on ? o->on : o->scrape);
}

char *na_certificate(const struct na_session *s) {
    const struct na_agent *a = &s->agent;
    struct nl_agent_account all = s->total_on;
    na_account_add(&all, &s->total_off);
    json_t *o = json_object();
    nl_json_set(o, "host", nl_json_text(s->page->host), "name", nl_json_text(a->name), "way", nl_json_text(a->way->name),
        "restarted", s->options->cmd ? json_boolean(!s->options->freezes) : json_null(), "command", command(s->options),
        "off_command", nl_json_text(s->options->off), "pids", pids(&a->set),
        "freezer", nl_json_text(a->freeze.row ? a->freeze.row->name : NULL),
        "freezer_reason", nl_json_text(a->freeze.row ? a->freeze.reason : NULL),
        "account", nl_json_text(s->account_source[0] ? s->account_source : NULL),
        "account_reason", nl_json_text(s->account_source[0] ? s->account_reason : NULL), "source", nl_json_text(na_who_source(&s->who)),
        "source_reason", nl_json_text(na_who_reason(&s->who)), "state_found", nl_json_text(a->state_found),
        "state_left", nl_json_text(s->state_left), "died", nl_json_text(a->died[0] ? a->died : NULL), NULL);
    json_t *switching = json_object();
    nl_json_set(switching, "on", times(&a->on_times), "off", times(&a->off_times), NULL);
    nl_json_set(o, "switching", switching, "scraper", scraper(s), "totals", account(&s->total_on, s->n_halves_on),
        "totals_off", account(&s->total_off, s->n_halves_off), "ins", number(all.ins), "outs", number(all.outs),
        "lost_switches", number(all.lost_switches), "observer_cpu_ns", number(all.observer_cpu_ns), "observer_cpu", number(s->cpu),
        "log_kept_bytes", json_integer(atomic_load(&s->watch.kept_bytes)),
        "log_dropped_bytes", json_integer(atomic_load(&s->watch.dropped_bytes)), "warnings", warnings(a), NULL);
    char *out = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return out;
}
