/* Traces of noise: lines `start_ns<TAB>duration_ns[<TAB>cpu[<TAB>kind[<TAB>task]]]` with `#` comments (docs/reference/formats.md). Read
 * twice: once whole, to check it before any load starts, and once more while it is replayed, a block at a time, so that memory does not
 * grow with the trace. */
#pragma once

#include "common/base/nl_usual.h"

enum {
    NG_TRACE_MAX_CPUS = 1024,
    NG_TRACE_LINE_BYTES = 256,   /* longest line that is not a comment, with its end */
    NG_TRACE_BLOCK_BYTES = 16384 /* longest comment */
};

/* What the first reading found. */
struct ng_trace {
    const char *path;
    int fd;
    int64_t size_bytes, changed_ns; /* to notice that the file is not what was checked */
    int64_t n_bursts;
    int64_t first_ns, last_ns;      /* starts */
    int64_t span_ns;                /* length of one round */
    int has_span;                   /* the file says so */
    int n_columns;                  /* 2 to 5 */
    int n_cpus;                     /* distinct CPUs; 0: no such column */
    int cpus[NG_TRACE_MAX_CPUS];    /* their numbers, rising */
    int64_t busy_ns[NG_TRACE_MAX_CPUS], bursts[NG_TRACE_MAX_CPUS]; /* by index of the CPU; [0] without that column */
    uint32_t kind_rows;             /* bit i: row i of ng_kinds occurs */
};

struct ng_trace_line {
    int64_t start_ns, duration_ns;
    int cpu;       /* number in the file, -1: none */
    int cpu_index; /* of ng_trace.cpus; 0 without that column. Set by ng_trace_next. */
    int kind_row;  /* of ng_kinds, -1: none */
};

/* A place in a trace. */
struct ng_trace_reader {
    const struct ng_trace *trace;
    int fd;
    int64_t offset;         /* of the next block */
    int64_t line;           /* number of the line read last, from 1 */
    int64_t span_ns;        /* by a comment read; 0: none */
    int64_t last_start_ns;  /* of the burst read last, otherwise of the trace's first one */
    size_t lo, hi;          /* what is left in the buffer */
    int is_at_end;
    const char *problem;    /* after -1: what is wrong with that line; NULL: the file cannot be read (errno) */
    char buffer[NG_TRACE_BLOCK_BYTES + 1];
};

/* Reads the whole trace and checks it: whole, positive numbers, rising starts, no overlap on a CPU, known kinds. `path` must outlive it.
 * 0, -1 with a line in `reason` that names file and line. */
int ng_trace_check(const char *path, struct ng_trace *trace, char *reason, size_t reason_size);

void ng_trace_close(struct ng_trace *trace);

/* A reader at the trace's begin. Allocates nothing and needs no closing. */
void ng_trace_open(struct ng_trace_reader *reader, const struct ng_trace *trace);
void ng_trace_rewind(struct ng_trace_reader *reader);

/* The next burst: 1, 0 at the end, -1 when the file changed since it was checked or cannot be read. No allocation. */
int ng_trace_next(struct ng_trace_reader *reader, struct ng_trace_line *line);
