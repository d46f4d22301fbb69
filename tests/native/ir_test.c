/*
 * Tests the intermediate form of the machine code: places of values, and which loops wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eu/jit/ir.h"

enum {
    REGISTERS = 13,
    SLOTS = 64,
    VALUES = 12, /* of the random programs, that exist at the same time */
    PROGRAMS = 300,
};

static int failures;

static void check(bool good, const char *what, unsigned number) {
    if (!good) {
        failures++;
        (void)fprintf(stderr, "%s (%u)\n", what, number);
    }
}

static uint32_t state = 1;

static unsigned pick(unsigned count) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % count;
}

/* ---- places ---- */

/* What the places hold: the value that was assigned last, by thread of the memory. */
struct places {
    ir_operand reg[REGISTERS], slot[SLOTS][2];
    unsigned thread[REGISTERS];
};

static bool holds(const struct ir *ir, const struct places *places, ir_operand operand, unsigned thread) {
    if (!ir_is_value(operand)) {
        return true;
    }
    const struct ir_value *const value = &ir->values[operand];
    if (value->in_memory) {
        return places->slot[value->place][thread] == operand;
    }
    const unsigned reg = thread ? value->second : value->place;
    return places->reg[reg] == operand && places->thread[reg] == thread;
}

static void assign(const struct ir *ir, struct places *places, ir_operand operand, unsigned thread) {
    const struct ir_value *const value = &ir->values[operand];
    if (value->in_memory) {
        places->slot[value->place][thread] = operand;
    } else {
        const unsigned reg = thread ? value->second : value->place;
        places->reg[reg] = operand;
        places->thread[reg] = thread;
    }
}

/* Execute instructions by thread, as a back end emits them; false: an operand has been replaced. */
static bool execute(const struct ir *ir, uint32_t begin, uint32_t end, struct places *places) {
    bool good = true;
    for (uint32_t next = begin; begin < end; begin = next) {
        next = ir_run_end(ir, begin);
        for (unsigned thread = 0; thread < 2; thread++) {
            for (uint32_t i = begin; i < next; i++) {
                const struct ir_instruction *const ins = &ir->instructions[i];
                good &= holds(ir, places, ins->a, thread) && holds(ir, places, ins->b, thread);
                good &= !ins->keep || holds(ir, places, ins->dst, thread);
                if (ir_is_value(ins->dst)) {
                    assign(ir, places, ins->dst, thread);
                }
            }
        }
    }
    return good;
}

static void add_random(struct ir *ir, ir_operand *values, unsigned count, bool in_loop) {
    static const uint8_t ops[] = {IR_ADDPS, IR_MULPS, IR_MOVE, IR_PERMUTE, IR_WIDEN, IR_NARROW, IR_AND};
    const unsigned replaced = pick(count);
    struct ir_instruction ins = {.op = ops[pick(sizeof ops)], .a = values[pick(count)], .b = values[pick(count)]};
    if (in_loop && pick(3) == 0) { /* assign a variable */
        ins.op = IR_MOVE;
        ins.b = IR_NONE;
        ins.keep = true;
        ins.dst = values[pick(VALUES / 2)];
    } else {
        ins.dst = ir_value(ir, IR_VECTOR);
        values[in_loop ? VALUES / 2 + replaced % (count - VALUES / 2) : replaced] = ins.dst;
    }
    ir_add(ir, ins);
}

