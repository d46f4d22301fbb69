/*
 * Fast handlers in single precision.  The vector unit of the host rounds toward zero and flushes denormals while they
 * run.
 */
#include "eu/fast/float.h"

#include "core/variant.h"
#include "eu/math_ops.h"

#define BINARY(name, a, b, expression)                                                                                 \
    static void name##_##a##b(struct g4_run *run, const struct g4_op *op) {                                            \
        const struct float_modifiers m0 = float_modifiers(op, 0), m1 = float_modifiers(op, 1);                         \
        for (int part = 0; part < op->parts; part++) {                                                                 \
            const g4_lanes lanes = part_lanes(run, op, part, true);                                                    \
            union g4_vals scratch[2];                                                                                  \
            vi r[G4_VN];                                                                                               \
            if (lanes == 0) {                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            const void *const from0 = lanes_##a(run, op, 0, part, &scratch[0]);                                        \
            const void *const from1 = lanes_##b(run, op, 1, part, &scratch[1]);                                        \
            for (int i = 0; i < G4_VN; i++) {                                                                          \
                const vf x = modified(load_##a(from0, i), m0);                                                         \
                const vf y = modified(load_##b(from1, i), m1);                                                         \
                r[i] = (vi)(expression);                                                                               \
            }                                                                                                          \
            finish_float(run, op, part, lanes, r);                                                                     \
        }                                                                                                              \
    }

#define ADDF(_, a, b) BINARY(ADDF, a, b, x + y)
#define MULF(_, a, b) BINARY(MULF, a, b, x *y)
G4_FAST_EACH_SHAPE(ADDF, _)
G4_FAST_EACH_SHAPE(MULF, _)

/* Handlers of the most frequent form: unmodified floats from registers in place to a register, without flags and
 * saturation.  Special results are handled before anything is stored. */
#define DIRECT(name, a, b, expression)                                                                                 \
    static void name##_DIRECT_##a##b(struct g4_run *run, const struct g4_op *op) {                                     \
        for (int part = 0; part < op->parts; part++) {                                                                 \
            const g4_lanes lanes = part_lanes(run, op, part, true);                                                    \
            vi r[G4_VN];                                                                                               \
            if (lanes == 0) {                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            const void *const from0 = direct_##a(run, op, 0, part);                                                    \
            const void *const from1 = direct_##b(run, op, 1, part);                                                    \
            for (int i = 0; i < G4_VN; i++) {                                                                          \
                const vf x = (vf)load_##a(from0, i);                                                                   \
                const vf y = (vf)load_##b(from1, i);                                                                   \
                r[i] = (vi)(expression);                                                                               \
            }                                                                                                          \
            if (__builtin_expect(any_special(r), 0)) {                                                                 \
                finish_special(run, op, part, lanes, r);                                                               \
                continue;                                                                                              \
            }                                                                                                          \
            store_packed((uint8_t *)run->gang + op->out.off[8 * part], lanes, r);                                      \
        }                                                                                                              \
    }

static __attribute__((noinline)) void finish_special(struct g4_run *run, const struct g4_op *op, int part,
                                                     g4_lanes lanes, vi r[G4_VN]) {
    finish_float(run, op, part, lanes, r);
}

G4_INLINE const void *direct_P(const struct g4_run *run, const struct g4_op *op, int s, int part) {
    return run->gang->grf[op->in[s].reg[part] & (G4_GRF_COUNT - 1)].bytes;
}

G4_INLINE const void *direct_S(const struct g4_run *run, const struct g4_op *op, int s, int part) {
    return run->gang->grf[op->in[s].reg[part] & (G4_GRF_COUNT - 1)].bytes + op->in[s].sub[part];
}

G4_INLINE const void *direct_I(const struct g4_run *run, const struct g4_op *op, int s, int part) {
    (void)run;
    (void)part;
    return op->in[s].imm;
}

#define DIRECT_SHAPES(name, expression)                                                                                \
    DIRECT(name, P, P, expression) DIRECT(name, P, S, expression) DIRECT(name, P, I, expression)

/* A negated source becomes a difference or a negated product. */
DIRECT_SHAPES(ADDF, x + y)
DIRECT_SHAPES(SUBF, x - y)
DIRECT_SHAPES(RSUBF, y - x)
DIRECT_SHAPES(MULF, x *y)
DIRECT_SHAPES(MULNF, (vf)((vi)(x *y) ^ INT32_MIN))

/* Set flags, and store ones or zeros unless the destination is null. */
static void store_truth(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes, g4_lanes bits) {
    vi r[G4_VN];
    set_part_flags(run, op, part, lanes, bits);
    if (op->out.store == G4_STORE_NULL) {
        return;
    }
    for (int i = 0; i < G4_VN; i++) {
        r[i] = v_lanes(bits, i);
    }
    store_part(run, op, part, lanes, r);
}

#define COMPARE(_, a, b)                                                                                               \
    static void CMPF_##a##b(struct g4_run *run, const struct g4_op *op) {                                              \
        const struct float_modifiers m0 = float_modifiers(op, 0), m1 = float_modifiers(op, 1);                         \
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
            store_truth(run, op, part, lanes, bits);                                                                   \
        }                                                                                                              \
    }

