#include "common/base/nl_hostlist.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define DIGITS  "0123456789"

enum { NAME_BYTES = 254, MOST_DIGITS = 18 };

struct reading {
    struct nl_hostlist *list;
    int max, room;
    char *reason;
    size_t reason_size;
};

#define FAIL(r, ...) (snprintf((r)->reason, (r)->reason_size, __VA_ARGS__), -1)

static int add(struct reading *r, const char *name) {
    struct nl_hostlist *list = r->list;
    size_t length = strlen(name);
    if (!length) return FAIL(r, "the list is empty or has an empty part");
    if (length >= NAME_BYTES || !strchr(LETTERS, name[0]) || strspn(name, LETTERS ".-") != length)
        return FAIL(r, "'%.80s' is not a name of a node (letters, digits, . _ -; several: n[1-4,07])", name);
    if (list->n == r->max) return FAIL(r, "more than %d nodes", r->max);
    if (NL_GROW(list->names, list->n, r->room)) return FAIL(r, "there is no memory for it");
    if (!(list->names[list->n] = strdup(name))) return FAIL(r, "there is no memory for it");
    list->n++;
    return 0;
}

static int expand(struct reading *r, const char *text, size_t length);

/* `head` without brackets, `middle`, and what follows it, as one text. */
static int expand_with(struct reading *r, const char *head, size_t n_head, const char *middle,
                       size_t n_middle, const char *rest, size_t n_rest) {
    char *text;
    int length = asprintf(&text, "%.*s%.*s%.*s", (int)n_head, head, (int)n_middle, middle, (int)n_rest, rest);
    if (length < 0) return FAIL(r, "there is no memory for it");
    int failed = expand(r, text, (size_t)length);
    free(text);
    return failed;
}

/* The end of what begins at `text`: the first of these letters outside of brackets that begin behind it;
 * `end` if there is none. */
static const char *end_of(const char *text, const char *end, const char *letters) {
    int depth = 0;
    for (; text < end; text++) {
        if (depth == 0 && strchr(letters, *text)) return text;
        depth += (*text == '[') - (*text == ']');
    }
    return end;
}

/* One number, range, or list in brackets again, between the commas of brackets. */
static int expand_part(struct reading *r, const char *head, size_t n_head, const char *part, size_t n_part,
                       const char *rest, size_t n_rest) {
    size_t n_first = strspn(part, DIGITS);
    if (n_first < n_part && part[n_first] == '[')
        return expand_with(r, head, n_head, part, n_part, rest, n_rest);
    size_t n_last = n_first < n_part && part[n_first] == '-' ? strspn(part + n_first + 1, DIGITS) : 0;
    if (n_first == 0 || n_first > MOST_DIGITS || n_last > MOST_DIGITS ||
        n_part != n_first + (n_last ? 1 + n_last : 0))
        return FAIL(r, "'%.*s' in brackets is no number and no range (try n[1-4,07])",
                    n_part < 80 ? (int)n_part : 80, part);
    int64_t first = strtoll(part, NULL, 10), last = n_last ? strtoll(part + n_first + 1, NULL, 10) : first;
    if (last < first) return FAIL(r, "'%.*s' in brackets runs backwards", (int)n_part, part);
    for (int64_t i = first; i <= last; i++) {
        char number[MOST_DIGITS + 2];
        int n = snprintf(number, sizeof number, "%0*lld", (int)n_first, (long long)i);
        if (expand_with(r, head, n_head, number, (size_t)n, rest, n_rest)) return -1;
    }
    return 0;
}

/* One name, or those that its first brackets make of it. */
static int expand(struct reading *r, const char *text, size_t length) {
    const char *end = text + length, *open = memchr(text, '[', length),
               *close = open ? end_of(open + 1, end, "]") : NULL;
    if (!open) return add(r, text);
    if (close == end) return FAIL(r, "'%.80s': a bracket has no end", text);
    for (const char *part = open + 1;; part++) {
        const char *comma = end_of(part, close, ",");
        if (expand_part(r, text, (size_t)(open - text), part, (size_t)(comma - part), close + 1,
                        (size_t)(end - close - 1)))
            return -1;
        if (comma == close) return 0;
        part = comma;
    }
}

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int find_twins(struct reading *r) {
    struct nl_hostlist *list = r->list;
    char **sorted;
    int failed = 0;
    if (!NL_NEW(sorted, list->n)) return FAIL(r, "there is no memory for it");
    memcpy(sorted, list->names, (size_t)list->n * sizeof *sorted);
    qsort(sorted, (size_t)list->n, sizeof *sorted, compare);
    for (int i = 1; i < list->n && !failed; i++)
        if (!strcmp(sorted[i - 1], sorted[i])) failed = FAIL(r, "'%s' stands twice in the list", sorted[i]);
    free(sorted);
    return failed;
}

int nl_hostlist_read(const char *text, int max, struct nl_hostlist *list, char *reason, size_t reason_size) {
    struct reading r = {.list = list, .max = max, .reason = reason, .reason_size = reason_size};
    const char *end = text + strlen(text);
    int failed = 0;
    *list = (struct nl_hostlist){0};
    for (const char *item = text; !failed; item++) {
        const char *comma = end_of(item, end, ",");
        failed = expand_with(&r, item, (size_t)(comma - item), "", 0, "", 0);
        if (comma == end) break;
        item = comma;
    }
    failed = failed || find_twins(&r);
    if (failed) nl_hostlist_free(list);
    return failed;
}

void nl_hostlist_free(struct nl_hostlist *list) {
    for (int i = 0; i < list->n; i++)
        free(list->names[i]);
    free(list->names);
    *list = (struct nl_hostlist){0};
}
