/*
 * Rasterization: which pixels of a 32x32 tile an object lights (spec/20 4.3, spec/30 3.3 to 3.5).
 */
#ifndef G4_FF_RASTER_H
#define G4_FF_RASTER_H

#include "raster/windower.h"

/* Bit i of row[j]: pixel (x + i, y + j).  Rows outside of first..last are not set. */
struct g4_coverage {
    int32_t x, y;
    int32_t first, last;
    uint32_t row[G4_TILE_SIZE];
};

/* Work out at once which pixels a small triangle has; others stay as they are. */
void g4_raster_small(struct g4_setup *setup);

/* False when the tile has none of the object's pixels. */
bool g4_raster_tile(const struct g4_setup *setup, int32_t tile_x, int32_t tile_y, struct g4_coverage *coverage);

uint32_t g4_coverage_pixels(const struct g4_coverage *coverage);

#endif
