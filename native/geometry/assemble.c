/*
 * A range of a draw through the stages of the front end: fetch, VS, tessellation, GS, stream output, clip.
 */
#include <string.h>

#include "core/hooks.h"
#include "core/report.h"
#include "eu/counters.h"
#include "geometry/mesh.h"
#include "geometry/setup.h"
#include "geometry/stage.h"
#include "hw_messages.h"

/* The vertices of a range: a run of positions, and position 0 before it, if a fan or a loop uses that again. */
struct needs {
    bool zero;
    uint32_t first, count; /* positions first .. first+count-1 */
};

/* `whole`: a shader takes the objects with adjacency, quads and patches. */
static struct needs needs_of(uint32_t topology, const struct g4_range *range, bool whole) {
    struct needs n = {.first = UINT32_MAX};
    uint32_t last = 0;
    for (uint32_t i = 0; i < range->objects; i++) {
        /* the positions of the first two and last two objects enclose those of all others */
        if (i != 0 && i + 1 != range->objects && i != 1 && i + 2 != range->objects) {
            continue;
        }
        const uint32_t k = range->first_object + i;
        uint32_t position[G4_PATCH_VERTICES] = {0};
        uint32_t count;
        if (whole) {
            uint32_t unused;
            count = g4_topology_gs_object(topology, range->vertices, k, G4_ODD_AS_THEY_ARE, false, position, &unused);
        } else {
            struct g4_topology_object o;
            if (!g4_topology_object(topology, range->vertices, k, &o)) {
                continue;
            }
            count = o.vertices;
            memcpy(position, o.position, sizeof o.position);
        }
        for (uint32_t v = 0; v < count; v++) {
            if (position[v] == 0 && range->first_object != 0) {
                n.zero = true;
                continue; /* the center of a fan, or the end of a loop */
            }
            n.first = position[v] < n.first ? position[v] : n.first;
            last = position[v] > last ? position[v] : last;
        }
    }
    n.count = n.first == UINT32_MAX ? 0 : last - n.first + 1;
    n.first = n.count ? n.first : 0;
    return n;
}

/* Whether slot 0 is the vertex at position 0; else no object uses the slot. */
static bool has_zero(const struct needs *needs) {
    return needs->zero || needs->first == 0;
}

struct assembly {
    struct g4_worker *worker;
    const struct g4_draw_state *draw;
    const struct g4_range *range;
    struct g4_sf_frame frame;
    struct g4_entries entries;
    /* By slot: slot 0 is the vertex at position 0 (has_zero), slot 1 + i the one at position `first` + i. */
    uint32_t *entry_of;
    const struct g4_vertex **vertex_of;
    bool *inner;     /* by entry, as in g4_vertex; NULL without edge flags */
    uint32_t *index; /* NULL unless indexed */
    uint32_t slots;
    uint32_t recorded; /* number in the mesh of the first object that the next stage takes */

    uint32_t *index_of; /* by entry; NULL unless vertices are reused */
    uint16_t *hash;     /* of indices: an entry + 1, or 0; NULL unless vertices are reused */
    uint32_t hash_mask;

    struct g4_vertex_fetch fetch; /* the last member, because only the others are cleared */
};

static struct g4_vertex_ids ids_of(const struct assembly *a, uint32_t position, uint32_t index) {
    const struct g4_primitive *const p = &a->draw->primitive;
    const uint32_t in_draw = a->range->start + position;
    struct g4_vertex_ids ids = {
        .vertex_index = p->start_vertex + in_draw,
        .vertex_id = in_draw,
        .instance_id = a->range->instance,
        .start_instance = p->start_instance,
        .primitive_id = a->range->primitive_id + g4_topology_primitive_id(p->topology, position),
    };
    if (a->fetch.indexed) {
        ids.vertex_id = index;
        ids.vertex_index = index + (uint32_t)p->base_vertex;
    }
    return ids;
}

/* A vertex header and a position in pixels. */
static void put_corner(const struct g4_primitive *primitive, uint32_t position, uint32_t (*rows)[8]) {
    const float *const corner = primitive->corner[position % 3];

    memset(rows, 0, sizeof *rows);
    rows[0][4] = g4_hw_bits(corner[0]);
    rows[0][5] = g4_hw_bits(corner[1]);
    rows[0][7] = g4_hw_bits(1.0f);
}

