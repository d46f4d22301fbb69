/* The address of a byte of a surface: linear, X, Y and W tiling and the bit-6 swizzle.
 *
 * The formulas are here, once, inline, for the units that address single texels; tiling.c copies rectangles.
 * Coordinates are in bytes and rows.  Stencil buffers of Gen6 and later are W tiled; Gen4 has no such surfaces.
 */
#ifndef G4_TILING_H
#define G4_TILING_H
#include "api/tiling.h"

static inline uint32_t g4_tile_width(uint32_t tiling) {
    return tiling == G4_TILING_X   ? G4_TILE_X_WIDTH
           : tiling == G4_TILING_Y ? G4_TILE_Y_WIDTH
           : tiling == G4_TILING_W ? G4_TILE_W_WIDTH
                                   : 1;
}

static inline uint32_t g4_tile_height(uint32_t tiling) {
    return tiling == G4_TILING_X   ? G4_TILE_X_HEIGHT
           : tiling == G4_TILING_Y ? G4_TILE_Y_HEIGHT
           : tiling == G4_TILING_W ? G4_TILE_W_HEIGHT
                                   : 1;
}

/* Inside of a tile; x and y are taken modulo the tile's size. */
static inline uint32_t g4_tile_x_offset(uint32_t x, uint32_t y) {
    return (y & 7u) << 9 | (x & 511u);
}

static inline uint32_t g4_tile_y_offset(uint32_t x, uint32_t y) {
    return (x & 0x70u) << 5 | (y & 31u) << 4 | (x & 15u);
}

static inline uint32_t g4_tile_w_offset(uint32_t x, uint32_t y) {
    return (x & 0x38u) << 6 | (y & 0x38u) << 3 | (y & 4u) << 3 | (x & 4u) << 2 | (y & 2u) << 2 | (x & 2u) << 1 |
           (y & 1u) << 1 | (x & 1u);
}

/* From the start of the surface.  64 bits: no pitch and no row that fit their fields overflow. */
static inline uint64_t g4_surface_offset(uint32_t tiling, uint32_t pitch_bytes, uint32_t x, uint32_t y) {
    const uint64_t pitch = pitch_bytes;
    switch (tiling) {
    case G4_TILING_X:
        return (y >> 3) * pitch * 8 + ((uint64_t)(x >> 9) << 12) + g4_tile_x_offset(x, y);
    case G4_TILING_Y:
        return (y >> 5) * pitch * 32 + ((uint64_t)(x >> 7) << 12) + g4_tile_y_offset(x, y);
    case G4_TILING_W:
        return (y >> 6) * pitch * 64 + ((uint64_t)(x >> 6) << 12) + g4_tile_w_offset(x, y);
    default:
        return y * pitch + x;
    }
}

/* Bit n: what a swizzle XORs into address bit 6 where address bits 11:9 are n.  `physical` gives bit 17. */
static inline uint32_t g4_swizzle_flips(uint32_t swizzle, uint64_t physical) {
    static const uint8_t by_bits_11_9[G4_SWIZZLE_COUNT] = {
        [G4_SWIZZLE_9] = 0xAA,       [G4_SWIZZLE_9_10] = 0x66, [G4_SWIZZLE_9_11] = 0x5A,
        [G4_SWIZZLE_9_10_11] = 0x96, [G4_SWIZZLE_9_17] = 0xAA, [G4_SWIZZLE_9_10_17] = 0x66,
    };
    const bool uses_bit_17 = swizzle == G4_SWIZZLE_9_17 || swizzle == G4_SWIZZLE_9_10_17;
    const uint32_t flips = swizzle < G4_SWIZZLE_COUNT ? by_bits_11_9[swizzle] : 0;
    return uses_bit_17 && (physical >> 17 & 1u) ? flips ^ 0xFFu : flips;
}

#endif
