/*
 * The common parts of the payloads of vertex, hull, domain and geometry shader threads on Gen7 (IVB PRM vol. 2 part 1).
 */
#ifndef G4_PAYLOAD_GEN7_H
#define G4_PAYLOAD_GEN7_H

#include "core/draw_state.h"
#include "eu/worker.h"

/* Write R0 of the thread in `slot`: its pointers and scratch.  The first three dwords, which differ, are 0. */
void g4_payload_r0_gen7(const struct g4_context *ctx, const struct g4_dispatch *dispatch, uint32_t slot,
                        uint32_t r0[8]);

/* Load push constants into registers from `grf` on of threads 0..count-1; returns the next register. */
uint32_t g4_payload_constants_gen7(struct g4_gang *gang, uint32_t count, const struct g4_stage *stage, uint32_t grf);

/* Load the handles of vertices, a dword each, into registers from `grf` on of thread t; returns the next register. */
uint32_t g4_payload_handles_gen7(struct g4_gang *gang, int t, const uint32_t *handle, uint32_t count, uint32_t grf);

#endif
