/*
 * The data port's write function, SFID 5: OWord blocks, DWord scatter; render target writes go to the colour
 * calculator, media blocks are in media_block.c (spec/60 4).  A write commit's response never touches its register
 * (spec/60 4.9).
 */
#include "../report.h"
#include "dataport.h"

enum {
    WRITE_OWORD_BLOCK = 0,
    WRITE_OWORD_DUAL = 1,
    WRITE_MEDIA_BLOCK = 2,
    WRITE_DWORD_SCATTERED = 3,
    WRITE_RENDER_TARGET = 4,
    WRITE_STREAMED_VB = 5,
    WRITE_RT_UNORM = 6,
    WRITE_FLUSH = 7,
};

struct writer {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    int thread;
    struct g4_buffer buffer;
    uint32_t global_offset; /* M0.2 */
    unsigned enable[2];
};

static bool enough_payload(const struct writer *w, uint32_t registers) {
    if (w->send->mlen >= registers) {
        return true;
    }
    g4_report(w->eu->log, G4_EVENT_BAD_LENGTH, g4_gang_address(w->gang, w->thread), w->send->descriptor);
    return false;
}

static void write_oword(const struct writer *w, uint32_t offset, uint32_t reg, uint32_t half, unsigned lanes) {
    const uint32_t *const row = g4_payload(w->gang, w->send, reg, w->thread);
    g4_buffer_write(&w->eu->worker->port, &w->buffer, (w->global_offset + offset) & ~15u, row + 4 * half, 4, lanes);
}

static void write_oword_block(const struct writer *w) {
    const uint32_t control = w->send->descriptor >> 8 & 7;
    const uint32_t owords = g4_oword_block_size(control);
    if (owords == 0) {
        g4_report(w->eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(w->gang, w->thread), w->send->descriptor);
        return;
    }
    if (!enough_payload(w, 1 + (owords + 1) / 2)) {
        return;
    }
    if (control < 2) {
        write_oword(w, 0, 1, control, w->enable[0] >> (4 * control) & 15);
        return;
    }
    for (uint32_t k = 0; k < owords; k++) {
        write_oword(w, 16 * k, 1 + k / 2, k & 1, w->enable[k / 2 & 1] >> (4 * (k & 1)) & 15);
    }
}

static void write_oword_dual(const struct writer *w) {
    const uint32_t control = w->send->descriptor >> 8 & 3;
    const uint32_t owords = control ? 4 : 1;
    if (control & 1) {
        g4_report(w->eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(w->gang, w->thread), w->send->descriptor);
        return;
    }
    if (!enough_payload(w, 2 + owords)) {
        return;
    }
    const uint32_t *const offsets = g4_payload(w->gang, w->send, 1, w->thread);
    for (uint32_t j = 0; j < owords; j++) {
        write_oword(w, offsets[0] + 16 * j, 2 + j, 0, w->enable[0] & 15);
        write_oword(w, offsets[4] + 16 * j, 2 + j, 1, w->enable[0] >> 4 & 15);
    }
}

static void write_dwords(const struct writer *w) {
    const uint32_t control = w->send->descriptor >> 8 & 3;
    const uint32_t registers = control - 1; /* 8 or 16 elements */
    if (control < 2) {
        g4_report(w->eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(w->gang, w->thread), w->send->descriptor);
        return;
    }
    if (!enough_payload(w, 1 + 2 * registers)) {
        return;
    }
    for (uint32_t reg = 0; reg < registers; reg++) {
        const uint32_t *const offsets = g4_payload(w->gang, w->send, 1 + reg, w->thread);
        const uint32_t *const data = g4_payload(w->gang, w->send, 1 + registers + reg, w->thread);
        for (unsigned i = 0; i < 8; i++) {
            g4_buffer_write(&w->eu->worker->port, &w->buffer, (w->global_offset + offsets[i]) & ~3u, data + i, 1,
                            w->enable[reg] >> i & 1);
        }
    }
}

static void write_buffer(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, int thread,
                         void (*write)(const struct writer *w)) {
    const struct writer w = {
        .eu = eu,
        .gang = gang,
        .send = send,
        .thread = thread,
        .buffer = g4_dataport_buffer(eu, gang, send, thread),
        .global_offset = g4_payload(gang, send, 0, thread)[2],
        .enable = {g4_thread_lanes(send->emask[0], thread), g4_thread_lanes(send->emask[1], thread)},
    };
    write(&w);
}

static void write_for_thread(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, int thread) {
    switch (send->descriptor >> 12 & 7) {
    case WRITE_OWORD_BLOCK:
        write_buffer(eu, gang, send, thread, write_oword_block);
        break;
    case WRITE_OWORD_DUAL:
        write_buffer(eu, gang, send, thread, write_oword_dual);
        break;
    case WRITE_DWORD_SCATTERED:
        write_buffer(eu, gang, send, thread, write_dwords);
        break;
    case WRITE_FLUSH: /* memory is always up to date here */
        break;
    case WRITE_STREAMED_VB: /* no source has their layout on these parts (spec/60 4.10) */
    case WRITE_RT_UNORM:
        g4_report(eu->log, G4_EVENT_UNMODELLED, g4_gang_address(gang, thread), send->descriptor);
        break;
    default:
        break;
    }
}

enum g4_status g4_message_dataport_write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const uint32_t type = send->descriptor >> 12 & 7;

    if (type == WRITE_RENDER_TARGET) {
        return g4_render_target_write(eu, gang, send);
    }
    if (type == WRITE_MEDIA_BLOCK) {
        return g4_media_block_write(eu, gang, send);
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            write_for_thread(eu, gang, send, t);
        }
    }
    return G4_OK;
}
