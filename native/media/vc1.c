/*
 * VC1-IT mode (G45 PRM vol. 2, 10.7.3): transforms by sub-block and smoothing of vertical block edges, one
 * macroblock late.
 */
#include "hw_messages.h"
#include "media/media.h"
#include "media/transform.h"

enum {
    BLOCKS = G4_MEDIA_BLOCKS,
    INLINE = 9, /* dwords, in two registers; the figures of the manual disagree with each other */
};

/* Sub-blocks of an 8x8 block by its partition code. */
static const struct { unsigned columns, rows, count; } partition[4] = {{8, 8, 1}, {8, 4, 2}, {4, 8, 2}, {4, 4, 4}};

static void take_block(struct g4_media *media, uint32_t *next, uint32_t present, uint32_t partitioning,
                       int16_t *block) {
    const unsigned columns = partition[partitioning].columns, rows = partition[partitioning].rows;

    for (unsigned sub = 0; sub < partition[partitioning].count; sub++) {
        const unsigned x = columns * sub % 8, y = columns * sub / 8 * rows;
        int16_t *const part = block + 8 * y + x;
        if (!(present >> sub & 1)) {
            continue;
        }
        while (*next < media->indirect_length / 4) {
            const uint32_t dword = g4_media_dword(media, (*next)++);
            struct g4_coefficient unit;
            g4_coefficient_unpack(&dword, g4_media_context(media)->gen, &unit);
            if (unit.index < columns * rows) {
                part[unit.index / columns * 8 + unit.index % columns] = (int16_t)unit.coefficient;
            } else {
                g4_media_bad(media, dword);
            }
            if (unit.end_of_block) {
                break;
            }
        }
        g4_vc1_transform(part, 8, columns, rows);
    }
}

/* Smooths the edges with the macroblock to the left, which was held back, and those inside. */
static void smooth(struct g4_media_vc1 *now, struct g4_media_vc1 *left, const bool edge[BLOCKS]) {
    static const uint8_t neighbour[BLOCKS] = {1, 0, 3, 2, 4, 5};
    const bool adjacent = left->held && left->y == now->y && left->x + 1 == now->x;

    for (unsigned b = 0; b < BLOCKS; b++) {
        const bool inside = b == 1 || b == 3;
        struct g4_media_vc1 *const from = inside ? now : left;
        const unsigned other = neighbour[b];
        if (edge[b] && (inside || adjacent) && (now->coded >> b & 1) && (from->coded >> other & 1)) {
            g4_vc1_smooth(from->block[other], now->block[b]);
        }
    }
}

enum g4_status g4_vfe_release_held(struct g4_media *media) {
    struct g4_media_vc1 *const held = &media->vc1;
    enum g4_status status;

    if (!held->held) {
        return G4_OK;
    }
    held->held = false;
    struct g4_media_root *const root = g4_ts_take(media, &status);
    if (!root) {
        return status;
    }
    root->descriptor = held->descriptor;
    root->thread_count = held->thread_count;
    root->synchronized = held->synchronized;
    root->fence = false;
    root->rows = 0;
    uint32_t row = g4_vfe_fill(media, root, 0, held->words, sizeof held->words);
    for (unsigned b = 0; b < BLOCKS; b++) {
        if (held->coded >> b & 1) {
            row = g4_vfe_fill(media, root, row, held->block[b], sizeof held->block[b]);
        }
    }
    g4_ts_put(media);
    return G4_OK;
}

enum g4_status g4_vfe_vc1(struct g4_media *media, const struct g4_media_command *command) {
    struct g4_vc1_macroblock macroblock;
    struct g4_media_vc1 now = {.held = true, .synchronized = command->synchronized};
    uint32_t next = 0;

    if (command->count < INLINE) {
        g4_media_bad(media, command->count);
        return G4_OK;
    }
    media->ctx->model->media->load_vc1(media->ctx, command->words, &macroblock);
    memcpy(now.words, command->words, INLINE * sizeof now.words[0]);
    now.x = macroblock.x;
    now.y = macroblock.y;
    for (unsigned b = 0; b < BLOCKS; b++) {
        if (macroblock.coded[b]) {
            now.coded |= 1u << b;
            take_block(media, &next, macroblock.subblocks[b], macroblock.partitioning[b], now.block[b]);
        }
    }
    if (macroblock.overlap) {
        smooth(&now, &media->vc1, macroblock.smooth_left);
    }
    const enum g4_status status = g4_vfe_release_held(media);
    if (status != G4_OK) {
        return status;
    }
    const uint32_t offset = command->descriptor_offset;
    now.descriptor = g4_vfe_descriptor(media, media->vfe.extended && offset < 16 ? media->vfe.remap[offset] : offset);
    now.thread_count = g4_vfe_count(media, command);
    media->vc1 = now;
    return G4_OK;
}
