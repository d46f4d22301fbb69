#include "eu/worker.h"

#include <stdlib.h>
#include <string.h>

#include "color/color.h"
#include "core/report.h"
#include "core/util.h"
#include "functions/table.h"
#include "sampler/message.h"

struct g4_worker *g4_worker_new(const struct g4_context *ctx, struct g4_kernel_cache *kernels, uint32_t index) {
    const size_t gang_size = (sizeof(struct g4_gang) + 63) & ~(size_t)63;
    struct g4_worker *const worker = g4_new_cleared(sizeof *worker); /* shares no cache line */
    if (!worker) {
        return NULL;
    }
    worker->ctx = ctx;
    worker->index = index;
    worker->gang = aligned_alloc(64, gang_size);
    worker->gang_arena = g4_arena_new();
    worker->range_arena = g4_arena_new();
    worker->batch_arena = g4_arena_new();
    worker->surfaces = g4_surface_cache_new();
    worker->eu.ctx = ctx;
    worker->eu.kernels = kernels;
    worker->eu.worker = worker;
    worker->eu.surfaces = worker->surfaces;
    worker->eu.functions = ctx->model->functions;
    worker->eu.samplers = g4_sampler_cache_new();
    worker->eu.log = g4_new_cleared(sizeof *worker->eu.log);
    g4_port_init(&worker->port, ctx->mem, G4_UNIT_EU, false);
    worker->port.lowest = true;
    if (!worker->gang || !worker->gang_arena || !worker->range_arena || !worker->batch_arena || !worker->surfaces ||
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
    g4_arena_free(worker->batch_arena);
    g4_arena_free(worker->range_arena);
    g4_arena_free(worker->gang_arena);
    free(worker->eu.log);
    free(worker->wm);
    free(worker->gang);
    free(worker);
}
