/*
 * Setup and rasterization alone: fixed functions, without memory and shader threads.
 */
#include <stdlib.h>
#include <string.h>

#include "api/harness.h"
#include "draw/load_gen4.h"
#include "geometry/lines.h"
#include "geometry/setup.h"
#include "geometry/setup_kernel.h"
#include "geometry/stage.h"
#include "raster/windower_state.h"

struct g4_bench {
    struct g4_context ctx;
    struct g4_draw_state draw;
    struct g4_wm wm;
    struct g4_vertex *vertex;
    struct g4_setup *setup;
    struct g4_sf_payload *payload;
    bool *culled;
    uint32_t objects;
};

struct g4_bench *g4_bench_new(uint32_t gen, struct g4_state *state, const struct g4_bench_blocks *blocks) {
    struct g4_bench *const bench = calloc(1, sizeof *bench);
    if (!bench) {
        return NULL;
    }
    bench->ctx.model = g4_model_of(gen);
    bench->ctx.gen = bench->ctx.model->layout_gen;
    bench->ctx.state = state;
    g4_load_commands_gen4(&bench->ctx, &bench->draw);
    g4_load_setup_gen4(&bench->ctx, blocks->sf_state, blocks->sf_viewport, &bench->draw);
    g4_load_windower_gen4(&bench->ctx, blocks->wm_state, &bench->draw);
    g4_wm_prepare(&bench->wm, &bench->ctx, &bench->draw);
    return bench;
}

static void drop_objects(struct g4_bench *bench) {
    free(bench->vertex);
    free(bench->setup);
    free(bench->payload);
    free(bench->culled);
    bench->vertex = NULL;
    bench->setup = NULL;
    bench->payload = NULL;
    bench->culled = NULL;
    bench->objects = 0;
}

void g4_bench_free(struct g4_bench *bench) {
    if (bench) {
        drop_objects(bench);
        free(bench);
    }
}

static struct g4_vertex vertex_of(const struct g4_bench_vertex *v) {
    return (struct g4_vertex){
        .x = v->x,
        .y = v->y,
        .z = v->z,
        .rhw = v->rhw,
        .point_width = (uint16_t)(v->point_width & 0x7ff),
        .viewport = (uint8_t)(v->viewport & 15),
        .array_index = (uint16_t)v->array_index,
    };
}

enum g4_status g4_bench_setup(struct g4_bench *bench, uint32_t topology, const struct g4_bench_vertex *vertices,
                              uint32_t count, uint32_t *objects) {
    const uint32_t used = g4_topology_used(topology, count);
    const uint32_t made = g4_topology_objects(topology, used);
    struct g4_sf_frame frame;

    *objects = 0;
    drop_objects(bench);
    bench->vertex = calloc((size_t)count + 1, sizeof *bench->vertex);
    bench->setup = calloc((size_t)made + 1, sizeof *bench->setup);
    bench->payload = calloc((size_t)made + 1, sizeof *bench->payload);
    bench->culled = calloc((size_t)made + 1, sizeof *bench->culled);
    if (!bench->vertex || !bench->setup || !bench->payload || !bench->culled) {
        drop_objects(bench);
        return G4_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        bench->vertex[i] = vertex_of(&vertices[i]);
    }
    g4_sf_frame_begin(&frame, &bench->draw);
    g4_sf_transform(&frame, bench->vertex, count);
    for (uint32_t k = 0; k < made; k++) {
        struct g4_topology_object o;
        const struct g4_vertex *v[3] = {NULL};
        if (!g4_topology_object(topology, used, k, &o)) {
            return G4_BAD_VALUE;
        }
        for (uint32_t i = 0; i < o.vertices; i++) {
            v[i] = &bench->vertex[o.position[i]];
        }
        struct g4_object object = g4_object_of(&bench->draw, &o, v);
        object.last_of_primitive = k + 1 == made;
        bench->culled[k] = !g4_sf_setup(&frame, &object, &bench->setup[k], &bench->payload[k]);
        if (bench->culled[k]) {
            bench->setup[k] = (struct g4_setup){.x_max = -1};
        }
        g4_coverage_find_small(&bench->setup[k]);
    }
    bench->objects = made;
    struct g4_chunk chunk = {.setup = bench->setup, .setups = made};
    g4_sf_count_stipple(bench->ctx.state, &bench->draw, &chunk);
    *objects = made;
    return G4_OK;
}

