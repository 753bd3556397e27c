#include "common/base/nl_secret.h"

/* parts of names that say what their value is; with `is_whole` only the whole of what stands between - _ . */
static const struct {
    const char *part;
    int is_whole;
} names[] = {{"password", 0},      {"passwd", 0}, {"passphrase", 0}, {"secret", 0}, {"token", 0}, {"credential", 0}, {"apikey", 0},
             {"authorization", 0}, {"pass", 1},   {"pw", 1},         {"pwd", 1},    {"auth", 1},  {"key", 1},        {"cookie", 1}};
enum { N_NAMES = sizeof names / sizeof *names };

/* options with NAME:PASSWORD behind them */
static const char *const pairs[] = {"-u", "-U", "--user", "--proxy-user"};
enum { N_PAIRS = sizeof pairs / sizeof *pairs };

struct copy { char *out; size_t n, size; int n_replaced; };

static void put(struct copy *c, const char *from, size_t n) {
    for (size_t i = 0; i < n && c->n + 1 < c->size; i++) c->out[c->n++] = from[i];
}

static void put_mark(struct copy *c) {
    put(c, NL_SECRET_MARK, strlen(NL_SECRET_MARK));
    c->n_replaced++;
}

static int is_divider(char c) { return c == '-' || c == '_' || c == '.'; }

/* Whether a name of n characters says that its value is secret. */
static int says_secret(const char *name, size_t n) {
    for (int k = 0; k < N_NAMES; k++) {
        size_t length = strlen(names[k].part);
        for (size_t i = 0; i + length <= n; i++) {
            if (strncasecmp(name + i, names[k].part, length) != 0) continue;
            if (!names[k].is_whole || ((i == 0 || is_divider(name[i - 1])) && (i + length == n || is_divider(name[i + length])))) return 1;
        }
    }
    return 0;
}

static size_t name_length(const char *at) {
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || is_divider(at[n])) n++;
    return n;
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/* Where a secret that begins at `at` ends: at a blank outside of its own quotes, and at `close`, the quote around it. is_word: at the end
 * of all. */
static const char *end_of_secret(const char *at, char close, int is_word, int takes_blanks) {
    if (is_word) return at + strlen(at);
    for (; *at && *at != close && (takes_blanks || !is_blank(*at)); at++) {
        if (*at == '\\' && at[1]) at++;
        else if ((*at == '"' || *at == '\'') && !takes_blanks) {
            const char *end = strchr(at + 1, *at);
            if (!end) return at + strlen(at);
            at = end;
        }
    }
    return at;
}

/* What of the word that begins here is secret. */
struct find {
    const char *from; /* NULL: nothing */
    int takes_blanks; /* it goes on to the end of its quotes */
};

static int is_pair(const char *word, size_t n) {
    for (int i = 0; i < N_PAIRS; i++)
        if (strlen(pairs[i]) == n && strncmp(word, pairs[i], n) == 0) return 1;
    return 0;
}

/* Of scheme://name:password@host: "name:password", n bytes. */
static const char *of_url(const char *word, size_t length, size_t *n) {
    for (size_t i = 0; i + 3 < length; i++) {
        if (strncmp(word + i, "://", 3) != 0) continue;
        for (size_t end = length; end > i + 3; end--)
            if (word[end - 1] == '@') {
                *n = end - 1 - (i + 3);
                return word + i + 3;
            }
    }
    return NULL;
}

/* @param quoted  how much of it the quotes just before it hold; 0: there are none. */
static struct find look(const char *word, size_t length, size_t quoted, const char *before, size_t n_before) {
    size_t n = name_length(word);
    /* --password x, --user a:b */
    if (n_before > 1 && before[0] == '-' && !memchr(before, '=', n_before)) {
        if (is_pair(before, n_before) && memchr(word, ':', quoted ? quoted : length)) return (struct find){word, quoted > 0};
        if (before[1] == '-' && says_secret(before, n_before) && word[0] != '-') return (struct find){word, quoted > 0};
    }
    if ((n_before == 6 && strncasecmp(before, "Bearer", 6) == 0) || (n_before == 5 && strncasecmp(before, "Basic", 5) == 0))
        return (struct find){word, 0};
    if (n > 0 && n < length && word[n] == '=' && says_secret(word, n)) return (struct find){word + n + 1, 0};
    if (n > 0 && n < length && word[n] == ':' && word[n + 1] != '/' && word[0] != '-' && says_secret(word, n)) {
        const char *from = word + n + 1;
        while (is_blank(*from)) from++;
        return (struct find){from, 1};
    }
    /* ?token=x&key=y, {"password":"x"} */
    for (size_t i = 1; i < length; i++) {
        if (!strchr("?&;{,", word[i - 1])) continue;
        n = name_length(word + i);
        if (n > 0 && i + n < length && word[i + n] == '=' && says_secret(word + i, n)) return (struct find){word + i + n + 1, 0};
    }
    n = name_length(word);
    /* -uname:pw, --user=name:pw */
    if (length > 3 && strncmp(word, "-u", 2) == 0 && memchr(word, ':', length)) return (struct find){word + 2, 0};
    if (n > 0 && n < length && word[n] == '=' && is_pair(word, n) && memchr(word, ':', length)) return (struct find){word + n + 1, 0};
    return (struct find){NULL, 0};
}

