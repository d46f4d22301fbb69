/*
 * The back end for AVX-512: a unit is two threads, sixteen lanes.  Masks are in mask registers.
 */
#include "eu/jit/emit.h"

#include "eu/gang.h"

enum {
    THREADS = 2,
    HALF_BYTES = 32, /* of a row: one thread */

    /* registers that live within an operation */
    V_TO = 29,
    V_A,
    V_B,
    K_A = 7,
    K_B = 0, /* cannot mask an instruction */
};

static struct x86_rm constant_in_memory(struct emitter *e, ir_operand operand) {
    const struct ir_constant *const constant = &e->ir->constants[operand & ~IR_IS_CONSTANT];
    return constant->uniform
               ? x86_rm_all(CONSTANTS_REG, g4_constant(e->constants, constant->lane, sizeof(int32_t)))
               : x86_rm_at(CONSTANTS_REG, g4_constant(e->constants, constant->lane, sizeof constant->lane));
}

static struct x86_rm operand_of(struct emitter *e, ir_operand operand) {
    if (ir_is_constant(operand)) {
        return constant_in_memory(e, operand);
    }
    const struct ir_value *const value = value_of(e, operand);
    return value->in_memory ? slot_in_memory(e, value) : x86_rm_reg(register_of(e, value));
}

/* A constant as one element, for instructions that broadcast by themselves. */
static struct x86_rm element_of(struct emitter *e, uint32_t bits) {
    return x86_rm_at(CONSTANTS_REG, g4_constant(e->constants, &bits, sizeof bits));
}

static void load(struct emitter *e, unsigned to, struct x86_rm from) {
    emit_evex(e->code, from.broadcast ? X86_BROADCAST : X86_LOAD, to, 0,
              from.broadcast ? x86_rm_at(CONSTANTS_REG, (size_t)from.offset) : from, 0, X86_MERGE);
}

/* A vector in a register; `temp` if it has none. */
static unsigned vector(struct emitter *e, ir_operand operand, unsigned temp) {
    const struct x86_rm from = operand_of(e, operand);
    if (!from.memory) {
        return from.reg;
    }
    load(e, temp, from);
    return temp;
}

static unsigned mask(struct emitter *e, ir_operand operand, unsigned temp) {
    if (operand == IR_NONE) {
        return 0;
    }
    const struct x86_rm from = operand_of(e, operand);
    if (!from.memory) {
        return from.reg;
    }
    emit_mask_load(e->code, temp, from);
    return temp;
}

static void finish_vector(struct emitter *e, ir_operand operand, unsigned reg) {
    if (value_of(e, operand)->in_memory) {
        emit_evex(e->code, X86_STORE, reg, 0, slot_in_memory(e, value_of(e, operand)), 0, X86_MERGE);
    }
}

static void finish_mask(struct emitter *e, ir_operand operand, unsigned reg) {
    if (value_of(e, operand)->in_memory) {
        emit_mask_store(e->code, reg, slot_in_memory(e, value_of(e, operand)));
    }
}

/* dst = a form b, or form b; an immediate below 0 is none. */
static void compute(struct emitter *e, const struct ir_instruction *ins, enum x86_form form, bool binary,
                    int immediate) {
    const unsigned lanes = mask(e, ins->mask, K_A);
    const unsigned a = binary ? vector(e, ins->a, V_A) : 0;
    const struct x86_rm b = operand_of(e, binary ? ins->b : ins->a);
    const unsigned to = target_of(e, ins->dst, V_TO);
    if (ins->keep && to == V_TO) {
        load(e, V_TO, slot_in_memory(e, value_of(e, ins->dst)));
    }
    emit_evex(e->code, form, to, a, b, lanes, lanes && !ins->keep ? X86_ZERO : X86_MERGE);
    if (immediate >= 0) {
        emit_byte(e->code, (unsigned)immediate);
    }
    finish_vector(e, ins->dst, to);
}

