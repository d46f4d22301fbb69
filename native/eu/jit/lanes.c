/*
 * Removes blends whose old lanes are never read.
 *
 * A register keeps its contents where an instruction does not execute, so a write to a row becomes a blend with its old
 * value.  Most rows are read again only by instructions that execute in the same lanes.
 */
#include "eu/jit/ir.h"

/* Lanes, as a set of masks of a basic block: bit n is the mask of IR_LOAD_EXEC with imm n (g4_exec()); the group has
 * a number among them. */
enum {
    LANES_NONE = 0,
    LANES_OF_GROUP = 1 << 2,
    LANES_OF_MASKS = 0x1f, /* all of these are within the group */
    LANES_EVERY = 0xff,
};

/* How an operation reads its vectors. */
enum reading {
    READS_EVERY_LANE,
    READS_MASKED,   /* the lanes of its mask */
    READS_SAME_LANE /* the lanes of its mask; without one, those of its result that are read */
};

static const uint8_t reading_of[IR_OPS] = {
    [IR_STORE] = READS_MASKED,
    [IR_LARGEST] = READS_MASKED,
    [IR_STORE_WORDS] = READS_MASKED,
    [IR_COMPARE_F] = READS_MASKED,
    [IR_COMPARE_D] = READS_MASKED,
    [IR_COMPARE_UD] = READS_MASKED,
    [IR_MOVE] = READS_SAME_LANE,
    [IR_ADDPS] = READS_SAME_LANE,
    [IR_SUBPS] = READS_SAME_LANE,
    [IR_MULPS] = READS_SAME_LANE,
    [IR_MINPS] = READS_SAME_LANE,
    [IR_MAXPS] = READS_SAME_LANE,
    [IR_MULADD] = READS_SAME_LANE,
    [IR_ROUND] = READS_SAME_LANE,
    [IR_FROM_D] = READS_SAME_LANE,
    [IR_FROM_UD] = READS_SAME_LANE,
    [IR_TO_D] = READS_SAME_LANE,
    [IR_AND] = READS_SAME_LANE,
    [IR_OR] = READS_SAME_LANE,
    [IR_XOR] = READS_SAME_LANE,
    [IR_ADD] = READS_SAME_LANE,
    [IR_SUB] = READS_SAME_LANE,
    [IR_MUL] = READS_SAME_LANE,
    [IR_SHL] = READS_SAME_LANE,
    [IR_SHR] = READS_SAME_LANE,
    [IR_ASR] = READS_SAME_LANE,
    [IR_SHR_BY] = READS_SAME_LANE,
    [IR_ASR_BY] = READS_SAME_LANE,
    [IR_WIDEN] = READS_SAME_LANE, /* a double is in the lane of its float */
    [IR_NARROW] = READS_SAME_LANE,
    [IR_ADDPD] = READS_SAME_LANE,
    [IR_MULPD] = READS_SAME_LANE,
    [IR_MULADDPD] = READS_SAME_LANE,
    [IR_ADDPD_ELEMENT] = READS_SAME_LANE,
    [IR_MULPD_ELEMENT] = READS_SAME_LANE,
    [IR_MULADDPD_ELEMENT] = READS_SAME_LANE,
    [IR_INVERSE] = READS_SAME_LANE,
    [IR_ROOT] = READS_SAME_LANE,
    [IR_INVERSE_ROOT] = READS_SAME_LANE,
};

/* The lanes that a mask can have. */
static unsigned lanes_of(const struct ir *ir, ir_operand mask) {
    return mask == IR_NONE ? LANES_EVERY : ir->values[mask].lanes;
}

static unsigned lanes_of_result(const struct ir *ir, const struct ir_instruction *ins) {
    switch (ins->op) {
    case IR_LOAD_EXEC:
        return 1u << ins->imm;
    case IR_LOAD_GROUP:
        return LANES_OF_GROUP;
    case IR_MASK_AND:
        return lanes_of(ir, lanes_of(ir, ins->a) == LANES_EVERY ? ins->b : ins->a);
    case IR_MASK_AND_NOT:
        return lanes_of(ir, ins->b);
    default:
        return LANES_EVERY;
    }
}

