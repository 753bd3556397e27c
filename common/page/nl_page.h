/* A page of shared memory between two processes: memfd, so it has no name in any file system and is gone with
 * the last process. Control pages (nl_control.h, nl_agent.h) are made of it: structures that begin with a
 * `struct nl_page`. */
#pragma once

#include "common/base/nl_usual.h"

/* What every page begins with: both sides must agree on it. */
struct nl_page {
    uint32_t magic;
    uint32_t size_bytes;
};

/* Creates and maps a page, zeroed but for its head; NULL without memory. fd: the memfd, which a started
 * program inherits; name: for /proc/PID/maps. */
void *nl_page_create(const char *name, uint32_t magic, size_t size, int *fd);

/* Maps the page behind an inherited file descriptor; NULL when it is not one of this kind and version. */
void *nl_page_attach(int fd, uint32_t magic, size_t size);

/* NULL is fine. */
void nl_page_unmap(void *page);
