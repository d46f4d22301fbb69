/* Copies between one 4 KiB tile and rows of pixels: the inner loops of tiling.c, built once per vector variant. */
#ifndef G4_TILE_COPY_H
#define G4_TILE_COPY_H
#include "api/tiling.h"

/* Part of a tile, in bytes and rows; inside of the tile. */
struct g4_tile_box {
    uint32_t x0, x1, y0, y1;
};

/* `linear` is the pixel at (x0, y0) of the box.  Bit n of `flips`: bit 6 of the address is inverted in the 512 bytes
 * whose address bits 11:9 are n, which is all that a swizzle can do inside of a tile. */
typedef void g4_tile_read_fn(uint8_t *restrict linear, size_t pitch_bytes, const uint8_t *restrict tile,
                             const struct g4_tile_box *box, uint32_t flips);
typedef void g4_tile_write_fn(uint8_t *restrict tile, const uint8_t *restrict linear, size_t pitch_bytes,
                              const struct g4_tile_box *box, uint32_t flips);

struct g4_tile_copy {
    g4_tile_read_fn *read[4]; /* by enum g4_tiling; linear is NULL */
    g4_tile_write_fn *write[4];
};

#endif
