/* Surfaces to the pixels of a picture file: 8 bits a channel, or 16-bit grey (api/picture.h).
 *
 * Texels are untiled block by block into a buffer that stays in the cache, and converted from there.  Python makes the
 * tables, with the code that defines the conversion (image/texels.py), so both ways give the same bits.
 */
#include <string.h>

#include "api/picture.h"
#include "core/memory.h"
#include "core/texel_rows.h"
#include "core/tiling.h"
#include "core/variant.h"

enum {
    BLOCK_ROWS = 32,  /* a multiple of the height of X and Y tiles */
    ROW_BYTES = 2048, /* of a block: a multiple of the width of all tiles */
    ALPHA = 3,
};

#define INLINE static inline __attribute__((always_inline))

typedef const struct g4_picture_format format_t;

static bool is_byte_channel(const struct g4_picture_channel *channel) {
    return !channel->table && channel->bits == 8 && channel->at % 8 == 0 && channel->at < 32;
}

static bool format_is_sound(format_t *format) {
    if (format->texel_bytes == 0 || format->texel_bytes > 8 || format->channels == 0 || format->channels > 4) {
        return false;
    }
    for (uint32_t i = 0; i < format->channels; i++) {
        const struct g4_picture_channel *channel = &format->channel[i];
        const bool has_table = channel->table != NULL && channel->bits <= 16;
        if ((!has_table && !is_byte_channel(channel)) || channel->at + channel->bits > 8 * format->texel_bytes) {
            return false;
        }
    }
    return true;
}

/* Four bytes a texel, every channel one of them: no table needed. */
static bool is_shuffle(format_t *format, uint32_t channels) {
    bool all = format->texel_bytes == 4 && !format->wide && channels >= 3;
    for (uint32_t i = 0; i < format->channels; i++) {
        all = all && is_byte_channel(&format->channel[i]);
    }
    return all;
}

static uint32_t load_32(const uint8_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static void store_32(uint8_t *to, uint32_t word) {
    memcpy(to, &word, sizeof word);
}

/* Where the channels lie in a word. */
struct shifts {
    uint32_t red, green, blue, alpha;
};

static inline uint32_t red_green_blue(uint32_t word, struct shifts s) {
    return (word >> s.red & 0xFFu) | (word >> s.green & 0xFFu) << 8 | (word >> s.blue & 0xFFu) << 16;
}

static inline void shuffle_to_rgb(const uint8_t *from, uint8_t *to, uint32_t count, struct shifts s) {
    for (uint32_t i = 0; i < count; i++, from += 4, to += 3) {
        const uint32_t rgb = red_green_blue(load_32(from), s);
        to[0] = (uint8_t)rgb;
        to[1] = (uint8_t)(rgb >> 8);
        to[2] = (uint8_t)(rgb >> 16);
    }
}

static inline void shuffle_to_rgba(const uint8_t *from, uint8_t *to, uint32_t count, struct shifts s) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t word = load_32(from + 4 * i);
        store_32(to + 4 * i, red_green_blue(word, s) | (word >> s.alpha & 0xFFu) << 24);
    }
}

static bool words_are_opaque(const uint8_t *from, uint32_t count, uint32_t shift) {
    uint32_t all = ~0u;
    for (uint32_t i = 0; i < count; i++) {
        all &= load_32(from + 4 * i);
    }
    return (all >> shift & 0xFFu) == 0xFFu;
}

/* A row of texels whose channels are bytes of a word.  False: not opaque, where only red, green and blue are wanted. */
static bool shuffle_row(const struct g4_texel_rows *rows, format_t *format, uint32_t channels, const uint8_t *from,
                        uint8_t *to, uint32_t count) {
    const struct g4_picture_channel *const c = format->channel;
    const struct shifts shifts = {c[0].at, c[1].at, c[2].at, c[ALPHA].at};
    if (channels == 4) {
        shuffle_to_rgba(from, to, count, shifts);
        return true;
    }
    if (shifts.green == 8 && shifts.red + shifts.blue == 16 && shifts.red != 8) { /* nearly all pictures */
        const uint32_t all = rows->to_rgb(to, from, count, shifts.red == 0);
        return format->channels < 4 || (all >> shifts.alpha & 0xFFu) == 0xFFu;
    }
    shuffle_to_rgb(from, to, count, shifts);
    return format->channels < 4 || words_are_opaque(from, count, shifts.alpha);
}

INLINE uint32_t converted(const struct g4_picture_channel *channel, uint64_t texel) {
    const uint64_t raw = texel >> channel->at & ((UINT64_C(1) << channel->bits) - 1);
    return channel->table ? channel->table[raw] : (uint32_t)raw;
}

/* `bytes` of a texel and `wide` are constants where this is inlined. */
INLINE bool table_row_of(uint32_t bytes, bool wide, format_t *format, uint32_t channels, const uint8_t *from,
                         uint8_t *to, uint32_t count) {
    const bool checks_alpha = channels < format->channels;
    uint32_t alpha = 0xFF;
    for (uint32_t i = 0; i < count; i++, from += bytes) {
        uint64_t texel = 0;
        memcpy(&texel, from, bytes);
        for (uint32_t c = 0; c < channels; c++) {
            const uint32_t value = converted(&format->channel[c], texel);
            *to++ = (uint8_t)value;
            if (wide) {
                *to++ = (uint8_t)(value >> 8);
            }
        }
        if (checks_alpha) {
            alpha &= converted(&format->channel[ALPHA], texel);
        }
    }
    return alpha == 0xFF;
}

