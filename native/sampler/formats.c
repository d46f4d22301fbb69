/*
 * Bilinear and nearest lookups in 2D images of formats that are not bytes (bilinear.c), with the bits of the general
 * path: it adds exact products of floats in double precision, corner by corner, and rounds once.  All memory of
 * the image is contiguous, so texels of weight 0 are read, too.
 */
#include "core/variant.h"

#if G4_VARIANT_LEVEL > 0

#include "sampler/places.h"
#include "sampler/texel.h"

enum {
    CORNERS = 4,
};

INLINE const uint8_t *memory_of(const struct g4_bilinear *job) {
    const uintptr_t start = (uintptr_t)(job->contiguous_base + job->base);
    return (const uint8_t *)start; /* NOLINT(performance-no-int-to-ptr): not of an object */
}

/* ---- numbers in double precision: of eight lookups, as many in a vector as a register has ---- */

#if G4_VARIANT_LEVEL > 1
enum {
    PARTS = 1
};
typedef double part_f64 __attribute__((vector_size(64)));
typedef int64_t part_i64 __attribute__((vector_size(64)));
#else
enum {
    PARTS = 2
};
typedef double part_f64 __attribute__((vector_size(32)));
typedef int64_t part_i64 __attribute__((vector_size(32)));
#endif

struct doubles {
    part_f64 part[PARTS];
};

INLINE struct doubles doubles_of_float(vf v) {
#if G4_VARIANT_LEVEL > 1
    return (struct doubles){{(part_f64)_mm512_cvtps_pd((__m256)v)}};
#else
    return (struct doubles){{(part_f64)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v)),
                             (part_f64)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1))}};
#endif
}

INLINE struct doubles doubles_of_int(vi v) {
#if G4_VARIANT_LEVEL > 1
    return (struct doubles){{(part_f64)_mm512_cvtepi32_pd((__m256i)v)}};
#else
    return (struct doubles){{(part_f64)_mm256_cvtepi32_pd(_mm256_castsi256_si128((__m256i)v)),
                             (part_f64)_mm256_cvtepi32_pd(_mm256_extracti128_si256((__m256i)v, 1))}};
#endif
}

INLINE vf floats_of(const struct doubles *v) {
#if G4_VARIANT_LEVEL > 1
    return (vf)_mm512_cvtpd_ps((__m512d)v->part[0]);
#else
    const __m128 low = _mm256_cvtpd_ps((__m256d)v->part[0]);
    const __m128 high = _mm256_cvtpd_ps((__m256d)v->part[1]);
    return (vf)_mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
#endif
}

/* sum + a * b; the products are exact, so it does not matter that they are fused. */
INLINE part_f64 plus_product(part_f64 sum, part_f64 a, part_f64 b) {
#if G4_VARIANT_LEVEL > 1
    return (part_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)sum);
#else
    return (part_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)sum);
#endif
}

/* The first of two NaN stays, because the compiler may swap the operands of an addition, and the processor returns the
 * first NaN. */
INLINE part_f64 plus_product_or_nan(part_f64 sum, part_f64 a, part_f64 b) {
    const part_i64 number = sum == sum;
    const part_f64 next = sum + a * b;
    return (part_f64)((number & (part_i64)next) | (~number & (part_i64)sum));
}

/* ---- the corners of a vector of lookups ---- */

struct weighted_texel {
    vi x, y;
    struct doubles weight; /* 2^16 times */
    vi used;               /* weight is not 0 */
};

INLINE void find_corners(const struct g4_bilinear *job, enum wrap_shape shape, const float *u, const float *v,
                         struct weighted_texel out[CORNERS]) {
    const struct axis_texels x = texels_of(&job->axis[0], shape, true, u);
    const struct axis_texels y = texels_of(&job->axis[1], shape, true, v);
    const vi part_x[2] = {vi_all(G4_WEIGHT_ONE) - x.weight, x.weight};
    const vi part_y[2] = {vi_all(G4_WEIGHT_ONE) - y.weight, y.weight};

    for (int corner = 0; corner < CORNERS; corner++) {
        const vi weight = part_x[corner & 1] * part_y[corner >> 1];
        out[corner] = (struct weighted_texel){
            .x = corner & 1 ? x.second : x.first,
            .y = corner >> 1 ? y.second : y.first,
            .weight = doubles_of_int(weight),
            .used = weight > vi_all(0),
        };
    }
}

