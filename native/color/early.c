/*
 * The color calculator at the start of a draw: its state and the depth buffer; and the early tests of the windower.
 */
#include <stdlib.h>

#include "color/state.h"
#include "core/report.h"
#include "core/util.h"
#include "eu/counters.h"
#include "hw_formats.h"

static const struct g4_depth_ops *const depth_variants[] = G4_VARIANT_TABLE(g4_depth_ops);
static const struct g4_color_ops *const color_variants[] = G4_VARIANT_TABLE(g4_color_ops);
static const struct g4_fill_ops *const fill_variants[] = G4_VARIANT_TABLE(g4_fill_ops);

/* Only one worker reports for the draw, so that counts do not depend on the number of workers. */
static void warn(const struct g4_worker *worker, const struct g4_draw_state *draw, enum g4_event event,
                 uint32_t value) {
    if (worker->index == 0) {
        g4_report(worker->eu.log, event, draw->color_address, value);
    }
}

/* Finds the surface format whose texels have the size of a depth format's pixels.  False: no such depth format. */
static bool texel_of(uint32_t depth_format, enum g4_surface_format *format) {
    switch (depth_format) {
    case G4_DEPTH_FORMAT_D32_FLOAT_S8X24_UINT:
        *format = G4_SURFACE_FORMAT_R32_FLOAT_X8X24_TYPELESS;
        return true;
    case G4_DEPTH_FORMAT_D32_FLOAT:
        *format = G4_SURFACE_FORMAT_R32_FLOAT;
        return true;
    case G4_DEPTH_FORMAT_D24_UNORM_S8_UINT:
    case G4_DEPTH_FORMAT_D24_UNORM_X8_UINT:
        *format = G4_SURFACE_FORMAT_R32_UINT;
        return true;
    case G4_DEPTH_FORMAT_D16_UNORM:
        *format = G4_SURFACE_FORMAT_R16_UNORM;
        return true;
    default:
        return false;
    }
}

/* Computes the offset from color to depth coordinates. */
static void coordinates(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_depth *depth) {
    const struct g4_depth_buffer *const buffer = &draw->depth_buffer;
    const struct g4_dispatch *const dispatch = &draw->dispatch[G4_STAGE_WM];

    depth->dx = buffer->offset_x;
    depth->dy = buffer->offset_y;
    if (buffer->follows_drawing_rectangle) {
        const struct g4_surface *const color = g4_surface_get(worker->surfaces, worker->ctx, &worker->port,
                                                              dispatch->surface_state_base, dispatch->binding_table, 0);
        const uint32_t kept = color->format->block_bits == 16 ? 7 : 3;
        depth->dx = 0u - ((uint32_t)draw->drawing_rectangle.origin_x & ~kept);
        depth->dy = 0u - ((uint32_t)draw->drawing_rectangle.origin_y & ~3u);
    }
}

void g4_depth_surface(const struct g4_depth_buffer *buffer, enum g4_surface_format format, struct g4_surface *surface) {
    surface->present = true;
    surface->format = &g4_formats[format];
    surface->type = buffer->type; /* the codes are those of SURFACE_STATE */
    surface->base = buffer->address;
    surface->pitch = buffer->pitch_bytes;
    surface->tiling = buffer->tiled ? G4_TILING_Y : G4_TILING_LINEAR;
    surface->width = buffer->width;
    surface->height = buffer->type == G4_DEPTH_SURFACE_TYPE_SURFTYPE_1D ? 1 : buffer->height;
    surface->depth = buffer->type == G4_DEPTH_SURFACE_TYPE_SURFTYPE_CUBE ? 1 : buffer->depth;
    surface->mip_count_or_lod = buffer->level;
    surface->miptree_layout = buffer->miptree_layout;
    surface->minimum_array_element = buffer->minimum_array_element;
    g4_surface_set_layout_gen4(surface);
}

uint32_t g4_cc_slice(const struct g4_surface *surface, uint32_t level, uint32_t array_index) {
    uint32_t slices = surface->depth;
    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_CUBE) {
        slices = 6;
    } else if (surface->type == G4_SURFACE_TYPE_SURFTYPE_3D) {
        slices = surface->depth >> level ? surface->depth >> level : 1;
    }
    return surface->minimum_array_element + (array_index < slices ? array_index : 0);
}

