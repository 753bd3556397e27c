/* A program under the profile: starts it with the library, waits for it, and says what came of it. */
#ifndef NF_COMMAND_H
#define NF_COMMAND_H

#include <jansson.h>

struct nf_command {
    char **words;        /* the user's, the last one NULL */
    const char *library; /* path of libnoiselab-profile.so */
    const char *folder;  /* of the rank files, absolute */
};

/* Runs it to its end; signals are handed on to it, and it ends with this process. Its status, as a shell has it; -1 where it could not be
 * started (said in a line). */
int nf_command_run(const struct nf_command *c);

/* Why there is no profile of any rank, in one line, from the notes of the processes and the words of the command. */
void nf_command_explain(const struct nf_command *c, char *line, int size);

/* Removes the notes. */
void nf_command_tidy(const struct nf_command *c);

#endif
