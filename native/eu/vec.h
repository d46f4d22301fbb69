/*
 * Vectors of lanes for the fast handlers, as wide as the registers of the host: the eight channels of one thread
 * (AVX2), of two threads (AVX-512), or half of them (SSE2, NEON).  GCC compares vectors wider than a register lane by
 * lane: with eight lanes, the handlers for SSE2 were three times as large.
 */
#ifndef G4_EU_VEC_H
#define G4_EU_VEC_H

#include <stdint.h>
#include <string.h>

#include "eu/run.h"

#if G4_VARIANT_LEVEL >= 2
#define G4_VL 16
#elif G4_VARIANT_LEVEL >= 1
#define G4_VL 8
#else
#define G4_VL 4
#endif
#define G4_VN (64 / G4_VL)

/* The thread and the channel of the first lane of vector i, and the thread of the last one. */
#define G4_V_THREAD(i)      (G4_VL * (i) / 8)
#define G4_V_CHANNEL(i)     (G4_VL * (i) % 8)
#define G4_V_LAST_THREAD(i) ((G4_VL * ((i) + 1) - 1) / 8)

#define G4_INLINE static inline __attribute__((always_inline))
#define G4_COLD   static __attribute__((noinline, cold))

typedef float vf __attribute__((vector_size(4 * G4_VL)));
typedef int32_t vi __attribute__((vector_size(4 * G4_VL)));
typedef uint32_t vu __attribute__((vector_size(4 * G4_VL)));
typedef double vd __attribute__((vector_size(8 * G4_VL)));
typedef int64_t vl __attribute__((vector_size(8 * G4_VL)));
/* Vectors in memory of any alignment and type. */
typedef int32_t vi_any __attribute__((vector_size(4 * G4_VL), aligned(4), may_alias));
typedef double vd_any __attribute__((vector_size(8 * G4_VL), aligned(8), may_alias));

/* An operand of the whole gang: 64 lanes of 32 bits. */
union g4_vals {
    _Alignas(64) int32_t d[64];
    float f[64];
    uint32_t ud[64];
    vi v[G4_VN];
};

G4_INLINE vi v_splat(int32_t x) {
    return (vi){0} + x;
}

G4_INLINE vi v_load(const void *from, int i) {
    return ((const vi_any *)from)[i];
}

G4_INLINE void v_store(void *to, int i, vi x) {
    ((vi_any *)to)[i] = x;
}

/* A value for each thread of a vector in all channels of the thread; `second` is unused if there is one thread. */
G4_INLINE vi v_splat_threads(int32_t first, int32_t second) {
#if G4_VL == 16
    const vi low = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return (v_splat(first) & low) | (v_splat(second) & ~low);
#else
    (void)second;
    return v_splat(first);
#endif
}

/* One dword of each thread for all channels of the thread; `from` points to that of thread 0. */
G4_INLINE vi v_load_scalar(const void *from, int i) {
    int32_t first;
    int32_t second;
    memcpy(&first, (const uint8_t *)from + 32 * G4_V_THREAD(i), 4);
    memcpy(&second, (const uint8_t *)from + 32 * G4_V_LAST_THREAD(i), 4);
    return v_splat_threads(first, second);
}

#if G4_VARIANT_LEVEL >= 1
/* Signed words, eight of each thread; `from` points to those of thread 0. */
G4_INLINE vi v_load_words(const void *from, int i) {
    const uint8_t *const bytes = (const uint8_t *)from + 32 * G4_V_THREAD(i);
    const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)bytes);
#if G4_VL == 16
    const __m128i second = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 32));
    return (vi)_mm512_cvtepi16_epi32(_mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1));
#else
    return (vi)_mm256_cvtepi16_epi32(first);
#endif
}
#endif

