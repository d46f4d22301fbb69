/*
 * The stages of the front end, in the order in which assemble.c calls them for a range.
 */
#ifndef G4_STAGE_H
#define G4_STAGE_H

#include "geometry/assemble.h"
#include "geometry/fetch.h"
#include "geometry/payload.h"
#include "geometry/topology.h"

/* URB entries of vertices, one after the other. */
struct g4_entries {
    uint32_t (*rows)[8];
    uint32_t stride; /* rows of an entry, even */
    uint32_t count;
};

/* A primitive between GS and CLIP: vertices with a topology. */
struct g4_strip {
    uint32_t topology;
    uint32_t first, count; /* into the accompanying vertices */
    uint32_t first_object; /* number, within the primitive, of the first object to assemble */
    uint32_t objects;
    bool ends_primitive;   /* the last object here is the primitive's last */
    uint32_t vertices;     /* of the whole primitive, without incomplete objects */
    uint32_t primitive_id; /* of the first object */
    bool one_primitive_id; /* and of all others */
    uint8_t id_shift;      /* 1: two objects have an ID, whose number is half of theirs */
    uint32_t stream;       /* of a geometry shader */
};

/* The primitive ID of object i of a strip. */
static inline uint32_t g4_strip_primitive_id(const struct g4_strip *strip, uint32_t i) {
    return (strip->primitive_id + (strip->one_primitive_id ? 0 : i)) >> strip->id_shift;
}

/* The vertex at a position of a strip.  Vertices come as position 0, which fans and loops use again, and those from
 * strip->first on. */
static inline const struct g4_vertex *g4_strip_vertex(const struct g4_strip *strip,
                                                      const struct g4_vertex *const *vertex, uint32_t position) {
    return vertex[position < strip->first ? 0 : 1 + position - strip->first];
}

/* Run the vertex shader in place over the entries. */
g4_vs_fn g4_vs_run, g4_vs_run_gen7, g4_vs_run_gen9;
/* Load the rows of two vertices: each register has the same four dwords of both (G45 PRM vol. 2, 4.3.1). */
void g4_vs_put_pair(struct g4_gang *gang, int t, const uint32_t (*a)[8], const uint32_t (*b)[8], uint32_t row_count,
                    const struct g4_stage *stage, uint32_t grf);
/* Report the start of threads, of which each shades the next `per_thread` entries, to the hooks. */
enum g4_status g4_vs_notify_start(struct g4_worker *worker, const struct g4_entries *entries, uint32_t first,
                                  uint32_t per_thread, uint32_t threads);

/* For Gen4's vertex header, clipper and setup. */
g4_read_vertices_fn g4_vertices_read;
g4_prepare_vertices_fn g4_vertices_prepare;
g4_read_vertices_fn g4_vertices_read_gen7;
/* For vertices in clip space, with clip distances in the second row of their entries. */
g4_prepare_vertices_fn g4_vertices_prepare_gen6;

/* Take the cost of vertices that a stage has made from the watchdog's budget, because few instructions can make many.
 * False: there is too little left, and the worker has a fault. */
bool g4_take_vertex_cost(struct g4_worker *worker, const struct g4_draw_state *draw, int stage, uint32_t vertices);

/* The vertices and strips that a thread has written. */
struct g4_output {
    struct g4_arena *arena;
    struct g4_vertex *vertex;
    uint32_t vertices, vertex_capacity;
    struct g4_strip *strip;
    uint32_t strips, strip_capacity;
    bool no_memory;
};

/* The input of a GS or CLIP thread: the entries of an object's vertices, and dword 2 of R0. */
struct g4_thread_object {
    const uint32_t (*rows[6])[8];
    uint32_t row_count[6];
    uint32_t vertices;
    uint32_t r0_2;
};

/* The stage whose threads g4_spawn_run runs. */
struct g4_spawn {
    int stage;             /* G4_STAGE_GS or G4_STAGE_CLIP */
    uint32_t max_viewport; /* see g4_vertex_read_back */
};

/* Run one thread per object; out[i] receives the output of object[i]. */
enum g4_status g4_spawn_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_spawn *spawn,
                            const struct g4_thread_object *object, uint32_t count, struct g4_output *out);

g4_gs_fn g4_gs_run, g4_gs_run_gen7;

/* The objects that a patch has become. */
struct g4_tessellated_patch {
    struct g4_strip strip;
    const struct g4_vertex **vertex; /* as for run_clip */
};

/* The output of the tessellation of some patches: one for each, in order. */
struct g4_tessellated {
    struct g4_tessellated_patch *patch;
    uint32_t patches;
    struct g4_vertex *vertex; /* of all patches */
    uint32_t vertices;
};

g4_tessellate_fn g4_tessellate_run_gen7;

/* Write the objects of a strip to the stream output buffers: the first one has the number `preceding` in the draw. */
void g4_stream_output_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_strip *strip,
                          uint64_t preceding, const struct g4_vertex *const *vertex);
/* Write them after those that `streamed` has counted. */
void g4_stream_output_append(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_strip *strip,
                             const struct g4_vertex *const *vertex, struct g4_streamed *streamed);

/* Compute the outcodes of vertices. */
void g4_clip_outcodes(const struct g4_context *ctx, const struct g4_draw_state *draw, struct g4_vertex *vertex,
                      uint32_t count);

/* Clip a strip: append the objects that remain to the chunk.  The vertices have their outcodes, 0 without a clipper. */
g4_clip_fn g4_clip_run;
/* The clipper of Gen6 and later, which runs no threads. */
g4_clip_fn g4_clip_run_gen6;

/* An object as SF needs it, with its provoking vertex. */
struct g4_object g4_object_of(const struct g4_draw_state *draw, const struct g4_topology_object *o,
                              const struct g4_vertex *const v[3]);

/* Grow the chunk for `more` objects; false if memory is short. */
bool g4_chunk_reserve(struct g4_chunk *chunk, uint32_t more);

#endif
