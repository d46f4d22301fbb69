/*
 * The 2D engine: one rectangle at a time, pixel by pixel in the hardware's order; fills and
 * simple copies work on rows if the result is the same.
 */
#include <string.h>

#include "api/blitter.h"
#include "core/memory.h"
#include "core/tiling.h"
#include "core/util.h"

uint32_t g4_rop3(uint32_t rop, uint32_t p, uint32_t s, uint32_t d) {
    uint32_t out = 0;
    for (unsigned i = 0; i < 8; i++) {
        if (rop >> i & 1) {
            out |= (i & 4 ? p : ~p) & (i & 2 ? s : ~s) & (i & 1 ? d : ~d);
        }
    }
    return out;
}

static bool needs_destination(uint32_t rop) {
    return ((rop ^ (rop >> 1)) & 0x55) != 0;
}

/* The address of a pixel on one side of a blit. */
static g4_address address_of(const struct g4_blt *b, g4_address base, int32_t pitch, uint32_t tiling, int32_t x,
                             int32_t y) {
    if (tiling == G4_TILING_LINEAR) {
        return (base + (g4_address)((int64_t)y * pitch + (int64_t)x * b->bytes)) & b->address_mask;
    }
    /* A tiled surface has no pixels left of or above its origin: the offsets wrap as an address of 32 bits would. */
    const uint32_t offset =
        (uint32_t)g4_surface_offset(tiling, (uint32_t)pitch & 0x3ffffu, (uint32_t)x * b->bytes, (uint32_t)y);
    return ((base & ~(g4_address)G4_PAGE_OFFSET) + offset) & b->address_mask;
}

static g4_address destination_of(const struct g4_blt *b, int32_t x, int32_t y) {
    return address_of(b, b->destination, b->destination_pitch, b->destination_tiling, x, y);
}

/* The address of the source of a pixel of the destination. */
static g4_address source_of(const struct g4_blt *b, int32_t x, int32_t y) {
    return address_of(b, b->source, b->source_pitch, b->source_tiling, b->source_x + x - b->x1,
                      b->source_y + y - b->y1);
}

static uint32_t read_pixel(struct g4_port *port, g4_address address, uint32_t bytes) {
    uint32_t value = 0;
    if ((address & G4_PAGE_OFFSET) + bytes <= G4_PAGE_SIZE) {
        memcpy(&value, g4_mem_read_ptr(port, address), bytes);
    } else {
        (void)g4_mem_read(port, address, &value, bytes); /* missing memory is in the port's log */
    }
    return value;
}

static void write_pixel(struct g4_port *port, g4_address address, uint32_t bytes, uint32_t value) {
    if ((address & G4_PAGE_OFFSET) + bytes <= G4_PAGE_SIZE) {
        uint8_t *const host = g4_mem_write_ptr(port, address);
        if (host) {
            memcpy(host, &value, bytes);
        }
    } else {
        (void)g4_mem_write(port, address, &value, bytes);
    }
}

/* Bit `at` of mono data, most significant bit of a byte first; beyond immediate data there are zeros. */
static bool source_bit(struct g4_port *port, const struct g4_blt *b, uint64_t at) {
    uint8_t byte;
    if (b->bits) {
        byte = at / 8 < b->bits_size ? b->bits[at / 8] : 0;
    } else {
        byte = *g4_mem_read_ptr(port, (b->source + at / 8) & b->address_mask);
    }
    return byte >> (7 - at % 8) & 1;
}

static bool component_in_range(uint32_t value, uint32_t low, uint32_t high, uint32_t shift, uint32_t bits) {
    const uint32_t mask = (1u << bits) - 1;
    const uint32_t v = value >> shift & mask;
    return v >= (low >> shift & mask) && v <= (high >> shift & mask);
}

static bool in_range(const struct g4_blt *b, uint32_t value) {
    if (b->bytes != 2) {
        return value >= b->range_low && value <= b->range_high;
    }
    const uint32_t green = b->is_565 ? 6 : 5;
    return component_in_range(value, b->range_low, b->range_high, 0, 5) &&
           component_in_range(value, b->range_low, b->range_high, 5, green) &&
           component_in_range(value, b->range_low, b->range_high, 5 + green, 5);
}

/* The value of the pattern at a pixel; false where a transparent pattern does not write. */
static bool pattern_at(const struct g4_blt *b, int32_t x, int32_t y, uint32_t *value) {
    const uint32_t p = b->pattern[(((uint32_t)y + b->seed_y) & 7) * 8 + (((uint32_t)x + b->seed_x) & 7)];
    switch (b->pattern_kind) {
    case G4_BLT_PATTERN_SOLID:
        *value = b->pattern_foreground;
        return true;
    case G4_BLT_PATTERN_COLOR:
        *value = p;
        return true;
    case G4_BLT_PATTERN_MONO:
        *value = p ? b->pattern_foreground : b->pattern_background;
        return p || !b->pattern_transparent;
    default:
        *value = 0;
        return true;
    }
}

