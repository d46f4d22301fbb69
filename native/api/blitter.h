/*
 * The 2D engine (blitter/blitter.c).
 */
#ifndef G4_API_BLITTER_H
#define G4_API_BLITTER_H

#include "api/memory.h"

/* One rectangle of the 2D engine, with all state that affects its pixels. */
struct g4_blt {
    uint32_t bytes;         /* of a pixel: 1, 2, 4 */
    bool is_565;            /* at two bytes: the channels for a color compare are 5:6:5, else 5:5:5 */
    uint32_t rop;           /* truth table, bit index 4 P + 2 S + D */
    uint32_t write_mask;    /* bits of a pixel that are written */
    int32_t x1, y1, x2, y2; /* x2, y2 exclusive */
    bool clip;
    int32_t clip_x1, clip_y1, clip_x2, clip_y2;

    g4_address address_mask; /* the bits of graphics addresses, which wrap around */
    g4_address destination;
    int32_t destination_pitch;   /* bytes */
    uint32_t destination_tiling; /* enum g4_tiling: linear, X or Y */

    uint32_t source_kind; /* enum g4_blt_source */
    g4_address source;    /* of a color source, or of mono bits without `bits` */
    int32_t source_pitch;
    uint32_t source_tiling;
    int32_t source_x, source_y;
    bool right_to_left;  /* SRC_COPY_BLT's direction bit */
    const uint8_t *bits; /* immediate mono data */
    size_t bits_size;
    uint32_t bits_start; /* bit of the first pixel of each row */
    uint32_t bits_row;   /* bits from row to row */
    uint32_t foreground, background;
    bool source_transparent;

    uint32_t pattern_kind; /* enum g4_blt_pattern */
    uint32_t pattern[64];  /* 8x8 pixels, or 0 and 1 when mono */
    uint32_t pattern_foreground, pattern_background;
    bool pattern_transparent;
    uint32_t seed_x, seed_y;

    uint32_t range_mode; /* color compare: 0 off, 1 source in range is skipped, 2 destination in range is written */
    uint32_t range_low, range_high;
};

/* State that all blits of a device share. */
struct g4_blitter {
    struct g4_port *port;
    g4_address address_mask;                    /* the bits of graphics addresses */
    uint64_t budget;                            /* pixels that the blits of a submission may still visit */
    uint32_t source_tiling, destination_tiling; /* enum g4_tiling, where a command only says that a surface is tiled */
};

enum g4_status g4_blt(struct g4_port *port, const struct g4_blt *blt);
/* The number of pixels that a blit visits. */
uint64_t g4_blt_pixels(const struct g4_blt *blt);
uint32_t g4_rop3(uint32_t rop, uint32_t pattern, uint32_t source, uint32_t destination);

#endif
