/* Lists of nodes as Slurm writes them: rack[1-2]n[07-11,15]-ib,login. */
#pragma once

#include "common/base/nl_usual.h"

/* of a list that nobody limits otherwise; Slurm's own limit of a range */
#define NL_HOSTLIST_MOST 65536

struct nl_hostlist {
    char **names; /* in the order of the list */
    int n;
};

/* Reads a list: names divided by commas, any number of brackets in each, in them numbers and ranges divided by commas, written as wide as
 * the first number of a range is; brackets within brackets. Each name once.
 * @param max     more names than this are an error.
 * @param reason  receives one line without its end when it fails, to stand behind the name of an option.
 * @return 0, -1; `list` is the caller's to free after 0, and empty after -1. */
int nl_hostlist_read(const char *text, int max, struct nl_hostlist *list, char *reason, size_t reason_size);

void nl_hostlist_free(struct nl_hostlist *list);
