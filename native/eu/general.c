/*
 * The general handler: executes any arithmetic, logic or move instruction, thread by thread and channel by channel.
 * It is slow; the fast handlers are tested against it.
 */
#include <math.h>
#include <string.h>

#include "core/util.h"
#include "eu/math_ops.h"
#include "eu/run.h"

/* The value of a channel: `f` in floating point arithmetic, else `i`; `raw` has the bits of the source. */
struct g4_value {
    double f;
    int64_t i;
    uint64_t raw;
};

struct g4_operands {
    struct g4_value a[G4_PASS_CHANNELS], b[G4_PASS_CHANNELS];
    struct g4_value third[G4_PASS_CHANNELS];
    struct g4_value v[G4_PASS_CHANNELS]; /* pln: second coordinate */
    double plane[4];                     /* line, pln: the 16-byte group of src0 */
    struct g4_value result[G4_PASS_CHANNELS];
    __int128 exact[G4_PASS_CHANNELS]; /* the result, if 64 bits may lose its sign: needs_exact() */
    bool raw[G4_PASS_CHANNELS];       /* store the bits of the source unchanged */
};

struct g4_pass {
    struct g4_run *run;
    int thread;
    int index; /* 1: second pass of a compressed instruction */
    unsigned channels;
    unsigned first_flag; /* flag bit of channel 0 */
    unsigned flag_mask;  /* flag bits wrap around */
    uint32_t enabled;    /* channels that are stored and set flags */
    uint32_t predicate;
    int acc;
    bool alternate;
    bool keeps_doubles;                   /* denormals of DF */
    bool flushes_floats, flushes_doubles; /* denormals of operands, which the host keeps for the other type */
};

#define DOUBLE_SIGN  UINT64_C(0x8000000000000000)
#define LEAST_DOUBLE UINT64_C(0x0010000000000000) /* that is normal */
#define LEAST_FLOAT  0x00800000u

