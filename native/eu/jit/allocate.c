/*
 * Register allocation of the intermediate form.
 *
 * A value has one place for all of its life: a register that no other value has in that range of instructions, or a
 * slot in memory.  Values are served by how often they are used for the length of their lives.
 */
#include <stdlib.h>
#include <string.h>

#include "eu/jit/ir.h"

enum {
    WORD_BITS = 64
};

/* For each place, the positions at which it is taken. */
struct taken_places {
    uint64_t *taken;
    uint32_t words; /* of a place */
};

static bool is_free(const struct taken_places *places, unsigned place, uint32_t from, uint32_t to) {
    const uint64_t *const taken = places->taken + (size_t)place * places->words;
    for (uint32_t w = from / WORD_BITS; w <= to / WORD_BITS; w++) {
        uint64_t wanted = ~UINT64_C(0);
        if (w == from / WORD_BITS) {
            wanted &= ~UINT64_C(0) << from % WORD_BITS;
        }
        if (w == to / WORD_BITS) {
            wanted &= ~UINT64_C(0) >> (WORD_BITS - 1 - to % WORD_BITS);
        }
        if (taken[w] & wanted) {
            return false;
        }
    }
    return true;
}

static void take(const struct taken_places *places, unsigned place, uint32_t from, uint32_t to) {
    uint64_t *const taken = places->taken + (size_t)place * places->words;
    for (uint32_t i = from; i <= to; i++) {
        taken[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
    }
}

static void release(const struct taken_places *places, unsigned place, uint32_t from, uint32_t to) {
    uint64_t *const taken = places->taken + (size_t)place * places->words;
    for (uint32_t i = from; i <= to; i++) {
        taken[i / WORD_BITS] &= ~(UINT64_C(1) << i % WORD_BITS);
    }
}

static int find_free(const struct taken_places *places, unsigned first, unsigned count, const struct ir_value *value) {
    for (unsigned p = first; p < first + count; p++) {
        if (is_free(places, p, value->from, value->to)) {
            take(places, p, value->from, value->to);
            return (int)p;
        }
    }
    return -1;
}

/* Find a register for each thread; false: there are not enough. */
static bool find_registers(const struct taken_places *places, unsigned first, unsigned count, bool two,
                           const struct ir_value *value, int registers[2]) {
    registers[0] = registers[1] = find_free(places, first, count, value);
    if (registers[0] >= 0 && two) {
        registers[1] = find_free(places, first, count, value);
        if (registers[1] < 0) {
            release(places, (unsigned)registers[0], value->from, value->to);
        }
    }
    return registers[1] >= 0;
}

static void touch(struct ir *ir, ir_operand operand, uint32_t position) {
    if (!ir_is_value(operand)) {
        return;
    }
    struct ir_value *const value = &ir->values[operand];
    if (!value->used) {
        value->used = true;
        value->from = position;
    }
    value->to = position;
}

/* Operations whose machine code may write dst before it has read everything. */
static bool writes_early(const struct ir_instruction *ins) {
    switch (ins->op) {
    case IR_FROM_UD:
    case IR_PERMUTE:
    case IR_WORDS:
    case IR_LOAD_ELEMENT:
    case IR_NARROW:
    case IR_SPREAD:
    case IR_INVERSE:
    case IR_ROOT:
    case IR_INVERSE_ROOT:
    case IR_MASK_FIRST:
    case IR_MASK_THREAD:
    case IR_MASK_BLEND:
    case IR_STORE_WORDS:
        return true;
    default:
        return false;
    }
}

/* Let values that are used in several runs exist in all of each run: between their uses in one thread, the other one
 * executes the whole run. */
static void extend_to_runs(struct ir *ir, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        const struct ir_instruction *const ins = &ir->instructions[i];
        const ir_operand used[] = {ins->dst, ins->a, ins->b, ins->c, ins->mask};
        for (unsigned n = 0; n < sizeof used / sizeof *used; n++) {
            struct ir_value *const value = ir_is_value(used[n]) ? &ir->values[used[n]] : NULL;
            if (value && (value->from < 2 * begin || value->to >= 2 * end)) {
                value->crosses = true;
                value->from = value->from < 2 * begin ? value->from : 2 * begin;
                value->to = value->to < 2 * end ? 2 * end - 1 : value->to;
            }
        }
    }
}

