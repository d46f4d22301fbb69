/*
 * Object setup: fixed-point geometry and the setup thread's payload (G45 PRM vol. 2, 7.3).
 *
 * The steps, in order: 1 drop NaNs, 2 viewport transform, 3 destination bias, 4 point rule, 5 drawing rectangle origin,
 * 6 point width, 7 fourth corner of rectangles, 8 quantise, 9 drop degenerate objects, 10 cull, 11 scissor.
 */
#ifndef G4_SETUP_H
#define G4_SETUP_H

#include "core/draw_state.h"
#include "core/util.h"
#include "geometry/object.h"
#include "hw_messages.h"

enum {
    G4_SUB_PIXEL_BITS = 8,
    G4_ONE_PIXEL = 1 << G4_SUB_PIXEL_BITS,
};

/* The first pixel whose sample point is not left of or above a fixed-point coordinate. */
static inline int32_t g4_ceil_pixel(int32_t v) {
    return (v + G4_ONE_PIXEL - 1) >> G4_SUB_PIXEL_BITS;
}

/* Facts that all objects of a draw share. */
struct g4_sf_frame {
    const struct g4_setup_state *state;
    const struct g4_viewport *viewport; /* G4_VIEWPORTS */
    float bias_x, bias_y;
    float origin_x, origin_y;
    int32_t pixel_origin_x, pixel_origin_y;
    int32_t x_min, y_min, x_max, y_max; /* clipped drawing rectangle, inclusive */
    int32_t limit;                      /* of coordinates, pixels */
    int32_t sample_area; /* half the width of the square around a pixel's location that has its samples, 1/256 pixel */
    float line_width;
    float line_cap; /* end cap region of AA lines, pixels */
    bool legacy_diamonds;
    bool keep_lines; /* line stipple is on: lines that draw nothing still count */
};

/* The setup thread's payload, without the parts that all stages have. */
struct g4_sf_payload {
    struct g4_payload_sf_r1 r1;
    struct g4_payload_sf_r2 r2;
    const struct g4_vertex *v[3];
    uint32_t vertices;
};

void g4_sf_frame_begin(struct g4_sf_frame *frame, const struct g4_draw_state *draw);

/* Steps 1 to 8 for shared vertices: compute screen_x, screen_y, screen_z and position. */
void g4_sf_transform(const struct g4_sf_frame *frame, struct g4_vertex *vertex, uint32_t count);

/* False if the object is dropped. */
bool g4_sf_setup(const struct g4_sf_frame *frame, const struct g4_object *object, struct g4_setup *setup,
                 struct g4_sf_payload *payload);

/* Reasons of g4_sf_setup to drop an object. */
enum g4_dropped {
    G4_DROPPED_NOT_A_NUMBER,
    G4_DROPPED_DEGENERATE, /* without area or length */
    G4_DROPPED_CULLED,     /* by the cull mode */
    G4_DROPPED_OUTSIDE,    /* of scissor and drawing rectangle, or between the pixels */
};

enum g4_dropped g4_sf_why_dropped(const struct g4_sf_frame *frame, const struct g4_object *object,
                                  const struct g4_setup *setup);

static inline bool g4_setup_is_empty(const struct g4_setup *setup) {
    return setup->x_min > setup->x_max || setup->y_min > setup->y_max;
}

/* Nearest 1/256 (or 1/16, scaled up) of a pixel, ties up, clamped to [-limit, limit)
 * (docs/decisions.md 7 and 10). */
static inline int32_t g4_sf_quantise(const struct g4_sf_frame *frame, double v) {
    const int32_t scale = frame->state->coarse_positions ? 16 : G4_ONE_PIXEL;
    const int32_t limit = frame->limit * scale;
    double q = v * scale + 0.5;

    q = q > -limit ? q : -limit;
    q = q < limit - 1 ? q : limit - 1;
    int32_t n = (int32_t)q;
    n -= n > q; /* the conversion rounds toward zero */
    return n * (G4_ONE_PIXEL / scale);
}

/* Clamp a quantised coordinate to these limits. */
static inline int32_t g4_sf_clamp(const struct g4_sf_frame *frame, int32_t v) {
    const int32_t limit = frame->limit * G4_ONE_PIXEL;
    return v < -limit ? -limit : v > limit - 1 ? limit - 1 : v;
}

#endif
