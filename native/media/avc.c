/*
 * AVC-IT and AVC-MC modes (G45 PRM vol. 2, 10.7.3): motion vectors, weights and residual of a macroblock become
 * registers; IT mode transforms the residual.  The manual does not give the positions of DC blocks and coded block
 * bits: see docs/decisions.md.
 */
#include "hw_messages.h"
#include "media/media.h"
#include "media/transform.h"

enum {
    BLOCKS = G4_MEDIA_BLOCKS,
    BLOCK_ROWS = 4,
    PCM_BYTES = 64, /* bytes of a block */
    I_PCM = 25,
    INLINE_IT = 8, /* dwords */
    INLINE_MC = 6,
};

/* A macroblock.  The indirect data is read in order. */
struct avc_macroblock {
    struct g4_media *media;
    struct g4_media_root *root;
    struct g4_avc_macroblock mode;
    uint32_t coded;     /* bit 5: Y0 */
    uint32_t next, end; /* dwords of indirect data */
    int16_t block[BLOCKS][64];
};

struct sizes {
    uint32_t vectors, weights; /* dwords */
};

static struct sizes sizes_of(uint32_t mv_size) {
    switch (mv_size) {
    case G4_AVC_MOTION_VECTOR_SIZE_MV_2:
        return (struct sizes){4, 4};
    case G4_AVC_MOTION_VECTOR_SIZE_MV_8:
        return (struct sizes){8, 16};
    case G4_AVC_MOTION_VECTOR_SIZE_MV_16:
        return (struct sizes){16, 16};
    case G4_AVC_MOTION_VECTOR_SIZE_MV_32:
        return (struct sizes){32, 16};
    default:
        return (struct sizes){0, 0};
    }
}

/* Copies `count` dwords to rows from `row` on. */
static void place(struct avc_macroblock *mb, uint32_t row, uint32_t count) {
    for (uint32_t i = 0; i < count && row + i / 8 < G4_MEDIA_ROWS; i++) {
        mb->root->data[row + i / 8][i % 8] = g4_media_dword(mb->media, mb->next++);
    }
}

/* Places motion vectors and weights.  Returns the row where the residual starts. */
static uint32_t place_vectors(struct avc_macroblock *mb) {
    const struct g4_avc_payload *const avc = &mb->media->vfe.avc;
    const bool any = avc->sub_fields != G4_INDIRECT_SUB_FIELD_PRESENT_NO_MV;
    const bool weights = avc->sub_fields == G4_INDIRECT_SUB_FIELD_PRESENT_MV_AND_WO;
    const struct sizes sizes = sizes_of(any ? mb->mode.vectors : G4_AVC_MOTION_VECTOR_SIZE_MV_0);

    if (sizes.vectors == 0) {
        return 1;
    }
    place(mb, 1, sizes.vectors);
    if (weights) {
        place(mb, 1 + avc->weights_row, sizes.weights);
    }
    return 1 + avc->residual_row;
}

/* Finds the residual in the indirect data. */
static void find_residual(struct avc_macroblock *mb) {
    const struct g4_avc_payload *const avc = &mb->media->vfe.avc;
    mb->next = avc->residual_offset_fixed ? avc->residual_offset : (mb->next + 7) & ~7u;
}

/* ---- AVC-IT: coefficients ---- */

static bool take_units(struct avc_macroblock *mb, int16_t *block, unsigned columns, unsigned size, size_t stride) {
    bool any = false;
    while (mb->next < mb->end) {
        const uint32_t dword = g4_media_dword(mb->media, mb->next++);
        struct g4_coefficient unit;
        g4_coefficient_unpack(&dword, g4_media_context(mb->media)->gen, &unit);
        if (unit.index < size) {
            block[unit.index / columns * stride + unit.index % columns] = (int16_t)unit.coefficient;
            any = true;
        } else {
            g4_media_bad(mb->media, dword);
        }
        if (unit.end_of_block) {
            break;
        }
    }
    return any;
}

/* The 4x4 block `sub` of an 8x8 block. */
static int16_t *quarter(int16_t *block, unsigned sub) {
    return block + 8 * 4 * (sub / 2) + 4 * (sub % 2);
}

/* Transforms four 4x4 blocks, whose coded bits are `coded` from bit 3 down; `dc` overrides their first coefficients. */
static void quarters(struct avc_macroblock *mb, unsigned b, uint32_t coded, const int16_t *dc) {
    for (unsigned sub = 0; sub < 4; sub++) {
        int16_t *const block = quarter(mb->block[b], sub);
        const bool present = coded >> (3 - sub) & 1;
        if (present) {
            (void)take_units(mb, block, 4, 16, 8);
        }
        if (dc) {
            block[0] = dc[sub];
        }
        if (present || dc) {
            g4_avc_4x4(block, 8);
        }
    }
    if (coded || dc) {
        mb->coded |= 1u << (BLOCKS - 1 - b);
    }
}

static void luma(struct avc_macroblock *mb) {
    int16_t dc[16] = {0}, out[16] = {0};
    const bool has_dc = mb->mode.has_dc_y;

    if (has_dc) {
        (void)take_units(mb, dc, 16, 16, 0);
        g4_avc_luma_dc(dc, mb->mode.scale_y, mb->mode.qp_y, out);
    }
    for (unsigned b = 0; b < 4; b++) {
        const uint32_t coded = mb->mode.coded_y >> (12 - 4 * b) & 15;
        if (mb->mode.transform_8x8) {
            if (coded) {
                (void)take_units(mb, mb->block[b], 8, 64, 8);
                g4_avc_8x8(mb->block[b], 8);
                mb->coded |= 1u << (BLOCKS - 1 - b);
            }
            continue;
        }
        int16_t own[4]; /* the DC matrix is in raster order of the macroblock */
        for (unsigned sub = 0; sub < 4; sub++) {
            own[sub] = out[4 * (2 * (b / 2) + sub / 2) + 2 * (b % 2) + sub % 2];
        }
        quarters(mb, b, coded, has_dc ? own : NULL);
    }
}

