
#include "common/base/nl_words.h"
#include "tests/unit/unit.h"

/* The words, joined by '|'. */
static const char *split(const char *text) {
    static char out[256];
    char **words, reason[64];
    int n = nl_words_split(text, &words, reason, sizeof reason), length = 0;
    if (n < 0) {
        assert_null(words);
        snprintf(out, sizeof out, "error: %s", reason);
        return out;
    }
    for (int i = 0; i < n; i++)
        length += snprintf(out + length, sizeof out - (size_t)length, "%s%s", i ? "|" : "", words[i]);
    assert_null(words[n]);
    free(words);
    return out;
}

static const char *const cases[][2] = {
    {"top -b -d 0.1", "top|-b|-d|0.1"},
    {"  a\t b \n c ", "a|b|c"},
    {"sh -c 'echo \"x y\" \\'", "sh|-c|echo \"x y\" \\"},
    {"a \"b c\"d'e f'g", "a|b cde fg"},
    {"a '' \"\" b", "a|||b"},
    {"x", "x"},
    /* a backslash takes the next character where it has a meaning */
    {"a\\ b c\\\\d \\'e \\\"f", "a b|c\\d|'e|\"f"},
    {"\"a\\\"b\\\\c\\d\"", "a\"b\\c\\d"},
    {"'a\\b'", "a\\b"},
    {"a \\\\", "a|\\"},
    /* nothing is expanded */
    {"echo $HOME *.c `id` ~ a;b >c | d", "echo|$HOME|*.c|`id`|~|a;b|>c|||d"},
    {"", "error: it has no word"},
    {"  \t", "error: it has no word"},
    {"a 'b", "error: it has an open quote"},
    {"a \"b\\\"", "error: it has an open quote"},
    {"a b\\", "error: it ends with a backslash"},
    {"a \\\\\\", "error: it ends with a backslash"},
};

TEST(a_command_is_split_as_people_type_it) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(split(cases[i][0]), cases[i][1]);
}

TEST(what_a_shell_would_not_take_as_a_word_is_found) {
    static const struct {
        const char *text;
        char sign;
    } rows[] = {
        {"top -b -d 0.5 > /dev/null", '>'},
        {"a|b", '|'},
        {"a \"x\";b", ';'},
        {"a && b", '&'},
        {"a &", '&'},
        {"curl http://h/?a=1&b=2 $x `id` *", 0},
        {"awk '$1 > 3 { print \"|\" }' \"a;b\\\">\" \\<", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(nl_words_shell_sign(rows[i].text), rows[i].sign);
}

TEST(a_name_in_a_column_has_nothing_that_would_end_it) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    nl_put_name(f, "kworker/0:1-a_b.c+?");
    nl_put_name(f, " a,\"\n\t\xc3\xa9#");
    fclose(f);
    assert_string_equal(text, "kworker/0:1-a_b.c+?_a_______");
    free(text);
}
