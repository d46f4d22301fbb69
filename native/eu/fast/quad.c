/*
 * Fast handlers on four channels of each thread: doubles and integers of 64 bits, of which four fill a register, and
 * copies of dwords to or from registers that hold four channels.
 *
 * A part is a pass of the instruction.  Its lanes are packed: bit 4 * t + c is channel c of thread t, so the elements
 * of a whole register of doubles are in the order of their lanes.
 */
#include <math.h>

#include "eu/fast/fast.h"
#include "eu/vec.h"

#include "core/variant.h"

enum {
    CHANNELS = 4,
    LANES = CHANNELS * G4_GANG_THREADS,
};

#define SIGN   UINT64_C(0x8000000000000000)
#define INF    UINT64_C(0x7ff0000000000000)
#define NAN_64 UINT64_C(0x7ff8000000000000)
#define NORMAL UINT64_C(0x0010000000000000) /* the least normal double */

union quads {
    _Alignas(64) uint64_t bits[LANES];
    int64_t i[LANES];
    double f[LANES];
};

/* ---- lanes ---- */

/* Four lanes of each thread from `first` on, packed. */
G4_INLINE uint32_t packed_lanes(g4_lanes lanes, unsigned first) {
    g4_lanes x = (lanes >> first) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    x = (x | x >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x | x >> 8) & UINT64_C(0x0000ffff0000ffff);
    return (uint32_t)(x | x >> 16);
}

G4_INLINE g4_lanes unpacked_lanes(uint32_t packed, unsigned first) {
    g4_lanes x = packed;
    x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return x << first;
}

G4_INLINE int half_of(const struct g4_op *op, int part) {
    return op->first_channel[part] >> 3 & 1;
}

G4_INLINE uint32_t predicate_of(const struct g4_run *run, const struct g4_op *op, int part) {
    return packed_lanes(g4_predicate(run->gang, op, half_of(op, part)), op->first_channel[part] & 7u);
}

/* The enabled lanes.  The predicate disables lanes in all instructions but sel. */
G4_INLINE uint32_t enabled_lanes(const struct g4_run *run, const struct g4_op *op, int part) {
    const unsigned channels = ((1u << op->channels) - 1) & op->dst.writemask;
    const g4_lanes exec = op->nomask ? run->group : run->exec[half_of(op, part)];
    const uint32_t lanes = packed_lanes(exec, op->first_channel[part] & 7u) & (channels * 0x11111111u);

    return op->opcode == G4_OPCODE_SEL ? lanes : lanes & predicate_of(run, op, part);
}

static void set_flags(struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes, uint32_t bits) {
    const unsigned first = op->first_channel[part] & 7u;
    g4_lanes *const flag = &run->gang->flag[op->flag][half_of(op, part)];
    *flag = (*flag & ~unpacked_lanes(lanes, first)) | unpacked_lanes(bits & lanes, first);
}

/* The lanes whose mask is not 0. */
G4_INLINE uint32_t lanes_set(const union quads *mask) {
    uint32_t lanes = 0;
    for (int l = 0; l < LANES; l++) {
        lanes |= (uint32_t)(mask->bits[l] & 1) << l;
    }
    return lanes;
}

#define COMPARE(test)                                                                                                  \
    for (int l = 0; l < LANES; l++) {                                                                                  \
        const double x = a->f[l];                                                                                      \
        const double y = b->f[l];                                                                                      \
        mask.bits[l] = (test);                                                                                         \
    }                                                                                                                  \
    break

static uint32_t compare(unsigned cond, const union quads *a, const union quads *b) {
    union quads mask;
    switch (cond) {
    case G4_COND_Z:
        COMPARE(x == y);
    case G4_COND_NZ:
        COMPARE(x != y);
    case G4_COND_G:
        COMPARE(x > y);
    case G4_COND_GE:
        COMPARE(x >= y);
    case G4_COND_L:
        COMPARE(x < y);
    default:
        COMPARE(x <= y);
    }
    return lanes_set(&mask);
}

