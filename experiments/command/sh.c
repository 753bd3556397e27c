/* noiselab-sh: what the scripts of noiselab leave to C: reading JSON, finding the word that was meant, and processes that end with their
 * script. Not a command for people; scripts find it beside themselves. */
#include "experiments/command/doctor.h"
#include "experiments/command/launched.h"
#include "common/base/nl_error.h"
#include "common/base/nl_hostlist.h"
#include "common/base/nl_nearest.h"
#include "common/base/nl_secret.h"
#include "experiments/command/values.h"

enum { EXIT_NOT_OURS = 70 }; /* a file of noiselab's that is not as it says: a bug, or two versions side by side */

static const char usage[] =
    "values [--with-names] [--pass-damaged] FILE... -- PATH... | nearest WORD < WORDS | owned PID LAUNCH COMMAND... | "
    "end LAUNCH [PID] | redact < LINES | nodes LIST | job-nodes | "
    "each-node RANKS NODES MPIRUN [OPTIONS] -- PROGRAM...";

/* The values of one file, "-": stdin. A status. */
static int values_of(const char *file, const char *const *paths, int n, int with_names, int passes_damaged) {
    char reason[512], before[1024] = "";
    json_error_t error;
    json_t *json = strcmp(file, "-") == 0 ? json_loadf(stdin, 0, &error) : json_load_file(file, 0, &error);
    if (with_names && snprintf(before, sizeof before, "%s\t", file) >= (int)sizeof before) before[0] = '\0';
    if (!json) {
        if (passes_damaged) return NL_EXIT_OK;
        nl_error("%s: line %d: %s", file, error.line, error.text);
        return EXIT_NOT_OURS;
    }
    int failed = nc_values_write(stdout, json, paths, n, before, reason, sizeof reason);
    json_decref(json);
    if (failed) nl_error("%s: %s: is it of another version of noiselab?", strcmp(file, "-") == 0 ? "what a program printed" : file, reason);
    return failed ? EXIT_NOT_OURS : NL_EXIT_OK;
}

static int values(char **words) {
    int with_names = 0, passes_damaged = 0, n_files = 0, n = 0, status = NL_EXIT_OK;
    for (; *words && strncmp(*words, "--", 2) == 0 && (*words)[2]; words++) {
        with_names |= strcmp(*words, "--with-names") == 0;
        passes_damaged |= strcmp(*words, "--pass-damaged") == 0;
    }
    while (words[n_files] && strcmp(words[n_files], "--") != 0) n_files++;
    const char *const *paths = (const char *const *)words + n_files + 1;
    while (words[n_files] && paths[n]) n++;
    if (n_files == 0 || n == 0) {
        nl_error("usage: noiselab-sh %s", usage);
        return NL_EXIT_USAGE;
    }
    for (int i = 0; i < n_files && status == NL_EXIT_OK; i++) status = values_of(words[i], paths, n, with_names, passes_damaged);
    if (fflush(stdout) == 0) return status;
    nl_error("cannot write: %s", strerror(errno));
    return NL_EXIT_USAGE;
}

