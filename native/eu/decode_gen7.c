/*
 * Decodes the instruction words of Gen7 and Gen7.5 into struct g4_op.
 */
#include <string.h>

#include "eu/decode.h"
#include "eu/run.h"
#include "isa_gen7.h"
#include "messages_gen7.h"

enum {
    JUMP_UNIT = 8, /* of branches, and of jmpi and call on Gen7 */
};

/* The differences of the two generations. */
struct variant {
    const uint8_t *opcodes;  /* by number */
    uint8_t count_unit;      /* bytes that the immediate of jmpi or call counts */
    bool doubles_are_halves; /* the execution size counts dwords of doubles, and regions are in dwords */
};

static const struct variant gen7 = {.opcodes = gen7_opcodes, .count_unit = JUMP_UNIT, .doubles_are_halves = true};
static const struct variant gen75 = {.opcodes = gen75_opcodes, .count_unit = 1};

bool g4_expand_gen7(const uint32_t low[2], uint32_t words[4]) {
    const uint32_t w[4] = {low[0], low[1]};

    if (!gen7_inst_compact_control(w)) {
        return false;
    }
    gen7_inst_expand(low, words);
    return true;
}

/* ---- sources ---- */

static void swizzle(struct g4_src *src, uint32_t code) {
    for (int c = 0; c < 4; c++) {
        src->swizzle[c] = (uint8_t)(code >> (2 * c) & 3);
    }
}

/* The region of a source operand.  DW2 and DW3 have the same layout, so the accessors of src0 read both. */
static void source_region(struct g4_src *src, const uint32_t w[4], bool align16, bool indirect) {
    const uint32_t vstride = gen7_inst_src0_vstride(w);
    const uint8_t rows = gen7_vstride_elements[vstride];

    src->align16 = align16;
    src->vstride = rows == GEN7_CODE_RESERVED ? 0 : rows;
    if (align16) {
        src->width = 4;
        src->hstride = 1;
        src->swizzle[0] = (uint8_t)gen7_inst_src0_swizzle_x(w);
        src->swizzle[1] = (uint8_t)gen7_inst_src0_swizzle_y(w);
        src->swizzle[2] = (uint8_t)gen7_inst_src0_swizzle_z(w);
        src->swizzle[3] = (uint8_t)gen7_inst_src0_swizzle_w(w);
    } else {
        const uint8_t width = gen7_width_elements[gen7_inst_src0_width(w)];
        src->width = width == GEN7_CODE_RESERVED ? 16 : width;
        src->hstride = gen7_hstride_elements[gen7_inst_src0_hstride(w)];
    }
    if (indirect && vstride == GEN7_VSTRIDE_INDEXED && !align16) {
        src->kind = G4_KIND_INDEXED;
    }
}

static void decode_source(struct g4_src *src, uint32_t file, uint32_t type, const uint32_t w[4], bool align16) {
    memset(src, 0, sizeof *src);
    if (file == GEN7_FILE_IMM) {
        g4_decode_immediate(src, gen7_immediate_types[type], gen7_inst_immediate(w));
        return;
    }
    const bool indirect = gen7_inst_src0_addr_mode(w);
    const uint32_t reg = gen7_inst_src0_reg_nr(w);
    const uint32_t sub = align16 ? gen7_inst_src0_subreg16(w) : gen7_inst_src0_subreg_nr(w);

    src->type = gen7_register_types[type];
    src->size = g4_type_bytes[src->type];
    src->abs = gen7_inst_src0_abs(w);
    src->negate = gen7_inst_src0_negate(w);
    src->reg = (uint8_t)reg;
    src->base = (uint16_t)sub;
    src->flat = true;
    if (file == GEN7_FILE_GRF && indirect) {
        src->kind = G4_KIND_INDIRECT;
        src->addr_sub = (uint8_t)gen7_inst_src0_addr_subreg(w);
        src->addr_imm = (int16_t)(align16 ? gen7_inst_src0_addr_imm16(w) : gen7_inst_src0_addr_imm(w));
    } else if (file == GEN7_FILE_GRF) {
        src->kind = G4_KIND_GRF;
        src->base = (uint16_t)(reg * G4_REGISTER_BYTES + sub);
    } else if (file == GEN7_FILE_ARF) {
        src->kind = g4_decode_architecture_kind(reg);
    } else { /* Gen7 has no message registers */
        src->kind = G4_KIND_NULL;
    }
    if (src->kind == G4_KIND_ACC) {
        src->reg = reg & 1;
    }
    source_region(src, w, align16, indirect);
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
    } else {
        src->align16 = true;
        src->vstride = src->width = 4;
        src->hstride = 1;
        swizzle(src, type == G4_TYPE_DF ? 0xe4 : code); /* doubles are in order */
    }
}

