/* What a person would call an agent: the script of an interpreter, the command behind taskset, nice, env or sh -c. */
#include "detector/options/agent_options.h"

enum { WORD_BYTES = 256, MOST_COMMANDS = 8 };

/* Programs that become another one. */
static const struct {
    const char *name;
    const char *with_value; /* options of one letter that take the next word */
    int n_words;            /* before the command: a mask, a priority, a time */
} wrappers[] = {
    {"taskset", "", 1},  {"nice", "n", 0},    {"env", "uCS", 0},      {"ionice", "cn", 0}, {"chrt", "TPD", 1},     {"timeout", "sk", 1},
    {"nohup", "", 0},    {"setsid", "", 0},   {"exec", "a", 0},       {"time", "fo", 0},   {"numactl", "NmiCpP", 0}, {"stdbuf", "ioe", 0},
    {"sudo", "ugCph", 0}, {"unshare", "", 0}, {"command", "", 0},     {"catchsegv", "", 0},
};
enum { N_WRAPPERS = sizeof wrappers / sizeof *wrappers };

/* Programs that run a script; a version may follow the name. */
static const struct {
    const char *name;
    int is_shell;
    const char *with_value; /* options of one letter that take the next word */
    const char *module;     /* an option whose value is what a person names */
} interpreters[] = {
    {"sh", 1, "oO", NULL},  {"bash", 1, "oO", NULL}, {"dash", 1, "o", NULL},   {"ksh", 1, "o", NULL},       {"zsh", 1, "o", NULL},
    {"python", 0, "XW", "-m"}, {"perl", 0, "", NULL},   {"ruby", 0, "rI", NULL},  {"node", 0, "r", NULL},      {"php", 0, "d", "-f"},
    {"java", 0, "", "-jar"},  {"lua", 0, "l", NULL},   {"Rscript", 0, "", NULL}, {"pypy", 0, "XW", "-m"},
};
enum { N_INTERPRETERS = sizeof interpreters / sizeof *interpreters };

/* What begins a command of a shell and is nobody's name. */
static const char *const shell_words[] = {"while", "until", "for", "if", "case", "trap", "cd", "set", "export", ":", ".", NULL};

static int is_one_of(const char *word, const char *const *words) {
    while (*words && strcmp(*words, word) != 0) words++;
    return *words != NULL;
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

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Whether it is that program, of whatever version: python, python3, python3.11. */
static int is_version_of(const char *word, const char *name) {
    size_t n = strlen(name);
    return strncmp(word, name, n) == 0 && word[n + strspn(word + n, "0123456789.-")] == '\0';
}

static int is_setting(const char *word) {
    const char *equals = strchr(word, '=');
    return equals && equals > word && (isalpha((unsigned char)*word) || *word == '_') && !memchr(word, '/', (size_t)(equals - word));
}

/* Behind the options and their values. */
static const char *skip_options(const char *text, const char *with_value) {
    char word[WORD_BYTES];
    for (const char *next; (next = next_word(text, word)) && word[0] == '-' && word[1];) {
        text = next;
        if (word[1] != '-' && !word[2] && strchr(with_value, word[1]) && (next = next_word(text, word))) text = next;
    }
    return text;
}

/* The next word that is no option and no value of one; `module`: its value is that word. NULL at the end. */
static const char *next_operand(const char *text, const char *with_value, const char *module, char word[WORD_BYTES]) {
    while (text && (text = next_word(text, word)) && word[0] == '-' && word[1]) {
        if (strcmp(word, "--") == 0) return next_word(text, word);
        if (module && strcmp(word, module) == 0) return next_word(text, word);
        if (word[1] != '-' && !word[2] && strchr(with_value, word[1])) text = next_word(text, word);
    }
    return text;
}

/* The command of a shell's -c, into `command`; 1: there is one. */
static int command_of_shell(const char *text, char command[WORD_BYTES]) {
    char word[WORD_BYTES];
    while ((text = next_word(text, word)) && (word[0] == '-' || word[0] == '+'))
        if (word[0] == '-' && word[1] != '-' && strchr(word, 'c')) return next_operand(text, "oO", NULL, command) != NULL;
    return 0;
}

void nd_agent_name_of_command(const char *text, char *name, size_t size) {
    char word[WORD_BYTES], rest[WORD_BYTES];
    const char *at = text;
    name[0] = '\0';
    for (int i = 0; i < MOST_COMMANDS; i++) {
        do at = next_word(at, word);
        while (at && (is_setting(word) || strspn(word, "({!;&|") == strlen(word)));
        if (!at || is_one_of(word, shell_words)) return;
        snprintf(name, size, "%s", last_part(word));
        int k = 0;
        while (k < N_WRAPPERS && strcmp(name, wrappers[k].name) != 0) k++;
        if (k < N_WRAPPERS) {
            at = skip_options(at, wrappers[k].with_value);
            for (int n = wrappers[k].n_words; n > 0 && at; n--) {
                at = next_word(at, word);
                if (at) at = skip_options(at, wrappers[k].with_value);
            }
            if (!at || !next_word(at, word)) return;
            continue;
        }
        for (k = 0; k < N_INTERPRETERS && !is_version_of(name, interpreters[k].name); k++) continue;
        if (k == N_INTERPRETERS) return;
        if (interpreters[k].is_shell && command_of_shell(at, word)) {
            memcpy(rest, word, sizeof rest);
            at = rest;
            continue;
        }
        /* a program in the option itself (-c, -e) has no name but the interpreter's */
        if (next_word(at, word) && (strcmp(word, "-c") == 0 || strcmp(word, "-e") == 0)) return;
        at = next_operand(at, interpreters[k].with_value, interpreters[k].module, word);
        if (at) snprintf(name, size, "%s", last_part(word));
        return;
    }
}
