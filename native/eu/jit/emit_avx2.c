/*
 * The back end for AVX2.  Masks are vectors whose lanes have all bits set or none.
 *
 * A unit is one thread, eight lanes; of a loop in which most operations wait for the one before, two threads, which do
 * not wait for each other.  Their code is emitted for one thread after the other (ir.h).
 *
 * Exceptions of lanes outside of a mask are not suppressed: where such a lane raises one, the handlers execute the
 * block without need.
 */
#include "eu/jit/emit.h"

#include "eu/gang.h"

enum {
    LANES = 8,       /* of a thread */
    HALF_BYTES = 16, /* of a row: four lanes */

    /* registers that live within an operation */
    V_TO = 13,
    V_A,
    V_B,
};

/* of floats */
#define SIGN     UINT32_C(0x80000000)
#define EXPONENT UINT32_C(0x7f800000)
#define FRACTION UINT32_C(0x007fffff)
#define ONE      UINT32_C(0x3f800000)

static struct x86_rm constant_in_memory(struct emitter *e, const int32_t lane[LANES]) {
    return x86_rm_at(CONSTANTS_REG, g4_constant(e->constants, lane, LANES * sizeof *lane));
}

static struct x86_rm uniform(struct emitter *e, uint32_t bits) {
    int32_t lane[LANES];
    for (int c = 0; c < LANES; c++) {
        lane[c] = (int32_t)bits;
    }
    return constant_in_memory(e, lane);
}

static struct x86_rm uniform_double(struct emitter *e, uint64_t bits) {
    int32_t lane[LANES];
    for (int c = 0; c < LANES; c++) {
        lane[c] = (int32_t)(bits >> 32 * (c & 1));
    }
    return constant_in_memory(e, lane);
}

static struct x86_rm operand_of(struct emitter *e, ir_operand operand) {
    if (ir_is_constant(operand)) {
        return constant_in_memory(e, e->ir->constants[operand & ~IR_IS_CONSTANT].lane);
    }
    const struct ir_value *const value = value_of(e, operand);
    return value->in_memory ? slot_in_memory(e, value) : x86_rm_reg(register_of(e, value));
}

static struct x86_rm row_at(const struct emitter *e, size_t at) {
    return x86_rm_at(ROWS_REG, at + e->thread * G4_REGISTER_BYTES);
}

/* Code for one instruction: to = a form b. */
static void binary(struct emitter *e, enum x86_form form, unsigned to, unsigned a, struct x86_rm b) {
    emit_vex(e->code, form, to, a, b);
}

static void unary(struct emitter *e, enum x86_form form, unsigned to, struct x86_rm from) {
    emit_vex(e->code, form, to, 0, from);
}

static void load(struct emitter *e, unsigned to, struct x86_rm from) {
    unary(e, X86_LOAD, to, from);
}

/* A value in a register; `temp` if it has none. */
static unsigned vector(struct emitter *e, ir_operand operand, unsigned temp) {
    const struct x86_rm from = operand_of(e, operand);
    if (!from.memory) {
        return from.reg;
    }
    load(e, temp, from);
    return temp;
}

static void finish(struct emitter *e, ir_operand operand, unsigned reg) {
    if (value_of(e, operand)->in_memory) {
        unary(e, X86_STORE, reg, slot_in_memory(e, value_of(e, operand)));
    }
}

/* dst = the lanes of V_TO in the mask, its own others. */
static void merge(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = vector(e, ins->dst, V_A);
    emit_vex_blend(e->code, X86_BLEND_256, to, to, x86_rm_reg(V_TO), vector(e, ins->mask, V_B));
    finish(e, ins->dst, to);
}

/* dst = a form b, or form b; an immediate below 0 is none. */
static void compute(struct emitter *e, const struct ir_instruction *ins, enum x86_form form, bool has_two,
                    int immediate) {
    const bool merges = ins->keep && ins->mask != IR_NONE;
    const unsigned a = has_two ? vector(e, ins->a, V_A) : 0;
    const struct x86_rm b = operand_of(e, has_two ? ins->b : ins->a);
    const unsigned to = merges ? (unsigned)V_TO : target_of(e, ins->dst, V_TO);
    emit_vex(e->code, form, to, a, b);
    if (immediate >= 0) {
        emit_byte(e->code, (unsigned)immediate);
    }
    if (merges) {
        merge(e, ins);
    } else {
        finish(e, ins->dst, to);
    }
}

