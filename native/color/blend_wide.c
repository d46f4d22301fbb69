/*
 * Writes to targets of four 8-bit channels, all threads of a message at once.  The results are those of blend_store.c,
 * computed in vectors of sixteen, or two of eight.  Threads whose pixels are 8x2 adjacent ones have four pieces of
 * memory, others two for each subspan.
 */
#include "color/state.h"

#if G4_VARIANT_LEVEL > 0

#if G4_VARIANT_LEVEL > 1
#define G4_LANES_WIDE
#endif

#include "color/blend.h"

enum {
    PIXELS = 16,            /* of a thread */
    BYTES = 4,              /* of a pixel */
    ROW_PIXELS = 8,         /* of a thread */
    PIECE = 16,             /* bytes: four pixels of a row, half of a thread's */
    HALVES = PIXELS / LANES /* vectors of a thread */
};

enum {
    NEXT_COLUMN = 512, /* bytes between the columns of a Y tile */
};

/* A row has two pieces of 16 bytes each, in Y tiles in two columns. */
struct pieces {
    uint8_t *upper, *lower; /* the left pieces of the two rows */
    size_t step;            /* bytes from a piece to the next */
    uint32_t x, y;
    uint32_t adjacent; /* pixels to the right that are in the image and in the same tile */
};

/* Finds the pieces of a thread to the right of another one.  False: they may be in another tile or outside. */
INLINE bool step_right(uint32_t x, uint32_t y, struct pieces *at) {
    if (at->adjacent < ROW_PIXELS || x != at->x + ROW_PIXELS || y != at->y) {
        return false;
    }
    at->x = x;
    at->adjacent -= ROW_PIXELS;
    at->upper += 2 * at->step;
    at->lower += 2 * at->step;
    return true;
}

/* Whether the pieces of a row, or in columns those of both rows, follow each other in memory: store_pair() needs that.
 */
INLINE bool are_joined(const struct pieces *at) {
    return at->step == PIECE || at->lower == at->upper + PIECE;
}

INLINE uint32_t adjacent_pixels(const struct g4_pixel_map *map, uint32_t x) {
    if (map->tiling == G4_TILING_LINEAR) {
        return 0;
    }
    const uint32_t width = g4_tile_width(map->tiling) / BYTES;
    const uint32_t in_tile = width - (map->x0 + x + map->dx) % width;
    const uint32_t in_image = map->width - (x + map->dx);
    return (in_tile < in_image ? in_tile : in_image) - ROW_PIXELS;
}

/* `out` has the pieces of the previous thread. */
INLINE bool find_pieces(struct g4_target *target, struct g4_port *port, uint32_t x, uint32_t y, struct pieces *out) {
    const struct g4_pixel_map *const map = &target->map;
    const size_t step = map->tiling == G4_TILING_Y ? NEXT_COLUMN : PIECE;
    uint8_t *row[2];
    if (step_right(x, y, out)) {
        return true;
    }
    if (!g4_pixel_map_rows(&target->map, port, x, y, ROW_PIXELS, row)) {
        return false;
    }
    *out = (struct pieces){row[0], row[1], step, x, y, adjacent_pixels(map, x)};
    return true;
}

/* Whether the two pieces of a row are whole columns of a Y tile. */
INLINE bool has_two_pieces(const struct g4_pixel_map *map, uint32_t x) {
    return map->tiling != G4_TILING_Y || (map->x0 + x + map->dx) * BYTES % G4_PIXEL_MAP_COLUMN == 0;
}

/* The colors of a thread. */
struct colors {
    const float *channel[4];
    size_t half; /* floats from one half of the pixels to the next */
};

INLINE struct colors colors_of(const struct g4_wide_message *message, uint32_t thread) {
    struct colors colors = {.half = message->half};
    for (uint32_t c = 0; c < 4; c++) {
        colors.channel[c] = message->color[c] + (size_t)8 * thread;
    }
    return colors;
}

/* Vectors are assembled in registers, because loading one that was stored in parts is slow.  Lane 4 * s + p is pixel p
 * of subspan s; in memory, the upper pixels of subspans come before the lower ones. */
