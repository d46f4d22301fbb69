/*
 * Single instructions as AVX-512 (translator.h).
 */
#include <stdlib.h>
#include <string.h>

#include "../variant.h"
#include "translator.h"

#if G4_HAVE_X86_VARIANTS

/* ---- constants ---- */

/* One dword for all lanes. */
static struct g4_rm all(struct translator *t, uint32_t value) {
    return g4_rm_all(G4_BASE_RCX, g4_constant(&t->constants, &value, sizeof value));
}

/* A dword for each channel, the same in both threads. */
static struct g4_rm by_channel(struct translator *t, const int32_t channel[8], int32_t step) {
    int32_t lanes[16];
    for (int c = 0; c < 16; c++) {
        lanes[c] = channel[c & 7] + (c < 8 ? 0 : step);
    }
    return g4_rm_at(G4_BASE_RCX, g4_constant(&t->constants, lanes, sizeof lanes));
}

/* ---- what vector registers hold ---- */

static int holder_of(const struct translator *t, enum what what, unsigned row, unsigned element) {
    for (int i = 0; i < HELD_IN_REGION; i++) {
        const struct holder *const h = &t->s.held[i];
        if (h->what == what && h->row == row && h->element == element) {
            return i;
        }
    }
    return -1;
}

/* A register that may be given away: free, or clean and not of this instruction. */
static int take(struct translator *t, enum what what, unsigned row, unsigned element) {
    int best = -1;
    for (int i = 0; i < CACHED; i++) {
        const struct holder *const h = &t->s.held[i];
        if (h->what == HOLDS_NOTHING) {
            best = i;
            break;
        }
        if (!h->dirty && h->used != t->s.now && (best < 0 || h->used < t->s.held[best].used)) {
            best = i;
        }
    }
    if (best < 0) {
        t->s.out_of_registers = true;
        best = 0; /* the instruction will be taken back */
    }
    t->s.held[best] =
        (struct holder){.what = (uint8_t)what, .row = (uint8_t)row, .element = (uint8_t)element, .used = t->s.now};
    return best;
}

/* The register of a row; in a region that keeps it in memory, `temp`. */
static unsigned row(struct translator *t, unsigned number, unsigned temp) {
    int reg = holder_of(t, HOLDS_ROW, number, 0);
    if (reg < 0) {
        reg = t->region ? (int)temp : take(t, HOLDS_ROW, number, 0);
        g4_evex(&t->code, G4_X_LOAD, (unsigned)reg, 0, g4_row_in_memory(number, 0), 0, G4_MERGE);
    }
    if (reg < HELD_IN_REGION) {
        t->s.held[reg].used = t->s.now;
    }
    return (unsigned)reg;
}

static bool is_dirty(const struct translator *t, unsigned number) {
    const int reg = holder_of(t, HOLDS_ROW, number, 0);
    return reg >= 0 && t->s.held[reg].dirty;
}

void g4_translate_spread(struct translator *t, unsigned to, unsigned from, unsigned element) {
    const unsigned quarter = element / 4;
    g4_evex_imm(&t->code, G4_X_SHUFFLE_128, to, from, g4_rm_reg(from), 0, G4_MERGE,
                quarter * 5u + (quarter + 2u) * 0x50u);
    g4_evex_imm(&t->code, G4_X_PERMUTE_PS, to, 0, g4_rm_reg(to), 0, G4_MERGE, element % 4 * 0x55u);
}

void g4_translate_broadcast(struct translator *t, unsigned to, unsigned row, unsigned element) {
    g4_evex(&t->code, G4_X_BROADCAST, to, 0, g4_row_in_memory(row, 4 * element), 0, G4_MERGE);
    g4_mask_constant(&t->code, K_TEMP, 0xff00);
    g4_evex(&t->code, G4_X_BROADCAST, to, 0, g4_row_in_memory(row, G4_REGISTER_BYTES + 4 * element), K_TEMP, G4_MERGE);
}

static unsigned element(struct translator *t, unsigned number, unsigned dword, unsigned temp) {
    int reg = holder_of(t, HOLDS_ELEMENT, number, dword);
    if (reg < 0) {
        const int whole = holder_of(t, HOLDS_ROW, number, 0);
        if (whole >= 0) {
            t->s.held[whole].used = t->s.now;
        }
        reg = t->region ? (int)temp : take(t, HOLDS_ELEMENT, number, dword);
        if (whole >= 0) {
            g4_translate_spread(t, (unsigned)reg, (unsigned)whole, dword);
        } else {
            g4_translate_broadcast(t, (unsigned)reg, number, dword);
        }
    }
    if (reg < HELD_IN_REGION) {
        t->s.held[reg].used = t->s.now;
    }
    return (unsigned)reg;
}

/* The register of a row that is about to be written, in some lanes at least; -1: it is in memory. */
static int written_row(struct translator *t, unsigned number) {
    if (t->region) {
        return holder_of(t, HOLDS_ROW, number, 0);
    }
    const unsigned reg = row(t, number, 0);
    for (int i = 0; i < HELD_IN_REGION; i++) {
        if (t->s.held[i].what == HOLDS_ELEMENT && t->s.held[i].row == number) {
            t->s.held[i].what = HOLDS_NOTHING;
        }
    }
    t->s.held[reg].dirty = true;
    return (int)reg;
}

/* ---- lanes ---- */

static unsigned half_of(const struct g4_op *op, int part) {
    return (unsigned)(op->half + part);
}

static unsigned pattern(const struct g4_op *op) {
    return (unsigned)(op->written & 0xffff);
}

static struct g4_rm flag_in_memory(const struct g4_op *op, int part) {
    return g4_rm_at(G4_BASE_RDX,
                    offsetof(struct g4_gang, flag) + (2u * op->flag + half_of(op, part)) * sizeof(g4_lanes));
}

/* The flags of a part, in a mask. */
static unsigned flag_of(struct translator *t, const struct g4_op *op, int part) {
    if (t->region) { /* which uses but one flag register */
        return half_of(op, part) ? K_FLAG_1 : K_FLAG_0;
    }
    g4_mask_load(&t->code, K_TEMP, flag_in_memory(op, part));
    return K_TEMP;
}

/* The mask of a part's lanes: those that are on and, with `gate`, pass the predicate. */
static unsigned lanes_of(struct translator *t, const struct g4_op *op, int part, bool gate) {
    const unsigned base = op->nomask ? K_GROUP : K_EXEC_0 + half_of(op, part);
    unsigned mask = base;
    if (pattern(op) != 0xffff) {
        g4_mask_constant(&t->code, K_LANES, pattern(op));
        g4_masks(&t->code, G4_K_AND, K_LANES, K_LANES, mask);
        mask = K_LANES;
    }
    if (gate && op->predicate != G4_PRED_NONE) {
        const unsigned flag = flag_of(t, op, part);
        g4_masks(&t->code, op->predicate_inverse ? G4_K_ANDN : G4_K_AND, K_LANES, flag, mask);
        mask = K_LANES;
    }
    return mask;
}

/* flag = flag & ~lanes | K_BITS, which has no other bits. */
static void set_flags(struct translator *t, const struct g4_op *op, int part, unsigned lanes) {
    const unsigned flag = flag_of(t, op, part);
    g4_masks(&t->code, G4_K_ANDN, K_TEMP, lanes, flag);
    g4_masks(&t->code, G4_K_OR, t->region ? flag : K_TEMP, K_TEMP, K_BITS);
    if (!t->region) {
        g4_mask_store(&t->code, K_TEMP, flag_in_memory(op, part));
    }
}

