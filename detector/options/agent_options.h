/* The agent whose cost is asked for: what its companion, noiselab-agent, is told, and what the detector needs
 * to know of it itself. */
#pragma once

#include "common/base/nl_usual.h"

enum { ND_AGENT_MAX_WORDS = 80, ND_AGENT_NAME_BYTES = 32 };

struct na_settings;

struct nd_agent_options {
    char *given[ND_AGENT_MAX_WORDS]; /* of --agent, as they stand there; owned by the process */
    int n_given;
    const char *words[ND_AGENT_MAX_WORDS +
                      1]; /* for noiselab-agent, `--option=value`, ended by NULL; all owned by the process */
    int n_words;
    const char *way; /* the option that says which agent: "agent-pid"; NULL: there is no agent */
    const char *way_value;
    int is_left_off;  /* 1: two commands switch it, and nobody said how it was before: it is off at the end */
    int is_started;   /* 1: it is a command that is started and ended for each half, not frozen */
    const char *name; /* its `kind` in the files; NULL: there is no agent */
    const char *against;                /* another command, for messages and its name; NULL: there is none */
    const char *against_name;           /* its `kind` in the files */
    const struct na_settings *settings; /* whose arms have names of their own; NULL: it is none */
    int64_t period_ns;                  /* at which it samples; 0 not known */
    int64_t interval_ns;                /* recorded only; 0 not given */
    int64_t settle_ns;                  /* untimed operations after each switch; negative: not given */
    int64_t timeout_ns;                 /* for a switch */
    char made_name[ND_AGENT_NAME_BYTES + 1], made_against[ND_AGENT_NAME_BYTES + 1];
};

/* Takes words of noiselab-agent's command line, divided as a shell would. @return 0, or -1 after a message.
 */
int nd_agent_take(struct nd_agent_options *a, const char *text);

/* Reads what was taken, by noiselab-agent's own table, and keeps what says which agent it is. @return 0, or
 * -1 after a message. */
int nd_agent_read(struct nd_agent_options *a);
static inline int nd_agent_is_given(const struct nd_agent_options *a) { return a->way != 0; }

/* Frozen where it would be started if `is_frozen`, a name, and the settling time for halves of half_ns. 0, or
 * -1 without memory. */
int nd_agent_complete(struct nd_agent_options *a, int is_frozen, int64_t half_ns);

/* How long a half is when nobody says: whole periods of the agent of at least 0.1 s; 1 s when its period is
 * not known. */
int64_t nd_agent_half_ns(const struct nd_agent_options *a);

/* The name of an agent that was given none: of the command, unit, group or process, as a plain word; "agent"
 * where nothing says one. */
void nd_agent_make_name(const char *way, const char *value, char name[ND_AGENT_NAME_BYTES + 1]);
