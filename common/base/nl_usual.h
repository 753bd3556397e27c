/* The usual headers of libc, and what it has not, errors and clocks among them. The unusual ones (jansson,
 * hwloc, MPI, the kernel's) are where they are used. */
#pragma once

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/nl_clock.h"
#include "common/base/nl_error.h"

/* Frees each of these; NULL is fine. */
#define NL_NEW(pointer, n)                                                                                   \
    ((pointer) = calloc((size_t)(n), sizeof *(pointer))) /* n of what it points to, zeros; NULL: no memory   \
                                                          */
#define NL_FREE(...) nl_free_all((void *[]){__VA_ARGS__}, sizeof(void *[]){__VA_ARGS__} / sizeof(void *))

static inline void nl_free_all(void *const *them, size_t n) {
    while (n > 0)
        free(them[--n]);
}

/* Room for one more element in an array on the heap that has `n`, of `room` (int). 0, -1 without memory: it
 * stays as it is. */
#define NL_GROW(array, n, room) nl_grow(&(array), n, &(room), sizeof *(array))

static inline int nl_grow(void *array, int n, int *room, size_t size) {
    void *now, *larger;
    if (n < *room) return 0;
    memcpy(&now, array, sizeof now);
    if (!(larger = realloc(now, (2 * (size_t)*room + 16) * size))) return -1;
    memcpy(array, &larger, sizeof larger);
    *room = 2 * *room + 16;
    return 0;
}

/* The folder of this program, without / at its end, into `buf` (PATH_MAX bytes); "" where /proc is not
 * mounted. Returns buf. */
static inline char *nl_own_folder(char *buf) {
    ssize_t n = readlink("/proc/self/exe", buf, PATH_MAX - 1);
    while (n > 0 && buf[n - 1] != '/')
        n--;
    buf[n > 0 ? n - 1 : 0] = '\0';
    return buf;
}

/* The row of that name in a table of pointers to rows, which ends with NULL and whose rows begin with their
 * names. NULL: there is none. */
static inline const void *nl_find(const void *table, const char *name) {
    const char *at = table, *own;
    for (const void *row;; at += sizeof row) {
        memcpy(&row, at, sizeof row);
        if (!row) return NULL;
        memcpy(&own, row, sizeof own);
        if (strcmp(own, name) == 0) return row;
    }
}

/* Holds a mutex until its block is left. */
#define NL_LOCKED(mutex)                                                                                     \
    __attribute__((cleanup(nl_unlock), unused)) pthread_mutex_t *locked_ = (pthread_mutex_lock(mutex), mutex)

static inline void nl_unlock(pthread_mutex_t **mutex) { pthread_mutex_unlock(*mutex); }

/* What qsort takes: NAME orders numbers of a type, or structures of it by a number of theirs, the smallest
 * first. */
#define NL_ORDER(name, type)         NL_ORDER_OF(name, type, *x, *y)
#define NL_ORDER_BY(name, type, key) NL_ORDER_OF(name, type, x->key, y->key)
#define NL_ORDER_OF(name, type, one, other)                                                                  \
    static int name(const void *a, const void *b) {                                                          \
        const type *x = a, *y = b;                                                                           \
        return (one > other) - (one < other);                                                                \
    }

/* Whole numbers in binary files: little-endian on every machine. */

/* A number as it stands in a file; the same function reads it back. */
static inline uint32_t nl_little32(uint32_t v) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(v);
#else
    return v;
#endif
}
