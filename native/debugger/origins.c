/*
 * Where vertices come from: what VF fetched, which thread shaded or put them out (965v4 3.3.1, spec/60 9.4 D8).  Known
 * for the range that is worked on, by the place of a vertex' rows.
 */
#include <stdlib.h>
#include <string.h>

#include "debugger/debug.h"

enum {
    FIRST_SLOTS = 1024,
    MOST_ORIGINS = 1 << 20,
};

static uint32_t slot_of(const struct g4_debug *debug, const void *rows) {
    return (uint32_t)((uintptr_t)rows / 32 * 2654435761u) & (debug->slots - 1);
}

static struct g4_debug_slot *find_slot(const struct g4_debug *debug, const void *rows) {
    uint32_t at = slot_of(debug, rows);
    while (debug->slot[at].origin && debug->slot[at].rows != rows) {
        at = (at + 1) & (debug->slots - 1);
    }
    return &debug->slot[at];
}

static bool grow_slots(struct g4_debug *debug) {
    const uint32_t slots = debug->slots ? 2 * debug->slots : FIRST_SLOTS;
    struct g4_debug_slot *const old = debug->slot;
    const uint32_t old_slots = debug->slots;
    struct g4_debug_slot *const more = calloc(slots, sizeof *more);
    if (!more) {
        return false;
    }
    debug->slot = more;
    debug->slots = slots;
    for (uint32_t i = 0; i < old_slots; i++) {
        if (old[i].origin) {
            *find_slot(debug, old[i].rows) = old[i];
        }
    }
    free(old);
    return true;
}

/* Room for one more; false: it stays unknown. */
static bool reserve(struct g4_debug *debug) {
    if (debug->origins >= MOST_ORIGINS) {
        return false;
    }
    if (debug->origins == debug->origin_room) {
        const uint32_t room = debug->origin_room ? 2 * debug->origin_room : FIRST_SLOTS / 2;
        struct g4_debug_origin *const more = realloc(debug->origin, room * sizeof *more);
        if (!more) {
            return false;
        }
        debug->origin = more;
        debug->origin_room = room;
    }
    return 2 * debug->origins < debug->slots || grow_slots(debug);
}

static void add(struct g4_debug *debug, const void *rows, const struct g4_debug_origin *origin) {
    if (reserve(debug)) {
        debug->origin[debug->origins++] = *origin;
        *find_slot(debug, rows) = (struct g4_debug_slot){.rows = rows, .origin = debug->origins};
    }
}

void g4_debug_begin_range(struct g4_debug *debug) {
    debug->origins = 0;
    if (debug->slots) {
        memset(debug->slot, 0, debug->slots * sizeof *debug->slot);
    }
}

uint32_t g4_debug_find(const struct g4_debug *debug, const void *rows) {
    const struct g4_debug_slot *const slot = debug->slots ? find_slot(debug, rows) : NULL;
    return slot && slot->origin ? slot->origin - 1 : G4_DEBUG_NONE;
}

/* Without a vertex shader there is no thread to stop: the vertex itself is told of. */
static bool trap_vertex(struct g4_debug *debug, const struct g4_debug_origin *origin) {
    for (uint32_t i = 0; i < debug->setup.trap_count; i++) {
        const struct g4_debug_trap *const trap = &debug->setup.trap[i];
        const bool hit = (trap->kind == G4_TRAP_VERTEX_INDEX && origin->index == trap->value) ||
                         (trap->kind == G4_TRAP_VERTEX_SEQUENCE && origin->output == trap->value);
        if (hit && !trap->quiet) {
            struct g4_debug_event event = {
                .kind = G4_DEBUG_VERTEX, .which = i, .value = debug->origins - 1, .thread.unit = G4_UNIT_VF};
            return g4_debug_tell(debug, &event);
        }
    }
    return true;
}

bool g4_debug_fetched(struct g4_debug *debug, const void *rows, const struct g4_debug_origin *origin, bool shaded) {
    if (g4_debug_find(debug, rows) != G4_DEBUG_NONE) {
        return true; /* by an earlier position with the same index */
    }
    struct g4_debug_origin fetched = *origin;
    fetched.unit = G4_UNIT_VF;
    fetched.thread = G4_DEBUG_NONE;
    fetched.output = (origin->output + debug->sequence) & G4_DEBUG_NUMBERS;
    add(debug, rows, &fetched);
    return shaded || trap_vertex(debug, &fetched);
}

