/*
 * Sources and results of single instructions (operands.h).
 */
#include "eu/jit/operands.h"

#include <string.h>

#include "core/variant.h"

#if G4_HAVE_X86_VARIANTS

/* ---- constants ---- */

ir_operand g4_uniform(struct translator *t, uint32_t value) {
    struct ir_constant constant = {.uniform = true};
    for (int c = 0; c < IR_LANES; c++) {
        constant.lane[c] = (int32_t)value;
    }
    return ir_constant(&t->ir, &constant);
}

ir_operand g4_by_channel(struct translator *t, const int32_t channel[8], int32_t step) {
    struct ir_constant constant = {.uniform = step == 0};
    for (int c = 0; c < IR_LANES; c++) {
        constant.lane[c] = channel[c & 7] + (c < 8 ? 0 : step);
        constant.uniform &= channel[c & 7] == channel[0];
    }
    return ir_constant(&t->ir, &constant);
}

/* ---- lanes ---- */

/* The lanes of a mask whose channels an instruction writes.  The masks of a loop change. */
static ir_operand writing_lanes(struct translator *t, const struct g4_op *op, ir_operand mask) {
    const uint8_t channels = pattern(op) & 0xff;
    for (uint32_t i = 0; i < t->writing_count; i++) {
        if (t->writing[i].mask == mask && t->writing[i].channels == channels) {
            return t->writing[i].lanes;
        }
    }
    const ir_operand written = mask_constant(t, channels);
    const ir_operand lanes = mask == IR_NONE ? written : mask_of(t, IR_MASK_AND, written, mask);
    if (!t->loop && t->writing_count < WRITING_LANES) {
        t->writing[t->writing_count++] = (struct writing_lanes){.mask = mask, .lanes = lanes, .channels = channels};
    }
    return lanes;
}

ir_operand g4_op_lanes(struct translator *t, const struct g4_op *op, int part, bool gate) {
    ir_operand mask = op->nomask ? g4_whole_threads(t) : g4_exec(t, eight_of(op, part));
    if (pattern(op) != 0xffff) {
        mask = writing_lanes(t, op, mask);
    }
    if (gate && op->predicate != G4_PRED_NONE) {
        const ir_operand flag = g4_flag(t, op->flag, half_of(op, part));
        if (mask == IR_NONE) {
            mask = mask_constant(t, 0xff);
        }
        mask = mask_of(t, op->predicate_inverse ? IR_MASK_AND_NOT : IR_MASK_AND, flag, mask);
    }
    return mask;
}

/* ---- sources ---- */

bool g4_can_load(const struct g4_fast_src *in) {
    switch (in->load) {
    case G4_LOAD_SCALAR: /* misaligned elements are left to the handlers */
        return in->sub[0] % 4 == 0 && in->sub[1] % 4 == 0;
    case G4_LOAD_WORDS:
        return in->sub[0] % 2 == 0 && in->sub[1] % 2 == 0;
    case G4_LOAD_PACKED:
    case G4_LOAD_IMM:
    case G4_LOAD_PERMUTE:
    case G4_LOAD_NARROW:
        return true;
    default:
        return false;
    }
}

bool g4_is_negated(const struct g4_fast_src *in) {
    return in->invert == -1 && in->minus == -1;
}

bool g4_is_biased(const struct g4_fast_src *in) {
    return in->invert == INT32_MIN && in->minus == 0;
}

bool g4_is_finite_immediate(const struct g4_fast_src *in) {
    for (int c = 0; in->load == G4_LOAD_IMM && c < 16; c++) {
        if ((in->imm[c] & 0x7fffffff) >= 0x7f800000) {
            return false;
        }
    }
    return true;
}

ir_operand g4_permuted(struct translator *t, ir_operand from, const int32_t dword[8]) {
    return vector_of(t, IR_PERMUTE, from, g4_by_channel(t, dword, 8), IR_NONE);
}

/* Eight words that an instruction of the block has written in the lanes that read them; IR_NONE: they are not. */
static ir_operand written_words(struct translator *t, const struct g4_op *op, const struct g4_fast_src *in, int part) {
    const unsigned half = in->sub[part] / (G4_REGISTER_BYTES / 2u);
    const struct row_words *const words = &t->rows[in->reg[part]].words[half & 1];

    if (in->load != G4_LOAD_WORDS || in->size != 2 || in->sub[part] % (G4_REGISTER_BYTES / 2u) != 0 ||
        words->value == IR_NONE || !(words->lanes & (widest(op, part) | LANES_GROUP))) {
        return IR_NONE;
    }
    if (!in->is_signed) {
        return vector_of(t, IR_AND, words->value, g4_uniform(t, 0xffff), IR_NONE);
    }
    return vector_imm(t, IR_ASR_BY, vector_of(t, IR_SHL, words->value, g4_uniform(t, 16), IR_NONE), IR_NONE, 16);
}

