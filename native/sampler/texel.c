#include "sampler/texel.h"
#include "core/util.h"

/* ---- numbers ---- */

static uint32_t unorm(uint32_t value, uint32_t bits) {
    return g4_hw_bits((float)value / (float)((UINT32_C(1) << bits) - 1));
}

static int32_t sign_extend(uint32_t value, uint32_t bits) {
    return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

static uint32_t snorm(uint32_t value, uint32_t bits) {
    const float quotient = (float)sign_extend(value, bits) / (float)((UINT32_C(1) << (bits - 1)) - 1);
    return g4_hw_bits(quotient < -1.0f ? -1.0f : quotient);
}

/* Decodes five exponent bits with bias 15 above `mantissa` bits, without sign. */
static uint32_t small_float(uint32_t value, uint32_t mantissa_bits) {
    const uint32_t shift = 23 - mantissa_bits;
    const uint32_t exponent = value >> mantissa_bits;
    const uint32_t mantissa = value & ((UINT32_C(1) << mantissa_bits) - 1);
    if (exponent - 1 < 30) {
        return (value << shift) + (UINT32_C(112) << 23);
    }
    if (exponent == 31) {
        return UINT32_C(0x7f800000) | mantissa << shift;
    }
    return g4_hw_bits((float)mantissa * g4_hw_float((127 - 14 - mantissa_bits) << 23));
}

static uint32_t half_float(uint32_t value) {
    return (value & 0x8000) << 16 | small_float(value & 0x7fff, 10);
}

static uint32_t bits_at(const uint8_t *bytes, uint32_t at, uint32_t count) {
    uint64_t word;
    memcpy(&word, bytes + at / 8, sizeof word);
    return (uint32_t)(word >> (at & 7)) & (count >= 32 ? UINT32_MAX : (UINT32_C(1) << count) - 1);
}

static uint32_t curved(const struct g4_srgb_decoder *srgb, uint32_t value, uint32_t bits) {
    const float *const table = g4_srgb_decoder_table(srgb, bits);
    return table ? g4_hw_bits(table[value]) : unorm(value, bits);
}

static uint32_t channel_value(const struct g4_srgb_decoder *srgb, const struct g4_format *format, int c,
                              const uint8_t *bytes) {
    const struct g4_format_channel *const channel = &format->channel[c];
    const uint32_t value = bits_at(bytes, channel->at, channel->bits);

    switch (channel->type) {
    case G4_CHANNEL_ONE:
        return format->data_class == G4_CLASS_FLOAT ? G4_ONE : 1;
    case G4_CHANNEL_UNORM:
        return format->srgb && c < 3 ? curved(srgb, value, channel->bits) : unorm(value, channel->bits);
    case G4_CHANNEL_SNORM:
        return snorm(value, channel->bits);
    case G4_CHANNEL_UINT:
        return value;
    case G4_CHANNEL_SINT:
        return (uint32_t)sign_extend(value, channel->bits);
    case G4_CHANNEL_FLOAT:
        return channel->bits == 32 ? value : half_float(value);
    case G4_CHANNEL_UFLOAT:
        return small_float(value, channel->bits - 5u);
    case G4_CHANNEL_SHARED_EXPONENT:
        return g4_hw_bits((float)value * g4_hw_float((bits_at(bytes, 27, 5) + 127 - 24) << 23));
    default:
        return 0;
    }
}

/* ---- palettes ---- */

static void palette_color(const struct g4_texel_reader *reader, const struct g4_format *format, const uint8_t *bytes,
                          uint32_t out[4]) {
    const uint32_t *const palette =
        format->palette == 2 ? reader->state->sampler_palette1 : reader->state->sampler_palette;
    const uint32_t index = bits_at(bytes, format->channel[0].at, format->channel[0].bits);
    uint32_t rgb[3];

    g4_palette_color(palette[index & 0xff], rgb);
    for (int c = 0; c < 3; c++) {
        out[c] = unorm(rgb[c], 8);
    }
    out[3] = channel_value(reader->srgb, format, 3, bytes);
}

static void plain_color(const struct g4_texel_reader *reader, const struct g4_format *format, const uint8_t *bytes,
                        uint32_t out[4]) {
    if (format->palette) {
        palette_color(reader, format, bytes, out);
        return;
    }
    for (int c = 0; c < 4; c++) {
        out[c] = channel_value(reader->srgb, format, c, bytes);
    }
}

/* ---- memory ---- */

enum {
    WIDEST = 16, /* bytes of a texel or block */
    BUFFER = 24  /* and those that bits_at() may read beyond it */
};

static void log_texel(struct g4_texel_log *log, g4_address address, uint32_t bytes) {
    if (log->count < log->most) {
        log->texel[log->count] = log->next;
        log->texel[log->count].address = address;
        log->texel[log->count].bytes = bytes;
    }
    log->count++;
}

static __attribute__((noinline)) void read_exactly(const struct g4_texel_reader *reader, g4_address address,
                                                   uint8_t *bytes, uint32_t count) {
    struct g4_port *const port = reader->port;
    if (reader->log) {
        log_texel(reader->log, address, count);
    }
    if ((address & G4_PAGE_OFFSET) + count <= G4_PAGE_SIZE) {
        memcpy(bytes, g4_mem_read_ptr(port, address), count);
    } else {
        (void)g4_mem_read(port, address, bytes, count); /* missing pages read as 0 and are in the port's log */
    }
}

/* Reads a texel or block of `count` bytes; the rest of the buffer may have any value.  Most often the length can be
 * made constant, which is faster than calling memcpy(). */
static void read_bytes(const struct g4_texel_reader *reader, g4_address address, uint8_t bytes[BUFFER],
                       uint32_t count) {
    if (reader->log || (address & G4_PAGE_OFFSET) + WIDEST > G4_PAGE_SIZE) {
        read_exactly(reader, address, bytes, count);
        return;
    }
    memcpy(bytes, g4_mem_read_ptr(reader->port, address), WIDEST);
}

/* Reads the bytes of a plain texel.  A texel of less than a byte is moved to the lowest bits of a byte. */
static void read_plain(struct g4_texel_reader *reader, const struct g4_texture *texture,
                       const struct g4_texel_place *place, uint8_t bytes[BUFFER]) {
    const uint32_t x = place->x0 + place->x + texture->x_offset;
    const uint32_t y = place->y0 + place->y;

    memset(bytes, 0, BUFFER);
    if (texture->bits >= 8) {
        const uint32_t size = texture->bits / 8;
        read_bytes(reader, g4_texel_address(texture, x * size, y), bytes, size);
        return;
    }
    const uint32_t at = x * texture->bits; /* texels start at the least significant bit (docs/decisions.md 65) */
    read_bytes(reader, g4_texel_address(texture, at / 8, y), bytes, 1);
    bytes[0] = (uint8_t)(bytes[0] >> (at & 7) & ((1u << texture->bits) - 1));
}

/* ---- YUV 4:2:2 ---- */

struct yuv {
    uint32_t y;
    uint32_t cr2, cb2; /* doubled, so that the mean of two texels is exact */
};

static void read_pair(struct g4_texel_reader *reader, const struct g4_texture *texture,
                      const struct g4_texel_place *place, uint32_t pair, uint8_t bytes[BUFFER]) {
    const uint32_t x = place->x0 + texture->x_offset + 2 * pair;
    memset(bytes, 0, BUFFER);
    read_bytes(reader, g4_texel_address(texture, (x & ~1u) * 2, place->y0 + place->y), bytes, 4);
}

/* The chroma of the second texel of a pair is the mean with the next pair if the lookup filters (docs/decisions.md 65).
 */
static struct yuv read_yuv(struct g4_texel_reader *reader, const struct g4_texture *texture,
                           const struct g4_texel_place *place) {
    const struct g4_format_channel *const channel = texture->format->channel;
    const bool second = place->x & 1;
    const uint32_t pair = place->x / 2;
    const uint32_t last = (place->level->width - 1) / 2;
    uint8_t bytes[BUFFER];

    read_pair(reader, texture, place, pair, bytes);
    const uint32_t cr = bits_at(bytes, channel[0].at, 8);
    const uint32_t cb = bits_at(bytes, channel[2].at, 8);
    struct yuv yuv = {bits_at(bytes, channel[1].at + (second ? 16u : 0u), 8), 2 * cr, 2 * cb};
    if (second && place->smooth && pair < last) {
        read_pair(reader, texture, place, pair + 1, bytes);
        yuv.cr2 = cr + bits_at(bytes, channel[0].at, 8);
        yuv.cb2 = cb + bits_at(bytes, channel[2].at, 8);
    }
    return yuv;
}

/* ---- chroma keys ---- */

static uint32_t replicate(uint32_t value, uint32_t bits, uint32_t wanted) {
    uint32_t wide = value << (wanted - bits);
    for (uint32_t have = bits; have < wanted; have += bits) {
        wide |= wanted >= have + bits ? value << (wanted - have - bits) : value >> (have + bits - wanted);
    }
    return wide;
}

/* The value of an SNORM channel that chroma keys compare: a sign and seven bits of magnitude. */
static int32_t signed_key_value(uint32_t value, uint32_t bits) {
    const int32_t number = sign_extend(value, bits);
    const uint32_t limit = (UINT32_C(1) << (bits - 1)) - 1;
    const uint32_t magnitude = number < 0 ? (uint32_t)-number : (uint32_t)number;
    const uint32_t wide = replicate(magnitude > limit ? limit : magnitude, bits - 1, 7);
    return number < 0 ? -(int32_t)wide : (int32_t)wide;
}

static int32_t sign_magnitude(uint32_t key) {
    return key & 0x80 ? -(int32_t)(key & 0x7f) : (int32_t)(key & 0x7f);
}

static const uint8_t key_byte[4] = {16, 8, 0, 24}; /* bit positions of R, G, B, A */

static bool plain_matches(const struct g4_format *format, const uint8_t *bytes, const struct g4_texel_key *key) {
    bool has_sign = false;
    for (int c = 0; c < 4; c++) {
        has_sign = has_sign || format->channel[c].type == G4_CHANNEL_SNORM;
    }
    for (int c = 0; c < 4; c++) {
        const struct g4_format_channel *const channel = &format->channel[c];
        const uint32_t low = key->low >> key_byte[c] & 0xff;
        const uint32_t high = key->high >> key_byte[c] & 0xff;
        const bool stored = channel->bits > 0;
        const uint32_t value = stored ? bits_at(bytes, channel->at, channel->bits) : 0;
        if (has_sign) {
            const int32_t number = stored ? signed_key_value(value, channel->bits) : 0;
            if (number < sign_magnitude(low) || number > sign_magnitude(high)) {
                return false;
            }
        } else {
            const uint32_t wide = stored && channel->bits < 8 ? replicate(value, channel->bits, 8) : value;
            if (wide < low || wide > high) {
                return false;
            }
        }
    }
    return true;
}

static bool yuv_matches(const struct yuv *yuv, const struct g4_texel_key *key) {
    const uint32_t doubled[3] = {yuv->cr2, 2 * yuv->y, yuv->cb2};
    for (int c = 0; c < 3; c++) {
        if (doubled[c] < 2 * (key->low >> key_byte[c] & 0xff) || doubled[c] > 2 * (key->high >> key_byte[c] & 0xff)) {
            return false;
        }
    }
    return true;
}

static bool color_matches(const struct g4_texture *texture, const float color[4], const struct g4_texel_key *key) {
    for (int c = 0; c < 4; c++) {
        const uint8_t type = texture->format->channel[c].type;
        const bool stored = type != G4_CHANNEL_ZERO && type != G4_CHANNEL_ONE;
        const uint32_t value = stored ? (uint32_t)(color[c] * 255.0f + 0.5f) : 0;
        if (value < (key->low >> key_byte[c] & 0xff) || value > (key->high >> key_byte[c] & 0xff)) {
            return false;
        }
    }
    return true;
}

static void apply_key(struct g4_texel_key *key, bool match, bool yuv, uint32_t out[4]) {
    if (!match) {
        return;
    }
    key->hit = true;
    if (key->replace) {
        memset(out, 0, 4 * sizeof *out);
        if (yuv) {
            out[0] = out[2] = unorm(0x80, 8);
            out[1] = unorm(0x10, 8);
        }
    }
}

/* ---- compressed blocks ---- */

void g4_texel_forget_blocks(struct g4_texel_reader *reader) {
    for (int i = 0; reader->has_blocks && i < G4_BLOCK_SLOTS; i++) {
        reader->block[i].tag = 0;
    }
    reader->has_blocks = false;
}

void g4_texel_fill_block(struct g4_texel_reader *reader, const struct g4_texture *texture, g4_address address,
                         uint32_t part, struct g4_texel_block *block) {
    uint8_t raw[BUFFER] = {0};
    read_bytes(reader, address, raw, texture->bits / 8);
    g4_block_decode(texture->format, reader->srgb, raw, part, block->texel);
    reader->has_blocks = true;
}

const float *g4_texel_in_block(struct g4_texel_reader *reader, const struct g4_texture *texture, uint32_t x0,
                               uint32_t y0, uint32_t x, uint32_t y) {
    const uint32_t bytes = texture->bits / 8;
    const uint32_t column = g4_block_number(&texture->block_columns, x);
    const uint32_t row = g4_block_number(&texture->block_rows, y);
    const g4_address address = g4_texel_address(texture, (x0 + column + texture->x_offset) * bytes, y0 + row);
    const uint32_t inner_x = x - column * texture->block_columns.size;
    const uint32_t inner_y = y - row * texture->block_rows.size;
    const uint32_t part = inner_x / 4 + inner_y / 4 * texture->parts_across;
    if (reader->log) { /* blocks in the cache are read, too */
        g4_texel_block_slot(reader, address, part)->tag = 0;
    }
    return g4_texel_block_at(reader, texture, address, part)->texel[4 * (inner_y & 3) + (inner_x & 3)];
}

/* ---- all of them ---- */

static void read_compressed(struct g4_texel_reader *reader, const struct g4_texture *texture,
                            const struct g4_texel_place *place, struct g4_texel_key *key, uint32_t out[4]) {
    const float *const color = g4_texel_in_block(reader, texture, place->x0, place->y0, place->x, place->y);
    memcpy(out, color, 4 * sizeof *out);
    if (key && key->enable) {
        apply_key(key, color_matches(texture, color, key), false, out);
    }
}

void g4_texel_read(struct g4_texel_reader *reader, const struct g4_texture *texture, const struct g4_texel_place *place,
                   struct g4_texel_key *key, uint32_t out[4]) {
    const struct g4_format *const format = texture->format;
    uint8_t bytes[BUFFER];

    if (reader->log) {
        reader->log->next.x = place->x;
        reader->log->next.y = place->y;
    }
    if (texture->fetch == G4_FETCH_BLOCK) {
        read_compressed(reader, texture, place, key, out);
        return;
    }
    if (format->encoding == G4_ENCODING_YUV_422) {
        const struct yuv yuv = read_yuv(reader, texture, place);
        out[0] = g4_hw_bits((float)yuv.cr2 / 510.0f);
        out[1] = unorm(yuv.y, 8);
        out[2] = g4_hw_bits((float)yuv.cb2 / 510.0f);
        out[3] = G4_ONE;
        if (key && key->enable) {
            apply_key(key, yuv_matches(&yuv, key), true, out);
        }
        return;
    }
    read_plain(reader, texture, place, bytes);
    plain_color(reader, format, bytes, out);
    if (key && key->enable && !format->palette) {
        apply_key(key, plain_matches(format, bytes, key), false, out);
    }
}

void g4_texel_read_entry(struct g4_texel_reader *reader, const struct g4_texture *texture, uint32_t index,
                         uint32_t out[4]) {
    const uint32_t bits = texture->bits;
    const g4_address address = texture->surface.base + index * texture->surface.pitch;
    uint8_t bytes[BUFFER] = {0};

    if (reader->log) {
        reader->log->next.x = index;
    }
    read_bytes(reader, address, bytes, bits >= 8 ? bits / 8 : 1);
    plain_color(reader, texture->format, bytes, out);
}
