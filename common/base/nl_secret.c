#include "common/base/nl_secret.h"

#include <regex.h>

/* A name that says that its value is secret, and what stands before one. */
#define LETTERS "[A-Za-z0-9_.-]*"
#define NAME                                                                                                 \
    "(([A-Za-z0-9_.]" LETTERS                                                                                \
    ")?(password|passwd|passphrase|secret|token|credential|apikey|authorization)" LETTERS                    \
    "|([A-Za-z0-9_.]" LETTERS "[-_.])?(pass|pw|pwd|auth|key|cookie)([-_.]" LETTERS ")?)"
#define BEGIN "(^|[^A-Za-z0-9_.-])"
/* Options with NAME:PASSWORD behind them. */
#define PAIR "(-u|--user|--proxy-user)"
#define BARE "(\\\\.|[^ \t\n'\"\\])"
/* What a word goes on with: a quote that begins within it is not followed by what separates words, as one
 * that ends around it is. */
#define MORE     "(" BARE "|'[^]' \t\n,;:)}|][^']*'|\"[^]\" \t\n,;:)}|][^\"]*\")*"
#define NO_BLANK "[^ \t\n'\"]"

/* Of texts as a shell reads them, and of single words: what is kept, and then the secret, but for an @ at its
 * end. */
enum { N_RULES = 12 };
static const char *const patterns[2][N_RULES] = {
    {"(" BEGIN "-*" NAME "=)('[^']+'|\"[^\"]+\"|" BARE ")" MORE, "(" BEGIN "--" NAME "[ \t]+')[^']+",
     "(" BEGIN "--" NAME "[ \t]+\")[^\"]+", "(" BEGIN "--" NAME "[ \t]+)[^- \t\n'\"]" MORE,
     "(" BEGIN PAIR "[ \t]+')[^':]*:[^']*", "(" BEGIN PAIR "[ \t]+\")[^\":]*:[^\"]*",
     "(" BEGIN PAIR "[ \t]+)" NO_BLANK "*:" NO_BLANK "*",
     "(" BEGIN "(-u|" PAIR "=))" NO_BLANK "+:" NO_BLANK "*", "(" BEGIN NAME ":[ \t]*)[^'\"/ \t][^'\"]*",
     "(" BEGIN "(Bearer|Basic)[ \t]+)" BARE "+", "([a-z]://)" NO_BLANK "+@"},
    {"((^-*|[?&;{,])" NAME "=).+", "(^(-u|" PAIR "=)).+:.*", "(^" NAME ":)[^/].*", "([a-z]://).+@"},
};
static const char *const alone[] = {"^--" NAME "$", "^" PAIR "$",
                                    "^(Bearer|Basic)$"}; /* the word before says it */

static regex_t rules[2][N_RULES], words[3];

static void compile(void) {
    for (int i = 0; i < 2 * N_RULES; i++)
        if (patterns[i / N_RULES][i % N_RULES])
            regcomp(&rules[i / N_RULES][i % N_RULES], patterns[i / N_RULES][i % N_RULES],
                    REG_EXTENDED | REG_ICASE);
    for (int i = 0; i < 3; i++)
        regcomp(&words[i], alone[i], REG_EXTENDED | REG_ICASE | REG_NOSUB);
}

/* The text with what a rule finds replaced, in place of it; NULL without memory. */
static char *replace(char *text, const regex_t *rule) {
    char *made = NULL;
    const char *at = text;
    size_t size;
    regmatch_t m[2];
    FILE *f = text ? open_memstream(&made, &size) : NULL;
    if (f) {
        for (; *at && regexec(rule, at, 2, m, at > text ? REG_NOTBOL : 0) == 0; at += m[0].rm_eo)
            fprintf(f, "%.*s" NL_SECRET_MARK "%s", (int)m[1].rm_eo, at, at[m[0].rm_eo - 1] == '@' ? "@" : "");
        fputs(at, f);
        if (fclose(f)) made = NULL;
    }
    free(text);
    return made;
}

int nl_secret_redact(const char *text, const char *before, char *out, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, compile);
    int is_word = !text[strcspn(text, " \t\n")], is_secret = 0;
    for (int i = 0; i < 3 && before && *text && *text != '-'; i++)
        is_secret |= regexec(&words[i], before, 0, NULL, 0) == 0 && (i != 1 || strchr(text, ':'));
    char *made = strdup(is_secret ? NL_SECRET_MARK : text);
    for (int i = 0; i < N_RULES && patterns[is_word][i] && !is_secret; i++)
        made = replace(made, &rules[is_word][i]);
    int is_changed = !made || strcmp(made, text) != 0;
    if (size > 0)
        snprintf(out, size, "%s",
                 made ? made : NL_SECRET_MARK); /* without memory it is better lost than shown */
    free(made);
    return is_changed;
}

/* @param before  the text before it in its array; NULL: none. @return a new text, NULL: it stays. */
static json_t *redacted(const json_t *json, const char *before) {
    const char *text = json_string_value(json);
    size_t size = 4 * strlen(text) + sizeof NL_SECRET_MARK;
    char *out = malloc(size);
    json_t *made = NULL;
    if (!out) return json_string(NL_SECRET_MARK); /* without memory it is better lost than shown */
    if (nl_secret_redact(text, before, out, size) && !(made = json_string(out)))
        made = json_string(NL_SECRET_MARK);
    free(out);
    return made;
}

int nl_secret_redact_json(json_t *json) {
    int n = 0;
    const char *key;
    json_t *value, *made;
    void *next;
    if (json_is_object(json)) json_object_foreach_safe(json, next, key, value) {
            if (!json_is_string(value))
                n += nl_secret_redact_json(value);
            else if ((made = redacted(value, NULL)) != NULL)
                n += json_object_set_new(json, key, made) == 0;
        }
    /* backwards: each looks at the one before it as it was */
    for (size_t i = json_array_size(json); i-- > 0;) {
        value = json_array_get(json, i);
        if (!json_is_string(value))
            n += nl_secret_redact_json(value);
        else if ((made = redacted(value, i ? json_string_value(json_array_get(json, i - 1)) : NULL)) != NULL)
            n += json_array_set_new(json, i, made) == 0;
    }
    return n;
}

void nl_secret_disarm(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c < 0x20 || *c == 0x7f) *c = *c == '\t' || *c == '\n' ? ' ' : '?';
        /* U+0080 to U+009F */
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            c[0] = c[1] = '?';
    }
}
