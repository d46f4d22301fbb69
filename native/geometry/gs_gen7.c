/*
 * The geometry shader stage of Gen7 (IVB PRM vol. 2 part 1, "Geometry Shader (GS) Stage").
 *
 * An object, or each instance of it, has one URB entry, which its thread fills: control data, then vertices.  The
 * message that ends the thread says how many there are.  Up to two of them share a thread, in the halves of its
 * registers.
 *
 * From Gen8 on up to eight share a thread, one in each channel, and the entry starts with the number of its vertices
 * unless it is constant (SKL PRM vol. 7, "GS Thread Payload").
 */
#include <string.h>

#include "core/hooks.h"
#include "core/report.h"
#include "core/util.h"
#include "geometry/payload_gen7.h"
#include "geometry/stage.h"
#include "messages_gen7.h"

enum {
    SLOTS_PER_ROW = 2,
    BITS_PER_ROW = 256,
    BITS_OF_STREAM = 2,
    MOST_UNITS = 8,
    INSTANCE_SHIFT = 27, /* in a register of handles */
};

/* The vertices of an object in the order of the payload. */
struct object {
    const struct g4_vertex *vertex[G4_PATCH_VERTICES];
    uint32_t vertices;
    uint32_t topology; /* as R0 says it */
    uint32_t primitive_id;
};

/* One instance of one object. */
struct gs_instance {
    uint32_t object, instance;
};

/* A running thread: what it works on, and where it writes. */
struct gs_thread {
    const struct g4_context *ctx;
    struct gs_instance unit[MOST_UNITS];
    uint32_t units;
    uint32_t entry[MOST_UNITS]; /* first rows of the entries in the window, which are also their handles */
    uint32_t vertices[2];       /* in the message at the end of the thread */
    uint32_t (*window)[8];
};

/* The stage's work on a strip. */
struct gs_run {
    struct g4_worker *worker;
    const struct g4_draw_state *draw;
    const struct g4_geometry_shader *gs;
    const struct g4_stage *stage;
    struct g4_slots slots;
    struct object *object;
    struct g4_output *out;
    struct gs_thread thread[G4_GANG_THREADS];
};

/* ---- objects and threads ---- */

static struct object *list_objects(const struct g4_draw_state *draw, const struct g4_strip *strip,
                                   const struct g4_vertex *const *vertex, struct g4_arena *arena) {
    struct object *const object = g4_arena_alloc(arena, strip->objects * sizeof *object);

    for (uint32_t i = 0; object && i < strip->objects; i++) {
        uint32_t position[G4_PATCH_VERTICES] = {0};
        const uint32_t k = strip->first_object + i;
        object[i].vertices =
            g4_topology_gs_object(strip->topology, strip->vertices, k, (enum g4_odd_triangles)draw->gs.odd_triangles,
                                  draw->gs.discard_adjacency, position, &object[i].topology);
        object[i].primitive_id = g4_strip_primitive_id(strip, i);
        for (uint32_t v = 0; v < object[i].vertices; v++) {
            object[i].vertex[v] = g4_strip_vertex(strip, vertex, position[v]);
        }
    }
    return object;
}

/* Whether a thread has several objects, else instances of one. */
static bool shares_objects(const struct g4_geometry_shader *gs) {
    return gs->dispatch == G4_GS_DUAL_OBJECTS || (gs->dispatch == G4_GS_EIGHT_CHANNELS && gs->instances == 1);
}

/* The units that a thread can have. */
static uint32_t most_units(const struct g4_geometry_shader *gs) {
    return gs->dispatch == G4_GS_EIGHT_CHANNELS ? MOST_UNITS : gs->dispatch == G4_GS_SINGLE ? 1 : 2;
}

