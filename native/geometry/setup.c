#include "geometry/setup.h"

#include <math.h>

#include "geometry/lines.h"
#include "geometry/vertex_vectors.h"

enum {
    LIMIT = 8192, /* pixels */
    WIDE_LIMIT = 32768,
};

void g4_sf_frame_begin(struct g4_sf_frame *frame, const struct g4_draw_state *draw) {
    const struct g4_drawing_rectangle *const rectangle = &draw->drawing_rectangle;
    const struct g4_setup_state *const state = &draw->setup;

    *frame = (struct g4_sf_frame){
        .state = state,
        .viewport = draw->viewport,
        .bias_x = state->bias_x,
        .bias_y = state->bias_y,
        .origin_x = (float)rectangle->origin_x,
        .origin_y = (float)rectangle->origin_y,
        .pixel_origin_x = rectangle->origin_x,
        .pixel_origin_y = rectangle->origin_y,
        .x_min = rectangle->x_min,
        .y_min = rectangle->y_min,
        .x_max = rectangle->x_max,
        .y_max = rectangle->y_max,
        .limit = state->wide_range ? WIDE_LIMIT : LIMIT,
        .sample_area = draw->multisampling.samples > 1 && draw->multisampling.pattern ? G4_ONE_PIXEL / 2 : 0,
        .line_width = state->line_width,
        .line_cap = state->line_cap_region,
        .legacy_diamonds = state->legacy_diamonds,
        .keep_lines = draw->windower.line_stipple,
    };
}

/* The screen position of a vertex. */
struct screen_position {
    float x, y, z;
};

/* Steps 1 to 5.  False if a NaN drops the object. */
static bool transform(const struct g4_sf_frame *frame, const struct g4_vertex *v, const struct g4_viewport *m,
                      struct screen_position *out) {
    if (isnan(v->x) || isnan(v->y) || isnan(v->z) || isnan(v->rhw)) {
        return false;
    }
    float x = v->x;
    float y = v->y;
    float z = v->z;
    if (frame->state->viewport_transform) { /* multiply, then add (docs/decisions.md 8) */
        x = x * m->m00;
        y = y * m->m11;
        z = z * m->m22;
        x = x + m->m30;
        y = y + m->m31;
        z = z + m->m32;
        if (isnan(x) || isnan(y) || isnan(z)) {
            return false;
        }
    }
    x = x - frame->bias_x;
    y = y - frame->bias_y;
    *out = (struct screen_position){x + frame->origin_x, y + frame->origin_y, z};
    return true;
}

/* The viewport transforms of four vertices. */
struct four_viewports {
    uint32_t all; /* their common viewport; above 15 if they differ */
    g4_float4 m00, m11, m22, m30, m31, m32;
};

static void find_viewports(const struct g4_sf_frame *frame, const struct g4_vertex *vertex, uint32_t count,
                           struct four_viewports *m) {
    uint32_t index[G4_VECTOR_VERTICES];
    for (uint32_t i = 0; i < G4_VECTOR_VERTICES; i++) {
        index[i] = vertex[i < count ? i : 0].viewport & 15;
    }
    const bool same = index[0] == index[1] && index[0] == index[2] && index[0] == index[3];
    if (same && index[0] == m->all) {
        return;
    }
    for (uint32_t i = 0; i < G4_VECTOR_VERTICES; i++) {
        const struct g4_viewport *const from = &frame->viewport[index[i]];
        m->m00[i] = from->m00;
        m->m11[i] = from->m11;
        m->m22[i] = from->m22;
        m->m30[i] = from->m30;
        m->m31[i] = from->m31;
        m->m32[i] = from->m32;
    }
    m->all = same ? index[0] : UINT32_MAX;
}

static g4_float4 four_of(g4_int4 where, g4_float4 a, g4_float4 b) {
    return (g4_float4)((where & (g4_int4)a) | (~where & (g4_int4)b));
}

/* g4_sf_quantise in single precision, which is exact within the limits. */
static g4_int4 quantise_four(const struct g4_sf_frame *frame, g4_float4 v) {
    const int32_t scale = frame->state->coarse_positions ? 16 : G4_ONE_PIXEL;
    const g4_float4 low = g4_float4_all((float)(-frame->limit * scale));
    const g4_float4 high = g4_float4_all((float)(frame->limit * scale - 1));
    g4_float4 t = v * (float)scale;

    t = four_of(t > low, t, low); /* also for NaNs */
    t = four_of(t < high, t, high);
    g4_int4 n = __builtin_convertvector(t, g4_int4);
    n += __builtin_convertvector(n, g4_float4) > t; /* the conversion rounds toward zero */
    n -= t - __builtin_convertvector(n, g4_float4) >= 0.5f;
    return n * (G4_ONE_PIXEL / scale);
}

