/*
 * Origins of vertices: fetched by VF, shaded or emitted by a thread (965 PRM vol. 4, 3.3.1).  They are known for the
 * current range, by the URB entry of the vertex.
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

/* Reserve capacity for one more origin; false: it stays unknown. */
static bool reserve(struct g4_debug *debug) {
    if (debug->origins >= MOST_ORIGINS) {
        return false;
    }
    if (debug->origins == debug->origin_capacity) {
        const uint32_t capacity = debug->origin_capacity ? 2 * debug->origin_capacity : FIRST_SLOTS / 2;
        struct g4_debug_origin *const more = realloc(debug->origin, capacity * sizeof *more);
        if (!more) {
            return false;
        }
        debug->origin = more;
        debug->origin_capacity = capacity;
    }
    return 2 * debug->origins < debug->slots || grow_slots(debug);
}

static void add(struct g4_debug *debug, const void *rows, const struct g4_debug_origin *origin) {
    if (reserve(debug)) {
        debug->origin[debug->origins++] = *origin;
        *find_slot(debug, rows) = (struct g4_debug_slot){.rows = rows, .origin = debug->origins};
    }
}

void g4_debug_range_started(struct g4_hooks *hooks) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    debug->origins = 0;
    if (debug->slots) {
        memset(debug->slot, 0, debug->slots * sizeof *debug->slot);
    }
}

uint32_t g4_debug_find_vertex(const struct g4_debug *debug, const void *rows) {
    const struct g4_debug_slot *const slot = debug->slots ? find_slot(debug, rows) : NULL;
    return slot && slot->origin ? slot->origin - 1 : G4_DEBUG_NONE;
}

/* Without a vertex shader there is no thread to stop: report the vertex itself. */
static bool trap_vertex(struct g4_debug *debug, const struct g4_debug_origin *origin) {
    for (uint32_t i = 0; i < debug->setup.trap_count; i++) {
        const struct g4_debug_trap *const trap = &debug->setup.trap[i];
        const bool hit = (trap->kind == G4_TRAP_VERTEX_INDEX && origin->index == trap->value) ||
                         (trap->kind == G4_TRAP_VERTEX_SEQUENCE && origin->output == trap->value);
        if (hit && !trap->quiet) {
            struct g4_debug_event event = {
                .kind = G4_DEBUG_VERTEX, .which = i, .value = debug->origins - 1, .thread.unit = G4_UNIT_VF};
            return g4_debug_report(debug, &event);
        }
    }
    return true;
}

bool g4_debug_vertex_fetched(struct g4_hooks *hooks, const struct g4_fetched_vertex *vertex) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    if (g4_debug_find_vertex(debug, vertex->rows) != G4_DEBUG_NONE) {
        return true; /* an earlier position has the same index */
    }
    const struct g4_debug_origin fetched = {
        .unit = G4_UNIT_VF,
        .thread = G4_DEBUG_NONE,
        .output = (vertex->sequence + debug->sequence) & G4_DEBUG_NUMBERS,
        .index = vertex->index,
        .id = vertex->id,
        .instance = vertex->instance,
        .primitive_id = vertex->primitive_id,
    };
    add(debug, vertex->rows, &fetched);
    return vertex->shaded || trap_vertex(debug, &fetched);
}

void g4_debug_vertex_emitted(struct g4_hooks *hooks, const struct g4_gang *gang, int t, uint32_t output,
                             const void *rows) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    const struct g4_debug_thread *const thread = &g4_debug_gang_of(debug, gang)->thread[t];
    struct g4_debug_origin origin = {
        .unit = thread->unit, .thread = thread->number, .output = output, .inputs = thread->vertices};
    memcpy(origin.input, thread->vertex, sizeof origin.input);
    add(debug, rows, &origin);
}