static double double_of(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static uint64_t bits_of(double d) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* The low bits of a value, extended as its type demands. */
static int64_t truncate_to(int64_t value, unsigned type) {
    switch (type) {
    case G4_TYPE_D:
        return (int32_t)value;
    case G4_TYPE_UW:
        return (uint16_t)value;
    case G4_TYPE_W:
        return (int16_t)value;
    case G4_TYPE_UB:
        return (uint8_t)value;
    case G4_TYPE_B:
        return (int8_t)value;
    case G4_TYPE_UQ:
    case G4_TYPE_Q:
        return value;
    default:
        return (uint32_t)value;
    }
}

static bool is_float_type(unsigned type) {
    return type == G4_TYPE_F || type == G4_TYPE_DF || type == G4_TYPE_HF;
}

/* ---- half floats ---- */

/* The half float nearest to a float, ties to even; denormals are kept (docs/decisions.md 92). */
static uint16_t half_of(uint32_t bits) {
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;
    uint32_t half;

    if (magnitude > 0x7f800000) {
        return (uint16_t)(sign | 0x7e00);
    }
    if (magnitude >= 0x47800000) { /* 2^16 */
        return (uint16_t)(sign | 0x7c00);
    }
    if (magnitude >= 0x38800000) { /* 2^-14 */
        half = (magnitude - 0x38000000) >> 13;
    } else {
        const uint32_t exponent = magnitude >> 23;
        const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
        const uint32_t shift = 126 - exponent; /* 24 + (-14 - (exponent - 127)) - 11 */
        if (exponent < 102) {
            return (uint16_t)sign;
        }
        half = mantissa >> shift;
        const uint32_t rest = mantissa & ((1u << shift) - 1);
        const uint32_t tie = 1u << (shift - 1);
        half += rest > tie || (rest == tie && (half & 1)) ? 1 : 0;
        return (uint16_t)(sign | half);
    }
    const uint32_t rest = magnitude & 0x1fff;
    half += rest > 0x1000 || (rest == 0x1000 && (half & 1)) ? 1 : 0;
    return (uint16_t)(sign | half);
}

/* The half float nearest to a double; NaN has one pattern.  Rounding to odd first keeps the rounding to a float from
 * deciding a tie. */
static uint16_t half_of_double(double f) {
    uint32_t bits;
    float single = (float)f;
    if (f != f) {
        return 0x7e00;
    }
    memcpy(&bits, &single, sizeof bits);
    if (single - single == 0 && (double)single != f) {
        const bool away = fabs((double)single) > fabs(f);
        bits = (bits - away) | 1;
    }
    return half_of(bits);
}

static uint32_t float_of_half(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t magnitude = half & 0x7fff;

    if (magnitude >= 0x7c00) {
        return sign | (magnitude == 0x7c00 ? 0x7f800000 : 0x7fc00000);
    }
    if (magnitude >= 0x0400) {
        return sign | ((magnitude << 13) + 0x38000000);
    }
    return sign | g4_hw_bits((float)magnitude * 0x1p-24f); /* never a denormal */
}

/* ---- sources ---- */

static int64_t signed_element(uint32_t raw, unsigned type) {
    switch (type) {
    case G4_TYPE_D:
    case G4_TYPE_W:
    case G4_TYPE_B:
        return (int32_t)raw; /* extended by g4_read_raw */
    default:
        return raw;
    }
}

/* Modifiers of an integer.  A D is negated in 32 bits, a UD gains a 33rd bit, narrower types have been widened. */
static int64_t modified_integer(int64_t value, const struct g4_src *src) {
    const bool own_width = src->type == G4_TYPE_D;
    if (src->complement) {
        return ~value;
    }
    if (src->size == 8) {
        const bool minus = src->negate != (src->abs && src->type == G4_TYPE_Q && value < 0);
        return minus ? (int64_t)(0 - (uint64_t)value) : value;
    }
    if (src->abs && value < 0) {
        value = own_width ? (int32_t)(0u - (uint32_t)value) : -value;
    }
    if (src->negate) {
        value = own_width ? (int32_t)(0u - (uint32_t)value) : -value;
    }
    return value;
}

static uint32_t modified_float(uint32_t bits, const struct g4_src *src) {
    bits &= src->abs ? 0x7fffffffu : 0xffffffffu;
    return bits ^ (src->negate ? 0x80000000u : 0);
}

static uint32_t flushed(uint32_t bits) {
    return (bits & 0x7fffffffu) < LEAST_FLOAT ? bits & 0x80000000u : bits;
}

static uint64_t modified_double(uint64_t bits, const struct g4_src *src) {
    bits &= src->abs ? ~DOUBLE_SIGN : UINT64_MAX;
    return bits ^ (src->negate ? DOUBLE_SIGN : 0);
}

static double modified_number(double value, const struct g4_src *src) {
    value = src->abs ? fabs(value) : value;
    return src->negate ? -value : value;
}

/* Modifiers of integers see all bits of the accumulator, so that -acc of a UD is a negative number. */
static void read_accumulator(const struct g4_pass *pass, const struct g4_src *src, struct g4_value *out) {
    const union g4_acc *const acc = &pass->run->gang->acc[pass->acc];
    for (unsigned c = 0; c < pass->channels; c++) {
        const unsigned slot = ((src->base + g4_region_offset(src, c)) / src->size) & 15;
        if (src->type == G4_TYPE_DF) {
            out[c].f = modified_number(acc->f[pass->thread][slot], src);
            out[c].raw = bits_of(out[c].f);
        } else if (src->type == G4_TYPE_F) {
            const double number = acc->f[pass->thread][slot];
            out[c].raw = g4_hw_bits((float)number); /* whose modifiers come later */
            out[c].f = modified_number(number, src);
        } else {
            const int64_t number = acc->i[pass->thread][slot];
            const bool minus = src->negate != (src->abs && number < 0);
            out[c].i = minus ? (int64_t)(0 - (uint64_t)number) : number; /* the least number stays */
            out[c].raw = (uint32_t)out[c].i;
        }
    }
}

/* Read a source and convert it to the type of the arithmetic. */
static void read_source(const struct g4_pass *pass, const struct g4_src *src, enum g4_exec_type as,
                        struct g4_value *out) {
    uint32_t raw[G4_PASS_CHANNELS];
    uint64_t raw64[G4_PASS_CHANNELS];

    if (src->kind == G4_KIND_ACC) {
        read_accumulator(pass, src, out);
    } else if (src->size == 8) {
        g4_read_raw64(pass->run, src, pass->index, pass->thread, pass->channels, raw64);
        for (unsigned c = 0; c < pass->channels; c++) {
            out[c].raw = raw64[c];
            if (src->type == G4_TYPE_DF) {
                const bool flush = pass->flushes_doubles && (raw64[c] & ~DOUBLE_SIGN) < LEAST_DOUBLE;
                out[c].f = double_of(modified_double(flush ? raw64[c] & DOUBLE_SIGN : raw64[c], src));
            } else {
                out[c].i = modified_integer((int64_t)raw64[c], src);
            }
        }
    } else {
        g4_read_raw(pass->run, src, pass->index, pass->thread, pass->channels, raw);
        for (unsigned c = 0; c < pass->channels; c++) {
            out[c].raw = raw[c];
            if (src->type == G4_TYPE_F) {
                out[c].f = g4_hw_float(modified_float(pass->flushes_floats ? flushed(raw[c]) : raw[c], src));
            } else if (src->type == G4_TYPE_HF) {
                out[c].f = g4_hw_float(modified_float(float_of_half((uint16_t)raw[c]), src));
            } else {
                out[c].i = modified_integer(signed_element(raw[c], src->type), src);
            }
        }
    }
    if (as >= G4_EXEC_F && !is_float_type(src->type)) {
        for (unsigned c = 0; c < pass->channels; c++) {
            out[c].f = as == G4_EXEC_F ? (float)out[c].i : (double)out[c].i;
        }
    }
}

/* Read the 16-byte group around the scalar src0 of line and pln. */
static void read_plane(const struct g4_pass *pass, const struct g4_src *src, double plane[4]) {
    struct g4_src group = *src;
    struct g4_value values[G4_PASS_CHANNELS];
    struct g4_pass four = *pass;

    if (src->kind == G4_KIND_INDIRECT) {
        group.kind = G4_KIND_GRF;
        group.base = (uint16_t)g4_indirect_byte(
            pass->run->gang, pass->thread,
            (src->addr_sub + (src->flat ? 0 : (unsigned)pass->index)) & pass->run->op->address_mask, src->addr_imm);
        group.pass_bytes = 0;
    }
    group.base &= 0xfff0;
    group.align16 = false;
    group.vstride = 4;
    group.width = 4;
    group.hstride = 1;
    four.channels = 4;
    read_source(&four, &group, G4_EXEC_F, values);
    for (int i = 0; i < 4; i++) {
        plane[i] = values[i].f;
    }
}

static void read_plane_operands(const struct g4_pass *pass, const struct g4_op *op, struct g4_operands *o) {
    struct g4_src v = op->src[1];
    read_plane(pass, &op->src[0], o->plane);
    if (op->opcode == G4_OPCODE_PLN) {
        v.base = (uint16_t)(v.base + G4_REGISTER_BYTES);
        read_source(pass, &v, G4_EXEC_F, o->v);
    }
}

/* ---- operations ---- */

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

/* frc of Gen6 and later: rounded to nearest, it may reach 1, and then is the largest float below
 * (docs/decisions.md 91). */
static double float_fraction(const struct g4_operands *o, unsigned c) {
    const double part = o->a[c].f - floor(o->a[c].f);
    return (float)part >= 1 ? 0x1.fffffep-1 : part;
}

/* The nearest integer, ties to even, with the sign of x. */
static double float_round_even(const struct g4_operands *o, unsigned c) {
    const double x = o->a[c].f;
    const double below = floor(x);
    const double part = x - below;
    const bool up = part > 0.5 || (part == 0.5 && fmod(below, 2) != 0);
    return x - x == 0 ? copysign(up ? below + 1 : below, x) : x;
}

static double float_truncate(const struct g4_operands *o, unsigned c) {
    return trunc(o->a[c].f);
}

/* Rounded once to a float (docs/decisions.md 90). */
static double float_mad(const struct g4_operands *o, unsigned c) {
    return fmaf((float)o->b[c].f, (float)o->third[c].f, (float)o->a[c].f);
}

static double float_lrp(const struct g4_operands *o, unsigned c) {
    return o->a[c].f * o->b[c].f + (1 - o->a[c].f) * o->third[c].f;
}

/* The plane has p, q and r in dwords 0, 1 and 3; line multiplies src0 itself. */
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
    [G4_OPCODE_ADD] = float_add,
    [G4_OPCODE_MUL] = float_mul,
    [G4_OPCODE_FRC] = float_frc,
    [G4_OPCODE_RNDU] = float_ceil,
    [G4_OPCODE_RNDD] = float_floor,
    [G4_OPCODE_RNDE] = float_floor,
    [G4_OPCODE_RNDZ] = float_floor,
    [G4_OPCODE_LINE] = float_line,
    [G4_OPCODE_PLN] = float_pln,
    [G4_OPCODE_DP4] = float_dp4,
    [G4_OPCODE_DP3] = float_dp3,
    [G4_OPCODE_DP2] = float_dp2,
    [G4_OPCODE_DPH] = float_dph,
    [G4_OPCODE_MAD] = float_mad,
    [G4_OPCODE_LRP] = float_lrp,
    [G4_OPCODE_FRACTION] = float_fraction,
    [G4_OPCODE_ROUND_EVEN] = float_round_even,
    [G4_OPCODE_TRUNCATE] = float_truncate,
};

static double double_mad(const struct g4_operands *o, unsigned c) {
    return fma(o->b[c].f, o->third[c].f, o->a[c].f);
}

static double double_fraction(const struct g4_operands *o, unsigned c) {
    const double part = o->a[c].f - floor(o->a[c].f);
    return part >= 1 ? 0x1.fffffffffffffp-1 : part;
}

/* A sum whose rounding leaves ties of shorter types to them: if it is not exact, its last bit is 1. */
static double sum_to_odd(double a, double b) {
    const double sum = a + b;
    const double part = sum - a;
    const double rest = (a - (sum - part)) + (b - part);
    uint64_t bits = bits_of(sum);

    if (!(sum - sum == 0) || rest == 0) {
        return sum;
    }
    bits -= (rest < 0) != (sum < 0);
    return double_of(bits | 1);
}