static size_t word_length(const char *at, int is_word) { return is_word ? strlen(at) : strcspn(at, " \t\n\"'"); }

int nl_secret_redact(const char *text, const char *before, char *out, size_t size) {
    struct copy c = {out, 0, size, 0};
    const int is_word = !text[strcspn(text, " \t\n")];
    size_t n_before = before ? strlen(before) : 0;
    char open = '\0', inner = '\0';
    /* an element of its own, blanks and all */
    if (n_before > 2 && before[1] == '-' && before[0] == '-' && !strchr(before, '=') && says_secret(before, n_before) && *text &&
        *text != '-') {
        put_mark(&c);
        text += strlen(text);
    }
    for (const char *at = text; *at;) {
        if (!is_word && (is_blank(*at) || *at == '"' || *at == '\'')) {
            if (!is_blank(*at)) {
                if (!open) open = *at;
                else if (*at == open) open = inner = '\0';
                else inner = inner ? '\0' : *at;
            }
            put(&c, at++, 1);
            continue;
        }
        size_t n = word_length(at, is_word), n_secret;
        const char quote =
            at > text && !is_word && (at[-1] == '"' || at[-1] == '\'') && (at[-1] == open || at[-1] == inner) ? at[-1] : '\0';
        struct find f = look(at, n, quote ? strcspn(at, (char[]){quote, '\0'}) : 0, before, n_before);
        const char *url;
        if (f.from) {
            const char *end = end_of_secret(f.from, inner ? inner : open, is_word, f.takes_blanks);
            put(&c, at, (size_t)(f.from - at));
            if (end > f.from) put_mark(&c);
            before = NULL;
            n_before = 0;
            at = end;
        } else if ((url = of_url(at, n, &n_secret)) && n_secret > 0) {
            put(&c, at, (size_t)(url - at));
            put_mark(&c);
            put(&c, url + n_secret, n - n_secret - (size_t)(url - at));
            at += n;
        } else {
            put(&c, at, n);
            before = at;
            n_before = n;
            at += n;
        }
    }
    if (size > 0) out[c.n] = '\0';
    return c.n_replaced > 0;
}

/* @param before  the text before it in its array; NULL: none. @return a new text, NULL: it stays. */
static json_t *redacted(const json_t *json, const char *before) {
    const char *text = json_string_value(json);
    size_t size = 4 * strlen(text) + sizeof NL_SECRET_MARK;
    /* most are short; a long one without memory is better lost than shown */
    char few[1024], *out = size <= sizeof few ? few : malloc(size);
    json_t *made = NULL;
    if (!out) return json_string(NL_SECRET_MARK);
    if (nl_secret_redact(text, before, out, size)) {
        made = json_string(out);
        if (!made) made = json_string(NL_SECRET_MARK);
    }
    if (out != few) free(out);
    return made;
}

int nl_secret_redact_json(json_t *json) {
    int n = 0;
    const char *key;
    json_t *value, *made;
    void *next;
    if (json_is_object(json))
        json_object_foreach_safe(json, next, key, value) {
            if (!json_is_string(value)) n += nl_secret_redact_json(value);
            else if ((made = redacted(value, NULL)) != NULL) n += json_object_set_new(json, key, made) == 0;
        }
    /* backwards: each looks at the one before it as it was */
    for (size_t i = json_array_size(json); i-- > 0;) {
        value = json_array_get(json, i);
        if (!json_is_string(value)) n += nl_secret_redact_json(value);
        else if ((made = redacted(value, i ? json_string_value(json_array_get(json, i - 1)) : NULL)) != NULL)
            n += json_array_set_new(json, i, made) == 0;
    }
    return n;
}

void nl_secret_disarm(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c < 0x20 || *c == 0x7f) *c = *c == '\t' || *c == '\n' ? ' ' : '?';
        /* U+0080 to U+009F */
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) c[0] = c[1] = '?';
    }
}
