/*
 * Level of detail of Ivy Bridge and Haswell, in 1/256 levels throughout (IVB PRM vol. 4 part 1, 2.2.1.5).
 *
 * Unlike Gen4, the limits do not contain Surface Min LOD, which is added last, the pre-clamp uses the limits as they
 * are programmed, and the nearest level is found after the clamp.
 */
#include <math.h>

#include "sampler/lod_gen7.h"
#include "sampler/sample.h"

enum {
    LOD_ONE = G4_LEVEL_GEN7,
    LOD_LOW = -16 * LOD_ONE,
    LOD_HIGH = 16 * LOD_ONE - 1,
};

/* Quantizes a delivered level: rounds down; NaN counts as 0. */
static int32_t quantize(float lod) {
    const float scaled = lod == lod ? lod * LOD_ONE : 0.0f;
    if (scaled <= LOD_LOW) {
        return LOD_LOW;
    }
    if (scaled >= LOD_HIGH) {
        return LOD_HIGH;
    }
    const int32_t whole = (int32_t)scaled;
    return (float)whole > scaled ? whole - 1 : whole;
}

/* The levels of the subspans of a message in a 2D image. */
static void plane_levels(const struct g4_texture *texture, const struct g4_texture_sampler *sampler,
                         const struct g4_parameter *u, const struct g4_parameter *v, const struct g4_sampler_ops *ops,
                         int32_t lod[G4_SUBSPANS]) {
    ops->levels_gen7(u->half, v->half, g4_lod_scale(texture, sampler, 0), g4_lod_scale(texture, sampler, 1), lod);
}

static float square_of(const float d[3][G4_BATCH], uint32_t i) {
    return d[0][i] * d[0][i] + d[1][i] * d[1][i] + d[2][i] * d[2][i];
}

/* ---- anisotropy ---- */

struct direction_gen7 {
    float step[2], ratio;
    int32_t lod;
};

/* The level is that of the shorter gradient, or of the longer one divided by the largest ratio (2.2.2.3). */
static struct direction_gen7 direction_of(const struct g4_gradient_lanes *g, uint32_t i, float most) {
    const float px = sqrtf(square_of(g->dx, i));
    const float py = sqrtf(square_of(g->dy, i));
    const bool along_x = px > py;
    const float major = along_x ? px : py;
    const float minor = along_x ? py : px;
    struct direction_gen7 out = {{0.0f, 0.0f}, 1.0f, 0};

    if (!(major > 0.0f && major < HUGE_VALF)) {
        out.lod = major > 0.0f ? LOD_HIGH : major == 0.0f ? LOD_LOW : 0;
        return out;
    }
    const float ratio = major < most * minor ? major / minor : most;
    out.ratio = ratio > 1.0f ? ratio : 1.0f;
    out.step[0] = (along_x ? g->dx[0][i] : g->dy[0][i]) / major;
    out.step[1] = (along_x ? g->dx[1][i] : g->dy[1][i]) / major;
    out.lod = g4_level_of_square(major / out.ratio * (major / out.ratio));
    return out;
}

/* ---- the level before any limit ---- */

static void set_lane(struct g4_sample_work *work, uint32_t lane, const struct direction_gen7 *direction) {
    work->lod[lane] = direction->lod;
    work->ratio[lane] = direction->ratio;
    work->step[0][lane] = direction->step[0];
    work->step[1][lane] = direction->step[1];
}

static void levels_of_subspans(const struct g4_request *request, struct g4_sample_work *work,
                               const struct g4_sampler_ops *ops, bool anisotropic, float most) {
    int32_t lod[G4_SUBSPANS];
    struct g4_gradient_lanes gradients;

    if (request->texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_2D && !anisotropic) {
        plane_levels(request->texture, request->sampler, &request->u, &request->v, ops, lod);
    } else {
        g4_lod_subspan_gradients(request, work, &gradients);
        for (uint32_t s = 0; !anisotropic && s < G4_SUBSPANS; s++) {
            lod[s] = g4_level_of_square(g4_larger(square_of(gradients.dx, s), square_of(gradients.dy, s)));
        }
    }
    for (uint32_t s = 0; anisotropic && s < G4_SUBSPANS; s++) {
        const struct direction_gen7 direction = direction_of(&gradients, s, most);
        for (uint32_t i = 0; i < 4; i++) {
            set_lane(work, 4 * s + i, &direction);
        }
    }
    for (uint32_t lane = 0; !anisotropic && lane < G4_SAMPLE_LANES; lane++) {
        work->lod[lane] = lod[lane / 4];
    }
}

