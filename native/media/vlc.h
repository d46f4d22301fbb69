/*
 * Bits of a slice, and its variable length codes as tables to look them up in (spec/70 3.4).
 */
#ifndef G4_MEDIA_VLC_H
#define G4_MEDIA_VLC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    G4_VLC_BITS = 11,     /* the longest code of all but the coefficients */
    G4_VLC_ZEROS = 12,    /* coefficients: as many leading zeros, */
    G4_VLC_AFTER = 8,     /* and no more bits from the first one on */
    G4_BITS_PADDING = 16, /* readable bytes behind the data */
    G4_VLC_BAD = 0xfffd,  /* no code has this value */
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

/* Most significant bit first; beyond the end there are zeros. */
struct g4_bits {
    const uint8_t *data; /* with G4_BITS_PADDING zero bytes behind `end` */
    uint32_t at, end;    /* bits */
};

/* The next 32 bits. */
static inline uint32_t g4_bits_ahead(const struct g4_bits *bits) {
    uint64_t raw = 0;
    if (bits->at < bits->end) {
        memcpy(&raw, bits->data + bits->at / 8, sizeof raw);
    }
    return (uint32_t)(__builtin_bswap64(raw) << (bits->at % 8) >> 32);
}

static inline void g4_bits_skip(struct g4_bits *bits, uint32_t count) {
    bits->at += count;
}

/* Up to 32 bits. */
static inline uint32_t g4_bits_take(struct g4_bits *bits, uint32_t count) {
    const uint32_t value = count ? g4_bits_ahead(bits) >> (32 - count) : 0;
    bits->at += count;
    return value;
}

/* The value of the next code, G4_VLC_BAD when there is none. */
static inline uint32_t g4_vlc_take(struct g4_bits *bits, const struct g4_vlc *table) {
    const struct g4_vlc code = table[g4_bits_ahead(bits) >> (32 - G4_VLC_BITS)];
    bits->at += code.length;
    return code.length ? code.value : G4_VLC_BAD;
}

static inline struct g4_vlc g4_vlc_coefficient(uint32_t ahead, const struct g4_vlc *table) {
    const uint32_t zeros = (uint32_t)__builtin_clz(ahead | 1u << (32 - G4_VLC_ZEROS));
    return table[zeros << G4_VLC_AFTER | (ahead << zeros >> (32 - G4_VLC_AFTER))];
}

#endif
