/*
 * One thread group (IVB PRM vol. 2 part 2, "GPGPU Mode"): payloads, turns, barriers, shared local memory.
 *
 * Threads with consecutive numbers form gangs.  Gangs run one after the other, each until all of its threads have ended
 * or wait, in an order that depends on nothing but the program.
 */
#include "compute/group.h"

#include <stdlib.h>
#include <string.h>

#include "core/hooks.h"
#include "messages_gen7.h"

enum {
    GANGS = G4_GROUP_THREADS / G4_GANG_THREADS,
    TURN = 20000, /* instructions of a gang until the next gang's turn: threads may spin on memory of others */
};

struct g4_group {
    const struct g4_compute_state *state;
    uint32_t gangs;   /* of the group that runs */
    uint32_t arrived; /* messages at the barrier since it opened last */
    struct g4_gang *gang[GANGS];
    uint8_t shared[G4_SHARED_MEMORY_BYTES];
    uint32_t indirect[G4_INDIRECT_DATA_BYTES / sizeof(uint32_t[8])][8]; /* of the dispatch */
};

struct g4_group *g4_group_new(void) {
    return calloc(1, sizeof(struct g4_group));
}

void g4_group_free(struct g4_group *group) {
    for (uint32_t g = 0; group && g < GANGS; g++) {
        free(group->gang[g]);
    }
    free(group);
}

static bool allocate(struct g4_group *group, uint32_t gangs) {
    const size_t size = (sizeof(struct g4_gang) + 63) & ~(size_t)63;

    for (uint32_t g = 0; g < gangs; g++) {
        if (!group->gang[g]) {
            group->gang[g] = aligned_alloc(64, size);
            if (!group->gang[g]) {
                return false;
            }
            memset(group->gang[g], 0, size);
        }
    }
    return true;
}

void g4_group_read_indirect(struct g4_group *group, struct g4_port *port, struct g4_compute_state *state) {
    const uint32_t row_bytes = sizeof group->indirect[0];
    const uint32_t length = g4_min_u32(state->indirect_bytes, (uint32_t)sizeof group->indirect);

    if (!length) {
        return;
    }
    state->constants = (const uint32_t(*)[8])group->indirect;
    state->constant_rows = (length + row_bytes - 1) / row_bytes;
    memset(group->indirect[state->constant_rows - 1], 0, row_bytes);
    (void)g4_mem_read(port, state->indirect_address & port->mem->address_mask, group->indirect, length);
}

/* ---- barriers ---- */

/* A thread has reached the barrier.  The last one opens it for all (IVB PRM vol. 4 part 2, 6: the gateway increments
 * n0.0 of every thread of the group). */
static bool arrive(struct g4_gang *gang, int thread, const uint32_t *header) {
    struct g4_group *const group = gang->owner.data;
    (void)thread;
    (void)header;

    if (++group->arrived < group->state->barrier_threads) {
        return true;
    }
    group->arrived = 0;
    for (uint32_t g = 0; g < group->gangs; g++) {
        struct g4_gang *const other = group->gang[g];
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            other->notify[t][0] += other->live >> t & 1;
        }
        other->waiting = 0;
    }
    return true;
}

/* ---- payloads ---- */

static uint32_t channels_of(const struct g4_compute_state *state, uint32_t number) {
    const uint32_t across = number % state->threads[0];
    const uint32_t down = number / state->threads[0] % state->threads[1];
    uint32_t mask = UINT32_MAX >> (32 - state->channels);

    mask &= across == state->threads[0] - 1 ? state->right_mask : UINT32_MAX;
    return mask & (down == state->threads[1] - 1 ? state->bottom_mask : UINT32_MAX);
}

static uint32_t put_constants(const struct g4_compute_state *state, struct g4_gang *gang, int t, uint32_t first,
                              uint32_t rows, uint32_t grf) {
    for (uint32_t r = 0; r < rows && grf < G4_GRF_COUNT; r++, grf++) {
        uint32_t *const to = gang->grf[grf].ud[t];
        if (first + r < state->constant_rows) {
            memcpy(to, state->constants[first + r], sizeof state->constants[0]);
        } else {
            memset(to, 0, sizeof state->constants[0]);
        }
    }
    return grf;
}

static void put_all_constants(const struct g4_compute_state *state, struct g4_gang *gang, int t, uint32_t slot) {
    const uint32_t shared = state->first_row;
    const uint32_t own = shared + state->shared_rows + slot * state->thread_rows;

    if (state->indirect_bytes) {
        const uint32_t grf = put_constants(state, gang, t, own, state->thread_rows, 1);
        (void)put_constants(state, gang, t, shared, state->shared_rows, grf);
    } else {
        const uint32_t grf = put_constants(state, gang, t, shared, state->shared_rows, 1);
        (void)put_constants(state, gang, t, own, state->thread_rows, grf);
    }
}