INLINE vf rounded(struct doubles sum) {
    for (int p = 0; p < PARTS; p++) {
        sum.part[p] *= 1.0 / 65536.0;
    }
    return floats_of(&sum);
}

/* ---- texels of 1, 2, 4 or 8 bytes ---- */

struct texels {
    vu word[2]; /* the second one of eight bytes */
};

#if G4_VARIANT_LEVEL > 1
INLINE vu load_dwords(const uint8_t *memory, vu offset) {
    return (vu)_mm256_i32gather_epi32((const int *)(const void *)memory, (__m256i)offset, 1);
}

INLINE vf look_up(const float *table, vu index) {
    return (vf)_mm256_i32gather_ps(table, (__m256i)index, sizeof *table);
}
#else
/* Vectors are assembled in registers, because loading one that was stored in parts is slow; numbers are read from
 * memory, because taking them out of a vector is. */
INLINE vu load_dwords(const uint8_t *memory, vu offset) {
    uint32_t at[LANES];
    store(at, (vi)offset);
    return (vu){load32(memory + at[0]), load32(memory + at[1]), load32(memory + at[2]), load32(memory + at[3]),
                load32(memory + at[4]), load32(memory + at[5]), load32(memory + at[6]), load32(memory + at[7])};
}

INLINE vf look_up(const float *table, vu index) {
    uint32_t i[LANES];
    store(i, (vi)index);
    return (vf){table[i[0]], table[i[1]], table[i[2]], table[i[3]], table[i[4]], table[i[5]], table[i[6]], table[i[7]]};
}
#endif

/* Texels are aligned, so the dwords that contain them are in the same page. */
INLINE struct texels load_texels(const uint8_t *memory, uint32_t shift, vu offset) {
    struct texels out = {{{0}, {0}}};

    if (shift < 2) {
        const vu within = (offset + vu_all((uint32_t)(uintptr_t)memory)) & vu_all(3);
        out.word[0] = load_dwords(memory, offset - within) >> (within << 3);
    } else {
        out.word[0] = load_dwords(memory, offset);
    }
    if (shift == 3) {
        out.word[1] = load_dwords(memory, offset + vu_all(4));
    }
    return out;
}

/* Exact, including denormals.  Signalling NaN become quiet. */
INLINE vf half_number(vu h) {
    const __m128i low = _mm256_castsi256_si128((__m256i)h);
    const __m128i high = _mm256_extracti128_si256((__m256i)h, 1);
    return (vf)_mm256_cvtph_ps(_mm_packus_epi32(low, high));
}

/* As half_number(), but NaN stay. */
INLINE vf half_float(vu h) {
    const vu special = (h & vu_all(0x8000)) << 16 | vu_all(0x7f800000) | (h & vu_all(0x3ff)) << 13;
    return vf_select((h & vu_all(0x7c00)) == vu_all(0x7c00), (vf)special, half_number(h));
}

/* A code by its maximum; codes of more than 16 bits are divided. */
INLINE vf divided(const struct g4_component *component, vf code) {
    return component->mask > UINT16_MAX ? code / vf_all(component->maximum)
                                        : code * vf_all(component->high) + code * vf_all(component->low);
}

/* `filtered`: for a sum, which makes NaN quiet. */
INLINE vf decode(const struct g4_component *component, enum g4_component_kind kind, bool filtered,
                 const struct texels *texels) {
    const vu bits = (component->word ? texels->word[1] : texels->word[0]) >> component->shift;
    switch (kind) {
    case G4_COMPONENT_UNORM8:
        return unorm8_decode(bits & vu_all(255));
    case G4_COMPONENT_UNORM:
        return divided(component, vf_of_int((vi)(bits & vu_all(component->mask))));
    case G4_COMPONENT_SRGB:
        return look_up(component->decoded, bits & vu_all(component->mask));
    case G4_COMPONENT_HALF:
        return filtered ? half_number(bits & vu_all(0xffff)) : half_float(bits & vu_all(0xffff));
    default:
        return (vf)bits;
    }
}

