#include "sampler/sample_unorm.h"

#include <math.h>

enum {
    WEIGHTS = 256,           /* steps of a weight */
    MOST_POSITION = 1 << 20, /* samples; far outside of every surface */
    ONE = 0xffff,
};

/* A position in one direction: two samples, and the weight of the second one. */
struct unorm_position {
    int32_t sample[2];
    uint32_t weight;
};

static int32_t addressed(int32_t sample, enum g4_unorm_address mode, uint32_t size) {
    const int32_t length = (int32_t)size;
    const int32_t period = mode == G4_UNORM_MIRROR ? 2 * length : length;
    int32_t at = sample % period;

    if (mode == G4_UNORM_CLAMP) {
        return sample < 0 ? 0 : sample < length ? sample : length - 1;
    }
    at += at < 0 ? period : 0;
    return at < length ? at : period - 1 - at;
}

/* Sample centers are at halves, in planes of any size. */
static struct unorm_position position_of(float normalized, uint32_t size, bool linear, enum g4_unorm_address mode) {
    const float limit = (float)MOST_POSITION;
    float samples = normalized * (float)size - (linear ? 0.5f : 0.0f);

    samples = samples > -limit ? samples : -limit; /* also of NaN */
    samples = samples < limit ? samples : limit;
    const int64_t fixed = (int64_t)floorf(samples * WEIGHTS + (linear ? 0.5f : 0.0f));
    const int32_t first = (int32_t)(fixed >> 8);
    return (struct unorm_position){
        .sample = {addressed(first, mode, size), addressed(first + 1, mode, size)},
        .weight = linear ? (uint32_t)(fixed & (WEIGHTS - 1)) : 0,
    };
}

static uint32_t read(const struct g4_media_image *image, struct g4_port *port, enum g4_media_channel channel, int32_t x,
                     int32_t y) {
    uint16_t code;
    g4_media_image_read_wide(image, port, channel, x, y, 1, &code);
    return code;
}

/* The mean of four samples with 16 bits of weight, rounded once. */
static uint16_t mean(const struct g4_media_image *image, struct g4_port *port, enum g4_media_channel channel,
                     const struct unorm_position *x, const struct unorm_position *y) {
    const uint64_t most = (1u << image->bits) - 1;
    const uint64_t unit = (uint64_t)WEIGHTS * WEIGHTS * most;
    uint64_t sum = 0;

    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < 2; i++) {
            const uint32_t weight = (i ? x->weight : WEIGHTS - x->weight) * (j ? y->weight : WEIGHTS - y->weight);
            sum += weight ? (uint64_t)weight * read(image, port, channel, x->sample[i], y->sample[j]) : 0;
        }
    }
    return (uint16_t)((sum * ONE + unit / 2) / unit);
}

void g4_sample_unorm(const struct g4_unorm_filter *filter, const struct g4_media_image *image, struct g4_port *port,
                     enum g4_media_channel channel, const struct g4_unorm_block *block,
                     uint16_t out[G4_UNORM_ROWS][G4_UNORM_COLUMNS]) {
    const struct g4_media_plane *const plane = &image->plane[channel];
    const bool exists = image->present && plane->step;

    for (int j = 0; j < G4_UNORM_ROWS; j++) {
        for (int i = 0; i < G4_UNORM_COLUMNS; i++) {
            if (!exists) {
                out[j][i] = channel == G4_MEDIA_ALPHA ? ONE : 0;
                continue;
            }
            const struct unorm_position x =
                position_of(block->u + (float)i * block->du, plane->width, filter->linear, filter->address[0]);
            const struct unorm_position y =
                position_of(block->v + (float)j * block->dv, plane->height, filter->linear, filter->address[1]);
            out[j][i] = mean(image, port, channel, &x, &y);
        }
    }
}
