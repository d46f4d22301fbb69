/*
 * The hull shader stage of Gen7: threads that write the patch record of one patch (IVB PRM vol. 2 part 1, "Hull Shader
 * (HS) Stage").
 *
 * All threads of a patch share its record and may wait for each other at a barrier, so they run until each has ended:
 * in one gang if they fit, else in turns.
 */
#include <string.h>

#include "core/hooks.h"
#include "core/report.h"
#include "geometry/payload_gen7.h"
#include "geometry/stage.h"
#include "geometry/tessellation.h"
#include "messages_gen7.h"

enum {
    INSTANCES = 16,    /* of a patch, at most */
    GANGS = INSTANCES, /* of a patch: a debugger may allow one thread in each */
};

/* The threads of a patch. */
struct patch_threads {
    uint32_t (*window)[8]; /* the patch record, then the vertices */
    uint32_t rows;
    uint32_t arrived; /* at the barrier */
    uint32_t threads;
    struct g4_gang *gang[INSTANCES]; /* of each of them, and the number there */
    uint8_t thread[INSTANCES];
};

struct hull_run {
    struct g4_worker *worker;
    const struct g4_draw_state *draw;
    const struct g4_stage *stage;
    const struct g4_dispatch *dispatch;
    const struct g4_kernel *kernel;
    uint32_t instances;
    struct g4_slots slots;
    struct g4_arena *arena;
};

/* ---- the barrier ---- */

static bool barrier(struct g4_gang *gang, int t, const uint32_t *header) {
    struct patch_threads *const group = gang->unit_data[t];

    (void)header; /* its count is that of the instances */
    if (++group->arrived < group->threads) {
        return true;
    }
    group->arrived = 0;
    for (uint32_t i = 0; i < group->threads; i++) {
        group->gang[i]->notify[group->thread[i]][0]++;
        group->gang[i]->waiting &= (uint8_t) ~(1u << group->thread[i]);
    }
    return true;
}

/* ---- the payload ---- */

static bool open_group(const struct hull_run *run, const struct g4_patch *patch, struct patch_threads *group) {
    uint32_t rows = run->stage->entry_rows;

    for (uint32_t v = 0; v < patch->vertices; v++) {
        rows += patch->vertex[v]->row_count;
    }
    *group = (struct patch_threads){.rows = rows, .threads = run->instances};
    group->window = g4_arena_alloc(run->arena, (size_t)rows * sizeof *group->window);
    if (!group->window) {
        return false;
    }
    memset(group->window, 0, (size_t)run->stage->entry_rows * sizeof *group->window);
    rows = run->stage->entry_rows;
    for (uint32_t v = 0; v < patch->vertices; v++) {
        memcpy(group->window[rows], patch->vertex[v]->rows, patch->vertex[v]->row_count * sizeof *group->window);
        rows += patch->vertex[v]->row_count;
    }
    return true;
}

static void put_payload(const struct hull_run *run, struct g4_gang *gang, int t, const struct g4_patch *patch,
                        uint32_t instance, uint32_t grf) {
    const struct gen7_payload_hs_r0 header = {.primitive_id = patch->primitive_id, .instance_number = instance};
    uint32_t packed[8];
    uint32_t handle[G4_PATCH_VERTICES];
    uint32_t row = run->stage->entry_rows;

    g4_payload_r0_gen7(run->worker->ctx, run->dispatch, gang->slot[t], gang->grf[0].ud[t]);
    gen7_payload_hs_r0_pack(&header, run->worker->ctx->gen, packed);
    memcpy(gang->grf[0].ud[t], packed, 3 * sizeof packed[0]); /* before the pointers */
    for (uint32_t v = 0; v < patch->vertices; v++) {
        const struct g4_vertex *const from = patch->vertex[v];
        handle[v] = row;
        row += from->row_count;
        grf = g4_payload_rows(gang, t, from->rows, from->row_count, run->stage->input_offset, run->stage->input_rows,
                              grf);
    }
    if (run->draw->tessellation.has_vertex_handles) {
        (void)g4_payload_handles_gen7(gang, t, handle, patch->vertices, 1);
    }
}

/* Start `count` threads of one patch, or of several with all of theirs.  `instance` is the first one's. */
static bool start_gang(const struct hull_run *run, struct g4_gang *gang, const struct g4_patch *patch,
                       struct patch_threads *group, uint32_t instance, uint32_t count) {
    g4_gang_start_for(gang, run->dispatch, run->kernel, (int)count, false);
    gang->owner = (struct g4_gang_owner){.barrier = barrier};
    const uint32_t grf = g4_payload_constants_gen7(gang, count, run->stage, run->stage->grf_start);
    for (uint32_t t = 0; t < count; t++) {
        const uint32_t p = (instance + t) / run->instances;
        const uint32_t i = (instance + t) % run->instances;
        if (i == 0 && !open_group(run, &patch[p], &group[p])) {
            return false;
        }
        group[p].gang[i] = gang;
        group[p].thread[i] = (uint8_t)t;
        gang->unit_data[t] = &group[p];
        gang->urb[t] = group[p].window;
        gang->urb_rows[t] = group[p].rows;
        /* threads of a large patch that runs in several gangs have scratch space of their own while there is enough */
        gang->slot[t] = (run->slots.first + instance + t) % (run->stage->max_threads ? run->stage->max_threads : 1);
        put_payload(run, gang, (int)t, &patch[p], i, grf);
        g4_gang_set_dmask(gang, (int)t, 0xff);
    }
    return true;
}

