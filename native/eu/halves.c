/*
 * Instructions of 32 channels as two of sixteen.
 *
 * Gen8 and later compilers compute the positions of sixteen pixels, pairs of words, in one instruction.  Its passes
 * have the form of instructions that fast handlers and machine code know.
 */
#include <stdlib.h>

#include "eu/fast/fast.h"
#include "eu/kernel.h"
#include "eu/run.h"

enum {
    HALF_CHANNELS = 16,
    MOST_SOURCES = 2, /* of a half: those of both have room in struct g4_op_rows */
};

static bool has_plain_operands(const struct g4_op *op) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    bool plain = op->dst.kind == G4_KIND_GRF && sources > 0 && sources <= MOST_SOURCES;
    for (unsigned s = 0; s < sources; s++) {
        plain &= op->src[s].kind == G4_KIND_GRF || op->src[s].kind == G4_KIND_IMM;
    }
    return plain;
}

/* Flags and enables of channels 16 to 31 are those of sixteen others, so neither may count. */
static bool has_halves(const struct g4_op *op) {
    return op->handler == G4_HANDLER_GENERAL && op->passes == 2 && op->channels == HALF_CHANNELS && op->nomask &&
           !op->align16 && op->predicate == G4_PRED_NONE && op->cond == G4_COND_NONE && !op->acc_write && !op->upper &&
           !op->undefined && !op->no_lanes && has_plain_operands(op);
}

static struct g4_op half_of_instruction(const struct g4_op *op, unsigned pass) {
    struct g4_op half = *op;
    half.passes = 1;
    half.exec_size = HALF_CHANNELS;
    half.dst.base = (uint16_t)(op->dst.base + pass * op->dst.pass_bytes);
    half.dst.reg = (uint8_t)(half.dst.base / G4_REGISTER_BYTES);
    for (unsigned s = 0; s < g4_opcode_info[op->opcode].sources; s++) {
        if (op->src[s].kind == G4_KIND_GRF) { /* the elements of an immediate repeat after eight channels */
            half.src[s].base = (uint16_t)(op->src[s].base + pass * op->src[s].pass_bytes);
        }
    }
    return half;
}

static bool find_halves(const struct g4_op *op, const struct g4_quirks *quirks, struct g4_op halves[2]) {
    for (unsigned pass = 0; pass < 2; pass++) {
        halves[pass] = half_of_instruction(op, pass);
        if (g4_fast_select(&halves[pass], quirks) || halves[pass].handler >> 8 == G4_TABLE_COMMON) {
            return false;
        }
    }
    return true;
}

void g4_kernel_find_halves(struct g4_kernel *kernel, const struct g4_quirks *quirks) {
    uint32_t candidates = 0;
    uint32_t used = 0;

    for (uint32_t i = 0; i < kernel->count; i++) {
        candidates += has_halves(&kernel->ops[i]);
    }
    kernel->half_count = 2 * candidates;
    kernel->halves = candidates ? malloc(kernel->half_count * sizeof *kernel->halves) : NULL;
    for (uint32_t i = 0; kernel->halves && i < kernel->count; i++) {
        struct g4_op *const op = &kernel->ops[i];
        struct g4_op *const halves = &kernel->halves[2 * (size_t)used];
        if (has_halves(op) && find_halves(op, quirks, halves)) {
            op->halves = halves;
            op->handler = G4_HANDLER_HALVES;
            used++;
        }
    }
}

void g4_halves(struct g4_run *run, const struct g4_op *op) {
    for (unsigned pass = 0; pass < 2; pass++) {
        const struct g4_op *const half = &op->halves[pass];
        run->tables[half->handler >> 8]->handler[half->handler & 0xff](run, half);
    }
}
