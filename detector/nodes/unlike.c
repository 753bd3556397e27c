#include "detector/nodes/unlike.h"

enum { VALUE_BYTES = 160, MOST_VALUES = 64, NAMED_HOSTS = 6 };

static const char *put_number(int n, char *buf) {
    snprintf(buf, VALUE_BYTES, "%d", n);
    return n > 0 ? buf : "";
}

static const char *cpu_model(const struct nd_host *h, char *buf) {
    (void)buf;
    return h->cpu_model;
}
static const char *kernel(const struct nd_host *h, char *buf) {
    (void)buf;
    return h->kernel;
}
static const char *n_cpus(const struct nd_host *h, char *buf) { return put_number(h->n_allowed, buf); }
static const char *smt(const struct nd_host *h, char *buf) { return put_number(h->smt, buf); }
static const char *n_ranks(const struct nd_host *h, char *buf) { return put_number(h->n_ranks, buf); }

/* A row for everything that is compared; the value is a text, "" where it is not known. */
static const struct property {
    const char *name;
    const char *(*value)(const struct nd_host *h, char *buf);
} properties[] = {
    {"CPU model", cpu_model}, {"CPUs", n_cpus}, {"hardware threads per core", smt}, {"kernel", kernel}, {"ranks", n_ranks},
};

/* The value that most hosts have, of equally common ones the first; NULL: all that is known is equal. Values beyond MOST_VALUES are not
 * counted, so that the work stays proportional to the hosts. */
static const char *most_common(const struct property *p, const struct nd_host *hosts, int n_hosts, char buf[VALUE_BYTES]) {
    int first[MOST_VALUES], counts[MOST_VALUES] = {0}, n = 0, best = 0;
    for (int i = 0; i < n_hosts; i++) {
        char value[VALUE_BYTES], other[VALUE_BYTES];
        const char *mine = p->value(&hosts[i], value);
        int k = 0;
        if (!mine[0]) continue;
        while (k < n && strcmp(p->value(&hosts[first[k]], other), mine) != 0) k++;
        if (k == MOST_VALUES) continue;
        if (k == n) first[n++] = i;
        counts[k]++;
    }
    for (int k = 1; k < n; k++)
        if (counts[k] > counts[best]) best = k;
    return n > 1 ? p->value(&hosts[first[best]], buf) : NULL;
}

/* Appends to a text of fixed size; what does not fit is cut off. */
static void append(char *line, size_t size, const char *text) {
    size_t n = strlen(line);
    snprintf(line + n, size - n, "%s", text);
}

int nd_unlike_describe(const struct nd_host *hosts, int n_hosts, char *line, size_t size) {
    int n_unlike = 0;
    line[0] = '\0';
    for (size_t k = 0; k < sizeof properties / sizeof *properties; k++) {
        char buf[VALUE_BYTES], text[2 * VALUE_BYTES];
        const char *usual = most_common(&properties[k], hosts, n_hosts, buf);
        int n_named = 0, n_others = 0;
        if (!usual) continue;
        snprintf(text, sizeof text, "%s%s: %s, but ", n_unlike++ ? "; " : "", properties[k].name, usual);
        append(line, size, text);
        for (int i = 0; i < n_hosts; i++) {
            char other[VALUE_BYTES];
            const char *value = properties[k].value(&hosts[i], other);
            if (!value[0] || strcmp(value, usual) == 0) continue;
            if (n_named == NAMED_HOSTS) {
                n_others++;
                continue;
            }
            snprintf(text, sizeof text, "%s%s on %s", n_named++ ? ", " : "", value, hosts[i].host);
            append(line, size, text);
        }
        if (n_others) {
            snprintf(text, sizeof text, " and another on %d more", n_others);
            append(line, size, text);
        }
    }
    return n_unlike;
}