/* The instruction with which the destination need not be moved, if it shares its register with a source. */
static void multiply_add(struct emitter *e, const struct ir_instruction *ins) {
    const bool doubles = ins->op == IR_MULADDPD;
    const enum x86_form form_213 = doubles ? X86_MULADDPD_213 : X86_MULADD_213;
    const unsigned lanes = mask(e, ins->mask, K_A);
    const unsigned zero = lanes && !ins->keep ? X86_ZERO : X86_MERGE;
    const unsigned a = vector(e, ins->a, V_A);
    const struct x86_rm b = operand_of(e, ins->b);
    const struct x86_rm c = operand_of(e, ins->c);
    const unsigned to = target_of(e, ins->dst, V_TO);
    if (ins->keep && to == V_TO) {
        load(e, V_TO, slot_in_memory(e, value_of(e, ins->dst)));
    }
    if (a == to) {
        emit_evex(e->code, form_213, to, vector(e, ins->b, V_B), c, lanes, zero);
    } else if (!b.memory && b.reg == to) {
        emit_evex(e->code, form_213, to, a, c, lanes, zero);
    } else {
        if (c.memory || c.reg != to) {
            emit_evex(e->code, c.broadcast ? X86_BROADCAST : X86_LOAD, to, 0,
                      c.broadcast ? x86_rm_at(CONSTANTS_REG, (size_t)c.offset) : c, lanes, zero);
        }
        emit_evex(e->code, doubles ? X86_MULADDPD_231 : X86_MULADD_231, to, a, b, lanes, zero);
    }
    finish_vector(e, ins->dst, to);
}

/* ---- vectors ---- */

static void store(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned lanes = mask(e, ins->mask, K_A);
    emit_evex(e->code, X86_STORE, vector(e, ins->a, V_A), 0, x86_rm_at(ROWS_REG, ins->at), lanes, X86_MERGE);
}

static void load_element(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    emit_mask_constant(e->code, K_A, 0xff00);
    emit_evex(e->code, X86_BROADCAST, to, 0, x86_rm_at(ROWS_REG, ins->at), 0, X86_MERGE);
    emit_evex(e->code, X86_BROADCAST, to, 0, x86_rm_at(ROWS_REG, ins->at + HALF_BYTES), K_A, X86_MERGE);
    finish_vector(e, ins->dst, to);
}

/* Suppresses exceptions: elements that no instruction uses may be signalling NaNs. */
static void widen_row(struct emitter *e, const struct ir_instruction *ins) {
    load(e, V_A, x86_rm_at(ROWS_REG, ins->at + ins->imm * (size_t)HALF_BYTES));
    emit_evex_nearest(e->code, X86_WIDEN, V_TO, 0, V_A, 0, X86_MERGE);
    finish_vector(e, ins->dst, V_TO);
}

static struct x86_rm sum_in_memory(const struct ir_instruction *ins) {
    return x86_rm_at(SUMS_REG, ins->at * sizeof(union g4_acc) + ins->imm * sizeof(((union g4_acc *)0)->f[0]));
}

static void load_from(struct emitter *e, const struct ir_instruction *ins, struct x86_rm from) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    load(e, to, from);
    finish_vector(e, ins->dst, to);
}

static void shift_by(struct emitter *e, const struct ir_instruction *ins, unsigned direction) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    emit_evex_imm(e->code, X86_SHIFT, direction, to, operand_of(e, ins->a), 0, X86_MERGE, ins->imm);
    finish_vector(e, ins->dst, to);
}

static void blend(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    emit_evex(e->code, X86_BLEND_512, to, vector(e, ins->a, V_A), operand_of(e, ins->b), mask(e, ins->mask, K_A),
              X86_MERGE);
    finish_vector(e, ins->dst, to);
}

static void permute(struct emitter *e, const struct ir_instruction *ins, enum x86_form form) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    load(e, V_B, operand_of(e, ins->b));
    emit_evex(e->code, form, to, V_B, operand_of(e, ins->a), 0, X86_MERGE);
    finish_vector(e, ins->dst, to);
}

