/* disk: appends a block to a file and waits until it is on the disk. The file's name is gone at once, so
 * nothing is left behind. */
#include "noisegen/kinds/kinds.h"
#include "common/base/nl_rng.h"

enum { BLOCK = 4096, MAX_BYTES = 16 << 20 };

struct disk_state {
    int folder, file;
    off_t n_bytes, most_bytes; /* the file has, and may have */
    int error;
    int is_gone;    /* the folder was removed */
    char name[128]; /* of the folder, cut short when it is long */
    uint64_t block[BLOCK / sizeof(uint64_t)];
};

static void clean_up(void *state) {
    struct disk_state *s = state;
    if (s->folder >= 0) close(s->folder);
    if (s->file >= 0) close(s->file);
}

/* -1 with errno. */
static int open_file(int folder) {
    char name[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, ".noiselab-gen.%ld.%d", (long)getpid(), i);
        int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0) {
            unlinkat(folder, name, 0);
            return fd;
        }
        if (errno != EEXIST) return -1;
    }
    return -1;
}

/* What the file may grow to: beyond a limit of this process the kernel would kill it. */
static off_t most_bytes(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= MAX_BYTES)
        return MAX_BYTES;
    return (off_t)limit.rlim_cur / BLOCK * BLOCK;
}

static int open_all(struct disk_state *s, const char *folder, char *reason, size_t reason_size) {
    s->most_bytes = most_bytes();
    if (s->most_bytes < BLOCK)
        return nl_say(reason, reason_size, "files may not grow to %d bytes (ulimit -f)", BLOCK);
    s->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->folder < 0 && errno == ENOENT)
        return nl_say(reason, reason_size, "--kind: folder: '%s' does not exist", folder);
    if (s->folder < 0 && errno == ENOTDIR)
        return nl_say(reason, reason_size, "--kind: folder: '%s' is not a folder", folder);
    if (s->folder < 0) return nl_say(reason, reason_size, "--kind: folder: cannot open '%s': %m", folder);
    s->file = open_file(s->folder);
    if (s->file < 0) return nl_say(reason, reason_size, "--kind: folder: '%s' is not writable: %m", folder);
    snprintf(s->name, sizeof s->name, "%s", folder);
    return 0;
}

static int prepare(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size) {
    struct disk_state *s = state;
    s->folder = s->file = -1;
    uint64_t seed = 0; /* any: what counts is that a file system cannot compress the block away */
    for (size_t i = 0; i < sizeof s->block / sizeof *s->block; i++)
        s->block[i] = nl_splitmix64(&seed);
    if (!options->folder || !options->folder[0])
        return nl_say(reason, reason_size, "--kind: folder is missing: where shall it write?");
    return open_all(s, options->folder, reason, reason_size);
}

static int64_t work(void *state) {
    struct disk_state *s = state;
    struct stat about;
    /* a file without a name can be written to when its folder is long gone, but whoever removed the folder
     * wants us to end */
    if (fstat(s->folder, &about) == 0 && about.st_nlink == 0) {
        s->is_gone = 1;
        return -1;
    }
    if (s->n_bytes + BLOCK > s->most_bytes) {
        if (ftruncate(s->file, 0)) goto fail;
        s->n_bytes = 0;
    }
    ssize_t n = pwrite(s->file, s->block, BLOCK, s->n_bytes);
    if (n < 0 && errno == EINTR) return 0;
    if (n < 0) goto fail;
    s->n_bytes += n;
    if (n < BLOCK) return 0; /* the disk is nearly full, and the next write will say so */
    if (fdatasync(s->file)) goto fail;
    return 1;
fail:
    s->error = errno;
    return -1;
}

static const char *failure(const void *state, char *text, size_t size) {
    const struct disk_state *s = state;
    if (s->is_gone)
        snprintf(text, size, "the folder '%s' is gone", s->name);
    else
        snprintf(text, size, "cannot write in '%s': %s", s->name, strerror(s->error));
    return text;
}

const struct ng_kind ng_kind_disk = {
    .name = "disk",
    .help = "appends 4 KiB to a file and waits until it is on the disk",
    .unit = "writes",
    .needs = "a folder (folder=DIR)",
    .period_ns = 1000000000,
    .uses = NG_USES_FOLDER,
    .state_bytes = sizeof(struct disk_state),
    .prepare = prepare,
    .work = work,
    .failure = failure,
    .clean_up = clean_up,
};