static void decode_ternary(struct g4_op *op, const uint32_t w[4]) {
    const uint8_t type = gen7_ternary_types[gen7_inst_ternary_src_type(w)];
    struct g4_dst *const dst = &op->dst;

    memset(op->src, 0, sizeof op->src);
    ternary_source(&op->src[0], type, gen7_inst_ternary_src0_replicate(w), gen7_inst_ternary_src0_swizzle(w),
                   gen7_inst_ternary_src0_reg_nr(w), gen7_inst_ternary_src0_subreg_nr(w));
    ternary_source(&op->src[1], type, gen7_inst_ternary_src1_replicate(w), gen7_inst_ternary_src1_swizzle(w),
                   gen7_inst_ternary_src1_reg_nr(w), gen7_inst_ternary_src1_subreg_nr(w));
    ternary_source(&op->src[2], type, gen7_inst_ternary_src2_replicate(w), gen7_inst_ternary_src2_swizzle(w),
                   gen7_inst_ternary_src2_reg_nr(w), gen7_inst_ternary_src2_subreg_nr(w));
    op->src[0].abs = gen7_inst_ternary_src0_abs(w);
    op->src[1].abs = gen7_inst_ternary_src1_abs(w);
    op->src[2].abs = gen7_inst_ternary_src2_abs(w);
    op->src[0].negate = gen7_inst_ternary_src0_negate(w);
    op->src[1].negate = gen7_inst_ternary_src1_negate(w);
    op->src[2].negate = gen7_inst_ternary_src2_negate(w);
    memset(dst, 0, sizeof *dst);
    dst->kind = G4_KIND_GRF;
    dst->type = gen7_ternary_types[gen7_inst_ternary_dst_type(w)];
    dst->size = g4_type_bytes[dst->type];
    dst->hstride = 1;
    dst->writemask = (uint8_t)gen7_inst_ternary_dst_writemask(w);
    dst->reg = (uint8_t)gen7_inst_ternary_dst_reg_nr(w);
    dst->base = (uint16_t)(dst->reg * G4_REGISTER_BYTES + gen7_inst_ternary_dst_subreg_nr(w));
}

/* ---- destination ---- */

static void decode_dst(struct g4_dst *dst, const uint32_t w[4], bool align16) {
    const uint32_t file = gen7_inst_dst_file(w);
    const uint32_t reg = gen7_inst_dst_reg_nr(w);
    const uint32_t sub = align16 ? gen7_inst_dst_subreg16(w) : gen7_inst_dst_subreg_nr(w);
    const uint8_t hstride = gen7_hstride_elements[gen7_inst_dst_hstride(w)];

    memset(dst, 0, sizeof *dst);
    dst->type = gen7_register_types[gen7_inst_dst_type(w)];
    dst->size = g4_type_bytes[dst->type];
    dst->writemask = align16 ? (uint8_t)gen7_inst_dst_writemask(w) : 0xf;
    dst->hstride = align16 || hstride == 0 ? 1 : hstride;
    dst->reg = (uint8_t)reg;
    dst->base = (uint16_t)sub;
    dst->flat = true;
    if (file == GEN7_FILE_GRF && gen7_inst_dst_addr_mode(w)) {
        dst->kind = G4_KIND_INDIRECT;
        dst->addr_sub = (uint8_t)gen7_inst_dst_addr_subreg(w);
        dst->addr_imm = (int16_t)(align16 ? gen7_inst_dst_addr_imm16(w) : gen7_inst_dst_addr_imm(w));
    } else if (file == GEN7_FILE_GRF) {
        dst->kind = G4_KIND_GRF;
        dst->base = (uint16_t)(reg * G4_REGISTER_BYTES + sub);
    } else if (file == GEN7_FILE_ARF) {
        dst->kind = g4_decode_architecture_kind(reg);
    } else {
        dst->kind = G4_KIND_NULL;
    }
    if (dst->kind == G4_KIND_ACC) {
        dst->reg = reg & 1;
    }
}

