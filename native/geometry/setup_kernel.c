#include "geometry/setup_kernel.h"

#include <string.h>

#include "core/hooks.h"
#include "core/report.h"
#include "eu/counters.h"
#include "geometry/lines.h"
#include "geometry/payload.h"
#include "geometry/setup.h"
#include "hw_messages.h"

/* Setup threads that run together. */
struct setup_batch {
    struct g4_worker *worker;
    const struct g4_draw_state *draw;
    struct g4_arena *arena; /* of the chunk: setup entries outlive the batch */
    struct g4_slots slots;
    uint32_t r0[G4_GANG_THREADS][8];
    uint32_t entry_rows;
    uint32_t count;
    struct g4_setup *setup[G4_GANG_THREADS];
    struct g4_sf_payload payload[G4_GANG_THREADS];
};

static uint32_t urb_event(struct g4_gang *gang, int t, uint32_t descriptor, const uint32_t *header) {
    struct g4_setup *const setup = gang->unit_data[t];
    (void)header;
    /* parts without the bit have no contiguous dispatch either */
    setup->contiguous = g4_urb_message_fast_composite_restriction_check_pass(descriptor, UINT32_MAX);
    return 0;
}

static void put_payload(struct setup_batch *batch, uint32_t t, uint32_t grf) {
    const struct g4_stage *const stage = &batch->draw->stage[G4_STAGE_SF];
    const struct g4_sf_payload *const payload = &batch->payload[t];
    struct g4_gang *const gang = batch->worker->gang;
    const uint32_t gen = batch->worker->ctx->gen;

    /* Handle 0 is the start of the thread's own window; the rest of R0.0 to R0.2 is zero. */
    gang->slot[t] = batch->slots.first + t;
    memcpy(gang->grf[0].ud[t], batch->r0[t], sizeof batch->r0[t]);
    g4_payload_sf_r1_pack(&payload->r1, gen, gang->grf[1].ud[t]);
    g4_payload_sf_r2_pack(&payload->r2, gen, gang->grf[2].ud[t]);
    for (uint32_t i = 0; i < payload->vertices; i++) {
        const struct g4_vertex *const v = payload->v[i];
        grf = g4_payload_rows(gang, (int)t, v->rows, v->row_count, stage->input_offset, stage->input_rows, grf);
    }
    g4_gang_set_dmask(gang, (int)t, 0xff);
}

/* Transpose an entry: from coefficient-major, three rows for eight attributes, to four rows of two attributes, as the
 * windower reads it (G45 PRM vol. 2, 7.5.4). */
static bool transpose(struct g4_arena *arena, struct g4_setup *setup) {
    const uint32_t groups = setup->entry_rows / 3;
    uint32_t(*const rows)[8] = g4_arena_alloc(arena, (size_t)(groups * 4 + 1) * sizeof *rows);
    if (!rows) {
        return false;
    }
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t(*const from)[8] = setup->entry + (size_t)3 * g;
        for (uint32_t a = 0; a < 8; a++) {
            uint32_t *const to = rows[4 * g + a / 2] + 4 * (a & 1);
            to[0] = from[0][a];
            to[1] = from[1][a];
            to[2] = 0;
            to[3] = from[2][a];
        }
    }
    setup->entry = (const uint32_t(*)[8])rows;
    setup->entry_rows = (uint16_t)(groups * 4);
    return true;
}

static enum g4_status notify_start(const struct setup_batch *batch) {
    struct g4_hooks *const hooks = batch->worker->eu.hooks;
    struct g4_thread_start start[G4_GANG_THREADS];

    memset(start, 0, sizeof start);
    for (uint32_t t = 0; t < batch->count; t++) {
        const struct g4_sf_payload *const payload = &batch->payload[t];
        start[t].setup = batch->setup[t];
        start[t].vertices = payload->vertices;
        for (uint32_t i = 0; i < payload->vertices; i++) {
            start[t].corner[i] = payload->v[i];
            start[t].rows[i] = payload->v[i]->rows;
        }
    }
    return hooks->threads_started(hooks, batch->worker->gang, start, (int)batch->count);
}

static enum g4_status run_batch(struct setup_batch *batch) {
    struct g4_worker *const worker = batch->worker;
    const struct g4_draw_state *const draw = batch->draw;
    const struct g4_stage *const stage = &draw->stage[G4_STAGE_SF];
    struct g4_gang *const gang = worker->gang;
    const size_t size = (size_t)batch->entry_rows * sizeof(uint32_t[8]);
    uint32_t(*const entries)[8] = g4_arena_alloc(batch->arena, batch->count * size);

    if (!entries) {
        return G4_NO_MEMORY;
    }
    memset(entries, 0, batch->count * size);
    g4_gang_start_for(gang, &draw->dispatch[G4_STAGE_SF], draw->kernel[G4_STAGE_SF], (int)batch->count, false);
    gang->owner = (struct g4_gang_owner){.urb_event = urb_event};
    const uint32_t grf = g4_payload_constants(gang, (int)batch->count, &draw->curbe, stage->constant_offset,
                                              stage->constant_rows, stage->grf_start);
    for (uint32_t t = 0; t < batch->count; t++) {
        struct g4_setup *const setup = batch->setup[t];
        uint32_t(*const entry)[8] = entries + (size_t)t * batch->entry_rows;
        setup->entry = (const uint32_t(*)[8])entry;
        setup->entry_rows = (uint16_t)batch->entry_rows;
        gang->unit_data[t] = setup;
        gang->urb[t] = entry;
        gang->urb_rows[t] = batch->entry_rows;
        put_payload(batch, t, grf);
    }
    enum g4_status status = worker->eu.hooks ? notify_start(batch) : G4_OK;
    if (status == G4_OK) {
        status = g4_gang_run(&worker->eu, gang, draw->kernel[G4_STAGE_SF]);
    }
    for (uint32_t t = 0; t < batch->count && draw->windower.setup_transposed && status == G4_OK; t++) {
        status = transpose(batch->arena, batch->setup[t]) ? G4_OK : G4_NO_MEMORY;
    }
    batch->count = 0;
    return status;
}

