#include "noisegen/agent/session.h"
#include "common/base/nl_json.h"

static json_t *times(const struct nl_hist *h) {
    int64_t ns[] = {nl_hist_quantile(h, 0.5), nl_hist_quantile(h, 0.99), nl_hist_max(h)};
    json_t *o = json_pack("{s:I}", "n", (json_int_t)nl_hist_total(h));
    for (int i = 0; i < 3; i++)
        json_object_set_new(o, (const char *[]){"p50_ns", "p99_ns", "max_ns"}[i], ns[i] < 0 ? json_null() : json_integer(ns[i]));
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

/* What the agent was chosen by: the value of its option. */
static json_t *command(const struct na_options *o) {
    if (o->pid) return json_integer(o->pid);
    return nl_json_text(o->cmd ? o->cmd : o->cgroup ? o->cgroup : o->unit ? o->unit : o->on ? o->on : o->scrape);
}

char *na_certificate(const struct na_session *s) {
    const struct na_agent *a = &s->agent;
    json_t *o = json_object();
    nl_json_set(o, "host", nl_json_text(s->page->host), "name", nl_json_text(a->name), "way", nl_json_text(a->way->name),
        "restarted", s->options->cmd ? json_boolean(!s->options->freezes) : json_null(), "command", command(s->options),
        "off_command", nl_json_text(s->options->off), "pids", NL_JSON_LIST(i, a->set.n, json_integer(a->set.p[i].pid)),
        "freezer", nl_json_text(a->freeze.row ? a->freeze.row->name : NULL),
        "freezer_reason", nl_json_text(a->freeze.row ? a->freeze.reason : NULL),
        "account", nl_json_text(s->account ? s->account->name : NULL), "source", nl_json_text(na_who_source(&s->who)),
        "source_reason", nl_json_text(na_who_reason(&s->who)), "state_found", nl_json_text(a->state_found),
        "state_left", nl_json_text(s->state_left), "died", nl_json_text(a->died[0] ? a->died : NULL),
        "switching", json_pack("{s:o, s:o}", "on", times(&a->on_times), "off", times(&a->off_times)), "scraper", scraper(s),
        "warnings", NL_JSON_LIST(i, a->n_warnings, nl_json_text(a->warnings[i])), NULL);
    char *out = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return out;
}
