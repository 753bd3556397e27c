/* The full screen, by ncurses: no colours, only bold and reverse, so that it is the same on every terminal.
 * Built without ncurses there is none, which nt_has_screen says. */
#include "noisegen/top/screen.h"
#include "noisegen/top/print.h"
#include "noisegen/top/fields.h"
#include "noisegen/top/processes.h"

#ifdef NOISELAB_NCURSES

#include <curses.h>
#include <locale.h>
#include <sys/ioctl.h>

const int nt_has_screen = 1;

enum {
    LEAST_LINES = 8,
    LEAST_COLUMNS = 40,
    DETAIL_BINS = 12,
    MOST_CELLS = 512,    /* of a line that is written in one piece */
    CPU_SHARE = 3,       /* CPUs have at most a third of the lines */
    PORTION_CELLS = 1000 /* shown at once, some 50 us */
};

struct nt_screen {
    SCREEN *terminal;
    WINDOW *page; /* what is drawn, which is shown in portions; as large as the terminal */
    struct nt_watch *watch; /* who breathes while it is drawn */
    const struct nt_sample *sample; /* the one that is drawn; while it is paused a copy of the last one */
    struct nt_sample held;
    struct nt_cpu *held_cpus;
    int n_held_cpus;
    int is_paused, is_detail, is_help, is_typing;
    int chosen;         /* row of the task */
    int64_t chosen_pid; /* it is followed when rows change their order */
    char typed[200];
    char said[320];
};

/* What a terminal must be able to do. */
struct nt_screen *nt_screen_open(char *why, size_t size) {
    const char *type = getenv("TERM");
    struct nt_screen *s = NULL;
    if (!type || !*type || strcmp(type, "dumb") == 0) {
        nl_say(why, size, "this terminal (TERM=%s) has no full screen", type ? type : "");
        return NULL;
    }
    if (!NL_NEW(s, 1)) {
        nl_say(why, size, "no memory");
        return NULL;
    }
    setlocale(LC_CTYPE, "");
    s->terminal = newterm(NULL, stdout, stdin);
    s->page = s->terminal ? newpad(LINES, COLS) : NULL;
    if (!s->page || !tigetstr("cup") || tigetstr("cup") == (char *)-1) {
        if (s->terminal) endwin(), delscreen(s->terminal);
        free(s);
        nl_say(why, size, "this terminal (TERM=%s) has no full screen", type);
        return NULL;
    }
    cbreak();
    noecho();
    keypad(s->page, TRUE);
    nodelay(s->page, TRUE);
    set_escdelay(25);
    curs_set(0);
    /* until a screen has been left once ncurses writes each move of the cursor by itself: forty writes a
     * sample, where one does */
    endwin();
    doupdate();
    clearok(curscr, TRUE); /* what was there before goes */
    return s;
}

void nt_screen_close(struct nt_screen *s) {
    endwin();
    delwin(s->page);
    delscreen(s->terminal);
    NL_FREE(s->held_cpus, s);
}

/* ---- layout ---- */

static int n_cpu_lines(int n_cpus) {
    int most = LINES / CPU_SHARE;
    return n_cpus < most ? n_cpus : most;
}

int nt_screen_rows(const struct nt_screen *s, int n_cpus) {
    (void)s;
    int rows = LINES - NT_HEADS - n_cpu_lines(n_cpus) - 2;
    return rows > 1 ? rows : 1;
}

/* A line from its begin. waddnstr asks of each character how wide it is and how it is shown, which takes
 * twelve times as long: it writes what is not plain. */
static void put(const struct nt_screen *s, int line, int attributes, const char *text) {
    chtype cells[MOST_CELLS];
    int n = 0;
    if (line >= LINES) return;
    for (; n < COLS && n < MOST_CELLS && text[n] >= ' ' && text[n] <= '~'; n++)
        cells[n] = (unsigned char)text[n] | (chtype)attributes;
    if (n == COLS || !text[n]) mvwaddchnstr(s->page, line, 0, cells, n);
    else {
        wattrset(s->page, attributes);
        mvwaddnstr(s->page, line, 0, text, COLS);
    }
    nt_breathe(s->watch);
}

