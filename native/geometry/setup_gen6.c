/*
 * Strips and Fans from Gen6 on: setup without threads.  Attributes become the coefficients that `pln` takes
 * (IVB PRM vol. 2 part 1, chapters 7 and 8), and barycentric coordinates, depth and 1/w become planes of the screen.
 */
#include <string.h>

#include "core/hooks.h"
#include "core/report.h"
#include "core/util.h"
#include "eu/counters.h"
#include "geometry/lines.h"
#include "geometry/setup.h"
#include "geometry/setup_gen6.h"
#include "geometry/setup_kernel.h"

/* ---- planes ---- */

struct point {
    double x, y;
};

/* The plane that has given values at three points, of which `determinant` is twice the area. */
static struct g4_screen_plane through(const struct point p[3], double determinant, double a, double b, double c) {
    const double x1 = p[1].x - p[0].x;
    const double y1 = p[1].y - p[0].y;
    const double x2 = p[2].x - p[0].x;
    const double y2 = p[2].y - p[0].y;
    const double cx = ((b - a) * y2 - (c - a) * y1) / determinant;
    const double cy = ((c - a) * x1 - (b - a) * x2) / determinant;
    return (struct g4_screen_plane){a - cx * p[0].x - cy * p[0].y, cx, cy};
}

static struct g4_screen_plane constant(double c) {
    return (struct g4_screen_plane){.c = c};
}

/* The position of a vertex in clip space. */
static void load_position(const struct g4_vertex *vertex, float clip[4]) {
    enum {
        POSITION = 4 /* dword of an entry */
    };
    if (vertex->row_count) {
        memcpy(clip, &vertex->rows[0][POSITION], 4 * sizeof *clip);
    }
}

/* The planes of a piece of a clipped triangle: those of the whole object, so that they continue across the cut. */
static void clipped_planes(const struct g4_sf_frame *frame, const struct g4_object *object,
                           struct g4_object_planes *planes) {
    const struct g4_clipped *const whole = object->clipped;
    const struct g4_viewport *const m = &frame->viewport[object->v[0]->viewport & 15];
    double v[3][4]; /* homogeneous screen positions x, y, w, and z */

    for (int i = 0; i < 3; i++) {
        float clip[4] = {0};
        load_position(whole->v[i], clip);
        const double w = clip[3];
        v[i][0] = (double)m->m00 * clip[0] + ((double)m->m30 - frame->bias_x + frame->origin_x) * w;
        v[i][1] = (double)m->m11 * clip[1] + ((double)m->m31 - frame->bias_y + frame->origin_y) * w;
        v[i][2] = w;
        v[i][3] = (double)m->m22 * clip[2] + (double)m->m32 * w;
    }
    struct g4_screen_plane edge[3]; /* opposite of each vertex */
    for (int i = 0; i < 3; i++) {
        const double *const a = v[(i + 1) % 3];
        const double *const b = v[(i + 2) % 3];
        edge[i] = (struct g4_screen_plane){
            .cx = a[1] * b[2] - a[2] * b[1], .cy = a[2] * b[0] - a[0] * b[2], .c = a[0] * b[1] - a[1] * b[0]};
    }
    const double volume = v[0][0] * edge[0].cx + v[0][1] * edge[0].cy + v[0][2] * edge[0].c;
    const double scale = volume != 0 ? 1 / volume : 0;
    memset(planes, 0, sizeof *planes);
    for (int i = 0; i < 3; i++) {
        const struct g4_screen_plane e = {edge[i].c * scale, edge[i].cx * scale, edge[i].cy * scale};
        planes->rhw.c += e.c;
        planes->rhw.cx += e.cx;
        planes->rhw.cy += e.cy;
        planes->z.c += e.c * v[i][3];
        planes->z.cx += e.cx * v[i][3];
        planes->z.cy += e.cy * v[i][3];
        if (i > 0) {
            planes->weighted[i - 1] = e;
            planes->linear[i - 1] = (struct g4_screen_plane){e.c * v[i][2], e.cx * v[i][2], e.cy * v[i][2]};
        }
    }
}