/* Words of dwords, in the high halves of the lanes: those that a shift to the left by 0 or 16 would leave there. */
static ir_operand words_on_top(struct translator *t, ir_operand from, const int32_t dword[8], const int32_t left[8]) {
    int32_t words[8];
    for (int c = 0; c < 8; c++) {
        const int32_t word = 2 * dword[c] + (left[c] ? 0 : 1);
        words[c] = word << 16 | word;
    }
    return vector_of(t, IR_WORDS, from, g4_by_channel(t, words, 16 << 16 | 16), IR_NONE);
}

/* Words or bytes: the dwords they are in, shifted to the top and back with the right sign. */
static ir_operand narrow(struct translator *t, ir_operand from, const struct g4_fast_src *in, int part) {
    int32_t dword[8];
    int32_t left[8];
    bool whole = in->size == 2; /* words that do not begin at an odd byte */
    for (int c = 0; c < 8; c++) {
        if (in->load == G4_LOAD_WORDS) {
            const int byte = in->sub[part] + 2 * c;
            dword[c] = byte / 4;
            left[c] = byte % 4 ? 0 : 16;
        } else {
            dword[c] = in->idx[8 * part + c] & 7;
            left[c] = in->left[8 * part + c];
        }
        whole = whole && left[c] % 16 == 0;
    }
    const ir_operand top = whole && t->backend->has_words
                               ? words_on_top(t, from, dword, left)
                               : vector_of(t, IR_SHL, g4_permuted(t, from, dword), g4_by_channel(t, left, 0), IR_NONE);
    return vector_imm(t, in->is_signed ? IR_ASR_BY : IR_SHR_BY, top, IR_NONE, 32u - 8u * in->size);
}

ir_operand g4_raw_source(struct translator *t, const struct g4_op *op, int s, int part) {
    const struct g4_fast_src *const in = &op->in[s];
    ir_operand value;

    switch (in->load) {
    case G4_LOAD_PACKED:
        return g4_row(t, in->reg[part], widest(op, part));
    case G4_LOAD_SCALAR:
        return g4_element(t, in->reg[part], in->sub[part] / 4u);
    case G4_LOAD_IMM:
        return vector_of(t, IR_CONSTANT, IR_NONE, g4_by_channel(t, &in->imm[8 * part], 0), IR_NONE);
    case G4_LOAD_PERMUTE: {
        int32_t dword[8];
        for (int c = 0; c < 8; c++) {
            dword[c] = in->idx[8 * part + c] & 7;
        }
        return g4_permuted(t, g4_row(t, in->reg[part], LANES_GROUP), dword);
    }
    default:
        value = written_words(t, op, in, part);
        return value != IR_NONE ? value : narrow(t, g4_row(t, in->reg[part], LANES_GROUP), in, part);
    }
}

uint8_t *g4_source_numbers(struct translator *t, const struct g4_op *op, int s, int part) {
    const struct g4_fast_src *const in = &op->in[s];
    switch (in->load) {
    case G4_LOAD_PACKED:
        return &t->rows[in->reg[part]].numbers;
    case G4_LOAD_SCALAR:
        return g4_element_numbers(t, in->reg[part], in->sub[part] / 4u);
    default:
        return NULL;
    }
}

ir_operand g4_negated(struct translator *t, const struct g4_fast_src *in, ir_operand value) {
    if (!g4_is_negated(in)) {
        return value;
    }
    const ir_operand zero = vector_of(t, IR_CONSTANT, IR_NONE, g4_uniform(t, 0), IR_NONE);
    return vector_of(t, IR_SUB, zero, value, IR_NONE);
}

/* An immediate with one value in all channels. */
static bool is_uniform(const struct g4_fast_src *in) {
    for (int c = 1; in->load == G4_LOAD_IMM && c < 16; c++) {
        if (in->imm[c] != in->imm[0]) {
            return false;
        }
    }
    return in->load == G4_LOAD_IMM;
}

ir_operand g4_int_source(struct translator *t, const struct g4_op *op, int s, int part) {
    return g4_negated(t, &op->in[s], g4_raw_source(t, op, s, part));
}

