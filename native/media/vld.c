/*
 * VLD mode: one MEDIA_OBJECT is a slice of an MPEG-2 picture, one macroblock is a root thread (G45v2 10.4.2.3,
 * spec/70 3.4).  Vectors are in vld_motion.c, coefficients in vld_blocks.c; inverse quantisation and everything after
 * it is the kernels' work.
 */
#include "media/vld.h"

#include "mpeg2.h"

enum {
    NO_LIMIT = 127,    /* macroblock count of clients that do not count (decision 31) */
    LAST_COLUMN = 127, /* the origin has seven bits */
    END_BITS = 23,     /* so many zeros end a slice */
    BLOCKS = 6,
    BLOCK_ROWS = 4,
};

/* ---- threads ---- */

static uint32_t index_of(const struct g4_vld *vld, const struct g4_vld_macroblock *mb) {
    uint32_t index = 0;
    if (!(mb->flags & G4_MPEG2_INTRA)) {
        const bool forward = mb->flags & G4_MPEG2_FORWARD, backward = mb->flags & G4_MPEG2_BACKWARD;
        const uint32_t two = vld->frame ? G4_MOTION_TYPE_FIELD : G4_MOTION_TYPE_FRAME_OR_16X8;
        index = mb->motion_type == G4_MOTION_TYPE_DUAL_PRIME ? 3
                                                             : (forward && backward ? 6u
                                                                : backward          ? 4u
                                                                                    : 1u) +
                                                                   (mb->motion_type == two);
    }
    return index + (vld->frame && mb->dct_type == G4_DCT_TYPE_FIELD_DCT ? 8 : 0);
}

/* spec/70 3.4.6: the bit as it is, kernels and driver agree about what it means. */
static bool second_field(const struct g4_vld *vld) {
    const struct g4_vld_state *const state = vld->state;
    const uint32_t second = state->top_field_first ? G4_PICTURE_STRUCTURE_BOTTOM_FIELD : G4_PICTURE_STRUCTURE_TOP_FIELD;
    return state->picture_coding_type == G4_PICTURE_CODING_TYPE_P_PICTURE && state->picture_structure == second;
}

static void describe(const struct g4_vld *vld, const struct g4_vld_macroblock *mb, uint32_t r1[8]) {
    const struct g4_payload_vld_r1 in = {
        .motion_vertical_field_select_1_1 = mb->mvfs[1][1],
        .motion_vertical_field_select_1_0 = mb->mvfs[1][0],
        .motion_vertical_field_select_0_1 = mb->mvfs[0][1],
        .motion_vertical_field_select_0_0 = mb->mvfs[0][0],
        .second_field = second_field(vld),
        .motion_type = mb->motion_type,
        .dct_type = mb->dct_type,
        .macroblock_motion_backward = (mb->flags & G4_MPEG2_BACKWARD) != 0,
        .macroblock_motion_forward = (mb->flags & G4_MPEG2_FORWARD) != 0,
        .macroblock_intra_type = (mb->flags & G4_MPEG2_INTRA) != 0,
        .picture_coding_type = vld->state->picture_coding_type,
        .picture_structure = vld->state->picture_structure,
        .intra_dc_precision = vld->state->intra_dc_precision,
        .coded_block_y0 = mb->pattern >> 5 & 1,
        .coded_block_y1 = mb->pattern >> 4 & 1,
        .coded_block_y2 = mb->pattern >> 3 & 1,
        .coded_block_y3 = mb->pattern >> 2 & 1,
        .coded_block_cb = mb->pattern >> 1 & 1,
        .coded_block_cr = mb->pattern & 1,
        .quantizer_scale_type = vld->state->quantizer_scale_type,
        .quantizer_scale_code = vld->quantizer,
        .vertical_origin = vld->y,
        .horizontal_origin = vld->x,
        .motion_vector_0_0_horizontal_s14_1 = mb->mv[0][0][0],
        .motion_vector_0_0_vertical_s14_1 = mb->mv[0][0][1],
        .motion_vector_0_1_horizontal_s14_1 = mb->mv[0][1][0],
        .motion_vector_0_1_vertical_s14_1 = mb->mv[0][1][1],
        .motion_vector_1_0_horizontal_s14_1 = mb->mv[1][0][0],
        .motion_vector_1_0_vertical_s14_1 = mb->mv[1][0][1],
        .motion_vector_1_1_horizontal_s14_1 = mb->mv[1][1][0],
        .motion_vector_1_1_vertical_s14_1 = mb->mv[1][1][1],
    };
    g4_payload_vld_r1_pack(&in, g4_media_context(vld->media)->gen, r1);
}

