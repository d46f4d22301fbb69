/*
 * Converts coordinates to texel numbers, a vector of lookups at a time.  For files that are built once per vector
 * variant.
 */
#ifndef G4_SAMPLER_COORDINATES_H
#define G4_SAMPLER_COORDINATES_H

#include "sampler/inner_loops.h"

#include "core/lanes.h"

/* Loops run over whole vectors; the results beyond the last lookup are unused. */
#define EACH_VECTOR(i, n) (uint32_t i = 0; (i) < (n); (i) += LANES)

INLINE vi vi_load(const int32_t *from) {
    vi v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE vu vu_load(const uint32_t *from) {
    vu v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void store(void *to, vi v) {
    memcpy(to, &v, sizeof v);
}

INLINE vi vi_all(int32_t x) {
    return (vi)vu_all((uint32_t)x);
}

INLINE vi vi_min(vi a, vi b) {
#if defined(G4_LANES_WIDE)
    return (vi)_mm512_min_epi32((__m512i)a, (__m512i)b);
#elif defined(G4_LANES_AVX2)
    return (vi)_mm256_min_epi32((__m256i)a, (__m256i)b);
#else
    return vi_select(a < b, a, b);
#endif
}

INLINE vi vi_max(vi a, vi b) {
#if defined(G4_LANES_WIDE)
    return (vi)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(G4_LANES_AVX2)
    return (vi)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    return vi_select(a > b, a, b);
#endif
}

INLINE vf magnitude(vf v) {
    return (vf)((vu)v & vu_all(0x7fffffff));
}

/* ---- coordinates ---- */

/* Rounds down.  Numbers beyond 2^23 have no fraction.  The sign of a zero is not preserved. */
INLINE vf round_down(vf x) {
#if defined(G4_LANES_WIDE)
    return (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(G4_LANES_AVX2)
    return (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#else
    const vi small = magnitude(x) < vf_all(8388608.0f);
    const vf limited = (vf)((vi)x & small);
    const vi toward_zero = vi_truncate(limited);
    const vi whole = toward_zero + (vi)(vf_of_int(toward_zero) > limited);
    return vf_select(small, vf_of_int(whole), x);
#endif
}

/* Applies an address mode to the coordinate itself.  NaN, and infinities that become NaN, count as 0. */
INLINE vf preprocess(vf c, uint8_t mode) {
    const vf one = vf_all(1.0f);
    const vf two = vf_all(2.0f);
    vf x = c;
    if (mode == G4_TEXTURE_COORDINATE_MODE_WRAP) {
        return vf_max(c - round_down(c), vf_all(0.0f)); /* vf_max returns the second operand if the first is NaN */
    }
    if (mode == G4_TEXTURE_COORDINATE_MODE_MIRROR) {
        const vf there = c - two * round_down(c * vf_all(0.5f));
        x = vf_select(there > one, two - there, there);
    } else if (mode == G4_TEXTURE_COORDINATE_MODE_MIRROR_ONCE) {
        x = vf_min(magnitude(c), one);
    }
    const vi number = (vi)magnitude(x) <= vi_all(0x7f800000);
    return (vf)((vi)x & number);
}

/* preprocess() of lookups with a texel offset, which is added before a reflection: address() reflects
 * (docs/decisions.md 146). */
INLINE vf preprocess_shifted(vf c, uint8_t mode) {
    if (mode == G4_TEXTURE_COORDINATE_MODE_MIRROR_ONCE) {
        return preprocess(c, G4_TEXTURE_COORDINATE_MODE_CLAMP);
    }
    if (mode != G4_TEXTURE_COORDINATE_MODE_MIRROR) {
        return preprocess(c, mode);
    }
    const vf two = vf_all(2.0f);
    const vf there = c - two * round_down(c * vf_all(0.5f));
    const vf x = vf_select(there > vf_all(1.0f), there - two, there);
    const vi number = (vi)magnitude(x) <= vi_all(0x7f800000);
    return (vf)((vi)x & number);
}

/* Converts to fixed point with 8 fraction bits.  The limit is beyond any texel of 16384 and keeps the trick of adding
 * 1.5 * 2^23 exact. */
INLINE vi fixed_point(vf x, bool round) {
    const vf limited = vf_max(vf_min(x, vf_all(16384.0f)), vf_all(-16384.0f)) * vf_all(256.0f);
    const vi nearest = (vi)(limited + vf_all(12582912.0f)) - vi_all(0x4b400000);
    return round ? nearest : nearest + (vi)(vf_of_int(nearest) > limited);
}

/* fixed_point() to nearest, for values that are within the limit. */
INLINE vi fixed_point_of_small(vf x) {
    return (vi)(x * vf_all(256.0f) + vf_all(12582912.0f)) - vi_all(0x4b400000);
}

/* i modulo n, for numbers that preprocessing left close to 0..n. */
INLINE vi modulo(vi i, int32_t n) {
    const vf turns = round_down((vf_of_int(i) + vf_all(0.5f)) * vf_all(1.0f / (float)n));
    return i - vi_truncate(turns) * vi_all(n);
}

enum {
    LARGE = 34 /* texels; no number is further outside: an offset of -32, another texel, and rounding */
};

INLINE vi address(vi i, uint8_t mode, int32_t n) {
    const vi size = vi_all(n);
    const vi zero = vi_all(0);
    switch (mode) {
    case G4_TEXTURE_COORDINATE_MODE_WRAP:
        if (n < LARGE) {
            return modulo(i, n);
        }
        return i + (size & (i < zero)) - (size & (i >= size));
    case G4_TEXTURE_COORDINATE_MODE_MIRROR: {
        const vi near = n < LARGE ? modulo(i, 2 * n) : i;
        const vi positive = near ^ (near >> 31);
        return vi_select(positive >= size, size + size - vi_all(1) - positive, positive);
    }
    case G4_TEXTURE_COORDINATE_MODE_CLAMP_BORDER:
        return vi_select((i < zero) | (i >= size), vi_all(G4_OUTSIDE), i);
    case G4_TEXTURE_COORDINATE_MODE_MIRROR_ONCE:
        return vi_min(i ^ (i >> 31), size - vi_all(1));
    case G4_TEXTURE_COORDINATE_MODE_CUBE:
        return vi_max(vi_min(i, size), vi_all(-1));
    default:
        return vi_max(vi_min(i, size - vi_all(1)), zero);
    }
}

/* The position of a coordinate on an axis: two texels and the weight of the second, or one texel. */
struct axis_texels {
    vi first, second, weight;
};

/* Half border: as GL_CLAMP, the coordinate ends at the edge of the map, where a linear filter takes half of the border
 * (docs/decisions.md 163). */
INLINE struct axis_texels half_border_texels(const struct g4_axis *axis, vf coordinate) {
    const int32_t texels = (int32_t)axis->size;
    const vf c = preprocess(coordinate, G4_TEXTURE_COORDINATE_MODE_CLAMP);
    const vf x = c * vf_all(axis->scale) - vf_all(axis->linear ? 0.5f : 0.0f);
    const vi fixed = fixed_point(x, axis->round) + vi_all(256 * axis->offset);
    const vi low = vi_all(axis->linear ? -128 : 0);
    const vi high = vi_all(256 * texels - (axis->linear ? 128 : 1));
    const vi ended = vi_max(vi_min(fixed, high), low);
    const vi first = ended >> 8;
    return (struct axis_texels){
        .first = address(first, G4_TEXTURE_COORDINATE_MODE_CLAMP_BORDER, texels),
        .second = address(first + vi_all(1), G4_TEXTURE_COORDINATE_MODE_CLAMP_BORDER, texels),
        .weight = ended & vi_all(255),
    };
}

INLINE struct axis_texels axis_texels(const struct g4_axis *axis, uint8_t mode, vf coordinate) {
    if (mode == G4_HALF_BORDER) {
        return half_border_texels(axis, coordinate);
    }
    const int32_t texels = (int32_t)axis->size;
    const vf half = vf_all(axis->linear ? 0.5f : 0.0f);
    const vf c = axis->shifted ? preprocess_shifted(coordinate, mode) : preprocess(coordinate, mode);
    const vf x = c * vf_all(axis->scale) - half;
    const vi fixed = fixed_point(x, axis->round);
    const vi first = (fixed >> 8) + vi_all(axis->offset);
    struct axis_texels out = {.first = address(first, mode, texels), .weight = fixed & vi_all(255)};
    if (axis->linear) {
        const vi next = address(first + vi_all(1), mode, texels);
        out.second = vi_select(out.weight == vi_all(0), out.first, next);
    }
    return out;
}

/* ---- into the image ---- */

/* Clamps texel numbers to 0..size-1. */
INLINE vu inside(vi index, uint32_t size) {
    return (vu)vi_max(vi_min(index, vi_all((int32_t)size - 1)), vi_all(0));
}

#endif
