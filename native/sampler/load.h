/*
 * ld and resinfo: what a surface is without a sampler (spec/50 3.17, 3.18).
 */
#ifndef G4_SAMPLER_LOAD_H
#define G4_SAMPLER_LOAD_H

#include "eu/gang.h"
#include "sampler/inner_loops.h"
#include "sampler/texel.h"

struct g4_load {
    uint32_t u, v, r, lod;
    int32_t offset[3];
};

/* One texel, R to A.  True: real hardware returns something else here (decision 34). */
bool g4_load_texel(struct g4_texel_reader *reader, const struct g4_texture *texture, const struct g4_load *load,
                   uint32_t out[4]);

/* The same for the lanes of a message, where they agree in `lod` and texels are packed. */
struct g4_load_lanes {
    const uint32_t *u, *v, *r, *lod; /* of G4_BATCH lanes */
    int32_t offset[3];
};

struct g4_load_work {
    int32_t x[G4_BATCH], y[G4_BATCH], slice[G4_BATCH];
    uint32_t x0[G4_BATCH], y0[G4_BATCH];
    uint32_t column[2][G4_BATCH], row[2][G4_BATCH];
    float texel[4][4][G4_BATCH];
};

bool g4_load_can_batch(const struct g4_texture *texture, const struct g4_load_lanes *load, g4_lanes active);
/* R to A of all lanes, active or not.  True as above. */
bool g4_load_batch(struct g4_texel_reader *reader, const struct g4_texture *texture, const struct g4_sampler_ops *ops,
                   const struct g4_load_lanes *load, g4_lanes active, struct g4_load_work *work,
                   uint32_t *const out[4]);

/* Width, height, depth, levels. */
void g4_load_info(const struct g4_texture *texture, uint32_t lod, uint32_t out[4]);

#endif
