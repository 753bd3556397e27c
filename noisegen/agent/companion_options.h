/* The command line of noiselab-agent. argv is parsed once, here; everything else gets this
 * structure, const. */
#pragma once

#include "noisegen/agent/setting.h"

enum na_who_word { NA_WHO_AUTO, NA_WHO_NONE = 4 }; /* those between: sources of the recorder */
extern const char *const na_who_names[];

enum na_found { NA_FOUND_UNKNOWN, NA_FOUND_OFF, NA_FOUND_ON };
extern const char *const na_found_names[];
enum na_keep { NA_KEEP_AUTO, NA_KEEP_YES, NA_KEEP_NO };

/* Texts point into argv; NULL: not given. */
struct na_options {
    const char *cmd, *cgroup, *unit, *on, *off;
    const char *against, *against_name; /* another command beside cmd, an arm of its own */
    pid_t pid; /* 0: not given */
    struct na_settings *settings; /* NULL: not given; lives as long as the process */
    const char *scrape;
    int64_t scrape_period_ns; /* 0: not given */
    const char *scrape_cpu, *cpu; /* as given; the sets below */
    cpu_set_t scrape_cpus, cpus;
    int is_shell;
    int found;   /* enum na_found: what on and off switch, before */
    int freezes; /* the command is started once, and frozen in off halves */
    const char *name;
    int64_t timeout_ns;
    enum na_who_word who;
    enum na_keep keep;
    int control_fd; /* -1: alone */
    int dry_run;
    int is_json; /* the dry run's findings as JSON */
    int restore; /* only give back what is left frozen */
};

/* Tables of the program that the options' own file does not need. */
struct na_lists {
    int (*print)(const char *what); /* 0, or -1: there is no such list */
    void (*print_tables)(void);     /* for programs, see nl_tables_row */
};

/* Parses and checks. @param lists  NULL: none can be asked for.
 * @return 1 go on, 0 everything was done (--help, --version, lists), -1 usage error, said. */
int na_options_parse(int argc, char **argv, const struct na_lists *lists, struct na_options *options);

/* The same for words that the detector was given to hand on: they say what the agent is and how it is
 * switched, and nothing else.
 * @param words  receives each option that was given once, `--name=value` or `--name`; owned by the process.
 * @return how many, -1 after a message. */
int na_options_take(int argc, char **argv, struct na_options *options, const char **words, int most);
