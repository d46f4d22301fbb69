/*
 * Emits code that loads and stores operands, for the files that translate single instructions.
 */
#ifndef G4_EU_JIT_OPERANDS_H
#define G4_EU_JIT_OPERANDS_H

#include <string.h>

#include "eu/jit/translator.h"

/* A constant, one dword for all lanes. */
static inline struct g4_rm all(struct translator *t, uint32_t value) {
    return g4_rm_all(X86_RCX, g4_constant(&t->constants, &value, sizeof value));
}

/* A constant, a dword by channel; `step` is added in the second thread. */
static inline struct g4_rm by_channel(struct translator *t, const int32_t channel[8], int32_t step) {
    int32_t lanes[16];
    for (int c = 0; c < 16; c++) {
        lanes[c] = channel[c & 7] + (c < 8 ? 0 : step);
    }
    return g4_rm_at(X86_RCX, g4_constant(&t->constants, lanes, sizeof lanes));
}

/* ---- vector registers ---- */

static inline int vreg_of(const struct translator *t, enum content content, unsigned row, unsigned element) {
    for (int i = 0; i < LOOP_VREGS; i++) {
        const struct vreg *const h = &t->s.vregs[i];
        if (h->content == content && h->row == row && h->element == element) {
            return i;
        }
    }
    return -1;
}

/* Allocate a register: a free one, or the least recently used one that is clean and not used by this instruction. */
static inline int allocate_vreg(struct translator *t, enum content content, unsigned row, unsigned element) {
    int best = -1;
    for (int i = 0; i < BLOCK_VREGS; i++) {
        const struct vreg *const h = &t->s.vregs[i];
        if (h->content == HOLDS_NOTHING) {
            best = i;
            break;
        }
        if (!h->dirty && h->used != t->s.now && (best < 0 || h->used < t->s.vregs[best].used)) {
            best = i;
        }
    }
    if (best < 0) {
        t->s.out_of_vregs = true;
        best = 0; /* the caller removes the instruction */
    }
    t->s.vregs[best] =
        (struct vreg){.content = (uint8_t)content, .row = (uint8_t)row, .element = (uint8_t)element, .used = t->s.now};
    return best;
}

/* The memory of a row without a register. */
static inline struct g4_rm row_at(const struct translator *t, unsigned number, unsigned byte) {
    if (t->loop && t->spilled[number]) {
        return g4_rm_at(X86_RSI, offsetof(struct g4_loop_scratch, rows) + (t->spilled[number] - 1u) * ROW_BYTES + byte);
    }
    return g4_row_in_memory(number, byte);
}

/* Load a row; returns its register.  In a loop that has spilled the row, that is `temp`. */
static inline unsigned row(struct translator *t, unsigned number, unsigned temp) {
    int reg = vreg_of(t, HOLDS_ROW, number, 0);
    if (reg < 0) {
        reg = t->loop ? (int)temp : allocate_vreg(t, HOLDS_ROW, number, 0);
        emit_evex(&t->code, G4_X_LOAD, (unsigned)reg, 0, row_at(t, number, 0), 0, G4_MERGE);
    }
    if (reg < LOOP_VREGS) {
        t->s.vregs[reg].used = t->s.now;
    }
    return (unsigned)reg;
}

static inline bool is_dirty(const struct translator *t, unsigned number) {
    const int reg = vreg_of(t, HOLDS_ROW, number, 0);
    return reg >= 0 && t->s.vregs[reg].dirty;
}

static inline void spread_element(struct translator *t, unsigned to, unsigned from, unsigned element) {
    const unsigned quarter = element / 4;
    emit_evex_imm(&t->code, G4_X_SHUFFLE_128, to, from, g4_rm_reg(from), 0, G4_MERGE,
                  quarter * 5u + (quarter + 2u) * 0x50u);
    emit_evex_imm(&t->code, G4_X_PERMUTE_PS, to, 0, g4_rm_reg(to), 0, G4_MERGE, element % 4 * 0x55u);
}

