/* mutate SEED FROM N FILE PREFIX: writes N mutants of a file, PREFIXi for i from FROM on; the same for the
 * same SEED and i. A dumb mutator: bytes, pieces and words that parsers dislike. */
#include "common/base/nl_rng.h"

enum { MOST_BYTES = 1 << 22, MOST_CHANGES = 6 };

static const char *const words[] = {
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e999",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "NA",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "4294967296",
    "0x7f",
    "1e-320",
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    ",",
    ",,,,",
    "\"",
    "'",
    "\\",
    "%n%s%p",
    "%d",
    "{",
    "}",
    "[",
    "]",
    "[[[[[[[[",
    "null",
    "true",
    "#",
    "../../../../etc/passwd",
    "/dev/zero",
    "-",
    "--",
    "\xff\xfe",
    "\xc3",
    "\xf0\x9f\x92\xa9",
    "$(reboot)",
    "`id`",
    ";",
    "|",
    "&",
    "*",
    "off",
    "on",
    "time",
};
enum { N_WORDS = sizeof words / sizeof *words };

static uint64_t state;

static size_t below(size_t n) { return n ? (size_t)(nl_splitmix64(&state) % n) : 0; }

static char text[MOST_BYTES];
static size_t length;

/* Replaces n bytes at `at` by others. */
static void put_in(size_t at, size_t n, const char *with, size_t n_with) {
    if (at > length) at = length;
    if (n > length - at) n = length - at;
    if (length - n + n_with > sizeof text) return;
    memmove(text + at + n_with, text + at + n, length - at - n);
    memcpy(text + at, with, n_with);
    length += n_with - n;
}

/* The piece between separators around a place: what a parser takes for a value. */
static void piece(size_t *begin, size_t *n) {
    static const char separators[] = ",\t\n :{}[]\"=";
    size_t at = below(length), end = at;
    while (at > 0 && !strchr(separators, text[at - 1]))
        at--;
    while (end < length && !strchr(separators, text[end]))
        end++;
    *begin = at;
    *n = end - at;
}

static void change(void) {
    static char copy[65536];
    size_t at = below(length + 1), n;
    const char *word = words[below(N_WORDS)];
    switch (below(9)) {
    case 0: /* a bit */
        if (at < length) text[at] = (char)(text[at] ^ (1 << below(8)));
        break;
    case 1: /* any byte, NUL as well */
        copy[0] = (char)nl_splitmix64(&state);
        put_in(at, below(2), copy, 1);
        break;
    case 2: put_in(at, 0, word, strlen(word)); break;
    case 3:
    case 4:
        piece(&at, &n);
        put_in(at, n, word, strlen(word));
        break;
    case 5: put_in(at, below(below(2) ? 8 : length + 1), "", 0); break;
    case 6: /* a piece again */
        n = below(below(2) ? 16 : sizeof copy);
        if (n > length - at) n = length - at;
        memcpy(copy, text + at, n);
        put_in(below(length + 1), 0, copy, n);
        break;
    case 7: /* a long run */
        n = below(sizeof copy);
        memset(copy, "0 ,[9x"[below(6)], n);
        put_in(at, 0, copy, n);
        break;
    default: length = at; /* cut off */
    }
}

int main(int argc, char **argv) {
    static char original[MOST_BYTES];
    char path[4096];
    if (argc != 6) {
        fprintf(stderr, "mutate: wanted SEED FROM N FILE PREFIX\n");
        return 2;
    }
    FILE *in = fopen(argv[4], "rb");
    if (!in) {
        perror(argv[4]);
        return 2;
    }
    size_t n_original = fread(original, 1, sizeof original / 2, in);
    fclose(in);
    uint64_t seed = strtoull(argv[1], NULL, 10), from = strtoull(argv[2], NULL, 10),
             n = strtoull(argv[3], NULL, 10);
    for (uint64_t i = from; i < from + n; i++) {
        state = seed * UINT64_C(1000003) + i;
        memcpy(text, original, length = n_original);
        for (size_t c = 1 + below(MOST_CHANGES); c > 0; c--)
            change();
        snprintf(path, sizeof path, "%s%llu", argv[5], (unsigned long long)i);
        FILE *out = fopen(path, "wb");
        if (!out || fwrite(text, 1, length, out) != length || fclose(out)) {
            perror(path);
            return 2;
        }
    }
    return 0;
}
