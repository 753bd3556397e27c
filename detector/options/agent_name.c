/* What a person would call an agent: the script of an interpreter, the command behind taskset, nice, env or sh -c. */
#include "detector/options/agent_options.h"

enum { WORD_BYTES = 256, MOST_COMMANDS = 8 };

/* Programs that become another one, or run a script; a version may follow the name of the latter. */
static const struct program {
    const char *name;
    enum { WRAPPER, INTERPRETER, SHELL } kind;
    const char *with_value; /* options of one letter that take the next word */
    int n_words;            /* of a wrapper, before the command: a mask, a priority, a time */
    const char *module;     /* of an interpreter: an option whose value is what a person names */
} programs[] = {
    {"taskset", WRAPPER, "", 1, NULL}, {"nice", WRAPPER, "n", 0, NULL}, {"env", WRAPPER, "uCS", 0, NULL},
    {"ionice", WRAPPER, "cn", 0, NULL}, {"chrt", WRAPPER, "TPD", 1, NULL}, {"timeout", WRAPPER, "sk", 1, NULL},
    {"nohup", WRAPPER, "", 0, NULL}, {"setsid", WRAPPER, "", 0, NULL}, {"exec", WRAPPER, "a", 0, NULL}, {"time", WRAPPER, "fo", 0, NULL},
    {"numactl", WRAPPER, "NmiCpP", 0, NULL}, {"stdbuf", WRAPPER, "ioe", 0, NULL}, {"sudo", WRAPPER, "ugCph", 0, NULL},
    {"unshare", WRAPPER, "", 0, NULL}, {"command", WRAPPER, "", 0, NULL}, {"catchsegv", WRAPPER, "", 0, NULL},
    {"sh", SHELL, "oO", 0, NULL}, {"bash", SHELL, "oO", 0, NULL}, {"dash", SHELL, "o", 0, NULL}, {"ksh", SHELL, "o", 0, NULL},
    {"zsh", SHELL, "o", 0, NULL}, {"python", INTERPRETER, "XW", 0, "-m"}, {"perl", INTERPRETER, "", 0, NULL},
    {"ruby", INTERPRETER, "rI", 0, NULL}, {"node", INTERPRETER, "r", 0, NULL}, {"php", INTERPRETER, "d", 0, "-f"},
    {"java", INTERPRETER, "", 0, "-jar"}, {"lua", INTERPRETER, "l", 0, NULL}, {"Rscript", INTERPRETER, "", 0, NULL},
    {"pypy", INTERPRETER, "XW", 0, "-m"},
};

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

/* The row of that name: of an interpreter in whatever version (python, python3, python3.11). NULL: there is none. */
static const struct program *find(const char *name) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        size_t n = strlen(programs[i].name);
        const char *version = programs[i].kind == WRAPPER ? "" : "0123456789.-";
        if (strncmp(name, programs[i].name, n) == 0 && name[n + strspn(name + n, version)] == '\0') return &programs[i];
    }
    return NULL;
}

static int is_setting(const char *word) {
    const char *equals = strchr(word, '=');
    return equals && equals > word && (isalpha((unsigned char)*word) || *word == '_') && !memchr(word, '/', (size_t)(equals - word));
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
    const char *at = next_word(text, word);
    name[0] = '\0';
    for (int i = 0; i < MOST_COMMANDS; i++) {
        while (at && (is_setting(word) || strspn(word, "({!;&|") == strlen(word))) at = next_word(at, word);
        if (!at || is_one_of(word, shell_words)) return;
        snprintf(name, size, "%s", last_part(word));
        const struct program *p = find(name);
        if (!p) return;
        if (p->kind == WRAPPER) {
            for (int n = p->n_words; n >= 0 && at; n--) at = next_operand(at, p->with_value, NULL, word);
            continue;
        }
        if (p->kind == SHELL && command_of_shell(at, word)) {
            memcpy(rest, word, sizeof rest);
            at = next_word(rest, word);
            continue;
        }
        /* a program in the option itself (-c, -e) has no name but the interpreter's */
        if (next_word(at, word) && (strcmp(word, "-c") == 0 || strcmp(word, "-e") == 0)) return;
        at = next_operand(at, p->with_value, p->module, word);
        if (at) snprintf(name, size, "%s", last_part(word));
        return;
    }
}
