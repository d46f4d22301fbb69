/*
 * Lookups of one level with one filter: texels, weights and sums (965 PRM vol. 4, 4.2).
 */
#ifndef G4_SAMPLER_FILTER_H
#define G4_SAMPLER_FILTER_H

#include "sampler/inner_loops.h"
#include "sampler/texel.h"

/* The line along which the samples of an anisotropic lookup lie. */
struct g4_anisotropy {
    float step[2][G4_BATCH]; /* the step of one texel, in texels of level 0 */
    float ratio[G4_BATCH];
};

/* Up to 64 lookups.  Coordinates are normalized; for cubes they are on the face that `slice` names. */
struct g4_batch {
    const struct g4_texture *texture;
    const struct g4_texture_sampler *sampler;
    uint32_t n;
    uint32_t level;
    bool magnified;
    uint8_t filter; /* enum g4_map_filter that this texture supports */
    bool shadow;
    bool keyed;        /* chroma key */
    uint8_t reduction; /* enum g4_reduction */
    int32_t offset[3];
    const float *u, *v, *r;
    const float *reference;
    const int32_t *slice;                   /* array element or face; unused for volumes */
    uint32_t first_slice;                   /* of Gen7's cubes: the element that face 0 is */
    bool gather;                            /* the four texels of a bilinear lookup, of one component */
    uint32_t gathered;                      /* the component */
    const struct g4_anisotropy *anisotropy; /* for filter ANISOTROPIC */

    uint64_t killed;        /* bit i: a texel of lookup i matched the chroma key */
    float out[4][G4_BATCH]; /* by component; only the first if `shadow` */

    struct {
        struct g4_level level; /* moved to the first slice */
        struct g4_axis_lanes axis[3];
        uint32_t x0[G4_BATCH], y0[G4_BATCH];
        uint32_t column[2][G4_BATCH], row[2][G4_BATCH];
        int32_t slice[G4_BATCH];
        float coordinate[2][G4_BATCH];
        struct g4_texel_lanes texels;
        struct g4_way_lanes ways;
        double scale[G4_BATCH];
        double sum[4][G4_BATCH];
    } work;
};

/* The smaller or the larger of two values.  NaN only if both are NaN. */
static inline float g4_reduce(uint8_t reduction, float a, float b) {
    const bool first = reduction == G4_REDUCTION_MINIMUM ? a <= b : a >= b;
    return first || b != b ? a : b;
}

void g4_filter_run(struct g4_batch *batch, const struct g4_sampler_ops *ops, struct g4_texel_reader *reader);

#endif