static void multiply_add(struct emitter *e, const struct ir_instruction *ins) {
    const bool doubles = ins->op == IR_MULADDPD;
    const enum x86_form form_213 = doubles ? X86_MULADDPD_213 : X86_MULADD_213;
    const bool merges = ins->keep && ins->mask != IR_NONE;
    const unsigned a = vector(e, ins->a, V_A);
    const struct x86_rm b = operand_of(e, ins->b);
    const struct x86_rm c = operand_of(e, ins->c);
    const unsigned to = merges ? (unsigned)V_TO : target_of(e, ins->dst, V_TO);
    if (a == to) {
        binary(e, form_213, to, vector(e, ins->b, V_B), c);
    } else if (!b.memory && b.reg == to) {
        binary(e, form_213, to, a, c);
    } else {
        if (c.memory || c.reg != to) {
            load(e, to, c);
        }
        binary(e, doubles ? X86_MULADDPD_231 : X86_MULADD_231, to, a, b);
    }
    if (merges) {
        merge(e, ins);
    } else {
        finish(e, ins->dst, to);
    }
}

/* ---- vectors ---- */

/* dst = a, without an instruction for the value itself if it is blended. */
static void move(struct emitter *e, const struct ir_instruction *ins) {
    if (ins->keep && ins->mask != IR_NONE) {
        const unsigned to = vector(e, ins->dst, V_A);
        const unsigned lanes = vector(e, ins->mask, V_B);
        emit_vex_blend(e->code, X86_BLEND_256, to, to, operand_of(e, ins->a), lanes);
        finish(e, ins->dst, to);
    } else if (value_of(e, ins->dst)->in_memory) {
        finish(e, ins->dst, vector(e, ins->a, V_A));
    } else {
        load(e, target_of(e, ins->dst, V_TO), operand_of(e, ins->a));
    }
}

static void store(struct emitter *e, const struct ir_instruction *ins) {
    const struct x86_rm to = row_at(e, ins->at);
    unsigned from = vector(e, ins->a, V_A);
    if (ins->mask != IR_NONE) {
        const unsigned lanes = vector(e, ins->mask, V_B);
        load(e, V_TO, to);
        emit_vex_blend(e->code, X86_BLEND_256, V_TO, V_TO, x86_rm_reg(from), lanes);
        from = V_TO;
    }
    unary(e, X86_STORE, from, to);
}

static void load_from(struct emitter *e, const struct ir_instruction *ins, enum x86_form form, struct x86_rm from) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    unary(e, form, to, from);
    finish(e, ins->dst, to);
}

static void widen_row(struct emitter *e, const struct ir_instruction *ins) {
    struct x86_rm to = slot_in_memory(e, value_of(e, ins->dst));
    unary(e, X86_WIDEN, V_TO, row_at(e, ins->at));
    unary(e, X86_WIDEN, V_A, row_at(e, ins->at + HALF_BYTES));
    unary(e, X86_STORE, V_TO, to);
    to.offset += 2 * HALF_BYTES;
    unary(e, X86_STORE, V_A, to);
}

/* An element of a row of doubles, in all lanes of a register. */
static unsigned double_of_row(struct emitter *e, const struct ir_instruction *ins) {
    struct x86_rm from = slot_in_memory(e, value_of(e, ins->b));
    from.offset += ins->imm * (int32_t)sizeof(double);
    unary(e, X86_BROADCAST_PD_256, V_B, from);
    return V_B;
}

static void compute_with_element(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = ins->c == IR_NONE ? target_of(e, ins->dst, V_TO) : vector(e, ins->c, V_TO);
    binary(e, element_form(ins->op), to, double_of_row(e, ins), operand_of(e, ins->a));
    finish(e, ins->dst, to);
}

static struct x86_rm sum_in_memory(const struct ir_instruction *ins) {
    return x86_rm_at(SUMS_REG, ins->at * sizeof(union g4_acc) + ins->imm * (LANES / 2 * sizeof(double)));
}

