/*
 * Translates extended math: square roots and inverses, as messages to the unit and as instructions.
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
    return !op->grf_payload && op->src[1].kind == G4_KIND_IMM &&
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

/* Whether the payload register may be read after a message. */
static bool is_payload_live(const struct translator *t, const struct g4_op *op, int pass) {
    return !t->live || g4_live_has(&t->live[t->first + t->at + 1], g4_math_payload(op, pass));
}

/* The operand of a message.  The implied move also stores it to the payload register. */
static ir_operand math_operand(struct translator *t, const struct g4_op *op, int pass, bool scalar) {
    const unsigned from = g4_math_source(op, pass);
    const bool moves = op->src[0].kind != G4_KIND_NULL;

    t->top = moves && from + 1 > t->top ? (uint8_t)(from + 1) : t->top;
    if (moves && op->whole_move && !scalar && !is_payload_live(t, op, pass)) {
        return g4_row(t, from, widest(op, pass));
    }
    ir_operand x = g4_row(t, from, LANES_GROUP);
    if (moves) {
        if (!op->whole_move) {
            int32_t dword[8];
            for (int c = 0; c < 8; c++) {
                dword[c] = (int32_t)(op->in[0].off[c] % G4_REGISTER_BYTES / 4);
            }
            x = g4_permuted(t, x, dword);
        }
        g4_forget_elements(t, g4_math_payload(op, pass), ALL_DWORDS);
        g4_write_row(t, g4_math_payload(op, pass), LANES_GROUP, g4_whole_threads(t), true, x, 0);
    }
    if (scalar) { /* channels 0 and 4 apply to their groups of four */
        x = vector_of(t, IR_FOUR, x, IR_NONE, IR_NONE);
    }
    return x;
}

static enum ir_op math_operation(const struct g4_extended_math_message *message) {
    switch (message->math_function) {
    case G4_MATH_FUNCTION_SQRT:
        return IR_ROOT;
    case G4_MATH_FUNCTION_INV:
        return IR_INVERSE;
    case G4_MATH_FUNCTION_RSQ:
        return IR_INVERSE_ROOT;
    default:
        return IR_OPS;
    }
}

/* Extended math flushes denormals, even of threads that keep them. */
static ir_operand flushed(struct translator *t, ir_operand value, ir_operand mask) {
    if (!t->own_floats) {
        t->flushes = true; /* by the host */
        return value;
    }
    const ir_operand magnitude = vector_of(t, IR_AND, value, g4_uniform(t, 0x7fffffff), IR_NONE);
    const ir_operand zero = vector_of(t, IR_AND, value, g4_uniform(t, 0x80000000), IR_NONE);
    return vector_of(t, IR_BLEND, value, zero,
                     g4_compare(t, IR_COMPARE_D, IR_LESS, magnitude, g4_uniform(t, 0x00800000), mask));
}

/* Fail if a result is special.  A root of a number is a number, or the host raises `invalid` if it can. */
static void check_result(struct translator *t, enum ir_op operation, bool number, ir_operand value, ir_operand mask) {
    if (operation == IR_ROOT && number && t->backend->roots_raise) {
        t->raises = true;
    } else {
        g4_check_number(t, value, mask);
    }
}

bool g4_lower_math_opcode(struct translator *t, const struct g4_op *op) {
    static const uint8_t operation[] = {[G4_MATH_FUNCTION_INV] = IR_INVERSE,
                                        [G4_MATH_FUNCTION_SQRT] = IR_ROOT,
                                        [G4_MATH_FUNCTION_RSQ] = IR_INVERSE_ROOT};

    if (op->function >= sizeof operation || !operation[op->function]) {
        return false;
    }
    t->ieee_only |= op->function == G4_MATH_FUNCTION_SQRT; /* sqrt(-0) differs in ALT mode */
    for (int part = 0; part < op->parts; part++) {
        const ir_operand source = g4_float_source(t, op, 0, part, false);
        const ir_operand mask = g4_op_lanes(t, op, part, true);
        const bool number = g4_is_known_number(t, op, 0, part);
        const ir_operand x = flushed(t, source, mask);
        const ir_operand result = vector_of(t, (enum ir_op)operation[op->function], x, IR_NONE, mask);
        const ir_operand value = op->function == G4_MATH_FUNCTION_INV ? flushed(t, result, mask) : result;
        check_result(t, (enum ir_op)operation[op->function], number, value, mask);
        g4_finish_float(t, op, part, mask, value);
    }
    return true;
}

/* Whether the operand of a message is known not to be special. */
static bool is_number(const struct translator *t, const struct g4_op *op, int pass, bool scalar) {
    const uint8_t numbers = t->rows[g4_math_source(op, pass)].numbers;
    const bool by_lane = !scalar && (op->src[0].kind == G4_KIND_NULL || op->whole_move);
    return by_lane && (numbers & (widest(op, pass) | LANES_GROUP));
}

bool g4_lower_math(struct translator *t, const struct g4_op *op) {
    struct g4_extended_math_message message;

    if (!g4_is_lowered_math(t, op, &message) || math_operation(&message) == IR_OPS) {
        return false;
    }
    t->ieee_only |= message.math_function == G4_MATH_FUNCTION_SQRT; /* sqrt(-0) differs in ALT mode */
    for (int pass = 0; pass < op->passes; pass++) {
        const enum lanes lanes = widest(op, pass);
        const unsigned shift = op->dst.base % G4_REGISTER_BYTES / 4u;
        const bool number = is_number(t, op, pass, message.scalar);
        const ir_operand x = math_operand(t, op, pass, message.scalar);
        ir_operand mask = g4_op_lanes(t, op, pass, true);
        ir_operand value = vector_of(t, math_operation(&message), x, IR_NONE, mask);
        const bool whole = shift == 0 && pattern(op) == 0xffff && op->predicate == G4_PRED_NONE;
        check_result(t, math_operation(&message), number, value, mask);
        if (shift) {
            value = g4_shifted(t, value, shift);
            mask = g4_shifted_mask(t, mask, shift);
        }
        g4_forget_elements(t, g4_math_destination(op, pass), ALL_DWORDS);
        g4_write_row(t, g4_math_destination(op, pass), lanes, mask, whole, value, LANES_ALL);
    }
    return true;
}

#endif
