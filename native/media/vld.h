/*
 * The tables of variable length codes that VLD mode parses slices with.
 */
#ifndef G4_MEDIA_VLD_H
#define G4_MEDIA_VLD_H

#include <stdint.h>

enum {
    G4_VLC_BITS = 11,     /* the longest code, coefficients excepted */
    G4_VLC_ZEROS = 12,    /* the most leading zeros of a coefficient */
    G4_VLC_AFTER = 8,     /* the most bits of a coefficient from its first one on */
    G4_BITS_PADDING = 16, /* readable zero bytes that must follow the data */
};

struct g4_vlc {
    uint16_t value;
    uint8_t length; /* 0: no such code */
};

struct g4_vld_tables {
    struct g4_vlc address_increment[1 << G4_VLC_BITS];
    struct g4_vlc macroblock_type[4][1 << G4_VLC_BITS]; /* by picture coding type */
    struct g4_vlc coded_block_pattern[1 << G4_VLC_BITS];
    struct g4_vlc motion_code[1 << G4_VLC_BITS];
    struct g4_vlc dc_size[2][1 << G4_VLC_BITS];                 /* luma, chroma */
    struct g4_vlc coefficient[2][G4_VLC_ZEROS << G4_VLC_AFTER]; /* B-14, B-15 */
};

void g4_vld_tables_fill(struct g4_vld_tables *tables);

#endif
