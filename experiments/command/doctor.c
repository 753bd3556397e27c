/* noiselab-doctor: what this machine permits, what that means for each experiment, and what would change it.
 */
#include "experiments/command/doctor_probes.h"
#include "experiments/command/settings.h"

#include <jansson.h>

#include "common/base/nl_options.h"
#include "common/base/version.h"

enum { MAX_PROBES = 32, WIDTH = 100 };

static const char *const nc_state_names[] = {
    [NC_GOOD] = "good", [NC_LIMITED] = "limited", [NC_MISSING] = "missing"};

/* ---- what follows for the experiments ---- */

enum { RANKS = 1, AGENTS = 2, NODES = 4, ANSWERS = 8 };

static const struct experiment {
    const char *name;
    int is_main;    /* decides the exit status */
    unsigned needs; /* RANKS, ... */
} experiments[] = {
#define EXPERIMENT(name, is_main, needs) {name, is_main, needs},
#include "common/contract/experiments.h"
#undef EXPERIMENT
    {"analysis", 0, ANSWERS},
};
enum { N_EXPERIMENTS = sizeof experiments / sizeof *experiments };

/* Whether it can run here; the first thing in its way is why, "" without. */
static enum nc_state judge(const struct nc_machine *m, const struct experiment *e, const char **why) {
    const struct {
        unsigned of;
        int is_so;
        enum nc_state state;
        const char *why;
    } rows[] = {
        {RANKS, !m->has_python, NC_MISSING, "noiselab run wants Python 3.6 or later"},
        {RANKS, !m->launcher_works, NC_MISSING, "no ranks can be started (MPI)"},
        {RANKS, !m->has_r, NC_LIMITED, "measures here; answers where R is (--finish DIR)"},
        {RANKS, m->n_cores < 2, NC_LIMITED, "one rank only: no collective waits for another rank"},
        {AGENTS, !m->can_freeze, NC_LIMITED,
         "only agents that are started (--agent-cmd) or have switches of their own (--agent-on)"},
        {NODES, !m->is_slurm_job && m->has_slurm, NC_LIMITED,
         "this machine only, without node against node; a cluster: --submit, or --hosts"},
        {NODES, !m->is_slurm_job, NC_LIMITED,
         "this machine only, without node against node; a cluster: --hosts n1,n2,..."},
        {ANSWERS, !m->has_r, NC_MISSING, "R or its package is missing"},
        {~0u, 1, NC_GOOD, ""},
    };
    int i = 0;
    while (!(e->needs & rows[i].of) || !rows[i].is_so)
        i++;
    *why = rows[i].why;
    return rows[i].state;
}

/* ---- options ---- */

struct asked {
    struct nl_command_line line;
    int is_json;
};

static const struct nl_option rows[] = {
    {"json", NULL, "print JSON", 1, NL_AT(FLAG, struct asked, is_json)},
    {"version", NULL, "print the version", 2, .type = NL_VERSION},
    {"help", NULL, "print this help", 2, .type = NL_HELP},
};

/* ---- output ---- */

/* Prints a text after so many columns, broken at blanks so that no line is wider than WIDTH; lines after the
 * first are indented. */
static void print_broken(const char *text, int column) {
    int at = column;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (at > column && at + 1 + length > WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        } else if (at > column) {
            putchar(' ');
            at++;
        }
        printf("%.*s", length, text);
        at += length;
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}

static void print_line(const char *name, enum nc_state state, const char *text) {
    static const char *const marks[] = {[NC_GOOD] = "ok", [NC_LIMITED] = "limited", [NC_MISSING] = "MISSING"};
    printf("%-15s  %-7s  ", name, marks[state]);
    print_broken(text[0] ? text : "can run", 26);
}

static void print_text(const struct nc_finding *findings, const enum nc_state *states,
                       const char *const *whys) {
    for (int i = 0; nc_probes[i].name; i++) {
        print_line(nc_probes[i].name, findings[i].state, findings[i].here);
        if (findings[i].means[0]) printf("%26s", ""), print_broken(findings[i].means, 26);
        if (findings[i].change[0]) printf("%24s> ", ""), print_broken(findings[i].change, 26);
    }
    puts("\nExperiments");
    for (int i = 0; i < N_EXPERIMENTS; i++)
        print_line(experiments[i].name, states[i], whys[i]);
}

static json_t *unless_empty(const char *text) { return text[0] ? json_string(text) : json_null(); }

static int print_json(const struct nc_finding *findings, const enum nc_state *states,
                      const char *const *whys) {
    char host[256] = "";
    json_t *checks = json_array(), *all = json_array();
    gethostname(host, sizeof host - 1);
    for (int i = 0; nc_probes[i].name; i++)
        json_array_append_new(checks, json_pack("{s:s, s:s, s:o, s:o, s:o}", "check", nc_probes[i].name,
                                                "state", nc_state_names[findings[i].state], "here",
                                                unless_empty(findings[i].here), "means",
                                                unless_empty(findings[i].means), "change",
                                                unless_empty(findings[i].change)));
    for (int i = 0; i < N_EXPERIMENTS; i++)
        json_array_append_new(all, json_pack("{s:s, s:s, s:b, s:o}", "experiment", experiments[i].name,
                                             "state", nc_state_names[states[i]], "is_main",
                                             experiments[i].is_main, "reason", unless_empty(whys[i])));
    json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:o, s:o}", "schema", 1, "program", "noiselab-doctor",
                             "version", NOISELAB_VERSION, "host", host, "checks", checks, "experiments", all);
    int failed = !json || json_dumpf(json, stdout, JSON_INDENT(2)) || putchar('\n') == EOF || fflush(stdout);
    if (failed) nl_error("--json: cannot be written");
    json_decref(json);
    return failed ? -1 : 0;
}

