/*
 * Eight pixels in a vector, for files that are built once per vector variant; sixteen where G4_LANES_WIDE is defined.
 *
 * The intrinsics do exactly what the portable text beside them says, bit for bit.
 */
#ifndef G4_CC_LANES_H
#define G4_CC_LANES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/variant.h"

#define INLINE static inline __attribute__((always_inline))

#ifdef G4_LANES_WIDE
enum {
    LANES = 16
};
#else
enum {
    LANES = 8
};
#endif

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef double vd __attribute__((vector_size(8 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));
typedef uint32_t vu __attribute__((vector_size(4 * LANES)));

#ifndef G4_LANES_AVX2

/* GCC 12 takes vectors of 32 bytes apart where registers have 16: comparisons, shuffles and conversions there are those
 * of halves. */
typedef float half_f32 __attribute__((vector_size(16)));
typedef int32_t half_i32 __attribute__((vector_size(16)));

struct floats {
    half_f32 half[2];
};

struct ints {
    half_i32 half[2];
};

INLINE struct floats halves_of_floats(vf v) {
    struct floats out;
    memcpy(&out, &v, sizeof out);
    return out;
}

INLINE struct ints halves_of_ints(vi v) {
    struct ints out;
    memcpy(&out, &v, sizeof out);
    return out;
}

INLINE vi vi_of_halves(struct ints halves) {
    vi out;
    memcpy(&out, &halves, sizeof out);
    return out;
}

#endif

INLINE vf vf_load(const void *from) {
    vf v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE vf vf_all(float x) {
#ifdef G4_LANES_WIDE
    return (vf){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
#else
    return (vf){x, x, x, x, x, x, x, x};
#endif
}

INLINE vu vu_all(uint32_t x) {
#ifdef G4_LANES_WIDE
    return (vu){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
#else
    return (vu){x, x, x, x, x, x, x, x};
#endif
}

/* No blend intrinsics: gcc 12 swaps the operands of _mm256_blendv_epi8 when it turns `!= 0` masks around. */
INLINE vi vi_select(vi mask, vi a, vi b) {
    return (mask & a) | (~mask & b);
}

INLINE vu vu_select(vi mask, vu a, vu b) {
    return (vu)vi_select(mask, (vi)a, (vi)b);
}

INLINE vf vf_select(vi mask, vf a, vf b) {
    return (vf)vi_select(mask, (vi)a, (vi)b);
}

/* Comparisons of each lane: all ones or zero. */
#ifdef G4_LANES_AVX2
#define G4_COMPARE_LANES(name, vector, halves, operator)                                                               \
    INLINE vi name(vector a, vector b) {                                                                               \
        return a operator b;                                                                                           \
    }
#else
#define G4_COMPARE_LANES(name, vector, halves, operator)                                                               \
    INLINE vi name(vector a, vector b) {                                                                               \
        return vi_of_halves((struct ints){                                                                             \
            {halves(a).half[0] operator halves(b).half[0], halves(a).half[1] operator halves(b).half[1]}});            \
    }
#endif

G4_COMPARE_LANES(vf_less, vf, halves_of_floats, <)
G4_COMPARE_LANES(vf_at_most, vf, halves_of_floats, <=)
G4_COMPARE_LANES(vf_equal, vf, halves_of_floats, ==)
G4_COMPARE_LANES(vf_differ, vf, halves_of_floats, !=)
G4_COMPARE_LANES(vi_less, vi, halves_of_ints, <)
G4_COMPARE_LANES(vi_at_most, vi, halves_of_ints, <=)
G4_COMPARE_LANES(vi_equal, vi, halves_of_ints, ==)
G4_COMPARE_LANES(vi_differ, vi, halves_of_ints, !=)

INLINE vi vf_is_nan(vf v) {
    return vi_less((vi)vu_all(0x7f800000), (vi)((vu)v & 0x7fffffff));
}

/* a > b ? a : b, so b when one of them is NaN or both are zeros */
INLINE vf vf_max(vf a, vf b) {
#if defined(G4_LANES_WIDE)
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(G4_LANES_AVX2)
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return vf_select(vf_less(b, a), a, b);
#endif
}

/* a < b ? a : b */
INLINE vf vf_min(vf a, vf b) {
#if defined(G4_LANES_WIDE)
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(G4_LANES_AVX2)
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return vf_select(vf_less(a, b), a, b);
#endif
}

/* Into [0, 1]; NaN becomes 0. */
INLINE vf vf_saturate(vf v) {
    return vf_min(vf_max(v, vf_all(0)), vf_all(1));
}

/* Into [low, high]; NaN stays. */
INLINE vf vf_clamp(vf v, float low, float high) {
    return vf_min(vf_all(high), vf_max(vf_all(low), v));
}

/* Toward zero; only for values that fit. */
INLINE vi vi_truncate(vf v) {
    return __builtin_convertvector(v, vi);
}

INLINE vf vf_of_int(vi v) {
    return __builtin_convertvector(v, vf);
}

/* c / 255 for c in 0..255, the same bits as a division: checked for each of them. */
INLINE vf unorm8_decode(vu c) {
    const vf v = vf_of_int((vi)c);
    const vf large = v * vf_all(65793.0f / 16777216.0f);
    const vf small = vf_all(257.0f / 1099511627776.0f);
    /* Both products are exact, so fused is the same. */
#if defined(G4_LANES_WIDE)
    return (vf)_mm512_fmadd_ps((__m512)v, (__m512)small, (__m512)large);
#elif defined(G4_LANES_AVX2)
    return (vf)_mm256_fmadd_ps((__m256)v, (__m256)small, (__m256)large);
#else
    return large + v * small;
#endif
}

/* One bit a lane, from lanes that are all ones or zero. */
INLINE uint32_t vi_bits(vi mask) {
#if defined(G4_LANES_WIDE)
    return _mm512_movepi32_mask((__m512i)mask);
#elif defined(G4_LANES_AVX2)
    return (uint32_t)_mm256_movemask_ps((__m256)mask);
#elif defined(__SSE2__)
    __m128i half[2];
    memcpy(half, &mask, sizeof half);
    const __m128i words = _mm_packs_epi32(half[0], half[1]);
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(words, _mm_setzero_si128()));
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++) {
        bits |= ((uint32_t)mask[i] >> 31) << i;
    }
    return bits;
#endif
}

INLINE uint64_t load64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE uint32_t load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE uint16_t load16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#ifndef G4_LANES_WIDE

/* To double, and back; by intrinsics, because GCC 12 converts halves or single numbers. */
INLINE vd vd_of_float(vf v) {
#if defined(G4_LANES_AVX2) && G4_VARIANT_LEVEL > 1
    return (vd)_mm512_cvtps_pd((__m256)v);
#else
    return __builtin_convertvector(v, vd);
#endif
}

INLINE vd vd_of_int(vi v) {
#if defined(G4_LANES_AVX2) && G4_VARIANT_LEVEL > 1
    return (vd)_mm512_cvtepi32_pd((__m256i)v);
#else
    return __builtin_convertvector(v, vd);
#endif
}

INLINE vf vf_of_double(vd v) {
#if !defined(G4_LANES_AVX2) && defined(__SSE2__)
    __m128d part[4];
    memcpy(part, &v, sizeof part);
    const __m128 half[2] = {_mm_movelh_ps(_mm_cvtpd_ps(part[0]), _mm_cvtpd_ps(part[1])),
                            _mm_movelh_ps(_mm_cvtpd_ps(part[2]), _mm_cvtpd_ps(part[3]))};
    vf out;
    memcpy(&out, half, sizeof out);
    return out;
#else
    return __builtin_convertvector(v, vf);
#endif
}

typedef int64_t v8_i64 __attribute__((vector_size(64)));

/* The sum of two numbers.  `finite`: there are no NaN; otherwise the first of two NaN stays, because the compiler may
 * swap the operands of an addition, and the processor returns the first NaN. */
INLINE vd vd_plus(vd a, vd b, bool finite) {
    const v8_i64 number = a == a;
    const vd sum = a + b;
    return finite ? sum : (vd)((number & (v8_i64)sum) | (~number & (v8_i64)a));
}

INLINE vi vi_mask(uint32_t bits) {
    const vi bit = {1, 2, 4, 8, 16, 32, 64, 128};
    return vi_equal((vi)vu_all(bits) & bit,
                    bit); /* not `!= 0`: GCC 12 turns the blends that follow around with AVX-512 */
}

/* ---- pixels in memory: rows[] of two pixels, their dwords in planes ---- */

typedef uint64_t v4_u64 __attribute__((vector_size(32)));
typedef uint32_t v4_u32 __attribute__((vector_size(16)));
typedef uint16_t v8_u16 __attribute__((vector_size(16)));
typedef uint8_t v8_u8 __attribute__((vector_size(8)));

INLINE vu gather32(uint8_t *const row[4]) {
    return (vu)(v4_u64){load64(row[0]), load64(row[1]), load64(row[2]), load64(row[3])};
}

INLINE void scatter32(uint8_t *const row[4], vu raw) {
    const v4_u64 v = (v4_u64)raw;
    for (int r = 0; r < 4; r++) {
        const uint64_t pair = v[r];
        memcpy(row[r], &pair, sizeof pair);
    }
}

INLINE vu gather16(uint8_t *const row[4]) {
    const v4_u32 v = {load32(row[0]), load32(row[1]), load32(row[2]), load32(row[3])};
    return __builtin_convertvector((v8_u16)v, vu);
}

INLINE void scatter16(uint8_t *const row[4], vu raw) {
    const v4_u32 v = (v4_u32) __builtin_convertvector(raw, v8_u16);
    for (int r = 0; r < 4; r++) {
        const uint32_t pair = v[r];
        memcpy(row[r], &pair, sizeof pair);
    }
}

/* Between eight bytes and eight lanes.  By intrinsics, because GCC 12 makes vectors of bytes in memory. */
#ifdef G4_LANES_AVX2

INLINE vu lanes_of_bytes(uint64_t bytes) {
    return (vu)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bytes));
}

