/*
 * Extended math for a whole gang: the special cases around math_ops.c, for the message and for the instruction
 * (965 PRM vol. 4, 6).
 */
#include <string.h>

#include "core/variant.h"
#include "eu/math_ops.h"
#include "isa_gen7.h"

G4_VARIANT_DECLARE(struct g4_math_ops, g4_math_ops);

static const struct g4_math_ops *current_ops(void) {
    static const struct g4_math_ops *const variants[] = G4_VARIANT_TABLE(g4_math_ops);
    return variants[g4_variant_current()];
}

static bool is_nan(uint32_t bits) {
    return (bits & 0x7fffffff) > 0x7f800000;
}

/* ALT mode: logarithms and roots take |x|.  `alternate` has a bit for each thread. */
static void absolute(uint32_t *x, unsigned alternate) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        for (int i = 8 * t; (alternate >> t & 1) && i < 8 * t + 8; i++) {
            x[i] &= 0x7fffffff;
        }
    }
}

/* Special cases of POW in ALT mode: anything to the power of 0 is 1, NaN stays. */
static void alternate_pow(struct g4_math_operands *o, unsigned alternate) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        for (int i = 8 * t; (alternate >> t & 1) && i < 8 * t + 8; i++) {
            const bool y_zero = (o->y[i] & 0x7f800000) == 0;
            if (y_zero && !is_nan(o->x[i])) {
                o->out[0][i] = 0x3f800000;
            }
        }
    }
}

/* ALT mode: infinities become the largest number.  Saturation clamps to [0, 1], NaN to 0. */
static void finish(uint32_t *out, unsigned alternate, bool saturate) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        for (int i = 8 * t; (alternate >> t & 1) && i < 8 * t + 8; i++) {
            out[i] = (out[i] & 0x7fffffff) == 0x7f800000 ? (out[i] & 0x80000000) | 0x7f7fffff : out[i];
        }
    }
    for (int i = 0; saturate && i < G4_MATH_LANES; i++) {
        const bool low = out[i] >> 31 || is_nan(out[i]);
        const uint32_t bounded = out[i] > 0x3f800000 ? 0x3f800000 : out[i];
        out[i] = low ? 0 : bounded;
    }
}

bool g4_math_divides(uint32_t function) {
    return function == GEN7_MATH_FUNCTION_FDIV;
}

void g4_math_float(uint32_t function, unsigned alternate, bool saturate, g4_lanes lanes, struct g4_math_operands *o) {
    const struct g4_math_ops *const ops = current_ops();

    if (function == G4_MATH_FUNCTION_LOG || function == G4_MATH_FUNCTION_SQRT || function == G4_MATH_FUNCTION_RSQ) {
        absolute(o->x, alternate);
    }
    switch (function) {
    case G4_MATH_FUNCTION_INV:
        ops->inv(o->x, o->out[0], lanes);
        break;
    case G4_MATH_FUNCTION_LOG:
        ops->log(o->x, o->out[0], lanes);
        break;
    case G4_MATH_FUNCTION_EXP:
        ops->exp(o->x, o->out[0], lanes);
        break;
    case G4_MATH_FUNCTION_SQRT:
        ops->sqrt(o->x, o->out[0], lanes);
        break;
    case G4_MATH_FUNCTION_RSQ:
        ops->rsq(o->x, o->out[0], lanes);
        break;
    case G4_MATH_FUNCTION_SIN:
        ops->sin(o->x, o->out[0], lanes);
        break;
    case G4_MATH_FUNCTION_COS:
        ops->cos(o->x, o->out[0], lanes);
        break;
    case G4_MATH_FUNCTION_SINCOS:
        ops->sin(o->x, o->out[0], lanes);
        ops->cos(o->x, o->out[1], lanes);
        finish(o->out[1], alternate, saturate);
        break;
    case GEN7_MATH_FUNCTION_FDIV:
        ops->div(o->x, o->y, o->out[0], lanes);
        break;
    case G4_MATH_FUNCTION_POW:
        ops->pow(o->x, o->y, o->out[0], lanes);
        alternate_pow(o, alternate);
        break;
    default: /* reserved */
        memset(o->out[0], 0, sizeof o->out[0]);
        break;
    }
    finish(o->out[0], alternate, saturate);
}

void g4_math_integer(uint32_t function, bool is_signed, struct g4_math_operands *o) {
    current_ops()->divide(o->y, o->x, is_signed, o->out[0], o->out[1]);
    if (function == G4_MATH_FUNCTION_INT_DIV_REMAINDER) {
        memcpy(o->out[0], o->out[1], sizeof o->out[0]);
    }
}

void g4_math_compute(uint32_t function, bool is_signed, unsigned alternate, bool saturate, g4_lanes lanes,
                     struct g4_math_operands *o) {
    switch (function) {
    case GEN7_MATH_FUNCTION_INT_DIV_BOTH:
    case GEN7_MATH_FUNCTION_INT_DIV_QUOTIENT:
    case GEN7_MATH_FUNCTION_INT_DIV_REMAINDER: { /* the numerator comes first, in messages second */
        uint32_t numerator[G4_MATH_LANES];
        memcpy(numerator, o->x, sizeof numerator);
        memcpy(o->x, o->y, sizeof o->x);
        memcpy(o->y, numerator, sizeof o->y);
        g4_math_integer(function, is_signed, o);
        break;
    }
    default:
        g4_math_float(function, alternate, saturate, lanes, o);
        break;
    }
}
