/*
 * Decodes the instruction words of Gen9 into struct g4_op.
 */
#include <string.h>

#include "eu/decode.h"
#include "eu/run.h"
#include "isa_gen9.h"
#include "messages_gen7.h"

bool g4_expand_gen9(const uint32_t low[2], uint32_t words[4]) {
    const uint32_t w[4] = {low[0], low[1]};

    if (!gen9_inst_compact_control(w)) {
        return false;
    }
    gen9_inst_expand(low, words);
    return true;
}

/* ---- operands ---- */

static bool is_logic(const struct g4_op *op) {
    return op->opcode >= G4_OPCODE_NOT && op->opcode <= G4_OPCODE_XOR;
}

/* The region of a source.  DW2 and DW3 have the same layout, so the accessors of src0 read both. */
static void source_region(struct g4_src *src, const uint32_t w[4], bool align16, bool indirect) {
    const uint32_t vstride = gen9_inst_src0_vstride(w);
    const uint8_t rows = gen9_vstride_elements[vstride];

    src->align16 = align16;
    src->vstride = rows == GEN9_CODE_RESERVED ? 0 : rows;
    if (align16) {
        src->width = 4;
        src->hstride = 1;
        src->swizzle[0] = (uint8_t)gen9_inst_src0_swizzle_x(w);
        src->swizzle[1] = (uint8_t)gen9_inst_src0_swizzle_y(w);
        src->swizzle[2] = (uint8_t)gen9_inst_src0_swizzle_z(w);
        src->swizzle[3] = (uint8_t)gen9_inst_src0_swizzle_w(w);
    } else {
        const uint8_t width = gen9_width_elements[gen9_inst_src0_width(w)];
        src->width = width == GEN9_CODE_RESERVED ? 16 : width;
        src->hstride = gen9_hstride_elements[gen9_inst_src0_hstride(w)];
    }
    if (indirect && vstride == GEN9_VSTRIDE_INDEXED && !align16) {
        src->kind = G4_KIND_INDEXED;
    }
}

/* Reserved codes mean UD (docs/decisions.md 44). */
static uint8_t known_type(uint8_t type) {
    return (uint8_t)(type == GEN9_CODE_RESERVED ? G4_TYPE_UD : type);
}

/* src0 and src1 have the top bit of the immediate part of an address in different places: `addr_imm` has it whole. */
static void decode_register(struct g4_src *src, uint32_t file, uint32_t type, const uint32_t w[4], bool align16,
                            int32_t addr_imm) {
    const bool indirect = gen9_inst_src0_addr_mode(w);
    const uint32_t reg = gen9_inst_src0_reg_nr(w);
    const uint32_t sub = align16 ? gen9_inst_src0_subreg16(w) : gen9_inst_src0_subreg_nr(w);

    memset(src, 0, sizeof *src);
    src->type = known_type(gen9_register_types[type]);
    src->size = g4_type_bytes[src->type];
    src->abs = gen9_inst_src0_abs(w);
    src->negate = gen9_inst_src0_negate(w);
    src->reg = (uint8_t)reg;
    src->base = (uint16_t)sub;
    src->flat = src->separate_rows = true;
    if (file == GEN9_FILE_GRF && indirect) {
        src->kind = G4_KIND_INDIRECT;
        src->addr_sub = (uint8_t)gen9_inst_src0_addr_subreg(w);
        src->addr_imm = (int16_t)addr_imm;
    } else if (file == GEN9_FILE_GRF) {
        src->kind = G4_KIND_GRF;
        src->base = (uint16_t)(reg * G4_REGISTER_BYTES + sub);
    } else if (file == GEN9_FILE_ARF) {
        src->kind = g4_decode_architecture_kind(reg);
    } else { /* there are no message registers */
        src->kind = G4_KIND_NULL;
    }
    if (src->kind == G4_KIND_ACC) {
        src->reg = reg & 1;
    }
    source_region(src, w, align16, indirect);
    if (src->kind == G4_KIND_ACC && g4_src_scalar(src)) { /* each channel has its own (docs/decisions.md 164) */
        src->vstride = src->width = 8;
        src->hstride = 1;
    }
}

static void decode_immediate(struct g4_src *src, uint8_t type, const uint32_t w[4]) {
    memset(src, 0, sizeof *src);
    switch (type) {
    case GEN9_IMM_DF:
        g4_decode_immediate64(src, G4_TYPE_DF, gen9_inst_immediate64(w));
        break;
    case GEN9_IMM_UQ:
        g4_decode_immediate64(src, G4_TYPE_UQ, gen9_inst_immediate64(w));
        break;
    case GEN9_IMM_Q:
        g4_decode_immediate64(src, G4_TYPE_Q, gen9_inst_immediate64(w));
        break;
    default:
        g4_decode_immediate(src, type, gen9_inst_immediate(w));
        break;
    }
}

