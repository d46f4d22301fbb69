/*
 * Extended math in double precision, rounded once to the nearest float.
 *
 * The series are our own instead of libm's, because the bits must not depend on the host's library or on the width
 * of its vectors.  Their errors are below 2^-60 of the result, so a float differs from the correctly rounded one in
 * about one case of 2^30.
 */
#include "eu/math_ops.h"

#include <math.h>
#include <string.h>

#include "core/variant.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    LANES = 8 /* channels of a thread */
};

/* ---- vectors of doubles, as wide as the variant's registers ---- */

#if G4_VARIANT_LEVEL >= 2
#define VD 8
#else
#define VD 4
#endif

typedef double vd __attribute__((vector_size(8 * VD)));
typedef int64_t vl __attribute__((vector_size(8 * VD)));
typedef uint64_t vq __attribute__((vector_size(8 * VD)));
typedef float vf __attribute__((vector_size(4 * VD)));
typedef int32_t vi __attribute__((vector_size(4 * VD)));
typedef uint32_t vu __attribute__((vector_size(4 * VD)));

INLINE vd all(double d) {
    return (vd){0} + d;
}

INLINE vd choose(vl mask, vd yes, vd no) {
    return (vd)(((vl)yes & mask) | ((vl)no & ~mask));
}

INLINE vu load(const uint32_t *from) {
    vu v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* Flushes denormals to zero, with their sign. */
INLINE vu flushed(vu bits) {
    const vu small = (vu)((vi)(bits & 0x7f800000) == 0);
    return bits & ~(small & 0x7fffffff);
}

INLINE vd operand(vu bits) {
    return __builtin_convertvector((vf)flushed(bits), vd);
}

/* Rounds a result once; the NaN of an operand is kept, made quiet. */
INLINE vu result(vd d, vu source) {
    const vu bits = flushed((vu) __builtin_convertvector(d, vf));
    const vu is_nan = (vu)((vi)(bits & 0x7fffffff) > 0x7f800000);
    const vu from_nan = (vu)((vi)(source & 0x7fffffff) > 0x7f800000);
    const vu nan = 0x7fc00000 | (from_nan & (source | 0x00400000));
    return (is_nan & nan) | (bits & ~is_nan);
}

/* Rounds d to the nearest integer, ties to even; |d| < 2^51. */
INLINE vd nearest(vd d) {
    const vd shift = all(6755399441055744.0); /* 1.5 * 2^52 */
    return (d + shift) - shift;
}

/* Rounds any number down. */
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

INLINE bool any(vl mask) {
#if G4_VARIANT_LEVEL >= 2
    return _mm512_movepi64_mask((__m512i)mask) != 0;
#elif G4_VARIANT_LEVEL == 1
    return _mm256_movemask_pd((__m256d)mask) != 0;
#else
    return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
#endif
}

/* Sine of x + quarter turns; x finite. */
INLINE vd sin_quarter(vd x, double quarter) {
    const vl far = (x > 1e9) | (x < -1e9);
    vd k = nearest(x * 0.63661977236758134308);
    vd r = ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
    if (any(far)) { /* reduces x beyond the accurate range to a fraction of a turn */
        const vd turns = x * 0.15915494309189533577;
        const vd quarters = (turns - floor_of(turns)) * 4.0;
        const vd whole = nearest(quarters);
        r = choose(far, (quarters - whole) * 1.57079632679489661923, r);
        k = choose(far, whole, k);
    }
    const vd q = r * r;
    const vq n = (vq)(k + quarter + 6755399441055744.0); /* the low bits are the quadrant */
    const vl odd = (vl)(0 - (n & 1));
#define TERM(cosine, sine) choose(odd, all(cosine), all(sine))
    /* cosine: even powers up to 18; sine: odd powers up to 17, its first factor 0 */
    vd p = q * TERM(-1.0 / 6402373705728000.0, 0.0) + TERM(1.0 / 20922789888000.0, 1.0 / 355687428096000.0);
    p = p * q + TERM(-1.0 / 87178291200.0, -1.0 / 1307674368000.0);
    p = p * q + TERM(1.0 / 479001600.0, 1.0 / 6227020800.0);
    p = p * q + TERM(-1.0 / 3628800.0, -1.0 / 39916800.0);
    p = p * q + TERM(1.0 / 40320.0, 1.0 / 362880.0);
    p = p * q + TERM(-1.0 / 720.0, -1.0 / 5040.0);
    p = p * q + TERM(1.0 / 24.0, 1.0 / 120.0);
    p = p * q + TERM(-0.5, -1.0 / 6.0);
#undef TERM
    const vd value = choose(odd, all(1.0), r) + choose(odd, q, r * q) * p;
    return (vd)((vq)value ^ (n & 2) << 62);
}

/* ---- the functions, whole range ---- */

INLINE vd log2_any(vd d) {
    const vl ordinary = (d > 0.0) & (d < HUGE_VAL);
    const vd value = log2_positive(choose(ordinary, d, all(1.0)));
    const vd zero_or_negative = choose(d == 0.0, all(-HUGE_VAL), all((double)NAN));
    return choose(ordinary, value, choose(d > 0.0, all(HUGE_VAL), zero_or_negative));
}

/* 2^x, including NaN. */
INLINE vd exp2_full(vd x) {
    const vl number = x == x;
    return choose(number, exp2_any((vd)((vl)x & number)), all((double)NAN));
}

INLINE vd sine_full(vd x, double quarter) {
    const vl finite = (x > -HUGE_VAL) & (x < HUGE_VAL);
    return choose(finite, sin_quarter((vd)((vl)x & finite), quarter), all((double)NAN));
}

INLINE vd inverse(vd x) {
    return 1.0 / x;
}

INLINE vd root(vd x) {
#if G4_VARIANT_LEVEL >= 2
    return (vd)_mm512_sqrt_pd((__m512d)x);
#elif G4_VARIANT_LEVEL == 1
    return (vd)_mm256_sqrt_pd((__m256d)x);
#else
    vd out;
    for (int i = 0; i < VD; i++) {
        out[i] = sqrt(x[i]);
    }
    return out;
#endif
}

INLINE vd sine(vd x) {
    return sine_full(x, 0.0);
}

INLINE vd cosine(vd x) {
    return sine_full(x, 1.0);
}

/* The result of -0 is -inf without a special case. */
INLINE vd inverse_root(vd x) {
    return 1.0 / root(x);
}

/* ---- the gang, without inactive threads ---- */

#define EACH_THREAD(t)                                                                                                 \
    memset(out, 0, G4_MATH_LANES * sizeof *out);                                                                       \
    for (int t = 0; t < G4_MATH_LANES; t += LANES)                                                                     \
        if (lanes >> t & 0xff)

#define UNARY(name, function)                                                                                          \
    static void name(const uint32_t *restrict x, uint32_t *restrict out, g4_lanes lanes) {                             \
        EACH_THREAD(t) {                                                                                               \
            for (int i = t; i < t + LANES; i += VD) {                                                                  \
                const vu source = load(x + i);                                                                         \
                const vu bits = result(function(operand(source)), source);                                             \
                memcpy(out + i, &bits, sizeof bits);                                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }

UNARY(inv, inverse)
UNARY(sqrt_lanes, root)
UNARY(rsq, inverse_root)
UNARY(log_lanes, log2_any)
UNARY(exp_lanes, exp2_full)
UNARY(sine_lanes, sine)
UNARY(cos_lanes, cosine)

static void sin_lanes(const uint32_t *restrict x, uint32_t *restrict out, g4_lanes lanes) {
    sine_lanes(x, out, lanes);
    for (int i = 0; i < G4_MATH_LANES; i++) {
        const bool zero = (x[i] & 0x7f800000) == 0; /* with its sign */
        out[i] = zero ? x[i] & 0x80000000 : out[i];
    }
}

/* Infinities and zeros follow from 2^(y * log2|x|); 0 * inf is NaN. */
static void pow_lanes(const uint32_t *restrict x, const uint32_t *restrict y, uint32_t *restrict out, g4_lanes lanes) {
    EACH_THREAD(t) {
        for (int i = t; i < t + LANES; i += VD) {
            const vu magnitude = load(x + i) & 0x7fffffff;
            const vu x_nan = (vu)((vi)magnitude > 0x7f800000);
            const vu exponent = load(y + i);
            const vd value = exp2_full(operand(exponent) * log2_any(operand(magnitude)));
            const vu bits = result(value, (magnitude & x_nan) | (exponent & ~x_nan));
            memcpy(out + i, &bits, sizeof bits);
        }
    }
}

/* A quotient of floats rounds from double to float as if it were exact. */
static void div_lanes(const uint32_t *restrict x, const uint32_t *restrict y, uint32_t *restrict out, g4_lanes lanes) {
    EACH_THREAD(t) {
        for (int i = t; i < t + LANES; i += VD) {
            const vu numerator = load(x + i);
            const vu denominator = load(y + i);
            const vu x_nan = (vu)((vi)(numerator & 0x7fffffff) > 0x7f800000);
            const vd value = operand(numerator) / operand(denominator);
            const vu bits = result(value, (numerator & x_nan) | (denominator & ~x_nan));
            memcpy(out + i, &bits, sizeof bits);
        }
    }
}

/* The whole part of a quotient of numbers below 2^32.  The quotient of doubles truncates to the exact one in every
 * rounding mode: a quotient that is not whole is at least 1 / denominator away from the next integer, and is rounded by
 * less than 2^-20 of that. */
INLINE vu quotient_of(vu numerator, vu denominator) {
#if G4_VARIANT_LEVEL >= 2
    return __builtin_convertvector(__builtin_convertvector(numerator, vd) / __builtin_convertvector(denominator, vd),
                                   vu);
#elif G4_VARIANT_LEVEL < 1
    vu whole;
    for (int i = 0; i < VD; i++) {
        whole[i] = numerator[i] / denominator[i];
    }
    return whole;
#else /* no conversions of unsigned integers: the low half of a double of at least 2^52 is one */
    const vq exponent = (vq)all(0x1p52);
    const vd n = (vd)(__builtin_convertvector(numerator, vq) | exponent) - 0x1p52;
    const vd d = (vd)(__builtin_convertvector(denominator, vq) | exponent) - 0x1p52;
    const vd exact = n / d;
    const vd rounded = exact + 0x1p52;
    return __builtin_convertvector((vq)rounded + (vq)((rounded - 0x1p52) > exact), vu);
#endif
}

static void divide(const uint32_t *restrict numerator, const uint32_t *restrict denominator, bool is_signed,
                   uint32_t *restrict quotient, uint32_t *restrict remainder) {
    const vu is_negative = (vu){0} + (is_signed ? 0x80000000 : 0);
    for (int i = 0; i < G4_MATH_LANES; i += VD) {
        const vu n = load(numerator + i);
        const vu d = load(denominator + i);
        const vu n_sign = (vu)((n & is_negative) != 0);
        const vu d_sign = (vu)((d & is_negative) != 0);
        const vu by_zero = (vu)(d == 0);
        const vu size_n = (n ^ n_sign) - n_sign;
        const vu size_d = ((d ^ d_sign) - d_sign) | (by_zero & 1);
        const vu whole = quotient_of(size_n, size_d);
        const vu rest = size_n - whole * size_d;
        const vu q_sign = n_sign ^ d_sign;
        const vu undefined = is_signed ? 0x7fffffff - n_sign : ~(vu){0};
        const vu q = (((whole ^ q_sign) - q_sign) & ~by_zero) | (undefined & by_zero);
        const vu r = (((rest ^ n_sign) - n_sign) & ~by_zero) | (undefined & by_zero);
        memcpy(quotient + i, &q, sizeof q);
        memcpy(remainder + i, &r, sizeof r);
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
    .div = div_lanes,
    .divide = divide,
};