/* Mark the values that a loop assigns and that exist before it. */
static void find_carried(struct ir *ir, const struct ir_loop *loop) {
    for (uint32_t i = loop->begin; i < loop->end; i++) {
        const ir_operand dst = ir->instructions[i].dst;
        if (ir_is_value(dst) && ir->values[dst].from < 2 * loop->begin) {
            ir->values[dst].carried = true;
        }
    }
}

static void find_live_ranges(struct ir *ir, bool by_thread) {
    for (uint32_t i = 0; i < ir->count; i++) {
        const struct ir_instruction *const ins = &ir->instructions[i];
        touch(ir, ins->a, 2 * i);
        touch(ir, ins->b, 2 * i);
        touch(ir, ins->c, 2 * i);
        touch(ir, ins->mask, 2 * i);
        if (ins->keep || writes_early(ins)) {
            touch(ir, ins->dst, 2 * i);
        }
        touch(ir, ins->dst, 2 * i + 1);
    }
    for (uint32_t begin = 0, end = 0; by_thread && begin < ir->count; begin = end) {
        end = ir_run_end(ir, begin);
        extend_to_runs(ir, begin, end);
    }
    /* A value from before a loop that is used in it exists in all of its turns.  Inner loops end before outer ones. */
    for (uint32_t l = 0; l < ir->loop_count; l++) {
        const uint32_t begin = 2 * ir->loops[l].begin;
        const uint32_t end = 2 * ir->loops[l].end;
        for (uint32_t v = 1; v < ir->value_count; v++) {
            struct ir_value *const value = &ir->values[v];
            if (value->used && value->from < begin && value->to >= begin) {
                value->to = value->to < end ? end : value->to;
            }
        }
        find_carried(ir, &ir->loops[l]);
    }
}

struct candidate {
    uint64_t score;
    uint32_t value;
};

static int by_score(const void *a, const void *b) {
    const struct candidate *const x = a;
    const struct candidate *const y = b;
    if (x->score != y->score) {
        return x->score < y->score ? 1 : -1;
    }
    return x->value < y->value ? -1 : 1;
}

static bool place_all(struct ir *ir, const struct ir_registers *registers, const struct candidate *candidates,
                      uint32_t count, const struct taken_places *places) {
    const unsigned masks = registers->vectors;
    const unsigned slots = masks + registers->masks;
    for (uint32_t i = 0; i < count; i++) {
        struct ir_value *const value = &ir->values[candidates[i].value];
        const bool vector = value->class == IR_VECTOR || registers->shared;
        const unsigned first = value->carried ? registers->short_lived : 0;
        const unsigned start = vector ? first : masks;
        const unsigned end = vector ? masks : slots;
        int reg[2];
        if (!value->is_row &&
            find_registers(places, start, end - start, registers->by_thread && value->crosses, value, reg)) {
            const unsigned base = vector ? 0 : masks - registers->first_mask; /* the place of register 0 */
            value->in_memory = false;
            value->place = (uint8_t)((unsigned)reg[0] - base);
            value->second = (uint8_t)((unsigned)reg[1] - base);
            continue;
        }
        const int slot = find_free(places, slots, registers->slots, value);
        if (slot < 0) {
            return false;
        }
        value->in_memory = true;
        value->place = (uint8_t)((unsigned)slot - slots);
    }
    return true;
}

bool ir_allocate(struct ir *ir, const struct ir_registers *registers) {
    if (ir->failed) {
        return false;
    }
    struct taken_places places = {.words = (2 * ir->count + 2) / WORD_BITS + 1};
    const size_t count = (size_t)registers->vectors + registers->masks + registers->slots;
    struct candidate *const candidates = malloc((ir->value_count + 1) * sizeof *candidates);
    uint32_t used = 0;

    places.taken = calloc(count * places.words, sizeof *places.taken);
    bool done = candidates && places.taken;
    if (done) {
        find_live_ranges(ir, registers->by_thread);
        for (uint32_t v = 1; v < ir->value_count; v++) {
            const struct ir_value *const value = &ir->values[v];
            if (value->used) {
                const uint64_t uses = value->weight;
                const uint64_t score = value->carried ? uses << 32 : (uses << 16) / (value->to - value->from + 4);
                candidates[used++] = (struct candidate){score, v};
            }
        }
        qsort(candidates, used, sizeof *candidates, by_score);
        done = place_all(ir, registers, candidates, used, &places);
    }
    free(candidates);
    free(places.taken);
    return done;
}
