/*
 * Level of detail (965 PRM vol. 4, 4.2.1), in 1/64 levels throughout.
 */
#include "sampler/sample.h"

#include <math.h>

enum {
    LOD_ONE = 64,
    LOD_LOW = -16 * LOD_ONE,
    LOD_HIGH = 16 * LOD_ONE - 1,
};

static int32_t at_most(int32_t value, int32_t high) {
    return value > high ? high : value;
}

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

/* log2(1 + m / 128), rounded to 1/1024 and then down to 1/64.  Without the first step, entry 53 would be 31: lengths
 * around the square root of 2 would lie below half a level, where G41 has them above (docs/decisions.md, 35). */
static const uint8_t log2_table[128] = {
    0,  0,  1,  2,  2,  3,  4,  4,  5,  6,  6,  7,  8,  8,  9,  10, 10, 11, 12, 12, 13, 14, 14, 15, 15, 16,
    17, 17, 18, 18, 19, 20, 20, 21, 21, 22, 22, 23, 24, 24, 25, 25, 26, 26, 27, 27, 28, 28, 29, 29, 30, 30,
    31, 32, 32, 33, 33, 34, 34, 35, 35, 36, 36, 36, 37, 37, 38, 38, 39, 39, 40, 40, 41, 41, 42, 42, 43, 43,
    43, 44, 44, 45, 45, 46, 46, 47, 47, 47, 48, 48, 49, 49, 50, 50, 50, 51, 51, 52, 52, 52, 53, 53, 54, 54,
    54, 55, 55, 56, 56, 56, 57, 57, 58, 58, 58, 59, 59, 59, 60, 60, 61, 61, 61, 62, 62, 62, 63, 63,
};

/* The logarithm of a length given as exponent * 128 + mantissa (docs/decisions.md 35).  It may exceed the range that
 * delivered levels saturate to: on silicon, a bias brings even levels beyond 16 back (docs/decisions.md 58). */
static int32_t log2_lod(int32_t number) {
    return (number >> 7) * LOD_ONE + log2_table[number & 127];
}

/* The lengths for the subspans of a message, whose coordinates are normalized. */
static void plane_lengths(const struct g4_texture *texture, const struct g4_parameter *u, const struct g4_parameter *v,
                          const struct g4_sampler_ops *ops, int32_t number[G4_SUBSPANS]) {
    ops->lengths(u->half, v->half, (float)texture->surface.width, (float)texture->surface.height, number);
}

/* ---- gradients ---- */

static float lane_of(const struct g4_parameter *parameter, uint32_t lane) {
    return parameter->half[lane >> 6][lane & 63];
}

float g4_lod_scale(const struct g4_texture *texture, const struct g4_texture_sampler *sampler, int dimension) {
    const struct g4_surface *const surface = &texture->surface;
    if (g4_counts_texels(sampler, dimension)) {
        return (float)(1u << texture->min_lod);
    }
    switch (dimension) {
    case 0:
        return (float)surface->width;
    case 1:
        return (float)surface->height;
    default:
        return texture->volume ? (float)surface->depth : 0.0f;
    }
}

/* A direction's components along s, t and the normal of a face. */
static void seen_from(int32_t face, const float p[3], float out[3]) {
    const int axis = face >> 1;
    const float sign = face & 1 ? -1.0f : 1.0f;
    out[0] = axis == 0 ? -sign * p[2] : axis == 1 ? p[0] : sign * p[0];
    out[1] = axis == 1 ? sign * p[2] : -p[1];
    out[2] = sign * p[axis];
}

/* The distance along dimension d from `from`, whose component across the face is 1, to `to`. Dividing by the other
 * pixel's component gives the exact projection, which yields a wrong level at corners; not dividing at all (directions
 * arrive divided by their largest component) falls short where steps are half a face wide.  The mean of the two matches
 * silicon in both cases (docs/decisions.md 62). */
static float step_on_face(const float from[3], const float to[3], int d) {
    const float first_order = to[d] - from[d] * to[2];
    const float least = 1.0f / 64.0f; /* bounds the divisor: the other pixel may be behind the face's horizon */
    return first_order / sqrtf(to[2] > least ? to[2] : least);
}

/* The gradients from the upper left pixel of a subspan to the upper right and lower left ones, on the face of the upper
 * left pixel. */
static void cube_gradients(const struct g4_request *request, const struct g4_sample_work *work,
                           struct g4_gradient_lanes *out) {
    const float half = 0.5f * g4_lod_scale(request->texture, request->sampler, 0);
    for (uint32_t s = 0; s < G4_SUBSPANS; s++) {
        float corner[3][3];
        for (uint32_t i = 0; i < 3; i++) {
            const uint32_t lane = 4 * s + i;
            const float p[3] = {lane_of(&request->u, lane), lane_of(&request->v, lane), lane_of(&request->r, lane)};
            seen_from(work->slice[4 * s], p, corner[i]);
        }
        for (int d = 0; d < 2; d++) {
            out->dx[d][s] = step_on_face(corner[0], corner[1], d) * half;
            out->dy[d][s] = step_on_face(corner[0], corner[2], d) * half;
        }
    }
}