/* Variables, a loop that uses and assigns them in some runs, and uses behind it. */
static void values_keep_their_places(unsigned number) {
    const struct ir_registers registers = {
        .vectors = REGISTERS, .shared = true, .by_thread = true, .short_lived = 5, .slots = SLOTS};
    struct ir ir = {0};
    struct places places;
    ir_operand values[VALUES];

    ir_clear(&ir);
    for (unsigned v = 0; v < VALUES; v++) {
        values[v] = v < VALUES / 2 ? ir_variable(&ir, IR_VECTOR) : ir_value(&ir, IR_VECTOR);
        ir_add(&ir, (struct ir_instruction){.op = IR_LOAD, .dst = values[v]});
    }
    const uint32_t top = ir.count;
    ir_add(&ir, (struct ir_instruction){.op = IR_LABEL, .at = ir_label(&ir)});
    ir_operand inside[VALUES];
    memcpy(inside, values, sizeof inside);
    for (unsigned i = 0; i < 10 + pick(40); i++) {
        add_random(&ir, inside, VALUES, true);
        if (pick(8) == 0) {
            ir_add(&ir, (struct ir_instruction){.op = IR_JUMP_IF_ANY, .a = inside[pick(VALUES)]});
        }
    }
    ir_add(&ir, (struct ir_instruction){.op = IR_TURN});
    ir_end_loop(&ir, top);
    const uint32_t bottom = ir.count;
    for (unsigned i = 0; i < 10; i++) {
        add_random(&ir, values, VALUES, false);
    }
    check(ir_allocate(&ir, &registers), "the values have places", number);
    memset(&places, 0, sizeof places);
    check(execute(&ir, 0, top, &places), "before the loop", number);
    for (int turn = 0; turn < 3; turn++) {
        check(execute(&ir, top, bottom, &places), "in the loop", number);
    }
    check(execute(&ir, bottom, ir.count, &places), "behind the loop", number);
    ir_free(&ir);
}

/* ---- loops that wait ---- */

/* Add a loop: a chain of an operation on one variable, and other operations that depend on nothing. */
static void add_loop(struct ir *ir, enum ir_op op, unsigned chain, unsigned others) {
    const ir_operand x = ir_variable(ir, IR_VECTOR);
    ir_add(ir, (struct ir_instruction){.op = IR_LOAD, .dst = x});
    const uint32_t top = ir->count;
    ir_add(ir, (struct ir_instruction){.op = IR_LABEL, .at = ir_label(ir)});
    for (unsigned i = 0; i < chain; i++) {
        ir_add(ir, (struct ir_instruction){.op = (uint8_t)op, .dst = x, .a = x, .b = x});
    }
    for (unsigned i = 0; i < others; i++) {
        ir_add(ir, (struct ir_instruction){.op = IR_MULPS, .dst = ir_value(ir, IR_VECTOR), .a = x, .b = x});
    }
    ir_end_loop(ir, top);
}

static bool loop_waits(enum ir_op op, unsigned chain, unsigned others) {
    struct ir ir = {0};
    ir_clear(&ir);
    add_loop(&ir, op, chain, others);
    const bool waits = ir_waits(&ir);
    ir_free(&ir);
    return waits;
}

static void loops_that_wait(void) {
    check(loop_waits(IR_ROOT, 1, 10), "a root and ten operations beside it", 0);
    check(loop_waits(IR_ADDPS, 10, 10), "a chain of sums", 0);
    check(!loop_waits(IR_ROOT, 1, 100), "a root and a hundred operations beside it", 0);
    check(!loop_waits(IR_ADD, 10, 30), "a chain of integer sums", 0);
}

/* Only the inner one counts: the outer one makes few turns. */
static void a_loop_around_another_one(void) {
    struct ir ir = {0};
    ir_clear(&ir);
    const ir_operand x = ir_variable(&ir, IR_VECTOR);
    ir_add(&ir, (struct ir_instruction){.op = IR_LOAD, .dst = x});
    const uint32_t top = ir.count;
    ir_add(&ir, (struct ir_instruction){.op = IR_INVERSE_ROOT, .dst = x, .a = x});
    add_loop(&ir, IR_ADD, 1, 20);
    ir_end_loop(&ir, top);
    check(!ir_waits(&ir), "an inner loop that does not wait", 0);
    ir_free(&ir);
}

int main(void) {
    for (unsigned number = 0; number < PROGRAMS; number++) {
        values_keep_their_places(number);
    }
    loops_that_wait();
    a_loop_around_another_one();
    return failures != 0;
}
