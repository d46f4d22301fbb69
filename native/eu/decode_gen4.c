/*
 * Decodes the instruction words of Gen4 and Gen4.5 into struct g4_op.
 */
#include "eu/op.h"

#include <string.h>

#include "eu/decode.h"
#include "eu/run.h"
#include "hw_messages.h"

/* The region of a source operand.  DW2 and DW3 have the same layout, so the accessors of src0 read both. */
static void source_region(struct g4_src *src, const uint32_t w[4], bool align16, bool indirect) {
    const uint32_t vstride = g4_inst_src0_vstride(w);
    const uint8_t rows = g4_vstride_elements[vstride];

    src->align16 = align16;
    src->vstride = rows == G4_CODE_RESERVED ? 0 : rows;
    if (align16) {
        src->width = 4;
        src->hstride = 1;
        src->swizzle[0] = (uint8_t)g4_inst_src0_swizzle_x(w);
        src->swizzle[1] = (uint8_t)g4_inst_src0_swizzle_y(w);
        src->swizzle[2] = (uint8_t)g4_inst_src0_swizzle_z(w);
        src->swizzle[3] = (uint8_t)g4_inst_src0_swizzle_w(w);
    } else {
        const uint8_t width = g4_width_elements[g4_inst_src0_width(w)];
        src->width = width == G4_CODE_RESERVED ? 16 : width;
        src->hstride = g4_hstride_elements[g4_inst_src0_hstride(w)];
    }
    if (indirect && vstride == G4_VSTRIDE_INDEXED && !align16) {
        src->kind = G4_KIND_INDEXED;
    }
}

static void immediate(struct g4_src *src, uint32_t type, uint32_t bits) {
    src->kind = G4_KIND_IMM;
    src->width = 1;
    src->type = (uint8_t)type;
    for (int c = 0; c < 8; c++) {
        uint32_t value = bits;
        switch (type) {
        case G4_IMM_UW:
            value = bits & 0xffff;
            break;
        case G4_IMM_W:
            value = (uint32_t)(int16_t)bits;
            break;
        case G4_IMM_UB:
            value = bits & 0xff;
            break;
        case G4_IMM_V:
            src->type = G4_TYPE_W;
            value = (uint32_t)((int32_t)(bits << (28 - 4 * c)) >> 28);
            break;
        case G4_IMM_VF:
            src->type = G4_TYPE_F;
            value = g4_vector_float(bits >> (8 * (c & 3)));
            break;
        default:
            break;
        }
        src->imm[c] = value;
    }
    src->size = g4_type_bytes[src->type];
}

/* The type of a register operand; the reserved code 6 means UD (docs/decisions.md 44). */
static uint8_t register_type(uint32_t code) {
    return (uint8_t)(code == G4_TYPE_RESERVED ? G4_TYPE_UD : code);
}

static void decode_source(struct g4_src *src, uint32_t file, uint32_t type, const uint32_t w[4], bool align16) {
    memset(src, 0, sizeof *src);
    if (file == G4_FILE_IMM) {
        immediate(src, type, g4_inst_immediate(w));
        return;
    }
    const bool indirect = g4_inst_src0_addr_mode(w);
    const uint32_t reg = g4_inst_src0_reg_nr(w);
    const uint32_t sub = align16 ? g4_inst_src0_subreg16(w) : g4_inst_src0_subreg_nr(w);

    src->type = register_type(type);
    src->size = g4_type_bytes[src->type];
    src->abs = g4_inst_src0_abs(w);
    src->negate = g4_inst_src0_negate(w);
    src->reg = (uint8_t)reg;
    if (file == G4_FILE_GRF && indirect) {
        src->kind = G4_KIND_INDIRECT;
        src->addr_sub = (uint8_t)g4_inst_src0_addr_subreg(w);
        src->addr_imm = (int16_t)(align16 ? g4_inst_src0_addr_imm16(w) : g4_inst_src0_addr_imm(w));
    } else if (file == G4_FILE_GRF) {
        src->kind = G4_KIND_GRF;
        src->base = (uint16_t)(reg * G4_REGISTER_BYTES + sub);
    } else if (file == G4_FILE_ARF && reg >> 4 == G4_ARF_ACC) {
        src->kind = G4_KIND_ACC;
        src->reg = reg & 1;
        src->base = (uint16_t)sub;
        src->abs = src->negate = false; /* accumulators have no modifiers */
    } else if (file == G4_FILE_ARF && reg >> 4 != G4_ARF_NULL) {
        src->kind = G4_KIND_ARF;
        src->base = (uint16_t)sub;
    } else {
        src->kind = G4_KIND_NULL;
    }
    source_region(src, w, align16, indirect);
}

