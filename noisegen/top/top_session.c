#include "noisegen/top/top_session.h"
#include "common/base/nl_units.h"
#include "common/sys/nl_whole.h"
#include "noisegen/top/print.h"
#include "noisegen/top/screen.h"
#include "noisegen/top/metrics.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
    MOST_FDS = 4096,
    DEFAULT_ROWS = 20,
    METRICS_ROWS = 256,
    NICE = 19,
    KEPT_BYTES = 16 << 20,
    FIRST_VISITS = 4000,
    VISITS = 1500,
    ONCE_VISITS = 300000
};

#define SCREEN_NS 300000 /* what opening one takes */

static volatile sig_atomic_t is_ended; /* the stop flag */

static void end(int signal) {
    (void)signal;
    is_ended = 1;
}

struct session {
    const struct nt_options *o;
    struct nt_watch *watch;
    struct nt_screen *screen; /* NULL: lines */
    const struct nt_sample *sample;
    enum nt_sort sort;
    int n_samples;
    struct pollfd fds[MOST_FDS];
};

static int is_metrics_only(const struct session *s) {
    return s->o->metrics && !s->o->is_batch && !s->o->is_once && !s->o->is_json;
}

static int n_rows(const struct session *s) {
    if (s->o->n_rows >= 0) return s->o->n_rows;
    if (is_metrics_only(s)) return METRICS_ROWS; /* so that names are complete */
    return s->screen ? nt_screen_rows(s->screen, s->sample ? s->sample->n_cpus : 1) : DEFAULT_ROWS;
}

