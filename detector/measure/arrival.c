#include "detector/measure/starts.h"
#include "common/base/nl_rng.h"
#include "common/base/nl_units.h"

/* Streams of the seed that nothing else uses, one per rank. */
#define ARRIVAL_STREAM (UINT64_C(1) << 42)

static double none_of(const struct nd_arrival_request *r, struct nl_rng *rng) { return (void)r, (void)rng, 0; }

static double any_of(const struct nd_arrival_request *r, struct nl_rng *rng) { return (int)(nl_rng_uniform(rng) * r->n_ranks) == r->rank; }

static double last_of(const struct nd_arrival_request *r, struct nl_rng *rng) { return (void)rng, r->rank == r->n_ranks - 1; }

/* The smaller half where the number is odd: a lone rank is not late. */
static double half_of(const struct nd_arrival_request *r, struct nl_rng *rng) { return (void)rng, r->rank >= r->n_ranks - r->n_ranks / 2; }

static double ramp_of(const struct nd_arrival_request *r, struct nl_rng *rng) {
    return (void)rng, r->n_ranks > 1 ? (double)r->rank / (r->n_ranks - 1) : 0;
}

static double draw(const struct nd_arrival_request *r, struct nl_rng *rng) { return (void)r, nl_rng_uniform(rng); }

struct reader {
    FILE *f;
    const char *path;
    int64_t line; /* of the word read last */
    int is_new;   /* 1: the next character begins a line */
    char word[32];
    char *reason;
    size_t reason_size;
};

/* Writes the reason with file and line. @return -1. */
static int __attribute__((format(printf, 2, 3))) refuse(const struct reader *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = snprintf(r->reason, r->reason_size, "%s:%" PRId64 ": ", r->path, r->line);
    if (n >= 0 && (size_t)n < r->reason_size) vsnprintf(r->reason + n, r->reason_size - (size_t)n, format, args);
    va_end(args);
    return -1;
}

enum token { TOKEN_WORD, TOKEN_LINE_END, TOKEN_FILE_END };

static int next_char(struct reader *r) {
    if (r->is_new) r->line++;
    int c = getc(r->f);
    r->is_new = c == '\n';
    return c;
}

static enum token next_token(struct reader *r) {
    int c = next_char(r);
    while (c != '\n' && isspace(c)) c = next_char(r);
    if (c == '#')
        while (c != '\n' && c != EOF) c = next_char(r);
    if (c == EOF) return TOKEN_FILE_END;
    if (c == '\n') return TOKEN_LINE_END;
    size_t n = 0, max = sizeof r->word - 1;
    for (; c != EOF && c != '#' && !isspace(c); c = next_char(r), n++)
        if (n < max) r->word[n] = isprint(c) ? (char)c : '?';
    /* what ends the word, such as the end of the line, is a token of its own */
    if (c != EOF) ungetc(c, r->f);
    r->is_new = 0;
    r->word[n < max ? n : max] = '\0';
    if (n > max) memcpy(r->word + max - 3, "...", 3); /* no number is that long */
    return TOKEN_WORD;
}

/* Reads the delays of a line whose rank has been read; those of the own rank go into `delays`.
 * @return how many there were, or -1. `*end` is what ended the line. */
static int read_delays(struct reader *r, int64_t rank, double *delays, enum token *end) {
    int n = 0;
    while ((*end = next_token(r)) == TOKEN_WORD) {
        int64_t ns;
        if (nl_parse_int(r->word, 0, ND_ARRIVAL_MAX_NS, &ns))
            return refuse(r, "'%s' is not a delay in whole ns from 0 to %" PRId64, r->word, (int64_t)ND_ARRIVAL_MAX_NS);
        if (n == ND_ARRIVAL_CYCLE) return refuse(r, "rank %" PRId64 " has more than %d delays", rank, ND_ARRIVAL_CYCLE);
        if (delays) delays[n] = (double)ns;
        n++;
    }
    return n;
}

/* Every rank checks the whole file, so that all find the same error.
 * @param seen  n_ranks zeros. */
