/*
 * Translates messages to the extended math unit: square roots and inverses.
 */
#include <string.h>

#include "core/variant.h"
#include "eu/jit/operands.h"

#if G4_HAVE_X86_VARIANTS

/* The register of all dwords of the implied move; -1: there are several. */
static int moved_register(const struct g4_op *op) {
    const unsigned first = op->in[0].off[0] / (unsigned)sizeof(union g4_reg);
    for (int c = 1; c < 8; c++) {
        if (op->in[0].off[c] / sizeof(union g4_reg) != first) {
            return -1;
        }
    }
    return (int)first;
}

/* Whether a message has one register of floats as its payload and one as its response. */
bool g4_is_lowered_math(const struct translator *t, const struct g4_op *op, struct g4_extended_math_message *message) {
    const struct g4_src *const payload = &op->src[0];
    const bool whole =
        op->whole_move && payload->base + payload->pass_bytes * (op->passes - 1u) < G4_GRF_COUNT * G4_REGISTER_BYTES;
    const bool moved = whole || (op->dword_move && moved_register(op) >= 0);
    const unsigned first = op->dst.base % G4_REGISTER_BYTES;

    g4_extended_math_message_unpack(&op->descriptor, t->gen, message);
    return op->src[1].kind == G4_KIND_IMM &&
           g4_message_descriptor_shared_function(op->descriptor) == G4_SHARED_FUNCTION_EXTENDED_MATH &&
           !g4_message_descriptor_end_of_thread(op->descriptor) && (moved || payload->kind == G4_KIND_NULL) &&
           g4_message_descriptor_message_length(op->descriptor) == 1 &&
           g4_message_descriptor_response_length(op->descriptor) == 1 && !message->saturate &&
           op->dst.kind == G4_KIND_GRF && op->dst.hstride == 1 && first % 4 == 0 &&
           first + 4u * op->channels <= G4_REGISTER_BYTES &&
           op->dst.base / G4_REGISTER_BYTES + op->passes <= G4_GRF_COUNT && op->half + op->passes <= 2 &&
           op->predicate <= G4_PRED_NORMAL && !op->breakpoint;
}

unsigned g4_math_payload(const struct g4_op *op, int pass) {
    return G4_GRF_COUNT + ((op->mrf + (unsigned)pass) & (G4_MRF_COUNT - 1));
}

unsigned g4_math_source(const struct g4_op *op, int pass) {
    if (op->src[0].kind == G4_KIND_NULL) {
        return g4_math_payload(op, pass);
    }
    return op->whole_move ? (op->src[0].base + (pass ? op->src[0].pass_bytes : 0u)) / G4_REGISTER_BYTES
                          : (unsigned)moved_register(op);
}

unsigned g4_math_destination(const struct g4_op *op, int pass) {
    return op->dst.base / G4_REGISTER_BYTES + (unsigned)pass;
}

static struct g4_rm one_float(struct translator *t) {
    struct g4_rm rm = all(t, 0x3f800000);
    rm.broadcast = false;
    return rm;
}