void g4_depth_select(struct g4_depth *depth, uint32_t gen, uint32_t array_index) {
    const struct g4_surface *const surface = &depth->surface;
    const uint32_t level = surface->mip_count_or_lod;
    struct g4_image image;

    if (g4_surface_image(surface, gen, level, g4_cc_slice(surface, level, array_index), &image)) {
        g4_pixel_map_set(&depth->map, &image, depth->depth_write || depth->stencil_write);
        depth->map.dx = depth->dx;
        depth->map.dy = depth->dy;
        depth->map.fast = depth->map.fast && (depth->dx | depth->dy) % 2 == 0;
    } else {
        memset(&depth->map, 0, sizeof depth->map);
    }
    depth->array_index = array_index;
    if (depth->hiz.present) {
        g4_hiz_select(depth, gen, g4_cc_slice(surface, level, array_index));
    }
}

void g4_begin_depth(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_cc *cc) {
    const struct g4_depth_buffer *const buffer = &draw->depth_buffer;
    const struct g4_depth_stencil *const state = &draw->depth_stencil;
    struct g4_depth *const depth = &cc->depth;
    enum g4_surface_format texel;

    memset(depth, 0, sizeof *depth);
    if (!buffer->present) {
        if (draw->windower.computes_depth) {
            warn(worker, draw, G4_EVENT_NO_DEPTH_BUFFER, buffer->report_value);
        }
        return;
    }
    if (!texel_of(buffer->format, &texel)) {
        warn(worker, draw, G4_EVENT_BAD_FORMAT, buffer->format);
        return;
    }
    if (buffer->format == G4_DEPTH_FORMAT_D24_UNORM_X8_UINT) {
        warn(worker, draw, G4_EVENT_BAD_FORMAT, buffer->format); /* reserved, but it works */
    }
    if (buffer->tiled && buffer->tile_walk_x) {
        warn(worker, draw, G4_EVENT_BAD_STATE, buffer->report_value);
    }
    const bool has_stencil =
        buffer->format == G4_DEPTH_FORMAT_D24_UNORM_S8_UINT || buffer->format == G4_DEPTH_FORMAT_D32_FLOAT_S8X24_UINT;
    if (state->stencil_test && !has_stencil) {
        warn(worker, draw, G4_EVENT_BAD_STATE, buffer->format);
    }
    depth->format = buffer->format;
    depth->depth_test = state->depth_test;
    depth->depth_write = state->depth_write;
    depth->stencil_test = state->stencil_test && has_stencil;
    depth->stencil_write = depth->stencil_test && state->stencil_write;
    depth->double_sided = state->double_sided;
    depth->function = state->depth_function;
    memcpy(depth->stencil, state->stencil, sizeof depth->stencil);
    g4_depth_surface(buffer, texel, &depth->surface);
    coordinates(worker, draw, depth);
    g4_depth_select(depth, worker->ctx->gen, 0);
    if (depth->depth_test || depth->depth_write || depth->stencil_test) {
        depth->test = cc->depth_ops->test[depth->format][depth->stencil_test];
        depth->tile =
            worker->ctx->options.general_only ? NULL : cc->depth_ops->tile[depth->format][depth->stencil_test];
    }
}

bool g4_cc_allocate(struct g4_worker *worker) {
    if (!worker->eu.cc) {
        worker->eu.cc = g4_new_cleared(sizeof(struct g4_cc));
    }
    return worker->eu.cc != NULL;
}

enum g4_status g4_cc_begin(struct g4_worker *worker, const struct g4_draw_state *draw) {
    if (!g4_cc_allocate(worker)) {
        return G4_NO_MEMORY;
    }
    struct g4_cc *const cc = g4_cc_of(worker);
    cc->depth_ops = depth_variants[g4_variant_current()];
    cc->color_ops = color_variants[g4_variant_current()];
    cc->fill_ops = fill_variants[g4_variant_current()];
    cc->state = draw->color;
    cc->windower = draw->windower;
    cc->multisampling = draw->multisampling;
    cc->wm_statistics = draw->stage[G4_STAGE_WM].statistics;
    memset(cc->alpha_passed, 0, sizeof cc->alpha_passed);
    for (int i = 0; i < G4_TARGETS; i++) {
        cc->target[i].valid = false;
    }
    cc->recent = NULL;
    worker->ctx->model->begin_depth(worker, draw, cc);
    return G4_OK;
}

void g4_cc_end(struct g4_worker *worker) {
    free(worker->eu.cc);
    worker->eu.cc = NULL;
}

/* ---- before the shader ---- */

bool g4_cc_tests(const struct g4_worker *worker) {
    const struct g4_cc *const cc = g4_cc_of(worker);
    return cc->depth.test || cc->wm_statistics;
}

