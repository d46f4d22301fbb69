/*
 * The clipper: outcodes, the decision for each object, clip threads (spec/20 3).
 */
#include <math.h>
#include <string.h>

#include "../report.h"
#include "stage.h"

/* Outcode bits where R0.2 of a CLIP thread has them (spec/20 2.6). */
enum {
    NEGW = 1u << 12,
    BAD = 1u << 13,
    UC_SHIFT = 14,
    UC_MASK = 0xffu << UC_SHIFT,
    GB_Y_MAX = 1u << 22,
    GB_Y_MIN = 1u << 23,
    GB_X_MAX = 1u << 24,
    GB_X_MIN = 1u << 25,
    GB_MASK = 15u << 22,
    VP_Z_MAX = 1u << 26,
    VP_Z_MIN = 1u << 27,
    VP_Z_MASK = 3u << 26,
    VP_Y_MAX = 1u << 28,
    VP_Y_MIN = 1u << 29,
    VP_X_MAX = 1u << 30,
    VP_X_MIN = 1u << 31,
    VP_XY_MASK = 15u << 28,
};

struct limits {
    float x_min, x_max, y_min, y_max;
};

static uint32_t box_code(const struct g4_vertex *v, const struct limits *box, bool negative, uint32_t x_min,
                         uint32_t x_max, uint32_t y_min, uint32_t y_max) {
    uint32_t code = 0;
    code |= (v->x < box->x_min) != negative ? x_min : 0;
    code |= (v->x > box->x_max) != negative ? x_max : 0;
    code |= (v->y < box->y_min) != negative ? y_min : 0;
    code |= (v->y > box->y_max) != negative ? y_max : 0;
    return code;
}

static uint32_t z_code(const struct g4_clip_state *clip, const struct g4_vertex *v, bool negative) {
    const float z_min = clip->api_mode == G4_API_MODE_D3D ? 0.0f : -1.0f;
    return ((v->z < z_min) != negative ? VP_Z_MIN : 0) | ((v->z > 1.0f) != negative ? VP_Z_MAX : 0);
}

/* VertexClipTest of spec/20 3.1. */
static uint32_t outcode(const struct g4_context *ctx, const struct g4_pipe *pipe, const struct g4_vertex *v) {
    const struct g4_clip_state *const clip = &pipe->clip;
    const struct g4_clip_viewport *const gb = &pipe->clip_viewport[v->viewport & 15];
    const bool screen = clip->vertex_position_space == G4_VERTEX_POSITION_SPACE_SCREEN;
    const struct limits vp = {
        screen ? clip->screen_space_viewport_x_min : -1.0f, screen ? clip->screen_space_viewport_x_max : 1.0f,
        screen ? clip->screen_space_viewport_y_min : -1.0f, screen ? clip->screen_space_viewport_y_max : 1.0f};
    const struct limits guard = {gb->x_min_clip_guardband, gb->x_max_clip_guardband, gb->y_min_clip_guardband,
                                 gb->y_max_clip_guardband};
    const bool test_xy = clip->viewport_xy_clip_test_enable;
    const bool test_guard = clip->guardband_clip_test_enable;
    const bool test_z = clip->viewport_z_clip_test_enable;
    const bool negative = signbit(v->rhw) != 0;
    uint32_t user = v->user_clip & clip->user_clip_flags_clip_test_enable_bitmask;
    uint32_t code = 0;

    if (test_xy) {
        code |= box_code(v, &vp, negative, VP_X_MIN, VP_X_MAX, VP_Y_MIN, VP_Y_MAX);
    }
    if (test_guard) {
        code |= box_code(v, &guard, negative, GB_X_MIN, GB_X_MAX, GB_Y_MIN, GB_Y_MAX);
    }
    if (test_xy && !test_guard) {
        code |= (code & VP_XY_MASK) >> 6;
    } else if (test_guard && !test_xy) {
        code |= (code & GB_MASK) << 6;
    }
    if (test_z) {
        code |= z_code(clip, v, negative);
    }
    if (isnan(v->x)) {
        code &= ~(VP_X_MIN | VP_X_MAX | GB_X_MIN | GB_X_MAX);
        code |= test_xy || test_guard ? VP_X_MIN | VP_X_MAX | GB_X_MIN | GB_X_MAX : 0;
    }
    if (isnan(v->y)) {
        code &= ~(VP_Y_MIN | VP_Y_MAX | GB_Y_MIN | GB_Y_MAX);
        code |= test_xy || test_guard ? VP_Y_MIN | VP_Y_MAX | GB_Y_MIN | GB_Y_MAX : 0;
    }
    if (isnan(v->z)) {
        code &= ~(uint32_t)VP_Z_MASK;
        code |= test_z ? VP_Z_MASK : 0;
    }
    if (!g4_is_gen45(ctx->gen)) {
        /* [BW-E0], [CL-B]: flag 7 stands for a negative w, and its own value makes the vertex bad (spec/20 3.1) */
        code |= v->user_clip & 0x80 ? BAD : 0;
        user = (user & 0x7f) | (negative ? clip->user_clip_flags_clip_test_enable_bitmask & 0x80 : 0);
    } else if (negative && clip->negative_w_clip_test_enable) {
        code |= NEGW;
    }
    code |= isnan(v->rhw) ? BAD : 0;
    return code | user << UC_SHIFT;
}

