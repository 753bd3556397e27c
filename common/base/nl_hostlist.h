/* Lists of nodes as Slurm writes them: rack[1-2]n[07-11,15]-ib,login. */
#pragma once

#include "common/base/nl_usual.h"

/* of a list that nobody limits otherwise; Slurm's own limit of a range */
#define NL_HOSTLIST_MOST 65536

struct nl_hostlist {
    char **names; /* in the order of the list */
    int n;
};

/* Reads a list of at most `max` names, each once: any number of brackets in each, in them numbers, ranges (as
 * wide as their first number) and brackets. 0, -1 with a line in `reason`; after 0 `list` is the caller's to
 * free, after -1 it is empty. */
int nl_hostlist_read(const char *text, int max, struct nl_hostlist *list, char *reason, size_t reason_size);

void nl_hostlist_free(struct nl_hostlist *list);
