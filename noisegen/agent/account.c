#include "noisegen/agent/session.h"
#include "common/base/nl_json.h"

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
        "pids", NL_JSON_LIST(i, a->set.n, json_integer(a->set.p[i].pid)),
        "freezer", nl_json_text(a->freeze.row ? a->freeze.row->name : NULL),
        "freezer_reason", nl_json_text(a->freeze.row ? a->freeze.reason : NULL),
        "account", nl_json_text(s->account ? s->account->name : NULL), "source", nl_json_text(na_who_source(&s->who)),
        "source_reason", nl_json_text(na_who_reason(&s->who)), "state_found", nl_json_text(a->state_found),
        "state_left", nl_json_text(s->state_left), "died", nl_json_text(a->died[0] ? a->died : NULL),
        "warnings", NL_JSON_LIST(i, a->n_warnings, nl_json_text(a->warnings[i])), NULL);
    char *out = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return out;
}