/* The words are lines of stdin; the nearest one is printed. Status 1: none is near. */
static int nearest(const char *word) {
    static char best[256];
    char *line = NULL;
    size_t size = 0;
    struct nl_nearest n;
    nl_nearest_begin(&n, word);
    while (getline(&line, &size, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        nl_nearest_offer(&n, line);
        if (n.best != line) continue;
        snprintf(best, sizeof best, "%s", line);
        n.best = best;
    }
    free(line);
    if (!n.best) return NL_EXIT_FAIL;
    puts(best);
    return NL_EXIT_OK;
}

/* Becomes Open MPI's mpirun with a context of so many ranks for each of the nodes, which are divided by commas. */
static int each_node(const char *ranks, char *nodes, char **words) {
    int n_options = 0, n_program = 0, n = 0, n_nodes = 1;
    while (words[n_options] && strcmp(words[n_options], "--") != 0) n_options++;
    char **program = words[n_options] ? words + n_options + 1 : words + n_options;
    while (program[n_program]) n_program++;
    for (const char *c = nodes; *c; c++) n_nodes += *c == ',';
    char **all = calloc((size_t)n_options + (size_t)n_nodes * (size_t)(n_program + 5) + 1, sizeof *all);
    if (!all || n_program == 0) {
        nl_error("each-node: %s", all ? "no program" : "not enough memory");
        return NL_EXIT_USAGE;
    }
    for (int i = 0; i < n_options; i++) all[n++] = words[i];
    for (char *node = strtok(nodes, ","); node; node = strtok(NULL, ",")) {
        char *host;
        if (asprintf(&host, "%s:%s", node, ranks) < 0) return NL_EXIT_USAGE;
        if (node != nodes) all[n++] = ":";
        char *const head[] = {"-n", (char *)ranks, "--host", host};
        for (int i = 0; i < 4; i++) all[n++] = head[i];
        for (int i = 0; i < n_program; i++) all[n++] = program[i];
    }
    execvp(all[0], all);
    nl_error("cannot run '%s': %s", all[0], strerror(errno));
    return NL_EXIT_USAGE;
}

/* Whether `scontrol` reads the list of the job as it was read here; where it is missing, or cannot be asked, nothing speaks against it. */
static int check_by_scontrol(const char *text, const struct nl_hostlist *list) {
    enum { SECONDS = 3, BYTES = 1 << 23 };
    char *said = malloc(BYTES), *save = NULL;
    int i = 0, differs = 0;
    if (!said) return 0;
    if (nc_run((const char *const[]){"scontrol", "show", "hostnames", text, NULL}, SECONDS, said, BYTES, NULL, 0)) said[0] = '\0';
    for (char *line = strtok_r(said, "\n", &save); line && !differs; line = strtok_r(NULL, "\n", &save), i++)
        differs = i == list->n || strcmp(line, list->names[i]) != 0;
    if (i && (differs || i != list->n)) nl_error("SLURM_JOB_NODELIST: scontrol makes other nodes of '%.200s'", text);
    free(said);
    return i && (differs || i != list->n) ? -1 : 0;
}

/* The nodes of a list, one on a line; NULL: of this job. */
static int nodes(const char *text) {
    struct nl_hostlist list;
    char reason[256];
    const char *of_job = text ? NULL : getenv("SLURM_JOB_NODELIST");
    if (!text && (!of_job || !*of_job)) {
        nl_error("SLURM_JOB_NODELIST is not set: its nodes are not known");
        return NL_EXIT_USAGE;
    }
    if (nl_hostlist_read(text ? text : of_job, NL_HOSTLIST_MOST, &list, reason, sizeof reason)) {
        nl_error("%s%s", text ? "" : "SLURM_JOB_NODELIST: ", reason);
        return NL_EXIT_USAGE;
    }
    int failed = of_job && check_by_scontrol(of_job, &list);
    for (int i = 0; i < list.n && !failed; i++) puts(list.names[i]);
    nl_hostlist_free(&list);
    return failed || fflush(stdout) ? NL_EXIT_USAGE : NL_EXIT_OK;
}

/* The lines of stdin with the secrets of their fields, which tabs divide, replaced. Status 1: there were some. */
static int redact(void) {
    char *line = NULL, *out = NULL;
    size_t size = 0;
    int found = 0;
    while (getline(&line, &size, stdin) > 0) {
        char *larger = realloc(out, 4 * size + sizeof NL_SECRET_MARK), *end = NULL;
        if (!larger) break;
        out = larger;
        line[strcspn(line, "\n")] = '\0';
        const char *before = NULL;
        for (char *field = line; field; field = end) {
            end = strchr(field, '\t');
            if (end) *end++ = '\0';
            found |= nl_secret_redact(field, before, out, 4 * size);
            printf("%s%s", out, end ? "\t" : "\n");
            before = field;
        }
    }
    int failed = ferror(stdin) || !feof(stdin) || fflush(stdout);
    free(line);
    free(out);
    if (failed) nl_error("redact: cannot read or write");
    return failed ? NL_EXIT_USAGE : found ? NL_EXIT_FAIL : NL_EXIT_OK;
}

int main(int argc, char **argv) {
    nl_set_program("noiselab-sh");
    if (argc > 2 && strcmp(argv[1], "values") == 0) return values(argv + 2);
    if (argc == 3 && strcmp(argv[1], "nearest") == 0) return nearest(argv[2]);
    if (argc > 6 && strcmp(argv[1], "each-node") == 0) return each_node(argv[2], argv[3], argv + 4);
    if (argc == 2 && strcmp(argv[1], "redact") == 0) return redact();
    if (argc == 3 && strcmp(argv[1], "nodes") == 0) return nodes(argv[2]);
    if (argc == 2 && strcmp(argv[1], "job-nodes") == 0) return nodes(NULL);
    if (argc > 4 && strcmp(argv[1], "owned") == 0) return nc_launched_become((pid_t)atoi(argv[2]), argv[3], argv + 4);
    if (argc > 2 && strcmp(argv[1], "end") == 0) return nc_launched_end(argv[2], argc > 3 ? (pid_t)atoi(argv[3]) : 0);
    nl_error("usage: noiselab-sh %s", usage);
    return NL_EXIT_USAGE;
}
