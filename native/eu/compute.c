/*
 * What each opcode computes, for the general handler (spec/40 4, 10).  Products of floats are exact in double and sums
 * round as the host is told to, so that one truncation to single at the end gives the hardware's bits (spec/40 4.3).
 */
#include "eu/general.h"

typedef double float_fn(const struct g4_operands *o, unsigned c);

static double float_add(const struct g4_operands *o, unsigned c) {
    return o->a[c].f + o->b[c].f;
}

static double float_mul(const struct g4_operands *o, unsigned c) {
    return o->a[c].f * o->b[c].f;
}

static double float_frc(const struct g4_operands *o, unsigned c) {
    return o->a[c].f - floor(o->a[c].f);
}

static double float_floor(const struct g4_operands *o, unsigned c) {
    return floor(o->a[c].f);
}

static double float_ceil(const struct g4_operands *o, unsigned c) {
    return ceil(o->a[c].f);
}

/* plane: p, q, -, r at dwords 0, 1, 3; line multiplies src0 itself. */
static double float_line(const struct g4_operands *o, unsigned c) {
    return o->a[c].f * o->b[c].f + o->plane[3];
}

static double float_pln(const struct g4_operands *o, unsigned c) {
    return o->plane[0] * o->b[c].f + o->plane[1] * o->v[c].f + o->plane[3];
}

/* The first n products of a channel's 4-tuple, left to right. */
static double products(const struct g4_operands *o, unsigned c, unsigned n) {
    double sum = o->a[c & ~3u].f * o->b[c & ~3u].f;
    for (unsigned i = 1; i < n; i++) {
        sum += o->a[(c & ~3u) + i].f * o->b[(c & ~3u) + i].f;
    }
    return sum;
}

static double float_dp4(const struct g4_operands *o, unsigned c) {
    return products(o, c, 4);
}

static double float_dp3(const struct g4_operands *o, unsigned c) {
    return products(o, c, 3);
}

static double float_dp2(const struct g4_operands *o, unsigned c) {
    return products(o, c, 2);
}

static double float_dph(const struct g4_operands *o, unsigned c) {
    return products(o, c, 3) + o->b[(c & ~3u) + 3].f;
}

static float_fn *const float_functions[128] = {
    [G4_OPCODE_ADD] = float_add,    [G4_OPCODE_MUL] = float_mul,    [G4_OPCODE_FRC] = float_frc,
    [G4_OPCODE_RNDU] = float_ceil,  [G4_OPCODE_RNDD] = float_floor, [G4_OPCODE_RNDE] = float_floor,
    [G4_OPCODE_RNDZ] = float_floor, [G4_OPCODE_LINE] = float_line,  [G4_OPCODE_PLN] = float_pln,
    [G4_OPCODE_DP4] = float_dp4,    [G4_OPCODE_DP3] = float_dp3,    [G4_OPCODE_DP2] = float_dp2,
    [G4_OPCODE_DPH] = float_dph,
};

static int64_t wrapping_add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrapping_mul(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t distance(int64_t a, int64_t b) {
    const uint64_t apart = a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
    return (int64_t)apart;
}

static int64_t leading_zeros(int64_t value) {
    const uint32_t bits = (uint32_t)value;
    return bits ? __builtin_clz(bits) : 32;
}

static int64_t dot(const struct g4_operands *o, unsigned c, unsigned n) {
    int64_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        sum = wrapping_add(sum, wrapping_mul(o->a[(c & ~3u) + i].i, o->b[(c & ~3u) + i].i));
    }
    return sum;
}

/* Sums of pairs; the odd channel has its even neighbour's (spec/40 10). */
static int64_t sad2(const struct g4_operands *o, unsigned c) {
    const unsigned even = c & ~1u;
    return wrapping_add(distance(o->a[even].i, o->b[even].i), distance(o->a[even + 1].i, o->b[even + 1].i));
}

/* The multiplier has 32 by 16 bits: of two dwords the first one's low half takes part.  The accumulator gets the
 * product without sign, which mach completes; a register gets it with the sign of the type (docs/decisions.md). */
