/*
 * A worker thread's own things: interpreter, gang, ports, caches, scratch memory.  Nothing in it is shared while
 * workers run, so nothing needs a lock; what they count is summed in worker-independent order afterwards.
 */
#ifndef G4_WORKER_H
#define G4_WORKER_H

#include "core/context.h"
#include "core/surface.h"
#include "eu/eu.h"

/* A bump allocator that is emptied as a whole; blocks are kept for the next use. */
struct g4_arena;
struct g4_arena *g4_arena_new(void);
void g4_arena_free(struct g4_arena *arena);
void g4_arena_reset(struct g4_arena *arena);
/* 64-byte aligned, not zeroed; NULL when the host has no memory. */
void *g4_arena_alloc(struct g4_arena *arena, size_t size);

struct g4_worker {
    const struct g4_context *ctx;
    uint32_t index;
    struct g4_eu eu;
    struct g4_gang *gang;
    struct g4_port port; /* of the unit that runs at the moment */
    struct g4_surface_cache *surfaces;
    struct g4_wm *wm;              /* the windower's, raster/windower.h */
    struct g4_arena *arena;        /* for a unit's use within one job */
    struct g4_arena *range;        /* what geometry needs for one range of a draw, and no longer */
    struct g4_arena *kept;         /* what it leaves for the tiles */
    uint64_t counter[G4_COUNTERS]; /* this draw's part of the statistics */
};

struct g4_worker *g4_worker_new(const struct g4_context *ctx, struct g4_kernel_cache *kernels, uint32_t index);
void g4_worker_free(struct g4_worker *worker);

#endif
