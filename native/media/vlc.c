#include "media/vlc.h"

#include "mpeg2.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Every index that starts with a code gives that code. */
static void fill(struct g4_vlc *table, const struct g4_mpeg2_code *codes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t spare = G4_VLC_BITS - codes[i].length;
        const uint32_t first = (uint32_t)codes[i].bits << spare;
        for (uint32_t k = 0; k < 1u << spare; k++) {
            table[first + k] = (struct g4_vlc){codes[i].value, codes[i].length};
        }
    }
}

/* By the number of leading zeros, then the bits from the first one on. */
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
