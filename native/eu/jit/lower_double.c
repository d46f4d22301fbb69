/*
 * Translates operations that keep more than single precision until the end: accumulators, line and pln, dot products,
 * mad and lrp.
 */
#include <string.h>

#include "core/variant.h"
#include "eu/jit/operands.h"

#if G4_HAVE_X86_VARIANTS

static unsigned acc_of(const struct g4_op *op, int part) {
    return (unsigned)(op->acc + part) & 1;
}

/* ---- accumulators ---- */

static struct wide sum_of(struct translator *t, unsigned acc) {
    for (unsigned half = 0; half < 2 && t->sums[acc].half[1] == IR_NONE; half++) {
        t->sums[acc].half[half] = ir_value(&t->ir, IR_VECTOR);
        ir_add(&t->ir, (struct ir_instruction){
                           .op = IR_LOAD_SUM, .imm = (uint8_t)half, .dst = t->sums[acc].half[half], .at = acc});
    }
    return (struct wide){{t->sums[acc].half[0], t->sums[acc].half[1]}};
}

/* Write the accumulator in all lanes of the threads of the group; masks do not apply. */
static void accumulate(struct translator *t, const struct g4_op *op, int part, struct wide from) {
    const unsigned acc = acc_of(op, part);
    const ir_operand mask = g4_whole_threads(t);
    const struct wide old = mask == IR_NONE ? from : sum_of(t, acc);
    for (unsigned half = 0; half < 2; half++) {
        if (mask == IR_NONE) {
            t->sums[acc].half[half] = from.half[half];
            continue;
        }
        const ir_operand sum = ir_variable(&t->ir, IR_VECTOR);
        ir_add(&t->ir, (struct ir_instruction){.op = IR_MOVE, .dst = sum, .a = old.half[half]});
        ir_add(
            &t->ir,
            (struct ir_instruction){
                .op = IR_MOVE_SUM, .imm = (uint8_t)half, .keep = true, .dst = sum, .a = from.half[half], .mask = mask});
        t->sums[acc].half[half] = sum;
    }
    t->sums[acc].dirty = true;
    t->sums[acc].numbers = true; /* finish_wide() checks them */
}

/* ---- double precision: line, pln, dot products ---- */

static struct wide wide_binary(struct translator *t, enum ir_op operation, struct wide a, struct wide b) {
    return (struct wide){{vector_of(t, operation, a.half[0], b.half[0], IR_NONE),
                          vector_of(t, operation, a.half[1], b.half[1], IR_NONE)}};
}

/* sum + a * b for doubles that are floats: their product is exact, so rounding once is rounding the sum. */
static struct wide plus_product(struct translator *t, struct wide sum, struct wide a, struct wide b) {
    struct wide to;
    for (unsigned half = 0; half < 2; half++) {
        to.half[half] = ir_value(&t->ir, IR_VECTOR);
        ir_add(&t->ir,
               (struct ir_instruction){
                   .op = IR_MULADDPD, .dst = to.half[half], .a = a.half[half], .b = b.half[half], .c = sum.half[half]});
    }
    return to;
}

/* Narrow a result and finish it.  `numbers`: no source is special.  Then doubles do not overflow, an operation that
 * makes a NaN of infinities raises `invalid`, and the conversion raises `overflow`, so the result needs no check. */
static void finish_wide(struct translator *t, const struct g4_op *op, int part, struct wide from, bool numbers) {
    const ir_operand mask = g4_op_lanes(t, op, part, true);
    const ir_operand value = vector_of(t, IR_NARROW, from.half[0], from.half[1], IR_NONE);
    t->raises = true;
    if (!numbers || op->acc_write) { /* the conversion is not executed if the value is not used, but sums are stored */
        g4_check_number(t, value, op->acc_write ? g4_whole_threads(t) : mask);
    }
    if (op->acc_write) {
        accumulate(t, op, part, from);
    }
    g4_finish_float(t, op, part, mask, value);
}

/* Before a result is checked that is special if a source is: if the check succeeds, the sources are not, in the lanes
 * of the part. */
static void note_numbers(struct translator *t, const struct g4_op *op, int part) {
    if (t->loop || op->predicate != G4_PRED_NONE || pattern(op) != 0xffff) {
        return;
    }
    for (unsigned s = 0; s < g4_opcode_info[op->opcode].sources; s++) {
        const struct g4_fast_src *const in = &op->in[s];
        if (in->load == G4_LOAD_PACKED && in->convert == G4_CONVERT_NONE) {
            t->rows[in->reg[part]].numbers |= (uint8_t)widest(op, part);
            if (op->opcode == G4_OPCODE_PLN) { /* the second coordinate */
                t->rows[in->reg[part] + 1].numbers |= (uint8_t)widest(op, part);
            }
        }
    }
}