/* Whether a source has one value in all lanes that is known now. */
static bool is_known(const struct translator *t, const struct g4_op *op, int s, int part, uint32_t *bits) {
    const struct g4_fast_src *const in = &op->in[s];
    if (is_uniform(in)) {
        *bits = (uint32_t)in->imm[0];
        return true;
    }
    const struct element_state *const element =
        in->load == G4_LOAD_SCALAR ? g4_known_element(t, in->reg[part], in->sub[part] / 4u) : NULL;
    if (element) {
        *bits = element->bits;
    }
    return element != NULL;
}

ir_operand g4_int_operand(struct translator *t, const struct g4_op *op, int s, int part) {
    uint32_t bits;
    if (is_known(t, op, s, part, &bits)) {
        return g4_uniform(t, g4_is_negated(&op->in[s]) ? 0 - bits : bits);
    }
    return g4_int_source(t, op, s, part);
}

bool g4_is_known_number(struct translator *t, const struct g4_op *op, int s, int part) {
    const struct g4_fast_src *const in = &op->in[s];
    if (in->convert != G4_CONVERT_NONE || in->load == G4_LOAD_IMM) {
        return true;
    }
    const uint8_t *const numbers = g4_source_numbers(t, op, s, part);
    return numbers && (*numbers & (widest(op, part) | LANES_GROUP));
}

bool g4_are_numbers(struct translator *t, const struct g4_op *op, int part) {
    bool numbers = true;
    for (int s = 0; s < g4_opcode_info[op->opcode].sources && numbers; s++) {
        numbers = g4_is_known_number(t, op, s, part);
    }
    return numbers;
}

ir_operand g4_float_source(struct translator *t, const struct g4_op *op, int s, int part, bool check) {
    const struct g4_fast_src *const in = &op->in[s];
    ir_operand value = g4_raw_source(t, op, s, part);

    if (in->convert != G4_CONVERT_NONE) {
        value = vector_of(t, in->convert == G4_CONVERT_UD_TO_FLOAT ? IR_FROM_UD : IR_FROM_D, g4_negated(t, in, value),
                          IR_NONE, IR_NONE);
    } else if (check && !g4_is_known_number(t, op, s, part)) {
        uint8_t *const numbers = g4_source_numbers(t, op, s, part);
        const bool whole = op->nomask || (in->load == G4_LOAD_SCALAR && !t->loop); /* once for all halves */
        g4_check_number(t, value, whole ? g4_whole_threads(t) : g4_exec(t, eight_of(op, part)));
        if (numbers && !t->loop) {
            *numbers |= (uint8_t)(whole ? LANES_GROUP : widest(op, part));
        }
    }
    if (in->keep != UINT32_MAX) {
        value = vector_of(t, IR_AND, value, g4_uniform(t, in->keep), IR_NONE);
    }
    if (in->flip) {
        value = vector_of(t, IR_XOR, value, g4_uniform(t, in->flip), IR_NONE);
    }
    return value;
}

ir_operand g4_float_operand(struct translator *t, const struct g4_op *op, int s, int part, bool check) {
    const struct g4_fast_src *const in = &op->in[s];
    uint32_t bits;
    if (in->convert == G4_CONVERT_NONE && is_known(t, op, s, part, &bits) && (!check || g4_is_finite(bits))) {
        return g4_uniform(t, (bits & in->keep) ^ in->flip);
    }
    return g4_float_source(t, op, s, part, check);
}

/* ---- results ---- */

/* The destination is contiguous dwords of one register, not from its start. */
static bool is_shifted(const struct g4_op *op) {
    if (op->out.store != G4_STORE_SCATTER4 || op->parts != 1 || op->out.off[0] % 4 != 0) {
        return false;
    }
    for (unsigned c = 0; c < op->count; c++) {
        if (op->out.off[c] != op->out.off[0] + 4 * c) {
            return false;
        }
    }
    return op->out.off[0] % G4_REGISTER_BYTES + 4u * op->count <= G4_REGISTER_BYTES;
}

/* The distance of the destination from the lane of channel 0. */
static unsigned shift_of(const struct g4_op *op) {
    return op->out.store == G4_STORE_SCATTER4 ? op->out.off[0] % G4_REGISTER_BYTES / 4u : 0;
}

bool g4_can_store(const struct g4_op *op) {
    const bool words = op->out.store == G4_STORE_WORDS && op->handler >> 8 == G4_TABLE_INT &&
                       op->out.off[0] % 16 == 0 && op->out.off[8 * (op->parts - 1)] % 16 == 0;
    return op->out.store == G4_STORE_NULL || op->out.store == G4_STORE_PACKED || words || is_shifted(op);
}

