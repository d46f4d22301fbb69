/*
 * Sample messages as most are: four bytes a texel, bilinear, one level or a mix of two for all lanes (spec/50 3.1 to
 * 3.13).
 */
#ifndef G4_SAMPLER_FAST_PATH_H
#define G4_SAMPLER_FAST_PATH_H

#include "sampler/bilinear.h"
#include "sampler/sample.h"

struct g4_fast_path {
    struct g4_common_level lookups;
    int32_t offset[2];
    uint32_t *row[G4_SAMPLE_HALVES][4]; /* where R, G, B and A go; NULL: nowhere */
};

struct g4_fast_path_work {
    float texel[2][G4_BYTES][G4_BATCH]; /* [level of the two][byte] */
    int32_t beta[G4_BATCH];
};

/* What a texture and a sampler must be; the message wants level and coordinates from its own u and v. */
bool g4_fast_path_suits(const struct g4_texture *texture, const struct g4_texture_sampler *sampler);
/* False: lookups differ, or memory does not lie in one piece, and nothing was done. */
bool g4_fast_path_run(const struct g4_fast_path *fast, struct g4_fast_path_work *work, const struct g4_sampler_ops *ops,
                      struct g4_port *port);

#endif
