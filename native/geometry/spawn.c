/*
 * Threads of GS and CLIP: one per object, with output through URB handles that they allocate (G45 PRM vol. 2, 2.7.9,
 * 5.5.1 and 6.8).
 */
#include <string.h>

#include "core/hooks.h"
#include "core/report.h"
#include "geometry/stage.h"
#include "hw_messages.h"

enum {
    HANDLES = 16, /* a thread may hold */
    MAX_VERTICES_A_THREAD = 4096,
};

/* One running thread: its handles and its output. */
struct spawned_thread {
    struct g4_worker *worker;
    const struct g4_spawn *spawn;
    struct g4_output *out;
    uint32_t (*window)[8];
    uint32_t entry_rows;
    uint32_t used; /* bit h: handle h is the thread's */
    uint32_t vertices;
};

static uint32_t handle_of(const struct spawned_thread *thread, uint32_t slot) {
    return slot * (thread->entry_rows / 2);
}

/* A free handle.  A kernel that holds too many shares the last one. */
static uint32_t take_handle(struct spawned_thread *thread) {
    uint32_t slot = 0;
    while (slot < HANDLES - 1 && (thread->used >> slot & 1)) {
        slot++;
    }
    thread->used |= 1u << slot;
    memset(thread->window[slot * thread->entry_rows], 0, thread->entry_rows * sizeof thread->window[0]);
    return handle_of(thread, slot);
}

static bool output_grow(struct g4_output *out) {
    if (out->vertices == out->vertex_capacity) {
        const uint32_t capacity = out->vertex_capacity ? 2 * out->vertex_capacity : 32;
        struct g4_vertex *const more = g4_arena_alloc(out->arena, capacity * sizeof *more);
        if (!more) {
            return false;
        }
        if (out->vertices) {
            memcpy(more, out->vertex, out->vertices * sizeof *more);
        }
        out->vertex = more;
        out->vertex_capacity = capacity;
    }
    if (out->strips == out->strip_capacity) {
        const uint32_t capacity = out->strip_capacity ? 2 * out->strip_capacity : 8;
        struct g4_strip *const more = g4_arena_alloc(out->arena, capacity * sizeof *more);
        if (!more) {
            return false;
        }
        if (out->strips) {
            memcpy(more, out->strip, out->strips * sizeof *more);
        }
        out->strip = more;
        out->strip_capacity = capacity;
    }
    return true;
}

/* Copy a finished vertex, and append it to the current primitive or, by M0.2, to a new one. */
static void output_vertex(struct spawned_thread *thread, uint32_t handle, const uint32_t *header) {
    struct g4_output *const out = thread->out;
    const uint32_t rows = thread->entry_rows;
    const uint32_t first_row = handle * 2;

    if (first_row + rows > HANDLES * rows || thread->vertices >= MAX_VERTICES_A_THREAD) {
        return;
    }
    uint32_t(*const copy)[8] = g4_arena_alloc(out->arena, rows * sizeof *copy);
    if (!copy || !output_grow(out)) {
        out->no_memory = true;
        return;
    }
    memcpy(copy, thread->window[first_row], rows * sizeof *copy);
    g4_vertex_read_back(thread->worker->ctx, (const uint32_t(*)[8])copy, rows, thread->spawn->max_viewport,
                        &out->vertex[out->vertices]);

    const bool starts = g4_urb_write_message_header_handle_0_prim_start(header) || out->strips == 0 ||
                        out->strip[out->strips - 1].ends_primitive;
    if (starts) {
        out->strip[out->strips++] = (struct g4_strip){
            .topology = g4_urb_write_message_header_handle_0_prim_type(header), .first = out->vertices};
    }
    struct g4_strip *const strip = &out->strip[out->strips - 1];
    strip->count++;
    strip->ends_primitive = g4_urb_write_message_header_handle_0_prim_end(header);
    out->vertices++;
    thread->vertices++;
}

static uint32_t urb_event(struct g4_gang *gang, int t, uint32_t descriptor, const uint32_t *header) {
    struct spawned_thread *const thread = gang->unit_data[t];
    const uint32_t handle = g4_urb_write_message_header_urb_return_handle_0(header);
    const uint32_t units = thread->entry_rows / 2;

    if (g4_urb_message_complete(descriptor)) {
        if (g4_urb_message_used(descriptor)) {
            const uint32_t before = thread->out->vertices;
            output_vertex(thread, handle, header);
            struct g4_hooks *const hooks = thread->worker->eu.hooks;
            if (hooks && thread->out->vertices > before) {
                hooks->vertex_emitted(hooks, gang, t, thread->vertices - 1, thread->out->vertex[before].rows);
            }
        }
        if (handle / units < HANDLES) {
            thread->used &= ~(1u << (handle / units));
        }
    }
    return g4_urb_message_allocate(descriptor) ? take_handle(thread) : 0;
}