/* `z`: of the vertices, in the order of the object. */
static void triangle_planes(const struct g4_sf_frame *frame, const struct g4_object *object, const struct point p[3],
                            const float z[3], struct g4_object_planes *planes) {
    const double determinant = (p[1].x - p[0].x) * (p[2].y - p[0].y) - (p[2].x - p[0].x) * (p[1].y - p[0].y);
    const double w0 = object->v[0]->rhw;
    const double w1 = object->v[1]->rhw;
    const double w2 = object->v[2]->rhw;

    if (object->clipped) {
        clipped_planes(frame, object, planes);
        return;
    }
    planes->linear[0] = through(p, determinant, 0, 1, 0);
    planes->linear[1] = through(p, determinant, 0, 0, 1);
    planes->weighted[0] = through(p, determinant, 0, w1, 0);
    planes->weighted[1] = through(p, determinant, 0, 0, w2);
    planes->rhw = through(p, determinant, w0, w1, w2);
    planes->z = through(p, determinant, z[0], z[1], z[2]);
}

/* The plane with values at both ends of a line, constant across it. */
static struct g4_screen_plane along(const struct point p[2], double a, double b) {
    const double dx = p[1].x - p[0].x;
    const double dy = p[1].y - p[0].y;
    const double square = dx * dx + dy * dy;
    const double cx = square > 0 ? (b - a) * dx / square : 0;
    const double cy = square > 0 ? (b - a) * dy / square : 0;
    return (struct g4_screen_plane){a - cx * p[0].x - cy * p[0].y, cx, cy};
}

/* The weight of the whole object's vertex i + 1 at an end of a line, after the division by w. */
static double weight_on_screen(const struct g4_object *object, int end, int i) {
    const struct g4_clipped *const whole = object->clipped;
    float clip[4] = {0};

    if (!whole) {
        return end == 1 && i == 0;
    }
    if ((whole->whole >> end & 1) || whole->weight[end][i] == 0) {
        return whole->weight[end][i];
    }
    load_position(whole->v[i + 1], clip);
    return (double)whole->weight[end][i] * clip[3] * object->v[end]->rhw;
}

static void line_planes(const struct g4_object *object, const struct point p[2], const float z[2],
                        struct g4_object_planes *planes) {
    const double w0 = object->v[0]->rhw;
    const double w1 = object->v[1]->rhw;
    static const float whole[2][2] = {{0, 0}, {1, 0}};
    const float(*const t)[2] = object->clipped ? object->clipped->weight : whole;

    for (int i = 0; i < 2; i++) {
        planes->linear[i] = along(p, weight_on_screen(object, 0, i), weight_on_screen(object, 1, i));
        planes->weighted[i] = along(p, t[0][i] * w0, t[1][i] * w1);
    }
    planes->rhw = along(p, w0, w1);
    planes->z = along(p, z[0], z[1]);
}

/* The coordinates of a point go from 0 to 1 across its square, for sprites; its attributes are constant. */
static void point_planes(const struct g4_object *object, const struct g4_setup *setup,
                         struct g4_object_planes *planes) {
    const double left = (double)setup->x[0] / G4_ONE_PIXEL;
    const double top = (double)setup->y[0] / G4_ONE_PIXEL;
    const double width = (double)(setup->x[1] - setup->x[0]) / G4_ONE_PIXEL;
    const double height = (double)(setup->y[1] - setup->y[0]) / G4_ONE_PIXEL;
    const double rhw = object->v[0]->rhw;

    planes->linear[0] = (struct g4_screen_plane){.c = -left / width, .cx = 1 / width};
    planes->linear[1] = (struct g4_screen_plane){.c = -top / height, .cy = 1 / height};
    for (int i = 0; i < 2; i++) {
        const struct g4_screen_plane *const p = &planes->linear[i];
        planes->weighted[i] = (struct g4_screen_plane){p->c * rhw, p->cx * rhw, p->cy * rhw};
    }
    planes->rhw = constant(rhw);
    planes->z = constant(setup->z[0]);
}

static struct point point_at(int32_t x, int32_t y) {
    return (struct point){(double)x / G4_ONE_PIXEL, (double)y / G4_ONE_PIXEL};
}