/* The eight elements of a packed vector occupy consecutive words, and a channel takes the one at the position of
 * its result: every second one for a destination of dwords (docs/decisions.md 226). */
static void spread_vector(struct g4_op *op, struct g4_src *src, uint8_t type) {
    const uint32_t step = op->dst.hstride * op->dst.size / 2;
    uint32_t element[8];

    if ((type == GEN9_IMM_V || type == GEN9_IMM_UV) && step > 1) {
        memcpy(element, src->imm, sizeof element);
        for (uint32_t c = 0; c < 8; c++) {
            src->imm[c] = element[c * step & 7];
        }
    }
}

static void decode_sources(struct g4_op *op, const uint32_t w[4]) {
    const uint32_t src1[4] = {w[0], w[1], w[3], w[3]};
    const bool align16 = op->align16;

    if (gen9_inst_src0_file(w) == GEN9_FILE_IMM) {
        decode_immediate(&op->src[0], gen9_immediate_types[gen9_inst_src0_type(w)], w);
        spread_vector(op, &op->src[0], gen9_immediate_types[gen9_inst_src0_type(w)]);
    } else {
        decode_register(&op->src[0], gen9_inst_src0_file(w), gen9_inst_src0_type(w), w, align16,
                        align16 ? gen9_inst_src0_addr_imm16(w) : gen9_inst_src0_addr_imm(w));
    }
    if (gen9_inst_src1_file(w) == GEN9_FILE_IMM) {
        decode_immediate(&op->src[1], gen9_immediate_types[gen9_inst_src1_type(w)], w);
        spread_vector(op, &op->src[1], gen9_immediate_types[gen9_inst_src1_type(w)]);
    } else {
        decode_register(&op->src[1], gen9_inst_src1_file(w), gen9_inst_src1_type(w), src1, align16,
                        align16 ? gen9_inst_src1_addr_imm16(w) : gen9_inst_src1_addr_imm(w));
    }
}

static void decode_dst(struct g4_dst *dst, const uint32_t w[4], bool align16) {
    const uint32_t file = gen9_inst_dst_file(w);
    const uint32_t reg = gen9_inst_dst_reg_nr(w);
    const uint32_t sub = align16 ? gen9_inst_dst_subreg16(w) : gen9_inst_dst_subreg_nr(w);
    const uint8_t hstride = gen9_hstride_elements[gen9_inst_dst_hstride(w)];

    memset(dst, 0, sizeof *dst);
    dst->type = known_type(gen9_register_types[gen9_inst_dst_type(w)]);
    dst->size = g4_type_bytes[dst->type];
    dst->writemask = align16 ? (uint8_t)gen9_inst_dst_writemask(w) : 0xf;
    dst->hstride = align16 || hstride == 0 ? 1 : hstride;
    dst->reg = (uint8_t)reg;
    dst->base = (uint16_t)sub;
    dst->flat = true;
    if (file == GEN9_FILE_GRF && gen9_inst_dst_addr_mode(w)) {
        dst->kind = G4_KIND_INDIRECT;
        dst->addr_sub = (uint8_t)gen9_inst_dst_addr_subreg(w);
        dst->addr_imm = (int16_t)(align16 ? gen9_inst_dst_addr_imm16(w) : gen9_inst_dst_addr_imm(w));
    } else if (file == GEN9_FILE_GRF) {
        dst->kind = G4_KIND_GRF;
        dst->base = (uint16_t)(reg * G4_REGISTER_BYTES + sub);
    } else if (file == GEN9_FILE_ARF) {
        dst->kind = g4_decode_architecture_kind(reg);
    } else {
        dst->kind = G4_KIND_NULL;
    }
    if (dst->kind == G4_KIND_ACC) {
        dst->reg = reg & 1;
    }
}

/* A source of an instruction with three: packed groups of four channels, or one element for all channels. */
static void ternary_source(struct g4_src *src, uint8_t type, bool replicate, uint32_t code, uint32_t reg,
                           uint32_t sub) {
    src->kind = G4_KIND_GRF;
    src->type = type;
    src->size = g4_type_bytes[type];
    src->base = (uint16_t)(reg * G4_REGISTER_BYTES + sub);
    if (replicate) {
        src->width = 1;
        return;
    }
    src->align16 = true;
    src->vstride = src->width = 4;
    src->hstride = 1;
    const uint32_t order = src->size == 8 ? 0xe4 : code; /* elements of 64 bits stay in order */
    for (int c = 0; c < 4; c++) {
        src->swizzle[c] = (uint8_t)(order >> (2 * c) & 3);
    }
}