static bool source_at(struct g4_port *port, const struct g4_blt *b, int32_t x, int32_t y, uint32_t *value) {
    const int32_t column = x - b->x1;
    const int32_t row = y - b->y1;
    *value = 0;
    if (b->source_kind == G4_BLT_SOURCE_COLOR) {
        *value = read_pixel(port, source_of(b, x, y), b->bytes);
    } else if (b->source_kind == G4_BLT_SOURCE_MONO) {
        const bool bit = source_bit(port, b, (uint64_t)row * b->bits_row + b->bits_start + (uint64_t)column);
        *value = bit ? b->foreground : b->background;
        return bit || !b->source_transparent;
    }
    return true;
}

static void draw_pixel(struct g4_port *port, const struct g4_blt *b, int32_t x, int32_t y) {
    uint32_t p;
    uint32_t s;
    if (!source_at(port, b, x, y, &s) || !pattern_at(b, x, y, &p)) {
        return;
    }
    const g4_address address = destination_of(b, x, y);
    const uint32_t full = b->bytes == 4 ? UINT32_MAX : (1u << (8 * b->bytes)) - 1;
    const bool reads = needs_destination(b->rop) || (b->write_mask & full) != full || b->range_mode == 2;
    const uint32_t d = reads ? read_pixel(port, address, b->bytes) : 0;
    if ((b->range_mode == 1 && in_range(b, s)) || (b->range_mode == 2 && !in_range(b, d))) {
        return;
    }
    const uint32_t value = g4_rop3(b->rop, p, s, d);
    write_pixel(port, address, b->bytes, (d & ~b->write_mask) | (value & b->write_mask));
}

/* ---- rows at once ---- */

enum {
    ROP_COPY_SOURCE = 0xcc,
    ROP_COPY_PATTERN = 0xf0,
    TILE_Y_COLUMN = 16, /* bytes */
};

static bool plain(const struct g4_blt *b, uint32_t rop) {
    const uint32_t full = b->bytes == 4 ? UINT32_MAX : (1u << (8 * b->bytes)) - 1;
    return b->rop == rop && (b->write_mask & full) == full && b->range_mode == 0;
}

/* The number of contiguous bytes from a pixel at an address on: to the end of the page, and of the tile's row.  Tiles
 * may start anywhere in a page, because pitches are multiples of 4. */
static uint32_t run_length(const struct g4_blt *b, g4_address address, uint32_t tiling, int32_t x) {
    const uint32_t page = G4_PAGE_SIZE - (uint32_t)(address & G4_PAGE_OFFSET);
    if (tiling == G4_TILING_LINEAR) {
        return page;
    }
    const uint32_t unit = tiling == G4_TILING_X ? G4_TILE_X_WIDTH : TILE_Y_COLUMN;
    return g4_min_u32(page, unit - ((uint32_t)x * b->bytes & (unit - 1)));
}

static void fill_run(struct g4_port *port, g4_address address, uint32_t bytes, uint32_t pixels, uint32_t value) {
    uint8_t *const host = g4_mem_write_ptr(port, address);
    for (uint32_t i = 0; host && i < pixels; i++) {
        memcpy(host + i * bytes, &value, bytes);
    }
}

static void copy_run(struct g4_port *port, g4_address to, g4_address from, uint32_t size) {
    uint8_t *const host = g4_mem_write_ptr(port, to);
    if (host) {
        memmove(host, g4_mem_read_ptr(port, from), size);
    }
}

/* Draw one row as runs; false if the layout does not permit it. */
static bool row_at_once(struct g4_port *port, const struct g4_blt *b, int32_t x1, int32_t x2, int32_t y, bool copy) {
    for (int32_t x = x1; x < x2;) {
        const g4_address to = destination_of(b, x, y);
        uint32_t size = run_length(b, to, b->destination_tiling, x);
        g4_address from = 0;
        if (copy) {
            from = source_of(b, x, y);
            size = g4_min_u32(size, run_length(b, from, b->source_tiling, b->source_x + x - b->x1));
        }
        uint32_t pixels = size / b->bytes;
        pixels = pixels < (uint32_t)(x2 - x) ? pixels : (uint32_t)(x2 - x);
        if (pixels == 0) {
            return false;
        }
        if (copy) {
            copy_run(port, to, from, pixels * b->bytes);
        } else {
            fill_run(port, to, b->bytes, pixels, b->pattern_foreground);
        }
        x += (int32_t)pixels;
    }
    return true;
}

