/*
 * Samples of the surfaces of media messages.
 */
#include "sampler/media_image.h"

#include <string.h>

static uint32_t clamp(int32_t value, uint32_t size) {
    return value < 0 ? 0 : (uint32_t)value < size ? (uint32_t)value : size - 1;
}

/* The number of bytes from a column on that are contiguous in memory and in one page. */
static uint32_t contiguous(enum g4_tiling tiling, uint32_t column, g4_address address) {
    const uint32_t page = G4_PAGE_SIZE - (address & G4_PAGE_OFFSET);
    const uint32_t tile = tiling == G4_TILING_X   ? 512 - (column & 511)
                          : tiling == G4_TILING_Y ? 16 - (column & 15)
                                                  : page;
    return tile < page ? tile : page;
}

static g4_address address_of(const struct g4_media_image *image, const struct g4_media_plane *plane, uint32_t x,
                             uint32_t row) {
    return image->base + (uint32_t)g4_surface_offset(image->tiling, plane->pitch, plane->x0 + x * plane->step, row);
}

/* Samples that are bits of dwords, widened to those of the surface: codes of all ones stay codes of all ones. */
static uint16_t read_bits(const struct g4_media_image *image, struct g4_port *port, const struct g4_media_plane *plane,
                          uint32_t column, uint32_t row) {
    const uint32_t most = (1u << plane->bits) - 1;
    uint32_t dword;

    (void)g4_mem_read(port, address_of(image, plane, column, row), &dword, sizeof dword);
    return (uint16_t)((dword >> plane->shift & most) * ((1u << image->bits) - 1) / most);
}

void g4_media_image_read_wide(const struct g4_media_image *image, struct g4_port *port, enum g4_media_channel channel,
                              int32_t x, int32_t y, uint32_t count, uint16_t *out) {
    const struct g4_media_plane *const plane = &image->plane[channel];
    uint8_t bytes[64];

    if (image->present && plane->bits) {
        const uint32_t row = plane->y0 + clamp(y, plane->height) * image->row_step + image->first_row;
        for (uint32_t i = 0; i < count; i++) {
            out[i] = read_bits(image, port, plane, clamp(x + (int32_t)i, plane->width), row);
        }
        return;
    }
    for (uint32_t i = 0; i < count;) {
        const uint32_t run = count - i < sizeof bytes ? count - i : (uint32_t)sizeof bytes;
        g4_media_image_read(image, port, channel, x + (int32_t)i, y, run, bytes);
        for (uint32_t k = 0; k < run; k++) {
            out[i++] = bytes[k];
        }
    }
}

void g4_media_image_read(const struct g4_media_image *image, struct g4_port *port, enum g4_media_channel channel,
                         int32_t x, int32_t y, uint32_t count, uint8_t *out) {
    const struct g4_media_plane *const plane = &image->plane[channel];

    if (!image->present || !plane->step) {
        memset(out, 0, count);
        return;
    }
    const uint32_t row = plane->y0 + clamp(y, plane->height) * image->row_step + image->first_row;
    for (uint32_t i = 0; plane->bits && i < count; i++) {
        out[i] =
            (uint8_t)(read_bits(image, port, plane, clamp(x + (int32_t)i, plane->width), row) >> (image->bits - 8));
    }
    for (uint32_t i = plane->bits ? count : 0; i < count;) {
        const int32_t at = x + (int32_t)i;
        const uint32_t column = clamp(at, plane->width);
        const g4_address address = address_of(image, plane, column, row);
        uint32_t run = 1;
        if (plane->step == 1 && column == (uint32_t)at) {
            const uint32_t bytes = contiguous(image->tiling, plane->x0 + column, address);
            const uint32_t left = plane->width - column;
            run = count - i;
            run = run < bytes ? run : bytes;
            run = run < left ? run : left;
        }
        memcpy(out + i, g4_mem_read_ptr(port, address), run);
        i += run;
    }
}

static void write_byte(struct g4_port *port, g4_address address, uint8_t byte) {
    uint8_t *const place = g4_mem_write_ptr(port, address);
    if (place) {
        *place = byte;
    }
}

/* With an odd pitch, the two bytes of a sample may be in different pages. */
static void write_sample(const struct g4_media_image *image, struct g4_port *port, g4_address address, uint8_t sample) {
    if (image->doubled) {
        write_byte(port, address - 1, 0);
    }
    write_byte(port, address, sample);
}

void g4_media_image_write(const struct g4_media_image *image, struct g4_port *port, enum g4_media_channel channel,
                          int32_t x, int32_t y, uint32_t count, const uint8_t *samples) {
    const struct g4_media_plane *const plane = &image->plane[channel];

    if (!image->present || !plane->step || plane->bits || x < 0 || y < 0 || (uint32_t)y >= plane->height ||
        (uint32_t)x >= plane->width) {
        return;
    }
    const uint32_t row = plane->y0 + (uint32_t)y * image->row_step + image->first_row;
    const uint32_t column = (uint32_t)x;
    const uint32_t inside = plane->width - column < count ? plane->width - column : count;
    for (uint32_t i = 0; i < inside;) {
        const g4_address address = address_of(image, plane, column + i, row);
        if (plane->step != 1) {
            write_sample(image, port, address, samples[i++]);
            continue;
        }
        const uint32_t bytes = contiguous(image->tiling, plane->x0 + column + i, address);
        const uint32_t run = inside - i < bytes ? inside - i : bytes;
        uint8_t *const place = g4_mem_write_ptr(port, address);
        if (place) {
            memcpy(place, samples + i, run);
        }
        i += run;
    }
}
