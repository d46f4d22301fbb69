/*
 * Instructions on dwords that are wider than lanes: products that pass through the accumulator (mul with the low halves
 * of one source, then mach with the high ones; compilers divide by constants and extend products so). The handler has
 * no vector variants.
 */
#include <string.h>

#include "eu/fast/fast.h"
#include "eu/run.h"

enum {
    ROW = 8, /* channels of a part */
};

/* The numbers of a source in a part of a thread. */
static void load(const struct g4_run *run, const struct g4_op *op, int s, int part, int thread, int64_t out[ROW]) {
    const struct g4_fast_src *const in = &op->in[s];
    const uint8_t *const registers = (const uint8_t *)run->gang + sizeof *run->gang->grf->ud * (unsigned)thread;
    const uint16_t *const off = &in->off[ROW * part];
    uint32_t bits[ROW] = {0};

    if (in->load == G4_LOAD_IMM) {
        memcpy(bits, &in->imm[ROW * part], sizeof bits);
    } else if (in->load == G4_LOAD_PACKED) {
        memcpy(bits, registers + off[0], sizeof bits);
    } else if (in->size == sizeof(uint16_t)) {
        for (unsigned c = 0; c < op->count; c++) {
            memcpy(&bits[c], registers + off[c], sizeof(uint16_t));
        }
    } else {
        for (unsigned c = 0; c < op->count; c++) {
            memcpy(&bits[c], registers + off[c], sizeof *bits);
        }
    }
    for (unsigned c = 0; c < ROW; c++) {
        const uint32_t value = (bits[c] ^ (uint32_t)in->invert) - (uint32_t)in->minus;
        out[c] = op->src[s].type == G4_TYPE_D ? (int32_t)value : (int64_t)value;
    }
}

/* A product of two dwords uses only the low half of the first one, except on Gen9. */
static void start_product(struct g4_run *run, const struct g4_op *op, int part, int thread, unsigned enabled) {
    const int64_t factor = op->src[1].size == 2 || op->whole_product ? -1 : UINT16_MAX;
    int64_t *const slots = run->gang->acc[(op->dst.reg + part) & 1].i[thread];
    int64_t a[ROW];
    int64_t b[ROW];

    load(run, op, 0, part, thread, a);
    load(run, op, 1, part, thread, b);
    for (unsigned c = 0; c < op->count; c++) {
        const int64_t product = (int64_t)((uint64_t)(a[c] & factor) * (uint64_t)b[c]);
        slots[c] = enabled >> c & 1 ? product : slots[c];
    }
}

/* Stores the high dwords.  The accumulator takes the whole products, of disabled channels as well. */
static void complete_product(struct g4_run *run, const struct g4_op *op, int part, int thread, unsigned enabled) {
    const bool accumulates = op->acc_write && !(run->gang->cr0[thread][0] & G4_CR0_ACC_DISABLE);
    int64_t *const slots = run->gang->acc[(op->acc + part) & 1].i[thread];
    uint8_t *const registers = (uint8_t *)run->gang + sizeof *run->gang->grf->ud * (unsigned)thread;
    int64_t a[ROW];
    int64_t b[ROW];

    load(run, op, 0, part, thread, a);
    load(run, op, 1, part, thread, b);
    for (unsigned c = 0; c < op->count; c++) {
        const uint64_t product = (uint64_t)slots[c] + ((uint64_t)((a[c] >> 16) * b[c]) << 16);
        const uint32_t high = (uint32_t)(product >> 32);
        if (accumulates) {
            slots[c] = (int64_t)product;
        }
        if ((enabled >> c & 1) && op->out.store != G4_STORE_NULL) {
            memcpy(registers + op->out.off[ROW * (unsigned)part + c], &high, sizeof high);
        }
    }
}

void g4_dwords(struct g4_run *run, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const int half = op->half + part;
        const g4_lanes exec = (op->nomask ? run->group : run->exec[half]) & op->written;
        const g4_lanes lanes = exec & g4_predicate(run->gang, op, half);
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            if (run->threads >> t & 1) {
                (op->opcode == G4_OPCODE_MUL ? start_product : complete_product)(run, op, part, t,
                                                                                 g4_thread_lanes(lanes, t));
            }
        }
    }
}
