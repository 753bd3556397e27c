#include "common/sys/nl_whole.h"

enum { EXCHANGE = 1 << 1 /* RENAME_EXCHANGE of linux/fs.h */ };

static void beside(const struct nl_whole *w, char path[NL_WHOLE_BYTES + 8]) {
    snprintf(path, NL_WHOLE_BYTES + 8, "%s.new", w->path);
}

int nl_whole_open(struct nl_whole *w, const char *path, mode_t mode) {
    char new[NL_WHOLE_BYTES + 8];
    w->f = NULL;
    if (snprintf(w->path, sizeof w->path, "%s", path) >= (int)sizeof w->path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    beside(w, new);
    unlink(new);
    int fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0) return -1;
    if ((w->f = fdopen(fd, "w"))) return 0;
    int error = errno;
    close(fd);
    unlink(new);
    errno = error;
    return -1;
}

/* Without it the new name may be lost in a crash, and the old one is back: whoever wants more than "old or
 * new" cannot have it where a file system has no fsync of folders. */
static void bring_folder_to_disk(const char *path) {
    char folder[NL_WHOLE_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

/* EINVAL: a file system that cannot. */
static int bring_to_disk(FILE *f) {
    return fflush(f) || ferror(f) || (fsync(fileno(f)) && errno != EINVAL) ? -1 : 0;
}

/* Whether it is still the file that was opened: another writer of the same name began anew. */
static int is_ours(FILE *f, const char *new) {
    struct stat here, there;
    if (fstat(fileno(f), &here) || lstat(new, &there)) return 0;
    if (here.st_dev == there.st_dev && here.st_ino == there.st_ino) return 1;
    errno = EBUSY;
    return 0;
}

/* File systems write a file to the disk when it takes the name of another one (ext4: auto_da_alloc), in the
 * time of who renames it. They do not where the two change names, and the old one goes then. */
static int put_in_place_of_another(const char *new, const char *path) {
    struct stat status;
    if (lstat(path, &status) || !S_ISREG(status.st_mode) ||
        syscall(SYS_renameat2, AT_FDCWD, new, AT_FDCWD, path, EXCHANGE))
        return rename(new, path); /* there is none, or this file system has no such thing */
    unlink(new);
    return 0;
}

static int put_in_place(struct nl_whole *w, int is_bad, int is_lasting) {
    char new[NL_WHOLE_BYTES + 8];
    FILE *f = w->f;
    if (!f) return -1;
    w->f = NULL;
    beside(w, new);
    int error = errno, rc = is_bad ? -1 : 0;
    if (rc == 0 && (rc = is_lasting ? bring_to_disk(f) : fflush(f) || ferror(f) ? -1 : 0)) error = errno;
    int may_remove = is_ours(f, new);
    if (!may_remove && rc == 0) rc = -1, error = errno;
    if (fclose(f) && rc == 0) rc = -1, error = errno;
    if (rc == 0 && (rc = is_lasting ? rename(new, w->path) : put_in_place_of_another(new, w->path)))
        error = errno;
    if (rc == 0) {
        if (is_lasting) bring_folder_to_disk(w->path);
        return 0;
    }
    if (may_remove) unlink(new);
    errno = error;
    return -1;
}

int nl_whole_close(struct nl_whole *w, int is_bad) { return put_in_place(w, is_bad, 1); }

int nl_whole_replace(struct nl_whole *w, int is_bad) { return put_in_place(w, is_bad, 0); }

int nl_read(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0, got = fd < 0 ? -1 : 0;
    while (fd >= 0 && n + 1 < (ssize_t)size && (got = read(fd, text + n, size - 1 - (size_t)n)) > 0)
        n += got;
    int error = errno;
    if (fd >= 0) close(fd);
    text[n] = '\0';
    errno = error;
    return got < 0 ? -1 : (int)n;
}

const char *nl_read_line(const char *path, char *text, size_t size) {
    nl_read(path, text, size);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

size_t nl_read_fd(int fd, char *text, size_t size, int64_t patience_ns) {
    size_t n = 0;
    int64_t deadline_ns = nl_mono_ns() + patience_ns;
    while (n + 1 < size) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left_ns = deadline_ns - nl_mono_ns();
        if (left_ns <= 0 || (poll(&p, 1, (int)(left_ns / 1000000) + 1) < 0 && errno != EINTR)) break;
        ssize_t got = p.revents ? read(fd, text + n, size - 1 - n) : 0;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 || (got == 0 && p.revents)) break;
        n += (size_t)got;
    }
    text[n] = '\0';
    return n;
}
