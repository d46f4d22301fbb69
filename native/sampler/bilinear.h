/*
 * The most common lookups: four texels, or one, of a 2D image (965 PRM vol. 4, 4.2).
 */
#ifndef G4_SAMPLER_BILINEAR_H
#define G4_SAMPLER_BILINEAR_H

#include "sampler/inner_loops.h"

enum {
    G4_BYTES = 4, /* bytes of a texel of four 8-bit channels */
    G4_BYTES_SHIFT = 2,
};

struct g4_texel_reader; /* sampler/texel.h */

/* Up to 64 such lookups in an image.  None leaves the image. */
struct g4_bilinear {
    const struct g4_texture *texture;
    struct g4_texel_reader *reader; /* with the cache of decoded blocks */
    struct g4_axis axis[2];
    uint32_t column, row; /* position of the image's first texel in the surface: texels or blocks, lines of memory */
    g4_address base;
    uint32_t pitch;
    enum g4_tiling tiling;
    uintptr_t contiguous_base; /* of g4_texture_contiguous_base(); 0: read page by page */
    struct g4_port *port;
    /* Destinations by g4_lookup_output(); NULL: unused.  Whole vectors are stored. */
    float *out[G4_BYTES];
};

typedef void g4_bilinear_fn(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n);

/* Adds `scale` times what four texels give to each component's `sum`, in double precision.  No texel may be Inf or NaN,
 * and memory is contiguous. */
typedef void g4_bilinear_add_fn(const struct g4_bilinear *job, const float *u, const float *v, const double *scale,
                                uint32_t n, double sum[G4_BYTES][G4_BATCH]);

/* Functions for four texels for each lookup, and for one.  Both axes have the same filter.  NULL: this variant leaves
 * such lookups to the general path. */
struct g4_bilinear_ops {
    g4_bilinear_fn *run, *nearest;
};

/* For texels of 1 to 8 bytes, and for compressed blocks of 4x4; both only where memory is contiguous. */
struct g4_format_ops {
    g4_bilinear_fn *words, *words_nearest, *blocks, *blocks_nearest;
    g4_bilinear_add_fn *add_words, *add_blocks;
};

/* The function for lookups in a texture; NULL: there is none. */
g4_bilinear_fn *g4_lookup_function(const struct g4_texture *texture, bool linear);
/* The function that adds lookups in a texture up; NULL: there is none. */
g4_bilinear_add_fn *g4_lookup_add_function(const struct g4_texture *texture);
/* The index in `out` of a component of a texture: its byte if all are bytes, else its number. */
uint32_t g4_lookup_output(const struct g4_texture *texture, uint32_t component);
/* Sets up a job for a level, except for the outputs.  `lookups`: see g4_texture_contiguous_base().  False: the level is
 * not contiguous, but the function needs that. */
bool g4_lookup_begin(struct g4_bilinear *job, const struct g4_texture *texture, uint32_t level,
                     const struct g4_axis axis[2], struct g4_texel_reader *reader, uint32_t lookups);

#endif
