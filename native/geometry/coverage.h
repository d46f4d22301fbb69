/*
 * Coverage: which pixels of a 32x32 tile an object lights (G45 PRM vol. 2, 8.3).
 */
#ifndef G4_COVERAGE_H
#define G4_COVERAGE_H

#include "geometry/object.h"

enum {
    G4_TILE_SIZE = 32 /* pixels, across and down */
};

/* Bit i of row[j]: pixel (x + i, y + j).  Rows outside of first..last are not set. */
struct g4_coverage {
    int32_t x, y;
    int32_t first, last;
    uint32_t row[G4_TILE_SIZE];
};

/* Find all pixels of a triangle of at most 8x8 pixels (setup->small, setup->mask); other objects stay unchanged. */
void g4_coverage_find_small(struct g4_setup *setup);

/* The object's pixels in the tile at (tile_x, tile_y); false if there are none. */
bool g4_coverage_find(const struct g4_setup *setup, int32_t tile_x, int32_t tile_y, struct g4_coverage *coverage);

/* Whether the square of a pixel lies inside a conservative triangle, with the reach of its outline (docs/decisions.md
 * 165). */
bool g4_coverage_is_inside(const struct g4_setup *setup, int32_t x, int32_t y);

uint32_t g4_coverage_pixels(const struct g4_coverage *coverage);

#endif