INLINE bool are_finite(const vf value[CORNERS]) {
    vi largest = vi_all(0);
    for (int i = 0; i < CORNERS; i++) {
        largest = vi_max(largest, (vi)magnitude(value[i]));
    }
    return vi_bits(largest >= vi_all(0x7f800000)) == 0;
}

/* 2^16 times the sum of four finite texels. */
INLINE struct doubles weighted_sum(const struct weighted_texel corner[CORNERS], const vf value[CORNERS]) {
    struct doubles sum = {{{0}}};
    for (int i = 0; i < CORNERS; i++) {
        const struct doubles texel = doubles_of_float(value[i]);
        for (int p = 0; p < PARTS; p++) {
            sum.part[p] = plus_product(sum.part[p], corner[i].weight.part[p], texel.part[p]);
        }
    }
    return sum;
}

INLINE vf filter(const struct g4_component *component, enum g4_component_kind kind, bool finite,
                 const struct weighted_texel corner[CORNERS], const struct texels texels[CORNERS]) {
    struct doubles sum = {{{0}}};
    vf value[CORNERS];

    for (int i = 0; i < CORNERS; i++) {
        value[i] = decode(component, kind, true, &texels[i]);
    }
    if (finite || __builtin_expect(are_finite(value), 1)) {
        return rounded(weighted_sum(corner, value));
    }
    for (int i = 0; i < CORNERS; i++) { /* Inf and NaN of weight 0 do not count */
        const struct doubles texel = doubles_of_float((vf)((vi)value[i] & corner[i].used));
        for (int p = 0; p < PARTS; p++) {
            sum.part[p] = plus_product_or_nan(sum.part[p], corner[i].weight.part[p], texel.part[p]);
        }
    }
    return rounded(sum);
}

/* Calls `result` with the kind of the component as a constant. */
#define WITH_KIND(component, result)                                                                                   \
    switch ((component)->kind) {                                                                                       \
    case G4_COMPONENT_UNORM8:                                                                                          \
        result(G4_COMPONENT_UNORM8);                                                                                   \
        break;                                                                                                         \
    case G4_COMPONENT_UNORM:                                                                                           \
        result(G4_COMPONENT_UNORM);                                                                                    \
        break;                                                                                                         \
    case G4_COMPONENT_SRGB:                                                                                            \
        result(G4_COMPONENT_SRGB);                                                                                     \
        break;                                                                                                         \
    case G4_COMPONENT_HALF:                                                                                            \
        result(G4_COMPONENT_HALF);                                                                                     \
        break;                                                                                                         \
    default:                                                                                                           \
        result(G4_COMPONENT_BITS);                                                                                     \
        break;                                                                                                         \
    }

INLINE void run_words(const struct g4_bilinear *job, uint32_t shift, enum wrap_shape shape, const float *u,
                      const float *v, uint32_t n) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    const struct offsets o = offsets_of(&j, &l, shift, ANY); /* find_corners() wraps */
    const bool finite = j.texture->finite;
    const uint8_t *const memory = memory_of(&j);

    for
        EACH_VECTOR(i, n) {
            struct weighted_texel corner[CORNERS];
            struct texels texels[CORNERS];
            find_corners(&j, shape, &u[i], &v[i], corner);
            for (int c = 0; c < CORNERS; c++) {
                const vu offset = column_of(&o, corner[c].x, shift) + row_of(&o, corner[c].y);
                texels[c] = load_texels(memory, shift, offset);
            }
            for (uint32_t k = 0; k < j.texture->components; k++) {
                const struct g4_component *const component = &j.texture->component[k];
                vf value = {0};
#define FILTER(kind) value = filter(component, kind, finite, corner, texels)
                if (j.out[k]) {
                    WITH_KIND(component, FILTER)
                    store(&j.out[k][i], (vi)value);
                }
            }
        }
}

