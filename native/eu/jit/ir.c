/*
 * Builds the intermediate form (ir.h).
 */
#include "eu/jit/ir.h"

#include <stdlib.h>
#include <string.h>

void ir_clear(struct ir *ir) {
    ir->count = ir->constant_count = ir->loop_count = ir->label_count = 0;
    ir->value_count = 1;
    ir->weight = 1;
    ir->failed = false;
}

void ir_free(struct ir *ir) {
    free(ir->instructions);
    free(ir->values);
    free(ir->constants);
}

/* Make room for one more element; returns the array, or NULL. */
static void *grown(struct ir *ir, void *array, uint32_t count, uint32_t *capacity, size_t size) {
    if (count < *capacity) {
        return array;
    }
    const uint32_t more = *capacity ? 2 * *capacity : 256;
    void *const larger = more <= IR_MAX_INSTRUCTIONS ? realloc(array, more * size) : NULL;
    if (!larger) {
        ir->failed = true;
        return NULL;
    }
    *capacity = more;
    return larger;
}

/* Operations whose results are floats that the host has flushed. */
static bool flushes(enum ir_op op) {
    return op == IR_ADDPS || op == IR_SUBPS || op == IR_MULPS || op == IR_MULADD || op == IR_ROUND || op == IR_FROM_D ||
           op == IR_FROM_UD || op == IR_NARROW || op == IR_INVERSE || op == IR_ROOT || op == IR_INVERSE_ROOT;
}

void ir_add(struct ir *ir, struct ir_instruction instruction) {
    if (ir->failed) {
        return;
    }
    struct ir_instruction *const larger =
        grown(ir, ir->instructions, ir->count, &ir->instruction_capacity, sizeof *larger);
    if (!larger) {
        return;
    }
    ir->instructions = larger;
    ir->instructions[ir->count] = instruction;
    if (ir_is_value(instruction.dst) && !ir->values[instruction.dst].variable) {
        ir->values[instruction.dst].flushed = flushes((enum ir_op)instruction.op);
    }
    const ir_operand used[] = {instruction.dst, instruction.a, instruction.b, instruction.c, instruction.mask};
    for (unsigned i = 0; i < sizeof used / sizeof *used; i++) {
        if (ir_is_value(used[i])) {
            ir->values[used[i]].weight +=
                i == 0 && instruction.keep ? 2 * ir->weight : ir->weight; /* dst is read, too */
        }
    }
    ir->count++;
}

ir_operand ir_value(struct ir *ir, enum ir_class class) {
    struct ir_value *const larger = grown(ir, ir->values, ir->value_count, &ir->value_capacity, sizeof *larger);
    if (!larger) {
        return 1; /* nothing will be added that uses it */
    }
    ir->values = larger;
    ir->values[ir->value_count] = (struct ir_value){.class = (uint8_t) class};
    return (ir_operand)ir->value_count++;
}

ir_operand ir_variable(struct ir *ir, enum ir_class class) {
    const ir_operand variable = ir_value(ir, class);
    if (!ir->failed) {
        ir->values[variable].variable = true;
    }
    return variable;
}

ir_operand ir_row(struct ir *ir) {
    const ir_operand row = ir_value(ir, IR_VECTOR);
    if (!ir->failed) {
        ir->values[row].is_row = true;
    }
    return row;
}

ir_operand ir_constant(struct ir *ir, const struct ir_constant *constant) {
    for (uint32_t i = 0; i < ir->constant_count; i++) {
        if (memcmp(ir->constants[i].lane, constant->lane, sizeof constant->lane) == 0) {
            return (ir_operand)(IR_IS_CONSTANT | i);
        }
    }
    struct ir_constant *const larger =
        grown(ir, ir->constants, ir->constant_count, &ir->constant_capacity, sizeof *larger);
    if (!larger) {
        return IR_IS_CONSTANT;
    }
    ir->constants = larger;
    ir->constants[ir->constant_count] = *constant;
    return (ir_operand)(IR_IS_CONSTANT | ir->constant_count++);
}

uint32_t ir_label(struct ir *ir) {
    if (ir->label_count == IR_MAX_LABELS) {
        ir->failed = true;
        return 0;
    }
    return ir->label_count++;
}

void ir_end_loop(struct ir *ir, uint32_t begin) {
    if (ir->loop_count == IR_MAX_LOOPS) {
        ir->failed = true;
        return;
    }
    ir->loops[ir->loop_count++] = (struct ir_loop){begin, ir->count};
}

/* Whether an operation is a run of its own: control flow, or one that reads registers of both threads. */
static bool is_alone(const struct ir_instruction *ins) {
    return ir_is_flow(ins->op) || ins->op == IR_WIDEN || ins->op == IR_NARROW;
}

uint32_t ir_run_end(const struct ir *ir, uint32_t begin) {
    uint32_t end = begin + 1;
    while (!is_alone(&ir->instructions[begin]) && end < ir->count && !is_alone(&ir->instructions[end])) {
        end++;
    }
    return end;
}

static void count_read(struct ir *ir, const struct ir_instruction *ins, ir_operand operand, int32_t change) {
    if (ir_is_value(operand) && operand != ins->dst) {
        ir->values[operand].reads += (uint32_t)change;
    }
}

static void count_reads(struct ir *ir, const struct ir_instruction *ins, int32_t change) {
    count_read(ir, ins, ins->a, change);
    count_read(ir, ins, ins->b, change);
    count_read(ir, ins, ins->c, change);
    count_read(ir, ins, ins->mask, change);
}

void ir_remove_unused(struct ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++) {
        count_reads(ir, &ir->instructions[i], 1);
    }
    for (uint32_t i = ir->count; i-- > 0;) {
        struct ir_instruction *const ins = &ir->instructions[i];
        if (ins->dst != IR_NONE && ir->values[ins->dst].reads == 0) {
            count_reads(ir, ins, -1);
            *ins = (struct ir_instruction){.op = IR_NOTHING};
        }
    }
}
