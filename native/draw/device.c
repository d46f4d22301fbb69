#include "draw/device.h"
#include "api/picture.h"

#include "color/state.h"
#include "compute/group.h"
#include "core/hooks.h"
#include "core/surface.h"
#include "eu/counters.h"
#include "functions/table.h"
#include "geometry/mesh.h"
#include "media/media.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t worker_count(const struct g4_options *options) {
    if (options->workers) {
        return options->workers;
    }
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : (uint32_t)processors;
}

struct g4_device *g4_device_new(struct g4_mem *mem, uint32_t gen, const struct g4_options *options) {
    const struct g4_model *const model = g4_model_of(gen);
    struct g4_device *const device = model ? calloc(1, sizeof *device) : NULL;
    if (!device) {
        return NULL;
    }
    device->ctx.mem = mem;
    device->ctx.model = model;
    device->ctx.gen = model->layout_gen;
    device->ctx.options = *options;
    device->last_object = UINT32_MAX;
    g4_port_init(&device->port, mem, G4_UNIT_CS, false);
    g4_port_init(&device->quiet_port, mem, G4_UNIT_CS, false);
    device->quiet_port.quiet = true;

    if (options->hierarchical_depth == G4_HIERARCHICAL_DEPTH_MODE_STRICT) {
        device->ctx.hiz_watch = g4_hiz_watch_new(mem, device->ctx.gen);
        device->ctx.surface_watch = g4_hiz_watch_surfaces(device->ctx.hiz_watch);
        if (!device->ctx.hiz_watch) {
            g4_device_free(device);
            return NULL;
        }
    }
    device->pool = g4_pool_new(worker_count(options));
    device->kernels = g4_kernel_cache_new();
    device->frame = g4_draw_frame_new();
    if (!device->pool || !device->kernels || !device->frame) {
        g4_device_free(device);
        return NULL;
    }
    const uint32_t workers = g4_pool_workers(device->pool);
    device->ctx.options.workers = workers; /* the option may be 0: one for each processor */
    device->worker = calloc(workers, sizeof(struct g4_worker *));
    for (uint32_t i = 0; device->worker && i < workers; i++) {
        device->worker[i] = g4_worker_new(&device->ctx, device->kernels, i);
        if (!device->worker[i]) {
            break;
        }
        device->workers++;
    }
    if (device->workers != workers || !g4_draw_frame_begin(device)) {
        g4_device_free(device);
        return NULL;
    }
    device->media = g4_media_new(&device->ctx, &device->port, device->kernels, device->worker[0]);
    if (!device->media) {
        g4_device_free(device);
        return NULL;
    }
    return device;
}

enum g4_status g4_device_record_meshes(struct g4_device *device, bool on) {
    if (on == (device->mesh != NULL)) {
        return G4_OK;
    }
    if (!on) {
        g4_mesh_free(device->mesh);
        device->mesh = NULL;
        return G4_OK;
    }
    device->mesh = g4_mesh_new();
    return device->mesh ? G4_OK : G4_NO_MEMORY;
}

bool g4_device_mesh(const struct g4_device *device, uint32_t stage, struct g4_mesh_records *records) {
    return device->mesh && stage < G4_MESH_STAGES && g4_mesh_records(device->mesh, stage, records);
}

void g4_device_free(struct g4_device *device) {
    if (!device) {
        return;
    }
    if (device->ctx.hooks) {
        device->ctx.hooks->free(device->ctx.hooks);
    }
    g4_device_free_counters(device);
    g4_mesh_free(device->mesh);
    g4_media_free(device->media);
    g4_group_free(device->group);
    g4_pool_free(device->pool);
    for (uint32_t i = 0; device->worker && i < device->workers; i++) {
        device->worker[i]->wm = NULL; /* of the frame */
        device->worker[i]->eu.cc = NULL;
        g4_worker_free(device->worker[i]);
    }
    free(device->worker);
    g4_draw_frame_free(device->frame, device->workers);
    g4_kernel_cache_free(device->kernels);
    g4_hiz_watch_free(device->ctx.hiz_watch);
    free(device);
}

void g4_device_attach(struct g4_device *device, struct g4_hooks *hooks) {
    for (uint32_t i = 0; i < device->workers; i++) {
        device->worker[i]->eu.hooks = hooks;
    }
    device->ctx.hooks = hooks;
    g4_device_observe(device);
}

void g4_device_use(struct g4_device *device, struct g4_state *state) {
    device->ctx.state = state;
}

void g4_device_objects_range(struct g4_device *device, uint32_t first, uint32_t last) {
    device->first_object = first;
    device->last_object = last;
}

void g4_device_restart_objects(struct g4_device *device) {
    device->next_object = 0;
    if (device->ctx.hooks) {
        device->ctx.hooks->numbers_restarted(device->ctx.hooks);
    }
}

struct g4_event_count g4_device_event(const struct g4_device *device, enum g4_event event) {
    const struct g4_event_count none = {0};
    return (unsigned)event < G4_EVENTS ? device->log.event[event] : none;
}

struct g4_error_record g4_device_error(const struct g4_device *device, uint32_t function) {
    const struct g4_error_record none = {0};
    const uint32_t index = function % G4_ERROR_RECORDS;
    return device->log.errors >> index & 1 ? device->log.error[index] : none;
}

const struct g4_fault_log *g4_device_faults(const struct g4_device *device) {
    return &device->port.log;
}

void g4_device_counts(const struct g4_device *device, struct g4_device_counts *counts) {
    *counts = device->counts;
}

void g4_device_progress(const struct g4_device *device, struct g4_draw_progress *progress) {
    progress->step = atomic_load_explicit(&device->step, memory_order_relaxed);
    if (progress->step == G4_DRAW_STEP_GROUPS) {
        progress->begun = atomic_load_explicit(&device->groups_begun, memory_order_relaxed);
        progress->count = atomic_load_explicit(&device->groups, memory_order_relaxed);
    } else {
        progress->begun = g4_pool_started(device->pool, &progress->count);
    }
}

void g4_device_leave_processor(struct g4_device *device) {
    g4_pool_move_caller(device->pool);
}

void g4_device_hiz_counts(const struct g4_device *device, struct g4_hiz_counts *counts) {
    uint64_t *const sum = (uint64_t *)counts;

    *counts = device->hiz_before;
    for (uint32_t i = 0; i < device->workers; i++) {
        const struct g4_cc *const cc = g4_cc_of(device->worker[i]);
        for (size_t n = 0; cc && n < sizeof *counts / sizeof *sum; n++) {
            sum[n] += ((const uint64_t *)&cc->hiz_counts)[n];
        }
    }
}

bool g4_surface_place(const uint32_t *state, uint32_t gen, uint32_t level, uint32_t slice, uint32_t place[2]) {
    const struct g4_model *const model = g4_model_of(gen);
    struct g4_surface surface = {.present = true};

    if (!model) {
        return false;
    }
    model->surfaces->unpack(state, model->layout_gen, &surface);
    return g4_surface_start(&surface, model->layout_gen, level, slice, place);
}
