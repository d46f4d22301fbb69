/*
 * The depth plane of an object, and the global depth offset (G45 PRM vol. 2, 8.4.1 and 8.4.2).
 */
#include <math.h>
#include <string.h>

#include "hw_messages.h"
#include "raster/windower_state.h"

void g4_depth_offset_begin(struct g4_depth_offset *offset, const struct g4_draw_state *draw) {
    const struct g4_depth_bias *const bias = &draw->depth_bias;
    const bool is_float =
        bias->format == G4_DEPTH_FORMAT_D32_FLOAT || bias->format == G4_DEPTH_FORMAT_D32_FLOAT_S8X24_UINT;
    const bool is_16 = bias->format == G4_DEPTH_FORMAT_D16_UNORM;
    *offset = (struct g4_depth_offset){
        .constant = bias->constant,
        .scale = bias->scale,
        .clamp = bias->clamp,
        .unit = bias->legacy_unit ? 1.0f
                : is_float        ? 0.0f
                : is_16           ? 1.0f / 65535.0f
                                  : 1.0f / 16777215.0f,
    };
}

/* 2^(exponent of the largest depth - 23): the last place of a float of that size. */
static float last_place(const float z[3]) {
    float largest = 0.0f;
    int exponent = 0;
    for (int i = 0; i < 3; i++) {
        const float size = fabsf(z[i]);
        largest = size > largest ? size : largest;
    }
    if (isinf(largest)) {
        return INFINITY;
    }
    (void)frexpf(largest, &exponent);
    return ldexpf(1.0f, exponent - 1 - 23);
}

float g4_depth_offset_of(const struct g4_depth_offset *offset, float cx, float cy, const float z[3]) {
    const float across = fabsf(cx);
    const float down = fabsf(cy);
    const float slope = across > down ? across : down;
    const float unit = offset->unit != 0.0f ? offset->unit : last_place(z);
    float bias = offset->constant * unit + offset->scale * slope;

    if (offset->clamp > 0.0f) {
        bias = offset->clamp < bias ? offset->clamp : bias;
    } else if (offset->clamp < 0.0f) {
        bias = offset->clamp > bias ? offset->clamp : bias;
    }
    return bias;
}

/* The depth that a fast clear writes, from its bits in the format of the buffer. */
static float clear_depth(const struct g4_draw_state *draw) {
    const uint32_t bits = draw->hierarchical_depth.clear_bits;
    float value;

    switch (draw->depth_buffer.format) {
    case G4_DEPTH_FORMAT_D24_UNORM_X8_UINT:
        return (float)(bits / 16777215.0); /* which becomes the same bits */
    case G4_DEPTH_FORMAT_D16_UNORM:
        return (float)(bits / 65535.0);
    default:
        memcpy(&value, &bits, sizeof value);
        return value;
    }
}

void g4_wm_plane(const struct g4_wm *wm, const struct g4_setup *setup, struct g4_plane *plane) {
    const uint32_t row = wm->draw->windower.depth_row;
    struct g4_attribute_coefficients z = {0};

    if (wm->draw->hierarchical_depth.clear) {
        *plane = (struct g4_plane){.c0 = clear_depth(wm->draw)};
        return;
    }
    if (setup->planes) {
        const struct g4_screen_plane *const p = &setup->planes->z;
        *plane = (struct g4_plane){.cx = p->cx, .cy = p->cy, .c0 = p->c};
        if (setup->planes->has_depth_offset) {
            plane->c0 +=
                g4_depth_offset_of(&wm->offset, setup->planes->depth_slope[0], setup->planes->depth_slope[1], setup->z);
        }
        return;
    }
    if (row < setup->entry_rows) {
        g4_attribute_coefficients_unpack(setup->entry[row], wm->ctx->gen, &z);
    }
    if (wm->draw->depth_bias.enable && setup->type == G4_OBJECT_TRIANGLE) {
        z.c0 += g4_depth_offset_of(&wm->offset, z.cx, z.cy, setup->z);
    }
    *plane = (struct g4_plane){z.cx, z.cy, z.c0, setup->x_start, setup->y_start};
}