static void decode_ternary(struct g4_op *op, const uint32_t w[4]) {
    const uint8_t type = known_type(gen9_ternary_types[gen9_inst_ternary_src_type(w)]);
    const bool floats = type == G4_TYPE_F; /* each of the last two may be a half float instead */
    const uint8_t type1 = floats && gen9_inst_ternary_src1_half(w) ? (uint8_t)G4_TYPE_HF : type;
    const uint8_t type2 = floats && gen9_inst_ternary_src2_half(w) ? (uint8_t)G4_TYPE_HF : type;
    struct g4_dst *const dst = &op->dst;

    memset(op->src, 0, sizeof op->src);
    ternary_source(&op->src[0], type, gen9_inst_ternary_src0_replicate(w), gen9_inst_ternary_src0_swizzle(w),
                   gen9_inst_ternary_src0_reg_nr(w), gen9_inst_ternary_src0_subreg_nr(w));
    ternary_source(&op->src[1], type1, gen9_inst_ternary_src1_replicate(w), gen9_inst_ternary_src1_swizzle(w),
                   gen9_inst_ternary_src1_reg_nr(w), gen9_inst_ternary_src1_subreg_nr(w));
    ternary_source(&op->src[2], type2, gen9_inst_ternary_src2_replicate(w), gen9_inst_ternary_src2_swizzle(w),
                   gen9_inst_ternary_src2_reg_nr(w), gen9_inst_ternary_src2_subreg_nr(w));
    op->src[0].abs = gen9_inst_ternary_src0_abs(w);
    op->src[1].abs = gen9_inst_ternary_src1_abs(w);
    op->src[2].abs = gen9_inst_ternary_src2_abs(w);
    op->src[0].negate = gen9_inst_ternary_src0_negate(w);
    op->src[1].negate = gen9_inst_ternary_src1_negate(w);
    op->src[2].negate = gen9_inst_ternary_src2_negate(w);
    memset(dst, 0, sizeof *dst);
    dst->kind = G4_KIND_GRF;
    dst->type = known_type(gen9_ternary_types[gen9_inst_ternary_dst_type(w)]);
    dst->size = g4_type_bytes[dst->type];
    dst->hstride = 1;
    dst->writemask = (uint8_t)gen9_inst_ternary_dst_writemask(w);
    dst->reg = (uint8_t)gen9_inst_ternary_dst_reg_nr(w);
    dst->base = (uint16_t)(dst->reg * G4_REGISTER_BYTES + gen9_inst_ternary_dst_subreg_nr(w));
}

/* ---- steps of exact divisions and roots ----
 *
 * `math invm`, `math rsqrtm` and `madm` have, instead of swizzles and a write mask, numbers of accumulators that extend
 * their operands.  Results here need no extension: the first step of a macro computes the rounded result and sets its
 * flag, which ends the macro early (docs/decisions.md 229).
 */

static void use_whole_register(struct g4_src *src) {
    src->align16 = false;
    if (src->kind == G4_KIND_GRF && src->width > 1) {
        src->vstride = src->width = (uint8_t)(G4_REGISTER_BYTES / src->size);
        src->hstride = 1;
    }
}

static uint8_t macro_of(const struct g4_op *op) {
    if (op->opcode != G4_OPCODE_MATH) {
        return G4_MACRO_NONE;
    }
    return op->function == GEN9_MATH_FUNCTION_INVM     ? G4_MACRO_QUOTIENT
           : op->function == GEN9_MATH_FUNCTION_RSQRTM ? G4_MACRO_ROOT
                                                       : G4_MACRO_NONE;
}

static void decode_macro_step(struct g4_op *op) {
    op->align16 = false;
    op->dst.writemask = 0xf;
    op->no_lanes = true;
    for (unsigned s = 0; s < g4_opcode_info[op->opcode].sources; s++) {
        use_whole_register(&op->src[s]);
    }
    if (op->opcode == G4_OPCODE_MATH) {
        op->cond = G4_COND_O;
    }
}

/* ---- integers of 64 bits, half floats, complements and whole products ---- */

/* A shift has 64 bits, and a 6-bit count, if its first source or its destination has 64; the type of the count does
 * not matter (BDW PRM vol. 2a, shl). */
