/*
 * VLD mode: a MEDIA_OBJECT is a slice of an MPEG-2 picture, each macroblock becomes a root thread (G45 PRM vol. 2,
 * 10.4.2.3; ISO/IEC 13818-2).  Kernels do the inverse quantisation and everything after it.
 */
#include "media/vld.h"
#include "hw_messages.h"

#include "media/media.h"
#include "mpeg2.h"

enum {
    BAD_CODE = 0xfffd, /* no code has this value */
    NO_LIMIT = 127,    /* macroblock count: no limit (docs/decisions.md 31) */
    LAST_COLUMN = 127, /* the origin has seven bits */
    END_BITS = 23,     /* number of zeros that end a slice */
    BLOCKS = 6,
    BLOCK_ROWS = 4,
};

/* ---- bits and codes ---- */

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Enters each code at every index that starts with it. */
static void fill(struct g4_vlc *table, const struct g4_mpeg2_code *codes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t spare = G4_VLC_BITS - codes[i].length;
        const uint32_t first = (uint32_t)codes[i].bits << spare;
        for (uint32_t k = 0; k < 1u << spare; k++) {
            table[first + k] = (struct g4_vlc){codes[i].value, codes[i].length};
        }
    }
}

/* Enters codes by their number of leading zeros, then by the bits from the first one on. */
static void fill_coefficients(struct g4_vlc *table, const struct g4_mpeg2_code *codes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t used = 32 - (uint32_t)__builtin_clz(codes[i].bits);
        const uint32_t zeros = codes[i].length - used;
        const uint32_t spare = G4_VLC_AFTER - used;
        const uint32_t first = zeros << G4_VLC_AFTER | (uint32_t)codes[i].bits << spare;
        for (uint32_t k = 0; k < 1u << spare; k++) {
            table[first + k] = (struct g4_vlc){codes[i].value, codes[i].length};
        }
    }
}

void g4_vld_tables_fill(struct g4_vld_tables *tables) {
    memset(tables, 0, sizeof *tables);
    fill(tables->address_increment, g4_mpeg2_address_increment, COUNT(g4_mpeg2_address_increment));
    fill(tables->macroblock_type[1], g4_mpeg2_macroblock_type_i, COUNT(g4_mpeg2_macroblock_type_i));
    fill(tables->macroblock_type[2], g4_mpeg2_macroblock_type_p, COUNT(g4_mpeg2_macroblock_type_p));
    fill(tables->macroblock_type[3], g4_mpeg2_macroblock_type_b, COUNT(g4_mpeg2_macroblock_type_b));
    fill(tables->coded_block_pattern, g4_mpeg2_coded_block_pattern, COUNT(g4_mpeg2_coded_block_pattern));
    fill(tables->motion_code, g4_mpeg2_motion_code, COUNT(g4_mpeg2_motion_code));
    fill(tables->dc_size[0], g4_mpeg2_dc_size_luma, COUNT(g4_mpeg2_dc_size_luma));
    fill(tables->dc_size[1], g4_mpeg2_dc_size_chroma, COUNT(g4_mpeg2_dc_size_chroma));
    fill_coefficients(tables->coefficient[0], g4_mpeg2_coefficients_b14, COUNT(g4_mpeg2_coefficients_b14));
    fill_coefficients(tables->coefficient[1], g4_mpeg2_coefficients_b15, COUNT(g4_mpeg2_coefficients_b15));
}

/* Reads the most significant bit first; zeros follow the end. */
struct bit_reader {
    const uint8_t *data; /* with G4_BITS_PADDING zero bytes after `end` */
    uint32_t at, end;    /* bits */
};

/* The next 32 bits, which stay. */
static uint32_t peek_bits(const struct bit_reader *bits) {
    uint64_t raw = 0;
    if (bits->at < bits->end) {
        memcpy(&raw, bits->data + bits->at / 8, sizeof raw);
    }
    return (uint32_t)(__builtin_bswap64(raw) << (bits->at % 8) >> 32);
}

static void skip_bits(struct bit_reader *bits, uint32_t count) {
    bits->at += count;
}

/* The next bits, up to 32. */
static uint32_t take_bits(struct bit_reader *bits, uint32_t count) {
    const uint32_t value = count ? peek_bits(bits) >> (32 - count) : 0;
    bits->at += count;
    return value;
}

/* The value of the next code; BAD_CODE if no code matches. */
static uint32_t take_code(struct bit_reader *bits, const struct g4_vlc *table) {
    const struct g4_vlc code = table[peek_bits(bits) >> (32 - G4_VLC_BITS)];
    bits->at += code.length;
    return code.length ? code.value : BAD_CODE;
}

