/*
 * Which fast handler an instruction gets, and its operands made ready (spec/40 15.3).  Whatever is not provably the
 * same keeps the general handler.
 */
#include <string.h>

#include "eu/fast/fast.h"

/* ---- operands ---- */

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

static uint16_t gang_offset(unsigned byte) {
    return (uint16_t)(byte / 32 * sizeof(union g4_reg) + byte % 32);
}

static bool is_word16(const struct g4_op *op) {
    return op->passes == 1 && op->parts == 2;
}

/* How elements lie: all shapes that have a quick way. */
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

static bool words_in_a_row(const struct g4_op *op, const struct g4_src *src) {
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
    in->load = (uint8_t)(words_in_a_row(op, src) ? G4_LOAD_WORDS : shape_in_registers(op, src, in));
    return true;
}

/* Modifiers and conversion of a source, for arithmetic in floats or in integers. */
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
    in->invert = in->minus = src->negate ? -1 : 0;
    if (floats) {
        in->convert = src->type == G4_TYPE_UD ? G4_CONVERT_UD_TO_FLOAT : G4_CONVERT_TO_FLOAT;
    }
    return true;
}

static float as_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t float_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* Immediates are converted here, if that is exact whatever the rounding. */
static bool prepare_immediate(const struct g4_src *src, bool floats, struct g4_fast_src *in) {
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
            in->imm[c] = (int32_t)float_bits(as_float(float_bits(single)));
        }
    }
    return true;
}

static bool in_a_row(const struct g4_op *op, const struct g4_src *src) {
    for (unsigned c = 0; c < op->count; c++) {
        if (g4_region_offset(src, c) != c * src->size) {
            return false;
        }
    }
    return true;
}

/* One address register as a word without sign. */
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
    case G4_KIND_NULL: /* negated it is -0 */
        return !src->negate && prepare_immediate(src, floats, in);
    case G4_KIND_IMM:
        return prepare_immediate(src, floats, in);
    case G4_KIND_GRF:
        return prepare_direct(op, src, in) && prepare_values(src, floats, in);
    case G4_KIND_INDIRECT:
        in->load = src->size == 4 && (g4_src_scalar(src) || in_a_row(op, src)) ? G4_LOAD_INDIRECT : G4_LOAD_READ;
        return !is_word16(op) && prepare_values(src, floats, in);
    case G4_KIND_ARF:
        in->sub[0] = (uint8_t)src->base;
        in->load = is_address(op, src) ? G4_LOAD_A0 : G4_LOAD_READ;
        return !is_word16(op) && prepare_values(src, floats, in);
    case G4_KIND_INDEXED:
        in->load = G4_LOAD_READ;
        return !is_word16(op) && prepare_values(src, floats, in);
    default:
        return false;
    }
}

/* A later part must not read what an earlier part of the same pass has written. */
static bool parts_overlap(const struct g4_op *op) {
    if (!is_word16(op) || op->dst.kind != G4_KIND_GRF) {
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

static bool words_row_dst(const struct g4_op *op) {
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
    op->out.store = packed              ? G4_STORE_PACKED
                    : words_row_dst(op) ? G4_STORE_WORDS
                    : dst->size == 4    ? G4_STORE_SCATTER4
                    : dst->size == 2    ? G4_STORE_SCATTER2
                                        : G4_STORE_SCATTER1;
    return true;
}

static bool prepare_dst(struct g4_op *op) {
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
        return !is_word16(op);
    case G4_KIND_ARF:
        op->out.store =
            dst->reg == G4_ARF_A << 4 && op->exec_size == 1 && dst->size == 2 && dst->base % 2 == 0 && dst->base < 16
                ? G4_STORE_A0
                : G4_STORE_WRITE;
        return op->exec_size == 1;
    default:
        return false;
    }
}

/* ---- opcodes ---- */

enum shape {
    SHAPE_P,
    SHAPE_S,
    SHAPE_I
};

static enum shape shape_of(const struct g4_fast_src *in) {
    if (in->load == G4_LOAD_IMM) {
        for (int c = 1; c < 16; c++) {
            if (in->imm[c] != in->imm[0]) {
                return SHAPE_P;
            }
        }
        return SHAPE_I;
    }
    return in->load == G4_LOAD_SCALAR && in->convert == G4_CONVERT_NONE ? SHAPE_S : SHAPE_P;
}

/* The handler of a pair of shapes, from the first of its six; an immediate as src0 is spread out. */
static unsigned binary(const struct g4_op *op, unsigned first) {
    const unsigned a = shape_of(&op->in[0]) == SHAPE_S ? 3 : 0;
    return first + a + (unsigned)shape_of(&op->in[1]);
}

static void use(struct g4_op *op, enum g4_table table, unsigned index) {
    op->handler = (uint16_t)((unsigned)table << 8 | index);
}

static bool prepare_sources(struct g4_op *op, bool floats) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    for (unsigned s = 0; s < sources; s++) {
        if (!prepare_source(op, (int)s, floats, &op->in[s])) {
            return false;
        }
    }
    return true;
}

