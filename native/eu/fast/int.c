/*
 * Fast handlers on integers and bits.  Lanes have 32 bits; table.c selects a handler only if 32 bits are enough.
 */
#include "eu/fast/operands.h"

#include "core/variant.h"
#include "eu/math_ops.h"

/* (value ^ invert) - minus: a negation, or the bias with which unsigned numbers compare as signed ones. */
struct int_modifiers {
    vi invert, minus;
};

G4_INLINE struct int_modifiers int_modifiers(const struct g4_op *op, int s) {
    return (struct int_modifiers){v_splat(op->in[s].invert), v_splat(op->in[s].minus)};
}

G4_INLINE vi modified(vi x, struct int_modifiers m) {
    return (vi)((vu)(x ^ m.invert) - (vu)m.minus);
}

G4_INLINE void finish_int(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes, const vi r[G4_VN]) {
    if (op->cond != G4_COND_NONE) {
        const vi zero = {0};
        g4_lanes bits = 0;
        G4_CONDITION(bits, op->cond, r[i], zero)
        set_part_flags(run, op, part, lanes, bits);
    }
    store_part(run, op, part, lanes, r);
}

#define BINARY(name, a, b, gate, expression)                                                                           \
    static void name##_##a##b(struct g4_run *run, const struct g4_op *op) {                                            \
        const struct int_modifiers m0 = int_modifiers(op, 0), m1 = int_modifiers(op, 1);                               \
        for (int part = 0; part < op->parts; part++) {                                                                 \
            const g4_lanes lanes = part_lanes(run, op, part, gate);                                                    \
            const g4_lanes first = (gate) ? 0 : g4_predicate(run->gang, op, part_half(op, part));                      \
            union g4_vals scratch[2];                                                                                  \
            vi r[G4_VN];                                                                                               \
            (void)first;                                                                                               \
            if (lanes == 0) {                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            const void *const from0 = lanes_##a(run, op, 0, part, &scratch[0]);                                        \
            const void *const from1 = lanes_##b(run, op, 1, part, &scratch[1]);                                        \
            for (int i = 0; i < G4_VN; i++) {                                                                          \
                const vi x = modified(load_##a(from0, i), m0);                                                         \
                const vi y = modified(load_##b(from1, i), m1);                                                         \
                r[i] = (vi)(expression);                                                                               \
            }                                                                                                          \
            finish_int(run, op, part, lanes, r);                                                                       \
        }                                                                                                              \
    }

#define ADD(_, a, b) BINARY(ADD, a, b, true, (vu)x + (vu)y)
#define MUL(_, a, b) BINARY(MUL, a, b, true, (vu)x *(vu)y)
#define AND(_, a, b) BINARY(AND, a, b, true, x &y)
#define OR(_, a, b)  BINARY(OR, a, b, true, x | y)
#define XOR(_, a, b) BINARY(XOR, a, b, true, x ^ y)
#define SHL(_, a, b) BINARY(SHL, a, b, true, (vu)x << (vu)(y & 31))
#define SHR(_, a, b) BINARY(SHR, a, b, true, (vu)x >> (vu)(y & 31))
#define ASR(_, a, b) BINARY(ASR, a, b, true, x >> (y & 31))
#define SEL(_, a, b) BINARY(SEL, a, b, false, v_select(v_lanes(first, i), x, y))

G4_FAST_EACH_SHAPE(ADD, _)
G4_FAST_EACH_SHAPE(MUL, _)
G4_FAST_EACH_SHAPE(AND, _)
G4_FAST_EACH_SHAPE(OR, _)
G4_FAST_EACH_SHAPE(XOR, _)
G4_FAST_EACH_SHAPE(SHL, _)
G4_FAST_EACH_SHAPE(SHR, _)
G4_FAST_EACH_SHAPE(ASR, _)
G4_FAST_EACH_SHAPE(SEL, _)

/* The average, rounded up without a 33rd bit. */
#define AVG(a, b) BINARY(AVGX, a, b, true, (vu)(x | y) - (vu)((x ^ y) >> 1))
AVG(P, P)
#define AVG_P AVGX_PP

/* Of a dword src0 only the low half is multiplied, with the sign of its type (docs/decisions.md 41). */
#define MULD(a, b)                                                                                                     \
    BINARY(MULDX, a, b, true, (vu)((x & 0xffff) - ((x & (op->src[0].type == G4_TYPE_D ? 0x8000 : 0)) << 1)) * (vu)y)
MULD(P, P)
#define MULD_P MULDX_PP

/* A sum for flags or saturation: it is clamped on overflow, so its sign is right. */
G4_INLINE vi saturating_add(vi x, vi y) {
    const vi sum = (vi)((vu)x + (vu)y);
    const vi overflow = ((x ^ sum) & (y ^ sum)) < 0;
    return v_select(overflow, (sum >> 31) ^ INT32_MIN, sum);
}

static void ADDW_P(struct g4_run *run, const struct g4_op *op) {
    const struct int_modifiers m0 = int_modifiers(op, 0);
    const struct int_modifiers m1 = int_modifiers(op, 1);
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, true);
        union g4_vals scratch[2];
        vi r[G4_VN];
        if (lanes == 0) {
            continue;
        }
        const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);
        const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);
        if (op->cond != G4_COND_NONE) {
            const vi zero = {0};
            g4_lanes bits = 0;
            G4_CONDITION(bits, op->cond, saturating_add(modified(load_P(from0, i), m0), modified(load_P(from1, i), m1)),
                         zero)
            set_part_flags(run, op, part, lanes, bits);
        }
        for (int i = 0; i < G4_VN; i++) {
            const vi x = modified(load_P(from0, i), m0);
            const vi y = modified(load_P(from1, i), m1);
            r[i] = op->saturate ? saturating_add(x, y) : (vi)((vu)x + (vu)y);
        }
        store_part(run, op, part, lanes, r);
    }
}