static void decode_dst(struct g4_dst *dst, const uint32_t w[4], bool align16) {
    const uint32_t file = g4_inst_dst_file(w);
    const uint32_t reg = g4_inst_dst_reg_nr(w);
    const uint32_t sub = align16 ? g4_inst_dst_subreg16(w) : g4_inst_dst_subreg_nr(w);
    const uint8_t hstride = g4_hstride_elements[g4_inst_dst_hstride(w)];

    memset(dst, 0, sizeof *dst);
    dst->type = register_type(g4_inst_dst_type(w));
    dst->size = g4_type_bytes[dst->type];
    dst->writemask = align16 ? (uint8_t)g4_inst_dst_writemask(w) : 0xf;
    dst->hstride = align16 || hstride == 0 ? 1 : hstride;
    dst->reg = (uint8_t)reg;
    if (file == G4_FILE_GRF && g4_inst_dst_addr_mode(w)) {
        dst->kind = G4_KIND_INDIRECT;
        dst->addr_sub = (uint8_t)g4_inst_dst_addr_subreg(w);
        dst->addr_imm = (int16_t)(align16 ? g4_inst_dst_addr_imm16(w) : g4_inst_dst_addr_imm(w));
    } else if (file == G4_FILE_GRF) {
        dst->kind = G4_KIND_GRF;
        dst->base = (uint16_t)(reg * G4_REGISTER_BYTES + sub);
        dst->pass_bytes = G4_REGISTER_BYTES;
    } else if (file == G4_FILE_MRF) {
        dst->kind = G4_KIND_MRF;
        dst->base = (uint16_t)((reg & (G4_MRF_COUNT - 1)) * G4_REGISTER_BYTES + sub);
        dst->pass_bytes = G4_REGISTER_BYTES;
    } else if (file == G4_FILE_ARF && reg >> 4 == G4_ARF_ACC) {
        dst->kind = G4_KIND_ACC;
        dst->reg = reg & 1;
        dst->base = (uint16_t)sub;
    } else if (file == G4_FILE_ARF && reg >> 4 != G4_ARF_NULL) {
        dst->kind = G4_KIND_ARF;
        dst->base = (uint16_t)sub;
    } else {
        dst->kind = G4_KIND_NULL;
    }
}

/* Set the distance to the source of the second pass. */
static void source_pass(struct g4_src *src, const struct g4_op *op, bool plane) {
    if (src->kind != G4_KIND_GRF) {
        return;
    }
    if (plane) {
        src->pass_bytes = 2 * G4_REGISTER_BYTES;
    } else if (g4_src_scalar(src)) {
        src->pass_bytes = 0;
    } else if (src->size == 2 && src->hstride == 1 && op->exec_size == 16 &&
               (op->exec_type != G4_EXEC_W || op->dst.size == 4)) {
        src->pass_bytes = G4_REGISTER_BYTES / 2;
    } else {
        src->pass_bytes = G4_REGISTER_BYTES;
    }
}

static enum g4_exec_type exec_type(const struct g4_op *op, const struct g4_opcode_info *info) {
    enum g4_exec_type type = info->flags & G4_OPF_FLOAT ? G4_EXEC_F : G4_EXEC_W;
    for (int s = 0; s < info->sources; s++) {
        const enum g4_exec_type of = op->src[s].type == G4_TYPE_F ? G4_EXEC_F
                                     : op->src[s].size == 4       ? G4_EXEC_D
                                                                  : G4_EXEC_W;
        type = of > type ? of : type;
    }
    return type;
}

static void decode_branch(struct g4_op *op, const uint32_t w[4], const struct g4_opcode_info *info) {
    enum {
        JUMP_UNIT = 16
    }; /* in units of 16 bytes, in compacted code too */
    op->pop = (uint8_t)g4_inst_pop_count(w);
    op->jump_unit = JUMP_UNIT;
    if (info->shape == G4_SHAPE_JUMP) {
        const int32_t count = op->src[1].kind == G4_KIND_IMM ? (int32_t)op->src[1].imm[0] : 0;
        op->target = op->ip + JUMP_UNIT + (uint32_t)count * JUMP_UNIT;
    } else {
        op->target = op->ip + (uint32_t)g4_inst_jump_count(w) * JUMP_UNIT;
    }
    op->target &= ~7u;
}

/* The enables and flags of the passes.  Channels 16 to 31 have flags of their own, but the masks of channels 0 to 15.
 */
static void first_channels(struct g4_op *op) {
    for (unsigned pass = 0; pass < 2; pass++) {
        const unsigned shift = op->sechalf ? 8u : pass * op->channels;
        if (op->channels <= 8) {
            op->first_channel[pass] = (uint8_t)(shift & 15);
            op->first_flag[pass] = (uint8_t)(16u * op->flag + shift);
        } else {
            op->first_flag[pass] = op->sechalf || pass ? 16 : (uint8_t)(16u * op->flag);
        }
    }
}

