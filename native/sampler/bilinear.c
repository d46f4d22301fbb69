/*
 * Bilinear lookups in fixed point, with the bits of the general path (lanes.c), which adds exact products of floats in
 * double precision and rounds once.
 *
 * A byte c becomes the float c / 255.  Its quotient repeats the bits of c for ever, and what lies behind a float's last
 * place always starts with the highest bit of c, so it is rounded up, always:
 *
 *     (float)(c / 255) = c * 65793 / 2^24 + top(c) / 2^31        top(c): the highest bit of c alone
 *
 * The weighted sum of four such numbers needs the sums of c and of top(c) only.  Weights are 16 bits, so both sums are
 * exact in 24 bits; one multiplication and addition with a single rounding makes the result.
 */
#include "core/variant.h"

#if G4_VARIANT_LEVEL > 0

#if G4_VARIANT_LEVEL > 1
#define G4_LANES_WIDE
#endif

#include "sampler/places.h"

typedef uint16_t vh __attribute__((vector_size(4 * LANES)));
typedef uint64_t vq __attribute__((vector_size(4 * LANES)));

/* ---- where the texels are ---- */

struct places {
    uint32_t top[LANES], bottom[LANES]; /* graphics addresses of the left texels */
    uint32_t step[LANES];               /* distance to the right texels */
    bool neighbours;                    /* every right texel is adjacent to its left texel */
};

struct weights {
    vu x; /* weights of the right texels, each twice */
    vu y; /* weights of the upper and of the lower texels */
};

INLINE struct weights find_places(const struct g4_bilinear *job, const struct layout *l, uint32_t shift,
                                  enum wrap_shape shape_x, enum wrap_shape shape_y, bool contiguous, const float *u,
                                  const float *v, struct places *out) {
    const struct axis_texels x = texels_of(&job->axis[0], shape_x, contiguous, u);
    const struct axis_texels y = texels_of(&job->axis[1], shape_y, contiguous, v);
    const vu left = column_of(job, l, x.first, shift) + vu_all(job->base);
    const vu step = column_of(job, l, x.second, shift) + vu_all(job->base) - left;

    store(out->top, (vi)(left + row_of(job, l, y.first)));
    store(out->bottom, (vi)(left + row_of(job, l, y.second)));
    store(out->step, (vi)step);
    out->neighbours = vi_bits(step != vu_all(G4_BYTES)) == 0;
    return (struct weights){(vu)(x.weight | x.weight << 16), (vu)(vi_all(G4_WEIGHT_ONE) - y.weight + (y.weight << 16))};
}

/* ---- the texels, two by two ---- */

/* The texels of a vector of lookups; each element has half of the lookups. */
struct pairs {
    vu top[2], bottom[2]; /* left texel first */
};

INLINE uint64_t pair_of(uint32_t left, uint32_t right) {
    return left | (uint64_t)right << 32;
}

/* A texel of 1, 2 or 4 bytes. */
INLINE int32_t load_small(const uint8_t *p, uint32_t shift) {
    return (int32_t)(shift == 0 ? *p : shift == 1 ? load16(p) : load32(p));
}

/* Loads two pairs.  Vectors are assembled in registers, because loading one that was stored in parts is slow; of small
 * texels by intrinsics, because GCC 12 makes vectors of bytes in memory first.  Texels of four bytes are neighbors. */
INLINE __m128i load_two(const uint8_t *base, uint32_t shift, const uint32_t *address, const uint32_t *step) {
    const uint8_t *const left[2] = {base + address[0], base + address[1]};
    if (shift == G4_BYTES_SHIFT) {
        return _mm_set_epi64x((int64_t)load64(left[1]), (int64_t)load64(left[0]));
    }
    __m128i texels = _mm_cvtsi32_si128(load_small(left[0], shift));
    texels = _mm_insert_epi32(texels, load_small(left[0] + (int32_t)step[0], shift), 1);
    texels = _mm_insert_epi32(texels, load_small(left[1], shift), 2);
    return _mm_insert_epi32(texels, load_small(left[1] + (int32_t)step[1], shift), 3);
}

INLINE vu load_half(const uint8_t *base, uint32_t shift, const uint32_t *address, const uint32_t *step) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load_two(base, shift, address, step)),
                                                load_two(base, shift, address + 2, step + 2), 1);
