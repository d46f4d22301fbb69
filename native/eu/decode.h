/*
 * Shared by the decoders of instruction words from Gen7 on.
 */
#ifndef G4_EU_DECODE_H
#define G4_EU_DECODE_H

#include "eu/op.h"

enum {
    G4_MASK_CHANNELS = 16, /* the channel enables repeat from here on */
    G4_MAX_PAYLOAD = 15,   /* registers of a message */
};

/* Make a source an immediate of 32 bits or less; `type` is an enum gen9_imm, of which Gen7 has a part. */
void g4_decode_immediate(struct g4_src *src, uint8_t type, uint32_t bits);
/* Make a source an immediate of 64 bits; `type` is an enum g4_type. */
void g4_decode_immediate64(struct g4_src *src, uint8_t type, uint64_t bits);

/* The kind of an architecture register. */
uint8_t g4_decode_architecture_kind(uint32_t reg);

/* Decide how many passes an instruction has, which channels, flags and parts of its operands belong to each.
 * `same_enables`: both passes have the first channels' enables. */
void g4_decode_passes(struct g4_op *op, unsigned sources, bool same_enables);

enum g4_exec_type g4_decode_exec_type(const struct g4_op *op, const struct g4_opcode_info *info);

/* Integer opcodes treat operands as integers.  Compilers give them type F only on null registers. */
void g4_decode_integers_only(struct g4_op *op);

/* Of two dwords, the multiplier uses the low half of the second, where Gen4 uses that of the first. */
void g4_decode_exchange_factors(struct g4_op *op);

/* For fast handlers: the first flag and half of the enables, of groups of eight channels. */
void g4_decode_lanes(struct g4_op *op);

/* Whether a branch has a second target (UIP). */
bool g4_decode_has_two_targets(const struct g4_op *op);

/* Recognize a render target write from Gen7 on, whose descriptor is known, and the last one of a thread if it consists
 * of colors only. */
void g4_decode_target_write(struct g4_op *op);

#endif