static int read_trace(struct reader *r, const struct nd_arrival_request *request, char *seen, double *delays) {
    int64_t n_lines = 0;
    enum token token;
    for (token = next_token(r); token != TOKEN_FILE_END;) {
        int64_t rank;
        if (token == TOKEN_LINE_END) {
            token = next_token(r);
            continue;
        }
        if (nl_parse_int(r->word, 0, INT32_MAX, &rank)) return refuse(r, "'%s' is not the number of a rank", r->word);
        if (rank >= request->n_ranks) return refuse(r, "there is no rank %" PRId64 ", only 0 to %d", rank, request->n_ranks - 1);
        if (seen[rank]) return refuse(r, "rank %" PRId64 " is given twice", rank);
        seen[rank] = 1;
        int n = read_delays(r, rank, rank == request->rank ? delays : NULL, &token);
        if (n < 0) return -1;
        if (n == 0) return refuse(r, "rank %" PRId64 " has no delay (wanted: rank delay_ns [delay_ns ...])", rank);
        if (rank == request->rank)
            for (int i = n; i < ND_ARRIVAL_CYCLE; i++) delays[i] = delays[i - n];
        n_lines++;
    }
    if (ferror(r->f)) return nl_say(r->reason, r->reason_size, "%s: cannot be read: %s", r->path, strerror(errno));
    if (n_lines == 0)
        return nl_say(r->reason, r->reason_size, "%s: there is no delay in it (wanted: lines of rank delay_ns [delay_ns ...])", r->path);
    return 0;
}

static int read_file(const struct nd_arrival_request *request, double *delays, char *reason, size_t reason_size) {
    struct reader r = {.path = request->trace, .is_new = 1, .reason = reason, .reason_size = reason_size};
    int rc = -1;
    memset(delays, 0, ND_ARRIVAL_CYCLE * sizeof *delays);
    if (!request->trace) return nl_say(reason, reason_size, "the arrival pattern 'trace' needs a file of delays");
    char *seen = calloc((size_t)request->n_ranks, 1);
    if (!seen) return nl_say(reason, reason_size, "no memory for the trace of %d ranks", request->n_ranks);
    r.f = fopen(request->trace, "re");
    if (!r.f) {
        snprintf(reason, reason_size, "%s: %s", request->trace, strerror(errno));
        goto out;
    }
    rc = read_trace(&r, request, seen, delays);
    fclose(r.f);
out:
    free(seen);
    return rc;
}

int nd_arrival_fill(const struct nd_arrival *a, const struct nd_arrival_request *r, double *delays, char *reason, size_t reason_size) {
    struct nl_rng rng;
    if (a->needs_trace) return read_file(r, delays, reason, reason_size);
    nl_rng_init(&rng, r->seed, a->is_common ? ARRIVAL_STREAM - 1 : ARRIVAL_STREAM + (uint64_t)r->rank);
    for (int i = 0; i < ND_ARRIVAL_CYCLE; i++) delays[i] = a->share(r, &rng);
    return 0;
}

static const struct nd_arrival none = {.name = "none", .help = "all ranks enter at the common start", .share = none_of};
static const struct nd_arrival late_one = {.name = "late-one", .help = "the last rank is late by the whole amount", .share = last_of};
static const struct nd_arrival late_any = {
    .name = "late-any", .help = "one rank is late by the whole amount, another one at each start, drawn from the seed",
    .share = any_of, .is_common = 1,
};
static const struct nd_arrival late_half = {
    .name = "late-half", .help = "the upper half of the ranks is late by the whole amount", .share = half_of,
};
static const struct nd_arrival ramp = {
    .name = "ramp", .help = "from rank 0, on time, evenly to the last, late by the whole amount", .share = ramp_of,
};
static const struct nd_arrival random_arrival = {
    .name = "random", .help = "every rank and start late by a share of the amount drawn from 0 to 1, from the seed", .share = draw,
};
static const struct nd_arrival trace = {
    .name = "trace", .help = "delays from a file of lines: rank delay_ns [delay_ns ...]", .needs_trace = 1,
};

const struct nd_arrival *const nd_arrivals[] = {&none, &late_one, &late_any, &late_half, &ramp, &random_arrival, &trace, NULL};
