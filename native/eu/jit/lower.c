/*
 * Translates single instructions on floats and integers, and finds the rows that an instruction reads and writes.
 */
#include <string.h>

#include "core/variant.h"
#include "eu/jit/operands.h"

#if G4_HAVE_X86_VARIANTS

/* ---- single precision ---- */

static bool lower_float_binary(struct translator *t, const struct g4_op *op) {
    const bool mul = op->opcode == G4_OPCODE_MUL;
    for (int part = 0; part < op->parts; part++) {
        const unsigned a = float_source(t, op, 0, part, TEMP_A, true);
        const struct g4_rm b = float_operand(t, op, 1, part, TEMP_B, true);
        float_binary(t, op, part, mul ? G4_X_MULPS : G4_X_ADDPS, a, b, lanes_of(t, op, part, true));
    }
    return true;
}

/* The host compares NaN as cmp does; for cmpn, src1 must not be NaN. */
static bool lower_float_compare(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const unsigned a = float_source(t, op, 0, part, TEMP_A, false);
        const struct g4_rm b = float_operand(t, op, 1, part, TEMP_B, op->opcode == G4_OPCODE_CMPN);
        const unsigned lanes = lanes_of(t, op, part, true);
        emit_evex_imm(&t->code, G4_X_CMPPS, K_BITS, a, b, lanes, G4_MERGE, float_condition(op->cond));
        finish_truth(t, op, part, lanes);
    }
    return true;
}

/* Flush denormals by a product with one. */
static void flushed(struct translator *t, unsigned to, unsigned from, unsigned lanes) {
    emit_evex(&t->code, G4_X_MULPS, to, from, all(t, 0x3f800000), lanes, G4_ZERO);
}

static bool lower_float_unary(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = float_source(t, op, 0, part, TEMP_A, true);
        const unsigned lanes = lanes_of(t, op, part, true);
        switch (op->opcode) {
        case G4_OPCODE_MOV:
            flushed(t, TEMP_RESULT, x, lanes);
            break;
        case G4_OPCODE_FRC:
            flushed(t, TEMP_A, x, lanes);
            emit_evex_imm(&t->code, G4_X_RNDSCALE, TEMP_B, 0, g4_rm_reg(TEMP_A), lanes, G4_ZERO, G4_ROUND_DOWN);
            emit_evex(&t->code, G4_X_SUBPS, TEMP_RESULT, TEMP_A, g4_rm_reg(TEMP_B), lanes, G4_ZERO);
            break;
        default:
            flushed(t, TEMP_A, x, lanes);
            emit_evex_imm(&t->code, G4_X_RNDSCALE, TEMP_RESULT, 0, g4_rm_reg(TEMP_A), lanes, G4_ZERO,
                          op->opcode == G4_OPCODE_RNDU ? G4_ROUND_UP : G4_ROUND_DOWN);
            break;
        }
        finish_float(t, op, part, lanes);
    }
    return true;
}

/* rndz: the next lower integer, and a flag where 1 must be added to it. */
static bool lower_round_to_zero(struct translator *t, const struct g4_op *op) {
    struct g4_op plain = *op;
    plain.cond = G4_COND_NONE;
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = float_source(t, op, 0, part, TEMP_A, true);
        const unsigned lanes = lanes_of(t, op, part, true);
        flushed(t, TEMP_A, x, lanes);
        emit_evex_imm(&t->code, G4_X_RNDSCALE, TEMP_RESULT, 0, g4_rm_reg(TEMP_A), lanes, G4_ZERO, G4_ROUND_DOWN);
        emit_evex_imm(&t->code, G4_X_CMPPS, K_BITS, TEMP_A, g4_rm_reg(ZERO), lanes, G4_MERGE,
                      float_condition(G4_COND_L));
        emit_evex_imm(&t->code, G4_X_CMPPS, K_BITS, TEMP_A, g4_rm_reg(TEMP_RESULT), K_BITS, G4_MERGE,
                      float_condition(G4_COND_NZ));
        set_flags(t, op, part, lanes);
        finish_float(t, &plain, part, lanes);
    }
    return true;
}

/* ---- integers and bits ---- */