/* The units of thread number `number`; returns how many.  Instances of an object follow each other. */
static uint32_t units_of(const struct g4_geometry_shader *gs, uint32_t objects, uint32_t number,
                         struct gs_instance unit[MOST_UNITS]) {
    const uint32_t most = most_units(gs);
    const uint32_t threads = (gs->instances + most - 1) / most; /* of an object */
    uint32_t units = 0;

    for (uint32_t u = 0; u < most; u++) {
        unit[u] = shares_objects(gs) ? (struct gs_instance){most * number + u, 0}
                                     : (struct gs_instance){number / threads, number % threads * most + u};
        units += unit[u].object < objects && (shares_objects(gs) || unit[u].instance < gs->instances);
    }
    return units;
}

static uint32_t thread_count(const struct g4_geometry_shader *gs, uint32_t objects) {
    const uint32_t most = most_units(gs);
    return shares_objects(gs) ? (objects + most - 1) / most : objects * ((gs->instances + most - 1) / most);
}

/* ---- the payload ---- */

/* Copy the entries of a thread's vertices to its window, from `row` on; returns the row after them. */
static uint32_t copy_inputs(const struct gs_run *run, struct gs_thread *thread,
                            uint32_t handle[MOST_UNITS][G4_PATCH_VERTICES], uint32_t row) {
    for (uint32_t u = 0; u < thread->units; u++) {
        const struct object *const object = &run->object[thread->unit[u].object];
        for (uint32_t v = 0; v < object->vertices; v++) {
            const struct g4_vertex *const from = object->vertex[v];
            memcpy(thread->window[row], from->rows, from->row_count * sizeof *from->rows);
            handle[u][v] = row;
            row += from->row_count;
        }
    }
    return row;
}

static uint32_t input_rows(const struct gs_run *run, const struct gs_thread *thread) {
    uint32_t rows = 0;
    for (uint32_t u = 0; u < thread->units && run->gs->has_vertex_handles; u++) {
        const struct object *const object = &run->object[thread->unit[u].object];
        for (uint32_t v = 0; v < object->vertices; v++) {
            rows += object->vertex[v]->row_count;
        }
    }
    return rows;
}

/* Each component of a vertex has a register, with that of another object in each channel. */
static void put_channels(const struct gs_run *run, int t, const struct gs_thread *thread, uint32_t grf) {
    const struct g4_stage *const stage = run->stage;
    const uint32_t vertices = run->object[thread->unit[0].object].vertices;

    for (uint32_t i = 0; i < vertices * stage->input_rows * 8 && grf < G4_GRF_COUNT; i++, grf++) {
        const uint32_t v = i / (stage->input_rows * 8);
        const uint32_t row = stage->input_offset + i / 8 % stage->input_rows;
        for (uint32_t u = 0; u < thread->units; u++) {
            const struct g4_vertex *const from = run->object[thread->unit[u].object].vertex[v];
            run->worker->gang->grf[grf].ud[t][u] = row < from->row_count ? from->rows[row][i % 8] : 0;
        }
    }
}

/* Of two objects the vertices share registers, a slot each; else a register has two slots. */
static void put_vertices(const struct gs_run *run, int t, const struct gs_thread *thread, uint32_t grf) {
    struct g4_gang *const gang = run->worker->gang;
    const struct object *const a = &run->object[thread->unit[0].object];
    const struct object *const b = &run->object[thread->unit[thread->units - 1].object];

    for (uint32_t v = 0; v < a->vertices; v++) {
        const struct g4_vertex *const from = a->vertex[v];
        if (run->gs->dispatch == G4_GS_DUAL_OBJECTS) {
            g4_vs_put_pair(gang, t, from->rows, b->vertex[v]->rows, from->row_count, run->stage, grf);
            grf += 2 * run->stage->input_rows;
        } else {
            grf = g4_payload_rows(gang, t, from->rows, from->row_count, run->stage->input_offset,
                                  run->stage->input_rows, grf);
        }
    }
}

