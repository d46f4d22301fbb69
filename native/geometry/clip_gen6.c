/*
 * The fixed-function clipper from Gen6 on: outcodes in clip space, the decision for each object, and the pieces of
 * those that must be clipped (SNB PRM vol. 2 part 1, chapter 5; IVB PRM vol. 2 part 1, chapter 6).
 */
#include <math.h>
#include <string.h>

#include "core/report.h"
#include "eu/counters.h"
#include "geometry/setup.h"
#include "geometry/stage.h"

/* Outcode bits. */
enum {
    UC_MASK = 0xff, /* a clip distance is negative: those that clip, and those that cull */
    VP_X_MIN = 1u << 8,
    VP_X_MAX = 1u << 9,
    VP_Y_MIN = 1u << 10,
    VP_Y_MAX = 1u << 11,
    VP_XY_MASK = 15u << 8,
    GB_X_MIN = 1u << 12,
    GB_X_MAX = 1u << 13,
    GB_Y_MIN = 1u << 14,
    GB_Y_MAX = 1u << 15,
    GB_MASK = 15u << 12,
    VP_Z_MIN = 1u << 16,
    VP_Z_MAX = 1u << 17,
    VP_Z_MASK = 3u << 16,
    NEGATIVE_W = 1u << 18,
    BAD = 1u << 19,
};

enum {
    DISTANCES = 8,
    DISTANCE_ROW = 1, /* of a vertex's entry */
    PLANES = 15,      /* z, x and y from both sides, user distances, w */
    CORNERS = 3 + PLANES,
};

/* ---- vertices ---- */

static float distance(const struct g4_vertex *v, uint32_t i) {
    float d = 0;
    if (v->row_count > DISTANCE_ROW) {
        memcpy(&d, &v->rows[DISTANCE_ROW][i], sizeof d);
    }
    return d;
}

/* A bit for each distance that is not at least 0. */
static uint32_t distance_codes(const struct g4_clip *clip, const struct g4_vertex *v) {
    uint32_t code = 0;
    for (uint32_t left = clip->clip_distances | clip->cull_distances; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        code |= (distance(v, i) >= 0 ? 0u : 1u) << i;
    }
    return code;
}

static uint32_t outcode_of(const struct g4_clip *clip, const struct g4_vertex *v) {
    const float x = v->x;
    const float y = v->y;
    const float z = v->z;
    const float w = v->rhw;
    uint32_t code = distance_codes(clip, v);

    if (isnan(x) || isnan(y) || isnan(z) || isnan(w)) {
        return code | BAD;
    }
    if (clip->test_xy) {
        code |= (x < -w ? VP_X_MIN : 0u) | (x > w ? VP_X_MAX : 0u) | (y < -w ? VP_Y_MIN : 0u) | (y > w ? VP_Y_MAX : 0u);
        code |= clip->test_guardband ? 0 : (code & VP_XY_MASK) << 4;
    }
    if (clip->test_guardband) {
        const struct g4_guardband *const gb = &clip->guardband[v->viewport & 15];
        code |= (x < gb->x_min * w ? GB_X_MIN : 0u) | (x > gb->x_max * w ? GB_X_MAX : 0u) |
                (y < gb->y_min * w ? GB_Y_MIN : 0u) | (y > gb->y_max * w ? GB_Y_MAX : 0u);
    }
    if (clip->test_z) {
        code |= (z < clip->z_min * w && !clip->ignores_near ? VP_Z_MIN : 0u) |
                (z > w && !clip->ignores_far ? VP_Z_MAX : 0u);
    }
    return code | (w > 0 ? 0u : NEGATIVE_W);
}

/* Leaves clip space: x, y and z divided by w, and its reciprocal. */
static void divide(struct g4_vertex *v) {
    v->rhw = 1.0f / v->rhw;
    v->x *= v->rhw;
    v->y *= v->rhw;
    v->z *= v->rhw;
}