static bool lower_select(struct translator *t, const struct g4_op *op, bool floats) {
    for (int part = 0; part < op->parts; part++) {
        const unsigned a = floats ? float_source(t, op, 0, part, TEMP_A, true) : int_source(t, op, 0, part, TEMP_A);
        const unsigned b = floats ? float_source(t, op, 1, part, TEMP_B, true) : int_source(t, op, 1, part, TEMP_B);
        const unsigned chosen = lanes_of(t, op, part, true); /* K_LANES, because there is a predicate */
        emit_evex(&t->code, G4_X_BLEND, TEMP_RESULT, b, g4_rm_reg(a), chosen, G4_MERGE);
        const unsigned lanes = lanes_of(t, op, part, false);
        if (floats) {
            flushed(t, TEMP_RESULT, TEMP_RESULT, lanes);
            finish_float(t, op, part, lanes);
        } else {
            finish_int(t, op, part, lanes, TEMP_RESULT, 0);
        }
    }
    return true;
}

static bool lower_move(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        uint8_t *finite;
        const unsigned from = raw_source(t, op, 0, part, TEMP_A, &finite);
        const uint8_t known = finite ? *finite : 0;
        const unsigned x = negated(t, &op->in[0], from, TEMP_A);
        finish_int(t, op, part, lanes_of(t, op, part, true), x, x == from ? known : 0);
    }
    return true;
}

static bool lower_int_binary(struct translator *t, const struct g4_op *op, enum g4_form form) {
    const bool shift = form == G4_X_SHL || form == G4_X_SHR || form == G4_X_ASR;
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = int_source(t, op, 0, part, TEMP_A);
        struct g4_rm y;
        if (shift) {
            emit_evex(&t->code, G4_X_AND, TEMP_B, int_source(t, op, 1, part, TEMP_B), all(t, 31), 0, G4_MERGE);
            y = g4_rm_reg(TEMP_B);
        } else {
            y = int_operand(t, op, 1, part, TEMP_B);
        }
        emit_evex(&t->code, form, TEMP_RESULT, x, y, 0, G4_MERGE);
        finish_int(t, op, part, lanes_of(t, op, part, true), TEMP_RESULT, 0);
    }
    return true;
}

static bool lower_not(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = int_source(t, op, 0, part, TEMP_A);
        emit_evex(&t->code, G4_X_XOR, TEMP_RESULT, x, all(t, UINT32_MAX), 0, G4_MERGE);
        finish_int(t, op, part, lanes_of(t, op, part, true), TEMP_RESULT, 0);
    }
    return true;
}

static bool lower_int_compare(struct translator *t, const struct g4_op *op) {
    const bool unsigned_numbers = is_biased(&op->in[0]);
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = int_source(t, op, 0, part, TEMP_A);
        const struct g4_rm y = int_operand(t, op, 1, part, TEMP_B);
        const unsigned lanes = lanes_of(t, op, part, true);
        emit_evex_imm(&t->code, unsigned_numbers ? G4_X_CMPUD : G4_X_CMPD, K_BITS, x, y, lanes, G4_MERGE,
                      int_condition(op->cond));
        finish_truth(t, op, part, lanes);
    }
    return true;
}

/* ---- instructions ---- */

static bool in_shapes(unsigned index, unsigned first_of_six) {
    return index >= first_of_six && index < first_of_six + 6;
}

static bool lower_float(struct translator *t, const struct g4_op *op, unsigned index) {
    if (in_shapes(index, G4_FAST_CMPF_PP) || index == G4_FAST_CMPN_P) {
        return lower_float_compare(t, op);
    }
    switch (index) {
    case G4_FAST_MOVF_P:
    case G4_FAST_FRC_P:
    case G4_FAST_RNDD_P:
    case G4_FAST_RNDU_P:
        return lower_float_unary(t, op);
    case G4_FAST_RNDZ_R:
        return lower_round_to_zero(t, op);
    case G4_FAST_SELF_P:
        return op->predicate != G4_PRED_NONE && lower_select(t, op, true);
    case G4_FAST_RNDE_R:
        return false;
    default:
        return lower_float_binary(t, op);
    }
}

static bool lower_int(struct translator *t, const struct g4_op *op, unsigned index) {
    static const struct {
        uint8_t first;
        enum g4_form form;
    } binary[] = {
        {G4_FAST_ADD_PP, G4_X_ADD}, {G4_FAST_MUL_PP, G4_X_MUL}, {G4_FAST_AND_PP, G4_X_AND}, {G4_FAST_OR_PP, G4_X_OR},
        {G4_FAST_XOR_PP, G4_X_XOR}, {G4_FAST_SHL_PP, G4_X_SHL}, {G4_FAST_SHR_PP, G4_X_SHR}, {G4_FAST_ASR_PP, G4_X_ASR},
    };
    if (in_shapes(index, G4_FAST_CMP_PP)) {
        return is_biased(&op->in[0]) == is_biased(&op->in[1]) && lower_int_compare(t, op);
    }
    if (in_shapes(index, G4_FAST_SEL_PP)) {
        return op->predicate != G4_PRED_NONE && lower_select(t, op, false);
    }
    for (unsigned i = 0; i < sizeof binary / sizeof *binary; i++) {
        if (in_shapes(index, binary[i].first)) {
            return lower_int_binary(t, op, binary[i].form);
        }
    }
    switch (index) {
    case G4_FAST_MOV_P:
    case G4_FAST_MOV_S:
    case G4_FAST_MOV_I:
        return lower_move(t, op);
    case G4_FAST_NOT_P:
        return lower_not(t, op);
    default:
        return false;
    }
}