#define UNARY(name, a, expression)                                                                                     \
    static void name(struct g4_run *run, const struct g4_op *op) {                                                     \
        const struct int_modifiers m0 = int_modifiers(op, 0);                                                          \
        for (int part = 0; part < op->parts; part++) {                                                                 \
            const g4_lanes lanes = part_lanes(run, op, part, true);                                                    \
            union g4_vals scratch;                                                                                     \
            vi r[G4_VN];                                                                                               \
            if (lanes == 0) {                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            const void *const from = lanes_##a(run, op, 0, part, &scratch);                                            \
            for (int i = 0; i < G4_VN; i++) {                                                                          \
                const vi x = modified(load_##a(from, i), m0);                                                          \
                r[i] = (expression);                                                                                   \
            }                                                                                                          \
            finish_int(run, op, part, lanes, r);                                                                       \
        }                                                                                                              \
    }

UNARY(MOV_P, P, x)
UNARY(MOV_S, S, x)
UNARY(MOV_I, I, x)
UNARY(NOT_P, P, ~x)

#define COMPARE(_, a, b)                                                                                               \
    static void CMP_##a##b(struct g4_run *run, const struct g4_op *op) {                                               \
        const struct int_modifiers m0 = int_modifiers(op, 0), m1 = int_modifiers(op, 1);                               \
        for (int part = 0; part < op->parts; part++) {                                                                 \
            const g4_lanes lanes = part_lanes(run, op, part, true);                                                    \
            union g4_vals scratch[2];                                                                                  \
            g4_lanes bits = 0;                                                                                         \
            if (lanes == 0) {                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            const void *const from0 = lanes_##a(run, op, 0, part, &scratch[0]);                                        \
            const void *const from1 = lanes_##b(run, op, 1, part, &scratch[1]);                                        \
            G4_CONDITION(bits, op->cond, modified(load_##a(from0, i), m0), modified(load_##b(from1, i), m1))           \
            set_part_flags(run, op, part, lanes, bits);                                                                \
            if (op->out.store != G4_STORE_NULL) {                                                                      \
                vi r[G4_VN];                                                                                           \
                for (int i = 0; i < G4_VN; i++) {                                                                      \
                    r[i] = v_lanes(bits, i);                                                                           \
                }                                                                                                      \
                store_part(run, op, part, lanes, r);                                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }

G4_FAST_EACH_SHAPE(COMPARE, _)

/* add ip ip imm: the branch of clip kernels */
static void IPADD(struct g4_run *run, const struct g4_op *op) {
    const g4_lanes lanes = part_lanes(run, op, 0, true) & G4_FIRST_LANES;
    g4_run_jump(run, g4_threads_any(lanes), (op->ip + (uint32_t)op->in[1].imm[0]) & ~7u);
}

/* sel with a condition. */
static void SELC_P(struct g4_run *run, const struct g4_op *op) {
    const struct int_modifiers m0 = int_modifiers(op, 0);
    const struct int_modifiers m1 = int_modifiers(op, 1);
    const vi bias = v_splat(op->function ? INT32_MIN : 0);
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, false);
        union g4_vals scratch[2];
        vi x[G4_VN];
        vi y[G4_VN];
        g4_lanes bits = 0;
        if (lanes == 0) {
            continue;
        }
        const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);
        const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);
        for (int i = 0; i < G4_VN; i++) {
            x[i] = modified(load_P(from0, i), m0);
            y[i] = modified(load_P(from1, i), m1);
        }
        G4_CONDITION(bits, op->cond, (x[i] ^ bias), (y[i] ^ bias))
        for (int i = 0; i < G4_VN; i++) {
            x[i] = v_select(v_lanes(bits, i), x[i], y[i]);
        }
        store_part(run, op, part, lanes, x);
    }
}

/* The opcode math, on dwords: a division with one result, in any rounding mode. */
static void DIVIDE_P(struct g4_run *run, const struct g4_op *op) {
    const struct int_modifiers m0 = int_modifiers(op, 0);
    const struct int_modifiers m1 = int_modifiers(op, 1);
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, true);
        union g4_vals scratch[2];
        struct g4_math_operands math;
        vi r[G4_VN];
        if (lanes == 0) {
            continue;
        }
        const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);
        const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);
        for (int i = 0; i < G4_VN; i++) {
            v_store(math.y, i, modified(load_P(from0, i), m0));
            v_store(math.x, i, modified(load_P(from1, i), m1));
        }
        g4_math_integer(op->function, op->src[0].type == G4_TYPE_D, &math);
        for (int i = 0; i < G4_VN; i++) {
            r[i] = v_load(math.out[0], i);
        }
        store_part(run, op, part, lanes, r);
    }
}

extern const struct g4_fast_handlers G4_V(g4_fast_int);

#define FOUND(name) [G4_FAST_##name] = (name),
const struct g4_fast_handlers G4_V(g4_fast_int) = {{G4_FAST_INT(FOUND)}};