static double half_add(const struct g4_operands *o, unsigned c) {
    return sum_to_odd(o->a[c].f, o->b[c].f);
}

static double half_mad(const struct g4_operands *o, unsigned c) {
    return sum_to_odd(o->a[c].f, o->b[c].f * o->third[c].f);
}

/* Those operations whose result is not rounded before it is a half float. */
static float_fn *half_function(unsigned opcode) {
    switch (opcode) {
    case G4_OPCODE_ADD:
        return half_add;
    case G4_OPCODE_MAD:
        return half_mad;
    default:
        return float_functions[opcode];
    }
}

/* Those operations whose result in double precision is not rounded before it is a double. */
static float_fn *double_function(unsigned opcode) {
    switch (opcode) {
    case G4_OPCODE_MAD:
        return double_mad;
    case G4_OPCODE_FRACTION:
        return double_fraction;
    default:
        return float_functions[opcode];
    }
}

/* The first step of an exact division or root computes it whole (docs/decisions.md 229). */
static double macro_result(unsigned macro, double a, double b) {
    return macro == G4_MACRO_QUOTIENT ? a / b : sqrt(a);
}

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

/* The sum of a pair of channels, for both of them. */
static int64_t sad2(const struct g4_operands *o, unsigned c) {
    const unsigned even = c & ~1u;
    return wrapping_add(distance(o->a[even].i, o->b[even].i), distance(o->a[even + 1].i, o->b[even + 1].i));
}

/* The multiplier has 32 by 16 bits: of two dwords, it uses the low half of the first.  The accumulator receives the
 * unsigned product, which mach completes; a register receives it with the sign of the type (docs/decisions.md 41). */
static bool is_partial_product(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_MUL && op->src[0].size == 4 && op->src[1].size == 4 && !op->whole_product;
}

static int64_t partial_product(int64_t a, int64_t b) {
    return wrapping_mul((uint16_t)a, b);
}

static int64_t product(const struct g4_op *op, int64_t a, int64_t b) {
    if (!is_partial_product(op)) {
        return wrapping_mul(a, b);
    }
    return op->src[0].type == G4_TYPE_D && op->dst.kind != G4_KIND_ACC ? wrapping_mul((int16_t)a, b)
                                                                       : partial_product(a, b);
}

static uint32_t reversed(uint32_t bits) {
    uint32_t out = 0;
    for (int i = 0; i < 32; i++) {
        out |= (bits >> i & 1) << (31 - i);
    }
    return out;
}

/* Bits offset .. offset + width - 1, extended as the type of the value demands. */
static int64_t bit_field(const struct g4_op *op, unsigned width, unsigned offset, int64_t value) {
    const bool is_signed = op->src[2].type == G4_TYPE_D;
    const uint32_t bits = (uint32_t)value;
    if (width == 0) {
        return 0;
    }
    if (width + offset >= 32) {
        return is_signed ? (int32_t)bits >> offset : (int64_t)(bits >> offset);
    }
    const uint32_t top = bits << (32 - width - offset);
    return is_signed ? (int32_t)top >> (32 - width) : (int64_t)(top >> (32 - width));
}

static int64_t inserted(uint32_t mask, uint32_t insert, uint32_t base) {
    return mask == 0 ? base : (base & ~mask) | (insert << __builtin_ctz(mask) & mask);
}

/* UD: the number of leading zeros.  D: the number of leading copies of the sign bit.  All ones for 0 and for a D of -1.
 */
static int64_t first_bit_high(const struct g4_op *op, int64_t value) {
    const bool is_signed = op->src[0].type == G4_TYPE_D || op->src[0].type == G4_TYPE_W || op->src[0].type == G4_TYPE_B;
    const uint32_t bits = is_signed && value < 0 ? ~(uint32_t)value : (uint32_t)value;
    return bits ? __builtin_clz(bits) : (int64_t)UINT32_MAX;
}

static int64_t first_bit_low(uint32_t bits) {
    return bits ? __builtin_ctz(bits) : (int64_t)UINT32_MAX;
}

/* A source as modified_integer() left it, with the bits that a UQ has lost. */
static __int128 exact(const struct g4_src *src, int64_t value) {
    if (src->type != G4_TYPE_UQ) {
        return value;
    }
    return src->negate ? -(__int128)(0 - (uint64_t)value) : (__int128)(uint64_t)value;
}

static bool needs_exact(const struct g4_op *op) {
    return op->exec_type == G4_EXEC_Q || op->whole_product;
}

/* The result of integer_result(), which has its low 64 bits. */
static __int128 exact_result(const struct g4_op *op, const struct g4_operands *o, unsigned c) {
    const __int128 a = exact(&op->src[0], o->a[c].i);
    const __int128 b = exact(&op->src[1], o->b[c].i);

    switch (op->opcode) {
    case G4_OPCODE_ADD:
        return a + b;
    case G4_OPCODE_AVG:
        return (a + b + 1) >> 1;
    case G4_OPCODE_SHR:
    case G4_OPCODE_ASR:
        return a >> ((unsigned)b & 63);
    case G4_OPCODE_MUL:
        return op->whole_product ? a * b : o->result[c].i;
    default:
        return o->result[c].i;
    }
}

static int64_t integer_result(const struct g4_op *op, const struct g4_operands *o, unsigned c, int64_t acc) {
    const int64_t a = o->a[c].i;
    const int64_t b = o->b[c].i;
    const bool wide = op->exec_type == G4_EXEC_Q;
    const unsigned count = (unsigned)b & (wide ? 63 : 31);

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
    case G4_OPCODE_SHR: /* fills signed types with the sign (docs/decisions.md 30) */
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
    case G4_OPCODE_MAD:
        return wrapping_add(a, wrapping_mul(b, o->third[c].i));
    case G4_OPCODE_ADDC:
        return (uint32_t)((uint64_t)a + (uint64_t)b);
    case G4_OPCODE_SUBB:
        return (uint32_t)((uint64_t)a - (uint64_t)b);
    case G4_OPCODE_BFREV:
        return reversed((uint32_t)a);
    case G4_OPCODE_BFE:
        return bit_field(op, (unsigned)a & 31, (unsigned)b & 31, o->third[c].i);
    case G4_OPCODE_BFI1:
        return (uint32_t)(((UINT32_C(1) << (a & 31)) - 1) << (b & 31));
    case G4_OPCODE_BFI2:
        return inserted((uint32_t)a, (uint32_t)b, (uint32_t)o->third[c].i);
    case G4_OPCODE_FBH:
        return first_bit_high(op, a);
    case G4_OPCODE_FBL:
        return first_bit_low((uint32_t)a);
    case G4_OPCODE_CBIT:
        return __builtin_popcount((uint32_t)a);
    default:
        return 0;
    }
}

static float saturated(float f) {
    if (!(f > 0)) {
        return 0;
    }
    return f > 1 ? 1 : f;
}

/* ---- extended math ---- */

static uint32_t math_operand(const struct g4_src *src, const struct g4_value *value) {
    if (src->type == G4_TYPE_HF) {
        return g4_hw_bits((float)value->f);
    }
    return src->type == G4_TYPE_F ? modified_float((uint32_t)value->raw, src) : (uint32_t)value->i;
}