#ifdef G4_LANES_WIDE
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load_two(base, shift, address + 4, step + 4)),
                                                 load_two(base, shift, address + 6, step + 6), 1);
    return (vu)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#else
    (void)step;
    return (vu)low;
#endif
}

/* Adjacent texels of the image are mostly adjacent in memory, too. */
INLINE struct pairs load_contiguous(const struct g4_bilinear *job, uint32_t shift, const struct places *places) {
    const uint8_t *const base =
        (const uint8_t *)job->contiguous_base; /* NOLINT(performance-no-int-to-ptr): not of an object */
    const uint32_t *const step = places->step;
    const uint32_t half = LANES / 2;
    uint64_t top[LANES], bottom[LANES];
    struct pairs out;

    if (places->neighbours || shift != G4_BYTES_SHIFT) {
        return (struct pairs){
            {load_half(base, shift, places->top, step), load_half(base, shift, places->top + half, step + half)},
            {load_half(base, shift, places->bottom, step), load_half(base, shift, places->bottom + half, step + half)}};
    }
    for (uint32_t k = 0; k < LANES; k++) {
        const int32_t right = (int32_t)step[k];
        top[k] = pair_of(load32(base + places->top[k]), load32(base + places->top[k] + right));
        bottom[k] = pair_of(load32(base + places->bottom[k]), load32(base + places->bottom[k] + right));
    }
    memcpy(out.top, top, sizeof out.top);
    memcpy(out.bottom, bottom, sizeof out.bottom);
    return out;
}

/* Texels are aligned, so none crosses a page. */
INLINE uint32_t load_texel(struct g4_port *port, uint32_t address) {
    return load32(g4_mem_read_ptr(port, address));
}

INLINE uint64_t load_pair(struct g4_port *port, uint32_t address, uint32_t step) {
    if (step == G4_BYTES && (address & G4_PAGE_OFFSET) <= G4_PAGE_SIZE - 2 * G4_BYTES) {
        return load64(g4_mem_read_ptr(port, address));
    }
    return pair_of(load_texel(port, address), load_texel(port, address + step));
}

static void load_paged(const struct g4_bilinear *job, const struct places *places, uint32_t n, struct pairs *out) {
    uint64_t top[LANES] = {0};
    uint64_t bottom[LANES] = {0};

    for (uint32_t i = 0; i < n; i++) {
        top[i] = load_pair(job->port, places->top[i], places->step[i]);
        bottom[i] = load_pair(job->port, places->bottom[i], places->step[i]);
    }
    memcpy(out->top, top, sizeof out->top);
    memcpy(out->bottom, bottom, sizeof out->bottom);
}

/* ---- the filter ---- */

/* Separates the left and the right texels of pairs. */
INLINE void split_pairs(const vu pairs[2], vu *left, vu *right) {
    const vu a = pairs[0];
    const vu b = pairs[1];
#ifdef G4_LANES_WIDE
    *left = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *right = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#else
    *left = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    *right = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#endif
}

/* The highest bit of each byte, for each half of the lookups. */
INLINE vu top_bits(vu bytes) {
    const vu low = bytes & vu_all(0x0f0f0f0f);
    const vu high = bytes >> 4 & vu_all(0x0f0f0f0f);
    const __m128i of_low = _mm_setr_epi8(0, 1, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8);
    const __m128i of_high = _mm_slli_epi16(of_low, 4);
#ifdef G4_LANES_WIDE
    const __m512i a = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(of_low), (__m512i)low);
    const __m512i b = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(of_high), (__m512i)high);
    return (vu)_mm512_max_epu8(a, b);
#else
    const __m256i a = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(of_low), (__m256i)low);
    const __m256i b = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(of_high), (__m256i)high);
    return (vu)_mm256_max_epu8(a, b);
#endif
}

