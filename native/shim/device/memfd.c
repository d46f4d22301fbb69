/* Memory files (memfd.h). */
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

/* In 32 bits the program needs room, too. */
static const uint64_t largest_arena = sizeof(void *) == 4 ? (uint64_t)512 << 20 : (uint64_t)16 << 30;
static const uint64_t smallest_arena = (uint64_t)64 << 20;
static const uint64_t open_step = (uint64_t)64 << 20;

static struct store *stores;
static struct store *arena;
static struct store *views;

/* The first `open` bytes are accessible. */
static struct store *adopt(int fd, uint64_t size, uint64_t open) {
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
    struct store *const store = map == MAP_FAILED ? NULL : calloc(1, sizeof *store);
    if (!store) {
        if (map != MAP_FAILED) {
            REAL(munmap)(map, size);
        }
        return NULL;
    }
    madvise(map, size, MADV_DONTDUMP);
    *store = (struct store){.next = stores,
                            .refs = 1,
                            .fd = fd,
                            .shared_out = true,
                            .size = size,
                            .open = open,
                            .map = map,
                            .device = status.st_dev,
                            .inode = status.st_ino};
    stores = store;
    return store;
}

static struct store *create(const char *name, uint64_t size, uint64_t open) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size) {
        errno = EFBIG; /* the system would send a signal */
        return NULL;
    }
    const int fd = descriptor_hide(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd < 0) {
        return NULL;
    }
    struct store *store = NULL;
    if (ftruncate(fd, (off_t)size) == 0 && REAL(fcntl)(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
        store = adopt(fd, size, open);
    }
    if (!store) {
        descriptor_close(fd);
    }
    return store;
}

/* As large as the system lets us. */
static struct store *create_arena(const char *name) {
    for (uint64_t size = largest_arena; size >= smallest_arena; size /= 2) {
        struct store *const store = create(name, size, 0);
        if (store && ranges_init(&store->free, 0, size)) {
            store->shared_out = false;
            return store;
        }
        if (store) {
            store_drop(store);
        }
    }
    return NULL;
}

struct store *store_arena(void) {
    if (!arena) {
        arena = create_arena("gen4emu-arena");
    }
    return arena;
}

struct store *store_views(void) {
    if (!views) {
        views = create_arena("gen4emu-views");
    }
    return views;
}

struct store *store_new(uint64_t size) {
    return create("gen4emu-buffer", size, size);
}

struct store *store_find(int fd) {
    struct stat64 status;
    if (REAL(fstat64)(fd, &status)) {
        return NULL;
    }
    for (struct store *store = stores; store; store = store->next) {
        if (store->inode == status.st_ino && store->device == status.st_dev) {
            return store;
        }
    }
    return NULL;
}

struct store *store_of_descriptor(int fd, uint64_t size) {
    struct store *const known = store_find(fd);
    if (known) {
        return store_keep(known);
    }
    struct stat64 status;
    const int seals = REAL(fcntl)(fd, F_GET_SEALS);
    if (REAL(fstat64)(fd, &status) || (uint64_t)status.st_size < size || seals < 0 || !(seals & F_SEAL_SHRINK)) {
        return NULL; /* somebody could take the memory away under us */
    }
    const int own = descriptor_hide(REAL(fcntl)(fd, F_DUPFD_CLOEXEC, 3));
    struct store *const store = adopt(own, size, size);
    if (!store) {
        descriptor_close(own);
    }
    return store;
}

struct store *store_keep(struct store *store) {
    store->refs++;
    return store;
}

void store_drop(struct store *store) {
    if (--store->refs) {
        return;
    }
    for (struct store **link = &stores; *link; link = &(*link)->next) {
        if (*link == store) {
            *link = store->next;
            break;
        }
    }
    REAL(munmap)(store->map, store->size);
    descriptor_close(store->fd);
    ranges_destroy(&store->free);
    free(store);
}

/* What was never allocated stays out of reach: a leak checker that read all of the arena would fill it. */
static bool open_up_to(struct store *store, uint64_t end) {
    if (end <= store->open) {
        return true;
    }
    const uint64_t stepped = (end + open_step - 1) / open_step * open_step;
    const uint64_t wanted = stepped < store->size ? stepped : store->size;
    if (mprotect(store->map + store->open, (size_t)(wanted - store->open), PROT_READ | PROT_WRITE)) {
        return false;
    }
    store->open = wanted;
    return true;
}

uint64_t store_take(struct store *store, uint64_t size) {
    const uint64_t offset = ranges_take(&store->free, size, 4096, 0);
    if (offset != RANGES_NONE && !open_up_to(store, offset + size)) {
        ranges_give(&store->free, offset, size);
        return RANGES_NONE;
    }
    return offset;
}

void store_give(struct store *store, uint64_t offset, uint64_t size) {
    if (store->shared_out) {
        return;
    }
    if (fallocate(store->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size) == 0) {
        ranges_give(&store->free, offset, size);
    }
}

void store_after_fork(void) {
    for (struct store *store = stores; store; store = store->next) {
        store->shared_out = true;
    }
    arena = NULL;
    views = NULL;
}
