/* Presets: small files of options, and what is said about those that are none. */
#include "common/base/nl_preset.h"
#include "noisegen/gen_options.h"
#include "tests/unit/files.h"

enum { REASON_BYTES = 4 * PATH_MAX };

static char path[PATH_MAX];

FIXTURE(set_up) { return make_folder(state) || setenv("NOISELAB_PRESETS", folder, 1); }

FIXTURE(tear_down) {
    return rmdir(folder);
}

static void remove_file(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

/* ---- reading ---- */

/* What `take` was told, line by line: "option|value|line;". */
struct taken {
    char text[4096];
    const char *refused; /* this option is */
};

static int take(void *context, const char *option, const char *value, const char *where) {
    struct taken *t = context;
    size_t n = strlen(t->text);
    assert_contains(where, folder);
    snprintf(t->text + n, sizeof t->text - n, "%s|%s|%s;", option, value, strrchr(where, ':') + 1);
    return t->refused && strcmp(option, t->refused) == 0 ? -1 : 0;
}

static void assert_taken(const char *file, const char *wanted) {
    struct taken t = {.text = ""};
    char reason[REASON_BYTES] = "x";
    put("a.preset", file);
    if (nl_preset_read("a", take, &t, reason, sizeof reason)) fail_msg("%s", reason);
    assert_string_equal(t.text, wanted);
    assert_string_equal(reason, "");
    remove_file("a.preset");
}

TEST(lines_are_handed_on_in_their_order) {
    assert_taken("# a preset\nkind = spin\n\n# more\nlevel=0.3%\n", "kind|spin|2;level|0.3%|5;");
    assert_taken("", "");
    assert_taken("# only a comment", "");
}

TEST(blanks_around_words_and_ends_of_lines_do_not_matter) {
    assert_taken("  kind\t=   spin  \r\n\t# x\r\nlevel = 1", "kind|spin|1;level|1|3;");
    assert_taken("on = cpu:1, cpu:2\n", "on|cpu:1, cpu:2|1;"); /* within a value they do */
    assert_taken("a = b = c\n", "a|b = c|1;");
    assert_taken("a =\n= b\n", "a||1;|b|2;"); /* whether there is such an option is not decided here */
}

TEST(a_trace_lies_beside_its_preset_unless_its_path_is_whole) {
    char wanted[2 * PATH_MAX];
    snprintf(wanted, sizeof wanted, "replay|%s/x.trace|1;", folder);
    assert_taken("replay = x.trace\n", wanted);
    snprintf(wanted, sizeof wanted, "replay|%s/sub/x.trace|1;", folder);
    assert_taken("replay = sub/x.trace\n", wanted);
    assert_taken("replay = /x.trace\n", "replay|/x.trace|1;");
    assert_taken("folder = x\n", "folder|x|1;");
}

TEST(a_refused_line_ends_the_reading_without_another_word) {
    struct taken t = {.refused = "level"};
    char reason[REASON_BYTES] = "x";
    put("a.preset", "kind = spin\nlevel = 1\nperiod = 1s\n");
    assert_int_equal(nl_preset_read("a", take, &t, reason, sizeof reason), -1);
    assert_string_equal(t.text, "kind|spin|1;level|1|2;");
    assert_string_equal(reason, "");
    remove_file("a.preset");
}

TEST(lines_of_another_form_are_refused_with_file_and_number) {
    static const struct { const char *text, *wanted; } rows[] = {
        {"kind = spin\nlevel 1\n", "/a.preset:2: not of the form 'option = value'"},
        {"kind\n", "/a.preset:1: not of the form"},
        {"\n\n--level 3", "/a.preset:3: not of the form"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct taken t = {.text = ""};
        char reason[REASON_BYTES];
        put("a.preset", rows[i].text);
        assert_int_equal(nl_preset_read("a", take, &t, reason, sizeof reason), -1);
        assert_contains(reason, folder);
        assert_contains(reason, rows[i].wanted);
    }
    remove_file("a.preset");
}

TEST(lines_that_are_too_long_are_refused) {
    static const int lengths[] = {1021, 1022, 1023, 1024, 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char text[6000], reason[REASON_BYTES];
        static struct taken t;
        t.text[0] = '\0';
        snprintf(text, sizeof text, "# x\na = %0*d\nb = 1\n", lengths[i] - 4, 1);
        put("a.preset", text);
        int rc = nl_preset_read("a", take, &t, reason, sizeof reason);
        assert_int_equal(rc, lengths[i] <= 1022 ? 0 : -1);
        if (rc) assert_contains(reason, "/a.preset:2: longer than 1022 characters");
        else assert_contains(t.text, "b|1|3;");
    }
    remove_file("a.preset");
}

TEST(names_that_are_paths_and_presets_that_are_not_there_are_refused) {
    static const struct { const char *name, *wanted; } rows[] = {
        {"", "'' is not the name of a preset (see --list presets)"}, {".", "is not the name of a preset"},
        {"../a", "is not the name of a preset"}, {"/etc/passwd", "is not the name of a preset"},
        {".hidden", "is not the name of a preset"}, {"nothing", "there is no preset 'nothing' in '"},
        {"a.preset", "there is no preset 'a.preset' in '"}, /* the name is without the ending */
    };
    put("a.preset", "kind = spin\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct taken t = {.text = ""};
        char reason[REASON_BYTES];
        assert_int_equal(nl_preset_read(rows[i].name, take, &t, reason, sizeof reason), -1);
        assert_contains(reason, rows[i].wanted);
        assert_string_equal(t.text, "");
    }
    remove_file("a.preset");
}

TEST(a_preset_that_cannot_be_read_is_refused) {
    struct taken t = {.text = ""};
    char reason[REASON_BYTES];
    snprintf(path, sizeof path, "%s/a.preset", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(nl_preset_read("a", take, &t, reason, sizeof reason), -1);
    assert_contains(reason, "cannot read '");
    assert_int_equal(rmdir(path), 0);
    if (geteuid() == 0) return; /* root may read the next one */
    put("a.preset", "kind = spin\n");
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(nl_preset_read("a", take, &t, reason, sizeof reason), -1);
    assert_contains(reason, "Permission denied");
    remove_file("a.preset");
}

TEST(without_being_told_presets_lie_beside_the_program) {
    char buf[PATH_MAX];
    assert_string_equal(nl_preset_folder(buf), folder);
    unsetenv("NOISELAB_PRESETS");
    assert_contains(nl_preset_folder(buf), "/../share/noiselab/presets");
    assert_int_equal(buf[0], '/');
    setenv("NOISELAB_PRESETS", "", 1); /* as if it were not set */
    assert_contains(nl_preset_folder(buf), "/../share/noiselab/presets");
    setenv("NOISELAB_PRESETS", folder, 1);
}

/* ---- the list ---- */

static char listed[4096];

static void show(const char *name, const char *description) {
    size_t n = strlen(listed);
    snprintf(listed + n, sizeof listed - n, "%s|%s;", name, description);
}

TEST(the_list_has_every_preset_with_its_first_comment) {
    char reason[REASON_BYTES];
    put("b.preset", "\n  # the second   \n# not this\nlevel = 1\n");
    put("a.preset", "level = 1\n# the first one\n");
    put("c.preset", "level = 1\n");
    put("notes.txt", "# not a preset\n");
    put("x.trace", "# not a preset either\n");
    put(".preset", "# nor this\n");
    listed[0] = '\0';
    assert_int_equal(nl_preset_list(show, reason, sizeof reason), 0);
    assert_string_equal(listed, "a|the first one;b|the second;c|;");
    static const char *const names[] = {"a.preset", "b.preset", "c.preset", "notes.txt", "x.trace", ".preset"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) remove_file(names[i]);
    listed[0] = '\0';
    assert_int_equal(nl_preset_list(show, reason, sizeof reason), 0); /* an empty folder is an empty list */
    assert_string_equal(listed, "");
}

TEST(a_list_of_a_folder_that_is_not_there_is_an_error) {
    char reason[REASON_BYTES];
    setenv("NOISELAB_PRESETS", "/nonexistent/presets", 1);
    assert_int_equal(nl_preset_list(show, reason, sizeof reason), -1);
    assert_string_equal(reason, "cannot read '/nonexistent/presets': No such file or directory");
    struct taken t = {.text = ""};
    assert_int_equal(nl_preset_read("a", take, &t, reason, sizeof reason), -1);
    assert_contains(reason, "there is no preset 'a' in '/nonexistent/presets'");
    setenv("NOISELAB_PRESETS", folder, 1);
}

/* ---- within the options ---- */

/* Parses a command line, its words separated by single spaces, with the preset "a". */
static int parse(const char *preset, const char *command_line, struct ng_options *options) {
    static char copy[4096];
    char *words[64] = {"noiselab-gen", "--preset=a"};
    int n = 2;
    put("a.preset", preset);
    snprintf(copy, sizeof copy, "%s", command_line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) words[n++] = word;
    int rc = ng_options_parse(n, words, options);
    remove_file("a.preset");
    return rc;
}

TEST(a_preset_counts_as_if_it_had_been_given) {
    struct ng_options o;
    assert_int_equal(parse("kind = net\nlevel = 2%\nperiod = 50ms\non = cpu:0,cpu:1\naddress = udp:127.0.0.1:9999\n"
                           "pattern = poisson\nseed = 7\nduration = 3s\nmessage-bytes = 100\nduty-cap = 10\n",
                           "", &o),
                     1);
    assert_string_equal(o.preset, "a");
    assert_string_equal(o.kinds[0]->name, "net");
    assert_true(o.level_percent == 2);
    EQUAL(o.period_ns, 50000000, o.duration_ns, INT64_C(3000000000));
    assert_string_equal(o.patterns[0]->name, "poisson");
    EQUAL(o.shape.seed, 7, o.kind_options.message_bytes, 100);
    assert_true(o.duty_cap_percent == 10);
    /* texts outlive the file they come from */
    assert_string_equal(o.on, "cpu:0,cpu:1");
    assert_string_equal(o.kind_options.address, "udp:127.0.0.1:9999");
}

TEST(what_the_user_says_comes_first) {
    struct ng_options o;
    static const char preset[] = "kind = sum\nlevel = 2%\nperiod = 50ms\non = cpu:5\npattern = bursts\nseed = 7\narray-bytes = 1MiB\n"
                                 "duration = 3s\n";
    assert_int_equal(parse(preset, "--level 1 --kind spin --duration 9s", &o), 1);
    assert_true(o.level_percent == 1);
    assert_string_equal(o.kinds[0]->name, "spin"); /* which has no array: that is no error of the user's */
    EQUAL(o.n_kinds, 1, o.duration_ns, INT64_C(9000000000), o.period_ns, 50000000);
    assert_string_equal(o.on, "cpu:5");
    assert_int_equal(parse(preset, "--period 20ms --pattern periodic --on cpu:0", &o), 1);
    assert_int_equal(o.period_ns, 20000000);
    assert_string_equal(o.patterns[0]->name, "periodic");
    assert_int_equal(o.n_patterns, 1);
    assert_string_equal(o.on, "cpu:0");
}

TEST(what_the_user_says_in_other_words_comes_first_too) {
    struct ng_options o;
    static const char preset[] = "kind = syscall\nlevel = 2%\non = cpu:5\npattern = bursts\nseed = 7\nduration = 3s\n";
    assert_int_equal(parse(preset, "--on cpu:1", &o), 1);
    assert_string_equal(o.on, "cpu:1");
    assert_int_equal(parse(preset, "--rate 100", &o), 1);
    assert_true(o.rate_per_s == 100);
    assert_true(o.level_percent == -1);
    static const char other[] = "kind = syscall\nrate = 5\non = cpu:3\npattern = jittered\nduration = 3s\n";
    assert_int_equal(parse(other, "--level 1 --on last --pattern poisson", &o), 1);
    assert_true(o.level_percent == 1);
    assert_true(o.rate_per_s == 0);
    assert_string_equal(o.on, "last");
    assert_string_equal(o.patterns[0]->name, "poisson");
}

TEST(a_preset_with_a_trace_replays_it) {
    struct ng_options o;
    put("a.trace", "0\t1000\n1000000\t2000\n");
    assert_int_equal(parse("replay = a.trace\nkind = sum\nscale-burst = 0.5\n", "", &o), 1);
    assert_string_equal(o.patterns[0]->name, "replay");
    assert_non_null(o.trace);
    assert_int_equal(o.trace->n_bursts, 2);
    assert_contains(o.trace->path, folder);
    assert_true(o.shape.scale_burst == 0.5);
    assert_int_equal(o.shape.is_looped, 0);
    ng_trace_close(o.trace);
    assert_int_equal(parse("replay = a.trace\nloop = yes\n", "--duration 5s", &o), 1);
    assert_int_equal(o.shape.is_looped, 1);
    ng_trace_close(o.trace);
    remove_file("a.trace");
}

/* What is written to stderr meanwhile, to be compared with what was wanted. */
static void assert_refused(const char *preset, const char *command_line, const char *wanted) {
    static struct ng_options o;
    char text[4096] = "", log[PATH_MAX + 64];
    snprintf(log, sizeof log, "%s/stderr", folder);
    fflush(stderr);
    int before = dup(2);
    assert_non_null(freopen(log, "w", stderr));
    int rc = parse(preset, command_line, &o);
    fflush(stderr);
    dup2(before, 2);
    close(before);
    FILE *f = fopen(log, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    remove_file("stderr");
    assert_int_equal(rc, -1);
    assert_contains(text, wanted);
    assert_true(n > 0 && strchr(text, '\n') == text + n - 1); /* one line */
}

TEST(broken_presets_are_refused_with_file_and_line) {
    assert_refused("kind = burn\n", "", "--preset: ");
    assert_refused("# x\nkind = burn\n", "", "/a.preset:2: 'burn' is not a kind of load (see --list kinds)");
    assert_refused("level = 12x\n", "", "/a.preset:1: '12x' is not a percentage");
    assert_refused("level =\n", "", "/a.preset:1: '' is not a percentage");
    assert_refused("lvel = 1\n", "", "/a.preset:1: 'lvel' is not an option that a preset can have");
    assert_refused("= 1\n", "", "/a.preset:1: '' is not an option");
    assert_refused("--level = 1\n", "", "/a.preset:1: '--level' is not an option");
    assert_refused("preset = a\n", "", "/a.preset:1: 'preset' is not an option that a preset can have");
    assert_refused("json = yes\n", "", "/a.preset:1: 'json' is not an option that a preset can have");
    assert_refused("outlive-parent = yes\n", "", "/a.preset:1: 'outlive-parent' is not an option");
    assert_refused("help = yes\n", "", "/a.preset:1: 'help' is not an option");
    assert_refused("loop = maybe\n", "", "/a.preset:1: 'maybe' is not no or yes");
    assert_refused("level 1\n", "", "/a.preset:1: not of the form 'option = value'");
    assert_refused("replay = nothing.trace\n", "", "--replay: cannot read '");
    assert_refused("level = 1\n", "", "--duration is missing");
    /* a line that the user overrules is not even looked at */
    struct ng_options o;
    assert_int_equal(parse("level = 12x\nduration = 1s\n", "--level 1", &o), 1);
}

GROUP(set_up, tear_down)