/* Two sums of two products each, of the signed halves of dwords. */
INLINE vi products(vu a, vu b) {
#ifdef G4_LANES_WIDE
    return (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#else
    return (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#endif
}

/* Interpolates two channels of two horizontally adjacent texels, in the halves of dwords: 256 * left + x * (right -
 * left). */
INLINE vh across(vu left, vu right, vu x) {
    return (vh)(left << 8) + ((vh)right - (vh)left) * (vh)x;
}

/* Interpolates vertically the channel in the low or the high halves, which are signed. */
INLINE vi down(vh top, vh bottom, vu y, bool high) {
    const vu low_half = vu_all(0xffff);
    const vu t = (vu)top;
    const vu b = (vu)bottom;
    return products(high ? (t >> 16) | (b & ~low_half) : (t & low_half) | b << 16, y);
}

/* Sums of bytes need all sixteen bits; they are passed with 0x8000 subtracted. */
INLINE vi down_bytes(vh top, vh bottom, vu y, bool high) {
    const vh half = (vh)vu_all(0x80008000);
    return down(top ^ half, bottom ^ half, y, high) + vi_all(0x8000 * G4_WEIGHT_ONE);
}

/* `minus_top_sum`: a sum of highest bits can be 0x8000, which fits only negated into a signed half. */
INLINE vf result(vi sum, vi minus_top_sum) {
    const float scale = 65793.0f / 1099511627776.0f;    /* 2^40, the scale of the weights included */
    const float top_scale = -1.0f / 140737488355328.0f; /* 2^47 */
#ifdef G4_LANES_WIDE
    /* The only fused operation: the products are exact, so the result is the sum in double precision, rounded once. */
    const __m512 rest = (__m512)(vf_of_int(minus_top_sum) * vf_all(top_scale));
    return (vf)_mm512_fmadd_ps((__m512)vf_of_int(sum), (__m512)vf_all(scale), rest);
#else
    const vd large = __builtin_convertvector(sum, vd) * (double)scale;
    return __builtin_convertvector(large + __builtin_convertvector(minus_top_sum, vd) * (double)top_scale, vf);
#endif
}

INLINE void filter(float *const out[G4_BYTES], uint32_t i, const struct pairs *pairs, vu x, vu y) {
    const vu even = vu_all(0x00ff00ff);
    vu texel[2][2];
    vh mixed[2][2], minus_top[2][2]; /* [row][bytes 0 and 2, bytes 1 and 3] */

    split_pairs(pairs->top, &texel[0][0], &texel[0][1]);
    split_pairs(pairs->bottom, &texel[1][0], &texel[1][1]);
    for (int r = 0; r < 2; r++) {
        const vu left = texel[r][0];
        const vu right = texel[r][1];
        const vu top_left = top_bits(left);
        const vu top_right = top_bits(right);
        mixed[r][0] = across(left & even, right & even, x);
        mixed[r][1] = across(left >> 8 & even, right >> 8 & even, x);
        minus_top[r][0] = -across(top_left & even, top_right & even, x);
        minus_top[r][1] = -across(top_left >> 8 & even, top_right >> 8 & even, x);
    }
    for (int k = 0; k < G4_BYTES; k++) {
        if (out[k]) {
            const vi sum = down_bytes(mixed[0][k & 1], mixed[1][k & 1], y, k >> 1);
            const vi minus_top_sum = down(minus_top[0][k & 1], minus_top[1][k & 1], y, k >> 1);
            store(&out[k][i], (vi)result(sum, minus_top_sum));
        }
    }
}

/* ---- all of it ---- */

INLINE void run_shape(const struct g4_bilinear *job, uint32_t shift, enum wrap_shape shape_x, enum wrap_shape shape_y,
                      bool contiguous, const float *u, const float *v, uint32_t n) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    struct places places[G4_BATCH / LANES];
    struct weights weights[G4_BATCH / LANES];
    struct pairs pairs;

    for
        EACH_VECTOR(i, n) {
            weights[i / LANES] =
                find_places(&j, &l, shift, shape_x, shape_y, contiguous, &u[i], &v[i], &places[i / LANES]);
        }
    for
        EACH_VECTOR(i, n) {
            if (contiguous) {
                pairs = load_contiguous(&j, shift, &places[i / LANES]);
            } else {
                load_paged(&j, &places[i / LANES], n - i < LANES ? n - i : LANES, &pairs);
            }
            filter(j.out, i, &pairs, weights[i / LANES].x, weights[i / LANES].y);
        }
}

static void run_four(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    const enum wrap_shape x = shape_of(&job->axis[0]);
    const enum wrap_shape y = shape_of(&job->axis[1]);
    if (job->contiguous_base && x == WRAP_POWER && y == WRAP_POWER) {
        run_shape(job, G4_BYTES_SHIFT, WRAP_POWER, WRAP_POWER, true, u, v, n);
    } else if (job->contiguous_base && x == CLAMP && y == CLAMP) {
        run_shape(job, G4_BYTES_SHIFT, CLAMP, CLAMP, true, u, v, n);
    } else if (job->contiguous_base) {
        run_shape(job, G4_BYTES_SHIFT, ANY, ANY, true, u, v, n);
    } else {
        run_shape(job, G4_BYTES_SHIFT, ANY, ANY, false, u, v, n);
    }
}

static void run(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    switch (job->texture->bits) {
    case 8:
        run_shape(job, 0, ANY, ANY, true, u, v, n);
        break;
    case 16:
        run_shape(job, 1, ANY, ANY, true, u, v, n);
        break;
    default:
        run_four(job, u, v, n);
        break;
    }
}

/* ---- one texel ---- */

static void find_texels(const struct g4_bilinear *job, uint32_t shift, const float *u, const float *v, uint32_t n,
                        uint32_t *out) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);

    for
        EACH_VECTOR(i, n) {
            const vi x = axis_texels(&j.axis[0], j.axis[0].mode, vf_load(&u[i])).first;
            const vi y = axis_texels(&j.axis[1], j.axis[1].mode, vf_load(&v[i])).first;
            const vu column = column_of(&j, &l, (vi)inside(x, j.axis[0].size), shift);
            store(&out[i], (vi)(vu_all(j.base) + column + row_of(&j, &l, (vi)inside(y, j.axis[1].size))));
        }
}