void g4_vertices_prepare_gen6(const struct g4_context *ctx, const struct g4_draw_state *draw,
                              const struct g4_sf_frame *frame, struct g4_vertex *vertex, uint32_t count) {
    const struct g4_clip *const clip = &draw->clip;
    (void)ctx;
    for (uint32_t i = 0; i < count; i++) {
        vertex[i].outcode = draw->clip_enable ? outcode_of(clip, &vertex[i]) : 0;
        if (!clip->divided) {
            divide(&vertex[i]);
        }
    }
    g4_sf_transform(frame, vertex, count);
}

/* ---- the decision ---- */

enum clip_action {
    PASS,
    DISCARD,
    CLIP
};

static enum clip_action decide(const struct g4_clip *clip, uint32_t all, uint32_t any, bool point) {
    const uint32_t clipping = clip->clip_distances | GB_MASK | VP_Z_MASK | NEGATIVE_W;

    if ((any & BAD) || clip->mode == G4_CLIP_MODE_REJECT_ALL) {
        return DISCARD;
    }
    if (clip->mode == G4_CLIP_MODE_ACCEPT_ALL) {
        return PASS;
    }
    if (point) { /* the centre decides; the guardband does not matter */
        const uint32_t xy = clip->test_xy ? VP_XY_MASK : 0;
        return any & (xy | VP_Z_MASK | UC_MASK | NEGATIVE_W) ? DISCARD : PASS;
    }
    return all ? DISCARD : any & clipping ? CLIP : PASS;
}

/* ---- the clipping itself (docs/decisions.md 97) ---- */

/* A corner of the polygon that is left: its position, and the shares of the object's vertices 1 and 2 in it. */
struct polygon_corner {
    float x, y, z, w;
    float weight[2];
    float distance[DISTANCES];
    bool vertex; /* one of the object's */
    bool edge;   /* the side to the next corner lies on one of the object's edges that are drawn */
};

struct polygon {
    struct polygon_corner corner[CORNERS];
    uint32_t corners;
};

/* An inequality a * x + b * y + c * z + d * w + e >= 0, or that of a user distance. */
struct plane {
    float x, y, z, w, e;
    int32_t distance; /* -1: none */
};

static float inside(const struct plane *plane, const struct polygon_corner *c) {
    return plane->distance >= 0 ? c->distance[plane->distance]
                                : plane->x * c->x + plane->y * c->y + plane->z * c->z + plane->w * c->w + plane->e;
}

static float between(float from, float to, float t) {
    return from + t * (to - from);
}

/* The point where the edge from `a`, inside, to `b`, outside, meets the plane. */
static void cut_edge(const struct polygon_corner *a, const struct polygon_corner *b, float da, float db,
                     struct polygon_corner *out) {
    const float t = da / (da - db);
    out->vertex = false;
    out->edge = a->edge; /* for lines; polygons decide again */
    out->x = between(a->x, b->x, t);
    out->y = between(a->y, b->y, t);
    out->z = between(a->z, b->z, t);
    out->w = between(a->w, b->w, t);
    for (int i = 0; i < 2; i++) {
        out->weight[i] = between(a->weight[i], b->weight[i], t);
    }
    for (int i = 0; i < DISTANCES; i++) {
        out->distance[i] = between(a->distance[i], b->distance[i], t);
    }
}

static void cut_polygon(const struct plane *plane, struct polygon *p) {
    struct polygon out = {.corners = 0};
    float d[CORNERS];

    for (uint32_t i = 0; i < p->corners; i++) {
        d[i] = inside(plane, &p->corner[i]);
    }
    for (uint32_t i = 0; i < p->corners; i++) {
        const uint32_t next = i + 1 < p->corners ? i + 1 : 0;
        if (d[i] >= 0) {
            out.corner[out.corners++] = p->corner[i];
        }
        if ((d[i] >= 0) != (d[next] >= 0) && out.corners < CORNERS) {
            const uint32_t in = d[i] >= 0 ? i : next;
            const uint32_t beyond = d[i] >= 0 ? next : i;
            struct polygon_corner *const at = &out.corner[out.corners++];
            cut_edge(&p->corner[in], &p->corner[beyond], d[in], d[beyond], at);
            at->edge = in == next && p->corner[i].edge; /* else the cut begins here */
        }
        if (out.corners + 1 >= CORNERS) {
            break;
        }
    }
    *p = out;
}

