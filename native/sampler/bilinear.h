/*
 * The most common lookups: four texels, or one, of a 2D image with four 8-bit channels (965 PRM vol. 4, 4.2).
 */
#ifndef G4_SAMPLER_BILINEAR_H
#define G4_SAMPLER_BILINEAR_H

#include "sampler/inner_loops.h"

enum {
    G4_BYTES = 4 /* bytes of a texel */
};

/* Up to 64 such lookups in an image.  None leaves the image. */
struct g4_bilinear {
    struct g4_axis axis[2];
    uint32_t column, row; /* position of the image's first texel in the surface: texels, lines of memory */
    uint32_t base, pitch;
    enum g4_tiling tiling;
    uintptr_t contiguous_base; /* of g4_texture_contiguous_base(); 0: read page by page */
    struct g4_port *port;
    /* Destination of each byte of the texel; NULL: unused.  Whole vectors are stored. */
    float *out[G4_BYTES];
};

typedef void g4_bilinear_fn(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n);

/* A pointer is NULL if this variant leaves such lookups to the general path. */
struct g4_bilinear_ops {
    g4_bilinear_fn *run,
        *nearest; /* run: four texels for each lookup; nearest: one.  Both axes have the same filter. */
};

const struct g4_bilinear_ops *g4_bilinear_of_variant(void);
/* Sets up a job for a level, except for the outputs.  `lookups`: see g4_texture_contiguous_base(). */
void g4_bilinear_begin(struct g4_bilinear *job, const struct g4_texture *texture, uint32_t level,
                       const struct g4_axis axis[2], struct g4_port *port, uint32_t lookups);

#endif
