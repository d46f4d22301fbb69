/*
 * Surfaces, found by binding table index and unpacked once, shared by the sampler, the data port and the color
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
    g4_address base; /* of the surface */
    uint32_t pitch;  /* bytes */
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
    g4_address base;
    uint32_t pitch; /* bytes */
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
    g4_address address;           /* of the SURFACE_STATE itself */

    /* Layout of the miptree (g4_surface_set_layout_gen4() and its like). */
    uint8_t unit_width, unit_height; /* levels are aligned to these, in texels */
    uint32_t element_rows;           /* from one array element to the next, in texels */
    bool faces_are_elements;         /* a cube is an array of faces, else a volume of six slices */
    bool slices_are_elements;        /* a volume is an array of slices, as many as the level has */
    bool levels_in_row;              /* levels lie side by side in one row; element_rows counts texels of that row */

    /* Gen7 and later */
    uint8_t samples;  /* of a pixel; 0 or 1: the surface is not multisampled */
    bool interleaved; /* samples are beside each other, else each in an array element */
    g4_address mcs_base;
    uint32_t mcs_pitch;             /* multisample control surface: address and bytes; base 0: none */
    uint32_t mcs_element_rows;      /* 0: as the height says */
    g4_address hiz_base;            /* of the hierarchical depth buffer through which depth is read; 0: none */
    uint32_t hiz_pitch;             /* bytes */
    uint32_t hiz_element_rows;      /* from one array element to the next, in texels; 0: as the sizes say */
    uint32_t clear_color[4];        /* red, green, blue, alpha: floats, or integers by the format */
    uint32_t view_extent;           /* array elements or slices that a render target view covers */
    uint32_t resource_min_lod_u4_8; /* finer levels are absent */
    bool selects_channels;          /* channel_select applies */
    uint8_t channel_select[4];      /* for R, G, B, A: 0 zero, 1 one, 4 to 7 the channel R, G, B, A */
    bool is_structured;             /* a buffer of structures */
    uint32_t first_structure;       /* of a buffer of structures */
};

/* The layouts of a generation. */
struct g4_surface_loader {
    /* The offset from the surface state base of the SURFACE_STATE that an entry of a binding table names. */
    uint32_t (*state_offset)(uint32_t entry);
    /* Unpack a SURFACE_STATE into `surface`, which is zeroed but for its address. */
    void (*unpack)(const uint32_t *dw, uint32_t gen, struct g4_surface *surface);
};

extern const struct g4_surface_loader g4_surface_loader_gen4, g4_surface_loader_gen7, g4_surface_loader_gen9;

/* Set the layout of a miptree whose type, format, size and samples are known. */
void g4_surface_set_layout_gen4(struct g4_surface *surface);
/* Levels of formats that are not compressed are aligned to `unit_width` and `unit_height`.  level_0_only: array
 * elements have no room for other levels. */
void g4_surface_set_layout_gen7(struct g4_surface *surface, uint32_t unit_width, uint32_t unit_height,
                                bool level_0_only);

struct g4_surface_cache; /* per worker */

struct g4_surface_cache *g4_surface_cache_new(void);
void g4_surface_cache_free(struct g4_surface_cache *cache);
/* Empty the cache.  Call at the start of each draw, and after state in memory may have changed. */
void g4_surface_cache_reset(struct g4_surface_cache *cache);

/* The surface that entry `index` of a binding table names.  Never NULL. */
const struct g4_surface *g4_surface_get(struct g4_surface_cache *cache, const struct g4_context *ctx,
                                        struct g4_port *port, g4_address surface_state_base, g4_address binding_table,
                                        uint32_t index);

/* Load it without a cache.  Missing memory is in the port's log. */
void g4_surface_load(struct g4_surface *surface, const struct g4_context *ctx, struct g4_port *port,
                     g4_address surface_state_base, g4_address binding_table, uint32_t index);

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

/* The image of one level and slice: array element, cube face, or depth slice of a volume.  Sample s of element e is
 * element e * samples + s if samples are not interleaved.  False outside. */
bool g4_surface_image(const struct g4_surface *surface, uint32_t gen, uint32_t level, uint32_t slice,
                      struct g4_image *image);

/* The start of the image of one level and slice, in texels from the base of the surface.  False outside. */
bool g4_surface_start(const struct g4_surface *surface, uint32_t gen, uint32_t level, uint32_t slice,
                      uint32_t place[2]);

