/*
 * Breakpoints at the first NaN or infinity that a thread computes, and at the first denormal that it reads or computes.
 * Destinations are checked after the instruction; operands are copied before it, because it may overwrite them.
 */
#include <string.h>

#include "debugger/debug.h"
#include "eu/math_ops.h"
#include "eu/not_finite.h"
#include "hw_messages.h"

/* The breakpoint of a kind for a thread that has not stopped at one yet; G4_DEBUG_NONE: none. */
static uint32_t breakpoint_of(const struct g4_debug *debug, uint32_t kind, int t) {
    const struct g4_debug_thread *const thread = &debug->current->thread[t];
    const bool done = kind == G4_BREAK_DENORMAL ? debug->current->denormal[t] : debug->current->not_finite[t];
    for (uint32_t i = 0; !done && i < debug->setup.breakpoint_count; i++) {
        const struct g4_debug_breakpoint *const b = &debug->setup.breakpoint[i];
        if (b->kind == kind && g4_debug_unit_in(b->units, thread->unit) && (thread->flagged || !b->flagged)) {
            return i;
        }
    }
    return G4_DEBUG_NONE;
}

static bool is_float(unsigned type) {
    return type == G4_TYPE_F || type == G4_TYPE_DF;
}

static int source_count(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_SEND ? 0 : g4_opcode_info[op->opcode].sources;
}

/* mov and sel that only copy bits: compilers move integers as floats. */
static bool copies_bits(const struct g4_op *op) {
    bool found = !op->saturate && (op->opcode == G4_OPCODE_MOV || op->opcode == G4_OPCODE_SEL ||
                                   op->opcode == G4_OPCODE_MOVI || op->opcode == G4_OPCODE_DIM);
    for (int s = 0; s < source_count(op) && s < 3; s++) {
        found &= op->src[s].type == op->dst.type && !op->src[s].abs && !op->src[s].negate;
    }
    return found;
}