static void spread(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    const unsigned a = vector(e, ins->a, V_A);
    const unsigned quarter = ins->imm / 4u;
    emit_evex_imm(e->code, X86_SHUFFLE_512, to, a, x86_rm_reg(a), 0, X86_MERGE, quarter * 5u + (quarter + 2u) * 0x50u);
    emit_evex_imm(e->code, X86_PERMUTE_PS, to, 0, x86_rm_reg(to), 0, X86_MERGE, ins->imm % 4 * 0x55u);
    finish_vector(e, ins->dst, to);
}

static void store_words(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    const unsigned a = vector(e, ins->a, V_A);
    if (to == V_TO) {
        load(e, V_TO, slot_in_memory(e, value_of(e, ins->dst)));
    }
    emit_evex(e->code, X86_TO_WORDS_512, a, 0, x86_rm_reg(V_B), 0, X86_MERGE);
    emit_evex_imm(e->code, X86_SHUFFLE_512, V_B, V_B, x86_rm_reg(V_B), 0, X86_MERGE, 0x50);
    emit_mask_deposit(e->code, K_A, mask(e, ins->mask, K_A), 0x00ff00ffu << 8 * ins->imm);
    emit_evex(e->code, X86_MOVE_WORDS_512, to, 0, x86_rm_reg(V_B), K_A, X86_MERGE);
    finish_vector(e, ins->dst, to);
}

static void largest(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned lanes = mask(e, ins->mask, K_A);
    emit_evex(e->code, X86_PAND, V_TO, vector(e, ins->a, V_A), operand_of(e, ins->b), lanes,
              lanes ? X86_ZERO : X86_MERGE);
    const unsigned to = target_of(e, ins->dst, V_TO);
    emit_evex(e->code, X86_PMAX, to, V_TO, operand_of(e, ins->dst), 0, X86_MERGE);
    finish_vector(e, ins->dst, to);
}

/* ---- doubles ---- */

static struct x86_rm double_of_row(struct emitter *e, const struct ir_instruction *ins) {
    struct x86_rm rm = slot_in_memory(e, value_of(e, ins->b));
    rm.offset += ins->imm * (int32_t)sizeof(double);
    rm.broadcast = true;
    return rm;
}

static void compute_with_element(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = ins->c == IR_NONE ? target_of(e, ins->dst, V_TO) : vector(e, ins->c, V_TO);
    emit_evex(e->code, element_form(ins->op), to, vector(e, ins->a, V_A), double_of_row(e, ins), 0, X86_MERGE);
    finish_vector(e, ins->dst, to);
}

static void widen(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    struct x86_rm a = operand_of(e, ins->a);
    if (a.memory) {
        a.offset += ins->imm * HALF_BYTES;
    } else if (ins->imm) {
        emit_evex_imm(e->code, X86_HIGH_512, a.reg, 0, x86_rm_reg(V_A), 0, X86_MERGE, 1);
        a = x86_rm_reg(V_A);
    }
    emit_evex(e->code, X86_WIDEN, to, 0, a, 0, X86_MERGE);
    finish_vector(e, ins->dst, to);
}

static void narrow(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    emit_evex(e->code, X86_NARROW, V_B, 0, operand_of(e, ins->b), 0, X86_MERGE);
    emit_evex(e->code, X86_NARROW, to, 0, operand_of(e, ins->a), 0, X86_MERGE);
    emit_evex_imm(e->code, X86_JOIN_512, to, to, x86_rm_reg(V_B), 0, X86_MERGE, 1);
    finish_vector(e, ins->dst, to);
}

static void move_sum(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    unsigned lanes = mask(e, ins->mask, K_A);
    if (to == V_TO) {
        load(e, V_TO, slot_in_memory(e, value_of(e, ins->dst)));
    }
    if (ins->imm) {
        emit_mask_high(e->code, K_A, lanes);
        lanes = K_A;
    }
    emit_evex(e->code, X86_MOVE_PD_512, to, 0, x86_rm_reg(vector(e, ins->a, V_A)), lanes, X86_MERGE);
    finish_vector(e, ins->dst, to);
}

