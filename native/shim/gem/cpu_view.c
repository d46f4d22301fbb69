#define _GNU_SOURCE
#include "shim/gem/cpu_view.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "core/tile_copy.h"
#include "core/tiling.h"
#include "shim/base/descriptors.h"
#include "shim/base/real.h"
#include "shim/base/user.h"

extern const struct g4_tile_copy g4_tile_copy_plain;

struct cpu_view {
    struct memfd *memfd;
    uint64_t offset;
    uint8_t *linear; /* mapped by the program */
    uint8_t *known;  /* copy of `linear` as of the last comparison */
    uint8_t *band;   /* buffer for one row of tiles */
    uint64_t band_size;
};

enum {
    PAGE = 4096,
    GRAIN = 16
};

/* --- pages that the program has touched --- */

/* After MADV_DONTNEED a page is absent from the page table until the program touches it: an absent page is unchanged
 * and needs no comparison.  The kernel also removes pages under memory pressure, but those are not resident either.
 *
 * Only pages found unchanged are dropped: faulting a page in costs more than comparing it, and a page that has changed
 * is likely to change again. */
enum {
    PAGEMAP_PRESENT_BIT = 63,
    PAGEMAP_SWAPPED_BIT = 62,
    CHUNK = 512
};
static int pagemap = -1;
static bool pagemap_tried;

void cpu_view_after_fork(void) {
    descriptor_close(pagemap); /* it shows the parent's memory */
    pagemap = -1;
    pagemap_tried = false;
}

