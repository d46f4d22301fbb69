/*
 * Extended math in double precision, rounded once to the nearest float.
 *
 * Own series instead of libm: the bits must not depend on the host's library or on the width of its vectors.  Their
 * errors stay below 2^-60 of the result, so a float differs from the correctly rounded one in about one case of 2^30.
 */
#include "math_ops.h"

#include <math.h>
#include <string.h>

#include "../variant.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    LANES = G4_MATH_LANES
};

INLINE float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

INLINE uint32_t float_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* An operand: denormals are zero of their sign. */
INLINE double operand(uint32_t bits) {
    const uint32_t flushed = (bits & 0x7f800000) ? bits : bits & 0x80000000;
    return (double)float_of(flushed);
}

/* A result: rounded once, denormals to zero of their sign; the NaN of an operand stays, made quiet. */
INLINE uint32_t result(double d, uint32_t operand_bits) {
    const uint32_t bits = float_bits((float)d);
    const uint32_t flushed = (bits & 0x7f800000) ? bits : bits & 0x80000000;
    const uint32_t nan = (operand_bits & 0x7fffffff) > 0x7f800000 ? operand_bits | 0x00400000 : 0x7fc00000;
    return (bits & 0x7fffffff) > 0x7f800000 ? nan : flushed;
}

/* ---- vectors of doubles, as wide as the variant's registers ---- */

#if G4_VARIANT_LEVEL >= 2
#define VD 8
#else
#define VD 4
#endif

typedef double vd __attribute__((vector_size(8 * VD)));
typedef int64_t vl __attribute__((vector_size(8 * VD)));
typedef uint64_t vq __attribute__((vector_size(8 * VD)));

INLINE vd all(double d) {
    return (vd){0} + d;
}

INLINE vd choose(vl mask, vd yes, vd no) {
    return (vd)(((vl)yes & mask) | ((vl)no & ~mask));
}

