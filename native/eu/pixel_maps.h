/*
 * Counts for each pixel of the window: how often it was covered, dropped by each test, shaded and written, and the
 * instructions of the threads that shaded it.
 *
 * All workers of a device share the counts.  They are sums, and their tiles exist where something was counted, so that
 * they are the same for any number of workers.
 */
#ifndef G4_PIXEL_MAPS_H
#define G4_PIXEL_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/counters.h"

struct g4_pixel_maps;

/* NULL without memory. */
struct g4_pixel_maps *g4_pixel_maps_new(void);
void g4_pixel_maps_free(struct g4_pixel_maps *maps);
void g4_pixel_maps_clear(struct g4_pixel_maps *maps);

/* Add `count` to the pixels of the subspan at x, y: bit 0 of `pixels` is the upper left one, bit 1 the upper right one,
 * then the lower ones.  Pixels outside of the largest window are ignored. */
void g4_pixel_maps_add(struct g4_pixel_maps *maps, enum g4_counted_pixels map, uint32_t x, uint32_t y, uint32_t pixels,
                       uint32_t count);

/* The tiles in no particular order.  False: some are missing because there are too many. */
bool g4_pixel_maps_tiles(const struct g4_pixel_maps *maps, const struct g4_pixel_map_tile **tiles, uint32_t *count);

#endif
