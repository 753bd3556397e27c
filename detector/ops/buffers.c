#include "detector/ops/buffers.h"

const char *const nd_buffer_use_names[] = {
    [ND_BUFFER_REUSE] = "reuse", [ND_BUFFER_ROTATE] = "rotate", [ND_BUFFER_FLUSH] = "flush", NULL};

enum { ALIGNMENT_BYTES = 4096 };
#define HUGE_PAGE_BYTES     (INT64_C(2) << 20)
#define UNKNOWN_CACHE_BYTES (INT64_C(32) << 20)

/* How lines are evicted. -DND_FLUSH_BY_WALK takes the way of the other architectures everywhere. */
#if defined(__x86_64__) && !defined(ND_FLUSH_BY_WALK)
#define FLUSHES_BY_LINE 1
static size_t line_bytes(void) { return 64; }
static void flush_line(const char *line) { __builtin_ia32_clflush(line); }
static void flush_fence(void) { __builtin_ia32_mfence(); }
#elif defined(__aarch64__) && !defined(ND_FLUSH_BY_WALK)
#define FLUSHES_BY_LINE 1
static size_t line_bytes(void) {
    uint64_t ctr; /* bits 19..16: log2 of the words in the smallest data cache line */
    __asm__("mrs %0, ctr_el0" : "=r"(ctr));
    return (size_t)4 << (ctr >> 16 & 15);
}
static void flush_line(const char *line) { __asm__ volatile("dc civac, %0" : : "r"(line) : "memory"); }
static void flush_fence(void) { __asm__ volatile("dsb ish" : : : "memory"); }
#else
#define FLUSHES_BY_LINE 0
#endif

/* What a file of the cache holds by a format of two values; returns how many there were. */
static int read_cache_file(int cpu, int index, const char *name, int64_t *value, char *unit) {
    char path[128], line[32] = "";
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index, name);
    FILE *f = fopen(path, "r");
    if (f && !fgets(line, sizeof line, f)) line[0] = '\0';
    if (f) fclose(f);
    return sscanf(line, "%" SCNd64 "%c", value, unit);
}

int64_t nd_buffers_cache_bytes(void) {
    char unit = 0;
    int cpu = sched_getcpu();
    int64_t bytes = 0, size, level, last_level = 0;
    if (cpu < 0) cpu = 0;
    for (int index = 0; read_cache_file(cpu, index, "level", &level, &unit) > 0; index++) {
        if (level <= last_level || read_cache_file(cpu, index, "size", &size, &unit) != 2 || size <= 0)
            continue;
        last_level = level;
        bytes = size * (unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1);
    }
    if (bytes <= 0) bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? bytes : UNKNOWN_CACHE_BYTES;
}

int nd_buffers_sets(const struct nd_buffer_options *o, int64_t set_bytes) {
    if (o->n_sets) return o->n_sets;
    if (o->use != ND_BUFFER_ROTATE) return 1;
    int64_t n = 2 * nd_buffers_cache_bytes() / (set_bytes > 0 ? set_bytes : 1) + 1;
    return n < 2 ? 2 : n > ND_BUFFERS_MOST_SETS ? ND_BUFFERS_MOST_SETS : (int)n;
}

/* What a buffer takes of the memory. */
static int64_t slot_bytes(int64_t bytes) {
    return (bytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
}

int64_t nd_buffers_memory_bytes(const struct nd_buffer_options *o, int64_t set_bytes) {
    int64_t walk_bytes = o->use == ND_BUFFER_FLUSH && !FLUSHES_BY_LINE ? 2 * nd_buffers_cache_bytes() : 0;
    /* the kernel may be set to give huge pages unasked */
    int64_t one_bytes = set_bytes + 2 * ALIGNMENT_BYTES + 2 * (int64_t)sizeof(void *);
    return nd_buffers_sets(o, set_bytes) * one_bytes + 2 * HUGE_PAGE_BYTES + walk_bytes;
}

/* Reserves address space; pages come with the first touch. NULL when there is none. */
static void *reserve(size_t bytes) {
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Says where each begins, and touches it. */
static void lay_out(struct nd_buffers *b) {
    char *at = b->memory;
    for (int i = 0; i < b->n_sets; i++) {
        b->send[i] = memset(at, 0, (size_t)b->send_bytes);
        at += slot_bytes(b->send_bytes);
        b->receive[i] = memset(at, 0, (size_t)b->receive_bytes);
        at += slot_bytes(b->receive_bytes);
    }
    if (b->walk) memset(b->walk, 0, b->walk_bytes);
}

int nd_buffers_open(struct nd_buffers *b, const struct nd_buffer_options *o, int64_t send_bytes,
                    int64_t receive_bytes) {
    *b = (struct nd_buffers){.send_bytes = send_bytes > 0 ? send_bytes : 1,
                             .receive_bytes = receive_bytes > 0 ? receive_bytes : 1};
    int n_sets = nd_buffers_sets(o, send_bytes + receive_bytes);
    int64_t all_bytes;
    if (__builtin_mul_overflow(slot_bytes(b->send_bytes) + slot_bytes(b->receive_bytes), (int64_t)n_sets,
                               &all_bytes))
        return -1;
    b->memory_bytes = (size_t)all_bytes;
    b->memory = reserve(b->memory_bytes);
    b->send = calloc((size_t)n_sets, sizeof *b->send);
    b->receive = calloc((size_t)n_sets, sizeof *b->receive);
    if (o->use == ND_BUFFER_FLUSH && !FLUSHES_BY_LINE) {
        b->walk_bytes = (size_t)(2 * nd_buffers_cache_bytes());
        b->walk = reserve(b->walk_bytes);
    }
    if (!b->memory || !b->send || !b->receive || (b->walk_bytes && !b->walk)) {
        nd_buffers_close(b);
        return -1;
    }
    b->n_sets = n_sets;
    lay_out(b);
    return 0;
}

#if FLUSHES_BY_LINE
static void flush_buffer(const char *buffer, int64_t bytes) {
    size_t step = line_bytes();
    const char *end = buffer + bytes;
    for (const char *line = (const char *)((uintptr_t)buffer / step * step); line < end; line += step)
        flush_line(line);
}

void nd_buffers_flush(const struct nd_buffers *b) {
    flush_fence();
    flush_buffer(b->send[b->current], b->send_bytes);
    flush_buffer(b->receive[b->current], b->receive_bytes);
    flush_fence();
}
#else
/* Writes as well as reads: a cache that keeps what was written last must let go of the buffers, too. */
void nd_buffers_flush(const struct nd_buffers *b) {
    volatile char *walk = b->walk;
    for (size_t i = 0; i < b->walk_bytes; i += 64)
        walk[i]++;
}
#endif

void nd_buffers_close(struct nd_buffers *b) {
    if (b->memory) munmap(b->memory, b->memory_bytes);
    if (b->walk) munmap(b->walk, b->walk_bytes);
    NL_FREE(b->send, b->receive);
    *b = (struct nd_buffers){0};
}
