/*
 * What the payloads of vertex, geometry, clip and setup threads have in common (spec/10 2.15, 3.3), and where a
 * thread's scratch space lies.
 */
#ifndef G4_FF_PAYLOAD_H
#define G4_FF_PAYLOAD_H

#include "core/draw_state.h"
#include "eu/worker.h"

/* Up to how many threads a worker may run at once so that scratch slots are never shared, and its first slot.
 * `unit` is an enum g4_unit. */
struct g4_slots {
    uint32_t first, count;
};

struct g4_slots g4_thread_slots(const struct g4_worker *worker, const struct g4_kernel *kernel, uint32_t unit,
                                uint32_t max_threads);

/* Dwords 3 to 5 of R0: sampler, binding table and scratch of the thread in `slot`. */
void g4_payload_pointers(const struct g4_dispatch *dispatch, uint32_t slot, uint32_t r0[8]);

/* The same for all threads of a gang, by place in it: rows that are zero but for these dwords. */
void g4_payload_all_pointers(const struct g4_dispatch *dispatch, const struct g4_slots *slots,
                             uint32_t rows[G4_GANG_THREADS][8]);

/* Put the stage's constants from register `grf` on into threads 0..count-1; returns the next register. */
uint32_t g4_payload_constants(struct g4_gang *gang, int count, const struct g4_state *state, uint32_t offset,
                              uint32_t rows, uint32_t grf);

/* Put rows of one entry into consecutive registers of thread t; returns the next register. */
uint32_t g4_payload_rows(struct g4_gang *gang, int t, const uint32_t (*rows)[8], uint32_t row_count, uint32_t offset,
                         uint32_t length, uint32_t grf);

#endif