/* sum = other * plane, sum + other * plane, or other + plane, with a dword of a plane equation. */
static void with_plane(struct translator *t, enum ir_op operation, struct wide sum, struct wide other, unsigned row,
                       unsigned byte) {
    static const uint8_t by_element[IR_OPS] = {
        [IR_MULPD] = IR_MULPD_ELEMENT, [IR_ADDPD] = IR_ADDPD_ELEMENT, [IR_MULADDPD] = IR_MULADDPD_ELEMENT};
    const struct wide_element plane = g4_wide_element(t, row, (byte & 31) / 4);

    for (unsigned half = 0; half < 2; half++) {
        ir_add(&t->ir, (struct ir_instruction){.op = plane.in_row ? by_element[operation] : (uint8_t)operation,
                                               .imm = plane.dword,
                                               .dst = sum.half[half],
                                               .a = other.half[half],
                                               .b = plane.half[half],
                                               .c = operation == IR_MULADDPD ? sum.half[half] : IR_NONE});
    }
}

/* A source, in all lanes of the threads if an accumulator is written, for which masks do not apply. */
static ir_operand source_of_sum(struct translator *t, const struct g4_op *op, int s, int part) {
    if (op->acc_write && op->in[s].load == G4_LOAD_PACKED) {
        (void)g4_row(t, op->in[s].reg[part], LANES_GROUP);
    }
    return g4_float_source(t, op, s, part, false);
}

static struct wide wide_source(struct translator *t, const struct g4_op *op, int s, int part) {
    return g4_widened(t, source_of_sum(t, op, s, part));
}

/* A plane equation in one part of an instruction. */
struct plane_part {
    ir_operand coordinate[2]; /* line has one */
    struct wide wide[2];      /* the coordinates as doubles */
    unsigned row;             /* of the equation */
    unsigned first;           /* byte of its slope for x */
    unsigned slope;           /* byte of its slope for y */
    unsigned constant;        /* byte of its constant */
    bool numbers; /* no coordinate is NaN, in ALT mode none is infinite, and the block checks the equation */
};

static void find_coordinate(struct translator *t, const struct g4_op *op, int part, unsigned which,
                            struct plane_part *plane) {
    struct g4_op other = *op; /* the second coordinate is in the next register */
    other.in[1].reg[part] = (uint8_t)(other.in[1].reg[part] + which);
    plane->coordinate[which] = source_of_sum(t, &other, 1, part);
    plane->wide[which] = g4_widened(t, plane->coordinate[which]);
    plane->numbers = plane->numbers && g4_is_known_number(t, &other, 1, part);
}

static struct plane_part plane_of(struct translator *t, const struct g4_op *op, int part) {
    const bool pln = op->opcode == G4_OPCODE_PLN;
    const unsigned start = op->in[0].sub[part] & 16;
    struct plane_part plane = {.row = op->in[0].reg[part],
                               .first = pln ? start : op->in[0].sub[part],
                               .slope = start + 4,
                               .constant = start + 12,
                               .numbers = !op->acc_write};
    for (unsigned which = 0; which < (pln ? 2 : 1); which++) {
        find_coordinate(t, op, part, which, &plane);
    }
    const unsigned dwords = 1u << plane.first / 4 | 1u << plane.constant / 4 | (pln ? 1u << plane.slope / 4 : 0);
    plane.numbers = plane.numbers && g4_check_elements(t, plane.row, dwords);
    return plane;
}

static struct wide evaluate(struct translator *t, const struct g4_op *op, const struct plane_part *plane) {
    const struct wide sum = {{ir_variable(&t->ir, IR_VECTOR), ir_variable(&t->ir, IR_VECTOR)}};
    with_plane(t, IR_MULPD, sum, plane->wide[0], plane->row, plane->first);
    if (op->opcode == G4_OPCODE_PLN) {
        with_plane(t, IR_MULADDPD, sum, plane->wide[1], plane->row, plane->slope);
    }
    with_plane(t, IR_ADDPD, sum, sum, plane->row, plane->constant);
    return sum;
}

