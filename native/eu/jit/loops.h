/*
 * A region while it is translated: what the flow of it (region.c) and its registers (region_registers.c) share.
 */
#ifndef G4_EU_JIT_LOOPS_H
#define G4_EU_JIT_LOOPS_H

#include "eu/jit/operands.h"

enum {
    MAX_OPS = 1024,
    MAX_EXITS = 32,
    MAX_ELEMENTS = 64,
    MAX_COPIES = 64,
};

/* A loop or branch that is open. */
struct frame {
    uint32_t begin, end, other; /* ops; `other`: the ELSE, or 0 */
    size_t top;                 /* code of a loop's first instruction */
    size_t exits[MAX_EXITS];
    int exit_count;
    size_t to_other; /* jump from IF */
};

/* One dword of each thread that instructions want in all lanes. */
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
    int flag; /* the one that is used, or -1 */
    struct frame frame[G4_LOOP_DEPTH];
    int depth;
    size_t failures[MAX_EXITS];
    int failure_count;

    /* what it does with registers */
    bool read[ROWS], written[ROWS], floats[ROWS], may_be_nan[ROWS];
    bool exposed[ROWS];    /* read in lanes that may still have what they had before the region */
    uint8_t covered[ROWS]; /* bit h: the lanes of half h have been written */
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

/* Hand out vector registers; false: there is not enough room for its rows. */
bool g4_loop_allocate(struct loop *r);
/* Its rows and elements from the gang; where they must be numbers, they are looked at. */
void g4_loop_load(struct loop *r);
/* What it has written, back to the gang. */
void g4_loop_store(struct loop *r);
/* Rows that are only written are stored where they belong; which ones, and how many. */
uint32_t g4_loop_stored_rows(const struct loop *r, uint8_t rows[ROWS]);

#endif
