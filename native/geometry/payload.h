/*
 * The common parts of the payloads of vertex, geometry, clip and setup threads (G45 PRM vol. 2, 2.7.8), and the scratch
 * space of a thread.
 */
#ifndef G4_PAYLOAD_H
#define G4_PAYLOAD_H

#include "core/draw_state.h"
#include "eu/worker.h"
#include "geometry/object.h"

/* The scratch slots of a worker: as many threads as it may run at once without sharing a slot. */
struct g4_slots {
    uint32_t first, count;
};

/* `together`: threads that wait for each other, in several gangs if one is too small.  They have slots `first` to
 * `first` + `together` - 1. */
struct g4_slots g4_thread_slots(const struct g4_worker *worker, const struct g4_kernel *kernel, uint32_t unit,
                                uint32_t max_threads, uint32_t together);

/* Are there fewer slots than all workers need?  Then threads of two workers may not run at once. */
bool g4_threads_share_scratch(const struct g4_context *ctx, const struct g4_kernel *kernel, uint32_t max_threads,
                              uint32_t together);

/* Dwords 3 to 5 of R0: sampler, binding table and scratch of the thread in `slot`. */
void g4_payload_pointers(const struct g4_dispatch *dispatch, uint32_t slot, uint32_t r0[8]);

/* g4_payload_pointers for all threads of a gang: rows[t] is zero but for these dwords. */
void g4_payload_all_pointers(const struct g4_dispatch *dispatch, const struct g4_slots *slots,
                             uint32_t rows[G4_GANG_THREADS][8]);

/* Load constants into registers from `grf` on of threads 0..count-1; returns the next register. */
uint32_t g4_payload_constants(struct g4_gang *gang, int count, const struct g4_curbe *curbe, uint32_t offset,
                              uint32_t rows, uint32_t grf);

/* Load rows of one entry into registers from `grf` on of thread t; returns the next register. */
uint32_t g4_payload_rows(struct g4_gang *gang, int t, const uint32_t (*rows)[8], uint32_t row_count, uint32_t offset,
                         uint32_t length, uint32_t grf);

/* Read the header of an entry of a vertex that leaves the GS stage.  A viewport index above max_viewport becomes 0;
 * UINT32_MAX: from a CLIP thread, whose index has four bits and which has no user clip flags. */
void g4_vertex_read_back(const struct g4_context *ctx, const uint32_t (*rows)[8], uint32_t row_count,
                         uint32_t max_viewport, struct g4_vertex *vertex);

#endif
