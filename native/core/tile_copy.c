/* Copies between one tile and rows of pixels (tile_copy.h).
 *
 * Both directions are one loop: `to_tile` is a constant where these functions are inlined.
 */
#include "core/tile_copy.h"

#include <string.h>

#include "core/tiling.h"
#include "core/variant.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    SWIZZLED_BIT = 64,
    COLUMN = 16, /* bytes across a column of a Y tile */
};

INLINE uint32_t flip(uint32_t flips, uint32_t offset) {
    return (flips >> (offset >> 9) & 1u) * SWIZZLED_BIT;
}

INLINE uint32_t lesser(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

INLINE void move(bool to_tile, uint8_t *tile, uint8_t *linear, size_t size) {
    if (to_tile) {
        memcpy(tile, linear, size);
    } else {
        memcpy(linear, tile, size);
    }
}

INLINE void copy_x(bool to_tile, uint8_t *tile, uint8_t *linear, size_t pitch, const struct g4_tile_box *box,
                   uint32_t flips) {
    for (uint32_t y = box->y0; y < box->y1; y++, linear += pitch) {
        const uint32_t row = y * G4_TILE_X_WIDTH;
        const uint32_t flipped = flip(flips, row);
        const uint32_t run = flipped ? SWIZZLED_BIT : G4_TILE_X_WIDTH; /* bytes that stay together */
        for (uint32_t x = box->x0; x < box->x1;) {
            const uint32_t end = lesser((x | (run - 1)) + 1, box->x1);
            move(to_tile, tile + ((row + x) ^ flipped), linear + (x - box->x0), end - x);
            x = end;
        }
    }
}

/* The bytes x0..x1 of one row, all of one column. */
INLINE void copy_y_piece(bool to_tile, uint8_t *tile, uint8_t *linear, uint32_t x0, uint32_t x1, uint32_t y,
                         uint32_t flips) {
    const uint32_t offset = (x0 / COLUMN) * G4_TILE_Y_HEIGHT * COLUMN + y * COLUMN + x0 % COLUMN;
    move(to_tile, tile + (offset ^ flip(flips, offset)), linear, x1 - x0);
}

INLINE void copy_y(bool to_tile, uint8_t *tile, uint8_t *linear, size_t pitch, const struct g4_tile_box *box,
                   uint32_t flips) {
    const uint32_t first = lesser((box->x0 + COLUMN - 1) / COLUMN * COLUMN, box->x1); /* whole columns start here */
    const uint32_t last = first > box->x1 / COLUMN * COLUMN ? first : box->x1 / COLUMN * COLUMN;
    for (uint32_t y = box->y0; y < box->y1; y++, linear += pitch) {
        if (box->x0 < first) {
            copy_y_piece(to_tile, tile, linear, box->x0, first, y, flips);
        }
        for (uint32_t x = first; x < last; x += COLUMN) {
            copy_y_piece(to_tile, tile, linear + (x - box->x0), x, x + COLUMN, y, flips);
        }
        if (last < box->x1) {
            copy_y_piece(to_tile, tile, linear + (last - box->x0), last, box->x1, y, flips);
        }
    }
}

/* A whole tile: constant bounds, so that the row of eight columns becomes straight vector code. */
INLINE void copy_y_tile(bool to_tile, uint8_t *tile, uint8_t *linear, size_t pitch, uint32_t flips) {
    const struct g4_tile_box all = {0, G4_TILE_Y_WIDTH, 0, G4_TILE_Y_HEIGHT};
    if (flips) {
        copy_y(to_tile, tile, linear, pitch, &all, flips);
    } else {
        copy_y(to_tile, tile, linear, pitch, &all, 0);
    }
}

INLINE bool is_y_tile(const struct g4_tile_box *box) {
    return box->x1 - box->x0 == G4_TILE_Y_WIDTH && box->y1 - box->y0 == G4_TILE_Y_HEIGHT;
}

INLINE void copy_w(bool to_tile, uint8_t *tile, uint8_t *linear, size_t pitch, const struct g4_tile_box *box,
                   uint32_t flips) {
    for (uint32_t y = box->y0; y < box->y1; y++, linear += pitch) {
        for (uint32_t x = box->x0; x < box->x1; x++) {
            const uint32_t offset = g4_tile_w_offset(x, y);
            move(to_tile, tile + (offset ^ flip(flips, offset)), linear + (x - box->x0), 1);
        }
    }
}

/* The 64 bytes of an 8 x 8 block of a W tile, as pairs of pixels.  A permutation of them gives rows of four pairs. */
typedef uint16_t w_block __attribute__((vector_size(64)));

INLINE void copy_w_block(bool to_tile, uint8_t *tile, uint8_t *linear, size_t pitch) {
    w_block block;
    if (to_tile) {
        for (uint32_t y = 0; y < 8; y++) {
            memcpy((uint8_t *)&block + 8 * (size_t)y, linear + y * pitch, 8);
        }
        block = __builtin_shufflevector(block, block, 0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15, 16, 20, 17,
                                        21, 24, 28, 25, 29, 18, 22, 19, 23, 26, 30, 27, 31);
        memcpy(tile, &block, sizeof block);
    } else {
        memcpy(&block, tile, sizeof block);
        block = __builtin_shufflevector(block, block, 0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15, 16, 18, 24,
                                        26, 17, 19, 25, 27, 20, 22, 28, 30, 21, 23, 29, 31);
        for (uint32_t y = 0; y < 8; y++) {
            memcpy(linear + y * pitch, (uint8_t *)&block + 8 * (size_t)y, 8);
        }
    }
}

INLINE void copy_w_tile(bool to_tile, uint8_t *tile, uint8_t *linear, size_t pitch, uint32_t flips) {
    for (uint32_t y = 0; y < G4_TILE_W_HEIGHT; y += 8) {
        for (uint32_t x = 0; x < G4_TILE_W_WIDTH; x += 8) {
            const uint32_t offset = g4_tile_w_offset(x, y);
            copy_w_block(to_tile, tile + (offset ^ flip(flips, offset)), linear + y * pitch + x, pitch);
        }
    }
}

INLINE bool is_w_tile(const struct g4_tile_box *box) {
    return box->x1 - box->x0 == G4_TILE_W_WIDTH && box->y1 - box->y0 == G4_TILE_W_HEIGHT;
}

/* `move` does not write to its source; the casts only let both directions share a loop. */
static void read_x(uint8_t *restrict linear, size_t pitch, const uint8_t *restrict tile, const struct g4_tile_box *box,
                   uint32_t flips) {
    copy_x(false, (uint8_t *)tile, linear, pitch, box, flips);
}

static void read_y(uint8_t *restrict linear, size_t pitch, const uint8_t *restrict tile, const struct g4_tile_box *box,
                   uint32_t flips) {
    if (is_y_tile(box)) {
        copy_y_tile(false, (uint8_t *)tile, linear, pitch, flips);
    } else {
        copy_y(false, (uint8_t *)tile, linear, pitch, box, flips);
    }
}

static void read_w(uint8_t *restrict linear, size_t pitch, const uint8_t *restrict tile, const struct g4_tile_box *box,
                   uint32_t flips) {
    if (is_w_tile(box)) {
        copy_w_tile(false, (uint8_t *)tile, linear, pitch, flips);
    } else {
        copy_w(false, (uint8_t *)tile, linear, pitch, box, flips);
    }
}

static void write_x(uint8_t *restrict tile, const uint8_t *restrict linear, size_t pitch, const struct g4_tile_box *box,
                    uint32_t flips) {
    copy_x(true, tile, (uint8_t *)linear, pitch, box, flips);
}

static void write_y(uint8_t *restrict tile, const uint8_t *restrict linear, size_t pitch, const struct g4_tile_box *box,
                    uint32_t flips) {
    if (is_y_tile(box)) {
        copy_y_tile(true, tile, (uint8_t *)linear, pitch, flips);
    } else {
        copy_y(true, tile, (uint8_t *)linear, pitch, box, flips);
    }
}

static void write_w(uint8_t *restrict tile, const uint8_t *restrict linear, size_t pitch, const struct g4_tile_box *box,
                    uint32_t flips) {
    if (is_w_tile(box)) {
        copy_w_tile(true, tile, (uint8_t *)linear, pitch, flips);
    } else {
        copy_w(true, tile, (uint8_t *)linear, pitch, box, flips);
    }
}

G4_VARIANT_DECLARE(struct g4_tile_copy, g4_tile_copy);

const struct g4_tile_copy G4_V(g4_tile_copy) = {
    .read = {[G4_TILING_X] = read_x, [G4_TILING_Y] = read_y, [G4_TILING_W] = read_w},
    .write = {[G4_TILING_X] = write_x, [G4_TILING_Y] = write_y, [G4_TILING_W] = write_w},
};
