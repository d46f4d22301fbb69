/*
 * Decodes the toy's instruction words: those of Gen4.5 with other opcode numbers.
 */
#include "eu/op.h"
#include "isa_toy.h"

enum {
    OPCODE_MASK = 0x7f
};

void g4_decode_toy(struct g4_op *op, const uint32_t words[4], const struct g4_model *model, uint32_t ip,
                   uint32_t length) {
    const uint32_t gen4[4] = {(words[0] & ~(uint32_t)OPCODE_MASK) | toy_opcode[words[0] & OPCODE_MASK], words[1],
                              words[2], words[3]};

    g4_decode_gen4(op, gen4, model, ip, length);
}