/* A long text, broken at blanks, in at most two lines. Returns the line after it. */
static int put_broken(const struct nt_screen *s, int line, int attributes, const char *text) {
    int length = (int)strlen(text), at = COLS;
    if (length > COLS) {
        while (at > COLS / 2 && text[at] != ' ') at--;
        char first[NT_HEAD_BYTES];
        snprintf(first, sizeof first, "%.*s", at, text);
        put(s, line++, attributes, first);
        text += at + (text[at] == ' ');
    }
    put(s, line, attributes, text);
    return line + 1;
}

/* ---- one task's detail ---- */

NL_ORDER(by_length, int64_t)

/* Lengths of the last bursts as bars: as many bins as there is room for, by equal factors from the shortest
 * to the longest. */
static int draw_lengths(const struct nt_screen *s, int line, const struct nt_burst *bursts, int n) {
    int64_t lengths[NT_LAST_BURSTS];
    int counts[DETAIL_BINS] = {0}, most = 1, n_bins = LINES - line - 8;
    char text[256], from[32], to[32];
    static const struct nt_field duration = {.key = "length_ns", .unit = NT_NS};
    if (n_bins > DETAIL_BINS) n_bins = DETAIL_BINS;
    if (n_bins < 2) return line;
    for (int i = 0; i < n; i++) lengths[i] = bursts[i].length_ns > 0 ? bursts[i].length_ns : 1;
    qsort(lengths, (size_t)n, sizeof *lengths, by_length);
    double low = log((double)lengths[0]), step = (log((double)lengths[n - 1]) - low) / n_bins;
    if (step <= 0) n_bins = 1, step = 1e-9;
    for (int i = 0; i < n; i++) {
        int bin = (int)((log((double)lengths[i]) - low) / step);
        if (bin >= n_bins) bin = n_bins - 1;
        if (++counts[bin] > most) most = counts[bin];
    }
    put(s, line++, A_BOLD, "CPU time of its last bursts");
    for (int bin = 0; bin < n_bins; bin++) {
        int64_t edges[2] = {(int64_t)exp(low + bin * step),
                            bin + 1 == n_bins ? lengths[n - 1] : (int64_t)exp(low + (bin + 1) * step)};
        int width = COLS - 30 > 0 ? counts[bin] * (COLS - 30) / most : 0;
        nt_format(&duration, &edges[0], from, sizeof from);
        nt_format(&duration, &edges[1], to, sizeof to);
        int at = snprintf(text, sizeof text, "%7s to %-7s %4d ", from, to, counts[bin]);
        for (int i = 0; i < width && at + 1 < (int)sizeof text; i++) text[at++] = '#';
        text[at] = '\0';
        put(s, line++, A_NORMAL, text);
    }
    return line;
}

/* When they were: a line of time until now, where each character is a piece of it that has bursts (their
 * number, at most 9) or none. */
static int draw_times(const struct nt_screen *s, int line, const struct nt_burst *bursts, int n,
                      int64_t now_ns) {
    char text[256], span[32];
    int width = COLS - 2 < (int)sizeof text - 1 ? COLS - 2 : (int)sizeof text - 1;
    int64_t begin_ns = bursts[0].start_ns, span_ns = now_ns - begin_ns;
    static const struct nt_field duration = {.key = "length_ns", .unit = NT_NS};
    if (width < 10 || span_ns <= 0) return line;
    memset(text, '.', (size_t)width);
    text[width] = '\0';
    for (int i = 0; i < n; i++) {
        int at = (int)((double)(bursts[i].start_ns - begin_ns) / (double)span_ns * width);
        if (at < 0 || at >= width) continue;
        text[at] = text[at] == '.' ? '1' : text[at] < '9' ? (char)(text[at] + 1) : '9';
    }
    nt_format(&duration, &span_ns, span, sizeof span);
    char title[128];
    snprintf(title, sizeof title, "When they were, from %s ago until now (bursts in each piece of time)",
             span);
    put(s, line + 1, A_BOLD, title);
    put(s, line + 2, A_NORMAL, text);
    return line + 3;
}