uint32_t g4_cc_early(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                     const float z[16], uint32_t viewport, uint32_t array_index, bool back_facing) {
    struct g4_cc *const cc = g4_cc_of(worker);
    struct g4_depth *const depth = &cc->depth;

    lit &= 0xffff;
    if (depth->test) {
        if (array_index != depth->array_index) {
            g4_depth_select(depth, worker->ctx->gen, array_index);
        }
        struct g4_depth_job job = {
            .live = lit,
            .z = z,
            .minimum = cc->state.depth_range[viewport & 15].minimum,
            .maximum = cc->state.depth_range[viewport & 15].maximum,
            .back_facing = back_facing,
            .update = true,
        };
        memcpy(job.x, x, sizeof job.x);
        memcpy(job.y, y, sizeof job.y);
        const uint32_t unit = worker->port.unit;
        worker->port.unit = G4_UNIT_WM;
        lit = lit ? depth->test(depth, &worker->port, &job) : 0;
        worker->port.unit = unit;
    }
    if (cc->wm_statistics) {
        worker->eu.ps_depth_count += (uint32_t)__builtin_popcount(lit);
    }
    return lit;
}

/* The quarter of a page with the stencil values of a tile; NULL: they cannot be accessed at once. */
static uint8_t *find_stencil(struct g4_depth *depth, struct g4_port *port, int32_t x, int32_t y) {
    g4_stencil_select(depth);
    return g4_pixel_map_quarter(&depth->stencil_map, port, (uint32_t)x, (uint32_t)y);
}

/* Find the memory of a tile.  False: not all of it can be accessed at once. */
static bool find_pages(struct g4_depth *depth, struct g4_port *port, struct g4_depth_tile *tile) {
    const uint32_t x = (uint32_t)tile->x;
    const uint32_t y = (uint32_t)tile->y;
    const bool separate = depth->stencil_test && depth->stencil_surface.present;

    if (depth->hiz.takes_tiles) {
        return true; /* it finds its own */
    }
    if (separate) {
        tile->stencil = find_stencil(depth, port, tile->x, tile->y);
    }
    const bool has_depth = !separate || depth->test_depth;
    tile->page = has_depth ? g4_pixel_map_page(&depth->map, port, x, y) : NULL;
    return (tile->page || !has_depth) && (tile->stencil || !separate);
}

/* The pixels of a tile's row that a buffer has, and the number of its rows from the tile's first on, or more. */
struct tile_inside {
    uint32_t columns, rows;
};

static struct tile_inside inside_of(const struct g4_pixel_map *map, const struct g4_early_tile *tile) {
    const uint32_t columns = map->width - ((uint32_t)tile->x + map->dx);
    return (struct tile_inside){
        .columns = columns < 32 ? (1u << columns) - 1 : UINT32_MAX,
        .rows = map->height - ((uint32_t)tile->y + map->dy),
    };
}

static struct g4_depth_tile job_of(const struct g4_cc *cc, const struct g4_early_tile *tile) {
    return (struct g4_depth_tile){
        .x = tile->x,
        .y = tile->y,
        .plane = tile->plane,
        .first = (uint32_t)tile->first,
        .last = (uint32_t)tile->last,
        .minimum = cc->state.depth_range[tile->viewport & 15].minimum,
        .maximum = cc->state.depth_range[tile->viewport & 15].maximum,
        .back_facing = tile->back_facing,
    };
}

/* Give a job the pixels that are inside. */
static void set_rows(struct g4_depth_tile *job, struct tile_inside inside, const uint32_t row[32]) {
    for (uint32_t j = job->first; j <= job->last && j < inside.rows; j++) {
        job->row[j] = row[j] & inside.columns;
    }
}

bool g4_cc_early_tile(struct g4_worker *worker, const struct g4_early_tile *tile, uint32_t row[32]) {
    struct g4_cc *const cc = g4_cc_of(worker);
    struct g4_depth *const depth = &cc->depth;

    if (!depth->tile && !depth->hiz.takes_tiles) {
        return false;
    }
    if (tile->array_index != depth->array_index) {
        g4_depth_select(depth, worker->ctx->gen, tile->array_index);
    }
    struct g4_depth_tile job = job_of(cc, tile);
    if (!find_pages(depth, &worker->port, &job)) {
        return false;
    }
    /* Pixels outside the buffer pass.  A separate stencil buffer has the size of the depth buffer. */
    const struct tile_inside inside = inside_of(job.stencil ? &depth->stencil_map : &depth->map, tile);
    set_rows(&job, inside, row);
    if (depth->hiz.takes_tiles) {
        g4_hiz_tile(depth, &worker->port, &job);
    } else {
        depth->tile(depth, &job);
    }
    for (uint32_t j = job.first; j <= job.last; j++) {
        row[j] = j < inside.rows ? (row[j] & ~inside.columns) | job.row[j] : row[j];
    }
    if (cc->wm_statistics) {
        worker->eu.ps_depth_count += g4_count_bits(&row[job.first], (int32_t)(job.last - job.first + 1));
    }
    return true;
}