/* setup->x, y and z have the vertices as the payload orders them; rectangles have x and y in the object's order. */
static void find_planes(const struct g4_sf_frame *frame, const struct g4_object *object, const struct g4_setup *setup,
                        const struct g4_sf_payload *payload, struct g4_object_planes *planes) {
    struct point p[3] = {{0, 0}};
    float z[3] = {0};

    memset(planes, 0, sizeof *planes);
    for (uint32_t i = 0; i < object->vertices; i++) {
        uint32_t at = 0;
        while (at + 1 < payload->vertices && payload->v[at] != object->v[i]) {
            at++;
        }
        z[i] = setup->z[at];
        at = object->type == G4_OBJECT_RECTANGLE ? i : at;
        p[i] = point_at(setup->x[at], setup->y[at]);
    }
    switch (object->type) {
    case G4_OBJECT_POINT:
        point_planes(object, setup, planes);
        break;
    case G4_OBJECT_LINE:
        p[0] = (struct point){setup->line.x0, setup->line.y0};
        p[1] = (struct point){setup->line.x1, setup->line.y1};
        line_planes(object, p, z, planes);
        break;
    default:
        triangle_planes(frame, object, p, z, planes);
        break;
    }
}

/* ---- attributes ---- */

enum {
    ATTRIBUTE_DWORDS = 4,
    ONE = 0x3f800000, /* 1.0 */
};

/* Dword c of an attribute of a vertex: 0 beyond its entry. */
static void read_attribute(const struct g4_vertex *v, uint32_t offset, uint32_t attribute,
                           uint32_t out[ATTRIBUTE_DWORDS]) {
    const uint32_t row = offset + attribute / 2;
    if (row < v->row_count) {
        memcpy(out, &v->rows[row][ATTRIBUTE_DWORDS * (attribute & 1)], ATTRIBUTE_DWORDS * sizeof *out);
    } else {
        memset(out, 0, ATTRIBUTE_DWORDS * sizeof *out);
    }
}

static uint32_t constant_of(const struct g4_attribute *a, const struct g4_object *object, uint32_t component) {
    switch (a->constant) {
    case G4_CONSTANT_0001:
        return component == 3 ? ONE : 0;
    case G4_CONSTANT_1111:
        return ONE;
    case G4_CONSTANT_PRIMITIVE_ID:
        return object->primitive_id;
    default:
        return 0;
    }
}

/* Four dwords of a component: A1 - A0, A2 - A0, unused, A0. */
static void put_sprite(const struct g4_attribute_setup *sbe, uint32_t (*to)[4]) {
    to[0][0] = ONE;
    to[1][1] = sbe->sprite_origin_lower_left ? g4_hw_bits(-1.0f) : ONE;
    to[1][3] = sbe->sprite_origin_lower_left ? ONE : 0;
    to[3][3] = ONE;
}

/* From one vertex to another.  With Wrap Shortest 0 and 1 are the same place, and the way is at most 1/2. */
static float way(uint32_t from, uint32_t to, bool wraps) {
    const float distance = g4_hw_float(to) - g4_hw_float(from);
    return !wraps ? distance : distance > 0.5f ? distance - 1.0f : distance < -0.5f ? distance + 1.0f : distance;
}

static void put_attribute(const struct g4_attribute_setup *sbe, const struct g4_attribute *a,
                          const struct g4_object *object, const struct g4_vertex *const v[3],
                          const struct g4_vertex *first, bool back_facing, uint32_t (*to)[4]) {
    const uint32_t source = a->source + (a->facing && back_facing ? 1u : 0u);
    uint32_t value[3][ATTRIBUTE_DWORDS] = {{0}};

    memset(to, 0, ATTRIBUTE_DWORDS * sizeof *to);
    if (object->type == G4_OBJECT_POINT && a->sprite_coordinate) {
        put_sprite(sbe, to);
        return;
    }
    const uint32_t vertices = object->clipped ? object->clipped->vertices : object->vertices;
    const uint32_t count = a->flat || object->type == G4_OBJECT_POINT ? 1 : vertices;
    for (uint32_t i = 0; i < count; i++) {
        const struct g4_vertex *const from = a->flat ? v[object->provoking] : i ? v[i] : first;
        read_attribute(from, sbe->read_offset, source, value[i]);
    }
    for (uint32_t c = 0; c < ATTRIBUTE_DWORDS; c++) {
        if (a->replaced >> c & 1) {
            to[c][3] = constant_of(a, object, c);
            continue;
        }
        to[c][3] = value[0][c];
        for (uint32_t i = 1; i < count; i++) {
            to[c][i - 1] = g4_hw_bits(way(value[0][c], value[i][c], a->wraps >> c & 1));
        }
    }
}