/* ---- sources ---- */

static void load_64(const uint8_t *gang, const struct g4_fast_src *src, int part, union quads *out) {
    const uint16_t *const off = &src->off[CHANNELS * part];

    switch (src->load) {
    case G4_LOAD_IMM:
        for (int l = 0; l < LANES; l++) {
            out->bits[l] = (uint32_t)src->imm[0] | (uint64_t)(uint32_t)src->imm[1] << 32;
        }
        break;
    case G4_LOAD_PACKED:
        memcpy(out, gang + off[0], sizeof *out);
        break;
    case G4_LOAD_SCALAR:
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            uint64_t element;
            memcpy(&element, gang + off[0] + G4_REGISTER_BYTES * t, sizeof element);
            for (int c = 0; c < CHANNELS; c++) {
                out->bits[CHANNELS * t + c] = element;
            }
        }
        break;
    default:
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            for (int c = 0; c < CHANNELS; c++) {
                memcpy(&out->bits[CHANNELS * t + c], gang + off[c] + G4_REGISTER_BYTES * t, sizeof *out->bits);
            }
        }
        break;
    }
}

static void load_32(const uint8_t *gang, const struct g4_fast_src *src, int part, uint32_t out[LANES]) {
    const uint16_t *const off = &src->off[CHANNELS * part];

    for (int t = 0; t < G4_GANG_THREADS; t++) {
        for (int c = 0; c < CHANNELS; c++) {
            if (src->load == G4_LOAD_IMM) {
                out[CHANNELS * t + c] = (uint32_t)src->imm[CHANNELS * part + c];
            } else {
                memcpy(&out[CHANNELS * t + c], gang + off[c] + G4_REGISTER_BYTES * t, sizeof *out);
            }
        }
    }
}

/* Load a source as doubles, after its modifiers. */
static void load_doubles(const struct g4_run *run, const struct g4_op *op, int s, int part, union quads *out) {
    const struct g4_fast_src *const src = &op->in[s];
    const uint8_t *const gang = (const uint8_t *)run->gang;
    _Alignas(64) uint32_t raw[LANES];

    if (src->size == 8) {
        const uint64_t keep = (uint64_t)src->keep << 32 | UINT32_MAX;
        const uint64_t flip = (uint64_t)src->flip << 32;
        load_64(gang, src, part, out);
        for (int l = 0; l < LANES; l++) {
            out->bits[l] = (out->bits[l] & keep) ^ flip;
        }
        return;
    }
    load_32(gang, src, part, raw);
    if (op->src[s].type == G4_TYPE_F) {
        _Alignas(64) float single[LANES];
        for (int l = 0; l < LANES; l++) {
            raw[l] = (raw[l] & src->keep) ^ src->flip;
        }
        memcpy(single, raw, sizeof single);
        for (int l = 0; l < LANES; l++) {
            out->f[l] = single[l];
        }
    } else if (op->src[s].type == G4_TYPE_UD) {
        for (int l = 0; l < LANES; l++) {
            out->f[l] = raw[l];
        }
    } else {
        for (int l = 0; l < LANES; l++) {
            const uint32_t value = (raw[l] ^ (uint32_t)src->invert) - (uint32_t)src->minus;
            out->f[l] = (int32_t)value;
        }
    }
}

/* ---- results ---- */

static void store_64(struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes, const union quads *r) {
    const uint16_t *const off = &op->out.off[CHANNELS * part];
    uint8_t *const gang = (uint8_t *)run->gang;

    if (op->out.store == G4_STORE_NULL) {
        return;
    }
    if (op->out.store == G4_STORE_PACKED && lanes == UINT32_MAX) {
        memcpy(gang + off[0], r, sizeof *r);
        return;
    }
    for (; lanes; lanes &= lanes - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(lanes);
        memcpy(gang + off[lane % CHANNELS] + G4_REGISTER_BYTES * (lane / CHANNELS), &r->bits[lane], sizeof *r->bits);
    }
}

