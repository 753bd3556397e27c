/* pagefault: minor faults, each a page that is found, cleared and mapped, and unmapped again a few pages at a
 * time. Where several threads of this program run the kind, the unmapping also interrupts the CPUs on which
 * the others are running at that moment. */
#include "noisegen/kinds/kinds.h"

/* Unmapping costs a system call, and this many faults share it; more would make every so-many-th quantum
 * long. */
enum { N_PAGES = 16 };

struct pagefault_state {
    unsigned char *pages;
    size_t page_bytes;
    size_t next; /* page to touch */
};

static int prepare(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size) {
    (void)options;
    struct pagefault_state *s = state;
    s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *pages =
        mmap(NULL, N_PAGES * s->page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return nl_say(reason, reason_size, "cannot map %d pages: %m", N_PAGES);
    madvise(pages, N_PAGES * s->page_bytes,
            MADV_NOHUGEPAGE); /* a huge page would be one fault for all; a kernel without them says no */
    s->pages = pages;
    return 0;
}

static int64_t work(void *state) {
    struct pagefault_state *s = state;
    *(volatile unsigned char *)(s->pages + s->next * s->page_bytes) = 1;
    if (++s->next == N_PAGES) {
        s->next = 0;
        if (madvise(s->pages, N_PAGES * s->page_bytes, MADV_DONTNEED)) return -1;
    }
    return 1;
}

static const char *failure(const void *state, char *text, size_t size) {
    (void)state;
    (void)text;
    (void)size;
    return "the system refuses to unmap pages";
}

static void clean_up(void *state) {
    struct pagefault_state *s = state;
    if (s->pages) munmap(s->pages, N_PAGES * s->page_bytes);
}

const struct ng_kind ng_kind_pagefault = {
    .name = "pagefault",
    .help = "minor page faults in anonymous memory",
    .unit = "faults",
    .period_ns = 10000000,
    .state_bytes = sizeof(struct pagefault_state),
    .prepare = prepare,
    .work = work,
    .failure = failure,
    .clean_up = clean_up,
};