static enum g4_status notify_start(const struct hull_run *run, struct g4_gang *gang, const struct g4_patch *patch,
                                   uint32_t instance, uint32_t count) {
    struct g4_hooks *const hooks = run->worker->eu.hooks;
    struct g4_thread_start start[G4_GANG_THREADS];

    memset(start, 0, sizeof start);
    for (uint32_t t = 0; t < count; t++) {
        const struct g4_patch *const p = &patch[(instance + t) / run->instances];
        for (uint32_t v = 0; v < p->vertices && v < G4_THREAD_VERTICES; v++) {
            start[t].rows[start[t].vertices++] = p->vertex[v]->rows;
        }
    }
    return hooks->threads_started(hooks, gang, start, (int)count);
}

/* ---- running ---- */

/* Run gangs in turns until all their threads have ended.  None can continue if a thread waits at a barrier that another
 * has ended without reaching; then the gangs hang. */
static enum g4_status run_gangs(const struct hull_run *run, struct g4_gang **gang, uint32_t gangs) {
    bool alive = true;
    bool moved = true;

    while (alive) {
        if (!moved) {
            run->worker->eu.fault = (struct g4_fault){
                .unit = run->dispatch->unit, .address = g4_gang_address(gang[0], 0), .what = G4_EVENTS};
            return G4_HANG;
        }
        alive = moved = false;
        for (uint32_t g = 0; g < gangs; g++) {
            if (!gang[g]->live) {
                continue;
            }
            const uint64_t before = run->worker->eu.instructions;
            const uint32_t waited = (uint32_t)__builtin_popcount(gang[g]->live & gang[g]->waiting);
            const enum g4_status status = g4_gang_run(&run->worker->eu, gang[g], run->kernel);
            if (status != G4_OK) {
                return status;
            }
            alive = alive || gang[g]->live;
            moved = moved || run->worker->eu.instructions - before > waited; /* each wait is executed again */
        }
    }
    return G4_OK;
}

/* Run the threads of some patches, of which all fit into one gang. */
static enum g4_status run_patches(const struct hull_run *run, const struct g4_patch *patch, struct patch_threads *group,
                                  uint32_t patches) {
    struct g4_gang *gang = run->worker->gang;
    const uint32_t threads = patches * run->instances;

    if (!start_gang(run, gang, patch, group, 0, threads)) {
        return G4_NO_MEMORY;
    }
    const enum g4_status status = run->worker->eu.hooks ? notify_start(run, gang, patch, 0, threads) : G4_OK;
    return status == G4_OK ? run_gangs(run, &gang, 1) : status;
}

/* Run the threads of a patch that needs several gangs. */
static enum g4_status run_large_patch(const struct hull_run *run, const struct g4_patch *patch,
                                      struct patch_threads *group) {
    struct g4_gang *gang[GANGS] = {run->worker->gang};
    uint32_t gangs = 0;

    for (uint32_t first = 0; first < run->instances; first += run->slots.count, gangs++) {
        const uint32_t left = run->instances - first;
        const uint32_t count = left < run->slots.count ? left : run->slots.count;
        if (gangs) {
            gang[gangs] = g4_arena_alloc(run->worker->gang_arena, sizeof *gang[gangs]);
            if (!gang[gangs]) {
                return G4_NO_MEMORY;
            }
            memset(gang[gangs], 0, sizeof *gang[gangs]);
        }
        if (!start_gang(run, gang[gangs], patch, group, first, count)) {
            return G4_NO_MEMORY;
        }
        const enum g4_status status =
            run->worker->eu.hooks ? notify_start(run, gang[gangs], patch, first, count) : G4_OK;
        if (status != G4_OK) {
            return status;
        }
    }
    return run_gangs(run, gang, gangs);
}

enum g4_status g4_hull_run_gen7(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_patch *patch,
                                uint32_t patches, struct g4_arena *arena) {
    const struct g4_stage *const stage = &draw->stage[G4_STAGE_HS];
    const uint32_t instances = draw->tessellation.hull_instances;
    const struct hull_run run = {
        .worker = worker,
        .draw = draw,
        .stage = stage,
        .dispatch = &draw->dispatch[G4_STAGE_HS],
        .kernel = draw->kernel[G4_STAGE_HS],
        .instances = instances,
        .slots = g4_thread_slots(worker, draw->kernel[G4_STAGE_HS], G4_UNIT_HS, stage->max_threads, instances),
        .arena = arena,
    };
    struct patch_threads *const group = g4_arena_alloc(arena, patches * sizeof *group);
    const uint32_t together = run.slots.count / instances; /* patches of a gang */
    enum g4_status status = group ? G4_OK : G4_NO_MEMORY;

    for (uint32_t p = 0; p < patches && status == G4_OK;) {
        const uint32_t left = patches - p;
        const uint32_t count = together == 0 ? 1 : left < together ? left : together;
        g4_arena_reset(worker->gang_arena);
        status =
            together ? run_patches(&run, patch + p, group + p, count) : run_large_patch(&run, patch + p, group + p);
        p += count;
    }
    for (uint32_t p = 0; p < patches && status == G4_OK; p++) {
        patch[p].record = (const uint32_t(*)[8])group[p].window;
    }
    if (stage->statistics) {
        worker->counter[G4_COUNTER_HS_INVOCATIONS] += patches;
    }
    return status;
}
