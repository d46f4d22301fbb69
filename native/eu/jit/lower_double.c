/*
 * Translates operations that keep more than single precision until the end: accumulators, line and pln, dot products.
 */
#include <string.h>

#include "core/variant.h"
#include "eu/jit/operands.h"

#if G4_HAVE_X86_VARIANTS

/* ---- accumulators ---- */

static unsigned sum_of(struct translator *t, unsigned acc, unsigned thread) {
    int reg = vreg_of(t, HOLDS_SUM, acc, thread);
    if (reg < 0) {
        reg = allocate_vreg(t, HOLDS_SUM, acc, thread);
        emit_evex(&t->code, G4_X_LOAD, (unsigned)reg, 0, g4_sum_in_memory(acc, thread), 0, G4_MERGE);
    }
    t->s.vregs[reg].used = t->s.now;
    return (unsigned)reg;
}

static unsigned acc_of(const struct g4_op *op, int part) {
    return (unsigned)(op->acc + part) & 1;
}

/* ---- double precision: line, pln, dot products ---- */

/* Convert the floats of both threads to doubles. */
static void widen(struct translator *t, struct vreg_pair to, unsigned from, unsigned lanes) {
    emit_evex_imm(&t->code, G4_X_HIGH_HALF, from, 0, g4_rm_reg(to.high), 0, G4_MERGE, 1);
    emit_evex(&t->code, G4_X_WIDEN, to.low, 0, g4_rm_reg(from), lanes, G4_ZERO);
    emit_evex(&t->code, G4_X_WIDEN, to.high, 0, g4_rm_reg(to.high), K_HIGH, G4_ZERO);
}

static void wide_binary(struct translator *t, enum g4_form form, struct vreg_pair to, struct vreg_pair a,
                        struct vreg_pair b, unsigned lanes) {
    emit_evex(&t->code, form, to.low, a.low, g4_rm_reg(b.low), lanes, G4_ZERO);
    emit_evex(&t->code, form, to.high, a.high, g4_rm_reg(b.high), K_HIGH, G4_ZERO);
}

/* Write the accumulator in all lanes of the threads of the group; masks do not apply. */
static void accumulate(struct translator *t, const struct g4_op *op, int part, struct vreg_pair from) {
    const unsigned low = sum_of(t, acc_of(op, part), 0);
    const unsigned high = sum_of(t, acc_of(op, part), 1);
    emit_evex(&t->code, G4_X_MOVE_PD, low, 0, g4_rm_reg(from.low), K_GROUP, G4_MERGE);
    emit_mask_high(&t->code, K_TEMP, K_GROUP);
    emit_evex(&t->code, G4_X_MOVE_PD, high, 0, g4_rm_reg(from.high), K_TEMP, G4_MERGE);
    t->s.vregs[low].dirty = t->s.vregs[high].dirty = true;
}

/* The lanes of arithmetic in doubles.  K_HIGH receives those of the second thread. */
static unsigned wide_lanes(struct translator *t, const struct g4_op *op, int part) {
    const unsigned lanes = op->acc_write ? (unsigned)K_GROUP : lanes_of(t, op, part, true);
    emit_mask_high(&t->code, K_HIGH, lanes);
    return lanes;
}

/* Narrow the result to TEMP_RESULT, which must not be NaN, and finish it. */
static void finish_wide(struct translator *t, const struct g4_op *op, int part, struct vreg_pair from, unsigned lanes) {
    emit_evex(&t->code, G4_X_NARROW, TEMP_RESULT, 0, g4_rm_reg(from.low), lanes, G4_ZERO);
    emit_evex(&t->code, G4_X_NARROW, TEMP_3, 0, g4_rm_reg(from.high), K_HIGH, G4_ZERO);
    emit_evex_imm(&t->code, G4_X_JOIN, TEMP_RESULT, TEMP_RESULT, g4_rm_reg(TEMP_3), 0, G4_MERGE, 1);
    check_finite(t, TEMP_RESULT, lanes);
    if (op->acc_write) {
        check_magnitude(t, TEMP_RESULT, lanes);
        accumulate(t, op, part, from);
        lanes = lanes_of(t, op, part, true);
    }
    finish_float(t, op, part, lanes);
}

static const struct vreg_pair first = {TEMP_0, TEMP_1};
static const struct vreg_pair second = {TEMP_2, TEMP_3};