static inline void broadcast_element(struct translator *t, unsigned to, unsigned row, unsigned element) {
    emit_evex(&t->code, G4_X_BROADCAST, to, 0, row_at(t, row, 4 * element), 0, G4_MERGE);
    emit_mask_constant(&t->code, K_TEMP, 0xff00);
    emit_evex(&t->code, G4_X_BROADCAST, to, 0, row_at(t, row, G4_REGISTER_BYTES + 4 * element), K_TEMP, G4_MERGE);
}

static inline unsigned element(struct translator *t, unsigned number, unsigned dword, unsigned temp) {
    int reg = vreg_of(t, HOLDS_ELEMENT, number, dword);
    if (reg < 0) {
        const int whole = vreg_of(t, HOLDS_ROW, number, 0);
        if (whole >= 0) {
            t->s.vregs[whole].used = t->s.now;
        }
        reg = t->loop ? (int)temp : allocate_vreg(t, HOLDS_ELEMENT, number, dword);
        if (whole >= 0) {
            spread_element(t, (unsigned)reg, (unsigned)whole, dword);
        } else {
            broadcast_element(t, (unsigned)reg, number, dword);
        }
    }
    if (reg < LOOP_VREGS) {
        t->s.vregs[reg].used = t->s.now;
    }
    return (unsigned)reg;
}

/* The register of a row that is about to be written in some lanes; -1: the row is in memory. */
static inline int written_row(struct translator *t, unsigned number) {
    if (t->loop) {
        return vreg_of(t, HOLDS_ROW, number, 0);
    }
    const unsigned reg = row(t, number, 0);
    for (int i = 0; i < LOOP_VREGS; i++) {
        if (t->s.vregs[i].content == HOLDS_ELEMENT && t->s.vregs[i].row == number) {
            t->s.vregs[i].content = HOLDS_NOTHING;
        }
    }
    t->s.vregs[reg].dirty = true;
    return (int)reg;
}

/* ---- lanes ---- */

static inline unsigned half_of(const struct g4_op *op, int part) {
    return (unsigned)(op->half + part);
}

static inline unsigned pattern(const struct g4_op *op) {
    return (unsigned)(op->written & 0xffff);
}

/* The word of the pair in a half of flag register f0.`flag`. */
static inline struct g4_rm flag_in_memory(unsigned flag, unsigned half) {
    return g4_rm_at(X86_RDX, offsetof(struct g4_gang, flag) + (2 * flag + half) * sizeof(g4_lanes));
}

/* Load the flags of a part to a mask. */
static inline unsigned flag_of(struct translator *t, const struct g4_op *op, int part) {
    if (t->loop) { /* a loop uses only one flag register */
        return half_of(op, part) ? K_FLAG_1 : K_FLAG_0;
    }
    emit_mask_load(&t->code, K_TEMP, flag_in_memory(op->flag, half_of(op, part)));
    return K_TEMP;
}

/* The lanes that an instruction may use before predication, as one of the masks that do not change in a block. */
static inline unsigned widest(const struct g4_op *op, int part) {
    return op->nomask ? K_GROUP : K_EXEC_0 + half_of(op, part);
}

/* A mask of the enabled lanes of a part; `gate`: that pass the predicate. */
static inline unsigned lanes_of(struct translator *t, const struct g4_op *op, int part, bool gate) {
    unsigned mask = widest(op, part);
    if (pattern(op) != 0xffff) {
        emit_mask_constant(&t->code, K_LANES, pattern(op));
        emit_masks(&t->code, G4_K_AND, K_LANES, K_LANES, mask);
        mask = K_LANES;
    }
    if (gate && op->predicate != G4_PRED_NONE) {
        const unsigned flag = flag_of(t, op, part);
        emit_masks(&t->code, op->predicate_inverse ? G4_K_ANDN : G4_K_AND, K_LANES, flag, mask);
        mask = K_LANES;
    }
    return mask;
}

