/*
 * The debugger: attaching and detaching, its counts, and access to the thread of an event.
 */
#include "debugger/debug.h"

#include <stdlib.h>
#include <string.h>

#include "media/media.h"

/* ---- attached ---- */

static void release(struct g4_debug *debug) {
    free(debug->object_threads);
    free(debug->origin);
    free(debug->slot);
    free(debug->range_copy);
    free(debug->texel);
    free(debug);
}

static void detach(struct g4_hooks *hooks) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    g4_device_attach(debug->device, NULL);
    release(debug);
}

static void restart_numbers(struct g4_hooks *hooks) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    memset(debug->number, 0, sizeof debug->number);
    memset(debug->occurrences, 0, sizeof debug->occurrences);
    debug->sequence = 0;
}

static void forget_abandoning(struct g4_hooks *hooks) {
    g4_debug_of(hooks)->abandoned = false;
}

static const struct g4_hooks implementation = {
    .functions = g4_debug_functions,
    .free = detach,
    .numbers_restarted = restart_numbers,
    .draw_started = g4_debug_draw_started,
    .draw_ended = g4_debug_draw_ended,
    .range_started = g4_debug_range_started,
    .range_ended = g4_debug_range_ended,
    .object_set_up = g4_debug_object_set_up,
    .media_started = forget_abandoning,
    .gang_limit = g4_debug_gang_limit,
    .thread_capacity = g4_debug_thread_capacity,
    .thread_place = g4_debug_thread_place,
    .threads_started = g4_debug_threads_started,
    .vertex_fetched = g4_debug_vertex_fetched,
    .vertex_emitted = g4_debug_vertex_emitted,
    .run_gang = g4_debug_run_gang,
    .exception = g4_debug_exception,
    .pixel_covered = g4_debug_pixel_covered,
    .pixel_tested = g4_debug_pixel_tested,
    .pixel_message = g4_debug_pixel_message,
    .pixels_started = g4_debug_pixels_started,
    .pixels_ended = g4_debug_pixels_ended,
};

/* The debugger of a device, NULL without one: no other observer exists. */
static struct g4_debug *debugger_of(const struct g4_device *device) {
    return g4_debug_of(device->ctx.hooks);
}

static bool wants_instructions(const struct g4_debug_setup *setup) {
    return setup->breakpoint_count || setup->break_all || setup->break_flagged || setup->errors == G4_ERRORS_HARDWARE;
}

static bool wants_results(const struct g4_debug_setup *setup) {
    bool found = false;
    for (uint32_t i = 0; i < setup->breakpoint_count; i++) {
        found |= setup->breakpoint[i].kind == G4_BREAK_NOT_FINITE || setup->breakpoint[i].kind == G4_BREAK_DENORMAL;
    }
    return found;
}

static uint64_t watched_bytes(const struct g4_debug_setup *setup) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < setup->breakpoint_count; i++) {
        const struct g4_debug_breakpoint *const b = &setup->breakpoint[i];
        bytes += b->kind == G4_BREAK_WRITE && b->high >= b->low ? (uint64_t)b->high - b->low + 1 : 0;
    }
    return bytes;
}

/* True if both traps count the same occurrences. */
static bool same_trap(const struct g4_debug_trap *a, const struct g4_debug_trap *b) {
    return a->kind == b->kind && a->x == b->x && a->y == b->y && a->instance == b->instance &&
           a->of_object == b->of_object && a->object == b->object;
}

enum g4_status g4_device_debug(struct g4_device *device, const struct g4_debug_setup *setup, g4_debug_fn *fn,
                               void *data) {
    struct g4_debug *debug = debugger_of(device);

    if (!setup) {
        if (debug && debug->seen) {
            return G4_BAD_VALUE; /* an event is being handled */
        }
        if (debug) {
            detach(&debug->hooks);
        }
        return G4_OK;
    }
    if (setup->trap_count > G4_DEBUG_TRAPS || setup->breakpoint_count > G4_DEBUG_BREAKPOINTS || !fn ||
        setup->gang > G4_GANG_THREADS || watched_bytes(setup) > G4_DEBUG_RANGE) {
        return G4_BAD_VALUE;
    }
    if (!debug) {
        debug = calloc(1, sizeof *debug);
        if (!debug) {
            return G4_NO_MEMORY;
        }
        debug->range_copy = malloc(G4_DEBUG_RANGE);
        if (!debug->range_copy) {
            release(debug);
            return G4_NO_MEMORY;
        }
        debug->hooks = implementation;
        debug->device = device;
        g4_port_init(&debug->quiet_port, device->ctx.mem, G4_UNIT_CPU, false);
        debug->quiet_port.quiet = true;
        g4_device_attach(device, &debug->hooks);
    }
    for (uint32_t i = 0; i < setup->trap_count; i++) {
        if (!same_trap(&debug->setup.trap[i], &setup->trap[i])) {
            debug->occurrences[i] = 0;
        }
    }
    debug->setup = *setup;
    debug->hooks.single_subspan = setup->single_subspan;
    debug->hooks.watch_pixel = setup->watch_pixel;
    debug->hooks.x = setup->x;
    debug->hooks.y = setup->y;
    debug->generation++;
    debug->fn = fn;
    debug->data = data;
    debug->see_instructions = wants_instructions(setup);
    debug->see_results = wants_results(setup);
    return G4_OK;
}