static void store_32(struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes, const uint32_t r[LANES]) {
    const uint16_t *const off = &op->out.off[CHANNELS * part];
    uint8_t *const gang = (uint8_t *)run->gang;

    if (op->out.store == G4_STORE_NULL) {
        return;
    }
    if (lanes == UINT32_MAX) {
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            for (int c = 0; c < CHANNELS; c++) {
                memcpy(gang + off[c] + G4_REGISTER_BYTES * t, &r[CHANNELS * t + c], sizeof *r);
            }
        }
        return;
    }
    for (; lanes; lanes &= lanes - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(lanes);
        memcpy(gang + off[lane % CHANNELS] + G4_REGISTER_BYTES * (lane / CHANNELS), &r[lane], sizeof *r);
    }
}

/* Store integers of 64 bits, or their low dwords. */
static void store_longs(struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes, const union quads *r) {
    _Alignas(64) uint32_t low[LANES];
    if (op->dst.size == 8) {
        store_64(run, op, part, lanes, r);
        return;
    }
    for (int l = 0; l < LANES; l++) {
        low[l] = (uint32_t)r->bits[l];
    }
    store_32(run, op, part, lanes, low);
}

/* Denormals are flushed, unless threads keep them, and NaN has one pattern; in ALT mode, infinities are the largest
 * number, which of a float that becomes a double is that of floats. */
static void settle(const struct g4_run *run, const struct g4_op *op, union quads *r) {
    const uint64_t largest = op->exec_type == G4_EXEC_F ? UINT64_C(0x47efffffe0000000) : INF - 1;
    const uint64_t least = run->keeps_denormals ? 0 : NORMAL;

    for (int l = 0; l < LANES; l++) {
        const uint64_t bits = r->bits[l];
        const uint64_t magnitude = bits & ~SIGN;
        const uint64_t number = magnitude < least ? bits & SIGN : bits;
        r->bits[l] = magnitude > INF ? NAN_64 : number;
    }
    if (__builtin_expect(run->alternate != 0, 0)) {
        const uint32_t alternate = packed_lanes(run->alternate, 0);
        for (int l = 0; l < LANES; l++) {
            if ((r->bits[l] & ~SIGN) == INF && alternate >> l & 1) {
                r->bits[l] = (r->bits[l] & SIGN) | largest;
            }
        }
    }
}

static void saturate(union quads *r) {
    for (int l = 0; l < LANES; l++) {
        const double positive = r->f[l] > 0 ? r->f[l] : 0;
        r->f[l] = positive > 1 ? 1 : positive;
    }
}

static void finish_doubles(struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes, union quads *r) {
    static const union quads zero;

    settle(run, op, r);
    if (op->saturate) {
        saturate(r);
    }
    if (op->cond != G4_COND_NONE) {
        set_flags(run, op, part, lanes, compare(op->cond, r, &zero));
    }
    store_64(run, op, part, lanes, r);
}

/* Doubles below the normal floats are rounded as if denormals were kept, so that the largest become a normal float
 * before the others are flushed (docs/decisions.md 147). */
static void finish_floats(struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes, const union quads *r) {
    const double last_bit_is_2_to_minus_149 = 0x1.8p-97;
    const uint32_t alternate = packed_lanes(run->alternate, 0);
    _Alignas(64) float single[LANES];
    _Alignas(64) uint32_t bits[LANES];

    for (int l = 0; l < LANES; l++) {
        const double x = r->f[l];
        const double small = (x + last_bit_is_2_to_minus_149) - last_bit_is_2_to_minus_149;
        const union {
            double f;
            uint64_t bits;
        } size = {small}, whole = {x};
        const union {
            uint64_t bits;
            double f;
        } rounded = {(size.bits & ~SIGN) | (whole.bits & SIGN)};
        single[l] = (float)(fabs(x) < 0x1p-126 ? rounded.f : x);
    }
    memcpy(bits, single, sizeof bits);
    for (int l = 0; l < LANES; l++) {
        const uint32_t magnitude = bits[l] & 0x7fffffff;
        const uint32_t infinite = magnitude == 0x7f800000 && (alternate >> l & 1) ? bits[l] - 1 : bits[l];
        bits[l] = magnitude > 0x7f800000 ? 0x7fc00000 : infinite;
    }
    if (op->saturate) {
        memcpy(single, bits, sizeof bits);
        for (int l = 0; l < LANES; l++) {
            const float positive = single[l] > 0 ? single[l] : 0;
            single[l] = positive > 1 ? 1 : positive;
        }
        memcpy(bits, single, sizeof bits);
    }
    store_32(run, op, part, lanes, bits);
}

