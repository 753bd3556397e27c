/* noiselab-profile: runs a program with the profile loaded, and makes tables of what its ranks wrote. */
#include <elf.h>
#include <jansson.h>

#include "common/base/nl_json.h"
#include "common/base/nl_options.h"
#include "common/base/version.h"
#include "common/sys/nl_launch.h"
#include "common/sys/nl_stat.h"
#include "common/sys/nl_whole.h"
#include "detector/profile/tables.h"
#include "detector/profile/profile_file.h"
#include "common/sys/nl_spawn.h"

enum { ADDED_WORDS = 8 };
#define VERSION_NS INT64_C(60000000000)  /* for the answer to --version */
#define ANSWER_NS  INT64_C(300000000000) /* for the analysis of one run */

struct profile {
    struct nl_command_line line;
    const char *out, *tables, *launch_id;
    char **words;                       /* of the command, the last one NULL; NULL: none */
    char folder[PATH_MAX], launch[128]; /* of the run, absolute; its id */
    char library[PATH_MAX + 64];        /* libnoiselab-profile.so */
    int made_out, made_folder;          /* 1: they were not there */
    int no_answer;
    time_t started;
};

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* How a launcher hands variables on to its ranks; all others hand on their own environment, as srun does. */
enum launcher { OTHER, OPEN_MPI, HYDRA };

/* The first lines that `word --version` prints. */
static void version_of(char *word, char *text, size_t size) {
    char option[] = "--version", *const words[] = {word, option, NULL};
    int ends[2];
    pid_t child;
    text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC)) return;
    int failed = nl_spawn(words, ends[1], -1, &child);
    close(ends[1]);
    nl_read_fd(ends[0], text, size, VERSION_NS);
    close(ends[0]);
    if (!failed) waitpid(child, NULL, 0);
}

static enum launcher launcher_of(char *word) {
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};
    char text[1024];
    int is_named = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_named |= !strncmp(last_part(word), names[i], strlen(names[i]));
    if (!is_named) return OTHER;
    version_of(word, text, sizeof text);
    if (strstr(text, "Open MPI") || strstr(text, "OpenRTE") || strstr(text, "PRRTE") || strstr(text, "prte"))
        return OPEN_MPI;
    return strstr(text, "HYDRA") || strstr(text, "MPICH") || strstr(text, "Intel") ? HYDRA : OTHER;
}

/* "NAME=VALUE"; a library that the user loads already stays. */
static char *preload(const struct profile *c) {
    const char *before = getenv("LD_PRELOAD");
    char *text = NULL;
    return asprintf(&text, "LD_PRELOAD=%s%s%s", c->library, before && *before ? ":" : "",
                    before ? before : "") < 0
               ? NULL
               : text;
}

/* The words with those added that carry two variables to the ranks; where the launcher has no words for it
 * they are set here. */
static char **words_for(const struct profile *c) {
    int n = 0;
    while (c->words[n])
        n++;
    char **words = calloc((size_t)n + ADDED_WORDS, sizeof *words), *variables[] = {preload(c), NULL};
    if (!words || !variables[0] || asprintf(&variables[1], "%s=%s", NF_ENVIRONMENT, c->folder) < 0)
        return NULL;
    enum launcher launcher = launcher_of(c->words[0]);
    int k = 0;
    words[k++] = c->words[0];
    for (int i = 0; i < 2; i++) {
        static char open_mpi[] = "-x", hydra[] = "-genv";
        char *value = strchr(variables[i], '=') + 1;
        if (launcher != OPEN_MPI) value[-1] = '\0';
        if (launcher == OTHER) setenv(variables[i], value, 1);
        if (launcher != OTHER) words[k++] = launcher == HYDRA ? hydra : open_mpi;
        if (launcher != OTHER) words[k++] = variables[i];
        if (launcher == HYDRA) words[k++] = value;
    }
    for (int i = 1; i < n; i++)
        words[k++] = c->words[i];
    return words;
}

static volatile sig_atomic_t child_of_signals;

static void hand_on(int signal_number) {
    if (child_of_signals > 0) kill((pid_t)child_of_signals, signal_number);
}