/* Both halves are exact, so only their sum is rounded. */
static void from_unsigned(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned a = vector(e, ins->a, V_A);
    const unsigned to = target_of(e, ins->dst, V_TO);
    emit_vex_imm(e->code, X86_SHIFT, X86_SHIFT_SHR, V_TO, x86_rm_reg(a), 16);
    binary(e, X86_PAND, V_A, a, uniform(e, 0xffff));
    unary(e, X86_FROM_D, V_TO, x86_rm_reg(V_TO));
    unary(e, X86_FROM_D, V_A, x86_rm_reg(V_A));
    binary(e, X86_MULPS, V_TO, V_TO, uniform(e, 0x47800000)); /* 65536 */
    binary(e, X86_ADDPS, to, V_TO, x86_rm_reg(V_A));
    finish(e, ins->dst, to);
}

static void shift_by(struct emitter *e, const struct ir_instruction *ins, unsigned direction) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    emit_vex_imm(e->code, X86_SHIFT, direction, to, x86_rm_reg(vector(e, ins->a, V_A)), ins->imm);
    finish(e, ins->dst, to);
}

static void blend(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    const unsigned a = vector(e, ins->a, V_A);
    const unsigned lanes = vector(e, ins->mask, V_B);
    emit_vex_blend(e->code, X86_BLEND_256, to, a, operand_of(e, ins->b), lanes);
    finish(e, ins->dst, to);
}

static void permute(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    load(e, V_B, operand_of(e, ins->b));
    binary(e, X86_PERMUTE, to, V_B, operand_of(e, ins->a));
    finish(e, ins->dst, to);
}

static void spread(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    const unsigned a = vector(e, ins->a, V_A);
    emit_vex_imm(e->code, X86_HALVES_256, to, a, x86_rm_reg(a), ins->imm / 4 * 0x11u);
    emit_vex_imm(e->code, X86_PERMUTE_PS, to, 0, x86_rm_reg(to), ins->imm % 4 * 0x55u);
    finish(e, ins->dst, to);
}

enum {
    BOTH_HALVES = 0x88, /* immediate of X86_PERMUTE_64_256: the low quadwords of both halves, twice */
};

static void store_words(struct emitter *e, const struct ir_instruction *ins) {
    static const int32_t low_words[LANES] = {0x05040100, 0x0d0c0908, -1, -1, 0x05040100, 0x0d0c0908, -1, -1};
    struct g4_code *const code = e->code;
    const unsigned a = vector(e, ins->a, V_A);
    binary(e, X86_SHUFFLE_BYTES_256, V_TO, a, constant_in_memory(e, low_words));
    emit_vex_imm(code, X86_PERMUTE_64_256, V_TO, 0, x86_rm_reg(V_TO), BOTH_HALVES);
    const unsigned to = vector(e, ins->dst, V_A);
    if (ins->mask != IR_NONE) {
        const unsigned lanes = vector(e, ins->mask, V_B);
        binary(e, X86_PACK_256, V_B, lanes, x86_rm_reg(lanes));
        emit_vex_imm(code, X86_PERMUTE_64_256, V_B, 0, x86_rm_reg(V_B), BOTH_HALVES);
        emit_vex_blend(code, X86_BLEND_BYTES_256, V_TO, to, x86_rm_reg(V_TO), V_B);
    }
    emit_vex_imm(code, X86_BLEND_HALF_256, to, to, x86_rm_reg(V_TO), ins->imm ? 0xf0 : 0x0f);
    finish(e, ins->dst, to);
}

/* ---- doubles ---- */

static struct x86_rm operand_of_thread(struct emitter *e, ir_operand operand, unsigned thread) {
    const unsigned own = e->thread;
    e->thread = thread;
    const struct x86_rm rm = operand_of(e, operand);
    e->thread = own;
    return rm;
}

/* Four doubles: a half of the thread, or the lanes of thread imm that become the first or the second four of eight. */
static void widen(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    const bool two = e->backend->threads == 2;
    const unsigned half = two ? e->thread : ins->imm;
    struct x86_rm a = operand_of_thread(e, ins->a, two ? ins->imm : 0);
    if (a.memory) {
        a.offset += (int32_t)half * HALF_BYTES;
    } else if (half) {
        emit_vex_imm(e->code, X86_HIGH_256, a.reg, 0, x86_rm_reg(V_A), 1);
        a = x86_rm_reg(V_A);
    }
    unary(e, X86_WIDEN, to, a);
    finish(e, ins->dst, to);
}

