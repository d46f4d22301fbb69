/*
 * The level of a lookup by the length of its gradient, from Gen7 on, for the general path and for inner loops.
 */
#ifndef G4_LOD_GEN7_H
#define G4_LOD_GEN7_H

#include "core/util.h"

enum {
    G4_LEVEL_GEN7 = 256 /* steps per level */
};

/* 32768.5 more than the level of a length whose square is 2 to the power of `exponent`, times 1 + t.  The polynomial is
 * off by less than 1/40000 level, and exact for powers of two.  Arguments may be numbers or vectors. */
#define G4_SHIFTED_LEVEL_GEN7(exponent, t)                                                                             \
    (((exponent) + (t) +                                                                                               \
      (t) * (1.0f - (t)) * (0.4417403f + (t) * (-0.26602988f + (t) * (0.14631434f + (t) * -0.04400469f)))) *           \
         (0.5f * G4_LEVEL_GEN7) +                                                                                      \
     32768.5f)

/* The level of a length, given its square: log2 to the nearest 1/256.  NaN counts as 1. */
static inline int32_t g4_level_of_square(float square) {
    const uint32_t bits = g4_hw_bits(square == square ? square : 1.0f);
    const float exponent = (float)(int32_t)(bits >> 23) - 127.0f;
    const float t = g4_hw_float((bits & 0x7fffff) | 0x3f800000) - 1.0f;
    return (int32_t)G4_SHIFTED_LEVEL_GEN7(exponent, t) - 32768;
}

static inline float g4_larger(float a, float b) {
    return a > b ? a : b;
}

#endif