static enum g4_fast_convert float_to(unsigned type) {
    static const uint8_t to[8] = {
        [G4_TYPE_UD] = G4_CONVERT_TO_UD, [G4_TYPE_D] = G4_CONVERT_TO_D,   [G4_TYPE_UW] = G4_CONVERT_TO_UW,
        [G4_TYPE_W] = G4_CONVERT_TO_W,   [G4_TYPE_UB] = G4_CONVERT_TO_UB, [G4_TYPE_B] = G4_CONVERT_TO_B,
    };
    return to[type & 7];
}

static enum g4_fast_convert clamp_to(unsigned type) {
    static const uint8_t to[8] = {
        [G4_TYPE_UD] = G4_CONVERT_CLAMP_UD, [G4_TYPE_UW] = G4_CONVERT_CLAMP_UW, [G4_TYPE_W] = G4_CONVERT_CLAMP_W,
        [G4_TYPE_UB] = G4_CONVERT_CLAMP_UB, [G4_TYPE_B] = G4_CONVERT_CLAMP_B,
    };
    return to[type & 7];
}

static bool plain_condition(const struct g4_op *op) {
    return op->cond <= G4_COND_LE;
}

/* A float result: to floats as it is; to integers converted, then without what else could look at it. */
static bool float_result(struct g4_op *op) {
    if (!plain_condition(op)) {
        return false;
    }
    if (op->dst.type != G4_TYPE_F && op->out.store != G4_STORE_NULL) {
        op->out.convert = (uint8_t)float_to(op->dst.type);
    }
    return op->dst.type == G4_TYPE_F || !op->saturate;
}

static bool raw_source(const struct g4_op *op, const struct g4_src *src) {
    return !op->saturate && src->type == op->dst.type && !src->abs && !src->negate;
}

static bool has_ud(const struct g4_op *op) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    for (unsigned s = 0; s < sources; s++) {
        if (op->src[s].type == G4_TYPE_UD) {
            return true;
        }
    }
    return false;
}

/* An integer result whose 32 bits are its true value: flags, saturation and conversion work on them. */
static bool exact_result(struct g4_op *op) {
    if (!plain_condition(op)) {
        return false;
    }
    if (op->dst.type == G4_TYPE_F) {
        op->out.convert = G4_CONVERT_TO_FLOAT;
        return !op->saturate;
    }
    if (op->saturate) {
        op->out.convert = (uint8_t)clamp_to(op->dst.type);
        return op->cond == G4_COND_NONE;
    }
    return true;
}

/* An integer result of which only the low bits are right. */
static bool modular_result(const struct g4_op *op) {
    return op->cond == G4_COND_NONE && !op->saturate && op->dst.type != G4_TYPE_F;
}

static bool select_double(struct g4_op *op) {
    static const struct {
        uint8_t opcode, handler;
    } table[] = {
        {G4_OPCODE_ADD, G4_FAST_ADDA_P}, {G4_OPCODE_MUL, G4_FAST_MULA_P}, {G4_OPCODE_MAC, G4_FAST_MAC_P},
        {G4_OPCODE_DP4, G4_FAST_DP4_P},  {G4_OPCODE_DPH, G4_FAST_DPH_P},  {G4_OPCODE_DP3, G4_FAST_DP3_P},
        {G4_OPCODE_DP2, G4_FAST_DP2_P},
    };
    const bool tuples = g4_opcode_info[op->opcode].flags & G4_OPF_GROUP4;
    if (tuples && (op->acc_write || op->count % 4 != 0)) {
        return false;
    }
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].opcode == op->opcode && float_result(op)) {
            use(op, G4_TABLE_DOUBLE, table[i].handler);
            return true;
        }
    }
    return false;
}

