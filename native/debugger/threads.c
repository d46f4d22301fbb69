/*
 * Starting threads: numbers, debug fields of R0, snapshot flags, traps, and their execution unit (965 PRM vol. 4, 3.2,
 * 3.3, 3.4.1).
 */
#include <stdlib.h>
#include <string.h>

#include "debugger/debug.h"
#include "hw_messages.h"

_Static_assert((int)G4_THREAD_VERTICES == (int)G4_DEBUG_INPUTS, "hooks and events have as many vertices");

enum {
    SNAPSHOT_FLAG_DWORD = 7,
    BREAKPOINT_ENABLE = 1 << (G4_CR0_ENABLE_SHIFT + G4_EXCEPTION_BREAKPOINT),
    ID_BITS = 0xffffff,
    EXTERNAL_HALT_STATUS = 1 << (G4_CR0_STATUS_SHIFT + G4_EXCEPTION_HALT),
};

#define SNAPSHOT_FLAG 0x80000000u

/* ---- where threads run ---- */

static uint32_t units_of(const struct g4_debug *debug) {
    return debug->device->ctx.model->chip->execution_units;
}

static uint32_t threads_of(const struct g4_debug *debug) {
    const uint32_t all = debug->device->ctx.model->chip->threads_per_unit;
    const uint32_t limit = debug->setup.threads_per_eu;
    return limit && limit < all ? limit : all;
}

static uint32_t mask_of(const struct g4_debug *debug, uint32_t unit) {
    const uint32_t all = (1u << units_of(debug)) - 1;
    const uint32_t mask = unit < G4_DEBUG_STAGES ? debug->setup.eu_mask[unit] & all : 0;
    return mask ? mask : all; /* hardware hangs without an execution unit */
}

static uint32_t place_of(const struct g4_debug *debug, uint32_t unit, uint32_t n) {
    uint32_t mask = mask_of(debug, unit);
    const uint32_t count = (uint32_t)__builtin_popcount(mask);
    for (uint32_t skip = n % count; skip > 0; skip--) {
        mask &= mask - 1;
    }
    return g4_thread_identity(debug->device->ctx.gen, (uint32_t)__builtin_ctz(mask), n / count % threads_of(debug));
}

uint32_t g4_debug_thread_place(const struct g4_hooks *hooks, uint32_t unit, uint32_t n) {
    return place_of((const struct g4_debug *)hooks, unit, n);
}

uint32_t g4_debug_thread_capacity(const struct g4_hooks *hooks, uint32_t unit) {
    const struct g4_debug *const debug = (const struct g4_debug *)hooks;
    return (uint32_t)__builtin_popcount(mask_of(debug, unit)) * threads_of(debug);
}

uint32_t g4_debug_gang_limit(const struct g4_hooks *hooks, uint32_t unit, uint32_t max_threads) {
    const struct g4_debug *const debug = (const struct g4_debug *)hooks;
    const uint32_t capacity = g4_debug_thread_capacity(hooks, unit);
    const uint32_t gang = debug->setup.gang ? debug->setup.gang : G4_GANG_THREADS;
    const uint32_t count = max_threads < capacity ? max_threads : capacity;
    return count < gang ? count : gang;
}

/* ---- traps ---- */

/* True if one of the vertices of the thread matches a trap for vertices. */
static bool vertex_matches(const struct g4_debug *debug, const struct g4_debug_trap *trap,
                           const struct g4_debug_thread *thread) {
    for (uint32_t i = 0; i < thread->vertices; i++) {
        if (thread->vertex[i] >= debug->origins) {
            continue;
        }
        const struct g4_debug_origin *const origin = &debug->origin[thread->vertex[i]];
        if ((trap->kind == G4_TRAP_VERTEX_INDEX ? origin->index : origin->output) == trap->value) {
            return true;
        }
    }
    return false;
}

static bool pixel_matches(struct g4_debug *debug, uint32_t which, const struct g4_debug_thread *thread) {
    const struct g4_debug_trap *const trap = &debug->setup.trap[which];
    if (trap->of_object && thread->object != trap->object) {
        return false;
    }
    for (uint32_t s = 0; s < thread->subspans; s++) {
        if (thread->x[s] == (trap->x & ~1u) && thread->y[s] == (trap->y & ~1u)) {
            debug->occurrences[which]++;
            return trap->instance == 0 || debug->occurrences[which] == trap->instance;
        }
    }
    return false;
}