static struct g4_vlc coefficient_code(uint32_t ahead, const struct g4_vlc *table) {
    const uint32_t zeros = (uint32_t)__builtin_clz(ahead | 1u << (32 - G4_VLC_ZEROS));
    return table[zeros << G4_VLC_AFTER | (ahead << zeros >> (32 - G4_VLC_AFTER))];
}

struct slice {
    struct g4_media *media;
    const struct g4_media_command *command;
    const struct g4_mpeg2_picture *picture;
    const struct g4_vld_tables *tables;
    struct bit_reader bits;
    bool frame; /* a frame picture */
    uint32_t x, y;
    uint32_t quantizer;
    int32_t pmv[2][2][2]; /* [r][s][t] */
    int32_t dc[3];
    uint32_t previous; /* enum g4_mpeg2_macroblock of the last macroblock that was coded */
};

struct macroblock {
    uint32_t flags; /* enum g4_mpeg2_macroblock */
    uint32_t motion_type;
    uint32_t dct_type;
    uint32_t pattern;    /* bit 5: Y0 */
    int32_t mv[2][2][2]; /* [r][s][t] */
    bool mvfs[2][2];     /* [r][s] */
};

/* ---- motion vectors (ISO/IEC 13818-2, 7.6.3) ---- */

static bool take_delta(struct slice *slice, uint32_t code, int32_t *delta) {
    const uint32_t magnitude = take_code(&slice->bits, slice->tables->motion_code);
    if (magnitude == BAD_CODE || code == 0) {
        return false;
    }
    *delta = 0;
    if (magnitude) {
        const bool negative = take_bits(&slice->bits, 1);
        const int32_t residual = (int32_t)take_bits(&slice->bits, code - 1);
        const int32_t size = ((int32_t)(magnitude - 1) << (code - 1)) + residual + 1;
        *delta = negative ? -size : size;
    }
    return true;
}

static int32_t take_differential(struct slice *slice) {
    if (!take_bits(&slice->bits, 1)) {
        return 0;
    }
    return take_bits(&slice->bits, 1) ? -1 : 1;
}

/* Wraps into [-16 f, 16 f - 1]. */
static int32_t wrapped(int32_t v, uint32_t code) {
    const int32_t limit = 16 << (code - 1);
    if (v < -limit) {
        return v + 2 * limit;
    }
    return v > limit - 1 ? v - 2 * limit : v;
}

static bool take_vector(struct slice *slice, struct macroblock *mb, int r, int s, int32_t dm[2]) {
    const bool dual = mb->motion_type == G4_MOTION_TYPE_DUAL_PRIME;
    const bool field_format = !slice->frame || mb->motion_type == G4_MOTION_TYPE_FIELD || dual;

    if (field_format && !dual) {
        mb->mvfs[r][s] = take_bits(&slice->bits, 1);
    }
    for (int t = 0; t < 2; t++) {
        const uint32_t code = slice->picture->f_code[s][t];
        const bool halve = field_format && t == 1 && slice->frame;
        int32_t *const predictor = &slice->pmv[r][s][t];
        int32_t delta;
        if (!take_delta(slice, code, &delta)) {
            return false;
        }
        if (dual) {
            dm[t] = take_differential(slice);
        }
        const int32_t v = wrapped((halve ? *predictor >> 1 : *predictor) + delta, code);
        *predictor = halve ? 2 * v : v;
        mb->mv[r][s][t] = v;
    }
    return true;
}

/* Half of a vector, rounded away from zero. */
static int32_t half(int32_t a) {
    return (a + (a > 0)) >> 1;
}

/* Derives the vectors to the fields of opposite parity. */
static void derive_dual_prime(const struct slice *slice, struct macroblock *mb, const int32_t dm[2]) {
    const int32_t x = mb->mv[0][0][0], y = mb->mv[0][0][1];
    const bool bottom = slice->picture->structure == G4_PICTURE_STRUCTURE_BOTTOM_FIELD;

    if (!slice->frame) {
        mb->mv[0][1][0] = half(x) + dm[0];
        mb->mv[0][1][1] = half(y) + dm[1] + (bottom ? 1 : -1);
        mb->mvfs[0][0] = bottom;
        mb->mvfs[0][1] = !bottom;
        return;
    }
    const int32_t top = slice->picture->top_field_first ? 1 : 3, low = 4 - top;
    memcpy(mb->mv[1][0], mb->mv[0][0], sizeof mb->mv[0][0]);
    mb->mv[0][1][0] = half(top * x) + dm[0];
    mb->mv[0][1][1] = half(top * y) + dm[1] - 1;
    mb->mv[1][1][0] = half(low * x) + dm[0];
    mb->mv[1][1][1] = half(low * y) + dm[1] + 1;
    mb->mvfs[0][1] = true;
    mb->mvfs[1][0] = true;
}

