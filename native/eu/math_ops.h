/*
 * The arithmetic of the extended math unit for a whole gang: 64 lanes in, 64 lanes out.
 */
#ifndef G4_EU_MATH_OPS_H
#define G4_EU_MATH_OPS_H

#include "eu/gang.h"

enum {
    G4_MATH_LANES = G4_GANG_THREADS * 8
};

/* Bits of floats; inactive lanes return 0.  Denormal operands and results become zero, with their sign.  The results
 * are those of IEEE mode, before the clamp of ALT mode. */
typedef void g4_math_unary_fn(const uint32_t *restrict x, uint32_t *restrict out, g4_lanes lanes);
typedef void g4_math_binary_fn(const uint32_t *restrict x, const uint32_t *restrict y, uint32_t *restrict out,
                               g4_lanes lanes);
/* Truncating division of integers, all lanes; for division by zero and overflow see docs/decisions.md 25. */
typedef void g4_math_division_fn(const uint32_t *restrict numerator, const uint32_t *restrict denominator,
                                 bool is_signed, uint32_t *restrict quotient, uint32_t *restrict remainder);

struct g4_math_ops {
    g4_math_unary_fn *inv, *log, *exp, *sqrt, *rsq, *sin, *cos;
    g4_math_binary_fn *pow; /* |x| to the power of y, y * log2|x| taken literally */
    g4_math_binary_fn *div;
    g4_math_division_fn *divide;
};

/* The operands of any function, floats or integers, and up to two results. */
struct g4_math_operands {
    uint32_t x[G4_MATH_LANES], y[G4_MATH_LANES];
    uint32_t out[2][G4_MATH_LANES];
};

/* Whether a function of the `math` opcode divides two floats. */
bool g4_math_divides(uint32_t function);

/* Compute a function on floats (enum g4_math_function) for some lanes; 0 for reserved ones.  `alternate`
 * has a bit for each thread in ALT mode.  Needs the host's default floating point environment. */
void g4_math_float(uint32_t function, unsigned alternate, bool saturate, g4_lanes lanes, struct g4_math_operands *o);

/* An integer division: y / x. */
void g4_math_integer(uint32_t function, bool is_signed, struct g4_math_operands *o);

/* Compute a function of the `math` opcode (enum gen7_math_function) likewise; the numerator of a division is x. */
void g4_math_compute(uint32_t function, bool is_signed, unsigned alternate, bool saturate, g4_lanes lanes,
                     struct g4_math_operands *o);

#endif