static bool select_plane(struct g4_op *op) {
    const bool pln = op->opcode == G4_OPCODE_PLN;
    if (op->in[0].load != G4_LOAD_SCALAR || op->src[0].type != G4_TYPE_F || op->src[0].align16 || is_word16(op) ||
        (pln && (op->in[1].load != G4_LOAD_PACKED || op->src[1].type != G4_TYPE_F)) || !float_result(op)) {
        return false;
    }
    if (pln && op->in[1].reg[op->parts - 1] + 1u >= G4_GRF_COUNT) {
        return false;
    }
    use(op, G4_TABLE_DOUBLE, pln ? G4_FAST_PLN : G4_FAST_LINE);
    return true;
}

/* A float in place, a scalar or an immediate, of which at most the negative is asked. */
static bool plain_source(const struct g4_src *src, const struct g4_fast_src *in) {
    const bool in_place = in->load == G4_LOAD_PACKED || shape_of(in) != SHAPE_P;
    return in_place && in->convert == G4_CONVERT_NONE && in->keep == 0xffffffff &&
           (src->type == G4_TYPE_F || in->load == G4_LOAD_IMM);
}

/* add and mul of floats, of which only the second may be other than lanes in the plain handlers. */
static void select_add_mul(struct g4_op *op) {
    const bool mul = op->opcode == G4_OPCODE_MUL;
    const bool plain = plain_source(&op->src[0], &op->in[0]) && plain_source(&op->src[1], &op->in[1]);
    const bool stored = !op->saturate && op->cond == G4_COND_NONE && op->out.store == G4_STORE_PACKED &&
                        op->out.convert == G4_CONVERT_NONE;
    const bool ordered = shape_of(&op->in[0]) == SHAPE_P;

    use(op, G4_TABLE_FLOAT, binary(op, mul ? G4_FAST_MULF_PP : G4_FAST_ADDF_PP));
    if (!plain || !stored || (!ordered && shape_of(&op->in[1]) != SHAPE_P) ||
        (!mul && op->in[0].flip && op->in[1].flip)) {
        return;
    }
    if (!ordered) {
        const struct g4_fast_src first = op->in[0];
        op->in[0] = op->in[1];
        op->in[1] = first;
    }
    unsigned first = mul ? G4_FAST_MULF_PLAIN_PP : G4_FAST_ADDF_PLAIN_PP;
    if (mul && op->in[0].flip != op->in[1].flip) {
        first = G4_FAST_MULNF_PLAIN_PP;
    } else if (!mul && op->in[0].flip) {
        first = G4_FAST_RSUBF_PLAIN_PP;
    } else if (!mul && op->in[1].flip) {
        first = G4_FAST_SUBF_PLAIN_PP;
    }
    use(op, G4_TABLE_FLOAT, first + (unsigned)shape_of(&op->in[1]));
}

static void select_float(struct g4_op *op, const struct g4_quirks *quirks) {
    const bool same_floats = op->dst.type == G4_TYPE_F || !quirks->cmp_converts_to_destination_type;
    const bool rounds = op->opcode == G4_OPCODE_RNDE || op->opcode == G4_OPCODE_RNDZ;
    if (rounds && op->cond == G4_COND_R && !op->acc_write && op->dst.type == G4_TYPE_F) {
        use(op, G4_TABLE_FLOAT, op->opcode == G4_OPCODE_RNDE ? G4_FAST_RNDE_R : G4_FAST_RNDZ_R);
        return;
    }
    switch (op->opcode) {
    case G4_OPCODE_LINE:
    case G4_OPCODE_PLN:
        (void)select_plane(op);
        return;
    case G4_OPCODE_CMP:
    case G4_OPCODE_CMPN:
        if (plain_condition(op) && op->cond != G4_COND_NONE && same_floats) {
            use(op, G4_TABLE_FLOAT, op->opcode == G4_OPCODE_CMP ? binary(op, G4_FAST_CMPF_PP) : G4_FAST_CMPN_P);
        }
        return;
    default:
        break;
    }
    if (op->acc_write || op->opcode == G4_OPCODE_MAC || (g4_opcode_info[op->opcode].flags & G4_OPF_GROUP4)) {
        (void)select_double(op);
        return;
    }
    if (!float_result(op)) {
        return;
    }
    switch (op->opcode) {
    case G4_OPCODE_ADD:
    case G4_OPCODE_MUL:
        select_add_mul(op);
        break;
    case G4_OPCODE_MOV:
        if (!raw_source(op, &op->src[0])) {
            use(op, G4_TABLE_FLOAT, G4_FAST_MOVF_P);
        }
        break;
    case G4_OPCODE_SEL:
        if (!raw_source(op, &op->src[0]) && !raw_source(op, &op->src[1]) && op->cond == G4_COND_NONE) {
            use(op, G4_TABLE_FLOAT, G4_FAST_SELF_P);
        }
        break;
    case G4_OPCODE_FRC:
        use(op, G4_TABLE_FLOAT, G4_FAST_FRC_P);
        break;
    case G4_OPCODE_RNDD:
    case G4_OPCODE_RNDE:
    case G4_OPCODE_RNDZ:
        use(op, G4_TABLE_FLOAT, G4_FAST_RNDD_P);
        break;
    case G4_OPCODE_RNDU:
        use(op, G4_TABLE_FLOAT, G4_FAST_RNDU_P);
        break;
    default:
        break;
    }
}

