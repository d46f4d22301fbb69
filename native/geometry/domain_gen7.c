/*
 * The domain shader stage of Gen7: two points of a patch in each thread (IVB PRM vol. 2 part 1, "Domain Shader (DS)
 * Stage").
 *
 * From Gen8 on a thread has up to eight points, one in each channel (SKL PRM vol. 7, "DS Thread Payload").
 *
 * The entries of points lie after a copy of the patch record, which is handle 0 of their threads: as many as 16-bit
 * handles reach.
 */
#include <string.h>

#include "core/hooks.h"
#include "core/util.h"
#include "geometry/payload_gen7.h"
#include "geometry/stage.h"
#include "geometry/tessellation.h"
#include "geometry/tessellator.h"
#include "messages_gen7.h"

enum {
    HANDLES = 1 << 16,
    CHANNELS = 8,
    /* registers of the payload of eight points: coordinates, then the handles of their entries */
    COORDINATES = 1,
    ENTRIES = 4,
};

/* Points of a patch with their entries: `window` has the patch record, then an entry for each. */
struct point_block {
    const struct g4_patch *patch;
    uint32_t (*window)[8];
    uint32_t first, points;
};

struct domain_run {
    struct g4_worker *worker;
    const struct g4_draw_state *draw;
    const struct g4_stage *stage;
    struct g4_slots slots;
    uint32_t record_rows, stride; /* of a patch record, and of an entry */
    uint32_t per_thread;          /* points */

    /* The threads of the next gang. */
    const struct point_block *block[G4_GANG_THREADS];
    uint32_t first[G4_GANG_THREADS]; /* point in the block */
    uint32_t threads;
};

static void put_points(const struct domain_run *run, int t, bool pair) {
    const struct point_block *const block = run->block[t];
    const struct g4_domain_point *const a = &block->patch->point[block->first + run->first[t]];
    const struct g4_domain_point *const b = pair ? a + 1 : a;
    const float one = (float)G4_DOMAIN_ONE;
    const bool w = run->draw->tessellation.computes_w;
    const struct gen7_payload_ds_r1 in = {
        .domain_point_0_u = (float)a->u / one,
        .domain_point_0_v = (float)a->v / one,
        .domain_point_0_w = w ? (float)(int32_t)(G4_DOMAIN_ONE - a->u - a->v) / one : 0,
        .domain_point_1_u = (float)b->u / one,
        .domain_point_1_v = (float)b->v / one,
        .domain_point_1_w = w ? (float)(int32_t)(G4_DOMAIN_ONE - b->u - b->v) / one : 0,
        .primitive_id = block->patch->primitive_id,
    };
    gen7_payload_ds_r1_pack(&in, run->worker->ctx->gen, run->worker->gang->grf[1].ud[t]);
}

/* Each coordinate has a register; R0 has the handle of the record, and the primitive ID. */
static uint32_t put_channels(const struct domain_run *run, int t) {
    const struct point_block *const block = run->block[t];
    const uint32_t left = block->points - run->first[t];
    const uint32_t count = left < CHANNELS ? left : CHANNELS;
    union g4_reg *const grf = run->worker->gang->grf;
    const float one = (float)G4_DOMAIN_ONE;

    grf[0].ud[t][0] = 0;
    grf[0].ud[t][1] = block->patch->primitive_id;
    for (uint32_t c = 0; c < count; c++) {
        const struct g4_domain_point *const point = &block->patch->point[block->first + run->first[t] + c];
        const float w =
            run->draw->tessellation.computes_w ? (float)(int32_t)(G4_DOMAIN_ONE - point->u - point->v) / one : 0;
        grf[COORDINATES].ud[t][c] = g4_hw_bits((float)point->u / one);
        grf[COORDINATES + 1].ud[t][c] = g4_hw_bits((float)point->v / one);
        grf[COORDINATES + 2].ud[t][c] = g4_hw_bits(w);
        grf[ENTRIES].ud[t][c] = run->record_rows + (run->first[t] + c) * run->stride;
    }
    return count;
}

static void start_thread(const struct domain_run *run, int t, uint32_t grf) {
    struct g4_gang *const gang = run->worker->gang;
    const struct point_block *const block = run->block[t];
    const uint32_t entry = run->record_rows + run->first[t] * run->stride;
    const bool pair = run->per_thread == 2 && run->first[t] + 1 < block->points;

    gang->slot[t] = run->slots.first + (uint32_t)t;
    g4_payload_r0_gen7(run->worker->ctx, &run->draw->dispatch[G4_STAGE_DS], gang->slot[t], gang->grf[0].ud[t]);
    if (run->stage->eight_channels) {
        g4_gang_set_dmask(gang, t, (uint16_t)((1u << put_channels(run, t)) - 1));
    } else {
        gang->grf[0].ud[t][0] = entry; /* the handles of the entries; that of the record is 0 */
        gang->grf[0].ud[t][1] = pair ? entry + run->stride : 0;
        put_points(run, t, pair);
        g4_gang_set_dmask(gang, t, pair ? 0xff : 0x0f);
    }
    (void)g4_payload_rows(gang, t, (const uint32_t(*)[8])block->window, run->record_rows, run->stage->input_offset,
                          run->stage->input_rows, grf);
    gang->urb[t] = block->window;
    gang->urb_rows[t] = run->record_rows + block->points * run->stride;
}

