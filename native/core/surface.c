/*
 * Surfaces: binding table entry, SURFACE_STATE, and where levels and slices lie (965 PRM vol. 4, 4.7.1 and 4.7.2).
 */
#include "core/surface.h"

#include <stdlib.h>

enum {
    SLOTS = 512,  /* of the hash table, a power of two */
    BLOCK = 32,   /* surfaces allocated at once */
    BLOCKS = 128, /* at most; beyond that the pool is reused */
    LEVEL_LIMIT = 31,
    STATE_DWORDS = 16, /* at most */
    ROW_UNIT = 64,     /* texels that levels in one row are aligned to */
};

struct surface_entry {
    struct g4_surface surface;
    g4_address surface_state_base, binding_table;
    uint32_t index;
    struct surface_entry *next; /* in the same slot */
};

/* Entries do not move until the cache is reset, so callers may keep pointers to them. */
struct g4_surface_cache {
    uint32_t epoch;
    uint32_t used;
    uint32_t slot_epoch[SLOTS]; /* a slot of another epoch is empty */
    struct surface_entry *slot[SLOTS];
    struct surface_entry *block[BLOCKS];
    struct surface_entry spare; /* used if the host has no memory left */
};

struct g4_surface_cache *g4_surface_cache_new(void) {
    struct g4_surface_cache *const cache = calloc(1, sizeof *cache);
    if (cache) {
        cache->epoch = 1;
    }
    return cache;
}

void g4_surface_cache_free(struct g4_surface_cache *cache) {
    if (!cache) {
        return;
    }
    for (int i = 0; i < BLOCKS; i++) {
        free(cache->block[i]);
    }
    free(cache);
}

void g4_surface_cache_reset(struct g4_surface_cache *cache) {
    cache->used = 0;
    if (++cache->epoch == 0) {
        memset(cache->slot_epoch, 0, sizeof cache->slot_epoch);
        cache->epoch = 1;
    }
}

static struct surface_entry *take_entry(struct g4_surface_cache *cache) {
    if (cache->used == BLOCK * BLOCKS) {
        g4_surface_cache_reset(cache);
    }
    struct surface_entry **const block = &cache->block[cache->used / BLOCK];
    if (!*block) {
        *block = malloc(BLOCK * sizeof **block);
        if (!*block) {
            return NULL;
        }
    }
    return &(*block)[cache->used++ % BLOCK];
}

void g4_surface_load(struct g4_surface *surface, const struct g4_context *ctx, struct g4_port *port,
                     g4_address surface_state_base, g4_address binding_table, uint32_t index) {
    const g4_address entry_address = (binding_table & ~(g4_address)3) + 4 * index;
    const struct g4_surface_loader *const loader = ctx->model->surfaces;
    uint32_t dw[STATE_DWORDS] = {0};

    memset(surface, 0, sizeof *surface);
    surface->format = &g4_formats[0];
    surface->type = G4_SURFACE_TYPE_SURFTYPE_NULL;
    surface->unit_width = surface->unit_height = 1;
    const bool entry_present = g4_mem_ptr(port->mem, entry_address) != NULL;
    g4_mem_touch(port, entry_address, 4);
    const uint32_t entry = g4_mem_read32(port, entry_address); /* a missing entry is in the port's log */
    if (!entry_present || !loader) {                           /* without one only the EUs of the part are modelled */
        return;
    }
    surface->address = surface_state_base + loader->state_offset(entry);
    const size_t size = ctx->model->chip->surface_state_dwords * sizeof *dw;
    const bool state_present = g4_mem_ptr(port->mem, surface->address) != NULL;
    (void)g4_mem_read(port, surface->address, dw, size);
    if (state_present) {
        loader->unpack(dw, ctx->gen, surface);
        surface->present = true;
    }
    if (ctx->surface_watch) {
        ctx->surface_watch->loaded(ctx->surface_watch, surface);
    }
}

const struct g4_surface *g4_surface_get(struct g4_surface_cache *cache, const struct g4_context *ctx,
                                        struct g4_port *port, g4_address surface_state_base, g4_address binding_table,
                                        uint32_t index) {
    const uint32_t hash = (uint32_t)(binding_table >> 5 ^ binding_table >> 14) + index;
    const uint32_t slot = hash % SLOTS;

    if (cache->slot_epoch[slot] == cache->epoch) {
        for (struct surface_entry *e = cache->slot[slot]; e; e = e->next) {
            if (e->index == index && e->binding_table == binding_table && e->surface_state_base == surface_state_base) {
                return &e->surface;
            }
        }
    }
    struct surface_entry *const e = take_entry(cache);
    if (!e) {
        g4_surface_load(&cache->spare.surface, ctx, port, surface_state_base, binding_table, index);
        return &cache->spare.surface;
    }
    g4_surface_load(&e->surface, ctx, port, surface_state_base, binding_table, index);
    e->surface_state_base = surface_state_base;
    e->binding_table = binding_table;
    e->index = index;
    e->next = cache->slot_epoch[slot] == cache->epoch ? cache->slot[slot] : NULL;
    cache->slot[slot] = e;
    cache->slot_epoch[slot] = cache->epoch;
    return &e->surface;
}

/* ---- layout ---- */

/* The units levels are aligned to, and a block of a compressed format or one texel, in texels. */
struct alignment_unit {
    uint32_t width, height;
    uint32_t block_width, block_height;
};

static struct alignment_unit unit_of(const struct g4_surface *surface) {
    const bool compressed = g4_format_is_compressed(surface->format);
    return (struct alignment_unit){surface->unit_width, surface->unit_height,
                                   compressed ? surface->format->block_width : 1,
                                   compressed ? surface->format->block_height : 1};
}