static bool can_convert(const struct g4_op *op) {
    switch (op->out.store == G4_STORE_NULL ? (unsigned)G4_CONVERT_NONE : op->out.convert) {
    case G4_CONVERT_NONE:
        return true;
    case G4_CONVERT_TO_D:
        return op->handler >> 8 != G4_TABLE_INT;
    case G4_CONVERT_TO_FLOAT:
    case G4_CONVERT_UD_TO_FLOAT:
        return op->handler >> 8 == G4_TABLE_INT;
    default:
        return false;
    }
}

/* Whether a float becomes an integer and a condition tests the integer. */
static bool has_integer_condition(const struct g4_op *op) {
    return op->cond != G4_COND_NONE && op->dst.type != G4_TYPE_F && op->handler >> 8 != G4_TABLE_INT &&
           !g4_op_compares(op);
}

static bool can_lower(const struct g4_op *op) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    const unsigned table = op->handler >> 8;

    if (op->predicate > G4_PRED_NORMAL || (op->acc_write && (table != G4_TABLE_DOUBLE || op->count != 8)) ||
        op->half + op->parts > 2 || !can_store(op) || !can_convert(op) || has_integer_condition(op) ||
        pattern(op) * UINT64_C(0x0001000100010001) != op->written) {
        return false;
    }
    for (unsigned s = 0; s < sources; s++) {
        const struct g4_fast_src *const in = &op->in[s];
        const bool as_it_is = in->invert == 0 && in->minus == 0;
        if (!can_load(in) || (table != G4_TABLE_INT && !is_finite_immediate(in)) ||
            !(as_it_is || is_negated(in) || is_biased(in))) {
            return false;
        }
    }
    return true;
}

/* ---- moves to flags ---- */

static bool moves_flags(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_MOV && op->handler >> 8 == G4_TABLE_INT && op->dst.kind == G4_KIND_ARF &&
           op->dst.reg >> 4 == G4_ARF_F && (op->dst.reg & 15) == 0 && op->exec_size == 1 && op->dst.size == 2 &&
           (op->dst.base == 0 || op->dst.base == 2) && op->in[0].load == G4_LOAD_IMM && op->half == 0 &&
           op->predicate == G4_PRED_NONE && op->cond == G4_COND_NONE && !op->saturate &&
           op->out.convert == G4_CONVERT_NONE && op->in[0].invert == 0 && op->in[0].minus == 0 && !op->align16;
}

/* A mask with all lanes of the threads whose channel 0 is enabled. */
static unsigned threads_of_first_channel(struct translator *t, const struct g4_op *op) {
    if (op->nomask) {
        return K_GROUP;
    }
    emit_reg_from_mask(&t->code, X86_RAX, K_EXEC_0);
    emit_alu_imm(&t->code, X86_AND, X86_RAX, 0x0101);
    emit_imul_imm(&t->code, X86_RAX, X86_RAX, 0xff);
    emit_mask_from_reg(&t->code, K_TEMP, X86_RAX);
    return K_TEMP;
}

static bool lower_flags(struct translator *t, const struct g4_op *op) {
    const unsigned threads = threads_of_first_channel(t, op);
    for (unsigned half = 0; half < 2; half++) {
        const struct g4_rm flag = flag_in_memory(op->dst.base / 2u, half);
        emit_mask_load(&t->code, K_BITS, flag);
        emit_masks(&t->code, G4_K_ANDN, K_BITS, threads, K_BITS);
        emit_mask_constant(&t->code, K_HIGH, ((uint32_t)op->in[0].imm[0] >> (8 * half) & 0xff) * 0x0101u);
        emit_masks(&t->code, G4_K_AND, K_HIGH, K_HIGH, threads);
        emit_masks(&t->code, G4_K_OR, K_BITS, K_BITS, K_HIGH);
        emit_mask_store(&t->code, K_BITS, flag);
    }
    return true;
}