/* ---- operands in ---- */

/* NaN, infinities */
enum {
    NO_NUMBER = 0x99
};

void g4_translate_check(struct translator *t, unsigned reg, unsigned lanes) {
    g4_evex_imm(&t->code, G4_X_CLASS, K_BITS, 0, g4_rm_reg(reg), lanes, G4_MERGE, NO_NUMBER);
    g4_masks(&t->code, G4_K_OR, K_DOUBT, K_DOUBT, K_BITS);
    t->s.checks_doubt = true;
}

/* A result must not be as large as can be.  In a region the host's flags tell at the end. */
static void check_size(struct translator *t, unsigned reg, unsigned lanes) {
    if (!t->region) {
        g4_evex_imm(&t->code, G4_X_RANGE, LARGEST, LARGEST, g4_rm_reg(reg), lanes, G4_MERGE, G4_RANGE_LARGEST);
        t->s.checks_largest = true;
    }
}

/* The lanes that an instruction may look at, as one of the three masks that stay. */
static unsigned widest(const struct g4_op *op, int part) {
    return op->nomask ? K_GROUP : K_EXEC_0 + half_of(op, part);
}

static bool known_number(uint8_t numbers, unsigned lanes) {
    return numbers & (1u << lanes | 1u << K_GROUP);
}

/* Elements narrower than a dword: the dword they are in, moved up, and back down with the right sign. */
static void narrow(struct translator *t, unsigned temp, unsigned from, const struct g4_fast_src *in, int part) {
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
    g4_evex(&t->code, G4_X_LOAD, temp, 0, by_channel(t, dword, 8), 0, G4_MERGE);
    g4_evex(&t->code, G4_X_PERMUTE, temp, temp, g4_rm_reg(from), 0, G4_MERGE);
    g4_evex(&t->code, G4_X_SHL, temp, temp, by_channel(t, left, 0), 0, G4_MERGE);
    g4_evex_imm(&t->code, G4_X_SHIFT, in->is_signed ? G4_SHIFT_ASR : G4_SHIFT_SHR, temp, g4_rm_reg(temp), 0, G4_MERGE,
                32u - 8u * in->size);
}

/* The elements of a part as they lie, in some register; *numbers: where they are known to be no NaN. */
static unsigned raw_source(struct translator *t, const struct g4_op *op, int s, int part, unsigned temp,
                           uint8_t **numbers) {
    const struct g4_fast_src *const in = &op->in[s];
    unsigned reg;

    *numbers = NULL;
    switch (in->load) {
    case G4_LOAD_PACKED:
        reg = row(t, in->reg[part], temp);
        *numbers = reg < HELD_IN_REGION ? &t->s.held[reg].numbers : NULL;
        return reg;
    case G4_LOAD_SCALAR:
        reg = element(t, in->reg[part], in->sub[part] / 4u, temp);
        *numbers = reg < HELD_IN_REGION ? &t->s.held[reg].numbers : NULL;
        return reg;
    case G4_LOAD_IMM:
        g4_evex(&t->code, G4_X_LOAD, temp, 0, by_channel(t, &in->imm[8 * part], 0), 0, G4_MERGE);
        return temp;
    case G4_LOAD_PERMUTE: {
        int32_t dword[8];
        for (int c = 0; c < 8; c++) {
            dword[c] = in->idx[8 * part + c] & 7;
        }
        reg = row(t, in->reg[part], TEMP_3);
        g4_evex(&t->code, G4_X_LOAD, temp, 0, by_channel(t, dword, 8), 0, G4_MERGE);
        g4_evex(&t->code, G4_X_PERMUTE, temp, temp, g4_rm_reg(reg), 0, G4_MERGE);
        return temp;
    }
    default:
        narrow(t, temp, row(t, in->reg[part], TEMP_3), in, part);
        return temp;
    }
}

static bool may_load(const struct g4_fast_src *in) {
    switch (in->load) {
    case G4_LOAD_PACKED:
    case G4_LOAD_SCALAR:
    case G4_LOAD_IMM:
    case G4_LOAD_PERMUTE:
    case G4_LOAD_NARROW:
    case G4_LOAD_WORDS:
        return true;
    default:
        return false;
    }
}

/* Modifiers of integers: none, the negative, or the bias that comparisons without sign have. */
static bool is_negated(const struct g4_fast_src *in) {
    return in->invert == -1 && in->minus == -1;
}

static bool is_biased(const struct g4_fast_src *in) {
    return in->invert == INT32_MIN && in->minus == 0;
}

static unsigned negated(struct translator *t, const struct g4_fast_src *in, unsigned reg, unsigned temp) {
    if (is_negated(in)) {
        g4_evex(&t->code, G4_X_SUB, temp, ZERO, g4_rm_reg(reg), 0, G4_MERGE);
        return temp;
    }
    return reg;
}

/* A source of integer arithmetic, without the bias. */
static unsigned int_source(struct translator *t, const struct g4_op *op, int s, int part, unsigned temp) {
    uint8_t *numbers;
    return negated(t, &op->in[s], raw_source(t, op, s, part, temp, &numbers), temp);
}

/* A source of arithmetic in floats; with `check` it must be no NaN. */
static unsigned float_source(struct translator *t, const struct g4_op *op, int s, int part, unsigned temp, bool check) {
    const struct g4_fast_src *const in = &op->in[s];
    const unsigned lanes = widest(op, part);
    uint8_t *numbers;
    unsigned reg = raw_source(t, op, s, part, temp, &numbers);

    if (in->convert != G4_CONVERT_NONE) {
        reg = negated(t, in, reg, temp);
        g4_evex(&t->code, in->convert == G4_CONVERT_UD_TO_FLOAT ? G4_X_FROM_UD : G4_X_FROM_D, temp, 0, g4_rm_reg(reg),
                0, G4_MERGE);
        reg = temp;
    } else if (check && in->load != G4_LOAD_IMM && !(numbers && known_number(*numbers, lanes))) {
        g4_translate_check(t, reg, lanes);
        if (numbers && !t->region) {
            *numbers |= (uint8_t)(1u << lanes);
        }
    }
    if (in->keep != UINT32_MAX) {
        g4_evex(&t->code, G4_X_AND, temp, reg, all(t, in->keep), 0, G4_MERGE);
        reg = temp;
    }
    if (in->flip) {
        g4_evex(&t->code, G4_X_XOR, temp, reg, all(t, in->flip), 0, G4_MERGE);
        reg = temp;
    }
    return reg;
}

static bool immediate_is_number(const struct g4_fast_src *in) {
    for (int c = 0; in->load == G4_LOAD_IMM && c < 16; c++) {
        if ((in->imm[c] & 0x7fffffff) >= 0x7f800000) {
            return false;
        }
    }
    return true;
}

/* ---- results out ---- */

/* Where a result goes: a register of the host, and the lanes to write there. */
struct target {
    bool none;
    unsigned row;
    unsigned lanes; /* a mask */
};

/* Dwords in a row within one register, but not from its beginning. */
static bool is_shifted(const struct g4_op *op) {
    if (op->out.store != G4_STORE_SCATTER4 || op->parts != 1) {
        return false;
    }
    for (unsigned c = 0; c < op->count; c++) {
        if (op->out.off[c] != op->out.off[0] + 4 * c) {
            return false;
        }
    }
    return op->out.off[0] % G4_REGISTER_BYTES + 4u * op->count <= G4_REGISTER_BYTES;
}