static void narrow(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    const bool two = e->backend->threads == 2;
    const ir_operand low = two && e->thread ? ins->b : ins->a;
    const ir_operand high = two ? low : ins->b;
    unary(e, X86_NARROW, V_B, operand_of_thread(e, high, two));
    unary(e, X86_NARROW, V_A, operand_of_thread(e, low, 0));
    emit_vex_imm(e->code, X86_JOIN_256, to, V_A, x86_rm_reg(V_B), 1);
    finish(e, ins->dst, to);
}

/* Add half of the last place of a float to doubles, but not to infinities. */
static void add_half_place(struct emitter *e, unsigned to) {
    emit_vex_imm(e->code, X86_SHIFT_64_256, X86_SHIFT_SHL, V_TO, x86_rm_reg(to), 1); /* without the sign */
    binary(e, X86_EQUAL_64_256, V_TO, V_TO, uniform_double(e, 0xffe0000000000000));
    binary(e, X86_AND_NOT_256, V_TO, V_TO, uniform_double(e, 0x10000000));
    binary(e, X86_ADD_64_256, to, to, x86_rm_reg(V_TO));
}

/* Roots and inverses of all operands in double precision, rounded to nearest floats.  While the mode is toward zero:
 * truncated, plus half of the last place of a float, truncated again.  There are no ties, and all 2^24 mantissas and
 * parities of the exponent have been compared with the results of an AVX-512 host. */
static void compute_as_doubles(struct emitter *e, enum ir_op op, unsigned to, unsigned a) {
    emit_vex_imm(e->code, X86_HIGH_256, a, 0, x86_rm_reg(V_B), 1);
    unary(e, X86_WIDEN, V_A, x86_rm_reg(a));
    unary(e, X86_WIDEN, V_B, x86_rm_reg(V_B));
    if (op != IR_INVERSE) {
        unary(e, X86_SQRTPD, V_A, x86_rm_reg(V_A));
        unary(e, X86_SQRTPD, V_B, x86_rm_reg(V_B));
    }
    if (op != IR_ROOT) {
        load(e, V_TO, uniform_double(e, 0x3ff0000000000000));
        binary(e, X86_DIVPD, V_A, V_TO, x86_rm_reg(V_A));
        binary(e, X86_DIVPD, V_B, V_TO, x86_rm_reg(V_B));
    }
    if (!rounds_to_nearest(e)) {
        add_half_place(e, V_A);
        add_half_place(e, V_B);
    }
    unary(e, X86_NARROW, V_A, x86_rm_reg(V_A));
    unary(e, X86_NARROW, V_B, x86_rm_reg(V_B));
    emit_vex_imm(e->code, X86_JOIN_256, to, V_A, x86_rm_reg(V_B), 1);
}

/* The operand of a root or inverse: 1, which raises nothing, in lanes outside of the mask. */
static unsigned masked_operand(struct emitter *e, const struct ir_instruction *ins) {
    if (ins->mask == IR_NONE) {
        return vector(e, ins->a, V_TO);
    }
    const unsigned lanes = vector(e, ins->mask, V_B);
    load(e, V_TO, uniform(e, ONE));
    emit_vex_blend(e->code, X86_BLEND_256, V_TO, V_TO, operand_of(e, ins->a), lanes);
    return V_TO;
}

/*
 * While the mode is toward zero, a root or an inverse is what the host computes, or the float after it.  What is left
 * of the operand tells which one is nearer; there are no ties.
 */

/* Jump unless all floats of a register are positive, at least `least` and below `limit`. */
static size_t jump_unless_between(struct emitter *e, unsigned a, uint32_t least, uint32_t limit) {
    binary(e, X86_PADD, V_B, a, uniform(e, 0x80000000 - least)); /* `least` becomes the smallest integer */
    binary(e, X86_GREATER_D_256, V_B, V_B, uniform(e, 0x80000000 + (limit - 1 - least)));
    unary(e, X86_TEST_256, V_B, x86_rm_reg(V_B));
    return emit_jump(e->code, X86_JNZ);
}

/* V_A = the root; V_B = what is left, which is compared with V_TO.  With last place u of root r, the next float is
 * nearer if a > (r + u/2)^2 = r^2 + r * u + u^2/4.  All but u^2/4 are multiples of u^2, so this is a - r^2 > r * u. The
 * difference may lose its last bit, but only if it has 25, and r * u has 24. */
