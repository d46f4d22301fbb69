/*
 * Threads whose sixteen pixels are 8x2 adjacent ones, in targets of four 8-bit channels.  The results are those of
 * blend_store.c, computed in vectors of sixteen.
 */
#include "color/state.h"

#if G4_VARIANT_LEVEL > 1

#define G4_LANES_WIDE

#include "color/blend.h"

/* Orders of lanes: four pixels of each row, left and right, and back.  Lane 4 * s + p is pixel p of subspan s. */
#define SUBSPANS_OF_ROWS 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15
#define ROWS_OF_SUBSPANS 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15

/* A row has two pieces of 16 bytes each: columns of Y tiles. */
struct pieces {
    uint8_t *upper[2], *lower[2];
};

INLINE bool find_pieces(struct g4_target *target, struct g4_port *port, uint32_t x, uint32_t y, struct pieces *out) {
    const struct g4_pixel_map *const map = &target->map;
    uint8_t *row[2];
    if (!g4_pixel_map_rows(&target->map, port, x, y, 8, row)) {
        return false;
    }
    if (map->tiling != G4_TILING_Y) {
        *out = (struct pieces){{row[0], row[0] + 16}, {row[1], row[1] + 16}};
        return true;
    }
    enum {
        NEXT_COLUMN = 512
    };
    *out = (struct pieces){{row[0], row[0] + NEXT_COLUMN}, {row[1], row[1] + NEXT_COLUMN}};
    return (map->x0 + x + map->dx) * 4 % G4_PIXEL_MAP_COLUMN == 0;
}

/* Vectors are assembled in registers, because loading one that was stored in parts is slow. */
INLINE vu load_pieces(const struct pieces *at) {
    const __m128i *const part[4] = {
        (const __m128i *)(const void *)at->upper[0], (const __m128i *)(const void *)at->upper[1],
        (const __m128i *)(const void *)at->lower[0], (const __m128i *)(const void *)at->lower[1]};
    const __m256i upper =
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(part[0])), _mm_loadu_si128(part[1]), 1);
    const __m256i lower =
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(part[2])), _mm_loadu_si128(part[3]), 1);
    const vu rows = (vu)_mm512_inserti64x4(_mm512_castsi256_si512(upper), lower, 1);
    return __builtin_shufflevector(rows, rows, SUBSPANS_OF_ROWS);
}

INLINE void store_pieces(const struct pieces *at, vu pixels) {
    const vu rows = __builtin_shufflevector(pixels, pixels, ROWS_OF_SUBSPANS);
    memcpy(at->upper[0], &rows, 16);
    memcpy(at->upper[1], (const uint8_t *)&rows + 16, 16);
    memcpy(at->lower[0], (const uint8_t *)&rows + 32, 16);
    memcpy(at->lower[1], (const uint8_t *)&rows + 48, 16);
}

INLINE vf load_color(const float *color, uint32_t c) {
    const float *const high = color + (4 + c) * (size_t)G4_COLOR_STRIDE;
    const __m512 low = _mm512_castps256_ps512(_mm256_loadu_ps(color + c * (size_t)G4_COLOR_STRIDE));
    return vf_saturate((vf)_mm512_insertf32x8(low, _mm256_loadu_ps(high), 1));
}

/* Rounds to nearest, half up; slightly above 1 becomes 255. */
INLINE vu encode8(vf v) {
    return (vu)vi_truncate(v * vf_all(255) + vf_all(0.5f));
}

enum wide_blend_shape {
    REPLACE,
    BLEND,
    OVER, /* factors: source alpha and one minus source alpha, for color and alpha */
};

INLINE bool write_wide(struct g4_target *target, struct g4_port *port, uint32_t x, uint32_t y, uint32_t live,
                       const float *color, enum wide_blend_shape shape) {
    struct pieces pieces;
    struct blend_inputs in;
    const bool all = live == 0xffff;
    vu old = vu_all(0);
    vu new = vu_all(0);

    if (!find_pieces(target, port, x, y, &pieces)) {
        return false;
    }
    if (shape != REPLACE || !all) {
        old = load_pieces(&pieces);
    }
    for (uint32_t c = 0; c < 4; c++) {
        in.source[c] = load_color(color, c);
        if (shape != REPLACE) {
            in.destination[c] = unorm8_decode(old >> target->channel[c].shift & vu_all(255));
        }
        if (shape == BLEND) {
            in.source1[c] = in.source[c];
            in.constant[c] = vf_all(target->constant[c]);
        }
    }
    for (uint32_t c = 0; c < 4; c++) {
        vf v = in.source[c];
        if (shape == BLEND) {
            v = vf_saturate(blend_channel(target, &in, c));
        } else if (shape == OVER) {
            v = v * in.source[3] + in.destination[c] * complement(in.source[3]);
        }
        new |= encode8(v) << target->channel[c].shift;
    }
    if (!all) {
        new = (vu)_mm512_mask_mov_epi32((__m512i)old, (__mmask16)live, (__m512i) new);
    }
    store_pieces(&pieces, new);
    return true;
}

#define WRITE(name, shape)                                                                                             \
    static bool name(struct g4_target *target, struct g4_port *port, uint32_t x, uint32_t y, uint32_t live,            \
                     const float *color) {                                                                             \
        return write_wide(target, port, x, y, live, color, shape);                                                     \
    }

WRITE(write_replace, REPLACE)
WRITE(write_blend, BLEND)
WRITE(write_over, OVER)

const struct g4_wide_ops G4_V(g4_wide_ops) = {.replace = write_replace, .blend = write_blend, .over = write_over};

#else

const struct g4_wide_ops G4_V(g4_wide_ops) = {NULL, NULL, NULL};

#endif