/* flag = (flag & ~lanes) | K_BITS.  K_BITS must be a subset of lanes. */
static inline void set_flags(struct translator *t, const struct g4_op *op, int part, unsigned lanes) {
    const unsigned flag = flag_of(t, op, part);
    emit_masks(&t->code, G4_K_ANDN, K_TEMP, lanes, flag);
    emit_masks(&t->code, G4_K_OR, t->loop ? flag : K_TEMP, K_TEMP, K_BITS);
    if (!t->loop) {
        emit_mask_store(&t->code, K_TEMP, flag_in_memory(op->flag, half_of(op, part)));
    }
}

/* A mask of all lanes of the running threads; eax and r10 are lost. */
static inline unsigned whole_threads(struct translator *t) {
    struct g4_code *const code = &t->code;
    if (!t->loop) {
        return K_GROUP;
    }
    emit_masks(&t->code, G4_K_OR, K_TEMP, K_EXEC_0, K_EXEC_1);
    emit_reg_from_mask(code, X86_RAX, K_TEMP);
    emit_alu8_imm(code, X86_CMP, X86_RAX, 1); /* borrows if the byte is 0; then sbb gives 0xff, else 0 */
    emit_alu8(code, X86_SBB, X86_R10, X86_R10);
    emit_alu8_imm(code, X86_CMP, X86_AH, 1);
    emit_alu8(code, X86_SBB, X86_RAX, X86_RAX);
    emit_alu8(code, X86_MOV, X86_AH, X86_RAX);
    emit_alu8(code, X86_MOV, X86_RAX, X86_R10);
    emit_not(code, X86_RAX);
    emit_mask_from_reg(code, K_TEMP, X86_RAX);
    return K_TEMP;
}

/* ---- sources ---- */

/* classes of vfpclassps */
enum {
    NAN_OR_INFINITY = 0x99
};

/* Fail in the lanes of K_BITS. */
static inline void fail_lanes(struct translator *t) {
    emit_masks(&t->code, G4_K_OR, K_FAILED, K_FAILED, K_BITS);
    t->s.checks_failed = true;
}

static inline void check_finite(struct translator *t, unsigned reg, unsigned lanes) {
    emit_evex_imm(&t->code, G4_X_CLASS, K_BITS, 0, g4_rm_reg(reg), lanes, G4_MERGE, NAN_OR_INFINITY);
    fail_lanes(t);
}

/* Fail if a result has overflowed.  A loop checks the exception flags of the host at its end instead. */
static inline void check_magnitude(struct translator *t, unsigned reg, unsigned lanes) {
    if (!t->loop) {
        emit_evex_imm(&t->code, G4_X_RANGE, MAGNITUDE, MAGNITUDE, g4_rm_reg(reg), lanes, G4_MERGE, G4_RANGE_LARGEST);
        t->s.checks_magnitude = true;
    }
}

static inline bool is_known_finite(uint8_t finite, unsigned lanes) {
    return finite & (1u << lanes | 1u << K_GROUP);
}

/* Permute the dwords of the row of each thread. */
static inline void permute(struct translator *t, unsigned to, unsigned from, const int32_t dword[8], unsigned index) {
    emit_evex(&t->code, G4_X_LOAD, index, 0, by_channel(t, dword, 8), 0, G4_MERGE);
    emit_evex(&t->code, G4_X_PERMUTE, to, index, g4_rm_reg(from), 0, G4_MERGE);
}