static bool take_vectors(struct slice *slice, struct macroblock *mb, int s) {
    const bool two = mb->motion_type == (slice->frame ? G4_MOTION_TYPE_FIELD : G4_MOTION_TYPE_FRAME_OR_16X8);
    int32_t dm[2] = {0};

    for (int r = 0; r < (two ? 2 : 1); r++) {
        if (!take_vector(slice, mb, r, s, dm)) {
            return false;
        }
    }
    if (!two) {
        memcpy(slice->pmv[1][s], slice->pmv[0][s], sizeof slice->pmv[0][s]);
    }
    if (mb->motion_type == G4_MOTION_TYPE_DUAL_PRIME) {
        derive_dual_prime(slice, mb, dm);
    }
    return true;
}

/* Concealment vectors update the predictors but are not passed to kernels (G45 PRM vol. 2, 10.4.2.3.4). */
static bool take_concealment(struct slice *slice) {
    struct macroblock hidden = {.motion_type = slice->frame ? G4_MOTION_TYPE_FRAME_OR_16X8 : G4_MOTION_TYPE_FIELD};
    if (!take_vectors(slice, &hidden, 0)) {
        return false;
    }
    skip_bits(&slice->bits, 1); /* marker */
    return true;
}

/* A vector of zero, from the field of the same parity. */
static void set_no_motion(struct slice *slice, struct macroblock *mb) {
    const bool bottom = slice->picture->structure == G4_PICTURE_STRUCTURE_BOTTOM_FIELD;

    memset(slice->pmv, 0, sizeof slice->pmv);
    mb->flags |= G4_MPEG2_FORWARD;
    mb->motion_type = slice->frame ? G4_MOTION_TYPE_FRAME_OR_16X8 : G4_MOTION_TYPE_FIELD;
    mb->mvfs[0][0] = bottom;
}

/* Parses the motion vectors of a macroblock.  False: illegal code. */
static bool take_motion(struct slice *slice, struct macroblock *mb) {
    if (mb->flags & G4_MPEG2_INTRA) {
        if (slice->picture->concealment_motion_vectors) {
            return take_concealment(slice);
        }
        memset(slice->pmv, 0, sizeof slice->pmv);
        return true;
    }
    if ((mb->flags & G4_MPEG2_FORWARD) && !take_vectors(slice, mb, 0)) {
        return false;
    }
    if ((mb->flags & G4_MPEG2_BACKWARD) && !take_vectors(slice, mb, 1)) {
        return false;
    }
    if (!(mb->flags & (G4_MPEG2_FORWARD | G4_MPEG2_BACKWARD)) &&
        slice->picture->coding_type == G4_PICTURE_CODING_TYPE_P_PICTURE) {
        set_no_motion(slice, mb);
    }
    return true;
}

/* ---- coefficients, not yet quantised (ISO/IEC 13818-2, 7.2) ---- */

/* Parses the first coefficient as a difference from that of the previous block.  Prediction starts at 0, because
 * kernels add the middle of the range themselves. */
static bool take_dc(struct slice *slice, unsigned component, int16_t *dc) {
    const uint32_t size = take_code(&slice->bits, slice->tables->dc_size[component > 0]);
    if (size == BAD_CODE) {
        return false;
    }
    const int32_t bits = (int32_t)take_bits(&slice->bits, size);
    const bool negative = size && !(bits >> (size - 1));
    slice->dc[component] += negative ? bits - ((1 << size) - 1) : bits;
    slice->dc[component] = (int16_t)slice->dc[component]; /* legal streams never exceed this range */
    *dc = (int16_t)slice->dc[component];
    return true;
}

