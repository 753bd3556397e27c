/* A command as people type it, split into words without a shell: nothing is expanded. Blanks (spaces, tabs, ends of lines) divide words;
 * '...' takes everything as it stands; within "..." a backslash takes the next " or \ as it stands and is itself otherwise; elsewhere it
 * takes the next character as it stands. */
#ifndef NL_WORDS_H
#define NL_WORDS_H

#include "common/base/nl_usual.h"

/* Splits.
 * @param words  receives an array that ends with NULL, to be freed by nl_words_free; NULL on failure.
 * @param reason  receives one phrase on failure: "an open quote", "no word", ...
 * @return number of words, at least 1; -1. */
int nl_words_split(const char *text, char ***words, char *reason, size_t reason_size);

void nl_words_free(char **words);

/* The first of | < > ; (and & where it is doubled, or ends a word) outside of quotes, '\0' where there is none: what a shell would not
 * take as part of a word. */
char nl_words_shell_sign(const char *text);

#endif
