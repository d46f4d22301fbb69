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
    const uintptr_t start = job->contiguous_base + job->base;
    return (const uint8_t *)start; /* NOLINT(performance-no-int-to-ptr): not of an object */
}

/* ---- the corners of a vector of lookups ---- */

struct corner {
    vi x, y;
    vd weight; /* 2^16 times */
    vi used;   /* weight is not 0 */
};

INLINE void find_corners(const struct g4_bilinear *job, enum wrap_shape shape, const float *u, const float *v,
                         struct corner out[CORNERS]) {
    const struct axis_texels x = texels_of(&job->axis[0], shape, true, u);
    const struct axis_texels y = texels_of(&job->axis[1], shape, true, v);
    const vi part_x[2] = {vi_all(G4_WEIGHT_ONE) - x.weight, x.weight};
    const vi part_y[2] = {vi_all(G4_WEIGHT_ONE) - y.weight, y.weight};

    for (int corner = 0; corner < CORNERS; corner++) {
        const vi weight = part_x[corner & 1] * part_y[corner >> 1];
        out[corner] = (struct corner){
            .x = corner & 1 ? x.second : x.first,
            .y = corner >> 1 ? y.second : y.first,
            .weight = vd_of_int(weight),
            .used = weight > vi_all(0),
        };
    }
}

