/*
 * Operands as the fast handlers read and write them: struct g4_fast_src and g4_fast_dst of an instruction.
 *
 * The functions that return false leave the instruction to the general handler.
 */
#ifndef G4_EU_FAST_PREPARE_H
#define G4_EU_FAST_PREPARE_H

#include "eu/op.h"

/* One pass of sixteen channels, which are words or bytes. */
static inline bool g4_op_is_word16(const struct g4_op *op) {
    return op->passes == 1 && op->parts == 2;
}

/* Fill op->in for arithmetic in floats or in integers. */
bool g4_fast_prepare_sources(struct g4_op *op, bool floats);
/* Fill op->out. */
bool g4_fast_prepare_destination(struct g4_op *op);
/* Fill one source from an immediate or a null operand; false: its conversion to a float is not exact. */
bool g4_fast_prepare_immediate(const struct g4_src *src, bool floats, struct g4_fast_src *in);

enum {
    G4_QUAD_CHANNELS = 4
};

/* Prepare the operands for the handlers of quad.c, by pass: element 4 * pass + c of `off` and `imm`.  False: those have
 * no such form. */
bool g4_fast_prepare_quad(struct g4_op *op);
/* Prepare the operands for g4_dwords.  False: it does not execute this instruction. */
bool g4_fast_prepare_dwords(struct g4_op *op);
/* Recognize the implied moves of a send that have a fast path: whole_move, or dword_move with in[0].off. */
void g4_fast_prepare_send(struct g4_op *op);
/* With indirect operands: let G4_HANDLER_INDIRECT check the addresses before the chosen handler runs. */
void g4_fast_prepare_addresses(struct g4_op *op);

#endif
