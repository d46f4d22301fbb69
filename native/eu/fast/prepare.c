#include "eu/fast/prepare.h"
#include "core/util.h"

#include <string.h>

#include "eu/fast/fast.h"

/* ---- operands ---- */

/* The channel of the instruction's pass that channel c of a part is. */
static unsigned channel_of(const struct g4_op *op, int part, unsigned c) {
    return op->passes == 2 ? c : 8u * (unsigned)part + c;
}

/* The byte in the register file of a direct source's element. */
static unsigned source_byte(const struct g4_op *op, const struct g4_src *src, int part, unsigned c) {
    return src->base + (op->passes == 2 && part ? src->pass_bytes : 0u) +
           g4_region_offset(src, channel_of(op, part, c));
}

static unsigned dst_byte(const struct g4_op *op, int part, unsigned c) {
    const struct g4_dst *const dst = &op->dst;
    return dst->base + (op->passes == 2 && part ? dst->pass_bytes : 0u) +
           channel_of(op, part, c) * dst->hstride * dst->size;
}

/* The offset of a register file byte from the start of the register file of thread 0. */
static uint16_t gang_offset(unsigned byte) {
    return (uint16_t)(byte / 32 * sizeof(union g4_reg) + byte % 32);
}

/* How the elements of a direct source lie in its registers. */
static enum g4_fast_load shape_in_registers(const struct g4_op *op, const struct g4_src *src, struct g4_fast_src *in) {
    const bool dwords = src->size == 4;
    bool packed = dwords;
    bool scalar = dwords;
    bool one_register = true;
    for (int part = 0; part < op->parts; part++) {
        const unsigned first = source_byte(op, src, part, 0);
        for (unsigned c = 0; c < op->count; c++) {
            const unsigned at = source_byte(op, src, part, c);
            packed = packed && first % 32 == 0 && at == first + 4 * c;
            scalar = scalar && at == first;
            one_register = one_register && at / 32 == first / 32 && at % 4 + src->size <= 4;
            in->idx[8 * part + (int)c] = (int32_t)(at % 32 / 4);
            in->left[8 * part + (int)c] = 8 * (4 - src->size - (int)(at % 4));
        }
    }
    if (scalar) {
        return G4_LOAD_SCALAR;
    }
    if (packed) {
        return G4_LOAD_PACKED;
    }
    if (!one_register) {
        return G4_LOAD_GATHER;
    }
    return dwords ? G4_LOAD_PERMUTE : G4_LOAD_NARROW;
}

static bool has_contiguous_words(const struct g4_op *op, const struct g4_src *src) {
    if (src->size != 2 || op->count != 8) {
        return false;
    }
    for (int part = 0; part < op->parts; part++) {
        const unsigned first = source_byte(op, src, part, 0);
        for (unsigned c = 0; c < 8; c++) {
            if (source_byte(op, src, part, c) != first + 2 * c) {
                return false;
            }
        }
        if (first % 32 > 16) {
            return false;
        }
    }
    return true;
}

static bool prepare_direct(const struct g4_op *op, const struct g4_src *src, struct g4_fast_src *in) {
    for (int part = 0; part < op->parts; part++) {
        const unsigned first = source_byte(op, src, part, 0);
        in->reg[part] = (uint8_t)(first / 32);
        in->sub[part] = (uint8_t)(first % 32);
        for (unsigned c = 0; c < op->count; c++) {
            const unsigned at = source_byte(op, src, part, c);
            if (at + src->size > G4_GRF_COUNT * G4_REGISTER_BYTES || at % 32 + src->size > 32) {
                return false;
            }
            in->off[8 * part + (int)c] = gang_offset(at);
        }
    }
    in->load = (uint8_t)(has_contiguous_words(op, src) ? G4_LOAD_WORDS : shape_in_registers(op, src, in));
    return true;
}

/* Prepare the modifiers and the conversion of a source, for arithmetic in floats or in integers. */
static bool prepare_values(const struct g4_src *src, bool floats, struct g4_fast_src *in) {
    in->keep = 0xffffffff;
    in->flip = 0;
    if (src->type == G4_TYPE_F) {
        in->keep = src->abs ? 0x7fffffff : 0xffffffff;
        in->flip = src->negate ? 0x80000000 : 0;
        return floats;
    }
    if (src->abs || (src->negate && src->type == G4_TYPE_UD)) {
        return false;
    }
    in->minus = src->negate ? -1 : 0;
    in->invert = src->negate || src->complement ? -1 : 0;
    if (floats) {
        in->convert = src->type == G4_TYPE_UD ? G4_CONVERT_UD_TO_FLOAT : G4_CONVERT_TO_FLOAT;
    }
    return true;
}