static void cut_line(const struct plane *plane, struct polygon *p) {
    const float d[2] = {inside(plane, &p->corner[0]), inside(plane, &p->corner[1])};

    if (d[0] >= 0 && d[1] >= 0) {
        return;
    }
    if (!(d[0] >= 0) && !(d[1] >= 0)) {
        p->corners = 0;
        return;
    }
    const uint32_t beyond = d[0] >= 0;
    struct polygon_corner at;
    cut_edge(&p->corner[!beyond], &p->corner[beyond], d[!beyond], d[beyond], &at);
    p->corner[beyond] = at;
}

/* The planes that some vertex of the object violates, in the order in which they cut. */
static uint32_t find_planes(const struct g4_clip *clip, uint32_t any, const struct g4_guardband *gb,
                            const struct polygon *p, struct plane plane[PLANES]) {
    const bool guard = clip->test_guardband;
    uint32_t n = 0;

    if (any & VP_Z_MIN) {
        plane[n++] = (struct plane){.z = 1, .w = -clip->z_min, .distance = -1};
    }
    if (any & VP_Z_MAX) {
        plane[n++] = (struct plane){.z = -1, .w = 1, .distance = -1};
    }
    if (any & GB_X_MIN) {
        plane[n++] = (struct plane){.x = 1, .w = guard ? -gb->x_min : 1, .distance = -1};
    }
    if (any & GB_X_MAX) {
        plane[n++] = (struct plane){.x = -1, .w = guard ? gb->x_max : 1, .distance = -1};
    }
    if (any & GB_Y_MIN) {
        plane[n++] = (struct plane){.y = 1, .w = guard ? -gb->y_min : 1, .distance = -1};
    }
    if (any & GB_Y_MAX) {
        plane[n++] = (struct plane){.y = -1, .w = guard ? gb->y_max : 1, .distance = -1};
    }
    for (int i = 0; i < DISTANCES; i++) {
        if (any & clip->clip_distances & 1u << i) {
            plane[n++] = (struct plane){.distance = i};
        }
    }
    if (any & NEGATIVE_W) { /* keeps the divisor away from 0 */
        float largest = 0;
        for (uint32_t i = 0; i < p->corners; i++) {
            largest = fmaxf(largest, fabsf(p->corner[i].w));
        }
        plane[n++] = (struct plane){.w = 1, .e = -largest * 0x1p-20f, .distance = -1};
    }
    return n;
}

static void start_polygon(const struct g4_object *object, struct polygon *p) {
    enum {
        POSITION = 4 /* dword of an entry */
    };
    p->corners = object->vertices;
    for (uint32_t i = 0; i < object->vertices; i++) {
        const struct g4_vertex *const v = object->v[i];
        struct polygon_corner *const c = &p->corner[i];
        float position[4] = {0};
        if (v->row_count) {
            memcpy(position, &v->rows[0][POSITION], sizeof position);
        }
        *c = (struct polygon_corner){position[0],
                                     position[1],
                                     position[2],
                                     position[3],
                                     .weight = {(float)(i == 1), (float)(i == 2)},
                                     .vertex = true,
                                     .edge = object->edges >> i & 1};
        for (uint32_t k = 0; k < DISTANCES; k++) {
            c->distance[k] = distance(v, k);
        }
    }
}

/* The clipper's work on one strip. */
struct fixed_clipping {
    const struct g4_draw_state *draw;
    struct g4_chunk *chunk;
    struct g4_sf_frame frame;
};

/* A vertex at a corner.  It has the header of the object's first vertex, and no entry. */
static void put_corner(const struct fixed_clipping *c, const struct g4_object *object, const struct polygon_corner *at,
                       struct g4_vertex *v) {
    *v = *object->v[0]; /* its edge flag does not matter: the piece has the edges */
    v->x = at->x;
    v->y = at->y;
    v->z = at->z;
    v->rhw = at->w;
    v->outcode = 0;
    v->position = G4_VERTEX_UNTRANSFORMED;
    divide(v);
    g4_sf_transform(&c->frame, v, 1);
}