/* A vector with all bits set in the lanes of the mask. */
G4_INLINE vi v_lanes(g4_lanes lanes, int i) {
#if G4_VL == 16
    const vi bit = {1,      1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                    1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
    return (v_splat((int32_t)(lanes >> (16 * i) & 0xffff)) & bit) == bit;
#elif G4_VL == 8
    const vi bit = {1, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7};
    return (v_splat((int32_t)(lanes >> (8 * i) & 0xff)) & bit) == bit;
#else
    const vi bit = {1, 1 << 1, 1 << 2, 1 << 3};
    return (v_splat((int32_t)(lanes >> (4 * i) & 0xf)) & bit) == bit;
#endif
}

G4_INLINE vi v_select(vi mask, vi yes, vi no) {
    return (yes & mask) | (no & ~mask);
}

G4_INLINE void v_store_lanes(void *to, int i, vi x, g4_lanes lanes) {
#if G4_VARIANT_LEVEL >= 2
    _mm512_mask_storeu_epi32((char *)to + 64 * i, (__mmask16)(lanes >> (16 * i)), (__m512i)x);
#elif G4_VARIANT_LEVEL >= 1
    const __m256 old = _mm256_loadu_ps((const float *)to + 8 * i);
    _mm256_storeu_ps((float *)to + 8 * i, _mm256_blendv_ps(old, (__m256)x, (__m256)v_lanes(lanes, i)));
#else
    v_store(to, i, v_select(v_lanes(lanes, i), x, v_load(to, i)));
#endif
}

/* The lanes of vector i that are set, as bits of g4_lanes. */
G4_INLINE g4_lanes v_bits(vi mask, int i) {
#if G4_VARIANT_LEVEL >= 2
    return (g4_lanes)_mm512_movepi32_mask((__m512i)mask) << (16 * i);
#elif G4_VARIANT_LEVEL >= 1
    return (g4_lanes)(unsigned)_mm256_movemask_ps((__m256)mask) << (8 * i);
#elif defined(__SSE2__)
    return (g4_lanes)(unsigned)_mm_movemask_ps((__m128)mask) << (4 * i);
#else
    g4_lanes bits = 0;
    for (int c = 0; c < G4_VL; c++) {
        bits |= (g4_lanes)(mask[c] & 1) << (G4_VL * i + c);
    }
    return bits;
#endif
}

G4_INLINE vd v_widen(vf x) {
#if G4_VARIANT_LEVEL == 0 && defined(__SSE2__)
    const union {
        __m128d half[2];
        vd v;
    } out = {{_mm_cvtps_pd((__m128)x), _mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x))}};
    return out.v;
#else
    return __builtin_convertvector(x, vd);
#endif
}

G4_INLINE vf v_narrow(vd x) {
#if G4_VARIANT_LEVEL == 0 && defined(__SSE2__)
    const union {
        vd v;
        __m128d half[2];
    } in = {x};
    return (vf)_mm_movelh_ps(_mm_cvtpd_ps(in.half[0]), _mm_cvtpd_ps(in.half[1]));
#else
    return __builtin_convertvector(x, vf);
#endif
}

/* Integers to floats, in the rounding mode of the host. */
G4_INLINE vf v_to_float(vi x) {
    return __builtin_convertvector(x, vf);
}

/* Floats to integers, toward zero.  The values must be in range. */
G4_INLINE vi v_to_int(vf x) {
    return __builtin_convertvector(x, vi);
}

/* Rounds down.  Inputs must not be denormal; -0, infinities and NaN are unchanged. */
G4_INLINE vf v_floor(vf x) {
#if G4_VARIANT_LEVEL >= 2
    return (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif G4_VARIANT_LEVEL >= 1
    return (vf)_mm256_floor_ps((__m256)x);
#else
    const vi sign = v_splat((int32_t)0x80000000);
    const vi big = ((vi)x & 0x7fffffff) >= v_splat(0x4b000000); /* 2^23: no fraction, or no number */
    const vf small = (vf)v_select(big, v_splat(0), (vi)x);
    vf below = v_to_float(v_to_int(small));
    below -= (vf)((below > small) & (vi)((vf){0} + 1.0f));
    return (vf)v_select(big, (vi)x, ((vi)below & ~sign) | ((vi)below & sign) | ((vi)x & sign));
#endif
}

#endif
