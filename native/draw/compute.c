/*
 * One GPGPU_WALKER: its thread groups run on the workers of the device, each group on one.
 *
 * Groups of a kernel that writes memory run in order on one worker, because two of them may write to the same place,
 * and atomics return values that depend on the order; so results are the same for any number of workers
 * (docs/decisions.md 106).
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "compute/group.h"
#include "core/hooks.h"
#include "draw/device.h"
#include "eu/kernel.h"

enum {
    JOBS = 1 << 20 /* groups that are started at a time */
};

struct compute {
    struct g4_device *device;
    struct g4_compute_state state;
    uint64_t first;          /* number of the group of job 0 */
    _Atomic uint32_t failed; /* enum g4_status of some group */
};

void g4_device_free_groups(struct g4_device *device) {
    for (uint32_t i = 0; device->group && i < device->workers; i++) {
        g4_group_free(device->group[i]);
    }
    free(device->group);
    device->group = NULL;
}

static bool allocate_groups(struct g4_device *device) {
    if (device->group) {
        return true;
    }
    device->group = calloc(device->workers, sizeof(struct g4_group *));
    for (uint32_t i = 0; device->group && i < device->workers; i++) {
        device->group[i] = g4_group_new();
        if (!device->group[i]) {
            g4_device_free_groups(device);
        }
    }
    return device->group != NULL;
}

/* Groups are numbered with x fastest, then y, then z. */
static uint32_t extent(const struct g4_compute_state *state, int axis) {
    return state->end[axis] > state->first[axis] ? state->end[axis] - state->first[axis] : 0;
}

static void run_group(void *data, uint32_t worker, uint32_t job) {
    struct compute *const compute = data;
    const struct g4_compute_state *const state = &compute->state;
    uint64_t number = compute->first + job;
    uint32_t id[3];

    if (atomic_load_explicit(&compute->failed, memory_order_relaxed) != G4_OK) {
        return;
    }
    for (int axis = 0; axis < 3; axis++) {
        id[axis] = state->first[axis] + (uint32_t)(number % extent(state, axis));
        number /= extent(state, axis);
    }
    const uint32_t slot = state->has_scratch ? worker * g4_group_threads(state) : 0;
    const enum g4_status status =
        g4_group_run(compute->device->group[worker], compute->device->worker[worker], state, id, slot);
    if (status != G4_OK) {
        atomic_store_explicit(&compute->failed, status, memory_order_relaxed);
    }
}

static bool runs_in_order(const struct g4_device *device, const struct g4_compute_state *state) {
    const bool scratch_is_short = state->has_scratch && device->workers * g4_group_threads(state) > state->max_threads;
    return device->ctx.hooks || scratch_is_short || g4_kernel_effects(state->kernel) != 0;
}

static enum g4_status run_groups(struct compute *compute) {
    struct g4_device *const device = compute->device;
    const struct g4_compute_state *const state = &compute->state;
    const uint64_t count = (uint64_t)extent(state, 0) * extent(state, 1) * extent(state, 2);
    const bool in_order = runs_in_order(device, state);

    while (compute->first < count && atomic_load(&compute->failed) == G4_OK) {
        const uint64_t left = count - compute->first;
        const uint32_t jobs = left < JOBS ? (uint32_t)left : (uint32_t)JOBS;
        if (in_order) {
            for (uint32_t job = 0; job < jobs; job++) {
                run_group(compute, 0, job);
            }
        } else {
            g4_pool_run(device->pool, run_group, compute, jobs, false);
        }
        compute->first += jobs;
    }
    return (enum g4_status)atomic_load(&compute->failed);
}

enum g4_status g4_device_compute(struct g4_device *device, const uint32_t *walker, struct g4_fault *fault) {
    struct compute compute = {.device = device};

    memset(fault, 0, sizeof *fault);
    if (!device->ctx.model->load_compute) {
        return G4_BAD_VALUE;
    }
    enum g4_status status =
        device->ctx.model->load_compute(&device->ctx, device->kernels, walker, &compute.state, fault);
    if (status != G4_OK) {
        return status;
    }
    if (!allocate_groups(device)) {
        return G4_NO_MEMORY;
    }
    g4_device_begin_workers(device);
    if (device->ctx.hooks) {
        device->ctx.hooks->media_started(device->ctx.hooks);
    }
    status = run_groups(&compute);
    g4_device_collect_statistics(device);
    g4_device_collect(device);
    g4_device_find_fault(device, status, fault);
    return status;
}
