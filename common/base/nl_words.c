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