G4_FAST_EACH_SHAPE(COMPARE, _)

/* If one operand is NaN, the other is selected (965 PRM vol. 4, tables 10-3 to 10-8). */
static void CMPN_P(struct g4_run *run, const struct g4_op *op) {
    const struct float_modifiers m0 = float_modifiers(op, 0);
    const struct float_modifiers m1 = float_modifiers(op, 1);
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, true);
        union g4_vals scratch[2];
        g4_lanes bits = 0;
        g4_lanes nan = 0;
        if (lanes == 0) {
            continue;
        }
        const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);
        const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);
        G4_CONDITION(bits, op->cond, modified(load_P(from0, i), m0), modified(load_P(from1, i), m1))
        for (int i = 0; i < G4_VN; i++) {
            const vi magnitude = (vi)modified(load_P(from1, i), m1) & 0x7fffffff;
            nan |= v_bits(magnitude > v_splat(0x7f800000), i);
        }
        bits = op->cond == G4_COND_NZ ? bits & ~nan : bits | nan;
        store_truth(run, op, part, lanes, bits);
    }
}

#define UNARY(name, expression)                                                                                        \
    static void name(struct g4_run *run, const struct g4_op *op) {                                                     \
        const struct float_modifiers m0 = float_modifiers(op, 0);                                                      \
        for (int part = 0; part < op->parts; part++) {                                                                 \
            const g4_lanes lanes = part_lanes(run, op, part, true);                                                    \
            union g4_vals scratch;                                                                                     \
            vi r[G4_VN];                                                                                               \
            if (lanes == 0) {                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            const void *const from = lanes_P(run, op, 0, part, &scratch);                                              \
            for (int i = 0; i < G4_VN; i++) {                                                                          \
                /* the product flushes denormals */                                                                    \
                const vf x = modified(load_P(from, i), m0) * run->one;                                                 \
                r[i] = (vi)(expression);                                                                               \
            }                                                                                                          \
            finish_float(run, op, part, lanes, r);                                                                     \
        }                                                                                                              \
    }

/* A fraction that rounding has made 1 is the largest float below. */
G4_INLINE vf below_one(vf x) {
    return (vf)v_select(x >= (vf){0} + 1.0f, v_splat(0x3f7fffff), (vi)x);
}

#define IS_ODD(x) ((x)*0.5f != v_floor((x)*0.5f))

/* The nearest integer of a positive number, ties to even. */
G4_INLINE vf nearest(vf x) {
    const vf below = v_floor(x);
    const vi up = (x - below > 0.5f) | ((x - below == 0.5f) & (vi)IS_ODD(below));
    return (vf)v_select(up, (vi)(below + 1.0f), (vi)below);
}

/* As finish_float() for a mov, with `from` before its modifiers: NaNs keep their payload (docs/decisions.md 205). */
static __attribute__((noinline)) void finish_special_move(struct g4_run *run, const struct g4_op *op, int part,
                                                          g4_lanes lanes, const void *from, vi r[G4_VN]) {
    const struct float_modifiers m0 = float_modifiers(op, 0);
    if (special_results(run, lanes, r)) {
        general_part(run, op, part);
        return;
    }
    for (int i = 0; op->dst.type == G4_TYPE_F && i < G4_VN; i++) {
        const vi source = (vi)modified(load_P(from, i), m0);
        r[i] = v_select((source & 0x7fffffff) > v_splat(0x7f800000), source | 0x00400000, r[i]);
    }
    store_float(run, op, part, lanes, r);
}

static void MOVF_P(struct g4_run *run, const struct g4_op *op) {
    const struct float_modifiers m0 = float_modifiers(op, 0);
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, true);
        union g4_vals scratch;
        vi r[G4_VN];
        if (lanes == 0) {
            continue;
        }
        const void *const from = lanes_P(run, op, 0, part, &scratch);
        for (int i = 0; i < G4_VN; i++) {
            r[i] = (vi)(modified(load_P(from, i), m0) * run->one); /* the product flushes denormals */
        }
        if (__builtin_expect(any_special(r), 0)) {
            finish_special_move(run, op, part, lanes, from, r);
        } else {
            store_float(run, op, part, lanes, r);
        }
    }
}

