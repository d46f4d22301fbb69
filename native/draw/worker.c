#include "eu/worker.h"

#include <stdlib.h>
#include <string.h>

#include "color/color.h"
#include "core/report.h"
#include "functions/table.h"
#include "sampler/message.h"

/* ---- arena ---- */

enum {
    ARENA_BLOCK = 1 << 20,
    ARENA_ALIGN = 64
};

struct arena_block {
    struct arena_block *next;
    size_t size; /* of data */
    _Alignas(ARENA_ALIGN) uint8_t data[];
};

struct g4_arena {
    struct arena_block *first;
    struct arena_block *current;
    size_t used; /* of the current block */
};

struct g4_arena *g4_arena_new(void) {
    return calloc(1, sizeof(struct g4_arena));
}

void g4_arena_free(struct g4_arena *arena) {
    if (!arena) {
        return;
    }
    struct arena_block *block = arena->first;
    while (block) {
        struct arena_block *const next = block->next;
        free(block);
        block = next;
    }
    free(arena);
}

void g4_arena_reset(struct g4_arena *arena) {
    arena->current = arena->first;
    arena->used = 0;
}

static struct arena_block *arena_grow(struct g4_arena *arena, size_t size) {
    const size_t data = size > ARENA_BLOCK ? size : ARENA_BLOCK;
    const size_t whole = (sizeof(struct arena_block) + data + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    struct arena_block *const block = aligned_alloc(ARENA_ALIGN, whole);
    if (!block) {
        return NULL;
    }
    block->size = data;
    if (arena->current) {
        block->next = arena->current->next;
        arena->current->next = block;
    } else {
        block->next = arena->first;
        arena->first = block;
    }
    return block;
}

void *g4_arena_alloc(struct g4_arena *arena, size_t size) {
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (!arena->current || arena->used + size > arena->current->size) {
        struct arena_block *block = arena->current ? arena->current->next : NULL;
        if (!block || block->size < size) {
            block = arena_grow(arena, size);
            if (!block) {
                return NULL;
            }
        }
        arena->current = block;
        arena->used = 0;
    }
    void *const data = arena->current->data + arena->used;
    arena->used += size;
    return data;
}

/* ---- worker ---- */

struct g4_worker *g4_worker_new(const struct g4_context *ctx, struct g4_kernel_cache *kernels, uint32_t index) {
    const size_t gang_size = (sizeof(struct g4_gang) + 63) & ~(size_t)63;
    struct g4_worker *const worker = calloc(1, sizeof *worker);
    if (!worker) {
        return NULL;
    }
    worker->ctx = ctx;
    worker->index = index;
    worker->gang = aligned_alloc(64, gang_size);
    worker->arena = g4_arena_new();
    worker->range = g4_arena_new();
    worker->kept = g4_arena_new();
    worker->surfaces = g4_surface_cache_new();
    worker->eu.ctx = ctx;
    worker->eu.kernels = kernels;
    worker->eu.worker = worker;
    worker->eu.surfaces = worker->surfaces;
    worker->eu.functions = g4_message_functions;
    worker->eu.samplers = g4_sampler_cache_new();
    worker->eu.log = calloc(1, sizeof *worker->eu.log);
    g4_port_init(&worker->port, ctx->mem, G4_UNIT_EU, false);
    worker->port.lowest = true;
    if (!worker->gang || !worker->arena || !worker->range || !worker->kept || !worker->surfaces ||
        !worker->eu.samplers || !worker->eu.log) {
        g4_worker_free(worker);
        return NULL;
    }
    memset(worker->gang, 0, gang_size);
    return worker;
}

void g4_worker_free(struct g4_worker *worker) {
    if (!worker) {
        return;
    }
    g4_cc_end(worker);
    g4_sampler_cache_free(worker->eu.samplers);
    g4_surface_cache_free(worker->surfaces);
    g4_arena_free(worker->kept);
    g4_arena_free(worker->range);
    g4_arena_free(worker->arena);
    free(worker->eu.log);
    free(worker->wm);
    free(worker->gang);
    free(worker);
}
