#include "geometry/payload.h"
#include "hw_messages.h"

#include <string.h>

#include "core/hooks.h"

static bool may_use_scratch(const struct g4_context *ctx, const struct g4_kernel *kernel) {
    return g4_kernel_functions(kernel) & *ctx->model->scratch_functions;
}

static uint32_t share_of_worker(const struct g4_context *ctx, uint32_t max_threads) {
    return max_threads / (ctx->options.workers ? ctx->options.workers : 1);
}

bool g4_threads_share_scratch(const struct g4_context *ctx, const struct g4_kernel *kernel, uint32_t max_threads,
                              uint32_t together) {
    return may_use_scratch(ctx, kernel) && share_of_worker(ctx, max_threads) < together;
}

struct g4_slots g4_thread_slots(const struct g4_worker *worker, const struct g4_kernel *kernel, uint32_t unit,
                                uint32_t max_threads, uint32_t together) {
    struct g4_slots slots = {.first = 0, .count = G4_GANG_THREADS};

    const struct g4_hooks *const hooks = worker->eu.hooks;
    if (hooks) {
        slots.count = hooks->gang_limit(hooks, unit, max_threads < 1 ? 1 : max_threads);
        return slots;
    }
    if (!may_use_scratch(worker->ctx, kernel)) {
        return slots; /* without scratch it does not matter */
    }
    const uint32_t share = share_of_worker(worker->ctx, max_threads);
    slots.count = share < 1 ? 1 : share < G4_GANG_THREADS ? share : G4_GANG_THREADS;
    slots.first = worker->index * (together > slots.count ? together : slots.count);
    return slots;
}

void g4_payload_pointers(const struct g4_dispatch *dispatch, uint32_t slot, uint32_t r0[8]) {
    /* The dwords lie alike in all four payloads; the vertex thread's layout stands for them. */
    const struct g4_payload_vs_r0 in = {
        .sampler_state_pointer = (uint32_t)(dispatch->sampler_state - dispatch->dynamic_state_base),
        .per_thread_scratch_space = dispatch->scratch_size,
        .binding_table_pointer = (uint32_t)(dispatch->binding_table - dispatch->surface_state_base),
        .scratch_space_pointer =
            (uint32_t)(dispatch->scratch_base - dispatch->general_state_base) + slot * dispatch->scratch_bytes,
        .fftid = slot,
    };
    uint32_t packed[8];
    g4_payload_vs_r0_pack(&in, G4_GEN_ALL4, packed);
    for (int i = 3; i < 6; i++) { /* memcpy would load pairs of dwords that have just been stored, which is slow */
        r0[i] = packed[i];
    }
}

void g4_payload_all_pointers(const struct g4_dispatch *dispatch, const struct g4_slots *slots,
                             uint32_t rows[G4_GANG_THREADS][8]) {
    memset(rows, 0, G4_GANG_THREADS * sizeof rows[0]);
    for (uint32_t t = 0; t < slots->count; t++) {
        g4_payload_pointers(dispatch, slots->first + t, rows[t]);
    }
}

uint32_t g4_payload_constants(struct g4_gang *gang, int count, const struct g4_curbe *curbe, uint32_t offset,
                              uint32_t rows, uint32_t grf) {
    static const uint32_t nothing[8]; /* rows past the end of the CURBE */
    for (uint32_t r = 0; r < rows && grf < G4_GRF_COUNT; r++, grf++) {
        const uint32_t *const row = offset + r < curbe->rows ? &curbe->row[(offset + r) * 8] : nothing;
        for (int t = 0; t < count; t++) {
            memcpy(gang->grf[grf].ud[t], row, sizeof nothing);
        }
    }
    return grf;
}

uint32_t g4_payload_rows(struct g4_gang *gang, int t, const uint32_t (*rows)[8], uint32_t row_count, uint32_t offset,
                         uint32_t length, uint32_t grf) {
    for (uint32_t r = 0; r < length && grf < G4_GRF_COUNT; r++, grf++) {
        if (offset + r < row_count) {
            memcpy(gang->grf[grf].ud[t], rows[offset + r], sizeof rows[0]);
        } else { /* beyond the entry: undefined on hardware */
            memset(gang->grf[grf].ud[t], 0, sizeof rows[0]);
        }
    }
    return grf;
}

void g4_vertex_read_back(const struct g4_context *ctx, const uint32_t (*rows)[8], uint32_t row_count,
                         uint32_t max_viewport, struct g4_vertex *vertex) {
    static const uint32_t zero[8];
    struct g4_vertex_header header;

    g4_vertex_header_unpack(row_count ? rows[0] : zero, ctx->gen, &header);
    *vertex = (struct g4_vertex){
        .rows = rows,
        .row_count = row_count,
        .x = header.vertex_position_x,
        .y = header.vertex_position_y,
        .z = header.vertex_position_z,
        .rhw = header.vertex_position_rhw,
        .point_width = (uint16_t)header.point_width_u8_3,
        .array_index = (uint16_t)header.render_target_array_index,
        .user_clip = (uint8_t)header.user_clip_codes,
    };
    if (max_viewport == UINT32_MAX) { /* out of a CLIP thread: four bits, no check, no user clip flags */
        vertex->viewport = header.viewport_index & 15;
        vertex->user_clip = 0;
    } else {
        vertex->viewport = header.viewport_index <= max_viewport ? (uint8_t)header.viewport_index : 0;
    }
}