/* Runs it to its end; signals are handed on to it, and it ends with this process. Its status, as a shell has
 * it; -1 where it could not be started (said in a line). */
static int nf_command_run(const struct profile *c) {
    const struct sigaction on = {.sa_handler = hand_on, .sa_flags = SA_RESTART},
                           ignore = {.sa_handler = SIG_IGN};
    pid_t owner = getpid();
    char **words = words_for(c);
    int status, said[2], error = 0;
    if (!words || pipe2(said, O_CLOEXEC))
        return nl_error("cannot start '%s': %s", c->words[0], strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        /* whatever ends this process, the program ends, too */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != owner) _exit(2);
        execvp(words[0], words);
        error = errno;
        _exit(write(said[1], &error, sizeof error) > 0 ? 127 : 126);
    }
    child_of_signals = child;
    /* a Ctrl-C reaches the program by itself */
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGTERM, &on, NULL);
    sigaction(SIGHUP, &on, NULL);
    close(said[1]);
    if (read(said[0], &error, sizeof error) < 0) error = 0;
    close(said[0]);
    while (child < 0 || waitpid(child, &status, 0) < 0)
        if (child < 0 || errno != EINTR) return -1;
    child_of_signals = 0;
    free(words);
    if (error) return nl_error("cannot start '%s': %s", c->words[0], strerror(error));
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- why there is no profile ---- */

/* Whether it is a program that loads no libraries: an ELF file that may be executed and names no interpreter.
 */
static int is_static(const char *path) {
    Elf64_Ehdr header;
    Elf64_Phdr part;
    int found = 0, n = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    if (read(fd, &header, sizeof header) == (ssize_t)sizeof header &&
        !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
        (header.e_type == ET_EXEC || header.e_type == ET_DYN) && !access(path, X_OK)) {
        for (; n < header.e_phnum; n++) {
            if (pread(fd, &part, sizeof part, (off_t)(header.e_phoff + (uint64_t)n * sizeof part)) !=
                (ssize_t)sizeof part)
                break;
            found |= part.p_type == PT_INTERP;
        }
        found = n == header.e_phnum && n > 0 && !found;
    }
    close(fd);
    return found;
}

static const char *static_word(const struct profile *c) {
    for (char **word = c->words; *word; word++)
        if (strchr(*word, '/') && is_static(*word)) return *word;
    return NULL;
}

struct note {
    char word[32], program[257], detail[257];
};

static int read_note(const char *path, void *context) {
    struct note *note = context;
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    int n = fscanf(f, "%31[^\t]\t%256[^\t]\t%256[^\n]", note->word, note->program, note->detail);
    fclose(f);
    if (n != 3) note->word[0] = '\0';
    return n == 3;
}

/* Why there is no profile of any rank, in one line, from the notes of the processes and the words of the
 * command. */
static void nf_command_explain(const struct profile *c, char *line, int size) {
    static const struct {
        const char *word, *format;
    } rows[] = {
        /* of program and detail */
        {"other-library",
         "'%s' uses another MPI library (%s) than noiselab was built with: build noiselab with its mpicc"},
        {"lone", NULL}, /* the detail says it */
        {"static", "'%s' is a static binary, which loads no library: link it with libnoiselab-profile.so"},
        {"no-mpi", "'%s' is not an MPI program: it needs no MPI library, and had loaded none when it ended"},
        {"by-handle", "'%s' loaded the MPI library itself and looked its functions up there (dlopen and "
                      "dlsym, as Python's ctypes does), "
                      "past libnoiselab-profile.so: nothing could be counted; a module that is linked with "
                      "MPI, such as mpi4py, can be"},
        {"started",
         "'%s' began without an MPI library and was killed: whether it would have loaded one is not known"},
        {"loaded", "'%s' never called MPI_Init, or ended before it was done"},
    };
    enum { FIRST_GUESS = 2, N_ROWS = sizeof rows / sizeof *rows }; /* before it: what is known for sure */
    struct note note = {.word = ""};
    const char *word = static_word(c);
    int i = 0;
    nf_each_file(c->folder, "note", read_note, &note);
    while (i < N_ROWS && strcmp(rows[i].word, note.word) != 0)
        i++;
    if (i >= FIRST_GUESS && word)
        nl_say(line, (size_t)size, rows[FIRST_GUESS].format, word);
    else if (i < N_ROWS && !rows[i].format)
        nl_say(line, (size_t)size, "%s", note.detail);
    else if (i < N_ROWS)
        nl_say(line, (size_t)size, rows[i].format, note.program, note.detail);
    else
        nl_say(line, (size_t)size,
               "no rank loaded '%s': '%s' did not start one, or does not hand on LD_PRELOAD", c->library,
               c->words[0]);
}

