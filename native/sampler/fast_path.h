/*
 * The fast path for the most common sample messages: 2D images of formats with loops of their own, nearest or bilinear,
 * one level or a mix of two for all lanes.  What the messages of a draw have in common is found once, in a plan.
 */
#ifndef G4_SAMPLER_FAST_PATH_H
#define G4_SAMPLER_FAST_PATH_H

#include "sampler/bilinear.h"
#include "sampler/sample.h"

enum {
    G4_OUTPUT_CONSTANT = 0xff, /* the channel is 0 or 1 */
};

/* Lookups in one texture by one sampler, with levels from differences within subspans.  Valid for a draw, like the
 * texture and the sampler. */
struct g4_lookup_plan {
    const struct g4_texture *texture;
    const struct g4_texture_sampler *sampler;
    const struct g4_sampler_ops *ops;
    struct g4_texel_reader *reader;
    g4_bilinear_fn *lookup;
    int32_t offset[2]; /* in texels */
    bool min_lod_erratum;
    bool has_one_level; /* all lookups use `level`, whatever their coordinates */
    uint32_t level;
    uint8_t output[4]; /* of R, G, B and A: the index in g4_bilinear.out, or G4_OUTPUT_CONSTANT */
    bool shares;       /* several channels have the same output */
    bool constants;    /* some channel is constant */
    /* Jobs of the last even and the last odd level, if their memory is contiguous. */
    struct g4_bilinear job[2];
    uint32_t job_level[2]; /* G4_TEXTURE_LEVELS: none */
};

/* Up to 128 lookups: coordinates, and where their colors go. */
struct g4_lookups {
    g4_lanes active[G4_SAMPLE_HALVES];
    struct g4_parameter u, v;
    uint32_t *row[G4_SAMPLE_HALVES][4]; /* destinations of R, G, B and A; NULL: not returned */
};

struct g4_fast_path_work {
    float texel[2][G4_BYTES][G4_BATCH]; /* [first or second level][byte] */
    int32_t beta[G4_BATCH];
};

/* Prepares a plan.  False: texture or sampler do not allow the fast path.  The message must compute its level from its
 * own u and v. */
bool g4_lookup_plan_begin(struct g4_lookup_plan *plan, const struct g4_texture *texture,
                          const struct g4_texture_sampler *sampler, const int32_t offset[2], bool min_lod_erratum,
                          const struct g4_sampler_ops *ops, struct g4_texel_reader *reader);
/* False: the lanes need different levels, or memory is not contiguous; nothing was done. */
bool g4_lookup_plan_run(struct g4_lookup_plan *plan, const struct g4_lookups *lookups, struct g4_fast_path_work *work);

#endif
