/*
 * The state of one worker thread: interpreter, gang, port, caches, arenas.  Nothing in it is shared while workers run,
 * so nothing needs a lock; counts are summed afterwards, independent of the order of workers.
 */
#ifndef G4_WORKER_H
#define G4_WORKER_H

#include "core/arena.h"
#include "core/context.h"
#include "core/surface.h"
#include "eu/eu.h"

struct g4_worker {
    const struct g4_context *ctx;
    uint32_t index;
    struct g4_eu eu;
    struct g4_gang *gang;
    struct g4_port port; /* of the running unit */
    struct g4_surface_cache *surfaces;
    struct g4_wm *wm;              /* raster/windower_state.h */
    struct g4_arena *gang_arena;   /* URB entries of the running gang */
    struct g4_arena *range_arena;  /* vertices and objects of the range that the worker assembles */
    struct g4_arena *batch_arena;  /* set-up objects, until the tiles of a batch of ranges are drawn */
    uint64_t counter[G4_COUNTERS]; /* this draw's part of the statistics */
};

struct g4_worker *g4_worker_new(const struct g4_context *ctx, struct g4_kernel_cache *kernels, uint32_t index);
void g4_worker_free(struct g4_worker *worker);

#endif