/* Sleeps until then, but for keys and full rings. */
static int sleep_until(struct session *s, int64_t until_ns) {
    int first = s->screen != NULL;
    if (first) s->fds[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    int n = first + nt_watch_fds(s->watch, s->fds + first, MOST_FDS - first);
    while (!is_ended) {
        int64_t left_ns = until_ns - nl_mono_ns();
        if (left_ns <= 0) return 0;
        const struct timespec left = nl_timespec(left_ns);
        nt_sleep_begins(s->watch);
        int n_ready = ppoll(s->fds, (nfds_t)n, &left, NULL), error = errno;
        nt_sleep_ends(s->watch);
        if (n_ready < 0 && error != EINTR) return nl_error("poll: %s", strerror(error));
        if (n_ready == 0) return 0;
        if (s->screen && (n_ready < 0 || s->fds[0].revents)) {
            char cpus[256], why[320];
            enum nt_screen_wish wish = nt_screen_keys(s->screen, cpus, sizeof cpus);
            int list[NT_MOST_CPUS], n_list = 0;
            /* a terminal that is gone can be read for ever: nothing comes */
            if (wish == NT_QUIT || s->fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) is_ended = 1;
            if (wish == NT_NEXT_SORT) s->sort = (s->sort + 1) % NT_N_SORTS;
            if (wish == NT_OTHER_CPUS) {
                n_list = cpus[0] ? nl_parse_list(cpus, 0, NT_MOST_CPUS - 1, 1, list, NT_MOST_CPUS) : 0;
                if (n_list < 0 || nt_watch_cpus(s->watch, list, n_list)) {
                    snprintf(why, sizeof why, "'%s' is not a list of CPUs that are here (try 0-3,8)", cpus);
                    nt_screen_say(s->screen, why);
                }
            }
            if (!is_ended) nt_screen_draw(s->screen, NULL, s->watch, s->sort);
        }
        for (int i = first; n_ready > 0 && i < n; i++)
            if (s->fds[i].revents) {
                nt_watch_drain(s->watch);
                break;
            }
    }
    return 0;
}

/* Hands the sample to who wants it. @return 0, -1 after a message. */
static int print(struct session *s) {
    const struct nt_options *o = s->o;
    if (o->metrics && nt_write_metrics(o->metrics, s->sample, s->watch))
        return nl_error("--openmetrics: cannot write '%s': %s", o->metrics, strerror(errno));
    if (s->screen)
        nt_screen_draw(s->screen, s->sample, s->watch, s->sort);
    else if (o->is_json           ? nt_print_json(stdout, s->sample, s->watch)
             : is_metrics_only(s) ? 0
                                  : nt_print_batch(stdout, s->sample, s->watch))
        return nl_error("cannot write: %s",
                        errno == EPIPE ? "nobody reads the output any more" : strerror(errno));
    return 0;
}

static int run(struct session *s) {
    const struct nt_options *o = s->o;
    int64_t begin_ns = nl_mono_ns(), next_ns = begin_ns;
    nt_watch_begin(s->watch);
    while (!is_ended) {
        next_ns += o->interval_ns;
        if (next_ns < nl_mono_ns()) next_ns = nl_mono_ns() + o->interval_ns; /* the machine was asleep */
        if (sleep_until(s, next_ns)) return NL_EXIT_USAGE;
        if (is_ended) break;
        int is_last =
            o->is_once ||
            (o->duration_ns > 0 && next_ns + o->interval_ns > begin_ns + o->duration_ns + o->interval_ns / 2);
        s->sample = nt_watch_sample(s->watch, &(struct nt_wish){.sort = s->sort,
                                                                .n_rows = n_rows(s),
                                                                .n_visits = o->is_once          ? ONCE_VISITS
                                                                            : s->n_samples == 0 ? FIRST_VISITS
                                                                                                : VISITS,
                                                                .is_brief = is_metrics_only(s)});
        s->n_samples++;
        if (print(s)) return NL_EXIT_USAGE;
        if (is_last) break;
    }
    return NL_EXIT_OK;
}

/* A full screen where somebody looks at one; else lines, with the reason where that is not plain. @return 0,
 * -1 after a message. */
static int choose_printer(struct session *s) {
    const struct nt_options *o = s->o;
    char why[256];
    if (o->is_once || o->is_batch || o->is_json || o->metrics || !isatty(STDOUT_FILENO) ||
        !isatty(STDIN_FILENO))
        return 0;
    s->screen = nt_screen_open(why, sizeof why);
    if (!s->screen) fprintf(stderr, "noiselab-top: %s: prints lines, as with --batch\n", why);
    return 0;
}

/* Before anything is watched. @return 0, -1 after a message. */
static int try_metrics(const char *path) {
    struct nl_whole file;
    struct stat status;
    if (!path) return 0;
    if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return nl_error("--openmetrics: '%s' is not a regular file", path);
    if (nl_whole_open(&file, path, 0644))
        return nl_error("--openmetrics: cannot write '%s': %s", path, strerror(errno));
    nl_whole_close(&file, 1);
    return 0;
}

int nt_session(const struct nt_options *o) {
    static struct session session;
    struct session *s = &session;
    *s = (struct session){.o = o, .sort = o->sort};
    const struct nt_config config = {.source = o->source,
                                     .cpus = o->cpus,
                                     .n_cpus = o->n_cpus,
                                     .pids = o->pids,
                                     .n_pids = o->n_pids,
                                     .command = o->command,
                                     .n_nodes = o->n_nodes,
                                     .every_ns = o->every_ns,
                                     .forgets_bursts = is_metrics_only(s)};
    const struct sigaction stop = {.sa_handler = end};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGHUP, &stop, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (try_metrics(o->metrics)) return NL_EXIT_USAGE;
    setpriority(PRIO_PROCESS, 0, NICE); /* who is watched goes first */
#ifdef __GLIBC__
    /* what is freed is wanted again at the next sample: the kernel would clear each page of it anew */
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
#endif
    if (nt_watch_open(&s->watch, &config)) return NL_EXIT_USAGE;
    nt_breathe_before(s->watch, SCREEN_NS);
    choose_printer(s);
    nt_breathe(s->watch);
    int status = run(s);
    if (s->screen) nt_screen_close(s->screen);
    nt_watch_close(s->watch);
    /* a file that nobody renews would be taken for the present state */
    if (o->metrics && s->n_samples > 0 && !o->is_once) unlink(o->metrics);
    return status;
}
