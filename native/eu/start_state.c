/*
 * The registers that must be zero before a kernel runs, and those that it changes.
 *
 * Threads start with registers of zeros, so that the same input gives the same bits.  Clearing all of them for every
 * gang took an eighth of the time of a plain pixel shader; most are written before they are read.
 */
#include "eu/fast/fast.h"
#include "eu/kernel.h"
#include "eu/run.h"
#include "hw_messages.h"
#include "messages_gen7.h"

enum {
    /* shared functions that change more of a thread than its registers, or other threads */
    REACHES_THREADS = 1 << G4_SHARED_FUNCTION_MESSAGE_GATEWAY | 1 << G4_SHARED_FUNCTION_THREAD_SPAWNER,
};

static const struct g4_row_set every_row = {{UINT64_MAX, UINT64_MAX}};

#define EVERY_MRF UINT16_MAX

_Static_assert(G4_MRF_COUNT == 16, "a bit for each register of the MRF");

/* Registers of both files. */
struct register_sets {
    struct g4_row_set grf;
    uint16_t mrf;
};

static bool is_stack(uint8_t kind, uint8_t reg) {
    return kind == G4_KIND_ARF && (reg >> 4 == G4_ARF_MS || reg >> 4 == G4_ARF_MSD);
}

/* A system routine, which may read anything, may run after the instruction. */
static bool may_run_routine(const struct g4_op *op) {
    return op->breakpoint || (op->dst.kind == G4_KIND_ARF && op->dst.reg >> 4 == G4_ARF_CR);
}

struct g4_row_set g4_rows_read(const struct g4_op *op) {
    const unsigned sources = op->opcode == G4_OPCODE_SEND ? 2 : g4_opcode_info[op->opcode].sources;
    struct g4_row_set set = {{0, 0}};