/* The size of texels is a constant of each loop. */
INLINE void words_of_shape(const struct g4_bilinear *job, enum wrap_shape shape, const float *u, const float *v,
                           uint32_t n) {
    switch (job->texture->bits) {
    case 8:
        run_words(job, 0, shape, u, v, n);
        break;
    case 16:
        run_words(job, 1, shape, u, v, n);
        break;
    case 32:
        run_words(job, 2, shape, u, v, n);
        break;
    default:
        run_words(job, 3, shape, u, v, n);
        break;
    }
}

static void words(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    if (common_shape(job) == WRAP_POWER) {
        words_of_shape(job, WRAP_POWER, u, v, n);
    } else {
        words_of_shape(job, ANY, u, v, n);
    }
}

struct texel_place {
    vi x, y;
};

INLINE struct texel_place nearest_place(const struct g4_bilinear *job, const float *u, const float *v) {
    const struct g4_axis *const axis = job->axis;
    return (struct texel_place){(vi)inside(axis_texels(&axis[0], axis[0].mode, vf_load(u)).first, axis[0].size),
                                (vi)inside(axis_texels(&axis[1], axis[1].mode, vf_load(v)).first, axis[1].size)};
}

static uint32_t shift_of(uint32_t bits) {
    return bits == 128 ? 4 : bits == 64 ? 3 : bits == 32 ? 2 : bits == 16 ? 1 : 0;
}

INLINE void words_nearest_of_shape(const struct g4_bilinear *job, uint32_t shift, enum wrap_shape shape, bool round,
                                   const float *u, const float *v, uint32_t n) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    const struct offsets o = offsets_of(&j, &l, shift, shape);
    const uint8_t *const memory = memory_of(&j) + (shape == WRAP_POWER ? first_texel(&j, &l, shift) : 0);

    for
        EACH_VECTOR(i, n) {
            const vu offset = nearest_offset(j.axis, &o, shift, shape, round, &u[i], &v[i]);
            const struct texels texels = load_texels(memory, shift, offset);
            for (uint32_t k = 0; k < j.texture->components; k++) {
                const struct g4_component *const component = &j.texture->component[k];
                vf value = {0};
#define DECODE(kind) value = decode(component, kind, false, &texels)
                if (j.out[k]) {
                    WITH_KIND(component, DECODE)
                    store(&j.out[k][i], (vi)value);
                }
            }
        }
}

INLINE void words_nearest_of_size(const struct g4_bilinear *job, uint32_t shift, const float *u, const float *v,
                                  uint32_t n) {
    const bool round = job->axis[0].round;
    if (common_shape(job) != WRAP_POWER || round != job->axis[1].round) {
        words_nearest_of_shape(job, shift, ANY, false, u, v, n);
    } else if (round) {
        words_nearest_of_shape(job, shift, WRAP_POWER, true, u, v, n);
    } else {
        words_nearest_of_shape(job, shift, WRAP_POWER, false, u, v, n);
    }
}

static void words_nearest(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    switch (job->texture->bits) {
    case 8:
        words_nearest_of_size(job, 0, u, v, n);
        break;
    case 16:
        words_nearest_of_size(job, 1, u, v, n);
        break;
    case 32:
        words_nearest_of_size(job, 2, u, v, n);
        break;
    default:
        words_nearest_of_size(job, 3, u, v, n);
        break;
    }
}

/* ---- compressed blocks: all channels of a lookup at once ---- */

typedef float v4_f32 __attribute__((vector_size(16)));
typedef double v4_f64 __attribute__((vector_size(32)));

/* Texels of lookups: where their blocks are in the surface, in bytes, and their numbers in the blocks. */
struct block_texels {
    uint32_t offset[LANES], number[LANES];
};

INLINE void find_in_blocks(const struct offsets *o, uint32_t shift, vi x, vi y, struct block_texels *out) {
    const vu at = column_of(o, x >> 2, shift) + row_of(o, y >> 2);
    store(out->offset, (vi)at);
    store(out->number, ((y & vi_all(3)) << 2) + (x & vi_all(3)));
}

/* The block that was used last: neighbors are mostly in the same one. */
struct recent_block {
    uint32_t offset;
    const float (*texel)[4];
};

