/*
 * Bilinear lookups in fixed point, with the bits of the general path (lanes.c), which adds exact products of floats in
 * double precision and rounds once.
 *
 * A byte c becomes the float c / 255.  Its quotient repeats the bits of c endlessly, and the bits beyond a float's
 * last place always start with the highest bit of c, so it is always rounded up:
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

typedef int16_t vs __attribute__((vector_size(4 * LANES)));

/* ---- vectors as parts of 16 bytes ---- */

#ifdef G4_LANES_WIDE
#define VECTOR             __m512i
#define WITHIN_PARTS(name) _mm512_##name
#else
#define VECTOR             __m256i
#define WITHIN_PARTS(name) _mm256_##name
#endif

INLINE vu part_all(__m128i part) {
#ifdef G4_LANES_WIDE
    return (vu)_mm512_broadcast_i32x4(part);
#else
    return (vu)_mm256_broadcastsi128_si256(part);
#endif
}

INLINE vu shuffle_bytes(vu bytes, vu index) {
    return (vu)WITHIN_PARTS(shuffle_epi8)((VECTOR)bytes, (VECTOR)index);
}

INLINE vu join_low_dwords(vu a, vu b) {
    return (vu)WITHIN_PARTS(unpacklo_epi32)((VECTOR)a, (VECTOR)b);
}

INLINE vu join_high_dwords(vu a, vu b) {
    return (vu)WITHIN_PARTS(unpackhi_epi32)((VECTOR)a, (VECTOR)b);
}

INLINE vu join_low_qwords(vu a, vu b) {
    return (vu)WITHIN_PARTS(unpacklo_epi64)((VECTOR)a, (VECTOR)b);
}

INLINE vu join_high_qwords(vu a, vu b) {
    return (vu)WITHIN_PARTS(unpackhi_epi64)((VECTOR)a, (VECTOR)b);
}

INLINE vu join_low_words(vs a, vs b) {
    return (vu)WITHIN_PARTS(unpacklo_epi16)((VECTOR)a, (VECTOR)b);
}

INLINE vu join_high_words(vs a, vs b) {
    return (vu)WITHIN_PARTS(unpackhi_epi16)((VECTOR)a, (VECTOR)b);
}

/* The sums of two products each: of unsigned bytes with signed ones, and of signed words. */
INLINE vs byte_products(vu without_sign, vu with_sign) {
    return (vs)WITHIN_PARTS(maddubs_epi16)((VECTOR)without_sign, (VECTOR)with_sign);
}

INLINE vi word_products(vu a, vu b) {
    return (vi)WITHIN_PARTS(madd_epi16)((VECTOR)a, (VECTOR)b);
}

/* ---- where the texels are ---- */

struct texel_offsets {
    uint32_t top[LANES], bottom[LANES]; /* offsets of the left texels; graphics addresses if memory is not contiguous */
    uint32_t step[LANES];               /* distance to the right texels */
    bool neighbours;                    /* every right texel is adjacent to its left texel */
};

struct weights {
    vu x, y; /* of the right and of the lower texels, 0 to 255 */
};

INLINE struct weights store_places(vu left, vu right, vu top, vu bottom, vi x, vi y, struct texel_offsets *out) {
    const vu step = right - left;
    store(out->top, (vi)(left + top));
    store(out->bottom, (vi)(left + bottom));
    store(out->step, (vi)step);
    out->neighbours = vi_bits(step != vu_all(G4_BYTES)) == 0;
    return (struct weights){(vu)(x & vi_all(255)), (vu)(y & vi_all(255))};
}

