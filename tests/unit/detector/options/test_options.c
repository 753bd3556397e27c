/* The table of options. */
#include "detector/options/options.h"
#include "common/base/nl_options.h"
#include "tests/unit/unit.h"

static struct nd_options defaults; /* of no words at all */

static struct nl_command_line table(struct nd_options *target) {
    struct nl_command_line line = {.program = "noiselab-detect", .rows = nd_options_row(0), .target = target};
    while (nd_options_row(line.n_rows))
        line.n_rows++;
    return line;
}

FIXTURE(parsed) {
    static char *words[] = {"noiselab-detect", NULL};
    (void)state;
    return defaults.n_kinds > 0 || nd_options_parse(1, words, 0, &defaults) == 1
               ? 0
               : -1; /* once: its names live as long as the process */
}

TEST_WITH(options_stand_below_the_heading_of_their_group, parsed, NULL) {
    int group = 0;
    (void)state;
    for (int i = 0; nd_options_row(i); i++) {
        const struct nl_option *row = nd_options_row(i);
        if (!row->name) group = row->group;
        if (row->group != group)
            fail_msg("--%s: its group is %d, and that of the heading above it %d", row->name, row->group,
                     group);
    }
}

TEST_WITH(keys_of_launch_json_end_in_their_unit, parsed, NULL) {
    static const char *const units[] = {
        [NL_PERCENT] = "_percent", [NL_DURATION] = "_ns", [NL_DURATION_OR_ZERO] = "_ns",
        [NL_SECONDS] = "_ns",      [NL_SIZE] = "_bytes",  [NL_VERSION] = NULL};
    (void)state;
    for (int i = 0; nd_options_row(i); i++) {
        const struct nl_option *row = nd_options_row(i);
        size_t length = row->key ? strlen(row->key) : 0,
               unit = units[row->type] ? strlen(units[row->type]) : 0;
        if (row->key && (length < unit || (unit && strcmp(row->key + length - unit, units[row->type]) != 0)))
            fail_msg("--%s: its field '%s' does not end in %s", row->name, row->key, units[row->type]);
    }
}

/* What the help calls the default changes nothing. Where 0 or NULL stands for what is found later, the help
 * says so in other words. */
TEST_WITH(defaults_are_those_that_the_help_names, parsed, NULL) {
    static struct nd_options o;
    int n = 0;
    (void)state;
    for (int i = 0; nd_options_row(i); i++) {
        const struct nl_option *row = nd_options_row(i);
        const char *said = strstr(row->help, "(default ");
        char text[64] = "";
        if (!said || sscanf(said + 9, "%63[^);:]", text) != 1 || row->set || row->type == NL_TEXT) continue;
        if (row->at >= offsetof(struct nd_options, given) && row->at < offsetof(struct nd_options, argc))
            continue;
        o = defaults;
        struct nl_command_line line = table(&o);
        if (nl_options_set(&line, i, text)) continue; /* words for people */
        if (row->type == NL_ROW && !*(void *const *)((char *)&defaults + row->at)) continue;
        n++;
        if (memcmp(&o, &defaults, sizeof o) != 0)
            fail_msg("--%s: the help says default %s, nd_options_parse another one", row->name, text);
    }
    assert_true(n > 15);
}