/* ---- options ---- */

#define AT(type, member) NL_AT(type, struct profile, member)

static const struct nl_option rows[] = {
    {"out", "DIR", "the campaign: each run becomes a folder in it (default profile)", 1, AT(TEXT, out),
     .wanted = "a directory"},
    {"tables", "DIR",
     "no program: make the tables of a run whose noiselab profile was killed, or that was linked with the "
     "library",
     1, AT(TEXT, tables), .wanted = "the directory of a launch"},
    {"launch-id", "ID", "name of the run's folder (default: time, host and process number)", 1,
     AT(NAME, launch_id), .most = 119},
    {"no-answer", NULL, "do not print what the profile says when the program has ended", 1,
     AT(FLAG, no_answer)},
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
        .doc = "Runs an MPI program, unchanged, and notes where its ranks spend their time and who waits for "
               "whom: calls and times of "
               "every operation, "
               "and at synchronising ones who arrived last, and why. noiselab analyze profile DIR says what "
               "it found."
               "\vIts exit status is the command's own; 2: it could not be started, or succeeded and no rank "
               "was profiled.\n\n"
               "Example: noiselab profile --out melt -- mpirun -n 2 lmp -in in.melt"};
    if (nl_options_parse(&p->line, argc, argv, &first)) return -1;
    if (p->line.is_done) return 0;
    p->words = first < argc ? argv + first : NULL;
    if (!p->words == !p->tables)
        return nl_error(p->words ? "--tables: no command with it"
                                 : "which program? (try noiselab profile --out DIR -- mpirun -n 2 ./app)");
    return 1;
}

/* ---- folder and launch.json ---- */

static int make_folder(const char *path, int *is_new) {
    *is_new = !mkdir(path, 0777);
    if (*is_new || errno == EEXIST) return 0;
    return nl_error("--out: cannot make '%s': %s", path, strerror(errno));
}

static void stamp(char *text, size_t size, time_t at) {
    struct tm utc;
    strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &utc));
}

/* The launch's folder, new. 0 or -1. */
static int open_launch(struct profile *p) {
    char place[PATH_MAX];
    p->started = time(NULL);
    nl_launch_id(p->launch_id, p->launch, sizeof p->launch);
    if (make_folder(p->out, &p->made_out) || !realpath(p->out, place)) return -1;
    if (snprintf(p->folder, sizeof p->folder, "%s/%s", place, p->launch) >= (int)sizeof p->folder) return -1;
    if (make_folder(p->folder, &p->made_folder)) return -1;
    if (p->made_folder) return 0;
    return nl_error("--launch-id: '%s' exists; a run never writes over another one", p->folder);
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

static json_t *words_json(char **words) {
    json_t *array = json_array();
    for (; words && *words; words++)
        json_array_append_new(array, nl_json_text(*words));
    return array;
}

/* `t` NULL: the program has yet to run. 0 or -1. */
static int write_json(const struct profile *p, const struct nf_tables *t, int status) {
    char path[PATH_MAX + 16], started[32], now[32];
    stamp(started, sizeof started, p->started);
    stamp(now, sizeof now, time(NULL));
    json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:{s:s?}, s:s, s:s?}", "schema", NOISELAB_SCHEMA,
                             "program", "noiselab-profile", "version", NOISELAB_VERSION, "git", nl_git,
                             "launch", p->launch, "command", words_json(p->words), "options", "out",
                             p->tables ? NULL : p->out, "started_utc", started, "ended_utc", t ? now : NULL);
    if (t) {
        nl_json_set(json, "ranks", json_integer(t->n_expected), "nodes", json_integer(t->n_nodes),
                    "ranks_profiled", json_integer(t->n_ranks), "ranks_unfinished",
                    json_integer(t->n_unfinished), "mpi",
                    json_pack("{s:o}", "version", nl_json_text(t->library)), "profiled_program",
                    nl_json_text(t->program), "status", p->words ? json_integer(status) : json_null(), NULL);
    }
    json_object_set_new(
        json, "ended",
        t ? json_string(t->n_unfinished || t->n_ranks < t->n_expected ? "interrupted" : "complete")
          : json_null());
    snprintf(path, sizeof path, "%s/launch.json", p->folder);
    int failed = nl_launch_write(path, json);
    json_decref(json);
    if (failed) nl_error("'%s' cannot be written: %s", path, strerror(errno));
    return failed;
}