static void root_toward_zero(struct emitter *e, unsigned a) {
    unary(e, X86_SQRTPS, V_A, x86_rm_reg(a));
    load(e, V_B, x86_rm_reg(a));
    binary(e, X86_SUBMUL_231, V_B, V_A, x86_rm_reg(V_A));
    binary(e, X86_PAND, V_TO, V_A, uniform(e, EXPONENT));
    binary(e, X86_PSUB, V_TO, V_TO, uniform(e, 23 << 23)); /* the last place */
    binary(e, X86_MULPS, V_TO, V_TO, x86_rm_reg(V_A));
}

/* The same for an inverse.  With last place u of inverse i, the next float is nearer if 1 > (i + u/2) * a, for positive
 * ones.  This is 1 - i * a > a * u/2: the difference is exact, and a * u/2 is 2^-25 times the mantissa of a, unless a
 * is a power of two, for which nothing is left. */
static void inverse_toward_zero(struct emitter *e, unsigned a) {
    load(e, V_B, uniform(e, ONE));
    binary(e, X86_DIVPS, V_A, V_B, x86_rm_reg(a));
    binary(e, X86_SUBMUL_231, V_B, V_A, x86_rm_reg(a));
    binary(e, X86_PAND, V_TO, a, uniform(e, FRACTION));
    binary(e, X86_POR, V_TO, V_TO, uniform(e, (127 - 25) << 23));
}

/* Roots and inverses of operands for which nothing becomes infinite or denormal on the way, or of all. */
static void compute_nearest(struct emitter *e, enum ir_op op, unsigned to, unsigned a) {
    size_t others;
    if (op == IR_ROOT) {
        others = jump_unless_between(e, a, 0x18800000, 0x7d800000); /* 2^-78, 2^124 */
        root_toward_zero(e, a);
    } else {
        binary(e, X86_PAND, V_A, a, uniform(e, ~SIGN));
        others = jump_unless_between(e, V_A, 0x01000000, 0x7e000000); /* 2^-125, 2^125 */
        inverse_toward_zero(e, a);
    }
    emit_vex_imm(e->code, X86_COMPARE_PS, V_B, V_B, x86_rm_reg(V_TO), X86_GREATER);
    binary(e, X86_PSUB, to, V_A, x86_rm_reg(V_B));
    const size_t done = emit_jump(e->code, X86_JMP);
    patch_jump(e->code, others);
    compute_as_doubles(e, op, to, a);
    patch_jump(e->code, done);
}

static void root_or_inverse(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    const unsigned a = masked_operand(e, ins);
    size_t ones = 0;
    if (ins->op == IR_INVERSE) { /* no division if all operands are 1, as w is without perspective */
        binary(e, X86_EQUAL_D_256, V_B, a, uniform(e, ONE));
        unary(e, X86_LOAD, to, x86_rm_reg(a));
        unary(e, X86_SIGNS_256, X86_RAX, x86_rm_reg(V_B));
        emit_alu_imm(e->code, X86_CMP, X86_RAX, (1 << LANES) - 1);
        ones = emit_jump(e->code, X86_JZ);
    }
    if (ins->op == IR_INVERSE_ROOT) {
        compute_as_doubles(e, ins->op, to, a);
    } else if (!rounds_to_nearest(e)) {
        compute_nearest(e, ins->op, to, a);
    } else if (ins->op == IR_ROOT) {
        unary(e, X86_SQRTPS, to, x86_rm_reg(a));
    } else {
        load(e, V_B, uniform(e, ONE));
        binary(e, X86_DIVPS, to, V_B, x86_rm_reg(a));
    }
    if (ins->op == IR_INVERSE) {
        patch_jump(e->code, ones);
    }
    finish(e, ins->dst, to);
}

/* ---- masks ---- */

static void compare_floats(struct emitter *e, const struct ir_instruction *ins) {
    static const uint8_t predicate[] = {[IR_EQUAL] = 0x00,         [IR_NOT_EQUAL] = 0x04, [IR_GREATER] = X86_GREATER,
                                        [IR_GREATER_EQUAL] = 0x1d, [IR_LESS] = 0x11,      [IR_LESS_EQUAL] = 0x12};
    const unsigned to = target_of(e, ins->dst, V_TO);
    const unsigned a = vector(e, ins->a, V_A);
    emit_vex_imm(e->code, X86_COMPARE_PS, to, a, operand_of(e, ins->b), predicate[ins->imm]);
    finish(e, ins->dst, to);
}