static unsigned condition_of_integers(unsigned condition) {
    static const uint8_t predicate[] = {[IR_EQUAL] = 0,         [IR_NOT_EQUAL] = 4, [IR_GREATER] = 6,
                                        [IR_GREATER_EQUAL] = 5, [IR_LESS] = 1,      [IR_LESS_EQUAL] = 2};
    return predicate[condition];
}

/* ---- rounded to nearest ---- */

static void inverse_root(struct emitter *e, unsigned to, unsigned a, unsigned lanes) {
    struct g4_code *const code = e->code;
    struct x86_rm one = element_of(e, 0x3f800000);
    one.broadcast = true;
    emit_evex_imm(code, X86_HIGH_512, a, 0, x86_rm_reg(V_B), 0, X86_MERGE, 1);
    emit_evex(code, X86_WIDEN, V_A, 0, x86_rm_reg(a), lanes, X86_ZERO);
    emit_mask_high(code, K_A, lanes);
    emit_evex(code, X86_WIDEN, V_B, 0, x86_rm_reg(V_B), K_A, X86_ZERO);
    emit_evex_nearest(code, X86_SQRTPD, V_A, 0, V_A, 0, X86_MERGE); /* raises no exception */
    emit_evex_nearest(code, X86_SQRTPD, V_B, 0, V_B, 0, X86_MERGE);
    emit_evex(code, X86_WIDEN, V_TO, 0, one, 0, X86_MERGE);
    emit_evex_nearest(code, X86_DIVPD, V_A, V_TO, V_A, 0, X86_MERGE);
    emit_evex_nearest(code, X86_DIVPD, V_B, V_TO, V_B, 0, X86_MERGE);
    emit_evex_nearest(code, X86_NARROW, to, 0, V_A, 0, X86_MERGE);
    emit_evex_nearest(code, X86_NARROW, V_B, 0, V_B, 0, X86_MERGE);
    emit_evex_imm(code, X86_JOIN_512, to, to, x86_rm_reg(V_B), 0, X86_MERGE, 1);
}

/* Without a division if all operands are 1, as w is without perspective. */
static void inverse(struct emitter *e, unsigned to, unsigned a, unsigned lanes) {
    struct g4_code *const code = e->code;
    struct x86_rm one = element_of(e, 0x3f800000);
    emit_evex(code, X86_BROADCAST, to, 0, one, 0, X86_MERGE);
    emit_evex_imm(code, X86_COMPARE_D_512, K_B, a, x86_rm_reg(to), lanes, X86_MERGE,
                  condition_of_integers(IR_NOT_EQUAL));
    emit_kortest(code, K_B, K_B);
    const size_t ones = emit_jump(code, X86_JZ);
    emit_evex_nearest(code, X86_DIVPS, to, to, a, lanes, X86_ZERO);
    patch_jump(code, ones);
}

static void root_or_inverse(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    const unsigned a = vector(e, ins->a, V_A);
    const unsigned lanes = mask(e, ins->mask, K_A);
    if (ins->op == IR_ROOT) { /* a root in double precision, rounded once more, would be the same */
        emit_evex_nearest(e->code, X86_SQRTPS, to, 0, a, lanes, X86_ZERO);
    } else if (ins->op == IR_INVERSE) {
        inverse(e, to, a, lanes);
    } else { /* here it could differ */
        inverse_root(e, to, a, lanes);
    }
    finish_vector(e, ins->dst, to);
}

/* ---- masks ---- */

static unsigned condition_of_floats(unsigned condition) {
    static const uint8_t predicate[] = {[IR_EQUAL] = 0x00,         [IR_NOT_EQUAL] = 0x04, [IR_GREATER] = X86_GREATER,
                                        [IR_GREATER_EQUAL] = 0x1d, [IR_LESS] = 0x11,      [IR_LESS_EQUAL] = 0x12};
    return predicate[condition];
}

