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
#include "../variant.h"

#if G4_VARIANT_LEVEL > 0

#if G4_VARIANT_LEVEL > 1
#define G4_LANES_WIDE
#endif
#define G4_LANES_AVX2

#include "bilinear.h"

#include "coordinates.h"

typedef uint16_t vh __attribute__((vector_size(4 * LANES)));
typedef uint64_t vq __attribute__((vector_size(4 * LANES)));

/* ---- where the texels are ---- */

struct places {
    uint32_t top[G4_BATCH], bottom[G4_BATCH]; /* graphics addresses of the left texels */
    uint32_t step[G4_BATCH];                  /* from there to the right ones */
    uint32_t x[G4_BATCH];                     /* weight of the right ones, twice */
    uint32_t y[G4_BATCH];                     /* weights of the upper and lower ones */
};

/* What tilings differ in.  A row of a tile comes in pieces, and the rows of a tile follow each other. */
struct layout {
    uint32_t piece, piece_shift; /* columns inside of a piece; how far pieces are apart */
    uint32_t rows, row_shift;    /* the same for the rows of a tile */
};

INLINE struct layout layout_of(enum g4_tiling tiling) {
    switch (tiling) {
    case G4_TILING_X: /* pieces of 512 bytes, one in a tile: 4096 bytes apart; 8 rows */
        return (struct layout){511, 3, 7, 9};
    case G4_TILING_Y: /* pieces of 16 bytes, 512 bytes apart; 32 rows */
        return (struct layout){15, 5, 31, 4};
    default:
        return (struct layout){0, 0, 0, 0};
    }
}

INLINE vu column_of(const struct g4_bilinear *job, const struct layout *l, vi x) {
    const vu at = ((vu)x << 2) + vu_all(job->column * G4_BYTES);
    return (at & vu_all(~l->piece)) << l->piece_shift | (at & vu_all(l->piece));
}

INLINE vu row_of(const struct g4_bilinear *job, const struct layout *l, vi y) {
    const vu line = (vu)y + vu_all(job->row);
    return (line & vu_all(~l->rows)) * vu_all(job->pitch) + ((line & vu_all(l->rows)) << l->row_shift);
}

/* How a dimension is addressed, as far as the loop knows it. */
enum shape {
    ANY,
    WRAP_POWER, /* WRAP around a power of two */
    CLAMP,
};

INLINE enum shape shape_of(const struct g4_axis *axis) {
    if (axis->mode == G4_TEXTURE_COORDINATE_MODE_WRAP && axis->round && (axis->size & (axis->size - 1)) == 0) {
        return WRAP_POWER;
    }
    return axis->mode == G4_TEXTURE_COORDINATE_MODE_CLAMP && axis->round ? CLAMP : ANY;
}

/* Every mode at hand stays inside of the image.  `flat`: a texel of weight 0 may be read, which changes nothing. */
INLINE struct axis_texels texels_of(const struct g4_axis *axis, enum shape shape, bool flat, const float *coordinate) {
    const vi last = vi_all((int32_t)axis->size - 1);
    struct axis_texels out;

    if (shape == ANY) {
        out = axis_texels(axis, axis->mode, vf_load(coordinate));
        /* whatever happens, nothing else is read */
        out.first = (vi)inside(out.first, axis->size);
        out.second = (vi)inside(out.second, axis->size);
        return out;
    }
    const uint8_t mode = shape == CLAMP ? G4_TEXTURE_COORDINATE_MODE_CLAMP : G4_TEXTURE_COORDINATE_MODE_WRAP;
    const vf x = preprocess(vf_load(coordinate), mode) * vf_all((float)axis->size) - vf_all(0.5f);
    if (shape == CLAMP) {
        const vi fixed = fixed_point(x, true);
        const vi first = (fixed >> 8) + vi_all(axis->offset);
        out.weight = fixed & vi_all(255);
        out.first = vi_max(vi_min(first, last), vi_all(0));
        out.second = vi_max(vi_min(first + vi_all(1), last), vi_all(0));
    } else {
        const vi fixed = fixed_point_of_small(x);
        const vi first = (fixed >> 8) + vi_all(axis->offset);
        out.weight = fixed & vi_all(255);
        out.first = first & last;
        out.second = (first + vi_all(1)) & last;
    }
    if (!flat) {
        out.second = vi_select(out.weight == vi_all(0), out.first, out.second);
    }
    return out;
}