void g4_sf_transform(const struct g4_sf_frame *frame, struct g4_vertex *vertex, uint32_t count) {
    struct four_viewports m = {.all = UINT32_MAX};

    for (uint32_t first = 0; first < count; first += G4_VECTOR_VERTICES) {
        const uint32_t some = count - first < G4_VECTOR_VERTICES ? count - first : G4_VECTOR_VERTICES;
        struct g4_positions p;
        g4_positions_load(vertex + first, some, &p);
        g4_int4 nan = g4_float4_is_nan(p.x) | g4_float4_is_nan(p.y) | g4_float4_is_nan(p.z) | g4_float4_is_nan(p.rhw);
        if (frame->state->viewport_transform) { /* as in `transform` */
            find_viewports(frame, vertex + first, some, &m);
            p.x = p.x * m.m00;
            p.y = p.y * m.m11;
            p.z = p.z * m.m22;
            p.x = p.x + m.m30;
            p.y = p.y + m.m31;
            p.z = p.z + m.m32;
            nan |= g4_float4_is_nan(p.x) | g4_float4_is_nan(p.y) | g4_float4_is_nan(p.z);
        }
        const g4_int4 x = quantise_four(frame, p.x - frame->bias_x + frame->origin_x);
        const g4_int4 y = quantise_four(frame, p.y - frame->bias_y + frame->origin_y);
        for (uint32_t i = 0; i < some; i++) {
            struct g4_vertex *const v = &vertex[first + i];
            v->screen_x = x[i];
            v->screen_y = y[i];
            v->screen_z = p.z[i];
            v->position = nan[i] ? G4_VERTEX_NAN : G4_VERTEX_TRANSFORMED;
        }
    }
}

/* The corners of an object as SF sees them: quantised, z after the viewport transform. */
struct corners {
    int32_t x[4], y[4];
    float z[3];
};

/* Fast path: a triangle whose vertices are transformed, by one viewport. */
static inline bool known_corners(const struct g4_vertex *const v[3], struct corners *out) {
    const bool known = (v[0]->position & v[1]->position & v[2]->position) == G4_VERTEX_TRANSFORMED;
    if (!known || v[0]->viewport != v[1]->viewport || v[0]->viewport != v[2]->viewport) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        out->x[i] = v[i]->screen_x;
        out->y[i] = v[i]->screen_y;
        out->z[i] = v[i]->screen_z;
    }
    return true;
}

/* False if a NaN drops the object.  All vertices are transformed by the viewport of the first one. */
static bool find_corners(const struct g4_sf_frame *frame, const struct g4_object *object, uint8_t viewport,
                         struct corners *out) {
    for (uint32_t i = 0; i < object->vertices && i < 3; i++) {
        const struct g4_vertex *const v = object->v[i];
        if (v->position != G4_VERTEX_UNTRANSFORMED && v->viewport == viewport) {
            if (v->position == G4_VERTEX_NAN) {
                return false;
            }
            out->x[i] = v->screen_x;
            out->y[i] = v->screen_y;
            out->z[i] = v->screen_z;
            continue;
        }
        struct screen_position position;
        if (!transform(frame, v, &frame->viewport[viewport], &position)) {
            return false;
        }
        out->x[i] = g4_sf_quantise(frame, position.x);
        out->y[i] = g4_sf_quantise(frame, position.y);
        out->z[i] = position.z;
    }
    return true;
}

/* Pixels of a shape that includes its left and top, not its right and bottom. */
static void bounds(const struct g4_sf_frame *frame, struct g4_setup *s) {
    const int32_t area = frame->sample_area;
    const int32_t *const x = s->x;
    const int32_t *const y = s->y;
    const int last = s->corners - 1; /* 2 or 3 */
    s->x_min = g4_ceil_pixel(g4_min_s32(g4_min_s32(x[0], x[1]), g4_min_s32(x[2], x[last])) - area);
    s->y_min = g4_ceil_pixel(g4_min_s32(g4_min_s32(y[0], y[1]), g4_min_s32(y[2], y[last])) - area);
    s->x_max = g4_ceil_pixel(g4_max_s32(g4_max_s32(x[0], x[1]), g4_max_s32(x[2], x[last])) + area) - 1;
    s->y_max = g4_ceil_pixel(g4_max_s32(g4_max_s32(y[0], y[1]), g4_max_s32(y[2], y[last])) + area) - 1;
}