INLINE vd vd_load(const double *from) {
    vd v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void vd_store(double *to, vd v) {
    memcpy(to, &v, sizeof v);
}

/* The integer nearest to d, ties to even, as a double; |d| < 2^51. */
INLINE vd nearest(vd d) {
    const vd shift = all(6755399441055744.0); /* 1.5 * 2^52 */
    return (d + shift) - shift;
}

/* The integer below, of any number. */
INLINE vd floor_of(vd d) {
    const vl sign = (vl)d & INT64_MIN;
    const vd magnitude = (vd)((vl)d ^ sign);
    const vd whole = (vd)((vl)((magnitude + 0x1p52) - 0x1p52) | sign);
    const vd below = whole - (vd)((vl)all(1.0) & (whole > d));
    return choose(magnitude < 0x1p52, below, d);
}

/* log2 of a positive, finite, normal double. */
INLINE vd log2_positive(vd x) {
    const vq bits = (vq)x;
    /* x = m * 2^e with m between sqrt(1/2) and sqrt(2): the exponent field of x / sqrt(1/2). */
    const vq offset = bits - UINT64_C(0x3fe6a09e667f3bcd);
    const vd m = (vd)(bits - (offset & UINT64_C(0xfff0000000000000)));
    const vd s = (m - 1.0) / (m + 1.0);
    const vd q = s * s;
    /* 2 atanh(s) / ln 2 = s * (2/ln2) * (1 + q/3 + q^2/5 + ...), |s| < 0.172 */
    vd p = all(1.0 / 23.0);
    p = p * q + 1.0 / 21.0;
    p = p * q + 1.0 / 19.0;
    p = p * q + 1.0 / 17.0;
    p = p * q + 1.0 / 15.0;
    p = p * q + 1.0 / 13.0;
    p = p * q + 1.0 / 11.0;
    p = p * q + 1.0 / 9.0;
    p = p * q + 1.0 / 7.0;
    p = p * q + 1.0 / 5.0;
    p = p * q + 1.0 / 3.0;
    p = p * q + 1.0;
    /* the exponent, biased to be positive, as the low bits of a number above 2^52 */
    const vq biased = (offset + (UINT64_C(2048) << 52)) >> 52;
    const vd exponent = (vd)(biased | UINT64_C(0x4330000000000000)) - (0x1p52 + 2048.0);
    return exponent + p * s * 2.8853900817779268147198;
}

/* 2^x, any finite x or infinity; not NaN. */
INLINE vd exp2_any(vd x) {
    const vd low = choose(x < -1080.0, all(-1080.0), x);
    const vd y = choose(low > 1080.0, all(1080.0), low);
    const vd n = nearest(y);
    const vd f = (y - n) * 0.693147180559945309417232; /* |f| <= ln 2 / 2 */
    vd p = all(1.0 / 6227020800.0);
    p = p * f + 1.0 / 479001600.0;
    p = p * f + 1.0 / 39916800.0;
    p = p * f + 1.0 / 3628800.0;
    p = p * f + 1.0 / 362880.0;
    p = p * f + 1.0 / 40320.0;
    p = p * f + 1.0 / 5040.0;
    p = p * f + 1.0 / 720.0;
    p = p * f + 1.0 / 120.0;
    p = p * f + 1.0 / 24.0;
    p = p * f + 1.0 / 6.0;
    p = p * f + 0.5;
    p = p * f + 1.0;
    p = p * f + 1.0;
    /* Two factors, since 2^n alone may leave the range of a double on the way to a float's infinity or zero. */
    const vd half = nearest(n * 0.5);
    const vq a = (vq)(half + 6755399441055744.0 + 1023.0) << 52;
    const vq b = (vq)(n - half + 6755399441055744.0 + 1023.0) << 52;
    return p * (vd)a * (vd)b;
}

/* Sine of x + quarter turns; x finite. */
INLINE vd sin_quarter(vd x, double quarter) {
    const vd turns = x * 0.15915494309189533577; /* 1 / 2 pi */
    const vd large = turns - floor_of(turns);    /* what is left when x is beyond the accurate range */
    const vl far = (x > 1e9) | (x < -1e9);
    const vd k = nearest(choose(far, large * 4.0, x * 0.63661977236758134308));
    const vd near_rest =
        ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
    const vd far_rest = (large * 4.0 - k) * 1.57079632679489661923;
    const vd r = choose(far, far_rest, near_rest);
    const vd q = r * r;

    vd s = all(-1.0 / 1307674368000.0); /* sine, odd powers up to 15 and 17 */
    s = q * (1.0 / 355687428096000.0) + s;
    s = s * q + 1.0 / 6227020800.0;
    s = s * q - 1.0 / 39916800.0;
    s = s * q + 1.0 / 362880.0;
    s = s * q - 1.0 / 5040.0;
    s = s * q + 1.0 / 120.0;
    s = s * q - 1.0 / 6.0;
    const vd sine = r + r * q * s;

    vd c = all(1.0 / 20922789888000.0); /* cosine, even powers up to 16 and 18 */
    c = q * (-1.0 / 6402373705728000.0) + c;
    c = c * q - 1.0 / 87178291200.0;
    c = c * q + 1.0 / 479001600.0;
    c = c * q - 1.0 / 3628800.0;
    c = c * q + 1.0 / 40320.0;
    c = c * q - 1.0 / 720.0;
    c = c * q + 1.0 / 24.0;
    c = c * q - 0.5;
    const vd cosine = 1.0 + q * c;

    const vq n = (vq)(k + quarter + 6755399441055744.0); /* the low bits are the quadrant */
    const vl odd = (vl)(0 - (n & 1));
    return (vd)((vq)choose(odd, cosine, sine) ^ (n & 2) << 62);
}

/* ---- 64 lanes ---- */

INLINE void operands(const uint32_t *restrict x, double *restrict d) {
    for (int i = 0; i < LANES; i++) {
        d[i] = operand(x[i]);
    }
}

INLINE void results(const double *restrict d, const uint32_t *restrict x, uint32_t *restrict out) {
    for (int i = 0; i < LANES; i++) {
        out[i] = result(d[i], x[i]);
    }
}

static void inv(const uint32_t *restrict x, uint32_t *restrict out) {
    for (int i = 0; i < LANES; i++) {
        out[i] = result(1.0 / operand(x[i]), x[i]);
    }
}

static void sqrt_lanes(const uint32_t *restrict x, uint32_t *restrict out) {
    for (int i = 0; i < LANES; i++) {
        out[i] = result(sqrt(operand(x[i])), x[i]);
    }
}

/* -0 gives -inf by itself, as the table has it (spec/60 6.3). */
static void rsq(const uint32_t *restrict x, uint32_t *restrict out) {
    for (int i = 0; i < LANES; i++) {
        out[i] = result(1.0 / sqrt(operand(x[i])), x[i]);
    }
}

INLINE vd log2_any(vd d) {
    const vl ordinary = (d > 0.0) & (d < HUGE_VAL);
    const vd value = log2_positive(choose(ordinary, d, all(1.0)));
    const vd zero_or_negative = choose(d == 0.0, all(-HUGE_VAL), all((double)NAN));
    return choose(ordinary, value, choose(d > 0.0, all(HUGE_VAL), zero_or_negative));
}

static void log_lanes(const uint32_t *restrict x, uint32_t *restrict out) {
    double d[LANES];
    operands(x, d);
    for (int i = 0; i < LANES; i += VD) {
        vd_store(d + i, log2_any(vd_load(d + i)));
    }
    results(d, x, out);
}

/* 2^x, NaN too. */
INLINE vd exp2_full(vd x) {
    const vl number = x == x;
    return choose(number, exp2_any((vd)((vl)x & number)), all((double)NAN));
}

static void exp_lanes(const uint32_t *restrict x, uint32_t *restrict out) {
    double d[LANES];
    operands(x, d);
    for (int i = 0; i < LANES; i += VD) {
        vd_store(d + i, exp2_full(vd_load(d + i)));
    }
    results(d, x, out);
}

INLINE void sines(const uint32_t *restrict x, double quarter, uint32_t *restrict out) {
    double d[LANES];
    operands(x, d);
    for (int i = 0; i < LANES; i += VD) {
        const vd v = vd_load(d + i);
        const vl finite = (v > -HUGE_VAL) & (v < HUGE_VAL);
        vd_store(d + i, choose(finite, sin_quarter((vd)((vl)v & finite), quarter), all((double)NAN)));
    }
    results(d, x, out);
}

static void sin_lanes(const uint32_t *restrict x, uint32_t *restrict out) {
    sines(x, 0.0, out);
    for (int i = 0; i < LANES; i++) {
        const bool zero = (x[i] & 0x7f800000) == 0; /* keeps its sign */
        out[i] = zero ? x[i] & 0x80000000 : out[i];
    }
}

static void cos_lanes(const uint32_t *restrict x, uint32_t *restrict out) {
    sines(x, 1.0, out);
}

/* Infinities and zeros follow from 2^(y * log2|x|) by themselves; 0 * inf is NaN (spec/60 6.3). */
static void pow_lanes(const uint32_t *restrict x, const uint32_t *restrict y, uint32_t *restrict out) {
    double base[LANES];
    double exponent[LANES];
    uint32_t source[LANES];
    for (int i = 0; i < LANES; i++) {
        const uint32_t magnitude = x[i] & 0x7fffffff;
        base[i] = operand(magnitude);
        source[i] = magnitude > 0x7f800000 ? magnitude : y[i];
    }
    operands(y, exponent);
    for (int i = 0; i < LANES; i += VD) {
        vd_store(base + i, exp2_full(vd_load(exponent + i) * log2_any(vd_load(base + i))));
    }
    results(base, source, out);
}

const struct g4_math_ops G4_V(g4_math_ops) = {
    .inv = inv,
    .log = log_lanes,
    .exp = exp_lanes,
    .sqrt = sqrt_lanes,
    .rsq = rsq,
    .sin = sin_lanes,
    .cos = cos_lanes,
    .pow = pow_lanes,
};