/* The math opcode has no flags and no type conversion: `raw` has the results.  Half floats are rounded from floats. The
 * second result of the integer division goes to the next register. */
static void compute_math(const struct g4_pass *pass, const struct g4_op *op, struct g4_operands *o) {
    const g4_fpenv inside = g4_fpenv_get();

    g4_fpenv_set(pass->run->outside);
    for (unsigned first = 0; first < pass->channels; first += 8) {
        struct g4_math_operands math;
        memset(&math, 0, sizeof math);
        for (unsigned c = 0; c < 8 && first + c < pass->channels; c++) {
            math.x[c] = math_operand(&op->src[0], &o->a[first + c]);
            math.y[c] = math_operand(&op->src[1], &o->b[first + c]);
        }
        g4_math_compute(op->function, op->src[0].type == G4_TYPE_D, pass->alternate ? 1 : 0, op->saturate, 0xff, &math);
        for (unsigned c = 0; c < 8 && first + c < pass->channels; c++) {
            o->result[first + c].raw =
                op->dst.type == G4_TYPE_HF ? half_of_double(g4_hw_float(math.out[0][c])) : math.out[0][c];
            o->third[first + c].raw = math.out[1][c];
            o->raw[first + c] = true;
        }
    }
    g4_fpenv_set(inside);
}

static void convert_halves(const struct g4_pass *pass, const struct g4_op *op, struct g4_operands *o) {
    for (unsigned c = 0; c < pass->channels; c++) {
        if (op->opcode == G4_OPCODE_F16TO32) {
            o->result[c].f = g4_hw_float(modified_float(float_of_half((uint16_t)o->a[c].raw), &op->src[0]));
            continue;
        }
        float f = (float)o->a[c].f;
        if (op->saturate) {
            f = saturated(f);
        }
        o->result[c].f = f;
        o->result[c].raw = half_of(g4_hw_bits(f));
        o->raw[c] = true;
    }
}

static void compute(const struct g4_pass *pass, const struct g4_op *op, struct g4_operands *o) {
    const union g4_acc *const acc = &pass->run->gang->acc[pass->acc];
    float_fn *const function = op->exec_type == G4_EXEC_DF  ? double_function(op->opcode)
                               : op->dst.type == G4_TYPE_HF ? half_function(op->opcode)
                                                            : float_functions[op->opcode];

    for (unsigned c = 0; c < pass->channels; c++) {
        struct g4_value *const out = &o->result[c];
        const unsigned slot = op->opcode == G4_OPCODE_SADA2 ? c & 14 : c & 15;
        if (op->exec_type < G4_EXEC_F) {
            out->i = integer_result(op, o, c, acc->i[pass->thread][slot]);
            if (needs_exact(op)) {
                o->exact[c] = exact_result(op, o, c);
                out->i = (int64_t)(uint64_t)o->exact[c];
            }
        } else if (op->opcode == G4_OPCODE_MAC) {
            out->f = o->a[c].f * o->b[c].f + acc->f[pass->thread][slot];
        } else if (op->macro) {
            out->f = macro_result(op->macro, o->a[c].f, o->b[c].f);
        } else if (function) {
            out->f = function(o, c);
        }
    }
}

/* movi: the first address selects the register, the address of each channel the byte in it. */
static void move_indexed(const struct g4_pass *pass, const struct g4_op *op, struct g4_operands *o) {
    const struct g4_src *const src = &op->src[0];
    for (unsigned c = 0; c < pass->channels && src->kind == G4_KIND_INDIRECT; c++) {
        /* reading the source has counted events of the first address */
        const unsigned first = g4_indirect_byte(pass->run->gang, pass->thread, src->addr_sub, src->addr_imm);
        const unsigned own =
            c ? g4_indirect_base(pass->run, pass->thread, (src->addr_sub + c) & op->address_mask, src->addr_imm)
              : first;
        struct g4_src one = *src;
        one.kind = G4_KIND_GRF;
        one.base = (uint16_t)((first & ~31u) | (own & 31));
        one.pass_bytes = 0;
        uint32_t element;
        g4_read_raw(pass->run, &one, 0, pass->thread, 1, &element);
        o->a[c].raw = element;
    }
    for (unsigned c = 0; c < pass->channels; c++) {
        o->result[c] = o->a[c];
        o->raw[c] = true;
    }
}

/* ---- results ---- */

static int64_t type_min(unsigned type) {
    static const int64_t least[16] = {
        [G4_TYPE_D] = INT32_MIN, [G4_TYPE_W] = INT16_MIN, [G4_TYPE_B] = INT8_MIN, [G4_TYPE_Q] = INT64_MIN};
    return least[type & 15];
}

static int64_t type_max(unsigned type) {
    static const int64_t most[16] = {
        [G4_TYPE_UD] = UINT32_MAX, [G4_TYPE_D] = INT32_MAX, [G4_TYPE_UW] = UINT16_MAX, [G4_TYPE_W] = INT16_MAX,
        [G4_TYPE_UB] = UINT8_MAX,  [G4_TYPE_B] = INT8_MAX,  [G4_TYPE_UQ] = INT64_MAX,  [G4_TYPE_Q] = INT64_MAX,
    };
    return most[type & 15];
}

/* Rounds toward zero and clamps; NaN becomes 0. */
static int64_t float_to_integer(double f, unsigned type) {
    if (f != f) {
        return 0;
    }
    if (f <= (double)type_min(type)) {
        return type_min(type);
    }
    if (type == G4_TYPE_UQ) {
        return f >= 0x1p64 ? -1 : (int64_t)(uint64_t)f;
    }
    return f >= (double)type_max(type) ? type_max(type) : (int64_t)f;
}

static __int128 clamp_integer(__int128 value, unsigned type) {
    const __int128 most = type == G4_TYPE_UQ ? (__int128)UINT64_MAX : type_max(type);
    if (value < type_min(type)) {
        return type_min(type);
    }
    return value > most ? most : value;
}

/* The number that the low bits are in a type. */
static __int128 number_in(__int128 value, unsigned type) {
    return type == G4_TYPE_UQ ? (__int128)(uint64_t)value : truncate_to((int64_t)(uint64_t)value, type);
}

static double double_of_integer(__int128 value) {
    if (value >= INT64_MIN && value <= INT64_MAX) {
        return (double)(int64_t)value;
    }
    return value < 0 ? -(double)(uint64_t)-value : (double)(uint64_t)value;
}

static float float_of_integer(__int128 value) {
    if (value >= INT64_MIN && value <= INT64_MAX) {
        return (float)(int64_t)value;
    }
    return value < 0 ? -(float)(uint64_t)-value : (float)(uint64_t)value;
}

/* The 32-bit float that is stored: overflow gives infinity, or FLT_MAX in ALT mode; NaN has one pattern. */
static float rounded(double f, bool alternate) {
    const float single = (float)f;
    if (f != f) {
        return g4_hw_float(0x7fc00000);
    }
    if (f >= 0x1p128 || f <= -0x1p128 || single - single != 0) {
        const uint32_t magnitude = alternate ? 0x7f7fffff : 0x7f800000;
        return g4_hw_float((f < 0 ? 0x80000000 : 0) | magnitude);
    }
    return single;
}

