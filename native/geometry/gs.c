/*
 * The geometry shader stage: one thread per object, output in object order (G45 PRM vol. 2, chapter 5).
 */
#include <string.h>

#include "geometry/stage.h"

enum g4_status g4_gs_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_strip *strip,
                         const struct g4_vertex *const *vertex, struct g4_output *out) {
    const uint32_t topology = strip->topology;
    const uint32_t total = g4_topology_objects(topology, strip->vertices);
    const struct g4_spawn spawn = {.stage = G4_STAGE_GS, .max_viewport = draw->gs.max_viewport};
    struct g4_thread_object *const object = g4_arena_alloc(out[0].arena, strip->objects * sizeof *object);
    if (!object) {
        return G4_NO_MEMORY;
    }
    for (uint32_t i = 0; i < strip->objects; i++) {
        const uint32_t k = strip->first_object + i;
        uint32_t position[G4_PATCH_VERTICES] = {0};
        uint32_t gs_topology;
        object[i].vertices = g4_topology_gs_object(topology, strip->vertices, k, draw->gs.odd_triangles,
                                                   draw->gs.discard_adjacency, position, &gs_topology);
        object[i].r0_2 = gs_topology | g4_topology_edges(topology, k, k + 1 == total);
        for (uint32_t v = 0; v < object[i].vertices; v++) {
            const struct g4_vertex *const from = g4_strip_vertex(strip, vertex, position[v]);
            object[i].rows[v] = from->rows;
            object[i].row_count[v] = from->row_count;
        }
    }
    if (draw->stage[G4_STAGE_GS].statistics) {
        worker->counter[G4_COUNTER_GS_INVOCATIONS] += strip->objects;
    }
    return g4_spawn_run(worker, draw, &spawn, object, strip->objects, out);
}