/* The vertex at a position into a new entry. */
static uint32_t fetch_at(struct assembly *a, uint32_t position, uint32_t index) {
    const uint32_t entry = a->entries.count++;
    const struct g4_vertex_ids ids = ids_of(a, position, index);
    uint32_t(*const rows)[8] = a->entries.rows + (size_t)entry * a->entries.stride;
    if (a->draw->primitive.has_corners) {
        put_corner(&a->draw->primitive, position, rows);
        return entry;
    }
    if (a->fetch.rows < a->entries.stride) {
        memset(rows + a->fetch.rows, 0, (a->entries.stride - a->fetch.rows) * sizeof *rows);
    }
    g4_fetch_vertex(&a->worker->port, &a->fetch, &ids, rows);
    if (a->inner) {
        a->inner[entry] = !g4_fetch_edge_flag(&a->worker->port, &a->fetch, &ids);
    }
    return entry;
}

/* The entry of the vertex at a position, fetched unless the range already has a vertex with its index. */
static uint32_t entry_at(struct assembly *a, uint32_t slot_number, uint32_t position) {
    const uint32_t index = a->index ? a->index[slot_number] : 0;
    if (!a->hash) {
        return fetch_at(a, position, index);
    }
    uint32_t slot = index * 2654435761u >> 16 & a->hash_mask;
    while (a->hash[slot]) {
        const uint32_t entry = a->hash[slot] - 1u;
        if (a->index_of[entry] == index) {
            return entry;
        }
        slot = (slot + 1) & a->hash_mask;
    }
    const uint32_t entry = fetch_at(a, position, index);
    a->index_of[entry] = index;
    a->hash[slot] = (uint16_t)(entry + 1);
    return entry;
}

/* Fetch the indices of all slots, and allocate the hash of indices already fetched. */
static enum g4_status fetch_indices(struct assembly *a, const struct needs *needs, struct g4_arena *arena) {
    const uint32_t from = a->draw->primitive.start_vertex + a->range->start;
    uint32_t size = 1024;

    if (!a->fetch.indexed) {
        return G4_OK;
    }
    a->index = g4_arena_alloc(arena, a->slots * sizeof *a->index);
    if (!a->index) {
        return G4_NO_MEMORY;
    }
    g4_fetch_indices(&a->worker->port, &a->fetch, from + needs->first, needs->count, a->index + 1);
    a->index[0] = needs->zero ? g4_fetch_index(&a->worker->port, &a->fetch, from) : a->index[1];
    if (a->fetch.uses_primitive_id || !a->draw->vertex_cache) {
        return G4_OK;
    }
    while (size < 2 * a->slots && size < 1u << 16) {
        size *= 2;
    }
    a->index_of = g4_arena_alloc(arena, a->slots * sizeof *a->index_of);
    a->hash = g4_arena_alloc(arena, size * sizeof *a->hash);
    a->hash_mask = size - 1;
    if (!a->index_of || !a->hash) {
        return G4_NO_MEMORY;
    }
    memset(a->hash, 0, size * sizeof *a->hash);
    return G4_OK;
}

/* Rows of an entry: as many as the VS allocates, or VF writes if those are more. */
static uint32_t entry_rows(const struct g4_draw_state *draw, const struct g4_vertex_fetch *fetch) {
    const uint32_t allocated = draw->stage[G4_STAGE_VS].entry_rows;
    const uint32_t fetched = (fetch->rows + 1) & ~1u;
    return allocated > fetched ? allocated : fetched;
}

static enum g4_status notify_fetched(const struct assembly *a, const struct needs *needs) {
    struct g4_hooks *const hooks = a->worker->eu.hooks;
    const struct g4_primitive *const p = &a->draw->primitive;
    struct g4_port look;

    g4_port_init(&look, a->worker->ctx->mem, G4_UNIT_VF, false);
    look.quiet = true;
    for (uint32_t i = 0; i < needs->count + has_zero(needs); i++) { /* the one at position 0 comes last */
        const uint32_t position = i < needs->count ? needs->first + i : 0;
        const uint32_t entry = a->entry_of[i < needs->count ? 1 + i : 0];
        const uint32_t at = p->start_vertex + a->range->start + position;
        const uint32_t index = a->fetch.indexed ? g4_fetch_index(&look, &a->fetch, at) : 0;
        const struct g4_vertex_ids ids = ids_of(a, position, index);
        const struct g4_fetched_vertex vertex = {
            .rows = a->entries.rows + (size_t)entry * a->entries.stride,
            .sequence = a->range->instance * p->vertex_count + a->range->start + position,
            .index = ids.vertex_index,
            .id = ids.vertex_id,
            .instance = ids.instance_id,
            .primitive_id = ids.primitive_id,
            .shaded = a->draw->vs_enable,
        };
        if (!hooks->vertex_fetched(hooks, &vertex)) {
            return G4_STOPPED;
        }
    }
    return G4_OK;
}