INLINE void find_places(const struct g4_bilinear *job, enum shape shape_x, enum shape shape_y, bool flat,
                        const float *u, const float *v, uint32_t n, struct places *out) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);

    for
        EACH_VECTOR(i, n) {
            const struct axis_texels x = texels_of(&j.axis[0], shape_x, flat, &u[i]);
            const struct axis_texels y = texels_of(&j.axis[1], shape_y, flat, &v[i]);
            const vu left = column_of(&j, &l, x.first) + vu_all(j.base);
            store(&out->top[i], (vi)(left + row_of(&j, &l, y.first)));
            store(&out->bottom[i], (vi)(left + row_of(&j, &l, y.second)));
            store(&out->step[i], (vi)(column_of(&j, &l, x.second) + vu_all(j.base) - left));
            store(&out->x[i], x.weight | x.weight << 16);
            store(&out->y[i], vi_all(G4_WEIGHT_ONE) - y.weight + (y.weight << 16));
        }
}

/* ---- the texels, two by two ---- */

struct pairs {
    uint64_t top[G4_BATCH], bottom[G4_BATCH]; /* left texel low */
};

INLINE uint64_t pair_of(uint32_t left, uint32_t right) {
    return left | (uint64_t)right << 32;
}

/* Neighbours in the image mostly are neighbours in memory. */
static void load_flat(const struct g4_bilinear *job, const struct places *places, uint32_t n, struct pairs *out) {
    const uint8_t *const base = (const uint8_t *)job->flat; /* NOLINT(performance-no-int-to-ptr): not of an object */

    for
        EACH_VECTOR(i, n) {
            vu step;
            memcpy(&step, &places->step[i], sizeof step);
            if (vi_bits(step != vu_all(G4_BYTES)) == 0) {
                for (uint32_t k = i; k < i + LANES; k++) {
                    out->top[k] = load64(base + places->top[k]);
                    out->bottom[k] = load64(base + places->bottom[k]);
                }
                continue;
            }
            for (uint32_t k = i; k < i + LANES; k++) {
                const uint8_t *const top = base + places->top[k];
                const uint8_t *const bottom = base + places->bottom[k];
                const int32_t right = (int32_t)places->step[k];
                out->top[k] = pair_of(load32(top), load32(top + right));
                out->bottom[k] = pair_of(load32(bottom), load32(bottom + right));
            }
        }
}

/* Texels are aligned, so none lies in two pages. */
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
    for (uint32_t i = 0; i < n; i++) {
        out->top[i] = load_pair(job->port, places->top[i], places->step[i]);
        out->bottom[i] = load_pair(job->port, places->bottom[i], places->step[i]);
    }
    for (uint32_t i = n; i % LANES; i++) { /* whole vectors are filtered */
        out->top[i] = out->bottom[i] = 0;
    }
}

/* ---- the filter ---- */

/* Left and right texels of a vector's pairs. */
INLINE void split_pairs(const uint64_t *pairs, vu *left, vu *right) {
    vu a, b;
    memcpy(&a, pairs, sizeof a);
    memcpy(&b, pairs + LANES / 2, sizeof b);
#ifdef G4_LANES_WIDE
    *left = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *right = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#else
    *left = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    *right = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#endif
}

/* The highest bit of each byte, by halves of it. */
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