static void find_shift_type(struct g4_op *op) {
    const bool shifts = op->opcode == G4_OPCODE_SHL || op->opcode == G4_OPCODE_SHR || op->opcode == G4_OPCODE_ASR;
    if (shifts && op->exec_type <= G4_EXEC_Q) {
        const bool is_long = op->src[0].size == 8 || (op->dst.size == 8 && op->dst.type != G4_TYPE_DF);
        op->exec_type = is_long ? G4_EXEC_Q : op->exec_type == G4_EXEC_Q ? G4_EXEC_D : op->exec_type;
    }
}

static bool is_later_type(uint8_t type) {
    return type == G4_TYPE_UQ || type == G4_TYPE_Q || type == G4_TYPE_HF;
}

/* The negation of a logic operand complements it, and the product of two dwords is whole. */
static void find_later_forms(struct g4_op *op, unsigned sources) {
    const bool product =
        op->opcode == G4_OPCODE_MUL && op->src[0].size == 4 && op->src[1].size == 4 && op->exec_type == G4_EXEC_D;

    op->no_lanes |= is_later_type(op->dst.type);
    op->whole_product = product;
    for (unsigned s = 0; s < sources; s++) {
        struct g4_src *const src = &op->src[s];
        if (is_logic(op) && src->negate) {
            src->negate = false;
            src->complement = true;
        }
        op->no_lanes |= is_later_type(src->type);
    }
}

/* ---- branches and messages ---- */

/* JIP and UIP count bytes. */
static void decode_branch(struct g4_op *op, const uint32_t w[4]) {
    op->channel_pointers = true;
    op->jump_unit = 1;
    op->branch_control = gen9_inst_acc_write_control(w); /* the bit has two names */
    if (op->opcode == G4_OPCODE_JMPI) {
        op->target = op->next + (op->src[1].kind == G4_KIND_IMM ? op->src[1].imm[0] : 0);
    } else if (op->opcode == G4_OPCODE_CALL) {
        op->target = op->ip + (uint32_t)gen9_inst_immediate(w);
    } else {
        op->target = op->ip + (uint32_t)gen9_inst_jip(w);
        op->uip = op->ip + (uint32_t)gen9_inst_uip(w);
    }
    op->target &= ~7u;
    op->uip &= ~7u;
    if (!g4_decode_has_two_targets(op)) {
        op->uip = op->target;
    }
}

static void decode_descriptor(struct g4_op *op, bool known, uint32_t descriptor) {
    op->grf_payload = true;
    op->descriptor = known ? descriptor : 0;
    op->payload_length = G4_MAX_PAYLOAD;
    op->passes = 1;
    op->channels = op->exec_size;
    if (known) {
        op->payload_length = (uint8_t)gen7_message_descriptor_message_length(op->descriptor);
    }
}

static void decode_send(struct g4_op *op, const uint32_t w[4]) {
    const bool known = op->src[1].kind == G4_KIND_IMM;

    op->mrf = (uint8_t)(gen9_inst_src0_reg_nr(w) & (G4_GRF_COUNT - 1));
    op->function = (uint8_t)gen9_inst_sfid(w);
    op->eot = gen9_inst_send_end_of_thread(w);
    decode_descriptor(op, known, known ? gen9_inst_send_descriptor(w) : 0);
    if (known) {
        g4_decode_target_write(op);
    }
}

/* A split send: the payload is in two places.  Its operands have a layout of their own. */
static void decode_split_send(struct g4_op *op, const uint32_t w[4]) {
    const bool known = !gen9_inst_split_desc_in_register(w);

    memset(&op->dst, 0, sizeof op->dst);
    memset(op->src, 0, sizeof op->src);
    op->dst.kind = gen9_inst_split_dst_file(w) == GEN9_FILE_GRF ? G4_KIND_GRF : G4_KIND_NULL;
    op->dst.type = G4_TYPE_UD;
    op->dst.size = g4_type_bytes[G4_TYPE_UD];
    op->dst.hstride = 1;
    op->dst.writemask = 0xf;
    op->dst.reg = (uint8_t)gen9_inst_split_dst_reg_nr(w);
    op->dst.base = (uint16_t)(op->dst.reg * G4_REGISTER_BYTES + gen9_inst_split_dst_subreg16(w));
    op->src[1].kind = known ? G4_KIND_IMM : G4_KIND_ARF; /* a0.0 */
    op->src[1].type = G4_TYPE_UD;
    op->src[1].size = g4_type_bytes[G4_TYPE_UD];
    op->src[1].width = 1;
    op->src[1].reg = G4_ARF_A << 4;
    op->mrf = (uint8_t)(gen9_inst_split_src0_reg_nr(w) & (G4_GRF_COUNT - 1));
    op->function = (uint8_t)gen9_inst_sfid(w);
    op->eot = gen9_inst_split_end_of_thread(w);
    decode_descriptor(op, known, gen9_inst_split_descriptor(w));
    if (gen9_inst_split_src1_file(w) == GEN9_FILE_GRF) {
        const uint32_t length = gen9_inst_split_ex_desc_mlen(w) >> 6;
        op->second_payload = (uint8_t)(gen9_inst_split_src1_reg_nr(w) & (G4_GRF_COUNT - 1));
        op->second_length = (uint8_t)(gen9_inst_split_ex_desc_in_register(w) ? G4_MAX_PAYLOAD : length);
        op->length_in_register = gen9_inst_split_ex_desc_in_register(w);
        op->length_address = (uint8_t)gen9_inst_split_ex_desc_subreg(w);
    }
    if (known) {
        g4_decode_target_write(op);
        op->color_pixels = 0; /* the colors are in two places */
    }
}