bool g4_is_partial_product(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_MUL && op->src[0].size == 4 && op->src[1].size == 4;
}

int64_t g4_partial_product(int64_t a, int64_t b) {
    return wrapping_mul((uint16_t)a, b);
}

static int64_t product(const struct g4_op *op, int64_t a, int64_t b) {
    if (!g4_is_partial_product(op)) {
        return wrapping_mul(a, b);
    }
    return op->src[0].type == G4_TYPE_D && op->dst.kind != G4_KIND_ACC ? wrapping_mul((int16_t)a, b)
                                                                       : g4_partial_product(a, b);
}

static int64_t integer_result(const struct g4_op *op, const struct g4_operands *o, unsigned c, int64_t acc) {
    const int64_t a = o->a[c].i;
    const int64_t b = o->b[c].i;
    const unsigned count = (unsigned)b & 31;

    switch (op->opcode) {
    case G4_OPCODE_NOT:
        return ~a;
    case G4_OPCODE_AND:
        return a & b;
    case G4_OPCODE_OR:
        return a | b;
    case G4_OPCODE_XOR:
        return a ^ b;
    case G4_OPCODE_SHL:
        return (int64_t)((uint64_t)a << count);
    case G4_OPCODE_SHR: /* decision 30: signed data is sign-filled */
    case G4_OPCODE_ASR:
        return a >> count;
    case G4_OPCODE_ADD:
        return wrapping_add(a, b);
    case G4_OPCODE_MUL:
        return product(op, a, b);
    case G4_OPCODE_AVG:
        return wrapping_add(wrapping_add(a, b), 1) >> 1;
    case G4_OPCODE_MAC:
        return wrapping_add(acc, wrapping_mul(a, b));
    case G4_OPCODE_MACH:
        return wrapping_add(acc, (int64_t)((uint64_t)wrapping_mul(a >> 16, b) << 16));
    case G4_OPCODE_LZD:
        return leading_zeros(a);
    case G4_OPCODE_SAD2:
        return sad2(o, c);
    case G4_OPCODE_SADA2:
        return wrapping_add(acc, sad2(o, c));
    case G4_OPCODE_DP4:
        return dot(o, c, 4);
    default:
        return 0;
    }
}

void g4_compute(const struct g4_pass *pass, const struct g4_op *op, struct g4_operands *o) {
    const union g4_acc *const acc = &pass->run->gang->acc[pass->acc];

    for (unsigned c = 0; c < pass->channels; c++) {
        struct g4_value *const out = &o->result[c];
        const unsigned slot = op->opcode == G4_OPCODE_SADA2 ? c & 14 : c & 15;
        if (op->exec_type != G4_EXEC_F) {
            out->i = integer_result(op, o, c, acc->i[pass->thread][slot]);
        } else if (op->opcode == G4_OPCODE_MAC) {
            out->f = o->a[c].f * o->b[c].f + acc->f[pass->thread][slot];
        } else if (float_functions[op->opcode]) {
            out->f = float_functions[op->opcode](o, c);
        }
    }
}

/* spec/40 10: the register from the first address, the byte in it from each channel's own. */
void g4_move_indexed(const struct g4_pass *pass, const struct g4_op *op, struct g4_operands *o) {
    const struct g4_src *const src = &op->src[0];
    for (unsigned c = 0; c < pass->channels && src->kind == G4_KIND_INDIRECT; c++) {
        /* the first address has been counted when the source was read */
        const unsigned first = g4_indirect_byte(pass->run->gang, pass->thread, src->addr_sub, src->addr_imm);
        const unsigned own = c ? g4_indirect_base(pass->run, pass->thread, src->addr_sub + c, src->addr_imm) : first;
        struct g4_src one = *src;
        one.kind = G4_KIND_GRF;
        one.base = (uint16_t)((first & ~31u) | (own & 31));
        one.pass_bytes = 0;
        g4_read_raw(pass->run, &one, 0, pass->thread, 1, &o->a[c].raw);
    }
    for (unsigned c = 0; c < pass->channels; c++) {
        o->result[c] = o->a[c];
        o->raw[c] = true;
    }
}