INLINE struct weights find_places(const struct g4_bilinear *job, const struct offsets *o, uint32_t shift,
                                  enum wrap_shape shape, bool contiguous, const float *u, const float *v,
                                  struct texel_offsets *out) {
    if (shape == WRAP_POWER) {
        const vi x = fixed_of_power(&job->axis[0], true, true, u);
        const vi y = fixed_of_power(&job->axis[1], true, true, v);
        const vi next = vi_all(G4_WEIGHT_ONE);
        return store_places(wrapped_column(o, x, shift), wrapped_column(o, x + next, shift), wrapped_row(o, y),
                            wrapped_row(o, y + next), x, y, out);
    }
    const struct axis_texels x = texels_of(&job->axis[0], shape, contiguous, u);
    const struct axis_texels y = texels_of(&job->axis[1], shape, contiguous, v);
    return store_places(column_of(o, x.first, shift), column_of(o, x.second, shift), row_of(o, y.first),
                        row_of(o, y.second), x.weight, y.weight, out);
}

/* ---- the texels, two by two ---- */

/* The texels of a vector of lookups, left texel first.  Of each four lookups, element 0 has the first two and element 1
 * the others, as instructions join the low and the high dwords of two vectors. */
struct pairs {
    vu row[2][2]; /* [upper or lower][element] */
};

/* Where offsets of a loop count from. */
INLINE const uint8_t *memory_of(const struct g4_bilinear *job, const struct layout *l, enum wrap_shape shape,
                                uint32_t shift) {
    const uint32_t first = shape == WRAP_POWER ? first_texel(job, l, shift) : 0;
    const uintptr_t start = (uintptr_t)(job->contiguous_base + job->base + first);
    return (const uint8_t *)start; /* NOLINT(performance-no-int-to-ptr): not of an object */
}

#ifdef G4_LANES_WIDE

INLINE vu load_dwords(const uint8_t *memory, vu offset) {
    return (vu)_mm512_i32gather_epi32((__m512i)offset, memory, 1);
}

/* Texels of 1, 2 or 4 bytes.  They are aligned, so the dwords that contain them are in the same page. */
INLINE vu load_vector(const uint8_t *memory, uint32_t shift, vu offset) {
    if (shift == G4_BYTES_SHIFT) {
        return load_dwords(memory, offset);
    }
    const vu within = (offset + vu_all((uint32_t)(uintptr_t)memory)) & vu_all(3);
    return load_dwords(memory, offset - within) >> (within << 3);
}

INLINE void load_row(const uint8_t *memory, uint32_t shift, const uint32_t *offset, vu step, bool neighbours,
                     vu out[2]) {
    const vu left = vu_load(offset);
    if (neighbours && shift == G4_BYTES_SHIFT) {
        const __m512i by_elements = _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
        const __m512i at = _mm512_permutexvar_epi32(by_elements, (__m512i)left);
        out[0] = (vu)_mm512_i32gather_epi64(_mm512_castsi512_si256(at), memory, 1);
        out[1] = (vu)_mm512_i32gather_epi64(_mm512_extracti64x4_epi64(at, 1), memory, 1);
    } else {
        const vu first = load_vector(memory, shift, left);
        const vu second = load_vector(memory, shift, left + step);
        out[0] = join_low_dwords(first, second);
        out[1] = join_high_dwords(first, second);
    }
}

#else

/* A texel of 1, 2 or 4 bytes. */
INLINE int32_t load_small(const uint8_t *p, uint32_t shift) {
    return (int32_t)(shift == 0 ? *p : shift == 1 ? load16(p) : load32(p));
}

/* Loads two pairs.  Vectors are assembled in registers, because loading one that was stored in parts is slow; by
 * intrinsics, because GCC 12 makes vectors of bytes in memory first. */
INLINE __m128i load_two(const uint8_t *memory, uint32_t shift, const uint32_t *offset, const uint32_t *step,
                        bool neighbours) {
    const uint8_t *const left[2] = {memory + offset[0], memory + offset[1]};
    if (neighbours && shift == G4_BYTES_SHIFT) {
        return _mm_set_epi64x((int64_t)load64(left[1]), (int64_t)load64(left[0]));
    }
    __m128i texels = _mm_cvtsi32_si128(load_small(left[0], shift));
    texels = _mm_insert_epi32(texels, load_small(left[0] + (int32_t)step[0], shift), 1);
    texels = _mm_insert_epi32(texels, load_small(left[1], shift), 2);
    return _mm_insert_epi32(texels, load_small(left[1] + (int32_t)step[1], shift), 3);
}

