#include "detector/nodes/switches.h"
#include "detector/nodes/provenance.h"
#include "common/base/nl_hostlist.h"

enum { MOST_SWITCHES = 4096, TEXT_BYTES = 1 << 16 };

/* How many levels of switches are above the node: 2 of switch.switch.node. -1: another pattern. */
static int count_levels(const char *pattern) {
    int n = 0;
    for (; strncmp(pattern, "switch.", 7) == 0; pattern += 7)
        n++;
    return strcmp(pattern, "node") == 0 && n > 0 ? n : -1;
}

/* The end of a field: a point outside of brackets, or the end. */
static size_t field_length(const char *text) {
    int depth = 0;
    size_t n = 0;
    for (; text[n] && (depth > 0 || text[n] != '.'); n++)
        depth += (text[n] == '[') - (text[n] == ']');
    return n;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the switches of one level to `text`, sorted. 0, or -1 when it is no list, or there is no room. */
static int add_level(char *text, const char *field, size_t length) {
    struct nl_hostlist list;
    char reason[128], *copy = strndup(field, length);
    size_t n = strlen(text);
    int failed = !copy || nl_hostlist_read(copy, MOST_SWITCHES, &list, reason, sizeof reason);
    free(copy);
    if (failed) return -1;
    qsort(list.names, (size_t)list.n, sizeof *list.names, compare);
    for (int i = 0; i < list.n && n < TEXT_BYTES; i++)
        n += (size_t)snprintf(text + n, TEXT_BYTES - n, "%s%s", i ? "," : *text ? "." : "", list.names[i]);
    nl_hostlist_free(&list);
    return n < TEXT_BYTES ? 0 : -1;
}

/* Two that differ stay different where they are cut off (FNV-1a). */
static void put(const char *text, char *out, size_t size) {
    uint64_t sum = UINT64_C(14695981039346656037);
    if (snprintf(out, size, "%s", text) < (int)size) return;
    for (const char *c = text; *c; c++)
        sum = (sum ^ (unsigned char)*c) * UINT64_C(1099511628211);
    snprintf(out, size, "%.*s... %016llx", (int)size - 21, text, (unsigned long long)sum);
}

void nd_switches_read(const char *address, const char *pattern, const char *node, char *out, size_t size) {
    int n_levels = address && pattern ? count_levels(pattern) : -1, fits = n_levels > 0;
    char *text = calloc(1, TEXT_BYTES);
    out[0] = '\0';
    for (int i = 0; i < n_levels && fits && text; i++) {
        size_t length = field_length(address);
        fits = address[length] == '.' && !add_level(text, address, length);
        if (fits) address += length + 1;
    }
    /* the rest is the node, whose name may have points: where it is another the points were in a switch's
     * name */
    if (fits && text && *address && (!node || strcmp(address, node) == 0)) put(text, out, size);
    free(text);
}