void g4_debug_put_out(struct g4_debug *debug, const struct g4_gang *gang, int t, uint32_t output, const void *rows) {
    const struct g4_debug_thread *const thread = &g4_debug_gang_of(debug, gang)->thread[t];
    struct g4_debug_origin origin = {
        .unit = thread->unit, .thread = thread->number, .output = output, .inputs = thread->vertices};
    memcpy(origin.input, thread->vertex, sizeof origin.input);
    add(debug, rows, &origin);
}

enum g4_status g4_debug_start_vertices(struct g4_worker *worker, const struct g4_entries *entries, uint32_t first,
                                       uint32_t per_thread, int count) {
    struct g4_debug *const debug = worker->eu.debug;
    struct g4_debug_thread thread[G4_GANG_THREADS];

    memset(thread, 0, sizeof thread);
    for (int t = 0; t < count; t++) {
        thread[t].object = G4_DEBUG_NONE;
        for (uint32_t v = 0; v < per_thread; v++) {
            const uint32_t entry = first + (uint32_t)t * per_thread + v;
            if (entry >= entries->count) {
                break;
            }
            const uint32_t origin = g4_debug_find(debug, entries->rows + (size_t)entry * entries->stride);
            thread[t].vertex[thread[t].vertices++] = origin;
            if (origin != G4_DEBUG_NONE) {
                debug->origin[origin].thread = (debug->number[G4_UNIT_VS] + (uint32_t)t) & G4_DEBUG_NUMBERS;
            }
        }
    }
    return g4_debug_start(debug, worker->gang, thread, count);
}

/* ---- objects ---- */

static bool wanted(const struct g4_debug *debug, const struct g4_setup *setup, uint32_t number) {
    const struct g4_debug_setup *const want = &debug->setup;
    for (uint32_t i = 0; i < want->trap_count; i++) {
        if (want->trap[i].kind == G4_TRAP_OBJECT && want->trap[i].value == number) {
            return true;
        }
    }
    const int64_t x = want->x;
    const int64_t y = want->y;
    return want->watch_pixel && x >= setup->x_min && x <= setup->x_max && y >= setup->y_min && y <= setup->y_max;
}

static bool tell_object(struct g4_debug *debug, struct g4_gang *gang, int t, const struct g4_debug_object *object) {
    const struct g4_setup *const setup = object->setup;
    const struct g4_debug_gang *const known = g4_debug_gang_of(debug, gang);
    struct g4_debug_event event = {
        .kind = G4_DEBUG_OBJECT,
        .which = G4_DEBUG_NONE,
        .object = known->thread[t].object,
        .topology = setup->topology,
        .corners = object->vertices,
        .back_facing = setup->back_facing,
        .x_min = setup->x_min,
        .y_min = setup->y_min,
        .x_max = setup->x_max,
        .y_max = setup->y_max,
    };
    for (uint32_t i = 0; i < object->vertices && i < 3; i++) {
        const struct g4_vertex *const v = object->v[i];
        const float position[4] = {v->x, v->y, v->z, v->rhw};
        event.corner[i] = known->thread[t].vertex[i];
        memcpy(event.position[i], position, sizeof position);
    }
    return g4_debug_tell_thread(debug, gang, t, 0, NULL, &event);
}

enum g4_status g4_debug_start_setup(struct g4_worker *worker, const struct g4_debug_object *object, int count) {
    struct g4_debug *const debug = worker->eu.debug;
    struct g4_debug_thread thread[G4_GANG_THREADS];

    memset(thread, 0, sizeof thread);
    for (int t = 0; t < count; t++) {
        thread[t].object = (debug->objects + object[t].setup->primitive) & G4_DEBUG_NUMBERS;
        thread[t].vertices = object[t].vertices;
        for (uint32_t i = 0; i < object[t].vertices; i++) {
            thread[t].vertex[i] = g4_debug_find(debug, object[t].v[i]->rows);
        }
    }
    const enum g4_status status = g4_debug_start(debug, worker->gang, thread, count);
    for (int t = 0; t < count && status == G4_OK; t++) {
        if (wanted(debug, object[t].setup, thread[t].object) && !tell_object(debug, worker->gang, t, &object[t])) {
            return G4_STOPPED;
        }
    }
    return status;
}
