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
/* The number of subspans, of 2x2 pixels, that have lit ones. */
uint32_t g4_coverage_subspans(const struct g4_coverage *coverage);
/* The first `count` subspans, row by row; `coverage` has at least so many. */
struct g4_coverage g4_coverage_first_subspans(const struct g4_coverage *coverage, uint32_t count);
/* Take the last `count` subspans off, of which there are at least so many.  Returns them. */
struct g4_coverage g4_coverage_split_last(struct g4_coverage *coverage, uint32_t count);

/* The lit pixels of a row of the tile. */
static inline uint32_t g4_coverage_row(const struct g4_coverage *coverage, int32_t j) {
    return j >= coverage->first && j <= coverage->last ? coverage->row[j] : 0;
}

/* Of two rows that begin at an even one: the lowest bit of each subspan that has lit pixels. */
static inline uint32_t g4_rows_subspans(uint32_t upper, uint32_t lower) {
    const uint32_t any = upper | lower;
    return (any | any >> 1) & 0x55555555u;
}

/* The lit pixels of the subspan from column i on: bit 0 upper left, 1 upper right, 2 lower left, 3 lower right. */
static inline uint32_t g4_rows_subspan(uint32_t upper, uint32_t lower, uint32_t i) {
    return (upper >> i & 3) | (lower >> i & 3) << 2;
}

/* Whether all pixels of the tile are lit. */
static inline bool g4_coverage_is_whole(const struct g4_coverage *coverage) {
    uint32_t lit = UINT32_MAX;

    if (coverage->first != 0 || coverage->last != G4_TILE_SIZE - 1) {
        return false;
    }
    for (uint32_t j = 0; j < G4_TILE_SIZE; j++) {
        lit &= coverage->row[j];
    }
    return lit == UINT32_MAX;
}

#endif
