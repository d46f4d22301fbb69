/*
 * The clipper: outcodes, the decision for each object, clip threads (G45 PRM vol. 2, chapter 6).
 */
#include <math.h>
#include <string.h>

#include "core/report.h"
#include "eu/counters.h"
#include "geometry/stage.h"
#include "geometry/vertex_vectors.h"
#include "hw_messages.h"

#define SHIFT_OF(name) G4_PAYLOAD_CLIP_R0_OBJECT_OUTCODE_##name##_SHIFT
#define OUTCODE(name)  (1u << SHIFT_OF(name))

/* Outcode bits, at their positions in R0 of a CLIP thread (G45 PRM vol. 2, 6.7.2), which has none for negative w. */
enum {
    BAD = OUTCODE(BAD),
    NEGW = BAD >> 1,
    UC_SHIFT = SHIFT_OF(USER_CLIP_0),
    UC_MASK = 0xffu << UC_SHIFT,
    GB_Y_MAX = OUTCODE(GB_Y_MAX),
    GB_Y_MIN = OUTCODE(GB_Y_MIN),
    GB_X_MAX = OUTCODE(GB_X_MAX),
    GB_X_MIN = OUTCODE(GB_X_MIN),
    GB_MASK = GB_Y_MAX | GB_Y_MIN | GB_X_MAX | GB_X_MIN,
    VP_Z_MAX = OUTCODE(VP_Z_MAX),
    VP_Z_MIN = OUTCODE(VP_Z_MIN),
    VP_Z_MASK = VP_Z_MAX | VP_Z_MIN,
    VP_Y_MAX = OUTCODE(VP_Y_MAX),
    VP_Y_MIN = OUTCODE(VP_Y_MIN),
    VP_X_MAX = OUTCODE(VP_X_MAX),
    VP_X_MIN = OUTCODE(VP_X_MIN),
    VP_XY_MASK = VP_Y_MAX | VP_Y_MIN | VP_X_MAX | VP_X_MIN,
    VP_ABOVE_GB = SHIFT_OF(VP_X_MIN) - SHIFT_OF(GB_X_MIN),
};

/* The tests of all vertices of a draw. */
struct tests {
    const struct g4_clip *clip;
    float x_min, x_max, y_min, y_max, z_min;
    bool tests_negative_w;
};

static struct tests tests_of(const struct g4_context *ctx, const struct g4_draw_state *draw) {
    const struct g4_clip *const clip = &draw->clip;
    return (struct tests){
        .clip = clip,
        .x_min = clip->x_min,
        .x_max = clip->x_max,
        .y_min = clip->y_min,
        .y_max = clip->y_max,
        .z_min = clip->z_min,
        .tests_negative_w = ctx->model->quirks.clip_tests_negative_w,
    };
}

static g4_int4 bit_where(g4_int4 mask, uint32_t bits) {
    return mask & (int32_t)bits;
}

static g4_int4 viewport_codes(const struct tests *t, const struct g4_positions *p, g4_int4 negative) {
    return bit_where((p->x < t->x_min) ^ negative, VP_X_MIN) | bit_where((p->x > t->x_max) ^ negative, VP_X_MAX) |
           bit_where((p->y < t->y_min) ^ negative, VP_Y_MIN) | bit_where((p->y > t->y_max) ^ negative, VP_Y_MAX);
}

static g4_int4 guardband_codes(const struct tests *t, const struct g4_vertex *vertex, uint32_t count,
                               const struct g4_positions *p, g4_int4 negative) {
    g4_float4 x_min, x_max, y_min, y_max;
    for (uint32_t i = 0; i < G4_VECTOR_VERTICES; i++) {
        const struct g4_guardband *const gb = &t->clip->guardband[vertex[i < count ? i : 0].viewport & 15];
        x_min[i] = gb->x_min;
        x_max[i] = gb->x_max;
        y_min[i] = gb->y_min;
        y_max[i] = gb->y_max;
    }
    return bit_where((p->x < x_min) ^ negative, GB_X_MIN) | bit_where((p->x > x_max) ^ negative, GB_X_MAX) |
           bit_where((p->y < y_min) ^ negative, GB_Y_MIN) | bit_where((p->y > y_max) ^ negative, GB_Y_MAX);
}

/* A NaN is neither inside nor outside: it gets the codes of both sides, if they are tested. */
static g4_int4 with_nan(g4_int4 code, g4_float4 v, uint32_t bits, bool tested) {
    const g4_int4 nan = g4_float4_is_nan(v);
    return (code & ~bit_where(nan, bits)) | (tested ? bit_where(nan, bits) : (g4_int4){0});
}