/* a >= b with a uniform constant b, as a > b - 1. */
static bool compare_with_constant(struct emitter *e, const struct ir_instruction *ins) {
    const struct ir_constant *const b = ir_is_constant(ins->b) ? &e->ir->constants[ins->b & ~IR_IS_CONSTANT] : NULL;
    if (ins->imm != IR_GREATER_EQUAL || !b || !b->uniform || b->lane[0] == INT32_MIN) {
        return false;
    }
    const unsigned to = target_of(e, ins->dst, V_TO);
    binary(e, X86_GREATER_D_256, to, vector(e, ins->a, V_A), uniform(e, (uint32_t)b->lane[0] - 1));
    finish(e, ins->dst, to);
    return true;
}

/* There are instructions for equal and greater. */
static void compare_integers(struct emitter *e, const struct ir_instruction *ins, bool is_signed) {
    const unsigned condition = ins->imm;
    if (is_signed && compare_with_constant(e, ins)) {
        return;
    }
    const unsigned to = target_of(e, ins->dst, V_TO);
    unsigned a = vector(e, ins->a, V_A);
    unsigned b = vector(e, ins->b, V_B);
    if (!is_signed && condition != IR_EQUAL && condition != IR_NOT_EQUAL) {
        binary(e, X86_PXOR, V_A, a, uniform(e, 0x80000000));
        binary(e, X86_PXOR, V_B, b, uniform(e, 0x80000000));
        a = V_A;
        b = V_B;
    }
    if (condition == IR_EQUAL || condition == IR_NOT_EQUAL) {
        binary(e, X86_EQUAL_D_256, to, a, x86_rm_reg(b));
    } else if (condition == IR_GREATER || condition == IR_LESS_EQUAL) {
        binary(e, X86_GREATER_D_256, to, a, x86_rm_reg(b));
    } else {
        binary(e, X86_GREATER_D_256, to, b, x86_rm_reg(a));
    }
    if (condition == IR_NOT_EQUAL || condition == IR_LESS_EQUAL || condition == IR_GREATER_EQUAL) {
        binary(e, X86_PXOR, to, to, uniform(e, UINT32_MAX));
    }
    finish(e, ins->dst, to);
}

/* A mask from the byte of the thread. */
static void load_mask(struct emitter *e, const struct ir_instruction *ins, struct x86_rm from) {
    static const int32_t bits[LANES] = {1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7};
    const unsigned to = target_of(e, ins->dst, V_TO);
    unary(e, X86_BROADCAST_D_256, to, from); /* with the bytes of other threads */
    binary(e, X86_PAND, to, to, constant_in_memory(e, bits));
    binary(e, X86_EQUAL_D_256, to, to, constant_in_memory(e, bits));
    finish(e, ins->dst, to);
}

static void store_mask(struct emitter *e, const struct ir_instruction *ins) {
    unary(e, X86_SIGNS_256, X86_RAX, x86_rm_reg(vector(e, ins->a, V_A)));
    emit_store8(e->code, x86_rm_at(GANG_REG, ins->at + e->thread), X86_RAX);
}

static void mask_constant(struct emitter *e, const struct ir_instruction *ins) {
    int32_t lane[LANES];
    for (int c = 0; c < LANES; c++) {
        lane[c] = ins->at >> c & 1 ? -1 : 0;
    }
    load_from(e, ins, X86_LOAD, constant_in_memory(e, lane));
}

static void mask_up(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    int32_t from[LANES];
    for (int c = 0; c < LANES; c++) {
        from[c] = (c - ins->imm) & (LANES - 1); /* lanes that wrap around are empty */
    }
    load(e, V_B, constant_in_memory(e, from));
    binary(e, X86_PERMUTE, to, V_B, operand_of(e, ins->a));
    finish(e, ins->dst, to);
}