/* ---- passes ---- */

static bool has_doubles(const struct g4_op *op, unsigned sources) {
    bool doubles = op->dst.type == G4_TYPE_DF;
    for (unsigned s = 0; s < sources; s++) {
        doubles |= op->src[s].type == G4_TYPE_DF;
    }
    return doubles;
}

/* Ivy Bridge executes doubles as pairs of dwords: the execution size and the regions count dwords, and of the elements
 * of other operands every second one is used. */
static void halve_region(struct g4_src *src) {
    const bool doubles = src->type == G4_TYPE_DF;

    if (src->align16 || src->kind == G4_KIND_IMM) {
        return;
    }
    if (src->width == 1) {
        src->vstride = (uint8_t)(doubles ? src->vstride : 2 * src->vstride);
        return;
    }
    src->width /= 2;
    if (doubles) {
        src->vstride /= 2;
    } else {
        src->hstride = (uint8_t)(2 * src->hstride);
    }
}

static void halve(struct g4_op *op, unsigned sources) {
    for (unsigned s = 0; s < sources; s++) {
        halve_region(&op->src[s]);
    }
    op->exec_size = op->exec_size > 1 ? op->exec_size / 2 : 1;
    if (op->dst.type != G4_TYPE_DF && !op->align16) {
        op->dst.hstride = (uint8_t)(2 * op->dst.hstride);
    }
}

/* ---- the rest ---- */

static void decode_branch(struct g4_op *op, const uint32_t w[4], uint8_t count_unit) {
    op->channel_pointers = true;
    op->jump_unit = count_unit;
    if (op->opcode == G4_OPCODE_JMPI) {
        const uint32_t count = op->src[1].kind == G4_KIND_IMM ? op->src[1].imm[0] : 0;
        op->target = op->next + count * count_unit;
    } else if (op->opcode == G4_OPCODE_CALL) {
        op->target = op->ip + (uint32_t)gen7_inst_immediate(w) * count_unit;
    } else {
        op->target = op->ip + (uint32_t)gen7_inst_jip(w) * JUMP_UNIT;
        op->uip = op->ip + (uint32_t)gen7_inst_uip(w) * JUMP_UNIT;
    }
    op->target &= ~7u;
}

static void decode_send(struct g4_op *op, const uint32_t w[4]) {
    op->grf_payload = true;
    op->mrf = (uint8_t)(gen7_inst_src0_reg_nr(w) & (G4_GRF_COUNT - 1));
    op->function = (uint8_t)gen7_inst_sfid(w);
    op->eot = gen7_inst_send_end_of_thread(w);
    op->descriptor = op->src[1].kind == G4_KIND_IMM ? gen7_inst_send_descriptor(w) : 0;
    op->payload_length = G4_MAX_PAYLOAD;
    op->passes = 1;
    op->channels = op->exec_size;
    if (op->src[1].kind == G4_KIND_IMM) {
        op->payload_length = (uint8_t)gen7_message_descriptor_message_length(op->descriptor);
        g4_decode_target_write(op);
    }
}