unsigned g4_row_of(const struct g4_op *op, int part) {
    return op->out.off[8 * part] / (unsigned)sizeof(union g4_reg);
}

bool g4_writes_row(const struct g4_op *op) {
    return pattern(op) == 0xffff && op->out.store == G4_STORE_PACKED;
}

ir_operand g4_shifted(struct translator *t, ir_operand value, unsigned shift) {
    int32_t from[8];
    for (int c = 0; c < 8; c++) {
        from[c] = (c - (int32_t)shift) & 7;
    }
    return g4_permuted(t, value, from);
}

ir_operand g4_shifted_mask(struct translator *t, ir_operand mask, unsigned shift) {
    const ir_operand dst = ir_value(&t->ir, IR_MASK);
    ir_add(&t->ir, (struct ir_instruction){.op = IR_MASK_UP, .imm = (uint8_t)shift, .dst = dst, .a = mask});
    return dst;
}

enum lanes g4_written_lanes(const struct g4_op *op, int part) {
    return op->out.store == G4_STORE_WORDS || shift_of(op) ? LANES_GROUP : widest(op, part);
}

/* Store eight words of each thread to one half of a row. */
static void store_words(struct translator *t, const struct g4_op *op, int part, ir_operand mask, ir_operand value) {
    const unsigned number = g4_row_of(op, part);
    const unsigned half = op->out.off[8 * part] % G4_REGISTER_BYTES != 0;
    const struct row_words others = t->rows[number].words[!half];
    const bool whole = op->predicate == G4_PRED_NONE && pattern(op) == 0xffff;
    const ir_operand old = g4_row(t, number, LANES_GROUP);
    const ir_operand row = ir_variable(&t->ir, IR_VECTOR);
    g4_forget_elements(t, number, ALL_DWORDS);
    ir_add(&t->ir, (struct ir_instruction){.op = IR_MOVE, .dst = row, .a = old});
    ir_add(&t->ir, (struct ir_instruction){
                       .op = IR_STORE_WORDS, .imm = (uint8_t)half, .keep = true, .dst = row, .a = value, .mask = mask});
    g4_write_row(t, number, LANES_GROUP, IR_NONE, false, row, 0);
    t->rows[number].words[!half] = others;
    if (whole && !t->loop) {
        t->rows[number].words[half] = (struct row_words){value, (uint8_t)widest(op, part)};
    }
}

/* Store lanes of a value. */
static void store(struct translator *t, const struct g4_op *op, int part, ir_operand mask, bool gated, ir_operand value,
                  uint8_t numbers) {
    if (op->out.store == G4_STORE_NULL) {
        return;
    }
    if (op->out.store == G4_STORE_WORDS) {
        store_words(t, op, part, mask, value);
        return;
    }
    if (shift_of(op)) {
        value = g4_shifted(t, value, shift_of(op));
        mask = g4_shifted_mask(t, mask, shift_of(op));
    }
    const unsigned written = op->count < 8 ? (1u << op->count) - 1 : ALL_DWORDS;
    g4_forget_elements(t, g4_row_of(op, part), written << shift_of(op));
    g4_write_row(t, g4_row_of(op, part), g4_written_lanes(op, part), mask, g4_writes_row(op) && !gated, value, numbers);
}

/* Whether the result is stored only in lanes that pass the predicate. */
static bool is_gated(const struct g4_op *op) {
    return op->predicate != G4_PRED_NONE && op->opcode != G4_OPCODE_SEL;
}

enum ir_condition g4_condition(unsigned cond) {
    static const uint8_t condition[8] = {
        [G4_COND_Z] = IR_EQUAL,          [G4_COND_NZ] = IR_NOT_EQUAL, [G4_COND_G] = IR_GREATER,
        [G4_COND_GE] = IR_GREATER_EQUAL, [G4_COND_L] = IR_LESS,       [G4_COND_LE] = IR_LESS_EQUAL};
    return (enum ir_condition)condition[cond & 7];
}

ir_operand g4_compare(struct translator *t, enum ir_op op, unsigned condition, ir_operand a, ir_operand b,
                      ir_operand mask) {
    const ir_operand bits = ir_value(&t->ir, IR_MASK);
    ir_add(&t->ir, (struct ir_instruction){
                       .op = (uint8_t)op, .imm = (uint8_t)condition, .dst = bits, .a = a, .b = b, .mask = mask});
    return bits;
}

