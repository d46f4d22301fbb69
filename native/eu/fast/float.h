/*
 * The last steps of every fast handler that computes floats: special results, saturation, flags, store.
 */
#ifndef G4_EU_FAST_FLOAT_H
#define G4_EU_FAST_FLOAT_H

#include "eu/fast/operands.h"

/* The modifiers of a source: (bits & keep) ^ flip. */
struct float_modifiers {
    vi keep, flip;
};

G4_INLINE struct float_modifiers float_modifiers(const struct g4_op *op, int s) {
    return (struct float_modifiers){v_splat((int32_t)op->in[s].keep), v_splat((int32_t)op->in[s].flip)};
}

G4_INLINE vf modified(vi x, struct float_modifiers m) {
    return (vf)((x & m.keep) ^ m.flip);
}

/* Correct the results that the host computes differently: NaN has one pattern, infinities are clamped in ALT mode.
 * Returns true if a result may have overflowed, which only the exact value shows. */
G4_COLD bool special_results(const struct g4_run *run, g4_lanes lanes, vi r[G4_VN]) {
    g4_lanes doubtful = 0;
    for (int i = 0; i < G4_VN; i++) {
        const vi magnitude = r[i] & 0x7fffffff;
        const vi alternate = v_lanes(run->alternate, i);
        const vi infinite = (magnitude == v_splat(0x7f800000)) & alternate;
        r[i] = v_select(magnitude > v_splat(0x7f800000), v_splat(0x7fc00000), r[i]);
        r[i] = v_select(infinite, (r[i] & INT32_MIN) | 0x7f7fffff, r[i]);
        doubtful |= v_bits((magnitude == v_splat(0x7f7fffff)) & ~alternate, i);
    }
    return (doubtful & lanes) != 0;
}

/* Whether any lane is infinite, NaN, or the largest float. */
G4_INLINE bool any_special(const vi r[G4_VN]) {
#if G4_VARIANT_LEVEL >= 2
    __m512i largest = _mm512_slli_epi32((__m512i)r[0], 1); /* shift out the sign */
    for (int i = 1; i < G4_VN; i++) {
        largest = _mm512_max_epu32(largest, _mm512_slli_epi32((__m512i)r[i], 1));
    }
    return _mm512_cmpge_epu32_mask(largest, _mm512_set1_epi32((int)0xfefffffe)) != 0;
#elif G4_VARIANT_LEVEL >= 1
    const __m256i limit = _mm256_set1_epi32((int)0xfefffffe);
    __m256i largest = _mm256_slli_epi32((__m256i)r[0], 1);
    for (int i = 1; i < G4_VN; i++) {
        largest = _mm256_max_epu32(largest, _mm256_slli_epi32((__m256i)r[i], 1));
    }
    return !_mm256_testz_si256(_mm256_cmpeq_epi32(_mm256_max_epu32(largest, limit), largest), _mm256_set1_epi32(-1));
#elif defined(__SSE2__)
    const __m128i magnitude = _mm_set1_epi32(0x7fffffff);
    __m128i special = _mm_setzero_si128();
    for (int i = 0; i < G4_VN; i++) {
        const __m128i x = _mm_and_si128((__m128i)r[i], magnitude);
        special = _mm_or_si128(special, _mm_cmpgt_epi32(x, _mm_set1_epi32(0x7f7ffffe)));
    }
    return _mm_movemask_epi8(special) != 0;
#else
    vi special = v_splat(0);
    for (int i = 0; i < G4_VN; i++) {
        special |= (r[i] & 0x7fffffff) >= v_splat(0x7f7fffff);
    }
    return v_bits(special, 0) != 0;
#endif
}

/* Correct special results; false: the general handler must execute the part. */
G4_INLINE bool settle_float(const struct g4_run *run, g4_lanes lanes, vi r[G4_VN]) {
    return __builtin_expect(!any_special(r), 1) || !special_results(run, lanes, r);
}

G4_INLINE void saturate_float(const struct g4_op *op, vi r[G4_VN]) {
    const vf one = (vf){0} + 1.0f;
    for (int i = 0; op->saturate && i < G4_VN; i++) {
        const vi positive = r[i] & ((vf)r[i] > 0);
        r[i] = v_select((vf)positive > one, (vi)one, positive);
    }
}

/* The value that a condition tests if a float is stored as an integer: 0 where the integer is 0. */
G4_INLINE vi seen_as_integer(unsigned type, vi r) {
    const bool is_signed = type == G4_TYPE_D || type == G4_TYPE_W || type == G4_TYPE_B;
    const vf one = (vf){0} + 1.0f;
    const vf size = (vf)(is_signed ? r & 0x7fffffff : r);
    return r & (size >= one);
}

G4_INLINE void store_float(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes, vi r[G4_VN]) {
    saturate_float(op, r);
    if (op->cond != G4_COND_NONE) {
        const vf zero = {0};
        g4_lanes bits = 0;
        if (op->dst.type == G4_TYPE_F) {
            G4_CONDITION(bits, op->cond, (vf)r[i], zero)
        } else {
            G4_CONDITION(bits, op->cond, (vf)seen_as_integer(op->dst.type, r[i]), zero)
        }
        set_part_flags(run, op, part, lanes, bits);
    }
    store_part(run, op, part, lanes, r);
}

/* Finish a part.  r: results in the rounding of the host. */
G4_INLINE void finish_float(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes, vi r[G4_VN]) {
    if (settle_float(run, lanes, r)) {
        store_float(run, op, part, lanes, r);
    } else {
        general_part(run, op, part);
    }
}

#endif
