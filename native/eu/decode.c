#include "eu/decode.h"
#include "messages_gen7.h"

#include <string.h>

#include "isa_gen9.h"

/* ---- immediates ---- */

static uint8_t type_of_immediate(uint8_t type) {
    switch (type) {
    case GEN9_IMM_V:
        return G4_TYPE_W;
    case GEN9_IMM_UV:
        return G4_TYPE_UW;
    case GEN9_IMM_VF:
        return G4_TYPE_F;
    case GEN9_IMM_HF:
        return G4_TYPE_HF;
    default:
        return type < GEN9_IMM_UV ? type : (uint8_t)G4_TYPE_UD; /* docs/decisions.md 44 */
    }
}

void g4_decode_immediate(struct g4_src *src, uint8_t type, uint32_t bits) {
    src->kind = G4_KIND_IMM;
    src->width = 1;
    src->type = type_of_immediate(type);
    for (int c = 0; c < 8; c++) {
        uint32_t value = bits;
        switch (type) {
        case GEN9_IMM_UW:
        case GEN9_IMM_HF:
            value = bits & 0xffff;
            break;
        case GEN9_IMM_W:
            value = (uint32_t)(int16_t)bits;
            break;
        case GEN9_IMM_UV:
            value = bits >> (4 * c) & 15;
            break;
        case GEN9_IMM_V:
            value = (uint32_t)((int32_t)(bits << (28 - 4 * c)) >> 28);
            break;
        case GEN9_IMM_VF:
            value = g4_vector_float(bits >> (8 * (c & 3)));
            break;
        default:
            break;
        }
        src->imm[c] = value;
    }
    src->size = g4_type_bytes[src->type];
}

void g4_decode_immediate64(struct g4_src *src, uint8_t type, uint64_t bits) {
    memset(src, 0, sizeof *src);
    src->kind = G4_KIND_IMM;
    src->width = 1;
    src->type = type;
    src->size = g4_type_bytes[type];
    for (int c = 0; c < 8; c += 2) {
        src->imm[c] = (uint32_t)bits;
        src->imm[c + 1] = (uint32_t)(bits >> 32);
    }
}

uint8_t g4_decode_architecture_kind(uint32_t reg) {
    switch (reg >> 4) {
    case G4_ARF_NULL:
        return G4_KIND_NULL;
    case G4_ARF_ACC:
        return G4_KIND_ACC;
    default:
        return G4_KIND_ARF;
    }
}

/* ---- passes ---- */

/* The hardware runs an instruction in two passes if its destination, or without one its execution, has two registers.
 */
static unsigned passes(const struct g4_op *op, unsigned sources) {
    const struct g4_dst *const dst = &op->dst;
    unsigned bytes = ((op->exec_size - 1u) * dst->hstride + 1) * dst->size;

    if (dst->kind == G4_KIND_GRF) {
        bytes += dst->base % G4_REGISTER_BYTES;
    } else if (dst->kind != G4_KIND_INDIRECT) {
        unsigned size = dst->size;
        for (unsigned s = 0; s < sources; s++) {
            size = op->src[s].size > size ? op->src[s].size : size;
        }
        bytes = op->exec_size * size;
    }
    return bytes > G4_REGISTER_BYTES && op->exec_size > 1 ? 2 : 1;
}

void g4_decode_passes(struct g4_op *op, unsigned sources, bool same_enables) {
    const unsigned step = same_enables ? 0 : op->exec_size / 2;

    if (op->exec_size > 8) {
        op->group &= (uint8_t) ~(op->exec_size - 1u); /* docs/decisions.md 44 */
    }
    if (op->undefined && sources > 2) {
        sources = 2; /* a third one is only decoded where the opcode exists */
    }
    op->passes = (uint8_t)passes(op, sources);
    op->channels = op->exec_size / op->passes;
    for (unsigned pass = 0; pass < 2; pass++) {
        const unsigned first = op->group + pass * step;
        op->first_channel[pass] = (uint8_t)(first % G4_MASK_CHANNELS);
        op->first_flag[pass] = (uint8_t)(16u * op->flag + first);
    }
    for (unsigned s = 0; s < sources; s++) {
        struct g4_src *const src = &op->src[s];
        if (src->kind == G4_KIND_IMM) {
            src->pass_bytes = op->channels;
        } else if (op->opcode == G4_OPCODE_PLN && s == 1) {
            src->pass_bytes = 2 * G4_REGISTER_BYTES;
        } else if (src->align16 && src->size == 8) { /* the second pass advances even with a stride of 0 */
            src->pass_bytes = G4_REGISTER_BYTES;
        } else if (src->kind != G4_KIND_ARF) {
            src->pass_bytes = (uint16_t)(g4_region_offset(src, op->channels) - g4_region_offset(src, 0));
        }
    }
    op->dst.pass_bytes = (uint16_t)(op->channels * op->dst.hstride * op->dst.size);
}

