/*
 * The vertex shader stage of Gen7: two vertices per thread, in place in their URB entries (IVB PRM vol. 2 part 1, "VS
 * Thread Payload").  R0 has the handles of both entries; push constants come from memory instead of the URB.
 */
#include <string.h>

#include "core/hooks.h"
#include "geometry/payload_gen7.h"
#include "geometry/stage.h"

static void start_threads(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_entries *entries,
                          const struct g4_slots *slots, uint32_t first, uint32_t per_thread, uint32_t threads) {
    struct g4_gang *const gang = worker->gang;
    const struct g4_dispatch *const dispatch = &draw->dispatch[G4_STAGE_VS];
    const struct g4_stage *const stage = &draw->stage[G4_STAGE_VS];

    g4_gang_start_for(gang, dispatch, draw->kernel[G4_STAGE_VS], (int)threads, false);
    gang->owner = (struct g4_gang_owner){0};
    const uint32_t grf = g4_payload_constants_gen7(gang, threads, stage, stage->grf_start);
    for (uint32_t t = 0; t < threads; t++) {
        const uint32_t vertex = first + t * per_thread;
        const bool pair = per_thread == 2 && vertex + 1 < entries->count;
        uint32_t(*const rows)[8] = entries->rows + (size_t)vertex * entries->stride;
        const uint32_t(*const a)[8] = (const uint32_t(*)[8])rows;

        gang->slot[t] = slots->first + t;
        g4_payload_r0_gen7(worker->ctx, dispatch, gang->slot[t], gang->grf[0].ud[t]);
        gang->grf[0].ud[t][1] = pair ? entries->stride : 0; /* the handle of the second entry */
        g4_vs_put_pair(gang, (int)t, a, pair ? a + entries->stride : a, entries->stride, stage, grf);
        g4_gang_set_dmask(gang, (int)t, pair ? 0xff : 0x0f);
        gang->urb[t] = rows;
        gang->urb_rows[t] = pair ? 2 * entries->stride : entries->stride;
    }
}

enum g4_status g4_vs_run_gen7(struct g4_worker *worker, const struct g4_draw_state *draw,
                              const struct g4_entries *entries) {
    const struct g4_stage *const stage = &draw->stage[G4_STAGE_VS];
    const struct g4_slots slots = g4_thread_slots(worker, draw->kernel[G4_STAGE_VS], G4_UNIT_VS, stage->max_threads, 1);
    const uint32_t per_thread = stage->single_vertices ? 1 : 2;

    for (uint32_t first = 0; first < entries->count; first += slots.count * per_thread) {
        const uint32_t left = (entries->count - first + per_thread - 1) / per_thread;
        const uint32_t threads = left < slots.count ? left : slots.count;
        start_threads(worker, draw, entries, &slots, first, per_thread, threads);
        enum g4_status status = G4_OK;
        if (worker->eu.hooks) {
            status = g4_vs_notify_start(worker, entries, first, per_thread, threads);
        }
        if (status == G4_OK) {
            status = g4_gang_run(&worker->eu, worker->gang, draw->kernel[G4_STAGE_VS]);
        }
        if (status != G4_OK) {
            return status;
        }
    }
    if (stage->statistics) {
        worker->counter[G4_COUNTER_VS_INVOCATIONS] += entries->count;
    }
    return G4_OK;
}