/* ---- what is done ---- */

/* Beside this program, as it is built and as it is installed. 0 or -1. */
static int find_library(struct profile *p) {
    char self[PATH_MAX];
    char *slash = strrchr(nl_own_folder(self), '/');
    if (slash) *slash = '\0';
    snprintf(p->library, sizeof p->library, "%s/lib/noiselab/libnoiselab-profile.so", self);
    /* LD_PRELOAD is divided at blanks and colons */
    if (strpbrk(p->library, " :"))
        return nl_error("'%s': the dynamic linker takes no path with a blank or a colon", p->library);
    if (!access(p->library, R_OK)) return 0;
    return nl_error("there is no '%s': run make, or make install, again", p->library);
}

/* Tables, launch.json, and what is left over. 0, 1: there are no ranks, -1. */
static int finish(const struct profile *p, struct nf_tables *t, int status) {
    *t = (struct nf_tables){.folder = p->folder, .launch = p->launch};
    if (nf_tables_write(t) || write_json(p, t, status)) return -1;
    if (t->n_ranks) nf_tidy(t->folder, "profile");
    return t->n_ranks ? 0 : 1;
}

static void say_where(const struct profile *p, const struct nf_tables *t) {
    char ranks[64];
    snprintf(ranks, sizeof ranks, t->n_ranks < t->n_expected ? "%d of %d ranks" : "%d ranks", t->n_ranks,
             t->n_expected);
    fprintf(stderr, "noiselab-profile: %s in '%s'", ranks, p->folder);
    if (t->n_unfinished) fprintf(stderr, "; %d did not come to MPI_Finalize", t->n_unfinished);
    fprintf(stderr, "\nnoiselab analyze profile %s\n", p->folder);
}

/* What the profile says, on stderr: stdout is the program's. Where R is missing, the line that asks for it
 * stands there already. */
static void say_answer(const struct profile *p) {
    char program[PATH_MAX + 32], folder[PATH_MAX], word[] = "profile", text[16384];
    char *const words[] = {program, word, folder, NULL};
    int ends[2], status;
    pid_t child;
    snprintf(program, sizeof program, "%s/noiselab-analyze", nl_own_folder(folder));
    snprintf(folder, sizeof folder, "%s", p->folder);
    if (access(program, X_OK) || pipe2(ends, O_CLOEXEC)) return;
    int failed = nl_spawn(words, ends[1], -1, &child);
    close(ends[1]);
    nl_read_fd(ends[0], text, sizeof text, ANSWER_NS);
    close(ends[0]);
    if (failed || waitpid(child, &status, 0) < 0) return;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) fprintf(stderr, "\n%s", text);
}

static int run(struct profile *p) {
    char why[1024];
    struct nf_tables tables;
    if (find_library(p) || open_launch(p) || write_json(p, NULL, 0)) {
        take_back(p);
        return NL_EXIT_USAGE;
    }
    int status = nf_command_run(p);
    int found = status < 0 ? -1 : finish(p, &tables, status);
    if (found == 0) say_where(p, &tables);
    if (found == 0 && !p->no_answer) say_answer(p);
    if (found == 1) {
        nf_command_explain(p, why, sizeof why);
        nl_error("no profile: %s", why);
    }
    nf_tidy(p->folder, "note");
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
    snprintf(p->launch, sizeof p->launch, "%.120s", last_part(p->folder));
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
