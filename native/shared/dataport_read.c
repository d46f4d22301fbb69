/*
 * The data port's read function, SFID 4: OWord blocks, DWord gather; media blocks are in media_block.c (spec/60 4).
 */
#include <string.h>

#include "../report.h"
#include "dataport.h"

/* The types by descriptor bits 13:11; [BW/CL] have 13:12 only, and bit 11 clear reads the same (spec/60 3.2). */
enum {
    READ_OWORD_BLOCK = 0,
    READ_RT_UNORM = 1,
    READ_OWORD_DUAL = 2,
    READ_AVC_LOOP_FILTER = 3,
    READ_MEDIA_BLOCK = 4,
    READ_DWORD_SCATTERED = 6,
};

struct reader {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    int thread;
    struct g4_buffer buffer;
    uint32_t global_offset; /* M0.2 */
    unsigned enable[2];
};

static uint32_t *response(const struct reader *r, uint32_t reg) {
    return g4_response(r->gang, r->send, reg, r->thread);
}

/* One OWord into half of a register, if any of its four channels is on (spec/60 4.4). */
static void read_oword(const struct reader *r, uint32_t offset, uint32_t reg, uint32_t half, unsigned lanes) {
    uint32_t *const row = response(r, reg);
    if (row && lanes) {
        g4_buffer_read(&r->eu->worker->port, &r->buffer, (r->global_offset + offset) & ~15u, row + 4 * half, 4);
    }
}

static void read_oword_block(const struct reader *r) {
    const uint32_t control = r->send->descriptor >> 8 & 7;
    const uint32_t owords = g4_oword_block_size(control);
    if (owords == 0) {
        g4_report(r->eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(r->gang, r->thread), r->send->descriptor);
    }
    if (control < 2) {
        read_oword(r, 0, 0, control, r->enable[0] >> (4 * control) & 15);
        return;
    }
    for (uint32_t k = 0; k < owords; k++) {
        /* Registers 1 and 3 look at the low eight channels, 2 and 4 at the high ones. */
        const unsigned lanes = r->enable[k / 2 & 1] >> (4 * (k & 1)) & 15;
        read_oword(r, 16 * k, k / 2, k & 1, lanes);
    }
}

static void read_oword_dual(const struct reader *r) {
    const uint32_t control = r->send->descriptor >> 8 & 3;
    const uint32_t *const offsets = g4_payload(r->gang, r->send, 1, r->thread);
    if (control & 1) {
        g4_report(r->eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(r->gang, r->thread), r->send->descriptor);
        return;
    }
    const uint32_t owords = control ? 4 : 1;
    for (uint32_t j = 0; j < owords; j++) {
        read_oword(r, offsets[0] + 16 * j, j, 0, r->enable[0] & 15);
        read_oword(r, offsets[4] + 16 * j, j, 1, r->enable[0] >> 4 & 15);
    }
}

static void read_dwords(const struct reader *r) {
    const uint32_t control = r->send->descriptor >> 8 & 3;
    if (control < 2) {
        g4_report(r->eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(r->gang, r->thread), r->send->descriptor);
        return;
    }
    for (uint32_t reg = 0; reg < control - 1; reg++) {
        const uint32_t *const offsets = g4_payload(r->gang, r->send, 1 + reg, r->thread);
        uint32_t *const row = response(r, reg);
        for (unsigned i = 0; row && i < 8; i++) {
            if (r->enable[reg] >> i & 1) {
                g4_buffer_read(&r->eu->worker->port, &r->buffer, (r->global_offset + offsets[i]) & ~3u, row + i, 1);
            }
        }
    }
}

static void read_buffer(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, int thread,
                        void (*read)(const struct reader *r)) {
    const struct reader r = {
        .eu = eu,
        .gang = gang,
        .send = send,
        .thread = thread,
        .buffer = g4_dataport_buffer(eu, gang, send, thread),
        .global_offset = g4_payload(gang, send, 0, thread)[2],
        .enable = {g4_thread_lanes(send->emask[0], thread), g4_thread_lanes(send->emask[1], thread)},
    };
    read(&r);
}

enum g4_status g4_message_dataport_read(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const uint32_t type = send->descriptor >> 11 & (g4_is_gen45(eu->ctx->gen) ? 7 : 6);

    if (type == READ_MEDIA_BLOCK) {
        return g4_media_block_read(eu, gang, send);
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (!(send->threads >> t & 1)) {
            continue;
        }
        switch (type) {
        case READ_OWORD_BLOCK:
            read_buffer(eu, gang, send, t, read_oword_block);
            break;
        case READ_OWORD_DUAL:
            read_buffer(eu, gang, send, t, read_oword_dual);
            break;
        case READ_DWORD_SCATTERED:
            read_buffer(eu, gang, send, t, read_dwords);
            break;
        case READ_RT_UNORM:
        case READ_AVC_LOOP_FILTER: /* no source has their layout (spec/60 4.10) */
            g4_report(eu->log, G4_EVENT_UNMODELLED, g4_gang_address(gang, t), send->descriptor);
            break;
        default:
            g4_report(eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(gang, t), send->descriptor);
            break;
        }
    }
    return G4_OK;
}
