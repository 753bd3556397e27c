#include "detector/options/agent_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_HALF_NS INT64_C(100000000)
#define UNKNOWN_HALF_NS INT64_C(1000000000)
#define LEAST_SETTLE_NS INT64_C(5000000)

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

/* Ways to an agent, the stronger first: what is scraped has its name from the scrape only when nothing else says one. */
static const char *const ways[] = {"agent-cmd", "agent-pid", "agent-cgroup", "agent-unit", "agent-on", "scrape", NULL};

static int rank_of_way(const char *option) {
    int i = 0;
    while (ways[i] && strcmp(ways[i], option) != 0) i++;
    return i;
}

int nd_agent_take(struct nd_agent_options *a, const char *option, const char *value) {
    char *word;
    if (a->n_words == ND_AGENT_MAX_WORDS || asprintf(&word, value ? "--%s=%s" : "--%s", option, value) < 0) return -1;
    a->words[a->n_words++] = word;
    if (strcmp(option, "agent-name") == 0) a->name = value;
    int rank = rank_of_way(option);
    if (ways[rank] && (!a->way || rank < rank_of_way(a->way))) {
        a->way = ways[rank];
        a->way_value = value;
    }
    return 0;
}

int64_t nd_agent_half_ns(const struct nd_agent_options *a) {
    if (a->period_ns == 0) return UNKNOWN_HALF_NS;
    return (LEAST_HALF_NS + a->period_ns - 1) / a->period_ns * a->period_ns;
}

/* The last part of a path, `n` bytes long. */
static const char *last_part(const char *text, size_t *n) {
    while (*n > 0 && text[*n - 1] == '/') (*n)--;
    for (size_t i = *n; i > 0; i--)
        if (text[i - 1] == '/') {
            *n -= i;
            return text + i;
        }
    return text;
}

/* What the process is called here: by its command where that runs a script, else by the name that it has; it may run on another node only.
 */
static void name_of_process(const char *pid, char *name, size_t size) {
    char path[64], words[1024], own[64] = "";
    int is_number = strspn(pid, "0123456789") == strlen(pid);
    snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    FILE *f = is_number ? fopen(path, "re") : NULL;
    size_t n = f ? fread(words, 1, sizeof words - 1, f) : 0;
    if (f) fclose(f);
    words[n] = '\0';
    size_t first = strlen(words);
    /* blanks within a word would divide it */
    for (size_t i = 0; i < n; i++)
        if (!words[i] || words[i] == ' ') words[i] = words[i] ? '_' : ' ';
    nd_agent_name_of_command(words, name, size);
    words[first] = '\0';
    nd_agent_name_of_command(words, own, sizeof own);
    if (name[0] && strcmp(name, own) != 0) return;
    snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    f = is_number ? fopen(path, "re") : NULL;
    if (!f || !fgets(name, (int)size, f)) snprintf(name, size, "pid-%.20s", pid);
    name[strcspn(name, "\n")] = '\0';
    if (f) fclose(f);
}

void nd_agent_make_name(const char *way, const char *value, char name[ND_AGENT_NAME_BYTES + 1]) {
    static const char unit[] = ".service";
    char process[256];
    const char *text = value + strspn(value, " \t\"'");
    size_t n = strcspn(text, " \t\"'");
    int is_command = strcmp(way, "agent-cmd") == 0 || strcmp(way, "scrape") == 0;
    if (is_command) nd_agent_name_of_command(value, process, sizeof process);
    if (strcmp(way, "agent-pid") == 0) name_of_process(value, process, sizeof process);
    if (is_command || strcmp(way, "agent-pid") == 0) {
        text = process;
        n = strlen(process);
    }
    text = last_part(text, &n);
    if (strcmp(way, "agent-unit") == 0 && n > strlen(unit) && strncmp(text + n - strlen(unit), unit, strlen(unit)) == 0) n -= strlen(unit);
    if (strcmp(way, "agent-on") == 0) n = 0; /* the command is what switches the agent, not the agent */
    while (n > 0 && *text == '.') text++, n--;
    snprintf(name, ND_AGENT_NAME_BYTES + 1, "%.*s", (int)(n > ND_AGENT_NAME_BYTES ? ND_AGENT_NAME_BYTES : n), text);
    for (char *p = name; *p; p++)
        if (!strchr(plain, *p)) *p = '_';
    if (!*name) snprintf(name, ND_AGENT_NAME_BYTES + 1, "agent");
}

int nd_agent_complete(struct nd_agent_options *a, int64_t half_ns) {
    if (a->settle_ns < 0) {
        a->settle_ns = a->period_ns ? a->period_ns / 2 : half_ns / 10;
        if (a->settle_ns < LEAST_SETTLE_NS) a->settle_ns = LEAST_SETTLE_NS;
    }
    if (a->name) return 0;
    nd_agent_make_name(a->way, a->way_value, a->made_name);
    return nd_agent_take(a, "agent-name", a->made_name);
}