static void compare(struct emitter *e, const struct ir_instruction *ins, enum x86_form form, unsigned predicate) {
    const unsigned to = target_of(e, ins->dst, K_B);
    emit_evex_imm(e->code, form, to, vector(e, ins->a, V_A), operand_of(e, ins->b), mask(e, ins->mask, K_A), X86_MERGE,
                  predicate);
    finish_mask(e, ins->dst, to);
}

static void load_mask(struct emitter *e, const struct ir_instruction *ins, struct x86_rm from) {
    const unsigned to = target_of(e, ins->dst, K_B);
    emit_mask_load(e->code, to, from);
    finish_mask(e, ins->dst, to);
}

static void combine(struct emitter *e, const struct ir_instruction *ins, enum x86_mask_form form) {
    const unsigned to = target_of(e, ins->dst, K_B);
    const unsigned a = mask(e, ins->a, K_A);
    emit_masks(e->code, form, to, a, mask(e, ins->b, K_B));
    finish_mask(e, ins->dst, to);
}

static void blend_masks(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, K_A);
    const unsigned lanes = mask(e, ins->mask, K_A);
    emit_masks(e->code, X86_K_ANDN, K_B, lanes, mask(e, ins->a, K_B));
    emit_masks(e->code, X86_K_OR, to, K_B, mask(e, ins->b, K_A));
    finish_mask(e, ins->dst, to);
}

static void mask_special(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, K_B);
    emit_evex_imm(e->code, X86_COMPARE_D_512, to, vector(e, ins->a, V_A), x86_rm_all(CONSTANTS_REG, G4_JIT_LIMIT), 0,
                  X86_MERGE, condition_of_integers(IR_GREATER));
    finish_mask(e, ins->dst, to);
}

static void all_of_first(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, K_B);
    emit_reg_from_mask(e->code, X86_RAX, mask(e, ins->a, K_A));
    emit_alu_imm(e->code, X86_AND, X86_RAX, 0x0101);
    emit_imul_imm(e->code, X86_RAX, X86_RAX, 0xff);
    emit_mask_from_reg(e->code, to, X86_RAX);
    finish_mask(e, ins->dst, to);
}

static void all_of_any(struct emitter *e, const struct ir_instruction *ins) {
    struct g4_code *const code = e->code;
    const unsigned to = target_of(e, ins->dst, K_B);
    emit_reg_from_mask(code, X86_RAX, mask(e, ins->a, K_A));
    emit_alu8_imm(code, X86_CMP, X86_RAX, 1); /* borrows if the byte is 0; then sbb gives 0xff, else 0 */
    emit_alu8(code, X86_SBB, TEMP_REG, TEMP_REG);
    emit_alu8_imm(code, X86_CMP, X86_AH, 1);
    emit_alu8(code, X86_SBB, X86_RAX, X86_RAX);
    emit_alu8(code, X86_MOV, X86_AH, X86_RAX);
    emit_alu8(code, X86_MOV, X86_RAX, TEMP_REG);
    emit_not(code, X86_RAX);
    emit_mask_from_reg(code, to, X86_RAX);
    finish_mask(e, ins->dst, to);
}

