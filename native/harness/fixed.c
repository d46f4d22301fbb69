/*
 * The fixed functions from Gen6 on alone: clipper, setup, samples.
 */
#include <stdlib.h>
#include <string.h>

#include "geometry/setup.h"
#include "geometry/setup_gen6.h"
#include "geometry/stage.h"
#include "harness/probe.h"
#include "raster/barycentrics.h"
#include "raster/samples.h"
#include "raster/windower_state.h"

enum {
    ROWS = 4,       /* of an entry: header, position, distances and two attributes */
    ATTRIBUTES = 2, /* of a vertex */
    POSITION = 4,   /* dword of the entry */
};

struct g4_fixed {
    struct g4_worker *worker;
    struct g4_draw_state draw;
    struct g4_wm wm;
    struct g4_chunk chunk;
    struct g4_vertex *vertex;
    const struct g4_vertex **slot;
    uint32_t (*rows)[ROWS][8];
};

static void set_attributes(const struct g4_fixed_state *state, struct g4_attribute_setup *attributes) {
    *attributes = (struct g4_attribute_setup){.count = ATTRIBUTES, .read_offset = 2, .read_length = 1};
    for (uint32_t i = 0; i < ATTRIBUTES; i++) {
        attributes->attribute[i] = (struct g4_attribute){
            .wraps = i == 0 ? (uint8_t)state->wraps : 0,
            .source = (uint8_t)i,
            .flat = state->flat >> i & 1,
            .facing = i == 0 && state->back_color,
            .sprite_coordinate = i == 1 && state->sprite,
        };
    }
}

static void set_state(const struct g4_fixed_state *state, struct g4_draw_state *draw) {
    const float half_width = (float)state->width / 2;
    const float half_height = (float)state->height / 2;

    draw->clip_enable = true;
    draw->clip = (struct g4_clip){
        .mode = G4_CLIP_MODE_NORMAL,
        .test_xy = state->test_xy,
        .test_z = state->test_z,
        .test_guardband = state->guardband > 0,
        .z_min = -1,
        .clip_distances = (uint8_t)state->clip_distances,
        .cull_distances = (uint8_t)state->cull_distances,
    };
    draw->clip.guardband[0] =
        (struct g4_guardband){-state->guardband, state->guardband, -state->guardband, state->guardband};
    draw->viewport[0] = (struct g4_viewport){half_width, -half_height, 0.5f, half_width, half_height, 0.5f, 0, 0, 0, 0};
    draw->drawing_rectangle =
        (struct g4_drawing_rectangle){.x_max = (int32_t)state->width - 1, .y_max = (int32_t)state->height - 1};
    draw->setup = (struct g4_setup_state){
        .viewport_transform = true,
        .wide_range = true,
        .conservative = state->conservative,
        .bias_x = state->upper_left ? 0 : 0.5f,
        .bias_y = state->upper_left ? 0 : 0.5f,
        .front_winding = state->front_winding,
        .cull_mode = state->cull_mode,
        .front_fill = (uint8_t)state->fill,
        .back_fill = (uint8_t)state->fill,
        .point_width_u8_3 = (uint32_t)(state->point_width * 8),
        .line_width = state->line_width,
        .provoking_triangle = 2,
        .provoking_fan = 2,
        .provoking_line = 1,
    };
    draw->multisampling = (struct g4_multisampling){
        .samples = state->samples, .mask = state->sample_mask, .pattern = true, .upper_left = state->upper_left};
    memcpy(draw->multisampling.x, state->sample_x, sizeof state->sample_x);
    memcpy(draw->multisampling.y, state->sample_y, sizeof state->sample_y);
    draw->depth_bias = (struct g4_depth_bias){
        .enable = state->depth_offset,
        .format = G4_DEPTH_FORMAT_D24_UNORM_X8_UINT,
        .constant = state->offset_constant,
        .scale = state->offset_scale,
    };
    set_attributes(state, &draw->attributes);
}

struct g4_fixed *g4_fixed_new(struct g4_probe *probe, const struct g4_fixed_state *state) {
    struct g4_fixed *const fixed = calloc(1, sizeof *fixed);
    if (!fixed) {
        return NULL;
    }
    fixed->worker = g4_probe_worker(probe);
    set_state(state, &fixed->draw);
    g4_wm_prepare(&fixed->wm, fixed->worker->ctx, &fixed->draw);
    return fixed;
}

static void drop_vertices(struct g4_fixed *fixed) {
    free(fixed->vertex);
    free(fixed->slot);
    free(fixed->rows);
    fixed->vertex = NULL;
    fixed->slot = NULL;
    fixed->rows = NULL;
    fixed->chunk.setups = 0;
}

void g4_fixed_free(struct g4_fixed *fixed) {
    if (fixed) {
        drop_vertices(fixed);
        free(fixed);
    }
}

