/*
 * The windower: rasterization into 2x2 subspans, early depth and stencil, pixel shader dispatch (spec/30 3).
 *
 * The screen is cut into tiles of 32x32 pixels; objects of a draw are binned, and each tile is worked through in object
 * order by one worker.  No two tiles share a pixel, so the picture does not depend on the number of workers.
 */
#ifndef G4_FF_WM_H
#define G4_FF_WM_H

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

/* Entry points of the kernel that the enabled dispatch modes use, bit by bit. */
uint32_t g4_wm_entries(const struct g4_windower_state *state);

/* Once per draw and worker, before its first tile: read what the draw needs (CC state, depth buffer, kernels). */
enum g4_status g4_wm_begin(struct g4_worker *worker, const struct g4_draw_state *draw);
enum g4_status g4_wm_tile(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_tile *tile);

#endif
