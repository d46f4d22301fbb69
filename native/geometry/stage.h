/*
 * The stages of the front end, as geometry.c strings them together.  All work on one range and one arena.
 */
#ifndef G4_FF_STAGE_H
#define G4_FF_STAGE_H

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

/* A primitive on its way from GS to CLIP: vertices with a topology. */
struct g4_strip {
    uint32_t topology;
    uint32_t first, count; /* into the vertices that go with it */
    uint32_t first_object; /* object number, within the primitive, of the first one to make */
    uint32_t objects;
    bool ends_primitive; /* the last object here is the primitive's last */
};

/* Run the vertex shader in place over the entries. */
enum g4_status g4_vs_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_entries *entries);

/* Read the header of an entry back as a vertex leaves the GS stage (spec/10 3.6.1, 3.6.3). */
void g4_vertex_read_back(const struct g4_context *ctx, const uint32_t (*rows)[8], uint32_t row_count,
                         uint32_t max_viewport, struct g4_vertex *vertex);

/* Vertices and strips that come out of threads. */
struct g4_output {
    struct g4_arena *arena;
    struct g4_vertex *vertex;
    uint32_t vertices, vertex_room;
    struct g4_strip *strip;
    uint32_t strips, strip_room;
    bool no_memory;
};

/* An object for a thread of GS or CLIP: its vertices' entries and dwords 2 of R0. */
struct g4_thread_object {
    const uint32_t (*rows[6])[8];
    uint32_t row_count[6];
    uint32_t vertices;
    uint32_t r0_2;
    void *tag; /* where the thread's output belongs, for the caller */
};

/* Which state a GS or CLIP thread runs with. */
struct g4_spawn {
    int stage;             /* G4_STAGE_GS or G4_STAGE_CLIP */
    uint32_t max_viewport; /* for the read-back; UINT32_MAX: low four bits, no check (CLIP) */
};

/* Run one thread an object; the vertices each thread puts out go to out[i]. */
enum g4_status g4_spawn_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_spawn *spawn,
                            const struct g4_thread_object *object, uint32_t count, struct g4_output *out);

enum g4_status g4_gs_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_range *range,
                         const struct g4_vertex *const *vertex_at, uint32_t first_position, struct g4_output *out);

/* Fill in the outcodes of vertices. */
void g4_clip_outcodes(const struct g4_context *ctx, const struct g4_draw_state *draw, struct g4_vertex *vertex,
                      uint32_t count);

/* Decide, clip and hand the objects of strips on to SF.  The vertices have their outcodes, 0 without a clipper. */
enum g4_status g4_clip_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_strip *strip,
                           const struct g4_vertex *const *vertex, struct g4_chunk *chunk);

/* An object as SF takes it, its provoking vertex picked. */
struct g4_object g4_object_of(const struct g4_draw_state *draw, const struct g4_topology_object *o,
                              const struct g4_vertex *const v[3]);

/* Make room for `more` objects in the chunk; false without memory. */
bool g4_chunk_reserve(struct g4_chunk *chunk, uint32_t more);

#endif