/* Rounds doubles below the normal floats as if denormals were kept, so that the largest become a normal float before
 * the others are flushed (docs/decisions.md 147). */
static double rounded_as_denormal(double f) {
    const double last_bit_is_2_to_minus_149 = 0x1.8p-97;
    if (!(fabs(f) < 0x1p-126)) {
        return f;
    }
    return copysign((f + last_bit_is_2_to_minus_149) - last_bit_is_2_to_minus_149, f);
}

static bool condition(unsigned cond, int order, bool unordered) {
    if (unordered) {
        return cond == G4_COND_NZ || cond == G4_COND_U;
    }
    switch (cond) {
    case G4_COND_Z:
        return order == 0;
    case G4_COND_NZ:
        return order != 0;
    case G4_COND_G:
        return order > 0;
    case G4_COND_GE:
        return order >= 0;
    case G4_COND_L:
        return order < 0;
    case G4_COND_LE:
        return order <= 0;
    default:
        return false;
    }
}

static bool float_condition(unsigned cond, double a, double b) {
    return condition(cond, (a > b) - (a < b), a != a || b != b);
}

static bool integer_condition(unsigned cond, __int128 a, __int128 b) {
    return condition(cond, (a > b) - (a < b), false);
}

/* cmpn: if one operand is NaN, the other is selected (965 PRM vol. 4, tables 10-3 to 10-8). */
static bool float_condition_n(unsigned cond, double a, double b) {
    if (b != b) {
        return cond != G4_COND_NZ;
    }
    return float_condition(cond, a, b);
}

/* The double that is stored: denormals are flushed unless the thread keeps them, and NaN has one pattern. */
static double rounded_double(const struct g4_pass *pass, double f) {
    const uint64_t bits = bits_of(f);
    const uint64_t magnitude = bits & ~DOUBLE_SIGN;
    const uint64_t infinite = UINT64_C(0x7ff0000000000000);

    if (magnitude < LEAST_DOUBLE && !pass->keeps_doubles) {
        return double_of(bits & DOUBLE_SIGN);
    }
    if (magnitude > infinite) {
        return double_of(UINT64_C(0x7ff8000000000000));
    }
    return double_of(magnitude == infinite && pass->alternate ? bits - 1 : bits);
}

/* Convert an operand of a comparison to the destination type (quirk cmp_converts_to_destination_type). */
static void convert_operand(struct g4_value *value, bool is_float, unsigned type) {
    if (is_float && type != G4_TYPE_F) {
        value->i = float_to_integer(value->f, type);
    } else if (!is_float && type == G4_TYPE_F) {
        value->f = (float)value->i;
    } else if (!is_float) {
        value->i = truncate_to(value->i, type);
    }
}

static bool compare(const struct g4_pass *pass, const struct g4_op *op, struct g4_value a, struct g4_value b) {
    bool floats = op->exec_type >= G4_EXEC_F;
    if (pass->run->eu->ctx->model->quirks.cmp_converts_to_destination_type && op->opcode != G4_OPCODE_SEL) {
        convert_operand(&a, floats, op->dst.type);
        convert_operand(&b, floats, op->dst.type);
        floats = op->dst.type == G4_TYPE_F;
    }
    if (!floats) {
        return integer_condition(op->cond, exact(&op->src[0], a.i), exact(&op->src[1], b.i));
    }
    return op->opcode == G4_OPCODE_CMP ? float_condition(op->cond, a.f, b.f) : float_condition_n(op->cond, a.f, b.f);
}

/* ---- one pass of one thread ---- */

static bool is_logic(const struct g4_op *op) {
    return op->opcode >= G4_OPCODE_NOT && op->opcode <= G4_OPCODE_XOR;
}

/* mov and sel without conversion, modifiers and saturation copy bits, including denormals and NaN payloads. */
static bool is_raw(const struct g4_op *op, const struct g4_src *src) {
    return (op->opcode == G4_OPCODE_MOV || op->opcode == G4_OPCODE_SEL || op->opcode == G4_OPCODE_MOVI ||
            op->opcode == G4_OPCODE_DIM) &&
           !op->saturate && src->type == op->dst.type && src->kind != G4_KIND_ACC && !src->abs && !src->negate;
}

/* mov with source modifiers: a NaN becomes quiet and keeps its payload (docs/decisions.md 205). */
static bool moves_nan(const struct g4_op *op, const struct g4_src *src) {
    return op->opcode == G4_OPCODE_MOV && !op->saturate && src->type == G4_TYPE_F && op->dst.type == G4_TYPE_F &&
           src->kind != G4_KIND_ACC;
}

/* The stored bits, and the result of the condition modifier. */
struct general_outcome {
    uint64_t bits;
    bool flag;
};

static bool rounding_flag(const struct g4_op *op, double x) {
    const double below = floor(x);
    switch (op->opcode) {
    case G4_OPCODE_RNDE: {
        const double part = x - below;
        return part > 0.5 || (part == 0.5 && fmod(below, 2) != 0);
    }
    case G4_OPCODE_RNDZ:
        return x < 0 && x != below;
    default:
        return false;
    }
}

/* The end of an operation on floats whose result is a double. */
static struct general_outcome finish_double(const struct g4_pass *pass, const struct g4_op *op, double f) {
    double d = op->exec_type == G4_EXEC_F ? rounded(f, pass->alternate) : rounded_double(pass, f);
    if (op->saturate) {
        d = !(d > 0) ? 0 : d > 1 ? 1 : d;
    }
    return (struct general_outcome){.bits = bits_of(d), .flag = float_condition(op->cond, d, 0)};
}

/* The bits of an integer in memory. */
static uint64_t stored_bits(const struct g4_op *op, __int128 value) {
    return op->dst.size == 8 ? (uint64_t)value : (uint32_t)value;
}

/* Integers from doubles see all of their bits. */
static struct general_outcome finish_integer_of_double(const struct g4_op *op, double f) {
    const int64_t value = float_to_integer(f, op->dst.type);
    const double tested = op->cond == G4_COND_U ? f : double_of_integer(number_in(value, op->dst.type));
    return (struct general_outcome){.bits = stored_bits(op, value), .flag = float_condition(op->cond, tested, 0)};
}

/* The end of an operation whose result is a half float; denormals are kept. */
static struct general_outcome finish_half(const struct g4_op *op, double f) {
    const double clamped = op->saturate ? (!(f > 0) ? 0 : f > 1 ? 1 : f) : f;
    const uint16_t nearest = half_of_double(clamped);
    const uint16_t half = op->opcode == G4_OPCODE_FRACTION && nearest == 0x3c00 ? 0x3bff : nearest;
    return (struct general_outcome){.bits = half,
                                    .flag = float_condition(op->cond, g4_hw_float(float_of_half(half)), 0)};
}

static struct general_outcome finish_float(const struct g4_pass *pass, const struct g4_op *op, double f, double x) {
    struct general_outcome out;
    if (op->dst.type == G4_TYPE_DF) {
        return finish_double(pass, op, f);
    }
    if (op->dst.type == G4_TYPE_HF) {
        return finish_half(op, f);
    }
    if (op->exec_type == G4_EXEC_DF && op->dst.type != G4_TYPE_F) {
        return finish_integer_of_double(op, f);
    }
    float single = rounded(op->exec_type == G4_EXEC_DF ? rounded_as_denormal(f) : f, pass->alternate);

