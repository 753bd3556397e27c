/* A command as people type it, split into words without a shell: nothing is expanded. Blanks (spaces, tabs,
 * ends of lines) divide words;
 * '...' takes everything as it stands; within "..." a backslash takes the next " or \ as it stands and is
 * itself otherwise; elsewhere it takes the next character as it stands. */
#pragma once

#include "common/base/nl_usual.h"

/* Splits into an array that ends with NULL, to be freed as one. The number of words, at least 1; -1 with a
 * phrase in `reason`
 * ("it has an open quote"), and words is NULL. */
int nl_words_split(const char *text, char ***words, char *reason, size_t reason_size);

/* The first of | < > ; (and & where it is doubled, or ends a word) outside of quotes, '\0' where there is
 * none: what a shell would not take as part of a word. */
char nl_words_shell_sign(const char *text);

/* A name as columns of files have it: letters, digits and ._:+-?/, every other character as an underscore. */
void nl_put_name(FILE *f, const char *name);