static void levels_of_gradients(const struct g4_request *request, struct g4_sample_work *work, bool anisotropic,
                                float most) {
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        struct g4_gradient_lanes gradients;
        if (!request->active[half]) {
            continue;
        }
        g4_lod_delivered_gradients(request, half, &gradients);
        for (uint32_t i = 0; i < G4_BATCH; i++) {
            const uint32_t lane = half * G4_BATCH + i;
            if (anisotropic) {
                const struct direction_gen7 direction = direction_of(&gradients, i, most);
                set_lane(work, lane, &direction);
            } else {
                work->lod[lane] = g4_level_of_square(g4_larger(square_of(gradients.dx, i), square_of(gradients.dy, i)));
            }
        }
    }
}

/* Fills lod[], with the biases of the sampler and the message. */
static void find_levels(const struct g4_request *request, struct g4_sample_work *work, const struct g4_sampler_ops *ops,
                        bool anisotropic) {
    const float most = (float)request->sampler->maximum_anisotropy;
    const int32_t bias = request->sampler->lod_bias;
    /* Lengths are in texels of level 0, but levels count from the first of the view. */
    const int32_t first = request->lod_source == G4_LOD_COMPUTED || request->lod_source == G4_LOD_GRADIENTS
                              ? (int32_t)request->texture->min_lod * LOD_ONE
                              : 0;

    memset(work->lod, 0, sizeof work->lod);
    if (anisotropic) {
        for (uint32_t lane = 0; lane < G4_SAMPLE_LANES; lane++) {
            const struct direction_gen7 none = {{0.0f, 0.0f}, 1.0f, 0};
            set_lane(work, lane, &none);
        }
    }
    if (request->lod_source == G4_LOD_COMPUTED) {
        levels_of_subspans(request, work, ops, anisotropic, most);
    } else if (request->lod_source == G4_LOD_GRADIENTS) {
        levels_of_gradients(request, work, anisotropic, most);
    }
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        for (uint32_t i = 0; request->active[half] && i < G4_BATCH; i++) {
            int32_t *const lod = &work->lod[half * G4_BATCH + i];
            if (request->lod_source == G4_LOD_DELIVERED) {
                *lod = quantize(request->lod.half[half][i]);
            } else if (request->has_bias) {
                *lod += quantize(request->bias.half[half][i]);
            }
            *lod += bias - first;
        }
    }
}

/* ---- the choice of levels ---- */

/* How a level is chosen, in 1/256. */
struct choice {
    int32_t low, high;                   /* of the levels that the view has */
    int32_t preclamp_low, preclamp_high; /* before the filter is chosen */
    int32_t base;
    int32_t single; /* the level of a lookup without mipmaps */
    int32_t first;  /* level of the surface that level 0 of the view is */
    uint8_t mip_filter;
};