    if (pass->flushes_floats) {
        single = g4_hw_float(flushed(g4_hw_bits(single)));
    }
    if (op->saturate && op->dst.type == G4_TYPE_F) {
        single = saturated(single);
    }
    if (op->dst.type == G4_TYPE_F) {
        out.bits = g4_hw_bits(single);
        out.flag = float_condition(op->cond, single, 0);
    } else {
        const int64_t value = float_to_integer(single, op->dst.type);
        out.bits = stored_bits(op, value);
        /* the condition tests the stored integer (docs/decisions.md 42) */
        const double number = double_of_integer(number_in(value, op->dst.type));
        out.flag = float_condition(op->cond, op->cond == G4_COND_U ? (double)single : number, 0);
    }
    if (op->cond == G4_COND_R) {
        out.flag = rounding_flag(op, x);
    } else if (op->cond == G4_COND_O) {
        out.flag = f >= 0x1p128 || f <= -0x1p128;
    }
    return out;
}

static struct general_outcome finish_integer(const struct g4_pass *pass, const struct g4_op *op, __int128 i) {
    const unsigned type = op->dst.type;
    struct general_outcome out;

    if (is_logic(op)) { /* the condition tests the stored bits with the sign of the destination type */
        i = number_in(i, type == G4_TYPE_F ? (unsigned)G4_TYPE_D : type);
    } else if (op->saturate) {
        i = is_float_type(type) ? (i > 0) : clamp_integer(i, type);
    }
    if (type == G4_TYPE_DF || type == G4_TYPE_HF) {
        const double number = double_of_integer(i);
        const uint64_t bits = type == G4_TYPE_DF ? bits_of(number) : half_of_double(number);
        return (struct general_outcome){.bits = bits, .flag = integer_condition(op->cond, i, 0)};
    }
    /* bits that are not stored do not count (docs/decisions.md 43, 212) */
    const bool loses = op->opcode == G4_OPCODE_SHL || pass->run->eu->ctx->model->quirks.conditions_test_stored_integers;
    const bool stored = loses && !op->saturate && type != G4_TYPE_F;
    out.flag = op->cond == G4_COND_O ? i < type_min(type) || i > type_max(type)
                                     : integer_condition(op->cond, stored ? number_in(i, type) : i, 0);
    if (type == G4_TYPE_F) {
        out.bits = g4_hw_bits(float_of_integer(i));
    } else {
        out.bits = stored_bits(op, i);
    }
    return out;
}

static struct general_outcome outcome(const struct g4_pass *pass, const struct g4_op *op, const struct g4_operands *o,
                                      unsigned c) {
    struct general_outcome out;
    if (g4_op_compares(op)) {
        out.flag = compare(pass, op, o->a[c], o->b[c]);
        out.bits = out.flag ? UINT64_MAX : 0;
        return out;
    }
    if (o->raw[c]) {
        out = op->exec_type >= G4_EXEC_F && is_float_type(op->dst.type) ? finish_float(pass, op, o->result[c].f, 0)
              : needs_exact(op)                                         ? finish_integer(pass, op, o->exact[c])
                                                                        : finish_integer(pass, op, o->result[c].i);
        out.bits = o->result[c].raw;
        return out;
    }
    if (op->exec_type >= G4_EXEC_F || op->opcode == G4_OPCODE_F16TO32) {
        out = finish_float(pass, op, o->result[c].f, o->a[c].f);
        out.flag |= op->macro != G4_MACRO_NONE;
        return out;
    }
    if (needs_exact(op)) {
        return finish_integer(pass, op, o->exact[c]);
    }
    /* mach stores the high part; the accumulator receives the whole product */
    return finish_integer(pass, op, op->opcode == G4_OPCODE_MACH ? o->result[c].i >> 32 : o->result[c].i);
}

static bool selects(const struct g4_pass *pass, const struct g4_op *op, const struct g4_operands *o, unsigned c) {
    if (op->cond != G4_COND_NONE) { /* not defined before Gen6; executed as cmpn and a select */
        return compare(pass, op, o->a[c], o->b[c]);
    }
    return pass->predicate >> c & 1;
}

static void select_sources(const struct g4_pass *pass, const struct g4_op *op, struct g4_operands *o) {
    for (unsigned c = 0; c < pass->channels; c++) {
        const bool first = op->opcode == G4_OPCODE_CSEL  ? float_condition(op->cond, o->third[c].f, 0)
                           : op->opcode == G4_OPCODE_SEL ? selects(pass, op, o, c)
                                                         : true;
        o->result[c] = first ? o->a[c] : o->b[c];
        o->exact[c] = exact(&op->src[first ? 0 : 1], o->result[c].i);
        o->raw[c] = is_raw(op, &op->src[first ? 0 : 1]);
        if (!o->raw[c] && moves_nan(op, &op->src[0]) && o->a[c].f != o->a[c].f) {
            o->result[c].raw = modified_float((uint32_t)o->a[c].raw, &op->src[0]) | 0x00400000;
            o->raw[c] = true;
        }
    }
}

/* NaN has one pattern in the accumulator, because an instruction may read its bits as an integer. */
static double one_nan(double f) {
    return f != f ? (double)NAN : f;
}

static void write_accumulator(const struct g4_pass *pass, const struct g4_op *op, const struct g4_operands *o) {
    union g4_acc *const acc = &pass->run->gang->acc[pass->acc];
    for (unsigned c = 0; c < pass->channels && c < 16; c++) {
        if (op->exec_type >= G4_EXEC_F) {
            acc->f[pass->thread][c] = one_nan(o->result[c].f);
        } else if (op->opcode == G4_OPCODE_ADDC) {
            acc->i[pass->thread][c] = (uint32_t)o->a[c].i > UINT32_MAX - (uint32_t)o->b[c].i;
        } else if (op->opcode == G4_OPCODE_SUBB) {
            acc->i[pass->thread][c] = (uint32_t)o->a[c].i < (uint32_t)o->b[c].i;
        } else if (is_partial_product(op)) {
            acc->i[pass->thread][c] = partial_product(o->a[c].i, o->b[c].i);
        } else {
            acc->i[pass->thread][c] = o->result[c].i;
        }
    }
}

/* Store to an explicit accumulator, which keeps full precision. */
static void store_accumulator(const struct g4_pass *pass, const struct g4_op *op, const struct g4_operands *o,
                              uint32_t enabled) {
    union g4_acc *const acc = &pass->run->gang->acc[pass->acc];
    for (unsigned c = 0; c < pass->channels; c++) {
        const unsigned slot = op->dst.base / op->dst.size + c * op->dst.hstride;
        if (!(enabled >> c & 1) || slot > 15) {
            continue;
        }
        if (op->dst.type == G4_TYPE_F || op->dst.type == G4_TYPE_DF) {
            const double f = op->exec_type >= G4_EXEC_F ? o->result[c].f : (float)o->result[c].i;
            acc->f[pass->thread][slot] = one_nan(f);
        } else {
            const bool floats = op->exec_type >= G4_EXEC_F;
            acc->i[pass->thread][slot] = floats ? float_to_integer(o->result[c].f, op->dst.type) : o->result[c].i;
        }
    }
}