/* Load a dword of a plane equation as doubles.  The block must not have written its row. */
static void plane(struct translator *t, const struct g4_op *op, int part, unsigned byte, struct vreg_pair to,
                  unsigned lanes) {
    struct g4_rm from = g4_row_in_memory(op->in[0].reg[part], byte & 31);
    from.broadcast = true;
    emit_evex(&t->code, G4_X_WIDEN, to.low, 0, from, lanes, G4_ZERO);
    from.offset += G4_REGISTER_BYTES;
    emit_evex(&t->code, G4_X_WIDEN, to.high, 0, from, K_HIGH, G4_ZERO);
}

static bool lower_plane(struct translator *t, const struct g4_op *op) {
    const bool pln = op->opcode == G4_OPCODE_PLN;
    const struct vreg_pair coefficient = {TEMP_A, TEMP_B};

    if (op->in[0].keep != UINT32_MAX || op->in[0].flip || t->loop) {
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

/* mac, and add and mul that write the accumulator. */
static bool lower_accumulate(struct translator *t, const struct g4_op *op) {
    if (t->loop) {
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
            const struct vreg_pair sum = {sum_of(t, acc_of(op, part), 0), sum_of(t, acc_of(op, part), 1)};
            wide_binary(t, G4_X_ADDPD, first, first, sum, lanes);
        }
        finish_wide(t, op, part, first, lanes);
    }
    return true;
}

/* One element of each 4-tuple, in all channels of the tuple. */
static void tuple(struct translator *t, struct vreg_pair to, struct vreg_pair from, unsigned element) {
    emit_evex_imm(&t->code, G4_X_PERMUTE_PD, to.low, 0, g4_rm_reg(from.low), 0, G4_MERGE, element * 0x55u);
    emit_evex_imm(&t->code, G4_X_PERMUTE_PD, to.high, 0, g4_rm_reg(from.high), 0, G4_MERGE, element * 0x55u);
}

/* Sums of products from left to right.  Disabled lanes of running threads take part, but are not stored. */
static bool lower_dot(struct translator *t, const struct g4_op *op) {
    const struct vreg_pair sum = {TEMP_A, TEMP_B};
    const unsigned products = op->opcode == G4_OPCODE_DP2 ? 2 : op->opcode == G4_OPCODE_DP4 ? 4 : 3;

    if (op->acc_write || op->parts != 1 || t->loop) {
        return false;
    }
    emit_mask_high(&t->code, K_HIGH, K_GROUP);
    const unsigned x = float_source(t, op, 0, 0, TEMP_A, false);
    const unsigned y = float_source(t, op, 1, 0, TEMP_B, false);
    widen(t, second, x, K_GROUP);
    widen(t, first, y, K_GROUP);
    wide_binary(t, G4_X_MULPD, second, second, first, K_GROUP);
    if (op->opcode == G4_OPCODE_DPH) { /* the last element of y, before its register is reused */
        emit_evex_imm(&t->code, G4_X_PERMUTE_PD, first.low, 0, g4_rm_reg(first.low), 0, G4_MERGE, 0xff);
        emit_evex_imm(&t->code, G4_X_PERMUTE_PD, first.high, 0, g4_rm_reg(first.high), 0, G4_MERGE, 0xff);
    }
    const struct vreg_pair each = {TEMP_RESULT, ZERO}; /* ZERO is cleared again below */
    tuple(t, sum, second, 0);
    for (unsigned i = 1; i < products; i++) {
        tuple(t, each, second, i);
        wide_binary(t, G4_X_ADDPD, sum, sum, each, K_GROUP);
    }
    if (op->opcode == G4_OPCODE_DPH) {
        wide_binary(t, G4_X_ADDPD, sum, sum, first, K_GROUP);
    }
    emit_evex(&t->code, G4_X_XOR, ZERO, ZERO, g4_rm_reg(ZERO), 0, G4_MERGE);
    const unsigned lanes = lanes_of(t, op, 0, true);
    emit_mask_high(&t->code, K_HIGH, lanes);
    finish_wide(t, op, 0, sum, lanes);
    return true;
}

bool g4_lower_double(struct translator *t, const struct g4_op *op, unsigned index) {
    switch (index) {
    case G4_FAST_PLN:
    case G4_FAST_LINE:
        return lower_plane(t, op);
    case G4_FAST_DP2_P:
    case G4_FAST_DP3_P:
    case G4_FAST_DPH_P:
    case G4_FAST_DP4_P:
        return lower_dot(t, op);
    default:
        return lower_accumulate(t, op);
    }
}

#endif