/* R1 has the handles, and the instances; the primitive IDs come next. */
static void put_channel_handles(const struct gs_run *run, int t, const struct gs_thread *thread) {
    struct g4_gang *const gang = run->worker->gang;

    for (uint32_t u = 0; u < thread->units; u++) {
        gang->grf[1].ud[t][u] = thread->entry[u] | thread->unit[u].instance << INSTANCE_SHIFT;
        if (run->gs->has_primitive_ids) {
            gang->grf[2].ud[t][u] = run->object[thread->unit[u].object].primitive_id;
        }
    }
}

static void put_header(const struct gs_run *run, int t, const struct gs_thread *thread) {
    const uint32_t gen = run->worker->ctx->gen;
    struct g4_gang *const gang = run->worker->gang;
    const struct object *const a = &run->object[thread->unit[0].object];
    const struct object *const b = &run->object[thread->unit[thread->units - 1].object];
    const struct gen7_payload_gs_r0 header = {
        .instance_id_0 = thread->unit[0].instance,
        .urb_return_handle_0 = thread->entry[0],
        .instance_id_1 = thread->units == 2 ? thread->unit[1].instance : 0,
        .urb_return_handle_1 = thread->units == 2 ? thread->entry[1] : 0,
        .primitive_topology_type = a->topology,
    };
    const struct gen7_payload_gs_primitive_ids ids = {a->primitive_id, b->primitive_id};
    uint32_t packed[8];

    g4_payload_r0_gen7(run->worker->ctx, &run->draw->dispatch[G4_STAGE_GS], gang->slot[t], gang->grf[0].ud[t]);
    gen7_payload_gs_r0_pack(&header, gen, packed);
    memcpy(gang->grf[0].ud[t], packed, 3 * sizeof packed[0]); /* before the pointers */
    if (run->gs->dispatch == G4_GS_EIGHT_CHANNELS) {
        put_channel_handles(run, t, thread);
    } else if (run->gs->has_primitive_ids) {
        gen7_payload_gs_primitive_ids_pack(&ids, gen, gang->grf[1].ud[t]);
    }
}

/* Handles come after the primitive IDs: a register of the first object, then one of the second (docs/decisions.md
 * 140). */
static void put_handles(const struct gs_run *run, int t, const struct gs_thread *thread,
                        uint32_t handle[MOST_UNITS][G4_PATCH_VERTICES]) {
    const bool eight = run->gs->dispatch == G4_GS_EIGHT_CHANNELS;
    uint32_t grf = (run->gs->has_primitive_ids ? 2 : 1) + (eight ? 1 : 0);
    const uint32_t objects = run->gs->dispatch == G4_GS_DUAL_OBJECTS ? thread->units : 1;

    if (eight &&
        shares_objects(run->gs)) { /* a register for each vertex, with that of another object in each channel */
        for (uint32_t v = 0; v < run->object[thread->unit[0].object].vertices && grf < G4_GRF_COUNT; v++, grf++) {
            for (uint32_t u = 0; u < thread->units; u++) {
                run->worker->gang->grf[grf].ud[t][u] = handle[u][v];
            }
        }
        return;
    }
    for (uint32_t u = 0; u < objects; u++) {
        grf =
            g4_payload_handles_gen7(run->worker->gang, t, handle[u], run->object[thread->unit[u].object].vertices, grf);
    }
}