/* The bytes of each vertex that was fetched. */
static void count_fetched(const struct assembly *a) {
    struct g4_counters *const counters = a->worker->eu.counters;

    counters->sum.vertices_fetched += a->entries.count;
    counters->sum.vertices_shaded += a->draw->vs_enable ? a->entries.count : 0;
    for (uint32_t i = 0; i < a->fetch.elements; i++) {
        const struct g4_fetch *const f = &a->fetch.element[i];
        const uint64_t bytes = f->reads_memory ? f->format->block_bits / 8u : 0;
        g4_count_bytes(counters, G4_ROLE_VERTEX_BUFFER, f->buffer, bytes * a->entries.count, 0);
    }
}

void g4_vertices_read(const struct g4_context *ctx, const struct g4_draw_state *draw, const struct g4_entries *entries,
                      struct g4_vertex *vertex) {
    (void)draw;
    for (uint32_t e = 0; e < entries->count; e++) {
        const uint32_t(*const rows)[8] = (const uint32_t(*)[8])(entries->rows + (size_t)e * entries->stride);
        g4_vertex_read_back(ctx, rows, entries->stride, 15, &vertex[e]);
    }
}

void g4_vertices_prepare(const struct g4_context *ctx, const struct g4_draw_state *draw,
                         const struct g4_sf_frame *frame, struct g4_vertex *vertex, uint32_t count) {
    if (draw->clip_enable) {
        g4_clip_outcodes(ctx, draw, vertex, count);
    }
    g4_sf_transform(frame, vertex, count);
}

static enum g4_status fetch_vertices(struct assembly *a, const struct needs *needs, struct g4_arena *arena) {
    a->slots = 1 + needs->count;
    a->entries.stride = entry_rows(a->draw, &a->fetch);
    a->entries.rows = g4_arena_alloc(arena, (size_t)a->slots * a->entries.stride * sizeof *a->entries.rows);
    a->entry_of = g4_arena_alloc(arena, a->slots * sizeof *a->entry_of);
    a->vertex_of = g4_arena_alloc(arena, a->slots * sizeof(const struct g4_vertex *));
    a->inner = a->fetch.has_edge_flag ? g4_arena_alloc(arena, a->slots * sizeof *a->inner) : NULL;
    struct g4_vertex *const vertex = g4_arena_alloc(arena, a->slots * sizeof *vertex);
    if (!a->entries.rows || !a->entry_of || !a->vertex_of || (a->fetch.has_edge_flag && !a->inner) || !vertex) {
        return G4_NO_MEMORY;
    }
    a->worker->port.unit = G4_UNIT_VF;
    enum g4_status status = fetch_indices(a, needs, arena);
    if (status != G4_OK) {
        return status;
    }
    for (uint32_t i = 0; i < needs->count; i++) {
        a->entry_of[1 + i] = entry_at(a, 1 + i, needs->first + i);
    }
    a->entry_of[0] = needs->zero ? entry_at(a, 0, 0) : a->entry_of[1];
    a->worker->port.unit = G4_UNIT_EU;

    if (a->worker->eu.counters) {
        count_fetched(a);
    }
    if (a->worker->eu.hooks) {
        status = notify_fetched(a, needs);
    }
    if (a->draw->vs_enable && status == G4_OK) {
        status = a->worker->ctx->model->run_vs(a->worker, a->draw, &a->entries);
    }
    const struct g4_context *const ctx = a->worker->ctx;
    ctx->model->read_vertices(ctx, a->draw, &a->entries, vertex);
    for (uint32_t e = 0; a->inner && e < a->entries.count; e++) {
        vertex[e].inner = a->inner[e];
    }
    if (!a->draw->gs_enable && !a->draw->tessellation.enable) {
        ctx->model->prepare_vertices(ctx, a->draw, &a->frame, vertex, a->entries.count);
    }
    for (uint32_t i = 0; i < a->slots; i++) {
        a->vertex_of[i] = &vertex[a->entry_of[i]];
    }
    return status;
}