/* The codes of user clip flags, negative w and bad vertices. */
static uint32_t other_codes(const struct tests *t, const struct g4_vertex *v) {
    const struct g4_clip *const clip = t->clip;
    const bool negative = signbit(v->rhw) != 0;
    uint32_t user = v->user_clip & clip->user_flags;
    uint32_t code = 0;

    if (!t->tests_negative_w) {
        /* [BW-E0], [CL-B]: flag 7 stands for a negative w, and a set flag 7 makes the vertex bad */
        code |= v->user_clip & 0x80 ? BAD : 0;
        user = (user & 0x7f) | (negative ? clip->user_flags & 0x80 : 0);
    } else if (negative && clip->test_negative_w) {
        code |= NEGW;
    }
    code |= isnan(v->rhw) ? BAD : 0;
    return code | user << UC_SHIFT;
}

/* VertexClipTest (G45 PRM vol. 2, 6.4). */
void g4_clip_outcodes(const struct g4_context *ctx, const struct g4_draw_state *draw, struct g4_vertex *vertex,
                      uint32_t count) {
    const struct tests t = tests_of(ctx, draw);
    const bool test_xy = t.clip->test_xy;
    const bool test_guard = t.clip->test_guardband;
    const bool test_z = t.clip->test_z;

    for (uint32_t first = 0; first < count; first += G4_VECTOR_VERTICES) {
        const uint32_t some = count - first < G4_VECTOR_VERTICES ? count - first : G4_VECTOR_VERTICES;
        struct g4_positions p;
        g4_positions_load(vertex + first, some, &p);
        const g4_int4 negative = (g4_int4)p.rhw >> 31;
        g4_int4 code = {0};
        if (test_xy) {
            code |= viewport_codes(&t, &p, negative);
            code |= test_guard ? (g4_int4){0} : code >> VP_ABOVE_GB & (int32_t)GB_MASK;
        }
        if (test_guard) {
            const g4_int4 guard = guardband_codes(&t, vertex + first, some, &p, negative);
            code |= guard | (test_xy ? (g4_int4){0} : guard << VP_ABOVE_GB);
        }
        if (test_z) {
            code |= bit_where((p.z < t.z_min) ^ negative, VP_Z_MIN) | bit_where((p.z > 1.0f) ^ negative, VP_Z_MAX);
        }
        code = with_nan(code, p.x, VP_X_MIN | VP_X_MAX | GB_X_MIN | GB_X_MAX, test_xy || test_guard);
        code = with_nan(code, p.y, VP_Y_MIN | VP_Y_MAX | GB_Y_MIN | GB_Y_MAX, test_xy || test_guard);
        code = with_nan(code, p.z, VP_Z_MASK, test_z);
        for (uint32_t i = 0; i < some; i++) {
            vertex[first + i].outcode = (uint32_t)code[i] | other_codes(&t, &vertex[first + i]);
        }
    }
}

enum action {
    PASS,
    DISCARD,
    SPAWN
};

/* ClipDetermination (G45 PRM vol. 2, 6.5.2) and the actions of the clip modes (6.5.3). */
static enum action decide(const struct g4_context *ctx, const struct g4_clip *clip, uint32_t all, uint32_t any,
                          bool point) {
    const uint32_t w = ctx->model->quirks.clip_tests_negative_w ? NEGW : 0;
    const uint32_t guard = point ? 0 : GB_MASK; /* points have no guardband test */
    const bool reject = (all & (VP_XY_MASK | GB_MASK | VP_Z_MASK | UC_MASK | w)) != 0;
    const bool user = clip->user_flags_must_clip ? (any & UC_MASK) != 0 : (all & UC_MASK) != 0;
    const bool accept = !reject && !(any & (guard | VP_Z_MASK | w)) && !user;
    const bool bad = (any & BAD) != 0;
    const bool spawn_bad = ctx->model->quirks.clip_spawns_for_bad_vertices;

    if (bad && spawn_bad && clip->mode != G4_CLIP_MODE_REJECT_ALL) {
        return SPAWN;
    }
    switch (clip->mode) {
    case G4_CLIP_MODE_NORMAL:
        if (reject || bad) {
            return DISCARD;
        }
        return accept ? PASS : SPAWN;
    case G4_CLIP_MODE_ALL:
        return SPAWN;
    case G4_CLIP_MODE_NON_REJECTED:
        return reject || bad ? DISCARD : SPAWN;
    case G4_CLIP_MODE_ACCEPT_ALL:
        return bad ? DISCARD : PASS;
    default:
        return DISCARD;
    }
}

