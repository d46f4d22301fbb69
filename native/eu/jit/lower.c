/*
 * Translates single instructions on floats and integers, and finds the rows that an instruction reads and writes.
 */
#include <string.h>

#include "core/variant.h"
#include "eu/jit/operands.h"

#if G4_HAVE_X86_VARIANTS

/* ---- single precision ---- */

static bool is_plain(const struct g4_fast_src *in) {
    return in->convert == G4_CONVERT_NONE && in->keep == UINT32_MAX;
}

/* The source of a sum that is only negated, without its sign; false: it has other modifiers. */
static bool negated_addend(const struct g4_op *op, struct g4_op *without) {
    if (op->opcode != G4_OPCODE_ADD || op->in[1].load == G4_LOAD_IMM || !is_plain(&op->in[1]) ||
        op->in[1].flip != 0x80000000) {
        return false;
    }
    *without = *op;
    without->in[1].flip = 0;
    return true;
}

static bool lower_float_binary(struct translator *t, const struct g4_op *op) {
    struct g4_op difference;
    enum ir_op operation = op->opcode == G4_OPCODE_MUL ? IR_MULPS : IR_ADDPS;
    if (negated_addend(op, &difference)) {
        op = &difference;
        operation = IR_SUBPS;
    }
    for (int part = 0; part < op->parts; part++) {
        ir_operand a = g4_float_operand(t, op, 0, part, true);
        ir_operand b = g4_float_operand(t, op, 1, part, true);
        if (ir_is_constant(a) && !ir_is_constant(b) && operation != IR_SUBPS) {
            const ir_operand constant = a;
            a = b;
            b = constant;
        } else if (ir_is_constant(a)) {
            a = g4_float_source(t, op, 0, part, true);
        }
        g4_float_binary(t, op, part, operation, a, b);
    }
    return true;
}

/* The host compares NaN as cmp does; for cmpn, src1 must not be NaN. */
static bool lower_float_compare(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const ir_operand a = g4_float_source(t, op, 0, part, false);
        const ir_operand b = g4_float_operand(t, op, 1, part, op->opcode == G4_OPCODE_CMPN);
        const ir_operand mask = g4_op_lanes(t, op, part, true);
        g4_finish_truth(t, op, part, mask, g4_compare(t, IR_COMPARE_F, g4_condition(op->cond), a, b, mask));
    }
    return true;
}

enum {
    SELCF_COPY_HANDLER = G4_TABLE_FLOAT << 8 | G4_FAST_SELCF_COPY,
    SELF_MIXED_HANDLER = G4_TABLE_FLOAT << 8 | G4_FAST_SELF_MIXED,
    SELCF_MIXED_HANDLER = G4_TABLE_FLOAT << 8 | G4_FAST_SELCF_MIXED,
};

/* Flush denormals by a product with one. */
static ir_operand flushed(struct translator *t, ir_operand value, ir_operand mask) {
    if (ir_is_flushed(&t->ir, value)) {
        return value;
    }
    return vector_of(t, IR_MULPS, value, g4_uniform(t, 0x3f800000), mask);
}

/* How an operation rounds to an integer; -1: it does not. */
static int rounding_of(unsigned index) {
    switch (index) {
    case G4_FAST_MOVF_P:
        return -1;
    case G4_FAST_RNDU_P:
        return IR_ROUND_UP;
    case G4_FAST_ROUND_EVEN_P:
        return IR_ROUND_NEAREST;
    case G4_FAST_TRUNCATE_P:
        return IR_ROUND_ZERO;
    default:
        return IR_ROUND_DOWN;
    }
}

static bool lower_float_unary(struct translator *t, const struct g4_op *op, unsigned index) {
    const int rounding = rounding_of(index);
    for (int part = 0; part < op->parts; part++) {
        const ir_operand source = g4_float_source(t, op, 0, part, true);
        const ir_operand mask = g4_op_lanes(t, op, part, true);
        const ir_operand x = flushed(t, source, mask);
        ir_operand result = x;
        if (rounding >= 0) {
            result = vector_imm(t, IR_ROUND, x, mask, (unsigned)rounding);
        }
        if (index == G4_FAST_FRC_P || index == G4_FAST_FRACTION_P) {
            result = vector_of(t, IR_SUBPS, x, result, mask);
            t->raises = true; /* the fraction of an infinity is NaN */
        }
        if (index == G4_FAST_FRACTION_P) { /* the largest float below 1 instead of 1 */
            result = vector_of(t, IR_MINPS, result, g4_uniform(t, 0x3f7fffff), mask);
        }
        g4_finish_float(t, op, part, mask, result);
    }
    return true;
}