void g4_debug_code_changed(struct g4_device *device) {
    struct g4_debug *const debug = debugger_of(device);
    if (debug) {
        debug->code_changed = true;
    }
}

/* ---- going back ---- */

_Static_assert(sizeof((struct g4_debug *)0)->number == sizeof((struct g4_debug_counts *)0)->number, "as many units");

bool g4_debug_get_counts(const struct g4_device *device, struct g4_debug_counts *counts) {
    const struct g4_debug *const debug = debugger_of(device);
    if (!debug) {
        return false;
    }
    *counts = (struct g4_debug_counts){.serial = debug->serial, .sequence = debug->sequence};
    memcpy(counts->number, debug->number, sizeof counts->number);
    memcpy(counts->occurrences, debug->occurrences, sizeof counts->occurrences);
    return true;
}

bool g4_debug_set_counts(struct g4_device *device, const struct g4_debug_counts *counts) {
    struct g4_debug *const debug = debugger_of(device);
    if (!debug) {
        return false;
    }
    debug->serial = counts->serial;
    debug->sequence = counts->sequence;
    memcpy(debug->number, counts->number, sizeof debug->number);
    memcpy(debug->occurrences, counts->occurrences, sizeof debug->occurrences);
    return true;
}

/* ---- the thread of an event ---- */

uint32_t *g4_debug_register(struct g4_device *device, uint32_t file, uint32_t reg) {
    const struct g4_debug *const debug = debugger_of(device);
    if (!debug || !debug->seen) {
        return NULL;
    }
    if (file == 1 && reg < G4_GRF_COUNT) {
        return debug->seen->grf[reg].ud[debug->seen_thread];
    }
    return file == 2 && reg < G4_MRF_COUNT ? debug->seen->mrf[reg].ud[debug->seen_thread] : NULL;
}

bool g4_debug_read_thread(const struct g4_device *device, struct g4_debug_state *state) {
    const struct g4_debug *const debug = debugger_of(device);
    if (!debug || !debug->seen) {
        return false;
    }
    const struct g4_gang *const gang = debug->seen;
    const int t = debug->seen_thread;
    const uint32_t upper = gang->wide ? 0xffff0000u : 0; /* generations with such threads have only amask */
    *state = (struct g4_debug_state){
        .ip = debug->seen_ip,
        .grf_count = g4_owned(gang),
        .dmask = g4_mask32(gang->dmask, t),
        .amask = g4_mask32(gang->amask, t),
        .imask = g4_mask16(gang->imask, t) | upper,
        .lmask = g4_mask16(gang->lmask, t) | upper,
        .cmask = g4_mask16(gang->cmask, t) | upper,
        .flags = (uint32_t)g4_flags_of(gang, t),
        .cr0 = {gang->cr0[t][0], gang->cr0[t][1], gang->cr0[t][2]},
        .sr0 = gang->sr0[t],
        .notify = {gang->notify[t][0], gang->notify[t][1]},
        .if_depth = gang->if_stack[t].depth,
        .loop_depth = gang->loop_stack[0][t].depth,
    };
    memcpy(state->a0, gang->a0[t], sizeof state->a0);
    for (uint32_t i = 0; i < G4_MASK_STACK_DEPTH; i++) { /* entries above the top read as 0 */
        state->if_stack[i] = i < gang->if_stack[t].depth ? gang->if_stack[t].entry[i] : 0;
        state->lmask_stack[i] = i < gang->loop_stack[0][t].depth ? gang->loop_stack[0][t].entry[i] : 0;
        state->cmask_stack[i] = i < gang->loop_stack[1][t].depth ? gang->loop_stack[1][t].entry[i] : 0;
    }
    for (int a = 0; a < 2; a++) {
        memcpy(state->acc_float[a], gang->acc[a].f[t], sizeof state->acc_float[a]);
        memcpy(state->acc_integer[a], gang->acc[a].i[t], sizeof state->acc_integer[a]);
    }
    return true;
}

void g4_debug_set_flags(struct g4_device *device, uint32_t flags) {
    const struct g4_debug *const debug = debugger_of(device);
    if (debug && debug->seen) {
        g4_set_flags_of(debug->seen, debug->seen_thread, flags);
    }
}

void g4_debug_set_control(struct g4_device *device, uint32_t index, uint32_t value) {
    const struct g4_debug *const debug = debugger_of(device);
    if (debug && debug->seen && index < 3) {
        debug->seen->cr0[debug->seen_thread][index] = value;
        if (debug->seen_run) {
            g4_run_control(debug->seen_run);
        }
    }
}

void g4_debug_clear_attention(struct g4_device *device) {
    const struct g4_debug *const debug = debugger_of(device);
    if (debug && debug->seen) {
        debug->seen->notify[debug->seen_thread][1] = 1;
    }
}