static void emit_mask_operation(struct emitter *e, const struct ir_instruction *ins) {
    switch (ins->op) {
    case IR_COMPARE_F:
        compare(e, ins, X86_COMPARE_PS, condition_of_floats(ins->imm));
        break;
    case IR_COMPARE_D:
        compare(e, ins, X86_COMPARE_D_512, condition_of_integers(ins->imm));
        break;
    case IR_COMPARE_UD:
        compare(e, ins, X86_COMPARE_UD_512, condition_of_integers(ins->imm));
        break;
    case IR_MASK_ROW: {
        const unsigned to = target_of(e, ins->dst, V_TO);
        emit_evex(e->code, X86_FROM_MASK_512, to, 0, x86_rm_reg(mask(e, ins->a, K_A)), 0, X86_MERGE);
        finish_vector(e, ins->dst, to);
        break;
    }
    case IR_LOAD_EXEC:
        load_mask(e, ins, x86_rm_at(EXEC_REG, ins->imm * sizeof(g4_lanes)));
        break;
    case IR_LOAD_GROUP:
        load_mask(e, ins, x86_rm_at(EXEC_REG, 2 * sizeof(g4_lanes)));
        break;
    case IR_LOAD_FLAG:
        load_mask(e, ins, x86_rm_at(GANG_REG, ins->at));
        break;
    case IR_STORE_FLAG:
        emit_mask_store(e->code, mask(e, ins->a, K_A), x86_rm_at(GANG_REG, ins->at));
        break;
    case IR_MASK_CONSTANT: {
        const unsigned to = target_of(e, ins->dst, K_B);
        emit_mask_constant(e->code, to, ins->at * 0x0101u);
        finish_mask(e, ins->dst, to);
        break;
    }
    case IR_MASK_MOVE: {
        const unsigned to = target_of(e, ins->dst, K_B);
        emit_mask_move(e->code, to, mask(e, ins->a, K_A));
        finish_mask(e, ins->dst, to);
        break;
    }
    case IR_MASK_AND:
        combine(e, ins, X86_K_AND);
        break;
    case IR_MASK_AND_NOT:
        combine(e, ins, X86_K_ANDN);
        break;
    case IR_MASK_OR:
        combine(e, ins, X86_K_OR);
        break;
    case IR_MASK_BLEND:
        blend_masks(e, ins);
        break;
    case IR_MASK_UP: {
        const unsigned to = target_of(e, ins->dst, K_B);
        emit_mask_shift_left(e->code, to, mask(e, ins->a, K_A), ins->imm);
        finish_mask(e, ins->dst, to);
        break;
    }
    case IR_MASK_FIRST:
        all_of_first(e, ins);
        break;
    case IR_MASK_THREAD:
        all_of_any(e, ins);
        break;
    default: /* IR_MASK_SPECIAL */
        mask_special(e, ins);
        break;
    }
}

/* ---- all operations ---- */

/* Operations with one instruction. */
static const struct {
    enum x86_form form;
    bool binary;
} simple[IR_OPS] = {
    [IR_MOVE] = {X86_MOVE_512, false}, [IR_ADDPS] = {X86_ADDPS, true}, [IR_SUBPS] = {X86_SUBPS, true},
    [IR_MULPS] = {X86_MULPS, true},    [IR_MINPS] = {X86_MINPS, true}, [IR_MAXPS] = {X86_MAXPS, true},
    [IR_FROM_D] = {X86_FROM_D, false}, [IR_TO_D] = {X86_TO_D, false},  [IR_FROM_UD] = {X86_FROM_UD_512, false},
    [IR_AND] = {X86_PAND, true},       [IR_OR] = {X86_POR, true},      [IR_XOR] = {X86_PXOR, true},
    [IR_ADD] = {X86_PADD, true},       [IR_SUB] = {X86_PSUB, true},    [IR_MUL] = {X86_PMUL, true},
    [IR_SHL] = {X86_PSHL, true},       [IR_SHR] = {X86_PSHR, true},    [IR_ASR] = {X86_PASR, true},
    [IR_ADDPD] = {X86_ADDPD, true},    [IR_MULPD] = {X86_MULPD, true},
};

