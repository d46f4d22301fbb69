/*
 * Fast clears of render targets, from Gen7 on.
 */
#ifndef G4_FAST_CLEAR_H
#define G4_FAST_CLEAR_H

#include "raster/windower.h"

/* Write the clear color to the pixels of rectangles. */
void g4_fast_clear_tile(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_tile *tile);

#endif
