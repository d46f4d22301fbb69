/*
 * The data port's read function, SFID 4: OWord blocks, DWord gather; media blocks are in media_block.c (spec/60 4).
 */
#include "core/report.h"
#include "functions/dataport.h"
#include "functions/table.h"

/* One OWord into half of a register, if any of its four channels is on (spec/60 4.4). */
static void read_oword(const struct g4_block *block, uint32_t offset, uint32_t reg, uint32_t half, unsigned lanes) {
    uint32_t *const row = g4_response(block->gang, block->send, reg, block->thread);
    if (row && lanes) {
        g4_block_read(block, offset, row + 4 * half, 4);
    }
}

/* Registers 1 and 3 look at the low eight channels, 2 and 4 at the high ones; a single OWord is in the half that the
 * control field says. */
static void read_oword_block(const struct g4_block *block, uint32_t control) {
    const uint32_t owords = g4_oword_block_size(control);
    const uint32_t first = control == G4_OWORD_BLOCK_SIZE_OWORDS_1_HIGH;
    for (uint32_t k = 0; k < owords; k++) {
        const uint32_t place = first + k;
        read_oword(block, 16 * k, place / 2, place & 1, block->enable[place / 2 & 1] >> (4 * (place & 1)) & 15);
    }
}

static void read_oword_dual(const struct g4_block *block, uint32_t control) {
    const uint32_t *const offsets = g4_payload(block->gang, block->send, 1, block->thread);
    const uint32_t owords = g4_oword_dual_size(control);
    for (uint32_t j = 0; j < owords; j++) {
        read_oword(block, offsets[0] + 16 * j, j, 0, block->enable[0] & 15);
        read_oword(block, offsets[4] + 16 * j, j, 1, block->enable[0] >> 4 & 15);
    }
}

static void read_dwords(const struct g4_block *block, uint32_t control) {
    const uint32_t registers = g4_scattered_registers(control);
    for (uint32_t reg = 0; reg < registers; reg++) {
        const uint32_t *const offsets = g4_payload(block->gang, block->send, 1 + reg, block->thread);
        uint32_t *const row = g4_response(block->gang, block->send, reg, block->thread);
        for (unsigned i = 0; row && i < 8; i++) {
            if (block->enable[reg] >> i & 1) {
                g4_block_read(block, offsets[i], row + i, 1);
            }
        }
    }
}

static void read_threads(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, uint32_t unit,
                         uint32_t control, void (*read)(const struct g4_block *block, uint32_t control)) {
    struct g4_block block;
    g4_block_begin(&block, eu, gang, send, unit);
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            g4_block_thread(&block, t);
            read(&block, control);
        }
    }
}

enum g4_status g4_message_dataport_read(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    /* The three bits of Gen4.5; of the two of Gen4 bit 11 is not one, and may not be set (spec/60 3.2). */
    const uint32_t type = send->descriptor >> 11 & 7;
    const uint32_t control = send->descriptor >> 8 & 7;
    const uint32_t block_size = g4_oword_block_size(control);
    const uint32_t dual_size = g4_oword_dual_size(control);
    const uint32_t scattered = g4_scattered_registers(control);
    bool known = eu->ctx->model->quirks.has_3_bit_read_types || (type & 1) == 0;

    if (known && send->descriptor >> 14 == 3) { /* no such cache; all of them hold the same */
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
    }
    switch (known ? type : UINT32_MAX) {
    case G4_DATA_PORT_READ_TYPE_GEN45_OWORD_BLOCK:
        known = block_size != 0;
        if (known && g4_message_lengths(eu, gang, send, 1, (block_size + 1) / 2)) {
            read_threads(eu, gang, send, 16, control, read_oword_block);
        }
        break;
    case G4_DATA_PORT_READ_TYPE_GEN45_OWORD_DUAL_BLOCK:
        known = dual_size != 0;
        if (known && g4_message_lengths(eu, gang, send, 2, dual_size)) {
            read_threads(eu, gang, send, 16, control, read_oword_dual);
        }
        break;
    case G4_DATA_PORT_READ_TYPE_GEN45_DWORD_SCATTERED:
        known = scattered != 0;
        if (known && g4_message_lengths(eu, gang, send, 1 + scattered, scattered)) {
            read_threads(eu, gang, send, 4, control, read_dwords);
        }
        break;
    case G4_DATA_PORT_READ_TYPE_GEN45_MEDIA_BLOCK:
        return g4_media_block_read(eu, gang, send);
    case G4_DATA_PORT_READ_TYPE_GEN45_RENDER_TARGET_UNORM:
    case G4_DATA_PORT_READ_TYPE_GEN45_AVC_LOOP_FILTER: /* no source has their layout (spec/60 4.10) */
        g4_message_report(eu, gang, send, G4_EVENT_UNMODELLED);
        break;
    default:
        known = false;
        break;
    }
    if (!known) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
    }
    return G4_OK;
}