bool g4_cc_finds_stencil(struct g4_worker *worker, int32_t x, int32_t y) {
    return find_stencil(&g4_cc_of(worker)->depth, &worker->port, x, y) != NULL;
}

void g4_cc_stencil_tile(struct g4_worker *worker, const struct g4_early_tile *tile, const uint32_t row[32]) {
    const struct g4_cc *const cc = g4_cc_of(worker);
    struct g4_depth *const depth = &g4_cc_of(worker)->depth;
    struct g4_depth_tile job = job_of(cc, tile);

    job.stencil = find_stencil(depth, &worker->port, tile->x, tile->y);
    set_rows(&job, inside_of(&depth->stencil_map, tile), row);
    cc->depth_ops->tile_stencil(depth, &job);
}

uint32_t g4_cc_stencil_passes(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                              uint32_t array_index, bool back_facing, const uint8_t *references) {
    struct g4_depth *const depth = &g4_cc_of(worker)->depth;

    if (!depth->test || !depth->stencil_test || !lit) {
        return lit;
    }
    if (array_index != depth->array_index) {
        g4_depth_select(depth, worker->ctx->gen, array_index);
    }
    struct g4_depth only = *depth;
    struct g4_port look;
    struct g4_depth_job job = {.live = lit, .back_facing = back_facing, .references = references};
    memcpy(job.x, x, sizeof job.x);
    memcpy(job.y, y, sizeof job.y);
    only.depth_test = false;
    only.map.writes = false;
    g4_port_init(&look, worker->ctx->mem, G4_UNIT_CC, false);
    look.quiet = true;
    return depth->test(&only, &look, &job);
}

void g4_cc_count_depth(struct g4_worker *worker, uint32_t tested, uint32_t passed, bool z, bool update) {
    const struct g4_depth *const depth = &g4_cc_of(worker)->depth;
    const bool stencil = depth->stencil_test && depth->stencil_write;
    const uint32_t stored = stencil ? tested : depth->depth_write && z ? passed : 0;

    if (depth->test && depth->map.present) {
        const uint64_t read = depth->depth_test || depth->stencil_test ? tested : 0;
        const uint64_t written = update && depth->map.writes ? stored : 0;
        g4_count_bytes(worker->eu.counters, G4_ROLE_DEPTH_BUFFER, depth->surface.base, read * depth->map.bytes,
                       written * depth->map.bytes);
    }
}

void g4_cc_destination(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                       uint32_t array_index, uint32_t depth_out[16], uint8_t stencil[16]) {
    struct g4_depth *const depth = &g4_cc_of(worker)->depth;

    memset(depth_out, 0, 16 * sizeof *depth_out);
    memset(stencil, 0, 16);
    if (!depth->map.present) {
        return;
    }
    if (array_index != depth->array_index) {
        g4_depth_select(depth, worker->ctx->gen, array_index);
    }
    if (worker->eu.counters) {
        g4_count_bytes(worker->eu.counters, G4_ROLE_DEPTH_BUFFER, depth->surface.base,
                       (uint64_t)__builtin_popcount(lit & 0xffff) * depth->map.bytes, 0);
    }
    for (uint32_t s = 0; s < 4; s++) {
        const uint32_t live = lit >> (4 * s) & 15;
        if (!live) {
            continue;
        }
        struct g4_subspan_rows rows = {.inside = 0};
        g4_pixel_map_stage(&depth->map, &worker->port, x[s], y[s], 0, live, &rows);
        for (uint32_t p = 0; p < 4; p++) {
            uint32_t raw[2] = {0, 0};
            memcpy(raw, rows.stage[p >> 1] + (p & 1) * depth->map.bytes, depth->map.bytes);
            const bool d24 = depth->map.bytes == 4 && depth->format != G4_DEPTH_FORMAT_D32_FLOAT;
            depth_out[4 * s + p] = d24 ? raw[0] & 0xffffff : raw[0];
            stencil[4 * s + p] = (uint8_t)(depth->format == G4_DEPTH_FORMAT_D24_UNORM_S8_UINT ? raw[0] >> 24 : raw[1]);
        }
    }
}

void g4_cc_prefetch(const struct g4_worker *worker, uint32_t n, const uint16_t *x, const uint16_t *y) {
    const struct g4_target *const target = g4_cc_of(worker)->recent;
    if (!target || !target->reads || !target->map.fast) {
        return;
    }
    const struct g4_pixel_map *const map = &target->map;
    for (uint32_t i = 0; i < n; i++) {
        g4_pixel_map_prefetch(map, x[i], y[i]);
    }
}
