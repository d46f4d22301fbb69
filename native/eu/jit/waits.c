/*
 * Finds loops that wait: each turn computes something from the turn before in a long chain of operations.
 *
 * The times of some turns are computed as if the host could execute any number of operations at once.  By how much they
 * grow from one turn to the next is the length of the longest chain.
 */
#include <stdlib.h>

#include "eu/jit/ir.h"

enum {
    TURNS = 4,
    OPERATIONS_PER_CYCLE = 2, /* with loads and stores of values that have no register */
};

/* About the cycles until a result can be used. */
static uint32_t latency(const struct ir_instruction *ins) {
    switch (ins->op) {
    case IR_ADDPS:
    case IR_SUBPS:
    case IR_MULPS:
    case IR_MULADD:
    case IR_FROM_D:
    case IR_TO_D:
    case IR_COMPARE_F:
    case IR_PERMUTE:
    case IR_SPREAD:
        return 4;
    case IR_ROUND:
    case IR_MUL:
    case IR_FROM_UD:
    case IR_WIDEN:
    case IR_NARROW:
    case IR_ADDPD:
    case IR_MULPD:
    case IR_MULADDPD:
        return 6;
    case IR_INVERSE:
    case IR_ROOT:
        return 25;
    case IR_INVERSE_ROOT:
        return 50;
    default:
        return 1;
    }
}

/* The enabled lanes change rarely: in most turns, a jump that the host predicts passes over the operation. */
static bool changes_rarely(const struct ir *ir, ir_operand operand) {
    return ir->values[operand].class == IR_MASK && ir->values[operand].variable;
}

static uint32_t time_of(const uint32_t *times, ir_operand operand) {
    return ir_is_value(operand) ? times[operand] : 0;
}

static uint32_t later(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* Execute one turn; returns the time of the last result. */
static uint32_t execute(const struct ir *ir, const struct ir_loop *loop, uint32_t *times) {
    uint32_t last = 0;
    for (uint32_t i = loop->begin; i < loop->end; i++) {
        const struct ir_instruction *const ins = &ir->instructions[i];
        if (!ir_is_value(ins->dst) || changes_rarely(ir, ins->dst)) {
            continue;
        }
        const uint32_t operands = later(later(time_of(times, ins->a), time_of(times, ins->b)),
                                        later(time_of(times, ins->c), time_of(times, ins->mask)));
        times[ins->dst] = later(operands, ins->keep ? times[ins->dst] : 0) + latency(ins);
        last = later(last, times[ins->dst]);
    }
    return last;
}

static uint32_t count_operations(const struct ir *ir, const struct ir_loop *loop) {
    uint32_t count = 0;
    for (uint32_t i = loop->begin; i < loop->end; i++) {
        count += !ir_is_flow(ir->instructions[i].op);
    }
    return count;
}

static bool has_inner_loop(const struct ir *ir, const struct ir_loop *loop) {
    for (uint32_t l = 0; l < ir->loop_count; l++) {
        const struct ir_loop *const other = &ir->loops[l];
        if (other != loop && other->begin >= loop->begin && other->end <= loop->end) {
            return true;
        }
    }
    return false;
}

static bool waits(const struct ir *ir, const struct ir_loop *loop, uint32_t *times) {
    uint32_t before = 0;
    uint32_t now = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        before = now;
        now = execute(ir, loop, times);
    }
    return now - before > count_operations(ir, loop) / OPERATIONS_PER_CYCLE;
}

bool ir_waits(const struct ir *ir) {
    uint32_t *const times = ir->failed ? NULL : calloc(ir->value_count, sizeof *times);
    bool found = false;
    for (uint32_t l = 0; times && l < ir->loop_count; l++) {
        found = found || (!has_inner_loop(ir, &ir->loops[l]) && waits(ir, &ir->loops[l], times));
    }
    free(times);
    return found;
}
