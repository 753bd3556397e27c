/* What a person would call an agent: the script of an interpreter, the command behind taskset, nice, env or sh -c. */
#include "detector/options/agent_options.h"

enum { WORD_BYTES = 256 };

/* Programs that become another one, or run a script; and what begins a command of a shell and is nobody's name. */
static const char wrappers[] =
    " taskset nice env ionice chrt timeout nohup setsid exec time numactl stdbuf sudo unshare command catchsegv ";
static const char shells[] = " sh bash dash ksh zsh ", interpreters[] = " python perl ruby node php java lua Rscript pypy ";
static const char shell_words[] = " while until for if case trap cd set export : . ";

static int is_in(const char *list, const char *word, size_t n) {
    char text[WORD_BYTES + 2];
    snprintf(text, sizeof text, " %.*s ", (int)n, word);
    return strstr(list, text) != NULL;
}

/* The next word as a shell would read it, without what it expands; cut at its room. NULL at the end, else where it goes on. */
static const char *next_word(const char *text, char word[WORD_BYTES]) {
    size_t n = 0;
    char quote = '\0';
    text += strspn(text, " \t\n");
    if (!*text) return NULL;
    for (; *text && (quote || !strchr(" \t\n", *text)); text++) {
        if (*text == quote) quote = '\0';
        else if (!quote && (*text == '"' || *text == '\'')) quote = *text;
        else {
            if (*text == '\\' && quote != '\'' && text[1]) text++;
            if (n + 1 < WORD_BYTES) word[n++] = *text;
        }
    }
    word[n] = '\0';
    return text;
}

/* A mask, priority or time, A=B, or what only groups commands. */
static int is_beside(const char *word) {
    const char *equals = strchr(word, '=');
    if (isdigit((unsigned char)*word) || strspn(word, "({!;&|") == strlen(word)) return 1;
    return equals && (isalpha((unsigned char)*word) || *word == '_') && !memchr(word, '/', (size_t)(equals - word));
}

void nd_agent_name_of_command(const char *text, char *name, size_t size) {
    char word[WORD_BYTES], command[WORD_BYTES];
    int is_shell = 0, is_interpreter = 0;
    name[0] = '\0';
    while ((text = next_word(text, word))) {
        if (word[0] == '-' && word[1]) {
            /* a program in the option itself has no name but the interpreter's */
            if (is_interpreter && (strcmp(word, "-c") == 0 || strcmp(word, "-e") == 0)) return;
            if (!is_shell || word[1] == '-' || !strchr(word, 'c') || !next_word(text, command)) continue;
            text = command;
            is_shell = 0;
            continue;
        }
        if (is_beside(word)) continue;
        if (is_in(shell_words, word, strlen(word))) return;
        const char *slash = strrchr(word, '/'), *last = slash && slash[1] ? slash + 1 : word;
        size_t n = strcspn(last, "0123456789.-"); /* without a version */
        snprintf(name, size, "%s", last);
        is_shell = is_in(shells, last, strlen(last));
        is_interpreter = is_in(interpreters, last, n) && strspn(last + n, "0123456789.-") == strlen(last + n);
        if (!is_shell && !is_interpreter && !is_in(wrappers, last, strlen(last))) return;
    }
}