static bool matches(struct g4_debug *debug, uint32_t which, const struct g4_debug_thread *thread, const uint32_t *r0) {
    const struct g4_debug_trap *const trap = &debug->setup.trap[which];
    switch (trap->kind) {
    case G4_TRAP_THREAD:
        return g4_debug_unit_in(trap->units, thread->unit) && thread->number == trap->value;
    case G4_TRAP_EVERY_THREAD:
        return g4_debug_unit_in(trap->units, thread->unit);
    case G4_TRAP_OBJECT:
        return thread->unit == G4_UNIT_SF && thread->object == trap->value;
    case G4_TRAP_PIXEL:
        return thread->unit == G4_UNIT_WM && pixel_matches(debug, which, thread);
    case G4_TRAP_VERTEX_INDEX:
    case G4_TRAP_VERTEX_SEQUENCE:
        return thread->unit == G4_UNIT_VS && vertex_matches(debug, trap, thread);
    case G4_TRAP_DEBUG_ID:
        return g4_debug_unit_in(trap->units, thread->unit) && ((r0[6] ^ trap->value) & trap->mask & ID_BITS) == 0 &&
               ((r0[7] ^ trap->value_7) & trap->mask_7 & ID_BITS) == 0;
    default:
        return false;
    }
}

/* ---- start ---- */

static void number(struct g4_debug *debug, struct g4_gang *gang, int t, struct g4_debug_thread *thread) {
    const struct g4_dispatch *const dispatch = gang->dispatch;
    uint32_t *const count = &debug->number[dispatch->unit % G4_DEBUG_STAGES];
    const bool media = dispatch->unit == G4_UNIT_TS;
    const uint32_t place = media ? gang->sr0[t] : place_of(debug, dispatch->unit, *count);

    thread->serial = ++debug->serial;
    thread->unit = dispatch->unit;
    thread->number = dispatch->unit == G4_UNIT_SF ? thread->object : *count; /* 965 PRM vol. 4, 3.3.8 */
    *count = (*count + 1) & G4_DEBUG_NUMBERS;
    thread->kernel = dispatch->kernel_address;
    thread->general_state_base = dispatch->general_state_base;
    thread->surface_state_base = dispatch->surface_state_base;
    thread->binding_table = dispatch->binding_table;
    thread->euid = g4_thread_state_euid(&place);
    thread->tid = g4_thread_state_tid(&place);
    thread->fftid = gang->slot[t];
    if (debug->setup.override_exceptions) {
        gang->cr0[t][1] = (debug->setup.exceptions & 7) << G4_CR0_ENABLE_SHIFT;
    }
    if (!media) { /* media threads have numbers from VFE or their parent */
        uint32_t *const r0 = gang->grf[0].ud[t];
        r0[6] = (r0[6] & ~(uint32_t)ID_BITS) | (dispatch->unit == G4_UNIT_WM ? thread->in_object : thread->number);
        gang->sr0[t] = place;
    }
}

/* An external halt, which needs no enable: the thread begins in its system routine (965 PRM vol. 4, 3.4.1.1).  Without
 * a routine it continues, as with breakpoints. */
static void external_halt(const struct g4_debug *debug, struct g4_gang *gang, int t) {
    const uint32_t routine = debug->device->ctx.state->system_instruction_pointer;
    uint32_t *const cr0 = gang->cr0[t];

    if (routine && debug->setup.system_routine) {
        cr0[1] |= EXTERNAL_HALT_STATUS;
        cr0[2] = (uint32_t)(gang->dispatch->kernel_address - gang->dispatch->instruction_base);
        cr0[0] |= G4_CR0_MASTER;
        gang->ip[t] = (routine - gang->dispatch->kernel_address) & ~7u;
    }
}

/* Report the end of a thread's start; the answer does not change stepping. */
static bool settle(struct g4_debug *debug, struct g4_gang *gang, int t, struct g4_debug_event *event) {
    const uint64_t stepping = debug->stepping;
    const uint64_t finishing = debug->finishing;
    const bool before_first = debug->before_first;
    const bool proceed = g4_debug_report_thread(debug, gang, t, 0, NULL, event);
    debug->stepping = stepping;
    debug->finishing = finishing;
    debug->before_first = before_first;
    return proceed;
}