/* How far from its lane the first channel is stored. */
static unsigned shift_of(const struct g4_op *op) {
    return op->out.store == G4_STORE_SCATTER4 ? op->out.off[0] % G4_REGISTER_BYTES / 4u : 0;
}

static bool may_store(const struct g4_op *op) {
    const bool words = op->out.store == G4_STORE_WORDS && op->handler >> 8 == G4_TABLE_INT &&
                       op->out.off[0] % 16 == 0 && op->out.off[8 * (op->parts - 1)] % 16 == 0;
    return op->out.store == G4_STORE_NULL || op->out.store == G4_STORE_PACKED || words || is_shifted(op);
}

static unsigned row_of(const struct g4_op *op, int part) {
    return op->out.off[8 * part] / (unsigned)sizeof(union g4_reg);
}

/* Move lanes up within their threads; the mask of them is K_LANES then. */
static unsigned shifted(struct translator *t, unsigned reg, unsigned lanes, unsigned shift) {
    int32_t from[8];
    for (int c = 0; c < 8; c++) {
        from[c] = (c - (int32_t)shift) & 7;
    }
    g4_evex(&t->code, G4_X_LOAD, TEMP_0, 0, by_channel(t, from, 8), 0, G4_MERGE);
    g4_evex(&t->code, G4_X_PERMUTE, TEMP_RESULT, TEMP_0, g4_rm_reg(reg), 0, G4_MERGE);
    g4_mask_shift_left(&t->code, K_LANES, lanes, shift);
    return TEMP_RESULT;
}

/* What is known of NaN in a row after a write. */
static void now_numbers(struct translator *t, const struct g4_op *op, int part, unsigned reg, uint8_t result,
                        bool gated) {
    if (t->region) {
        return; /* known beforehand */
    }
    uint8_t *const numbers = &t->s.held[reg].numbers;
    const bool whole = pattern(op) == 0xffff && !gated && op->out.store == G4_STORE_PACKED;
    const unsigned lanes = widest(op, part);
    if (whole && lanes == K_GROUP) {
        *numbers = result;
    } else if (whole) {
        /* only lanes of this mask have changed */
        *numbers = (uint8_t)((*numbers & result) | (result & 1u << lanes));
    } else {
        *numbers &= result;
    }
}

static void store_row(struct translator *t, unsigned number, unsigned mask, unsigned reg) {
    const int to = written_row(t, number);
    if (to >= 0) {
        g4_evex(&t->code, G4_X_MOVE, (unsigned)to, 0, g4_rm_reg(reg), mask, G4_MERGE);
    } else {
        g4_evex(&t->code, G4_X_STORE, reg, 0, g4_row_in_memory(number, 0), mask, G4_MERGE);
    }
}

/* Eight words of each thread, in one half of its registers. */
static void store_words(struct translator *t, const struct g4_op *op, int part, unsigned lanes, unsigned reg) {
    const unsigned shift = op->out.off[8 * part] % G4_REGISTER_BYTES / 2u;
    const unsigned to = (unsigned)written_row(t, row_of(op, part));
    g4_evex(&t->code, G4_X_TO_WORDS, reg, 0, g4_rm_reg(TEMP_RESULT), 0, G4_MERGE);
    g4_evex_imm(&t->code, G4_X_SHUFFLE_128, TEMP_RESULT, TEMP_RESULT, g4_rm_reg(TEMP_RESULT), 0, G4_MERGE, 0x50);
    g4_mask_deposit(&t->code, K_TEMP, lanes, 0x00ff00ffu << shift);
    g4_evex(&t->code, G4_X_MOVE_WORDS, to, 0, g4_rm_reg(TEMP_RESULT), K_TEMP, G4_MERGE);
    t->s.held[to].numbers = 0;
}

/* Store lanes of `reg`, which is not the row's own. */
static void store(struct translator *t, const struct g4_op *op, int part, unsigned lanes, unsigned reg,
                  uint8_t numbers) {
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
    const int to = holder_of(t, HOLDS_ROW, row_of(op, part), 0);
    if (to >= 0) {
        now_numbers(t, op, part, (unsigned)to, numbers, gated);
    }
}

static unsigned float_condition(unsigned cond) {
    static const uint8_t predicate[8] = {[G4_COND_Z] = 0x00,  [G4_COND_NZ] = 0x04, [G4_COND_G] = 0x1e,
                                         [G4_COND_GE] = 0x1d, [G4_COND_L] = 0x11,  [G4_COND_LE] = 0x12};
    return predicate[cond & 7];
}

static unsigned int_condition(unsigned cond) {
    static const uint8_t predicate[8] = {
        [G4_COND_Z] = 0, [G4_COND_NZ] = 4, [G4_COND_G] = 6, [G4_COND_GE] = 5, [G4_COND_L] = 1, [G4_COND_LE] = 2};
    return predicate[cond & 7];
}

/* Nothing is asked of a float result but to be stored where it is computed. */
static bool is_direct(const struct g4_op *op) {
    return op->out.store == G4_STORE_PACKED && op->out.convert == G4_CONVERT_NONE && !op->saturate &&
           op->cond == G4_COND_NONE;
}

/* The end of what gives floats, in TEMP_RESULT: saturation, flags, conversion, store. */
static void finish_float(struct translator *t, const struct g4_op *op, int part, unsigned lanes) {
    check_size(t, TEMP_RESULT, lanes);
    if (op->saturate) {
        g4_evex(&t->code, G4_X_MAXPS, TEMP_RESULT, TEMP_RESULT, g4_rm_reg(ZERO), lanes, G4_MERGE);
        g4_evex(&t->code, G4_X_MINPS, TEMP_RESULT, TEMP_RESULT, all(t, 0x3f800000), lanes, G4_MERGE);
    }
    if (op->cond != G4_COND_NONE) {
        g4_evex_imm(&t->code, G4_X_CMPPS, K_BITS, TEMP_RESULT, g4_rm_reg(ZERO), lanes, G4_MERGE,
                    float_condition(op->cond));
        set_flags(t, op, part, lanes);
    }
    if (op->out.convert == G4_CONVERT_TO_D) {
        g4_evex(&t->code, G4_X_TO_D, TEMP_RESULT, 0, g4_rm_reg(TEMP_RESULT), lanes, G4_MERGE);
        /* what the host gives for anything out of range */
        g4_evex_imm(&t->code, G4_X_CMPD, K_BITS, TEMP_RESULT, all(t, 0x80000000), lanes, G4_MERGE,
                    int_condition(G4_COND_Z));
        g4_masks(&t->code, G4_K_OR, K_DOUBT, K_DOUBT, K_BITS);
        t->s.checks_doubt = true;
        store(t, op, part, lanes, TEMP_RESULT, 0);
    } else {
        store(t, op, part, lanes, TEMP_RESULT, ALL_NUMBERS);
    }
}

/* result = a form b */
static void float_binary(struct translator *t, const struct g4_op *op, int part, enum g4_form form, unsigned a,
                         unsigned b, unsigned lanes) {
    const int to = is_direct(op) ? written_row(t, row_of(op, part)) : -1;
    if (to >= 0) {
        g4_evex(&t->code, form, (unsigned)to, a, g4_rm_reg(b), lanes, G4_MERGE);
        check_size(t, (unsigned)to, lanes);
        now_numbers(t, op, part, (unsigned)to, ALL_NUMBERS, lanes == K_LANES);
    } else {
        g4_evex(&t->code, form, TEMP_RESULT, a, g4_rm_reg(b), lanes, G4_ZERO);
        finish_float(t, op, part, lanes);
    }
}

