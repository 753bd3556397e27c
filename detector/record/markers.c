#include "detector/record/markers.h"
#include "detector/record/record.h"

#include <dlfcn.h>

#include "common/sys/nl_whole.h"

const char *nd_markers_name(const struct nd_options *o, int region, char name[ND_REGION_BYTES]) {
    const struct nd_config *config = &o->configs[region / (o->n_arms + 1)];
    int arm = region % (o->n_arms + 1) - 1, n;
    struct nd_arm_words words;
    nd_arm_tell(o, arm, &words);
    n = snprintf(name, ND_REGION_BYTES, "%s", config->name);
    if (config->bytes) n += snprintf(name + n, ND_REGION_BYTES - (size_t)n, "_%" PRId64, config->bytes);
    n += snprintf(name + n, ND_REGION_BYTES - (size_t)n, ":%.128s", arm == ND_OFF ? "off" : words.kind);
    if (arm == ND_OFF || !words.has_level) return name;
    snprintf(name + n, ND_REGION_BYTES - (size_t)n, "_%.10g%s%.40s%s%.60s%s%s", words.level_percent,
             o->n_patterns > 1 ? "_" : "", o->n_patterns > 1 ? words.pattern : "", o->n_places > 1 ? "_" : "",
             o->n_places > 1 ? words.placement : "", o->n_phases > 1 ? "_" : "",
             o->n_phases > 1 ? words.phase : "");
    return name;
}

#ifdef NOISELAB_LIKWID

#include <likwid.h>

#define TRIAL_NS INT64_C(30000000000)
enum { PROBLEM_BYTES = 200 };

/* LIKWID's functions, by the prototypes of its header. */
struct functions {
    __typeof__(&likwid_markerInit) init;
    __typeof__(&likwid_markerThreadInit) init_thread;
    __typeof__(&likwid_markerRegisterRegion) add;
    __typeof__(&likwid_markerStartRegion) start;
    __typeof__(&likwid_markerStopRegion) stop;
    __typeof__(&likwid_markerClose) close;
};

struct nd_markers {
    struct functions likwid;
    int is_active, n_regions;
    char (*names)[ND_REGION_BYTES];
    char problem[PROBLEM_BYTES];
};

/* likwid-perfctr -m sets these four for the program it starts. */
static int is_asked(void) {
    return getenv("LIKWID_MODE") && getenv("LIKWID_FILEPATH") && getenv("LIKWID_EVENTS") &&
           getenv("LIKWID_THREADS");
}

static int load(struct nd_markers *m) {
    void *library = dlopen(NOISELAB_LIKWID, RTLD_NOW | RTLD_LOCAL);
    struct functions *f = &m->likwid;
    const struct {
        void **to;
        const char *name;
    } rows[] = {
        {(void **)&f->init, "likwid_markerInit"},
        {(void **)&f->init_thread, "likwid_markerThreadInit"},
        {(void **)&f->add, "likwid_markerRegisterRegion"},
        {(void **)&f->start, "likwid_markerStartRegion"},
        {(void **)&f->stop, "likwid_markerStopRegion"},
        {(void **)&f->close, "likwid_markerClose"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *rows[i].to = library ? dlsym(library, rows[i].name) : NULL;
        if (*rows[i].to) continue;
        const char *why = dlerror();
        return nl_say(m->problem, sizeof m->problem, "%s", why ? why : "its library lacks a function");
    }
    return 0;
}

/* Registers all regions; whether LIKWID took them. */
static int take_up(struct nd_markers *m) {
    m->likwid.init();
    m->likwid.init_thread();
    for (int i = 0; i < m->n_regions; i++)
        if (m->likwid.add(m->names[i]) != 0) return -1;
    return 0;
}

/* The child's part of the trial: LIKWID may print and exit. It writes no results, because it is not closed.
 */
static void try_in_child(struct nd_markers *m, int fd) {
    static const char good[] = "\n+";
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    int is_good = take_up(m) == 0 && m->likwid.start(m->names[0]) == 0 && m->likwid.stop(m->names[0]) == 0;
    fflush(NULL);
    if (is_good && write(fd, good, sizeof good - 1) < 0) _exit(1);
    _exit(0);
}

/* The last line that says something. */
static void keep_reason(struct nd_markers *m, char *text) {
    const char *line = "it cannot be used here";
    for (char *save = NULL, *next = strtok_r(text, "\n", &save); next; next = strtok_r(NULL, "\n", &save))
        line = next;
    snprintf(m->problem, sizeof m->problem, "%s", line);
}

/* Whether LIKWID would count here: 0; otherwise -1 and why. */
static int try_out(struct nd_markers *m) {
    char text[4096];
    int fds[2], status = 0;
    pid_t pid = pipe2(fds, O_CLOEXEC) ? -1 : fork();
    if (pid < 0)
        return nl_say(m->problem, sizeof m->problem, "it cannot be tried out: no process can be started");
    if (pid == 0) try_in_child(m, fds[1]);
    close(fds[1]);
    nl_read_fd(fds[0], text, sizeof text, TRIAL_NS);
    close(fds[0]);
    kill(pid, SIGKILL); /* where it hangs */
    waitpid(pid, &status, 0);
    const char *good = strrchr(text, '\n');
    if (good && strcmp(good, "\n+") == 0) return 0;
    keep_reason(m, text);
    return -1;
}

struct nd_markers *nd_markers_open(const struct nd_options *o) {
    if (!is_asked()) return NULL;
    struct nd_markers *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->n_regions = o->n_configs * (o->n_arms + 1);
    m->names = calloc((size_t)m->n_regions, sizeof *m->names);
    for (int i = 0; m->names && i < m->n_regions; i++)
        nd_markers_name(o, i, m->names[i]);
    if (!m->names) snprintf(m->problem, sizeof m->problem, "no memory for its regions");
    m->is_active = m->names && load(m) == 0 && try_out(m) == 0 && take_up(m) == 0;
    if (!m->is_active && !m->problem[0])
        snprintf(m->problem, sizeof m->problem, "it took its regions in a trial only");
    return m;
}

const char *nd_markers_problem(const struct nd_markers *m) { return m ? m->problem : ""; }

void nd_markers_start(struct nd_markers *m, int region) {
    if (m && m->is_active) m->likwid.start(m->names[region]);
}

void nd_markers_stop(struct nd_markers *m, int region) {
    if (m && m->is_active) m->likwid.stop(m->names[region]);
}

void nd_markers_close(struct nd_markers *m) {
    if (!m) return;
    if (m->is_active) m->likwid.close();
    NL_FREE(m->names, m);
}

#else

struct nd_markers *nd_markers_open(const struct nd_options *o) {
    (void)o;
    return NULL;
}
const char *nd_markers_problem(const struct nd_markers *m) {
    (void)m;
    return "";
}
void nd_markers_start(struct nd_markers *m, int region) { (void)m, (void)region; }
void nd_markers_stop(struct nd_markers *m, int region) { (void)m, (void)region; }
void nd_markers_close(struct nd_markers *m) { (void)m; }

#endif
