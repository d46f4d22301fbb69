/*
 * The extended math function, SFID 1: operands from the MRF, results to the channels that an ordinary instruction
 * would write (965 PRM vol. 4, 6).
 */
#include <string.h>

#include "core/variant.h"
#include "eu/message.h"
#include "functions/math_ops.h"
#include "functions/table.h"
#include "hw_messages.h"
#include "isa_gen7.h"

G4_VARIANT_DECLARE(struct g4_math_ops, g4_math_ops);

/* Registers of the message and of the response by function; mlen 0: reserved. */
static const struct {
    uint8_t mlen, rlen;
    bool integer;
} shapes[16] = {
    [G4_MATH_FUNCTION_INV] = {1, 1, false},
    [G4_MATH_FUNCTION_LOG] = {1, 1, false},
    [G4_MATH_FUNCTION_EXP] = {1, 1, false},
    [G4_MATH_FUNCTION_SQRT] = {1, 1, false},
    [G4_MATH_FUNCTION_RSQ] = {1, 1, false},
    [G4_MATH_FUNCTION_SIN] = {1, 1, false},
    [G4_MATH_FUNCTION_COS] = {1, 1, false},
    [G4_MATH_FUNCTION_SINCOS] = {1, 2, false},
    [G4_MATH_FUNCTION_POW] = {2, 1, false},
    [G4_MATH_FUNCTION_INT_DIV_BOTH] = {2, 2, true},
    [G4_MATH_FUNCTION_INT_DIV_QUOTIENT] = {2, 1, true},
    [G4_MATH_FUNCTION_INT_DIV_REMAINDER] = {2, 1, true},
};

static void load(const struct g4_gang *gang, const struct g4_send *send, unsigned k, bool scalar, uint32_t *out) {
    memcpy(out, gang->mrf[(send->mrf + k) & (G4_MRF_COUNT - 1)].ud, G4_MATH_LANES * sizeof *out);
    if (scalar) { /* channels 0 and 4 are the operands of their groups of four */
        for (int i = 0; i < G4_MATH_LANES; i++) {
            out[i] = out[i & ~3];
        }
    }
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

static void compute_float(uint32_t op, unsigned alternate, bool saturate, g4_lanes lanes, struct g4_math_operands *o) {
    static const struct g4_math_ops *const variants[] = G4_VARIANT_TABLE(g4_math_ops);
    const struct g4_math_ops *const ops = variants[g4_variant_current()];

    if (op == G4_MATH_FUNCTION_LOG || op == G4_MATH_FUNCTION_SQRT || op == G4_MATH_FUNCTION_RSQ) {
        absolute(o->x, alternate);
    }
    switch (op) {
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
    default:
        ops->pow(o->x, o->y, o->out[0], lanes);
        alternate_pow(o, alternate);
        break;
    }
    finish(o->out[0], alternate, saturate);
}

/* Truncating division; for division by zero and overflow see docs/decisions.md 25. */
static void divide(uint32_t numerator, uint32_t denominator, bool is_signed, uint32_t *quotient, uint32_t *remainder) {
    if (!is_signed) {
        *quotient = denominator ? numerator / denominator : UINT32_MAX;
        *remainder = denominator ? numerator % denominator : UINT32_MAX;
    } else if (denominator == 0) {
        *quotient = *remainder = numerator >> 31 ? 0x80000000 : 0x7fffffff;
    } else {
        const int64_t n = (int32_t)numerator;
        const int64_t d = (int32_t)denominator;
        *quotient = (uint32_t)(n / d);
        *remainder = (uint32_t)(n % d);
    }
}

/* M0 is the denominator, M1 the numerator. */
static void compute_integer(uint32_t op, bool is_signed, struct g4_math_operands *o) {
    for (int i = 0; i < G4_MATH_LANES; i++) {
        uint32_t quotient;
        uint32_t remainder;
        divide(o->y[i], o->x[i], is_signed, &quotient, &remainder);
        o->out[0][i] = op == G4_MATH_FUNCTION_INT_DIV_REMAINDER ? remainder : quotient;
        o->out[1][i] = remainder;
    }
}

void g4_math_compute(uint32_t function, bool is_signed, unsigned alternate, bool saturate, g4_lanes lanes,
                     struct g4_math_operands *o) {
    switch (function) {
    case GEN7_MATH_FUNCTION_INT_DIV_BOTH:
    case GEN7_MATH_FUNCTION_INT_DIV_QUOTIENT:
    case GEN7_MATH_FUNCTION_INT_DIV_REMAINDER: { /* the first operand is the numerator, where the message has it second
                                                  */
        uint32_t numerator[G4_MATH_LANES];
        memcpy(numerator, o->x, sizeof numerator);
        memcpy(o->x, o->y, sizeof o->x);
        memcpy(o->y, numerator, sizeof o->y);
        compute_integer(function, is_signed, o);
        break;
    }
    case GEN7_MATH_FUNCTION_FDIV:
        compute_float(function, alternate, saturate, lanes, o);
        break;
    default:
        if (shapes[function & 15].mlen) {
            compute_float(function, alternate, saturate, lanes, o);
        }
        break;
    }
}

/* Channel c of a result goes to byte subreg + 4 * stride * c of the destination, which may extend into the next
 * register. */
static void store(struct g4_gang *gang, const struct g4_send *send, unsigned k, const uint32_t *out) {
    if (send->dst_subreg == 0 && send->dst_stride == 1 && send->dst + k < G4_GRF_COUNT) {
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            uint32_t *const row = gang->grf[send->dst + k].ud[t];
            const unsigned lanes = g4_thread_lanes(send->emask[0], t);
            if (lanes == 0xff) {
                memcpy(row, out + (size_t)8 * t, sizeof gang->grf[0].ud[0]);
            } else if (lanes) {
                for (int c = 0; c < 8; c++) {
                    row[c] = lanes >> c & 1 ? out[8 * t + c] : row[c];
                }
            }
        }
        return;
    }
    for (unsigned i = 0; i < G4_MATH_LANES; i++) {
        const unsigned dword = send->dst_subreg / 4u + send->dst_stride * (i & 7);
        const unsigned reg = send->dst + k + dword / 8;
        if ((send->emask[0] >> i & 1) && reg < G4_GRF_COUNT) {
            gang->grf[reg].ud[i / 8][dword % 8] = out[i];
        }
    }
}

/* Threads in ALT mode now: a kernel may change the mode. */
static unsigned alternate_threads(const struct g4_gang *gang) {
    unsigned threads = 0;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        threads |= (gang->cr0[t][0] & 1) << t;
    }
    return threads;
}

enum g4_status g4_message_math(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct g4_extended_math_message message;
    struct g4_math_operands o;

    g4_extended_math_message_unpack(&send->descriptor, eu->ctx->gen, &message);
    const uint32_t op = message.math_function;
    if (shapes[op].mlen == 0) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    if (!g4_message_lengths(eu, gang, send, shapes[op].mlen, shapes[op].rlen)) {
        return G4_OK;
    }
    load(gang, send, 0, message.scalar, o.x);
    if (shapes[op].mlen > 1) {
        load(gang, send, 1, false, o.y); /* the second operand is never broadcast (docs/decisions.md 22) */
    }
    if (shapes[op].integer) {
        compute_integer(op, message.signed_integer, &o);
    } else {
        compute_float(op, alternate_threads(gang), message.saturate, send->emask[0], &o);
    }
    for (unsigned k = 0; send->has_dst && k < send->rlen && k < shapes[op].rlen; k++) {
        store(gang, send, k, o.out[k]);
    }
    return G4_OK;
}
