/* Slips: which of the words that there are was meant by one that is not there. */
#pragma once

#include "common/base/nl_usual.h"

/* A search: begin, offer every word there is, and ask. */
struct nl_nearest {
    const char *word; /* what was typed; borrowed */
    const char *best; /* the nearest so far; borrowed; NULL: none was near enough */
    int distance;     /* of the best */
};

/* Edits between two words: letters put in, left out, exchanged, or two neighbours swapped (the restricted
 * distance of Damerau 1964). Case does not count, nor do - and _ differ, nor an MPI_ before either word.
 * Words of more than 63 letters are infinitely far. */
int nl_edit_distance(const char *a, const char *b);

void nl_nearest_begin(struct nl_nearest *n, const char *word);

/* Offers one word that there is; kept, not copied. Near enough is a third of the letters, at least one; and a
 * word that begins like this. */
void nl_nearest_offer(struct nl_nearest *n, const char *name);

/* nl_find with all this: the row of that name, or NULL and what nl_nearest_tell says of the others. */
const void *nl_find_near(const void *table, const char *name, char *meant, size_t size);

/* ": did you mean allreduce?" into `text`, or "" where nothing is near; returns text. */
const char *nl_nearest_tell(const struct nl_nearest *n, char *text, size_t size);