bool g4_setup_lights_nothing(struct g4_setup *setup) {
    enum {
        SMALL = 8 /* pixels */
    };
    struct g4_coverage coverage;
    g4_coverage_find_small(setup);
    if (setup->small) {
        return setup->mask == 0;
    }
    const int32_t x = setup->x_min & -SMALL;
    const int32_t y = setup->y_min & -SMALL;
    return setup->type == G4_OBJECT_TRIANGLE && setup->x_max - x < 2 * SMALL && setup->y_max - y < 2 * SMALL &&
           !g4_coverage_find(setup, x, y, &coverage);
}

/* Software must keep objects within 8K pixels (G45 PRM vol. 2, 7.3.8); larger ones are drawn like any other. */
static uint32_t span(const int32_t *v, uint32_t count) {
    int32_t low = v[0];
    int32_t high = v[0];
    for (uint32_t i = 1; i < count; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    return (uint32_t)(high - low) / G4_ONE_PIXEL;
}

static void report_large(struct g4_worker *worker, g4_address address, const struct g4_setup *setup) {
    enum {
        LARGEST = 8192
    };
    const uint32_t width = span(setup->x, setup->corners);
    const uint32_t height = span(setup->y, setup->corners);
    if (width > LARGEST || height > LARGEST) {
        g4_report(worker->eu.log, G4_EVENT_LARGE_OBJECT, address, width > height ? width : height);
    }
}

void g4_setup_count_dropped(struct g4_draw_counters *sum, const struct g4_sf_frame *frame,
                            const struct g4_object *object, const struct g4_setup *setup, bool shaped) {
    if (shaped) {
        sum->no_pixel++;
        return;
    }
    switch (g4_sf_why_dropped(frame, object, setup)) {
    case G4_DROPPED_NOT_A_NUMBER:
        sum->not_a_number++;
        break;
    case G4_DROPPED_DEGENERATE:
        sum->degenerate++;
        break;
    case G4_DROPPED_CULLED:
        sum->culled++;
        break;
    default:
        sum->outside++;
        break;
    }
}

enum g4_status g4_sf_run(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_chunk *chunk) {
    struct g4_sf_frame frame;
    struct setup_batch batch = {
        .worker = worker,
        .draw = draw,
        .arena = chunk->batch_arena,
        .entry_rows = draw->stage[G4_STAGE_SF].entry_rows,
    };

    chunk->setups = 0;
    if (draw->stage[G4_STAGE_SF].statistics) {
        worker->counter[G4_COUNTER_CL_PRIMITIVES] += chunk->objects;
    }
    if (worker->eu.counters) {
        worker->eu.counters->sum.objects += chunk->objects;
    }
    if (chunk->objects == 0) {
        return G4_OK;
    }
    if (!draw->kernel[G4_STAGE_SF]) {
        return G4_FAULT;
    }
    chunk->setup = g4_arena_alloc(chunk->batch_arena, chunk->objects * sizeof *chunk->setup);
    if (!chunk->setup) {
        return G4_NO_MEMORY;
    }
    g4_sf_frame_begin(&frame, draw);
    batch.slots =
        g4_thread_slots(worker, draw->kernel[G4_STAGE_SF], G4_UNIT_SF, draw->stage[G4_STAGE_SF].max_threads, 1);
    g4_payload_all_pointers(&draw->dispatch[G4_STAGE_SF], &batch.slots, batch.r0);
    for (uint32_t i = 0; i < chunk->objects; i++) {
        struct g4_setup *const setup = &chunk->setup[chunk->setups];
        const bool shaped = g4_sf_setup(&frame, &chunk->object[i], setup, &batch.payload[batch.count]);
        if (!shaped || g4_setup_lights_nothing(setup)) {
            if (worker->eu.counters) {
                g4_setup_count_dropped(&worker->eu.counters->sum, &frame, &chunk->object[i], setup, shaped);
            }
            continue;
        }
        setup->chunk = chunk->index;
        setup->primitive = i; /* culled ones count (965v4 3.3.8) */
        chunk->setups++;
        if (g4_setup_is_empty(setup)) {
            continue;
        }
        report_large(worker, draw->setup_address, setup);
        batch.setup[batch.count++] = setup;
        if (batch.count == batch.slots.count) {
            const enum g4_status status = run_batch(&batch);
            if (status != G4_OK) {
                return status;
            }
        }
    }
    return batch.count ? run_batch(&batch) : G4_OK;
}

void g4_sf_count_stipple(struct g4_state *state, const struct g4_draw_state *draw, struct g4_chunk *chunk) {
    if (!draw->windower.line_stipple) {
        return;
    }
    for (uint32_t i = 0; i < chunk->setups; i++) {
        struct g4_setup *const setup = &chunk->setup[i];
        if (setup->type != G4_OBJECT_LINE) {
            continue;
        }
        if (!setup->continue_stipple) {
            state->line_stipple_position = 0;
        }
        setup->line.stipple_start = state->line_stipple_position;
        if (!setup->antialias) {
            /* only the place within the pattern matters */
            state->line_stipple_position =
                (setup->line.stipple_start + setup->line.length) % (16 * draw->line_stipple.repeat);
        }
    }
}