/* Pixels whose squares the shape touches. */
static void conservative_bounds(struct g4_setup *s) {
    enum {
        HALF = G4_ONE_PIXEL / 2
    };
    const int32_t *const x = s->x;
    const int32_t *const y = s->y;
    s->x_min = g4_ceil_pixel(g4_min_s32(g4_min_s32(x[0], x[1]), x[2]) - HALF);
    s->y_min = g4_ceil_pixel(g4_min_s32(g4_min_s32(y[0], y[1]), y[2]) - HALF);
    s->x_max = (g4_max_s32(g4_max_s32(x[0], x[1]), x[2]) + HALF) >> G4_SUB_PIXEL_BITS;
    s->y_max = (g4_max_s32(g4_max_s32(y[0], y[1]), y[2]) + HALF) >> G4_SUB_PIXEL_BITS;
}

/* Step 11: scissor and drawing rectangle. */
static void clip_bounds(const struct g4_sf_frame *frame, struct g4_setup *s) {
    s->x_min = g4_max_s32(s->x_min, frame->x_min);
    s->y_min = g4_max_s32(s->y_min, frame->y_min);
    s->x_max = g4_min_s32(s->x_max, frame->x_max);
    s->y_max = g4_min_s32(s->y_max, frame->y_max);
    if (frame->state->scissor) {
        const struct g4_viewport *const m = &frame->viewport[s->viewport];
        s->x_min = g4_max_s32(s->x_min, m->scissor_x_min + frame->pixel_origin_x);
        s->y_min = g4_max_s32(s->y_min, m->scissor_y_min + frame->pixel_origin_y);
        s->x_max = g4_min_s32(s->x_max, m->scissor_x_max + frame->pixel_origin_x);
        s->y_max = g4_min_s32(s->y_max, m->scissor_y_max + frame->pixel_origin_y);
    }
}

/* The exact determinant (docs/decisions.md 7), in 1/65536 square pixels. */
static int64_t determinant(const int32_t x[3], const int32_t y[3]) {
    return ((int64_t)x[1] - x[0]) * ((int64_t)y[2] - y[0]) - ((int64_t)x[2] - x[0]) * ((int64_t)y[1] - y[0]);
}

/* Exact: positions have 22 bits, their differences 23. */
static float pixels(int32_t v) {
    return (float)v * (1.0f / G4_ONE_PIXEL);
}

static void payload_deltas(const int32_t x[3], const int32_t y[3], int64_t det, struct g4_payload_sf_r1 *r1) {
    r1->dx0 = pixels(x[1] - x[0]);
    r1->dy0 = pixels(y[1] - y[0]);
    r1->dx2 = pixels(x[2] - x[0]);
    r1->dy2 = pixels(y[2] - y[0]);
    r1->determinant = (float)((double)det * (1.0 / (G4_ONE_PIXEL * G4_ONE_PIXEL)));
}

/* Step 10. */
static bool is_culled(const struct g4_sf_frame *frame, bool back_facing) {
    switch (frame->state->cull_mode) {
    case G4_CULL_MODE_NONE:
        return false;
    case G4_CULL_MODE_FRONT:
        return !back_facing;
    case G4_CULL_MODE_BACK:
        return back_facing;
    default:
        return true;
    }
}

/* The topmost, then leftmost of the first n. */
static int first_vertex(const int32_t *x, const int32_t *y, int n) {
    int64_t least = y[0] * INT64_C(0x100000000) + x[0];
    int first = 0;
    for (int i = 1; i < n; i++) {
        const int64_t position = y[i] * INT64_C(0x100000000) + x[i];
        first = position < least ? i : first;
        least = position < least ? position : least;
    }
    return first;
}

/* The corners that become V0, V1, V2 (G45 PRM vol. 2, 7.5.1.1): by direction and first vertex. */
static const int orders[2][3][3] = {
    {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}},
    {{0, 2, 1}, {1, 0, 2}, {2, 1, 0}},
};

static void payload_vertices(const struct g4_object *object, const float *corner_z, const int order[3], int n,
                             struct g4_setup *setup, struct g4_sf_payload *payload) {
    float w[3] = {0};
    float z[3] = {0};
    payload->vertices = (uint32_t)n;
    for (int i = 0; i < n; i++) {
        const struct g4_vertex *const v = object->v[order[i]];
        payload->v[i] = v;
        z[i] = corner_z[order[i]];
        w[i] = v->rhw;
        payload->r1.provoking_vertex = order[i] == object->provoking ? (uint32_t)i : payload->r1.provoking_vertex;
    }
    for (int i = 0; i < 3; i++) {
        setup->z[i] = z[i];
    }
    payload->r2 = (struct g4_payload_sf_r2){z[0], w[0], z[1], w[1], z[2], w[2]};
}

