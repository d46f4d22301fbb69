/*
 * The render target read message (SKL PRM vol. 7, Render Target Read): the colors of a thread's own pixels.  Threads of
 * a gang share no pixel, so each sees what all threads before it have written.
 */
#include <string.h>

#include "color/state.h"
#include "core/report.h"
#include "eu/message.h"
#include "messages_gen9.h"

enum {
    HALF = 8, /* pixels in a register */
};

struct target_read {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    const struct g4_pixel_block *block;
    int thread;
    uint32_t halves;
};

static struct g4_target *target_of(const struct target_read *r, uint32_t sample) {
    const uint32_t index = gen9_render_cache_data_port_message_binding_table_index(r->send->descriptor);
    const struct g4_target_key key = {
        .index = index,
        .array_index = r->block->array_index,
        .render_target = (uint8_t)(index & 7), /* drivers write the same entry there */
        .sample = (uint8_t)sample,
    };
    return g4_target_get(r->eu->worker, r->gang->dispatch, &key, &g4_cc_of(r->eu->worker)->state.target[index & 7]);
}

/* Pixels that are only marked as clear may have anything in memory. */
static void replace_clear(const struct target_read *r, const struct g4_target *target, const struct g4_pixels *pixels,
                          uint32_t color[4][2 * HALF]) {
    uint32_t clear = g4_control_surface_find_clear(r->eu->worker, target, pixels, pixels->live);

    for (; clear; clear &= clear - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(clear);
        for (uint32_t c = 0; c < 4; c++) {
            color[c][i] = target->clear[c];
        }
    }
}

static void read_sample(const struct target_read *r, uint32_t sample, uint32_t live, uint32_t color[4][2 * HALF]) {
    struct g4_target *const target = live ? target_of(r, sample) : NULL;
    struct g4_pixels pixels = {.live = live};

    if (!target) {
        return;
    }
    if (target->event != G4_EVENTS) {
        g4_report(r->eu->log, (enum g4_event)target->event, g4_gang_address(r->gang, r->thread), target->event_value);
    }
    if (!target->map.present) {
        return;
    }
    memcpy(pixels.x, r->block->x, sizeof pixels.x);
    memcpy(pixels.y, r->block->y, sizeof pixels.y);
    uint32_t found[4][2 * HALF] = {{0}};
    g4_cc_of(r->eu->worker)->color_ops->read(target, &r->eu->worker->port, &pixels, found);
    replace_clear(r, target, &pixels, found);
    for (uint32_t c = 0; c < 4; c++) {
        for (uint32_t left = live; left; left &= left - 1) {
            const uint32_t i = (uint32_t)__builtin_ctz(left);
            color[c][i] = found[c][i];
        }
    }
}

static void read_thread(const struct target_read *r) {
    const uint32_t enabled = g4_thread_lanes(r->send->emask[0], r->thread) |
                             (r->halves == 2 ? g4_thread_lanes(r->send->emask[1], r->thread) << HALF : 0);
    const uint32_t samples = g4_cc_of(r->eu->worker)->multisampling.samples;
    const bool per_sample = gen9_render_cache_data_port_message_read_per_sample(r->send->descriptor) && samples > 1;
    uint32_t color[4][2 * HALF] = {{0}};

    for (uint32_t s = 0; s < 4 && per_sample; s++) {
        const uint32_t live = r->block->sample[s] < samples ? enabled & 15u << (4 * s) : 0; /* of 2 samples, half */
        read_sample(r, r->block->sample[s], live, color);
    }
    if (!per_sample) {
        read_sample(r, 0, enabled, color);
    }
    for (uint32_t c = 0; c < 4; c++) {
        for (uint32_t h = 0; h < r->halves; h++) {
            uint32_t *const row = g4_response(r->gang, r->send, c * r->halves + h, r->thread);
            for (uint32_t i = 0; i < HALF && row; i++) {
                row[i] = enabled >> (HALF * h + i) & 1 ? color[c][HALF * h + i] : row[i];
            }
        }
    }
}

enum g4_status g4_render_target_read_gen9(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const uint32_t descriptor = send->descriptor;
    const bool second = gen9_render_cache_data_port_message_slot_group(descriptor) && gang->wide; /* decision 234 */
    struct target_read r = {
        .eu = eu,
        .gang = gang,
        .send = send,
        .halves = gen9_render_cache_data_port_message_read_simd8(descriptor) ? 1 : 2,
    };

    if (!g4_cc_of(eu->worker) || gang->dispatch->unit != G4_UNIT_WM) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    for (r.thread = 0; r.thread < G4_GANG_THREADS; r.thread++) {
        if (send->threads >> r.thread & 1) {
            r.block = gang->unit_data[r.thread];
            r.block += second;
            read_thread(&r);
        }
    }
    return G4_OK;
}