/* A texel of corner `c`, of `corners` with a recent block each. */
INLINE v4_f32 block_texel(const struct g4_bilinear *job, struct recent_block *recent, int c, int corners,
                          uint32_t offset, uint32_t number) {
    if (!recent[c].texel || recent[c].offset != offset) {
        const float(*const texel)[4] = g4_texel_block_at(job->reader, job->texture, job->base + offset, 0)->texel;
        for (int other = 0; other < corners; other++) {
            if (recent[other].texel == texel && recent[other].offset != offset) {
                recent[other].texel = NULL; /* the new block has taken its slot */
            }
        }
        recent[c] = (struct recent_block){offset, texel};
    }
    return (v4_f32)_mm_loadu_ps(recent[c].texel[number]);
}

/* Stores the channels of four lookups. */
INLINE void store_channels(const struct g4_bilinear *job, uint32_t i, const v4_f32 color[4]) {
    const v4_f32 low[2] = {__builtin_shufflevector(color[0], color[1], 0, 4, 1, 5),
                           __builtin_shufflevector(color[2], color[3], 0, 4, 1, 5)};
    const v4_f32 high[2] = {__builtin_shufflevector(color[0], color[1], 2, 6, 3, 7),
                            __builtin_shufflevector(color[2], color[3], 2, 6, 3, 7)};
    const v4_f32 channel[4] = {
        __builtin_shufflevector(low[0], low[1], 0, 1, 4, 5), __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7),
        __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5), __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7)};
    for (uint32_t k = 0; k < job->texture->components; k++) {
        if (job->out[k]) {
            memcpy(&job->out[k][i], &channel[job->texture->channel[k]], sizeof channel[0]);
        }
    }
}

/* The sums of four texels of a vector of lookups, in double precision. */
INLINE void sum_in_blocks(const struct g4_bilinear *job, const struct offsets *o, uint32_t shift, enum wrap_shape shape,
                          struct recent_block recent[CORNERS], const float *u, const float *v, v4_f64 out[LANES]) {
    struct weighted_texel corner[CORNERS];
    struct block_texels at[CORNERS];
    double weight[CORNERS][LANES];

    find_corners(job, shape, u, v, corner);
    for (int c = 0; c < CORNERS; c++) {
        find_in_blocks(o, shift, corner[c].x, corner[c].y, &at[c]);
        memcpy(weight[c], &corner[c].weight, sizeof weight[c]);
    }
    for (uint32_t lane = 0; lane < LANES; lane++) {
        v4_f64 sum = {0};
        for (int c = 0; c < CORNERS; c++) {
            const v4_f32 texel = block_texel(job, recent, c, CORNERS, at[c].offset[lane], at[c].number[lane]);
            sum += (v4_f64)_mm256_broadcast_sd(&weight[c][lane]) * (v4_f64)_mm256_cvtps_pd((__m128)texel);
        }
        out[lane] = sum * (1.0 / 65536.0);
    }
}

INLINE void run_blocks(const struct g4_bilinear *job, enum wrap_shape shape, const float *u, const float *v,
                       uint32_t n) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    const uint32_t shift = shift_of(j.texture->bits);
    const struct offsets o = offsets_of(&j, &l, shift, ANY);
    struct recent_block recent[CORNERS] = {{0, NULL}};

    for
        EACH_VECTOR(i, n) {
            v4_f64 sum[LANES];
            v4_f32 color[LANES];
            sum_in_blocks(&j, &o, shift, shape, recent, &u[i], &v[i], sum);
            for (uint32_t lane = 0; lane < LANES; lane++) {
                color[lane] = (v4_f32)_mm256_cvtpd_ps((__m256d)sum[lane]);
            }
            store_channels(&j, i, color);
            store_channels(&j, i + 4, color + 4);
        }
}

static void blocks(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    if (common_shape(job) == WRAP_POWER) {
        run_blocks(job, WRAP_POWER, u, v, n);
    } else {
        run_blocks(job, ANY, u, v, n);
    }
}

static void blocks_nearest(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    const uint32_t shift = shift_of(j.texture->bits);
    const struct offsets o = offsets_of(&j, &l, shift, ANY);
    struct recent_block recent = {0, NULL};

    for
        EACH_VECTOR(i, n) {
            const struct texel_place place = nearest_place(&j, &u[i], &v[i]);
            struct block_texels at;
            v4_f32 color[LANES];
            find_in_blocks(&o, shift, place.x, place.y, &at);
            for (uint32_t lane = 0; lane < LANES; lane++) {
                color[lane] = block_texel(&j, &recent, 0, 1, at.offset[lane], at.number[lane]);
            }
            store_channels(&j, i, color);
            store_channels(&j, i + 4, color + 4);
        }
}

