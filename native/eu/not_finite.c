#include "eu/not_finite.h"

#include "eu/run.h"
#include "hw_messages.h"

enum {
    MATH = 1, /* the shared function */
};

/* A message to the extended math function of Gen4 with a float as its result. */
static bool is_math_message(const struct g4_op *op) {
    const unsigned function = g4_extended_math_message_math_function(op->descriptor);
    return !op->grf_payload && op->src[1].kind == G4_KIND_IMM &&
           g4_message_descriptor_shared_function(op->descriptor) == MATH &&
           (function < G4_MATH_FUNCTION_INT_DIV_BOTH || function > G4_MATH_FUNCTION_INT_DIV_REMAINDER);
}

bool g4_computes_float(const struct g4_op *op) {
    const bool is_float = op->dst.type == G4_TYPE_F || op->dst.type == G4_TYPE_DF;
    const bool is_stored = op->dst.kind == G4_KIND_GRF || op->dst.kind == G4_KIND_MRF;
    return is_float && is_stored && !g4_op_compares(op) && (op->opcode != G4_OPCODE_SEND || is_math_message(op));
}

unsigned g4_float_place(const struct g4_op *op, int pass, unsigned c) {
    const unsigned step = op->opcode == G4_OPCODE_SEND ? G4_REGISTER_BYTES : op->dst.pass_bytes;
    return op->dst.base + (pass ? step : 0u) + c * op->dst.hstride * op->dst.size;
}

bool g4_float_result(struct g4_gang *gang, const struct g4_op *op, int t, int pass, unsigned c, uint64_t *bits) {
    const struct g4_dst *const dst = &op->dst;
    const unsigned at = g4_float_place(op, pass, c);
    *bits = 0;
    for (unsigned i = 0; i < dst->size; i++) {
        const unsigned byte = at + i;
        const uint8_t *place = g4_grf_byte(gang, t, byte);
        if (dst->kind == G4_KIND_MRF) {
            place = byte < G4_MRF_COUNT * G4_REGISTER_BYTES ? &gang->mrf[byte / 32].ub[t][byte % 32] : NULL;
        }
        if (!place) {
            return false;
        }
        *bits |= (uint64_t)*place << (8 * i);
    }
    return true;
}
