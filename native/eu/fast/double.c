/*
 * Fast handlers in double precision: of operations that keep more than single precision until the end (965 PRM vol. 4,
 * table 11-9) and of those that read or write an accumulator.  Products are exact, sums are rounded in double
 * precision, and the result is truncated once.
 */
#include "eu/fast/float.h"

#include "core/variant.h"

/* Lanes of a vector that belong to one thread. */
#if G4_VL < 8
#define ROW G4_VL
#else
#define ROW 8
#endif

/* Accumulator slots of the lanes of vector i. */
G4_INLINE vd load_acc(const struct g4_run *run, int acc, int i) {
    const double(*const slots)[16] = run->gang->acc[acc & 1].f;
    union {
        double each[G4_VL / ROW][ROW];
        vd v;
    } u;
    for (int k = 0; k < G4_VL / ROW; k++) {
        memcpy(u.each[k], &slots[G4_V_THREAD(i) + k][G4_V_CHANNEL(i)], sizeof u.each[k]);
    }
    return u.v;
}

/* NaN has one pattern. */
G4_INLINE vl one_nan(vd x) {
#if G4_VL >= 8
    const vl number = (vl)(x == x);
#else /* compared in vectors of a register's width (vec.h) */
    typedef double pair __attribute__((vector_size(16)));
    typedef int64_t bits __attribute__((vector_size(16)));
    const union {
        vd whole;
        pair half[2];
    } u = {x};
    const union {
        bits half[2];
        vl whole;
    } ordered = {{(bits)(u.half[0] == u.half[0]), (bits)(u.half[1] == u.half[1])}};
    const vl number = ordered.whole;
#endif
    return ((vl)x & number) | (~number & INT64_C(0x7ff8000000000000));
}

/* Write the slots of vector i in all threads of the group: implicit writes are not masked. */
G4_INLINE void store_acc(struct g4_run *run, int acc, int i, vd x, unsigned count) {
    double(*const slots)[16] = run->gang->acc[acc & 1].f;
    union {
        vl v;
        double each[G4_VL / ROW][ROW];
    } u = {one_nan(x)};
    for (int k = 0; k < G4_VL / ROW; k++) {
        const int t = G4_V_THREAD(i) + k;
        if (!(run->threads >> t & 1)) {
            continue;
        }
#if G4_VL >= 8
        memcpy(slots[t], u.each[k], count * sizeof u.each[k][0]);
#else /* not memcpy in the common case: its wider load would wait for two narrow stores */
        const unsigned channel = G4_V_CHANNEL(i);
        if (count >= channel + ROW) {
            *(vd_any *)&slots[t][channel] = (vd)u.v;
        } else if (count > channel) {
            memcpy(&slots[t][channel], u.each[k], (count - channel) * sizeof u.each[k][0]);
        }
#endif
    }
}

/* The expression computes a result from the sources x and y. */
#define DOUBLE(name, expression)                                                                                       \
    static void name(struct g4_run *run, const struct g4_op *op) {                                                     \
        const struct float_modifiers m0 = float_modifiers(op, 0), m1 = float_modifiers(op, 1);                         \
        for (int part = 0; part < op->parts; part++) {                                                                 \
            const g4_lanes lanes = part_lanes(run, op, part, true);                                                    \
            union g4_vals scratch[2];                                                                                  \
            vi r[G4_VN];                                                                                               \
            if (lanes == 0 && !op->acc_write) {                                                                        \
                continue;                                                                                              \
            }                                                                                                          \
            const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);                                          \
            const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);                                          \
            vd sum[G4_VN];                                                                                             \
            for (int i = 0; i < G4_VN; i++) {                                                                          \
                const vd x = v_widen(modified(load_P(from0, i), m0));                                                  \
                const vd y = v_widen(modified(load_P(from1, i), m1));                                                  \
                sum[i] = (expression);                                                                                 \
                r[i] = (vi)v_narrow(sum[i]);                                                                           \
            }                                                                                                          \
            finish_double(run, op, part, lanes, r, sum);                                                               \
        }                                                                                                              \
    }

/* Finish a part.  If the general handler has to execute it, the accumulators are unchanged. */
G4_INLINE void finish_double(struct g4_run *run, const struct g4_op *op, int part, g4_lanes lanes, vi r[G4_VN],
                             const vd sum[G4_VN]) {
    if (!settle_float(run, lanes, r)) {
        general_part(run, op, part);
        return;
    }
    if (op->acc_write) {
        for (int i = 0; i < G4_VN; i++) {
            store_acc(run, op->acc + part, i, sum[i], op->count);
        }
    }
    store_float(run, op, part, lanes, r);
}

DOUBLE(ADDA_P, x + y)
DOUBLE(MULA_P, x *y)
DOUBLE(MAC_P, x *y + load_acc(run, op->acc + part, i))