static void decode_descriptor(struct g4_op *op, uint32_t descriptor) {
    op->descriptor = descriptor;
    op->function = (uint8_t)g4_message_descriptor_shared_function(descriptor);
    op->eot = g4_message_descriptor_end_of_thread(descriptor);
    op->writes_target =
        op->function == G4_SHARED_FUNCTION_DATA_PORT_WRITE &&
        g4_data_port_write_message_message_type(descriptor) == G4_DATA_PORT_WRITE_TYPE_GEN45_RENDER_TARGET;
    op->target_entry = (uint8_t)g4_data_port_write_message_binding_table_index(descriptor);
}

bool g4_expand_gen4(const uint32_t low[2], uint32_t words[4]) {
    const uint32_t w[4] = {low[0], low[1]};

    if (!g4_inst_compact_control(w)) {
        return false;
    }
    g4_inst_expand(low, words);
    return true;
}

void g4_decode_gen4(struct g4_op *op, const uint32_t w[4], const struct g4_model *model, uint32_t ip, uint32_t length) {
    const uint32_t src1[4] = {w[0], w[1], w[3], w[3]};
    const uint32_t compression = g4_inst_compression(w);
    const uint8_t size = g4_exec_size_channels[g4_inst_exec_size(w)];

    memset(op, 0, sizeof *op);
    op->opcode = (uint8_t)g4_inst_opcode(w);
    op->address_mask = 7;
    const struct g4_opcode_info *const info = &g4_opcode_info[op->opcode];
    op->undefined = !(info->gens & model->layout_gen);
    op->ip = ip;
    op->next = ip + length;
    op->word0 = w[0];
    op->align16 = g4_inst_access_mode(w);
    op->nomask = g4_inst_mask_control(w);
    op->saturate = g4_inst_saturate(w);
    op->cond = (uint8_t)g4_inst_cond_modifier(w);
    op->predicate = (uint8_t)g4_inst_predicate_control(w);
    op->predicate_inverse = g4_inst_predicate_inverse(w);
    op->flag = (uint8_t)g4_inst_flag_subreg(w);
    op->flag_mask = 31;
    op->pair_shift = 16;
    op->breakpoint = g4_inst_debug_control(w);
    op->exec_size = size == G4_CODE_RESERVED ? 8 : size;
    op->sechalf = compression == G4_COMPRESSION_SECHALF;
    op->passes = compression >= G4_COMPRESSION_COMPR && op->exec_size > 1 ? 2 : 1;
    op->channels = op->exec_size / op->passes;
    op->half = op->sechalf && op->exec_size <= 8;
    op->size_lanes = UINT64_C(0x0101010101010101) * ((1u << (op->channels < 8 ? op->channels : 8)) - 1);
    op->mrf = (uint8_t)g4_inst_base_mrf(w);
    op->acc = op->sechalf;
    first_channels(op);

    decode_dst(&op->dst, w, op->align16);
    decode_source(&op->src[0], g4_inst_src0_file(w), g4_inst_src0_type(w), w, op->align16);
    decode_source(&op->src[1], g4_inst_src1_file(w), g4_inst_src1_type(w), src1, op->align16);
    if (op->src[0].kind == G4_KIND_IMM) {
        immediate(&op->src[0], g4_inst_src0_type(w), g4_inst_immediate(w));
    }
    if (info->flags & G4_OPF_INTEGER) {
        g4_decode_integers_only(op);
    }
    op->exec_type = (uint8_t)exec_type(op, info);
    source_pass(&op->src[0], op, false);
    source_pass(&op->src[1], op, op->opcode == G4_OPCODE_PLN);
    if (op->dst.kind == G4_KIND_MRF && (g4_inst_dst_reg_nr(w) & G4_MRF_COMPR4) && model->quirks.has_compr4) {
        op->dst.pass_bytes = 4 * G4_REGISTER_BYTES;
    }
    op->acc_write = (info->flags & G4_OPF_ACC_WRITE) && op->dst.kind != G4_KIND_ACC;
    if (op->src[1].kind == G4_KIND_IMM) {
        decode_descriptor(op, g4_inst_immediate(w));
    }
    decode_branch(op, w, info);
    op->handler = (uint16_t)g4_handler_of(op);
}

bool g4_op_reads_acc(const struct g4_op *op) {
    const struct g4_opcode_info *const info = &g4_opcode_info[op->opcode];
    if (info->flags & G4_OPF_ACC_READ) {
        return true;
    }
    return (info->sources > 0 && op->src[0].kind == G4_KIND_ACC) ||
           (info->sources > 1 && op->src[1].kind == G4_KIND_ACC);
}