/* Level 1 below level 0, level 2 beside it, the others below that one; or all in a second column. */
static void place_2d(const struct g4_surface *surface, struct alignment_unit unit, uint32_t level,
                     struct g4_level *out) {
    const bool right = surface->miptree_layout == G4_MIP_MAP_LAYOUT_MODE_RIGHT;
    const uint32_t first_beside = right ? 1 : 2;

    if (level >= first_beside) {
        out->x = g4_align(g4_minify(surface->width, first_beside - 1), unit.width);
    }
    if (level >= 1 && !right) {
        out->y = g4_align(surface->height, unit.height);
    }
    for (uint32_t l = first_beside; l < level; l++) {
        out->y += g4_align(g4_minify(surface->height, l), unit.height);
    }
    out->slice_dy = surface->element_rows;
    out->depth = surface->depth;
}

/* Levels one after the other; array elements are further on in the same row. */
static void place_in_row(const struct g4_surface *surface, uint32_t level, struct g4_level *out) {
    for (uint32_t l = 0; l < level; l++) {
        out->x += g4_align(g4_minify(surface->width, l), ROW_UNIT);
    }
    out->slice_dx = surface->element_rows;
    out->slice_mask = UINT32_MAX;
    out->slice_shift = 31;
    out->depth = surface->depth;
}

/* Slices lie side by side, 2^level of them in a row; a cube is a volume of six slices at every level. */
static void place_3d(const struct g4_surface *surface, struct alignment_unit unit, uint32_t level,
                     struct g4_level *out) {
    const bool cube = surface->type == G4_SURFACE_TYPE_SURFTYPE_CUBE;

    for (uint32_t l = 0; l < level; l++) {
        const uint32_t slices = cube ? 6 : g4_minify(surface->depth, l);
        const uint32_t rows = (slices + (UINT32_C(1) << l) - 1) >> l;
        out->y += g4_align(g4_minify(surface->height, l), unit.height) * rows;
    }
    out->slice_dx = g4_align(out->width, unit.width);
    out->slice_dy = g4_align(out->height, unit.height);
    out->slice_shift = level;
    out->slice_mask = (UINT32_C(1) << level) - 1;
    out->depth = cube ? 6 : g4_minify(surface->depth, level);
}

void g4_surface_level(const struct g4_surface *surface, uint32_t level, struct g4_level *out) {
    const struct alignment_unit unit = unit_of(surface);

    level = level > LEVEL_LIMIT - 1 ? LEVEL_LIMIT - 1 : level;
    memset(out, 0, sizeof *out);
    out->width = g4_minify(surface->width, level);
    out->height = g4_minify(surface->height, level);
    if (surface->levels_in_row) {
        place_in_row(surface, level, out);
    } else if (surface->slices_are_elements) {
        place_2d(surface, unit, level, out);
        out->depth = g4_minify(surface->depth, level);
    } else if (surface->type == G4_SURFACE_TYPE_SURFTYPE_3D ||
               (surface->type == G4_SURFACE_TYPE_SURFTYPE_CUBE && !surface->faces_are_elements)) {
        place_3d(surface, unit, level, out);
    } else {
        place_2d(surface, unit, level, out);
    }
    if (unit.block_width > 1) {
        out->x /= unit.block_width;
        out->y /= unit.block_height;
        out->slice_dx /= unit.block_width;
        out->slice_dy /= unit.block_height;
    }
}

static uint32_t slice_limit(const struct g4_surface *surface, const struct g4_level *level) {
    switch (surface->type) {
    case G4_SURFACE_TYPE_SURFTYPE_1D:
    case G4_SURFACE_TYPE_SURFTYPE_2D:
        return (surface->minimum_array_element + surface->depth) * g4_surface_sample_elements(surface);
    case G4_SURFACE_TYPE_SURFTYPE_CUBE:
        return surface->faces_are_elements ? surface->minimum_array_element + 6 * surface->depth : level->depth;
    default:
        return level->depth;
    }
}

bool g4_surface_image(const struct g4_surface *surface, uint32_t gen, uint32_t level, uint32_t slice,
                      struct g4_image *image) {
    (void)gen;
    if (!surface->present || surface->type > G4_SURFACE_TYPE_SURFTYPE_CUBE || surface->format->block_bits == 0 ||
        level > LEVEL_LIMIT - 1) {
        return false;
    }
    struct g4_level place;
    g4_surface_level(surface, level, &place);
    if (slice >= slice_limit(surface, &place)) {
        return false;
    }
    const struct alignment_unit unit = unit_of(surface);
    const bool yuv = surface->format->encoding == G4_ENCODING_YUV_422;
    const uint32_t bytes = yuv ? 2 : surface->format->block_bits / 8u;
    image->base = surface->base;
    image->pitch = surface->pitch;
    image->tiling = surface->tiling;
    image->x0 = place.x + place.slice_dx * (slice & place.slice_mask);
    image->y0 = place.y + place.slice_dy * (slice >> place.slice_shift);
    image->x0 += surface->x_offset / unit.block_width;
    image->y0 += surface->y_offset / unit.block_height;
    image->width = place.width;
    image->height = place.height;
    image->bytes = bytes ? bytes : 1;
    return true;
}

bool g4_surface_start(const struct g4_surface *surface, uint32_t gen, uint32_t level, uint32_t slice,
                      uint32_t place[2]) {
    struct g4_image image;

    if (!g4_surface_image(surface, gen, level, slice, &image)) {
        return false;
    }
    const struct alignment_unit unit = unit_of(surface);
    place[0] = image.x0 * unit.block_width;
    place[1] = image.y0 * unit.block_height;
    return true;
}