UNARY(FRC_P, x - v_floor(x))
UNARY(RNDD_P, v_floor(x))
UNARY(FRACTION_P, below_one(x - v_floor(x)))
UNARY(TRUNCATE_P, (vf)((vi)v_floor((vf)((vi)x & 0x7fffffff)) | ((vi)x & INT32_MIN)))
UNARY(ROUND_EVEN_P, (vf)((vi)nearest((vf)((vi)x & 0x7fffffff)) | ((vi)x & INT32_MIN)))
UNARY(RNDU_P, (vf)((vi)v_floor((vf)((vi)x ^ INT32_MIN)) ^ INT32_MIN))

/* The first of two steps of rounding: the next lower integer, and a flag where 1 must be added to it. */
#define ROUND(name, increment)                                                                                         \
    static void name(struct g4_run *run, const struct g4_op *op) {                                                     \
        const struct float_modifiers m0 = float_modifiers(op, 0);                                                      \
        for (int part = 0; part < op->parts; part++) {                                                                 \
            const g4_lanes lanes = part_lanes(run, op, part, true);                                                    \
            union g4_vals scratch;                                                                                     \
            vi r[G4_VN];                                                                                               \
            g4_lanes bits = 0;                                                                                         \
            if (lanes == 0) {                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            const void *const from = lanes_P(run, op, 0, part, &scratch);                                              \
            for (int i = 0; i < G4_VN; i++) {                                                                          \
                const vf x = modified(load_P(from, i), m0) * run->one;                                                 \
                const vf below = v_floor(x);                                                                           \
                r[i] = (vi)below;                                                                                      \
                bits |= v_bits((vi)(increment), i);                                                                    \
            }                                                                                                          \
            if (!settle_float(run, lanes, r)) {                                                                        \
                general_part(run, op, part);                                                                           \
                continue;                                                                                              \
            }                                                                                                          \
            set_part_flags(run, op, part, lanes, bits);                                                                \
            saturate_float(op, r);                                                                                     \
            store_part(run, op, part, lanes, r);                                                                       \
        }                                                                                                              \
    }

ROUND(RNDZ_R, (x < 0) & (x != below))
ROUND(RNDE_R, (x - below > 0.5f) | ((x - below == 0.5f) & IS_ODD(below)))

/* Sources without conversion, modifiers and saturation keep their bits. */
static void SELF_P(struct g4_run *run, const struct g4_op *op) {
    const struct float_modifiers m0 = float_modifiers(op, 0);
    const struct float_modifiers m1 = float_modifiers(op, 1);
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, false);
        const g4_lanes first = g4_predicate(run->gang, op, part_half(op, part));
        union g4_vals scratch[2];
        vi r[G4_VN];
        if (lanes == 0) {
            continue;
        }
        const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);
        const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);
        for (int i = 0; i < G4_VN; i++) {
            const vf x = modified(load_P(from0, i), m0) * run->one;
            const vf y = modified(load_P(from1, i), m1) * run->one;
            r[i] = v_select(v_lanes(first, i), (vi)x, (vi)y);
        }
        finish_float(run, op, part, lanes, r);
    }
}

/* The lanes whose first operand the condition selects: as cmpn. */
G4_INLINE g4_lanes chosen(const struct g4_op *op, const vi x[G4_VN], const vi y[G4_VN]) {
    g4_lanes bits = 0;
    g4_lanes nan = 0;
    G4_CONDITION(bits, op->cond, (vf)x[i], (vf)y[i])
    for (int i = 0; i < G4_VN; i++) {
        nan |= v_bits((y[i] & 0x7fffffff) > v_splat(0x7f800000), i);
    }
    return op->cond == G4_COND_NZ ? bits & ~nan : bits | nan;
}

