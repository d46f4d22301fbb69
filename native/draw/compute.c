/*
 * One GPGPU_WALKER: its thread groups run one after another, on the first worker.
 *
 * Two groups may write to the same place, and atomics return values that depend on the order; so results are the same
 * for any number of workers (docs/decisions.md 106).
 */
#include <stdatomic.h>
#include <string.h>

#include "compute/group.h"
#include "core/hooks.h"
#include "draw/device.h"

/* Groups are numbered with x fastest, then y, then z. */
static enum g4_status run_groups(struct g4_device *device, const struct g4_compute_state *state) {
    uint64_t groups = 1;
    uint32_t id[3];
    uint32_t begun = 0;

    for (int i = 0; i < 3; i++) {
        groups *= state->end[i] > state->first[i] ? state->end[i] - state->first[i] : 0;
        groups = groups < UINT32_MAX ? groups : UINT32_MAX;
    }
    atomic_store_explicit(&device->groups, (uint32_t)groups, memory_order_relaxed);
    if (groups == 0) { /* the other dimensions may have 2^32 */
        return G4_OK;
    }
    for (id[2] = state->first[2]; id[2] < state->end[2]; id[2]++) {
        for (id[1] = state->first[1]; id[1] < state->end[1]; id[1]++) {
            for (id[0] = state->first[0]; id[0] < state->end[0]; id[0]++) {
                begun += begun < UINT32_MAX;
                atomic_store_explicit(&device->groups_begun, begun, memory_order_relaxed);
                const enum g4_status status = g4_group_run(device->group, device->worker[0], state, id);
                if (status != G4_OK) {
                    return status;
                }
            }
        }
    }
    return G4_OK;
}

enum g4_status g4_device_compute(struct g4_device *device, const uint32_t *walker, struct g4_fault *fault) {
    struct g4_compute_state state;

    memset(fault, 0, sizeof *fault);
    if (!device->ctx.model->load_compute) {
        return G4_BAD_VALUE;
    }
    enum g4_status status = device->ctx.model->load_compute(&device->ctx, device->kernels, walker, &state, fault);
    if (status != G4_OK) {
        return status;
    }
    if (!device->group && !(device->group = g4_group_new())) {
        return G4_NO_MEMORY;
    }
    if (state.channels <= 16) {                                   /* machine code has no more */
        g4_kernel_expect(state.kernel, &device->ctx, UINT32_MAX); /* dispatches loop, or have many groups */
    }
    g4_device_begin_workers(device);
    g4_group_read_indirect(device->group, &device->port, &state);
    if (device->ctx.hooks) {
        device->ctx.hooks->media_started(device->ctx.hooks);
    }
    atomic_store_explicit(&device->groups_begun, 0, memory_order_relaxed);
    atomic_store_explicit(&device->step, G4_DRAW_STEP_GROUPS, memory_order_relaxed);
    status = run_groups(device, &state);
    atomic_store_explicit(&device->step, G4_DRAW_STEP_NONE, memory_order_relaxed);
    g4_device_collect_statistics(device);
    g4_device_collect(device);
    g4_device_find_fault(device, status, fault);
    return status;
}