static bool is_upright(const int32_t x[4], const int32_t y[4]) {
    return (x[0] == x[1] && y[1] == y[2] && x[2] == x[3] && y[3] == y[0]) ||
           (y[0] == y[1] && x[1] == x[2] && y[2] == y[3] && x[3] == x[0]);
}

static bool setup_triangle(const struct g4_sf_frame *frame, const struct g4_object *object, struct g4_setup *setup,
                           struct g4_sf_payload *payload) {
    const bool rectangle = object->type == G4_OBJECT_RECTANGLE;
    struct corners c;
    if (!known_corners(object->v, &c) && !find_corners(frame, object, setup->viewport, &c)) {
        return false;
    }
    int32_t *const x = c.x;
    int32_t *const y = c.y;
    const int64_t det = determinant(x, y);
    if (det == 0) {
        return false;
    }
    if (!rectangle) {
        const bool clockwise = (det > 0) != object->invert_orientation;
        const uint32_t orientation = clockwise ? G4_FRONT_WINDING_CW : G4_FRONT_WINDING_CCW;
        setup->back_facing = orientation != frame->state->front_winding;
        if (is_culled(frame, setup->back_facing)) {
            return false;
        }
    }
    const int *const order = orders[object->invert_orientation][first_vertex(x, y, 3)];
    for (int i = 0; i < 3; i++) {
        setup->x[i] = x[order[i]];
        setup->y[i] = y[order[i]];
    }
    payload_deltas(setup->x, setup->y, object->invert_orientation ? -det : det, &payload->r1);
    payload_vertices(object, c.z, order, 3, setup, payload);
    setup->x_start = pixels(setup->x[0]);
    setup->y_start = pixels(setup->y[0]);
    setup->corners = 3;
    if (rectangle) { /* step 7: the implied corner lies opposite the object's second vertex */
        x[3] = g4_sf_clamp(frame, x[0] - x[1] + x[2]);
        y[3] = g4_sf_clamp(frame, y[0] - y[1] + y[2]);
        memcpy(setup->x, x, sizeof setup->x);
        memcpy(setup->y, y, sizeof setup->y);
        setup->corners = 4;
        setup->fills_box = is_upright(x, y);
    }
    setup->conservative = frame->state->conservative && !rectangle;
    if (setup->conservative) {
        conservative_bounds(setup);
    } else {
        bounds(frame, setup);
    }
    return true;
}

static bool setup_line(const struct g4_sf_frame *frame, const struct g4_object *object, struct g4_setup *setup,
                       struct g4_sf_payload *payload) {
    int order[3] = {0, 1, 0};
    struct corners c;

    if (!find_corners(frame, object, setup->viewport, &c)) {
        setup->x_max = setup->x_min - 1;
        return frame->keep_lines;
    }
    memcpy(setup->x, c.x, 2 * sizeof setup->x[0]);
    memcpy(setup->y, c.y, 2 * sizeof setup->y[0]);
    const int first = first_vertex(setup->x, setup->y, 2);
    order[0] = first;
    order[1] = 1 - first;
    const int64_t dx = (int64_t)setup->x[order[1]] - setup->x[first];
    const int64_t dy = (int64_t)setup->y[order[1]] - setup->y[first];
    setup->x_start = pixels(setup->x[first]);
    setup->y_start = pixels(setup->y[first]);
    payload->r1.dx0 = pixels((int32_t)dx);
    payload->r1.dy0 = pixels((int32_t)dy);
    payload->r1.dx2 = 0;
    payload->r1.dy2 = 0;
    payload->r1.determinant = (float)((double)(dx * dx + dy * dy) / (G4_ONE_PIXEL * G4_ONE_PIXEL));
    payload_vertices(object, c.z, order, 2, setup, payload);
    if (dx == 0 && dy == 0) {
        /* not drawn, but it may restart the stipple */
        setup->x_max = setup->x_min - 1;
        return frame->keep_lines;
    }
    const bool rectangle = frame->state->line_rectangles;
    setup->line.width = rectangle && frame->line_width == 0.0f ? 1.0f : frame->line_width;
    setup->cosmetic = frame->line_width == 0.0f && !rectangle;
    setup->antialias = frame->state->line_antialiasing && !setup->cosmetic && !rectangle;
    setup->last_pixel = frame->state->line_last_pixel &&
                        (object->topology == G4_PRIMITIVE_TOPOLOGY_LINELIST || object->last_of_primitive);
    g4_line_setup(frame, setup);
    if (!setup->cosmetic) {
        bounds(frame, setup);
    }
    return true;
}

