/*
 * The sample messages: level of detail, lookups grouped by level, mixing of levels (965 PRM vol. 4, 4.2).
 */
#ifndef G4_SAMPLER_SAMPLE_H
#define G4_SAMPLER_SAMPLE_H

#include "eu/gang.h"
#include "sampler/filter.h"
#include "sampler/message.h"

enum {
    G4_SAMPLE_LANES = 128,
    G4_SAMPLE_HALVES = 2,
    G4_GRADIENTS = 6, /* dudx dvdx drdx dudy dvdy drdy */
};

/* One parameter of all lanes: channels 0 to 7 of eight threads, then channels 8 to 15. */
struct g4_parameter {
    const float *half[G4_SAMPLE_HALVES];
};

enum g4_lod_source {
    G4_LOD_COMPUTED,  /* from differences within subspans */
    G4_LOD_GRADIENTS, /* from delivered gradients */
    G4_LOD_DELIVERED,
    G4_LOD_ZERO, /* neither subspans nor gradients exist: level 0 */
};

/* A sample message of lanes with equal headers. */
struct g4_request {
    const struct g4_texture *texture;
    const struct g4_texture_sampler *sampler;
    g4_lanes active[G4_SAMPLE_HALVES];
    struct g4_parameter u, v, r, ai, bias, lod, reference; /* ai: the cube of an array of cubes */
    struct g4_parameter gradient[G4_GRADIENTS];
    enum g4_lod_source lod_source;
    bool has_bias;
    bool shadow;
    bool force_lod_zero;
    bool min_lod_erratum; /* erratum of Min LOD, see lod.c */
    bool gather;          /* returns the four texels of a bilinear lookup instead of their mean */
    uint8_t gathered;     /* of this component */
    int32_t offset[3];
};

/* Scratch memory and results of one worker. */
struct g4_sample_work {
    float coordinate[3][G4_SAMPLE_LANES];
    int32_t slice[G4_SAMPLE_LANES];
    int32_t cube[G4_SAMPLE_LANES]; /* of an array of cubes */
    int32_t lod[G4_SAMPLE_LANES];  /* 1/64 levels, from Gen7 on 1/256 */
    int32_t beta[G4_SAMPLE_LANES];
    uint8_t level[G4_SAMPLE_LANES];
    uint8_t magnified[G4_SAMPLE_LANES];
    float reference[G4_SAMPLE_LANES];
    float step[2][G4_SAMPLE_LANES], ratio[G4_SAMPLE_LANES];

    float result[2][4][G4_SAMPLE_LANES]; /* [first or second level][component] */
    g4_lanes killed[G4_SAMPLE_HALVES];

    /* The members below belong to one batch of lookups. */
    uint8_t lane[G4_BATCH];
    float u[G4_BATCH], v[G4_BATCH], r[G4_BATCH], batch_reference[G4_BATCH];
    int32_t batch_slice[G4_BATCH];
    struct g4_anisotropy anisotropy;
    struct g4_batch batch;
};

/* Executes a sample message.  The results of active lanes are in work->result[0], by component of the texture. */
void g4_sample(const struct g4_request *request, struct g4_sample_work *work, const struct g4_sampler_ops *ops,
               struct g4_texel_reader *reader);

/* Find the faces and array elements of a message, as g4_sample() does first. */
void g4_sample_prepare(const struct g4_request *request, struct g4_sample_work *work, const struct g4_sampler_ops *ops);

/* Lookups in a 2D image whose level depends on subspans only, with the same filters at all levels.  At least one lane
 * is active. */
struct g4_common_level {
    const struct g4_texture *texture;
    const struct g4_texture_sampler *sampler;
    g4_lanes active[G4_SAMPLE_HALVES];
    struct g4_parameter u, v;
    bool min_lod_erratum;
};

/* How a generation finds levels of detail (lod.c, lod_gen7.c). */
struct g4_lod_rules {
    /* Fill lod, beta, level, magnified and, if some filter is anisotropic, step and ratio. */
    void (*sample)(const struct g4_request *request, struct g4_sample_work *work, const struct g4_sampler_ops *ops,
                   bool anisotropic);
    /* True if all lookups use one level, whatever their coordinates. */
    bool (*only_level)(const struct g4_texture *texture, const struct g4_texture_sampler *sampler, uint32_t *level);
    /* Return the common level and, if some lanes mix it with the next one, the weight of that in 1/256.  False: the
     * lanes need different levels. */
    bool (*common)(const struct g4_common_level *in, const struct g4_sampler_ops *ops, uint32_t *level,
                   int32_t beta[G4_SUBSPANS], bool *mixed);
};

extern const struct g4_lod_rules g4_lod_rules_gen4, g4_lod_rules_gen7;

/* The lod message of Gen7: for each lane the level that is accessed, from the first of the view, and the level with its
 * biases before any limit. */
void g4_lod_query_gen7(const struct g4_request *request, struct g4_sample_work *work, const struct g4_sampler_ops *ops,
                       float level[G4_SAMPLE_LANES], float unlimited[G4_SAMPLE_LANES]);

/* The number of texels of level 0 in a unit of a coordinate (lod.c). */
float g4_lod_scale(const struct g4_texture *texture, const struct g4_texture_sampler *sampler, int dimension);

/* The gradients within subspans (lod.c), or those that a message delivers for the lanes of a half. */
void g4_lod_subspan_gradients(const struct g4_request *request, const struct g4_sample_work *work,
                              struct g4_gradient_lanes *out);
void g4_lod_delivered_gradients(const struct g4_request *request, uint32_t half, struct g4_gradient_lanes *out);
/* The first subspan with an active lane, and whether all of those have its value. */
uint32_t g4_lod_first_subspan(const g4_lanes active[G4_SAMPLE_HALVES]);
bool g4_lod_alike(const int32_t value[G4_SUBSPANS], const g4_lanes active[G4_SAMPLE_HALVES]);

#endif
