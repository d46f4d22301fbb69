/*
 * The registers that must be zero before a kernel runs.
 *
 * Threads start with registers of zeros, so that the same input gives the same bits.  Clearing all of them for every
 * gang took an eighth of the time of a plain pixel shader; most are written before they are read.
 */
#include "eu/fast/fast.h"
#include "eu/kernel.h"
#include "eu/run.h"

static const struct g4_row_set every_row = {{UINT64_MAX, UINT64_MAX}};

static bool is_stack(uint8_t kind, uint8_t reg) {
    return kind == G4_KIND_ARF && (reg >> 4 == G4_ARF_MS || reg >> 4 == G4_ARF_MSD);
}

/* A system routine, which may read anything, may run after the instruction. */
static bool may_run_routine(const struct g4_op *op) {
    return op->breakpoint || (op->dst.kind == G4_KIND_ARF && op->dst.reg >> 4 == G4_ARF_CR);
}

/* The registers of the GRF that an instruction may read. */
static struct g4_row_set rows_read(const struct g4_op *op) {
    const unsigned sources = op->opcode == G4_OPCODE_SEND ? 2 : g4_opcode_info[op->opcode].sources;
    struct g4_row_set set = {{0, 0}};

    if (may_run_routine(op)) {
        return every_row;
    }
    if (op->grf_payload) {
        for (unsigned i = 0; i < op->payload_length; i++) {
            g4_row_set_add(&set, op->mrf + i);
        }
        for (unsigned i = 0; i < op->second_length; i++) {
            g4_row_set_add(&set, op->second_payload + i);
        }
    }
    for (unsigned s = 0; s < sources; s++) { /* other operands are bits of immediates and jumps */
        const struct g4_src *const src = &op->src[s];
        if (src->kind == G4_KIND_INDIRECT || src->kind == G4_KIND_INDEXED) {
            return every_row;
        }
        if (src->kind == G4_KIND_GRF && !op->grf_payload) {
            g4_row_set_add_region(&set, op, src);
        }
    }
    return set;
}

/* Whether the instructions up to this one are executed once, in order, by all channels that are dispatched. */
static bool is_straight(const struct g4_op *op) {
    const bool common = op->handler >> 8 == G4_TABLE_COMMON;
    const bool plain = !common || op->handler == G4_HANDLER_GENERAL || op->handler == G4_HANDLER_SEND ||
                       op->handler == G4_HANDLER_NOP || op->handler == G4_HANDLER_INDIRECT ||
                       op->handler == G4_HANDLER_DOT_INTEGER || op->handler == G4_HANDLER_DWORDS ||
                       op->handler == G4_HANDLER_HALVES;
    const bool writes = op->dst.kind == G4_KIND_ARF && op->opcode != G4_OPCODE_SEND;
    const unsigned arf = writes ? op->dst.reg >> 4 : (unsigned)G4_ARF_NULL;
    return plain && !op->joins && !op->breakpoint && !op->undefined && !g4_op_branches(op) &&
           (arf == G4_ARF_NULL || arf == G4_ARF_A || arf == G4_ARF_F);
}

/* Add the rows that an instruction writes whole, if all channels are enabled. */
static void add_written(const struct g4_op *op, struct g4_row_set *set) {
    const bool gated = op->predicate != G4_PRED_NONE && op->opcode != G4_OPCODE_SEL;
    if (!g4_has_lanes(op) || op->dst.kind != G4_KIND_GRF || op->out.store != G4_STORE_PACKED ||
        op->written != UINT64_MAX || gated) {
        return;
    }
    for (int part = 0; part < op->parts; part++) {
        g4_row_set_add(set, op->out.off[8 * part] / (unsigned)sizeof(union g4_reg));
    }
}

void g4_find_start_state(struct g4_kernel *kernel) {
    struct g4_start_state *const start = &kernel->start;
    struct g4_row_set written = {{0, 0}};
    bool straight = true;

    *start = (struct g4_start_state){.mrf = kernel->leaves, .acc = kernel->leaves, .stacks = kernel->leaves};
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        const bool sends = op->opcode == G4_OPCODE_SEND;
        const unsigned sources = sends ? 2 : g4_opcode_info[op->opcode].sources;
        const struct g4_row_set read = kernel->leaves ? every_row : rows_read(op);
        for (unsigned word = 0; word < G4_GRF_COUNT / 64; word++) {
            start->grf.bits[word] |= read.bits[word];
            start->grf_if_full.bits[word] |= read.bits[word] & ~written.bits[word];
        }
        for (unsigned s = 0; s < sources; s++) {
            start->acc |= op->src[s].kind == G4_KIND_ACC;
            start->stacks |= is_stack(op->src[s].kind, op->src[s].reg);
        }
        start->mrf |= sends && !op->grf_payload;
        start->acc |= may_run_routine(op) || g4_op_reads_acc(op);
        start->stacks |= may_run_routine(op) || is_stack(op->dst.kind, op->dst.reg);
        straight = straight && is_straight(op);
        if (straight) {
            add_written(op, &written);
        }
    }
    if (kernel->count == 0) {
        start->grf = start->grf_if_full = every_row;
    }
}
