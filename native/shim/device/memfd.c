#define _GNU_SOURCE
#include "shim/device/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/descriptors.h"
#include "shim/base/real.h"

/* A 32-bit program needs most of its address space for itself. */
static const uint64_t max_arena = sizeof(void *) == 4 ? (uint64_t)512 << 20 : (uint64_t)16 << 30;
static const uint64_t min_arena = (uint64_t)64 << 20;
static const uint64_t open_step = (uint64_t)64 << 20;

static struct memfd *memfds;
static struct memfd *arena;
static struct memfd *views;

/* Freed memory that keeps its pages.  An allocation of the same size takes it again and clears it, in a small part of
 * the time in which the kernel would free the pages, and provide, clear and map others. */
struct kept_block {
    struct memfd *memfd;
    uint64_t offset, size;
};
enum {
    MAX_KEPT_BLOCKS = 256
};
static const uint64_t max_kept_block = (uint64_t)16 << 20;
static const uint64_t max_kept = (uint64_t)256 << 20; /* bytes in all */
static struct kept_block kept[MAX_KEPT_BLOCKS];       /* the oldest first */
static size_t kept_count;
static uint64_t kept_bytes;

/* Map the whole file; the first `open` bytes are accessible. */
static struct memfd *adopt(int fd, uint64_t size, uint64_t open) {
    struct stat64 status;
    if (fd < 0 || REAL(fstat64)(fd, &status)) {
        return NULL;
    }
    if (size > SIZE_MAX) {
        errno = ENOMEM;
        return NULL;
    }
    const int access = open ? PROT_READ | PROT_WRITE : PROT_NONE;
    void *const map = REAL(mmap)(NULL, size, access, MAP_SHARED | MAP_NORESERVE, fd, 0);
    struct memfd *const memfd = map == MAP_FAILED ? NULL : calloc(1, sizeof *memfd);
    if (!memfd) {
        if (map != MAP_FAILED) {
            REAL(munmap)(map, size);
        }
        return NULL;
    }
    madvise(map, size, MADV_DONTDUMP);
    *memfd = (struct memfd){.next = memfds,
                            .refs = 1,
                            .fd = fd,
                            .shared_out = true,
                            .size = size,
                            .open = open,
                            .map = map,
                            .device = status.st_dev,
                            .inode = status.st_ino};
    memfds = memfd;
    return memfd;
}

static struct memfd *create(const char *name, uint64_t size, uint64_t open) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size) {
        errno = EFBIG; /* ftruncate() would raise SIGXFSZ */
        return NULL;
    }
    const int fd = descriptor_hide(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd < 0) {
        return NULL;
    }
    struct memfd *memfd = NULL;
    if (ftruncate(fd, (off_t)size) == 0 && REAL(fcntl)(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
        memfd = adopt(fd, size, open);
    }
    if (!memfd) {
        descriptor_close(fd);
    }
    return memfd;
}

/* The largest size that the system allows. */
static struct memfd *create_arena(const char *name) {
    for (uint64_t size = max_arena; size >= min_arena; size /= 2) {
        struct memfd *const memfd = create(name, size, 0);
        if (memfd && ranges_init(&memfd->free, 0, size)) {
            memfd->shared_out = false;
            return memfd;
        }
        if (memfd) {
            memfd_put(memfd);
        }
    }
    return NULL;
}

struct memfd *memfd_arena(void) {
    if (!arena) {
        arena = create_arena("gen4emu-arena");
    }
    return arena;
}

struct memfd *memfd_views(void) {
    if (!views) {
        views = create_arena("gen4emu-views");
    }
    return views;
}

static const char buffer_name[] = "gen4emu-buffer";

struct memfd *memfd_new(uint64_t size) {
    return create(buffer_name, size, size);
}

uint64_t memfd_buffer_size(int fd) {
    static const char prefix[] = "/memfd:";
    const int seals = REAL(fcntl)(fd, F_GET_SEALS);
    struct stat64 status;
    char link[32], path[64];
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || REAL(fstat64)(fd, &status)) {
        return 0; /* most descriptors, by one system call */
    }
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = REAL(readlink)(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    const bool ours = strncmp(path, prefix, sizeof prefix - 1) == 0 &&
                      strncmp(path + sizeof prefix - 1, buffer_name, sizeof buffer_name - 1) == 0;
    return ours ? (uint64_t)status.st_size : 0;
}

struct memfd *memfd_find(int fd) {
    struct stat64 status;
    if (REAL(fstat64)(fd, &status)) {
        return NULL;
    }
    for (struct memfd *memfd = memfds; memfd; memfd = memfd->next) {
        if (memfd->inode == status.st_ino && memfd->device == status.st_dev) {
            return memfd;
        }
    }
    return NULL;
}