/* Rounds toward zero and clamps; NaN becomes 0. */
static void finish_integers(struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes,
                            const union quads *r) {
    const bool is_signed = op->dst.type == G4_TYPE_D;
    const double least = is_signed ? INT32_MIN : 0;
    const double most = is_signed ? INT32_MAX : UINT32_MAX;
    uint32_t bits[LANES];

    for (int l = 0; l < LANES; l++) {
        const double number = r->f[l] == r->f[l] ? r->f[l] : 0;
        const double low = number > least ? number : least;
        bits[l] = (uint32_t)(int64_t)(low < most ? low : most);
    }
    store_32(run, op, part, lanes, bits);
}

/* ---- handlers ---- */

/* A handler for two sources: `combine` replaces the first one by the result, and may change the other. */
#define BINARY(name, load, combine, finish)                                                                            \
    static void name(struct g4_run *run, const struct g4_op *op) {                                                     \
        for (int part = 0; part < op->passes; part++) {                                                                \
            const uint32_t lanes = enabled_lanes(run, op, part);                                                       \
            union quads a, b;                                                                                          \
            if (lanes == 0) {                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            load(run, op, 0, part, &a);                                                                                \
            load(run, op, 1, part, &b);                                                                                \
            combine(run, op, part, lanes, &a, &b);                                                                     \
            finish(run, op, part, lanes, &a);                                                                          \
        }                                                                                                              \
    }

/* A handler that computes each lane of the result from the lanes x and y of the sources. */
#define BINARY_LANES(name, load, type, member, expression, finish)                                                     \
    G4_INLINE void combine_##name(const struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes,          \
                                  union quads *a, const union quads *b) {                                              \
        (void)run, (void)op, (void)part, (void)lanes;                                                                  \
        for (int l = 0; l < LANES; l++) {                                                                              \
            const type x = a->member[l];                                                                               \
            const type y = b->member[l];                                                                               \
            a->member[l] = (expression);                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    BINARY(name, load, combine_##name, finish)

#define BINARY_DOUBLES(name, expression) BINARY_LANES(name, load_doubles, double, f, expression, finish_doubles)

BINARY_DOUBLES(ADD_Q, x + y)
BINARY_DOUBLES(MUL_Q, x *y)

/* Rounded once (docs/decisions.md 90). */
static void MAD_Q(struct g4_run *run, const struct g4_op *op) {
    for (int part = 0; part < op->passes; part++) {
        const uint32_t lanes = enabled_lanes(run, op, part);
        union quads a, b, third;
        if (lanes == 0) {
            continue;
        }
        load_doubles(run, op, 0, part, &a);
        load_doubles(run, op, 1, part, &b);
        load_doubles(run, op, 2, part, &third);
        for (int l = 0; l < LANES; l++) {
            a.f[l] = fma(b.f[l], third.f[l], a.f[l]);
        }
        finish_doubles(run, op, part, lanes, &a);
    }
}

static void MOV_Q(struct g4_run *run, const struct g4_op *op) {
    for (int part = 0; part < op->passes; part++) {
        const uint32_t lanes = enabled_lanes(run, op, part);
        union quads r;
        if (lanes == 0) {
            continue;
        }
        load_doubles(run, op, 0, part, &r);
        if (op->dst.size == 8) {
            finish_doubles(run, op, part, lanes, &r);
        } else if (op->dst.type == G4_TYPE_F) {
            finish_floats(run, op, part, lanes, &r);
        } else {
            finish_integers(run, op, part, lanes, &r);
        }
    }
}

static void COPY_64(struct g4_run *run, const struct g4_op *op) {
    for (int part = 0; part < op->passes; part++) {
        const uint32_t lanes = enabled_lanes(run, op, part);
        union quads r;
        if (lanes != 0) {
            load_64((const uint8_t *)run->gang, &op->in[0], part, &r);
            store_64(run, op, part, lanes, &r);
        }
    }
}

static void COPY_32(struct g4_run *run, const struct g4_op *op) {
    for (int part = 0; part < op->passes; part++) {
        const uint32_t lanes = enabled_lanes(run, op, part);
        _Alignas(64) uint32_t r[LANES];
        if (lanes != 0) {
            load_32((const uint8_t *)run->gang, &op->in[0], part, r);
            store_32(run, op, part, lanes, r);
        }
    }
}

/* All bits of the lanes that satisfy the condition are set. */
G4_INLINE void set_compared(struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes, uint32_t satisfied,
                            union quads *r) {
    set_flags(run, op, part, lanes, satisfied);
    for (int l = 0; l < LANES; l++) {
        r->i[l] = -(int64_t)(satisfied >> l & 1);
    }
}

G4_INLINE void select_lanes(uint32_t first, union quads *a, const union quads *b) {
    for (int l = 0; l < LANES; l++) {
        a->bits[l] = first >> l & 1 ? a->bits[l] : b->bits[l];
    }
}

G4_INLINE void compare_doubles(struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes, union quads *a,
                               const union quads *b) {
    set_compared(run, op, part, lanes, compare(op->cond, a, b), a);
}

BINARY(CMP_Q, load_doubles, compare_doubles, store_longs)

/* The lanes whose src0 is selected.  If one source is NaN, a condition selects the other (965 PRM vol. 4, tables 10-3
 * to 10-8). */
static uint32_t selected(const struct g4_run *run, const struct g4_op *op, int part, const union quads *a,
                         const union quads *b) {
    if (op->cond == G4_COND_NONE) {
        return predicate_of(run, op, part);
    }
    const uint32_t number = compare(G4_COND_Z, b, b);
    return (compare(op->cond, a, b) & number) | (op->cond == G4_COND_NZ ? 0 : ~number);
}

/* Sources without modifiers are copied. */
G4_INLINE void select_doubles(const struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes,
                              union quads *a, union quads *b) {
    const uint32_t first = selected(run, op, part, a, b);
    (void)lanes;
    for (int s = 0; s < 2; s++) {
        union quads *const r = s == 0 ? a : b;
        if (op->saturate || op->src[s].abs || op->src[s].negate) {
            settle(run, op, r);
        }
        if (op->saturate) {
            saturate(r);
        }
    }
    select_lanes(first, a, b);
}

BINARY(SEL_Q, load_doubles, select_doubles, store_64)

/* ---- integers of 64 bits ----
 *
 * Results wrap around.  Except for cmp and sel, no condition tests them: table.c leaves such forms to the general
 * handler.
 */

/* Load a source, extended to 64 bits, after its modifiers. */
static void load_longs(const struct g4_run *run, const struct g4_op *op, int s, int part, union quads *out) {
    const struct g4_fast_src *const src = &op->in[s];
    const uint8_t *const gang = (const uint8_t *)run->gang;
    const int64_t invert = src->invert;
    const int64_t minus = src->minus;

    if (src->size == 8) {
        load_64(gang, src, part, out);
        for (int l = 0; l < LANES; l++) {
            out->bits[l] = (out->bits[l] ^ (uint64_t)invert) - (uint64_t)minus;
        }
        return;
    }
    _Alignas(64) uint32_t raw[LANES];
    load_32(gang, src, part, raw);
    if (op->src[s].type == G4_TYPE_UD) { /* may be inverted, but not negated */
        for (int l = 0; l < LANES; l++) {
            out->i[l] = (int64_t)raw[l] ^ invert;
        }
    } else {
        for (int l = 0; l < LANES; l++) {
            out->i[l] = (int32_t)((raw[l] ^ (uint32_t)invert) - (uint32_t)minus);
        }
    }
}

/* The bits of a source that count. */
G4_INLINE uint64_t shift_mask(const struct g4_op *op) {
    return op->exec_type == G4_EXEC_Q ? 63 : 31;
}

#define BINARY_LONGS(name, expression) BINARY_LANES(name, load_longs, uint64_t, bits, expression, store_longs)

BINARY_LONGS(ADD_L, x + y)
BINARY_LONGS(MUL_L, x *y)
BINARY_LONGS(AND_L, x &y)
BINARY_LONGS(OR_L, x | y)
BINARY_LONGS(XOR_L, x ^ y)
BINARY_LONGS(SHL_L, x << (y & shift_mask(op)))
BINARY_LONGS(SHR_L, x >> (y & shift_mask(op)))
BINARY_LONGS(ASR_L, (uint64_t)((int64_t)x >> (y & shift_mask(op))))

static void MOV_L(struct g4_run *run, const struct g4_op *op) {
    for (int part = 0; part < op->passes; part++) {
        const uint32_t lanes = enabled_lanes(run, op, part);
        union quads r;
        if (lanes != 0) {
            load_longs(run, op, 0, part, &r);
            store_longs(run, op, part, lanes, &r);
        }
    }
}

static void NOT_L(struct g4_run *run, const struct g4_op *op) {
    for (int part = 0; part < op->passes; part++) {
        const uint32_t lanes = enabled_lanes(run, op, part);
        union quads r;
        if (lanes == 0) {
            continue;
        }
        load_longs(run, op, 0, part, &r);
        for (int l = 0; l < LANES; l++) {
            r.bits[l] = ~r.bits[l];
        }
        store_longs(run, op, part, lanes, &r);
    }
}

/* Unsigned numbers are compared with inverted sign bits. */
static uint32_t compare_longs(const struct g4_op *op, const union quads *a, const union quads *b) {
    const int64_t bias = op->src[0].type == G4_TYPE_UQ ? INT64_MIN : 0;
    uint32_t less = 0;
    uint32_t equal = 0;

    for (int l = 0; l < LANES; l++) {
        less |= (uint32_t)((a->i[l] ^ bias) < (b->i[l] ^ bias)) << l;
        equal |= (uint32_t)(a->i[l] == b->i[l]) << l;
    }
    switch (op->cond) {
    case G4_COND_Z:
        return equal;
    case G4_COND_NZ:
        return ~equal;
    case G4_COND_G:
        return ~(less | equal);
    case G4_COND_GE:
        return ~less;
    case G4_COND_L:
        return less;
    default:
        return less | equal;
    }
}

G4_INLINE void compare_integers(struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes, union quads *a,
                                const union quads *b) {
    set_compared(run, op, part, lanes, compare_longs(op, a, b), a);
}

BINARY(CMP_L, load_longs, compare_integers, store_longs)

G4_INLINE void select_integers(const struct g4_run *run, const struct g4_op *op, int part, uint32_t lanes,
                               union quads *a, const union quads *b) {
    (void)lanes;
    select_lanes(op->cond == G4_COND_NONE ? predicate_of(run, op, part) : compare_longs(op, a, b), a, b);
}

BINARY(SEL_L, load_longs, select_integers, store_longs)

extern const struct g4_fast_handlers G4_V(g4_fast_quad);

#define FOUND(name) [G4_FAST_##name] = (name),
const struct g4_fast_handlers G4_V(g4_fast_quad) = {{G4_FAST_QUAD(FOUND)}};