/* All lanes have what any of them has. */
static void mask_thread(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned a = vector(e, ins->a, V_A);
    const unsigned to = target_of(e, ins->dst, V_TO);
    emit_vex_imm(e->code, X86_HALVES_256, V_TO, a, x86_rm_reg(a), 1); /* exchanged */
    binary(e, X86_POR, V_A, a, x86_rm_reg(V_TO));
    emit_vex_imm(e->code, X86_PERMUTE_PS, V_TO, 0, x86_rm_reg(V_A), 0x4e); /* lanes 2, 3, 0, 1 */
    binary(e, X86_POR, V_A, V_A, x86_rm_reg(V_TO));
    emit_vex_imm(e->code, X86_PERMUTE_PS, V_TO, 0, x86_rm_reg(V_A), 0xb1); /* lanes 1, 0, 3, 2 */
    binary(e, X86_POR, to, V_A, x86_rm_reg(V_TO));
    finish(e, ins->dst, to);
}

static void largest(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned a = vector(e, ins->a, V_A);
    binary(e, X86_PAND, V_TO, a, operand_of(e, ins->b));
    if (ins->mask != IR_NONE) {
        binary(e, X86_PAND, V_TO, V_TO, operand_of(e, ins->mask));
    }
    const unsigned to = target_of(e, ins->dst, V_TO);
    binary(e, X86_PMAX, to, V_TO, operand_of(e, ins->dst));
    finish(e, ins->dst, to);
}

static void mask_special(struct emitter *e, const struct ir_instruction *ins) {
    const unsigned to = target_of(e, ins->dst, V_TO);
    binary(e, X86_GREATER_D_256, to, vector(e, ins->a, V_A), x86_rm_at(CONSTANTS_REG, G4_JIT_LIMIT));
    finish(e, ins->dst, to);
}

/* ---- all operations ---- */

/* Operations with one instruction. */
static const struct {
    enum x86_form form;
    bool binary;
} simple[IR_OPS] = {
    [IR_ADDPS] = {X86_ADDPS, true},   [IR_SUBPS] = {X86_SUBPS, true},
    [IR_MULPS] = {X86_MULPS, true},   [IR_MINPS] = {X86_MINPS, true},
    [IR_MAXPS] = {X86_MAXPS, true},   [IR_FROM_D] = {X86_FROM_D, false},
    [IR_TO_D] = {X86_TO_D, false},    [IR_AND] = {X86_PAND, true},
    [IR_OR] = {X86_POR, true},        [IR_XOR] = {X86_PXOR, true},
    [IR_ADD] = {X86_PADD, true},      [IR_SUB] = {X86_PSUB, true},
    [IR_MUL] = {X86_PMUL, true},      [IR_SHL] = {X86_PSHL, true},
    [IR_SHR] = {X86_PSHR, true},      [IR_ASR] = {X86_PASR, true},
    [IR_ADDPD] = {X86_ADDPD, true},   [IR_MULPD] = {X86_MULPD, true},
    [IR_MASK_AND] = {X86_PAND, true}, [IR_MASK_AND_NOT] = {X86_AND_NOT_256, true},
    [IR_MASK_OR] = {X86_POR, true},
};