INLINE void load_row(const uint8_t *memory, uint32_t shift, const uint32_t *offset, const uint32_t *step,
                     bool neighbours, vu out[2]) {
    for (int element = 0; element < 2; element++) {
        const int at = 2 * element;
        const __m128i low = load_two(memory, shift, offset + at, step + at, neighbours);
        const __m128i high = load_two(memory, shift, offset + at + 4, step + at + 4, neighbours);
        out[element] = (vu)_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    }
}

#endif

#ifdef G4_LANES_WIDE

/* Mostly, each eight lookups are close to each other.  In a Y tile, their texels are then in one column of 16 bytes or
 * in two, which are 512 bytes apart, and at most four rows high.  These 64 bytes of both are loaded and permuted, in a
 * fraction of the time of gathers.  False: a texel is elsewhere. */
INLINE bool load_columns(const uint8_t *memory, const struct texel_offsets *places, struct pairs *out) {
    enum {
        ROW = 16,
        LOADED = 64,
        COLUMN = 512,
    };
    const __mmask16 of_upper_half = 0xff00;
    const uint8_t *part[2];
    uint32_t start[2];
    bool in_column = true;
    for (int half = 0; half < 2; half++) {
        const uint32_t offset = places->top[LANES / 2 * half];
        const uint8_t *const texel = memory + (int32_t)offset;
        const uint32_t beyond = (uint32_t)(uintptr_t)texel % ROW;
        part[half] = texel - beyond;
        start[half] = offset - beyond;
        in_column = in_column && (uintptr_t)part[half] % COLUMN <= COLUMN - LOADED;
    }
    const vu starts = (vu)_mm512_mask_set1_epi32(_mm512_set1_epi32((int)start[0]), of_upper_half, (int)start[1]);
    const vu step = vu_load(places->step);
    const vu left[2] = {vu_load(places->top) - starts, vu_load(places->bottom) - starts};
    const vu from[2][2] = {{left[0], left[0] + step}, {left[1], left[1] + step}}; /* [upper or lower][side] */
    const __m512i bits = (__m512i)(from[0][0] | from[0][1] | from[1][0] | from[1][1]);
    if (!in_column || _mm512_test_epi32_mask(bits, _mm512_set1_epi32(~(COLUMN | (LOADED - 1))))) {
        return false;
    }
    /* A second column that has no texel may be in a page that must not be read. */
    const __mmask16 in_second = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(COLUMN));
    __m512i column[2][2];
    for (int half = 0; half < 2; half++) {
        column[half][0] = _mm512_loadu_si512(part[half]);
        column[half][1] = _mm512_loadu_si512(part[half] + (in_second >> 8 * half & 0xff ? COLUMN : 0));
    }
    for (int r = 0; r < 2; r++) {
        vu texel[2];
        for (int side = 0; side < 2; side++) {
            const vu at = from[r][side];
            const __m512i index = (__m512i)(at >> 2 | (at >> 5 & vu_all(COLUMN >> 5)));
            texel[side] =
                (vu)_mm512_mask_blend_epi32(of_upper_half, _mm512_permutex2var_epi32(column[0][0], index, column[0][1]),
                                            _mm512_permutex2var_epi32(column[1][0], index, column[1][1]));
        }
        out->row[r][0] = join_low_dwords(texel[0], texel[1]);
        out->row[r][1] = join_high_dwords(texel[0], texel[1]);
    }
    return true;
}

#else

INLINE bool load_columns(const uint8_t *memory, const struct texel_offsets *places, struct pairs *out) {
    (void)memory;
    (void)places;
    (void)out;
    return false;
}

#endif

