#define _GNU_SOURCE
#include "shim/device/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

struct memfd *memfd_new(uint64_t size) {
    return create("gen4emu-buffer", size, size);
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

uint64_t memfd_alloc(struct memfd *memfd, uint64_t size) {
    const uint64_t offset = ranges_take(&memfd->free, size, 4096, 0);
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
    if (fallocate(memfd->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size) == 0) {
        ranges_give(&memfd->free, offset, size);
    }
}

void memfd_after_fork(void) {
    for (struct memfd *memfd = memfds; memfd; memfd = memfd->next) {
        memfd->shared_out = true;
    }
    arena = NULL;
    views = NULL;
}
