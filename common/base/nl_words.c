#include "common/base/nl_words.h"

#define BLANKS " \t\n\r"

static int is_blank(char c) { return c && strchr(BLANKS, c); }

/* Copies one word from *text, which it moves on, to `to`; returns the place after the copy's end, NULL when
 * the word has no end. */
static char *copy_word(const char **text, char *to, const char **problem) {
    const char *s = *text;
    char quote = 0;
    for (; *s && (quote || !is_blank(*s)); s++) {
        if (quote ? *s == quote : *s == '\'' || *s == '"') {
            quote = quote ? 0 : *s;
        } else if (*s == '\\' && quote != '\'' && (!quote || s[1] == '"' || s[1] == '\\')) {
            if (!*++s) {
                *problem = "it ends with a backslash";
                break;
            }
            *to++ = *s;
        } else {
            *to++ = *s;
        }
    }
    if (quote) *problem = "it has an open quote";
    *to++ = '\0';
    *text = s;
    return to;
}

int nl_words_split(const char *text, char ***words, char *reason, size_t reason_size) {
    size_t length = strlen(text), n_most = length / 2 + 2;
    const char *problem = NULL;
    int n = 0;
    /* one piece of memory: the array, and behind it the words, which are never longer than the text */
    char **array = malloc(n_most * sizeof *array + length + n_most);
    *words = NULL;
    if (!array) return nl_say(reason, reason_size, "there is no memory for it");
    char *to = (char *)(array + n_most);
    for (text += strspn(text, BLANKS); *text && !problem; text += strspn(text, BLANKS)) {
        array[n++] = to;
        to = copy_word(&text, to, &problem);
    }
    array[n] = NULL;
    if (n == 0) problem = "it has no word";
    if (!problem)
        *words = array;
    else
        free(array);
    return problem ? nl_say(reason, reason_size, "%s", problem) : n;
}

char nl_words_shell_sign(const char *text) {
    char quote = 0;
    for (const char *s = text; *s; s++) {
        if (*s == '\\' && quote != '\'' && s[1])
            s++;
        else if (quote)
            quote = *s == quote ? 0 : quote;
        else if (*s == '\'' || *s == '"')
            quote = *s;
        else if (strchr("|<>;", *s))
            return *s;
        else if (*s == '&' && (s[1] == '&' || s[1] == '\0' || is_blank(s[1])))
            return *s; /* within a word it may be part of an address */
    }
    return '\0';
}

void nl_put_name(FILE *f, const char *name) {
    for (; *name; name++)
        fputc(isalnum((unsigned char)*name) || strchr("._:+-?/", *name) ? *name : '_', f);
}

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