struct box {
    int32_t x1, y1, x2, y2;
};

static struct box visible(const struct g4_blt *b) {
    struct box box = {b->x1, b->y1, b->x2, b->y2};
    if (b->clip) {
        box.x1 = box.x1 > b->clip_x1 ? box.x1 : b->clip_x1;
        box.y1 = box.y1 > b->clip_y1 ? box.y1 : b->clip_y1;
        box.x2 = box.x2 < b->clip_x2 ? box.x2 : b->clip_x2;
        box.y2 = box.y2 < b->clip_y2 ? box.y2 : b->clip_y2;
    }
    return box;
}

/* The bytes from the first to the last pixel of a box on one side of a blit, rounded outwards; false: they are not in
 * the order of rows and columns, or wrap. */
static bool bytes_of(const struct g4_blt *b, g4_address base, int32_t pitch, uint32_t tiling, const struct box *box,
                     uint64_t *start, uint64_t *end) {
    if (pitch < 0 || box->x1 < 0 || box->y1 < 0) {
        return false;
    }
    const uint32_t height = g4_tile_height(tiling);
    const uint64_t tile_row = (uint64_t)(uint32_t)pitch * height;
    const uint64_t first = (uint32_t)box->y1 / height * tile_row;
    const uint64_t columns = (uint64_t)(uint32_t)box->x2 * b->bytes;
    const uint64_t last = ((uint32_t)box->y2 + height - 1) / height * tile_row +
                          (tiling == G4_TILING_LINEAR ? columns : (columns / g4_tile_width(tiling) + 1) * G4_PAGE_SIZE);
    const uint64_t origin = tiling == G4_TILING_LINEAR ? base : base & ~(uint64_t)G4_PAGE_OFFSET;
    *start = origin + first;
    *end = origin + last;
    return *end <= b->address_mask && (tiling == G4_TILING_LINEAR || last <= UINT32_MAX);
}

/* Whether the bytes of both sides do not overlap; then the order of pixels does not matter. */
static bool apart(const struct g4_blt *b, const struct box *box) {
    const int32_t x = b->source_x - b->x1;
    const int32_t y = b->source_y - b->y1;
    const struct box source = {box->x1 + x, box->y1 + y, box->x2 + x, box->y2 + y};
    uint64_t to;
    uint64_t to_end;
    uint64_t from;
    uint64_t from_end;
    return bytes_of(b, b->destination, b->destination_pitch, b->destination_tiling, box, &to, &to_end) &&
           bytes_of(b, b->source, b->source_pitch, b->source_tiling, &source, &from, &from_end) &&
           (to_end <= from || from_end <= to);
}

uint64_t g4_blt_pixels(const struct g4_blt *b) {
    const struct box box = visible(b);
    return box.x1 < box.x2 && box.y1 < box.y2 ? (uint64_t)(box.x2 - box.x1) * (uint64_t)(box.y2 - box.y1) : 0;
}

enum g4_status g4_blt(struct g4_port *port, const struct g4_blt *b) {
    const struct box box = visible(b);
    if ((b->bytes != 1 && b->bytes != 2 && b->bytes != 4) || box.x1 >= box.x2 || box.y1 >= box.y2) {
        return b->bytes == 1 || b->bytes == 2 || b->bytes == 4 ? G4_OK : G4_BAD_VALUE;
    }
    const bool color = b->source_kind == G4_BLT_SOURCE_COLOR;
    const bool same = color && b->source == b->destination && b->source_pitch == b->destination_pitch &&
                      b->source_tiling == b->destination_tiling;
    /* A copy within one surface behaves as if the source were read first. */
    const bool from_below = same && b->source_y < b->y1;
    const bool from_right = b->right_to_left || (same && b->source_x < b->x1);
    const bool fill = plain(b, ROP_COPY_PATTERN) && b->pattern_kind == G4_BLT_PATTERN_SOLID && !color &&
                      b->source_kind == G4_BLT_SOURCE_NONE;
    const bool copy = plain(b, ROP_COPY_SOURCE) && color && b->pattern_kind == G4_BLT_PATTERN_NONE && apart(b, &box);

    for (int32_t row = 0; row < box.y2 - box.y1; row++) {
        const int32_t y = from_below ? box.y2 - 1 - row : box.y1 + row;
        if ((fill || copy) && row_at_once(port, b, box.x1, box.x2, y, copy)) {
            continue;
        }
        for (int32_t column = 0; column < box.x2 - box.x1; column++) {
            draw_pixel(port, b, from_right ? box.x2 - 1 - column : box.x1 + column, y);
        }
    }
    return port->status == G4_OK ? G4_OK : (enum g4_status)port->status;
}