/* Parses a block's coefficients, 64 words in raster order.  False: illegal code. */
static bool take_block(struct slice *slice, bool intra, unsigned component, int16_t *block) {
    const bool b15 = intra && slice->picture->intra_vlc_format;
    const struct g4_vlc *const table = slice->tables->coefficient[b15];
    const uint8_t *const scan =
        slice->picture->scan_order == G4_INVERSE_SCAN_TYPE_ALTERNATE_VERTICAL ? g4_mpeg2_alternate : g4_mpeg2_zigzag;
    struct bit_reader bits;
    uint32_t n = 0;

    memset(block, 0, 64 * sizeof *block);
    if (intra) {
        if (!take_dc(slice, component, &block[0])) {
            return false;
        }
        n = 1;
    }
    bits = slice->bits;
    if (!intra && peek_bits(&bits) >> 31) { /* no end of block can be here: 1s is run 0, level 1 */
        block[0] = peek_bits(&bits) >> 30 & 1 ? -1 : 1;
        skip_bits(&bits, 2);
        n = 1;
    }
    for (;;) {
        const uint32_t ahead = peek_bits(&bits);
        const struct g4_vlc code = coefficient_code(ahead, table);
        int32_t level;
        if (code.length == 0) {
            return false;
        }
        if (code.value == G4_MPEG2_END_OF_BLOCK) {
            skip_bits(&bits, code.length);
            break;
        }
        if (code.value == G4_MPEG2_ESCAPE) {
            n += ahead << code.length >> 26;
            level = (int32_t)(ahead << (code.length + 6)) >> 20;
            skip_bits(&bits, code.length + 18u);
        } else {
            n += code.value >> 8;
            level = ahead << code.length >> 31 ? -(code.value & 0xff) : code.value & 0xff;
            skip_bits(&bits, code.length + 1u);
        }
        if (n > 63) {
            return false;
        }
        block[scan[n++]] = (int16_t)level;
    }
    slice->bits = bits;
    return true;
}

/* ---- threads ---- */

static uint32_t index_of(const struct slice *slice, const struct macroblock *mb) {
    uint32_t index = 0;
    if (!(mb->flags & G4_MPEG2_INTRA)) {
        const bool forward = mb->flags & G4_MPEG2_FORWARD, backward = mb->flags & G4_MPEG2_BACKWARD;
        const uint32_t two = slice->frame ? G4_MOTION_TYPE_FIELD : G4_MOTION_TYPE_FRAME_OR_16X8;
        index = mb->motion_type == G4_MOTION_TYPE_DUAL_PRIME ? 3
                                                             : (forward && backward ? 6u
                                                                : backward          ? 4u
                                                                                    : 1u) +
                                                                   (mb->motion_type == two);
    }
    return index + (slice->frame && mb->dct_type == G4_DCT_TYPE_FIELD_DCT ? 8 : 0);
}

/* Passes the bit unchanged; kernels and driver agree on its meaning. */
static bool second_field(const struct slice *slice) {
    const struct g4_mpeg2_picture *const picture = slice->picture;
    const uint32_t second =
        picture->top_field_first ? G4_PICTURE_STRUCTURE_BOTTOM_FIELD : G4_PICTURE_STRUCTURE_TOP_FIELD;
    return picture->coding_type == G4_PICTURE_CODING_TYPE_P_PICTURE && picture->structure == second;
}

static void describe(const struct slice *slice, const struct macroblock *mb, uint32_t r1[8]) {
    const struct g4_payload_vld_r1 in = {
        .motion_vertical_field_select_1_1 = mb->mvfs[1][1],
        .motion_vertical_field_select_1_0 = mb->mvfs[1][0],
        .motion_vertical_field_select_0_1 = mb->mvfs[0][1],
        .motion_vertical_field_select_0_0 = mb->mvfs[0][0],
        .second_field = second_field(slice),
        .motion_type = mb->motion_type,
        .dct_type = mb->dct_type,
        .macroblock_motion_backward = (mb->flags & G4_MPEG2_BACKWARD) != 0,
        .macroblock_motion_forward = (mb->flags & G4_MPEG2_FORWARD) != 0,
        .macroblock_intra_type = (mb->flags & G4_MPEG2_INTRA) != 0,
        .picture_coding_type = slice->picture->coding_type,
        .picture_structure = slice->picture->structure,
        .intra_dc_precision = slice->picture->intra_dc_precision,
        .coded_block_y0 = mb->pattern >> 5 & 1,
        .coded_block_y1 = mb->pattern >> 4 & 1,
        .coded_block_y2 = mb->pattern >> 3 & 1,
        .coded_block_y3 = mb->pattern >> 2 & 1,
        .coded_block_cb = mb->pattern >> 1 & 1,
        .coded_block_cr = mb->pattern & 1,
        .quantizer_scale_type = slice->picture->quantizer_scale_type,
        .quantizer_scale_code = slice->quantizer,
        .vertical_origin = slice->y,
        .horizontal_origin = slice->x,
        .motion_vector_0_0_horizontal_s14_1 = mb->mv[0][0][0],
        .motion_vector_0_0_vertical_s14_1 = mb->mv[0][0][1],
        .motion_vector_0_1_horizontal_s14_1 = mb->mv[0][1][0],
        .motion_vector_0_1_vertical_s14_1 = mb->mv[0][1][1],
        .motion_vector_1_0_horizontal_s14_1 = mb->mv[1][0][0],
        .motion_vector_1_0_vertical_s14_1 = mb->mv[1][0][1],
        .motion_vector_1_1_horizontal_s14_1 = mb->mv[1][1][0],
        .motion_vector_1_1_vertical_s14_1 = mb->mv[1][1][1],
    };
    g4_payload_vld_r1_pack(&in, g4_media_context(slice->media)->gen, r1);
}

