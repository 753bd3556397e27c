/* libFuzzer on the parsers of C, of which NOISELAB_PARSER names one: an input is the text or the file.
 * Nothing may crash, and the sanitizers have nothing to say. Built by make fuzz where clang has libFuzzer. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/nl_hostlist.h"
#include "detector/measure/starts.h"
#include "detector/nodes/provenance.h"
#include "common/sys/nl_place.h"
#include "common/base/nl_preset.h"
#include "common/base/nl_units.h"
#include "common/base/nl_words.h"
#include "common/trace/nl_trace.h"
#include "detector/measure/arrival.h"
#include "detector/nodes/switches.h"

enum { MOST_BYTES = 1 << 16 };

static void fuzz_trace(const char *path) {
    char reason[512];
    static struct nl_trace trace; /* large */
    static struct nl_trace_reader reader;
    struct nl_trace_line line;
    if (nl_trace_check(path, NL_TRACE_OF_USER, &trace, reason, sizeof reason) == 0) {
        nl_trace_open(&reader, &trace);
        while (nl_trace_next(&reader, &line) > 0)
            if (line.duration_ns <= 0 || line.start_ns < trace.first_ns) abort();
        nl_trace_close(&trace);
    }
}

static void fuzz_arrival(const char *path) {
    char reason[512];
    static double delays[ND_ARRIVAL_CYCLE];
    struct nd_arrival_request request = {.rank = 1, .n_ranks = 4, .seed = 1, .trace = path};
    for (const struct nd_arrival *const *row = nd_arrivals; *row; row++)
        if ((*row)->needs_trace) nd_arrival_fill(*row, &request, delays, reason, sizeof reason);
}

static void fuzz_words(char *text) {
    char reason[128], **words;
    if (nl_words_split(text, &words, reason, sizeof reason) > 0) free(words);
}

static void fuzz_values(char *text) {
    const char *parts[16];
    int64_t whole;
    uint64_t seed;
    double number;
    char buffer[64];
    if (nl_parse_duration(text, &whole) == 0) nl_format_duration(whole, buffer, sizeof buffer);
    nl_parse_duration_or_zero(text, &whole);
    nl_parse_size(text, &whole);
    nl_parse_percent(text, &number);
    nl_parse_rate(text, &number);
    nl_parse_int(text, -5, 5, &whole);
    nl_parse_seed(text, &seed);
    nl_split(text, parts, 16);
}

static void fuzz_places(char *text) {
    static struct nl_place *place;
    static const int ranks[] = {0, 1};
    int cpus[64];
    char reason[512];
    if (!place && nl_place_open(&place)) abort();
    nl_place_resolve(place, text, ranks, 2, cpus, 64, reason, sizeof reason);
}

static int take(void *context, const char *option, const char *value, const char *where) {
    return *(int *)context = option && value && where ? 0 : -1;
}

static void fuzz_preset(const char *path) {
    char reason[512];
    int context = 0;
    (void)path; /* it is where a preset of this name is looked for */
    nl_preset_read("input", take, &context, reason, sizeof reason);
}

/* What is read has names that are names, each once, and no more than asked for. */
static void fuzz_nodes(char *text) {
    enum { MOST = 300 };
    struct nl_hostlist list;
    char reason[256];
    if (nl_hostlist_read(text, MOST, &list, reason, sizeof reason)) return;
    if (list.n < 1 || list.n > MOST) abort();
    for (int i = 0; i < list.n; i++) {
        if (!list.names[i][0] || strpbrk(list.names[i], "[], \t\n/") || list.names[i][0] == '-') abort();
        for (int j = 0; j < i; j++)
            if (strcmp(list.names[i], list.names[j]) == 0) abort();
    }
    nl_hostlist_free(&list);
}

/* The words of a line ADDRESS PATTERN NODE. */
static void fuzz_switches(char *text) {
    char out[64], *pattern = strchr(text, ' '), *node = pattern ? strchr(pattern + 1, ' ') : NULL;
    if (node) *node++ = '\0';
    if (pattern) *pattern++ = '\0';
    nd_switches_read(text, pattern, node, out, sizeof out);
    if (strlen(out) >= sizeof out) abort();
}

/* Of a parser of texts, which it may write to, or of files. */
static const struct {
    const char *name;
    void (*of_text)(char *text);
    void (*of_file)(const char *path);
} parsers[] = {{"trace", NULL, fuzz_trace},   {"arrival", NULL, fuzz_arrival},  {"words", fuzz_words, NULL},
               {"values", fuzz_values, NULL}, {"places", fuzz_places, NULL},    {"preset", NULL, fuzz_preset},
               {"nodes", fuzz_nodes, NULL},   {"switches", fuzz_switches, NULL}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char text[MOST_BYTES], path[PATH_MAX];
    static int which = -1;
    const char *asked = getenv("NOISELAB_PARSER");
    for (int i = 0; which < 0 && asked && i < (int)(sizeof parsers / sizeof *parsers); i++)
        if (strcmp(parsers[i].name, asked) == 0) which = i;
    if (which < 0) abort();
    if (size > sizeof text - 1) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (parsers[which].of_text) {
        parsers[which].of_text(text);
        return 0;
    }
    if (!path[0]) snprintf(path, sizeof path, "%s/input.preset", getenv("NOISELAB_PRESETS")); /* in memory */
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, size, f) != size || fclose(f)) abort();
    parsers[which].of_file(path);
    return 0;
}