static void draw_detail(const struct nt_screen *s, int line) {
    struct nt_burst bursts[NT_LAST_BURSTS];
    char text[256];
    int64_t now_ns;
    if (s->chosen >= s->sample->n_tasks) return;
    const struct nt_task *t = &s->sample->tasks[s->chosen];
    int n = nt_last_bursts(s->watch, t->process, t->pid, bursts, &now_ns);
    snprintf(text, sizeof text, "%s (%" PRId64 ")  user %s  unit %s  CPUs %s", t->command, t->pid,
             t->user[0] ? t->user : "-", t->unit[0] ? t->unit : "-", t->cpus);
    put(s, line++, A_BOLD, text);
    nt_line(nt_task_fields, NULL, COLS, text, sizeof text);
    put(s, line++, A_REVERSE, text);
    nt_line(nt_task_fields, t, COLS, text, sizeof text);
    put(s, line, A_NORMAL, text);
    line += 2;
    if (n == 0)
        put(s, line, A_NORMAL,
            s->sample->hidden[0] ? "its single bursts are not seen by this source"
                                 : "it has had no whole burst yet");
    else draw_times(s, draw_lengths(s, line, bursts, n), bursts, n, now_ns);
}

/* ---- the tables ---- */

NL_ORDER_OF(by_loss, struct nt_cpu, y->lost_percent, x->lost_percent) /* the largest first */

static int draw_cpus(const struct nt_screen *s, int line) {
    const struct nt_sample *sample = s->sample;
    char text[512];
    int n = n_cpu_lines(sample->n_cpus);
    nt_line(nt_cpu_fields, NULL, COLS, text, sizeof text);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%*s", COLS, "");
    put(s, line++, A_REVERSE, text);
    /* where there is no room for all, those that lose most */
    struct nt_cpu *sorted = NULL;
    if (n < sample->n_cpus && NL_NEW(sorted, sample->n_cpus)) {
        memcpy(sorted, sample->cpus, (size_t)sample->n_cpus * sizeof *sorted);
        qsort(sorted, (size_t)sample->n_cpus, sizeof *sorted, by_loss);
    }
    for (int i = 0; i < n; i++) {
        if (sorted && i == n - 1)
            snprintf(text, sizeof text, "and %d more CPUs, which lose less", sample->n_cpus - i);
        else nt_line(nt_cpu_fields, sorted ? &sorted[i] : &sample->cpus[i], COLS, text, sizeof text);
        put(s, line++, A_NORMAL, text);
    }
    free(sorted);
    return line;
}

static void draw_tasks(const struct nt_screen *s, int line, enum nt_sort sort) {
    char text[512];
    int last = LINES - 1, n_more = s->sample->n_others;
    nt_line(nt_task_fields, NULL, COLS, text, sizeof text);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%*s", COLS, "");
    put(s, line++, A_REVERSE, text);
    for (int i = 0; i < s->sample->n_tasks; i++) {
        if (line >= last) {
            n_more++;
            continue;
        }
        nt_line(nt_task_fields, &s->sample->tasks[i], COLS, text, sizeof text);
        put(s, line++,
            i == s->chosen                   ? A_BOLD | A_UNDERLINE
            : s->sample->tasks[i].is_program ? A_DIM
                                             : A_NORMAL,
            text);
    }
    int at = snprintf(text, sizeof text, "by %s", nt_sort_names[sort]);
    if (n_more > 0) at += snprintf(text + at, sizeof text - (size_t)at, "; %d more tasks", n_more);
    snprintf(text + at, sizeof text - (size_t)at, "; h keys");
    put(s, last, A_NORMAL, text);
}