static bool never_negative(const struct g4_src *src) {
    if (src->negate || src->abs) {
        return false;
    }
    if (src->kind == G4_KIND_IMM) {
        for (int c = 0; c < 8; c++) {
            if (src->imm[c] >> 31) {
                return false;
            }
        }
        return true;
    }
    return src->type == G4_TYPE_UW || src->type == G4_TYPE_UB;
}

static bool is_ud(const struct g4_src *src) {
    return src->type == G4_TYPE_UD;
}

/* An unsigned immediate that means the same as a signed one. */
static bool small(const struct g4_src *src) {
    return src->kind == G4_KIND_IMM && never_negative(src);
}

/* Make an integer compare one of 32-bit numbers, signed or (with a bias) unsigned. */
static bool prepare_compare(struct g4_op *op, const struct g4_quirks *quirks) {
    const struct g4_src *const a = &op->src[0];
    const struct g4_src *const b = &op->src[1];
    bool as_unsigned;

    if (!plain_condition(op) || op->cond == G4_COND_NONE) {
        return false;
    }
    if (quirks->cmp_converts_to_destination_type) { /* spec/40 13.1: both become what the destination is */
        as_unsigned = op->dst.type == G4_TYPE_UD;
        if (!as_unsigned && op->dst.type != G4_TYPE_D &&
            (op->dst.type != a->type || op->dst.type != b->type || a->negate || b->negate)) {
            return false;
        }
    } else if (is_ud(a) || is_ud(b)) {
        as_unsigned = (is_ud(a) || never_negative(a)) && (is_ud(b) || never_negative(b));
        if (!as_unsigned && ((is_ud(a) && !small(a)) || (is_ud(b) && !small(b)))) {
            return false;
        }
    } else {
        as_unsigned = false;
    }
    for (int s = 0; s < 2 && as_unsigned; s++) {
        if (op->in[s].invert) {
            return false;
        }
        op->in[s].invert = INT32_MIN;
    }
    return true;
}

static void select_logic(struct g4_op *op) {
    static const uint8_t first[8] = {
        [G4_OPCODE_AND] = G4_FAST_AND_PP, [G4_OPCODE_OR] = G4_FAST_OR_PP, [G4_OPCODE_XOR] = G4_FAST_XOR_PP};
    const bool equality = op->cond == G4_COND_Z || op->cond == G4_COND_NZ;

    if (op->saturate || (op->dst.type == G4_TYPE_F && op->out.store != G4_STORE_NULL)) {
        return;
    }
    if (op->cond != G4_COND_NONE && (op->dst.size != 4 || !plain_condition(op) ||
                                     (!equality && op->dst.type != G4_TYPE_D && op->dst.type != G4_TYPE_F))) {
        return;
    }
    use(op, G4_TABLE_INT, op->opcode == G4_OPCODE_NOT ? (unsigned)G4_FAST_NOT_P : binary(op, first[op->opcode]));
}

