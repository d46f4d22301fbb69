/*
 * Finds pixel shaders that give every pixel of an object the same color: clears, and shaders that return a constant.
 *
 * The color registers of the only render target write must not depend on the channel or the thread: they come from
 * immediates and from single elements of registers that all threads of an object have in common.  Only detects
 * uniformity; callers run one thread to obtain the color.
 */
#include "eu/kernel.h"
#include "hw_messages.h"

enum {
    HEADER_REGISTERS = 2,
    COLORS = 4,
};

struct analysis {
    bool uniform_grf[G4_GRF_COUNT]; /* written, with one value in all channels */
    bool common_grf[G4_GRF_COUNT];  /* written, and its first four dwords are the same in all threads */
    bool written_grf[G4_GRF_COUNT];
    bool uniform_mrf[G4_MRF_COUNT];
    uint32_t header_mrf; /* payload register that must hold R1 as dispatched */
    bool header;         /* it does */
    uint32_t from, to;   /* the registers that all threads must have in common */
};

static void add_common(struct analysis *state, uint32_t reg) {
    state->from = reg < state->from ? reg : state->from;
    state->to = reg >= state->to ? reg + 1 : state->to;
}

static bool is_simple(const struct g4_op *op) {
    return !op->undefined && !op->breakpoint && op->predicate == 0 && !op->align16 && !op->half;
}

static bool is_contiguous(const struct g4_src *src) {
    return !src->align16 && src->hstride == 1 && src->size == 4 && src->vstride == src->width &&
           src->base % G4_REGISTER_BYTES == 0;
}

bool g4_op_copies_header(const struct g4_op *op, uint32_t mrf) {
    const struct g4_src *const src = &op->src[0];
    return is_simple(op) && op->opcode == G4_OPCODE_MOV && op->exec_size == 8 && op->nomask && op->cond == 0 &&
           !op->saturate && op->dst.kind == G4_KIND_MRF && op->dst.base == mrf * G4_REGISTER_BYTES &&
           op->dst.hstride == 1 && op->dst.type == src->type && (src->type == G4_TYPE_UD || src->type == G4_TYPE_D) &&
           src->kind == G4_KIND_GRF && src->base == G4_REGISTER_BYTES && is_contiguous(src) && !src->abs &&
           !src->negate;
}

/* Copies four elements that all threads have in common to the start of a register: one color for all pixels. */
static bool is_color_move(struct analysis *state, const struct g4_op *op) {
    const struct g4_src *const src = &op->src[0];
    const struct g4_dst *const dst = &op->dst;
    const uint32_t reg = dst->base / G4_REGISTER_BYTES;

    if (op->opcode != G4_OPCODE_MOV || op->exec_size != COLORS || !op->nomask || op->cond != 0 || op->passes != 1 ||
        dst->kind != G4_KIND_GRF || dst->base % G4_REGISTER_BYTES != 0 || dst->hstride != 1 || dst->size != 4 ||
        reg < 2 || reg >= G4_GRF_COUNT || src->kind != G4_KIND_GRF || src->width == 0) {
        return false;
    }
    for (uint32_t c = 0; c < COLORS; c++) {
        const uint32_t element = c / src->width * src->vstride + c % src->width * src->hstride;
        const uint32_t read = (src->base + element * src->size) / G4_REGISTER_BYTES;
        if (read >= G4_GRF_COUNT || state->written_grf[read]) {
            return false;
        }
        add_common(state, read);
    }
    state->common_grf[reg] = state->written_grf[reg] = true;
    state->uniform_grf[reg] = false;
    return true;
}

static bool is_uniform_source(struct analysis *state, const struct g4_op *op, const struct g4_src *src) {
    if (src->kind == G4_KIND_IMM) {
        for (int c = 1; c < 8; c++) {
            if (src->imm[c] != src->imm[0]) {
                return false;
            }
        }
        return true;
    }
    if (src->kind != G4_KIND_GRF) {
        return false;
    }
    const uint32_t reg = src->base / G4_REGISTER_BYTES;
    if (reg >= G4_GRF_COUNT) {
        return false;
    }
    if (g4_src_scalar(src) && src->pass_bytes == 0) {
        if (!state->written_grf[reg]) {
            add_common(state, reg);
            return true;
        }
        return state->uniform_grf[reg];
    }
    bool uniform = is_contiguous(src);
    for (uint32_t pass = 0; pass < op->passes && uniform; pass++) {
        const uint32_t part = reg + pass * src->pass_bytes / G4_REGISTER_BYTES;
        uniform = part < G4_GRF_COUNT && state->uniform_grf[part];
    }
    return uniform;
}

/* Arithmetic whose result depends on nothing but its operands. */
static bool is_arithmetic(const struct g4_op *op) {
    switch (op->opcode) {
    case G4_OPCODE_MOV:
    case G4_OPCODE_ADD:
    case G4_OPCODE_MUL:
    case G4_OPCODE_FRC:
    case G4_OPCODE_RNDD:
    case G4_OPCODE_RNDU:
    case G4_OPCODE_RNDE:
    case G4_OPCODE_RNDZ:
        return op->cond == 0;
    default:
        return false;
    }
}

