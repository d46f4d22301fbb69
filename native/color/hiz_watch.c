/*
 * Finds reads of depths that are only in a hierarchical depth buffer: a program, or its driver, forgot to resolve it.
 * Surfaces that are read through the hierarchical depth buffer get them here.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "color/state.h"

enum {
    IMAGES = 64, /* that are remembered: the latest ones */
};

/* A slice of one level of a depth buffer. */
struct watched_slice {
    struct g4_surface surface;
    struct g4_pixel_map map;
    struct g4_hiz_buffer hiz;
    uint32_t level, slice;
    atomic_bool was_read;          /* in the current draw, while stale */
    _Atomic g4_address read_state; /* the address of a SURFACE_STATE; 0: the depth test */
};

struct g4_hiz_watch {
    struct g4_surface_watch surfaces; /* first: points to the whole */
    struct g4_mem *mem;
    uint32_t gen;
    pthread_mutex_t filling;
    struct watched_slice image[IMAGES];
    uint32_t images, next;
};

/* ---- staleness ---- */

static bool is_stale(const struct g4_hiz_watch *watch, const struct watched_slice *image) {
    struct g4_port port;

    g4_port_init(&port, watch->mem, G4_UNIT_CC, false);
    port.quiet = true;
    const struct g4_hiz_buffer *const hiz = &image->hiz;

    for (uint32_t y = 0; y < hiz->height; y += G4_HIZ_HEIGHT) {
        for (uint32_t x = 0; x < hiz->width; x += G4_HIZ_WIDTH) {
            struct g4_hiz_group group = {.inside = g4_hiz_inside(hiz->width - x, hiz->height - y)};
            const g4_address address = g4_hiz_address(hiz->base, hiz->pitch_bytes, hiz->column + x / G4_HIZ_WIDTH,
                                                      hiz->row + y / G4_HIZ_HEIGHT);
            (void)g4_mem_read(&port, address, &group.entry, sizeof group.entry);
            if (g4_hiz_is_stale(&group)) {
                return true;
            }
        }
    }
    return false;
}

static void note_read(const struct g4_hiz_watch *watch, struct watched_slice *image, g4_address state) {
    if (!atomic_load(&image->was_read) && is_stale(watch, image)) {
        atomic_store(&image->read_state, state);
        atomic_store(&image->was_read, true);
    }
}

/* ---- surfaces ---- */

/* Whether a view of a surface includes the image. */
static bool shows(const struct g4_surface *surface, const struct watched_slice *image) {
    return surface->present && surface->base == image->surface.base && surface->pitch == image->surface.pitch &&
           surface->tiling == G4_TILING_Y && surface->type != G4_SURFACE_TYPE_SURFTYPE_NULL &&
           surface->type != G4_SURFACE_TYPE_SURFTYPE_BUFFER && image->level >= surface->min_lod &&
           image->level <= surface->min_lod + surface->mip_count_or_lod &&
           (surface->type == G4_SURFACE_TYPE_SURFTYPE_3D || image->slice >= surface->minimum_array_element);
}

static void surface_loaded(struct g4_surface_watch *surfaces, const struct g4_surface *surface) {
    struct g4_hiz_watch *const watch = (struct g4_hiz_watch *)surfaces;

    if (surface->hiz_base) {
        pthread_mutex_lock(&watch->filling); /* another worker's fill ends before this one reads */
        g4_hiz_fill(watch->mem, watch->gen, surface);
        pthread_mutex_unlock(&watch->filling);
        return;
    }
    for (uint32_t i = 0; i < watch->images; i++) {
        if (shows(surface, &watch->image[i])) {
            note_read(watch, &watch->image[i], surface->address);
        }
    }
}

/* ---- draws ---- */

static bool is_image(const struct watched_slice *image, const struct g4_depth *depth) {
    return image->surface.base == depth->surface.base && image->level == depth->surface.mip_count_or_lod &&
           image->slice == depth->surface.minimum_array_element;
}

/* Forget images whose memory has another use now. */
static void forget_overlaid(struct g4_hiz_watch *watch, const struct g4_depth *depth) {
    for (uint32_t i = 0; i < watch->images; i++) {
        struct watched_slice *const image = &watch->image[i];
        const bool same = image->surface.base == depth->surface.base;
        const bool same_entries = image->hiz.base == depth->hiz.base;
        if (depth->hiz.present && (same != same_entries || (same && image->surface.pitch != depth->surface.pitch))) {
            image->hiz.height = 0; /* nothing in it is stale */
        }
    }
}

void g4_hiz_watch_draw(struct g4_hiz_watch *watch, const struct g4_depth *depth) {
    struct watched_slice *found = NULL;

    forget_overlaid(watch, depth);
    for (uint32_t i = 0; i < watch->images; i++) {
        if (is_image(&watch->image[i], depth)) {
            found = &watch->image[i];
        }
    }
    if (!depth->hiz.present) {
        if (found) {
            note_read(watch, found, 0);
        }
        return;
    }
    if (!found) {
        found = &watch->image[watch->next];
        watch->next = (watch->next + 1) % IMAGES;
        watch->images += watch->images < IMAGES;
    }
    found->surface = depth->surface;
    found->map = depth->map;
    found->hiz = depth->hiz;
    found->level = depth->surface.mip_count_or_lod;
    found->slice = depth->surface.minimum_array_element;
}

void g4_hiz_watch_collect(struct g4_hiz_watch *watch, struct g4_report_log *log) {
    for (uint32_t i = 0; i < watch->images; i++) {
        struct watched_slice *const image = &watch->image[i];
        if (atomic_exchange(&image->was_read, false)) {
            g4_report(log, G4_EVENT_STALE_DEPTH, atomic_load(&image->read_state), (uint32_t)image->surface.base);
        }
    }
}

struct g4_hiz_watch *g4_hiz_watch_new(struct g4_mem *mem, uint32_t gen) {
    struct g4_hiz_watch *const watch = calloc(1, sizeof *watch);
    if (watch && pthread_mutex_init(&watch->filling, NULL) != 0) {
        free(watch);
        return NULL;
    }
    if (watch) {
        watch->surfaces.loaded = surface_loaded;
        watch->mem = mem;
        watch->gen = gen;
    }
    return watch;
}

void g4_hiz_watch_free(struct g4_hiz_watch *watch) {
    if (watch) {
        pthread_mutex_destroy(&watch->filling);
    }
    free(watch);
}

struct g4_surface_watch *g4_hiz_watch_surfaces(struct g4_hiz_watch *watch) {
    return watch ? &watch->surfaces : NULL;
}
