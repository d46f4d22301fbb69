/*
 * The front end of a draw: vertex fetch, vertex shader, geometry shader, clipper, in ranges of the input.
 *
 * g4_draw_plan splits a 3DPRIMITIVE into independent ranges; it is serial, but reads no more than indices, to find
 * cuts. g4_geometry_run turns one range into assembled objects on any worker.  Ranges are consumed in order, so the
 * result does not depend on the number of workers.
 */
#ifndef G4_ASSEMBLE_H
#define G4_ASSEMBLE_H

#include "core/draw_state.h"
#include "eu/worker.h"
#include "geometry/object.h"

/* Objects first_object to first_object + objects - 1 of one input primitive: a strip between cuts, or a list, of one
 * instance. */
struct g4_range {
    uint32_t instance;
    uint32_t start;    /* position of the primitive's first vertex, from StartVertexLocation */
    uint32_t vertices; /* of the whole primitive, without incomplete objects */
    uint32_t first_object, objects;
    uint32_t primitive_id;        /* of the primitive's first object */
    uint64_t preceding;           /* objects of the draw before this range; only with stream output */
    struct g4_streamed *streamed; /* stream output that is in order; else NULL */
};

struct g4_report_log;

struct g4_plan {
    struct g4_range *range;
    uint32_t count, capacity;
    uint64_t vertices, primitives; /* of these ranges, for IA_VERTICES and IA_PRIMITIVES */
};

/* In tiles of the windower, inclusive; x_min > x_max: none. */
struct g4_touched_tiles {
    uint16_t x_min, y_min, x_max, y_max;
};

/* The objects of one range, through all stages up to setup. */
struct g4_chunk {
    struct g4_arena *range_arena; /* objects and their vertices: valid until the range is set up */
    struct g4_arena *batch_arena; /* set-up objects and their entries: valid until the batch of ranges is drawn */
    struct g4_object *object;
    uint32_t objects, object_capacity;
    struct g4_setup *setup; /* filled by g4_sf_run */
    uint32_t setups;
    uint16_t index;                 /* in the batch */
    struct g4_touched_tiles *tiles; /* that setup[i] may touch */
    struct g4_mesh *mesh;           /* NULL unless vertices are recorded (mesh.h) */
};

/* The position of g4_draw_plan in a draw.  All zero at the start. */
struct g4_plan_cursor {
    bool begun; /* `count` is valid */
    bool done;
    bool inside;    /* a primitive is being split into ranges */
    uint32_t count; /* vertices per instance; read once, because the memory of an indirect draw may change meanwhile */
    uint32_t instance;
    uint32_t position; /* of the current or next primitive's first vertex */
    uint32_t vertices; /* of the current primitive, those of incomplete objects included */
    uint32_t object;   /* next object of the current primitive */
    uint32_t primitive_id;
    uint64_t visited; /* vertices so far, for the watchdog */
};

/* Split the next part of a draw into at most plan->capacity ranges.  Call until cursor->done: a draw of a billion
 * vertices runs in bounded memory. */
enum g4_status g4_draw_plan(const struct g4_context *ctx, const struct g4_draw_state *draw, struct g4_port *port,
                            struct g4_report_log *log, struct g4_plan_cursor *cursor, struct g4_plan *plan);

/* Assemble the objects of a range into chunk->object[]. */
enum g4_status g4_geometry_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_range *range,
                               struct g4_chunk *chunk);

#endif
