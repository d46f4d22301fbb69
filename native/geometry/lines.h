/*
 * Lines: wide, antialiased and cosmetic ones, their coverage and their stipple (G45 PRM vol. 2, 7.3.13 and 8.3.2).
 */
#ifndef G4_LINES_H
#define G4_LINES_H

#include "geometry/coverage.h"
#include "geometry/setup.h"

/* Compute the shape of a line from its quantised end points x[0..1], y[0..1], in drawing order. */
void g4_line_setup(const struct g4_sf_frame *frame, struct g4_setup *setup);

/* The pixels of a cosmetic line in a tile. */
void g4_line_cosmetic(const struct g4_setup *setup, struct g4_coverage *coverage);

/* Coverage of a pixel of an antialiased line, 0..antialiasing->scale. */
uint8_t g4_line_coverage(const struct g4_line_antialiasing *antialiasing, const struct g4_setup *setup, int32_t x,
                         int32_t y);

/* Remove the pixels that the stipple masks. */
void g4_line_stipple_apply(const struct g4_line_stipple *stipple, const struct g4_setup *setup,
                           struct g4_coverage *coverage);

#endif
