#include "common/page/nl_page.h"

static void *map(int fd, size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *nl_page_create(const char *name, uint32_t magic, size_t size, int *fd) {
    int f = memfd_create(name, 0);
    if (f < 0) return NULL;
    struct nl_page *page = ftruncate(f, (off_t)size) == 0 ? map(f, size) : NULL;
    if (!page) {
        close(f);
        return NULL;
    }
    page->magic = magic;
    page->size_bytes = (uint32_t)size;
    *fd = f;
    return page;
}

void *nl_page_attach(int fd, uint32_t magic, size_t size) {
    struct stat st;
    if (fstat(fd, &st) || st.st_size != (off_t)size) return NULL;
    struct nl_page *page = map(fd, size);
    if (page && (page->magic != magic || page->size_bytes != size)) {
        munmap(page, size);
        return NULL;
    }
    return page;
}

void nl_page_unmap(void *page) {
    if (page) munmap(page, ((struct nl_page *)page)->size_bytes);
}