/* Find the lanes of masks; no lane of a vector is known to be read. */
static void begin(struct ir *ir) {
    for (uint32_t v = 0; v < ir->value_count; v++) {
        ir->values[v].lanes = LANES_NONE;
        ir->values[v].loaded = false;
        ir->values[v].same = IR_NONE;
    }
    for (uint32_t i = 0; i < ir->count; i++) {
        const struct ir_instruction *const ins = &ir->instructions[i];
        struct ir_value *const dst = &ir->values[ins->dst];
        dst->assigned = i;
        if (ins->dst != IR_NONE && dst->class == IR_MASK) {
            dst->lanes = (uint8_t)(dst->variable ? LANES_EVERY : lanes_of_result(ir, ins));
            dst->loaded = !dst->variable && (ins->op == IR_LOAD_EXEC || ins->op == IR_LOAD_GROUP);
        }
    }
}

static void read_lanes(struct ir *ir, ir_operand operand, unsigned lanes) {
    if (ir_is_value(operand) && ir->values[operand].class == IR_VECTOR) {
        ir->values[operand].lanes |= (uint8_t)lanes;
    }
}

/* Whether only lanes of the mask are read of a blend. */
static bool reads_only_b(const struct ir *ir, const struct ir_instruction *blend) {
    const unsigned read = ir->values[blend->dst].lanes;
    if (!ir_is_value(blend->mask) || !ir->values[blend->mask].loaded) {
        return false;
    }
    const unsigned lanes = lanes_of(ir, blend->mask);
    return (read & ~(lanes == LANES_OF_GROUP ? (unsigned)LANES_OF_MASKS : lanes)) == 0;
}

static void read_operands(struct ir *ir, const struct ir_instruction *ins) {
    const bool masked = ins->mask != IR_NONE;
    const unsigned result =
        ir_is_value(ins->dst) && ir->values[ins->dst].class == IR_VECTOR ? ir->values[ins->dst].lanes : LANES_EVERY;
    unsigned lanes = LANES_EVERY;
    if (ins->op == IR_BLEND) {
        read_lanes(ir, ins->a, result);
        read_lanes(ir, ins->b, masked && lanes_of(ir, ins->mask) != LANES_EVERY ? lanes_of(ir, ins->mask) : result);
        return;
    }
    if (reading_of[ins->op] != READS_EVERY_LANE && masked) {
        lanes = lanes_of(ir, ins->mask);
    } else if (reading_of[ins->op] == READS_SAME_LANE) {
        lanes = result;
    }
    read_lanes(ir, ins->a, lanes);
    read_lanes(ir, ins->b, lanes);
    read_lanes(ir, ins->c, lanes);
}

/* Let the source of a copy stand for it, if it keeps its value. */
static void drop_copies(struct ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++) {
        struct ir_instruction *const ins = &ir->instructions[i];
        ir_operand *const operands[] = {&ins->a, &ins->b, &ins->c};
        for (unsigned o = 0; o < sizeof operands / sizeof *operands; o++) {
            if (ir_is_value(*operands[o]) && ir->values[*operands[o]].same != IR_NONE) {
                *operands[o] = ir->values[*operands[o]].same;
            }
        }
        if (ins->op == IR_MOVE && ins->mask == IR_NONE && !ir->values[ins->dst].variable &&
            ir->values[ins->a].assigned < i) {
            ir->values[ins->dst].same = ins->a;
            ir->values[ins->a].weight += ir->values[ins->dst].weight;
            *ins = (struct ir_instruction){.op = IR_NOTHING};
        }
    }
}

void ir_remove_blends(struct ir *ir) {
    if (ir->failed) {
        return;
    }
    begin(ir);
    for (uint32_t i = ir->count; i-- > 0;) {
        struct ir_instruction *const ins = &ir->instructions[i];
        const bool is_vector = ir_is_value(ins->dst) && ir->values[ins->dst].class == IR_VECTOR;
        if (is_vector && ir->values[ins->dst].lanes == LANES_NONE) {
            continue; /* not used */
        }
        if (ins->op == IR_BLEND && reads_only_b(ir, ins)) {
            const bool constant = ir_is_constant(ins->b);
            *ins = (struct ir_instruction){.op = constant ? IR_CONSTANT : IR_MOVE,
                                           .dst = ins->dst,
                                           .a = constant ? (ir_operand)IR_NONE : ins->b,
                                           .b = constant ? ins->b : (ir_operand)IR_NONE};
        }
        read_operands(ir, ins);
    }
    drop_copies(ir);
}