/* Whether all parts evaluate the same equation, whose slopes machine code can test.  Its row becomes doubles here,
 * before the jump, because later instructions use them, too. */
static bool may_be_flat(struct translator *t, const struct g4_op *op, const struct plane_part *planes) {
    bool flat = op->opcode == G4_OPCODE_PLN;
    for (int part = 0; part < op->parts && flat; part++) {
        flat = planes[part].numbers && planes[part].row == planes->row && planes[part].first == planes->first;
    }
    return flat && g4_wide_element(t, planes->row, planes->constant / 4).in_row;
}

/* The constant of an equation without slopes.  Products of zero and infinite coordinates raise `invalid`. */
static void add_constant(struct translator *t, ir_operand to, const struct plane_part *plane, ir_operand constant,
                         ir_operand mask) {
    ir_operand sum = constant;
    for (int which = 0; which < 2; which++) {
        const ir_operand next = which ? to : (ir_operand)ir_value(&t->ir, IR_VECTOR);
        ir_add(&t->ir, (struct ir_instruction){.op = IR_MULADD,
                                               .dst = next,
                                               .a = plane->coordinate[which],
                                               .b = g4_uniform(t, 0),
                                               .c = sum,
                                               .mask = mask});
        sum = next;
    }
}

/* Many equations have slopes of zero: those of colors of flat objects, and of 1 / w without perspective. */
static void lower_plane_or_constant(struct translator *t, const struct g4_op *op, const struct plane_part *planes) {
    const uint32_t sloped = ir_label(&t->ir);
    const uint32_t done = ir_label(&t->ir);
    const uint32_t row = g4_row_at(planes->row);
    const ir_operand constant = ir_value(&t->ir, IR_VECTOR);
    ir_operand value[2];
    ir_operand mask[2];

    for (int part = 0; part < op->parts; part++) { /* before the jump: both ways need them */
        mask[part] = g4_op_lanes(t, op, part, true);
        value[part] = ir_variable(&t->ir, IR_VECTOR);
    }
    ir_add(&t->ir, (struct ir_instruction){.op = IR_JUMP_IF_SLOPED, .imm = (uint8_t)sloped, .at = row + planes->first});
    ir_add(&t->ir, (struct ir_instruction){.op = IR_LOAD_ELEMENT, .dst = constant, .at = row + planes->constant});
    for (int part = 0; part < op->parts; part++) {
        add_constant(t, value[part], &planes[part], constant, mask[part]);
    }
    ir_add(&t->ir, (struct ir_instruction){.op = IR_JUMP, .at = done});
    ir_add(&t->ir, (struct ir_instruction){.op = IR_LABEL, .at = sloped});
    for (int part = 0; part < op->parts; part++) {
        const struct wide sum = evaluate(t, op, &planes[part]);
        ir_add(&t->ir,
               (struct ir_instruction){.op = IR_NARROW, .dst = value[part], .a = sum.half[0], .b = sum.half[1]});
    }
    ir_add(&t->ir, (struct ir_instruction){.op = IR_LABEL, .at = done});
    t->raises = true;
    for (int part = 0; part < op->parts; part++) {
        g4_finish_float(t, op, part, mask[part], value[part]);
    }
}

/* Whether the second part reads what the first one has written. */
static bool reads_first_part(const struct g4_op *op) {
    const unsigned row = g4_row_of(op, 0);
    const unsigned coordinates = op->in[1].reg[1];
    return op->parts == 2 && op->out.store != G4_STORE_NULL &&
           (row == op->in[0].reg[1] || row == coordinates || row == coordinates + 1);
}

static bool lower_plane(struct translator *t, const struct g4_op *op) {
    struct plane_part planes[2];

    if (op->in[0].keep != UINT32_MAX || op->in[0].flip || t->loop || reads_first_part(op)) {
        return false;
    }
    for (int part = 0; part < op->parts; part++) {
        planes[part] = plane_of(t, op, part);
    }
    if (may_be_flat(t, op, planes)) {
        lower_plane_or_constant(t, op, planes);
        return true;
    }
    for (int part = 0; part < op->parts; part++) {
        const struct wide sum = evaluate(t, op, &planes[part]);
        note_numbers(t, op, part);
        finish_wide(t, op, part, sum, planes[part].numbers);
    }
    return true;
}