/* ---- sums of several lookups, as anisotropic filters need them: all texels are finite ---- */

INLINE void add_to_sum(double *sum, part_f64 scale, part_f64 value) {
    part_f64 total;
    memcpy(&total, sum, sizeof total);
    total += scale * value;
    memcpy(sum, &total, sizeof total);
}

INLINE void add_words_of_size(const struct g4_bilinear *job, uint32_t shift, const float *u, const float *v,
                              const double *scale, uint32_t n, double sum[G4_BYTES][G4_BATCH]) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    const struct offsets o = offsets_of(&j, &l, shift, ANY);
    const uint8_t *const memory = memory_of(&j);

    for
        EACH_VECTOR(i, n) {
            struct weighted_texel corner[CORNERS];
            struct texels texels[CORNERS];
            struct doubles factor;
            memcpy(&factor, &scale[i], sizeof factor);
            find_corners(&j, ANY, &u[i], &v[i], corner);
            for (int c = 0; c < CORNERS; c++) {
                const vu offset = column_of(&o, corner[c].x, shift) + row_of(&o, corner[c].y);
                texels[c] = load_texels(memory, shift, offset);
            }
            for (uint32_t k = 0; k < j.texture->components; k++) {
                const struct g4_component *const component = &j.texture->component[k];
                vf value[CORNERS];
#define DECODE_CORNERS(kind)                                                                                           \
    for (int c = 0; c < CORNERS; c++) {                                                                                \
        value[c] = decode(component, kind, true, &texels[c]);                                                          \
    }
                WITH_KIND(component, DECODE_CORNERS)
                const struct doubles texel = weighted_sum(corner, value);
                for (int p = 0; p < PARTS; p++) {
                    add_to_sum(&sum[k][i + (uint32_t)p * LANES / PARTS], factor.part[p],
                               texel.part[p] * (1.0 / 65536.0));
                }
            }
        }
}

static void add_words(const struct g4_bilinear *job, const float *u, const float *v, const double *scale, uint32_t n,
                      double sum[G4_BYTES][G4_BATCH]) {
    switch (job->texture->bits) {
    case 8:
        add_words_of_size(job, 0, u, v, scale, n, sum);
        break;
    case 16:
        add_words_of_size(job, 1, u, v, scale, n, sum);
        break;
    case 32:
        add_words_of_size(job, 2, u, v, scale, n, sum);
        break;
    default:
        add_words_of_size(job, 3, u, v, scale, n, sum);
        break;
    }
}

static void add_blocks(const struct g4_bilinear *job, const float *u, const float *v, const double *scale, uint32_t n,
                       double sum[G4_BYTES][G4_BATCH]) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    const uint32_t shift = shift_of(j.texture->bits);
    const struct offsets o = offsets_of(&j, &l, shift, ANY);
    struct recent_block recent[CORNERS] = {{0, NULL}};

    for
        EACH_VECTOR(i, n) {
            v4_f64 texel[LANES];
            sum_in_blocks(&j, &o, shift, ANY, recent, &u[i], &v[i], texel);
            for (uint32_t k = 0; k < j.texture->components; k++) {
                const uint8_t channel = j.texture->channel[k];
                for (uint32_t lane = 0; lane < LANES; lane++) {
                    sum[k][i + lane] += scale[i + lane] * texel[lane][channel];
                }
            }
        }
}

const struct g4_format_ops G4_V(g4_format_ops) = {
    .words = words,
    .words_nearest = words_nearest,
    .blocks = blocks,
    .blocks_nearest = blocks_nearest,
    .add_words = add_words,
    .add_blocks = add_blocks,
};

#else

#include "sampler/bilinear.h"

const struct g4_format_ops G4_V(g4_format_ops) = {NULL, NULL, NULL,
                                                  NULL, NULL, NULL}; /* none: the general path is used */

#endif