/* Replaces addresses by texels. */
INLINE void load_texels(const struct g4_bilinear *job, uint32_t shift, uint32_t n, uint32_t *texel) {
    const uint8_t *const base =
        (const uint8_t *)job->contiguous_base; /* NOLINT(performance-no-int-to-ptr): not of an object */
    const uint32_t whole = (n + LANES - 1) & ~(uint32_t)(LANES - 1);

    for (uint32_t i = 0; i < whole && base; i++) {
        texel[i] = (uint32_t)load_small(base + texel[i], shift);
    }
    for (uint32_t i = 0; i < whole && !base; i++) {
        texel[i] = i < n ? load_texel(job->port, texel[i]) : 0;
    }
}

#ifdef G4_LANES_WIDE
/* Four bytes a texel, contiguous. */
INLINE void gather_texels(const struct g4_bilinear *job, uint32_t n, uint32_t *texel) {
    const uintptr_t start = job->contiguous_base + job->base;
    const void *const image = (const void *)start; /* NOLINT(performance-no-int-to-ptr): not of an object */
    for
        EACH_VECTOR(i, n) {
            const vu offset = vu_load(&texel[i]) - vu_all(job->base);
            store(&texel[i], (vi)_mm512_i32gather_epi32((__m512i)offset, image, 1));
        }
}
#endif

static void nearest(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    const uint32_t shift = job->texture->bits == 8 ? 0 : job->texture->bits == 16 ? 1 : G4_BYTES_SHIFT;
    uint32_t texel[G4_BATCH]; /* first its address, then its value */

    find_texels(job, shift, u, v, n, texel);
#ifdef G4_LANES_WIDE
    if (shift == G4_BYTES_SHIFT && job->contiguous_base) {
        gather_texels(job, n, texel);
    } else {
        load_texels(job, shift, n, texel);
    }
#else
    load_texels(job, shift, n, texel);
#endif
    for (uint32_t k = 0; k < G4_BYTES; k++) {
        for (uint32_t i = 0; i < n && job->out[k]; i += LANES) {
            store(&job->out[k][i], (vi)unorm8_decode(vu_load(&texel[i]) >> (8 * k) & vu_all(255)));
        }
    }
}

const struct g4_bilinear_ops G4_V(g4_bilinear_ops) = {.run = run, .nearest = nearest};

#else

#include "sampler/bilinear.h"

const struct g4_bilinear_ops G4_V(g4_bilinear_ops) = {NULL, NULL}; /* none: the general path is used */

#endif