INLINE vf rounded(vd sum) {
    return __builtin_convertvector(sum * (1.0 / 65536.0), vf);
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
/* Vectors are assembled in registers, because loading one that was stored in parts is slow. */
INLINE vu load_dwords(const uint8_t *memory, vu offset) {
    const vi at = (vi)offset;
    return (vu){load32(memory + at[0]), load32(memory + at[1]), load32(memory + at[2]), load32(memory + at[3]),
                load32(memory + at[4]), load32(memory + at[5]), load32(memory + at[6]), load32(memory + at[7])};
}

INLINE vf look_up(const float *table, vu i) {
    return (vf){table[i[0]], table[i[1]], table[i[2]], table[i[3]], table[i[4]], table[i[5]], table[i[6]], table[i[7]]};
}
#endif

/* Texels are aligned, so the dwords that contain them are in the same page. */
INLINE struct texels load_texels(const struct g4_bilinear *job, const struct layout *l, uint32_t shift, vi x, vi y) {
    const uint8_t *const memory = memory_of(job);
    const vu offset = column_of(job, l, x, shift) + row_of(job, l, y);
    struct texels out = {{{0}, {0}}};

    if (shift < 2) {
        const vu address = offset + vu_all(job->base);
        const vu within = address & vu_all(3);
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

INLINE vf filter(const struct g4_component *component, enum g4_component_kind kind, bool finite,
                 const struct corner corner[CORNERS], const struct texels texels[CORNERS]) {
    vd sum = {0};
    for (int i = 0; i < CORNERS; i++) {
        vf value = decode(component, kind, true, &texels[i]);
        if (!finite) { /* Inf and NaN of weight 0 do not count */
            value = (vf)((vi)value & corner[i].used);
        }
        sum = vd_plus(sum, corner[i].weight * vd_of_float(value), finite);
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
    const bool finite = j.texture->finite;

    for
        EACH_VECTOR(i, n) {
            struct corner corner[CORNERS];
            struct texels texels[CORNERS];
            find_corners(&j, shape, &u[i], &v[i], corner);
            for (int c = 0; c < CORNERS; c++) {
                texels[c] = load_texels(&j, &l, shift, corner[c].x, corner[c].y);
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

struct place {
    vi x, y;
};

INLINE struct place nearest_place(const struct g4_bilinear *job, const float *u, const float *v) {
    const struct g4_axis *const axis = job->axis;
    return (struct place){(vi)inside(axis_texels(&axis[0], axis[0].mode, vf_load(u)).first, axis[0].size),
                          (vi)inside(axis_texels(&axis[1], axis[1].mode, vf_load(v)).first, axis[1].size)};
}

static uint32_t shift_of(uint32_t bits) {
    return bits == 128 ? 4 : bits == 64 ? 3 : bits == 32 ? 2 : bits == 16 ? 1 : 0;
}

static void words_nearest(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    const uint32_t shift = shift_of(j.texture->bits);

    for
        EACH_VECTOR(i, n) {
            const struct place place = nearest_place(&j, &u[i], &v[i]);
            const struct texels texels = load_texels(&j, &l, shift, place.x, place.y);
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

/* ---- compressed blocks: all channels of a lookup at once ---- */

typedef float v4_f32 __attribute__((vector_size(16)));
typedef double v4_f64 __attribute__((vector_size(32)));

/* Texels of lookups: the addresses of their blocks, and their numbers in the blocks. */
struct block_texels {
    uint32_t address[LANES], number[LANES];
};

INLINE void find_in_blocks(const struct g4_bilinear *job, const struct layout *l, uint32_t shift, vi x, vi y,
                           struct block_texels *out) {
    const vu at = column_of(job, l, x >> 2, shift) + row_of(job, l, y >> 2) + vu_all(job->base);
    store(out->address, (vi)at);
    store(out->number, ((y & vi_all(3)) << 2) + (x & vi_all(3)));
}

/* The block that was used last: neighbors are mostly in the same one. */
struct recent_block {
    uint32_t address;
    const float (*texel)[4];
};

INLINE v4_f32 block_texel(const struct g4_bilinear *job, struct recent_block *recent, uint32_t address,
                          uint32_t number) {
    if (!recent->texel || recent->address != address) {
        recent->address = address;
        recent->texel = g4_texel_block_at(job->reader, job->texture, address, false)->texel;
    }
    return (v4_f32)_mm_loadu_ps(recent->texel[number]);
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

INLINE void run_blocks(const struct g4_bilinear *job, enum wrap_shape shape, const float *u, const float *v,
                       uint32_t n) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    const uint32_t shift = shift_of(j.texture->bits);
    struct recent_block recent[CORNERS] = {{0, NULL}};

    for
        EACH_VECTOR(i, n) {
            struct corner corner[CORNERS];
            struct block_texels at[CORNERS];
            double weight[CORNERS][LANES];
            v4_f32 color[LANES];
            find_corners(&j, shape, &u[i], &v[i], corner);
            for (int c = 0; c < CORNERS; c++) {
                find_in_blocks(&j, &l, shift, corner[c].x, corner[c].y, &at[c]);
                memcpy(weight[c], &corner[c].weight, sizeof weight[c]);
            }
            for (uint32_t lane = 0; lane < LANES; lane++) {
                v4_f64 sum = {0};
                for (int c = 0; c < CORNERS; c++) {
                    const v4_f32 texel = block_texel(&j, &recent[c], at[c].address[lane], at[c].number[lane]);
                    sum += (v4_f64)_mm256_broadcast_sd(&weight[c][lane]) * (v4_f64)_mm256_cvtps_pd((__m128)texel);
                }
                color[lane] = (v4_f32)_mm256_cvtpd_ps((__m256d)(sum * (1.0 / 65536.0)));
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
    struct recent_block recent = {0, NULL};

    for
        EACH_VECTOR(i, n) {
            const struct place place = nearest_place(&j, &u[i], &v[i]);
            struct block_texels at;
            v4_f32 color[LANES];
            find_in_blocks(&j, &l, shift, place.x, place.y, &at);
            for (uint32_t lane = 0; lane < LANES; lane++) {
                color[lane] = block_texel(&j, &recent, at.address[lane], at.number[lane]);
            }
            store_channels(&j, i, color);
            store_channels(&j, i + 4, color + 4);
        }
}

const struct g4_format_ops G4_V(g4_format_ops) = {
    .words = words, .words_nearest = words_nearest, .blocks = blocks, .blocks_nearest = blocks_nearest};

#else

#include "sampler/bilinear.h"

const struct g4_format_ops G4_V(g4_format_ops) = {NULL, NULL, NULL, NULL}; /* none: the general path is used */

#endif