/* A float in lanes rounds once from the exact x * y + z: the sum is rounded to odd in double precision, so that
 * rounding it again makes no difference.  Needs the rounding mode to nearest. */
G4_INLINE vd multiply_add(vd x, vd y, vd z) {
    const vd product = x * y;
    const vd sum = product + z;
    const vd virtual = sum - product;
    const vd error = (product - (sum - virtual)) + (z - virtual);
    const vl inexact = (vl)(error > 0) | (vl)(error < 0);
    const vl even = ((vl)sum & 1) - 1;
    const vl outward = (vl)(((vl)error ^ (vl)sum) >= 0);
    const vl step = (outward & 2) - 1;
    return (vd)((vl)sum + (step & inexact & even));
}

/* Three sources; no accumulator write. */
#define TERNARY(name, expression)                                                                                      \
    static void name(struct g4_run *run, const struct g4_op *op) {                                                     \
        const struct float_modifiers m0 = float_modifiers(op, 0), m1 = float_modifiers(op, 1);                         \
        const struct float_modifiers m2 = float_modifiers(op, 2);                                                      \
        for (int part = 0; part < op->parts; part++) {                                                                 \
            const g4_lanes lanes = part_lanes(run, op, part, true);                                                    \
            union g4_vals scratch[3];                                                                                  \
            vi r[G4_VN];                                                                                               \
            if (lanes == 0) {                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);                                          \
            const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);                                          \
            const void *const from2 = lanes_P(run, op, 2, part, &scratch[2]);                                          \
            for (int i = 0; i < G4_VN; i++) {                                                                          \
                const vd x = v_widen(modified(load_P(from0, i), m0));                                                  \
                const vd y = v_widen(modified(load_P(from1, i), m1));                                                  \
                const vd z = v_widen(modified(load_P(from2, i), m2));                                                  \
                r[i] = (vi)v_narrow(expression);                                                                       \
            }                                                                                                          \
            finish_float(run, op, part, lanes, r);                                                                     \
        }                                                                                                              \
    }

TERNARY(MAD_P, multiply_add(y, z, x))
TERNARY(LRP_P, x *y + (1.0 - x) * z)

/* The plane equation of each thread. */
struct plane_equation {
    double x[G4_GANG_THREADS], y[G4_GANG_THREADS], constant[G4_GANG_THREADS];
};

G4_INLINE void load_plane(const struct g4_run *run, const struct g4_op *op, int part, unsigned byte,
                          double out[G4_GANG_THREADS]) {
    const uint8_t *const reg = run->gang->grf[op->in[0].reg[part] & (G4_GRF_COUNT - 1)].bytes + (byte & 31);
    uint32_t bits[G4_GANG_THREADS];
    float f[G4_GANG_THREADS];
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        memcpy(&bits[t], reg + 32 * t, sizeof bits[t]);
        bits[t] = (bits[t] & op->in[0].keep) ^ op->in[0].flip;
    }
    memcpy(f, bits, sizeof f);
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        out[t] = f[t];
    }
}

/* One number of each thread for all of its channels.  Bits, because adding 0 would change -0. */
G4_INLINE vd spread(const double each[G4_GANG_THREADS], int i) {
    int64_t bits[G4_VL / ROW];
    memcpy(bits, &each[G4_V_THREAD(i)], sizeof bits);
#if G4_VL == 16
    typedef int64_t half __attribute__((vector_size(64)));
    union {
        half each[2];
        vd v;
    } out = {{(half){0} + bits[0], (half){0} + bits[1]}};
    return out.v;
#else
    return (vd)((vl){0} + bits[0]);
#endif
}

/* accumulates: the accumulator write is read later, which is rare. */
G4_INLINE void line(struct g4_run *run, const struct g4_op *op, const bool accumulates) {
    const struct float_modifiers m1 = float_modifiers(op, 1);
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, true);
        const unsigned sub = op->in[0].sub[part];
        union g4_vals scratch;
        struct plane_equation p;
        vi r[G4_VN];
        vd sum[G4_VN];
        if (lanes == 0 && !accumulates) {
            continue;
        }
        const void *const from = lanes_P(run, op, 1, part, &scratch);
        load_plane(run, op, part, sub, p.x);
        load_plane(run, op, part, (sub & 16) + 12, p.constant);
        for (int i = 0; i < G4_VN; i++) {
            const vd y = v_widen(modified(load_P(from, i), m1));
            const vd z = spread(p.x, i) * y + spread(p.constant, i);
            r[i] = (vi)v_narrow(z);
            if (accumulates) {
                sum[i] = z;
            }
        }
        if (accumulates) {
            finish_double(run, op, part, lanes, r, sum);
        } else {
            finish_float(run, op, part, lanes, r);
        }
    }
}