/* Collects the gradients of subspan `first` and the 31 after it, or of lanes with delivered gradients. */
void g4_lod_subspan_gradients(const struct g4_request *request, const struct g4_sample_work *work,
                              struct g4_gradient_lanes *out) {
    const struct g4_texture *const texture = request->texture;
    const struct g4_parameter *const parameter[3] = {&request->u, &request->v, &request->r};

    memset(out, 0, sizeof *out);
    if (texture->cube) {
        cube_gradients(request, work, out);
        return;
    }
    /* In 1D and 2D arrays the last coordinate is the index, which has no gradient. */
    const int dimensions = texture->volume ? 3 : texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_1D ? 1 : 2;
    for (int d = 0; d < dimensions; d++) {
        const float size = g4_lod_scale(texture, request->sampler, d);
        for (uint32_t s = 0; s < G4_SUBSPANS; s++) {
            const float *const c = &parameter[d]->half[s / 16][4 * (s % 16)];
            out->dx[d][s] = (c[1] - c[0]) * size;
            out->dy[d][s] = (c[2] - c[0]) * size;
        }
    }
}

void g4_lod_delivered_gradients(const struct g4_request *request, uint32_t half, struct g4_gradient_lanes *out) {
    const struct g4_texture *const texture = request->texture;
    const int dimensions = texture->volume ? 3 : texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_1D ? 1 : 2;
    const float unit = texture->cube ? 0.5f : 1.0f; /* face coordinates run from -1 to 1 */

    memset(out, 0, sizeof *out);
    for (int d = 0; d < dimensions; d++) {
        const float size = g4_lod_scale(texture, request->sampler, d) * unit;
        for (uint32_t i = 0; i < G4_BATCH; i++) {
            out->dx[d][i] = request->gradient[d].half[half][i] * size;
            out->dy[d][i] = request->gradient[3 + d].half[half][i] * size;
        }
    }
}

/* ---- anisotropy ---- */

struct direction {
    float step[2];
    float ratio;
    int32_t lod;
};

static float length_2d(float x, float y) {
    return (float)sqrt((double)x * (double)x + (double)y * (double)y);
}

static struct direction direction_of(const struct g4_gradient_lanes *g, uint32_t i, float most,
                                     const struct g4_sampler_ops *ops) {
    const float px = length_2d(g->dx[0][i], g->dx[1][i]);
    const float py = length_2d(g->dy[0][i], g->dy[1][i]);
    const bool along_x = px > py;
    const float major = along_x ? px : py;
    const float minor = along_x ? py : px;
    struct direction out = {{0.0f, 0.0f}, 1.0f, 0};

    if (!(major > 0.0f && major < HUGE_VALF)) {
        out.lod = major > 0.0f ? LOD_HIGH : major == 0.0f ? LOD_LOW : 0;
        return out;
    }
    const float ratio = major < most * minor ? major / minor : most;
    out.ratio = ratio > 1.0f ? ratio : 1.0f;
    out.step[0] = (along_x ? g->dx[0][i] : g->dy[0][i]) / major;
    out.step[1] = (along_x ? g->dx[1][i] : g->dy[1][i]) / major;

    struct g4_gradient_lanes one;
    int32_t number;
    for (int d = 0; d < 3; d++) {
        one.dx[d][0] = one.dy[d][0] = 0.0f;
    }
    one.dx[0][0] = major / out.ratio;
    ops->length(&one, 1, &number);
    out.lod = log2_lod(number);
    return out;
}

/* ---- the computed part ---- */

static void set_lane(struct g4_sample_work *work, uint32_t lane, const struct direction *direction) {
    work->lod[lane] = direction->lod;
    work->ratio[lane] = direction->ratio;
    work->step[0][lane] = direction->step[0];
    work->step[1][lane] = direction->step[1];
}

