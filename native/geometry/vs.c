/*
 * The vertex shader stage: two vertices per thread, in place in their URB entries (G45 PRM vol. 2, chapter 4).
 */
#include <string.h>

#include "core/hooks.h"
#include "geometry/stage.h"
#include "hw_messages.h"

void g4_vs_put_pair(struct g4_gang *gang, int t, const uint32_t (*a)[8], const uint32_t (*b)[8], uint32_t row_count,
                    const struct g4_stage *stage, uint32_t grf) {
    static const uint32_t zero[8];
    for (uint32_t r = 0; r < stage->input_rows; r++) {
        const uint32_t row = stage->input_offset + r;
        const uint32_t *const row_a = row < row_count ? a[row] : zero;
        const uint32_t *const row_b = row < row_count ? b[row] : zero;
        for (unsigned half = 0; half < 2 && grf < G4_GRF_COUNT; half++, grf++) {
            memcpy(gang->grf[grf].ud[t], row_a + 4 * half, 16);
            memcpy(gang->grf[grf].ud[t] + 4, row_b + 4 * half, 16);
        }
    }
}

static void start_threads(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_entries *entries,
                          const struct g4_slots *slots, const uint32_t r0[G4_GANG_THREADS][8], uint32_t first,
                          uint32_t per_thread, uint32_t threads) {
    struct g4_gang *const gang = worker->gang;
    const struct g4_dispatch *const dispatch = &draw->dispatch[G4_STAGE_VS];
    const struct g4_stage *const stage = &draw->stage[G4_STAGE_VS];
    const uint32_t handle_b = entries->stride / 2;

    g4_gang_start_for(gang, dispatch, draw->kernel[G4_STAGE_VS], (int)threads, false);
    gang->owner = (struct g4_gang_owner){0};
    const uint32_t grf = g4_payload_constants(gang, (int)threads, &draw->curbe, stage->constant_offset,
                                              stage->constant_rows, stage->grf_start);
    for (uint32_t t = 0; t < threads; t++) {
        const uint32_t vertex = first + t * per_thread;
        const bool pair = per_thread == 2 && vertex + 1 < entries->count;
        uint32_t(*const rows)[8] = entries->rows + (size_t)vertex * entries->stride;
        const uint32_t(*const a)[8] = (const uint32_t(*)[8])rows;

        gang->slot[t] = slots->first + t;
        memcpy(gang->grf[0].ud[t], r0[t], sizeof r0[t]);
        if (pair) {
            const struct g4_payload_vs_r0 handles = {.urb_return_handle_1 = handle_b, .handle_id_1 = 1};
            uint32_t packed[8];
            g4_payload_vs_r0_pack(&handles, worker->ctx->gen, packed);
            memcpy(gang->grf[0].ud[t], packed, 3 * sizeof packed[0]); /* before the pointers */
        }
        g4_vs_put_pair(gang, (int)t, a, pair ? a + entries->stride : a, entries->stride, stage, grf);
        g4_gang_set_dmask(gang, (int)t, pair ? 0xff : 0x0f);
        gang->urb[t] = rows;
        gang->urb_rows[t] = pair ? 2 * entries->stride : entries->stride;
    }
}

enum g4_status g4_vs_notify_start(struct g4_worker *worker, const struct g4_entries *entries, uint32_t first,
                                  uint32_t per_thread, uint32_t threads) {
    struct g4_hooks *const hooks = worker->eu.hooks;
    struct g4_thread_start start[G4_GANG_THREADS];

    memset(start, 0, sizeof start);
    for (uint32_t t = 0; t < threads; t++) {
        const uint32_t entry = first + t * per_thread;
        for (uint32_t v = 0; v < per_thread && entry + v < entries->count; v++) {
            start[t].rows[start[t].vertices++] = entries->rows + (size_t)(entry + v) * entries->stride;
        }
    }
    return hooks->threads_started(hooks, worker->gang, start, (int)threads);
}

enum g4_status g4_vs_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_entries *entries) {
    const struct g4_slots slots =
        g4_thread_slots(worker, draw->kernel[G4_STAGE_VS], G4_UNIT_VS, draw->stage[G4_STAGE_VS].max_threads, 1);
    const uint32_t per_thread = draw->dispatch[G4_STAGE_VS].single_program_flow ? 1 : 2;
    uint32_t r0[G4_GANG_THREADS][8];

    g4_payload_all_pointers(&draw->dispatch[G4_STAGE_VS], &slots, r0);

    for (uint32_t first = 0; first < entries->count; first += slots.count * per_thread) {
        const uint32_t left = (entries->count - first + per_thread - 1) / per_thread;
        const uint32_t threads = left < slots.count ? left : slots.count;
        start_threads(worker, draw, entries, &slots, r0, first, per_thread, threads);
        enum g4_status status = G4_OK;
        if (worker->eu.hooks) {
            status = g4_vs_notify_start(worker, entries, first, per_thread, threads);
        }
        if (status != G4_OK) {
            return status;
        }
        status = g4_gang_run(&worker->eu, worker->gang, draw->kernel[G4_STAGE_VS]);
        if (status != G4_OK) {
            return status;
        }
    }
    if (draw->stage[G4_STAGE_VS].statistics) {
        worker->counter[G4_COUNTER_VS_INVOCATIONS] += entries->count;
    }
    return G4_OK;
}