static int32_t least(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t most_of(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static struct choice choice_of(const struct g4_texture *texture, const struct g4_texture_sampler *sampler) {
    const int32_t last = (int32_t)texture->mip_count * LOD_ONE;
    const int32_t first = (int32_t)texture->min_lod * LOD_ONE;
    const int32_t resource = (int32_t)texture->surface.resource_min_lod_u4_8 - first;
    const bool beyond = g4_texture_is_beyond_levels(texture); /* then the level is 0 */
    const int32_t low = beyond ? 0 : most_of(least((int32_t)sampler->min_lod, last), resource);
    return (struct choice){
        .low = low,
        .high = beyond ? 0 : least((int32_t)sampler->max_lod, last),
        .preclamp_low = sampler->lod_preclamp ? (int32_t)sampler->min_lod : INT32_MIN,
        .preclamp_high = sampler->lod_preclamp ? (int32_t)sampler->max_lod : INT32_MAX,
        .base = (int32_t)sampler->base_mip_level_u4_1 * (LOD_ONE / 2),
        .single = most_of(low, 0) & ~(LOD_ONE - 1),
        .first = first,
        .mip_filter = sampler->mip_filter,
    };
}

/* A level after all limits; NEAREST: rounded.  `magnified` lookups have no mipmaps (docs/decisions.md 208). */
static inline int32_t chosen_level(const struct choice *c, int32_t given, bool *magnified) {
    const int32_t lod = most_of(least(given, c->preclamp_high), c->preclamp_low);
    const int32_t limited = most_of(least(lod, c->high), c->low);
    *magnified = lod <= c->base;
    if (*magnified || (c->mip_filter != G4_MIP_FILTER_LINEAR && c->mip_filter != G4_MIP_FILTER_NEAREST)) {
        return c->single;
    }
    return c->mip_filter == G4_MIP_FILTER_LINEAR ? limited : (limited + LOD_ONE / 2) & ~(LOD_ONE - 1);
}

static void choose(const struct choice *c, const int32_t *lod, uint32_t n, uint8_t *level, uint8_t *magnified,
                   int32_t *beta) {
    for (uint32_t i = 0; i < n; i++) {
        bool close;
        const int32_t chosen = chosen_level(c, lod[i], &close) + c->first;
        magnified[i] = close;
        level[i] = (uint8_t)(chosen >> 8);
        beta[i] = chosen & (LOD_ONE - 1);
    }
}

/* True if there is only one level to choose from and both filters are the same. */
static bool always_the_same(const struct g4_texture_sampler *sampler, const struct choice *c) {
    const bool one_level = c->low == c->high && c->low == c->single;
    const bool mipmapped = c->mip_filter == G4_MIP_FILTER_LINEAR || c->mip_filter == G4_MIP_FILTER_NEAREST;
    return (one_level || !mipmapped) && sampler->filter[0] == sampler->filter[1] &&
           memcmp(sampler->round[0], sampler->round[1], 3) == 0;
}

static void sample_lod(const struct g4_request *request, struct g4_sample_work *work, const struct g4_sampler_ops *ops,
                       bool anisotropic) {
    const struct choice choice = choice_of(request->texture, request->sampler);

    if (!anisotropic && always_the_same(request->sampler, &choice)) {
        memset(work->magnified, 0, sizeof work->magnified);
        memset(work->level, (choice.single + choice.first) >> 8, sizeof work->level);
        memset(work->beta, 0, sizeof work->beta);
        return;
    }
    find_levels(request, work, ops, anisotropic);
    choose(&choice, work->lod, G4_SAMPLE_LANES, work->level, work->magnified, work->beta);
}

static bool only_level(const struct g4_texture *texture, const struct g4_texture_sampler *sampler, uint32_t *level) {
    const struct choice choice = choice_of(texture, sampler);
    *level = (uint32_t)(choice.single + choice.first) >> 8;
    return always_the_same(sampler, &choice);
}

static bool common_level(const struct g4_common_level *in, const struct g4_sampler_ops *ops, uint32_t *level,
                         int32_t beta[G4_SUBSPANS], bool *mixed) {
    const struct choice choice = choice_of(in->texture, in->sampler);
    int32_t lod[G4_SUBSPANS];
    int32_t levels[G4_SUBSPANS];
    uint8_t level_bytes[G4_SUBSPANS];
    uint8_t magnified[G4_SUBSPANS];

    *mixed = false;
    plane_levels(in->texture, in->sampler, &in->u, &in->v, ops, lod);
    for (uint32_t s = 0; s < G4_SUBSPANS; s++) {
        lod[s] += in->sampler->lod_bias - (int32_t)in->texture->min_lod * LOD_ONE;
    }
    const uint32_t first = g4_lod_first_subspan(in->active);
    if (g4_lod_alike(lod, in->active)) {
        choose(&choice, &lod[first], 1, level_bytes, magnified, beta);
        for (uint32_t s = 1; s < G4_SUBSPANS; s++) {
            beta[s] = beta[0];
        }
        *level = level_bytes[0];
        *mixed = beta[0] != 0;
        return true;
    }
    choose(&choice, lod, G4_SUBSPANS, level_bytes, magnified, beta);
    for (uint32_t s = 0; s < G4_SUBSPANS; s++) {
        levels[s] = level_bytes[s];
    }
    *level = level_bytes[first];
    *mixed = !(g4_lod_alike(beta, in->active) && beta[first] == 0);
    return g4_lod_alike(levels, in->active);
}

void g4_lod_query_gen7(const struct g4_request *request, struct g4_sample_work *work, const struct g4_sampler_ops *ops,
                       float level[G4_SAMPLE_LANES], float unlimited[G4_SAMPLE_LANES]) {
    const struct choice choice = choice_of(request->texture, request->sampler);

    find_levels(request, work, ops, false);
    for (uint32_t lane = 0; lane < G4_SAMPLE_LANES; lane++) {
        bool magnified;
        level[lane] = (float)chosen_level(&choice, work->lod[lane], &magnified) * (1.0f / LOD_ONE);
        unlimited[lane] = (float)work->lod[lane] * (1.0f / LOD_ONE);
    }
}

const struct g4_lod_rules g4_lod_rules_gen7 = {.sample = sample_lod, .only_level = only_level, .common = common_level};