/* rndz: the next lower integer, and a flag where 1 must be added to it. */
static bool lower_round_to_zero(struct translator *t, const struct g4_op *op) {
    struct g4_op plain = *op;
    plain.cond = G4_COND_NONE;
    for (int part = 0; part < op->parts; part++) {
        const ir_operand source = g4_float_source(t, op, 0, part, true);
        const ir_operand mask = g4_op_lanes(t, op, part, true);
        const ir_operand x = flushed(t, source, mask);
        const ir_operand below = vector_imm(t, IR_ROUND, x, mask, IR_ROUND_DOWN);
        const ir_operand negative = g4_compare(t, IR_COMPARE_F, IR_LESS, x, g4_uniform(t, 0), mask);
        const ir_operand fraction = g4_compare(t, IR_COMPARE_F, IR_NOT_EQUAL, x, below, mask);
        g4_set_flag(t, op->flag, half_of(op, part), mask_of(t, IR_MASK_AND, negative, fraction), mask);
        g4_finish_float(t, &plain, part, mask, below);
    }
    return true;
}

/* ---- integers and bits ---- */

static bool lower_select(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const ir_operand a = g4_int_source(t, op, 0, part);
        const ir_operand b = g4_int_source(t, op, 1, part);
        const ir_operand value = vector_of(t, IR_BLEND, b, a, g4_op_lanes(t, op, part, true));
        g4_finish_int(t, op, part, g4_op_lanes(t, op, part, false), value, 0);
    }
    return true;
}

/* A source of a sel of floats: its bits, if the handler copies them. */
static ir_operand selected_source(struct translator *t, const struct g4_op *op, int s, int part, ir_operand mask) {
    const struct g4_src *const src = &op->src[s];
    const bool mixed = op->handler == SELF_MIXED_HANDLER || op->handler == SELCF_MIXED_HANDLER;
    const ir_operand value = g4_float_source(t, op, s, part, true);
    return mixed && src->type == G4_TYPE_F && !src->abs && !src->negate ? value : flushed(t, value, mask);
}

static bool lower_float_select(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const ir_operand mask = g4_op_lanes(t, op, part, false);
        const ir_operand a = selected_source(t, op, 0, part, mask);
        const ir_operand b = selected_source(t, op, 1, part, mask);
        g4_finish_float(t, op, part, mask, vector_of(t, IR_BLEND, b, a, g4_op_lanes(t, op, part, true)));
    }
    return true;
}

/* sel with a condition: flags are not written.  If one operand is NaN, the other is selected. */
static bool lower_choice(struct translator *t, const struct g4_op *op, bool copies) {
    struct g4_op plain = *op;
    plain.cond = G4_COND_NONE;
    for (int part = 0; part < op->parts; part++) {
        const ir_operand mask = g4_op_lanes(t, op, part, false);
        const ir_operand a = copies ? g4_float_source(t, op, 0, part, false) : selected_source(t, op, 0, part, mask);
        const ir_operand b = copies ? g4_float_source(t, op, 1, part, false) : selected_source(t, op, 1, part, mask);
        ir_operand chosen = g4_compare(t, IR_COMPARE_F, g4_condition(op->cond), a, b, mask);
        if (copies && op->in[1].load != G4_LOAD_IMM) {
            const ir_operand nan = g4_compare(t, IR_COMPARE_F, IR_NOT_EQUAL, b, b, mask);
            const enum ir_op with_nan = op->cond == G4_COND_NZ ? IR_MASK_AND_NOT : IR_MASK_OR;
            chosen = mask_of(t, with_nan, nan, chosen);
        }
        const ir_operand value = vector_of(t, IR_BLEND, b, a, chosen);
        if (copies) {
            g4_finish_int(t, &plain, part, mask, value, 0);
        } else {
            g4_finish_float(t, &plain, part, mask, value);
        }
    }
    return true;
}

static bool lower_integer_choice(struct translator *t, const struct g4_op *op) {
    struct g4_op plain = *op;
    plain.cond = G4_COND_NONE;
    for (int part = 0; part < op->parts; part++) {
        const ir_operand mask = g4_op_lanes(t, op, part, false);
        const ir_operand a = g4_int_source(t, op, 0, part);
        const ir_operand b = g4_int_source(t, op, 1, part);
        const enum ir_op compare = op->function ? IR_COMPARE_UD : IR_COMPARE_D;
        const ir_operand chosen = g4_compare(t, compare, g4_condition(op->cond), a, b, mask);
        g4_finish_int(t, &plain, part, mask, vector_of(t, IR_BLEND, b, a, chosen), 0);
    }
    return true;
}