INLINE __m256i load_4x2(const uint8_t *upper, const uint8_t *lower) {
    const __m128i top = _mm_loadu_si128((const __m128i *)(const void *)upper);
    const __m128i bottom = _mm_loadu_si128((const __m128i *)(const void *)lower);
    const __m256i rows = _mm256_inserti128_si256(_mm256_castsi128_si256(top), bottom, 1);
    return _mm256_permute4x64_epi64(rows, _MM_SHUFFLE(3, 1, 2, 0));
}

INLINE void store_4x2(uint8_t *upper, uint8_t *lower, __m256i pixels) {
    const __m256i rows = _mm256_permute4x64_epi64(pixels, _MM_SHUFFLE(3, 1, 2, 0));
    _mm_storeu_si128((__m128i *)(void *)upper, _mm256_castsi256_si128(rows));
    _mm_storeu_si128((__m128i *)(void *)lower, _mm256_extracti128_si256(rows, 1));
}

#ifdef G4_LANES_WIDE

INLINE vu load_pieces(const struct pieces *at, uint32_t half) {
    (void)half;
    return (vu)_mm512_inserti64x4(_mm512_castsi256_si512(load_4x2(at->upper, at->lower)),
                                  load_4x2(at->upper + at->step, at->lower + at->step), 1);
}

INLINE void store_pieces(const struct pieces *at, uint32_t half, vu pixels) {
    (void)half;
    store_4x2(at->upper, at->lower, _mm512_castsi512_si256((__m512i)pixels));
    store_4x2(at->upper + at->step, at->lower + at->step, _mm512_extracti64x4_epi64((__m512i)pixels, 1));
}

INLINE vf load_color(const struct colors *colors, uint32_t half, uint32_t c) {
    (void)half;
    const float *const first = colors->channel[c];
    const __m512 low = _mm512_castps256_ps512(_mm256_loadu_ps(first));
    return (vf)_mm512_insertf32x8(low, _mm256_loadu_ps(first + colors->half), 1);
}

INLINE vu choose_lit(uint32_t lit, vu new, vu old) {
    return (vu)_mm512_mask_mov_epi32((__m512i)old, (__mmask16)lit, (__m512i) new);
}

#else

INLINE vu load_pieces(const struct pieces *at, uint32_t half) {
    return (vu)load_4x2(at->upper + half * at->step, at->lower + half * at->step);
}

INLINE void store_pieces(const struct pieces *at, uint32_t half, vu pixels) {
    store_4x2(at->upper + half * at->step, at->lower + half * at->step, (__m256i)pixels);
}

INLINE vf load_color(const struct colors *colors, uint32_t half, uint32_t c) {
    return vf_load(colors->channel[c] + half * colors->half);
}

INLINE vu choose_lit(uint32_t lit, vu new, vu old) {
    return vu_select(vi_mask(lit), new, old);
}

#endif

/* Rounds to nearest, half up.  NaN, and numbers out of range, become INT32_MIN. */
INLINE vi encode8(vf v) {
    v = v * vf_all(255) + vf_all(0.5f);
#ifdef G4_LANES_WIDE
    return (vi)_mm512_cvttps_epi32((__m512)v);
#else
    return (vi)_mm256_cvttps_epi32((__m256)v);
#endif
}

/* At most 1; NaN stays. */
INLINE vf at_most_1(vf v) {
#ifdef G4_LANES_WIDE
    return (vf)_mm512_min_ps(_mm512_set1_ps(1), (__m512)v);
#else
    return (vf)_mm256_min_ps(_mm256_set1_ps(1), (__m256)v);
#endif
}

/* The bytes of pixels.  Integers below 0 become 0, those above 255 become 255. */
INLINE vu pack_pixels(const vi channel[4], const uint32_t byte[4]) {
    const __m128i transposed = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    vi ordered[4];
    for (uint32_t c = 0; c < 4; c++) {
        ordered[byte[c]] = channel[c];
    }
#ifdef G4_LANES_WIDE
    const __m512i low = _mm512_packs_epi32((__m512i)ordered[0], (__m512i)ordered[1]);
    const __m512i high = _mm512_packs_epi32((__m512i)ordered[2], (__m512i)ordered[3]);
    return (vu)_mm512_shuffle_epi8(_mm512_packus_epi16(low, high), _mm512_broadcast_i32x4(transposed));
#else
    const __m256i low = _mm256_packs_epi32((__m256i)ordered[0], (__m256i)ordered[1]);
    const __m256i high = _mm256_packs_epi32((__m256i)ordered[2], (__m256i)ordered[3]);
    return (vu)_mm256_shuffle_epi8(_mm256_packus_epi16(low, high), _mm256_broadcastsi128_si256(transposed));
#endif
}

