/*
 * Strips and Fans with setup threads: they compute the coefficients of attributes (G45 PRM vol. 2, 7.5).
 */
#ifndef G4_SETUP_KERNEL_H
#define G4_SETUP_KERNEL_H

#include "geometry/assemble.h"

g4_setup_fn g4_sf_run;

/* Compute where the stipple of each line starts.  Call for all chunks of a draw, in order. */
void g4_sf_count_stipple(struct g4_state *state, const struct g4_draw_state *draw, struct g4_chunk *chunk);

#endif