static bool have_pagemap(void) {
    if (!pagemap_tried) {
        pagemap_tried = true;
        pagemap = descriptor_hide(REAL(open)("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    }
    return pagemap >= 0;
}

static bool have_swap(void) {
    struct sysinfo info;
    return sysinfo(&info) != 0 || info.totalswap != 0;
}

/* Find out which of `count` pages at `address` the program may have changed; false: unknown. */
static bool find_touched(uintptr_t address, const uint8_t *linear, uint32_t count, bool *touched) {
    uint64_t entries[CHUNK];
    const ssize_t size = (ssize_t)(count * sizeof entries[0]);
    if (pread(pagemap, entries, (size_t)size, (off_t)(address / PAGE * sizeof entries[0])) != size) {
        return false;
    }
    unsigned char resident[CHUNK];
    memset(resident, 1, count);
    if (have_swap() && mincore((void *)linear, (size_t)count * PAGE, resident)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        touched[i] =
            entries[i] >> PAGEMAP_PRESENT_BIT & 1 || entries[i] >> PAGEMAP_SWAPPED_BIT & 1 || !(resident[i] & 1);
    }
    return true;
}

/* Drop the marked pages of `count` from the page table. */
static void drop_pages(uintptr_t address, const bool *marked, uint32_t count) {
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i;
        while (end < count && marked[end]) {
            end++;
        }
        if (end > i) {
            (void)madvise(user_pointer(address + (uint64_t)i * PAGE), (size_t)(end - i) * PAGE, MADV_DONTNEED);
        }
        i = end + 1;
    }
}

static uint64_t lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t band_size(const struct gem_object *object) {
    return (uint64_t)object->pitch * g4_tile_height(object->tiling);
}

/* --- buffer to view --- */

/* Detile one row of tiles.  The rest of a buffer after the last whole row of tiles is not tiled. */
static void read_band(const struct gem_object *object, const uint8_t *tiles, uint8_t *rows) {
    const uint32_t width = g4_tile_width(object->tiling);
    const struct g4_tile_box whole = {0, width, 0, g4_tile_height(object->tiling)};
    for (uint32_t x = 0; x < object->pitch; x += width) {
        g4_tile_copy_plain.read[object->tiling](rows + x, object->pitch, tiles, &whole, 0);
        tiles += PAGE;
    }
}

static bool same_grain(const uint8_t *a, const uint8_t *b) {
    uint64_t x[2], y[2];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

/* Update only the grains that the GPU has changed: the program may be writing the others right now.  Sizes of buffers
 * and of rows of tiles are multiples of the grain. */
static void update_view(struct cpu_view *view, uint64_t offset, const uint8_t *rows, uint64_t size) {
    uint8_t *const known = view->known + offset;
    uint8_t *const linear = view->linear + offset;
    if (memcmp(known, rows, size) == 0) {
        return;
    }
    for (uint64_t at = 0; at < size; at += GRAIN) {
        if (!same_grain(known + at, rows + at)) {
            memcpy(known + at, rows + at, GRAIN);
            memcpy(linear + at, rows + at, GRAIN);
        }
    }
}

void cpu_view_refresh(struct gem_object *object) {
    struct cpu_view *const view = object->view;
    object->used = false;
    if (!view || !object->tiling) {
        return;
    }
    const uint8_t *const memory = gem_object_memory(object);
    const uint64_t size = view->band_size;
    uint64_t at = 0;
    for (; at + size <= object->size; at += size) {
        read_band(object, memory + at, view->band);
        update_view(view, at, view->band, size);
    }
    update_view(view, at, memory + at, object->size - at);
}

void cpu_view_sync(struct gem_object *object) {
    if (object->view && object->used) {
        cpu_view_write_back(object);
        cpu_view_refresh(object);
    }
}

/* --- view to buffer --- */

/* Copy the bytes start..end of the view, all in one row, into the tiled buffer. */
static void write_row(const struct gem_object *object, uint8_t *memory, const uint8_t *linear, uint64_t start,
                      uint64_t end) {
    const uint32_t width = g4_tile_width(object->tiling);
    const uint32_t height = g4_tile_height(object->tiling);
    const uint32_t y = (uint32_t)(start / object->pitch);
    uint32_t x = (uint32_t)(start % object->pitch);
    const uint32_t last = x + (uint32_t)(end - start);
    while (x < last) {
        const uint32_t left = x / width * width;
        const uint32_t next = (uint32_t)lesser(left + width, last);
        const struct g4_tile_box box = {x - left, next - left, y % height, y % height + 1};
        uint8_t *const tile = memory + g4_surface_offset(object->tiling, object->pitch, left, y / height * height);
        g4_tile_copy_plain.write[object->tiling](tile, linear + start, object->pitch, &box, 0);
        start += next - x;
        x = next;
    }
}

static void write_span(const struct gem_object *object, const uint8_t *linear, uint64_t start, uint64_t end) {
    uint8_t *const memory = gem_object_memory(object);
    const uint64_t band = object->view->band_size;
    const uint64_t tiled = object->size / band * band;
    while (start < end) {
        if (start >= tiled) {
            memcpy(memory + start, linear + start, end - start);
            return;
        }
        const uint64_t row_end = lesser((start / object->pitch + 1) * object->pitch, end);
        write_row(object, memory, linear, start, row_end);
        start = row_end;
    }
}

/* Write the changed grains of one page back. */
static void write_back_page(struct gem_object *object, uint64_t page) {
    struct cpu_view *const view = object->view;
    for (uint64_t at = page; at < page + PAGE;) {
        if (same_grain(view->linear + at, view->known + at)) {
            at += GRAIN;
            continue;
        }
        const uint64_t start = at;
        while (at < page + PAGE && !same_grain(view->linear + at, view->known + at)) {
            memcpy(view->known + at, view->linear + at, GRAIN);
            at += GRAIN;
        }
        write_span(object, view->known, start, at);
    }
}

/* Write the changed pages among the marked ones of `count` back, and clear their marks. */
static void write_back_pages(struct gem_object *object, uint64_t start, bool *marked, uint32_t count) {
    const struct cpu_view *const view = object->view;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t page = start + (uint64_t)i * PAGE;
        if (marked[i] && memcmp(view->linear + page, view->known + page, PAGE) != 0) {
            marked[i] = false;
            write_back_page(object, page);
        }
    }
}

void cpu_view_write_back(struct gem_object *object) {
    const struct cpu_view *const view = object->view;
    if (!view || !object->tiling) {
        return;
    }
    const bool narrow = object->gtt_address && have_pagemap();
    const uint64_t start = narrow ? object->gtt_offset : 0;
    const uint64_t end = narrow ? start + object->gtt_length : object->size;
    for (uint64_t at = start; at < end; at += (uint64_t)CHUNK * PAGE) {
        bool marked[CHUNK];
        const uint32_t count = (uint32_t)lesser(CHUNK, (end - at) / PAGE);
        const uintptr_t address = object->gtt_address + (uintptr_t)(at - start);
        const bool known = narrow && find_touched(address, view->linear + at, count, marked);
        if (!known) {
            memset(marked, 1, sizeof marked);
        }
        write_back_pages(object, at, marked, count);
        if (known) {
            drop_pages(address, marked, count);
            write_back_pages(object, at, marked, count); /* writes between the comparison and madvise() */
        }
    }
}

/* --- life --- */

static struct cpu_view *create(const struct gem_object *object) {
    struct memfd *const memfd = memfd_views();
    const uint64_t offset = memfd ? memfd_alloc(memfd, object->size) : RANGES_NONE;
    if (offset == RANGES_NONE) {
        return NULL;
    }
    struct cpu_view *const view = calloc(1, sizeof *view);
    uint8_t *const band = malloc(band_size(object));
    uint8_t *const known =
        REAL(mmap)(NULL, object->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!view || !band || known == MAP_FAILED) {
        if (known != MAP_FAILED) {
            REAL(munmap)(known, object->size);
        }
        free(band);
        free(view);
        memfd_free(memfd, offset, object->size);
        return NULL;
    }
    *view = (struct cpu_view){.memfd = memfd_get(memfd),
                              .offset = offset,
                              .linear = memfd->map + offset,
                              .known = known,
                              .band = band,
                              .band_size = band_size(object)};
    return view;
}

struct memfd *cpu_view_memfd(struct gem_object *object) {
    if (!object->view) {
        object->view = create(object);
        cpu_view_refresh(object);
    }
    return object->view ? object->view->memfd : NULL;
}

uint64_t cpu_view_offset(const struct gem_object *object) {
    return object->view->offset;
}

struct cpu_view *cpu_view_detach(struct gem_object *object) {
    struct cpu_view *const view = object->view;
    object->view = NULL;
    return view;
}

void cpu_view_free(const struct gem_object *object, struct cpu_view *view) {
    if (!view) {
        return;
    }
    REAL(munmap)(view->known, object->size);
    memfd_free(view->memfd, view->offset, object->size);
    memfd_put(view->memfd);
    free(view->band);
    free(view);
}

void cpu_view_destroy(struct gem_object *object) {
    cpu_view_free(object, cpu_view_detach(object));
}