bool g4_fast_prepare_immediate(const struct g4_src *src, bool floats, struct g4_fast_src *in) {
    in->load = G4_LOAD_IMM;
    for (int c = 0; c < 16; c++) {
        const uint32_t value = src->kind == G4_KIND_IMM ? src->imm[c & 7] : 0;
        in->imm[c] = (int32_t)value;
        if (floats && src->type != G4_TYPE_F) {
            const double exact = src->type == G4_TYPE_UD ? (double)value : (double)(int32_t)value;
            const float single = (float)exact;
            if ((double)single != exact) {
                return false;
            }
            in->imm[c] = (int32_t)g4_hw_bits(single);
        }
    }
    return true;
}

static bool is_contiguous(const struct g4_op *op, const struct g4_src *src) {
    for (unsigned c = 0; c < op->count; c++) {
        if (g4_region_offset(src, c) != c * src->size) {
            return false;
        }
    }
    return true;
}

/* One address register, read as a UW. */
static bool is_address(const struct g4_op *op, const struct g4_src *src) {
    return src->reg == G4_ARF_A << 4 && op->exec_size == 1 && src->type == G4_TYPE_UW && src->base < 16 &&
           src->base % 2 == 0 && !src->align16;
}

static bool prepare_source(const struct g4_op *op, int s, bool floats, struct g4_fast_src *in) {
    const struct g4_src *const src = &op->src[s];

    memset(in, 0, sizeof *in);
    in->size = src->size;
    in->is_signed = src->type == G4_TYPE_W || src->type == G4_TYPE_B;
    in->keep = 0xffffffff;
    switch (src->kind) {
    case G4_KIND_NULL: /* -0 if negated, -1 if inverted */
        return !src->negate && !src->complement && g4_fast_prepare_immediate(src, floats, in);
    case G4_KIND_IMM:
        return g4_fast_prepare_immediate(src, floats, in);
    case G4_KIND_GRF:
        return prepare_direct(op, src, in) && prepare_values(src, floats, in);
    case G4_KIND_INDIRECT:
        if (src->flat && op->passes == 2) { /* the second pass uses the same address */
            return false;
        }
        in->load = src->size == 4 && (g4_src_scalar(src) || is_contiguous(op, src)) ? G4_LOAD_INDIRECT : G4_LOAD_READ;
        return !g4_op_is_word16(op) && prepare_values(src, floats, in);
    case G4_KIND_ARF:
        in->sub[0] = (uint8_t)src->base;
        in->load = is_address(op, src) ? G4_LOAD_A0 : G4_LOAD_READ;
        return !g4_op_is_word16(op) && prepare_values(src, floats, in);
    case G4_KIND_INDEXED:
        in->load = G4_LOAD_READ;
        return !(src->flat && op->passes == 2) && !g4_op_is_word16(op) && prepare_values(src, floats, in);
    default:
        return false;
    }
}