static bool start_thread(struct gs_run *run, int t, uint32_t grf) {
    struct g4_gang *const gang = run->worker->gang;
    struct gs_thread *const thread = &run->thread[t];
    const uint32_t rows = input_rows(run, thread) + most_units(run->gs) * run->stage->entry_rows;
    uint32_t handle[MOST_UNITS][G4_PATCH_VERTICES];

    thread->window = g4_arena_alloc(run->worker->gang_arena, (size_t)rows * sizeof *thread->window);
    if (!thread->window) {
        return false;
    }
    memset(thread->window, 0, (size_t)rows * sizeof *thread->window);
    const uint32_t used = run->gs->has_vertex_handles ? copy_inputs(run, thread, handle, 0) : 0;
    thread->ctx = run->worker->ctx;
    for (uint32_t u = 0; u < thread->units; u++) {
        thread->entry[u] = used + u * run->stage->entry_rows;
    }
    thread->vertices[0] = thread->vertices[1] = 0;
    gang->unit_data[t] = thread;
    gang->urb[t] = thread->window;
    gang->urb_rows[t] = rows;
    gang->slot[t] = run->slots.first + (uint32_t)t;
    put_header(run, t, thread);
    if (run->gs->has_vertex_handles) {
        put_handles(run, t, thread, handle);
    }
    if (run->gs->dispatch == G4_GS_EIGHT_CHANNELS) {
        put_channels(run, t, thread, grf);
        g4_gang_set_dmask(gang, t, (uint16_t)((1u << thread->units) - 1));
    } else {
        put_vertices(run, t, thread, grf);
        g4_gang_set_dmask(gang, t, thread->units == 2 ? 0xff : 0x0f);
    }
    return true;
}

/* The message that ends a thread has the numbers of vertices. */
static uint32_t urb_event(struct g4_gang *gang, int t, uint32_t descriptor, const uint32_t *header) {
    struct gs_thread *const thread = gang->unit_data[t];
    struct gen7_urb_write_message_header message;

    (void)descriptor;
    gen7_urb_write_message_header_unpack(header, thread->ctx->gen, &message);
    thread->vertices[0] = message.vertex_count_0;
    thread->vertices[1] = message.vertex_count_1;
    return 0;
}

static bool start_threads(struct gs_run *run, uint32_t objects, uint32_t first, uint32_t threads) {
    struct g4_gang *const gang = run->worker->gang;

    g4_arena_reset(run->worker->gang_arena);
    g4_gang_start_for(gang, &run->draw->dispatch[G4_STAGE_GS], run->draw->kernel[G4_STAGE_GS], (int)threads, false);
    gang->owner = (struct g4_gang_owner){.urb_event = urb_event};
    const uint32_t grf = g4_payload_constants_gen7(gang, threads, run->stage, run->stage->grf_start);
    for (uint32_t t = 0; t < threads; t++) {
        run->thread[t].units = units_of(run->gs, objects, first + t, run->thread[t].unit);
        if (!start_thread(run, (int)t, grf)) {
            return false;
        }
    }
    return true;
}

static enum g4_status notify_start(const struct gs_run *run, uint32_t threads) {
    struct g4_hooks *const hooks = run->worker->eu.hooks;
    struct g4_thread_start start[G4_GANG_THREADS];

    memset(start, 0, sizeof start);
    for (uint32_t t = 0; t < threads; t++) {
        const struct gs_thread *const thread = &run->thread[t];
        for (uint32_t u = 0; u < (shares_objects(run->gs) ? thread->units : 1); u++) {
            const struct object *const object = &run->object[thread->unit[u].object];
            for (uint32_t v = 0; v < object->vertices && start[t].vertices < G4_THREAD_VERTICES; v++) {
                start[t].rows[start[t].vertices++] = object->vertex[v]->rows;
            }
        }
    }
    return hooks->threads_started(hooks, run->worker->gang, start, (int)threads);
}

/* ---- the output ---- */

static uint32_t control_bits(const uint32_t (*control)[8], uint32_t bit, uint32_t count) {
    const uint32_t dword = bit / 32;
    return control[dword / 8][dword % 8] >> bit % 32 & ((1u << count) - 1);
}

/* The stream of a vertex. */
static uint32_t stream_of(const struct g4_geometry_shader *gs, const uint32_t (*control)[8], uint32_t vertex) {
    const uint32_t bit = BITS_OF_STREAM * vertex;
    return gs->control_is_streams && bit < gs->control_rows * BITS_PER_ROW ? control_bits(control, bit, BITS_OF_STREAM)
                                                                           : gs->default_stream;
}

