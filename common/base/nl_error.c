#include "common/base/nl_error.h"
#include "common/base/nl_secret.h"

static const char *program_name = "noiselab";
static const char *host_name = "";
static int rank_number = -1;
static int is_quiet;
static int has_open_line;

void nl_set_program(const char *name) { program_name = name; }

void nl_set_rank(int rank, const char *host) {
    rank_number = rank;
    host_name = host;
}

void nl_set_quiet(int quiet) { is_quiet = quiet; }

void nl_set_open_line(int is_open) { has_open_line = is_open; }

int nl_has_open_line(void) { return has_open_line; }

/* One write per message, so that lines of several ranks do not mix. */
static void say(const char *label, const char *fmt, va_list args) {
    if (is_quiet) return;
    char whole[1024], text[1024];
    char where[192] = "";
    vsnprintf(whole, sizeof whole, fmt, args);
    nl_secret_redact(whole, NULL, text, sizeof text);
    nl_secret_disarm(text);
    if (rank_number >= 0) snprintf(where, sizeof where, "rank %d on %s: ", rank_number, host_name);
    fprintf(stderr, "%s%s: %s%s%s\n", has_open_line ? "\r\033[K" : "", program_name, label, where, text);
    has_open_line = 0;
}

int nl_error(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say("", fmt, args);
    va_end(args);
    return -1;
}

int nl_say(char *text, size_t size, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, size, fmt, args);
    va_end(args);
    return -1;
}

void nl_warn(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say("warning: ", fmt, args);
    va_end(args);
}