/* Append the pieces of an object: a fan from the first corner, or a line. */
static bool add_pieces(struct fixed_clipping *c, const struct g4_object *object, const struct polygon *p) {
    const uint32_t size = object->vertices;
    const uint32_t pieces = p->corners + 1 - size;
    struct g4_chunk *const chunk = c->chunk;
    struct g4_vertex *const vertex = g4_arena_alloc(chunk->range_arena, p->corners * sizeof *vertex);
    struct g4_clipped *const clipped = g4_arena_alloc(chunk->range_arena, pieces * sizeof *clipped);

    if (!vertex || !clipped || !g4_chunk_reserve(chunk, pieces)) {
        return false;
    }
    for (uint32_t i = 0; i < p->corners; i++) {
        put_corner(c, object, &p->corner[i], &vertex[i]);
    }
    for (uint32_t i = 0; i < pieces; i++) {
        struct g4_object *const piece = &chunk->object[chunk->objects++];
        *piece = *object;
        piece->clipped = &clipped[i];
        clipped[i].vertices = (uint8_t)size;
        clipped[i].whole = 0;
        piece->edges = 0;
        for (uint32_t k = 0; k < size; k++) {
            const uint32_t corner = k ? i + k : 0;
            const uint32_t next = k + 1 < size ? i + k + 1 : 0;
            const bool side = next == (corner + 1 < p->corners ? corner + 1 : 0); /* else it is between two pieces */
            piece->edges |= (uint8_t)((side && p->corner[corner].edge) << k);
            clipped[i].whole |= (uint8_t)(p->corner[corner].vertex << k);
            piece->v[k] = &vertex[corner];
            clipped[i].v[k] = object->v[k];
            clipped[i].weight[k][0] = p->corner[corner].weight[0];
            clipped[i].weight[k][1] = p->corner[corner].weight[1];
        }
    }
    return true;
}

static bool clip_object(struct fixed_clipping *c, const struct g4_object *object, uint32_t any) {
    const struct g4_clip *const clip = &c->draw->clip;
    struct polygon p;
    struct plane plane[PLANES];

    start_polygon(object, &p);
    const uint32_t planes = find_planes(clip, any, &clip->guardband[object->v[0]->viewport & 15], &p, plane);
    for (uint32_t i = 0; i < planes && p.corners; i++) {
        if (object->type == G4_OBJECT_LINE) {
            cut_line(&plane[i], &p);
        } else {
            cut_polygon(&plane[i], &p);
        }
    }
    return p.corners < object->vertices || add_pieces(c, object, &p);
}

/* ---- strips ---- */

/* Those of the edges that begin at a vertex whose edge flag is set. */
static uint8_t flagged(uint32_t edges, const struct g4_vertex *const v[3], uint32_t vertices) {
    for (uint32_t i = 0; i < vertices; i++) {
        edges &= ~((uint32_t)v[i]->inner << i);
    }
    return (uint8_t)edges;
}

/* Fast path: append triangles of a list from number i on whose outcodes are 0; returns the number of the next one. */
static uint32_t pass_triangles(const struct fixed_clipping *c, const struct g4_strip *strip,
                               const struct g4_vertex *const *vertex, uint32_t i) {
    struct g4_chunk *const chunk = c->chunk;
    struct g4_topology_object o;

    if (strip->topology != G4_PRIMITIVE_TOPOLOGY_TRILIST || i >= strip->objects ||
        (c->draw->clip_enable && c->draw->clip.mode != G4_CLIP_MODE_NORMAL)) {
        return i;
    }
    const struct g4_vertex *const *v = &vertex[1 + 3 * (strip->first_object + i) - strip->first];
    (void)g4_topology_object(strip->topology, strip->vertices, strip->first_object + i, &o);
    struct g4_object like = g4_object_of(c->draw, &o, v);
    for (; i < strip->objects && !(v[0]->outcode | v[1]->outcode | v[2]->outcode); i++, v += 3) {
        struct g4_object *const object = &chunk->object[chunk->objects++];
        *object = like;
        object->edges = flagged(7, v, 3);
        object->v[0] = v[0];
        object->v[1] = v[1];
        object->v[2] = v[2];
        object->last_of_primitive = strip->ends_primitive && i + 1 == strip->objects;
        object->primitive_id = g4_strip_primitive_id(strip, i);
    }
    return i;
}