/* Load words or bytes: the dwords they are in, shifted to the top and back with the right sign. */
static inline void narrow(struct translator *t, unsigned temp, unsigned from, const struct g4_fast_src *in, int part) {
    int32_t dword[8];
    int32_t left[8];
    for (int c = 0; c < 8; c++) {
        if (in->load == G4_LOAD_WORDS) {
            const int byte = in->sub[part] + 2 * c;
            dword[c] = byte / 4;
            left[c] = byte % 4 ? 0 : 16;
        } else {
            dword[c] = in->idx[8 * part + c] & 7;
            left[c] = in->left[8 * part + c];
        }
    }
    permute(t, temp, from, dword, temp);
    emit_evex(&t->code, G4_X_SHL, temp, temp, by_channel(t, left, 0), 0, G4_MERGE);
    emit_evex_imm(&t->code, G4_X_SHIFT, in->is_signed ? G4_SHIFT_ASR : G4_SHIFT_SHR, temp, g4_rm_reg(temp), 0, G4_MERGE,
                  32u - 8u * in->size);
}

/* Load the elements of a part without modifiers; returns their register.  *finite: where the lanes without NaN and
 * infinity are recorded, or NULL. */
static inline unsigned raw_source(struct translator *t, const struct g4_op *op, int s, int part, unsigned temp,
                                  uint8_t **finite) {
    const struct g4_fast_src *const in = &op->in[s];
    unsigned reg;

    *finite = NULL;
    switch (in->load) {
    case G4_LOAD_PACKED:
        reg = row(t, in->reg[part], temp);
        *finite = reg < LOOP_VREGS ? &t->s.vregs[reg].finite : &t->spilled_finite[in->reg[part]];
        return reg;
    case G4_LOAD_SCALAR:
        reg = element(t, in->reg[part], in->sub[part] / 4u, temp);
        *finite = reg < LOOP_VREGS ? &t->s.vregs[reg].finite : NULL;
        return reg;
    case G4_LOAD_IMM:
        emit_evex(&t->code, G4_X_LOAD, temp, 0, by_channel(t, &in->imm[8 * part], 0), 0, G4_MERGE);
        return temp;
    case G4_LOAD_PERMUTE: {
        int32_t dword[8];
        for (int c = 0; c < 8; c++) {
            dword[c] = in->idx[8 * part + c] & 7;
        }
        permute(t, temp, row(t, in->reg[part], TEMP_3), dword, temp);
        return temp;
    }
    default:
        narrow(t, temp, row(t, in->reg[part], TEMP_3), in, part);
        return temp;
    }
}

