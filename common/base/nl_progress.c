#include "common/base/nl_progress.h"

#include <sys/ioctl.h>

#define REDRAW_NS  INT64_C(2000000000)
#define LINE_NS    INT64_C(10000000000)
#define LONGEST_NS INT64_C(60000000000)
static const double line_share = 0.1;
enum { LEAST_WIDTH = 20, USUAL_WIDTH = 79, LINE_WIDTH = 240 };

const char *const nl_progress_names[] = {[NL_PROGRESS_AUTO] = "auto",
                                         [NL_PROGRESS_TERMINAL] = "terminal",
                                         [NL_PROGRESS_LINES] = "lines",
                                         [NL_PROGRESS_OFF] = "off",
                                         NULL};

void nl_progress_open(struct nl_progress *p, enum nl_progress_form form) {
    struct winsize window;
    int is_terminal = isatty(STDERR_FILENO);
    *p = (struct nl_progress){.shows = form != NL_PROGRESS_OFF,
                              .redraws =
                                  form == NL_PROGRESS_TERMINAL || (form == NL_PROGRESS_AUTO && is_terminal),
                              .width = LINE_WIDTH};
    if (!p->redraws) return;
    const char *columns = getenv("COLUMNS");
    int width = is_terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col
                : columns                                                     ? atoi(columns)
                                                                              : 0;
    p->width = width > LEAST_WIDTH ? width - 1 : USUAL_WIDTH;
}

void nl_progress_begin(struct nl_progress *p, int64_t now_ns) {
    p->begin_ns = p->last_ns = now_ns;
    p->last_share = 0;
}

int nl_progress_is_due(const struct nl_progress *p, int64_t now_ns, double share) {
    if (!p->shows) return 0;
    if (p->redraws) return now_ns - p->last_ns >= REDRAW_NS;
    int64_t passed_ns = now_ns - p->last_ns;
    return passed_ns >= LONGEST_NS || (passed_ns >= LINE_NS && share >= p->last_share + line_share);
}

int64_t nl_progress_next_ns(const struct nl_progress *p) {
    return !p->shows ? INT64_MAX : p->last_ns + (p->redraws ? REDRAW_NS : LONGEST_NS);
}

int nl_progress_tell(const struct nl_progress *p, int64_t now_ns, double share, const char *at_most,
                     char *text, size_t size) {
    double left_s = share > 0 ? (double)(now_ns - p->begin_ns) * 1e-9 * (1 - share) / share : 0;
    if (left_s < 120) return snprintf(text, size, "%.0f %%, %s%.0f s left", 100 * share, at_most, left_s);
    if (left_s < 7200)
        return snprintf(text, size, "%.0f %%, %s%.0f min left", 100 * share, at_most, left_s / 60);
    return snprintf(text, size, "%.0f %%, %s%.0f h %02.0f min left", 100 * share, at_most,
                    (double)(int)(left_s / 3600), (double)((int)left_s % 3600 / 60));
}

void nl_progress_show(struct nl_progress *p, int64_t now_ns, double share, const char *program,
                      const char *text) {
    int room = p->width - (int)strlen(program) - 2;
    fprintf(stderr, p->redraws ? "\r\033[K%s: %.*s" : "%s: %.*s\n", program, room > 0 ? room : 0, text);
    nl_set_open_line(p->redraws);
    p->last_ns = now_ns;
    p->last_share = share;
}

void nl_progress_close(struct nl_progress *p) {
    if (p->redraws && nl_has_open_line()) fputc('\n', stderr);
    nl_set_open_line(0);
}
