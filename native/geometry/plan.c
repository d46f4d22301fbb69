/*
 * The plan of a draw: a 3DPRIMITIVE split into ranges of objects.
 */
#include <string.h>

#include "core/report.h"
#include "core/util.h"
#include "geometry/assemble.h"
#include "geometry/fetch.h"
#include "geometry/topology.h"

enum {
    SMALLEST_RANGE = 256, /* objects */
    LARGEST_RANGE = 2048, /* the vertices of a larger one exceed the host's caches */
    SHARES = 16,          /* ranges of a large primitive, at least */
    PLAN_OBJECTS = 32768, /* set up before their tiles are drawn */
    FEWEST_OBJECTS = 8,   /* of a range whose objects become many */
    FEWEST_PLANNED = 128,
};

static uint32_t vertex_count(const struct g4_draw_state *draw, struct g4_port *port) {
    return draw->primitive.indirect ? g4_mem_read32(port, draw->primitive.vertex_count_address)
                                    : draw->primitive.vertex_count;
}

/* Vertices from `start` to the next cut or the end.  The search for a cut stops after `most` vertices. */
static uint32_t run_length(const struct g4_vertex_fetch *fetch, const struct g4_draw_state *draw, struct g4_port *port,
                           uint32_t start, uint32_t count, uint64_t most) {
    if (!fetch->cut_enable) {
        return count - start;
    }
    uint32_t at = start;
    while (at < count && at - start < most &&
           g4_fetch_index(port, fetch, draw->primitive.start_vertex + at) != fetch->cut_index) {
        at++;
    }
    return at - start;
}

static void next_primitive(const struct g4_vertex_fetch *fetch, const struct g4_draw_state *draw,
                           struct g4_plan_cursor *cursor, uint32_t count, uint32_t objects) {
    cursor->inside = false;
    cursor->object = 0;
    cursor->primitive_id += objects;
    cursor->position += cursor->vertices + (fetch->cut_enable ? 1 : 0);
    if (cursor->position < count && cursor->position >= cursor->vertices) {
        return;
    }
    cursor->position = 0;
    cursor->primitive_id = 0;
    cursor->instance++;
    cursor->done = cursor->instance >= draw->primitive.instance_count;
}

/* Ranges share no vertices: larger ones shade fewer vertices twice, smaller ones occupy more workers. */
static uint32_t range_size(const struct g4_draw_state *draw, uint32_t objects) {
    const uint32_t size = objects / SHARES & ~(uint32_t)(SMALLEST_RANGE - 1);
    if (draw->amplification) {
        return g4_max_u32(SMALLEST_RANGE / draw->amplification, FEWEST_OBJECTS);
    }
    return size < SMALLEST_RANGE ? SMALLEST_RANGE : size > LARGEST_RANGE ? LARGEST_RANGE : size;
}

static uint32_t most_planned(const struct g4_draw_state *draw) {
    return draw->amplification ? g4_max_u32(PLAN_OBJECTS / draw->amplification, FEWEST_PLANNED) : PLAN_OBJECTS;
}

enum g4_status g4_draw_plan(const struct g4_context *ctx, const struct g4_draw_state *draw, struct g4_port *port,
                            struct g4_report_log *log, struct g4_plan_cursor *cursor, struct g4_plan *plan) {
    const uint32_t topology = draw->primitive.topology;
    cursor->count = cursor->begun ? cursor->count : vertex_count(draw, port);
    cursor->begun = true;
    const uint32_t count = cursor->count;
    const uint64_t limit = g4_watchdog(&ctx->options) / G4_WATCHDOG_VERTEX_COST;
    struct g4_vertex_fetch fetch;

    plan->count = 0;
    plan->vertices = plan->primitives = 0;
    if (count == 0 || draw->primitive.instance_count == 0 || count == UINT32_MAX) {
        cursor->done = true;
        return G4_OK;
    }
    g4_vertex_fetch_setup(ctx, draw, log, &fetch);
    uint32_t planned = 0;
    while (!cursor->done && plan->count < plan->capacity && planned < most_planned(draw)) {
        if (!cursor->inside) {
            cursor->vertices = run_length(&fetch, draw, port, cursor->position, count, limit - cursor->visited);
            cursor->inside = true;
            plan->vertices += cursor->vertices;
            cursor->visited += cursor->vertices + 1;
        }
        if (cursor->visited > limit) {
            return G4_HANG;
        }
        const uint32_t used = g4_topology_used(topology, cursor->vertices);
        const uint32_t objects = g4_topology_objects(topology, used);
        if (cursor->object < objects) {
            const uint32_t left = objects - cursor->object;
            const uint32_t size = range_size(draw, objects);
            const uint32_t here = left < size ? left : size;
            plan->range[plan->count++] = (struct g4_range){
                .instance = cursor->instance,
                .start = cursor->position,
                .vertices = used,
                .first_object = cursor->object,
                .objects = here,
                .primitive_id = cursor->primitive_id,
            };
            cursor->object += here;
            planned += here;
        }
        if (cursor->object >= objects) {
            /* docs/decisions.md 211 */
            plan->primitives += g4_topology_counted(topology, used, !ctx->model->quirks.vf_counts_no_loop_end);
            next_primitive(&fetch, draw, cursor, count, objects);
        }
    }
    return G4_OK;
}