/* The second part of a pass would read what the first part has written. */
static bool parts_overlap(const struct g4_op *op) {
    if (!g4_op_is_word16(op) || op->dst.kind != G4_KIND_GRF) {
        return false;
    }
    for (int s = 0; s < g4_opcode_info[op->opcode].sources; s++) {
        const struct g4_src *const src = &op->src[s];
        for (unsigned c = 0; c < 8 && src->kind == G4_KIND_GRF; c++) {
            const unsigned from = source_byte(op, src, 1, c);
            for (unsigned k = 0; k < 8; k++) {
                const unsigned to = dst_byte(op, 0, k);
                if (from < to + op->dst.size && to < from + src->size) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool is_contiguous_word_dst(const struct g4_op *op) {
    if (op->dst.size != 2 || op->dst.hstride != 1 || op->count != 8) {
        return false;
    }
    for (int part = 0; part < op->parts; part++) {
        if (dst_byte(op, part, 0) % 32 > 16) {
            return false;
        }
    }
    return true;
}

static bool prepare_direct_dst(struct g4_op *op) {
    const struct g4_dst *const dst = &op->dst;
    const bool mrf = dst->kind == G4_KIND_MRF;
    const unsigned end = (mrf ? G4_MRF_COUNT : G4_GRF_COUNT) * G4_REGISTER_BYTES;
    const unsigned file = mrf ? (unsigned)offsetof(struct g4_gang, mrf) : (unsigned)offsetof(struct g4_gang, grf);
    bool packed = dst->size == 4;

    for (int part = 0; part < op->parts; part++) {
        for (unsigned c = 0; c < 8; c++) {
            const unsigned at = dst_byte(op, part, c);
            if (c >= op->count) {
                continue;
            }
            if (at + dst->size > end || at % 32 + dst->size > 32) {
                return false;
            }
            packed = packed && at % 32 == 4 * c;
            op->out.off[8 * part + (int)c] = (uint16_t)(file + gang_offset(at));
        }
    }
    op->out.store = packed                       ? G4_STORE_PACKED
                    : is_contiguous_word_dst(op) ? G4_STORE_WORDS
                    : dst->size == 4             ? G4_STORE_SCATTER4
                    : dst->size == 2             ? G4_STORE_SCATTER2
                                                 : G4_STORE_SCATTER1;
    return true;
}

bool g4_fast_prepare_destination(struct g4_op *op) {
    const struct g4_dst *const dst = &op->dst;

    memset(&op->out, 0, sizeof op->out);
    switch (dst->kind) {
    case G4_KIND_NULL:
        op->out.store = G4_STORE_NULL;
        return true;
    case G4_KIND_GRF:
    case G4_KIND_MRF:
        return prepare_direct_dst(op) && !parts_overlap(op);
    case G4_KIND_INDIRECT:
        op->out.store = dst->size == 4 && dst->hstride == 1 ? G4_STORE_INDIRECT : G4_STORE_WRITE;
        return !g4_op_is_word16(op) && !(dst->flat && op->passes == 2);
    case G4_KIND_ARF:
        op->out.store = !dst->flat && dst->reg == G4_ARF_A << 4 && op->exec_size == 1 && dst->size == 2 &&
                                dst->base % 2 == 0 && dst->base < 16
                            ? G4_STORE_A0
                            : G4_STORE_WRITE;
        return op->exec_size == 1;
    default:
        return false;
    }
}

/* ---- four channels of each thread ---- */

/* The bytes in the register file of the element of a channel; false: its halves are apart. */
static bool quad_byte(const struct g4_src *src, int pass, unsigned c, unsigned *byte) {
    const unsigned base = src->base + (pass ? src->pass_bytes : 0u);

    if (src->size == 8 && src->align16) { /* as g4_read_raw64 reads them */
        const unsigned low = src->swizzle[2 * (c & 1)];
        *byte = base + (src->vstride ? c / 2 * 16 : 0) + 4 * low;
        return src->swizzle[2 * (c & 1) + 1] == low + 1;
    }
    *byte = base + g4_region_offset(src, c);
    return true;
}

static bool prepare_quad_region(const struct g4_op *op, const struct g4_src *src, struct g4_fast_src *in) {
    bool packed = op->channels == G4_QUAD_CHANNELS;
    bool scalar = true;

    for (int pass = 0; pass < op->passes; pass++) {
        unsigned first = 0;
        for (unsigned c = 0; c < G4_QUAD_CHANNELS; c++) {
            unsigned at;
            if (!quad_byte(src, pass, c < op->channels ? c : 0, &at) || at % 32 + src->size > 32 ||
                at + src->size > G4_GRF_COUNT * G4_REGISTER_BYTES) {
                return false;
            }
            first = c == 0 ? at : first;
            packed = packed && at % 32 == c * src->size;
            scalar = scalar && at == first;
            in->off[G4_QUAD_CHANNELS * pass + (int)c] = (uint16_t)(offsetof(struct g4_gang, grf) + gang_offset(at));
        }
    }
    in->load = packed && src->size == 8 ? G4_LOAD_PACKED : scalar ? G4_LOAD_SCALAR : G4_LOAD_GATHER;
    return true;
}

static bool is_narrow_immediate(const struct g4_src *src) {
    return src->kind == G4_KIND_IMM && (src->type == G4_TYPE_W || src->type == G4_TYPE_UW);
}

static bool prepare_quad_source(const struct g4_op *op, const struct g4_src *src, struct g4_fast_src *in) {
    const bool is_integer = src->type != G4_TYPE_DF && src->type != G4_TYPE_F;
    const bool is_unsigned = src->type == G4_TYPE_UD || src->type == G4_TYPE_UQ;

    memset(in, 0, sizeof *in);
    in->size = src->size;
    in->keep = src->abs ? 0x7fffffff : 0xffffffff;
    in->flip = src->negate ? 0x80000000 : 0;
    in->invert = src->negate || src->complement ? -1 : 0;
    in->minus = src->negate ? -1 : 0;
    if ((src->size != 8 && src->size != 4 && !is_narrow_immediate(src)) ||
        (is_integer && (src->abs || (src->negate && is_unsigned)))) {
        return false;
    }
    if (src->kind == G4_KIND_GRF) {
        return prepare_quad_region(op, src, in);
    }
    in->load = G4_LOAD_IMM;
    for (unsigned i = 0; i < 2 * G4_QUAD_CHANNELS; i++) {
        const unsigned c = i % G4_QUAD_CHANNELS + (i < G4_QUAD_CHANNELS ? 0u : src->pass_bytes);
        in->imm[i] = (int32_t)src->imm[src->size == 8 ? i & 1 : c & 7];
    }
    return src->kind == G4_KIND_IMM;
}

static bool prepare_quad_destination(struct g4_op *op) {
    const struct g4_dst *const dst = &op->dst;
    bool packed = dst->size == 8 && op->channels == G4_QUAD_CHANNELS;

    memset(&op->out, 0, sizeof op->out);
    op->out.store = G4_STORE_NULL;
    if (dst->kind == G4_KIND_NULL) {
        return true;
    }
    for (int pass = 0; pass < op->passes; pass++) {
        for (unsigned c = 0; c < op->channels; c++) {
            const unsigned at = dst->base + (pass ? dst->pass_bytes : 0u) + c * dst->hstride * dst->size;
            if (at % 32 + dst->size > 32 || at + dst->size > G4_GRF_COUNT * G4_REGISTER_BYTES) {
                return false;
            }
            packed = packed && at % 32 == c * dst->size;
            op->out.off[G4_QUAD_CHANNELS * pass + (int)c] = (uint16_t)(offsetof(struct g4_gang, grf) + gang_offset(at));
        }
    }
    op->out.store = packed ? G4_STORE_PACKED : G4_STORE_SCATTER4;
    return dst->kind == G4_KIND_GRF && (dst->size == 8 || dst->size == 4);
}

/* The channels of each pass are in one half of a register of flags, and of masks. */
static bool has_quad_lanes(const struct g4_op *op) {
    const bool by_four = op->predicate == G4_PRED_NONE || op->predicate == G4_PRED_NORMAL;

    for (int pass = 0; pass < op->passes; pass++) {
        const unsigned first = op->first_channel[pass];
        if ((first & 7) + op->channels > 8 || op->first_flag[pass] != 16u * op->flag + first ||
            (first % 4 && !by_four)) {
            return false;
        }
    }
    return op->channels <= G4_QUAD_CHANNELS;
}

bool g4_fast_prepare_quad(struct g4_op *op) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;

    if (!has_quad_lanes(op) || !prepare_quad_destination(op)) {
        return false;
    }
    for (unsigned s = 0; s < sources; s++) {
        if (!prepare_quad_source(op, &op->src[s], &op->in[s])) {
            return false;
        }
    }
    return true;
}

/* ---- products of dwords ---- */

static bool is_dword(const struct g4_src *src) {
    return (src->kind == G4_KIND_GRF || src->kind == G4_KIND_IMM) &&
           (src->type == G4_TYPE_D || src->type == G4_TYPE_UD);
}

/* The low half of a factor, as later compilers write it: a word of a dword, or an immediate. */
static bool is_low_word(const struct g4_src *src) {
    return (src->kind == G4_KIND_GRF || src->kind == G4_KIND_IMM) && src->type == G4_TYPE_UW && !src->negate;
}

/* The multiplication with the low halves of a source; each channel has the slot of its own number. */
static bool starts_product(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_MUL && op->dst.kind == G4_KIND_ACC && op->dst.base == 0 && op->dst.hstride == 1;
}

/* The multiplication with the high halves. */
static bool completes_product(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_MACH && (op->dst.kind == G4_KIND_GRF || op->dst.kind == G4_KIND_NULL);
}

bool g4_fast_prepare_dwords(struct g4_op *op) {
    const bool starts = starts_product(op);
    const bool plain = !op->undefined && op->cond == G4_COND_NONE && !op->saturate;
    const bool shape = op->parts == op->passes && op->half + op->parts <= 2 && op->first_channel[0] % 8 == 0 &&
                       (op->passes == 1 || op->exec_size == 16);

    const bool words = starts && is_dword(&op->src[0]) && is_low_word(&op->src[1]);

    if (!(starts || completes_product(op)) || !plain || !shape ||
        !(words || (is_dword(&op->src[0]) && is_dword(&op->src[1]))) ||
        (op->dst.type != G4_TYPE_D && op->dst.type != G4_TYPE_UD)) {
        return false;
    }
    return (starts || g4_fast_prepare_destination(op)) && g4_fast_prepare_sources(op, false);
}

/* ---- instructions ---- */

bool g4_fast_prepare_sources(struct g4_op *op, bool floats) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    for (unsigned s = 0; s < sources; s++) {
        if (!prepare_source(op, (int)s, floats, &op->in[s])) {
            return false;
        }
    }
    return true;
}

/* The implied move of a send copies whole registers, as nearly all do. */
static bool moves_whole_registers(const struct g4_op *op) {
    const struct g4_src *const src = &op->src[0];
    const unsigned count = G4_REGISTER_BYTES / src->size;
    if (src->kind != G4_KIND_GRF || src->base % G4_REGISTER_BYTES ||
        (op->passes > 1 && src->pass_bytes % G4_REGISTER_BYTES) || src->abs || src->negate) {
        return false;
    }
    for (unsigned c = 0; c < count; c++) {
        if (g4_region_offset(src, c) != c * src->size) {
            return false;
        }
    }
    return true;
}

/* The implied move copies dwords of a region, such as the one operand of a scalar math message. */
static bool moves_dwords(struct g4_op *op) {
    const struct g4_src *const src = &op->src[0];
    if (src->kind != G4_KIND_GRF || src->size != 4 || src->base % 4 || op->passes > 1 || src->abs || src->negate) {
        return false;
    }
    for (unsigned c = 0; c < 8; c++) {
        const unsigned at = src->base + g4_region_offset(src, c);
        const unsigned reg = at / G4_REGISTER_BYTES;
        if (reg >= G4_GRF_COUNT) {
            return false;
        }
        op->in[0].off[c] = gang_offset(at);
        op->move_top = op->move_top > reg ? op->move_top : (uint8_t)(reg + 1);
    }
    return true;
}

void g4_fast_prepare_send(struct g4_op *op) {
    op->whole_move = moves_whole_registers(op);
    op->dword_move = !op->whole_move && moves_dwords(op);
}

/* Add an indirect operand: `rows` addresses from a0.`first` on, each followed by `extent` bytes of elements. */
static void add_address(struct g4_op *op, unsigned first, int imm, unsigned rows, unsigned extent) {
    struct g4_fast_address *const address = &op->address[op->addresses++];
    *address = (struct g4_fast_address){.imm = (int16_t)imm, .extent = (uint16_t)extent};
    for (unsigned n = 0; n < rows + op->passes - 1; n++) {
        address->used[(first + n) & op->address_mask] = UINT16_MAX;
    }
}

void g4_fast_prepare_addresses(struct g4_op *op) {
    const struct g4_dst *const dst = &op->dst;

    op->addresses = 0;
    for (int s = 0; s < g4_opcode_info[op->opcode].sources; s++) {
        const struct g4_src *const src = &op->src[s];
        const bool indexed = src->kind == G4_KIND_INDEXED;
        const unsigned row = indexed && src->width < op->channels ? src->width : op->channels;
        unsigned extent = 0;
        for (unsigned c = 0; c < row; c++) {
            const unsigned at = indexed ? c * src->hstride * src->size : g4_region_offset(src, c);
            extent = at + src->size > extent ? at + src->size : extent;
        }
        if (indexed || src->kind == G4_KIND_INDIRECT) {
            add_address(op, src->addr_sub, src->addr_imm, op->channels / row, extent);
        }
    }
    if (dst->kind == G4_KIND_INDIRECT) {
        add_address(op, dst->addr_sub, dst->addr_imm, 1, ((op->channels - 1u) * dst->hstride + 1) * dst->size);
    }
    if (op->addresses) {
        op->ordinary = op->handler;
        op->handler = G4_HANDLER_INDIRECT;
    }
}
