/*
 * Fast handlers: the shapes of instructions that clients emit, for all threads of a gang at once (spec/40 15.3).
 */
#ifndef G4_EU_FAST_H
#define G4_EU_FAST_H

#include "run.h"

enum g4_fast {
    G4_FAST_NOTHING,
    G4_FAST_COUNT,
};

enum {
    G4_HANDLER_COUNT = G4_HANDLER_FAST + G4_FAST_COUNT
};

struct g4_fast_handlers {
    g4_handler_fn *handler[G4_FAST_COUNT];
};

/* Choose the handler of a decoded op, and prepare its operands for it. */
void g4_fast_select(struct g4_op *op, uint32_t gen);

#endif
