/*
 * The front end of a draw in chunks: vertex fetch, vertex shader, geometry shader, clipper (spec/10, spec/20 3).
 *
 * `g4_draw_plan` cuts a 3DPRIMITIVE into independent ranges (serial, it only looks at indices for cuts);
 * `g4_geometry_run` turns one range into assembled objects on any worker.  Ranges are consumed in order, so the result
 * does not depend on who ran which.
 */
#ifndef G4_FF_GEOMETRY_H
#define G4_FF_GEOMETRY_H

#include "core/draw_state.h"
#include "eu/worker.h"
#include "geometry/object.h"

/* Objects first_object .. first_object+objects-1 of one input primitive (a strip between cuts, a list) of one instance.
 */
struct g4_range {
    uint32_t instance;
    uint32_t start;    /* position of the primitive's first vertex, counted from StartVertexLocation */
    uint32_t vertices; /* of the whole primitive, dangling ones removed */
    uint32_t first_object, objects;
    uint32_t primitive_id; /* of the primitive's first object */
};

struct g4_report_log;

struct g4_plan {
    struct g4_range *range;
    uint32_t count, room;
    uint64_t vertices, primitives; /* of these ranges, for IA_VERTICES and IA_PRIMITIVES */
};

/* A chunk: what one range became. */
struct g4_chunk {
    struct g4_arena *arena; /* of objects and all that they point to: good until SF is done */
    struct g4_arena *kept;  /* of setups and all that they point to */
    struct g4_object *object;
    uint32_t objects, object_room;
    struct g4_setup *setup; /* filled by g4_sf_run */
    uint32_t setups;
    uint16_t index;            /* among the chunks between two tile phases */
    struct g4_tile_box *tiles; /* which tiles each of setup[] may touch */
};

/* In tiles of the windower, inclusive; x_min > x_max: none. */
struct g4_tile_box {
    uint8_t x_min, y_min, x_max, y_max;
};

/* Where the plan of a draw goes on.  Start with all zero. */
struct g4_plan_cursor {
    bool done;
    bool inside; /* a primitive is being cut into ranges */
    uint32_t instance;
    uint32_t position; /* where the current or next primitive starts */
    uint32_t vertices; /* of the current primitive, dangling ones included */
    uint32_t object;   /* next object of the current primitive */
    uint32_t primitive_id;
    uint64_t visited; /* vertices so far, for the watchdog */
};

/* Split the draw into at most plan->room ranges; call again until cursor->done, so that a draw of a billion vertices
 * runs in bounded memory. */
enum g4_status g4_draw_plan(const struct g4_context *ctx, const struct g4_draw_state *draw, struct g4_port *port,
                            struct g4_report_log *log, struct g4_plan_cursor *cursor, struct g4_plan *plan);

enum g4_status g4_geometry_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_range *range,
                               struct g4_chunk *chunk);

#endif
