
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
    for (int i = 0; i < n; i++) length += snprintf(out + length, sizeof out - (size_t)length, "%s%s", i ? "|" : "", words[i]);
    assert_null(words[n]);
    nl_words_free(words);
    return out;
}

TEST(blanks_divide_and_quotes_keep_together) {
    assert_string_equal(split("top -b -d 0.1"), "top|-b|-d|0.1");
    assert_string_equal(split("  a\t b \n c "), "a|b|c");
    assert_string_equal(split("sh -c 'echo \"x y\" \\'"), "sh|-c|echo \"x y\" \\");
    assert_string_equal(split("a \"b c\"d'e f'g"), "a|b cde fg");
    assert_string_equal(split("a '' \"\" b"), "a|||b");
    assert_string_equal(split("x"), "x");
}

TEST(backslashes_take_the_next_character_where_they_have_a_meaning) {
    assert_string_equal(split("a\\ b c\\\\d \\'e \\\"f"), "a b|c\\d|'e|\"f");
    assert_string_equal(split("\"a\\\"b\\\\c\\d\""), "a\"b\\c\\d");
    assert_string_equal(split("'a\\b'"), "a\\b");
}

TEST(nothing_is_expanded) {
    assert_string_equal(split("echo $HOME *.c `id` ~ a;b >c | d"), "echo|$HOME|*.c|`id`|~|a;b|>c|||d");
}

TEST(what_a_shell_would_not_take_as_a_word_is_found) {
    assert_int_equal(nl_words_shell_sign("top -b -d 0.5 > /dev/null"), '>');
    assert_int_equal(nl_words_shell_sign("a|b"), '|');
    assert_int_equal(nl_words_shell_sign("a \"x\";b"), ';');
    assert_int_equal(nl_words_shell_sign("a && b"), '&');
    assert_int_equal(nl_words_shell_sign("a &"), '&');
    assert_int_equal(nl_words_shell_sign("curl http://h/?a=1&b=2 $x `id` *"), 0);
    assert_int_equal(nl_words_shell_sign("awk '$1 > 3 { print \"|\" }' \"a;b\\\">\" \\<"), 0);
    assert_int_equal(nl_words_shell_sign(""), 0);
}

TEST(what_has_no_end_is_an_error) {
    assert_string_equal(split(""), "error: it has no word");
    assert_string_equal(split("  \t"), "error: it has no word");
    assert_string_equal(split("a 'b"), "error: it has an open quote");
    assert_string_equal(split("a \"b\\\""), "error: it has an open quote");
    assert_string_equal(split("a b\\"), "error: it ends with a backslash");
    assert_string_equal(split("a \\\\\\"), "error: it ends with a backslash");
    assert_string_equal(split("a \\\\"), "a|\\");
}
