/* Lines of /proc/PID/stat: invented ones, and those of this machine as sscanf reads them. */
#include "common/sys/nl_stat.h"
#include "common/sys/nl_whole.h"
#include "tests/unit/unit.h"

#define REST                                                                                                 \
    " S -3 5 6 7 -1 2129984 8 9 10 11 12 13 14 15 20 -19 16 0 17 18 19 18446744073709551615 1 2 3 4 5 6 7 "  \
    "8 9 10 11 12 17 21 22 3 0 0"

TEST(each_field_is_found_whatever_the_name_holds) {
    static const char *const names[] = {"a", "a b) S 1 (2", "((",
                                        "a name with more bytes than the kernel has, far more than sixty"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct nl_stat s;
        char line[512];
        snprintf(line, sizeof line, "1234 (%s)" REST "\n", names[i]);
        assert_int_equal(nl_stat_parse(line, &s), 0);
        assert_int_equal(strncmp(s.name, names[i], sizeof s.name - 1), 0);
        EQUAL(s.state, 'S', s.ppid, -3, s.is_kernel, 1, s.dead_children_faults, 9, s.ticks, 12 + 13,
              s.dead_children_ticks, 14 + 15, s.n_threads, 16, s.start_ticks, 17, s.cpu, 21, s.policy, 3);
        assert_int_equal(s.rss_kib, 19 * (sysconf(_SC_PAGESIZE) / 1024));
    }
}

TEST(what_is_no_whole_line_is_refused) {
    struct nl_stat s;
    char line[512] = "1234 (a)" REST;
    /* up to the policy, which is the last field but two that is there */
    size_t whole = strlen(line) - strlen(" 3 0 0") + 2;
    for (size_t n = 0; n < strlen(line); n++) {
        char cut[512];
        snprintf(cut, sizeof cut, "%.*s", (int)n, line);
        assert_int_equal(nl_stat_parse(cut, &s), n >= whole ? 0 : -1);
    }
    *strstr(line, " 17 21") = 'x';
    EQUAL(nl_stat_parse(line, &s), -1, nl_stat_parse("", &s), -1, nl_stat_parse(")(", &s), -1,
          nl_stat_parse("1 (a) S 1 x", &s), -1);
}

static int n_read;

static int compare(void *context, pid_t pid) {
    char path[64], text[1024];
    struct nl_stat s;
    unsigned long long dead_faults, start;
    long long user, system, dead_user, dead_system, rss;
    unsigned flags, policy;
    int ppid, n_threads, cpu;
    char state;
    (void)context;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (nl_read(path, text, sizeof text) <= 0) return 0; /* it has ended */
    assert_int_equal(
        sscanf(strrchr(text, ')') + 1,
               " %c %d %*d %*d %*d %*d %u %*u %llu %*u %*u %lld %lld %lld %lld %*d %*d %d %*d %llu "
               "%*u %lld %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d %*u %u",
               &state, &ppid, &flags, &dead_faults, &user, &system, &dead_user, &dead_system, &n_threads,
               &start, &rss, &cpu, &policy),
        13);
    assert_int_equal(nl_stat_parse(text, &s), 0);
    EQUAL(s.state, state, s.ppid, ppid, s.is_kernel, (flags & 0x200000u) != 0, s.dead_children_faults,
          (int64_t)dead_faults, s.ticks, user + system, s.dead_children_ticks, dead_user + dead_system,
          s.n_threads, n_threads, s.start_ticks, (int64_t)start, s.rss_kib,
          rss * (sysconf(_SC_PAGESIZE) / 1024), s.cpu, cpu, s.policy, policy);
    n_read++;
    return 0;
}

TEST(lines_of_this_machine_are_read_as_sscanf_reads_them) {
    assert_int_equal(nl_each_number("/proc", compare, NULL), 0);
    assert_true(n_read > 0);
}
