/*
 * Between the stages of the tessellation: patches.
 */
#ifndef G4_TESSELLATION_H
#define G4_TESSELLATION_H

#include "geometry/stage.h"

struct g4_patch {
    const struct g4_vertex *vertex[G4_PATCH_VERTICES];
    uint32_t vertices;
    uint32_t primitive_id;
    const uint32_t (*record)[8]; /* that the hull shader has written */

    /* From the tessellator and the domain shader. */
    const struct g4_domain_point *point;
    uint32_t points;
    uint32_t objects;               /* of the size that the output has */
    const uint16_t *index;          /* of points, by object */
    const struct g4_vertex *shaded; /* a vertex for each point */
};

/* Run the hull shader: fill patch[].record. */
enum g4_status g4_hull_run_gen7(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_patch *patch,
                                uint32_t patches, struct g4_arena *arena);
/* Run the domain shader over the points of all patches: fill patch[].shaded, the vertices of which follow each other in
 * out->vertex. */
enum g4_status g4_domain_run_gen7(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_patch *patch,
                                  uint32_t patches, struct g4_arena *arena, struct g4_tessellated *out);

#endif