INLINE uint64_t bytes_of_lanes(vu raw) {
    const __m256i low = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1,
                                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i bytes = _mm256_shuffle_epi8((__m256i)raw, low);
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
}

#else

INLINE vu lanes_of_bytes(uint64_t bytes) {
    return __builtin_convertvector((v8_u8)bytes, vu);
}

INLINE uint64_t bytes_of_lanes(vu raw) {
    return (uint64_t) __builtin_convertvector(raw, v8_u8);
}

#endif

INLINE vu gather8(uint8_t *const row[4]) {
    return lanes_of_bytes(load16(row[0]) | (uint64_t)load16(row[1]) << 16 | (uint64_t)load16(row[2]) << 32 |
                          (uint64_t)load16(row[3]) << 48);
}

INLINE void scatter8(uint8_t *const row[4], vu raw) {
    const uint64_t bytes = bytes_of_lanes(raw);
    for (int r = 0; r < 4; r++) {
        const uint16_t pair = (uint16_t)(bytes >> (16 * r));
        memcpy(row[r], &pair, sizeof pair);
    }
}

#ifdef G4_LANES_AVX2

INLINE void gather64(uint8_t *const row[4], vu raw[2]) {
    vu a, b;
    memcpy(&a, row[0], 16);
    memcpy((uint8_t *)&a + 16, row[1], 16);
    memcpy(&b, row[2], 16);
    memcpy((uint8_t *)&b + 16, row[3], 16);
    raw[0] = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    raw[1] = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
}