struct memfd *memfd_of_descriptor(int fd, uint64_t size) {
    struct memfd *const known = memfd_find(fd);
    if (known) {
        return memfd_get(known);
    }
    struct stat64 status;
    const int seals = REAL(fcntl)(fd, F_GET_SEALS);
    if (REAL(fstat64)(fd, &status) || (uint64_t)status.st_size < size || seals < 0 || !(seals & F_SEAL_SHRINK)) {
        return NULL; /* its owner could shrink it while it is mapped */
    }
    const int own = descriptor_hide(REAL(fcntl)(fd, F_DUPFD_CLOEXEC, 3));
    struct memfd *const memfd = adopt(own, size, size);
    if (!memfd) {
        descriptor_close(own);
    }
    return memfd;
}

struct memfd *memfd_get(struct memfd *memfd) {
    memfd->refs++;
    return memfd;
}

void memfd_put(struct memfd *memfd) {
    if (--memfd->refs) {
        return;
    }
    for (struct memfd **link = &memfds; *link; link = &(*link)->next) {
        if (*link == memfd) {
            *link = memfd->next;
            break;
        }
    }
    REAL(munmap)(memfd->map, memfd->size);
    descriptor_close(memfd->fd);
    ranges_destroy(&memfd->free);
    free(memfd);
}

/* Memory that was never allocated stays inaccessible: a leak checker that read the whole arena would populate it. */
static bool open_up_to(struct memfd *memfd, uint64_t end) {
    if (end <= memfd->open) {
        return true;
    }
    const uint64_t stepped = (end + open_step - 1) / open_step * open_step;
    const uint64_t wanted = stepped < memfd->size ? stepped : memfd->size;
    if (mprotect(memfd->map + memfd->open, (size_t)(wanted - memfd->open), PROT_READ | PROT_WRITE)) {
        return false;
    }
    memfd->open = wanted;
    return true;
}

/* Free the pages. */
static void release(struct memfd *memfd, uint64_t offset, uint64_t size) {
    if (fallocate(memfd->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size) == 0) {
        ranges_give(&memfd->free, offset, size);
    }
}

static struct kept_block remove_kept(size_t at) {
    const struct kept_block block = kept[at];
    kept_count--;
    memmove(&kept[at], &kept[at + 1], (kept_count - at) * sizeof kept[0]);
    kept_bytes -= block.size;
    return block;
}

static void release_oldest(void) {
    const struct kept_block block = remove_kept(0);
    release(block.memfd, block.offset, block.size);
}

void memfd_release_kept(void) {
    while (kept_count) {
        release_oldest();
    }
}

/* Clear a block without touching pages that it does not have. */
static bool clear(const struct kept_block *block) {
    const off64_t end = (off64_t)(block->offset + block->size);
    for (off64_t at = (off64_t)block->offset; at < end;) {
        const off64_t data = REAL(lseek64)(block->memfd->fd, at, SEEK_DATA);
        if (data < 0 || data >= end) {
            return data >= 0 || errno == ENXIO; /* the rest of the file is a hole */
        }
        const off64_t hole = REAL(lseek64)(block->memfd->fd, data, SEEK_HOLE);
        if (hole < 0) {
            return false;
        }
        at = hole < end ? hole : end;
        memset(block->memfd->map + data, 0, (size_t)(at - data));
    }
    return true;
}

/* A cleared block of this size, or RANGES_NONE. */
static uint64_t take_kept(const struct memfd *memfd, uint64_t size) {
    for (size_t i = kept_count; i-- > 0;) {
        if (kept[i].memfd == memfd && kept[i].size == size) {
            const struct kept_block block = remove_kept(i);
            if (clear(&block)) {
                return block.offset;
            }
            release(block.memfd, block.offset, size);
        }
    }
    return RANGES_NONE;
}

uint64_t memfd_alloc(struct memfd *memfd, uint64_t size) {
    uint64_t offset = take_kept(memfd, size);
    if (offset != RANGES_NONE) {
        return offset;
    }
    offset = ranges_take(&memfd->free, size, 4096, 0);
    if (offset == RANGES_NONE) {
        memfd_release_kept();
        offset = ranges_take(&memfd->free, size, 4096, 0);
    }
    if (offset != RANGES_NONE && !open_up_to(memfd, offset + size)) {
        ranges_give(&memfd->free, offset, size);
        return RANGES_NONE;
    }
    return offset;
}

void memfd_free(struct memfd *memfd, uint64_t offset, uint64_t size) {
    if (memfd->shared_out) {
        return;
    }
    if (size > max_kept_block) {
        release(memfd, offset, size);
        return;
    }
    while (kept_count == MAX_KEPT_BLOCKS || kept_bytes + size > max_kept) {
        release_oldest();
    }
    kept[kept_count++] = (struct kept_block){memfd, offset, size};
    kept_bytes += size;
}

void memfd_after_fork(void) {
    for (struct memfd *memfd = memfds; memfd; memfd = memfd->next) {
        memfd->shared_out = true;
    }
    arena = NULL;
    views = NULL;
    kept_count = 0;
    kept_bytes = 0;
}