static void base_from_subspans(const struct g4_request *request, struct g4_sample_work *work,
                               const struct g4_sampler_ops *ops, bool anisotropic, float most) {
    const struct g4_texture *const texture = request->texture;
    const bool plane = texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_2D && !anisotropic;
    struct g4_gradient_lanes gradients;

    if (!plane) {
        g4_lod_subspan_gradients(request, work, &gradients);
    }
    if (anisotropic) {
        for (uint32_t s = 0; s < G4_SUBSPANS; s++) {
            const struct direction direction = direction_of(&gradients, s, most, ops);
            for (uint32_t i = 0; i < 4; i++) {
                set_lane(work, 4 * s + i, &direction);
            }
        }
        return;
    }
    int32_t number[G4_SUBSPANS];
    if (plane) {
        plane_lengths(texture, &request->u, &request->v, ops, number);
    } else {
        ops->length(&gradients, G4_SUBSPANS, number);
    }
    for (uint32_t s = 0; s < G4_SUBSPANS; s++) {
        const int32_t lod = log2_lod(number[s]);
        for (uint32_t i = 0; i < 4; i++) {
            work->lod[4 * s + i] = lod;
        }
    }
}

static void base_from_gradients(const struct g4_request *request, struct g4_sample_work *work,
                                const struct g4_sampler_ops *ops, bool anisotropic, float most) {
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        struct g4_gradient_lanes gradients;
        int32_t number[G4_BATCH];
        if (!request->active[half]) {
            continue;
        }
        g4_lod_delivered_gradients(request, half, &gradients);
        ops->length(&gradients, G4_BATCH, number);
        for (uint32_t i = 0; i < G4_BATCH; i++) {
            const uint32_t lane = half * G4_BATCH + i;
            if (anisotropic) {
                const struct direction direction = direction_of(&gradients, i, most, ops);
                set_lane(work, lane, &direction);
            } else {
                work->lod[lane] = log2_lod(number[i]);
            }
        }
    }
}

static void base_lod(const struct g4_request *request, struct g4_sample_work *work, const struct g4_sampler_ops *ops,
                     bool anisotropic) {
    const float most = (float)request->sampler->maximum_anisotropy;

    memset(work->lod, 0, sizeof work->lod);
    if (anisotropic) {
        for (uint32_t lane = 0; lane < G4_SAMPLE_LANES; lane++) {
            const struct direction none = {{0.0f, 0.0f}, 1.0f, 0};
            set_lane(work, lane, &none);
        }
    }
    if (request->lod_source == G4_LOD_COMPUTED) {
        base_from_subspans(request, work, ops, anisotropic, most);
    } else if (request->lod_source == G4_LOD_GRADIENTS) {
        base_from_gradients(request, work, ops, anisotropic, most);
    }
    if (request->force_lod_zero && request->lod_source != G4_LOD_DELIVERED) {
        memset(work->lod, 0, sizeof work->lod);
    }
}

static void add_delivered(const struct g4_request *request, struct g4_sample_work *work) {
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        for (uint32_t i = 0; request->active[half] && i < G4_BATCH; i++) {
            int32_t *const lod = &work->lod[half * G4_BATCH + i];
            if (request->lod_source == G4_LOD_DELIVERED) {
                *lod = quantize(request->lod.half[half][i]) + (int32_t)request->texture->min_lod * LOD_ONE;
            } else if (request->has_bias) {
                *lod += quantize(request->bias.half[half][i]);
            }
        }
    }
}

/* ---- the choice of levels ---- */

struct lod_range {
    int32_t low, high; /* 1/64 */
    int32_t floor_low, ceil_high;
};

static struct lod_range range_of(const struct g4_texture *texture, const struct g4_texture_sampler *sampler) {
    const int32_t last = (int32_t)texture->mip_count * LOD_ONE;
    const int32_t first = (int32_t)texture->min_lod * LOD_ONE;
    struct lod_range range;
    range.high = at_most((int32_t)sampler->max_lod, last) + first;
    range.low = at_most((int32_t)sampler->min_lod, last) + first;
    range.floor_low = range.low & ~(LOD_ONE - 1);
    range.ceil_high = (range.high + LOD_ONE - 1) & ~(LOD_ONE - 1);
    return range;
}

/* Erratum: a fraction of Min LOD below one half selects one level too many. */
static int32_t nearest_low(const struct lod_range *range, bool erratum) {
    const int32_t fraction = range->low & (LOD_ONE - 1);
    return erratum && fraction > 0 && fraction < LOD_ONE / 2 ? range->floor_low + LOD_ONE : range->floor_low;
}

static struct g4_level_choice choice_of(const struct g4_texture_sampler *sampler, const struct lod_range *range,
                                        bool min_lod_erratum) {
    return (struct g4_level_choice){
        .bias = sampler->lod_bias,
        .base = (int32_t)sampler->base_mip_level_u4_1 * (LOD_ONE / 2),
        .low = range->low,
        .high = range->high,
        .clamp = sampler->lod_preclamp,
        .mixed = sampler->mip_filter == G4_MIP_FILTER_LINEAR,
        .rounded = sampler->mip_filter == G4_MIP_FILTER_NEAREST,
        .floor_low = range->floor_low,
        .ceil_high = range->ceil_high,
        .rounded_low = nearest_low(range, min_lod_erratum),
    };
}