static void finish_int(struct translator *t, const struct g4_op *op, int part, unsigned lanes, unsigned reg,
                       uint8_t numbers) {
    if (op->cond != G4_COND_NONE) {
        g4_evex_imm(&t->code, G4_X_CMPD, K_BITS, reg, g4_rm_reg(ZERO), lanes, G4_MERGE, int_condition(op->cond));
        set_flags(t, op, part, lanes);
    }
    if (op->out.store != G4_STORE_NULL && op->out.convert != G4_CONVERT_NONE) {
        g4_evex(&t->code, op->out.convert == G4_CONVERT_UD_TO_FLOAT ? G4_X_FROM_UD : G4_X_FROM_D, TEMP_RESULT, 0,
                g4_rm_reg(reg), 0, G4_MERGE);
        store(t, op, part, lanes, TEMP_RESULT, ALL_NUMBERS);
    } else {
        store(t, op, part, lanes, reg, numbers);
    }
}

/* K_BITS decides: flags, and ones or zeros where anything is stored. */
static void finish_truth(struct translator *t, const struct g4_op *op, int part, unsigned lanes) {
    set_flags(t, op, part, lanes);
    if (op->out.store != G4_STORE_NULL) {
        g4_evex(&t->code, G4_X_FROM_MASK, TEMP_RESULT, 0, g4_rm_reg(K_BITS), 0, G4_MERGE);
        store(t, op, part, lanes, TEMP_RESULT, 0);
    }
}

/* ---- accumulators ---- */

static unsigned sum_of(struct translator *t, unsigned acc, unsigned thread) {
    int reg = holder_of(t, HOLDS_SUM, acc, thread);
    if (reg < 0) {
        reg = take(t, HOLDS_SUM, acc, thread);
        g4_evex(&t->code, G4_X_LOAD, (unsigned)reg, 0, g4_sum_in_memory(acc, thread), 0, G4_MERGE);
    }
    t->s.held[reg].used = t->s.now;
    return (unsigned)reg;
}

static unsigned acc_of(const struct g4_op *op, int part) {
    return (unsigned)(op->acc + part) & 1;
}

/* ---- double precision: line, pln, dot products ---- */

struct wide {
    unsigned low, high; /* vector registers, of a thread each */
};

/* Both threads' floats as doubles. */
static void widen(struct translator *t, struct wide to, unsigned from, unsigned lanes) {
    g4_evex_imm(&t->code, G4_X_HIGH_HALF, from, 0, g4_rm_reg(to.high), 0, G4_MERGE, 1);
    g4_evex(&t->code, G4_X_WIDEN, to.low, 0, g4_rm_reg(from), lanes, G4_ZERO);
    g4_evex(&t->code, G4_X_WIDEN, to.high, 0, g4_rm_reg(to.high), K_HIGH, G4_ZERO);
}

static void wide_binary(struct translator *t, enum g4_form form, struct wide to, struct wide a, struct wide b,
                        unsigned lanes) {
    g4_evex(&t->code, form, to.low, a.low, g4_rm_reg(b.low), lanes, G4_ZERO);
    g4_evex(&t->code, form, to.high, a.high, g4_rm_reg(b.high), K_HIGH, G4_ZERO);
}

/* The accumulator gets what the lanes of all threads of the group have, whatever the masks say. */
static void accumulate(struct translator *t, const struct g4_op *op, int part, struct wide from) {
    const unsigned low = sum_of(t, acc_of(op, part), 0);
    const unsigned high = sum_of(t, acc_of(op, part), 1);
    g4_evex(&t->code, G4_X_MOVE_PD, low, 0, g4_rm_reg(from.low), K_GROUP, G4_MERGE);
    g4_mask_high(&t->code, K_TEMP, K_GROUP);
    g4_evex(&t->code, G4_X_MOVE_PD, high, 0, g4_rm_reg(from.high), K_TEMP, G4_MERGE);
    t->s.held[low].dirty = t->s.held[high].dirty = true;
}

/* The lanes that double arithmetic is done for; K_HIGH has those of the second thread. */
static unsigned wide_lanes(struct translator *t, const struct g4_op *op, int part) {
    const unsigned lanes = op->acc_write ? (unsigned)K_GROUP : lanes_of(t, op, part, true);
    g4_mask_high(&t->code, K_HIGH, lanes);
    return lanes;
}

/* To TEMP_RESULT, which must have no NaN. */
static void finish_wide(struct translator *t, const struct g4_op *op, int part, struct wide from, unsigned lanes) {
    g4_evex(&t->code, G4_X_NARROW, TEMP_RESULT, 0, g4_rm_reg(from.low), lanes, G4_ZERO);
    g4_evex(&t->code, G4_X_NARROW, TEMP_3, 0, g4_rm_reg(from.high), K_HIGH, G4_ZERO);
    g4_evex_imm(&t->code, G4_X_JOIN, TEMP_RESULT, TEMP_RESULT, g4_rm_reg(TEMP_3), 0, G4_MERGE, 1);
    g4_translate_check(t, TEMP_RESULT, lanes);
    if (op->acc_write) {
        check_size(t, TEMP_RESULT, lanes);
        accumulate(t, op, part, from);
        lanes = lanes_of(t, op, part, true);
    }
    finish_float(t, op, part, lanes);
}

static const struct wide first = {TEMP_0, TEMP_1};
static const struct wide second = {TEMP_2, TEMP_3};

/* A dword of a plane, which the kernel must not have written in this stretch, as doubles. */
static void plane(struct translator *t, const struct g4_op *op, int part, unsigned byte, struct wide to,
                  unsigned lanes) {
    struct g4_rm from = g4_row_in_memory(op->in[0].reg[part], byte & 31);
    from.broadcast = true;
    g4_evex(&t->code, G4_X_WIDEN, to.low, 0, from, lanes, G4_ZERO);
    from.offset += G4_REGISTER_BYTES;
    g4_evex(&t->code, G4_X_WIDEN, to.high, 0, from, K_HIGH, G4_ZERO);
}

static bool translate_plane(struct translator *t, const struct g4_op *op) {
    const bool pln = op->opcode == G4_OPCODE_PLN;
    const struct wide coefficient = {TEMP_A, TEMP_B};

    if (op->in[0].keep != UINT32_MAX || op->in[0].flip || t->region) {
        return false;
    }
    for (int part = 0; part < op->parts; part++) {
        const unsigned sub = op->in[0].sub[part];
        if (is_dirty(t, op->in[0].reg[part])) {
            return false;
        }
        const unsigned lanes = wide_lanes(t, op, part);
        widen(t, first, float_source(t, op, 1, part, TEMP_RESULT, false), lanes);
        plane(t, op, part, pln ? sub & 16 : sub, coefficient, lanes);
        wide_binary(t, G4_X_MULPD, first, coefficient, first, lanes);
        if (pln) {
            struct g4_op other = *op; /* the second coordinate is in the next register */
            other.in[1].reg[part]++;
            widen(t, second, float_source(t, &other, 1, part, TEMP_RESULT, false), lanes);
            plane(t, op, part, (sub & 16) + 4, coefficient, lanes);
            wide_binary(t, G4_X_MULPD, second, coefficient, second, lanes);
            wide_binary(t, G4_X_ADDPD, first, first, second, lanes);
        }
        plane(t, op, part, (sub & 16) + 12, coefficient, lanes);
        wide_binary(t, G4_X_ADDPD, first, first, coefficient, lanes);
        finish_wide(t, op, part, first, lanes);
    }
    return true;
}