static void draw_help(const struct nt_screen *s, int line) {
    static const char *const keys[] = {
        "q          quit",
        "s          next order of tasks: share, bursts, length, longest, pid",
        "c          watch other CPUs: type a list such as 0-3,8, or nothing for all, and Enter",
        "p, space   pause: the screen stays; the figures go on behind it",
        "up, down   choose a task (k, j)",
        "e, Enter   the chosen task's last bursts; again: back",
        "h, ?       this; again: back"};
    put(s, line, A_REVERSE, "Keys");
    for (int i = 0; i < (int)(sizeof keys / sizeof *keys); i++) put(s, line + 1 + i, A_NORMAL, keys[i]);
}

/* Shows what was drawn. What the terminal did not take would be missing until it changes: all of it is shown
 * anew the next time. ncurses does not say whether its write() failed; errno does. */
static void show(struct nt_screen *s) {
    int n = COLS > 0 && COLS < PORTION_CELLS ? PORTION_CELLS / COLS : 1, has_failed = 0;
    for (int line = 0; line < LINES; line += n) {
        int last = line + n < LINES ? line + n : LINES;
        nt_breathe(s->watch);
        errno = 0;
        has_failed |= pnoutrefresh(s->page, line, 0, line, 0, last - 1, COLS - 1) == ERR ||
                      doupdate() == ERR || errno == EAGAIN || errno == EINTR || errno == EIO;
    }
    if (has_failed) clearok(curscr, TRUE);
}

static void draw(struct nt_screen *s, enum nt_sort sort) {
    char heads[NT_HEADS][NT_HEAD_BYTES];
    if (getmaxy(s->page) != LINES || getmaxx(s->page) != COLS) wresize(s->page, LINES, COLS);
    werase(s->page);
    if (LINES < LEAST_LINES || COLS < LEAST_COLUMNS) put(s, 0, A_NORMAL, "too small");
    else if (!s->sample) put(s, 0, A_NORMAL, "noiselab top: the first sample comes after one interval");
    else {
        int n = nt_heads(s->sample, heads), line = 0;
        for (int i = 0; i < n; i++) line = put_broken(s, line, i == 1 ? A_BOLD : A_NORMAL, heads[i]);
        if (s->is_help) draw_help(s, line);
        else if (s->is_detail) draw_detail(s, line);
        else draw_tasks(s, draw_cpus(s, line), sort);
    }
    char bottom[400] = "";
    if (s->is_typing) snprintf(bottom, sizeof bottom, "CPUs (0-3,8; nothing: all): %s_", s->typed);
    else if (s->said[0]) snprintf(bottom, sizeof bottom, "%s", s->said);
    else if (s->is_paused) snprintf(bottom, sizeof bottom, "paused; p goes on");
    if (bottom[0]) {
        wmove(s->page, LINES - 1, 0);
        wclrtoeol(s->page);
        put(s, LINES - 1, A_REVERSE, bottom);
    }
    show(s);
}

/* The chosen task is the same one, wherever its row is now. */
static void follow_chosen(struct nt_screen *s) {
    for (int i = 0; s->chosen_pid > 0 && i < s->sample->n_tasks; i++)
        if (s->sample->tasks[i].pid == s->chosen_pid) s->chosen = i;
    if (s->chosen >= s->sample->n_tasks) s->chosen = s->sample->n_tasks > 0 ? s->sample->n_tasks - 1 : 0;
}

/* The watch has one sample, which the next one replaces: what is paused is kept. Without memory for it
 * nothing is paused. */
static void hold(struct nt_screen *s) {
    struct nt_cpu *cpus = realloc(s->held_cpus, (size_t)s->sample->n_cpus * sizeof *cpus + 1);
    if (!cpus) {
        s->is_paused = 0;
        nt_screen_say(s, "no memory to keep this sample: not paused");
        return;
    }
    memcpy(cpus, s->sample->cpus, (size_t)s->sample->n_cpus * sizeof *cpus);
    s->held = *s->sample;
    s->held.cpus = s->held_cpus = cpus;
    s->sample = &s->held;
}

