#include "common/base/nl_nearest.h"

enum { MOST_LETTERS = 63 };

static const char *without_prefix(const char *word) {
    return strncasecmp(word, "mpi_", 4) == 0 && word[4] ? word + 4 : word;
}

static int letter(char c) { return c == '-' ? '_' : tolower((unsigned char)c); }

static int least(int a, int b) { return a < b ? a : b; }

int nl_edit_distance(const char *a, const char *b) {
    int rows[3][MOST_LETTERS + 1]; /* two lines back, one line back, this one */
    a = without_prefix(a);
    b = without_prefix(b);
    size_t n = strlen(a), m = strlen(b);
    if (n > MOST_LETTERS || m > MOST_LETTERS) return INT_MAX;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *now = rows[i % 3], *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int is_same = letter(a[i - 1]) == letter(b[j - 1]);
            now[j] = least(least(before[j], now[j - 1]) + 1, before[j - 1] + !is_same);
            if (i > 1 && j > 1 && letter(a[i - 1]) == letter(b[j - 2]) &&
                letter(a[i - 2]) == letter(b[j - 1]))
                now[j] = least(now[j], two_before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

void nl_nearest_begin(struct nl_nearest *n, const char *word) {
    *n = (struct nl_nearest){.word = word, .distance = INT_MAX};
}

/* Whether the name begins with what was typed: as good as one edit. */
static int begins_alike(const char *word, const char *name) {
    size_t i = 0;
    word = without_prefix(word);
    while (word[i] && letter(word[i]) == letter(name[i]))
        i++;
    return i >= 3 && !word[i];
}

void nl_nearest_offer(struct nl_nearest *n, const char *name) {
    size_t length = strlen(without_prefix(n->word));
    int most = length < 6 ? 1 : (int)length / 3;
    int distance = nl_edit_distance(n->word, name);
    if (begins_alike(n->word, name)) distance = least(distance, 1);
    if (distance > most || (size_t)distance >= length || distance >= n->distance)
        return; /* of several that are as near the first */
    n->best = name;
    n->distance = distance;
}

const char *nl_nearest_tell(const struct nl_nearest *n, char *text, size_t size) {
    text[0] = '\0';
    if (n->best) snprintf(text, size, ": did you mean %s?", n->best);
    return text;
}

const void *nl_find_near(const void *table, const char *name, char *meant, size_t size) {
    struct nl_nearest n = {.word = name, .distance = INT_MAX};
    const char *rows = table, *own;
    meant[0] = '\0';
    for (const void *row;; rows += sizeof row) {
        memcpy(&row, rows, sizeof row);
        if (!row) break;
        memcpy(&own, row, sizeof own);
        if (strcmp(own, name) == 0) return row;
        nl_nearest_offer(&n, own);
    }
    nl_nearest_tell(&n, meant, size);
    return NULL;
}