static void put_header(const struct g4_context *ctx, const struct g4_dispatch *dispatch, const uint32_t id[3],
                       uint32_t slot, uint32_t r0[8]) {
    const struct gen7_payload_gpgpu_r0 in = {
        .thread_group_id_x = id[0],
        .thread_group_id_y = id[1],
        .thread_group_id_z = id[2],
        .sampler_state_pointer = (uint32_t)(dispatch->sampler_state - dispatch->dynamic_state_base),
        .per_thread_scratch_space = dispatch->scratch_size,
        .binding_table_pointer = (uint32_t)(dispatch->binding_table - dispatch->surface_state_base),
        .scratch_space_pointer =
            (uint32_t)(dispatch->scratch_base - dispatch->general_state_base) + slot * dispatch->scratch_bytes,
        .fftid = slot,
    };
    gen7_payload_gpgpu_r0_pack(&in, ctx->gen, r0);
}

static uint32_t identity(const struct g4_context *ctx, uint32_t slot) {
    return ctx->hooks ? ctx->hooks->thread_place(ctx->hooks, G4_UNIT_TS, slot) : g4_thread_identity_of_slot(ctx, slot);
}

static enum g4_status start_gang(struct g4_group *group, struct g4_worker *worker, uint32_t number, uint32_t count,
                                 const uint32_t id[3]) {
    const struct g4_compute_state *const state = group->state;
    struct g4_gang *const gang = group->gang[number / G4_GANG_THREADS];
    struct g4_hooks *const hooks = worker->eu.hooks;

    g4_gang_start_for(gang, &state->dispatch, state->kernel, (int)count, false);
    gang->owner = (struct g4_gang_owner){.barrier = arrive, .data = group};
    gang->shared_memory = group->shared;
    gang->shared_memory_bytes = state->shared_bytes;
    for (uint32_t t = 0; t < count; t++) {
        const uint32_t slot = number + t;
        const uint32_t mask = channels_of(state, slot);
        gang->slot[t] = slot;
        gang->sr0[t] = identity(worker->ctx, slot);
        put_header(worker->ctx, &state->dispatch, id, slot, gang->grf[0].ud[t]);
        put_all_constants(state, gang, (int)t, slot);
        if (state->channels > 16) {
            g4_gang_set_wide_dmask(gang, (int)t, mask);
        } else {
            g4_gang_set_dmask(gang, (int)t, (uint16_t)mask);
        }
        worker->counter[G4_COUNTER_CS_INVOCATIONS] += (unsigned)__builtin_popcount(mask);
    }
    if (hooks) {
        struct g4_thread_start start[G4_GANG_THREADS];
        memset(start, 0, sizeof start);
        return hooks->threads_started(hooks, gang, start, (int)count);
    }
    return G4_OK;
}

/* ---- turns ---- */

/* Some thread of the group is left, but none can run. */
static enum g4_status deadlock(const struct g4_group *group, struct g4_eu *eu) {
    for (uint32_t g = 0; g < group->gangs; g++) {
        const struct g4_gang *const gang = group->gang[g];
        if (gang->live) {
            eu->fault = (struct g4_fault){.unit = G4_UNIT_TS,
                                          .address = g4_gang_address(gang, __builtin_ctz(gang->live)),
                                          .what = G4_EVENTS,
                                          .value = gang->live};
            return G4_HANG;
        }
    }
    return G4_OK;
}

static enum g4_status take_turns(const struct g4_group *group, struct g4_eu *eu) {
    bool ran = true;

    while (ran) {
        ran = false;
        for (uint32_t g = 0; g < group->gangs; g++) {
            struct g4_gang *const gang = group->gang[g];
            if (!(gang->live & ~gang->waiting)) {
                continue;
            }
            ran = true;
            const enum g4_status status = g4_gang_run(eu, gang, group->state->kernel);
            if (status != G4_OK) {
                return status;
            }
        }
    }
    return deadlock(group, eu);
}

enum g4_status g4_group_run(struct g4_group *group, struct g4_worker *worker, const struct g4_compute_state *state,
                            const uint32_t id[3]) {
    const uint32_t threads = g4_group_threads(state);

    group->state = state;
    group->gangs = (threads + G4_GANG_THREADS - 1) / G4_GANG_THREADS;
    group->arrived = 0;
    if (!allocate(group, group->gangs)) {
        return G4_NO_MEMORY;
    }
    memset(group->shared, 0, state->shared_bytes); /* docs/decisions.md 105 */
    for (uint32_t number = 0; number < threads; number += G4_GANG_THREADS) {
        const uint32_t left = threads - number;
        const enum g4_status status =
            start_gang(group, worker, number, left < G4_GANG_THREADS ? left : G4_GANG_THREADS, id);
        if (status != G4_OK) {
            return status;
        }
    }
    worker->eu.turn = group->gangs > 1 ? TURN : 0;
    const enum g4_status status = take_turns(group, &worker->eu);
    worker->eu.turn = 0;
    return status;
}