/* A result that is only stored can be computed in the variable of its row, if that costs nothing. */
static bool is_direct(const struct translator *t, const struct g4_op *op, int part) {
    const unsigned number = g4_row_of(op, part);
    return t->backend->merges && op->out.store == G4_STORE_PACKED && op->out.convert == G4_CONVERT_NONE &&
           !op->saturate && op->cond == G4_COND_NONE && t->rows[number].home == ROW_VARIABLE &&
           !t->rows[number].pending && g4_row_is_joined(t, number);
}

/* An operation on vectors in the lanes of a mask, in the variable of the destination if possible. */
static ir_operand compute(struct translator *t, const struct g4_op *op, int part, struct ir_instruction instruction) {
    instruction.keep = is_direct(t, op, part);
    instruction.dst =
        instruction.keep ? t->rows[g4_row_of(op, part)].variable : (ir_operand)ir_value(&t->ir, IR_VECTOR);
    ir_add(&t->ir, instruction);
    return instruction.dst;
}

void g4_float_binary(struct translator *t, const struct g4_op *op, int part, enum ir_op operation, ir_operand a,
                     ir_operand b) {
    const ir_operand mask = g4_op_lanes(t, op, part, true);
    t->raises = true;
    g4_finish_float(
        t, op, part, mask,
        compute(t, op, part, (struct ir_instruction){.op = (uint8_t)operation, .a = a, .b = b, .mask = mask}));
}

void g4_float_ternary(struct translator *t, const struct g4_op *op, int part, ir_operand a, ir_operand b,
                      ir_operand c) {
    const ir_operand mask = g4_op_lanes(t, op, part, true);
    t->raises = true;
    g4_finish_float(
        t, op, part, mask,
        compute(t, op, part, (struct ir_instruction){.op = IR_MULADD, .a = a, .b = b, .c = c, .mask = mask}));
}

void g4_int_binary(struct translator *t, const struct g4_op *op, int part, enum ir_op operation, ir_operand a,
                   ir_operand b) {
    const ir_operand mask = g4_op_lanes(t, op, part, true);
    g4_finish_int(t, op, part, mask,
                  compute(t, op, part, (struct ir_instruction){.op = (uint8_t)operation, .a = a, .b = b, .mask = mask}),
                  0);
}

void g4_finish_float(struct translator *t, const struct g4_op *op, int part, ir_operand mask, ir_operand value) {
    if (op->saturate) {
        value = vector_of(t, IR_MAXPS, value, g4_uniform(t, 0), mask);
        value = vector_of(t, IR_MINPS, value, g4_uniform(t, 0x3f800000), mask);
    }
    if (op->cond != G4_COND_NONE) {
        g4_set_flag(t, op->flag, half_of(op, part),
                    g4_compare(t, IR_COMPARE_F, g4_condition(op->cond), value, g4_uniform(t, 0), mask), mask);
    }
    if (op->out.convert == G4_CONVERT_TO_D) { /* values out of range raise an exception */
        t->raises = true;
        store(t, op, part, mask, is_gated(op), vector_of(t, IR_TO_D, value, IR_NONE, mask), 0);
    } else {
        store(t, op, part, mask, is_gated(op), value, LANES_ALL);
    }
}

void g4_finish_int(struct translator *t, const struct g4_op *op, int part, ir_operand mask, ir_operand value,
                   uint8_t numbers) {
    if (op->cond != G4_COND_NONE) {
        g4_set_flag(t, op->flag, half_of(op, part),
                    g4_compare(t, IR_COMPARE_D, g4_condition(op->cond), value, g4_uniform(t, 0), mask), mask);
    }
    if (op->out.store != G4_STORE_NULL && op->out.convert != G4_CONVERT_NONE) {
        value =
            vector_of(t, op->out.convert == G4_CONVERT_UD_TO_FLOAT ? IR_FROM_UD : IR_FROM_D, value, IR_NONE, IR_NONE);
        numbers = LANES_ALL;
    }
    store(t, op, part, mask, is_gated(op), value, numbers);
}

void g4_finish_truth(struct translator *t, const struct g4_op *op, int part, ir_operand mask, ir_operand bits) {
    g4_set_flag(t, op->flag, half_of(op, part), bits, mask);
    if (op->out.store != G4_STORE_NULL) {
        store(t, op, part, mask, is_gated(op), vector_of(t, IR_MASK_ROW, bits, IR_NONE, IR_NONE), 0);
    }
}

#endif