INLINE vu clamp8(vu v) {
    return vu_select((vi)(v > vu_all(255)), vu_all(255), v);
}

enum wide_blend_shape {
    REPLACE,
    BLEND,
    OVER,  /* factors: source alpha and one minus source alpha, for color and alpha */
    UINTS, /* integers instead of floats */
};

INLINE bool reads(enum wide_blend_shape shape) {
    return shape == BLEND || shape == OVER;
}

/* The new pixels of one vector: `byte` is the position of each channel in a pixel. */
INLINE vu new_pixels(const struct g4_target *target, vu old, const vf color[4], const uint32_t byte[4],
                     enum wide_blend_shape shape) {
    struct blend_inputs in;
    vi channel[4];

    if (shape == UINTS) {
        vu new = vu_all(0);
        for (uint32_t c = 0; c < 4; c++) {
            new |= clamp8((vu)color[c]) << (8 * byte[c]);
        }
        return new;
    }
    for (uint32_t c = 0; c < 4; c++) {
        if (shape == REPLACE) {
            channel[c] = encode8(at_most_1(color[c]));
            continue;
        }
        in.source[c] = vf_saturate(color[c]);
        in.destination[c] = unorm8_decode(old >> (8 * byte[c]) & vu_all(255));
        if (shape == BLEND) {
            in.source1[c] = in.source[c];
            in.constant[c] = vf_all(target->constant[c]);
        }
    }
    for (uint32_t c = 0; c < 4 && shape != REPLACE; c++) {
        channel[c] =
            encode8(shape == BLEND ? vf_saturate(blend_channel(target, &in, c))
                                   : in.source[c] * in.source[3] + in.destination[c] * complement(in.source[3]));
    }
    return pack_pixels(channel, byte);
}

/* The new pixels of one vector of a thread. */
INLINE vu new_pixels_of(const struct g4_target *target, vu old, uint32_t half, const struct colors *colors,
                        const uint32_t byte[4], enum wide_blend_shape shape) {
    vf color[4];
    for (uint32_t c = 0; c < 4; c++) {
        color[c] = load_color(colors, half, c);
    }
    return new_pixels(target, old, color, byte, shape);
}

/* ---- threads that are a row ---- */

INLINE void write_vector(const struct g4_target *target, const struct pieces *pieces, uint32_t half, uint32_t lit,
                         const struct colors *colors, const uint32_t byte[4], enum wide_blend_shape shape) {
    const bool all = lit == (1u << LANES) - 1;
    vu old = vu_all(0);

    if (reads(shape) || !all) {
        old = load_pieces(pieces, half);
    }
    const vu new = new_pixels_of(target, old, half, colors, byte, shape);
    store_pieces(pieces, half, all ? new : choose_lit(lit, new, old));
}

/* ---- two threads that are neighbours in a row, and lit completely ---- */

#ifdef G4_LANES_WIDE

/* Whether thread t and the next one are such threads, and write_pair() can store their pixels. */
INLINE bool is_pair(const struct g4_wide_message *message, uint32_t left, uint32_t t, const struct pieces *at) {
    return (left & message->rows) >> t >> 1 & 1 && (message->live[t] & message->live[t + 1]) == UINT16_MAX &&
           message->half && at->adjacent >= ROW_PIXELS && message->x[t + 1][0] == message->x[t][0] + ROW_PIXELS &&
           message->y[t + 1][0] == message->y[t][0] && are_joined(at);
}

/* The pixels of a pair: the first half of those of both threads, then the second. */
struct pixel_pair {
    __m512i first, second;
};

