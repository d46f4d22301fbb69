/*
 * The end of every fast handler that computes floats: special results, saturation, flags, store.
 */
#ifndef G4_EU_FAST_FLOAT_H
#define G4_EU_FAST_FLOAT_H

#include "fast_operands.h"

/* The modifiers of a source: value & keep ^ flip. */
struct modifiers {
    vi keep, flip;
};

G4_INLINE struct modifiers float_modifiers(const struct g4_op *op, int s) {
    return (struct modifiers){v_splat((int32_t)op->in[s].keep), v_splat((int32_t)op->in[s].flip)};
}

G4_INLINE vf modified(vi x, struct modifiers m) {
    return (vf)((x & m.keep) ^ m.flip);
}

/* Results that rounding toward zero alone does not give (spec/40 4.1, 4.2): one NaN, infinities clamped in ALT mode.
 * True when a result may have overflowed, which takes the exact value to tell. */
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

/* Put right what the host gives otherwise than the hardware; false: the general handler has to do the part. */
G4_INLINE bool settle_float(const struct g4_run *run, g4_lanes lanes, vi r[G4_VN]) {
    vi special = v_splat(0);
    for (int i = 0; i < G4_VN; i++) {
        special |= (r[i] & 0x7fffffff) >= v_splat(0x7f7fffff);
    }
    return __builtin_expect(v_bits(special, 0) == 0, 1) || !special_results(run, lanes, r);
}

G4_INLINE void saturate_float(const struct g4_op *op, vi r[G4_VN]) {
    const vf one = (vf){0} + 1.0f;
    for (int i = 0; op->saturate && i < G4_VN; i++) {
        const vi positive = r[i] & ((vf)r[i] > 0);
        r[i] = v_select((vf)positive > one, (vi)one, positive);
    }
}

G4_INLINE void store_float(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes, vi r[G4_VN]) {
    saturate_float(op, r);
    if (op->cond != G4_COND_NONE) {
        const vf zero = {0};
        g4_lanes bits = 0;
        G4_CONDITION(bits, op->cond, (vf)r[i], zero)
        set_part_flags(run, op, part, lanes, bits);
    }
    store_part(run, op, part, lanes, r);
}

/* r: results as the host rounds them. */
G4_INLINE void finish_float(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes, vi r[G4_VN]) {
    if (settle_float(run, lanes, r)) {
        store_float(run, op, part, lanes, r);
    } else {
        general_part(run, op, part);
    }
}

#endif
