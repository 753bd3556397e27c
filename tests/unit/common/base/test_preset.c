/* Presets: small files of options, and what is said about those that are none. What they do on a command
 * line: tests/cli/gen.bats. */
#include "common/base/nl_preset.h"
#include "tests/unit/files.h"

static char path[PATH_MAX], reason[4 * PATH_MAX];

FIXTURE(set_up) { return make_folder(state) || setenv("NOISELAB_PRESETS", folder, 1); }

/* What `take` was told, line by line: "option|value|line;", F for the folder. */
static char taken[4096];
static const char *refused; /* this option is */

static int take(void *context, const char *option, const char *value, const char *where) {
    size_t n = strlen(taken), length = strlen(folder);
    (void)context;
    assert_contains(where, folder);
    int is_in_folder = strncmp(value, folder, length) == 0;
    snprintf(taken + n, sizeof taken - n, "%s|%s%s|%s;", option, is_in_folder ? "F" : "",
             is_in_folder ? value + length : value, strrchr(where, ':') + 1);
    return refused && strcmp(option, refused) == 0 ? -1 : 0;
}

/* Reads a preset of this text: what was taken of it, or the reason why not. */
static const char *read_preset(const char *name, const char *text) {
    taken[0] = '\0';
    if (text) put("a.preset", text);
    return nl_preset_read(name, take, NULL, reason, sizeof reason) && reason[0] ? reason : taken;
}

TEST(lines_are_handed_on_in_their_order_and_those_of_another_form_refused) {
    static const char *const rows[][2] = {
        {"# a preset\nkind = spin\n\n# more\nlevel=0.3%\n", "kind|spin|2;level|0.3%|5;"},
        {"# only a comment", ""},
        {"  kind\t=   spin  \r\n\t# x\r\nlevel = 1", "kind|spin|1;level|1|3;"},
        {"on = cpu:1, cpu:2\n", "on|cpu:1, cpu:2|1;"},
        {"a = b = c\n", "a|b = c|1;"},
        {"a =\n= b\n", "a||1;|b|2;"}, /* whether there is such an option is not decided here */
        /* a trace lies beside its preset unless its path is whole */
        {"replay = x.trace\n", "replay|F/x.trace|1;"},
        {"replay = sub/x.trace\n", "replay|F/sub/x.trace|1;"},
        {"replay = /x.trace\n", "replay|/x.trace|1;"},
        {"folder = x\n", "folder|x|1;"},
        {"kind = spin\nlevel 1\n", "/a.preset:2: not of the form 'option = value'"},
        {"\n\n--level 3", "/a.preset:3: not of the form"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *got = read_preset("a", rows[i][0]);
        if (got == taken)
            assert_string_equal(got, rows[i][1]);
        else
            assert_contains(got, rows[i][1]);
    }
    refused = "level";
    assert_string_equal(read_preset("a", "kind = spin\nlevel = 1\nperiod = 1s\n"),
                        "kind|spin|1;level|1|2;"); /* without another word */
    refused = NULL;
}

TEST(lines_that_are_too_long_are_refused) {
    static const int lengths[] = {1021, 1022, 1023, 1024, 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char text[6000];
        snprintf(text, sizeof text, "# x\na = %0*d\nb = 1\n", lengths[i] - 4, 1);
        assert_contains(read_preset("a", text),
                        lengths[i] <= 1022 ? "b|1|3;" : "/a.preset:2: longer than 1022 characters");
    }
}

TEST(names_that_are_paths_and_presets_that_are_not_there_are_refused) {
    static const char *const rows[][2] = {
        {"", "'' is not the name of a preset (see --list presets)"},
        {".", "is not the name of a preset"},
        {"../a", "is not the name of a preset"},
        {"/etc/passwd", "is not the name of a preset"},
        {".hidden", "is not the name of a preset"},
        {"nothing", "there is no preset 'nothing' in '"},
        {"a.preset", "there is no preset 'a.preset' in '"}, /* the name is without the ending */
        {"folder", "cannot read '"},
    };
    snprintf(path, sizeof path, "%s/folder.preset", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_contains(read_preset(rows[i][0], NULL), rows[i][1]);
    assert_int_equal(rmdir(path), 0);
}

TEST(without_being_told_presets_lie_beside_the_program) {
    assert_string_equal(nl_preset_folder(path), folder);
    unsetenv("NOISELAB_PRESETS");
    assert_contains(nl_preset_folder(path), "/../share/noiselab/presets");
    assert_int_equal(path[0], '/');
    setenv("NOISELAB_PRESETS", "", 1); /* as if it were not set */
    assert_contains(nl_preset_folder(path), "/../share/noiselab/presets");
    setenv("NOISELAB_PRESETS", folder, 1);
}

static void show(const char *name, const char *description) {
    size_t n = strlen(taken);
    snprintf(taken + n, sizeof taken - n, "%s|%s;", name, description);
}

TEST(the_list_has_every_preset_with_its_first_comment) {
    taken[0] = '\0';
    unlink(strcat(strcpy(path, folder), "/a.preset"));
    assert_int_equal(nl_preset_list(show, reason, sizeof reason), 0); /* of nothing */
    assert_string_equal(taken, "");
    put("b.preset", "\n  # the second   \n# not this\nlevel = 1\n");
    put("a.preset", "level = 1\n# the first one\n");
    put("c.preset", "level = 1\n");
    put("notes.txt", "# not a preset\n");
    put(".preset", "# nor this\n");
    assert_int_equal(nl_preset_list(show, reason, sizeof reason), 0);
    assert_string_equal(taken, "a|the first one;b|the second;c|;");
    setenv("NOISELAB_PRESETS", "/nonexistent/presets", 1);
    assert_int_equal(nl_preset_list(show, reason, sizeof reason), -1);
    assert_string_equal(reason, "cannot read '/nonexistent/presets': No such file or directory");
    setenv("NOISELAB_PRESETS", folder, 1);
}

GROUP(set_up, remove_tree)
