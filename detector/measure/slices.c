#include "detector/measure/slices.h"
#include "detector/treatment/burst_log.h"

#include <sys/uio.h>

#include "detector/treatment/treatment.h"
#include "common/base/nl_usual.h"

enum { VERSION = 1, BLOCK_WORDS = 13, SUMS_AT = 11 };

struct nd_slices_file {
    int fd;
    off_t whole_bytes; /* up to the end of the last whole block */
};

int64_t nd_slices_operations(double operation_ns) {
    double n = (double)ND_SLICE_NS / operation_ns + 0.5;
    return n < 1 ? 1 : n > UINT32_MAX ? UINT32_MAX : (int64_t)n;
}

void nd_slices_before_chunk(struct nd_slices *s, int64_t n_operations) {
    nd_burst_log_take(s->bursts);
    if (s->n == 0 || s->n + n_operations / s->n_per_slice + 1 <= ND_SLICES_MOST) return;
    if (s->step && nd_slices_write(s)) s->has_failed = 1;
    nd_slices_begin(s, nl_mono_ns());
}

/* All or nothing of what is appended; 0, -1 with errno. */
static int append(struct nd_slices_file *f, struct iovec *parts, int n_parts) {
    size_t n_bytes = 0;
    for (int i = 0; i < n_parts; i++)
        n_bytes += parts[i].iov_len;
    errno = ENOSPC; /* of what is written in part */
    if (writev(f->fd, parts, n_parts) == (ssize_t)n_bytes) {
        f->whole_bytes += (off_t)n_bytes;
        return 0;
    }
    int why = errno;
    if (ftruncate(f->fd, f->whole_bytes) == 0) lseek(f->fd, f->whole_bytes, SEEK_SET);
    errno = why;
    return -1;
}

int nd_slices_open(struct nd_slices_file **file, const char *path, const json_t *header) {
    struct nd_slices_file *f = calloc(1, sizeof *f);
    char *text = json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER);
    errno = ENOMEM;
    if (f) f->fd = text ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    if (f && f->fd >= 0) {
        size_t n = strlen(text), n_blanks = -n % 4; /* a whole number of words */
        uint32_t words[2] = {nl_little32(VERSION), nl_little32((uint32_t)(n + n_blanks))};
        struct iovec parts[] = {{"NLSLICES", 8}, {words, sizeof words}, {text, n}, {"   ", n_blanks}};
        if (append(f, parts, 4) == 0) {
            free(text);
            *file = f;
            return 0;
        }
    }
    int why = errno;
    free(text);
    nd_slices_close(f);
    errno = why;
    return -1;
}

/* Two sums by which damage is found: of the words, and of the words times their number. */
static void add_words(uint32_t sums[2], uint32_t *number, const uint32_t *words, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        sums[0] += words[i];
        sums[1] += words[i] * ++*number;
    }
}

static uint32_t low_word(int64_t v) { return (uint32_t)((uint64_t)v & UINT32_MAX); }
static uint32_t high_word(int64_t v) { return (uint32_t)((uint64_t)v >> 32); }

int nd_slices_write(struct nd_slices *s) {
    const struct nd_step *step = s->step;
    uint32_t words[BLOCK_WORDS] = {0,
                                   (uint32_t)step->config,
                                   (uint32_t)(step->level + 1),
                                   (uint32_t)step->order,
                                   s->flags,
                                   low_word(step->pair),
                                   high_word(step->pair),
                                   low_word(s->start_ns),
                                   high_word(s->start_ns),
                                   (uint32_t)s->n_per_slice,
                                   (uint32_t)s->n};
    uint32_t number = 0;
    int64_t n = s->n;
    if (n == 0) return 0;
    add_words(&words[SUMS_AT], &number, words + 1, SUMS_AT - 1);
    add_words(&words[SUMS_AT], &number, s->ns, n);
    for (int i = 0; i < BLOCK_WORDS; i++)
        words[i] = nl_little32(words[i]);
    for (int64_t i = 0; i < n; i++)
        s->ns[i] = nl_little32(s->ns[i]);
    memcpy(words, "SLCE", 4);
    struct iovec parts[] = {{words, sizeof words}, {s->ns, (size_t)n * sizeof *s->ns}};
    s->n = 0;
    return append(s->file, parts, 2);
}

void nd_slices_close(struct nd_slices_file *f) {
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    free(f);
}