INLINE void scatter64(uint8_t *const row[4], const vu raw[2]) {
    const vu a = __builtin_shufflevector(raw[0], raw[1], 0, 8, 1, 9, 2, 10, 3, 11);
    const vu b = __builtin_shufflevector(raw[0], raw[1], 4, 12, 5, 13, 6, 14, 7, 15);
    memcpy(row[0], &a, 16);
    memcpy(row[1], (const uint8_t *)&a + 16, 16);
    memcpy(row[2], &b, 16);
    memcpy(row[3], (const uint8_t *)&b + 16, 16);
}

#else

INLINE void gather64(uint8_t *const row[4], vu raw[2]) {
    struct ints low, high;
    for (int h = 0; h < 2; h++) {
        half_i32 a, b;
        memcpy(&a, row[2 * h], sizeof a);
        memcpy(&b, row[2 * h + 1], sizeof b);
        low.half[h] = __builtin_shufflevector(a, b, 0, 2, 4, 6);
        high.half[h] = __builtin_shufflevector(a, b, 1, 3, 5, 7);
    }
    raw[0] = (vu)vi_of_halves(low);
    raw[1] = (vu)vi_of_halves(high);
}

INLINE void scatter64(uint8_t *const row[4], const vu raw[2]) {
    const struct ints low = halves_of_ints((vi)raw[0]);
    const struct ints high = halves_of_ints((vi)raw[1]);
    for (int h = 0; h < 2; h++) {
        const half_i32 a = __builtin_shufflevector(low.half[h], high.half[h], 0, 4, 1, 5);
        const half_i32 b = __builtin_shufflevector(low.half[h], high.half[h], 2, 6, 3, 7);
        memcpy(row[2 * h], &a, sizeof a);
        memcpy(row[2 * h + 1], &b, sizeof b);
    }
}

#endif

INLINE void gather128(uint8_t *const row[4], vu raw[4]) {
    for (int i = 0; i < LANES; i++) {
        for (int plane = 0; plane < 4; plane++) {
            raw[plane][i] = load32(row[i / 2] + (i & 1) * 16 + plane * 4);
        }
    }
}

INLINE void scatter128(uint8_t *const row[4], const vu raw[4]) {
    for (int i = 0; i < LANES; i++) {
        for (int plane = 0; plane < 4; plane++) {
            const uint32_t dword = raw[plane][i];
            memcpy(row[i / 2] + (i & 1) * 16 + plane * 4, &dword, sizeof dword);
        }
    }
}

INLINE void gather(uint8_t *const row[4], uint32_t bytes, vu raw[4]) {
    switch (bytes) {
    case 1:
        raw[0] = gather8(row);
        break;
    case 2:
        raw[0] = gather16(row);
        break;
    case 4:
        raw[0] = gather32(row);
        break;
    case 8:
        gather64(row, raw);
        break;
    default:
        gather128(row, raw);
        break;
    }
}

INLINE void scatter(uint8_t *const row[4], uint32_t bytes, const vu raw[4]) {
    switch (bytes) {
    case 1:
        scatter8(row, raw[0]);
        break;
    case 2:
        scatter16(row, raw[0]);
        break;
    case 4:
        scatter32(row, raw[0]);
        break;
    case 8:
        scatter64(row, raw);
        break;
    default:
        scatter128(row, raw);
        break;
    }
}

#endif

#endif