G4_INLINE void pln(struct g4_run *run, const struct g4_op *op, const bool accumulates) {
    const struct float_modifiers m1 = float_modifiers(op, 1);
    for (int part = 0; part < op->parts; part++) {
        const g4_lanes lanes = part_lanes(run, op, part, true);
        const unsigned group = op->in[0].sub[part] & 16;
        struct plane_equation p;
        vi r[G4_VN];
        vd sum[G4_VN];
        if (lanes == 0 && !accumulates) {
            continue;
        }
        const void *const from_u = run->gang->grf[op->in[1].reg[part] & (G4_GRF_COUNT - 1)].bytes;
        const void *const from_v = run->gang->grf[(op->in[1].reg[part] + 1) & (G4_GRF_COUNT - 1)].bytes;
        load_plane(run, op, part, group, p.x);
        load_plane(run, op, part, group + 4, p.y);
        load_plane(run, op, part, group + 12, p.constant);
        for (int i = 0; i < G4_VN; i++) {
            const vd u = v_widen(modified(load_P(from_u, i), m1));
            const vd v = v_widen(modified(load_P(from_v, i), m1));
            const vd z = spread(p.x, i) * u + spread(p.y, i) * v + spread(p.constant, i);
            r[i] = (vi)v_narrow(z);
            if (accumulates) {
                sum[i] = z;
            }
        }
        if (accumulates) {
            finish_double(run, op, part, lanes, r, sum);
        } else {
            finish_float(run, op, part, lanes, r);
        }
    }
}

static void LINE(struct g4_run *run, const struct g4_op *op) {
    if (op->acc_write) {
        line(run, op, true);
    } else {
        line(run, op, false);
    }
}

static void PLN(struct g4_run *run, const struct g4_op *op) {
    if (op->acc_write) {
        pln(run, op, true);
    } else {
        pln(run, op, false);
    }
}

/* Element k of each 4-tuple, in all channels of the tuple. */
G4_INLINE vd tuple_element(vd x, const int k) {
#if G4_VARIANT_LEVEL >= 2
    union {
        vd v;
        __m512d half[2];
    } u = {x};
    u.half[0] = k == 0   ? _mm512_permutex_pd(u.half[0], 0x00)
                : k == 1 ? _mm512_permutex_pd(u.half[0], 0x55)
                : k == 2 ? _mm512_permutex_pd(u.half[0], 0xaa)
                         : _mm512_permutex_pd(u.half[0], 0xff);
    u.half[1] = k == 0   ? _mm512_permutex_pd(u.half[1], 0x00)
                : k == 1 ? _mm512_permutex_pd(u.half[1], 0x55)
                : k == 2 ? _mm512_permutex_pd(u.half[1], 0xaa)
                         : _mm512_permutex_pd(u.half[1], 0xff);
    return u.v;
#else
    union {
        vd v;
        double each[G4_VL];
    } in = {x}, out;
    for (int c = 0; c < G4_VL; c++) {
        out.each[c] = in.each[(c & ~3) + k];
    }
    return out.v;
#endif
}

/* Sums of products from left to right, for all channels of a tuple. */
#define DOT(name, expression)                                                                                          \
    static void name(struct g4_run *run, const struct g4_op *op) {                                                     \
        const struct float_modifiers m0 = float_modifiers(op, 0), m1 = float_modifiers(op, 1);                         \
        for (int part = 0; part < op->parts; part++) {                                                                 \
            const g4_lanes lanes = part_lanes(run, op, part, true);                                                    \
            union g4_vals scratch[2];                                                                                  \
            vi r[G4_VN];                                                                                               \
            if (lanes == 0) {                                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            const void *const from0 = lanes_P(run, op, 0, part, &scratch[0]);                                          \
            const void *const from1 = lanes_P(run, op, 1, part, &scratch[1]);                                          \
            for (int i = 0; i < G4_VN; i++) {                                                                          \
                const vd y = v_widen(modified(load_P(from1, i), m1));                                                  \
                const vd p = v_widen(modified(load_P(from0, i), m0)) * y;                                              \
                const vd two = tuple_element(p, 0) + tuple_element(p, 1);                                              \
                r[i] = (vi)v_narrow(expression);                                                                       \
            }                                                                                                          \
            finish_float(run, op, part, lanes, r);                                                                     \
        }                                                                                                              \
    }

DOT(DP2_P, two)
DOT(DP3_P, two + tuple_element(p, 2))
DOT(DP4_P, two + tuple_element(p, 2) + tuple_element(p, 3))
DOT(DPH_P, two + tuple_element(p, 2) + tuple_element(y, 3))

extern const struct g4_fast_handlers G4_V(g4_fast_double);

#define FOUND(name) [G4_FAST_##name] = (name),
const struct g4_fast_handlers G4_V(g4_fast_double) = {{G4_FAST_DOUBLE(FOUND)}};
