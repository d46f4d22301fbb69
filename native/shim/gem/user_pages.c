#define _GNU_SOURCE
#include "shim/gem/user_pages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shim/base/real.h"
#include "shim/base/user.h"

struct user_pages {
    struct user_pages *next;
    unsigned refs;
    bool is_lent; /* a memfd of the program, which keeps it */
    struct memfd *memfd;
    uint64_t start, size; /* where the program has mapped all of it */
};

static struct user_pages *all;

/* ---- /proc/self/maps ---- */

/* A part of a range that is mapped in one way. */
struct area {
    uint64_t start, end;
    uint64_t offset; /* in the file */
    uint64_t inode;
    dev_t device;
    int protection;
    bool shared;
};

struct areas {
    struct area *items;
    size_t count, capacity;
};

/* The text of the file; NULL: no memory, or it cannot be read. */
static char *read_maps(void) {
    const int fd = REAL(open)("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t capacity = 1 << 16;
    size_t size = 0;
    ssize_t got = -1;
    char *text = fd < 0 ? NULL : malloc(capacity);
    while (text && (got = read(fd, text + size, capacity - size - 1)) > 0) {
        size += (size_t)got;
        if (capacity - size < capacity / 2) {
            char *const larger = realloc(text, 2 * capacity);
            if (!larger) {
                got = -1;
                break;
            }
            text = larger;
            capacity *= 2;
        }
    }
    if (fd >= 0) {
        REAL(close)(fd);
    }
    if (got < 0) {
        free(text);
        return NULL;
    }
    if (text) {
        text[size] = 0;
    }
    return text;
}

/* "START-END rwxp OFFSET MAJOR:MINOR INODE PATH", all but the inode hexadecimal. */
static bool parse(const char *line, struct area *area) {
    char *at;
    area->start = strtoull(line, &at, 16);
    if (*at != '-') {
        return false;
    }
    area->end = strtoull(at + 1, &at, 16);
    if (strnlen(at, 6) < 6) {
        return false;
    }
    area->protection =
        (at[1] == 'r' ? PROT_READ : 0) | (at[2] == 'w' ? PROT_WRITE : 0) | (at[3] == 'x' ? PROT_EXEC : 0);
    area->shared = at[4] == 's';
    area->offset = strtoull(at + 5, &at, 16);
    const unsigned device = (unsigned)strtoul(at, &at, 16);
    if (*at != ':') {
        return false;
    }
    area->device = makedev(device, (unsigned)strtoul(at + 1, &at, 16));
    area->inode = strtoull(at, &at, 10);
    return area->start < area->end;
}

/* The mapped parts of a range, in order, cut to it.  False: unknown. */
static bool find_areas(uint64_t start, uint64_t end, struct areas *areas) {
    char *const text = read_maps();
    bool fine = text != NULL;
    *areas = (struct areas){0};
    for (const char *line = text; fine && line && *line;) {
        struct area area;
        const char *const next = strchr(line, '\n');
        if (parse(line, &area) && area.start < end && area.end > start) {
            if (area.start < start) {
                area.offset += start - area.start;
                area.start = start;
            }
            area.end = area.end < end ? area.end : end;
            if (areas->count == areas->capacity) {
                const size_t capacity = areas->capacity ? 2 * areas->capacity : 16;
                struct area *const larger = realloc(areas->items, capacity * sizeof *larger);
                fine = larger != NULL;
                areas->items = fine ? larger : areas->items;
                areas->capacity = fine ? capacity : areas->capacity;
            }
            if (fine) {
                areas->items[areas->count++] = area;
            }
        }
        line = next ? next + 1 : NULL;
    }
    free(text);
    if (!fine) {
        free(areas->items);
        *areas = (struct areas){0};
    }
    return fine;
}

/* ---- giving pages back ---- */

static bool shows(const struct area *area, const struct user_pages *pages) {
    return area->shared && area->inode == pages->memfd->inode && area->device == pages->memfd->device &&
           area->offset == area->start - pages->start;
}

/* Copy what the program still has mapped to private memory.  Moving it there replaces the mapping at once, so that
 * other threads never see another state.  If memory is short, the mapping stays as it is. */
static void restore(const struct user_pages *pages) {
    struct areas areas;
    if (!find_areas(pages->start, pages->start + pages->size, &areas)) {
        return;
    }
    for (size_t i = 0; i < areas.count; i++) {
        const struct area *const area = &areas.items[i];
        const size_t size = (size_t)(area->end - area->start);
        if (!shows(area, pages)) {
            continue; /* the program has unmapped it: something else may be there by now */
        }
        void *const copy = REAL(mmap)(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (copy == MAP_FAILED) {
            continue;
        }
        memcpy(copy, pages->memfd->map + area->offset, size);
        if (mprotect(copy, size, area->protection) ||
            REAL(mremap)(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, user_pointer(area->start)) == MAP_FAILED) {
            REAL(munmap)(copy, size);
        }
    }
    free(areas.items);
}

static void destroy(struct user_pages *pages) {
    for (struct user_pages **link = &all; *link; link = &(*link)->next) {
        if (*link == pages) {
            *link = pages->next;
            break;
        }
    }
    if (!pages->is_lent) {
        restore(pages);
    }
    memfd_put(pages->memfd);
    free(pages);
}

void user_pages_put(struct user_pages *pages) {
    if (--pages->refs == 0) {
        destroy(pages);
    }
}

/* ---- taking pages ---- */

/* Whether areas cover a range without gaps, and the program may read and write all of them. */
static bool is_whole(const struct areas *areas, uint64_t start, uint64_t end) {
    const int both = PROT_READ | PROT_WRITE;
    uint64_t at = start;
    for (size_t i = 0; i < areas->count; i++) {
        if (areas->items[i].start != at || (areas->items[i].protection & both) != both) {
            return false;
        }
        at = areas->items[i].end;
    }
    return at == end;
}

static bool is_private(const struct areas *areas) {
    bool shared = false;
    for (size_t i = 0; i < areas->count; i++) {
        shared |= areas->items[i].shared;
    }
    return !shared;
}

/* The pages that all areas show already. */
static struct user_pages *find(const struct areas *areas) {
    for (struct user_pages *pages = all; pages; pages = pages->next) {
        size_t shown = 0;
        for (size_t i = 0; i < areas->count; i++) {
            shown += shows(&areas->items[i], pages);
        }
        if (shown == areas->count) {
            return pages;
        }
    }
    return NULL;
}

/* Move the contents of private memory to a new memfd, which is mapped in their place.  What other threads write there
 * in between may be lost. */
static struct user_pages *take(const struct areas *areas, uint64_t start, uint64_t size) {
    struct user_pages *const pages = calloc(1, sizeof *pages);
    struct memfd *const memfd = pages ? memfd_new(size) : NULL;
    if (!memfd) {
        free(pages);
        return NULL;
    }
    *pages = (struct user_pages){.next = all, .refs = 1, .memfd = memfd, .start = start, .size = size};
    all = pages;
    for (size_t i = 0; i < areas->count; i++) {
        const struct area *const area = &areas->items[i];
        const uint64_t offset = area->start - start;
        const size_t length = (size_t)(area->end - area->start);
        if (!user_read(memfd->map + offset, area->start, length) ||
            REAL(mmap)(user_pointer(area->start), length, area->protection, MAP_SHARED | MAP_FIXED, memfd->fd,
                       (off_t)offset) == MAP_FAILED) {
            destroy(pages);
            return NULL;
        }
    }
    return pages;
}

/* A descriptor of the program for the file that an area shows, or -1. */
static int find_descriptor(const struct area *area) {
    DIR *const directory = REAL(opendir)("/proc/self/fd");
    const struct dirent *entry;
    int found = -1;
    while (directory && found < 0 && (entry = readdir(directory)) != NULL) {
        struct stat64 status;
        const int fd = (int)strtol(entry->d_name, NULL, 10); /* 0 for ".", which does no harm */
        if (REAL(fstat64)(fd, &status) == 0 && status.st_ino == area->inode && status.st_dev == area->device) {
            found = fd;
        }
    }
    if (directory) {
        closedir(directory);
    }
    return found;
}

/* Whether a file is one of ours, or a buffer of another process. */
static bool has_buffers(int fd) {
    const struct memfd *const known = memfd_find(fd);
    bool lent = false;
    for (const struct user_pages *pages = all; pages; pages = pages->next) {
        lent |= pages->is_lent && pages->memfd == known;
    }
    return known && !lent;
}

/* The program's own memfd, if the areas show one without gaps.  It is sealed, because pages that the device uses must
 * not disappear. */
static struct user_pages *borrow(const struct areas *areas) {
    const struct area *const first = &areas->items[0];
    const struct user_pages shown = {.start = first->start - first->offset};
    for (size_t i = 0; i < areas->count; i++) {
        const struct area *const area = &areas->items[i];
        if (!area->shared || area->inode != first->inode || area->device != first->device ||
            area->offset != area->start - shown.start) {
            return NULL;
        }
    }
    struct stat64 status;
    const int fd = find_descriptor(first);
    if (fd < 0 || has_buffers(fd) || REAL(fstat64)(fd, &status)) {
        return NULL;
    }
    (void)REAL(fcntl)(fd, F_ADD_SEALS, F_SEAL_SHRINK); /* memfd_of_descriptor() checks the result */
    struct memfd *const memfd = memfd_of_descriptor(fd, (uint64_t)status.st_size);
    struct user_pages *const pages = memfd ? malloc(sizeof *pages) : NULL;
    if (!pages) {
        if (memfd) {
            memfd_put(memfd);
        }
        return NULL;
    }
    *pages = (struct user_pages){
        .next = all, .refs = 1, .is_lent = true, .memfd = memfd, .start = shown.start, .size = memfd->size};
    all = pages;
    return pages;
}

int user_pages_get(uint64_t address, uint64_t size, struct user_pages **pages, uint64_t *offset) {
    const uint64_t end = address + size;
    const uint64_t here = (uintptr_t)__builtin_frame_address(0);
    struct areas areas;

    *pages = NULL;
    if (end < address || end > UINTPTR_MAX || (address <= here && here < end)) {
        return EFAULT;
    }
    if (!find_areas(address, end, &areas)) {
        return ENOMEM;
    }
    int error = is_whole(&areas, address, end) ? 0 : EFAULT;
    if (!error && (*pages = find(&areas)) != NULL) {
        (*pages)->refs++;
    } else if (!error && !is_private(&areas)) {
        *pages = borrow(&areas);
        error = *pages ? 0 : EFAULT;
    } else if (!error) {
        *pages = take(&areas, address, size);
        error = *pages ? 0 : ENOMEM;
    }
    free(areas.items);
    *offset = *pages ? address - (*pages)->start : 0;
    if (*pages && end - (*pages)->start > (*pages)->size) { /* the program has enlarged its file since */
        user_pages_put(*pages);
        *pages = NULL;
        error = EFAULT;
    }
    return error;
}

struct memfd *user_pages_memfd(const struct user_pages *pages) {
    return pages->memfd;
}
