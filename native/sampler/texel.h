/*
 * One texel of any format: address, bits and value (965 PRM vol. 4, 4.7.2).
 */
#ifndef G4_SAMPLER_TEXEL_H
#define G4_SAMPLER_TEXEL_H

#include "core/srgb.h"
#include "sampler/texture.h"

enum {
    G4_BLOCK_SLOTS = 512, /* decoded 4x4 blocks that a worker keeps, a power of two */
};

struct g4_texel_block {
    uint64_t tag; /* 0: empty */
    float texel[16][4];
};

/* A texel that a lookup has read; of compressed surfaces, its block. */
struct g4_logged_texel {
    g4_address address;
    uint32_t bytes;
    uint32_t x, y, level; /* texels of a level; of buffers, x is the index */
    float weight;         /* in the mean of a filter, within the level */
};

/* The texels of a message, for an observer. */
struct g4_texel_log {
    struct g4_logged_texel *texel;
    uint32_t count, most; /* later ones are only counted */
    struct g4_logged_texel next;
};

/* Reads texels for one worker. */
struct g4_texel_reader {
    struct g4_texel_log *log; /* NULL: none; else every texel goes through g4_texel_read or g4_texel_read_entry */
    struct g4_port *port;
    const struct g4_state *state; /* palettes, chroma keys */
    const struct g4_srgb_decoder *srgb;
    struct g4_texel_block block[G4_BLOCK_SLOTS];
    bool has_blocks; /* some block slot is in use */
};

void g4_texel_forget_blocks(struct g4_texel_reader *reader);

/* The chroma key of a sampler; `hit` is set if a texel matches. */
struct g4_texel_key {
    bool enable, replace;
    uint32_t low, high;
    bool hit;
};

/* A texel of an image whose first texel is at (x0, y0) of the surface; x and y are inside the image. smooth: the lookup
 * filters, which matters for the chroma of YUV. */
struct g4_texel_place {
    const struct g4_level *level;
    uint32_t x0, y0; /* texels, or blocks if compressed */
    uint32_t x, y;
    bool smooth;
};

/* Reads R, G, B and A: bits of floats, or integers. key may be NULL. */
void g4_texel_read(struct g4_texel_reader *reader, const struct g4_texture *texture, const struct g4_texel_place *place,
                   struct g4_texel_key *key, uint32_t out[4]);

/* Reads a texel of a buffer surface. */
void g4_texel_read_entry(struct g4_texel_reader *reader, const struct g4_texture *texture, uint32_t index,
                         uint32_t out[4]);

/* Returns the four floats of a texel of a compressed surface.  Decodes the block unless it is cached. */
const float *g4_texel_in_block(struct g4_texel_reader *reader, const struct g4_texture *texture, uint32_t x0,
                               uint32_t y0, uint32_t x, uint32_t y);

/* Decode sixteen texels of a compressed block (compressed.c).  Blocks of more than 4x4 texels have several such parts,
 * which count from the upper left one, row by row. */
void g4_block_decode(const struct g4_format *format, const struct g4_srgb_decoder *srgb, const uint8_t *bytes,
                     uint32_t part, float out[16][4]);

/* Decodes a part of the block at an address. */
void g4_texel_fill_block(struct g4_texel_reader *reader, const struct g4_texture *texture, g4_address address,
                         uint32_t part, struct g4_texel_block *block);

/* The slot of the cache for a part of a block, and the tag that it has if it contains that part. */
static inline struct g4_texel_block *g4_texel_block_slot(struct g4_texel_reader *reader, g4_address address,
                                                         uint32_t part) {
    const uint32_t hash = (uint32_t)(address >> 3 ^ address >> 9 ^ address >> 14) + part;
    return &reader->block[hash % G4_BLOCK_SLOTS];
}

static inline uint64_t g4_texel_block_tag(const struct g4_texture *texture, g4_address address, uint32_t part) {
    return address << 16 | (uint64_t)texture->surface.format_code << 4 | (part + 1);
}

/* A decoded part of the block at an address. */
static inline const struct g4_texel_block *
g4_texel_block_at(struct g4_texel_reader *reader, const struct g4_texture *texture, g4_address address, uint32_t part) {
    const uint64_t tag = g4_texel_block_tag(texture, address, part);
    struct g4_texel_block *const block = g4_texel_block_slot(reader, address, part);
    if (__builtin_expect(block->tag != tag, 0)) {
        g4_texel_fill_block(reader, texture, address, part, block);
        block->tag = tag;
    }
    return block;
}

/* The graphics address of byte `x_bytes` of row y of a texture; y counts rows of texels or blocks of the whole surface.
 */
static inline g4_address g4_texel_address(const struct g4_texture *texture, uint32_t x_bytes, uint32_t y) {
    const uint32_t row = (y << texture->line_shift) + texture->line_offset + texture->y_offset;
    return texture->surface.base +
           (uint32_t)g4_surface_offset(texture->surface.tiling, texture->surface.pitch, x_bytes, row);
}

/* The part of a block that the last lookup was in. */
struct g4_last_block {
    uint32_t column, row, part;         /* of the surface, in blocks */
    const struct g4_texel_block *block; /* NULL: none */
    uint64_t tag;                       /* of the block, until something else takes its place */
};

/* As g4_texel_in_block(), without a log.  Adjacent lookups are mostly in the same part of a block: its address is found
 * once. */
static inline const float *g4_texel_near(struct g4_texel_reader *reader, const struct g4_texture *texture,
                                         struct g4_last_block *last, uint32_t x0, uint32_t y0, uint32_t x, uint32_t y) {
    const uint32_t column = g4_block_number(&texture->block_columns, x);
    const uint32_t row = g4_block_number(&texture->block_rows, y);
    const uint32_t inner_x = x - column * texture->block_columns.size;
    const uint32_t inner_y = y - row * texture->block_rows.size;
    const uint32_t part = inner_x / 4 + inner_y / 4 * texture->parts_across;

    if (!last->block || last->column != x0 + column || last->row != y0 + row || last->part != part ||
        last->block->tag != last->tag) {
        const g4_address address =
            g4_texel_address(texture, (x0 + column + texture->x_offset) * (texture->bits / 8), y0 + row);
        last->block = g4_texel_block_at(reader, texture, address, part);
        last->tag = last->block->tag;
        last->column = x0 + column;
        last->row = y0 + row;
        last->part = part;
    }
    return last->block->texel[4 * (inner_y & 3) + (inner_x & 3)];
}

#endif
