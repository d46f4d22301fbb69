/*
 * Strips and Fans with setup threads: they compute the coefficients of attributes (G45 PRM vol. 2, 7.5).
 */
#ifndef G4_SETUP_KERNEL_H
#define G4_SETUP_KERNEL_H

#include "geometry/assemble.h"

g4_setup_fn g4_sf_run;

/* Compute where the stipple of each line starts.  Call for all chunks of a draw, in order. */
void g4_sf_count_stipple(struct g4_state *state, const struct g4_draw_state *draw, struct g4_chunk *chunk);

struct g4_draw_counters;
struct g4_sf_frame;

/* Whether a small triangle contains no sample point, which costs less to find than to compute its coefficients. */
bool g4_setup_lights_nothing(struct g4_setup *setup);
/* Count a dropped object.  `shaped`: it was set up, but has no pixel. */
void g4_setup_count_dropped(struct g4_draw_counters *sum, const struct g4_sf_frame *frame,
                            const struct g4_object *object, const struct g4_setup *setup, bool shaped);

#endif
