/*
 * ld and resinfo: what a surface is without a sampler (spec/50 3.17, 3.18).
 */
#ifndef G4_SAMPLER_LOAD_H
#define G4_SAMPLER_LOAD_H

#include "texel.h"

struct g4_load {
    uint32_t u, v, r, lod;
    int32_t offset[3];
};

/* One texel, R to A.  True: real hardware returns something else here (decision 34). */
bool g4_load_texel(struct g4_texel_reader *reader, const struct g4_texture *texture, const struct g4_load *load,
                   uint32_t out[4]);

/* Width, height, depth, levels. */
void g4_load_info(const struct g4_texture *texture, uint32_t lod, uint32_t out[4]);

#endif