/* add and mul that accumulate, mac. */
static bool translate_accumulate(struct translator *t, const struct g4_op *op) {
    if (t->region) {
        return false;
    }
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = float_source(t, op, 0, part, TEMP_A, false);
        const unsigned y = float_source(t, op, 1, part, TEMP_B, false);
        const unsigned lanes = wide_lanes(t, op, part);
        widen(t, second, x, lanes);
        widen(t, first, y, lanes);
        wide_binary(t, op->opcode == G4_OPCODE_ADD ? G4_X_ADDPD : G4_X_MULPD, first, second, first, lanes);
        if (op->opcode == G4_OPCODE_MAC) {
            const struct wide sum = {sum_of(t, acc_of(op, part), 0), sum_of(t, acc_of(op, part), 1)};
            wide_binary(t, G4_X_ADDPD, first, first, sum, lanes);
        }
        finish_wide(t, op, part, first, lanes);
    }
    return true;
}

/* The same element of each group of four. */
static void tuple(struct translator *t, struct wide to, struct wide from, unsigned element) {
    g4_evex_imm(&t->code, G4_X_PERMUTE_PD, to.low, 0, g4_rm_reg(from.low), 0, G4_MERGE, element * 0x55u);
    g4_evex_imm(&t->code, G4_X_PERMUTE_PD, to.high, 0, g4_rm_reg(from.high), 0, G4_MERGE, element * 0x55u);
}

/* Products left to right (spec/40 4.3).  All lanes take part whose threads run; who is not enabled is not stored. */
static bool translate_dot(struct translator *t, const struct g4_op *op) {
    const struct wide sum = {TEMP_A, TEMP_B};
    const unsigned products = op->opcode == G4_OPCODE_DP2 ? 2 : op->opcode == G4_OPCODE_DP4 ? 4 : 3;

    if (op->acc_write || op->parts != 1 || t->region) {
        return false;
    }
    g4_mask_high(&t->code, K_HIGH, K_GROUP);
    const unsigned x = float_source(t, op, 0, 0, TEMP_A, false);
    const unsigned y = float_source(t, op, 1, 0, TEMP_B, false);
    widen(t, second, x, K_GROUP);
    widen(t, first, y, K_GROUP);
    wide_binary(t, G4_X_MULPD, second, second, first, K_GROUP);
    if (op->opcode == G4_OPCODE_DPH) { /* y's last, before the room is wanted */
        g4_evex_imm(&t->code, G4_X_PERMUTE_PD, first.low, 0, g4_rm_reg(first.low), 0, G4_MERGE, 0xff);
        g4_evex_imm(&t->code, G4_X_PERMUTE_PD, first.high, 0, g4_rm_reg(first.high), 0, G4_MERGE, 0xff);
    }
    const struct wide each = {TEMP_RESULT, ZERO}; /* which is made zero again */
    tuple(t, sum, second, 0);
    for (unsigned i = 1; i < products; i++) {
        tuple(t, each, second, i);
        wide_binary(t, G4_X_ADDPD, sum, sum, each, K_GROUP);
    }
    if (op->opcode == G4_OPCODE_DPH) {
        wide_binary(t, G4_X_ADDPD, sum, sum, first, K_GROUP);
    }
    g4_evex(&t->code, G4_X_XOR, ZERO, ZERO, g4_rm_reg(ZERO), 0, G4_MERGE);
    const unsigned lanes = lanes_of(t, op, 0, true);
    g4_mask_high(&t->code, K_HIGH, lanes);
    finish_wide(t, op, 0, sum, lanes);
    return true;
}

/* ---- single precision ---- */

static bool translate_float_binary(struct translator *t, const struct g4_op *op) {
    const bool mul = op->opcode == G4_OPCODE_MUL;
    for (int part = 0; part < op->parts; part++) {
        const unsigned a = float_source(t, op, 0, part, TEMP_A, true);
        const unsigned b = float_source(t, op, 1, part, TEMP_B, true);
        float_binary(t, op, part, mul ? G4_X_MULPS : G4_X_ADDPS, a, b, lanes_of(t, op, part, true));
    }
    return true;
}

/* Comparisons with NaN are what they are, but in cmpn, where src1 must be none. */
static bool translate_float_compare(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const unsigned a = float_source(t, op, 0, part, TEMP_A, false);
        const unsigned b = float_source(t, op, 1, part, TEMP_B, op->opcode == G4_OPCODE_CMPN);
        const unsigned lanes = lanes_of(t, op, part, true);
        g4_evex_imm(&t->code, G4_X_CMPPS, K_BITS, a, g4_rm_reg(b), lanes, G4_MERGE, float_condition(op->cond));
        finish_truth(t, op, part, lanes);
    }
    return true;
}

/* The product with one flushes denormals. */
static void flushed(struct translator *t, unsigned to, unsigned from, unsigned lanes) {
    g4_evex(&t->code, G4_X_MULPS, to, from, all(t, 0x3f800000), lanes, G4_ZERO);
}

static bool translate_float_unary(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = float_source(t, op, 0, part, TEMP_A, true);
        const unsigned lanes = lanes_of(t, op, part, true);
        switch (op->opcode) {
        case G4_OPCODE_MOV:
            flushed(t, TEMP_RESULT, x, lanes);
            break;
        case G4_OPCODE_FRC:
            flushed(t, TEMP_A, x, lanes);
            g4_evex_imm(&t->code, G4_X_RNDSCALE, TEMP_B, 0, g4_rm_reg(TEMP_A), lanes, G4_ZERO, G4_ROUND_DOWN);
            g4_evex(&t->code, G4_X_SUBPS, TEMP_RESULT, TEMP_A, g4_rm_reg(TEMP_B), lanes, G4_ZERO);
            break;
        default:
            flushed(t, TEMP_A, x, lanes);
            g4_evex_imm(&t->code, G4_X_RNDSCALE, TEMP_RESULT, 0, g4_rm_reg(TEMP_A), lanes, G4_ZERO,
                        op->opcode == G4_OPCODE_RNDU ? G4_ROUND_UP : G4_ROUND_DOWN);
            break;
        }
        finish_float(t, op, part, lanes);
    }
    return true;
}

/* rndz: the integer below, and a flag where it is one short (spec/40 10). */
static bool translate_round_to_zero(struct translator *t, const struct g4_op *op) {
    struct g4_op plain = *op;
    plain.cond = G4_COND_NONE;
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = float_source(t, op, 0, part, TEMP_A, true);
        const unsigned lanes = lanes_of(t, op, part, true);
        flushed(t, TEMP_A, x, lanes);
        g4_evex_imm(&t->code, G4_X_RNDSCALE, TEMP_RESULT, 0, g4_rm_reg(TEMP_A), lanes, G4_ZERO, G4_ROUND_DOWN);
        g4_evex_imm(&t->code, G4_X_CMPPS, K_BITS, TEMP_A, g4_rm_reg(ZERO), lanes, G4_MERGE, float_condition(G4_COND_L));
        g4_evex_imm(&t->code, G4_X_CMPPS, K_BITS, TEMP_A, g4_rm_reg(TEMP_RESULT), K_BITS, G4_MERGE,
                    float_condition(G4_COND_NZ));
        set_flags(t, op, part, lanes);
        finish_float(t, &plain, part, lanes);
    }
    return true;
}

/* ---- integers and bits ---- */

