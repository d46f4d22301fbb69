/*
 * Blending of eight pixels (G45 PRM vol. 2, 9), for files that are built once per vector variant.
 */
#ifndef G4_CC_BLEND_H
#define G4_CC_BLEND_H

#include "color/state.h"

#include "core/lanes.h"

/* R, G, B, A of the colors that blend factors name. */
struct blend_inputs {
    vf source[4], source1[4], destination[4], constant[4];
};

INLINE vf complement(vf v) {
    return vf_all(1) - v;
}

/* The lesser of two numbers.  A NaN counts as the greater: min(NaN, x) is x in the API. */
INLINE vf lesser(vf a, vf b) {
    return vf_select(vf_is_nan(b), a, vf_min(a, b));
}

INLINE vf greater(vf a, vf b) {
    return vf_select(vf_is_nan(b), a, vf_max(a, b));
}

/* value * factor of channel c.  A factor of ZERO removes the term, even if the value is NaN. */
INLINE vf term(uint32_t factor, const struct blend_inputs *in, uint32_t c, vf value) {
    switch (factor) {
    case G4_BLEND_FACTOR_ONE:
        return value;
    case G4_BLEND_FACTOR_SRC_COLOR:
        return value * in->source[c];
    case G4_BLEND_FACTOR_SRC_ALPHA:
        return value * in->source[3];
    case G4_BLEND_FACTOR_DST_ALPHA:
        return value * in->destination[3];
    case G4_BLEND_FACTOR_DST_COLOR:
        return value * in->destination[c];
    case G4_BLEND_FACTOR_SRC_ALPHA_SATURATE:
        return c == 3 ? value : value * lesser(in->source[3], complement(in->destination[3]));
    case G4_BLEND_FACTOR_CONST_COLOR:
        return value * in->constant[c];
    case G4_BLEND_FACTOR_CONST_ALPHA:
        return value * in->constant[3];
    case G4_BLEND_FACTOR_SRC1_COLOR:
        return value * in->source1[c];
    case G4_BLEND_FACTOR_SRC1_ALPHA:
        return value * in->source1[3];
    case G4_BLEND_FACTOR_INV_SRC_COLOR:
        return value * complement(in->source[c]);
    case G4_BLEND_FACTOR_INV_SRC_ALPHA:
        return value * complement(in->source[3]);
    case G4_BLEND_FACTOR_INV_DST_ALPHA:
        return value * complement(in->destination[3]);
    case G4_BLEND_FACTOR_INV_DST_COLOR:
        return value * complement(in->destination[c]);
    case G4_BLEND_FACTOR_INV_CONST_COLOR:
        return value * complement(in->constant[c]);
    case G4_BLEND_FACTOR_INV_CONST_ALPHA:
        return value * complement(in->constant[3]);
    case G4_BLEND_FACTOR_INV_SRC1_COLOR:
        return value * complement(in->source1[c]);
    case G4_BLEND_FACTOR_INV_SRC1_ALPHA:
        return value * complement(in->source1[3]);
    default:
        return vf_all(0); /* ZERO, and the reserved codes */
    }
}

INLINE vf combine(uint32_t function, vf source, vf destination) {
    switch (function) {
    case G4_BLEND_FUNCTION_SUBTRACT:
        return source - destination;
    case G4_BLEND_FUNCTION_REVERSE_SUBTRACT:
        return destination - source;
    case G4_BLEND_FUNCTION_MIN:
        return lesser(source, destination);
    case G4_BLEND_FUNCTION_MAX:
        return greater(source, destination);
    default:
        return source + destination;
    }
}

INLINE vf blend_channel(const struct g4_target *target, const struct blend_inputs *in, uint32_t c) {
    const uint32_t set = c == 3;
    return combine(target->function[set], term(target->source[set], in, c, in->source[c]),
                   term(target->destination[set], in, c, in->destination[c]));
}

#endif
