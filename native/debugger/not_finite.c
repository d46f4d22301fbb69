/*
 * Breakpoints at the first NaN or infinity that a thread computes.  Destinations are checked after the instruction;
 * operands are copied before it, because it may overwrite them.
 */
#include <string.h>

#include "debugger/debug.h"
#include "eu/not_finite.h"
#include "hw_messages.h"

/* The breakpoint for a thread that has not stopped at one yet; G4_DEBUG_NONE: none. */
static uint32_t breakpoint_of(const struct g4_debug *debug, int t) {
    const struct g4_debug_thread *const thread = &debug->current->thread[t];
    for (uint32_t i = 0; !debug->current->not_finite[t] && i < debug->setup.breakpoint_count; i++) {
        const struct g4_debug_breakpoint *const b = &debug->setup.breakpoint[i];
        if (b->kind == G4_BREAK_NOT_FINITE && g4_debug_unit_in(b->units, thread->unit) &&
            (thread->flagged || !b->flagged)) {
            return i;
        }
    }
    return G4_DEBUG_NONE;
}

static uint64_t source_bits(struct g4_gang *gang, const struct g4_src *src, int pass, int t, unsigned c, bool *known) {
    uint64_t bits = 0;
    *known = src->kind == G4_KIND_IMM || src->kind == G4_KIND_GRF;
    if (src->kind == G4_KIND_IMM && src->size == 8) {
        return src->imm[0] | (uint64_t)src->imm[1] << 32;
    }
    if (src->kind == G4_KIND_IMM) {
        return src->imm[c & 7];
    }
    for (unsigned i = 0; *known && i < src->size; i++) {
        const unsigned at = src->base + (pass ? src->pass_bytes : 0u) + g4_region_offset(src, c) + i;
        const uint8_t *const byte = g4_grf_byte(gang, t, at);
        *known = byte != NULL;
        bits |= byte ? (uint64_t)*byte << (8 * i) : 0;
    }
    return bits;
}

static void copy_thread(struct g4_debug_operands *operands, struct g4_run *run, const struct g4_op *op, int t) {
    const int sources = op->opcode == G4_OPCODE_SEND ? 0 : g4_opcode_info[op->opcode].sources;
    for (int pass = 0; pass < op->passes; pass++) {
        operands->enabled[t][pass] = g4_enabled_channels(run, op, pass, t, op->opcode != G4_OPCODE_SEL);
        for (int s = 0; s < sources && s < 3; s++) {
            for (unsigned c = 0; c < op->channels && c < G4_PASS_CHANNELS; c++) {
                bool *const known = &operands->known[t][pass][s];
                operands->bits[t][pass][s][c] = source_bits(run->gang, &op->src[s], pass, t, c, known);
            }
        }
    }
}

void g4_debug_copy_operands(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op) {
    struct g4_debug_operands *const operands = &debug->operands;
    operands->threads = 0;
    for (int t = 0; t < G4_GANG_THREADS && g4_computes_float(op); t++) {
        if ((run->threads >> t & 1) && breakpoint_of(debug, t) != G4_DEBUG_NONE) {
            operands->threads |= (uint8_t)(1u << t);
            copy_thread(operands, run, op, t);
        }
    }
}

/* The operands of a math message are in the MRF, and still there. */
static void copy_payload(struct g4_debug_operands *operands, const struct g4_gang *gang, const struct g4_op *op, int t,
                         int pass, unsigned c) {
    const unsigned length = g4_message_descriptor_message_length(op->descriptor);
    for (unsigned s = 0; s < 3; s++) {
        operands->known[t][pass][s] = s < length && c < 8;
        operands->bits[t][pass][s][c] =
            operands->known[t][pass][s] ? gang->mrf[(op->mrf + (unsigned)pass + s) & (G4_MRF_COUNT - 1)].ud[t][c] : 0;
    }
}

/* Find the first channel of a thread with such a result; false: all are finite. */
static bool find_result(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op, int t,
                        struct g4_debug_event *event) {
    struct g4_debug_operands *const operands = &debug->operands;
    for (int pass = 0; pass < op->passes; pass++) {
        for (unsigned c = 0; c < op->channels && c < G4_PASS_CHANNELS; c++) {
            const bool is_written = (operands->enabled[t][pass] >> c & 1) && (op->dst.writemask >> (c & 3) & 1);
            uint64_t bits;
            if (!is_written || !g4_float_result(run->gang, op, t, pass, c, &bits) || g4_is_finite(bits, op->dst.type)) {
                continue;
            }
            if (op->opcode == G4_OPCODE_SEND) {
                copy_payload(operands, run->gang, op, t, pass, c);
            }
            event->channel = ((c + op->first_channel[pass]) & 15) + (run->gang->wide && op->upper ? 16 : 0);
            event->result = bits;
            event->result_type = op->dst.type;
            for (int s = 0; s < 3; s++) {
                event->has_source[s] = operands->known[t][pass][s] &&
                                       (op->opcode == G4_OPCODE_SEND || s < g4_opcode_info[op->opcode].sources);
                event->source[s] = operands->bits[t][pass][s][c];
                event->source_type[s] = op->opcode == G4_OPCODE_SEND ? (uint32_t)G4_TYPE_F : op->src[s].type;
            }
            return true;
        }
    }
    return false;
}

bool g4_debug_find_not_finite(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op, int t,
                              struct g4_debug_event *event) {
    if (!(debug->operands.threads >> t & 1)) {
        return false;
    }
    event->kind = G4_DEBUG_NOT_FINITE;
    event->which = breakpoint_of(debug, t);
    event->value = run->gang->dispatch->kernel_address + op->ip;
    if (event->which == G4_DEBUG_NONE || !find_result(debug, run, op, t, event)) {
        return false;
    }
    debug->current->not_finite[t] = true;
    return true;
}