/* Complete the thread whose blocks are in place, and queue it. */
static void put_macroblock(struct g4_vld *vld, const struct g4_vld_macroblock *mb, struct g4_media_root *root) {
    struct g4_media *const media = vld->media;

    root->descriptor = g4_vfe_descriptor(media, media->vfe.remap[index_of(vld, mb)]);
    root->thread_count = g4_vfe_count(media, vld->command);
    root->synchronized = false;
    root->fence = false;
    root->rows = 1 + BLOCK_ROWS * (uint32_t)__builtin_popcount(mb->pattern);
    describe(vld, mb, root->data[0]);
    media->counts.macroblocks++;
    g4_ts_put(media);
}

/* ---- macroblocks ---- */

static enum g4_status put_skipped(struct g4_vld *vld) {
    struct g4_vld_macroblock mb = {0};
    enum g4_status status;

    if (vld->state->picture_coding_type == G4_PICTURE_CODING_TYPE_P_PICTURE) {
        g4_vld_no_motion(vld, &mb);
    } else {
        const bool bottom = vld->state->picture_structure == G4_PICTURE_STRUCTURE_BOTTOM_FIELD;
        mb.flags = vld->previous & (G4_MPEG2_FORWARD | G4_MPEG2_BACKWARD);
        mb.motion_type = vld->frame ? G4_MOTION_TYPE_FRAME_OR_16X8 : G4_MOTION_TYPE_FIELD;
        for (int s = 0; s < 2; s++) {
            if (mb.flags & (s ? G4_MPEG2_BACKWARD : G4_MPEG2_FORWARD)) {
                memcpy(mb.mv[0][s], vld->pmv[0][s], sizeof mb.mv[0][s]);
                mb.mvfs[0][s] = bottom;
            }
        }
    }
    memset(vld->dc, 0, sizeof vld->dc);
    struct g4_media_root *const root = g4_ts_take(vld->media, &status);
    if (!root) {
        return status;
    }
    put_macroblock(vld, &mb, root);
    return G4_OK;
}

static bool take_modes(struct g4_vld *vld, struct g4_vld_macroblock *mb) {
    const struct g4_vld_state *const state = vld->state;
    const uint32_t flags = g4_vlc_take(&vld->bits, vld->tables->macroblock_type[state->picture_coding_type]);
    const bool implied = vld->frame && state->frame_prediction_frame_dct;

    if (flags == G4_VLC_BAD) {
        return false;
    }
    mb->flags = flags;
    if (flags & (G4_MPEG2_FORWARD | G4_MPEG2_BACKWARD)) {
        mb->motion_type = implied ? G4_MOTION_TYPE_FRAME_OR_16X8 : g4_bits_take(&vld->bits, 2);
        if (mb->motion_type == G4_MOTION_TYPE_NONE) {
            return false;
        }
    }
    if (vld->frame && !implied && (flags & (G4_MPEG2_INTRA | G4_MPEG2_PATTERN))) {
        mb->dct_type = g4_bits_take(&vld->bits, 1);
    }
    if (flags & G4_MPEG2_QUANT) {
        vld->quantizer = g4_bits_take(&vld->bits, 5);
    }
    return true;
}

static bool take_pattern(struct g4_vld *vld, struct g4_vld_macroblock *mb) {
    if (mb->flags & G4_MPEG2_INTRA) {
        mb->pattern = (1 << BLOCKS) - 1;
    } else if (mb->flags & G4_MPEG2_PATTERN) {
        mb->pattern = g4_vlc_take(&vld->bits, vld->tables->coded_block_pattern);
        if (mb->pattern == 0 || mb->pattern == G4_VLC_BAD) { /* 0 is for other chroma formats */
            return false;
        }
    } else {
        mb->dct_type = G4_DCT_TYPE_FRAME_DCT;
    }
    return true;
}