static void select_shift(struct g4_op *op) {
    const bool logical = is_ud(&op->src[0]);
    const bool equality = op->cond <= G4_COND_NZ && !op->saturate && op->dst.size == 4 && op->dst.type != G4_TYPE_F;
    if (op->opcode == G4_OPCODE_SHL) {
        const bool order = plain_condition(op) && !op->saturate && op->dst.type == G4_TYPE_D;
        if (modular_result(op) || equality || order) {
            use(op, G4_TABLE_INT, binary(op, G4_FAST_SHL_PP));
        }
        return;
    }
    if (logical ? modular_result(op) || equality : exact_result(op)) {
        use(op, G4_TABLE_INT, binary(op, logical ? G4_FAST_SHR_PP : G4_FAST_ASR_PP));
    }
}

static void select_mul(struct g4_op *op) {
    const bool words = op->src[0].size <= 2 && op->src[1].size <= 2;
    const bool fits = words && (op->src[0].type != G4_TYPE_UW || op->src[1].type != G4_TYPE_UW);
    if (op->src[0].size == 4 && op->src[1].size == 4) {
        if (modular_result(op)) {
            use(op, G4_TABLE_INT, G4_FAST_MULD_P);
        }
    } else if (modular_result(op) || (fits && exact_result(op))) {
        use(op, G4_TABLE_INT, binary(op, G4_FAST_MUL_PP));
    }
}

static void select_move(struct g4_op *op) {
    const struct g4_src *const src = &op->src[0];
    const unsigned shape = shape_of(&op->in[0]);
    bool fine = exact_result(op);

    if (is_ud(src)) {
        fine = modular_result(op) || (op->cond <= G4_COND_NZ && !op->saturate && op->dst.type != G4_TYPE_F);
        if (op->dst.type == G4_TYPE_F && op->cond == G4_COND_NONE && !op->saturate) {
            op->out.convert = G4_CONVERT_UD_TO_FLOAT;
            fine = true;
        }
    }
    if (fine) {
        use(op, G4_TABLE_INT, G4_FAST_MOV_P + shape);
    }
}

static void select_add(struct g4_op *op) {
    const bool narrow = op->src[0].size <= 2 && op->src[1].size <= 2;
    if (modular_result(op) || (narrow && exact_result(op))) {
        use(op, G4_TABLE_INT, binary(op, G4_FAST_ADD_PP));
    } else if (!has_ud(op) && op->dst.type != G4_TYPE_F && !(op->saturate && op->dst.type == G4_TYPE_UD) &&
               exact_result(op)) {
        use(op, G4_TABLE_INT, G4_FAST_ADDW_P);
    }
}

static void select_int(struct g4_op *op, const struct g4_quirks *quirks) {
    if (op->acc_write) {
        return;
    }
    switch (op->opcode) {
    case G4_OPCODE_MOV:
        select_move(op);
        break;
    case G4_OPCODE_SEL:
        if (op->cond == G4_COND_NONE && modular_result(op)) {
            use(op, G4_TABLE_INT, binary(op, G4_FAST_SEL_PP));
        }
        break;
    case G4_OPCODE_NOT:
    case G4_OPCODE_AND:
    case G4_OPCODE_OR:
    case G4_OPCODE_XOR:
        select_logic(op);
        break;
    case G4_OPCODE_SHL:
    case G4_OPCODE_SHR:
    case G4_OPCODE_ASR:
        select_shift(op);
        break;
    case G4_OPCODE_CMP:
    case G4_OPCODE_CMPN:
        if (prepare_compare(op, quirks)) {
            use(op, G4_TABLE_INT, binary(op, G4_FAST_CMP_PP));
        }
        break;
    case G4_OPCODE_ADD:
        select_add(op);
        break;
    case G4_OPCODE_MUL:
        select_mul(op);
        break;
    case G4_OPCODE_AVG:
        if (!has_ud(op) && exact_result(op)) {
            use(op, G4_TABLE_INT, G4_FAST_AVG_P);
        }
        break;
    default:
        break;
    }
}

/* mov and sel that copy bits, whatever they mean. */
static bool select_raw(struct g4_op *op) {
    const bool sel = op->opcode == G4_OPCODE_SEL;
    if ((op->opcode != G4_OPCODE_MOV && !sel) || op->cond != G4_COND_NONE || op->dst.type != G4_TYPE_F ||
        !raw_source(op, &op->src[0]) || (sel && !raw_source(op, &op->src[1]))) {
        return false;
    }
    if (!prepare_sources(op, true)) {
        return false;
    }
    use(op, G4_TABLE_INT, sel ? binary(op, G4_FAST_SEL_PP) : (unsigned)G4_FAST_MOV_P + (unsigned)shape_of(&op->in[0]));
    return true;
}