static void emit_operation(struct emitter *e, const struct ir_instruction *ins) {
    if (simple[ins->op].form) {
        const struct ir_instruction ordered = in_register_first(e, ins);
        compute(e, &ordered, simple[ins->op].form, simple[ins->op].binary, -1);
        return;
    }
    switch (ins->op) {
    case IR_MOVE:
    case IR_MOVE_SUM:
    case IR_MASK_MOVE:
    case IR_MASK_ROW:
        move(e, ins);
        break;
    case IR_CONSTANT:
        load_from(e, ins, X86_LOAD, operand_of(e, ins->b));
        break;
    case IR_LOAD:
        load_from(e, ins, X86_LOAD, row_at(e, ins->at));
        break;
    case IR_STORE:
        store(e, ins);
        break;
    case IR_LOAD_ELEMENT:
        load_from(e, ins, X86_BROADCAST, row_at(e, ins->at));
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
        load_from(e, ins, X86_LOAD, sum_in_memory(ins));
        break;
    case IR_STORE_SUM:
        unary(e, X86_STORE, vector(e, ins->a, V_A), sum_in_memory(ins));
        break;
    case IR_ROUND:
        compute(e, ins, X86_ROUND, false, x86_rounding(ins->imm));
        break;
    case IR_MULADD:
    case IR_MULADDPD:
        multiply_add(e, ins);
        break;
    case IR_FROM_UD:
        from_unsigned(e, ins);
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
        permute(e, ins);
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
    case IR_WIDEN:
        widen(e, ins);
        break;
    case IR_NARROW:
        narrow(e, ins);
        break;
    case IR_FOUR_PD:
        compute(e, ins, X86_PERMUTE_PD, false, ins->imm * 0x55);
        break;
    case IR_INVERSE:
    case IR_ROOT:
    case IR_INVERSE_ROOT:
        root_or_inverse(e, ins);
        break;
    case IR_COMPARE_F:
        compare_floats(e, ins);
        break;
    case IR_COMPARE_D:
        compare_integers(e, ins, true);
        break;
    case IR_COMPARE_UD:
        compare_integers(e, ins, false);
        break;
    case IR_LOAD_EXEC:
        load_mask(e, ins, x86_rm_at(EXEC_REG, ins->imm * sizeof(g4_lanes) + e->thread));
        break;
    case IR_LOAD_GROUP:
        load_mask(e, ins, x86_rm_at(EXEC_REG, 2 * sizeof(g4_lanes) + e->thread));
        break;
    case IR_LOAD_FLAG:
        load_mask(e, ins, x86_rm_at(GANG_REG, ins->at + e->thread));
        break;
    case IR_STORE_FLAG:
        store_mask(e, ins);
        break;
    case IR_MASK_CONSTANT:
        mask_constant(e, ins);
        break;
    case IR_MASK_BLEND:
        blend(e, ins);
        break;
    case IR_MASK_UP:
        mask_up(e, ins);
        break;
    case IR_MASK_FIRST:
        load_from(e, ins, X86_BROADCAST, operand_of(e, ins->a));
        break;
    case IR_MASK_THREAD:
        mask_thread(e, ins);
        break;
    case IR_LARGEST:
        largest(e, ins);
        break;
    default: /* IR_MASK_SPECIAL */
        mask_special(e, ins);
        break;
    }
}

/* ---- control flow ---- */

/* A register with the lanes of either mask; `temp` if there is none. */
static unsigned either(struct emitter *e, ir_operand a, ir_operand b, unsigned temp) {
    const unsigned first = vector(e, a, temp);
    if (a == b) {
        return first;
    }
    binary(e, X86_POR, temp, first, operand_of(e, b));
    return temp;
}

static void test_masks(struct emitter *e, ir_operand a, ir_operand b) {
    unsigned lanes = either(e, a, b, V_A);
    if (e->backend->threads == 2) {
        e->thread = 1;
        binary(e, X86_POR, V_TO, lanes, x86_rm_reg(either(e, a, b, V_B)));
        e->thread = 0;
        lanes = V_TO;
    }
    unary(e, X86_TEST_256, lanes, x86_rm_reg(lanes));
}

static void test_group(struct emitter *e) {
    emit_compare8_memory(e->code, x86_rm_at(EXEC_REG, 2 * sizeof(g4_lanes)), 0);
}

static void count_threads(struct emitter *e, ir_operand a, ir_operand b) {
    emit_alu(e->code, X86_XOR, COUNTER_REG, COUNTER_REG);
    for (e->thread = 0; e->thread < 2; e->thread++) {
        unary(e, X86_SIGNS_256, X86_RAX, x86_rm_reg(either(e, a, b, V_A)));
        /* The comparison sets carry if no lane is enabled.  Subtracting -1 and the carry adds 0 then, else 1. */
        emit_alu_imm(e->code, X86_CMP, X86_RAX, 1);
        emit_alu_imm(e->code, X86_SBB, COUNTER_REG, -1);
    }
    e->thread = 0;
}

const struct backend g4_backend_avx2 = {
    .name = "AVX2",
    .threads = 1,
    .roots_raise = true,
    .registers = {.vectors = V_TO, .shared = true, .short_lived = 6, .slots = G4_JIT_SLOTS},
    .emit = emit_operation,
    .test_masks = test_masks,
    .test_group = test_group,
};

/* Loops do not test groups. */
const struct backend g4_backend_avx2_waiting = {
    .name = "AVX2",
    .threads = 2,
    .roots_raise = true,
    .registers = {.vectors = V_TO, .shared = true, .by_thread = true, .short_lived = 8, .slots = G4_JIT_SLOTS},
    .emit = emit_operation,
    .test_masks = test_masks,
    .count_threads = count_threads,
};