static bool start_thread(struct g4_debug *debug, struct g4_gang *gang, int t, struct g4_debug_thread *thread) {
    uint32_t *const r0 = gang->grf[0].ud[t];
    bool hit[G4_DEBUG_TRAPS] = {false};
    bool halted = false;
    bool reported = false;

    thread->flagged = debug->goal == thread->serial && debug->goal_flagged;
    for (uint32_t i = 0; i < debug->setup.trap_count; i++) {
        const struct g4_debug_trap *const trap = &debug->setup.trap[i];
        if (matches(debug, i, thread, r0)) {
            thread->flagged |= !trap->unflagged;
            hit[i] = !trap->quiet;
            halted |= trap->halt;
        }
    }
    if (halted) {
        external_halt(debug, gang, t);
    }
    if (thread->flagged && !gang->shared_memory) { /* R0.7 of GPGPU threads is the number of their group */
        r0[SNAPSHOT_FLAG_DWORD] |= SNAPSHOT_FLAG;
    }
    if (debug->setup.break_all || (debug->setup.break_flagged && thread->flagged)) {
        gang->cr0[t][1] |= BREAKPOINT_ENABLE;
    }
    g4_debug_gang_of(debug, gang)->thread[t] = *thread;
    for (uint32_t i = 0; i < debug->setup.trap_count; i++) {
        struct g4_debug_event event = {.kind = G4_DEBUG_THREAD, .which = i, .occurrence = debug->occurrences[i]};
        if (hit[i] && !g4_debug_report_thread(debug, gang, t, 0, NULL, &event)) {
            return false;
        }
        reported |= hit[i];
    }
    struct g4_debug_event settled = {.kind = G4_DEBUG_SETTLED, .which = G4_DEBUG_NONE};
    return !reported || settle(debug, gang, t, &settled);
}

static enum g4_status start_threads(struct g4_debug *debug, struct g4_gang *gang, struct g4_debug_thread *thread,
                                    int count) {
    struct g4_debug_gang *const known = g4_debug_gang_of(debug, gang);

    memset(known->in_flight, 0, sizeof known->in_flight);
    memset(known->executed, 0, sizeof known->executed);
    memset(known->not_finite, 0, sizeof known->not_finite);
    memset(known->denormal, 0, sizeof known->denormal);
    known->counted = true;
    for (int t = 0; t < count; t++) {
        number(debug, gang, t, &thread[t]);
        known->thread[t] = thread[t];
    }
    for (int t = 0; t < count; t++) {
        if (!start_thread(debug, gang, t, &thread[t])) {
            return G4_STOPPED;
        }
    }
    return G4_OK;
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

/* The event of an object, with the positions of its vertices; their origins are left to the caller. */
static struct g4_debug_event object_event(const struct g4_setup *setup, const struct g4_vertex *const corner[3],
                                          uint32_t corners) {
    struct g4_debug_event event = {
        .kind = G4_DEBUG_OBJECT,
        .which = G4_DEBUG_NONE,
        .topology = setup->topology,
        .corners = corners,
        .back_facing = setup->back_facing,
        .x_min = setup->x_min,
        .y_min = setup->y_min,
        .x_max = setup->x_max,
        .y_max = setup->y_max,
    };
    for (uint32_t i = 0; i < corners && i < 3; i++) {
        const float position[4] = {corner[i]->x, corner[i]->y, corner[i]->z, corner[i]->rhw};
        memcpy(event.position[i], position, sizeof position);
    }
    return event;
}

static bool report_object(struct g4_debug *debug, struct g4_gang *gang, int t, const struct g4_thread_start *object) {
    const struct g4_debug_gang *const known = g4_debug_gang_of(debug, gang);
    struct g4_debug_event event = object_event(object->setup, object->corner, object->vertices);
    event.object = known->thread[t].object;
    for (uint32_t i = 0; i < object->vertices && i < 3; i++) {
        event.corner[i] = known->thread[t].vertex[i];
    }
    return g4_debug_report_thread(debug, gang, t, 0, NULL, &event);
}

bool g4_debug_object_set_up(struct g4_hooks *hooks, const struct g4_setup *setup,
                            const struct g4_vertex *const corner[3], uint32_t corners) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    const uint32_t number = (debug->objects + setup->primitive) & G4_DEBUG_NUMBERS;
    if (!wanted(debug, setup, number)) {
        return true;
    }
    struct g4_debug_event event = object_event(setup, corner, corners < 3 ? corners : 3);
    event.object = number;
    event.thread.unit = G4_UNIT_SF; /* without a thread */
    event.thread.object = number;
    for (uint32_t i = 0; i < event.corners; i++) {
        event.corner[i] = g4_debug_find_vertex(debug, corner[i]->rows);
    }
    return g4_debug_report(debug, &event);
}

