/*
 * The front end alone: the objects that a 3DPRIMITIVE sends to SF.
 */
#include <string.h>

#include "api/harness.h"
#include "draw/device.h"
#include "geometry/assemble.h"
#include "geometry/object.h"

enum {
    RANGES = 16
};

static void view(const struct g4_object *object, struct g4_object_view *out) {
    memset(out, 0, sizeof *out);
    out->type = object->type;
    out->topology = object->topology;
    out->vertices = object->vertices;
    out->provoking = object->provoking;
    out->invert_orientation = object->invert_orientation;
    out->back_facing = object->back_facing;
    out->poly_stipple = object->poly_stipple;
    out->continue_stipple = object->continue_stipple;
    out->last_of_primitive = object->last_of_primitive;
    for (uint32_t i = 0; i < object->vertices && i < 3; i++) {
        const struct g4_vertex *const v = object->v[i];
        const uint32_t rows = v->row_count < G4_VIEW_ROWS ? v->row_count : G4_VIEW_ROWS;
        out->viewport[i] = v->viewport;
        out->array_index[i] = v->array_index;
        out->point_width[i] = v->point_width;
        memcpy(out->entry[i], v->rows, rows * sizeof v->rows[0]);
    }
}

enum g4_status g4_device_objects(struct g4_device *device, const uint32_t *primitive, struct g4_object_view *objects,
                                 uint32_t capacity, uint32_t *count, struct g4_fault *fault) {
    struct g4_range range[RANGES];
    struct g4_plan plan = {.range = range, .capacity = RANGES};
    struct g4_plan_cursor cursor = {0};
    struct g4_chunk chunk = {.range_arena = g4_arena_new()}; /* nothing is set up */
    enum g4_status status = chunk.range_arena ? g4_load_draw(device, primitive, fault) : G4_NO_MEMORY;

    *count = 0;
    device->worker[0]->eu.instruction_budget = g4_watchdog(&device->ctx.options);
    while (status == G4_OK && !cursor.done) {
        status = g4_draw_plan(&device->ctx, device->draw_state, &device->port, &device->log, &cursor, &plan);
        for (uint32_t r = 0; status == G4_OK && r < plan.count; r++) {
            g4_arena_reset(chunk.range_arena);
            status = g4_geometry_run(device->worker[0], device->draw_state, &range[r], &chunk);
            for (uint32_t i = 0; status == G4_OK && i < chunk.objects; i++, (*count)++) {
                if (*count < capacity) {
                    view(&chunk.object[i], &objects[*count]);
                }
            }
        }
    }
    g4_report_merge(&device->log, device->worker[0]->eu.log);
    g4_report_clear(device->worker[0]->eu.log);
    g4_arena_free(chunk.range_arena);
    return status;
}
