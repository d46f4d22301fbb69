/*
 * The commonest lookups: four texels, or one, of a 2D image with four channels of eight bits (spec/50 3.6 to 3.13).
 */
#ifndef G4_SAMPLER_BILINEAR_H
#define G4_SAMPLER_BILINEAR_H

#include "sampler/inner_loops.h"

enum {
    G4_BYTES = 4 /* of a texel */
};

/* Up to 64 such lookups in an image, none of which leaves it. */
struct g4_bilinear {
    struct g4_axis axis[2];
    uint32_t column, row; /* of the image's first texel in the surface: texels, lines of memory */
    uint32_t base, pitch;
    enum g4_tiling tiling;
    uintptr_t contiguous_base; /* of g4_texture_contiguous_base(); 0: read page by page */
    struct g4_port *port;
    /* Where results go, by byte of the texel; NULL: nobody wants it.  Whole vectors are stored. */
    float *out[G4_BYTES];
};

typedef void g4_bilinear_fn(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n);

/* NULL: this variant leaves them to the general path. */
struct g4_bilinear_ops {
    g4_bilinear_fn *run, *nearest; /* four texels each, or one; the axes say the same */
};

const struct g4_bilinear_ops *g4_bilinear_of_variant(void);
/* The job of a level, outputs excepted.  `lookups` as g4_texture_contiguous_base wants it. */
void g4_bilinear_begin(struct g4_bilinear *job, const struct g4_texture *texture, uint32_t level,
                       const struct g4_axis axis[2], struct g4_port *port, uint32_t lookups);

#endif