/* Adjacent texels of the image are mostly adjacent in memory, too. */
INLINE struct pairs load_contiguous(const uint8_t *memory, uint32_t shift, const struct texel_offsets *places,
                                    bool neighbours) {
    struct pairs out;
#ifdef G4_LANES_WIDE
    const vu step = vu_load(places->step);
#else
    const uint32_t *const step = places->step;
#endif
    load_row(memory, shift, places->top, step, neighbours, out.row[0]);
    load_row(memory, shift, places->bottom, step, neighbours, out.row[1]);
    return out;
}

INLINE uint64_t pair_of(uint32_t left, uint32_t right) {
    return left | (uint64_t)right << 32;
}

/* Texels are aligned, so none crosses a page. */
INLINE uint32_t load_texel(struct g4_port *port, g4_address address) {
    return load32(g4_mem_read_ptr(port, address));
}

INLINE uint64_t load_pair(struct g4_port *port, g4_address address, int32_t step) {
    if (step == G4_BYTES && (address & G4_PAGE_OFFSET) <= G4_PAGE_SIZE - 2 * G4_BYTES) {
        return load64(g4_mem_read_ptr(port, address));
    }
    return pair_of(load_texel(port, address), load_texel(port, address + (g4_address)step));
}

static void load_paged(const struct g4_bilinear *job, const struct texel_offsets *places, uint32_t n,
                       struct pairs *out) {
    uint64_t pair[2][2][LANES / 2] = {{{0}}};

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t element = i >> 1 & 1;
        const uint32_t at = i / 4 * 2 + (i & 1);
        pair[0][element][at] = load_pair(job->port, job->base + places->top[i], (int32_t)places->step[i]);
        pair[1][element][at] = load_pair(job->port, job->base + places->bottom[i], (int32_t)places->step[i]);
    }
    memcpy(out->row, pair, sizeof out->row);
}

/* ---- the filter ---- */

/* The highest bit of each byte, negated: -128 fits into a byte with a sign. */
INLINE vu minus_top_bits(vu bytes) {
    const __m128i of_low = _mm_setr_epi8(0, -1, -2, -2, -4, -4, -4, -4, -8, -8, -8, -8, -8, -8, -8, -8);
    const __m128i of_high =
        _mm_setr_epi8(0, -16, -32, -32, -64, -64, -64, -64, -128, -128, -128, -128, -128, -128, -128, -128);
    /* Of bytes from 128 on, the shuffle makes the low part 0. */
    const vu low = shuffle_bytes(part_all(of_low), bytes);
    const vu high = shuffle_bytes(part_all(of_high), bytes >> 4 & vu_all(0x0f0f0f0f));
    return (vu)WITHIN_PARTS(min_epi8)((VECTOR)low, (VECTOR)high);
}

/* Interpolates horizontally, in words: (256 - x) * left + x * right.  Weights are 255 - x and x, because 256 is no
 * byte; the rest of the left texel is added. */
INLINE vs across(vu texels, vu weights) {
    return byte_products(weights, texels) + byte_products(vu_all(0x00010001), texels);
}

/* `minus_top_sum`: see minus_top_bits(). */
INLINE vf result(vi sum, vi minus_top_sum) {
    const float scale = 65793.0f / 1099511627776.0f;    /* 2^40, the scale of the weights included */
    const float top_scale = -1.0f / 140737488355328.0f; /* 2^47 */
    const vf rest = vf_of_int(minus_top_sum) * vf_all(top_scale);
    /* The only fused operation: the products are exact, so the result is the sum in double precision, rounded once. */
#ifdef G4_LANES_WIDE
    return (vf)_mm512_fmadd_ps((__m512)vf_of_int(sum), (__m512)vf_all(scale), (__m512)rest);
#else
    return (vf)_mm256_fmadd_ps((__m256)vf_of_int(sum), (__m256)vf_all(scale), (__m256)rest);
#endif
}

/* One lookup of each four, its channels side by side. */
INLINE vu filter_down(vu sums, vu minus_tops, vu weights) {
    const vi sum = word_products(sums, weights) + vi_all(0x8000 * G4_WEIGHT_ONE);
    return (vu)result(sum, word_products(minus_tops, weights));
}

