/*
 * The color calculator alone: state from the caller, no windower, no shader.
 */
#include <stdlib.h>
#include <string.h>

#include "color/color.h"
#include "draw/load_gen4.h"
#include "harness/probe.h"
#include "hw_messages.h"
#include "raster/windower.h"

static void load(const struct g4_worker *worker, const uint32_t *wm_state, const uint32_t *cc_state,
                 struct g4_draw_state *draw) {
    g4_load_commands_gen4(worker->ctx, draw);
    g4_load_windower_gen4(worker->ctx, wm_state, draw);
    g4_load_color_gen4(worker->ctx, cc_state, draw);
}

enum g4_status g4_probe_pixels(struct g4_probe *probe, const uint32_t *wm_state, const uint32_t *cc_state,
                               const float *viewports) {
    struct g4_worker *const worker = g4_probe_worker(probe);
    struct g4_draw_state *const draw = calloc(1, sizeof *draw);
    if (!draw) {
        return G4_NO_MEMORY;
    }
    load(worker, wm_state, cc_state, draw);
    draw->dispatch[G4_STAGE_WM] = *g4_probe_dispatch(probe);
    for (int i = 0; i < 16; i++) {
        draw->color.depth_range[i] = (struct g4_depth_range){viewports[2 * i], viewports[2 * i + 1]};
    }
    const enum g4_status status = g4_cc_begin(worker, draw);
    free(draw);
    return status;
}

uint32_t g4_probe_iz(struct g4_probe *probe, const uint32_t *wm_state, const uint32_t *cc_state, bool depth_buffer) {
    struct g4_draw_state *const draw = calloc(1, sizeof *draw);
    if (!draw) {
        return UINT32_MAX;
    }
    load(g4_probe_worker(probe), wm_state, cc_state, draw);
    struct g4_iz iz;
    draw->depth_buffer.present = depth_buffer;
    g4_iz_decide(draw, &iz);
    free(draw);
    return (uint32_t)iz.mode << 4 | (uint32_t)iz.source_depth_eu << 3 | (uint32_t)iz.source_depth_rt << 2 |
           (uint32_t)iz.dest_depth << 1 | iz.dest_stencil;
}

uint32_t g4_probe_early(struct g4_probe *probe, const uint16_t *x, const uint16_t *y, uint32_t lit, const float *z,
                        uint32_t viewport, uint32_t array_index, bool back_facing) {
    struct g4_worker *const worker = g4_probe_worker(probe);
    return worker->eu.cc ? g4_cc_early(worker, x, y, lit, z, viewport, array_index, back_facing) : 0;
}

void g4_probe_destination(struct g4_probe *probe, const uint16_t *x, const uint16_t *y, uint32_t lit,
                          uint32_t array_index, uint32_t *depth, uint8_t *stencil) {
    struct g4_worker *const worker = g4_probe_worker(probe);
    if (worker->eu.cc) {
        g4_cc_destination(worker, x, y, lit, array_index, depth, stencil);
    }
}

uint64_t g4_probe_depth_count(const struct g4_probe *probe) {
    return g4_probe_worker((struct g4_probe *)probe)->eu.ps_depth_count;
}

/* Eight threads of four subspans are 32x4 pixels. */
static void place(struct g4_gang *gang, uint32_t x, uint32_t y) {
    for (uint32_t t = 0; t < G4_GANG_THREADS; t++) {
        for (uint32_t s = 0; s < 4; s++) {
            gang->mrf[1].ud[t][2 + s] = (x + 8 * (t & 3) + 2 * s) | (y + 2 * (t >> 2)) << 16;
        }
    }
}

enum g4_status g4_probe_fill(struct g4_probe *probe, uint32_t descriptor, uint32_t tiles, uint32_t across) {
    struct g4_worker *const worker = g4_probe_worker(probe);
    const struct g4_send send = {
        .descriptor = descriptor,
        .sfid = (uint8_t)g4_message_descriptor_shared_function(descriptor),
        .mlen = (uint8_t)g4_message_descriptor_message_length(descriptor),
        .threads = 0xff,
    };
    enum g4_status status = across ? G4_OK : G4_BAD_VALUE;

    for (uint32_t tile = 0; tile < tiles && status == G4_OK; tile++) {
        for (uint32_t part = 0; part < G4_TILE_SIZE / 4 && status == G4_OK; part++) {
            place(worker->gang, tile % across * G4_TILE_SIZE, tile / across * G4_TILE_SIZE + 4 * part);
            status = g4_render_target_write(&worker->eu, worker->gang, &send);
        }
    }
    return status;
}

/* Test a tile of pixels at one depth; false: not at once. */
static bool fill_tile(struct g4_worker *worker, float z, int32_t x, int32_t y, uint64_t *passed) {
    const struct g4_plane plane = {.c0 = (double)z};
    const struct g4_early_tile tile = {.x = x, .y = y, .last = G4_TILE_SIZE - 1, .plane = &plane};
    uint32_t row[G4_TILE_SIZE];

    memset(row, 0xff, sizeof row);
    if (!g4_cc_early_tile(worker, &tile, row)) {
        return false;
    }
    for (uint32_t j = 0; j < G4_TILE_SIZE; j++) {
        *passed += row[j] == UINT32_MAX ? G4_TILE_SIZE : (uint32_t)__builtin_popcount(row[j]);
    }
    return true;
}

uint64_t g4_probe_fill_depth(struct g4_probe *probe, float z, uint32_t tiles, uint32_t across) {
    struct g4_worker *const worker = g4_probe_worker(probe);
    uint64_t passed = 0;
    float depth[16];

    for (int i = 0; i < 16; i++) {
        depth[i] = z;
    }
    for (uint32_t i = 0; across && i < tiles * (G4_TILE_SIZE * G4_TILE_SIZE / 16); i++) {
        const uint32_t tile = i / 64;
        if (i % 64 == 0 && worker->eu.cc &&
            fill_tile(worker, z, (int32_t)(tile % across * G4_TILE_SIZE), (int32_t)(tile / across * G4_TILE_SIZE),
                      &passed)) {
            i += 63;
            continue;
        }
        const uint16_t left = (uint16_t)(tile % across * G4_TILE_SIZE + i % 4 * 8);
        const uint16_t top = (uint16_t)(tile / across * G4_TILE_SIZE + i / 4 % 16 * 2);
        const uint16_t x[4] = {left, left + 2, left + 4, left + 6};
        const uint16_t y[4] = {top, top, top, top};
        passed += (uint32_t)__builtin_popcount(g4_probe_early(probe, x, y, 0xffff, depth, 0, 0, false));
    }
    return passed;
}
