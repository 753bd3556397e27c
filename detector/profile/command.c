#include "detector/profile/command.h"

#include <elf.h>

#include "common/base/nl_error.h"
#include "detector/profile/profile_file.h"

enum { ADDED_WORDS = 8, PATH_BYTES = 4096 };

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* How a launcher hands variables on to its ranks; all others hand on their own environment, as srun does. */
enum launcher { OTHER, OPEN_MPI, HYDRA };

/* The first lines that `word --version` prints. */
static void version_of(const char *word, char *text, size_t size) {
    int ends[2];
    size_t n = 0;
    ssize_t got;
    text[0] = '\0';
    if (pipe(ends)) return;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execlp(word, word, "--version", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while (n < size - 1 && (got = read(ends[0], text + n, size - 1 - n)) > 0) n += (size_t)got;
    text[n] = '\0';
    close(ends[0]);
    if (child > 0) waitpid(child, NULL, 0);
}

static enum launcher launcher_of(const char *word) {
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};
    char text[1024];
    int is_named = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) is_named |= !strncmp(last_part(word), names[i], strlen(names[i]));
    if (!is_named) return OTHER;
    version_of(word, text, sizeof text);
    if (strstr(text, "Open MPI") || strstr(text, "OpenRTE") || strstr(text, "PRRTE") || strstr(text, "prte")) return OPEN_MPI;
    return strstr(text, "HYDRA") || strstr(text, "MPICH") || strstr(text, "Intel") ? HYDRA : OTHER;
}

/* "NAME=VALUE"; a library that the user loads already stays. */
static char *preload(const struct nf_command *c) {
    const char *before = getenv("LD_PRELOAD");
    char *text = NULL;
    return asprintf(&text, "LD_PRELOAD=%s%s%s", c->library, before && *before ? ":" : "", before ? before : "") < 0 ? NULL : text;
}

static char *environment(const struct nf_command *c) {
    char *text = NULL;
    return asprintf(&text, "%s=%s", NF_ENVIRONMENT, c->folder) < 0 ? NULL : text;
}

/* The words with those added that carry two variables to the ranks; where the launcher has no words for it they are set here. */
static char **words_for(const struct nf_command *c) {
    int n = 0;
    while (c->words[n]) n++;
    char **words = calloc((size_t)n + ADDED_WORDS, sizeof *words);
    char *variables[] = {preload(c), environment(c)};
    if (!words || !variables[0] || !variables[1]) return NULL;
    enum launcher launcher = launcher_of(c->words[0]);
    int k = 0;
    words[k++] = c->words[0];
    for (int i = 0; i < 2; i++) {
        if (launcher == OPEN_MPI) {
            words[k++] = "-x";
            words[k++] = variables[i];
        } else {
            char *value = strchr(variables[i], '=');
            *value++ = '\0';
            if (launcher == HYDRA) {
                words[k++] = "-genv";
                words[k++] = variables[i];
                words[k++] = value;
            } else {
                setenv(variables[i], value, 1);
            }
        }
    }
    for (int i = 1; i < n; i++) words[k++] = c->words[i];
    return words;
}

static volatile sig_atomic_t child_of_signals;

static void hand_on(int signal_number) {
    if (child_of_signals > 0) kill((pid_t)child_of_signals, signal_number);
}

int nf_command_run(const struct nf_command *c) {
    const struct sigaction on = {.sa_handler = hand_on, .sa_flags = SA_RESTART}, ignore = {.sa_handler = SIG_IGN};
    pid_t owner = getpid();
    char **words = words_for(c);
    int status, said[2], error = 0;
    if (!words || pipe2(said, O_CLOEXEC)) {
        nl_error("cannot start '%s': %s", c->words[0], strerror(errno));
        return -1;
    }
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
    if (error) {
        nl_error("cannot start '%s': %s", c->words[0], strerror(error));
        return -1;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- why there is no profile ---- */

/* Whether it is a program that loads no libraries: an ELF file that may be executed and names no interpreter. */
static int is_static(const char *path) {
    Elf64_Ehdr header;
    Elf64_Phdr part;
    int found = 0, n = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    if (read(fd, &header, sizeof header) == (ssize_t)sizeof header && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
        header.e_ident[EI_CLASS] == ELFCLASS64 && (header.e_type == ET_EXEC || header.e_type == ET_DYN) && !access(path, X_OK)) {
        for (; n < header.e_phnum; n++) {
            if (pread(fd, &part, sizeof part, (off_t)(header.e_phoff + (uint64_t)n * sizeof part)) != (ssize_t)sizeof part) break;
            found |= part.p_type == PT_INTERP;
        }
        found = n == header.e_phnum && n > 0 && !found;
    }
    close(fd);
    return found;
}

static const char *static_word(const struct nf_command *c) {
    for (char **word = c->words; *word; word++)
        if (strchr(*word, '/') && is_static(*word)) return *word;
    return NULL;
}

/* Calls `use` for the notes of the ranks, until it returns 1. */
static void each_note(const struct nf_command *c, int (*use)(const char *path, void *context), void *context) {
    char path[PATH_BYTES];
    DIR *folder = opendir(c->folder);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        size_t n = strlen(entry->d_name);
        if (strncmp(entry->d_name, "rank.", 5) || n < 6 || strcmp(entry->d_name + n - 5, ".note")) continue;
        if (snprintf(path, sizeof path, "%s/%s", c->folder, entry->d_name) < (int)sizeof path && use(path, context)) break;
    }
    if (folder) closedir(folder);
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

void nf_command_explain(const struct nf_command *c, char *line, int size) {
    struct note note = {.word = ""};
    const char *word = static_word(c);
    each_note(c, read_note, &note);
    if (!strcmp(note.word, "other-library"))
        snprintf(line, (size_t)size, "'%s' uses another MPI library (%s) than noiselab was built with: build noiselab with its mpicc",
                 note.program, note.detail);
    else if (!strcmp(note.word, "lone"))
        snprintf(line, (size_t)size, "%s", note.detail);
    else if (word)
        snprintf(line, (size_t)size, "'%s' is a static binary, which loads no library: link it with libnoiselab-profile.so", word);
    else if (!strcmp(note.word, "no-mpi"))
        snprintf(line, (size_t)size, "'%s' is not an MPI program: it needs no MPI library, and had loaded none when it ended",
                 note.program);
    else if (!strcmp(note.word, "by-handle"))
        snprintf(line, (size_t)size,
                 "'%s' loaded the MPI library itself and looked its functions up there (dlopen and dlsym, as Python's ctypes does), past "
                 "libnoiselab-profile.so: nothing could be counted; a module that is linked with MPI, such as mpi4py, can be",
                 note.program);
    else if (!strcmp(note.word, "started"))
        snprintf(line, (size_t)size, "'%s' began without an MPI library and was killed: whether it would have loaded one is not known",
                 note.program);
    else if (!strcmp(note.word, "loaded"))
        snprintf(line, (size_t)size, "'%s' never called MPI_Init, or ended before it was done", note.program);
    else
        snprintf(line, (size_t)size, "no rank loaded '%s': '%s' did not start one, or does not hand on LD_PRELOAD", c->library,
                 c->words[0]);
}

static int remove_note(const char *path, void *context) {
    (void)context;
    unlink(path);
    return 0;
}

void nf_command_tidy(const struct nf_command *c) { each_note(c, remove_note, NULL); }