static bool translate_select(struct translator *t, const struct g4_op *op, bool floats) {
    for (int part = 0; part < op->parts; part++) {
        const unsigned a = floats ? float_source(t, op, 0, part, TEMP_A, true) : int_source(t, op, 0, part, TEMP_A);
        const unsigned b = floats ? float_source(t, op, 1, part, TEMP_B, true) : int_source(t, op, 1, part, TEMP_B);
        const unsigned chosen = lanes_of(t, op, part, true); /* K_LANES, as there is a predicate */
        g4_evex(&t->code, G4_X_BLEND, TEMP_RESULT, b, g4_rm_reg(a), chosen, G4_MERGE);
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

static bool translate_move(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        uint8_t *numbers;
        const unsigned from = raw_source(t, op, 0, part, TEMP_A, &numbers);
        const uint8_t known = numbers ? *numbers : 0;
        const unsigned x = negated(t, &op->in[0], from, TEMP_A);
        finish_int(t, op, part, lanes_of(t, op, part, true), x, x == from ? known : 0);
    }
    return true;
}

static bool translate_int_binary(struct translator *t, const struct g4_op *op, enum g4_form form) {
    const bool shift = form == G4_X_SHL || form == G4_X_SHR || form == G4_X_ASR;
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = int_source(t, op, 0, part, TEMP_A);
        unsigned y = int_source(t, op, 1, part, TEMP_B);
        if (shift) {
            g4_evex(&t->code, G4_X_AND, TEMP_B, y, all(t, 31), 0, G4_MERGE);
            y = TEMP_B;
        }
        g4_evex(&t->code, form, TEMP_RESULT, x, g4_rm_reg(y), 0, G4_MERGE);
        finish_int(t, op, part, lanes_of(t, op, part, true), TEMP_RESULT, 0);
    }
    return true;
}

static bool translate_not(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = int_source(t, op, 0, part, TEMP_A);
        g4_evex(&t->code, G4_X_XOR, TEMP_RESULT, x, all(t, UINT32_MAX), 0, G4_MERGE);
        finish_int(t, op, part, lanes_of(t, op, part, true), TEMP_RESULT, 0);
    }
    return true;
}

static bool translate_int_compare(struct translator *t, const struct g4_op *op) {
    const bool unsigned_numbers = is_biased(&op->in[0]);
    for (int part = 0; part < op->parts; part++) {
        const unsigned x = int_source(t, op, 0, part, TEMP_A);
        const unsigned y = int_source(t, op, 1, part, TEMP_B);
        const unsigned lanes = lanes_of(t, op, part, true);
        g4_evex_imm(&t->code, unsigned_numbers ? G4_X_CMPUD : G4_X_CMPD, K_BITS, x, g4_rm_reg(y), lanes, G4_MERGE,
                    int_condition(op->cond));
        finish_truth(t, op, part, lanes);
    }
    return true;
}

/* ---- extended math (spec/60 6) ---- */

enum {
    SFID_MATH = 1,
};

/* The register that the implied move takes its dwords from, if it is one. */
static int moved_register(const struct g4_op *op) {
    const unsigned first = op->in[0].off[0] / (unsigned)sizeof(union g4_reg);
    for (int c = 1; c < 8; c++) {
        if (op->in[0].off[c] / sizeof(union g4_reg) != first) {
            return -1;
        }
    }
    return (int)first;
}

/* A message of a kind that is worth it: a register of floats in, one out. */
static bool is_plain_math(const struct translator *t, const struct g4_op *op,
                          struct g4_extended_math_message *message) {
    const struct g4_src *const payload = &op->src[0];
    const bool whole =
        op->whole_move && payload->base + payload->pass_bytes * (op->passes - 1u) < G4_GRF_COUNT * G4_REGISTER_BYTES;
    const bool moved = whole || (op->dword_move && moved_register(op) >= 0);
    const unsigned first = op->dst.base % G4_REGISTER_BYTES;

    g4_extended_math_message_unpack(&op->descriptor, t->gen, message);
    return op->src[1].kind == G4_KIND_IMM && (op->descriptor >> 24 & 15) == SFID_MATH && !(op->descriptor >> 31) &&
           (moved || payload->kind == G4_KIND_NULL) && (op->descriptor >> 20 & 15) == 1 &&
           (op->descriptor >> 16 & 15) == 1 && !message->saturate && op->dst.kind == G4_KIND_GRF &&
           op->dst.hstride == 1 && first % 4 == 0 && first + 4u * op->channels <= G4_REGISTER_BYTES &&
           op->dst.base / G4_REGISTER_BYTES + op->passes <= G4_GRF_COUNT && op->half + op->passes <= 2 &&
           op->predicate <= G4_PRED_NORMAL && !op->breakpoint;
}

static unsigned math_payload(const struct g4_op *op, int pass) {
    return G4_GRF_COUNT + ((op->mrf + (unsigned)pass) & (G4_MRF_COUNT - 1));
}

static unsigned math_source(const struct g4_op *op, int pass) {
    if (op->src[0].kind == G4_KIND_NULL) {
        return math_payload(op, pass);
    }
    return op->whole_move ? (op->src[0].base + (pass ? op->src[0].pass_bytes : 0u)) / G4_REGISTER_BYTES
                          : (unsigned)moved_register(op);
}

static unsigned math_destination(const struct g4_op *op, int pass) {
    return op->dst.base / G4_REGISTER_BYTES + (unsigned)pass;
}

/* Whole registers of the threads that are there, in K_TEMP; eax is lost. */
static unsigned whole_threads(struct translator *t) {
    /* kmovw eax, K_TEMP; cmp al, 1; sbb r10b, r10b; cmp ah, 1; sbb al, al; mov ah, al; mov al, r10b; not eax;
     * kmovw K_TEMP, eax: a byte of ones for each byte that is not 0 */
    static const uint8_t spread[] = {0xc5, 0xf8, 0x93, 0xc6, 0x3c, 0x01, 0x45, 0x18, 0xd2, 0x80, 0xfc, 0x01, 0x18,
                                     0xc0, 0x88, 0xc4, 0x44, 0x88, 0xd0, 0xf7, 0xd0, 0xc5, 0xf8, 0x92, 0xf0};
    if (!t->region) {
        return K_GROUP;
    }
    g4_masks(&t->code, G4_K_OR, K_TEMP, K_EXEC_0, K_EXEC_1);
    g4_put_all(&t->code, spread, sizeof spread);
    return K_TEMP;
}

static struct g4_rm one_float(struct translator *t) {
    struct g4_rm rm = all(t, 0x3f800000);
    rm.broadcast = false;
    return rm;
}