/* Whether the strip ends after a vertex. */
static bool cuts_after(const struct g4_geometry_shader *gs, const uint32_t (*control)[8], uint32_t vertex) {
    return !gs->control_is_streams && vertex < gs->control_rows * BITS_PER_ROW && control_bits(control, vertex, 1);
}

/* Whether an entry starts with a row that has the number of its vertices. */
static bool entry_has_count(const struct g4_geometry_shader *gs) {
    return gs->dispatch == G4_GS_EIGHT_CHANNELS && gs->static_vertices == UINT32_MAX;
}

/* The vertices that a unit has written. */
static uint32_t written(const struct gs_run *run, const struct gs_thread *thread, uint32_t u) {
    if (run->gs->dispatch != G4_GS_EIGHT_CHANNELS) {
        return thread->vertices[u];
    }
    return entry_has_count(run->gs) ? thread->window[thread->entry[u]][0] : run->gs->static_vertices;
}

/* The vertices that fit into an entry after the control data. */
static uint32_t capacity_of(const struct gs_run *run) {
    const struct g4_geometry_shader *const gs = run->gs;
    const uint32_t control = gs->control_rows + entry_has_count(gs);
    return run->stage->entry_rows > control ? (run->stage->entry_rows - control) * SLOTS_PER_ROW / gs->vertex_slots : 0;
}

/* Make the array of `count` items large enough for `more` of them; NULL: memory is short. */
static void *grow(struct g4_arena *arena, void *items, size_t size, uint32_t count, uint32_t more, uint32_t *capacity) {
    if (count + more <= *capacity) {
        return items;
    }
    *capacity = g4_max_u32(2 * *capacity, count + more);
    void *const grown = g4_arena_alloc(arena, *capacity * size);
    if (grown && count) {
        memcpy(grown, items, count * size);
    }
    return grown;
}

static bool reserve_vertices(struct g4_output *out, uint32_t more) {
    out->vertex = grow(out->arena, out->vertex, sizeof *out->vertex, out->vertices, more, &out->vertex_capacity);
    return out->vertex != NULL || more == 0;
}

static bool reserve_strips(struct g4_output *out, uint32_t more) {
    out->strip = grow(out->arena, out->strip, sizeof *out->strip, out->strips, more, &out->strip_capacity);
    return out->strip != NULL || more == 0;
}

/* Append `count` vertices of an entry to the output; false if memory is short. */
static bool copy_vertices(const struct gs_run *run, const uint32_t (*entry)[8], uint32_t count, struct g4_output *out) {
    const uint32_t slots = run->gs->vertex_slots;
    const uint32_t stride = (slots + SLOTS_PER_ROW - 1) / SLOTS_PER_ROW;
    const uint8_t *const from = (const uint8_t *)entry[run->gs->control_rows];
    struct g4_entries entries = {.stride = stride, .count = count};

    entries.rows = g4_arena_alloc(out->arena, (size_t)count * stride * sizeof *entries.rows);
    if (!reserve_vertices(out, count) || !entries.rows) {
        return false;
    }
    for (uint32_t v = 0; v < count; v++) {
        uint32_t(*const to)[8] = entries.rows + (size_t)v * stride;
        memset(to[stride - 1], 0, sizeof *to);
        memcpy(to, from + (size_t)v * slots * 16, slots * (size_t)16);
    }
    run->worker->ctx->model->read_vertices(run->worker->ctx, run->draw, &entries, out->vertex + out->vertices);
    return true;
}

/* Append the strips of an entry's `count` vertices. */
static bool cut_strips(const struct gs_run *run, const uint32_t (*entry)[8], uint32_t count, uint32_t primitive_id,
                       struct g4_output *out) {
    struct g4_strip *strip = NULL;

    if (!reserve_strips(out, count)) {
        return false;
    }
    for (uint32_t v = 0; v < count; v++) {
        const uint32_t stream = stream_of(run->gs, entry, v);
        if (!strip || strip->stream != stream) {
            strip = &out->strip[out->strips++];
            *strip = (struct g4_strip){.topology = run->gs->output_topology,
                                       .first = out->vertices + v,
                                       .primitive_id = primitive_id,
                                       .one_primitive_id = true,
                                       .stream = stream};
        }
        strip->count++;
        if (cuts_after(run->gs, entry, v)) {
            strip = NULL;
        }
    }
    return true;
}