static void decode(struct g4_op *op, const uint32_t w[4], const struct variant *variant, uint32_t ip, uint32_t length) {
    const uint32_t src1[4] = {w[0], w[1], w[3], w[3]};
    const uint8_t size = gen7_exec_size_channels[gen7_inst_exec_size(w)];
    const uint32_t number = gen7_inst_opcode(w);
    const uint8_t opcode = variant->opcodes[number];

    memset(op, 0, sizeof *op);
    op->undefined = opcode == GEN7_OPCODE_UNDEFINED;
    op->opcode = (uint8_t)(op->undefined ? number : opcode);
    op->address_mask = 7;
    op->ip = ip;
    op->next = ip + length;
    op->word0 = w[0];
    const struct g4_opcode_info *const info = &g4_opcode_info[op->opcode];
    const bool ternary = info->shape == G4_SHAPE_TERNARY && !op->undefined;
    op->align16 = gen7_inst_access_mode(w);
    if (ternary && !op->align16) { /* three sources exist in Align16 only */
        op->undefined = true;
    }
    op->nomask = gen7_inst_mask_control(w);
    op->saturate = gen7_inst_saturate(w);
    op->predicate = (uint8_t)gen7_inst_predicate_control(w);
    op->predicate_inverse = gen7_inst_predicate_inverse(w);
    op->breakpoint = gen7_inst_debug_control(w);
    op->exec_size = size == GEN7_CODE_RESERVED ? 8 : size;
    op->group = (uint8_t)(8 * gen7_inst_quarter_control(w) + 4 * gen7_inst_nibble_control(w));
    op->flag = (uint8_t)(ternary ? 2 * gen7_inst_ternary_flag_reg(w) + gen7_inst_ternary_flag_subreg(w)
                                 : 2 * gen7_inst_flag_reg(w) + gen7_inst_flag_subreg(w));
    op->flag_mask = 63;
    op->pair_shift = 32;
    if (op->opcode == G4_OPCODE_MATH) {
        op->function = (uint8_t)gen7_inst_math_function(w);
    } else if (op->opcode != G4_OPCODE_SEND) {
        op->cond = (uint8_t)gen7_inst_cond_modifier(w);
    }
    if (ternary) {
        decode_ternary(op, w);
    } else {
        decode_dst(&op->dst, w, op->align16);
        decode_source(&op->src[0], gen7_inst_src0_file(w), gen7_inst_src0_type(w), w, op->align16);
        decode_source(&op->src[1], gen7_inst_src1_file(w), gen7_inst_src1_type(w), src1, op->align16);
        if (op->src[0].kind == G4_KIND_IMM) {
            g4_decode_immediate(&op->src[0], gen7_immediate_types[gen7_inst_src0_type(w)], gen7_inst_immediate(w));
        }
        if (op->opcode == G4_OPCODE_DIM) {
            g4_decode_immediate64(&op->src[0], G4_TYPE_DF, gen7_inst_immediate64(w));
        }
    }
    if (info->flags & G4_OPF_INTEGER) {
        g4_decode_integers_only(op);
    }
    op->exec_type = (uint8_t)g4_decode_exec_type(op, info);
    g4_decode_exchange_factors(op);
    const bool halved = variant->doubles_are_halves && has_doubles(op, info->sources);
    if (halved) {
        halve(op, info->sources);
    }
    g4_decode_passes(op, info->sources, halved);
    op->acc = op->exec_type >= G4_EXEC_F && (op->group >> 3 & 1);
    op->acc_write = gen7_inst_acc_write_control(w) && (info->flags & G4_OPF_ACC_WRITE) && op->dst.kind != G4_KIND_ACC;
    if (op->opcode == G4_OPCODE_SEND) {
        decode_send(op, w);
    }
    g4_decode_lanes(op);
    if (!op->undefined && (gen7_opcode_info[number].flags & GEN7_OPF_BRANCH)) {
        decode_branch(op, w, variant->count_unit);
        if (!g4_decode_has_two_targets(op)) {
            op->uip = op->target;
        }
    }
    op->upper = op->group >= G4_MASK_CHANNELS && !op->channel_pointers;
    op->handler = (uint16_t)g4_handler_of(op);
}

void g4_decode_gen7(struct g4_op *op, const uint32_t w[4], const struct g4_model *model, uint32_t ip, uint32_t length) {
    (void)model;
    decode(op, w, &gen7, ip, length);
}

void g4_decode_gen75(struct g4_op *op, const uint32_t w[4], const struct g4_model *model, uint32_t ip,
                     uint32_t length) {
    (void)model;
    decode(op, w, &gen75, ip, length);
}