/* sel with a condition, of bits as they are. */
static void SELCF_COPY(struct g4_run *run, const struct g4_op *op) {
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, false);
        union g4_vals scratch[2];
        vi x[G4_VN];
        vi y[G4_VN];
        if (lanes == 0) {
            continue;
        }
        const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);
        const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);
        for (int i = 0; i < G4_VN; i++) {
            x[i] = load_P(from0, i);
            y[i] = load_P(from1, i);
        }
        const g4_lanes first = chosen(op, x, y);
        for (int i = 0; i < G4_VN; i++) {
            x[i] = v_select(v_lanes(first, i), x[i], y[i]);
        }
        store_part(run, op, part, lanes, x);
    }
}

/* And of values that are converted, modified or saturated.  No flags. */
static void SELCF_P(struct g4_run *run, const struct g4_op *op) {
    const struct float_modifiers m0 = float_modifiers(op, 0);
    const struct float_modifiers m1 = float_modifiers(op, 1);
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, false);
        union g4_vals scratch[2];
        vi x[G4_VN];
        vi y[G4_VN];
        if (lanes == 0) {
            continue;
        }
        const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);
        const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);
        for (int i = 0; i < G4_VN; i++) {
            x[i] = (vi)(modified(load_P(from0, i), m0) * run->one);
            y[i] = (vi)(modified(load_P(from1, i), m1) * run->one);
        }
        const g4_lanes first = chosen(op, x, y);
        for (int i = 0; i < G4_VN; i++) {
            x[i] = v_select(v_lanes(first, i), x[i], y[i]);
        }
        if (!settle_float(run, lanes, x)) {
            general_part(run, op, part);
            continue;
        }
        saturate_float(op, x);
        store_part(run, op, part, lanes, x);
    }
}

G4_INLINE bool copies_bits(const struct g4_src *src) {
    return src->type == G4_TYPE_F && !src->abs && !src->negate;
}

/* sel of two floats of which it copies one as it is and flushes the other one, such as max(x, |y|). */
G4_INLINE void select_mixed(struct g4_run *run, const struct g4_op *op, bool conditional) {
    const int flushed = copies_bits(&op->src[0]) ? 1 : 0;
    const struct float_modifiers m = float_modifiers(op, flushed);
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, false);
        union g4_vals scratch[2];
        vi v[2][G4_VN];
        if (lanes == 0) {
            continue;
        }
        const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);
        const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);
        for (int i = 0; i < G4_VN; i++) {
            v[0][i] = load_P(from0, i);
            v[1][i] = load_P(from1, i);
            v[flushed][i] = (vi)(modified(v[flushed][i], m) * run->one);
        }
        const g4_lanes first = conditional ? chosen(op, v[0], v[1]) : g4_predicate(run->gang, op, part_half(op, part));
        if (!settle_float(run, lanes, v[flushed])) {
            general_part(run, op, part);
            continue;
        }
        for (int i = 0; i < G4_VN; i++) {
            v[0][i] = v_select(v_lanes(first, i), v[0][i], v[1][i]);
        }
        store_part(run, op, part, lanes, v[0]);
    }
}

static void SELF_MIXED(struct g4_run *run, const struct g4_op *op) {
    select_mixed(run, op, false);
}

static void SELCF_MIXED(struct g4_run *run, const struct g4_op *op) {
    select_mixed(run, op, true);
}

/* The opcode math, on floats. */
static void MATH_P(struct g4_run *run, const struct g4_op *op) {
    const struct float_modifiers m0 = float_modifiers(op, 0);
    const struct float_modifiers m1 = float_modifiers(op, 1);
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
            v_store(math.x, i, (vi)modified(load_P(from0, i), m0));
            v_store(math.y, i, (vi)modified(load_P(from1, i), m1));
        }
        const g4_fpenv inside = g4_fpenv_get();
        g4_fpenv_set(run->outside);
        g4_math_compute(op->function, false, g4_threads_any(run->alternate), op->saturate, lanes, &math);
        g4_fpenv_set(inside);
        for (int i = 0; i < G4_VN; i++) {
            r[i] = v_load(math.out[0], i);
        }
        store_part(run, op, part, lanes, r);
    }
}

extern const struct g4_fast_handlers G4_V(g4_fast_float);

#define FOUND(name) [G4_FAST_##name] = (name),
const struct g4_fast_handlers G4_V(g4_fast_float) = {{G4_FAST_FLOAT(FOUND)}};
