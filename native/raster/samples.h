/*
 * Tiles of draws with several samples a pixel.
 */
#ifndef G4_SAMPLES_H
#define G4_SAMPLES_H

#include "raster/windower.h"

/* The samples of an object in a tile. */
struct g4_sampled {
    struct g4_coverage all; /* pixels with some sample */
    uint32_t row[G4_SAMPLES][G4_TILE_SIZE];
};

struct g4_wm;

/* Find the samples that are covered and not masked; false: none. */
bool g4_samples_find(const struct g4_wm *wm, const struct g4_setup *setup, const struct g4_tile *tile,
                     struct g4_sampled *out);

enum g4_status g4_samples_tile(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_tile *tile);

#endif