static enum g4_status start(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_spawn *spawn,
                            const struct g4_slots *slots, const struct g4_thread_object *object, uint32_t threads,
                            struct spawned_thread *thread, struct g4_output *out) {
    struct g4_gang *const gang = worker->gang;
    const struct g4_dispatch *const dispatch = &draw->dispatch[spawn->stage];
    const struct g4_stage *const stage = &draw->stage[spawn->stage];

    g4_gang_start_for(gang, dispatch, draw->kernel[spawn->stage], (int)threads, false);
    gang->owner = (struct g4_gang_owner){.urb_event = urb_event};
    const uint32_t grf = g4_payload_constants(gang, (int)threads, &draw->curbe, stage->constant_offset,
                                              stage->constant_rows, stage->grf_start);
    for (uint32_t t = 0; t < threads; t++) {
        const uint32_t rows = stage->entry_rows;
        uint32_t(*const window)[8] = g4_arena_alloc(worker->gang_arena, (size_t)HANDLES * rows * sizeof *window);
        if (!window) {
            return G4_NO_MEMORY;
        }
        thread[t] = (struct spawned_thread){
            .worker = worker, .spawn = spawn, .out = &out[t], .window = window, .entry_rows = rows};
        gang->unit_data[t] = &thread[t];
        gang->urb[t] = window;
        gang->urb_rows[t] = HANDLES * rows;
        gang->slot[t] = slots->first + t;

        uint32_t *const r0 = gang->grf[0].ud[t];
        r0[0] = take_handle(&thread[t]);
        r0[2] = object[t].r0_2;
        g4_payload_pointers(dispatch, gang->slot[t], r0);
        uint32_t next = grf;
        for (uint32_t v = 0; v < object[t].vertices; v++) {
            next = g4_payload_rows(gang, (int)t, object[t].rows[v], object[t].row_count[v], stage->input_offset,
                                   stage->input_rows, next);
        }
        g4_gang_set_dmask(gang, (int)t, 0x0f); /* four channels */
    }
    return G4_OK;
}

static enum g4_status notify_start(struct g4_worker *worker, const struct g4_thread_object *object, uint32_t threads) {
    struct g4_hooks *const hooks = worker->eu.hooks;
    struct g4_thread_start start[G4_GANG_THREADS];

    memset(start, 0, sizeof start);
    for (uint32_t t = 0; t < threads; t++) {
        start[t].vertices = object[t].vertices;
        for (uint32_t v = 0; v < object[t].vertices; v++) {
            start[t].rows[v] = object[t].rows[v];
        }
    }
    return hooks->threads_started(hooks, worker->gang, start, (int)threads);
}

enum g4_status g4_spawn_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_spawn *spawn,
                            const struct g4_thread_object *object, uint32_t count, struct g4_output *out) {
    const struct g4_kernel *const kernel = draw->kernel[spawn->stage];
    struct spawned_thread thread[G4_GANG_THREADS];

    if (!kernel) {
        const struct g4_dispatch *const dispatch = &draw->dispatch[spawn->stage];
        worker->eu.fault = (struct g4_fault){.unit = dispatch->unit, .address = dispatch->kernel_address};
        return G4_FAULT;
    }
    g4_kernel_make_ready(kernel, worker->ctx); /* a clip kernel may not be */
    const struct g4_slots slots =
        g4_thread_slots(worker, kernel, draw->dispatch[spawn->stage].unit, draw->stage[spawn->stage].max_threads, 1);
    for (uint32_t first = 0; first < count; first += slots.count) {
        const uint32_t threads = count - first < slots.count ? count - first : slots.count;
        g4_arena_reset(worker->gang_arena);
        enum g4_status status = start(worker, draw, spawn, &slots, object + first, threads, thread, out + first);
        if (status == G4_OK && worker->eu.hooks) {
            status = notify_start(worker, object + first, threads);
        }
        if (status == G4_OK) {
            status = g4_gang_run(&worker->eu, worker->gang, kernel);
        }
        if (status != G4_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (out[i].no_memory) {
            return G4_NO_MEMORY;
        }
    }
    return G4_OK;
}