/* Two sums of two products each: of the signed halves of dwords. */
INLINE vi products(vu a, vu b) {
#ifdef G4_LANES_WIDE
    return (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#else
    return (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#endif
}

/* Two channels of two texels side by side, in the halves of dwords: (256 - x) * left + x * right, less 0x8000, so that
 * it fits a signed half. */
INLINE vu across(vu left, vu right, vu x) {
    const vh mixed = (vh)(left << 8) + ((vh)right - (vh)left) * (vh)x;
    return (vu)mixed ^ vu_all(0x80008000);
}

/* One above the other, of the channel in the low or high halves. */
INLINE vi down(vu top, vu bottom, vu y, bool high) {
    const vu low_half = vu_all(0xffff);
    const vu both = high ? (top >> 16) | (bottom & ~low_half) : (top & low_half) | bottom << 16;
    return products(both, y) + vi_all(0x8000 * G4_WEIGHT_ONE);
}

INLINE vf result(vi sum, vi top_sum) {
    const float scale = 65793.0f / 1099511627776.0f;   /* 2^40: that of weights, too */
    const float top_scale = 1.0f / 140737488355328.0f; /* 2^47 */
#ifdef G4_LANES_WIDE
    /* The one fused operation that there is: the products are exact, so it is the double's sum, rounded once. */
    const __m512 rest = (__m512)(vf_of_int(top_sum) * vf_all(top_scale));
    return (vf)_mm512_fmadd_ps((__m512)vf_of_int(sum), (__m512)vf_all(scale), rest);
#else
    const vd large = __builtin_convertvector(sum, vd) * (double)scale;
    return __builtin_convertvector(large + __builtin_convertvector(top_sum, vd) * (double)top_scale, vf);
#endif
}

static void filter(const struct g4_bilinear *job, const struct places *places, const struct pairs *pairs, uint32_t n) {
    const vu even = vu_all(0x00ff00ff);
    float *const *const out = job->out;

    for
        EACH_VECTOR(i, n) {
            const vu x = vu_load(&places->x[i]);
            const vu y = vu_load(&places->y[i]);
            vu texel[2][2];
            vu mixed[2][2], top_mixed[2][2]; /* [row][bytes 0 and 2, bytes 1 and 3] */
            split_pairs(&pairs->top[i], &texel[0][0], &texel[0][1]);
            split_pairs(&pairs->bottom[i], &texel[1][0], &texel[1][1]);
            for (int r = 0; r < 2; r++) {
                const vu left = texel[r][0];
                const vu right = texel[r][1];
                const vu top_left = top_bits(left);
                const vu top_right = top_bits(right);
                mixed[r][0] = across(left & even, right & even, x);
                mixed[r][1] = across(left >> 8 & even, right >> 8 & even, x);
                top_mixed[r][0] = across(top_left & even, top_right & even, x);
                top_mixed[r][1] = across(top_left >> 8 & even, top_right >> 8 & even, x);
            }
            for (int k = 0; k < G4_BYTES; k++) {
                if (out[k]) {
                    const vi sum = down(mixed[0][k & 1], mixed[1][k & 1], y, k >> 1);
                    const vi top_sum = down(top_mixed[0][k & 1], top_mixed[1][k & 1], y, k >> 1);
                    store(&out[k][i], (vi)result(sum, top_sum));
                }
            }
        }
}

/* ---- all of it ---- */

static void find_all_places(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n,
                            struct places *out) {
    const enum shape x = shape_of(&job->axis[0]);
    const enum shape y = shape_of(&job->axis[1]);
    if (job->flat && x == WRAP_POWER && y == WRAP_POWER) {
        find_places(job, WRAP_POWER, WRAP_POWER, true, u, v, n, out);
    } else if (job->flat && x == CLAMP && y == CLAMP) {
        find_places(job, CLAMP, CLAMP, true, u, v, n, out);
    } else {
        find_places(job, ANY, ANY, false, u, v, n, out);
    }
}

static void run(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    struct places places;
    struct pairs pairs;

    find_all_places(job, u, v, n, &places);
    if (job->flat) {
        load_flat(job, &places, n, &pairs);
    } else {
        load_paged(job, &places, n, &pairs);
    }
    filter(job, &places, &pairs, n);
}

/* ---- one texel ---- */

static void find_texels(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n, uint32_t *out) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);

    for
        EACH_VECTOR(i, n) {
            const vi x = axis_texels(&j.axis[0], j.axis[0].mode, vf_load(&u[i])).first;
            const vi y = axis_texels(&j.axis[1], j.axis[1].mode, vf_load(&v[i])).first;
            const vu column = column_of(&j, &l, (vi)inside(x, j.axis[0].size));
            store(&out[i], (vi)(vu_all(j.base) + column + row_of(&j, &l, (vi)inside(y, j.axis[1].size))));
        }
}

static void load_texels(const struct g4_bilinear *job, uint32_t n, uint32_t *texel) {
    const uint8_t *const base = (const uint8_t *)job->flat; /* NOLINT(performance-no-int-to-ptr): not of an object */
    const uint32_t whole = (n + LANES - 1) & ~(uint32_t)(LANES - 1);

    for (uint32_t i = 0; i < whole && base; i++) {
        texel[i] = load32(base + texel[i]);
    }
    for (uint32_t i = 0; i < whole && !base; i++) {
        texel[i] = i < n ? load_texel(job->port, texel[i]) : 0;
    }
}

static void nearest(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    uint32_t texel[G4_BATCH]; /* its address, then itself */

    find_texels(job, u, v, n, texel);
    load_texels(job, n, texel);
    for (uint32_t k = 0; k < G4_BYTES; k++) {
        for (uint32_t i = 0; i < n && job->out[k]; i += LANES) {
            store(&job->out[k][i], (vi)unorm8_decode(vu_load(&texel[i]) >> (8 * k) & vu_all(255)));
        }
    }
}

const struct g4_bilinear_ops G4_V(g4_bilinear_ops) = {.run = run, .nearest = nearest};

#else

#include "bilinear.h"

const struct g4_bilinear_ops G4_V(g4_bilinear_ops) = {NULL, NULL}; /* the general path */

#endif
