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
    MAX_CONSTANTS = 64,
};

/* An open loop or branch. */
struct frame {
    uint32_t begin, end, other; /* ops; `other`: the ELSE, or 0 */
    uint32_t top, first;        /* of a loop: label of its first instruction, and its index */
    uint32_t exit;              /* label of the end */
    uint32_t to_other;          /* label to which an IF jumps: at its ELSE or ENDIF */
    uint32_t weight;            /* of instructions before it */
    ir_operand masks[2];        /* at its start, without lanes that have left */
    bool is_loop;
    /* with channel pointers */
    ir_operand others[2];    /* of a branch: lanes of its other side */
    bool is_left;            /* of a branch: lanes may leave the loop around it */
    uint32_t block;          /* the basic block that all of its threads execute first */
    uint32_t known_elements; /* before it */
};

/* A dword that a move of an immediate writes, whatever channels are enabled. */
struct constant_write {
    uint32_t at; /* op */
    uint8_t row, dword;
    bool by_all; /* each thread executes it before any read, and it is the only write: stored at the end */
    bool only;   /* it is the only write of the element */
    uint32_t bits;
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
    struct constant_write constants[MAX_CONSTANTS];
    int constant_count;
    bool too_many_constants;
    bool has_constants[ROWS];
};

static inline bool is_if(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_IF || op->opcode == G4_OPCODE_IFF;
}

static inline bool is_flow(const struct g4_op *op) {
    return g4_op_is_flow(op);
}

/* The loops that begin at an op without an instruction of their own. */
static inline unsigned begins_at(const struct loop *loop, uint32_t at) {
    return loop->t->begins[loop->t->first + at];
}

static inline bool begins_with_loop(const struct loop *loop) {
    return begins_at(loop, 0) || loop->ops[0].opcode == G4_OPCODE_DO;
}

/* Find out how the loop uses rows; false: it cannot be translated. */
bool g4_loop_record(struct loop *loop);
/* Translate a move of an immediate to an element; false: not possible. */
bool g4_loop_write_constant(struct loop *loop, uint32_t at);
/* Store the elements that are written by all threads. */
void g4_loop_store_constants(struct loop *loop);
/* Load all rows and elements of the loop, and check those that must not be special. */
void g4_loop_load(struct loop *loop);
/* List the rows that are written but never read, which are stored in place; returns their number. */
uint32_t g4_loop_stored_rows(const struct loop *loop, uint8_t rows[ROWS]);

#endif