static bool table_row(format_t *format, uint32_t channels, const uint8_t *from, uint8_t *to, uint32_t count) {
    if (format->wide && format->texel_bytes == 2) {
        return table_row_of(2, true, format, channels, from, to, count);
    }
    if (format->wide) {
        return table_row_of(format->texel_bytes, true, format, channels, from, to, count);
    }
    switch (format->texel_bytes) {
    case 1:
        return table_row_of(1, false, format, channels, from, to, count);
    case 2:
        return table_row_of(2, false, format, channels, from, to, count);
    case 4:
        return table_row_of(4, false, format, channels, from, to, count);
    default:
        return table_row_of(format->texel_bytes, false, format, channels, from, to, count);
    }
}

static uint32_t lesser(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

G4_VARIANT_DECLARE(struct g4_texel_rows, g4_texel_rows);
static const struct g4_texel_rows *const texel_rows[] = G4_VARIANT_TABLE(g4_texel_rows);

/* The rectangle of texels that is read, and where its pixels go. */
struct area {
    uint32_t x, y, width, height;
    uint32_t channels, pixel_bytes;
    uint8_t *pixels;
};

static uint8_t *pixel_at(const struct area *area, uint32_t left, uint32_t top) {
    return area->pixels + ((uint64_t)top * area->width + left) * area->pixel_bytes;
}

/* X tiles without a swizzle, whose rows of 512 bytes are converted where they lie: pictures of programs. */
static enum g4_status read_x_tiles(struct g4_port *port, const struct g4_surface_layout *layout, format_t *format,
                                   const struct area *area, bool *opaque) {
    const struct g4_texel_rows *const texels = texel_rows[g4_variant_current()];
    const uint32_t columns = G4_TILE_X_WIDTH / 4;
    for (uint32_t top = 0, rows; top < area->height; top += rows) {
        const uint32_t y = area->y + top;
        rows = lesser(area->height - top, G4_TILE_X_HEIGHT - y % G4_TILE_X_HEIGHT);
        for (uint32_t left = 0, count; left < area->width && port->status == G4_OK; left += count) {
            const uint32_t x = area->x + left;
            count = lesser(area->width - left, columns - x % columns);
            const uint64_t offset = g4_surface_offset(G4_TILING_X, layout->pitch_bytes, 4 * x, y);
            const uint8_t *from = g4_mem_read_ptr(port, layout->base + (uint32_t)offset); /* up to the page's end */
            uint8_t *to = pixel_at(area, left, top);
            for (uint32_t row = 0; row < rows; row++, from += G4_TILE_X_WIDTH) {
                *opaque &= shuffle_row(texels, format, area->channels, from, to, count);
                to += (size_t)area->width * area->pixel_bytes;
            }
            if (!*opaque) {
                return G4_OK;
            }
        }
    }
    return (enum g4_status)port->status;
}

/* Any other surface, block by block. */
static enum g4_status read_blocks(struct g4_port *port, const struct g4_surface_layout *layout, format_t *format,
                                  const struct area *area, bool shuffle, bool *opaque) {
    uint8_t block[BLOCK_ROWS * ROW_BYTES];
    const struct g4_texel_rows *const texels = texel_rows[g4_variant_current()];
    const uint32_t texel = format->texel_bytes;
    const uint32_t columns = ROW_BYTES / texel;
    /* The first blocks are smaller, so that all others begin with a tile. */
    for (uint32_t top = 0, rows; top < area->height; top += rows) {
        rows = lesser(area->height - top, BLOCK_ROWS - (area->y + top) % BLOCK_ROWS);
        for (uint32_t left = 0, count; left < area->width; left += count) {
            count = lesser(area->width - left, columns - (area->x + left) % columns);
            const struct g4_rectangle rectangle = {(int32_t)((area->x + left) * texel), (int32_t)(area->y + top),
                                                   count * texel, rows};
            const enum g4_status status = g4_surface_read(port, layout, &rectangle, block, sizeof block, ROW_BYTES);
            if (status != G4_OK) {
                return status;
            }
            uint8_t *to = pixel_at(area, left, top);
            for (uint32_t row = 0; row < rows; row++, to += (size_t)area->width * area->pixel_bytes) {
                const uint8_t *const from = block + (size_t)row * ROW_BYTES;
                *opaque &= shuffle ? shuffle_row(texels, format, area->channels, from, to, count)
                                   : table_row(format, area->channels, from, to, count);
            }
            if (!*opaque) {
                return G4_OK; /* alpha is needed, too: the caller restarts */
            }
        }
    }
    return G4_OK;
}

enum g4_status g4_picture_read(struct g4_port *port, const struct g4_surface_layout *layout, uint32_t x, uint32_t y,
                               uint32_t width, uint32_t height, format_t *format, uint32_t channels, void *pixels,
                               size_t size, bool *opaque) {
    *opaque = true;
    const bool drops_alpha = channels == 3 && format->channels == 4;
    if (!format_is_sound(format) || (channels != format->channels && !drops_alpha)) {
        return G4_BAD_VALUE;
    }
    const uint32_t texel = format->texel_bytes;
    const uint64_t pixel = (uint64_t)channels * (format->wide ? 2 : 1);
    if (layout->width_bytes > INT32_MAX || layout->height_rows > INT32_MAX ||
        ((uint64_t)x + width) * texel > layout->width_bytes || (uint64_t)y + height > layout->height_rows ||
        (height != 0 && width * pixel > size / height)) {
        return G4_BAD_VALUE;
    }
    const struct area area = {x, y, width, height, channels, (uint32_t)pixel, pixels};
    const bool shuffle = is_shuffle(format, channels);
    if (shuffle && layout->tiling == G4_TILING_X && layout->swizzle == G4_SWIZZLE_NONE &&
        g4_layout_check(layout) == G4_OK) {
        return read_x_tiles(port, layout, format, &area, opaque);
    }
    return read_blocks(port, layout, format, &area, shuffle, opaque);
}
