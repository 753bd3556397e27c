/* noiselab-profile: runs a program with the profile loaded, and makes tables of what its ranks wrote. */
#include <jansson.h>

#include "common/base/nl_error.h"
#include "common/base/nl_options.h"
#include "common/base/nl_secret.h"
#include "common/base/version.h"
#include "common/sys/nl_whole.h"
#include "detector/profile/command.h"
#include "detector/profile/tables.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

struct profile {
    struct nl_command_line line;
    const char *out, *tables, *launch_id;
    char **words; /* NULL: none */
    char folder[PATH_MAX], launch[128], library[PATH_MAX + 64];
    int made_out, made_folder; /* 1: they were not there */
    time_t started;
};

/* ---- options ---- */

#define AT(type, member) NL_AT(type, struct profile, member)

static const struct nl_option rows[] = {
    {"out", "DIR", "the campaign: each run becomes a folder in it (default profile)", 1, AT(TEXT, out), .wanted = "a directory"},
    {"tables", "DIR", "no program: make the tables of a run whose noiselab profile was killed, or that was linked with the library", 1,
     AT(TEXT, tables), .wanted = "the directory of a launch"},
    {"launch-id", "ID", "name of the run's folder (default: time, host and process number)", 1, AT(NAME, launch_id), .most = 119},
    {"help", NULL, "this list", 2, .type = NL_HELP},
    {"version", NULL, "print the version", 2, .type = NL_VERSION},
};

/* 1: go on, 0: all was said, -1: said why not. */
static int parse(struct profile *p, int argc, char **argv) {
    int first = argc;
    p->line = (struct nl_command_line){
        .program = "noiselab-profile",
        .rows = rows,
        .n_rows = sizeof rows / sizeof rows[0],
        .target = p,
        .args = "[-- COMMAND [ARGUMENT...]]",
        .doc = "Runs an MPI program, unchanged, and notes where its ranks spend their time and who waits for whom: calls and times of "
               "every operation, "
               "and at synchronising ones who arrived last, and why. noiselab analyze profile DIR says what it found."
               "\vIts exit status is the command's own; 2: it could not be started, or succeeded and no rank was profiled.\n\n"
               "Example: noiselab profile --out melt -- mpirun -n 2 lmp -in in.melt"};
    if (nl_options_parse(&p->line, argc, argv, &first)) return -1;
    if (p->line.is_done) return 0;
    p->words = first < argc ? argv + first : NULL;
    if (!p->words == !p->tables) {
        nl_error(p->words ? "--tables: no command with it" : "which program? (try noiselab profile --out DIR -- mpirun -n 2 ./app)");
        return -1;
    }
    return 1;
}

/* ---- folder and launch.json ---- */

static int make_folder(const char *path, int *is_new) {
    *is_new = !mkdir(path, 0777);
    if (*is_new || errno == EEXIST) return 0;
    nl_error("--out: cannot make '%s': %s", path, strerror(errno));
    return -1;
}

static void stamp(char *text, size_t size, const char *format, time_t at) {
    struct tm utc;
    gmtime_r(&at, &utc);
    strftime(text, size, format, &utc);
}

/* The launch's folder, new. 0 or -1. */
static int open_launch(struct profile *p) {
    char host[64] = "host", when[32], place[PATH_MAX];
    p->started = time(NULL);
    gethostname(host, sizeof host - 1);
    stamp(when, sizeof when, "%Y%m%dT%H%M%SZ", p->started);
    if (p->launch_id) snprintf(p->launch, sizeof p->launch, "%s", p->launch_id);
    else snprintf(p->launch, sizeof p->launch, "%s-%.63s-%ld", when, host, (long)getpid());
    for (char *c = p->launch; *c; c++)
        if (!strchr(NAME_CHARACTERS, *c)) *c = '_';
    if (make_folder(p->out, &p->made_out) || !realpath(p->out, place)) return -1;
    if (snprintf(p->folder, sizeof p->folder, "%s/%s", place, p->launch) >= (int)sizeof p->folder) return -1;
    if (make_folder(p->folder, &p->made_folder)) return -1;
    if (p->made_folder) return 0;
    nl_error("--launch-id: '%s' exists; a run never writes over another one", p->folder);
    return -1;
}

/* Of a run without a profile nothing stays. What was there before does. */
static void take_back(const struct profile *p) {
    DIR *folder = p->made_folder ? opendir(p->folder) : NULL;
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder) closedir(folder);
    if (p->made_folder) rmdir(p->folder);
    if (p->made_out) rmdir(p->out);
}

static json_t *text(const char *s) {
    json_t *json = json_string(s);
    return json ? json : json_string("(not UTF-8)");
}

static json_t *words_json(char **words) {
    json_t *array = json_array();
    for (; words && *words; words++) json_array_append_new(array, text(*words));
    nl_secret_redact_json(array);
    return array;
}

