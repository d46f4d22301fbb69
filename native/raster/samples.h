/*
 * Tiles of draws with several samples a pixel.
 */
#ifndef G4_SAMPLES_H
#define G4_SAMPLES_H

#include "raster/windower.h"

enum g4_status g4_samples_tile(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_tile *tile);

#endif