static bool lower_move(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const ir_operand from = g4_raw_source(t, op, 0, part);
        const uint8_t *const numbers = g4_source_numbers(t, op, 0, part);
        const uint8_t known = numbers ? *numbers : 0;
        const ir_operand value = g4_negated(t, &op->in[0], from);
        g4_finish_int(t, op, part, g4_op_lanes(t, op, part, true), value, value == from ? known : 0);
    }
    return true;
}

/* A shift uses the low five bits of its count. */
static ir_operand shift_count(struct translator *t, const struct g4_op *op, int part) {
    const struct g4_fast_src *const in = &op->in[1];
    if (in->load == G4_LOAD_IMM && in->invert == 0 && in->minus == 0) {
        int32_t count[8];
        for (int c = 0; c < 8; c++) {
            count[c] = in->imm[8 * part + c] & 31;
        }
        return g4_by_channel(t, count, 0);
    }
    return vector_of(t, IR_AND, g4_int_source(t, op, 1, part), g4_uniform(t, 31), IR_NONE);
}

static bool lower_int_binary(struct translator *t, const struct g4_op *op, enum ir_op operation) {
    const bool shift = operation == IR_SHL || operation == IR_SHR || operation == IR_ASR;
    for (int part = 0; part < op->parts; part++) {
        const ir_operand x = g4_int_source(t, op, 0, part);
        const ir_operand y = shift ? shift_count(t, op, part) : g4_int_operand(t, op, 1, part);
        g4_int_binary(t, op, part, operation, x, y);
    }
    return true;
}

static bool lower_not(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const ir_operand x = g4_int_source(t, op, 0, part);
        const ir_operand mask = g4_op_lanes(t, op, part, true);
        g4_finish_int(t, op, part, mask, vector_of(t, IR_XOR, x, g4_uniform(t, UINT32_MAX), IR_NONE), 0);
    }
    return true;
}

static bool lower_int_compare(struct translator *t, const struct g4_op *op) {
    const enum ir_op compare = g4_is_biased(&op->in[0]) ? IR_COMPARE_UD : IR_COMPARE_D;
    for (int part = 0; part < op->parts; part++) {
        const ir_operand x = g4_int_source(t, op, 0, part);
        const ir_operand y = g4_int_operand(t, op, 1, part);
        const ir_operand mask = g4_op_lanes(t, op, part, true);
        g4_finish_truth(t, op, part, mask, g4_compare(t, compare, g4_condition(op->cond), x, y, mask));
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
    case G4_FAST_FRACTION_P:
    case G4_FAST_ROUND_EVEN_P:
    case G4_FAST_TRUNCATE_P:
        return lower_float_unary(t, op, index);
    case G4_FAST_RNDZ_R:
        return lower_round_to_zero(t, op);
    case G4_FAST_SELF_P:
    case G4_FAST_SELF_MIXED:
        return op->predicate != G4_PRED_NONE && lower_float_select(t, op);
    case G4_FAST_SELCF_COPY:
    case G4_FAST_SELCF_P:
    case G4_FAST_SELCF_MIXED:
        return lower_choice(t, op, index == G4_FAST_SELCF_COPY);
    case G4_FAST_MATH_P:
        return g4_lower_math_opcode(t, op);
    case G4_FAST_RNDE_R:
        return false;
    default:
        return lower_float_binary(t, op);
    }
}