bool g4_chunk_reserve(struct g4_chunk *chunk, uint32_t more) {
    if (chunk->objects + more <= chunk->object_capacity) {
        return true;
    }
    uint32_t capacity = chunk->object_capacity ? chunk->object_capacity : 256;
    while (capacity < chunk->objects + more) {
        capacity *= 2;
    }
    struct g4_object *const bigger = g4_arena_alloc(chunk->range_arena, capacity * sizeof *bigger);
    if (!bigger) {
        return false;
    }
    if (chunk->objects) {
        memcpy(bigger, chunk->object, chunk->objects * sizeof *bigger);
    }
    chunk->object = bigger;
    chunk->object_capacity = capacity;
    return true;
}

/* The clipper's work on one strip. */
struct clipping {
    struct g4_worker *worker;
    const struct g4_draw_state *draw;
    struct g4_chunk *chunk;
    uint32_t first;                  /* of the strip's objects in the chunk */
    struct g4_thread_object *thread; /* for objects that are clipped */
    uint32_t *before;                /* how many objects of the strip pass before each of them */
    uint32_t threads, capacity;
};

static uint8_t provoking(const struct g4_draw_state *draw, const struct g4_topology_object *o) {
    const struct g4_setup_state *const setup = &draw->setup;
    switch (o->provoking_kind) {
    case G4_PROVOKING_LINE:
        return setup->provoking_line;
    case G4_PROVOKING_TRIANGLE:
        return setup->provoking_triangle;
    case G4_PROVOKING_FAN:
        return setup->provoking_fan;
    default:
        return 0;
    }
}

struct g4_object g4_object_of(const struct g4_draw_state *draw, const struct g4_topology_object *o,
                              const struct g4_vertex *const v[3]) {
    struct g4_object object = {
        .type = o->type,
        .topology = o->topology,
        .vertices = o->vertices,
        .provoking = provoking(draw, o),
        .invert_orientation = o->invert,
        .back_facing = o->back_facing,
        .poly_stipple = o->poly_stipple,
        .continue_stipple = o->continue_stipple,
    };
    for (int i = 0; i < o->vertices; i++) {
        object.v[i] = v[i];
    }
    if (object.provoking >= o->vertices) {
        object.provoking = (uint8_t)(o->vertices - 1);
    }
    return object;
}

static bool add_thread(struct clipping *c, const struct g4_object *object, uint32_t any, uint32_t edges) {
    if (!c->thread) { /* most strips need none */
        c->thread = g4_arena_alloc(c->chunk->range_arena, c->capacity * sizeof *c->thread);
        c->before = g4_arena_alloc(c->chunk->range_arena, c->capacity * sizeof *c->before);
        if (!c->thread || !c->before) {
            return false;
        }
    }
    struct g4_thread_object *const t = &c->thread[c->threads];
    *t = (struct g4_thread_object){.vertices = object->vertices, .r0_2 = any | edges | object->topology};
    for (uint32_t i = 0; i < object->vertices; i++) {
        t->rows[i] = object->v[i]->rows;
        t->row_count[i] = object->v[i]->row_count;
    }
    c->before[c->threads++] = c->chunk->objects - c->first;
    return true;
}

/* Append the objects in the output of a clip thread, which are not clipped again (G45 PRM vol. 2, 6.1.1). */
static bool emit_output(struct clipping *c, const struct g4_output *out) {
    for (uint32_t s = 0; s < out->strips; s++) {
        const struct g4_strip *const strip = &out->strip[s];
        const uint32_t used = g4_topology_used(strip->topology, strip->count);
        const uint32_t objects = g4_topology_objects(strip->topology, used);
        if (!g4_chunk_reserve(c->chunk, objects)) {
            return false;
        }
        for (uint32_t k = 0; k < objects; k++) {
            struct g4_topology_object o;
            const struct g4_vertex *v[3] = {NULL};
            if (!g4_topology_object(strip->topology, used, k, &o)) {
                g4_report(c->worker->eu.log, G4_EVENT_BAD_TOPOLOGY, 0, strip->topology);
                break;
            }
            for (int i = 0; i < o.vertices; i++) {
                v[i] = &out->vertex[strip->first + o.position[i]];
            }
            struct g4_object *const object = &c->chunk->object[c->chunk->objects++];
            *object = g4_object_of(c->draw, &o, v);
            object->last_of_primitive = k + 1 == objects;
        }
    }
    return true;
}

/* Insert the output of threads between the objects that pass, in object order (G45 PRM vol. 2, 6.10). */
static enum g4_status weave(struct clipping *c, const struct g4_output *out) {
    const uint32_t passed = c->chunk->objects - c->first;
    struct g4_object *const passing = g4_arena_alloc(c->chunk->range_arena, passed * sizeof *passing + 1);
    uint32_t next = 0;