static bool take_blocks(struct g4_vld *vld, const struct g4_vld_macroblock *mb, struct g4_media_root *root) {
    const bool intra = mb->flags & G4_MPEG2_INTRA;
    uint32_t row = 1;

    if (!intra) {
        memset(vld->dc, 0, sizeof vld->dc);
    }
    for (unsigned b = 0; b < BLOCKS; b++) {
        int16_t block[64];
        if (!(mb->pattern >> (BLOCKS - 1 - b) & 1)) {
            continue;
        }
        if (!g4_vld_block(vld, intra, b < 4 ? 0 : b - 3, block)) {
            return false;
        }
        memcpy(root->data[row], block, sizeof block);
        row += BLOCK_ROWS;
    }
    return true;
}

/* *good: the codes were legal. */
static enum g4_status take_macroblock(struct g4_vld *vld, bool *good) {
    struct g4_vld_macroblock mb = {0};
    enum g4_status status = G4_OK;

    *good = take_modes(vld, &mb) && g4_vld_motion(vld, &mb) && take_pattern(vld, &mb);
    if (!*good) {
        return G4_OK;
    }
    struct g4_media_root *const root = g4_ts_take(vld->media, &status);
    if (!root) {
        return status;
    }
    *good = take_blocks(vld, &mb, root);
    if (*good) {
        vld->previous = mb.flags;
        put_macroblock(vld, &mb, root);
    }
    return G4_OK;
}

/* How far the next macroblock is from the last one; 0: illegal code. */
static uint32_t take_increment(struct g4_vld *vld) {
    uint32_t increment = 0;
    for (;;) {
        const uint32_t code = g4_vlc_take(&vld->bits, vld->tables->address_increment);
        if (code == G4_VLC_BAD) {
            return 0;
        }
        if (code != G4_MPEG2_ESCAPE) {
            return increment + code;
        }
        increment += 33;
    }
}

/* ---- slices ---- */

static bool slice_ended(const struct g4_vld *vld) {
    return vld->bits.at >= vld->bits.end || g4_bits_ahead(&vld->bits) >> (32 - END_BITS) == 0;
}

/* Illegal codes end the slice, what came before them stays (spec/70 3.4.1). */
static enum g4_status run_slice(struct g4_vld *vld, uint32_t limit) {
    uint32_t done = 0;

    for (;;) {
        const uint32_t increment = take_increment(vld);
        /* The first one is parsed, but the position is the command's (decision 31). */
        const uint32_t skipped = done == 0 ? 0 : increment - 1;
        if (increment == 0 || vld->x + skipped > LAST_COLUMN) {
            break;
        }
        for (uint32_t i = 0; i < skipped; i++, vld->x++) {
            const enum g4_status status = done < limit ? put_skipped(vld) : G4_OK;
            if (status != G4_OK) {
                return status;
            }
            done++;
        }
        if (done >= limit) {
            return G4_OK;
        }
        bool good;
        const enum g4_status status = take_macroblock(vld, &good);
        if (status != G4_OK) {
            return status;
        }
        if (!good) {
            break;
        }
        vld->x++;
        done++;
        if (done >= limit || slice_ended(vld)) {
            return G4_OK;
        }
    }
    g4_report(vld->media->log, G4_EVENT_BITSTREAM, vld->media->command, vld->bits.at);
    return G4_OK;
}

enum g4_status g4_vfe_vld(struct g4_media *media, const struct g4_media_command *command) {
    const struct g4_vld_state *const state = &media->vfe.vld;
    struct g4_media_inline_vld slice;

    if (!media->vfe.extended || command->count < 2) {
        g4_media_bad(media, command->count);
        return G4_OK;
    }
    if (state->picture_coding_type == 0 || state->picture_structure == 0) {
        g4_media_bad(media, state->picture_coding_type << 2 | state->picture_structure);
        return G4_OK;
    }
    g4_media_inline_vld_unpack(command->words, g4_media_context(media)->gen, &slice);
    struct g4_vld vld = {
        .media = media,
        .command = command,
        .state = state,
        .tables = &media->tables,
        .bits = {.data = media->indirect, .at = slice.first_macroblock_bit_offset, .end = 8 * media->indirect_length},
        .frame = state->picture_structure == G4_PICTURE_STRUCTURE_FRAME,
        .x = slice.slice_horizontal_position,
        .y = slice.slice_vertical_position,
        .quantizer = slice.quantizer_scale_code,
    };
    return run_slice(&vld, slice.macroblock_count == NO_LIMIT ? UINT32_MAX : slice.macroblock_count);
}
