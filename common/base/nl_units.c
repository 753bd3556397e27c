#include "common/base/nl_units.h"

struct unit {
    const char *name;
    double factor;
};

static const struct unit duration_units[] = {
    {"ns", 1},  {"us", 1e3},   {"\302\265s", 1e3}, {"ms", 1e6},
    {"s", 1e9}, {"min", 60e9}, {"h", 3600e9},      {NULL, 0},
};
static const struct unit bare_seconds[] = {{"", 1e9}, {NULL, 0}};

#define MOST_NS (10. * 366 * 86400 * 1e9)

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"KiB", 1024.},
    {"K", 1024.},
    {"MiB", 1048576.},
    {"M", 1048576.},
    {"GiB", 1073741824.},
    {"G", 1073741824.},
    {NULL, 0},
};

static const struct unit rate_units[] = {
    {"", 1},     {"k", 1e3},     {"B", 1},          {"kB", 1e3},          {"MB", 1e6},
    {"GB", 1e9}, {"KiB", 1024.}, {"MiB", 1048576.}, {"GiB", 1073741824.}, {NULL, 0},
};

/* strtod takes "inf", "nan", hexadecimal and leading space; people do not mean those. */
static int parse_number(const char *text, double *value, const char **rest) {
    if (!isdigit((unsigned char)text[0]) && text[0] != '.') return -1;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) return -1;
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    if (end == text || errno == ERANGE || !isfinite(*value)) return -1;
    *rest = end;
    return 0;
}

static int parse_with_units(const char *text, const struct unit *units, double max, double *out) {
    double value;
    const char *rest;
    if (parse_number(text, &value, &rest)) return -1;
    while (*rest == ' ')
        rest++;
    for (const struct unit *u = units; u->name; u++) {
        if (strcmp(rest, u->name) != 0) continue;
        *out = value * u->factor;
        return *out <= max ? 0 : -1;
    }
    return -1;
}

int nl_parse_duration_or_zero(const char *text, int64_t *out_ns) {
    double ns = 0;
    if (strcmp(text, "0") != 0 && parse_with_units(text, duration_units, MOST_NS, &ns)) return -1;
    *out_ns = (int64_t)llround(ns);
    return 0;
}

int nl_parse_seconds(const char *text, int64_t *out_ns) {
    double ns = 0;
    if (parse_with_units(text, bare_seconds, MOST_NS, &ns) || llround(ns) < 1)
        return nl_parse_duration(text, out_ns);
    *out_ns = (int64_t)llround(ns);
    return 0;
}

int nl_parse_duration(const char *text, int64_t *out_ns) {
    int64_t ns;
    if (nl_parse_duration_or_zero(text, &ns) || ns < 1) return -1;
    *out_ns = ns;
    return 0;
}

int nl_parse_size(const char *text, int64_t *out_bytes) {
    double bytes;
    if (parse_with_units(text, size_units, 9007199254740992., &bytes) || bytes != floor(bytes)) return -1;
    *out_bytes = (int64_t)bytes;
    return 0;
}

int nl_parse_percent(const char *text, double *out_percent) {
    const char *rest;
    double value;
    if (parse_number(text, &value, &rest) || (*rest && strcmp(rest, "%") != 0)) return -1;
    *out_percent = value;
    return 0;
}

int nl_parse_rate(const char *text, double *out_per_s) {
    double rate;
    if (parse_with_units(text, rate_units, 9007199254740992., &rate) || rate <= 0) return -1;
    *out_per_s = rate;
    return 0;
}

int nl_parse_int(const char *text, int64_t min, int64_t max, int64_t *out) {
    if (!isdigit((unsigned char)text[0]) && text[0] != '-') return -1;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < min || value > max) return -1;
    *out = value;
    return 0;
}

int nl_parse_seed(const char *text, uint64_t *out) {
    if (!isdigit((unsigned char)text[0])) return -1;
    int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base);
    if (*end || errno) return -1;
    *out = value;
    return 0;
}

int nl_parse_list(const char *text, int least, int most, int with_ranges, int *numbers, int max) {
    for (int n = 0;; text++) {
        char *end;
        if (!isdigit((unsigned char)*text)) return -1;
        long first = strtol(text, &end, 10), last = first;
        if (with_ranges && *end == '-' && isdigit((unsigned char)end[1])) last = strtol(end + 1, &end, 10);
        if (first < least || last < first || last > most || last - first >= max - n) return -1;
        while (first <= last)
            numbers[n++] = (int)first++;
        if (!*end) return n;
        if (*end != ',') return -1;
        text = end;
    }
}

int nl_split(char *text, const char **parts, int max) {
    int n = 0;
    for (char *p = text;;) {
        char *comma = strchr(p, ',');
        if (comma) *comma = '\0';
        if (*p == '\0' || n == max) return -1;
        parts[n++] = p;
        if (!comma) return n;
        p = comma + 1;
    }
}

const char *nl_format_duration(int64_t ns, char *buf, size_t size) {
    static const struct unit shown[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    const struct unit *u = shown;
    while (u->factor > 1 && (double)ns < u->factor)
        u++;
    snprintf(buf, size, "%.4g %s", (double)ns / u->factor, u->name);
    return buf;
}