    if (!passing) {
        return G4_NO_MEMORY;
    }
    if (passed) {
        memcpy(passing, c->chunk->object + c->first, passed * sizeof *passing);
    }
    c->chunk->objects = c->first;
    for (uint32_t t = 0; t <= c->threads; t++) {
        const uint32_t until = t < c->threads ? c->before[t] : passed;
        if (!g4_chunk_reserve(c->chunk, until - next)) {
            return G4_NO_MEMORY;
        }
        while (next < until) {
            c->chunk->object[c->chunk->objects++] = passing[next++];
        }
        if (t < c->threads && !emit_output(c, &out[t])) {
            return G4_NO_MEMORY;
        }
    }
    return G4_OK;
}

static enum g4_status run_threads(struct clipping *c) {
    const struct g4_spawn spawn = {.stage = G4_STAGE_CLIP, .max_viewport = UINT32_MAX};
    struct g4_output *const out = g4_arena_alloc(c->chunk->range_arena, c->threads * sizeof *out);
    if (!out) {
        return G4_NO_MEMORY;
    }
    memset(out, 0, c->threads * sizeof *out);
    for (uint32_t i = 0; i < c->threads; i++) {
        out[i].arena = c->chunk->range_arena;
    }
    if (c->worker->ctx->model->quirks.clip_counts_threads && c->draw->stage[G4_STAGE_CLIP].statistics) {
        c->worker->counter[G4_COUNTER_CL_INVOCATIONS] += c->threads;
    }
    enum g4_status status = g4_spawn_run(c->worker, c->draw, &spawn, c->thread, c->threads, out);
    const uint32_t passed = c->chunk->objects;
    status = status == G4_OK ? weave(c, out) : status;
    if (c->worker->eu.counters) {
        c->worker->eu.counters->sum.clip_output += c->chunk->objects - passed;
    }
    return status;
}

/* Fast path: append triangles of a list from number i on whose outcodes are 0; returns the number of the next one. */
static uint32_t pass_triangles(const struct clipping *c, const struct g4_strip *strip,
                               const struct g4_vertex *const *vertex, uint32_t i) {
    struct g4_chunk *const chunk = c->chunk;
    struct g4_topology_object o;

    if (strip->topology != G4_PRIMITIVE_TOPOLOGY_TRILIST || i >= strip->objects ||
        (c->draw->clip_enable && c->draw->clip.mode != G4_CLIP_MODE_NORMAL)) {
        return i;
    }
    const struct g4_vertex *const *v = &vertex[1 + 3 * (strip->first_object + i) - strip->first];
    (void)g4_topology_object(strip->topology, strip->vertices, strip->first_object + i, &o);
    const struct g4_object like = g4_object_of(c->draw, &o, v);
    for (; i < strip->objects && !(v[0]->outcode | v[1]->outcode | v[2]->outcode); i++, v += 3) {
        struct g4_object *const object = &chunk->object[chunk->objects++];
        *object = like;
        object->v[0] = v[0];
        object->v[1] = v[1];
        object->v[2] = v[2];
        object->last_of_primitive = strip->ends_primitive && i + 1 == strip->objects;
    }
    return i;
}

enum g4_status g4_clip_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_strip *strip,
                           const struct g4_vertex *const *vertex, struct g4_chunk *chunk) {
    struct clipping c = {
        .worker = worker, .draw = draw, .chunk = chunk, .first = chunk->objects, .capacity = strip->objects};
    struct g4_topology_object o;
    bool broken = false; /* a piece of a line strip is missing: the stipple restarts */

    if (!g4_chunk_reserve(chunk, strip->objects)) {
        return G4_NO_MEMORY;
    }
    if (draw->clip_enable && draw->clip.count_gs_output) {
        worker->counter[G4_COUNTER_GS_PRIMITIVES] += strip->objects;
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
        enum action action = PASS; /* objects without outcodes */
        if (draw->clip_enable && (any || draw->clip.mode != G4_CLIP_MODE_NORMAL)) {
            action = decide(worker->ctx, &draw->clip, all, any, o.type == G4_OBJECT_POINT);
        }
        struct g4_object *const object = &chunk->object[chunk->objects];
        *object = g4_object_of(draw, &o, v);
        object->last_of_primitive = strip->ends_primitive && i + 1 == strip->objects;
        if (action == PASS) {
            object->continue_stipple = object->continue_stipple && !broken;
            broken = false;
            chunk->objects++;
            continue;
        }
        broken = true;
        if (action == SPAWN &&
            !add_thread(&c, object, any, g4_topology_edges(strip->topology, k, object->last_of_primitive))) {
            return G4_NO_MEMORY;
        }
    }
    if (worker->eu.counters) {
        struct g4_draw_counters *const sum = &worker->eu.counters->sum;
        sum->assembled += strip->objects;
        sum->clipped += c.threads;
        sum->clip_discarded += strip->objects - (chunk->objects - c.first) - c.threads;
    }
    return c.threads ? run_threads(&c) : G4_OK;
}