void nt_screen_draw(struct nt_screen *s, const struct nt_sample *sample, struct nt_watch *watch,
                    enum nt_sort sort) {
    if (sample && s->is_paused) return;
    if (sample) {
        s->sample = sample;
        follow_chosen(s);
    }
    s->watch = watch;
    draw(s, sort);
}

/* ---- keys ---- */

/* Keys while a list is typed. */
static enum nt_screen_wish type(struct nt_screen *s, int key, char *cpus, size_t size) {
    size_t n = strlen(s->typed);
    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
        s->is_typing = 0;
        snprintf(cpus, size, "%s", s->typed);
        return NT_OTHER_CPUS;
    }
    if (key == 27) s->is_typing = 0;
    else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n > 0) s->typed[n - 1] = '\0';
    else if (key >= ' ' && key < 127 && n + 1 < sizeof s->typed)
        s->typed[n] = (char)key, s->typed[n + 1] = '\0';
    return NT_NO_WISH;
}

static void choose(struct nt_screen *s, int step) {
    if (!s->sample || s->sample->n_tasks == 0) return;
    s->chosen += step;
    if (s->chosen < 0) s->chosen = 0;
    if (s->chosen >= s->sample->n_tasks) s->chosen = s->sample->n_tasks - 1;
    s->chosen_pid = s->sample->tasks[s->chosen].pid;
}

static enum nt_screen_wish press(struct nt_screen *s, int key) {
    s->said[0] = '\0';
    switch (key) {
    case 'q':
    case 'Q': return NT_QUIT;
    case 's': return NT_NEXT_SORT;
    case 'c':
        s->is_typing = 1;
        s->typed[0] = '\0';
        break;
    case 'p':
    case ' ':
        s->is_paused = !s->is_paused;
        if (s->is_paused && s->sample) hold(s);
        break;
    case 'k':
    case KEY_UP: choose(s, -1); break;
    case 'j':
    case KEY_DOWN: choose(s, 1); break;
    case 'e':
    case '\n':
    case '\r':
    case KEY_ENTER:
        s->is_detail = !s->is_detail;
        s->is_help = 0;
        if (s->is_detail) choose(s, 0);
        break;
    case 'h':
    case '?': s->is_help = !s->is_help; break;
    case 12: clearok(curscr, TRUE); break; /* ^L */
    default: break;
    }
    return NT_NO_WISH;
}

enum nt_screen_wish nt_screen_keys(struct nt_screen *s, char *cpus, size_t size) {
    /* this program's own handlers stand for those of ncurses: a new size is looked for here */
    struct winsize window;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 && window.ws_col > 0 &&
        (window.ws_row != LINES || window.ws_col != COLS))
        resizeterm(window.ws_row, window.ws_col);
    for (int key; (key = wgetch(s->page)) != ERR;) {
        enum nt_screen_wish wish = s->is_typing ? type(s, key, cpus, size) : press(s, key);
        if (wish != NT_NO_WISH) return wish;
    }
    return NT_NO_WISH;
}

void nt_screen_say(struct nt_screen *s, const char *text) { snprintf(s->said, sizeof s->said, "%s", text); }

#else

const int nt_has_screen = 0;

struct nt_screen *nt_screen_open(char *why, size_t size) {
    nl_say(why, size, "built without ncurses");
    return NULL;
}

void nt_screen_close(struct nt_screen *screen) { (void)screen; }

int nt_screen_rows(const struct nt_screen *screen, int n_cpus) { return (void)screen, n_cpus; }

void nt_screen_draw(struct nt_screen *screen, const struct nt_sample *sample, struct nt_watch *watch,
                    enum nt_sort sort) {
    (void)screen, (void)sample, (void)watch, (void)sort;
}

enum nt_screen_wish nt_screen_keys(struct nt_screen *screen, char *cpus, size_t size) {
    return (void)screen, (void)cpus, (void)size, NT_NO_WISH;
}

void nt_screen_say(struct nt_screen *screen, const char *text) { (void)screen, (void)text; }

#endif