/* ---- the rest ---- */

static enum g4_exec_type exec_type_of(const struct g4_src *src) {
    switch (src->type) {
    case G4_TYPE_DF:
        return G4_EXEC_DF;
    case G4_TYPE_F:
    case G4_TYPE_HF:
        return G4_EXEC_F;
    case G4_TYPE_UQ:
    case G4_TYPE_Q:
        return G4_EXEC_Q;
    default:
        return src->size == 4 ? G4_EXEC_D : G4_EXEC_W;
    }
}

enum g4_exec_type g4_decode_exec_type(const struct g4_op *op, const struct g4_opcode_info *info) {
    enum g4_exec_type type = info->flags & G4_OPF_FLOAT ? G4_EXEC_F : G4_EXEC_W;
    for (int s = 0; s < info->sources; s++) {
        const enum g4_exec_type of = exec_type_of(&op->src[s]);
        type = of > type ? of : type;
    }
    return type;
}

void g4_decode_integers_only(struct g4_op *op) {
    for (int s = 0; s < 2; s++) {
        if (op->src[s].type == G4_TYPE_F) {
            op->src[s].type = G4_TYPE_UD;
        }
    }
}

void g4_decode_exchange_factors(struct g4_op *op) {
    const bool dwords = op->src[0].size == 4 && op->src[1].size == 4 && op->exec_type == G4_EXEC_D;
    if ((op->opcode == G4_OPCODE_MUL && dwords) || op->opcode == G4_OPCODE_MACH) {
        const struct g4_src first = op->src[0];
        op->src[0] = op->src[1];
        op->src[1] = first;
    }
}

void g4_decode_lanes(struct g4_op *op) {
    op->flag = (uint8_t)((op->first_flag[0] >> 4) & 3);
    op->half = op->exec_size <= 8 && (op->first_channel[0] >> 3 & 1);
    op->size_lanes = UINT64_C(0x0101010101010101) *
                     ((((1u << (op->channels < 8 ? op->channels : 8)) - 1) << (op->first_channel[0] & 7)) & 0xff);
}

bool g4_decode_has_two_targets(const struct g4_op *op) {
    switch (op->opcode) {
    case G4_OPCODE_IF:
    case G4_OPCODE_BREAK:
    case G4_OPCODE_CONT:
    case G4_OPCODE_HALT:
    case G4_OPCODE_BRC:
    case G4_OPCODE_GOTO:
        return true;
    default:
        return false;
    }
}

/* ---- messages ---- */

void g4_decode_target_write(struct g4_op *op) {
    enum {
        COLORS = 4,
    };
    const uint32_t type = gen7_render_cache_data_port_message_render_target_write_type(op->descriptor);
    const bool simd8 = type == GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD8;
    const bool replicated = type == GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD16_REPLICATED;
    const uint32_t registers = replicated ? 1 : simd8 ? COLORS : 2 * COLORS;

    op->writes_target = op->function == G4_SHARED_FUNCTION_DATA_PORT_WRITE &&
                        gen7_render_cache_data_port_message_message_type(op->descriptor) ==
                            GEN7_RENDER_CACHE_TYPE_GEN7_RENDER_TARGET_WRITE;
    op->target_entry = (uint8_t)gen7_render_cache_data_port_message_binding_table_index(op->descriptor);
    if (op->writes_target && op->eot && (simd8 || replicated || type == GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD16) &&
        !gen7_render_cache_data_port_message_header_present(op->descriptor) &&
        !gen7_render_cache_data_port_message_slot_group(op->descriptor) &&
        gen7_render_cache_data_port_message_last_render_target_select(op->descriptor) &&
        op->payload_length == registers) {
        op->color_pixels = simd8 ? 8 : 16;
        op->color_replicated = replicated;
    }
}