/* mac, and add and mul that write the accumulator. */
static bool lower_accumulate(struct translator *t, const struct g4_op *op) {
    if (t->loop) {
        return false;
    }
    for (int part = 0; part < op->parts; part++) {
        const struct wide x = wide_source(t, op, 0, part);
        const struct wide y = wide_source(t, op, 1, part);
        const unsigned acc = acc_of(op, part);
        const bool mac = op->opcode == G4_OPCODE_MAC;
        const bool numbers = mac && t->sums[acc].numbers && g4_are_numbers(t, op, part);
        note_numbers(t, op, part);
        finish_wide(t, op, part,
                    mac ? plus_product(t, sum_of(t, acc), x, y)
                        : wide_binary(t, op->opcode == G4_OPCODE_ADD ? IR_ADDPD : IR_MULPD, x, y),
                    numbers);
    }
    return true;
}

/* One element of each 4-tuple, in all channels of the tuple. */
static struct wide tuple(struct translator *t, struct wide from, unsigned element) {
    return (struct wide){{vector_imm(t, IR_FOUR_PD, from.half[0], IR_NONE, element),
                          vector_imm(t, IR_FOUR_PD, from.half[1], IR_NONE, element)}};
}

/* A source in all lanes of the threads. */
static ir_operand dot_source(struct translator *t, const struct g4_op *op, int s) {
    if (op->in[s].load == G4_LOAD_PACKED) {
        (void)g4_row(t, op->in[s].reg[0], LANES_GROUP);
    }
    return g4_float_source(t, op, s, 0, false);
}

/* Sums of products from left to right.  Disabled lanes of running threads take part, but are not stored. */
static bool lower_dot(struct translator *t, const struct g4_op *op) {
    const unsigned products = op->opcode == G4_OPCODE_DP2 ? 2 : op->opcode == G4_OPCODE_DP4 ? 4 : 3;

    if (op->acc_write || op->parts != 1 || t->loop) {
        return false;
    }
    const struct wide x = g4_widened(t, dot_source(t, op, 0));
    const struct wide y = g4_widened(t, dot_source(t, op, 1));
    const struct wide each = wide_binary(t, IR_MULPD, x, y);
    struct wide sum = tuple(t, each, 0);
    for (unsigned i = 1; i < products; i++) {
        sum = wide_binary(t, IR_ADDPD, sum, tuple(t, each, i));
    }
    if (op->opcode == G4_OPCODE_DPH) {
        sum = wide_binary(t, IR_ADDPD, sum, tuple(t, y, 3));
    }
    finish_wide(t, op, 0, sum, false);
    return true;
}

/* src1 * src2 + src0, rounded once; the product needs an operand in a register. */
static bool lower_multiply_add(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const ir_operand c = g4_float_operand(t, op, 0, part, true);
        ir_operand a = g4_float_operand(t, op, 1, part, true);
        ir_operand b = g4_float_operand(t, op, 2, part, true);
        if (ir_is_constant(a) && !ir_is_constant(b)) {
            const ir_operand constant = a;
            a = b;
            b = constant;
        } else if (ir_is_constant(a)) {
            a = g4_float_source(t, op, 1, part, true);
        }
        g4_float_ternary(t, op, part, a, b, c);
    }
    return true;
}

/* src0 * src1 + (1 - src0) * src2 */
static bool lower_interpolate(struct translator *t, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const ir_operand x = g4_float_source(t, op, 0, part, false);
        const ir_operand y = g4_float_source(t, op, 1, part, false);
        const ir_operand z = g4_float_source(t, op, 2, part, false);
        const ir_operand minus = vector_of(t, IR_XOR, x, g4_uniform(t, 0x80000000), IR_NONE);
        const struct wide one = g4_widened(t, vector_of(t, IR_CONSTANT, IR_NONE, g4_uniform(t, 0x3f800000), IR_NONE));
        const struct wide rest = wide_binary(t, IR_ADDPD, one, g4_widened(t, minus));
        const struct wide second = wide_binary(t, IR_MULPD, rest, g4_widened(t, z));
        const bool numbers = g4_are_numbers(t, op, part);
        note_numbers(t, op, part);
        finish_wide(t, op, part, plus_product(t, second, g4_widened(t, x), g4_widened(t, y)), numbers);
    }
    return true;
}

bool g4_lower_double(struct translator *t, const struct g4_op *op, unsigned index) {
    switch (index) {
    case G4_FAST_MAD_P:
        return lower_multiply_add(t, op);
    case G4_FAST_LRP_P:
        return lower_interpolate(t, op);
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
