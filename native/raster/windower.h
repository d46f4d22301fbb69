/*
 * The windower: rasterization into 2x2 subspans, early depth and stencil, pixel shader dispatch (G45 PRM vol. 2,
 * chapter 8).
 *
 * The screen is divided into tiles of 32x32 pixels; the objects of a draw are binned, and one worker draws the objects
 * of a tile in order.  No two tiles share a pixel, so the picture does not depend on the number of workers.
 */
#ifndef G4_WINDOWER_H
#define G4_WINDOWER_H

#include "color/color.h"
#include "geometry/coverage.h"

struct g4_tile {
    int32_t x, y;                        /* upper-left pixel */
    const struct g4_setup *const *setup; /* objects that may touch the tile, in order */
    uint32_t setups;
    const uint32_t *first_number; /* by chunk: the sequence number of its first object */
};

enum {
    G4_OBJECT_NUMBERS = 0xffffff /* 24 bits in R0.7 */
};

/* The entry points of the kernel that the enabled thread sizes use: one bit each. */
uint32_t g4_wm_entries(const struct g4_windower_state *state);

/* Allocate the worker's state of pixels, unless it has one; false: no memory. */
bool g4_wm_allocate(struct g4_worker *worker);
/* Prepare the worker for a draw, before its first tile. */
enum g4_status g4_wm_begin(struct g4_worker *worker, const struct g4_draw_state *draw);
/* Whether the draw that was begun probably needs only a few threads, because its pixels are filled. */
bool g4_wm_mostly_fills(const struct g4_wm *wm);
/* Forget the objects of the last batch: their memory is used again. */
void g4_wm_begin_batch(struct g4_wm *wm);
enum g4_status g4_wm_tile(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_tile *tile);

#endif