/* Rows of the setup entry: two for each attribute. */
static uint32_t attribute_rows(const struct g4_draw_state *draw) {
    enum {
        ROWS = 2 /* of an attribute */
    };
    return ROWS * (draw->attributes.count < G4_ATTRIBUTES ? draw->attributes.count : G4_ATTRIBUTES);
}

static void put_attributes(const struct g4_draw_state *draw, const struct g4_object *object, bool back_facing,
                           uint32_t (*rows)[8]) {
    const struct g4_attribute_setup *const sbe = &draw->attributes;
    const struct g4_vertex *const *const v = object->clipped ? object->clipped->v : object->v;
    const struct g4_vertex *const first = object->type == G4_OBJECT_POINT ? object->v[0] : v[0];
    uint32_t(*const to)[4] = (uint32_t(*)[4])rows;

    for (uint32_t i = 0; i < attribute_rows(draw) / 2; i++) {
        put_attribute(sbe, &sbe->attribute[i], object, v, first, back_facing, to + (size_t)ATTRIBUTE_DWORDS * i);
    }
}

/* ---- fast clears of render targets ---- */

/* The rectangle counts in blocks of pixels: 8 x 16 of those that the control surface has a bit for, 8 x 8 of those with
 * two bits, which are 128 bytes each, or those of an element of a multisample control surface. */
static void find_scale(const struct g4_surface *surface, const struct g4_quirks *quirks, uint32_t samples,
                       uint32_t *across, uint32_t *down) {
    enum {
        BLOCK_ROWS_X = 2,
        BLOCK_ROWS_Y = 4,
        BLOCK_BYTES = 128,
    };
    if (samples > 1) {
        *across = samples >= 16 ? 1 : samples >= 8 ? 2 : 8;
        *down = 2;
        return;
    }
    const uint32_t rows = surface->tiling == G4_TILING_X ? BLOCK_ROWS_X : BLOCK_ROWS_Y;
    const uint32_t bytes = surface->format->block_bits / 8u;
    *across = 8 * (BLOCK_BYTES / rows / (bytes ? bytes : 1));
    *down = (quirks->has_two_bit_control_surfaces ? 8 : 16) * rows;
}

static void scale_fast_clear(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_setup *setup) {
    enum {
        TARGET = 0 /* binding table index of the only target */
    };
    const struct g4_dispatch *const dispatch = &draw->dispatch[G4_STAGE_WM];
    const struct g4_surface *const surface = g4_surface_get(
        worker->surfaces, worker->ctx, &worker->port, dispatch->surface_state_base, dispatch->binding_table, TARGET);
    uint32_t across, down;

    find_scale(surface, &worker->ctx->model->quirks, draw->multisampling.samples, &across, &down);
    setup->x_min *= (int32_t)across;
    setup->y_min *= (int32_t)down;
    setup->x_max = (setup->x_max + 1) * (int32_t)across - 1;
    setup->y_max = (setup->y_max + 1) * (int32_t)down - 1;
    setup->fills_box = true;
    setup->small = false; /* a bit of the mask was a block, and bounds are pixels now */
}

/* ---- objects ---- */

/* Makes the outline of a shape that fills its bounds count: samples beside the pixel location are inside or not. */
static void surround_samples(struct g4_setup *setup) {
    if (setup->fills_box && setup->type == G4_OBJECT_POINT) { /* its corners are not in ring order */
        const int32_t x[4] = {setup->x[0], setup->x[1], setup->x[1], setup->x[0]};
        const int32_t y[4] = {setup->y[0], setup->y[0], setup->y[1], setup->y[1]};
        memcpy(setup->x, x, sizeof setup->x);
        memcpy(setup->y, y, sizeof setup->y);
    }
    setup->fills_box = false;
}

