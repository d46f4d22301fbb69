/*
 * The state of a loop during its translation: control flow (loops.c) and its rows (loop_rows.c).
 */
#ifndef G4_EU_JIT_LOOPS_H
#define G4_EU_JIT_LOOPS_H

#include "eu/jit/operands.h"

enum {
    MAX_OPS = 1024,
    MAX_ELEMENTS = 64,
    MAX_COPIES = 64,
};

/* An open loop or branch. */
struct frame {
    uint32_t begin, end, other; /* ops; `other`: the ELSE, or 0 */
    uint32_t top, first;        /* of a loop: label of its first instruction, and its index */
    uint32_t exit;              /* label of the end */
    uint32_t to_other;          /* label to which an IF jumps: at its ELSE or ENDIF */
    uint32_t weight;            /* of instructions before it */
    ir_operand masks[2];        /* at its start, without lanes that have left */
};

/* One dword of each thread that instructions read in all lanes. */
struct element {
    uint8_t row, dword;
    bool floats;
    uint32_t score;
};

struct loop {
    struct translator *t;
    const struct g4_op *ops;
    uint32_t count;
    uint32_t basic_block_count;
    struct g4_block_cost basic_blocks[G4_LOOP_BLOCKS];
    int flag; /* flag register that is used; -1: none */
    struct frame frame[G4_LOOP_DEPTH];
    int depth;
    uint32_t failure; /* label */

    /* use of registers */
    bool read[ROWS], singles[ROWS], written[ROWS], floats[ROWS], may_be_nan[ROWS];
    bool exposed[ROWS];    /* read in lanes that may not have been written since the start */
    uint8_t covered[ROWS]; /* bit h: all lanes of half h have been written */
    uint32_t score[ROWS];
    struct element elements[MAX_ELEMENTS];
    int element_count;
    uint8_t copy_to[MAX_COPIES], copy_from[MAX_COPIES];
    int copy_count;
};

static inline bool is_if(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_IF || op->opcode == G4_OPCODE_IFF;
}

static inline bool is_flow(const struct g4_op *op) {
    return op->handler == G4_HANDLER_FLOW;
}

/* Find out how the loop uses rows. */
void g4_loop_record(struct loop *loop);
/* Load all rows and elements of the loop, and check those that must not be NaN or infinite. */
void g4_loop_load(struct loop *loop);
/* List the rows that are written but never read, which are stored in place; returns their number. */
uint32_t g4_loop_stored_rows(const struct loop *loop, uint8_t rows[ROWS]);

#endif