/* Whether a source can be loaded.  Misaligned elements are left to the handlers. */
static inline bool can_load(const struct g4_fast_src *in) {
    switch (in->load) {
    case G4_LOAD_SCALAR:
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

/* Modifiers of integers: a negation, or the bias of unsigned comparisons. */
static inline bool is_negated(const struct g4_fast_src *in) {
    return in->invert == -1 && in->minus == -1;
}

static inline bool is_biased(const struct g4_fast_src *in) {
    return in->invert == INT32_MIN && in->minus == 0;
}

static inline unsigned negated(struct translator *t, const struct g4_fast_src *in, unsigned reg, unsigned temp) {
    if (is_negated(in)) {
        emit_evex(&t->code, G4_X_SUB, temp, ZERO, g4_rm_reg(reg), 0, G4_MERGE);
        return temp;
    }
    return reg;
}

/* Load a source of integer arithmetic, without the bias. */
static inline unsigned int_source(struct translator *t, const struct g4_op *op, int s, int part, unsigned temp) {
    uint8_t *finite;
    return negated(t, &op->in[s], raw_source(t, op, s, part, temp, &finite), temp);
}

/* Load a source of float arithmetic; `check`: fail if it is NaN or infinite. */
static inline unsigned float_source(struct translator *t, const struct g4_op *op, int s, int part, unsigned temp,
                                    bool check) {
    const struct g4_fast_src *const in = &op->in[s];
    const unsigned lanes = widest(op, part);
    uint8_t *finite;
    unsigned reg = raw_source(t, op, s, part, temp, &finite);

    if (in->convert != G4_CONVERT_NONE) {
        reg = negated(t, in, reg, temp);
        emit_evex(&t->code, in->convert == G4_CONVERT_UD_TO_FLOAT ? G4_X_FROM_UD : G4_X_FROM_D, temp, 0, g4_rm_reg(reg),
                  0, G4_MERGE);
        reg = temp;
    } else if (check && in->load != G4_LOAD_IMM && !(finite && is_known_finite(*finite, lanes))) {
        check_finite(t, reg, lanes);
        if (finite && !t->loop) {
            *finite |= (uint8_t)(1u << lanes);
        }
    }
    if (in->keep != UINT32_MAX) {
        emit_evex(&t->code, G4_X_AND, temp, reg, all(t, in->keep), 0, G4_MERGE);
        reg = temp;
    }
    if (in->flip) {
        emit_evex(&t->code, G4_X_XOR, temp, reg, all(t, in->flip), 0, G4_MERGE);
        reg = temp;
    }
    return reg;
}

/* An immediate with one value in all channels. */
static inline bool is_uniform(const struct g4_fast_src *in) {
    for (int c = 1; in->load == G4_LOAD_IMM && c < 16; c++) {
        if (in->imm[c] != in->imm[0]) {
            return false;
        }
    }
    return in->load == G4_LOAD_IMM;
}

/* A source of integer arithmetic, as an operand that may be in memory, where uniform immediates are. */
static inline struct g4_rm int_operand(struct translator *t, const struct g4_op *op, int s, int part, unsigned temp) {
    const struct g4_fast_src *const in = &op->in[s];
    if (is_uniform(in)) {
        const uint32_t value = (uint32_t)in->imm[0];
        return all(t, is_negated(in) ? 0 - value : value);
    }
    return g4_rm_reg(int_source(t, op, s, part, temp));
}

/* A source of float arithmetic, as an operand that may be in memory. */
static inline struct g4_rm float_operand(struct translator *t, const struct g4_op *op, int s, int part, unsigned temp,
                                         bool check) {
    const struct g4_fast_src *const in = &op->in[s];
    if (is_uniform(in) && in->convert == G4_CONVERT_NONE) {
        return all(t, ((uint32_t)in->imm[0] & in->keep) ^ in->flip);
    }
    return g4_rm_reg(float_source(t, op, s, part, temp, check));
}

static inline bool is_finite_immediate(const struct g4_fast_src *in) {
    for (int c = 0; in->load == G4_LOAD_IMM && c < 16; c++) {
        if ((in->imm[c] & 0x7fffffff) >= 0x7f800000) {
            return false;
        }
    }
    return true;
}

/* ---- results ---- */

/* The destination is contiguous dwords of one register, not from its start. */
static inline bool is_shifted(const struct g4_op *op) {
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
static inline unsigned shift_of(const struct g4_op *op) {
    return op->out.store == G4_STORE_SCATTER4 ? op->out.off[0] % G4_REGISTER_BYTES / 4u : 0;
}

static inline bool can_store(const struct g4_op *op) {
    const bool words = op->out.store == G4_STORE_WORDS && op->handler >> 8 == G4_TABLE_INT &&
                       op->out.off[0] % 16 == 0 && op->out.off[8 * (op->parts - 1)] % 16 == 0;
    return op->out.store == G4_STORE_NULL || op->out.store == G4_STORE_PACKED || words || is_shifted(op);
}

static inline unsigned row_of(const struct g4_op *op, int part) {
    return op->out.off[8 * part] / (unsigned)sizeof(union g4_reg);
}

/* Shift lanes up within their threads.  K_LANES receives the shifted mask. */
static inline unsigned shifted(struct translator *t, unsigned reg, unsigned lanes, unsigned shift) {
    int32_t from[8];
    for (int c = 0; c < 8; c++) {
        from[c] = (c - (int32_t)shift) & 7;
    }
    permute(t, TEMP_RESULT, reg, from, TEMP_0);
    emit_mask_shift_left(&t->code, K_LANES, lanes, shift);
    return TEMP_RESULT;
}

/* Update which lanes of a row are known to be finite, after a write. */
static inline void update_finite(struct translator *t, const struct g4_op *op, int part, unsigned reg, uint8_t result,
                                 bool gated) {
    if (t->loop) {
        return; /* found before the translation (registers.c) */
    }
    uint8_t *const finite = &t->s.vregs[reg].finite;
    const bool whole = pattern(op) == 0xffff && !gated && op->out.store == G4_STORE_PACKED;
    const unsigned lanes = widest(op, part);
    if (whole && lanes == K_GROUP) {
        *finite = result;
    } else if (whole) {
        /* only lanes of this mask have changed */
        *finite = (uint8_t)((*finite & result) | (result & 1u << lanes));
    } else {
        *finite &= result;
    }
}

static inline void store_row(struct translator *t, unsigned number, unsigned mask, unsigned reg) {
    const int to = written_row(t, number);
    if (to >= 0) {
        emit_evex(&t->code, G4_X_MOVE, (unsigned)to, 0, g4_rm_reg(reg), mask, G4_MERGE);
    } else {
        emit_evex(&t->code, G4_X_STORE, reg, 0, row_at(t, number, 0), mask, G4_MERGE);
    }
}

/* Store eight words of each thread to one half of a row. */
static inline void store_words(struct translator *t, const struct g4_op *op, int part, unsigned lanes, unsigned reg) {
    const unsigned shift = op->out.off[8 * part] % G4_REGISTER_BYTES / 2u;
    const unsigned to = (unsigned)written_row(t, row_of(op, part));
    emit_evex(&t->code, G4_X_TO_WORDS, reg, 0, g4_rm_reg(TEMP_RESULT), 0, G4_MERGE);
    emit_evex_imm(&t->code, G4_X_SHUFFLE_128, TEMP_RESULT, TEMP_RESULT, g4_rm_reg(TEMP_RESULT), 0, G4_MERGE, 0x50);
    emit_mask_deposit(&t->code, K_TEMP, lanes, 0x00ff00ffu << shift);
    emit_evex(&t->code, G4_X_MOVE_WORDS, to, 0, g4_rm_reg(TEMP_RESULT), K_TEMP, G4_MERGE);
    t->s.vregs[to].finite = 0;
}

/* Store lanes of `reg`, which is not the register of the row. */
static inline void store(struct translator *t, const struct g4_op *op, int part, unsigned lanes, unsigned reg,
                         uint8_t finite) {
    if (op->out.store == G4_STORE_NULL) {
        return;
    }
    if (op->out.store == G4_STORE_WORDS) {
        store_words(t, op, part, lanes, reg);
        return;
    }
    const bool gated = lanes == K_LANES;
    if (shift_of(op)) {
        reg = shifted(t, reg, lanes, shift_of(op));
        lanes = K_LANES;
    }
    store_row(t, row_of(op, part), lanes, reg);
    const int to = vreg_of(t, HOLDS_ROW, row_of(op, part), 0);
    if (to >= 0) {
        update_finite(t, op, part, (unsigned)to, finite, gated);
    }
}

static inline unsigned float_condition(unsigned cond) {
    static const uint8_t predicate[8] = {[G4_COND_Z] = 0x00,  [G4_COND_NZ] = 0x04, [G4_COND_G] = 0x1e,
                                         [G4_COND_GE] = 0x1d, [G4_COND_L] = 0x11,  [G4_COND_LE] = 0x12};
    return predicate[cond & 7];
}

static inline unsigned int_condition(unsigned cond) {
    static const uint8_t predicate[8] = {
        [G4_COND_Z] = 0, [G4_COND_NZ] = 4, [G4_COND_G] = 6, [G4_COND_GE] = 5, [G4_COND_L] = 1, [G4_COND_LE] = 2};
    return predicate[cond & 7];
}

/* A float result is only stored, so it can be computed in the register of its row. */
static inline bool is_direct(const struct g4_op *op) {
    return op->out.store == G4_STORE_PACKED && op->out.convert == G4_CONVERT_NONE && !op->saturate &&
           op->cond == G4_COND_NONE;
}

/* Finish a float result in TEMP_RESULT: saturation, flags, conversion, store. */
static inline void finish_float(struct translator *t, const struct g4_op *op, int part, unsigned lanes) {
    check_magnitude(t, TEMP_RESULT, lanes);
    if (op->saturate) {
        emit_evex(&t->code, G4_X_MAXPS, TEMP_RESULT, TEMP_RESULT, g4_rm_reg(ZERO), lanes, G4_MERGE);
        emit_evex(&t->code, G4_X_MINPS, TEMP_RESULT, TEMP_RESULT, all(t, 0x3f800000), lanes, G4_MERGE);
    }
    if (op->cond != G4_COND_NONE) {
        emit_evex_imm(&t->code, G4_X_CMPPS, K_BITS, TEMP_RESULT, g4_rm_reg(ZERO), lanes, G4_MERGE,
                      float_condition(op->cond));
        set_flags(t, op, part, lanes);
    }
    if (op->out.convert == G4_CONVERT_TO_D) {
        emit_evex(&t->code, G4_X_TO_D, TEMP_RESULT, 0, g4_rm_reg(TEMP_RESULT), lanes, G4_MERGE);
        /* the result of the host for values out of range */
        emit_evex_imm(&t->code, G4_X_CMPD, K_BITS, TEMP_RESULT, all(t, 0x80000000), lanes, G4_MERGE,
                      int_condition(G4_COND_Z));
        fail_lanes(t);
        store(t, op, part, lanes, TEMP_RESULT, 0);
    } else {
        store(t, op, part, lanes, TEMP_RESULT, ALL_FINITE);
    }
}

/* result = a form b */
static inline void float_binary(struct translator *t, const struct g4_op *op, int part, enum g4_form form, unsigned a,
                                struct g4_rm b, unsigned lanes) {
    const int to = is_direct(op) ? written_row(t, row_of(op, part)) : -1;
    if (to >= 0) {
        emit_evex(&t->code, form, (unsigned)to, a, b, lanes, G4_MERGE);
        check_magnitude(t, (unsigned)to, lanes);
        update_finite(t, op, part, (unsigned)to, ALL_FINITE, lanes == K_LANES);
    } else {
        emit_evex(&t->code, form, TEMP_RESULT, a, b, lanes, G4_ZERO);
        finish_float(t, op, part, lanes);
    }
}

static inline void finish_int(struct translator *t, const struct g4_op *op, int part, unsigned lanes, unsigned reg,
                              uint8_t finite) {
    if (op->cond != G4_COND_NONE) {
        emit_evex_imm(&t->code, G4_X_CMPD, K_BITS, reg, g4_rm_reg(ZERO), lanes, G4_MERGE, int_condition(op->cond));
        set_flags(t, op, part, lanes);
    }
    if (op->out.store != G4_STORE_NULL && op->out.convert != G4_CONVERT_NONE) {
        emit_evex(&t->code, op->out.convert == G4_CONVERT_UD_TO_FLOAT ? G4_X_FROM_UD : G4_X_FROM_D, TEMP_RESULT, 0,
                  g4_rm_reg(reg), 0, G4_MERGE);
        store(t, op, part, lanes, TEMP_RESULT, ALL_FINITE);
    } else {
        store(t, op, part, lanes, reg, finite);
    }
}

/* Finish a comparison whose truth is in K_BITS. */
static inline void finish_truth(struct translator *t, const struct g4_op *op, int part, unsigned lanes) {
    set_flags(t, op, part, lanes);
    if (op->out.store != G4_STORE_NULL) {
        emit_evex(&t->code, G4_X_FROM_MASK, TEMP_RESULT, 0, g4_rm_reg(K_BITS), 0, G4_MERGE);
        store(t, op, part, lanes, TEMP_RESULT, 0);
    }
}

#endif