/* Completes and queues the thread whose blocks are in place. */
static void put_macroblock(struct slice *slice, const struct macroblock *mb, struct g4_media_root *root) {
    struct g4_media *const media = slice->media;

    root->descriptor = g4_vfe_descriptor(media, media->vfe.remap[index_of(slice, mb)]);
    root->thread_count = g4_vfe_count(media, slice->command);
    root->synchronized = false;
    root->fence = false;
    root->rows = 1 + BLOCK_ROWS * (uint32_t)__builtin_popcount(mb->pattern);
    describe(slice, mb, root->data[0]);
    media->counts.macroblocks++;
    g4_ts_put(media);
}

/* ---- macroblocks ---- */

static enum g4_status put_skipped(struct slice *slice) {
    struct macroblock mb = {0};
    enum g4_status status;

    if (slice->picture->coding_type == G4_PICTURE_CODING_TYPE_P_PICTURE) {
        set_no_motion(slice, &mb);
    } else {
        const bool bottom = slice->picture->structure == G4_PICTURE_STRUCTURE_BOTTOM_FIELD;
        mb.flags = slice->previous & (G4_MPEG2_FORWARD | G4_MPEG2_BACKWARD);
        mb.motion_type = slice->frame ? G4_MOTION_TYPE_FRAME_OR_16X8 : G4_MOTION_TYPE_FIELD;
        for (int s = 0; s < 2; s++) {
            if (mb.flags & (s ? G4_MPEG2_BACKWARD : G4_MPEG2_FORWARD)) {
                memcpy(mb.mv[0][s], slice->pmv[0][s], sizeof mb.mv[0][s]);
                mb.mvfs[0][s] = bottom;
            }
        }
    }
    memset(slice->dc, 0, sizeof slice->dc);
    struct g4_media_root *const root = g4_ts_take(slice->media, &status);
    if (!root) {
        return status;
    }
    put_macroblock(slice, &mb, root);
    return G4_OK;
}

static bool take_modes(struct slice *slice, struct macroblock *mb) {
    const struct g4_mpeg2_picture *const picture = slice->picture;
    const uint32_t flags = take_code(&slice->bits, slice->tables->macroblock_type[picture->coding_type]);
    const bool implied = slice->frame && picture->frame_prediction_frame_dct;

    if (flags == BAD_CODE) {
        return false;
    }
    mb->flags = flags;
    if (flags & (G4_MPEG2_FORWARD | G4_MPEG2_BACKWARD)) {
        mb->motion_type = implied ? G4_MOTION_TYPE_FRAME_OR_16X8 : take_bits(&slice->bits, 2);
        if (mb->motion_type == G4_MOTION_TYPE_NONE) {
            return false;
        }
    }
    if (slice->frame && !implied && (flags & (G4_MPEG2_INTRA | G4_MPEG2_PATTERN))) {
        mb->dct_type = take_bits(&slice->bits, 1);
    }
    if (flags & G4_MPEG2_QUANT) {
        slice->quantizer = take_bits(&slice->bits, 5);
    }
    return true;
}

static bool take_pattern(struct slice *slice, struct macroblock *mb) {
    if (mb->flags & G4_MPEG2_INTRA) {
        mb->pattern = (1 << BLOCKS) - 1;
    } else if (mb->flags & G4_MPEG2_PATTERN) {
        mb->pattern = take_code(&slice->bits, slice->tables->coded_block_pattern);
        if (mb->pattern == 0 || mb->pattern == BAD_CODE) { /* 0 is for other chroma formats */
            return false;
        }
    } else {
        mb->dct_type = G4_DCT_TYPE_FRAME_DCT;
    }
    return true;
}

