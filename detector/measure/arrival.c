#include "detector/measure/arrival.h"
#include "common/base/nl_rng.h"
#include "common/base/nl_units.h"

/* Streams of the seed that nothing else uses, one per rank. */
#define ARRIVAL_STREAM (UINT64_C(1) << 42)

static double none_of(const struct nd_arrival_request *r, struct nl_rng *rng) {
    return (void)r, (void)rng, 0;
}

static double any_of(const struct nd_arrival_request *r, struct nl_rng *rng) {
    return (int)(nl_rng_uniform(rng) * r->n_ranks) == r->rank;
}

static double last_of(const struct nd_arrival_request *r, struct nl_rng *rng) {
    return (void)rng, r->rank == r->n_ranks - 1;
}

/* The smaller half where the number is odd: a lone rank is not late. */
static double half_of(const struct nd_arrival_request *r, struct nl_rng *rng) {
    return (void)rng, r->rank >= r->n_ranks - r->n_ranks / 2;
}

static double ramp_of(const struct nd_arrival_request *r, struct nl_rng *rng) {
    return (void)rng, r->n_ranks > 1 ? (double)r->rank / (r->n_ranks - 1) : 0;
}

static double draw(const struct nd_arrival_request *r, struct nl_rng *rng) {
    return (void)r, nl_rng_uniform(rng);
}

/* A trace under way. */
struct reader {
    const char *path;
    int64_t line;
    char *reason;
    size_t reason_size;
};

/* Writes the reason with file and line. @return -1. */
static int __attribute__((format(printf, 2, 3))) refuse(const struct reader *r, const char *format, ...) {
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return nl_say(r->reason, r->reason_size, "%s:%" PRId64 ": %s", r->path, r->line, what);
}

/* The next word of a line without its comment; NULL: there is none. Never one with bytes that are no text. */
static char *next_word(char **rest) {
    char *word;
    while ((word = strsep(rest, " \t\r\n\v\f")) && !*word)
        continue;
    return word;
}

/* "'WORD'" as far as it goes into a message. */
static const char *told(const char *word, char text[40]) {
    snprintf(text, 40, strlen(word) > 31 ? "'%.28s...'" : "'%s'", word);
    return text;
}

static int parse(const char *word, int64_t most, int64_t *value) {
    return strlen(word) > 31 || nl_parse_int(word, 0, most, value);
}

/* One line: the delays of the own rank go into `delays`. `seen`: n_ranks flags. 0, or 1 where it holds
 * delays, or -1. */
static int read_line(struct reader *r, char *line, const struct nd_arrival_request *request, char *seen,
                     double *delays) {
    char text[40], *word = next_word(&line);
    int64_t rank, ns;
    int n = 0;
    if (!word) return 0;
    if (parse(word, INT32_MAX, &rank)) return refuse(r, "%s is not the number of a rank", told(word, text));
    if (rank >= request->n_ranks)
        return refuse(r, "there is no rank %" PRId64 ", only 0 to %d", rank, request->n_ranks - 1);
    if (seen[rank]) return refuse(r, "rank %" PRId64 " is given twice", rank);
    seen[rank] = 1;
    for (; (word = next_word(&line)); n++) {
        if (parse(word, ND_ARRIVAL_MAX_NS, &ns))
            return refuse(r, "%s is not a delay in whole ns from 0 to %" PRId64, told(word, text),
                          (int64_t)ND_ARRIVAL_MAX_NS);
        if (n == ND_ARRIVAL_CYCLE)
            return refuse(r, "rank %" PRId64 " has more than %d delays", rank, ND_ARRIVAL_CYCLE);
        if (rank == request->rank) delays[n] = (double)ns;
    }
    if (n == 0)
        return refuse(r, "rank %" PRId64 " has no delay (wanted: rank delay_ns [delay_ns ...])", rank);
    for (int i = n; rank == request->rank && i < ND_ARRIVAL_CYCLE; i++)
        delays[i] = delays[i - n];
    return 1;
}

/* Every rank checks the whole file, so that all find the same error. */
static int read_trace(struct reader *r, FILE *f, const struct nd_arrival_request *request, char *seen,
                      double *delays) {
    char *line = NULL;
    size_t room = 0;
    int n_lines = 0, status = 0;
    for (ssize_t n; status >= 0 && (n = getline(&line, &room, f)) > 0; n_lines += status > 0) {
        r->line++;
        for (ssize_t i = 0; i < n; i++)
            if (!isprint((unsigned char)line[i]) && (!line[i] || !isspace((unsigned char)line[i])))
                line[i] = '?';
        line[strcspn(line, "#")] = '\0';
        status = read_line(r, line, request, seen, delays);
    }
    free(line);
    if (status < 0) return -1;
    if (ferror(f))
        return nl_say(r->reason, r->reason_size, "%s: cannot be read: %s", r->path, strerror(errno));
    if (n_lines > 0) return 0;
    return nl_say(r->reason, r->reason_size,
                  "%s: there is no delay in it (wanted: lines of rank delay_ns [delay_ns ...])", r->path);
}

static int read_file(const struct nd_arrival_request *request, double *delays, char *reason,
                     size_t reason_size) {
    struct reader r = {.path = request->trace, .reason = reason, .reason_size = reason_size};
    memset(delays, 0, ND_ARRIVAL_CYCLE * sizeof *delays);
    if (!request->trace)
        return nl_say(reason, reason_size, "the arrival pattern 'trace' needs a file of delays");
    char *seen = calloc((size_t)request->n_ranks, 1);
    if (!seen) return nl_say(reason, reason_size, "no memory for the trace of %d ranks", request->n_ranks);
    FILE *f = fopen(request->trace, "re");
    int rc = f ? read_trace(&r, f, request, seen, delays)
               : nl_say(reason, reason_size, "%s: %s", request->trace, strerror(errno));
    if (f) fclose(f);
    free(seen);
    return rc;
}

int nd_arrival_fill(const struct nd_arrival *a, const struct nd_arrival_request *r, double *delays,
                    char *reason, size_t reason_size) {
    struct nl_rng rng;
    if (a->needs_trace) return read_file(r, delays, reason, reason_size);
    nl_rng_init(&rng, r->seed, a->is_common ? ARRIVAL_STREAM - 1 : ARRIVAL_STREAM + (uint64_t)r->rank);
    for (int i = 0; i < ND_ARRIVAL_CYCLE; i++)
        delays[i] = a->share(r, &rng);
    return 0;
}

static const struct nd_arrival rows[] = {
    {.name = "none", .help = "all ranks enter at the common start", .share = none_of},
    {.name = "late-one", .help = "the last rank is late by the whole amount", .share = last_of},
    {.name = "late-any",
     .help = "one rank is late by the whole amount, another one at each start, drawn from the seed",
     .share = any_of,
     .is_common = 1},
    {.name = "late-half",
     .help = "the upper half of the ranks is late by the whole amount",
     .share = half_of},
    {.name = "ramp",
     .help = "from rank 0, on time, evenly to the last, late by the whole amount",
     .share = ramp_of},
    {.name = "random",
     .help = "every rank and start late by a share of the amount drawn from 0 to 1, from the seed",
     .share = draw},
    {.name = "trace", .help = "delays from a file of lines: rank delay_ns [delay_ns ...]", .needs_trace = 1},
};

const struct nd_arrival *const nd_arrivals[] = {&rows[0], &rows[1], &rows[2], &rows[3],
                                                &rows[4], &rows[5], &rows[6], NULL};