/* The vertices of the range and its objects, before any other shader takes them. */
static void record_range(struct assembly *a, const struct needs *needs, const struct g4_strip *strip,
                         struct g4_mesh *mesh) {
    for (uint32_t i = 0; i < needs->count + has_zero(needs); i++) { /* the one at position 0 comes last */
        const uint32_t slot = i < needs->count ? 1 + i : 0;
        const uint32_t position = slot ? needs->first + i : 0;
        const struct g4_vertex_ids ids = ids_of(a, position, a->index ? a->index[slot] : 0);
        g4_mesh_add_vertex(mesh, G4_MESH_VS, &a->frame, a->vertex_of[slot], ids.vertex_index, a->range->instance);
    }
    a->recorded = g4_mesh_add_objects(mesh, G4_MESH_VS, strip, a->vertex_of);
}

/* The output of a shader for object i of those that were recorded last: all vertices of a strip. */
static uint32_t record_strip(struct assembly *a, enum g4_mesh_stage stage, uint32_t i, const struct g4_strip *strip,
                             const struct g4_vertex *const *vertex, struct g4_mesh *mesh) {
    for (uint32_t v = 0; v < strip->vertices; v++) {
        g4_mesh_add_vertex(mesh, stage, &a->frame, vertex[1 + v],
                           a->recorded == G4_MESH_NONE ? G4_MESH_NONE : a->recorded + i, 0);
    }
    return g4_mesh_add_objects(mesh, stage, strip, vertex);
}

/* The objects of a strip that has left the last shader: stream output, then clip. */
static enum g4_status finish_strip(struct assembly *a, const struct g4_strip *strip,
                                   const struct g4_vertex *const *vertex, struct g4_chunk *chunk) {
    const struct g4_stream_output *const output = &a->draw->stream_output;

    if (output->enable && a->range->streamed) {
        g4_stream_output_append(a->worker, a->draw, strip, vertex, a->range->streamed);
    } else if (output->enable) {
        g4_stream_output_run(a->worker, a->draw, strip, a->range->preceding, vertex);
    }
    const bool ends = output->drops_objects || (output->enable && strip->stream != output->rendered_stream);
    return ends ? G4_OK : a->worker->ctx->model->run_clip(a->worker, a->draw, strip, vertex, chunk);
}

/* The output of geometry shader threads for an object, strip by strip. */
static enum g4_status finish_output(struct assembly *a, uint32_t object, const struct g4_output *out,
                                    struct g4_chunk *chunk) {
    const struct g4_context *const ctx = a->worker->ctx;

    ctx->model->prepare_vertices(ctx, a->draw, &a->frame, out->vertex, out->vertices);
    for (uint32_t s = 0; s < out->strips; s++) {
        struct g4_strip strip = out->strip[s];
        const struct g4_vertex **const vertex_of =
            g4_arena_alloc(chunk->range_arena, (strip.count + 1) * sizeof(const struct g4_vertex *));
        if (!vertex_of) {
            return G4_NO_MEMORY;
        }
        for (uint32_t v = 0; v < strip.count; v++) {
            vertex_of[1 + v] = &out->vertex[strip.first + v];
        }
        vertex_of[0] = vertex_of[1];
        const uint32_t used = g4_topology_used(strip.topology, strip.count);
        strip.first = 0;
        strip.objects = g4_topology_objects(strip.topology, used);
        strip.ends_primitive = true;
        strip.vertices = used;
        if (chunk->mesh) {
            (void)record_strip(a, G4_MESH_GS, object, &strip, vertex_of, chunk->mesh);
        }
        const enum g4_status status = finish_strip(a, &strip, vertex_of, chunk);
        if (status != G4_OK) {
            return status;
        }
    }
    return G4_OK;
}

static enum g4_status shade_geometry(struct assembly *a, const struct g4_strip *strip,
                                     const struct g4_vertex *const *vertex, struct g4_chunk *chunk) {
    struct g4_output *const out = g4_arena_alloc(chunk->range_arena, strip->objects * sizeof *out);
    if (!out) {
        return G4_NO_MEMORY;
    }
    memset(out, 0, strip->objects * sizeof *out);
    for (uint32_t i = 0; i < strip->objects; i++) {
        out[i].arena = chunk->range_arena;
    }
    enum g4_status status = a->worker->ctx->model->run_gs(a->worker, a->draw, strip, vertex, out);
    for (uint32_t i = 0; i < strip->objects && status == G4_OK; i++) {
        status = finish_output(a, i, &out[i], chunk);
    }
    return status;
}