enum g4_status g4_bench_view(const struct g4_bench *bench, uint32_t object, struct g4_setup_view *view) {
    if (object >= bench->objects) {
        return G4_BAD_VALUE;
    }
    const struct g4_setup *const s = &bench->setup[object];
    const struct g4_sf_payload *const p = &bench->payload[object];
    memset(view, 0, sizeof *view);
    view->culled = bench->culled[object];
    if (view->culled) {
        return G4_OK;
    }
    view->type = s->type;
    view->topology = s->topology;
    view->corners = s->corners;
    view->back_facing = s->back_facing;
    view->fills_box = s->fills_box;
    memcpy(view->x, s->x, sizeof view->x);
    memcpy(view->y, s->y, sizeof view->y);
    view->x_min = s->x_min;
    view->y_min = s->y_min;
    view->x_max = s->x_max;
    view->y_max = s->y_max;
    view->x_start = s->x_start;
    view->y_start = s->y_start;
    g4_payload_sf_r1_pack(&p->r1, bench->ctx.gen, view->r1);
    g4_payload_sf_r2_pack(&p->r2, bench->ctx.gen, view->r2);
    view->vertices = p->vertices;
    for (uint32_t i = 0; i < p->vertices; i++) {
        view->vertex[i] = (uint32_t)(p->v[i] - bench->vertex);
    }
    view->viewport = s->viewport;
    view->array_index = s->array_index;
    view->line_length = s->line.length;
    view->stipple_start = s->line.stipple_start;
    return G4_OK;
}

struct coverage_image {
    uint32_t width, height;
    uint8_t *hits, *coverage;
};

static void put(const struct g4_bench *bench, const struct g4_setup *setup, const struct g4_coverage *tile,
                const struct coverage_image *image) {
    for (int32_t j = tile->first; j <= tile->last; j++) {
        for (uint32_t left = tile->row[j]; left; left &= left - 1) {
            const uint32_t x = (uint32_t)(tile->x + __builtin_ctz(left));
            const uint32_t y = (uint32_t)(tile->y + j);
            if (x >= image->width || y >= image->height) {
                continue;
            }
            const size_t at = (size_t)y * image->width + x;
            if (image->hits) {
                image->hits[at]++;
            }
            if (image->coverage && setup->antialias) {
                image->coverage[at] = g4_line_coverage(&bench->draw.line_antialiasing, setup, (int32_t)x, (int32_t)y);
            }
        }
    }
}

uint64_t g4_bench_raster(const struct g4_bench *bench, uint32_t width, uint32_t height, uint32_t repeat, uint8_t *hits,
                         uint8_t *coverage) {
    const struct coverage_image image = {width, height, hits, coverage};
    uint64_t pixels = 0;

    for (uint32_t n = 0; n < repeat; n++) {
        for (uint32_t i = 0; i < bench->objects; i++) {
            const struct g4_setup *const setup = &bench->setup[i];
            const int32_t last_x = setup->x_max < (int32_t)width ? setup->x_max : (int32_t)width - 1;
            const int32_t last_y = setup->y_max < (int32_t)height ? setup->y_max : (int32_t)height - 1;
            for (int32_t y = setup->y_min & -G4_TILE_SIZE; y <= last_y; y += G4_TILE_SIZE) {
                for (int32_t x = setup->x_min & -G4_TILE_SIZE; x <= last_x; x += G4_TILE_SIZE) {
                    struct g4_coverage tile;
                    if (!g4_coverage_find(setup, x, y, &tile)) {
                        continue;
                    }
                    g4_wm_stipple(&bench->wm, setup, &tile);
                    pixels += g4_coverage_pixels(&tile);
                    if (hits || coverage) {
                        put(bench, setup, &tile, &image);
                    }
                }
            }
        }
    }
    return pixels;
}

float g4_bench_depth_offset(const struct g4_bench *bench, float cx, float cy, const float *z) {
    return g4_depth_offset_of(&bench->wm.offset, cx, cy, z);
}

static uint32_t describe(const struct g4_bench *bench, enum g4_wm_mode mode) {
    static const uint8_t pixels[G4_WM_MODES] = {8, 16, 32, 32, 64};
    return pixels[mode] | (uint32_t)bench->wm.dispatch.entry[mode] << 8;
}

uint32_t g4_bench_dispatch(const struct g4_bench *bench, uint32_t subspans) {
    return describe(bench, g4_wm_choose(&bench->wm.dispatch, &bench->ctx.model->quirks, subspans));
}

uint32_t g4_bench_dispatch_contiguous(const struct g4_bench *bench, bool both_halves) {
    return describe(bench, g4_wm_choose_contiguous(&bench->wm.dispatch, both_halves));
}