static bool is_ip(uint8_t kind, uint8_t reg) {
    return kind == G4_KIND_ARF && reg >> 4 == G4_ARF_IP;
}

static bool select_ip_add(struct g4_op *op) {
    if (op->opcode != G4_OPCODE_ADD || !is_ip(op->dst.kind, op->dst.reg) || !is_ip(op->src[0].kind, op->src[0].reg) ||
        op->src[1].kind != G4_KIND_IMM || op->exec_size != 1 || op->cond != G4_COND_NONE || op->saturate ||
        op->acc_write || op->src[0].negate || op->src[0].abs || op->dst.size != 4 || op->src[0].size != 4 ||
        op->src[1].size != 4 || op->src[1].type == G4_TYPE_F || op->dst.type == G4_TYPE_F ||
        op->src[0].type == G4_TYPE_F || op->dst.base || op->src[0].base) {
        return false;
    }
    (void)prepare_immediate(&op->src[1], false, &op->in[1]);
    use(op, G4_TABLE_INT, G4_FAST_IPADD);
    return true;
}

/* Shapes that no fast handler knows at all. */
static bool out_of_the_ordinary(const struct g4_op *op) {
    const bool halves = op->passes == 2 && op->exec_size != 16;
    const bool wide = op->channels > 16 || (op->sechalf && op->exec_size > 8);
    /* the flags of the first half, when they are written, decide about the second */
    const bool entangled = is_word16(op) && op->predicate >= G4_PRED_ANY16H && op->cond != G4_COND_NONE;
    return halves || wide || entangled || op->undefined || op->dst.kind == G4_KIND_ACC ||
           g4_opcode_info[op->opcode].sources == 0 || g4_op_reads_acc(op) != (op->opcode == G4_OPCODE_MAC) ||
           is_ip(op->dst.kind, op->dst.reg);
}

/* A send's implied move of whole registers: by far the most frequent one. */
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

/* Other moves of dwords: elements of a region, such as the one that is the operand of a scalar message. */
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

/* One more indirect operand, with `rows` addresses from a0.`first` on and `extent` bytes behind each. */
static void add_address(struct g4_op *op, unsigned first, int imm, unsigned rows, unsigned extent) {
    struct g4_fast_address *const address = &op->address[op->addresses++];
    *address = (struct g4_fast_address){.imm = (int16_t)imm, .extent = (uint16_t)extent};
    for (unsigned n = 0; n < rows + op->passes - 1; n++) {
        address->used[(first + n) & 7] = UINT16_MAX;
    }
}

/* Let the addresses of an instruction with a fast handler be looked at before it runs. */
static void look_at_addresses(struct g4_op *op) {
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

void g4_fast_select(struct g4_op *op, const struct g4_quirks *quirks) {
    bool floats = op->exec_type == G4_EXEC_F;

    op->parts = op->channels > 8 ? 2 : op->passes;
    op->count = op->channels < 8 ? op->channels : 8;
    op->acc = op->sechalf;
    op->written = op->size_lanes & (UINT64_C(0x1111111111111111) * op->dst.writemask);
    if (op->opcode == G4_OPCODE_SEND) {
        op->whole_move = moves_whole_registers(op);
        op->dword_move = !op->whole_move && moves_dwords(op);
    }
    if (op->handler != G4_HANDLER_GENERAL) {
        return;
    }
    if (g4_is_dot_integer(op)) {
        op->handler = G4_HANDLER_DOT_INTEGER;
        return;
    }
    if (select_ip_add(op) || out_of_the_ordinary(op) || !prepare_dst(op)) {
        return;
    }
    if (op->acc_write && is_word16(op)) {
        return;
    }
    if (op->opcode == G4_OPCODE_MAC && (is_word16(op) || !floats)) {
        return;
    }
    if (!floats && g4_op_compares(op) && op->dst.type == G4_TYPE_F && quirks->cmp_converts_to_destination_type) {
        floats = true; /* spec/40 13.1 */
    }
    if (!select_raw(op) && prepare_sources(op, floats)) {
        if (floats) {
            select_float(op, quirks);
        } else {
            select_int(op, quirks);
        }
    }
    if (op->handler != G4_HANDLER_GENERAL) {
        look_at_addresses(op);
    }
}