/* ---- doctor settings ---- */

static int print_settings(int is_json) {
    struct nc_setting_found found;
    json_t *all = json_array();
    for (const struct nc_setting *s = nc_settings; s->name; s++) {
        nc_setting_look("", s, &found);
        int64_t settling_ms = nc_setting_settling_ms("", s);
        if (is_json) {
            json_array_append_new(
                all,
                json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:b, s:o, s:s}", "setting", s->name, "here",
                          unless_empty(found.here), "source", unless_empty(found.source), "files",
                          unless_empty(s->path ? s->path : ""), "does", s->does, "settling_ms",
                          settling_ms < 0 ? json_null() : json_integer(settling_ms), "is_permitted",
                          found.is_permitted, "why_not", unless_empty(found.why_not ? found.why_not : ""),
                          "permanent", found.permanent));
            continue;
        }
        printf("%-30s  ", s->name);
        print_broken(found.is_here ? found.here : "-", 32);
        printf("%4s", "");
        print_broken(s->does, 4);
        printf("%2s> ", "");
        char line[2 * NC_SETTING_BYTES];
        snprintf(line, sizeof line, "%s%s; permanent: %s",
                 found.why_not ? "not changed here: " : "may be changed here",
                 found.why_not ? found.why_not : "", found.permanent);
        print_broken(line, 4);
    }
    if (!is_json) {
        json_decref(all);
        return 0;
    }
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:o}", "schema", 1, "program", "noiselab-doctor",
                             "version", NOISELAB_VERSION, "host", host, "settings", all);
    int failed = !json || json_dumpf(json, stdout, JSON_INDENT(2)) || putchar('\n') == EOF || fflush(stdout);
    if (failed) nl_error("--json: cannot be written");
    json_decref(json);
    return failed ? -1 : 0;
}

int main(int argc, char **argv) {
    static struct nc_finding findings[MAX_PROBES];
    static char bin[PATH_MAX];
    const char *whys[N_EXPERIMENTS];
    enum nc_state states[N_EXPERIMENTS];
    int can_run = 1; /* the main ones, may be with limits */
    struct nc_machine machine = {.bin = bin};
    struct asked asked = {.line = {.program = "noiselab-doctor",
                                   .rows = rows,
                                   .n_rows = sizeof rows / sizeof rows[0],
                                   .target = &asked,
                                   .args = "[settings]",
                                   .doc = "Says what this machine permits, what that means for each "
                                          "experiment, and what would change it. It looks, "
                                          "starts two ranks for a moment, and changes nothing. With the word "
                                          "settings: the settings of the operating "
                                          "system that matter for noise, what each is here and does, whether "
                                          "it may be changed here, and how that is "
                                          "made permanent; it only reads."
                                          "\vExit status: 0 the main experiments (sensitivity, agent, "
                                          "acceptance) can run (settings: they were "
                                          "printed), 2 one cannot, or usage error."}};
    nl_set_program("noiselab-doctor");
    /* The word may stand before or after the options. */
    int is_settings = argc > 1 && strcmp(argv[1], "settings") == 0, first_word = argc;
    if (is_settings) {
        argv++;
        argc--;
    }
    if (nl_options_parse(&asked.line, argc, argv, &first_word)) return NL_EXIT_USAGE;
    if (asked.line.is_done) return NL_EXIT_OK;
    if (!is_settings && first_word < argc && strcmp(argv[first_word], "settings") == 0) {
        is_settings = 1;
        first_word++;
    }
    if (first_word < argc) {
        nl_error("'%s': the only word it knows is settings, once", argv[first_word]);
        return NL_EXIT_USAGE;
    }
    if (is_settings) return print_settings(asked.is_json) ? NL_EXIT_USAGE : NL_EXIT_OK;
    if (!nl_own_folder(bin)[0]) {
        nl_error("cannot find the folder of the programs (/proc is not mounted)");
        return NL_EXIT_USAGE;
    }
    for (int i = 0; nc_probes[i].name; i++)
        nc_probes[i].look(&machine, &findings[i]);
    for (int i = 0; i < N_EXPERIMENTS; i++) {
        states[i] = judge(&machine, &experiments[i], &whys[i]);
        if (experiments[i].is_main && states[i] == NC_MISSING) can_run = 0;
    }
    if (!asked.is_json) print_text(findings, states, whys);
    if (asked.is_json && print_json(findings, states, whys)) return NL_EXIT_USAGE;
    return can_run ? NL_EXIT_OK : NL_EXIT_USAGE;
}
