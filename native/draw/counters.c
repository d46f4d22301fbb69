/*
 * The counters of a device: switched on and off for all its workers, and read.
 */
#include <stdlib.h>
#include <string.h>

#include "core/hooks.h"
#include "draw/device.h"
#include "eu/counters.h"
#include "eu/line_counts.h"
#include "eu/pixel_maps.h"
#include "media/media.h"

void g4_device_observe(struct g4_device *device) {
    for (uint32_t i = 0; i < device->workers; i++) {
        struct g4_eu *const eu = &device->worker[i]->eu;
        eu->observed = eu->hooks || eu->counters;
        eu->functions = eu->hooks ? eu->hooks->functions : device->ctx.model->functions;
    }
}

void g4_device_free_counters(struct g4_device *device) {
    for (uint32_t i = 0; device->worker && i < device->workers; i++) {
        g4_counters_free(device->worker[i]->eu.counters);
        device->worker[i]->eu.counters = NULL;
    }
    if (device->counters) {
        g4_pixel_maps_free(device->counters->maps);
    }
    g4_counters_free(device->counters);
    device->counters = NULL;
}

enum g4_status g4_device_count(struct g4_device *device, bool on) {
    if (on == (device->counters != NULL)) {
        return G4_OK;
    }
    if (!on) {
        g4_device_free_counters(device);
        g4_device_observe(device);
        return G4_OK;
    }
    bool complete = true;
    device->counters = g4_counters_new(device->ctx.mem);
    for (uint32_t i = 0; i < device->workers; i++) {
        device->worker[i]->eu.counters = g4_counters_new(device->ctx.mem);
        complete = complete && device->worker[i]->eu.counters;
    }
    if (!device->counters || !complete) {
        g4_device_free_counters(device);
        return G4_NO_MEMORY;
    }
    g4_device_observe(device);
    g4_device_clear_counters(device);
    return G4_OK;
}

static int by_role(const void *left, const void *right) {
    const struct g4_surface_counters *const a = left;
    const struct g4_surface_counters *const b = right;
    const uint64_t x = (uint64_t)a->role << 32 | a->address;
    const uint64_t y = (uint64_t)b->role << 32 | b->address;
    return x < y ? -1 : x > y;
}

const struct g4_draw_counters *g4_device_counters(struct g4_device *device) {
    struct g4_counters *const counters = device->counters;

    if (!counters) {
        return NULL;
    }
    struct g4_draw_counters *const sum = &counters->sum;
    const struct g4_media_counts *const now = &device->media->counts;
    const struct g4_media_counts *const before = &device->media_before;
    sum->media_objects = now->objects - before->objects;
    sum->macroblocks = now->macroblocks - before->macroblocks;
    sum->media_roots = now->roots - before->roots;
    sum->media_children = now->children - before->children;
    sum->stage[G4_COUNTED_MEDIA].threads = sum->media_roots + sum->media_children;
    if (counters->surfaces) {
        qsort(counters->surface, counters->surfaces, sizeof *counters->surface, by_role);
        memset(counters->recent, 0, sizeof counters->recent);
    }
    sum->surface = counters->surface;
    sum->surfaces = counters->surfaces;
    return sum;
}

void g4_device_clear_counters(struct g4_device *device) {
    if (device->counters) {
        g4_counters_clear(device->counters);
        device->media_before = device->media->counts;
    }
}

/* ---- instructions ---- */

enum g4_status g4_device_count_lines(struct g4_device *device) {
    bool complete = true;

    if (device->counters->lines) {
        return G4_OK;
    }
    device->counters->lines = g4_line_counts_new();
    for (uint32_t i = 0; i < device->workers; i++) {
        struct g4_counters *const counters = device->worker[i]->eu.counters;
        counters->lines = g4_line_counts_new();
        complete = complete && counters->lines;
    }
    if (device->counters->lines && complete) {
        return G4_OK;
    }
    for (uint32_t i = 0; i < device->workers; i++) {
        struct g4_counters *const counters = device->worker[i]->eu.counters;
        g4_line_counts_free(counters->lines);
        counters->lines = NULL;
    }
    g4_line_counts_free(device->counters->lines);
    device->counters->lines = NULL;
    return G4_NO_MEMORY;
}

uint32_t g4_device_kernel_counts(const struct g4_device *device, const struct g4_kernel_count **kernels) {
    const struct g4_line_counts *const lines = device->counters ? device->counters->lines : NULL;
    *kernels = lines ? lines->kernel : NULL;
    return lines ? lines->kernels : 0;
}

uint64_t g4_device_lost_line_counts(const struct g4_device *device) {
    return device->counters && device->counters->lines ? device->counters->lines->lost : 0;
}

/* ---- pixels ---- */

enum g4_status g4_device_map_pixels(struct g4_device *device, bool on) {
    struct g4_pixel_maps *const before = device->counters->maps;
    if (on == (before != NULL)) {
        return G4_OK;
    }
    struct g4_pixel_maps *const maps = on ? g4_pixel_maps_new() : NULL;
    if (on && !maps) {
        return G4_NO_MEMORY;
    }
    device->counters->maps = maps;
    for (uint32_t i = 0; i < device->workers; i++) {
        device->worker[i]->eu.counters->maps = maps;
    }
    g4_pixel_maps_free(before);
    return G4_OK;
}

bool g4_device_pixel_maps(const struct g4_device *device, const struct g4_pixel_map_tile **tiles, uint32_t *count) {
    if (device->counters && device->counters->maps) {
        return g4_pixel_maps_tiles(device->counters->maps, tiles, count);
    }
    *tiles = NULL;
    *count = 0;
    return true;
}

void g4_device_clear_pixel_maps(struct g4_device *device) {
    if (device->counters && device->counters->maps) {
        g4_pixel_maps_clear(device->counters->maps);
    }
}