static bool take_blocks(struct slice *slice, const struct macroblock *mb, struct g4_media_root *root) {
    const bool intra = mb->flags & G4_MPEG2_INTRA;
    uint32_t row = 1;

    if (!intra) {
        memset(slice->dc, 0, sizeof slice->dc);
    }
    for (unsigned b = 0; b < BLOCKS; b++) {
        int16_t block[64];
        if (!(mb->pattern >> (BLOCKS - 1 - b) & 1)) {
            continue;
        }
        if (!take_block(slice, intra, b < 4 ? 0 : b - 3, block)) {
            return false;
        }
        memcpy(root->data[row], block, sizeof block);
        row += BLOCK_ROWS;
    }
    return true;
}

/* Parses a macroblock.  *good: the codes were legal. */
static enum g4_status take_macroblock(struct slice *slice, bool *good) {
    struct macroblock mb = {0};
    enum g4_status status = G4_OK;

    *good = take_modes(slice, &mb) && take_motion(slice, &mb) && take_pattern(slice, &mb);
    if (!*good) {
        return G4_OK;
    }
    struct g4_media_root *const root = g4_ts_take(slice->media, &status);
    if (!root) {
        return status;
    }
    *good = take_blocks(slice, &mb, root);
    if (*good) {
        slice->previous = mb.flags;
        put_macroblock(slice, &mb, root);
    }
    return G4_OK;
}

/* Parses the distance to the next macroblock; 0: illegal code. */
static uint32_t take_increment(struct slice *slice) {
    uint32_t increment = 0;
    for (;;) {
        const uint32_t code = take_code(&slice->bits, slice->tables->address_increment);
        if (code == BAD_CODE) {
            return 0;
        }
        if (code != G4_MPEG2_ESCAPE) {
            return increment + code;
        }
        increment += 33;
    }
}

/* ---- slices ---- */

static bool slice_ended(const struct slice *slice) {
    return slice->bits.at >= slice->bits.end || peek_bits(&slice->bits) >> (32 - END_BITS) == 0;
}

/* Parses a slice.  Illegal codes end it; the macroblocks before them stay. */
static enum g4_status run_slice(struct slice *slice, uint32_t limit) {
    uint32_t done = 0;

    for (;;) {
        const uint32_t increment = take_increment(slice);
        /* The first increment is parsed, but the position comes from the command (docs/decisions.md 31). */
        const uint32_t skipped = done == 0 ? 0 : increment - 1;
        if (increment == 0 || slice->x + skipped > LAST_COLUMN) {
            break;
        }
        for (uint32_t i = 0; i < skipped; i++, slice->x++) {
            const enum g4_status status = done < limit ? put_skipped(slice) : G4_OK;
            if (status != G4_OK) {
                return status;
            }
            done++;
        }
        if (done >= limit) {
            return G4_OK;
        }
        bool good;
        const enum g4_status status = take_macroblock(slice, &good);
        if (status != G4_OK) {
            return status;
        }
        if (!good) {
            break;
        }
        slice->x++;
        done++;
        if (done >= limit || slice_ended(slice)) {
            return G4_OK;
        }
    }
    g4_report(slice->media->log, G4_EVENT_BITSTREAM, slice->media->command, slice->bits.at);
    return G4_OK;
}

enum g4_status g4_vfe_vld(struct g4_media *media, const struct g4_media_command *command) {
    const struct g4_mpeg2_picture *const picture = &media->vfe.picture;
    struct g4_vld_slice data;

    if (!media->vfe.extended || command->count < 2) {
        g4_media_bad(media, command->count);
        return G4_OK;
    }
    if (picture->coding_type == 0 || picture->structure == 0) {
        g4_media_bad(media, picture->coding_type << 2 | picture->structure);
        return G4_OK;
    }
    media->ctx->model->media->load_vld_slice(media->ctx, command->words, &data);
    struct slice slice = {
        .media = media,
        .command = command,
        .picture = picture,
        .tables = &media->tables,
        .bits = {.data = media->indirect, .at = data.first_bit, .end = 8 * media->indirect_length},
        .frame = picture->structure == G4_PICTURE_STRUCTURE_FRAME,
        .x = data.x,
        .y = data.y,
        .quantizer = data.quantizer_scale_code,
    };
    return run_slice(&slice, data.macroblocks == NO_LIMIT ? UINT32_MAX : data.macroblocks);
}
