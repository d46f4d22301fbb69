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

INLINE double double_of(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

INLINE uint64_t bits_of(double d) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

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

/* The integer nearest to d, ties to even, as a double; |d| < 2^51. */
INLINE double nearest(double d) {
    const double shift = 6755399441055744.0; /* 1.5 * 2^52 */
    return (d + shift) - shift;
}

/* log2 of a positive, finite, normal double. */
INLINE double log2_positive(double x) {
    const uint64_t bits = bits_of(x);
    /* x = m * 2^e with m between sqrt(1/2) and sqrt(2): the exponent field of x / sqrt(1/2). */
    const uint64_t offset = bits - UINT64_C(0x3fe6a09e667f3bcd);
    const int64_t e = (int64_t)offset >> 52;
    const double m = double_of(bits - ((uint64_t)e << 52));
    const double s = (m - 1.0) / (m + 1.0);
    const double q = s * s;
    /* 2 atanh(s) / ln 2 = s * (2/ln2) * (1 + q/3 + q^2/5 + ...), |s| < 0.172 */
    double p = 1.0 / 23.0;
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
    /* the exponent as a double without a conversion instruction: 52 low bits of a number around 1.5 * 2^52 */
    const double exponent = double_of((uint64_t)(e + INT64_C(0x4338000000000000))) - 6755399441055744.0;
    return exponent + p * s * 2.8853900817779268147198;
}

/* 2^x, any finite x or infinity; not NaN. */
INLINE double exp2_any(double x) {
    const double low = x < -1080.0 ? -1080.0 : x;
    const double y = low > 1080.0 ? 1080.0 : low;
    const double n = nearest(y);
    const double f = (y - n) * 0.693147180559945309417232; /* |f| <= ln 2 / 2 */
    double p = 1.0 / 6227020800.0;
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
    const double half = nearest(n * 0.5);
    const uint64_t a = bits_of(half + 6755399441055744.0 + 1023.0) << 52;
    const uint64_t b = bits_of(n - half + 6755399441055744.0 + 1023.0) << 52;
    return p * double_of(a) * double_of(b);
}

/* Sine of x + quarter turns; x finite. */
INLINE double sin_quarter(double x, double quarter) {
    const double turns = x * 0.15915494309189533577; /* 1 / 2 pi */
    const double large = turns - floor(turns);       /* what is left when x is beyond the accurate range */
    const bool far = x > 1e9 || x < -1e9;
    const double k = nearest(far ? large * 4.0 : x * 0.63661977236758134308);
    const double near_rest =
        ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
    const double far_rest = (large * 4.0 - k) * 1.57079632679489661923;
    const double r = far ? far_rest : near_rest;
    const double q = r * r;

    double s = -1.0 / 1307674368000.0; /* sine, odd powers up to 15 and 17 */
    s = q * (1.0 / 355687428096000.0) + s;
    s = s * q + 1.0 / 6227020800.0;
    s = s * q - 1.0 / 39916800.0;
    s = s * q + 1.0 / 362880.0;
    s = s * q - 1.0 / 5040.0;
    s = s * q + 1.0 / 120.0;
    s = s * q - 1.0 / 6.0;
    const double sine = r + r * q * s;

    double c = 1.0 / 20922789888000.0; /* cosine, even powers up to 16 and 18 */
    c = q * (-1.0 / 6402373705728000.0) + c;
    c = c * q - 1.0 / 87178291200.0;
    c = c * q + 1.0 / 479001600.0;
    c = c * q - 1.0 / 3628800.0;
    c = c * q + 1.0 / 40320.0;
    c = c * q - 1.0 / 720.0;
    c = c * q + 1.0 / 24.0;
    c = c * q - 0.5;
    const double cosine = 1.0 + q * c;

    const uint64_t n = bits_of(k + quarter + 6755399441055744.0); /* the low bits are the quadrant */
    const double value = n & 1 ? cosine : sine;
    return n & 2 ? -value : value;
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

INLINE double log2_any(double d) {
    const bool ordinary = d > 0.0 && d < HUGE_VAL;
    const double value = log2_positive(ordinary ? d : 1.0);
    const double zero_or_negative = d == 0.0 ? -HUGE_VAL : (double)NAN;
    return ordinary ? value : d > 0.0 ? HUGE_VAL : zero_or_negative;
}

static void log_lanes(const uint32_t *restrict x, uint32_t *restrict out) {
    for (int i = 0; i < LANES; i++) {
        out[i] = result(log2_any(operand(x[i])), x[i]);
    }
}

static void exp_lanes(const uint32_t *restrict x, uint32_t *restrict out) {
    for (int i = 0; i < LANES; i++) {
        const double d = operand(x[i]);
        const double value = exp2_any(d != d ? 0.0 : d);
        out[i] = result(d != d ? (double)NAN : value, x[i]);
    }
}

INLINE uint32_t sine_bits(uint32_t bits, double quarter) {
    const double d = operand(bits);
    const bool finite = d > -HUGE_VAL && d < HUGE_VAL;
    const double value = sin_quarter(finite ? d : 0.0, quarter);
    return result(finite ? value : (double)NAN, bits);
}

static void sin_lanes(const uint32_t *restrict x, uint32_t *restrict out) {
    for (int i = 0; i < LANES; i++) {
        const bool zero = (x[i] & 0x7f800000) == 0; /* keeps its sign */
        const uint32_t bits = sine_bits(x[i], 0.0);
        out[i] = zero ? x[i] & 0x80000000 : bits;
    }
}

static void cos_lanes(const uint32_t *restrict x, uint32_t *restrict out) {
    for (int i = 0; i < LANES; i++) {
        out[i] = sine_bits(x[i], 1.0);
    }
}

/* Infinities and zeros follow from 2^(y * log2|x|) by themselves; 0 * inf is NaN (spec/60 6.3). */
static void pow_lanes(const uint32_t *restrict x, const uint32_t *restrict y, uint32_t *restrict out) {
    for (int i = 0; i < LANES; i++) {
        const double base = operand(x[i] & 0x7fffffff);
        const double exponent = operand(y[i]) * log2_any(base);
        const double value = exp2_any(exponent != exponent ? 0.0 : exponent);
        const bool x_nan = (x[i] & 0x7fffffff) > 0x7f800000;
        out[i] = result(exponent != exponent ? (double)NAN : value, x_nan ? x[i] & 0x7fffffff : y[i]);
    }
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
