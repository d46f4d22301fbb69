/*
 * Surfaces, found by binding table index and unpacked once, shared by the sampler, the data port and the colour
 * calculator; and where the image of one mip level and array slice lies in memory (965 PRM vol. 4, 4.7.1 and 4.7.2).
 */
#ifndef G4_SURFACE_H
#define G4_SURFACE_H

#include "core/context.h"
#include "core/tiling.h"
#include "hw_formats.h"

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

/* SURFACE_STATE of any generation. */
struct g4_surface {
    bool present; /* false: the binding table or the state could not be read; everything reads as 0 */
    const struct g4_format *format;
    uint32_t format_code; /* enum g4_surface_format */
    uint32_t type;        /* enum g4_surface_type */
    uint32_t base;        /* graphics address */
    uint32_t pitch;       /* bytes */
    enum g4_tiling tiling;
    uint32_t width, height, depth; /* level 0, texels; depth: slices of a volume, else length of the array */
    uint32_t mip_count_or_lod;     /* sampler: the number of levels - 1; render target: the level */
    uint32_t min_lod;              /* added to the level of sample_l, ld and resinfo */
    uint32_t minimum_array_element;
    uint32_t buffer_entries;     /* SURFTYPE_BUFFER: n, 0 otherwise */
    uint32_t x_offset, y_offset; /* texels, of level 0 */
    uint32_t miptree_layout;     /* enum g4_mip_map_layout_mode */
    bool skips_lines;            /* one field of a frame */
    uint32_t first_line;         /* if it skips lines: 0 or 1 */
    uint8_t cube_faces;          /* bits 0 to 5: +X, -X, +Y, -Y, +Z, -Z are enabled */
    uint8_t color_write_disable; /* bits 0 to 3: red, green, blue, alpha */
    bool color_blend_enable;
    uint32_t data_return_format;  /* enum g4_data_return_format */
    uint32_t media_boundary_mode; /* enum g4_media_boundary_pixel_mode */
    uint32_t address;             /* of the SURFACE_STATE itself */
};

/* The layouts of a generation. */
struct g4_surface_loader {
    /* The offset from the surface state base of the SURFACE_STATE that an entry of a binding table names. */
    uint32_t (*state_offset)(uint32_t entry);
    /* Unpack a SURFACE_STATE into `surface`, which is zeroed but for its address. */
    void (*unpack)(const uint32_t *dw, uint32_t gen, struct g4_surface *surface);
};

extern const struct g4_surface_loader g4_surface_loader_gen4;

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

/* The start of the image of one level and slice, in texels from the base of the surface.  False outside. */
bool g4_surface_start(const struct g4_surface *surface, uint32_t gen, uint32_t level, uint32_t slice,
                      uint32_t place[2]);

/* A dimension of a level, at least 1. */
static inline uint32_t g4_minify(uint32_t size, uint32_t level) {
    const uint32_t minified = level > 31 ? 0 : size >> level;
    return minified ? minified : 1;
}

#endif