/* ---- an instruction ---- */

static void decode_controls(struct g4_op *op, const uint32_t w[4]) {
    const uint8_t size = gen9_exec_size_channels[gen9_inst_exec_size(w)];

    op->word0 = w[0];
    op->align16 = gen9_inst_access_mode(w);
    op->nomask = gen9_inst_mask_control(w);
    op->saturate = gen9_inst_saturate(w);
    op->predicate = (uint8_t)gen9_inst_predicate_control(w);
    op->predicate_inverse = gen9_inst_predicate_inverse(w);
    op->breakpoint = gen9_inst_debug_control(w);
    op->exec_size = size == GEN9_CODE_RESERVED ? 8 : size;
    op->group = (uint8_t)(8 * gen9_inst_quarter_control(w) + 4 * gen9_inst_nibble_control(w));
    op->flag = (uint8_t)(2 * gen9_inst_flag_reg(w) + gen9_inst_flag_subreg(w));
    op->flag_mask = 63;
    op->pair_shift = 32;
}

void g4_decode_gen9(struct g4_op *op, const uint32_t w[4], const struct g4_model *model, uint32_t ip, uint32_t length) {
    const uint32_t number = gen9_inst_opcode(w);
    const uint8_t opcode = gen9_opcodes[number];
    const bool split_send = gen9_opcode_info[number].shape == GEN9_SHAPE_SPLIT_SEND;

    (void)model;
    memset(op, 0, sizeof *op);
    op->undefined = opcode == GEN9_OPCODE_UNDEFINED;
    op->opcode = (uint8_t)(op->undefined ? number : opcode);
    op->address_mask = G4_ADDRESSES - 1;
    op->ip = ip;
    op->next = ip + length;
    const struct g4_opcode_info *const info = &g4_opcode_info[op->opcode];
    const bool ternary = info->shape == G4_SHAPE_TERNARY && !op->undefined;
    decode_controls(op, w);
    if (ternary && !op->align16) { /* three sources exist in Align16 only */
        op->undefined = true;
    }
    if (op->opcode == G4_OPCODE_MATH) {
        op->function = (uint8_t)gen9_inst_math_function(w);
    } else if (op->opcode != G4_OPCODE_SEND) {
        op->cond = (uint8_t)gen9_inst_cond_modifier(w);
    }
    if (ternary) {
        decode_ternary(op, w);
    } else if (!split_send) {
        decode_dst(&op->dst, w, op->align16);
        decode_sources(op, w);
    }
    op->macro = macro_of(op);
    if (op->macro || (op->opcode == G4_OPCODE_MAD && number != (uint32_t)G4_OPCODE_MAD)) {
        decode_macro_step(op);
    }
    if (info->flags & G4_OPF_INTEGER) {
        g4_decode_integers_only(op);
    }
    op->exec_type = (uint8_t)g4_decode_exec_type(op, info);
    find_shift_type(op);
    g4_decode_exchange_factors(op);
    if (!op->undefined) {
        find_later_forms(op, info->sources);
    }
    g4_decode_passes(op, split_send ? 0 : info->sources, false);
    op->acc = op->exec_type >= G4_EXEC_F && (op->group >> 3 & 1);
    op->acc_write = gen9_inst_acc_write_control(w) && (info->flags & G4_OPF_ACC_WRITE) && op->dst.kind != G4_KIND_ACC;
    if (split_send) {
        decode_split_send(op, w);
    } else if (op->opcode == G4_OPCODE_SEND) {
        decode_send(op, w);
    }
    g4_decode_lanes(op);
    if (!op->undefined && (gen9_opcode_info[number].flags & GEN9_OPF_BRANCH)) {
        decode_branch(op, w);
    }
    op->upper = op->group >= G4_MASK_CHANNELS && !op->channel_pointers;
    op->handler = (uint16_t)g4_handler_of(op);
}
