#include "detector/options/agent_options.h"
#include "common/base/nl_options.h"
#include "common/base/nl_words.h"
#include "noisegen/agent/companion_options.h"
#include "common/sys/nl_whole.h"

#define LEAST_HALF_NS   INT64_C(100000000)
#define UNKNOWN_HALF_NS INT64_C(1000000000)
#define LEAST_SETTLE_NS INT64_C(5000000)

int nd_agent_take(struct nd_agent_options *a, const char *text) {
    char **words, reason[128];
    if (nl_words_split(text, &words, reason, sizeof reason) < 0)
        return nl_error("--agent: '%s': %s", text, reason);
    for (char **word = words; *word && a->n_given < ND_AGENT_MAX_WORDS; word++)
        if ((a->given[a->n_given] = (char *)nl_options_keep(*word, strlen(*word)))) a->n_given++;
    free(words);
    return 0;
}

int nd_agent_read(struct nd_agent_options *a) {
    char *argv[ND_AGENT_MAX_WORDS + 2] = {"noiselab-agent"};
    struct na_options o;
    if (a->n_given == 0) return 0;
    if (a->n_given == ND_AGENT_MAX_WORDS) return nl_error("--agent: too many words");
    memcpy(argv + 1, a->given, (size_t)a->n_given * sizeof *argv);
    a->n_words = na_options_take(a->n_given + 1, argv, &o, a->words, ND_AGENT_MAX_WORDS - 3);
    if (a->n_words < 0) return -1;
    /* ways to an agent, the stronger first: what is scraped has its name from the scrape only when nothing
     * else says one */
    a->way = o.cmd        ? "agent-cmd"
             : o.pid      ? "agent-pid"
             : o.cgroup   ? "agent-cgroup"
             : o.unit     ? "agent-unit"
             : o.on       ? "agent-on"
             : o.settings ? "setting"
                          : "scrape";
    for (int i = 0; i < a->n_words; i++) {
        const char *word = a->words[i] + strlen("--"), *value = strchr(word, '=');
        if (value && strlen(a->way) == (size_t)(value - word) && strncmp(word, a->way, strlen(a->way)) == 0)
            a->way_value = value + 1;
    }
    a->is_left_off = o.on && o.found == NA_FOUND_UNKNOWN;
    a->is_started = o.cmd && !o.freezes;
    a->name = o.name;
    a->settings = o.settings;
    a->against = o.against;
    a->against_name = o.against_name;
    a->timeout_ns = o.timeout_ns;
    return 0;
}

int64_t nd_agent_half_ns(const struct nd_agent_options *a) {
    if (a->period_ns == 0) return UNKNOWN_HALF_NS;
    return (LEAST_HALF_NS + a->period_ns - 1) / a->period_ns * a->period_ns;
}

enum { WORD_BYTES = 256 };

/* Programs that become another one, or run a script; and what begins a command of a shell and is nobody's
 * name. */
static const char wrappers[] = " taskset nice env ionice chrt timeout nohup setsid exec time numactl stdbuf "
                               "sudo unshare command catchsegv ";
static const char shells[] = " sh bash dash ksh zsh ",
                  interpreters[] = " python perl ruby node php java lua Rscript pypy ";
static const char shell_words[] = " while until for if case trap cd set export : . ";

static int is_in(const char *list, const char *word, size_t n) {
    char text[WORD_BYTES + 2];
    snprintf(text, sizeof text, " %.*s ", (int)n, word);
    return strstr(list, text) != NULL;
}

/* The next word as a shell would read it, without what it expands; cut at its room. NULL at the end, else
 * where it goes on. */