static void emit_operation(struct emitter *e, const struct ir_instruction *ins) {
    if (simple[ins->op].form) {
        const struct ir_instruction ordered = in_register_first(e, ins);
        compute(e, &ordered, simple[ins->op].form, simple[ins->op].binary, -1);
        return;
    }
    switch (ins->op) {
    case IR_CONSTANT:
        load_from(e, ins, operand_of(e, ins->b));
        break;
    case IR_LOAD:
        load_from(e, ins, x86_rm_at(ROWS_REG, ins->at));
        break;
    case IR_STORE:
        store(e, ins);
        break;
    case IR_LOAD_ELEMENT:
        load_element(e, ins);
        break;
    case IR_WIDEN_ROW:
        widen_row(e, ins);
        break;
    case IR_ADDPD_ELEMENT:
    case IR_MULPD_ELEMENT:
    case IR_MULADDPD_ELEMENT:
        compute_with_element(e, ins);
        break;
    case IR_LOAD_SUM:
        load_from(e, ins, sum_in_memory(ins));
        break;
    case IR_STORE_SUM:
        emit_evex(e->code, X86_STORE, vector(e, ins->a, V_A), 0, sum_in_memory(ins), 0, X86_MERGE);
        break;
    case IR_ROUND:
        compute(e, ins, X86_ROUND, false, x86_rounding(ins->imm));
        break;
    case IR_MULADD:
    case IR_MULADDPD:
        multiply_add(e, ins);
        break;
    case IR_SHR_BY:
        shift_by(e, ins, X86_SHIFT_SHR);
        break;
    case IR_ASR_BY:
        shift_by(e, ins, X86_SHIFT_ASR);
        break;
    case IR_BLEND:
        blend(e, ins);
        break;
    case IR_PERMUTE:
        permute(e, ins, X86_PERMUTE);
        break;
    case IR_WORDS:
        permute(e, ins, X86_PERMUTE_WORDS_512);
        break;
    case IR_SPREAD:
        spread(e, ins);
        break;
    case IR_FOUR:
        compute(e, ins, X86_PERMUTE_PS, false, 0);
        break;
    case IR_STORE_WORDS:
        store_words(e, ins);
        break;
    case IR_LARGEST:
        largest(e, ins);
        break;
    case IR_WIDEN:
        widen(e, ins);
        break;
    case IR_NARROW:
        narrow(e, ins);
        break;
    case IR_FOUR_PD:
        compute(e, ins, X86_PERMUTE_PD, false, ins->imm * 0x55);
        break;
    case IR_MOVE_SUM:
        move_sum(e, ins);
        break;
    case IR_INVERSE:
    case IR_ROOT:
    case IR_INVERSE_ROOT:
        root_or_inverse(e, ins);
        break;
    default:
        emit_mask_operation(e, ins);
        break;
    }
}

/* ---- control flow ---- */

static void test_masks(struct emitter *e, ir_operand a, ir_operand b) {
    const unsigned first = mask(e, a, K_A);
    emit_kortest(e->code, first, mask(e, b, K_B));
}

static void test_group(struct emitter *e) {
    emit_mask_load(e->code, K_A, x86_rm_at(EXEC_REG, 2 * sizeof(g4_lanes)));
    emit_kortest(e->code, K_A, K_A);
}

static void count_threads(struct emitter *e, ir_operand a, ir_operand b) {
    struct g4_code *const code = e->code;
    const unsigned first = mask(e, a, K_A);
    emit_masks(code, X86_K_OR, K_A, first, mask(e, b, K_B));
    emit_reg_from_mask(code, X86_RAX, K_A);
    emit_alu(code, X86_XOR, COUNTER_REG, COUNTER_REG);
    emit_alu8_imm(code, X86_CMP, X86_RAX, 1); /* borrows if the byte is 0; sbb adds 1 unless it has borrowed */
    emit_alu_imm(code, X86_SBB, COUNTER_REG, -1);
    emit_alu8_imm(code, X86_CMP, X86_AH, 1);
    emit_alu_imm(code, X86_SBB, COUNTER_REG, -1);
}

const struct backend g4_backend_avx512 = {
    .name = "AVX-512",
    .threads = THREADS,
    .merges = true,
    .has_words = true,
    .registers = {.vectors = V_TO, .masks = K_A - 1, .first_mask = 1, .short_lived = 10, .slots = G4_JIT_SLOTS},
    .emit = emit_operation,
    .test_masks = test_masks,
    .test_group = test_group,
    .count_threads = count_threads,
};