static bool setup_point(const struct g4_sf_frame *frame, const struct g4_object *object, struct g4_setup *setup,
                        struct g4_sf_payload *payload) {
    const struct g4_setup_state *const state = frame->state;
    struct screen_position position;

    if (!transform(frame, object->v[0], &frame->viewport[setup->viewport], &position)) {
        return false;
    }
    const uint32_t width_u8_3 = state->point_width_from_vertex ? object->v[0]->point_width : state->point_width_u8_3;
    const double half = (double)width_u8_3 / 16.0;
    const int32_t left = g4_sf_quantise(frame, position.x - half);
    const int32_t right = g4_sf_quantise(frame, position.x + half);
    const int32_t top = g4_sf_quantise(frame, position.y - half);
    const int32_t bottom = g4_sf_quantise(frame, position.y + half);
    static const int order[3] = {0};

    if (left == right || top == bottom) {
        return false;
    }
    const int32_t x[4] = {left, right, left, right}; /* UL, LR, LL; the fourth only completes the box */
    const int32_t y[4] = {top, bottom, bottom, top};
    payload_deltas(x, y, determinant(x, y), &payload->r1);
    payload_vertices(object, &position.z, order, 1, setup, payload);
    const struct g4_payload_sf_r2 *const c = &payload->r2;
    payload->r2 = (struct g4_payload_sf_r2){c->z0, c->inverse_w0, c->z0, c->inverse_w0, c->z0, c->inverse_w0};
    setup->x_start = pixels(left);
    setup->y_start = pixels(top);
    memcpy(setup->x, x, sizeof setup->x);
    memcpy(setup->y, y, sizeof setup->y);
    setup->corners = 4;
    setup->fills_box = true;
    bounds(frame, setup);
    if (state->point_rule == G4_POINT_RASTERIZATION_RULE_UPPER_RIGHT && !frame->sample_area) {
        setup->x_min = (left >> G4_SUB_PIXEL_BITS) + 1;
        setup->x_max = right >> G4_SUB_PIXEL_BITS;
    }
    return true;
}

bool g4_sf_setup(const struct g4_sf_frame *frame, const struct g4_object *object, struct g4_setup *setup,
                 struct g4_sf_payload *payload) {
    bool drawn;

    memset(setup, 0, offsetof(struct g4_setup, line));
    if (object->type == G4_OBJECT_LINE) {
        memset(&setup->line, 0, sizeof setup->line);
    }
    setup->type = object->type;
    setup->topology = object->topology;
    setup->back_facing = object->back_facing;
    setup->poly_stipple = object->poly_stipple;
    setup->continue_stipple = object->continue_stipple;
    setup->viewport = object->v[0]->viewport & 15;
    setup->array_index = object->v[0]->array_index;
    payload->vertices = 0;
    payload->r1.provoking_vertex = 0;
    switch (object->type) {
    case G4_OBJECT_POINT:
        drawn = setup_point(frame, object, setup, payload);
        break;
    case G4_OBJECT_LINE:
        drawn = setup_line(frame, object, setup, payload);
        break;
    default:
        drawn = setup_triangle(frame, object, setup, payload);
        break;
    }
    if (!drawn) {
        return false;
    }
    clip_bounds(frame, setup);
    payload->r1.back_facing = setup->back_facing;
    payload->r1.sprite_point_enable = frame->state->sprite_point;
    payload->r1.primitive_type = object->topology;
    return !g4_setup_is_empty(setup) || (object->type == G4_OBJECT_LINE && frame->keep_lines);
}

enum g4_dropped g4_sf_why_dropped(const struct g4_sf_frame *frame, const struct g4_object *object,
                                  const struct g4_setup *setup) {
    struct corners c;
    struct screen_position position;
    const bool point = object->type == G4_OBJECT_POINT;
    const bool transformed = point ? transform(frame, object->v[0], &frame->viewport[setup->viewport], &position)
                                   : find_corners(frame, object, setup->viewport, &c);

    if (!transformed) {
        return G4_DROPPED_NOT_A_NUMBER;
    }
    if (point) {
        return setup->corners ? G4_DROPPED_OUTSIDE : G4_DROPPED_DEGENERATE;
    }
    if (object->type == G4_OBJECT_LINE) {
        return c.x[0] == c.x[1] && c.y[0] == c.y[1] ? G4_DROPPED_DEGENERATE : G4_DROPPED_OUTSIDE;
    }
    if (determinant(c.x, c.y) == 0) {
        return G4_DROPPED_DEGENERATE;
    }
    return setup->corners ? G4_DROPPED_OUTSIDE : G4_DROPPED_CULLED;
}