/* Results are rounded to the nearest, whatever the mode of the host. */
static void root_or_inverse(struct translator *t, unsigned function, unsigned x, unsigned lanes) {
    const struct wide wide = {TEMP_0, TEMP_1};
    const struct wide one = {TEMP_2, TEMP_3};
    switch (function) {
    case G4_MATH_FUNCTION_SQRT: /* the root in double, rounded once more, is never another */
        g4_evex_nearest(&t->code, G4_X_SQRTPS, TEMP_RESULT, 0, x, lanes, G4_ZERO);
        break;
    case G4_MATH_FUNCTION_INV:
        g4_evex(&t->code, G4_X_BROADCAST, TEMP_0, 0, one_float(t), 0, G4_MERGE);
        g4_evex_nearest(&t->code, G4_X_DIVPS, TEMP_RESULT, TEMP_0, x, lanes, G4_ZERO);
        break;
    default: /* here it may be */
        g4_mask_high(&t->code, K_TEMP, lanes);
        g4_evex_imm(&t->code, G4_X_HIGH_HALF, x, 0, g4_rm_reg(wide.high), 0, G4_MERGE, 1);
        g4_evex(&t->code, G4_X_WIDEN, wide.low, 0, g4_rm_reg(x), lanes, G4_ZERO);
        g4_evex(&t->code, G4_X_WIDEN, wide.high, 0, g4_rm_reg(wide.high), K_TEMP, G4_ZERO);
        g4_evex(&t->code, G4_X_WIDEN, one.low, 0, all(t, 0x3f800000), 0, G4_MERGE);
        g4_evex_nearest(&t->code, G4_X_SQRTPD, wide.low, 0, wide.low, lanes, G4_ZERO);
        g4_evex_nearest(&t->code, G4_X_SQRTPD, wide.high, 0, wide.high, K_TEMP, G4_ZERO);
        g4_evex_nearest(&t->code, G4_X_DIVPD, wide.low, one.low, wide.low, lanes, G4_ZERO);
        g4_evex_nearest(&t->code, G4_X_DIVPD, wide.high, one.low, wide.high, K_TEMP, G4_ZERO);
        g4_evex_nearest(&t->code, G4_X_NARROW, TEMP_RESULT, 0, wide.low, lanes, G4_ZERO);
        g4_evex_nearest(&t->code, G4_X_NARROW, wide.high, 0, wide.high, K_TEMP, G4_ZERO);
        g4_evex_imm(&t->code, G4_X_JOIN, TEMP_RESULT, TEMP_RESULT, g4_rm_reg(wide.high), 0, G4_MERGE, 1);
        break;
    }
}

/* The payload, which also stays where the message has it. */
static unsigned math_operand(struct translator *t, const struct g4_op *op, int pass, bool scalar) {
    const unsigned from = math_source(op, pass);
    unsigned x = row(t, from, TEMP_A);

    if (op->src[0].kind != G4_KIND_NULL) {
        if (!op->whole_move) {
            int32_t dword[8];
            for (int c = 0; c < 8; c++) {
                dword[c] = op->in[0].off[c] % G4_REGISTER_BYTES / 4;
            }
            g4_evex(&t->code, G4_X_LOAD, TEMP_B, 0, by_channel(t, dword, 8), 0, G4_MERGE);
            g4_evex(&t->code, G4_X_PERMUTE, TEMP_B, TEMP_B, g4_rm_reg(x), 0, G4_MERGE);
            x = TEMP_B;
        }
        t->s.top = from + 1 > t->s.top ? (uint8_t)(from + 1) : t->s.top;
        store_row(t, math_payload(op, pass), whole_threads(t), x);
    }
    if (scalar) { /* channels 0 and 4 stand for their group of four */
        g4_evex_imm(&t->code, G4_X_PERMUTE_PS, TEMP_B, 0, g4_rm_reg(x), 0, G4_MERGE, 0);
        x = TEMP_B;
    }
    return x;
}

static bool translate_math(struct translator *t, const struct g4_op *op) {
    struct g4_extended_math_message message;

    if (!is_plain_math(t, op, &message) ||
        (message.math_function != G4_MATH_FUNCTION_SQRT && message.math_function != G4_MATH_FUNCTION_INV &&
         message.math_function != G4_MATH_FUNCTION_RSQ)) {
        return false;
    }
    t->s.ieee_only |= message.math_function == G4_MATH_FUNCTION_SQRT; /* of -0 */
    for (int pass = 0; pass < op->passes; pass++) {
        const unsigned x = math_operand(t, op, pass, message.scalar);
        unsigned lanes = lanes_of(t, op, pass, true);
        const bool all = lanes == widest(op, pass);
        unsigned result = TEMP_RESULT;
        root_or_inverse(t, message.math_function, x, lanes);
        g4_translate_check(t, TEMP_RESULT, lanes);
        if (op->dst.base % G4_REGISTER_BYTES) {
            result = shifted(t, TEMP_RESULT, lanes, op->dst.base % G4_REGISTER_BYTES / 4u);
            lanes = K_LANES;
        }
        store_row(t, math_destination(op, pass), lanes, result);
        const int to = holder_of(t, HOLDS_ROW, math_destination(op, pass), 0);
        if (to >= 0 && !t->region && all) {
            t->s.held[to].numbers |= (uint8_t)(1u << lanes);
        }
    }
    return true;
}

/* ---- instructions ---- */

static bool in_shapes(unsigned index, unsigned first_of_six) {
    return index >= first_of_six && index < first_of_six + 6;
}

static bool translate_float(struct translator *t, const struct g4_op *op, unsigned index) {
    if (in_shapes(index, G4_FAST_CMPF_PP) || index == G4_FAST_CMPN_P) {
        return translate_float_compare(t, op);
    }
    switch (index) {
    case G4_FAST_MOVF_P:
    case G4_FAST_FRC_P:
    case G4_FAST_RNDD_P:
    case G4_FAST_RNDU_P:
        return translate_float_unary(t, op);
    case G4_FAST_RNDZ_R:
        return translate_round_to_zero(t, op);
    case G4_FAST_SELF_P:
        return op->predicate != G4_PRED_NONE && translate_select(t, op, true);
    case G4_FAST_RNDE_R:
        return false;
    default:
        return translate_float_binary(t, op);
    }
}

static bool translate_int(struct translator *t, const struct g4_op *op, unsigned index) {
    static const struct {
        uint8_t first;
        enum g4_form form;
    } binary[] = {
        {G4_FAST_ADD_PP, G4_X_ADD}, {G4_FAST_MUL_PP, G4_X_MUL}, {G4_FAST_AND_PP, G4_X_AND}, {G4_FAST_OR_PP, G4_X_OR},
        {G4_FAST_XOR_PP, G4_X_XOR}, {G4_FAST_SHL_PP, G4_X_SHL}, {G4_FAST_SHR_PP, G4_X_SHR}, {G4_FAST_ASR_PP, G4_X_ASR},
    };
    if (in_shapes(index, G4_FAST_CMP_PP)) {
        return is_biased(&op->in[0]) == is_biased(&op->in[1]) && translate_int_compare(t, op);
    }
    if (in_shapes(index, G4_FAST_SEL_PP)) {
        return op->predicate != G4_PRED_NONE && translate_select(t, op, false);
    }
    for (unsigned i = 0; i < sizeof binary / sizeof *binary; i++) {
        if (in_shapes(index, binary[i].first)) {
            return translate_int_binary(t, op, binary[i].form);
        }
    }
    switch (index) {
    case G4_FAST_MOV_P:
    case G4_FAST_MOV_S:
    case G4_FAST_MOV_I:
        return translate_move(t, op);
    case G4_FAST_NOT_P:
        return translate_not(t, op);
    default:
        return false;
    }
}

static bool translate_double(struct translator *t, const struct g4_op *op, unsigned index) {
    switch (index) {
    case G4_FAST_PLN:
    case G4_FAST_LINE:
        return translate_plane(t, op);
    case G4_FAST_DP2_P:
    case G4_FAST_DP3_P:
    case G4_FAST_DPH_P:
    case G4_FAST_DP4_P:
        return translate_dot(t, op);
    default:
        return translate_accumulate(t, op);
    }
}

