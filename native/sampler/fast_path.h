/*
 * The fast path for the most common sample messages: 2D images of formats with loops of their own, nearest or bilinear,
 * one level or a mix of two for all lanes.
 */
#ifndef G4_SAMPLER_FAST_PATH_H
#define G4_SAMPLER_FAST_PATH_H

#include "sampler/bilinear.h"
#include "sampler/sample.h"

struct g4_fast_path {
    struct g4_common_level lookups;
    int32_t offset[2];
    uint32_t *row[G4_SAMPLE_HALVES][4]; /* destinations of R, G, B and A; NULL: not returned */
};

struct g4_fast_path_work {
    float texel[2][G4_BYTES][G4_BATCH]; /* [first or second level][byte] */
    int32_t beta[G4_BATCH];
};

/* True if texture and sampler allow the fast path.  The message must compute its level from its own u and v. */
bool g4_fast_path_suits(const struct g4_texture *texture, const struct g4_texture_sampler *sampler);
/* False: the lanes need different levels, or memory is not contiguous; nothing was done. */
bool g4_fast_path_run(const struct g4_fast_path *fast, struct g4_fast_path_work *work, const struct g4_sampler_ops *ops,
                      struct g4_texel_reader *reader);

#endif