/* `whole`: the planes of the triangle that an edge or corner belongs to; NULL: of the object itself. */
static void set_depth_offset(const struct g4_draw_state *draw, const struct g4_object *object,
                             const struct g4_object_planes *whole, struct g4_object_planes *planes) {
    const struct g4_depth_bias *const bias = &draw->depth_bias;
    const struct g4_object_planes *const of = whole ? whole : planes;
    planes->depth_slope[0] = (float)of->z.cx;
    planes->depth_slope[1] = (float)of->z.cy;
    planes->has_depth_offset = object->type == G4_OBJECT_TRIANGLE ? bias->enable
                               : !whole                           ? false
                               : object->type == G4_OBJECT_LINE   ? bias->lines
                                                                  : bias->points;
}

/* Everything that the windower needs of an object that lights pixels. */
static bool finish(const struct g4_draw_state *draw, const struct g4_sf_frame *frame, struct g4_arena *arena,
                   const struct g4_object *object, const struct g4_sf_payload *payload,
                   const struct g4_object_planes *whole, struct g4_setup *setup) {
    const uint32_t rows = attribute_rows(draw);
    struct g4_object_planes *const planes = g4_arena_alloc(arena, sizeof *planes);
    uint32_t(*const entry)[8] = g4_arena_alloc(arena, (size_t)(rows + 1) * sizeof *entry);

    if (!planes || !entry) {
        return false;
    }
    find_planes(frame, object, setup, payload, planes);
    set_depth_offset(draw, object, whole, planes);
    put_attributes(draw, object, setup->back_facing, entry);
    if (frame->sample_area) {
        surround_samples(setup);
    }
    setup->planes = planes;
    setup->entry = (const uint32_t(*)[8])entry;
    setup->entry_rows = (uint16_t)rows;
    return true;
}

/* ---- edges and corners of triangles ---- */

static enum g4_fill_mode fill_mode(const struct g4_draw_state *draw, const struct g4_object *object,
                                   const struct g4_setup *setup) {
    if (object->type != G4_OBJECT_TRIANGLE) {
        return G4_FILL_SOLID;
    }
    return (enum g4_fill_mode)(setup->back_facing ? draw->setup.back_fill : draw->setup.front_fill);
}

/* Edge `i` or corner `i` of a triangle, as an object.  It keeps the attributes of the triangle. */
static void part_of(const struct g4_object *triangle, enum g4_fill_mode mode, uint32_t i, struct g4_clipped *clipped,
                    struct g4_object *part) {
    const bool line = mode == G4_FILL_LINES;
    const uint32_t corner[2] = {i, i + 1 < triangle->vertices ? i + 1 : 0};

    *part = *triangle;
    part->type = line ? G4_OBJECT_LINE : G4_OBJECT_POINT;
    part->vertices = line ? 2 : 1;
    part->clipped = clipped;
    part->continue_stipple = i > 0;
    part->last_of_primitive = false;
    *clipped = (struct g4_clipped){.vertices = triangle->vertices};
    for (uint32_t k = 0; k < part->vertices; k++) {
        part->v[k] = triangle->v[corner[k]];
        clipped->weight[k][0] = triangle->clipped ? triangle->clipped->weight[corner[k]][0] : (float)(corner[k] == 1);
        clipped->weight[k][1] = triangle->clipped ? triangle->clipped->weight[corner[k]][1] : (float)(corner[k] == 2);
    }
    for (uint32_t k = 0; k < triangle->vertices; k++) {
        /* A point has the attributes of its corner, but for flat ones. */
        clipped->v[k] = triangle->clipped ? triangle->clipped->v[k] : triangle->v[k];
    }
}

struct setting_up {
    struct g4_worker *worker;
    const struct g4_draw_state *draw;
    struct g4_chunk *chunk;
    struct g4_sf_frame frame;
};

static bool is_part(const struct g4_object *triangle, enum g4_fill_mode mode, uint32_t i) {
    if (!(triangle->edges >> i & 1)) {
        return false;
    }
    return mode == G4_FILL_LINES || !triangle->clipped || (triangle->clipped->whole >> i & 1);
}

/* Sets up one object; `whole` as above.  G4_OK also if it is dropped. */
static enum g4_status set_up(struct setting_up *s, const struct g4_object *object, uint32_t number,
                             const struct g4_object_planes *whole);

