#include "geometry/payload_gen7.h"

#include <string.h>

#include "messages_gen7.h"

void g4_payload_r0_gen7(const struct g4_context *ctx, const struct g4_dispatch *dispatch, uint32_t slot,
                        uint32_t r0[8]) {
    /* The dwords lie alike in all payloads; the vertex thread's layout stands for them. */
    const struct gen7_payload_vs_r0 in = {
        .sampler_state_pointer = (uint32_t)(dispatch->sampler_state - dispatch->dynamic_state_base),
        .per_thread_scratch_space = dispatch->scratch_size,
        .binding_table_pointer = (uint32_t)(dispatch->binding_table - dispatch->surface_state_base),
        .scratch_space_pointer =
            (uint32_t)(dispatch->scratch_base - dispatch->general_state_base) + slot * dispatch->scratch_bytes,
        .fftid = slot,
    };
    gen7_payload_vs_r0_pack(&in, ctx->gen, r0);
}

uint32_t g4_payload_constants_gen7(struct g4_gang *gang, uint32_t count, const struct g4_stage *stage, uint32_t grf) {
    for (uint32_t r = 0; r < stage->constant_rows && grf < G4_GRF_COUNT; r++, grf++) {
        for (uint32_t t = 0; t < count; t++) {
            memcpy(gang->grf[grf].ud[t], stage->constants[r], sizeof stage->constants[r]);
        }
    }
    return grf;
}

uint32_t g4_payload_handles_gen7(struct g4_gang *gang, int t, const uint32_t *handle, uint32_t count, uint32_t grf) {
    for (uint32_t first = 0; first < count && grf < G4_GRF_COUNT; first += 8, grf++) {
        const uint32_t here = count - first < 8 ? count - first : 8;
        memcpy(gang->grf[grf].ud[t], handle + first, here * sizeof *handle);
    }
    return grf;
}