/* Whether an instruction computes with floats, or compares them. */
static bool meets_denormals(const struct g4_op *op) {
    bool found = g4_computes_float(op);
    for (int s = 0; s < source_count(op) && s < 3; s++) {
        found |= is_float(op->src[s].type);
    }
    return found && !copies_bits(op);
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
    const int sources = source_count(op);
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
    operands->not_finite = operands->denormals = 0;
    const bool computes = g4_computes_float(op), meets = meets_denormals(op);
    for (int t = 0; t < G4_GANG_THREADS && (computes || meets); t++) {
        if (!(run->threads >> t & 1)) {
            continue;
        }
        const bool not_finite = computes && breakpoint_of(debug, G4_BREAK_NOT_FINITE, t) != G4_DEBUG_NONE;
        const bool denormal = meets && breakpoint_of(debug, G4_BREAK_DENORMAL, t) != G4_DEBUG_NONE;
        operands->not_finite |= (uint8_t)(not_finite << t);
        operands->denormals |= (uint8_t)(denormal << t);
        if (not_finite || denormal) {
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

static bool is_written(const struct g4_debug_operands *operands, const struct g4_op *op, int t, int pass, unsigned c) {
    return (operands->enabled[t][pass] >> c & 1) && (op->dst.writemask >> (c & 3) & 1);
}

/* Describe the operands and the result of a channel. */
static void fill(const struct g4_debug_operands *operands, const struct g4_run *run, const struct g4_op *op, int t,
                 int pass, unsigned c, struct g4_debug_event *event) {
    event->channel = ((c + op->first_channel[pass]) & 15) + (run->gang->wide && op->upper ? 16 : 0);
    event->result_type = op->dst.type;
    for (int s = 0; s < 3; s++) {
        event->has_source[s] = operands->known[t][pass][s] && (op->opcode == G4_OPCODE_SEND || s < source_count(op));
        event->source[s] = operands->bits[t][pass][s][c];
        event->source_type[s] = op->opcode == G4_OPCODE_SEND ? (uint32_t)G4_TYPE_F : op->src[s].type;
    }
}

/* Find the first channel of a thread whose result is not finite; false: all are finite. */
static bool find_result(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op, int t,
                        struct g4_debug_event *event) {
    struct g4_debug_operands *const operands = &debug->operands;
    for (int pass = 0; pass < op->passes; pass++) {
        for (unsigned c = 0; c < op->channels && c < G4_PASS_CHANNELS; c++) {
            uint64_t bits;
            if (!is_written(operands, op, t, pass, c) || !g4_float_result(run->gang, op, t, pass, c, &bits) ||
                g4_is_finite(bits, op->dst.type)) {
                continue;
            }
            if (op->opcode == G4_OPCODE_SEND) {
                copy_payload(operands, run->gang, op, t, pass, c);
            }
            fill(operands, run, op, t, pass, c, event);
            event->has_result = true;
            event->result = bits;
            return true;
        }
    }
    return false;
}

bool g4_debug_find_not_finite(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op, int t,
                              struct g4_debug_event *event) {
    if (!(debug->operands.not_finite >> t & 1)) {
        return false;
    }
    event->kind = G4_DEBUG_NOT_FINITE;
    event->which = breakpoint_of(debug, G4_BREAK_NOT_FINITE, t);
    event->value = run->gang->dispatch->kernel_address + op->ip;
    if (event->which == G4_DEBUG_NONE || !find_result(debug, run, op, t, event)) {
        return false;
    }
    debug->current->not_finite[t] = true;
    return true;
}

/* ---- denormals ---- */

static bool is_zero(uint64_t bits, unsigned type) {
    return type == G4_TYPE_DF ? bits << 1 == 0 : (uint32_t)bits << 1 == 0;
}

static bool is_denormal(uint64_t bits, unsigned type) {
    const uint64_t exponent = type == G4_TYPE_DF ? UINT64_C(0x7ff) << 52 : UINT64_C(0xff) << 23;
    return !is_zero(bits, type) && (bits & exponent) == 0;
}

/* A float or double in a format in which no product and no sum of two of them becomes zero by rounding. */
static long double exact(uint64_t bits, unsigned type) {
    if (type == G4_TYPE_DF) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* The operand of an event with its modifiers. */
static long double operand(const struct g4_op *op, const struct g4_debug_event *event, int s) {
    long double value = exact(event->source[s], event->source_type[s]);
    if (op->opcode != G4_OPCODE_SEND) {
        value = op->src[s].abs && value < 0 ? -value : value;
        value = op->src[s].negate ? -value : value;
    }
    return value;
}

/* The result of a math function before it is rounded; 0 if it is not known. */
static long double math_result(const struct g4_op *op, const struct g4_debug_event *event) {
    const bool is_message = op->opcode == G4_OPCODE_SEND;
    const unsigned function = is_message ? g4_extended_math_message_math_function(op->descriptor) : op->function;
    const long double x = operand(op, event, 0);
    if (!is_message && g4_math_divides(function)) {
        const long double y = operand(op, event, 1);
        return y != 0 ? x / y : 0;
    }
    switch (function) {
    case G4_MATH_FUNCTION_INV:
        return x != 0 ? 1 / x : 0;
    case G4_MATH_FUNCTION_EXP: /* only whether it is denormal counts */
        return x >= -149 && x < -126 ? 0x1p-149L : 0;
    default:
        return 0;
    }
}

/* Whether a result that was stored as zero would be denormal. */
static bool is_flushed(const struct g4_op *op, const struct g4_debug_event *event) {
    const bool is_message = op->opcode == G4_OPCODE_SEND;
    const int sources = is_message ? 1 : source_count(op);
    for (int s = 0; s < sources && s < 3; s++) {
        const bool is_unused = !is_message && op->src[s].kind == G4_KIND_NULL; /* by most math functions */
        if (is_unused) {
            continue;
        }
        if (!event->has_source[s] || !is_float(event->source_type[s])) {
            return false;
        }
    }
    long double value = 0;
    switch (op->opcode) {
    case G4_OPCODE_MOV:
        value = operand(op, event, 0);
        break;
    case G4_OPCODE_ADD:
        value = operand(op, event, 0) + operand(op, event, 1);
        break;
    case G4_OPCODE_MUL:
        value = operand(op, event, 0) * operand(op, event, 1);
        break;
    case G4_OPCODE_MAD:
        value = operand(op, event, 1) * operand(op, event, 2) + operand(op, event, 0);
        break;
    case G4_OPCODE_MATH:
    case G4_OPCODE_SEND:
        value = math_result(op, event);
        break;
    default:
        break;
    }
    if (op->saturate && value < 0) {
        return false;
    }
    const long double size = value < 0 ? -value : value;
    return op->dst.type == G4_TYPE_DF ? size >= 0x1p-1074L && size < 0x1p-1022L : size >= 0x1p-149L && size < 0x1p-126L;
}

/* Find the first channel of a thread with a denormal operand or result; false: there is none. */
static bool find_denormal(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op, int t,
                          struct g4_debug_event *event) {
    struct g4_debug_operands *const operands = &debug->operands;
    for (int pass = 0; pass < op->passes; pass++) {
        for (unsigned c = 0; c < op->channels && c < G4_PASS_CHANNELS; c++) {
            if (!is_written(operands, op, t, pass, c)) {
                continue;
            }
            if (op->opcode == G4_OPCODE_SEND) {
                copy_payload(operands, run->gang, op, t, pass, c);
            }
            fill(operands, run, op, t, pass, c, event);
            event->has_result = g4_computes_float(op) && g4_float_result(run->gang, op, t, pass, c, &event->result);
            for (uint32_t s = 0; s < 3; s++) {
                if (event->has_source[s] && is_float(event->source_type[s]) &&
                    is_denormal(event->source[s], event->source_type[s])) {
                    event->denormal = s;
                    return true;
                }
            }
            event->denormal = 3;
            if (event->has_result && (is_denormal(event->result, op->dst.type) ||
                                      (is_zero(event->result, op->dst.type) && is_flushed(op, event)))) {
                return true;
            }
        }
    }
    return false;
}

bool g4_debug_find_denormal(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op, int t,
                            struct g4_debug_event *event) {
    if (!(debug->operands.denormals >> t & 1)) {
        return false;
    }
    event->kind = G4_DEBUG_DENORMAL;
    event->which = breakpoint_of(debug, G4_BREAK_DENORMAL, t);
    event->value = run->gang->dispatch->kernel_address + op->ip;
    if (event->which == G4_DEBUG_NONE || !find_denormal(debug, run, op, t, event)) {
        return false;
    }
    debug->current->denormal[t] = true;
    return true;
}