#define OF_EACH_PART(v, lane) ((vu)WITHIN_PARTS(shuffle_epi32)((VECTOR)(v), (lane)*0x55))

INLINE void filter(float *const out[G4_BYTES], uint32_t i, const struct pairs *pairs, const struct weights *weights) {
    const vu by_channel = part_all(_mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15));
    const vu x_word = (weights->x ^ vu_all(255)) | weights->x << 8;
    const vu x_both = x_word | x_word << 16;
    const vu x[2] = {join_low_dwords(x_both, x_both), join_high_dwords(x_both, x_both)};
    const vu y = (vu_all(G4_WEIGHT_ONE) - weights->y) | weights->y << 16;
    vs sum[2][2], minus_top[2][2]; /* [upper or lower][element] */

    for (int r = 0; r < 2; r++) {
        for (int element = 0; element < 2; element++) {
            const vu texels = shuffle_bytes(pairs->row[r][element], by_channel);
            sum[r][element] = across(texels ^ vu_all(0x80808080), x[element]); /* with 0x8000 subtracted */
            minus_top[r][element] = across(minus_top_bits(texels), x[element]);
        }
    }
    const vu lookup[4] = {
        filter_down(join_low_words(sum[0][0], sum[1][0]), join_low_words(minus_top[0][0], minus_top[1][0]),
                    OF_EACH_PART(y, 0)),
        filter_down(join_high_words(sum[0][0], sum[1][0]), join_high_words(minus_top[0][0], minus_top[1][0]),
                    OF_EACH_PART(y, 1)),
        filter_down(join_low_words(sum[0][1], sum[1][1]), join_low_words(minus_top[0][1], minus_top[1][1]),
                    OF_EACH_PART(y, 2)),
        filter_down(join_high_words(sum[0][1], sum[1][1]), join_high_words(minus_top[0][1], minus_top[1][1]),
                    OF_EACH_PART(y, 3)),
    };
    const vu low[2] = {join_low_dwords(lookup[0], lookup[1]), join_low_dwords(lookup[2], lookup[3])};
    const vu high[2] = {join_high_dwords(lookup[0], lookup[1]), join_high_dwords(lookup[2], lookup[3])};
    const vu channel[G4_BYTES] = {join_low_qwords(low[0], low[1]), join_high_qwords(low[0], low[1]),
                                  join_low_qwords(high[0], high[1]), join_high_qwords(high[0], high[1])};
    for (int k = 0; k < G4_BYTES; k++) {
        if (out[k]) {
            store(&out[k][i], (vi)channel[k]);
        }
    }
}

/* ---- all of it ---- */

INLINE void run_shape(const struct g4_bilinear *job, uint32_t shift, enum wrap_shape shape, bool contiguous,
                      const float *u, const float *v, uint32_t n) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    const struct offsets o = offsets_of(&j, &l, shift, shape);
    const uint8_t *const memory = memory_of(job, &l, shape, shift);
    struct texel_offsets places[G4_BATCH / LANES];
    struct weights weights[G4_BATCH / LANES];
    struct pairs pairs;

    for
        EACH_VECTOR(i, n) {
            weights[i / LANES] = find_places(&j, &o, shift, shape, contiguous, &u[i], &v[i], &places[i / LANES]);
        }
    for
        EACH_VECTOR(i, n) {
            const struct texel_offsets *const at = &places[i / LANES];
            if (!contiguous) {
                load_paged(&j, at, n - i < LANES ? n - i : LANES, &pairs);
            } else if (at->neighbours) {
                pairs = load_contiguous(memory, shift, at, true);
            } else if (shift != G4_BYTES_SHIFT || !load_columns(memory, at, &pairs)) {
                pairs = load_contiguous(memory, shift, at, false);
            }
            filter(j.out, i, &pairs, &weights[i / LANES]);
        }
}