static void put_vertex(const struct g4_fixed_vertex *from, uint32_t rows[ROWS][8], struct g4_vertex *to) {
    memcpy(&rows[0][POSITION], from->position, sizeof from->position);
    memcpy(rows[1], from->distance, sizeof from->distance);
    memcpy(rows[2], from->attribute, sizeof from->attribute);
    *to = (struct g4_vertex){.rows = (const uint32_t(*)[8])rows,
                             .row_count = ROWS,
                             .x = from->position[0],
                             .y = from->position[1],
                             .z = from->position[2],
                             .rhw = from->position[3],
                             .inner = from->inner};
}

enum g4_status g4_fixed_run(struct g4_fixed *fixed, uint32_t topology, const struct g4_fixed_vertex *vertices,
                            uint32_t count, uint32_t *objects) {
    struct g4_worker *const worker = fixed->worker;
    const struct g4_model *const model = worker->ctx->model;
    const struct g4_strip strip = {
        .topology = topology,
        .objects = g4_topology_objects(topology, g4_topology_used(topology, count)),
        .ends_primitive = true,
    };
    struct g4_sf_frame frame;

    *objects = 0;
    drop_vertices(fixed);
    g4_arena_reset(worker->range_arena);
    g4_arena_reset(worker->batch_arena);
    fixed->vertex = calloc((size_t)count + 1, sizeof *fixed->vertex);
    fixed->slot = calloc((size_t)count + 1, sizeof(const struct g4_vertex *));
    fixed->rows = calloc((size_t)count + 1, sizeof *fixed->rows);
    if (!fixed->vertex || !fixed->slot || !fixed->rows) {
        drop_vertices(fixed);
        return G4_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        put_vertex(&vertices[i], fixed->rows[i], &fixed->vertex[i]);
        fixed->slot[1 + i] = &fixed->vertex[i];
    }
    fixed->slot[0] = fixed->slot[1];
    g4_sf_frame_begin(&frame, &fixed->draw);
    model->prepare_vertices(worker->ctx, &fixed->draw, &frame, fixed->vertex, count);
    fixed->chunk = (struct g4_chunk){.range_arena = worker->range_arena, .batch_arena = worker->batch_arena};
    enum g4_status status = model->run_clip(worker, &fixed->draw, &strip, fixed->slot, &fixed->chunk);
    if (status == G4_OK) {
        status = model->run_setup(worker, &fixed->draw, &fixed->chunk);
    }
    *objects = fixed->chunk.setups;
    return status;
}

void g4_fixed_object(const struct g4_fixed *fixed, uint32_t object, struct g4_fixed_view *view) {
    const struct g4_setup *const s = &fixed->chunk.setup[object];
    *view = (struct g4_fixed_view){
        .type = s->type,
        .back_facing = s->back_facing,
        .x_min = s->x_min,
        .y_min = s->y_min,
        .x_max = s->x_max,
        .y_max = s->y_max,
    };
    memcpy(view->entry, s->entry, s->entry_rows * sizeof *s->entry);
}

uint32_t g4_fixed_covered(struct g4_fixed *fixed, uint32_t object, uint32_t x, uint32_t y) {
    const struct g4_tile tile = {.x = (int32_t)x & -G4_TILE_SIZE, .y = (int32_t)y & -G4_TILE_SIZE};
    struct g4_sampled sampled;
    uint32_t covered = 0;

    if (!g4_samples_find(&fixed->wm, &fixed->chunk.setup[object], &tile, &sampled)) {
        return 0;
    }
    for (uint32_t s = 0; s < fixed->draw.multisampling.samples; s++) {
        covered |= (sampled.row[s][y % G4_TILE_SIZE] >> x % G4_TILE_SIZE & 1) << s;
    }
    return covered;
}

bool g4_fixed_is_inside(const struct g4_fixed *fixed, uint32_t object, uint32_t x, uint32_t y) {
    return g4_coverage_is_inside(&fixed->chunk.setup[object], (int32_t)x, (int32_t)y);
}

struct g4_fixed_values g4_fixed_values(const struct g4_fixed *fixed, uint32_t object, float x, float y) {
    static const struct g4_barycentric_ops *const variants[] = G4_VARIANT_TABLE(g4_barycentric_ops);
    const struct g4_setup *const setup = &fixed->chunk.setup[object];
    struct g4_pixel_places places;
    struct g4_pixel_values out;
    struct g4_plane z;

    for (int i = 0; i < G4_BLOCK_PIXELS; i++) {
        places.x[i] = x;
        places.y[i] = y;
    }
    variants[g4_variant_current()]->evaluate(setup->planes, &places, G4_BLOCK_PIXELS,
                                             G4_VALUE_PERSPECTIVE | G4_VALUE_LINEAR | G4_VALUE_W, &out);
    g4_wm_plane(&fixed->wm, setup, &z);
    return (struct g4_fixed_values){
        .perspective = {out.perspective[0][0], out.perspective[1][0]},
        .linear = {out.linear[0][0], out.linear[1][0]},
        .w = out.w[0],
        .z = (float)(z.c0 + z.cx * (x - z.x_start) + z.cy * (y - z.y_start)),
    };
}