/* ---- the hook ---- */

/* The index of a new thread among those of its object (965 PRM vol. 4, 3.3.9: "primitive relative count"). */
static uint32_t next_of_object(struct g4_debug *debug, uint32_t object) {
    const uint32_t index = (object - debug->first_object) & G4_DEBUG_NUMBERS;
    return index < debug->object_count ? debug->object_threads[index]++ & G4_DEBUG_NUMBERS : 0;
}

static void describe(struct g4_debug *debug, uint32_t unit, uint32_t t, const struct g4_thread_start *start,
                     struct g4_debug_thread *thread) {
    memset(thread, 0, sizeof *thread);
    thread->object = G4_DEBUG_NONE;
    if (unit == G4_UNIT_SF) {
        thread->object = (debug->objects + start->setup->primitive) & G4_DEBUG_NUMBERS;
    } else if (unit == G4_UNIT_WM) {
        thread->object = start->setup->primitive;
        thread->in_object = next_of_object(debug, thread->object);
    }
    thread->vertices = start->vertices;
    for (uint32_t v = 0; v < start->vertices; v++) {
        const uint32_t origin = g4_debug_find_vertex(debug, start->rows[v]);
        thread->vertex[v] = origin;
        if (unit == G4_UNIT_VS && origin != G4_DEBUG_NONE) {
            debug->origin[origin].thread = (debug->number[G4_UNIT_VS] + t) & G4_DEBUG_NUMBERS;
        }
    }
    thread->subspans = start->subspans;
    memcpy(thread->x, start->x, sizeof thread->x);
    memcpy(thread->y, start->y, sizeof thread->y);
}

enum g4_status g4_debug_threads_started(struct g4_hooks *hooks, struct g4_gang *gang,
                                        const struct g4_thread_start *start, int count) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    const uint32_t unit = gang->dispatch->unit;
    struct g4_debug_thread thread[G4_GANG_THREADS];

    for (int t = 0; t < count; t++) {
        describe(debug, unit, (uint32_t)t, &start[t], &thread[t]);
    }
    const enum g4_status status = start_threads(debug, gang, thread, count);
    for (int t = 0; t < count && unit == G4_UNIT_SF && status == G4_OK; t++) {
        if (wanted(debug, start[t].setup, thread[t].object) && !report_object(debug, gang, t, &start[t])) {
            return G4_STOPPED;
        }
    }
    return status;
}

/* ---- draws ---- */

void g4_debug_draw_started(struct g4_hooks *hooks) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    struct g4_draw_state *const draw = debug->device->draw_state;

    debug->objects = debug->first_object = debug->device->next_object;
    debug->object_count = 0;
    memset(debug->early, 0, sizeof debug->early);
    for (int s = 0; s < G4_STAGES; s++) {
        draw->dispatch[s].observed = true;
    }
    for (int i = 0; i < G4_WM_ENTRIES; i++) {
        draw->wm_dispatch[i].observed = true;
    }
    const uint64_t vertices = (uint64_t)draw->primitive.vertex_count * draw->primitive.instance_count;
    debug->draw_vertices = draw->primitive.indirect ? 0 : (uint32_t)vertices;
}

void g4_debug_draw_ended(struct g4_hooks *hooks) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    debug->sequence = (debug->sequence + debug->draw_vertices) & G4_DEBUG_NUMBERS;
    debug->origins = 0;
    debug->abandoned = false;
    debug->stepping = debug->finishing = debug->goal = 0;
}

void g4_debug_range_ended(struct g4_hooks *hooks, uint32_t objects) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    const uint32_t count = debug->object_count + objects;

    debug->objects = (debug->objects + objects) & G4_DEBUG_NUMBERS;
    if (objects == 0 || count > G4_DEBUG_NUMBERS) {
        return;
    }
    if (count > debug->object_capacity) {
        const uint32_t capacity = 2 * count;
        uint32_t *const more = realloc(debug->object_threads, (size_t)capacity * sizeof *more);
        if (!more) {
            return; /* threads of later objects are not counted */
        }
        debug->object_threads = more;
        debug->object_capacity = capacity;
    }
    memset(debug->object_threads + debug->object_count, 0, (size_t)objects * sizeof *debug->object_threads);
    debug->object_count = count;
}
