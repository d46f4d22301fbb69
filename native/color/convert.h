/*
 * Conversion of the color channels of eight pixels between memory and floats, for files that are built once per
 * vector variant.
 */
#ifndef G4_CC_CONVERT_H
#define G4_CC_CONVERT_H

#include "color/state.h"
#include "hw_formats.h"

#include "core/lanes.h"

enum {
    FLOAT_BIAS = 127 - 15, /* difference between the exponent biases of floats and small floats */
    HALF_MANTISSA = 10,
    SMALLEST_NORMAL = 0x38800000, /* 2^-14 */
    TWO_TO_16 = 0x47800000,
    INFINITE = 0x7f800000,
};

/* ---- floats with five bits of exponent ---- */

/* The step of denormal numbers: 1 / 2^(14 + mantissa). */
INLINE float denormal_step(uint32_t mantissa) {
    return 1.0f / (float)(1u << (14 + mantissa));
}

/* Decodes an unsigned float with `mantissa` bits; the sign of a half is handled separately. */
INLINE vu small_decode(vu bits, uint32_t mantissa) {
    const uint32_t up = 23 - mantissa;
    const vu normal = (bits << up) + ((uint32_t)FLOAT_BIAS << 23);
    const vu denormal = (vu)(vf_of_int((vi)bits) * vf_all(denormal_step(mantissa)));
    const vu special = (bits << up) | (uint32_t)INFINITE;
    const vi is_denormal = vi_less((vi)bits, (vi)vu_all(1u << mantissa));
    const vi is_special = vi_at_most((vi)vu_all(31u << mantissa), (vi)bits);
    return vu_select(is_special, special, vu_select(is_denormal, denormal, normal));
}

#if defined(G4_LANES_AVX2) && !defined(G4_LANES_WIDE)

/* The instruction makes signalling NaN quiet. */
INLINE vf half_decode(vu bits) {
    const __m128i low = _mm256_castsi256_si128((__m256i)bits);
    const __m128i high = _mm256_extracti128_si256((__m256i)bits, 1);
    const vf number = (vf)_mm256_cvtph_ps(_mm_packus_epi32(low, high));
    const vu special = (bits & 0x8000) << 16 | (uint32_t)INFINITE | (bits & 0x3ff) << 13;
    return vf_select((vi)(bits & 0x7c00) == 0x7c00, (vf)special, number);
}