bool g4_can_lower_in_loop(const struct translator *t, const struct g4_op *op) {
    struct g4_extended_math_message message;
    switch (op->handler >> 8) {
    case G4_TABLE_COMMON:
        return op->handler == G4_HANDLER_NOP ||
               (op->handler == G4_HANDLER_SEND && !op->nomask && g4_is_lowered_math(t, op, &message));
    case G4_TABLE_FLOAT:
    case G4_TABLE_INT:
        return !op->nomask && op->out.store != G4_STORE_WORDS && can_lower(op);
    default:
        return false;
    }
}

bool g4_lower_op(struct translator *t, const struct g4_op *op) {
    const unsigned index = op->handler & 0xff;

    t->s.now++;
    if (op->handler >> 8 == G4_TABLE_COMMON) {
        return op->handler == G4_HANDLER_NOP || (op->handler == G4_HANDLER_SEND && g4_lower_math(t, op));
    }
    if (moves_flags(op)) {
        return !t->loop && lower_flags(t, op);
    }
    if (!can_lower(op)) {
        return false;
    }
    switch (op->handler >> 8) {
    case G4_TABLE_FLOAT:
        return lower_float(t, op, index);
    case G4_TABLE_INT:
        return lower_int(t, op, index);
    default:
        return g4_lower_double(t, op, index);
    }
}

/* ---- rows of an instruction ---- */

static void touch_in(struct g4_op_rows *rows, unsigned half, unsigned row, bool single, unsigned element, bool floats) {
    const int i = rows->ins++;
    rows->in[i].row = (uint8_t)row;
    rows->in[i].half = (uint8_t)half;
    rows->in[i].single = single;
    rows->in[i].element = (uint8_t)element;
    rows->in[i].floats = floats;
}

static void touch_out(struct g4_op_rows *rows, unsigned half, unsigned row, bool whole, bool number, int copies) {
    const int i = rows->outs++;
    rows->out[i].row = (uint8_t)row;
    rows->out[i].half = (uint8_t)half;
    rows->out[i].whole = whole;
    rows->out[i].number = number;
    rows->out[i].copies = (int16_t)copies;
}

static bool gives_floats(const struct g4_op *op) {
    if (op->handler >> 8 == G4_TABLE_INT) {
        return op->out.convert == G4_CONVERT_TO_FLOAT || op->out.convert == G4_CONVERT_UD_TO_FLOAT;
    }
    return !g4_op_compares(op) && op->out.convert == G4_CONVERT_NONE;
}

void g4_op_rows_of(const struct g4_op *op, struct g4_op_rows *rows) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    const bool send = op->handler == G4_HANDLER_SEND;
    const bool moved = send && op->src[0].kind != G4_KIND_NULL;

    memset(rows, 0, sizeof *rows);
    for (int pass = 0; send && pass < op->passes; pass++) {
        const unsigned half = half_of(op, pass);
        touch_in(rows, half, g4_math_source(op, pass), false, 0, false);
        if (moved) {
            touch_out(rows, half, g4_math_payload(op, pass), false, false, -1);
        }
        touch_out(rows, half, g4_math_destination(op, pass), op->predicate == G4_PRED_NONE && pattern(op) == 0xffff,
                  true, -1);
    }
    if (op->handler >> 8 == G4_TABLE_COMMON) {
        return;
    }
    for (int part = 0; part < op->parts; part++) {
        int copied = -1;
        for (unsigned s = 0; s < sources; s++) {
            const struct g4_fast_src *const in = &op->in[s];
            const bool single = in->load == G4_LOAD_SCALAR;
            if (in->load != G4_LOAD_IMM) {
                touch_in(rows, half_of(op, part), in->reg[part], single, in->sub[part] / 4u,
                         op->handler >> 8 != G4_TABLE_INT && in->convert == G4_CONVERT_NONE);
                copied = in->load == G4_LOAD_PACKED && !is_negated(in) ? in->reg[part] : -1;
            }
        }
        const bool moves =
            op->handler >> 8 == G4_TABLE_INT && op->opcode == G4_OPCODE_MOV && op->out.convert == G4_CONVERT_NONE;
        const bool number = gives_floats(op) || (moves && op->in[0].load == G4_LOAD_IMM &&
                                                 is_finite_immediate(&op->in[0]) && !is_negated(&op->in[0]));
        const bool gated = op->predicate != G4_PRED_NONE && op->opcode != G4_OPCODE_SEL;
        if (op->out.store != G4_STORE_NULL) {
            touch_out(rows, half_of(op, part), row_of(op, part),
                      !gated && pattern(op) == 0xffff && op->out.store == G4_STORE_PACKED, number, moves ? copied : -1);
        }
    }
}

#endif