/* The indices say where the dwords of the upper and of the lower row are in a pair, and the other way round. */
#define UPPER_ROW  _mm512_setr_epi32(0, 1, 4, 5, 16, 17, 20, 21, 8, 9, 12, 13, 24, 25, 28, 29)
#define LOWER_ROW  _mm512_setr_epi32(2, 3, 6, 7, 18, 19, 22, 23, 10, 11, 14, 15, 26, 27, 30, 31)
#define FIRST_HALF _mm512_setr_epi32(0, 1, 16, 17, 2, 3, 18, 19, 8, 9, 24, 25, 10, 11, 26, 27)
#define OTHER_HALF _mm512_setr_epi32(4, 5, 20, 21, 6, 7, 22, 23, 12, 13, 28, 29, 14, 15, 30, 31)

INLINE __m512i load_columns(const uint8_t *left, const uint8_t *right) {
    const __m512i columns = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)left));
    const __m256i other = _mm256_loadu_si256((const __m256i *)(const void *)right);
    return _mm512_permutex_epi64(_mm512_inserti64x4(columns, other, 1), _MM_SHUFFLE(3, 1, 2, 0));
}

INLINE void store_columns(uint8_t *left, uint8_t *right, __m512i pixels) {
    const __m512i columns = _mm512_permutex_epi64(pixels, _MM_SHUFFLE(3, 1, 2, 0));
    _mm256_storeu_si256((__m256i *)(void *)left, _mm512_castsi512_si256(columns));
    _mm256_storeu_si256((__m256i *)(void *)right, _mm512_extracti64x4_epi64(columns, 1));
}

INLINE struct pixel_pair load_pair(const struct pieces *at) {
    if (at->step == PIECE) { /* rows of sixteen pixels */
        const __m512i upper = _mm512_loadu_si512(at->upper);
        const __m512i lower = _mm512_loadu_si512(at->lower);
        return (struct pixel_pair){_mm512_permutex2var_epi32(upper, FIRST_HALF, lower),
                                   _mm512_permutex2var_epi32(upper, OTHER_HALF, lower)};
    }
    return (struct pixel_pair){load_columns(at->upper, at->upper + 2 * at->step),
                               load_columns(at->upper + at->step, at->upper + 3 * at->step)};
}

INLINE void store_pair(const struct pieces *at, struct pixel_pair pixels) {
    if (at->step == PIECE) {
        _mm512_storeu_si512(at->upper, _mm512_permutex2var_epi32(pixels.first, UPPER_ROW, pixels.second));
        _mm512_storeu_si512(at->lower, _mm512_permutex2var_epi32(pixels.first, LOWER_ROW, pixels.second));
        return;
    }
    store_columns(at->upper, at->upper + 2 * at->step, pixels.first);
    store_columns(at->upper + at->step, at->upper + 3 * at->step, pixels.second);
}

INLINE void write_pair(const struct g4_target *target, const struct pieces *at, const struct colors *colors,
                       const uint32_t byte[4], enum wide_blend_shape shape) {
    struct pixel_pair pixels = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    vf first[4];
    vf second[4];

    if (reads(shape)) {
        pixels = load_pair(at);
    }
    for (uint32_t c = 0; c < 4; c++) {
        first[c] = vf_load(colors->channel[c]);
        second[c] = vf_load(colors->channel[c] + colors->half);
    }
    pixels.first = (__m512i)new_pixels(target, (vu)pixels.first, first, byte, shape);
    pixels.second = (__m512i)new_pixels(target, (vu)pixels.second, second, byte, shape);
    store_pair(at, pixels);
}

#endif

/* ---- gangs of two whole rows ---- */

enum {
    ROW_THREADS = 4,
};

/* Writes the pixels of four threads side by side, from thread t on. */
INLINE void write_row(const struct g4_target *target, const struct pieces *first, uint32_t t,
                      const struct g4_wide_message *message, const uint32_t byte[4], enum wide_blend_shape shape) {
    struct pieces at = *first;
#ifdef G4_LANES_WIDE
    for (uint32_t i = 0; i < ROW_THREADS; i += 2, at.upper += 4 * at.step, at.lower += 4 * at.step) {
        const struct colors colors = colors_of(message, t + i);
        write_pair(target, &at, &colors, byte, shape);
    }
#else
    for (uint32_t i = 0; i < ROW_THREADS; i++, at.upper += 2 * at.step, at.lower += 2 * at.step) {
        const struct colors colors = colors_of(message, t + i);
        for (uint32_t half = 0; half < HALVES; half++) {
            write_vector(target, &at, half, (1u << LANES) - 1, &colors, byte, shape);
        }
    }
#endif
}

