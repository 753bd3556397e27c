/* An LD_PRELOAD library that fails one call: NL_FAULT=CALL:N:ERRNO fails the Nth call of that function in
 * each process with that errno, and then makes the file NL_FAULT_HIT, so that it is known whether there were
 * so many. With NL_FAULT_PROGRAM only calls of programs of that name count, not those of libraries; with
 * NL_FAULT_ON=FILE only those since that file is there. SQLite tests itself in this way
 * (sqlite.org/testing.html, 3.2). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static struct {
    char call[32];
    int number, error;
    const char *hit, *on;
    int only_program;
} fault;
static atomic_int n_calls;

__attribute__((constructor)) static void read_fault(void) {
    const char *text = getenv("NL_FAULT");
    if (!text || sscanf(text, "%31[^:]:%d:%d", fault.call, &fault.number, &fault.error) != 3)
        fault.number = 0;
    fault.hit = getenv("NL_FAULT_HIT");
    fault.on = getenv("NL_FAULT_ON");
    fault.only_program = getenv("NL_FAULT_PROGRAM") != NULL;
}

/* Whether this call is the one; errno is set then. */
static int fails_for(const char *call, const void *caller) {
    Dl_info info;
    if (fault.number == 0 || strcmp(call, fault.call) != 0) return 0;
    if (fault.only_program && (!dladdr(caller, &info) || !strstr(info.dli_fname, getenv("NL_FAULT_PROGRAM"))))
        return 0;
    if (fault.on && access(fault.on, F_OK)) return 0;
    if (atomic_fetch_add(&n_calls, 1) + 1 != fault.number) return 0;
    if (fault.hit) {
        long fd = ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(SYS_openat, AT_FDCWD, fault.hit,
                                                                     O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (fd >= 0) close((int)fd);
    }
    errno = fault.error;
    return 1;
}

#define fails(call) fails_for(call, __builtin_return_address(0))
#define NEXT(name)  ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list arguments) {
    return flags & O_CREAT ? (mode_t)va_arg(arguments, int) : 0;
}

#define WRAP_OPEN(name)                                                                                      \
    int name(const char *path, int flags, ...) {                                                             \
        va_list arguments;                                                                                   \
        va_start(arguments, flags);                                                                          \
        mode_t mode = mode_of(flags, arguments);                                                             \
        va_end(arguments);                                                                                   \
        return fails("open") ? -1 : NEXT(name)(path, flags, mode);                                           \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

/* what a fortified open() becomes */
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags) { return fails("open") ? -1 : NEXT(__open_2)(path, flags); }

FILE *fopen(const char *path, const char *mode) { return fails("fopen") ? NULL : NEXT(fopen)(path, mode); }
FILE *fopen64(const char *path, const char *mode) {
    return fails("fopen") ? NULL : NEXT(fopen64)(path, mode);
}
ssize_t write(int fd, const void *data, size_t n) { return fails("write") ? -1 : NEXT(write)(fd, data, n); }
int fflush(FILE *file) { return fails("fflush") ? EOF : NEXT(fflush)(file); }
int fclose(FILE *file) {
    int is_failing = fails("fclose"), rc = NEXT(fclose)(file);
    if (is_failing) errno = fault.error;
    return is_failing ? EOF : rc;
}
int fsync(int fd) { return fails("fsync") ? -1 : NEXT(fsync)(fd); }
int rename(const char *from, const char *to) { return fails("rename") ? -1 : NEXT(rename)(from, to); }
int mkdir(const char *path, mode_t mode) { return fails("mkdir") ? -1 : NEXT(mkdir)(path, mode); }
int rmdir(const char *path) { return fails("rmdir") ? -1 : NEXT(rmdir)(path); }
pid_t fork(void) { return fails("fork") ? -1 : NEXT(fork)(); }
int kill(pid_t pid, int signal) { return fails("kill") ? -1 : NEXT(kill)(pid, signal); }
int pipe2(int ends[2], int flags) { return fails("pipe") ? -1 : NEXT(pipe2)(ends, flags); }
void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    return fails("mmap") ? MAP_FAILED : NEXT(mmap)(at, n, protection, flags, fd, offset);
}

/* glibc's own names: dlsym itself allocates */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);
void *malloc(size_t n) { return fails("malloc") ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails("malloc") ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t n) {
    return fails("malloc") || fails("realloc") ? NULL : __libc_realloc(old, n);
}

/* pidfd_open, pidfd_send_signal, perf_event_open */
long syscall(long number, ...) {
    va_list arguments;
    long a[6];
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    const char *name = number == SYS_pidfd_open          ? "pidfd"
                       : number == SYS_pidfd_send_signal ? "signal"
                       : number == SYS_perf_event_open   ? "perf"
                                                         : "";
    return *name && fails(name) ? -1 : NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* NL_FAULT_STEP=SECONDS:FILE: somebody sets the clock by so many seconds when that file is made */
int clock_gettime(clockid_t clock, struct timespec *t) {
    const char *step = getenv("NL_FAULT_STEP"), *file = step ? strchr(step, ':') : NULL;
    int rc = (int)NEXT(syscall)(SYS_clock_gettime, clock, t);
    if (file && clock == CLOCK_REALTIME && rc == 0 && access(file + 1, F_OK) == 0) t->tv_sec += atoi(step);
    return rc;
}
