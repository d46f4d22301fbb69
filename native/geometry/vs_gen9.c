/*
 * The vertex shader stage of Gen8 and Gen9: eight vertices per thread, one in each channel.  R1 has the handles of
 * their entries; push constants follow, then a register for each component of each attribute (SKL PRM vol. 7, "VS
 * Thread Payload").  Kernels of Gen7's form have two vertices per thread.
 */
#include <string.h>

#include "core/hooks.h"
#include "geometry/payload_gen7.h"
#include "geometry/stage.h"

enum {
    CHANNELS = 8,
    HANDLES = 1, /* register */
};

/* The input rows of up to eight entries; channels without an entry have zeros. */
static void put_attributes(struct g4_gang *gang, int t, const struct g4_entries *entries, uint32_t first,
                           uint32_t count, const struct g4_stage *stage, uint32_t grf) {
    for (uint32_t r = 0; r < stage->input_rows; r++) {
        const uint32_t row = stage->input_offset + r;
        for (uint32_t d = 0; d < 8 && grf < G4_GRF_COUNT; d++, grf++) {
            uint32_t *const to = gang->grf[grf].ud[t];
            for (uint32_t c = 0; c < CHANNELS; c++) {
                to[c] = c < count && row < entries->stride ? entries->rows[(first + c) * entries->stride + row][d] : 0;
            }
        }
    }
}

static void start_threads(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_entries *entries,
                          const struct g4_slots *slots, uint32_t first, uint32_t threads) {
    struct g4_gang *const gang = worker->gang;
    const struct g4_dispatch *const dispatch = &draw->dispatch[G4_STAGE_VS];
    const struct g4_stage *const stage = &draw->stage[G4_STAGE_VS];

    g4_gang_start_for(gang, dispatch, draw->kernel[G4_STAGE_VS], (int)threads, false);
    gang->owner = (struct g4_gang_owner){0};
    const uint32_t grf = g4_payload_constants_gen7(gang, threads, stage, stage->grf_start);
    for (uint32_t t = 0; t < threads; t++) {
        const uint32_t vertex = first + t * CHANNELS;
        const uint32_t left = entries->count - vertex;
        const uint32_t count = left < CHANNELS ? left : CHANNELS;

        gang->slot[t] = slots->first + t;
        g4_payload_r0_gen7(worker->ctx, dispatch, gang->slot[t], gang->grf[0].ud[t]);
        for (uint32_t c = 0; c < CHANNELS; c++) {
            gang->grf[HANDLES].ud[t][c] = c < count ? c * entries->stride : 0;
        }
        put_attributes(gang, (int)t, entries, vertex, count, stage, grf);
        g4_gang_set_dmask(gang, (int)t, (uint16_t)((1u << count) - 1));
        gang->urb[t] = entries->rows + (size_t)vertex * entries->stride;
        gang->urb_rows[t] = (uint16_t)(count * entries->stride);
    }
}

enum g4_status g4_vs_run_gen9(struct g4_worker *worker, const struct g4_draw_state *draw,
                              const struct g4_entries *entries) {
    const struct g4_stage *const stage = &draw->stage[G4_STAGE_VS];
    if (!stage->eight_channels) {
        return g4_vs_run_gen7(worker, draw, entries);
    }
    const struct g4_slots slots = g4_thread_slots(worker, draw->kernel[G4_STAGE_VS], G4_UNIT_VS, stage->max_threads, 1);

    for (uint32_t first = 0; first < entries->count; first += slots.count * CHANNELS) {
        const uint32_t left = (entries->count - first + CHANNELS - 1) / CHANNELS;
        const uint32_t threads = left < slots.count ? left : slots.count;
        start_threads(worker, draw, entries, &slots, first, threads);
        enum g4_status status = G4_OK;
        if (worker->eu.hooks) {
            status = g4_vs_notify_start(worker, entries, first, CHANNELS, threads);
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