/* Writes rows that are in one tile each.  Returns the threads that are left. */
INLINE uint32_t write_whole_rows(struct g4_target *target, struct g4_port *port, const struct g4_wide_message *message,
                                 const uint32_t byte[4], enum wide_blend_shape shape) {
    const uint32_t x = message->x[0][0];
    uint32_t left = message->threads;

    while (left && has_two_pieces(&target->map, x)) {
        const uint32_t t = (uint32_t)__builtin_ctz(left);
        struct pieces at = {.adjacent = 0};
        if (!find_pieces(target, port, x, message->y[t][0], &at) || at.adjacent < (ROW_THREADS - 1) * ROW_PIXELS ||
            !are_joined(&at)) {
            break;
        }
        write_row(target, &at, t, message, byte, shape);
        left &= ~(((1u << ROW_THREADS) - 1) << t);
    }
    return left;
}

/* ---- threads of other subspans ---- */

enum {
    SUBSPANS = LANES / 4, /* of a vector */
};

/* Whether subspan s is in the image and in the same tile as the one before it, to its right. */
INLINE bool is_next(const struct g4_pixel_map *map, const uint16_t x[4], const uint16_t y[4], uint32_t s) {
    const uint32_t sx = x[s] + map->dx;
    return s && x[s] == x[s - 1] + 2 && y[s] == y[s - 1] && map->tiling != G4_TILING_LINEAR && !map->line_shift &&
           (map->x0 + sx) * BYTES % g4_tile_width(map->tiling) != 0 && sx <= map->width - 2;
}

/* The rows of a thread's subspans; those that are not lit have none. */
static __attribute__((noinline)) bool find_subspans(struct g4_target *target, struct g4_port *port, const uint16_t x[4],
                                                    const uint16_t y[4], uint32_t live, uint8_t *row[8]) {
    const struct g4_pixel_map *const map = &target->map;

    for (uint32_t s = 0; s < 4; s++) {
        if (is_next(map, x, y, s) && (live >> (4 * s) & 15) && (live >> (4 * s - 4) & 15)) {
            const bool column = map->tiling == G4_TILING_Y && (map->x0 + x[s] + map->dx) * BYTES % PIECE == 0;
            row[2 * s] = row[2 * s - 2] + (column ? NEXT_COLUMN - PIECE / 2 : PIECE / 2);
            row[2 * s + 1] = row[2 * s - 1] + (column ? NEXT_COLUMN - PIECE / 2 : PIECE / 2);
            continue;
        }
        if ((live >> (4 * s) & 15) && !g4_pixel_map_subspan(&target->map, port, x[s], y[s], &row[2 * s])) {
            return false;
        }
    }
    return true;
}

/* Loads and stores only subspans that are lit.  The two rows of one are the halves of 16 bytes. */
INLINE vu load_subspans(uint8_t *const row[8], uint32_t lit) {
    __m128i part[SUBSPANS];
    for (uint32_t s = 0; s < SUBSPANS; s++) {
        part[s] = _mm_setzero_si128();
        if (lit >> (4 * s) & 15) {
            const __m128d upper = _mm_load_sd((const double *)(const void *)row[2 * s]);
            part[s] = _mm_castpd_si128(_mm_loadh_pd(upper, (const double *)(const void *)row[2 * s + 1]));
        }
    }
#ifdef G4_LANES_WIDE
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(part[0]), part[1], 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(part[2]), part[3], 1);
    return (vu)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#else
    return (vu)_mm256_inserti128_si256(_mm256_castsi128_si256(part[0]), part[1], 1);
#endif
}

INLINE void store_subspans(uint8_t *const row[8], uint32_t lit, vu pixels) {
    uint8_t bytes[4 * LANES];
    memcpy(bytes, &pixels, sizeof bytes);
    for (uint32_t s = 0; s < SUBSPANS; s++) {
        if (lit >> (4 * s) & 15) {
            memcpy(row[2 * s], bytes + (size_t)16 * s, 8);
            memcpy(row[2 * s + 1], bytes + (size_t)16 * s + 8, 8);
        }
    }
}

