/*
 * Finds reads of depths that are only in a hierarchical depth buffer: a program, or its driver, forgot to resolve it.
 * Surfaces that are read through the hierarchical depth buffer get them here.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "color/state.h"

/* A read of a stale image in the current draw. */
struct stale_read {
    atomic_bool happened;
    _Atomic g4_address state; /* the address of a SURFACE_STATE; 0: the depth test */
};

struct g4_hiz_watch {
    struct g4_surface_watch surfaces; /* first: points to the whole */
    struct g4_mem *mem;
    uint32_t gen;
    pthread_mutex_t filling;
    struct g4_hiz_watch_image seen;
    struct stale_read read[G4_HIZ_WATCHED]; /* of each image */
};

/* ---- staleness ---- */

static bool is_stale(const struct g4_hiz_watch *watch, const struct g4_hiz_watched *image) {
    struct g4_port port;

    g4_port_init(&port, watch->mem, G4_UNIT_CC, false);
    port.quiet = true;

    for (uint32_t y = 0; y < image->height; y += G4_HIZ_HEIGHT) {
        for (uint32_t x = 0; x < image->width; x += G4_HIZ_WIDTH) {
            struct g4_hiz_group group = {.inside = g4_hiz_inside(image->width - x, image->height - y)};
            const g4_address address = g4_hiz_address(image->entries, image->entries_pitch_bytes,
                                                      image->column + x / G4_HIZ_WIDTH, image->row + y / G4_HIZ_HEIGHT);
            (void)g4_mem_read(&port, address, &group.entry, sizeof group.entry);
            if (g4_hiz_is_stale(&group)) {
                return true;
            }
        }
    }
    return false;
}

static void note_read(struct g4_hiz_watch *watch, uint32_t index, g4_address state) {
    struct stale_read *const read = &watch->read[index];

    if (!atomic_load(&read->happened) && is_stale(watch, &watch->seen.image[index])) {
        atomic_store(&read->state, state);
        atomic_store(&read->happened, true);
    }
}

/* ---- surfaces ---- */

/* Whether a view of a surface includes the image. */
static bool shows(const struct g4_surface *surface, const struct g4_hiz_watched *image) {
    return surface->present && surface->base == image->base && surface->pitch == image->pitch_bytes &&
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
    for (uint32_t i = 0; i < watch->seen.images; i++) {
        if (shows(surface, &watch->seen.image[i])) {
            note_read(watch, i, surface->address);
        }
    }
}

/* ---- draws ---- */

static bool is_image(const struct g4_hiz_watched *image, const struct g4_depth *depth) {
    return image->base == depth->surface.base && image->level == depth->surface.mip_count_or_lod &&
           image->slice == depth->surface.minimum_array_element;
}

/* Forget images whose memory has another use now. */
static void forget_overlaid(struct g4_hiz_watch *watch, const struct g4_depth *depth) {
    for (uint32_t i = 0; i < watch->seen.images; i++) {
        struct g4_hiz_watched *const image = &watch->seen.image[i];
        const bool same = image->base == depth->surface.base;
        const bool same_entries = image->entries == depth->hiz.base;
        if (depth->hiz.present && (same != same_entries || (same && image->pitch_bytes != depth->surface.pitch))) {
            image->height = 0;
        }
    }
}

void g4_hiz_watch_draw(struct g4_hiz_watch *watch, const struct g4_depth *depth) {
    struct g4_hiz_watch_image *const seen = &watch->seen;
    const struct g4_hiz_buffer *const hiz = &depth->hiz;
    uint32_t found = G4_HIZ_WATCHED;

    forget_overlaid(watch, depth);
    for (uint32_t i = 0; i < seen->images; i++) {
        if (is_image(&seen->image[i], depth)) {
            found = i;
        }
    }
    if (!hiz->present) {
        if (found < G4_HIZ_WATCHED) {
            note_read(watch, found, 0);
        }
        return;
    }
    if (found == G4_HIZ_WATCHED) {
        found = seen->next;
        seen->next = (seen->next + 1) % G4_HIZ_WATCHED;
        seen->images += seen->images < G4_HIZ_WATCHED;
    }
    seen->image[found] = (struct g4_hiz_watched){
        .base = depth->surface.base,
        .entries = hiz->base,
        .pitch_bytes = depth->surface.pitch,
        .entries_pitch_bytes = hiz->pitch_bytes,
        .level = depth->surface.mip_count_or_lod,
        .slice = depth->surface.minimum_array_element,
        .column = hiz->column,
        .row = hiz->row,
        .width = hiz->width,
        .height = hiz->height,
    };
}

void g4_hiz_watch_collect(struct g4_hiz_watch *watch, struct g4_report_log *log) {
    for (uint32_t i = 0; i < watch->seen.images; i++) {
        struct stale_read *const read = &watch->read[i];
        if (atomic_exchange(&read->happened, false)) {
            g4_report(log, G4_EVENT_STALE_DEPTH, atomic_load(&read->state), (uint32_t)watch->seen.image[i].base);
        }
    }
}

void g4_hiz_watch_save(const struct g4_hiz_watch *watch, struct g4_hiz_watch_image *image) {
    *image = watch->seen;
}

void g4_hiz_watch_load(struct g4_hiz_watch *watch, const struct g4_hiz_watch_image *image) {
    watch->seen = *image;
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