    if (may_run_routine(op)) {
        return every_row;
    }
    if (op->grf_payload) {
        for (unsigned i = 0; i < op->payload_length; i++) {
            g4_row_set_add(&set, (op->mrf + i) & (G4_GRF_COUNT - 1)); /* as g4_payload_register() */
        }
        for (unsigned i = 0; i < op->second_length; i++) {
            g4_row_set_add(&set, (op->second_payload + i) & (G4_GRF_COUNT - 1));
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

static uint16_t mrf_bit(unsigned number) {
    return (uint16_t)(1u << (number & (G4_MRF_COUNT - 1)));
}

uint16_t g4_mrf_moved(const struct g4_op *op) {
    uint16_t moved = 0;
    if (op->opcode == G4_OPCODE_SEND && !op->grf_payload && op->src[0].kind != G4_KIND_NULL) {
        for (unsigned pass = 0; pass < op->passes; pass++) {
            moved |= mrf_bit(op->mrf + pass);
        }
    }
    return moved;
}

uint16_t g4_mrf_read(const struct g4_op *op) {
    const bool moves = op->src[0].kind != G4_KIND_NULL;
    const unsigned length = g4_message_descriptor_message_length(op->descriptor);
    uint16_t read = 0;

    if (op->opcode != G4_OPCODE_SEND || op->grf_payload) {
        return may_run_routine(op) ? EVERY_MRF : 0;
    }
    if (op->src[1].kind != G4_KIND_IMM) {
        return EVERY_MRF;
    }
    for (unsigned pass = 0; pass < op->passes; pass++) {
        for (unsigned i = moves; i < length; i++) {
            read |= mrf_bit(op->mrf + pass + i);
        }
    }
    return read;
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

/* Whether an instruction writes all words of a register. */
static bool writes_words(const struct g4_op *op) {
    const unsigned first = op->out.off[0];
    return op->out.store == G4_STORE_WORDS && op->parts == 2 && first % G4_REGISTER_BYTES == 0 &&
           op->out.off[8] == first + G4_REGISTER_BYTES / 2;
}

/* Add the registers that an instruction writes whole, if all channels are enabled. */
static void add_written(const struct g4_op *op, struct register_sets *set) {
    const bool gated = op->predicate != G4_PRED_NONE && op->opcode != G4_OPCODE_SEL;
    if (!g4_has_lanes(op) || (op->dst.kind != G4_KIND_GRF && op->dst.kind != G4_KIND_MRF) ||
        !(op->out.store == G4_STORE_PACKED || writes_words(op)) || op->written != UINT64_MAX || gated) {
        return;
    }
    for (int part = 0; part < op->parts; part++) {
        const unsigned row = op->out.off[8 * part] / (unsigned)sizeof(union g4_reg);
        if (row < G4_GRF_COUNT) {
            g4_row_set_add(&set->grf, row);
        } else {
            set->mrf |= mrf_bit(row - G4_GRF_COUNT);
        }
    }
}

/* Whether an instruction writes a second register, after the ones that its destination names: a remainder. */
static bool has_second_result(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_MATH && op->function == G4_MATH_FUNCTION_INT_DIV_BOTH;
}

bool g4_add_rows_written(const struct g4_op *op, struct g4_row_set *set) {
    const struct g4_dst *const dst = &op->dst;
    const unsigned first = dst->base / G4_REGISTER_BYTES;
    const unsigned start = dst->base % G4_REGISTER_BYTES;
    unsigned bytes =
        start + (op->passes - 1u) * dst->pass_bytes + (op->channels - 1u) * dst->hstride * dst->size + dst->size;

    bytes += has_second_result(op) ? op->passes * G4_REGISTER_BYTES : 0;
    if (op->opcode == G4_OPCODE_SEND) { /* extended math has a region, whose rows are those of dwords */
        const unsigned length = op->grf_payload ? gen7_message_descriptor_response_length(op->descriptor)
                                                : g4_message_descriptor_response_length(op->descriptor);
        bytes = (length + op->passes - 2u) * G4_REGISTER_BYTES + start + 4u * (7u * dst->hstride + 1u);
        bytes = bytes > length * G4_REGISTER_BYTES ? bytes : length * G4_REGISTER_BYTES;
    }
    const bool writes = dst->kind == G4_KIND_GRF && op->handler != G4_HANDLER_NOP;
    for (unsigned row = 0; writes && row * G4_REGISTER_BYTES < bytes; row++) {
        g4_row_set_add(set, (first + row) & (G4_GRF_COUNT - 1)); /* responses wrap around */
    }
    return dst->kind != G4_KIND_INDIRECT && (op->opcode != G4_OPCODE_SEND || op->src[1].kind == G4_KIND_IMM);
}

/* Whether an instruction may write a register of the MRF. */
static bool may_write_mrf(const struct g4_op *op, unsigned number) {
    const struct g4_dst *const dst = &op->dst;
    const unsigned first = dst->base / G4_REGISTER_BYTES;
    const unsigned bytes = dst->base % G4_REGISTER_BYTES + (op->passes - 1u) * dst->pass_bytes +
                           (op->channels - 1u) * dst->hstride * dst->size + dst->size;
    uint16_t written = g4_mrf_moved(op);

    for (unsigned row = 0; dst->kind == G4_KIND_MRF && row * G4_REGISTER_BYTES < bytes; row++) {
        written |= mrf_bit(first + row);
    }
    return written & mrf_bit(number);
}

/* Whether the last instruction is a message whose header is R0, by its implied move, and a copy of R1. */
static bool sends_header(const struct g4_kernel *kernel) {
    const struct g4_op *const last = &kernel->ops[kernel->count - 1];
    const unsigned second = (last->mrf + 1u) & (G4_MRF_COUNT - 1);
    bool copied = false;

    for (const struct g4_op *op = kernel->ops; op < last; op++) {
        copied = g4_op_copies_header(op, second) || (copied && !may_write_mrf(op, second));
    }
    return copied && !last->grf_payload && last->passes == 1 && last->whole_move && last->src[0].kind == G4_KIND_GRF &&
           last->src[0].base == 0;
}

void g4_find_start_state(struct g4_kernel *kernel) {
    struct g4_start_state *const start = &kernel->start;
    struct register_sets written = {.mrf = 0};
    bool straight = true;
    bool known = true; /* `changed` is complete */
    struct g4_row_set changed = {{0, 0}};

    *start = (struct g4_start_state){.acc = kernel->leaves, .stacks = kernel->leaves};
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        const bool sends = op->opcode == G4_OPCODE_SEND;
        const unsigned sources = sends ? 2 : g4_opcode_info[op->opcode].sources;
        const struct g4_row_set read = kernel->leaves ? every_row : g4_rows_read(op);
        for (unsigned word = 0; word < G4_GRF_COUNT / 64; word++) {
            start->grf.bits[word] |= read.bits[word];
            start->grf_if_full.bits[word] |= read.bits[word] & ~written.grf.bits[word];
        }
        const uint16_t mrf = kernel->leaves ? EVERY_MRF : g4_mrf_read(op);
        start->mrf |= mrf;
        start->mrf_if_full |= (uint16_t)(mrf & ~written.mrf);
        for (unsigned s = 0; s < sources; s++) {
            start->acc |= op->src[s].kind == G4_KIND_ACC;
            start->stacks |= is_stack(op->src[s].kind, op->src[s].reg);
        }
        start->acc |= may_run_routine(op) || g4_op_reads_acc(op);
        start->stacks |= may_run_routine(op) || is_stack(op->dst.kind, op->dst.reg);
        straight = straight && is_straight(op);
        if (straight) {
            add_written(op, &written);
        }
        known = g4_add_rows_written(op, &changed) && known;
    }
    start->straight = straight;
    start->can_start_again = known && straight && kernel->count && g4_op_ends_thread(&kernel->ops[kernel->count - 1]) &&
                             !kernel->leaves && !(kernel->functions & REACHES_THREADS);
    for (unsigned word = 0; word < G4_GRF_COUNT / 64; word++) {
        start->stale.bits[word] = start->grf.bits[word] & changed.bits[word];
        start->stale_if_full.bits[word] = start->grf_if_full.bits[word] & changed.bits[word];
    }
    start->keeps_header =
        start->can_start_again && !g4_row_set_has(&changed, 0) && !g4_row_set_has(&changed, 1) && sends_header(kernel);
    if (kernel->count == 0) {
        start->grf = start->grf_if_full = every_row;
        start->mrf = start->mrf_if_full = EVERY_MRF;
    }
}
