/*
 * Coefficients of MPEG-2, as the stream has them: not yet quantised (spec/70 3.4.5; ISO/IEC 13818-2 7.2).
 */
#include "media/vld.h"

#include "mpeg2.h"

/* The difference of a block's first coefficient to that of the block before; the base is 0, because kernels add the
 * middle of the range themselves. */
static bool take_dc(struct g4_vld *vld, unsigned component, int16_t *dc) {
    const uint32_t size = g4_vlc_take(&vld->bits, vld->tables->dc_size[component > 0]);
    if (size == G4_VLC_BAD) {
        return false;
    }
    const int32_t bits = (int32_t)g4_bits_take(&vld->bits, size);
    const bool negative = size && !(bits >> (size - 1));
    vld->dc[component] += negative ? bits - ((1 << size) - 1) : bits;
    vld->dc[component] = (int16_t)vld->dc[component]; /* no stream in the rules goes that far */
    *dc = (int16_t)vld->dc[component];
    return true;
}

bool g4_vld_block(struct g4_vld *vld, bool intra, unsigned component, int16_t *block) {
    const bool b15 = intra && vld->state->intra_vlc_format;
    const struct g4_vlc *const table = vld->tables->coefficient[b15];
    const uint8_t *const scan =
        vld->state->scan_order == G4_INVERSE_SCAN_TYPE_ALTERNATE_VERTICAL ? g4_mpeg2_alternate : g4_mpeg2_zigzag;
    struct g4_bits bits;
    uint32_t n = 0;

    memset(block, 0, 64 * sizeof *block);
    if (intra) {
        if (!take_dc(vld, component, &block[0])) {
            return false;
        }
        n = 1;
    }
    bits = vld->bits;
    if (!intra && g4_bits_ahead(&bits) >> 31) { /* no end of block can be here: 1s is run 0, level 1 */
        block[0] = g4_bits_ahead(&bits) >> 30 & 1 ? -1 : 1;
        g4_bits_skip(&bits, 2);
        n = 1;
    }
    for (;;) {
        const uint32_t ahead = g4_bits_ahead(&bits);
        const struct g4_vlc code = g4_vlc_coefficient(ahead, table);
        int32_t level;
        if (code.length == 0) {
            return false;
        }
        if (code.value == G4_MPEG2_END_OF_BLOCK) {
            g4_bits_skip(&bits, code.length);
            break;
        }
        if (code.value == G4_MPEG2_ESCAPE) {
            n += ahead << code.length >> 26;
            level = (int32_t)(ahead << (code.length + 6)) >> 20;
            g4_bits_skip(&bits, code.length + 18u);
        } else {
            n += code.value >> 8;
            level = ahead << code.length >> 31 ? -(code.value & 0xff) : code.value & 0xff;
            g4_bits_skip(&bits, code.length + 1u);
        }
        if (n > 63) {
            return false;
        }
        block[scan[n++]] = (int16_t)level;
    }
    vld->bits = bits;
    return true;
}