static enum g4_status run_gang(struct domain_run *run) {
    struct g4_gang *const gang = run->worker->gang;
    struct g4_hooks *const hooks = run->worker->eu.hooks;
    const struct g4_kernel *const kernel = run->draw->kernel[G4_STAGE_DS];
    struct g4_thread_start start[G4_GANG_THREADS];
    enum g4_status status = G4_OK;

    if (run->threads == 0) {
        return G4_OK;
    }
    g4_gang_start_for(gang, &run->draw->dispatch[G4_STAGE_DS], kernel, (int)run->threads, false);
    gang->owner = (struct g4_gang_owner){0};
    const uint32_t grf = g4_payload_constants_gen7(gang, run->threads, run->stage, run->stage->grf_start);
    for (uint32_t t = 0; t < run->threads; t++) {
        start_thread(run, (int)t, grf);
    }
    if (hooks) {
        memset(start, 0, sizeof start);
        status = hooks->threads_started(hooks, gang, start, (int)run->threads);
    }
    if (status == G4_OK) {
        status = g4_gang_run(&run->worker->eu, gang, kernel);
    }
    for (uint32_t t = 0; t < run->threads && status == G4_OK && hooks; t++) {
        for (uint32_t p = 0; p < run->per_thread && run->first[t] + p < run->block[t]->points; p++) {
            const uint32_t row = run->record_rows + (run->first[t] + p) * run->stride;
            hooks->vertex_emitted(hooks, gang, (int)t, p, run->block[t]->window[row]);
        }
    }
    run->threads = 0;
    return status;
}

/* Add the threads of a block. */
static enum g4_status run_block(struct domain_run *run, const struct point_block *block) {
    enum g4_status status = G4_OK;

    for (uint32_t p = 0; p < block->points && status == G4_OK; p += run->per_thread) {
        run->block[run->threads] = block;
        run->first[run->threads++] = p;
        if (run->threads == run->slots.count) {
            status = run_gang(run);
        }
    }
    return status;
}

/* Points of a block, at most. */
static uint32_t block_points(const struct domain_run *run) {
    return (HANDLES - run->record_rows) / run->stride;
}

static bool open_block(const struct domain_run *run, const struct g4_patch *patch, uint32_t first,
                       struct g4_arena *arena, struct point_block *block) {
    const uint32_t left = patch->points - first;
    const uint32_t most = block_points(run);

    *block = (struct point_block){.patch = patch, .first = first, .points = left < most ? left : most};
    const size_t rows = (size_t)block->points * run->stride;
    block->window = g4_arena_alloc(arena, (run->record_rows + rows) * sizeof *block->window);
    if (!block->window) {
        return false;
    }
    memcpy(block->window, patch->record, run->record_rows * sizeof *block->window);
    memset(block->window + run->record_rows, 0, rows * sizeof *block->window);
    return true;
}

static void read_block(const struct domain_run *run, const struct point_block *block, struct g4_vertex *vertex) {
    const struct g4_context *const ctx = run->worker->ctx;
    const struct g4_entries entries = {
        .rows = block->window + run->record_rows, .stride = run->stride, .count = block->points};
    ctx->model->read_vertices(ctx, run->draw, &entries, vertex);
}

enum g4_status g4_domain_run_gen7(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_patch *patch,
                                  uint32_t patches, struct g4_arena *arena, struct g4_tessellated *out) {
    const struct g4_stage *const stage = &draw->stage[G4_STAGE_DS];
    struct domain_run run = {
        .worker = worker,
        .draw = draw,
        .stage = stage,
        .slots = g4_thread_slots(worker, draw->kernel[G4_STAGE_DS], G4_UNIT_DS, stage->max_threads, 1),
        .record_rows = draw->stage[G4_STAGE_HS].entry_rows,
        .stride = stage->entry_rows,
        .per_thread = stage->eight_channels              ? CHANNELS
                      : draw->tessellation.single_points ? 1
                                                         : 2,
    };
    const uint32_t most = block_points(&run);
    enum g4_status status = G4_OK;
    uint32_t blocks = 0;
    uint32_t points = 0;

    for (uint32_t p = 0; p < patches; p++) {
        blocks += (patch[p].points + most - 1) / most;
        points += patch[p].points;
    }
    struct point_block *const block = g4_arena_alloc(arena, (blocks + 1) * sizeof *block);
    struct g4_vertex *const vertex = g4_arena_alloc(arena, ((size_t)points + 1) * sizeof *vertex);
    if (!block || !vertex) {
        return G4_NO_MEMORY;
    }
    uint32_t number = 0;
    for (uint32_t p = 0; p < patches; p++) {
        patch[p].shaded = vertex + out->vertices;
        out->vertices += patch[p].points;
        for (uint32_t first = 0; first < patch[p].points && status == G4_OK; first += most, number++) {
            status = open_block(&run, &patch[p], first, arena, &block[number]) ? run_block(&run, &block[number])
                                                                               : G4_NO_MEMORY;
        }
    }
    if (status == G4_OK) {
        status = run_gang(&run);
    }
    uint32_t done = 0;
    for (uint32_t b = 0; b < blocks && status == G4_OK; b++) {
        read_block(&run, &block[b], vertex + done);
        done += block[b].points;
    }
    out->vertex = vertex;
    if (stage->statistics) {
        worker->counter[G4_COUNTER_DS_INVOCATIONS] += points;
    }
    return status;
}
