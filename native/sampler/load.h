/*
 * ld and resinfo: messages that use no sampler (965 PRM vol. 4, 4.8.1.4).
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

/* Reads one texel, R to A. True: silicon returns something else here (docs/decisions.md 34). */
bool g4_load_texel(struct g4_texel_reader *reader, const struct g4_texture *texture, const struct g4_load *load,
                   uint32_t out[4]);

/* Lanes of a message that have the same `lod`; texels must be packed. */
struct g4_load_lanes {
    const uint32_t *u, *v, *r, *lod; /* G4_BATCH values each */
    int32_t offset[3];
};

struct g4_load_work {
    int32_t x[G4_BATCH], y[G4_BATCH], slice[G4_BATCH];
    uint32_t x0[G4_BATCH], y0[G4_BATCH];
    uint32_t column[2][G4_BATCH], row[2][G4_BATCH];
    float texel[4][4][G4_BATCH];
};

bool g4_load_can_batch(const struct g4_texture *texture, const struct g4_load_lanes *load, g4_lanes active);
/* Reads R to A for all lanes, active or not.  True: see g4_load_texel(). */
bool g4_load_batch(struct g4_texel_reader *reader, const struct g4_texture *texture, const struct g4_sampler_ops *ops,
                   const struct g4_load_lanes *load, g4_lanes active, struct g4_load_work *work,
                   uint32_t *const out[4]);

/* Returns width, height, depth and number of levels. */
void g4_load_info(const struct g4_texture *texture, uint32_t lod, uint32_t out[4]);

#endif