/* True if there is only one level to choose from and both filters are the same. */
static bool always_the_same(const struct g4_texture_sampler *sampler, const struct lod_range *range) {
    return range->low == range->high && (range->low & (LOD_ONE - 1)) == 0 && sampler->filter[0] == sampler->filter[1] &&
           memcmp(sampler->round[0], sampler->round[1], 3) == 0;
}

static void sample_lod(const struct g4_request *request, struct g4_sample_work *work, const struct g4_sampler_ops *ops,
                       bool anisotropic) {
    const struct lod_range range = range_of(request->texture, request->sampler);

    if (!anisotropic && always_the_same(request->sampler, &range)) {
        memset(work->magnified, 0, sizeof work->magnified);
        memset(work->level, (int)(range.low >> 6), sizeof work->level);
        memset(work->beta, 0, sizeof work->beta);
        return;
    }
    base_lod(request, work, ops, anisotropic);
    add_delivered(request, work);
    const struct g4_level_choice choice = choice_of(request->sampler, &range, request->min_lod_erratum);
    ops->choose(&choice, work->lod, G4_SAMPLE_LANES, work->level, work->magnified, work->beta);
}

/* ---- the same for lookups that have one level in common ---- */

/* Subspans with an active lane: bit 4 * s. */
static g4_lanes subspans_of(g4_lanes lanes) {
    const g4_lanes pairs = lanes | lanes >> 1;
    return (pairs | pairs >> 2) & UINT64_C(0x1111111111111111);
}

uint32_t g4_lod_first_subspan(const g4_lanes active[G4_SAMPLE_HALVES]) {
    const uint32_t half = active[0] ? 0 : 1;
    return half * (G4_SUBSPANS / 2) + (uint32_t)__builtin_ctzll(active[half]) / 4;
}

bool g4_lod_alike(const int32_t value[G4_SUBSPANS], const g4_lanes active[G4_SAMPLE_HALVES]) {
    const int32_t first = value[g4_lod_first_subspan(active)];
    int32_t differences = 0;
    uint64_t others = 0;

    for (uint32_t s = 0; s < G4_SUBSPANS; s++) { /* with vectors: mostly, there are none */
        differences |= value[s] ^ first;
    }
    if (!differences) {
        return true;
    }
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        const g4_lanes subspans = subspans_of(active[half]);
        for (uint32_t s = 0; s < G4_SUBSPANS / 2; s++) {
            others |= (subspans >> (4 * s)) & (value[half * (G4_SUBSPANS / 2) + s] != first);
        }
    }
    return !(others & 1);
}

static bool only_level(const struct g4_texture *texture, const struct g4_texture_sampler *sampler, uint32_t *level) {
    const struct lod_range range = range_of(texture, sampler);
    *level = (uint32_t)range.low >> 6;
    return always_the_same(sampler, &range);
}

static bool common_level(const struct g4_common_level *in, const struct g4_sampler_ops *ops, uint32_t *level,
                         int32_t beta[G4_SUBSPANS], bool *mixed) {
    const struct lod_range range = range_of(in->texture, in->sampler);
    const uint32_t first = g4_lod_first_subspan(in->active);
    int32_t lod[G4_SUBSPANS];
    int32_t levels[G4_SUBSPANS];
    uint8_t level_bytes[G4_SUBSPANS];
    uint8_t magnified[G4_SUBSPANS];

    *mixed = false;
    plane_lengths(in->texture, &in->u, &in->v, ops, lod);
    const struct g4_level_choice choice = choice_of(in->sampler, &range, in->min_lod_erratum);
    if (g4_lod_alike(lod, in->active)) {
        const int32_t one = log2_lod(lod[first]);
        for (uint32_t i = 0; i < G4_BATCH_LEAST; i++) {
            lod[i] = one;
        }
        ops->choose(&choice, lod, G4_BATCH_LEAST, level_bytes, magnified, beta);
        for (uint32_t i = 1; i < G4_SUBSPANS; i++) {
            beta[i] = beta[0];
        }
        *level = level_bytes[0];
        *mixed = beta[0] != 0;
        return true;
    }
    for (uint32_t s = 0; s < G4_SUBSPANS; s++) {
        lod[s] = log2_lod(lod[s]);
    }
    ops->choose(&choice, lod, G4_SUBSPANS, level_bytes, magnified, beta);
    for (uint32_t s = 0; s < G4_SUBSPANS; s++) {
        levels[s] = level_bytes[s];
    }
    *level = level_bytes[first];
    *mixed = !(g4_lod_alike(beta, in->active) && beta[first] == 0);
    return g4_lod_alike(levels, in->active);
}

const struct g4_lod_rules g4_lod_rules_gen4 = {.sample = sample_lod, .only_level = only_level, .common = common_level};