static const char *next_word(const char *text, char word[WORD_BYTES]) {
    size_t n = 0;
    char quote = '\0';
    text += strspn(text, " \t\n");
    if (!*text) return NULL;
    for (; *text && (quote || !strchr(" \t\n", *text)); text++) {
        if (*text == quote)
            quote = '\0';
        else if (!quote && (*text == '"' || *text == '\''))
            quote = *text;
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
    return equals && (isalpha((unsigned char)*word) || *word == '_') &&
           !memchr(word, '/', (size_t)(equals - word));
}

/* What a person would call what a command runs: the script of an interpreter, the command behind taskset,
 * nice, env, sh -c; or "". */
static void name_of_command(const char *text, char *name, size_t size) {
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

/* What the process is called here: by its command where that runs a script, else by its name; it may run on
 * another node only. */
static void name_of_process(const char *pid, char *name, size_t size) {
    char path[64], words[1024], own[64] = "";
    int is_number = strspn(pid, "0123456789") == strlen(pid);
    snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    int n = is_number ? nl_read(path, words, sizeof words) : 0;
    if (n <= 0) n = words[0] = 0;
    size_t first = strlen(words);
    /* blanks within a word would divide it */
    for (int i = 0; i < n; i++)
        if (!words[i] || words[i] == ' ') words[i] = words[i] ? '_' : ' ';
    name_of_command(words, name, size);
    words[first] = '\0';
    name_of_command(words, own, sizeof own);
    if (name[0] && strcmp(name, own) != 0) return;
    snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    if (!is_number || !nl_read_line(path, name, size)[0]) snprintf(name, size, "pid-%.20s", pid);
}

void nd_agent_make_name(const char *way, const char *value, char name[ND_AGENT_NAME_BYTES + 1]) {
    char text[256] = "", *unit;
    if (strcmp(way, "setting") == 0) value = way;
    if (strcmp(way, "agent-cmd") == 0 || strcmp(way, "scrape") == 0)
        name_of_command(value, text, sizeof text);
    else if (strcmp(way, "agent-pid") == 0)
        name_of_process(value, text, sizeof text);
    else if (strcmp(way, "agent-on") != 0) /* that is what switches the agent, not the agent */
        snprintf(text, sizeof text, "%s", value + strspn(value, " \t\"'"));
    if (strcmp(way, "agent-unit") == 0 && (unit = strstr(text, ".service")) && unit > text) *unit = '\0';
    for (size_t n = strlen(text); n > 0 && text[n - 1] == '/'; n--)
        text[n - 1] = '\0';
    const char *slash = strrchr(text, '/'), *last = slash ? slash + 1 : text;
    snprintf(name, ND_AGENT_NAME_BYTES + 1, "%.*s", ND_AGENT_NAME_BYTES, last + strspn(last, "."));
    nl_make_plain(name);
    if (!*name) snprintf(name, ND_AGENT_NAME_BYTES + 1, "agent");
}

/* The companion is to know it by the same name. The word lives as long as the process. */
static int add_name(struct nd_agent_options *a, const char *option, const char *name) {
    char *word;
    if (asprintf(&word, "--%s=%s", option, name) < 0) return -1;
    a->words[a->n_words++] = word;
    return 0;
}

int nd_agent_complete(struct nd_agent_options *a, int is_frozen, int64_t half_ns) {
    if (a->settle_ns < 0) {
        a->settle_ns = a->period_ns ? a->period_ns / 2 : half_ns / 10;
        if (a->settle_ns < LEAST_SETTLE_NS) a->settle_ns = LEAST_SETTLE_NS;
    }
    if (is_frozen && a->is_started) a->words[a->n_words++] = "--freeze";
    if (!a->name) {
        nd_agent_make_name(a->way, a->way_value, a->made_name);
        a->name = a->made_name;
        if (add_name(a, "agent-name", a->name)) return -1;
    }
    if (!a->against || a->against_name) return 0;
    nd_agent_make_name(a->way, a->against, a->made_against);
    /* two versions of one program */
    if (strcmp(a->made_against, a->name) == 0)
        snprintf(a->made_against, sizeof a->made_against, "%.*s-old", (int)sizeof a->made_against - 5,
                 a->name);
    a->against_name = a->made_against;
    return add_name(a, "against-name", a->against_name);
}