static void run_four(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    const enum wrap_shape shape = common_shape(job);
    if (!job->contiguous_base) {
        run_shape(job, G4_BYTES_SHIFT, ANY, false, u, v, n);
    } else if (shape == WRAP_POWER) {
        run_shape(job, G4_BYTES_SHIFT, WRAP_POWER, true, u, v, n);
    } else if (shape == CLAMP) {
        run_shape(job, G4_BYTES_SHIFT, CLAMP, true, u, v, n);
    } else {
        run_shape(job, G4_BYTES_SHIFT, ANY, true, u, v, n);
    }
}

static void run(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    switch (job->texture->bits) {
    case 8:
        run_shape(job, 0, ANY, true, u, v, n);
        break;
    case 16:
        run_shape(job, 1, ANY, true, u, v, n);
        break;
    default:
        run_four(job, u, v, n);
        break;
    }
}

/* ---- one texel ---- */

#ifndef G4_LANES_WIDE
INLINE vu load_vector(const uint8_t *memory, uint32_t shift, vu offset) {
    uint32_t at[LANES];
    __m128i half[2];

    store(at, (vi)offset);
    for (int k = 0; k < 2; k++) {
        __m128i texels = _mm_cvtsi32_si128(load_small(memory + at[4 * k], shift));
        texels = _mm_insert_epi32(texels, load_small(memory + at[4 * k + 1], shift), 1);
        texels = _mm_insert_epi32(texels, load_small(memory + at[4 * k + 2], shift), 2);
        half[k] = _mm_insert_epi32(texels, load_small(memory + at[4 * k + 3], shift), 3);
    }
    return (vu)_mm256_inserti128_si256(_mm256_castsi128_si256(half[0]), half[1], 1);
}
#endif

/* Mostly, lookups walk along two lines of the image, the pixels of a subspan's rows.  Where the texels of each line are
 * within one vector from that of the first pixel on, both vectors are loaded and their texels permuted, which takes a
 * third of a gather's time.  False: they are not. */
INLINE bool load_lines(const uint8_t *memory, uint32_t shift, vu offset, vu *texel) {
    enum {
        WITHIN = (int)(LANES * sizeof(uint32_t)),
        IN_PAGE = G4_PAGE_SIZE - WITHIN,
    };
#ifdef G4_LANES_WIDE
    const __m512i of_lower = _mm512_setr_epi32(0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2);
    const vu from = offset - (vu)_mm512_permutexvar_epi32(of_lower, (__m512i)offset);
    const bool near = _mm512_cmplt_epu32_mask((__m512i)from, _mm512_set1_epi32(WITHIN)) == UINT16_MAX;
    const __m128i first = _mm512_castsi512_si128((__m512i)offset);
#else
    const __m256i of_lower = _mm256_setr_epi32(0, 0, 2, 2, 0, 0, 2, 2);
    const vu from = offset - (vu)_mm256_permutevar8x32_epi32((__m256i)offset, of_lower);
    const bool near = _mm256_testz_si256((__m256i)from, _mm256_set1_epi32(~(WITHIN - 1)));
    const __m128i first = _mm256_castsi256_si128((__m256i)offset);
#endif
    const uint8_t *const upper = memory + (uint32_t)_mm_cvtsi128_si32(first);
    const uint8_t *const lower = memory + (uint32_t)_mm_extract_epi32(first, 2);
    /* no byte beyond the page of a texel is read */
    if (!near || ((uintptr_t)upper & G4_PAGE_OFFSET) > IN_PAGE || ((uintptr_t)lower & G4_PAGE_OFFSET) > IN_PAGE) {
        return false;
    }
#ifdef G4_LANES_WIDE
    const __m512i index = _mm512_or_si512(_mm512_srli_epi32((__m512i)from, 2), _mm512_slli_epi32(of_lower, 3));
    const vu dwords = (vu)_mm512_permutex2var_epi32(_mm512_loadu_si512(upper), index, _mm512_loadu_si512(lower));
#else
    const __m256i index = _mm256_srli_epi32((__m256i)from, 2);
    const __m256i above = _mm256_loadu_si256((const __m256i *)(const void *)upper);
    const __m256i below = _mm256_loadu_si256((const __m256i *)(const void *)lower);
    const vu dwords = (vu)_mm256_blend_epi32(_mm256_permutevar8x32_epi32(above, index),
                                             _mm256_permutevar8x32_epi32(below, index), 0xcc);
#endif
    *texel = shift == G4_BYTES_SHIFT ? dwords : dwords >> ((from & vu_all(3)) << 3);
    return true;
}