enum action {
    PASS,
    DISCARD,
    SPAWN
};

/* ClipDetermination and the clip mode's table, spec/20 3.2 and 3.3. */
static enum action decide(const struct g4_context *ctx, const struct g4_clip_state *clip, uint32_t all, uint32_t any,
                          bool point) {
    const uint32_t w = g4_is_gen45(ctx->gen) ? NEGW : 0;
    const uint32_t guard = point ? 0 : GB_MASK; /* points have no guardband test */
    const bool reject = (all & (VP_XY_MASK | GB_MASK | VP_Z_MASK | UC_MASK | w)) != 0;
    const bool user = clip->user_clip_flags_must_clip_enable ? (any & UC_MASK) != 0 : (all & UC_MASK) != 0;
    const bool accept = !reject && !(any & (guard | VP_Z_MASK | w)) && !user;
    const bool bad = (any & BAD) != 0;
    const bool spawn_bad = !g4_is_gen45(ctx->gen);

    if (bad && spawn_bad && clip->clip_mode != G4_CLIP_MODE_REJECT_ALL) {
        return SPAWN;
    }
    switch (clip->clip_mode) {
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
    if (chunk->objects + more <= chunk->object_room) {
        return true;
    }
    uint32_t room = chunk->object_room ? chunk->object_room : 256;
    while (room < chunk->objects + more) {
        room *= 2;
    }
    struct g4_object *const bigger = g4_arena_alloc(chunk->arena, room * sizeof *bigger);
    if (!bigger) {
        return false;
    }
    if (chunk->objects) {
        memcpy(bigger, chunk->object, chunk->objects * sizeof *bigger);
    }
    chunk->object = bigger;
    chunk->object_room = room;
    return true;
}

/* The clipper's work on one strip, until it is handed on. */
struct clipping {
    struct g4_worker *worker;
    const struct g4_pipe *pipe;
    struct g4_chunk *chunk;
    /* Objects that wait for their threads, and where they stand among those that pass. */
    struct pending {
        bool spawned;
        struct g4_object object;
    } * pending;
    uint32_t pendings;
    struct g4_thread_object *thread;
    uint32_t threads;
};

static uint8_t provoking(const struct g4_pipe *pipe, const struct g4_topology_object *o) {
    const struct g4_sf_state *const sf = &pipe->sf;
    switch (o->provoking_kind) {
    case G4_PROVOKING_LINE:
        return (uint8_t)sf->line_strip_list_provoking_vertex_select;
    case G4_PROVOKING_TRIANGLE:
        return (uint8_t)sf->triangle_strip_list_provoking_vertex_select;
    case G4_PROVOKING_FAN:
        return (uint8_t)sf->triangle_fan_provoking_vertex_select;
    default:
        return 0;
    }
}

struct g4_object g4_object_of(const struct g4_pipe *pipe, const struct g4_topology_object *o,
                              const struct g4_vertex *const v[3]) {
    struct g4_object object = {
        .type = o->type,
        .topology = o->topology,
        .vertices = o->vertices,
        .provoking = provoking(pipe, o),
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

static void add_thread(struct clipping *c, const struct g4_object *object, uint32_t topology, uint32_t any,
                       uint32_t edges) {
    struct g4_thread_object *const t = &c->thread[c->threads++];
    *t = (struct g4_thread_object){.vertices = object->vertices, .r0_2 = any | edges | topology};
    for (uint32_t i = 0; i < object->vertices; i++) {
        t->rows[i] = object->v[i]->rows;
        t->row_count[i] = object->v[i]->row_count;
    }
}

/* Objects of what a clip thread put out; they are not clipped again. */
static bool emit_output(struct clipping *c, const struct g4_output *out) {
    for (uint32_t s = 0; s < out->strips; s++) {
        const struct g4_strip *const strip = &out->strip[s];
        const uint32_t kept = g4_topology_kept(strip->topology, strip->count);
        const uint32_t objects = g4_topology_objects(strip->topology, kept);
        if (!g4_chunk_reserve(c->chunk, objects)) {
            return false;
        }
        for (uint32_t k = 0; k < objects; k++) {
            struct g4_topology_object o;
            const struct g4_vertex *v[3] = {NULL};
            if (!g4_topology_object(strip->topology, k, &o)) {
                g4_report(c->worker->eu.log, G4_EVENT_BAD_TOPOLOGY, 0, strip->topology);
                break;
            }
            for (int i = 0; i < o.vertices; i++) {
                v[i] = &out->vertex[strip->first + o.position[i]];
            }
            struct g4_object *const object = &c->chunk->object[c->chunk->objects++];
            *object = g4_object_of(c->pipe, &o, v);
            object->last_of_primitive = k + 1 == objects;
        }
    }
    return true;
}

static enum g4_status run_threads(struct clipping *c) {
    const struct g4_clip_state *const clip = &c->pipe->clip;
    const struct g4_spawn spawn = {
        .stage = G4_STAGE_CLIP,
        .constant_offset = clip->constant_urb_entry_read_offset,
        .constant_rows = clip->constant_urb_entry_read_length,
        .vertex_offset = clip->vertex_urb_entry_read_offset,
        .vertex_rows = clip->vertex_urb_entry_read_length,
        .grf_start = clip->dispatch_grf_start_register,
        .entry_units = clip->urb_entry_allocation_size,
        .scratch_space = clip->per_thread_scratch_space,
        .max_threads = clip->maximum_number_of_threads,
        .max_viewport = UINT32_MAX,
    };
    struct g4_output *const out = g4_arena_alloc(c->chunk->arena, (c->threads + 1) * sizeof *out);
    if (!out) {
        return G4_NO_MEMORY;
    }
    memset(out, 0, (c->threads + 1) * sizeof *out);
    for (uint32_t i = 0; i < c->threads; i++) {
        out[i].arena = c->chunk->arena;
    }
    if (c->threads) {
        if (!g4_is_gen45(c->worker->ctx->gen) && clip->clipper_statistics_enable) {
            c->worker->counter[G4_COUNTER_CL_INVOCATIONS] += c->threads;
        }
        const enum g4_status status = g4_spawn_run(c->worker, c->pipe, &spawn, c->thread, c->threads, out);
        if (status != G4_OK) {
            return status;
        }
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < c->pendings; i++) {
        if (c->pending[i].spawned) {
            if (!emit_output(c, &out[next++])) {
                return G4_NO_MEMORY;
            }
        } else {
            if (!g4_chunk_reserve(c->chunk, 1)) {
                return G4_NO_MEMORY;
            }
            c->chunk->object[c->chunk->objects++] = c->pending[i].object;
        }
    }
    return G4_OK;
}

enum g4_status g4_clip_run(struct g4_worker *worker, const struct g4_pipe *pipe, const struct g4_strip *strip,
                           const struct g4_vertex *const *vertex, struct g4_chunk *chunk) {
    struct clipping c = {.worker = worker, .pipe = pipe, .chunk = chunk};
    const uint32_t room = strip->objects;
    bool broken = false; /* a piece of a line strip is missing: the stipple starts anew */

    c.pending = g4_arena_alloc(chunk->arena, room * sizeof *c.pending + 1);
    c.thread = g4_arena_alloc(chunk->arena, room * sizeof *c.thread + 1);
    if (!c.pending || !c.thread) {
        return G4_NO_MEMORY;
    }
    if (pipe->clip_enable && pipe->clip.gs_output_object_statistics_enable) {
        worker->counter[G4_COUNTER_GS_PRIMITIVES] += strip->objects;
    }
    for (uint32_t i = 0; i < strip->objects; i++) {
        const uint32_t k = strip->first_object + i;
        const bool last = strip->ends_primitive && i + 1 == strip->objects;
        struct g4_topology_object o;
        const struct g4_vertex *v[3] = {NULL};
        uint32_t all = UINT32_MAX;
        uint32_t any = 0;

        if (!g4_topology_object(strip->topology, k, &o)) {
            g4_report(worker->eu.log, G4_EVENT_BAD_TOPOLOGY, 0, strip->topology);
            return G4_OK;
        }
        for (int n = 0; n < o.vertices; n++) {
            /* position 0 of fans stands in front of the strip's own vertices */
            v[n] = o.position[n] < strip->first ? vertex[0] : vertex[1 + o.position[n] - strip->first];
            if (pipe->clip_enable) {
                const uint32_t code = outcode(worker->ctx, pipe, v[n]);
                all &= code;
                any |= code;
            }
        }
        const enum action action =
            pipe->clip_enable ? decide(worker->ctx, &pipe->clip, all, any, o.type == G4_OBJECT_POINT) : PASS;
        struct g4_object object = g4_object_of(pipe, &o, v);
        object.last_of_primitive = last;
        if (action == PASS) {
            object.continue_stipple = object.continue_stipple && !broken;
            broken = false;
            c.pending[c.pendings++] = (struct pending){.spawned = false, .object = object};
        } else {
            broken = true;
            if (action == SPAWN) {
                c.pending[c.pendings++] = (struct pending){.spawned = true};
                add_thread(&c, &object, o.topology, any, g4_topology_edges(strip->topology, k, last));
            }
        }
    }
    return run_threads(&c);
}