static enum g4_status take_entry(struct gs_run *run, int t, uint32_t u) {
    const struct gs_thread *const thread = &run->thread[t];
    const uint32_t first_row = thread->entry[u] + entry_has_count(run->gs);
    const uint32_t(*const entry)[8] = (const uint32_t(*)[8])(thread->window + first_row);
    const uint32_t number = thread->unit[u].object;
    struct g4_output *const out = &run->out[number];
    const uint32_t capacity = capacity_of(run);
    uint32_t count = written(run, thread, u);

    if (count > capacity) {
        g4_report(run->worker->eu.log, G4_EVENT_URB_RANGE, run->draw->dispatch[G4_STAGE_GS].kernel_address, count);
        count = capacity;
    }
    const uint32_t first = out->strips;
    if (count == 0) {
        return G4_OK;
    }
    if (!g4_take_vertex_cost(run->worker, run->draw, G4_STAGE_GS, count)) {
        return G4_HANG;
    }
    if (!cut_strips(run, entry, count, run->object[number].primitive_id, out) ||
        !copy_vertices(run, entry, count, out)) {
        return G4_NO_MEMORY;
    }
    for (uint32_t s = first; s < out->strips && run->stage->statistics; s++) {
        const struct g4_strip *const strip = &out->strip[s];
        run->worker->counter[G4_COUNTER_GS_PRIMITIVES] +=
            g4_topology_objects(strip->topology, g4_topology_used(strip->topology, strip->count));
    }
    struct g4_hooks *const hooks = run->worker->eu.hooks;
    for (uint32_t v = 0; v < count && hooks; v++) {
        hooks->vertex_emitted(hooks, run->worker->gang, t, v, out->vertex[out->vertices + v].rows);
    }
    out->vertices += count;
    return G4_OK;
}

static enum g4_status run_threads(struct gs_run *run, uint32_t objects, uint32_t first, uint32_t threads) {
    enum g4_status status = start_threads(run, objects, first, threads) ? G4_OK : G4_NO_MEMORY;

    if (status == G4_OK && run->worker->eu.hooks) {
        status = notify_start(run, threads);
    }
    if (status == G4_OK) {
        status = g4_gang_run(&run->worker->eu, run->worker->gang, run->draw->kernel[G4_STAGE_GS]);
    }
    for (uint32_t t = 0; t < threads && status == G4_OK; t++) {
        for (uint32_t u = 0; u < run->thread[t].units && status == G4_OK; u++) {
            status = take_entry(run, (int)t, u);
        }
    }
    return status;
}

enum g4_status g4_gs_run_gen7(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_strip *strip,
                              const struct g4_vertex *const *vertex, struct g4_output *out) {
    struct gs_run run = {
        .worker = worker, .draw = draw, .gs = &draw->gs, .stage = &draw->stage[G4_STAGE_GS], .out = out};
    const uint32_t threads = thread_count(run.gs, strip->objects);
    enum g4_status status = G4_OK;

    run.slots = g4_thread_slots(worker, draw->kernel[G4_STAGE_GS], G4_UNIT_GS, run.stage->max_threads, 1);
    run.object = list_objects(draw, strip, vertex, out[0].arena);
    if (!run.object) {
        return G4_NO_MEMORY;
    }
    for (uint32_t first = 0; first < threads && status == G4_OK; first += run.slots.count) {
        const uint32_t left = threads - first;
        status = run_threads(&run, strip->objects, first, left < run.slots.count ? left : run.slots.count);
    }
    if (run.stage->statistics) {
        worker->counter[G4_COUNTER_GS_INVOCATIONS] += (uint64_t)strip->objects * run.gs->instances;
    }
    return status;
}
