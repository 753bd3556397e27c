/* Settings of the operating system, on a machine of files: values, choices, CPUs that differ, and what is not
 * there. */
#include "experiments/command/settings.h"
#include "tests/unit/files.h"

#include <sys/stat.h>

static struct nc_setting_found found;

static const struct nc_setting_found *look(enum nc_setting_kind kind, const char *name, const char *path) {
    const struct nc_setting setting = {name,
                                       kind,
                                       path,
                                       "It does something.",
                                       kind == NC_FILE || kind == NC_TASK ? "a unit" : NULL,
                                       "/sys/period_ms 1000"};
    nc_setting_look(folder, &setting, &found);
    return &found;
}

TEST_WITH(a_sysctl_is_read_below_proc_sys, make_folder, remove_tree) {
    put("proc/sys/vm/stat_interval", "7\n");
    look(NC_SYSCTL, "vm.stat_interval", NULL);
    assert_string_equal(found.here, "7");
    assert_true(found.is_here && found.is_permitted);
    assert_null(found.why_not);
    assert_string_equal(found.permanent, "vm.stat_interval = VALUE in a file of /etc/sysctl.d");
}

TEST_WITH(what_is_not_there_is_not_permitted_and_says_why, make_folder, remove_tree) {
    look(NC_SYSCTL, "kernel.numa_balancing", NULL);
    assert_false(found.is_here || found.is_permitted);
    assert_string_equal(found.here, "");
    assert_string_equal(found.why_not, "this machine does not have it");
}

TEST_WITH(of_choices_the_one_in_brackets_is_the_value, make_folder, remove_tree) {
    put("sys/thp", "always [madvise] never\n");
    assert_string_equal(look(NC_FILE, "thp", "/sys/thp")->here, "madvise");
    put("sys/empty", "\n");
    assert_string_equal(look(NC_FILE, "empty", "/sys/empty")->here, "none");
}

TEST_WITH(cpus_that_differ_are_told_apart_and_those_that_agree_are_one, make_folder, remove_tree) {
    put("sys/cpu0/governor", "power\n");
    put("sys/cpu1/governor", "powersave\n");
    put("sys/cpu2/governor", "power\n");
    assert_string_equal(look(NC_FILE, "governor", "/sys/cpu*/governor")->here, "power, powersave");
}

TEST_WITH(what_nobody_may_write_is_fixed_for_root_too, make_folder, remove_tree) {
    char path[PATH_MAX];
    put("sys/fixed", "1\n");
    snprintf(path, sizeof path, "%s/sys/fixed", folder);
    assert_int_equal(chmod(path, 0444), 0);
    look(NC_FILE, "fixed", "/sys/fixed");
    assert_true(found.is_here);
    assert_false(found.is_permitted);
    assert_string_equal(found.why_not, "the kernel takes no other value while it runs");
}

TEST_WITH(of_a_boot_parameter_the_last_one_counts, make_folder, remove_tree) {
    put("proc/cmdline", "quiet xisolcpus=9 isolcpus=1 skew_tick=1 isolcpus=managed_irq,2-3\n");
    assert_string_equal(look(NC_BOOT, "isolcpus", NULL)->here, "managed_irq,2-3");
    assert_string_equal(look(NC_BOOT, "skew_tick", NULL)->here, "1");
    assert_string_equal(look(NC_BOOT, "quiet", NULL)->here, "set");
    assert_string_equal(look(NC_BOOT, "nohz_full", NULL)->here, "not set");
    assert_false(found.is_permitted);
}

TEST_WITH(a_task_is_known_by_its_whole_name, make_folder, remove_tree) {
    put("proc/12/comm", "irqbalance2\n");
    assert_string_equal(look(NC_TASK, "irqbalance", NULL)->here, "not running");
    put("proc/13/comm", "irqbalance\n");
    assert_string_equal(look(NC_TASK, "irqbalance", NULL)->here, "running");
}

TEST(every_row_has_its_words_and_no_name_stands_twice) {
    for (const struct nc_setting *s = nc_settings; s->name; s++) {
        assert_true(strlen(s->does) > 20 && s->does[strlen(s->does) - 1] == '.');
        assert_true(s->permanent || s->kind == NC_SYSCTL || s->kind == NC_BOOT);
        for (const struct nc_setting *t = s + 1; t->name; t++)
            assert_string_not_equal(s->name, t->name);
    }
}

TEST_WITH(how_long_a_setting_settles_is_read_where_a_file_says_it, make_folder, remove_tree) {
    const struct nc_setting constant = {"a", NC_SYSCTL, NULL, "It does something.", NULL, "250"};
    const struct nc_setting by_file = {
        "b", NC_SYSCTL, NULL, "It does something.", NULL, "/sys/period_ms 1000"};
    const struct nc_setting at_boot = {"c", NC_BOOT, NULL, "It does something.", NULL, NULL};
    assert_int_equal(nc_setting_settling_ms(folder, &constant), 250);
    assert_int_equal(nc_setting_settling_ms(folder, &by_file), 1000);
    put("sys/period_ms", "7000\n");
    assert_int_equal(nc_setting_settling_ms(folder, &by_file), 7000);
    assert_int_equal(nc_setting_settling_ms(folder, &at_boot), -1);
    for (const struct nc_setting *s = nc_settings; s->name; s++)
        assert_int_equal(nc_setting_settling_ms("", s) >= 0, s->kind == NC_SYSCTL || s->kind == NC_FILE);
}