static inline bool g4_format_is_compressed(const struct g4_format *format) {
    return format->encoding != G4_ENCODING_PLAIN && format->encoding != G4_ENCODING_YUV_422;
}

/* The number of samples of a pixel that are in array elements of their own. */
static inline uint32_t g4_surface_sample_elements(const struct g4_surface *surface) {
    return surface->samples > 1 && !surface->interleaved ? surface->samples : 1;
}

static inline uint32_t g4_align(uint32_t value, uint32_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Sample s of texel (x, y) of an interleaved surface (docs/decisions.md 101). */
static inline void g4_interleave(uint32_t samples, uint32_t sample, uint32_t *x, uint32_t *y) {
    const uint32_t inner_x = *x & 1;
    const uint32_t inner_y = *y & 1;
    if (samples >= 8) {
        *x = (*x & ~1u) << 2 | (sample & 4) | (sample & 1) << 1 | inner_x;
    } else if (samples >= 2) {
        *x = (*x & ~1u) << 1 | (sample & 1) << 1 | inner_x;
    }
    if (samples >= 16) {
        *y = (*y & ~1u) << 2 | (sample & 8) >> 1 | (sample & 2) | inner_y;
    } else if (samples >= 4) {
        *y = (*y & ~1u) << 1 | (sample & 2) | inner_y;
    }
}

/* The texel and the sample, which is returned, at (x, y) of an interleaved surface: the inverse of g4_interleave(). */
static inline uint32_t g4_deinterleave(uint32_t samples, uint32_t *x, uint32_t *y) {
    const uint32_t column = *x;
    const uint32_t row = *y;
    uint32_t sample = 0;
    if (samples >= 8) {
        *x = (column >> 2 & ~1u) | (column & 1);
        sample |= (column & 4) | (column >> 1 & 1);
    } else if (samples >= 2) {
        *x = (column >> 1 & ~1u) | (column & 1);
        sample |= column >> 1 & 1;
    }
    if (samples >= 16) {
        *y = (row >> 2 & ~1u) | (row & 1);
        sample |= (row & 4) << 1 | (row & 2);
    } else if (samples >= 4) {
        *y = (row >> 1 & ~1u) | (row & 1);
        sample |= row & 2;
    }
    return sample;
}

/* Bytes of a texel's entry in the multisample control surface, which has 1 bit for each of 2 samples, 2 for each of 4,
 * 4 for each of 8 or 16. */
static inline uint32_t g4_mcs_entry_bytes(uint32_t samples) {
    return samples >= 16 ? 8 : samples >= 8 ? 4 : 1;
}

/* The first row of an array element in the multisample control surface; four rows aligned if the state has no pitch. */
static inline uint32_t g4_mcs_row(const struct g4_surface *surface, uint32_t element) {
    return element * (surface->mcs_element_rows ? surface->mcs_element_rows : g4_align(surface->height, 4));
}

/* The entry of texel (x, y) of an array element. */
static inline g4_address g4_mcs_address(const struct g4_surface *surface, uint32_t x, uint32_t y, uint32_t element) {
    const uint32_t x_bytes = x * g4_mcs_entry_bytes(surface->samples);
    const uint32_t row = g4_mcs_row(surface, element) + y;
    return surface->mcs_base + (uint32_t)g4_surface_offset(G4_TILING_Y, surface->mcs_pitch, x_bytes, row);
}

/* The bits of an entry that are all set if its texel has the clear color. */
static inline uint64_t g4_mcs_clear(uint32_t samples) {
    return samples >= 16 ? UINT64_MAX : samples >= 8 ? UINT32_MAX : samples >= 4 ? 0xff : 3;
}

/* The array element, within those of the texel's samples, that holds a sample. */
static inline uint32_t g4_mcs_slice(const struct g4_surface *surface, uint64_t entry, uint32_t sample) {
    const uint32_t bits = surface->samples >= 8 ? 4 : surface->samples / 2;
    return (uint32_t)(entry >> (bits * sample)) & (surface->samples - 1u);
}

/* A dimension of a level, at least 1. */
static inline uint32_t g4_minify(uint32_t size, uint32_t level) {
    const uint32_t minified = level > 31 ? 0 : size >> level;
    return minified ? minified : 1;
}

#endif