/* Compute a root or an inverse, rounded to nearest. */
static void root_or_inverse(struct translator *t, unsigned function, unsigned x, unsigned lanes) {
    const struct vreg_pair vreg_pair = {TEMP_0, TEMP_1};
    const struct vreg_pair one = {TEMP_2, TEMP_3};
    switch (function) {
    case G4_MATH_FUNCTION_SQRT: /* a root in double precision, rounded once more, would be the same */
        emit_evex_nearest(&t->code, G4_X_SQRTPS, TEMP_RESULT, 0, x, lanes, G4_ZERO);
        break;
    case G4_MATH_FUNCTION_INV:
        emit_evex(&t->code, G4_X_BROADCAST, TEMP_0, 0, one_float(t), 0, G4_MERGE);
        emit_evex_nearest(&t->code, G4_X_DIVPS, TEMP_RESULT, TEMP_0, x, lanes, G4_ZERO);
        break;
    default: /* here it could differ */
        emit_mask_high(&t->code, K_TEMP, lanes);
        emit_evex_imm(&t->code, G4_X_HIGH_HALF, x, 0, g4_rm_reg(vreg_pair.high), 0, G4_MERGE, 1);
        emit_evex(&t->code, G4_X_WIDEN, vreg_pair.low, 0, g4_rm_reg(x), lanes, G4_ZERO);
        emit_evex(&t->code, G4_X_WIDEN, vreg_pair.high, 0, g4_rm_reg(vreg_pair.high), K_TEMP, G4_ZERO);
        emit_evex(&t->code, G4_X_WIDEN, one.low, 0, all(t, 0x3f800000), 0, G4_MERGE);
        emit_evex_nearest(&t->code, G4_X_SQRTPD, vreg_pair.low, 0, vreg_pair.low, lanes, G4_ZERO);
        emit_evex_nearest(&t->code, G4_X_SQRTPD, vreg_pair.high, 0, vreg_pair.high, K_TEMP, G4_ZERO);
        emit_evex_nearest(&t->code, G4_X_DIVPD, vreg_pair.low, one.low, vreg_pair.low, lanes, G4_ZERO);
        emit_evex_nearest(&t->code, G4_X_DIVPD, vreg_pair.high, one.low, vreg_pair.high, K_TEMP, G4_ZERO);
        emit_evex_nearest(&t->code, G4_X_NARROW, TEMP_RESULT, 0, vreg_pair.low, lanes, G4_ZERO);
        emit_evex_nearest(&t->code, G4_X_NARROW, vreg_pair.high, 0, vreg_pair.high, K_TEMP, G4_ZERO);
        emit_evex_imm(&t->code, G4_X_JOIN, TEMP_RESULT, TEMP_RESULT, g4_rm_reg(vreg_pair.high), 0, G4_MERGE, 1);
        break;
    }
}

/* The operand of a message.  The implied move also stores it to the payload register. */
static unsigned math_operand(struct translator *t, const struct g4_op *op, int pass, bool scalar) {
    const unsigned from = g4_math_source(op, pass);
    unsigned x = row(t, from, TEMP_A);

    if (op->src[0].kind != G4_KIND_NULL) {
        if (!op->whole_move) {
            int32_t dword[8];
            for (int c = 0; c < 8; c++) {
                dword[c] = (int32_t)(op->in[0].off[c] % G4_REGISTER_BYTES / 4);
            }
            permute(t, TEMP_B, x, dword, TEMP_B);
            x = TEMP_B;
        }
        t->s.top = from + 1 > t->s.top ? (uint8_t)(from + 1) : t->s.top;
        store_row(t, g4_math_payload(op, pass), whole_threads(t), x);
    }
    if (scalar) { /* channels 0 and 4 apply to their groups of four */
        emit_evex_imm(&t->code, G4_X_PERMUTE_PS, TEMP_B, 0, g4_rm_reg(x), 0, G4_MERGE, 0);
        x = TEMP_B;
    }
    return x;
}

bool g4_lower_math(struct translator *t, const struct g4_op *op) {
    struct g4_extended_math_message message;

    if (!g4_is_lowered_math(t, op, &message) ||
        (message.math_function != G4_MATH_FUNCTION_SQRT && message.math_function != G4_MATH_FUNCTION_INV &&
         message.math_function != G4_MATH_FUNCTION_RSQ)) {
        return false;
    }
    t->s.ieee_only |= message.math_function == G4_MATH_FUNCTION_SQRT; /* sqrt(-0) differs in ALT mode */
    for (int pass = 0; pass < op->passes; pass++) {
        const unsigned x = math_operand(t, op, pass, message.scalar);
        unsigned lanes = lanes_of(t, op, pass, true);
        const bool ungated = lanes == widest(op, pass);
        unsigned result = TEMP_RESULT;
        root_or_inverse(t, message.math_function, x, lanes);
        check_finite(t, TEMP_RESULT, lanes);
        if (op->dst.base % G4_REGISTER_BYTES) {
            result = shifted(t, TEMP_RESULT, lanes, op->dst.base % G4_REGISTER_BYTES / 4u);
            lanes = K_LANES;
        }
        store_row(t, g4_math_destination(op, pass), lanes, result);
        const int to = vreg_of(t, HOLDS_ROW, g4_math_destination(op, pass), 0);
        if (to >= 0 && !t->loop && ungated) {
            t->s.vregs[to].finite |= (uint8_t)(1u << lanes);
        }
    }
    return true;
}

#endif
