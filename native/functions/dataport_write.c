/*
 * The data port's write function, SFID 5: OWord blocks, DWord scatter; render target writes go to the colour
 * calculator, media blocks are in media_block.c (spec/60 4).  A write commit's response never touches its register
 * (spec/60 4.9).
 */
#include "color/color.h"
#include "core/report.h"
#include "functions/dataport.h"
#include "functions/table.h"

static void write_oword(const struct g4_block *block, uint32_t offset, uint32_t reg, uint32_t half, unsigned lanes) {
    const uint32_t *const row = g4_payload(block->gang, block->send, reg, block->thread);
    g4_block_write(block, offset, row + 4 * half, 4, lanes);
}

/* The mirror image of the read: data from M1 on. */
static void write_oword_block(const struct g4_block *block, uint32_t control) {
    const uint32_t owords = g4_oword_block_size(control);
    const uint32_t first = control == G4_OWORD_BLOCK_SIZE_OWORDS_1_HIGH;
    for (uint32_t k = 0; k < owords; k++) {
        const uint32_t place = first + k;
        write_oword(block, 16 * k, 1 + place / 2, place & 1, block->enable[place / 2 & 1] >> (4 * (place & 1)) & 15);
    }
}

static void write_oword_dual(const struct g4_block *block, uint32_t control) {
    const uint32_t *const offsets = g4_payload(block->gang, block->send, 1, block->thread);
    const uint32_t owords = g4_oword_dual_size(control);
    for (uint32_t j = 0; j < owords; j++) {
        write_oword(block, offsets[0] + 16 * j, 2 + j, 0, block->enable[0] & 15);
        write_oword(block, offsets[4] + 16 * j, 2 + j, 1, block->enable[0] >> 4 & 15);
    }
}

/* Elements in ascending order: of equal offsets the highest element stays. */
static void write_dwords(const struct g4_block *block, uint32_t control) {
    const uint32_t registers = g4_scattered_registers(control);
    for (uint32_t reg = 0; reg < registers; reg++) {
        const uint32_t *const offsets = g4_payload(block->gang, block->send, 1 + reg, block->thread);
        const uint32_t *const data = g4_payload(block->gang, block->send, 1 + registers + reg, block->thread);
        for (unsigned i = 0; i < 8; i++) {
            g4_block_write(block, offsets[i], data + i, 1, block->enable[reg] >> i & 1);
        }
    }
}

static void write_threads(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, uint32_t unit,
                          uint32_t control, void (*write)(const struct g4_block *block, uint32_t control)) {
    struct g4_block block;
    g4_block_begin(&block, eu, gang, send, unit);
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (send->threads >> t & 1) {
            g4_block_thread(&block, t);
            write(&block, control);
        }
    }
}

enum g4_status g4_message_dataport_write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const uint32_t type = send->descriptor >> 12 & 7;
    const uint32_t control = send->descriptor >> 8 & 15; /* bit 11 is no part of any size */
    const uint32_t commit = send->descriptor >> 15 & 1;
    const uint32_t block_size = g4_oword_block_size(control);
    const uint32_t dual_size = g4_oword_dual_size(control);
    const uint32_t scattered = g4_scattered_registers(control);
    bool known = true;

    if (type == G4_DATA_PORT_WRITE_TYPE_GEN45_RENDER_TARGET) {
        return g4_render_target_write(eu, gang, send);
    }
    if (send->eot) { /* only render target writes end threads; the others do what they say all the same */
        g4_message_report(eu, gang, send, G4_EVENT_EOT_WRONG_UNIT);
    }
    switch (type) {
    case G4_DATA_PORT_WRITE_TYPE_GEN45_OWORD_BLOCK:
        known = block_size != 0;
        if (known && g4_message_lengths(eu, gang, send, 1 + (block_size + 1) / 2, commit)) {
            write_threads(eu, gang, send, 16, control, write_oword_block);
        }
        break;
    case G4_DATA_PORT_WRITE_TYPE_GEN45_OWORD_DUAL_BLOCK:
        known = dual_size != 0;
        if (known && g4_message_lengths(eu, gang, send, 2 + dual_size, commit)) {
            write_threads(eu, gang, send, 16, control, write_oword_dual);
        }
        break;
    case G4_DATA_PORT_WRITE_TYPE_GEN45_DWORD_SCATTERED:
        known = scattered != 0;
        if (known && g4_message_lengths(eu, gang, send, 1 + 2 * scattered, commit)) {
            write_threads(eu, gang, send, 4, control, write_dwords);
        }
        break;
    case G4_DATA_PORT_WRITE_TYPE_GEN45_MEDIA_BLOCK:
        return g4_media_block_write(eu, gang, send);
    case G4_DATA_PORT_WRITE_TYPE_GEN45_FLUSH_RENDER_CACHE: /* memory is always up to date here */
        (void)g4_message_lengths(eu, gang, send, 1, commit);
        break;
    default: /* on Gen4.5 there is something, but no source has its layout (spec/60 4.10) */
        known = eu->ctx->model->quirks.has_unmodelled_write_types;
        if (known) {
            g4_message_report(eu, gang, send, G4_EVENT_UNMODELLED);
        }
        break;
    }
    if (!known) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
    }
    return G4_OK;
}