static void store_architecture(const struct g4_pass *pass, const struct g4_dst *dst, const uint64_t *bits,
                               uint32_t enabled) {
    uint8_t image[32 + 8] = {0};
    uint32_t written = 0;
    for (unsigned c = 0; c < pass->channels; c++) {
        const unsigned at = dst->base + c * dst->hstride * dst->size;
        if ((enabled >> c & 1) && at < 32) {
            memcpy(image + at, &bits[c], dst->size);
            written |= ((1u << dst->size) - 1) << at;
        }
    }
    if (written) {
        g4_arf_write(pass->run, pass->thread, dst->reg, image, written);
    }
}

static uint8_t *destination_byte(const struct g4_pass *pass, const struct g4_dst *dst, unsigned byte) {
    struct g4_gang *const gang = pass->run->gang;
    if (dst->kind == G4_KIND_MRF) { /* writes past m15 are ignored */
        return byte < G4_MRF_COUNT * G4_REGISTER_BYTES ? &gang->mrf[byte / 32].ub[pass->thread][byte % 32] : NULL;
    }
    return g4_grf_byte(gang, pass->thread, byte);
}

static void store(const struct g4_pass *pass, const struct g4_op *op, const uint64_t *bits, uint32_t enabled) {
    const struct g4_dst *const dst = &op->dst;
    unsigned base = dst->base + (pass->index ? dst->pass_bytes : 0u);

    if (dst->kind == G4_KIND_NULL) {
        return;
    }
    if (dst->kind == G4_KIND_ARF) {
        store_architecture(pass, dst, bits, enabled);
        return;
    }
    if (dst->kind == G4_KIND_INDIRECT) {
        const unsigned own = dst->flat ? 0 : (unsigned)pass->index;
        base = g4_indirect_base(pass->run, pass->thread, (dst->addr_sub + own) & op->address_mask, dst->addr_imm) +
               (dst->flat && pass->index ? dst->pass_bytes : 0u);
    }
    for (unsigned c = 0; c < pass->channels; c++) {
        const uint8_t *const value = (const uint8_t *)&bits[c];
        const unsigned at = base + c * dst->hstride * dst->size;
        for (unsigned i = 0; (enabled >> c & 1) && i < dst->size; i++) {
            uint8_t *const place = destination_byte(pass, dst, at + i);
            if (!place) {
                g4_run_report(pass->run, G4_EVENT_GRF_RANGE, (at + i) / 32);
                break;
            }
            *place = value[i];
        }
    }
}

static void set_flags(const struct g4_pass *pass, uint32_t bits, uint32_t enabled) {
    struct g4_gang *const gang = pass->run->gang;
    uint64_t flags = g4_flags_of(gang, pass->thread);
    for (unsigned c = 0; c < pass->channels; c++) {
        const unsigned at = (pass->first_flag + c) & pass->flag_mask;
        if (enabled >> c & 1) {
            flags = (flags & ~(UINT64_C(1) << at)) | (uint64_t)(bits >> c & 1) << at;
        }
    }
    g4_set_flags_of(gang, pass->thread, flags);
}

/* The integer division stores the remainder in the register after that of the quotient. */
static void store_remainder(const struct g4_pass *pass, const struct g4_op *op, const struct g4_operands *o,
                            uint32_t enabled) {
    struct g4_op second = *op;
    uint64_t bits[G4_PASS_CHANNELS];

    second.dst.base = (uint16_t)(op->dst.base + G4_REGISTER_BYTES);
    for (unsigned c = 0; c < pass->channels; c++) {
        bits[c] = o->third[c].raw;
    }
    if (op->dst.kind == G4_KIND_GRF) {
        store(pass, &second, bits, enabled);
    }
}

/* Of the channels of a pass, and of the groups of four that DP4 and SAD2 read whole: most instructions have 8 or 16
 * channels, and clearing all 32 costs as much as executing them. */
static void clear_operands(struct g4_operands *o, unsigned channels) {
    const size_t count = (channels + 3) & ~(size_t)3;

    memset(o->a, 0, count * sizeof *o->a);
    memset(o->b, 0, count * sizeof *o->b);
    memset(o->third, 0, count * sizeof *o->third);
    memset(o->v, 0, count * sizeof *o->v);
    memset(o->result, 0, count * sizeof *o->result);
    memset(o->plane, 0, sizeof o->plane);
    memset(o->raw, 0, count);
}

static void run_pass(const struct g4_pass *pass, const struct g4_op *op) {
    const struct g4_opcode_info *const info = &g4_opcode_info[op->opcode];
    struct g4_operands o;
    struct g4_value *const values[] = {o.a, o.b, o.third};
    uint64_t bits[G4_PASS_CHANNELS];
    uint32_t flags = 0;

    clear_operands(&o, pass->channels);
    if (needs_exact(op)) { /* for operations that do not compute it */
        memset(o.exact, 0, sizeof o.exact);
    }
    for (int s = 0; s < info->sources; s++) {
        read_source(pass, &op->src[s], (enum g4_exec_type)op->exec_type, values[s]);
    }
    if (op->opcode == G4_OPCODE_LINE || op->opcode == G4_OPCODE_PLN) {
        read_plane_operands(pass, op, &o);
    }
    if (op->opcode == G4_OPCODE_MOV || op->opcode == G4_OPCODE_SEL || op->opcode == G4_OPCODE_MSAVE ||
        op->opcode == G4_OPCODE_MREST || op->opcode == G4_OPCODE_DIM || op->opcode == G4_OPCODE_CSEL) {
        select_sources(pass, op, &o);
    } else if (op->opcode == G4_OPCODE_MATH && !op->macro) {
        compute_math(pass, op, &o);
    } else if (op->opcode == G4_OPCODE_F32TO16 || op->opcode == G4_OPCODE_F16TO32) {
        convert_halves(pass, op, &o);
    } else if (op->opcode == G4_OPCODE_MOVI) {
        move_indexed(pass, op, &o);
    } else if (!g4_op_compares(op)) {
        compute(pass, op, &o);
    }
    if (op->acc_write && !(pass->run->gang->cr0[pass->thread][0] & G4_CR0_ACC_DISABLE)) {
        write_accumulator(pass, op, &o);
    }
    for (unsigned c = 0; c < pass->channels; c++) {
        const struct general_outcome out = outcome(pass, op, &o, c);
        bits[c] = out.bits;
        flags |= (uint32_t)out.flag << c;
    }
    if (op->cond != G4_COND_NONE && op->opcode != G4_OPCODE_SEL && op->opcode != G4_OPCODE_CSEL) {
        set_flags(pass, flags, pass->enabled);
    }
    uint32_t enabled = pass->enabled;
    if (op->dst.kind == G4_KIND_ACC) {
        store_accumulator(pass, op, &o, enabled);
    } else {
        store(pass, op, bits, enabled);
    }
    if (op->opcode == G4_OPCODE_MATH && op->function == G4_MATH_FUNCTION_INT_DIV_BOTH) {
        store_remainder(pass, op, &o, enabled);
    }
}

/* ---- masks ---- */

