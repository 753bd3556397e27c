#include "detector/ops/buffers.h"

const char *const nd_buffer_use_names[] = {[ND_BUFFER_REUSE] = "reuse", [ND_BUFFER_ROTATE] = "rotate", [ND_BUFFER_FLUSH] = "flush", NULL};
const char *const nd_pages_names[] = {[ND_PAGES_DEFAULT] = "default", [ND_PAGES_SMALL] = "small", [ND_PAGES_HUGE] = "huge", NULL};
const char *const nd_first_touch_names[] = {[ND_TOUCH_OWN] = "own", [ND_TOUCH_FIRST] = "first", NULL};

enum { DEFAULT_ALIGNMENT_BYTES = 4096, MAX_CPUS = 8192 /* the kernel's own upper limit on x86 */ };
#define HUGE_PAGE_BYTES (INT64_C(2) << 20)
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

/* ---- sizes --------------------------------------------------------------------------------------------------------------------------- */

/* A line of /sys/devices/system/cpu/cpuN/cache/indexM/; returns 0 or -1. */
static int read_cache_file(int cpu, int index, const char *name, char *line, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index, name);
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    int rc = fgets(line, (int)size, f) ? 0 : -1;
    fclose(f);
    return rc;
}

int64_t nd_buffers_cache_bytes(void) {
    char level[32], size[32], unit;
    long long n_bytes;
    int cpu = sched_getcpu(), last_level = 0;
    int64_t bytes = 0;
    for (int index = 0; read_cache_file(cpu < 0 ? 0 : cpu, index, "level", level, sizeof level) == 0; index++) {
        if (atoi(level) <= last_level || read_cache_file(cpu < 0 ? 0 : cpu, index, "size", size, sizeof size)) continue;
        if (sscanf(size, "%lld%c", &n_bytes, &unit) != 2 || n_bytes <= 0) continue;
        last_level = atoi(level);
        bytes = n_bytes * (unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1);
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

static int64_t page_bytes(void) { return sysconf(_SC_PAGESIZE); }

static int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* Where buffers may begin: at multiples of `unit_bytes` plus `shift_bytes`. An alignment below a page is kept exactly: a buffer for
 * which 64 bytes are asked must not, by the way the memory is cut, be aligned to 4096. */
struct grid { int64_t unit_bytes, shift_bytes; };

static struct grid grid_of(const struct nd_buffer_options *o) {
    int64_t alignment_bytes = o->alignment_bytes ? o->alignment_bytes : DEFAULT_ALIGNMENT_BYTES, page = page_bytes();
    if (alignment_bytes < page) return (struct grid){page, alignment_bytes};
    return (struct grid){alignment_bytes, 0};
}

static int64_t slot_bytes(const struct grid *g, int64_t bytes) { return round_up(g->shift_bytes + bytes, g->unit_bytes); }

int64_t nd_buffers_memory_bytes(const struct nd_buffer_options *o, int64_t set_bytes) {
    struct grid g = grid_of(o);
    /* what lies between buffers is never touched, and takes memory only where it shares a page with one; the kernel may be set to give huge
     * pages unasked */
    int64_t page = o->pages == ND_PAGES_SMALL ? page_bytes() : HUGE_PAGE_BYTES;
    int64_t lost_bytes = g.unit_bytes + g.shift_bytes;
    if (lost_bytes > 2 * page) lost_bytes = 2 * page;
    int64_t walk_bytes = o->use == ND_BUFFER_FLUSH && !FLUSHES_BY_LINE ? 2 * nd_buffers_cache_bytes() : 0;
    return nd_buffers_sets(o, set_bytes) * (set_bytes + 2 * lost_bytes + 2 * (int64_t)sizeof(void *)) + 2 * page + walk_bytes;
}

/* ---- first touch --------------------------------------------------------------------------------------------------------------------- */

/* Moves the calling thread to the first CPU that its cgroup allows, which may be outside of its binding; `before` gets what it was bound
 * to. */
static int move_to_first_cpu(cpu_set_t *before, cpu_set_t *wanted, size_t set_bytes) {
    CPU_ZERO_S(set_bytes, before);
    if (sched_getaffinity(0, set_bytes, before)) return -1;
    /* the kernel cuts a mask down to what is allowed: asking for everything tells what that is */
    memset(wanted, 0xFF, set_bytes);
    if (sched_setaffinity(0, set_bytes, wanted)) return -1;
    CPU_ZERO_S(set_bytes, wanted);
    if (sched_getaffinity(0, set_bytes, wanted)) return -1;
    size_t first = 0;
    while (first < MAX_CPUS && !CPU_ISSET_S(first, set_bytes, wanted)) first++;
    CPU_ZERO_S(set_bytes, wanted);
    CPU_SET_S(first, set_bytes, wanted);
    return sched_setaffinity(0, set_bytes, wanted);
}

static void touch_all(const struct nd_buffers *b) {
    for (int i = 0; i < b->n_sets; i++) {
        memset(b->send[i], 0, (size_t)b->send_bytes);
        memset(b->receive[i], 0, (size_t)b->receive_bytes);
    }
    if (b->walk) memset(b->walk, 0, b->walk_bytes);
}

static int touch_on_first_cpu(const struct nd_buffers *b) {
    size_t set_bytes = CPU_ALLOC_SIZE(MAX_CPUS);
    cpu_set_t *before = CPU_ALLOC(MAX_CPUS), *wanted = CPU_ALLOC(MAX_CPUS);
    int rc = -1;
    if (!before || !wanted) goto out;
    CPU_ZERO_S(set_bytes, before);
    rc = move_to_first_cpu(before, wanted, set_bytes);
    if (rc == 0) touch_all(b);
    /* a rank that stays elsewhere would measure something else: that is a failure, too */
    if (CPU_COUNT_S(set_bytes, before) && sched_setaffinity(0, set_bytes, before)) rc = -1;
out:
    CPU_FREE(before);
    CPU_FREE(wanted);
    return rc;
}

/* ---- sets ---------------------------------------------------------------------------------------------------------------------------- */

/* Reserves address space; pages come with the first touch. NULL when there is none. */
static void *reserve(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void lay_out(struct nd_buffers *b, const struct grid *g, int64_t begin_unit_bytes) {
    char *at = (char *)round_up((intptr_t)b->memory, begin_unit_bytes);
    for (int i = 0; i < b->n_sets; i++) {
        b->send[i] = at + g->shift_bytes;
        at += slot_bytes(g, b->send_bytes);
        b->receive[i] = at + g->shift_bytes;
        at += slot_bytes(g, b->receive_bytes);
    }
}

int nd_buffers_open(struct nd_buffers *b, const struct nd_buffer_options *o, int64_t send_bytes, int64_t receive_bytes) {
    *b = (struct nd_buffers){.send_bytes = send_bytes > 0 ? send_bytes : 1, .receive_bytes = receive_bytes > 0 ? receive_bytes : 1};
    struct grid g = grid_of(o);
    int n_sets = nd_buffers_sets(o, send_bytes + receive_bytes);
    /* huge pages begin where 2 MiB begin; the first buffer does so, the others follow closely */
    int64_t begin_unit_bytes = o->pages == ND_PAGES_HUGE && g.unit_bytes < HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : g.unit_bytes;
    int64_t set_bytes = slot_bytes(&g, b->send_bytes) + slot_bytes(&g, b->receive_bytes), all_bytes;
    if (__builtin_mul_overflow(set_bytes, (int64_t)n_sets, &all_bytes) ||
        __builtin_add_overflow(all_bytes, 2 * begin_unit_bytes, &all_bytes))
        return -1;

    b->memory_bytes = (size_t)round_up(all_bytes, begin_unit_bytes);
    b->memory = reserve(b->memory_bytes);
    b->send = calloc((size_t)n_sets, sizeof *b->send);
    b->receive = calloc((size_t)n_sets, sizeof *b->receive);
    if (!b->memory || !b->send || !b->receive) goto failed;
    /* advice: a kernel built without huge pages refuses it, and gives small ones; nd_buffers_huge_bytes tells */
    if (o->pages != ND_PAGES_DEFAULT) madvise(b->memory, b->memory_bytes, o->pages == ND_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    if (o->use == ND_BUFFER_FLUSH && !FLUSHES_BY_LINE) {
        b->walk_bytes = (size_t)(2 * nd_buffers_cache_bytes());
        b->walk = reserve(b->walk_bytes);
        if (!b->walk) goto failed;
    }
    b->n_sets = n_sets;
    lay_out(b, &g, begin_unit_bytes);
    if (o->touch == ND_TOUCH_OWN) touch_all(b);
    if (o->touch == ND_TOUCH_FIRST && touch_on_first_cpu(b)) goto failed;
    return 0;
failed:
    nd_buffers_close(b);
    return -1;
}

int64_t nd_buffers_huge_bytes(const struct nd_buffers *b) {
    char line[256];
    unsigned long long from, to, kib;
    uintptr_t begin = (uintptr_t)b->memory, end = begin + b->memory_bytes;
    int is_ours = 0;
    int64_t huge_bytes = -1;
    FILE *f = fopen("/proc/self/smaps", "r");
    if (!f) return -1;
    /* neighbouring mappings of equal kind are merged by the kernel: then the figure is no more than what we have */
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%llx-%llx ", &from, &to) == 2) is_ours = from < end && to > begin;
        if (is_ours && sscanf(line, "AnonHugePages: %llu kB", &kib) == 1)
            huge_bytes = (huge_bytes < 0 ? 0 : huge_bytes) + (int64_t)kib * 1024;
    }
    fclose(f);
    return huge_bytes > (int64_t)b->memory_bytes ? (int64_t)b->memory_bytes : huge_bytes;
}

#if FLUSHES_BY_LINE
static void flush_buffer(const char *buffer, int64_t bytes) {
    size_t step = line_bytes();
    const char *end = buffer + bytes;
    for (const char *line = (const char *)((uintptr_t)buffer / step * step); line < end; line += step) flush_line(line);
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
    for (size_t i = 0; i < b->walk_bytes; i += 64) walk[i]++;
}
#endif

void nd_buffers_close(struct nd_buffers *b) {
    if (b->memory) munmap(b->memory, b->memory_bytes);
    if (b->walk) munmap(b->walk, b->walk_bytes);
    NL_FREE(b->send, b->receive);
    *b = (struct nd_buffers){0};
}
