/* Whole files: old or new, never half of one, and never through a link. */
#include "common/sys/nl_whole.h"
#include "tests/unit/files.h"

static char place[PATH_MAX], beside[PATH_MAX + 8];

FIXTURE(set_up) {
    if (make_folder(state)) return -1;
    snprintf(place, sizeof place, "%s/file", folder);
    snprintf(beside, sizeof beside, "%s.new", place);
    return 0;
}

/* What stands there, as its first line. */
static void assert_holds(const char *path, const char *wanted) {
    char line[64];
    assert_string_equal(nl_read_line(path, line, sizeof line), wanted);
}

static int write_whole(const char *text, int is_bad) {
    struct nl_whole w;
    assert_int_equal(nl_whole_open(&w, place, 0640), 0);
    fputs(text, w.f);
    return nl_whole_close(&w, is_bad);
}

TEST(the_old_file_stays_until_the_new_one_is_whole) {
    struct nl_whole w;
    struct stat st;
    assert_int_equal(write_whole("old", 0), 0);
    assert_int_equal(nl_whole_open(&w, place, 0640), 0);
    fputs("new", w.f);
    fflush(w.f);
    assert_holds(place, "old");
    assert_int_equal(nl_whole_close(&w, 0), 0);
    assert_holds(place, "new");
    assert_int_equal(stat(place, &st), 0);
    assert_int_equal(st.st_mode & 0777 & ~0640, 0);
    assert_int_equal(access(beside, F_OK), -1);
    assert_int_equal(nl_whole_close(&w, 0), -1);
}

TEST(what_the_caller_calls_bad_leaves_the_old_file) {
    assert_int_equal(write_whole("old", 0), 0);
    assert_int_equal(write_whole("bad", 1), -1);
    assert_holds(place, "old");
    assert_int_equal(access(beside, F_OK), -1);
}

TEST(a_file_that_does_not_fit_leaves_the_old_one) {
    struct rlimit was, few;
    char text[4096];
    assert_int_equal(write_whole("old", 0), 0);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    few = (struct rlimit){100, was.rlim_max};
    setrlimit(RLIMIT_FSIZE, &few);
    int rc = write_whole(text, 0), error = errno;
    setrlimit(RLIMIT_FSIZE, &was);
    EQUAL(rc, -1, error, EFBIG);
    assert_holds(place, "old");
    assert_int_equal(access(beside, F_OK), -1);
}

TEST(a_link_that_somebody_put_there_is_not_followed) {
    char victim[PATH_MAX];
    snprintf(victim, sizeof victim, "%s/victim", folder);
    put("victim", "theirs");
    assert_int_equal(symlink(victim, beside), 0);
    assert_int_equal(write_whole("ours", 0), 0);
    assert_holds(victim, "theirs");
    assert_holds(place, "ours");
}

TEST(the_file_of_another_writer_is_not_moved) {
    struct nl_whole first, second;
    assert_int_equal(nl_whole_open(&first, place, 0640), 0);
    assert_int_equal(nl_whole_open(&second, place, 0640), 0);
    fputs("second", second.f);
    assert_int_equal(nl_whole_close(&first, 0), -1);
    assert_int_equal(errno, EBUSY);
    assert_int_equal(nl_whole_close(&second, 0), 0);
    assert_holds(place, "second");
}

TEST(a_folder_that_is_not_there_is_said_at_once) {
    struct nl_whole w;
    assert_int_equal(nl_whole_open(&w, "/nowhere/file", 0640), -1);
    assert_int_equal(errno, ENOENT);
    assert_null(w.f);
}

GROUP(set_up, remove_tree)

static int replace(const char *text) {
    struct nl_whole w;
    assert_int_equal(nl_whole_open(&w, place, 0640), 0);
    fputs(text, w.f);
    return nl_whole_replace(&w, 0);
}

TEST(what_is_replaced_often_is_whole_too_and_only_a_file_is) {
    assert_int_equal(replace("first"), 0); /* there is none yet */
    FILE *reader = fopen(place, "r");
    assert_int_equal(replace("second"), 0);
    assert_holds(place, "second");
    assert_int_equal(access(beside, F_OK), -1);
    char line[16] = "";
    assert_non_null(fgets(line, sizeof line, reader)); /* who had opened it reads the old one */
    assert_string_equal(line, "first");
    fclose(reader);
    assert_int_equal(unlink(place) + mkdir(place, 0700), 0);
    assert_int_equal(replace("third"), -1);
    struct stat st;
    assert_int_equal(stat(place, &st), 0);
    EQUAL(S_ISDIR(st.st_mode) != 0, 1, access(beside, F_OK), -1);
}