static bool may_convert(const struct g4_op *op) {
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

/* The condition of a float that becomes an integer, which the integer decides. */
static bool has_integer_condition(const struct g4_op *op) {
    const bool compares = op->opcode == G4_OPCODE_CMP || op->opcode == G4_OPCODE_CMPN;
    return op->cond != G4_COND_NONE && op->dst.type != G4_TYPE_F && op->handler >> 8 != G4_TABLE_INT && !compares;
}

static bool may_translate(const struct g4_op *op) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    const unsigned table = op->handler >> 8;

    if (op->predicate > G4_PRED_NORMAL || (op->acc_write && (table != G4_TABLE_DOUBLE || op->count != 8)) ||
        op->half + op->parts > 2 || !may_store(op) || !may_convert(op) || has_integer_condition(op) ||
        pattern(op) * UINT64_C(0x0001000100010001) != op->written) {
        return false;
    }
    for (unsigned s = 0; s < sources; s++) {
        const struct g4_fast_src *const in = &op->in[s];
        const bool as_it_is = in->invert == 0 && in->minus == 0;
        if (!may_load(in) || (table != G4_TABLE_INT && !immediate_is_number(in)) ||
            !(as_it_is || is_negated(in) || is_biased(in))) {
            return false;
        }
    }
    return true;
}

/* ---- flags from a number ---- */

static bool moves_flags(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_MOV && op->handler >> 8 == G4_TABLE_INT && op->dst.kind == G4_KIND_ARF &&
           op->dst.reg >> 4 == G4_ARF_F && (op->dst.reg & 15) == 0 && op->exec_size == 1 && op->dst.size == 2 &&
           (op->dst.base == 0 || op->dst.base == 2) && op->in[0].load == G4_LOAD_IMM && op->half == 0 &&
           op->predicate == G4_PRED_NONE && op->cond == G4_COND_NONE && !op->saturate &&
           op->out.convert == G4_CONVERT_NONE && op->in[0].invert == 0 && op->in[0].minus == 0 && !op->align16;
}

/* All bytes of the threads whose first channel runs. */
static unsigned threads_of_first_channel(struct translator *t, const struct g4_op *op) {
    /* kmovw eax, k1; and eax, 0x0101; imul eax, eax, 255; kmovw K_TEMP, eax */
    static const uint8_t expand[] = {0xc5, 0xf8, 0x93, 0xc1, 0x25, 0x01, 0x01, 0x00, 0x00, 0x69,
                                     0xc0, 0xff, 0x00, 0x00, 0x00, 0xc5, 0xf8, 0x92, 0xf0};
    if (op->nomask) {
        return K_GROUP;
    }
    g4_put_all(&t->code, expand, sizeof expand);
    return K_TEMP;
}

static bool translate_flags(struct translator *t, const struct g4_op *op) {
    const unsigned threads = threads_of_first_channel(t, op);
    for (unsigned half = 0; half < 2; half++) {
        const struct g4_rm flag =
            g4_rm_at(G4_BASE_RDX, offsetof(struct g4_gang, flag) + (op->dst.base + half) * sizeof(g4_lanes));
        g4_mask_load(&t->code, K_BITS, flag);
        g4_masks(&t->code, G4_K_ANDN, K_BITS, threads, K_BITS);
        g4_mask_constant(&t->code, K_HIGH, ((uint32_t)op->in[0].imm[0] >> (8 * half) & 0xff) * 0x0101u);
        g4_masks(&t->code, G4_K_AND, K_HIGH, K_HIGH, threads);
        g4_masks(&t->code, G4_K_OR, K_BITS, K_BITS, K_HIGH);
        g4_mask_store(&t->code, K_BITS, flag);
    }
    return true;
}

bool g4_may_be_in_region(const struct translator *t, const struct g4_op *op) {
    struct g4_extended_math_message message;
    switch (op->handler >> 8) {
    case G4_TABLE_PLAIN:
        return op->handler == G4_HANDLER_NOP ||
               (op->handler == G4_HANDLER_SEND && !op->nomask && is_plain_math(t, op, &message));
    case G4_TABLE_FLOAT:
    case G4_TABLE_INT:
        return !op->nomask && op->out.store != G4_STORE_WORDS && may_translate(op);
    default:
        return false;
    }
}

bool g4_translate_op(struct translator *t, const struct g4_op *op) {
    const unsigned index = op->handler & 0xff;

    t->s.now++;
    if (op->handler >> 8 == G4_TABLE_PLAIN) {
        return op->handler == G4_HANDLER_NOP || (op->handler == G4_HANDLER_SEND && translate_math(t, op));
    }
    if (moves_flags(op)) {
        return !t->region && translate_flags(t, op);
    }
    if (!may_translate(op)) {
        return false;
    }
    switch (op->handler >> 8) {
    case G4_TABLE_FLOAT:
        return translate_float(t, op, index);
    case G4_TABLE_INT:
        return translate_int(t, op, index);
    default:
        return translate_double(t, op, index);
    }
}

/* ---- what an instruction touches ---- */

static void touch_in(struct g4_touched *touched, unsigned row, bool single, unsigned element, bool floats) {
    const int i = touched->ins++;
    touched->in[i].row = (uint8_t)row;
    touched->in[i].single = single;
    touched->in[i].element = (uint8_t)element;
    touched->in[i].floats = floats;
}

static void touch_out(struct g4_touched *touched, unsigned row, bool whole, bool number, int copies) {
    const int i = touched->outs++;
    touched->out[i].row = (uint8_t)row;
    touched->out[i].whole = whole;
    touched->out[i].number = number;
    touched->out[i].copies = (int16_t)copies;
}

static bool gives_floats(const struct g4_op *op) {
    const bool compares = op->opcode == G4_OPCODE_CMP || op->opcode == G4_OPCODE_CMPN;
    if (op->handler >> 8 == G4_TABLE_INT) {
        return op->out.convert == G4_CONVERT_TO_FLOAT || op->out.convert == G4_CONVERT_UD_TO_FLOAT;
    }
    return !compares && op->out.convert == G4_CONVERT_NONE;
}

void g4_translate_touched(const struct g4_op *op, struct g4_touched *touched) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    const bool send = op->handler == G4_HANDLER_SEND;
    const bool moved = send && op->src[0].kind != G4_KIND_NULL;

    memset(touched, 0, sizeof *touched);
    for (int pass = 0; send && pass < op->passes; pass++) {
        touch_in(touched, math_source(op, pass), false, 0, false);
        if (moved) {
            touch_out(touched, math_payload(op, pass), false, false, -1);
        }
        touch_out(touched, math_destination(op, pass), op->predicate == G4_PRED_NONE && pattern(op) == 0xffff, true,
                  -1);
    }
    if (op->handler >> 8 == G4_TABLE_PLAIN) {
        return;
    }
    for (int part = 0; part < op->parts; part++) {
        int copied = -1;
        for (unsigned s = 0; s < sources; s++) {
            const struct g4_fast_src *const in = &op->in[s];
            const bool single = in->load == G4_LOAD_SCALAR;
            if (in->load != G4_LOAD_IMM) {
                touch_in(touched, in->reg[part], single, in->sub[part] / 4u,
                         op->handler >> 8 != G4_TABLE_INT && in->convert == G4_CONVERT_NONE);
                copied = in->load == G4_LOAD_PACKED && !is_negated(in) ? in->reg[part] : -1;
            }
        }
        const bool moves =
            op->handler >> 8 == G4_TABLE_INT && op->opcode == G4_OPCODE_MOV && op->out.convert == G4_CONVERT_NONE;
        const bool number = gives_floats(op) || (moves && op->in[0].load == G4_LOAD_IMM &&
                                                 immediate_is_number(&op->in[0]) && !is_negated(&op->in[0]));
        const bool gated = op->predicate != G4_PRED_NONE && op->opcode != G4_OPCODE_SEL;
        if (op->out.store != G4_STORE_NULL) {
            touch_out(touched, row_of(op, part), !gated && pattern(op) == 0xffff && op->out.store == G4_STORE_PACKED,
                      number, moves ? copied : -1);
        }
    }
}

#endif
