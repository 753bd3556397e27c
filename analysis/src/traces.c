/* Traces of noise for R, by the reader of the C programs. */
#define _GNU_SOURCE
#include "common/trace/nl_trace.c"

#include "project.h"

enum { START, DURATION, CPU, KIND, TASK, N_COLUMNS };

/* Behind the call of R, so that an error of R's leaves no file open. */
static void close_trace(SEXP held) {
    struct nl_trace *trace = R_ExternalPtrAddr(held);
    if (trace == NULL) return;
    nl_trace_close(trace);
    free(trace);
    R_ClearExternalPtr(held);
}

static SEXP text_or_na(const char *text) { return text == NULL ? NA_STRING : mkCharCE(text, CE_UTF8); }

/* All bursts into the columns, the comments into `comments`; NULL, or what is wrong. */
static const char *read_all(const struct nl_trace *trace, struct nl_trace_reader *reader, SEXP columns,
                            SEXP comments, int64_t from_ns) {
    struct nl_trace_line line;
    R_xlen_t n_bursts = 0, n_comments = 0;
    int got;
    nl_trace_open(reader, trace);
    while ((got = nl_trace_next_or_comment(reader, &line)) > 0) {
        if (reader->comment != NULL && n_comments < XLENGTH(comments))
            SET_STRING_ELT(comments, n_comments++, text_or_na(reader->comment));
        if (reader->comment != NULL) continue;
        if (n_bursts >= trace->n_bursts) return "the file changed since it was checked";
        REAL(VECTOR_ELT(columns, START))[n_bursts] = (double)(line.start_ns - from_ns);
        REAL(VECTOR_ELT(columns, DURATION))[n_bursts] = (double)line.duration_ns;
        REAL(VECTOR_ELT(columns, CPU))[n_bursts] = line.cpu < 0 ? NA_REAL : line.cpu;
        SET_STRING_ELT(VECTOR_ELT(columns, KIND), n_bursts,
                       text_or_na(line.kind_row < 0 ? NULL : nl_trace_kinds[line.kind_row]));
        SET_STRING_ELT(VECTOR_ELT(columns, TASK), n_bursts, text_or_na(line.task));
        n_bursts++;
    }
    if (got == 0 && n_bursts == trace->n_bursts) return NULL;
    return reader->problem != NULL ? reader->problem : "the file changed since it was checked";
}

/* The number of comments, which the check did not count. */
static R_xlen_t count_comments(const struct nl_trace *trace, struct nl_trace_reader *reader) {
    struct nl_trace_line line;
    R_xlen_t n = 0;
    nl_trace_open(reader, trace);
    while (nl_trace_next_or_comment(reader, &line) > 0)
        n += reader->comment != NULL;
    return n;
}

/* Where a double no longer has every whole number, times count from the first burst. */
static int64_t origin_ns(const struct nl_trace *trace) {
    const int64_t exact = INT64_C(1) << 53;
    return trace->last_ns > exact - trace->span_ns ? trace->first_ns : 0;
}

/* `path`: of the file; `of_launch`: logical, a file that a launch left. A text where it is refused; else a
 * list: columns of the bursts, comments, and numbers and words about all of it. */
SEXP trace_columns(SEXP path, SEXP of_launch) {
    static const char *const names[] = {"start_ns", "duration_ns", "cpu",       "kind",
                                        "task",     "comments",    "first_ns",  "span_ns",
                                        "has_span", "words",       "converted", ""};
    char reason[8192] = "", words[256];
    struct nl_trace *trace = calloc(1, sizeof *trace);
    struct nl_trace_reader *reader = (struct nl_trace_reader *)R_alloc(1, sizeof *reader);
    if (trace == NULL) return mkString("no memory to read a trace");
    trace->fd = -1;
    SEXP held = PROTECT(R_MakeExternalPtr(trace, R_NilValue, R_NilValue));
    R_RegisterCFinalizer(held, close_trace);
    const char *file = CHAR(STRING_ELT(path, 0));
    int refused = asLogical(of_launch)
                      ? nl_trace_check(file, NL_TRACE_OF_LAUNCH, trace, reason, sizeof reason)
                      : nl_trace_check_noise(file, trace, reason, sizeof reason);
    if (refused) {
        close_trace(held);
        UNPROTECT(1);
        return mkString(reason);
    }
    SEXP got = PROTECT(mkNamed(VECSXP, (const char **)names));
    for (int i = 0; i < N_COLUMNS; i++)
        SET_VECTOR_ELT(got, i, allocVector(i < KIND ? REALSXP : STRSXP, (R_xlen_t)trace->n_bursts));
    SET_VECTOR_ELT(got, N_COLUMNS, allocVector(STRSXP, count_comments(trace, reader)));
    int64_t from_ns = origin_ns(trace);
    const char *problem = read_all(trace, reader, got, VECTOR_ELT(got, N_COLUMNS), from_ns);
    SET_VECTOR_ELT(got, 6, ScalarReal((double)(trace->first_ns - from_ns)));
    SET_VECTOR_ELT(got, 7, ScalarReal((double)trace->span_ns));
    SET_VECTOR_ELT(got, 8, ScalarLogical(trace->has_span));
    SET_VECTOR_ELT(got, 9, mkString(nl_trace_words(trace, words, sizeof words)));
    SET_VECTOR_ELT(got, 10, mkString(trace->converted));
    if (problem != NULL)
        snprintf(reason, sizeof reason, "%s:%lld: %s", trace->path, (long long)reader->line, problem);
    close_trace(held);
    UNPROTECT(2);
    return problem != NULL ? mkString(reason) : got;
}