/* The objects of a strip, which may still need a geometry shader. */
static enum g4_status run_objects(struct assembly *a, const struct g4_strip *strip,
                                  const struct g4_vertex *const *vertex, struct g4_chunk *chunk) {
    return a->draw->gs_enable ? shade_geometry(a, strip, vertex, chunk) : finish_strip(a, strip, vertex, chunk);
}

bool g4_take_vertex_cost(struct g4_worker *worker, const struct g4_draw_state *draw, int stage, uint32_t vertices) {
    const struct g4_dispatch *const dispatch = &draw->dispatch[stage];
    const uint64_t cost = (uint64_t)vertices * G4_WATCHDOG_VERTEX_COST;
    struct g4_eu *const eu = &worker->eu;

    if (cost > eu->instruction_budget) {
        eu->fault = (struct g4_fault){
            .unit = dispatch->unit, .address = dispatch->kernel_address, .what = G4_EVENTS, .value = vertices};
        return false;
    }
    eu->instruction_budget -= cost;
    return true;
}

static enum g4_status tessellate(struct assembly *a, const struct g4_strip *strip, struct g4_chunk *chunk) {
    const struct g4_model *const model = a->worker->ctx->model;
    struct g4_tessellated out = {.patches = 0};

    enum g4_status status = model->tessellate(a->worker, a->draw, strip, a->vertex_of, chunk->range_arena, &out);
    if (status == G4_OK && !a->draw->gs_enable) {
        model->prepare_vertices(a->worker->ctx, a->draw, &a->frame, out.vertex, out.vertices);
    }
    const uint32_t patches = a->recorded;
    for (uint32_t i = 0; i < out.patches && status == G4_OK; i++) {
        const struct g4_tessellated_patch *const patch = &out.patch[i];
        if (patch->strip.objects) {
            if (chunk->mesh) {
                a->recorded = patches;
                a->recorded = record_strip(a, G4_MESH_DS, i, &patch->strip, patch->vertex, chunk->mesh);
            }
            status = run_objects(a, &patch->strip, patch->vertex, chunk);
        }
    }
    return status;
}

enum g4_status g4_geometry_run(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_range *range,
                               struct g4_chunk *chunk) {
    const uint32_t topology = draw->primitive.topology;
    struct assembly *const a = g4_arena_alloc(chunk->range_arena, sizeof *a);

    chunk->object = NULL;
    chunk->objects = chunk->object_capacity = 0;
    if (!a) {
        return G4_NO_MEMORY;
    }
    memset(a, 0, offsetof(struct assembly, fetch));
    a->worker = worker;
    a->draw = draw;
    a->range = range;
    g4_vertex_fetch_setup(worker->ctx, draw, worker->eu.log, &a->fetch);
    g4_sf_frame_begin(&a->frame, draw);
    const bool whole = draw->gs_enable || draw->tessellation.enable;
    const struct needs needs = needs_of(topology, range, whole);
    if (needs.count == 0) {
        g4_report(worker->eu.log, G4_EVENT_BAD_TOPOLOGY, 0, topology);
        return G4_OK;
    }
    const enum g4_status status = fetch_vertices(a, &needs, chunk->range_arena);
    if (status != G4_OK) {
        return status;
    }
    const uint32_t total = g4_topology_objects(topology, range->vertices);
    const struct g4_strip strip = {
        .topology = topology,
        .first = needs.first,
        .first_object = range->first_object,
        .objects = range->objects,
        .ends_primitive = range->first_object + range->objects == total,
        .vertices = range->vertices,
        .primitive_id = range->primitive_id + range->first_object,
        .id_shift = draw->primitive.quads_have_one_id &&
                    (topology == G4_TOPOLOGY_DRAWN_QUADLIST || topology == G4_TOPOLOGY_DRAWN_QUADSTRIP),
    };
    if (chunk->mesh) {
        record_range(a, &needs, &strip, chunk->mesh);
    }
    return draw->tessellation.enable ? tessellate(a, &strip, chunk) : run_objects(a, &strip, a->vertex_of, chunk);
}