static enum g4_status set_up_parts(struct setting_up *s, const struct g4_object *triangle, enum g4_fill_mode mode,
                                   uint32_t number, const struct g4_setup *setup, const struct g4_sf_payload *payload) {
    struct g4_object_planes planes;
    enum g4_status status = G4_OK;

    find_planes(&s->frame, triangle, setup, payload, &planes);
    const bool back_facing = setup->back_facing;
    for (uint32_t i = 0; i < triangle->vertices && status == G4_OK; i++) {
        struct g4_clipped clipped;
        struct g4_object part;
        if (is_part(triangle, mode, i)) {
            part_of(triangle, mode, i, &clipped, &part);
            part.back_facing = back_facing;
            status = set_up(s, &part, number, &planes);
        }
    }
    return status;
}

static bool notify(struct g4_hooks *hooks, const struct g4_object *object, const struct g4_setup *setup) {
    const struct g4_vertex *const *const v = object->clipped ? object->clipped->v : object->v;
    const uint32_t vertices = object->clipped ? object->clipped->vertices : object->vertices;
    const struct g4_vertex *const corner[3] = {v[0], v[vertices > 1 ? 1 : 0], v[vertices > 2 ? 2 : 0]};
    return hooks->object_set_up(hooks, setup, corner, vertices);
}

static enum g4_status set_up(struct setting_up *s, const struct g4_object *object, uint32_t number,
                             const struct g4_object_planes *whole) {
    struct g4_setup *const setup = &s->chunk->setup[s->chunk->setups];
    struct g4_eu *const eu = &s->worker->eu;
    struct g4_sf_payload payload;

    const bool shaped = g4_sf_setup(&s->frame, object, setup, &payload);
    const enum g4_fill_mode mode = fill_mode(s->draw, object, setup);
    if (mode != G4_FILL_SOLID && setup->corners) { /* not culled; its area may have no pixel */
        return set_up_parts(s, object, mode, number, setup, &payload);
    }
    if (!shaped || (!s->frame.sample_area && g4_setup_lights_nothing(setup))) {
        if (eu->counters) {
            g4_setup_count_dropped(&eu->counters->sum, &s->frame, object, setup, shaped);
        }
        return G4_OK;
    }
    if (s->draw->windower.fast_clear && !g4_setup_is_empty(setup)) {
        scale_fast_clear(s->worker, s->draw, setup);
    }
    setup->chunk = s->chunk->index;
    setup->primitive = number;
    s->chunk->setups++;
    if (g4_setup_is_empty(setup)) {
        return G4_OK;
    }
    if (!finish(s->draw, &s->frame, s->chunk->batch_arena, object, &payload, whole, setup)) {
        return G4_NO_MEMORY;
    }
    return eu->hooks && !notify(eu->hooks, object, setup) ? G4_STOPPED : G4_OK;
}

/* Whether the draw only updates a control surface, which needs no work here. */
static bool resolves(const struct g4_draw_state *draw) {
    return draw->windower.resolve || draw->hierarchical_depth.resolve || draw->hierarchical_depth.ambiguate;
}

enum g4_status g4_setup_run_gen6(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_chunk *chunk) {
    enum {
        PARTS = 3 /* of a triangle */
    };
    const bool solid = draw->setup.front_fill == G4_FILL_SOLID && draw->setup.back_fill == G4_FILL_SOLID;
    struct setting_up s = {.worker = worker, .draw = draw, .chunk = chunk};
    enum g4_status status = G4_OK;

    chunk->setups = 0;
    if (draw->stage[G4_STAGE_SF].statistics) {
        worker->counter[G4_COUNTER_CL_PRIMITIVES] += chunk->objects;
    }
    if (worker->eu.counters) {
        worker->eu.counters->sum.objects += chunk->objects;
    }
    if (chunk->objects == 0 || resolves(draw)) {
        return G4_OK;
    }
    chunk->setup =
        g4_arena_alloc(chunk->batch_arena, (size_t)chunk->objects * (solid ? 1 : PARTS) * sizeof *chunk->setup);
    if (!chunk->setup) {
        return G4_NO_MEMORY;
    }
    g4_sf_frame_begin(&s.frame, draw);
    if (draw->windower.fast_clear) {
        s.frame.sample_area = 0; /* its pixels are blocks */
    }
    for (uint32_t i = 0; i < chunk->objects && status == G4_OK; i++) {
        status = set_up(&s, &chunk->object[i], i, NULL);
    }
    return status;
}
