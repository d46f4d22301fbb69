/*
 * The arithmetic of the extended math unit over a whole gang: 64 lanes in, 64 lanes out (spec/60 6.3).
 */
#ifndef G4_SHARED_MATH_OPS_H
#define G4_SHARED_MATH_OPS_H

#include "../eu/gang.h"

enum {
    G4_MATH_LANES = G4_GANG_THREADS * 8
};

/* Function codes of the descriptor, bits 3:0 (spec/60 6.1). */
enum g4_math_op {
    G4_MATH_INV = 1,
    G4_MATH_LOG = 2,
    G4_MATH_EXP = 3,
    G4_MATH_SQRT = 4,
    G4_MATH_RSQ = 5,
    G4_MATH_SIN = 6,
    G4_MATH_COS = 7,
    G4_MATH_SINCOS = 8,
    G4_MATH_POW = 10,
    G4_MATH_INT_DIV_BOTH = 11,
    G4_MATH_INT_DIV_QUOTIENT = 12,
    G4_MATH_INT_DIV_REMAINDER = 13,
};

/* Bits of floats.  Denormal operands count as zero and denormal results become zero, both with their sign; the results
 * are those of IEEE mode, before the alternate mode's clamp. */
typedef void g4_math_unary_fn(const uint32_t *restrict x, uint32_t *restrict out);
typedef void g4_math_binary_fn(const uint32_t *restrict x, const uint32_t *restrict y, uint32_t *restrict out);

struct g4_math_ops {
    g4_math_unary_fn *inv, *log, *exp, *sqrt, *rsq, *sin, *cos;
    g4_math_binary_fn *pow; /* |x| to the power of y, y * log2|x| taken literally */
};

#endif