static bool lower_int(struct translator *t, const struct g4_op *op, unsigned index) {
    static const struct {
        uint8_t first;
        enum ir_op operation;
    } binary[] = {
        {G4_FAST_ADD_PP, IR_ADD}, {G4_FAST_MUL_PP, IR_MUL}, {G4_FAST_AND_PP, IR_AND}, {G4_FAST_OR_PP, IR_OR},
        {G4_FAST_XOR_PP, IR_XOR}, {G4_FAST_SHL_PP, IR_SHL}, {G4_FAST_SHR_PP, IR_SHR}, {G4_FAST_ASR_PP, IR_ASR},
    };
    if (in_shapes(index, G4_FAST_CMP_PP)) {
        return g4_is_biased(&op->in[0]) == g4_is_biased(&op->in[1]) && lower_int_compare(t, op);
    }
    if (in_shapes(index, G4_FAST_SEL_PP)) {
        return op->predicate != G4_PRED_NONE && lower_select(t, op);
    }
    for (unsigned i = 0; i < sizeof binary / sizeof *binary; i++) {
        if (in_shapes(index, binary[i].first)) {
            return lower_int_binary(t, op, binary[i].operation);
        }
    }
    switch (index) {
    case G4_FAST_MOV_P:
    case G4_FAST_MOV_S:
    case G4_FAST_MOV_I:
        return lower_move(t, op);
    case G4_FAST_NOT_P:
        return lower_not(t, op);
    case G4_FAST_SELC_P:
        return lower_integer_choice(t, op);
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
        op->half + op->parts > 2 || !g4_can_store(op) || !can_convert(op) || has_integer_condition(op) ||
        pattern(op) * UINT64_C(0x0001000100010001) != op->written) {
        return false;
    }
    for (unsigned s = 0; s < sources; s++) {
        const struct g4_fast_src *const in = &op->in[s];
        const bool as_it_is = in->invert == 0 && in->minus == 0;
        if (!g4_can_load(in) || (table != G4_TABLE_INT && !g4_is_finite_immediate(in)) ||
            !(as_it_is || g4_is_negated(in) || g4_is_biased(in))) {
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

static bool lower_flags(struct translator *t, const struct g4_op *op) {
    const ir_operand threads =
        op->nomask ? g4_whole_threads(t) : mask_of(t, IR_MASK_FIRST, g4_exec(t, eight_of(op, 0)), IR_NONE);
    for (unsigned half = 0; half < 2; half++) {
        ir_operand bits = mask_constant(t, (uint32_t)op->in[0].imm[0] >> (8 * half) & 0xff);
        if (threads != IR_NONE) {
            bits = mask_of(t, IR_MASK_AND, bits, threads);
        }
        g4_set_flag(t, op->dst.base / 2u, half, bits, threads);
    }
    return true;
}

/* ---- scalar constants ---- */

bool g4_is_constant_element(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_MOV && op->handler >> 8 == G4_TABLE_INT && op->dst.kind == G4_KIND_GRF &&
           op->exec_size == 1 && op->nomask && op->dst.size == 4 && op->dst.base % 4 == 0 && op->half == 0 &&
           op->in[0].load == G4_LOAD_IMM && op->in[0].invert == 0 && op->in[0].minus == 0 &&
           op->out.convert == G4_CONVERT_NONE && op->predicate == G4_PRED_NONE && op->cond == G4_COND_NONE &&
           !op->saturate && !op->align16;
}

/* A move of an immediate; the elements that it does not write keep their known values. */
static bool lower_constant_element(struct translator *t, const struct g4_op *op) {
    if (!lower_move(t, op)) {
        return false;
    }
    g4_know_element(t, op->dst.base / G4_REGISTER_BYTES, op->dst.base % G4_REGISTER_BYTES / 4u,
                    (uint32_t)op->in[0].imm[0]);
    return true;
}

bool g4_can_lower_in_loop(const struct translator *t, const struct g4_op *op) {
    struct g4_extended_math_message message;
    if (op->upper) {
        return false;
    }
    switch (op->handler >> 8) {
    case G4_TABLE_COMMON:
        return op->handler == G4_HANDLER_NOP ||
               (op->handler == G4_HANDLER_SEND && !op->nomask && g4_is_lowered_math(t, op, &message));
    case G4_TABLE_FLOAT:
    case G4_TABLE_INT:
        return !op->nomask && op->out.store != G4_STORE_WORDS && can_lower(op);
    case G4_TABLE_DOUBLE:
        return !op->nomask && g4_has_three_sources(op) && can_lower(op);
    default:
        return false;
    }
}

bool g4_lower_op(struct translator *t, const struct g4_op *op) {
    const unsigned index = op->handler & 0xff;

    if (op->handler == G4_HANDLER_HALVES) {
        return g4_lower_op(t, &op->halves[0]) && g4_lower_op(t, &op->halves[1]);
    }
    if (op->handler >> 8 == G4_TABLE_COMMON) {
        return op->handler == G4_HANDLER_NOP || (op->handler == G4_HANDLER_SEND && g4_lower_math(t, op));
    }
    if (!g4_has_lanes(op)) {
        return false;
    }
    if (moves_flags(op)) {
        return !t->loop && lower_flags(t, op);
    }
    if (!can_lower(op)) {
        return false;
    }
    if (g4_is_constant_element(op)) {
        return lower_constant_element(t, op);
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

static void touch_in(struct g4_op_rows *rows, unsigned half, unsigned row, const struct g4_fast_src *in, unsigned lanes,
                     bool floats) {
    const int i = rows->ins++;
    rows->in[i].row = (uint8_t)row;
    rows->in[i].half = (uint8_t)half;
    rows->in[i].single = in && in->load == G4_LOAD_SCALAR;
    rows->in[i].lanes = (uint8_t)lanes;
    rows->in[i].floats = floats;
}

static void touch_out(struct g4_op_rows *rows, unsigned half, unsigned row, enum lanes lanes, bool whole, bool gated,
                      bool number, int copies) {
    const int i = rows->outs++;
    rows->out[i].row = (uint8_t)row;
    rows->out[i].half = (uint8_t)half;
    rows->out[i].lanes = (uint8_t)lanes;
    rows->out[i].whole = whole;
    rows->out[i].gated = gated;
    rows->out[i].number = number;
    rows->out[i].copies = (int16_t)copies;
}

static bool gives_floats(const struct g4_op *op) {
    if (op->handler >> 8 == G4_TABLE_INT) {
        return op->out.convert == G4_CONVERT_TO_FLOAT || op->out.convert == G4_CONVERT_UD_TO_FLOAT;
    }
    return !g4_op_compares(op) && op->out.convert == G4_CONVERT_NONE && op->handler != SELCF_COPY_HANDLER;
}

static void math_rows(const struct g4_op *op, struct g4_op_rows *rows) {
    const bool moved = op->src[0].kind != G4_KIND_NULL;
    for (int pass = 0; pass < op->passes; pass++) {
        const unsigned half = half_of(op, pass);
        touch_in(rows, half, g4_math_source(op, pass), NULL, 0, false);
        if (moved) { /* in all lanes */
            touch_out(rows, half, g4_math_payload(op, pass), LANES_GROUP, false, false, false, -1);
        }
        touch_out(rows, half, g4_math_destination(op, pass), widest(op, pass),
                  op->predicate == G4_PRED_NONE && pattern(op) == 0xffff, op->predicate != G4_PRED_NONE, true, -1);
    }
}

static bool is_dot(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_DP2 || op->opcode == G4_OPCODE_DP3 || op->opcode == G4_OPCODE_DP4 ||
           op->opcode == G4_OPCODE_DPH;
}

static bool is_plane(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_PLN || op->opcode == G4_OPCODE_LINE;
}

/* The row that a part copies; -1: none. */
static int copied_row(const struct g4_op *op, int part) {
    const struct g4_fast_src *const in = &op->in[0];
    return in->load == G4_LOAD_PACKED && !g4_is_negated(in) ? in->reg[part] : -1;
}

/* Add the rows of an instruction with lanes. */
static void lane_rows(const struct g4_op *op, struct g4_op_rows *rows) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    const unsigned table = op->handler >> 8;

    if (!g4_has_lanes(op) || moves_flags(op)) {
        return;
    }
    for (int part = 0; part < op->parts; part++) {
        const unsigned half = half_of(op, part);
        for (unsigned s = 0; s < sources; s++) {
            const struct g4_fast_src *const in = &op->in[s];
            const bool by_lane = in->load == G4_LOAD_PACKED && !is_dot(op) && !(is_plane(op) && s == 0);
            const bool floats = table != G4_TABLE_INT && in->convert == G4_CONVERT_NONE;
            if (in->load == G4_LOAD_IMM) {
                continue;
            }
            touch_in(rows, half, in->reg[part], in, by_lane ? widest(op, part) : 0, floats);
            rows->in[rows->ins - 1].element = in->load == G4_LOAD_SCALAR ? in->sub[part] / 4u : 0;
            if (op->opcode == G4_OPCODE_PLN && s == 1) {
                touch_in(rows, half, in->reg[part] + 1u, in, by_lane ? widest(op, part) : 0, floats);
            }
        }
        const bool moves = table == G4_TABLE_INT && op->opcode == G4_OPCODE_MOV && op->out.convert == G4_CONVERT_NONE;
        const bool number = gives_floats(op) || (moves && op->in[0].load == G4_LOAD_IMM &&
                                                 g4_is_finite_immediate(&op->in[0]) && !g4_is_negated(&op->in[0]));
        const bool gated = op->predicate != G4_PRED_NONE && op->opcode != G4_OPCODE_SEL;
        if (op->out.store != G4_STORE_NULL) {
            touch_out(rows, half, g4_row_of(op, part), g4_written_lanes(op, part), !gated && g4_writes_row(op), gated,
                      number, moves ? copied_row(op, part) : -1);
        }
    }
}

void g4_op_rows_of(const struct g4_op *op, struct g4_op_rows *rows) {
    memset(rows, 0, sizeof *rows);
    if (op->handler == G4_HANDLER_SEND) {
        math_rows(op, rows);
    } else if (op->handler == G4_HANDLER_HALVES) {
        lane_rows(&op->halves[0], rows);
        lane_rows(&op->halves[1], rows);
    } else {
        lane_rows(op, rows);
    }
}

#endif