/* `t` NULL: the program has yet to run. 0 or -1. */
static int write_json(const struct profile *p, const struct nf_tables *t, int status) {
    char path[PATH_MAX + 16], started[32], now[32];
    struct nl_whole whole = {.f = NULL};
    stamp(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", p->started);
    stamp(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", time(NULL));
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:{s:s?}, s:s, s:s?}", "schema", NOISELAB_SCHEMA, "program", "noiselab-profile",
                  "version", NOISELAB_VERSION, "git", nl_git, "launch", p->launch, "command", words_json(p->words), "options", "out",
                  p->tables ? NULL : p->out, "started_utc", started, "ended_utc", t ? now : NULL);
    if (t) {
        json_object_set_new(json, "ranks", json_integer(t->n_expected));
        json_object_set_new(json, "nodes", json_integer(t->n_nodes));
        json_object_set_new(json, "ranks_profiled", json_integer(t->n_ranks));
        json_object_set_new(json, "ranks_unfinished", json_integer(t->n_unfinished));
        json_object_set_new(json, "mpi", json_pack("{s:o}", "version", text(t->library)));
        json_object_set_new(json, "profiled_program", text(t->program));
        json_object_set_new(json, "status", p->words ? json_integer(status) : json_null());
    }
    json_object_set_new(json, "ended",
                        t ? json_string(t->n_unfinished || t->n_ranks < t->n_expected ? "interrupted" : "complete") : json_null());
    snprintf(path, sizeof path, "%s/launch.json", p->folder);
    int failed = nl_whole_open(&whole, path, 0666);
    if (!failed) {
        int is_bad = json_dumpf(json, whole.f, JSON_INDENT(2) | JSON_PRESERVE_ORDER) || fputc('\n', whole.f) < 0;
        failed = nl_whole_close(&whole, is_bad);
    }
    json_decref(json);
    if (failed) nl_error("'%s' cannot be written: %s", path, strerror(errno));
    return failed;
}

/* ---- what is done ---- */

/* Beside this program, as it is built and as it is installed. 0 or -1. */
static int find_library(struct profile *p) {
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (slash) *slash = '\0';
    }
    snprintf(p->library, sizeof p->library, "%s/lib/noiselab/libnoiselab-profile.so", self);
    /* LD_PRELOAD is divided at blanks and colons */
    if (strpbrk(p->library, " :")) {
        nl_error("'%s': the dynamic linker takes no path with a blank or a colon", p->library);
        return -1;
    }
    if (!access(p->library, R_OK)) return 0;
    nl_error("there is no '%s': run make, or make install, again", p->library);
    return -1;
}

/* Tables, launch.json, and what is left over. 0, 1: there are no ranks, -1. */
static int finish(const struct profile *p, struct nf_tables *t, int status) {
    *t = (struct nf_tables){.folder = p->folder, .launch = p->launch};
    if (nf_tables_write(t) || write_json(p, t, status)) return -1;
    if (t->n_ranks) nf_tables_tidy(t);
    return t->n_ranks ? 0 : 1;
}

static void say_where(const struct profile *p, const struct nf_tables *t) {
    char ranks[64];
    snprintf(ranks, sizeof ranks, t->n_ranks < t->n_expected ? "%d of %d ranks" : "%d ranks", t->n_ranks, t->n_expected);
    fprintf(stderr, "noiselab-profile: %s in '%s'", ranks, p->folder);
    if (t->n_unfinished) fprintf(stderr, "; %d did not come to MPI_Finalize", t->n_unfinished);
    fprintf(stderr, "\nnoiselab analyze profile %s\n", p->folder);
}

static int run(struct profile *p) {
    char why[1024];
    struct nf_tables tables;
    if (find_library(p) || open_launch(p) || write_json(p, NULL, 0)) {
        take_back(p);
        return NL_EXIT_USAGE;
    }
    const struct nf_command command = {.words = p->words, .library = p->library, .folder = p->folder};
    int status = nf_command_run(&command);
    int found = status < 0 ? -1 : finish(p, &tables, status);
    if (found == 0) say_where(p, &tables);
    if (found == 1) {
        nf_command_explain(&command, why, sizeof why);
        nl_error("no profile: %s", why);
    }
    nf_command_tidy(&command);
    if (status < 0 || found == 1) take_back(p);
    if (status < 0) return NL_EXIT_USAGE;
    return status ? status : found ? NL_EXIT_USAGE : NL_EXIT_OK;
}

/* A run that is over, or still goes on. */
static int make_tables(struct profile *p) {
    struct nf_tables tables;
    if (!realpath(p->tables, p->folder)) {
        nl_error("--tables: '%s': %s", p->tables, strerror(errno));
        return NL_EXIT_USAGE;
    }
    const char *slash = strrchr(p->folder, '/');
    snprintf(p->launch, sizeof p->launch, "%.120s", slash ? slash + 1 : p->folder);
    p->started = time(NULL);
    int found = finish(p, &tables, 0);
    if (found == 0) say_where(p, &tables);
    if (found == 1) nl_error("--tables: no rank of a profiled program in '%s'", p->folder);
    return found ? NL_EXIT_USAGE : NL_EXIT_OK;
}

int main(int argc, char **argv) {
    static struct profile p = {.out = "profile"};
    nl_set_program("noiselab-profile");
    int go_on = parse(&p, argc, argv);
    if (go_on <= 0) return go_on < 0 ? NL_EXIT_USAGE : NL_EXIT_OK;
    return p.tables ? make_tables(&p) : run(&p);
}
