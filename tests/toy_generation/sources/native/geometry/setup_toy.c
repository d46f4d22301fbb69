/*
 * Strips and Fans of the toy: it has no lines.
 */
#include "geometry/setup_kernel.h"

enum g4_status g4_setup_toy(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_chunk *chunk) {
    const enum g4_status status = g4_sf_run(worker, draw, chunk);
    uint32_t kept = 0;

    for (uint32_t i = 0; status == G4_OK && i < chunk->setups; i++) {
        if (chunk->setup[i].type != G4_OBJECT_LINE) {
            chunk->setup[kept++] = chunk->setup[i];
        }
    }
    chunk->setups = kept;
    return status;
}