static void chroma(struct avc_macroblock *mb, unsigned b, bool has_dc, uint32_t coded, uint32_t level_scale,
                   uint32_t qp) {
    int16_t dc[4] = {0}, out[4];
    if (has_dc) {
        (void)take_units(mb, dc, 4, 4, 0);
        g4_avc_chroma_dc(dc, level_scale, qp, out);
    }
    quarters(mb, b, coded, has_dc ? out : NULL);
}

static void transform(struct avc_macroblock *mb) {
    const struct g4_avc_macroblock *const mode = &mb->mode;
    luma(mb);
    chroma(mb, 4, mode->has_dc_cb, mode->coded_cb, mode->scale_cb, mode->qp_cb);
    chroma(mb, 5, mode->has_dc_cr, mode->coded_cr, mode->scale_cr, mode->qp_cr);
}

/* ---- both ---- */

static bool is_pcm(const struct avc_macroblock *mb) {
    return mb->mode.intra && mb->mode.type == I_PCM;
}

/* Copies `bytes` of each block without a transform; absent blocks stay zero. */
static void copy_blocks(struct avc_macroblock *mb, uint32_t present, size_t bytes) {
    for (unsigned b = 0; b < BLOCKS; b++) {
        if (!(present >> (BLOCKS - 1 - b) & 1)) {
            continue;
        }
        for (size_t i = 0; i < bytes / 4; i++) {
            const uint32_t dword = mb->next < mb->end ? g4_media_dword(mb->media, mb->next) : 0;
            memcpy((uint8_t *)mb->block[b] + 4 * i, &dword, sizeof dword);
            mb->next++;
        }
    }
}

static void put_residual(struct avc_macroblock *mb, uint32_t row) {
    for (unsigned b = 0; b < BLOCKS; b++) {
        const size_t bytes = is_pcm(mb) ? PCM_BYTES : sizeof mb->block[b];
        row = g4_vfe_fill(mb->media, mb->root, row, mb->block[b], bytes);
    }
}

/* Copies the inline data to the thread, without the parts that VFE consumes. */
static void put_inline(struct avc_macroblock *mb, const struct g4_media_command *command, bool it) {
    uint32_t *const row = mb->root->data[0];
    struct g4_payload_avc_inline seen;

    memcpy(row, command->words, INLINE_MC * sizeof *row);
    g4_payload_avc_inline_unpack(row, g4_media_context(mb->media)->gen, &seen);
    if (it) {
        seen.coded_block_y0 = mb->coded >> 5 & 1;
        seen.coded_block_y1 = mb->coded >> 4 & 1;
        seen.coded_block_y2 = mb->coded >> 3 & 1;
        seen.coded_block_y3 = mb->coded >> 2 & 1;
        seen.coded_block_cb = mb->coded >> 1 & 1;
        seen.coded_block_cr = mb->coded & 1;
    }
    g4_payload_avc_inline_pack(&seen, g4_media_context(mb->media)->gen, row);
    memcpy(row + 3, command->words + 3, 3 * sizeof *row); /* intra and inter macroblocks share these bits */
}

/* The coded blocks of a macroblock in MC mode, as in `coded`. */
static uint32_t pattern_of(const struct g4_media *media, const struct g4_media_command *command) {
    bool coded[BLOCKS];
    uint32_t pattern = 0;

    media->ctx->model->media->load_avc_mc_coded(media->ctx, command->words, coded);
    for (unsigned b = 0; b < BLOCKS; b++) {
        pattern |= (uint32_t)coded[b] << (BLOCKS - 1 - b);
    }
    return pattern;
}

enum g4_status g4_vfe_avc(struct g4_media *media, const struct g4_media_command *command) {
    const bool it = media->vfe.mode == G4_VFE_MODE_AVC_IT;
    struct avc_macroblock mb = {.media = media, .end = media->indirect_length / 4};
    uint32_t words[INLINE_IT] = {0};
    enum g4_status status;

    if (command->count < (it ? INLINE_IT : INLINE_MC)) {
        g4_media_bad(media, command->count);
        return G4_OK;
    }
    memcpy(words, command->words, (it ? INLINE_IT : INLINE_MC) * sizeof *words);
    media->ctx->model->media->load_avc(media->ctx, words, &mb.mode);
    const uint32_t offset = command->descriptor_offset;
    mb.root = g4_vfe_new_root(media, command, media->vfe.extended && offset < 16 ? media->vfe.remap[offset] : offset,
                              &status);
    if (!mb.root) {
        return status;
    }
    memset(mb.root->data, 0, sizeof mb.root->data); /* there may be rows between vectors, weights and residual */
    const uint32_t row = place_vectors(&mb);
    find_residual(&mb);
    if (is_pcm(&mb)) {
        mb.coded = (1 << BLOCKS) - 1;
        copy_blocks(&mb, it ? mb.coded : pattern_of(media, command), PCM_BYTES);
    } else if (it) {
        transform(&mb);
    } else {
        copy_blocks(&mb, pattern_of(media, command), sizeof mb.block[0]);
    }
    put_inline(&mb, command, it);
    put_residual(&mb, row);
    g4_ts_put(media);
    return G4_OK;
}
