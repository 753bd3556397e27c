/* Traces of noise: lines `start_ns<TAB>duration_ns[<TAB>cpu[<TAB>kind[<TAB>task]]]` with `#` comments
 * (docs/reference/formats.md). This is the one reader that there is: the C programs have it from here, and
 * the R package compiles the same files (analysis/src/traces.c), on every system that has R. So this room
 * uses nothing but the C library.
 *
 * A trace is read twice: once whole, to check it before any load starts, and once more while it is used, a
 * block at a time, so that memory does not grow with the trace. A file of another tool is converted into
 * memory first, where it is a trace of noise (nl_foreign.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    NL_TRACE_MAX_CPUS = 1024,
    NL_TRACE_LINE_BYTES = 256,   /* longest line that is not a comment, with its end */
    NL_TRACE_BLOCK_BYTES = 16384 /* longest comment */
};

/* What a reader wants of a trace besides the form of its lines. */
enum {
    /* A user's file, which may be another tool's. */
    NL_TRACE_OF_USER = 0,
    /* A file that a launch left. It may be empty, end within its last line where the launch was killed, and
     * have bursts that last 0 ns or overlap on a CPU, as versions before 1.1 wrote where ranks shared one. */
    NL_TRACE_OF_LAUNCH = 1
};

/* What the first reading found. */
struct nl_trace {
    const char *path;
    int fd;
    int of;                         /* NL_TRACE_OF_... */
    int64_t size_bytes, changed_ns; /* to notice that the file is not what was checked */
    int64_t n_bursts;
    int64_t first_ns, last_ns;   /* starts */
    int64_t span_ns;             /* length of one round */
    int has_span;                /* the file says so */
    int n_columns;               /* 2 to 5 */
    int n_cpus;                  /* distinct CPUs; 0: no such column */
    int cpus[NL_TRACE_MAX_CPUS]; /* their numbers, rising */
    int64_t busy_ns[NL_TRACE_MAX_CPUS],
        bursts[NL_TRACE_MAX_CPUS];         /* by index of the CPU; [0] without that column */
    int64_t longest_ns[NL_TRACE_MAX_CPUS]; /* burst, in the same way */
    uint32_t kind_rows;                    /* bit i: row i of nl_trace_kinds occurs */
    char converted[200]; /* what was converted from another tool's file, for people; "": nothing */
};

struct nl_trace_line {
    int64_t start_ns, duration_ns;
    int cpu;          /* number in the file, -1: none */
    int cpu_index;    /* of nl_trace.cpus; 0 without that column. Set by nl_trace_next. */
    int kind_row;     /* of nl_trace_kinds, -1: none */
    const char *task; /* valid until the next line is read; NULL: none */
};

/* A place in a trace. */
struct nl_trace_reader {
    const struct nl_trace *trace;
    int fd, of;
    int64_t offset;        /* of the next block */
    int64_t line;          /* number of the line read last, from 1 */
    int64_t span_ns;       /* by a comment read; 0: none */
    int64_t last_start_ns; /* of the burst read last, otherwise of the trace's first one */
    size_t lo, hi;         /* what is left in the buffer */
    int is_at_end;
    const char *problem; /* after -1: what is wrong with that line; NULL: the file cannot be read (errno) */
    const char *comment; /* after nl_trace_next_or_comment: the comment, behind its #; NULL: a burst */
    char buffer[NL_TRACE_BLOCK_BYTES + 1];
};

/* The names of the kinds that a fourth column may have, ended by NULL. */
extern const char *const nl_trace_kinds[];

/* Reads the whole trace and checks it: whole, positive numbers, rising starts, no overlap on a CPU, known
 * kinds. `path` must outlive it; `of`: NL_TRACE_OF_... 0, -1 with a line in `reason` that names file and
 * line. */
int nl_trace_check(const char *path, int of, struct nl_trace *trace, char *reason, size_t reason_size);

/* The same of a user's trace that stands for the noise of a machine: also refused where it cannot be that
 * (nl_foreign_doubt). */
int nl_trace_check_noise(const char *path, struct nl_trace *trace, char *reason, size_t reason_size);

void nl_trace_close(struct nl_trace *trace);

/* A reader at the trace's begin. Allocates nothing and needs no closing. */
void nl_trace_open(struct nl_trace_reader *reader, const struct nl_trace *trace);
void nl_trace_rewind(struct nl_trace_reader *reader);

/* The next burst: 1, 0 at the end, -1 when the file changed since it was checked or cannot be read. No
 * allocation. */
int nl_trace_next(struct nl_trace_reader *reader, struct nl_trace_line *line);

/* The same, which stops at comments, too (reader->comment). */
int nl_trace_next_or_comment(struct nl_trace_reader *reader, struct nl_trace_line *line);

/* What a person has to see of a trace to notice that it is in another unit, or of another kind: "3 bursts on
 * 2 CPUs in 10 ms: busy for 6 % of a CPU, 300 bursts per second, longest 300 us". Returns `text`. */
const char *nl_trace_words(const struct nl_trace *trace, char *text, size_t size);