/* Replaces addresses by texels. */
static void load_texels_paged(const struct g4_bilinear *job, uint32_t n, uint32_t *texel) {
    for (uint32_t k = 0; k < n; k++) {
        texel[k] = load_texel(job->port, job->base + texel[k]);
    }
}

INLINE void nearest_of_shape(const struct g4_bilinear *job, uint32_t shift, enum wrap_shape shape, bool round,
                             bool contiguous, const float *u, const float *v, uint32_t n) {
    const struct g4_bilinear j = *job;
    const struct layout l = layout_of(j.tiling);
    const struct offsets o = offsets_of(&j, &l, shift, shape);
    const uint8_t *const memory = memory_of(job, &l, shape, shift);
    vu offsets[G4_BATCH / LANES];

    /* Apart from loads and stores, so that constants of each loop stay in registers. */
    for
        EACH_VECTOR(i, n) {
            offsets[i / LANES] = nearest_offset(j.axis, &o, shift, shape, round, &u[i], &v[i]);
        }
    for
        EACH_VECTOR(i, n) {
            const vu offset = offsets[i / LANES];
            vu texel;
            if (contiguous) {
                if (!load_lines(memory, shift, offset, &texel)) {
                    texel = load_vector(memory, shift, offset);
                }
            } else {
                uint32_t at[LANES];
                store(at, (vi)offset);
                load_texels_paged(&j, n - i < LANES ? n - i : LANES, at);
                texel = vu_load(at);
            }
            for (uint32_t k = 0; k < G4_BYTES; k++) {
                if (j.out[k]) {
                    const char at = (char)k;
                    const char none = -1;
                    const __m128i byte =
                        _mm_setr_epi8(at, none, none, none, (char)(at + 4), none, none, none, (char)(at + 8), none,
                                      none, none, (char)(at + 12), none, none, none);
                    store(&j.out[k][i], (vi)unorm8_decode(shuffle_bytes(texel, part_all(byte))));
                }
            }
        }
}

INLINE void nearest_of_size(const struct g4_bilinear *job, uint32_t shift, const float *u, const float *v, uint32_t n) {
    const enum wrap_shape shape = common_shape(job);
    const bool round = job->axis[0].round;
    const bool alike = round == job->axis[1].round;

    if (shape == WRAP_POWER && alike && round) {
        nearest_of_shape(job, shift, WRAP_POWER, true, true, u, v, n);
    } else if (shape == WRAP_POWER && alike) {
        nearest_of_shape(job, shift, WRAP_POWER, false, true, u, v, n);
    } else if (shape == CLAMP && alike && !round) {
        nearest_of_shape(job, shift, CLAMP, false, true, u, v, n);
    } else {
        nearest_of_shape(job, shift, ANY, false, true, u, v, n);
    }
}

static void nearest(const struct g4_bilinear *job, const float *u, const float *v, uint32_t n) {
    const uint32_t bits = job->texture->bits;
    if (!job->contiguous_base) {
        nearest_of_shape(job, G4_BYTES_SHIFT, ANY, false, false, u, v, n);
    } else if (bits == 8) {
        nearest_of_size(job, 0, u, v, n);
    } else if (bits == 16) {
        nearest_of_size(job, 1, u, v, n);
    } else {
        nearest_of_size(job, G4_BYTES_SHIFT, u, v, n);
    }
}

const struct g4_bilinear_ops G4_V(g4_bilinear_ops) = {.run = run, .nearest = nearest};

#else

#include "sampler/bilinear.h"

const struct g4_bilinear_ops G4_V(g4_bilinear_ops) = {NULL, NULL}; /* none: the general path is used */

#endif