INLINE vu half_encode(vf v) {
    return (vu)_mm256_cvtepu16_epi32(_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}

#else

INLINE vf half_decode(vu bits) {
    return (vf)(small_decode(bits & 0x7fff, HALF_MANTISSA) | (bits & 0x8000) << 16);
}

/* Rounds to nearest, ties to even; too large numbers become infinite. */
INLINE vu half_encode(vf v) {
    const vu bits = (vu)v & 0x7fffffff;
    const vu sign = (vu)v >> 16 & 0x8000;
    const vu odd = bits >> 13 & 1;
    const vu normal = ((bits + 0xfff + odd) >> 13) - ((uint32_t)FLOAT_BIAS << HALF_MANTISSA);
    /* Near 0.5 the last place of a float is the step of denormal halves. */
    const vi is_denormal = vi_less((vi)bits, (vi)vu_all(SMALLEST_NORMAL));
    const vf tiny = vf_select(is_denormal, (vf)bits, vf_all(0)) + vf_all(0.5f);
    const vu denormal = (vu)tiny - 0x3f000000;
    const vi is_nan = vi_less((vi)vu_all(INFINITE), (vi)bits);
    const vu nan = vu_select(is_nan, vu_all(0x7e00) | (bits >> 13 & 0x3ff), vu_all(0x7c00));
    const vu finite = vu_select(is_denormal, denormal, normal);
    return vu_select(vi_at_most((vi)vu_all(TWO_TO_16), (vi)bits), nan, finite) | sign;
}

#endif

/* Encodes unsigned floats: negative numbers become 0, the rest is truncated. */
INLINE vu ufloat_encode(vf v, uint32_t mantissa) {
    const vu bits = (vu)v & 0x7fffffff;
    const vu normal = (bits >> (23 - mantissa)) - ((uint32_t)FLOAT_BIAS << mantissa);
    const vi is_denormal = vi_less((vi)bits, (vi)vu_all(SMALLEST_NORMAL));
    const vf tiny = vf_select(is_denormal, (vf)bits, vf_all(0));
    const vu denormal = (vu)vi_truncate(tiny * vf_all((float)(1u << (14 + mantissa))));
    const vu finite = vu_select(is_denormal, denormal, normal);
    const vu large =
        vu_select(vi_at_most((vi)vu_all(INFINITE), (vi)bits), vu_all(31u << mantissa), vu_all((31u << mantissa) - 1));
    const vi is_nan = vi_less((vi)vu_all(INFINITE), (vi)bits);
    const vi is_negative = ((vi)v >> 31) & ~is_nan;
    const vu result = vu_select(vi_at_most((vi)vu_all(TWO_TO_16), (vi)bits), large, finite);
    const vu nan = vu_all(31u << mantissa | 1u << (mantissa - 1));
    return vu_select(is_nan, nan, vu_select(is_negative, vu_all(0), result));
}

/* ---- sRGB, by table ---- */

#if defined(G4_LANES_AVX2) && !defined(G4_LANES_WIDE)

INLINE vf look_up(const float *table, vu index) {
    return (vf)_mm256_i32gather_ps(table, (__m256i)index, sizeof *table);
}

INLINE vf srgb_decode(const struct g4_srgb *srgb, vu code) {
    return look_up(srgb->decode, code & (G4_SRGB_CODES - 1));
}

/* As g4_srgb_encode8(): the dword that contains a bucket's byte is in the structure, too. */
INLINE vu srgb_encode8(const struct g4_srgb *srgb, vf v) {
    const vu bucket = (vu)v >> 16;
    const int *const dwords = (const int *)(const void *)srgb->bucket;
    const vu dword = (vu)_mm256_i32gather_epi32(dwords, (__m256i)(bucket >> 2), sizeof *dwords);
    const vu code = dword >> ((bucket & 3) << 3) & 255;
    return code - (vu)vf_at_most(look_up(srgb->first, code + 1), v);
}

INLINE vu srgb_encode(const struct g4_srgb *srgb, vf v) {
    if (srgb->bits == 8) {
        return srgb_encode8(srgb, v);
    }
    vu code = vu_all(0);
    for (uint32_t step = 1u << (srgb->bits - 1); step; step >>= 1) {
        code += (vu)vf_at_most(look_up(srgb->first, code + step), v) & vu_all(step);
    }
    return code;
}

#else

INLINE vf srgb_decode(const struct g4_srgb *srgb, vu code) {
    float v[LANES];
    uint32_t index[LANES];
    memcpy(index, &code, sizeof index);
    for (int i = 0; i < LANES; i++) {
        v[i] = srgb->decode[index[i] & (G4_SRGB_CODES - 1)];
    }
    return vf_load(v);
}

INLINE vu srgb_encode(const struct g4_srgb *srgb, vf v) {
    float linear[LANES];
    uint32_t code[LANES];
    vu result;
    memcpy(linear, &v, sizeof linear);
    if (srgb->bits == 8) {
        for (int i = 0; i < LANES; i++) {
            code[i] = g4_srgb_encode8(srgb, linear[i]);
        }
    } else {
        for (int i = 0; i < LANES; i++) {
            code[i] = g4_srgb_encode(srgb, linear[i]);
        }
    }
    memcpy(&result, code, sizeof result);
    return result;
}

#endif

INLINE vf srgb_curve(vf v) {
    vf curve;
    for (int i = 0; i < LANES; i++) {
        curve[i] = g4_srgb_curve(v[i]);
    }
    return curve;
}

/* ---- normalized channels of 24 and 32 bits, which no render target has: in double precision ---- */

#define COLD static __attribute__((noinline, cold, unused))

typedef int64_t vl __attribute__((vector_size(8 * LANES)));

INLINE bool is_deep(const struct g4_channel *channel) {
    return channel->bits > 16;
}

/* 1.0 in the channel. */
INLINE double deep_scale(const struct g4_channel *channel) {
    return channel->type == G4_CHANNEL_SNORM ? channel->mask >> 1 : channel->mask;
}

COLD vf deep_decode(const struct g4_channel *channel, vu code) {
    const uint32_t unused = 32u - channel->bits;
    const vd number = channel->type == G4_CHANNEL_SNORM ? vd_of_int((vi)(code << unused) >> unused)
                                                        : __builtin_convertvector(code, vd);
    return vf_max(vf_of_double(number / deep_scale(channel)), vf_all(-1));
}

/* Rounds to nearest, half away from 0; `v` is in the range of the channel. */
COLD vu deep_encode(const struct g4_channel *channel, vf v) {
    const vf half = vf_select(vf_less(v, vf_all(0)), vf_all(-0.5f), vf_all(0.5f));
    const vd scaled = vd_of_float(v) * deep_scale(channel) + vd_of_float(half);
    return __builtin_convertvector(__builtin_convertvector(scaled, vl), vu) & channel->mask;
}

#undef COLD

/* ---- channels ---- */

INLINE vf decode(const struct g4_channel *channel, const vu raw[4]) {
    const vu code = raw[channel->plane] >> channel->shift & channel->mask;
    switch (channel->type) {
    case G4_CHANNEL_UNORM:
        if (is_deep(channel)) {
            return deep_decode(channel, code);
        }
        return channel->srgb ? srgb_decode(channel->srgb, code) : vf_of_int((vi)code) / vf_all(channel->scale);
    case G4_CHANNEL_SNORM: {
        if (is_deep(channel)) {
            return deep_decode(channel, code);
        }
        const vi number = (vi)(code << (32 - channel->bits)) >> (32 - channel->bits);
        return vf_max(vf_of_int(number) / vf_all(channel->scale), vf_all(-1));
    }
    case G4_CHANNEL_FLOAT:
        return channel->bits == 16 ? half_decode(code) : (vf)code;
    case G4_CHANNEL_UFLOAT:
        return (vf)small_decode(code, channel->bits - 5u);
    default:
        return vf_all(0);
    }
}

/* Rounds to nearest, half up; `v` is in [0, 1]. */
INLINE vu unorm_encode(vf v, float scale) {
    return (vu)vi_truncate(v * vf_all(scale) + vf_all(0.5f));
}

/* Keeps four bits below the last place, adds the pattern and truncates. */
INLINE vu unorm_dither(const struct g4_channel *channel, vf v, vi pattern) {
    const vi fine = vi_truncate(v * vf_all(channel->scale * 16) + vf_all(0.5f));
    const vi code = (fine + pattern) >> 4;
    const vi top = (vi)vu_all(channel->mask);
    return (vu)vi_select(vi_less(top, code), top, code);
}

INLINE vu encode(const struct g4_channel *channel, vf v, vi dither) {
    switch (channel->type) {
    case G4_CHANNEL_UNORM: {
        const vf in_range = vf_saturate(v);
        if (is_deep(channel)) {
            return deep_encode(channel, in_range);
        }
        if (channel->dither) {
            return unorm_dither(channel, channel->srgb ? srgb_curve(in_range) : in_range, dither);
        }
        return channel->srgb ? srgb_encode(channel->srgb, in_range) : unorm_encode(in_range, channel->scale);
    }
    case G4_CHANNEL_SNORM: {
        const vf number = vf_clamp(vf_select(vf_is_nan(v), vf_all(0), v), -1, 1);
        if (is_deep(channel)) {
            return deep_encode(channel, number);
        }
        const vf scaled = number * vf_all(channel->scale);
        const vf half = vf_select(vf_less(scaled, vf_all(0)), vf_all(-0.5f), vf_all(0.5f));
        return (vu)vi_truncate(scaled + half) & channel->mask;
    }
    case G4_CHANNEL_FLOAT:
        return channel->bits == 16 ? half_encode(v) : (vu)v;
    case G4_CHANNEL_UFLOAT:
        return ufloat_encode(v, channel->bits - 5u);
    default:
        return vu_all(0);
    }
}

#endif
