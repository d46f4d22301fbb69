/*
 * Strips and Fans: culling, viewport, fixed-point setup, the setup thread (spec/20 4).
 */
#ifndef G4_FF_SF_H
#define G4_FF_SF_H

#include "geometry/assemble.h"

/* Set up chunk->object[], in order, into chunk->setup[]: culled objects leave no trace but their statistics. */
enum g4_status g4_sf_run(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_chunk *chunk);

/* Number the pixels of lines for the stipple; chunks in order, one after the other. */
void g4_sf_count_stipple(struct g4_state *state, const struct g4_draw_state *draw, struct g4_chunk *chunk);

#endif
