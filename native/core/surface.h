/*
 * SURFACE_STATE unpacked once, found by binding table index, shared by the sampler, the data port and the colour
 * calculator; and where the image of one mip level and array slice lies in memory (965 PRM vol. 4, 4.7.1 and 4.7.2).
 */
#ifndef G4_SURFACE_H
#define G4_SURFACE_H

#include "core/context.h"
#include "core/tiling.h"
#include "hw_formats.h"
#include "hw_state.h"

/* One 2D image: a mip level of a slice, inside its surface.  Texel (x, y) lies at (x0 + x, y0 + y) of the tiled whole.
 */
struct g4_image {
    uint32_t base;  /* graphics address of the surface */
    uint32_t pitch; /* bytes */
    enum g4_tiling tiling;
    uint32_t x0, y0;        /* texels (blocks of compressed formats) */
    uint32_t width, height; /* texels, of this level */
    uint32_t bytes;         /* of a texel or block */
};

struct g4_surface {
    bool present;                  /* false: the binding table or the state could not be read; everything reads as 0 */
    struct g4_surface_state state; /* the generated unpacking */
    const struct g4_format *format;
    uint32_t type;  /* enum g4_surface_type of the generated header */
    uint32_t base;  /* graphics address */
    uint32_t pitch; /* bytes */
    enum g4_tiling tiling;
    uint32_t width, height, depth; /* level 0, texels; depth: slices of a volume, else length of the array */
    uint32_t levels;
    uint32_t buffer_entries; /* SURFTYPE_BUFFER: n, 0 otherwise */
    uint32_t address;        /* of the SURFACE_STATE itself */
};

struct g4_surface_cache; /* per worker */

struct g4_surface_cache *g4_surface_cache_new(void);
void g4_surface_cache_free(struct g4_surface_cache *cache);
/* Empty the cache.  Call at the start of each draw, and after state in memory may have changed. */
void g4_surface_cache_reset(struct g4_surface_cache *cache);

/* The surface that entry `index` of a binding table names.  Never NULL. */
const struct g4_surface *g4_surface_get(struct g4_surface_cache *cache, const struct g4_context *ctx,
                                        struct g4_port *port, uint32_t surface_state_base, uint32_t binding_table,
                                        uint32_t index);

/* Where the slices of one mip level lie inside their surface: slice s starts at column x + slice_dx * (s & slice_mask),
 * row y + slice_dy * (s >> slice_shift).  Positions count texels, blocks in compressed formats. */
struct g4_level {
    uint32_t width, height, depth; /* texels of one slice; slices of a volume, 6 of a cube, else array elements */
    uint32_t x, y;
    uint32_t slice_dx, slice_dy;
    uint32_t slice_mask, slice_shift;
};

/* Levels count from the first of the whole miptree, up to 31; beyond the last they are 1x1 and lie where it says. */
void g4_surface_level(const struct g4_surface *surface, uint32_t level, struct g4_level *out);

/* The image of one level and slice (array element, cube face, or depth slice of a volume).  False outside. */
bool g4_surface_image(const struct g4_surface *surface, uint32_t gen, uint32_t level, uint32_t slice,
                      struct g4_image *image);

/* A dimension of a level, at least 1. */
static inline uint32_t g4_minify(uint32_t size, uint32_t level) {
    const uint32_t minified = level > 31 ? 0 : size >> level;
    return minified ? minified : 1;
}

#endif