INLINE void write_subspans(const struct g4_target *target, uint8_t *const row[8], uint32_t half, uint32_t lit,
                           const struct colors *colors, const uint32_t byte[4], enum wide_blend_shape shape) {
    const bool all = lit == (1u << LANES) - 1;
    vu old = vu_all(0);

    if (reads(shape) || !all) {
        old = load_subspans(row, lit);
    }
    const vu new = new_pixels_of(target, old, half, colors, byte, shape);
    store_subspans(row, lit, all ? new : choose_lit(lit, new, old));
}

/* ---- the threads of a message ---- */

INLINE uint32_t write_threads(struct g4_target *target, struct g4_port *port, const struct g4_wide_message *message,
                              const uint32_t byte[4], enum wide_blend_shape shape) {
    uint32_t left = message->is_whole ? write_whole_rows(target, port, message, byte, shape) : message->threads;
    struct pieces pieces = {.adjacent = 0};

    for (; left; left &= left - 1) {
        const uint32_t t = (uint32_t)__builtin_ctz(left);
        const struct colors colors = colors_of(message, t);
        const uint32_t live = message->live[t];
        if ((message->rows >> t & 1) && has_two_pieces(&target->map, message->x[t][0])) {
            if (!find_pieces(target, port, message->x[t][0], message->y[t][0], &pieces)) {
                break;
            }
#ifdef G4_LANES_WIDE
            if (is_pair(message, left, t, &pieces)) {
                write_pair(target, &pieces, &colors, byte, shape);
                left &= left - 1;
                (void)step_right(message->x[t + 1][0], message->y[t + 1][0], &pieces);
                continue;
            }
#endif
            for (uint32_t half = 0; half < HALVES; half++) {
                const uint32_t lit = live >> (LANES * half) & ((1u << LANES) - 1);
                if (lit) {
                    write_vector(target, &pieces, half, lit, &colors, byte, shape);
                }
            }
            continue;
        }
        uint8_t *row[8];
        uint16_t x[4];
        uint16_t y[4];
        for (uint16_t s = 0; s < 4; s++) { /* a row has the place of its first subspan only */
            x[s] = message->rows >> t & 1 ? (uint16_t)(message->x[t][0] + 2 * s) : message->x[t][s];
            y[s] = message->rows >> t & 1 ? message->y[t][0] : message->y[t][s];
        }
        if (!find_subspans(target, port, x, y, live, row)) {
            break;
        }
        for (uint32_t half = 0; half < HALVES; half++) {
            const uint32_t lit = live >> (LANES * half) & ((1u << LANES) - 1);
            if (lit) {
                write_subspans(target, row + (size_t)2 * SUBSPANS * half, half, lit, &colors, byte, shape);
            }
        }
    }
    return left;
}

/* The orders of channels that clients use, with constants for their shifts. */
INLINE uint32_t write_wide(struct g4_target *target, struct g4_port *port, const struct g4_wide_message *message,
                           enum wide_blend_shape shape) {
    static const uint32_t rgba[4] = {0, 1, 2, 3};
    static const uint32_t bgra[4] = {2, 1, 0, 3};
    return target->channel[0].shift ? write_threads(target, port, message, bgra, shape)
                                    : write_threads(target, port, message, rgba, shape);
}

#define WRITE(name, shape)                                                                                             \
    static uint32_t name(struct g4_target *target, struct g4_port *port, const struct g4_wide_message *message) {      \
        return write_wide(target, port, message, shape);                                                               \
    }

WRITE(write_replace, REPLACE)
WRITE(write_blend, BLEND)
WRITE(write_over, OVER)
WRITE(write_uints, UINTS)

const struct g4_wide_ops G4_V(g4_wide_ops) = {
    .replace = write_replace, .blend = write_blend, .over = write_over, .uints = write_uints};

#else

const struct g4_wide_ops G4_V(g4_wide_ops) = {NULL, NULL, NULL, NULL};

#endif