/* The edges of a triangle that belong to its primitive: of a polygon only the outer ones. */
static uint8_t edges_of(uint32_t topology, uint32_t k, bool last) {
    if (topology != G4_PRIMITIVE_TOPOLOGY_POLYGON) {
        return 7;
    }
    return (uint8_t)((k == 0 ? 1u : 0) | 2u | (last ? 4u : 0));
}

enum g4_status g4_clip_run_gen6(struct g4_worker *worker, const struct g4_draw_state *draw,
                                const struct g4_strip *strip, const struct g4_vertex *const *vertex,
                                struct g4_chunk *chunk) {
    struct fixed_clipping c = {.draw = draw, .chunk = chunk};
    const uint32_t first = chunk->objects;
    struct g4_topology_object o;
    bool broken = false; /* a piece of a line strip is missing: the stipple restarts */
    uint32_t clipped = 0;
    uint32_t discarded = 0;

    if (!g4_chunk_reserve(chunk, strip->objects)) {
        return G4_NO_MEMORY;
    }
    g4_sf_frame_begin(&c.frame, draw);
    if (draw->stage[G4_STAGE_CLIP].statistics) {
        worker->counter[G4_COUNTER_CL_INVOCATIONS] += strip->objects;
    }
    for (uint32_t i = pass_triangles(&c, strip, vertex, 0); i < strip->objects;
         i = pass_triangles(&c, strip, vertex, i + 1)) {
        const uint32_t k = strip->first_object + i;
        const struct g4_vertex *v[3] = {NULL};
        uint32_t all = UINT32_MAX;
        uint32_t any = 0;

        if (!g4_topology_object(strip->topology, strip->vertices, k, &o)) {
            g4_report(worker->eu.log, G4_EVENT_BAD_TOPOLOGY, 0, strip->topology);
            return G4_OK;
        }
        for (int n = 0; n < o.vertices; n++) {
            v[n] = g4_strip_vertex(strip, vertex, o.position[n]);
            all &= v[n]->outcode;
            any |= v[n]->outcode;
        }
        const enum clip_action action = draw->clip_enable && (any || draw->clip.mode != G4_CLIP_MODE_NORMAL)
                                            ? decide(&draw->clip, all, any, o.type == G4_OBJECT_POINT)
                                            : PASS;
        struct g4_object object = g4_object_of(draw, &o, v);
        object.last_of_primitive = strip->ends_primitive && i + 1 == strip->objects;
        object.edges =
            flagged(edges_of(strip->topology, k, object.last_of_primitive) & (uint32_t)~o.inner_edges, v, o.vertices);
        object.primitive_id = g4_strip_primitive_id(strip, i);
        object.continue_stipple = object.continue_stipple && !broken;
        broken = action != PASS;
        if (action == CLIP) {
            clipped++;
            if (!clip_object(&c, &object, any)) {
                return G4_NO_MEMORY;
            }
        }
        discarded += action == DISCARD;
        /* Room for the objects that may pass. */
        if (!g4_chunk_reserve(chunk, strip->objects - i)) {
            return G4_NO_MEMORY;
        }
        if (action == PASS) {
            chunk->object[chunk->objects++] = object;
        }
    }
    if (worker->eu.counters) {
        struct g4_draw_counters *const sum = &worker->eu.counters->sum;
        const uint32_t passed = strip->objects - clipped - discarded;
        sum->assembled += strip->objects;
        sum->clipped += clipped;
        sum->clip_discarded += discarded;
        sum->clip_output += chunk->objects - first - passed;
    }
    return G4_OK;
}
