/*
 * The tessellation of patches on Gen7: hull shader, tessellator, domain shader, and the objects of each patch (IVB PRM
 * vol. 2 part 1, "Tessellation Engine (TE) Stage").
 */
#include "geometry/tessellation.h"

#include <string.h>

#include "geometry/stage.h"
#include "geometry/tessellator.h"
#include "messages_gen7.h"

static struct g4_patch *list_patches(const struct g4_strip *strip, const struct g4_vertex *const *vertex,
                                     struct g4_arena *arena) {
    struct g4_patch *const patch = g4_arena_alloc(arena, strip->objects * sizeof *patch);
    const uint32_t vertices = g4_topology_patch_vertices(strip->topology);

    for (uint32_t i = 0; patch && i < strip->objects; i++) {
        patch[i] = (struct g4_patch){.vertices = vertices, .primitive_id = strip->primitive_id + i};
        for (uint32_t v = 0; v < vertices; v++) {
            patch[i].vertex[v] = g4_strip_vertex(strip, vertex, (strip->first_object + i) * vertices + v);
        }
    }
    return patch;
}

static void read_factors(const struct g4_context *ctx, uint32_t domain, const uint32_t (*record)[8],
                         struct g4_tessellation_factors *out) {
    struct gen7_patch_header_quad quad;
    struct gen7_patch_header_tri tri;
    struct gen7_patch_header_isoline isoline;

    switch (domain) {
    case G4_DOMAIN_QUADS:
        gen7_patch_header_quad_unpack(record[0], ctx->gen, &quad);
        *out = (struct g4_tessellation_factors){.edge = {quad.edge_u0, quad.edge_v0, quad.edge_u1, quad.edge_v1},
                                                .inside = {quad.inside_u, quad.inside_v}};
        break;
    case G4_DOMAIN_TRIANGLES:
        gen7_patch_header_tri_unpack(record[0], ctx->gen, &tri);
        *out =
            (struct g4_tessellation_factors){.edge = {tri.edge_u0, tri.edge_v0, tri.edge_w0}, .inside = {tri.inside}};
        break;
    default:
        gen7_patch_header_isoline_unpack(record[0], ctx->gen, &isoline);
        *out = (struct g4_tessellation_factors){.edge = {isoline.line_density, isoline.line_detail}};
        break;
    }
}

static uint32_t object_size(const struct g4_tessellator_state *state) {
    return state->output == G4_TESSELLATED_POINTS ? 1 : state->output == G4_TESSELLATED_LINES ? 2 : 3;
}

/* Copy what the tessellator has made of a patch; false if memory is short. */
static bool keep(const struct g4_domain *domain, uint32_t size, struct g4_arena *arena, struct g4_patch *patch) {
    struct g4_domain_point *const point = g4_arena_alloc(arena, domain->points * sizeof *point + 1);
    uint16_t *const index = g4_arena_alloc(arena, domain->indices * sizeof *index + 1);

    if (!point || !index) {
        return false;
    }
    memcpy(point, domain->point, domain->points * sizeof *point);
    memcpy(index, domain->index, domain->indices * sizeof *index);
    patch->point = point;
    patch->points = domain->points;
    patch->index = index;
    patch->objects = domain->indices / size;
    return true;
}

static enum g4_status tessellate(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_patch *patch,
                                 uint32_t patches, struct g4_arena *arena) {
    const struct g4_tessellator_state *const state = &draw->tessellation.tessellator;
    struct g4_domain *const domain = g4_arena_alloc(arena, sizeof *domain);

    for (uint32_t p = 0; p < patches; p++) {
        struct g4_tessellation_factors factors;
        if (!domain) {
            return G4_NO_MEMORY;
        }
        read_factors(worker->ctx, state->domain, patch[p].record, &factors);
        g4_tessellate_patch(state, &factors, domain);
        if (!g4_take_vertex_cost(worker, draw, G4_STAGE_DS, domain->points)) {
            return G4_HANG;
        }
        if (!keep(domain, object_size(state), arena, &patch[p])) {
            return G4_NO_MEMORY;
        }
    }
    return G4_OK;
}

/* The objects of a patch as a list. */
static bool list_objects(const struct g4_patch *patch, uint32_t size, struct g4_arena *arena,
                         struct g4_tessellated_patch *out) {
    const uint32_t vertices = patch->objects * size;

    out->strip = (struct g4_strip){
        .topology = size == 1   ? G4_PRIMITIVE_TOPOLOGY_POINTLIST
                    : size == 2 ? G4_PRIMITIVE_TOPOLOGY_LINELIST
                                : G4_PRIMITIVE_TOPOLOGY_TRILIST,
        .objects = patch->objects,
        .ends_primitive = true,
        .vertices = vertices,
        .primitive_id = patch->primitive_id,
        .one_primitive_id = true,
    };
    out->vertex = g4_arena_alloc(arena, (vertices + 1) * sizeof(const struct g4_vertex *));
    for (uint32_t i = 0; out->vertex && i < vertices; i++) {
        out->vertex[1 + i] = &patch->shaded[patch->index[i]];
    }
    if (out->vertex) {
        out->vertex[0] = vertices ? out->vertex[1] : NULL;
    }
    return out->vertex;
}

enum g4_status g4_tessellate_run_gen7(struct g4_worker *worker, const struct g4_draw_state *draw,
                                      const struct g4_strip *patches, const struct g4_vertex *const *vertex,
                                      struct g4_arena *arena, struct g4_tessellated *out) {
    const uint32_t count = patches->objects;
    const uint32_t size = object_size(&draw->tessellation.tessellator);
    struct g4_patch *const patch = list_patches(patches, vertex, arena);

    out->patch = g4_arena_alloc(arena, count * sizeof *out->patch);
    if (!patch || !out->patch) {
        return G4_NO_MEMORY;
    }
    enum g4_status status = g4_hull_run_gen7(worker, draw, patch, count, arena);
    if (status == G4_OK) {
        status = tessellate(worker, draw, patch, count, arena);
    }
    if (status == G4_OK) {
        status = g4_domain_run_gen7(worker, draw, patch, count, arena, out);
    }
    for (; out->patches < count && status == G4_OK; out->patches++) {
        if (!list_objects(&patch[out->patches], size, arena, &out->patch[out->patches])) {
            status = G4_NO_MEMORY;
        }
    }
    return status;
}
