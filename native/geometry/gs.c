/*
 * The geometry shader stage: one thread per object, output in object order (G45 PRM vol. 2, chapter 5).
 */
#include <string.h>

#include "geometry/stage.h"

enum g4_status g4_gs_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_range *range,
                         const struct g4_vertex *const *vertex_at, uint32_t first_position, struct g4_output *out) {
    const uint32_t topology = draw->primitive.topology;
    const uint32_t total = g4_topology_objects(topology, range->vertices);
    const struct g4_spawn spawn = {.stage = G4_STAGE_GS, .max_viewport = draw->gs.max_viewport};
    struct g4_thread_object *const object = g4_arena_alloc(out[0].arena, range->objects * sizeof *object);
    if (!object) {
        return G4_NO_MEMORY;
    }
    for (uint32_t i = 0; i < range->objects; i++) {
        const uint32_t k = range->first_object + i;
        uint32_t position[6] = {0};
        uint32_t gs_topology;
        object[i].vertices = g4_topology_gs_object(topology, range->vertices, k, draw->gs.reorder,
                                                   draw->gs.discard_adjacency, position, &gs_topology);
        object[i].r0_2 = gs_topology | g4_topology_edges(topology, k, k + 1 == total);
        for (uint32_t v = 0; v < object[i].vertices; v++) {
            /* slot 0 holds position 0 of fans and loops */
            const struct g4_vertex *const vertex =
                position[v] < first_position ? vertex_at[0] : vertex_at[1 + position[v] - first_position];
            object[i].rows[v] = vertex->rows;
            object[i].row_count[v] = vertex->row_count;
        }
    }
    if (draw->stage[G4_STAGE_GS].statistics) {
        worker->counter[G4_COUNTER_GS_INVOCATIONS] += range->objects;
    }
    return g4_spawn_run(worker, draw, &spawn, object, range->objects, out);
}