static bool is_uniform_op(struct analysis *state, const struct g4_op *op) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    const struct g4_dst *const dst = &op->dst;
    const uint32_t reg = dst->base / G4_REGISTER_BYTES;

    if (!is_arithmetic(op) || op->channels != 8 || dst->size != 4 || dst->hstride != 1 ||
        dst->base % G4_REGISTER_BYTES != 0 || (dst->kind != G4_KIND_GRF && dst->kind != G4_KIND_MRF)) {
        return false;
    }
    for (unsigned s = 0; s < sources; s++) {
        if (!is_uniform_source(state, op, &op->src[s])) {
            return false;
        }
    }
    for (uint32_t pass = 0; pass < op->passes; pass++) {
        const uint32_t part = reg + pass * dst->pass_bytes / G4_REGISTER_BYTES;
        if (dst->kind == G4_KIND_MRF) {
            state->uniform_mrf[part & (G4_MRF_COUNT - 1)] = true;
            state->header = state->header && (part & (G4_MRF_COUNT - 1)) != state->header_mrf;
        } else if (part < 2 || part >= G4_GRF_COUNT) {
            return false;
        } else {
            state->uniform_grf[part] = state->written_grf[part] = true;
            state->common_grf[part] = false;
        }
    }
    return true;
}

/* The last instruction: writes only color to one target, with a header of R0 and R1. */
static bool is_uniform_write(const struct analysis *state, const struct g4_op *op, struct g4_uniform_color *flat) {
    const uint32_t type = g4_data_port_write_message_render_target_write_type(op->descriptor);
    const uint32_t colors = COLORS * (type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16 ? 2u : 1u);

    if (op->opcode != G4_OPCODE_SEND || !is_simple(op) || op->src[1].kind != G4_KIND_IMM || !op->whole_move ||
        op->src[0].kind != G4_KIND_GRF || op->src[0].base != 0 || op->passes != 1 ||
        !g4_message_descriptor_end_of_thread(op->descriptor) ||
        g4_message_descriptor_shared_function(op->descriptor) != G4_SHARED_FUNCTION_DATA_PORT_WRITE ||
        g4_data_port_write_message_message_type(op->descriptor) != G4_DATA_PORT_WRITE_TYPE_GEN45_RENDER_TARGET ||
        !g4_data_port_write_message_last_render_target_select(op->descriptor) ||
        (type != G4_RENDER_TARGET_WRITE_TYPE_SIMD16 && type != G4_RENDER_TARGET_WRITE_TYPE_SIMD8_SUBSPANS_01) ||
        g4_message_descriptor_message_length(op->descriptor) != HEADER_REGISTERS + colors || !state->header) {
        return false;
    }
    for (uint32_t c = 0; c < colors; c++) {
        if (!state->uniform_mrf[(op->mrf + HEADER_REGISTERS + c) & (G4_MRF_COUNT - 1)]) {
            return false;
        }
    }
    flat->pixels = type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16 ? 16 : 8;
    flat->target = g4_data_port_write_message_binding_table_index(op->descriptor);
    return true;
}

/* The last instruction of later generations: a message from registers, without a header. */
static bool is_uniform_color_write(const struct analysis *state, const struct g4_op *op,
                                   struct g4_uniform_color *flat) {
    const uint32_t colors = op->color_replicated ? 1 : COLORS * op->color_pixels / 8u;

    if (op->opcode != G4_OPCODE_SEND || !is_simple(op) || op->color_pixels == 0 || !op->grf_payload ||
        op->mrf + colors > G4_GRF_COUNT) {
        return false;
    }
    for (uint32_t c = 0; c < colors; c++) {
        if (!state->uniform_grf[op->mrf + c] && !(op->color_replicated && state->common_grf[op->mrf])) {
            return false;
        }
    }
    flat->pixels = op->color_pixels;
    flat->target = op->target_entry;
    return true;
}

void g4_uniform_color_find(const struct g4_kernel *kernel, struct g4_uniform_color *flat) {
    const struct g4_op *const last = &kernel->ops[kernel->count - (kernel->count > 0)];
    struct analysis state = {.from = G4_GRF_COUNT, .header_mrf = (last->mrf + 1u) & (G4_MRF_COUNT - 1)};

    *flat = (struct g4_uniform_color){.pixels = 0};
    if (kernel->count < 2 || kernel->leaves) {
        return;
    }
    for (const struct g4_op *op = kernel->ops; op < last; op++) {
        flat->channel_ops += op->exec_size;
        if (g4_op_copies_header(op, state.header_mrf)) {
            state.header = true;
            state.uniform_mrf[state.header_mrf] = false;
        } else if (!is_simple(op) || !(is_color_move(&state, op) || is_uniform_op(&state, op))) {
            return;
        }
    }
    flat->channel_ops += last->exec_size;
    flat->from = state.from;
    flat->to = state.to;
    (void)(is_uniform_color_write(&state, last, flat) || is_uniform_write(&state, last, flat));
}