static unsigned flag_bit(const struct g4_pass *pass, uint64_t flags, unsigned c) {
    return (unsigned)(flags >> ((pass->first_flag + c) & pass->flag_mask)) & 1;
}

/* Any or all of the aligned group of n flags that contains the flag of channel c. */
static bool group_predicate(const struct g4_pass *pass, uint64_t flags, unsigned c, unsigned n, bool all) {
    const unsigned at = (pass->first_flag + c) & pass->flag_mask;
    const uint64_t mask = n >= 32 ? UINT64_C(0xffffffff) << (at & 32) : ((UINT64_C(1) << n) - 1) << (at & ~(n - 1));
    return all ? (flags & mask) == mask : (flags & mask) != 0;
}

static bool channel_predicate(const struct g4_pass *pass, const struct g4_op *op, uint64_t flags, unsigned c) {
    const unsigned at = (pass->first_flag + c) & (op->pair_shift - 1u);
    if (op->align16 && op->predicate >= G4_PRED16_X && op->predicate <= G4_PRED16_W) {
        return flag_bit(pass, flags, (c & ~3u) + op->predicate - G4_PRED16_X);
    }
    switch (op->predicate) {
    case G4_PRED_NONE:
        return true;
    case G4_PRED_NORMAL:
        return flag_bit(pass, flags, c);
    case G4_PRED_ANYV:
        return (flags | flags >> op->pair_shift) >> at & 1;
    case G4_PRED_ALLV:
        return (flags & flags >> op->pair_shift) >> at & 1;
    default: {
        const unsigned n = 2u << ((op->predicate - G4_PRED_ANY2H) / 2);
        return group_predicate(pass, flags, c, n, (op->predicate - G4_PRED_ANY2H) & 1);
    }
    }
}

/* The channels of a pass that execute, counted from its first one. */
static uint32_t pass_channels(const struct g4_run *run, const struct g4_op *op, int index, int t) {
    const uint32_t low = g4_mask16(run->exec, t);
    const uint32_t high = run->gang->wide ? g4_mask16(run->upper, t) : low;
    uint64_t on = low | low << 16;
    unsigned first = op->first_channel[index];

    if (op->nomask) {
        return UINT32_MAX;
    }
    if (op->exec_size > 16) {
        on = low | high << 16;
        first = (unsigned)index * op->channels;
    }
    return (uint32_t)(on >> first);
}

static void pass_masks(struct g4_pass *pass, const struct g4_op *op) {
    const struct g4_gang *const gang = pass->run->gang;
    const int t = pass->thread;
    const uint64_t flags = g4_flags_of(gang, t);
    const uint32_t exec = pass_channels(pass->run, op, pass->index, t);

    pass->first_flag = op->first_flag[pass->index];
    pass->flag_mask = op->flag_mask;
    pass->enabled = 0;
    pass->predicate = 0;
    for (unsigned c = 0; c < pass->channels; c++) {
        bool predicate = channel_predicate(pass, op, flags, c) != op->predicate_inverse;
        if (op->predicate == G4_PRED_NONE) {
            predicate = true;
        }
        const bool gate = predicate || op->opcode == G4_OPCODE_SEL;
        const bool on = exec >> c & 1;
        pass->predicate |= (uint32_t)predicate << c;
        pass->enabled |= (uint32_t)(on && gate && (op->dst.writemask >> (c & 3) & 1)) << c;
    }
}

uint32_t g4_enabled_channels(const struct g4_run *run, const struct g4_op *op, int index, int thread, bool predicated) {
    const struct g4_pass pass = {.first_flag = op->first_flag[index], .flag_mask = op->flag_mask};
    const uint64_t flags = g4_flags_of(run->gang, thread);
    const uint32_t exec = pass_channels(run, op, index, thread);
    uint32_t enabled = 0;

    for (unsigned c = 0; c < op->channels; c++) {
        const bool on = exec >> c & 1;
        const bool gate = !predicated || op->predicate == G4_PRED_NONE ||
                          channel_predicate(&pass, op, flags, c) != op->predicate_inverse;
        enabled |= (uint32_t)(on && gate) << c;
    }
    return enabled;
}

uint32_t g4_predicate_channels(const struct g4_run *run, const struct g4_op *op, int thread) {
    const struct g4_pass pass = {.first_flag = op->first_flag[0] - (unsigned)op->group, .flag_mask = op->flag_mask};
    const uint64_t flags = g4_flags_of(run->gang, thread);
    uint32_t channels = 0;

    for (unsigned c = 0; c < G4_GANG_CHANNELS; c++) {
        const bool on =
            op->predicate == G4_PRED_NONE || channel_predicate(&pass, op, flags, c) != op->predicate_inverse;
        channels |= (uint32_t)on << c;
    }
    return channels;
}

static int pass_accumulator(const struct g4_op *op, int index) {
    const struct g4_src *explicit_source = NULL;
    for (int s = 0; s < g4_opcode_info[op->opcode].sources; s++) {
        if (op->src[s].kind == G4_KIND_ACC && !explicit_source) {
            explicit_source = &op->src[s];
        }
    }
    if (explicit_source) {
        return (explicit_source->reg + index) & 1;
    }
    if (op->dst.kind == G4_KIND_ACC) {
        return (op->dst.reg + index) & 1;
    }
    return (op->acc + index) & 1;
}

void g4_general_pass(struct g4_run *run, const struct g4_op *op, int index, uint32_t channels) {
    const bool own_floats = run->own_floats; /* the instruction may write cr0 and change it */

    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (!(run->threads >> t & 1)) {
            continue;
        }
        struct g4_pass pass = {
            .run = run,
            .thread = t,
            .index = index,
            .channels = op->channels,
            .acc = pass_accumulator(op, index),
            .alternate = (run->gang->cr0[t][0] & G4_CR0_ALTERNATE) != 0,
        };
        pass_masks(&pass, op);
        pass.enabled &= channels;
        if (own_floats) {
            const uint32_t cr0 = run->gang->cr0[t][0];
            const bool keeps_floats = (cr0 & G4_CR0_KEEP_FLOATS) != 0;
            pass.keeps_doubles = (cr0 & G4_CR0_KEEP_DOUBLES) != 0;
            pass.flushes_floats = pass.keeps_doubles && !keeps_floats;
            pass.flushes_doubles = keeps_floats && !pass.keeps_doubles;
            g4_fpenv_set(g4_fpenv_of_control(cr0 >> G4_CR0_ROUNDING_SHIFT, keeps_floats || pass.keeps_doubles));
        }
        run_pass(&pass, op);
    }
    if (own_floats) {
        g4_fpenv_set(run->inside);
    }
}

void g4_general_store(struct g4_run *run, const struct g4_op *op, int index, int thread, const uint32_t *bits,
                      uint32_t enabled) {
    const struct g4_pass pass = {.run = run, .thread = thread, .index = index, .channels = op->channels};
    uint64_t wide[G4_PASS_CHANNELS];
    for (unsigned c = 0; c < op->channels; c++) {
        wide[c] = bits[c];
    }
    store(&pass, op, wide, enabled);
}

void g4_general(struct g4_run *run, const struct g4_op *op) {
    for (int index = 0; index < op->passes; index++) {
        g4_general_pass(run, op, index, UINT32_MAX);
    }
}
