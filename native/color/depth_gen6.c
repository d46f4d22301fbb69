/*
 * Depth and stencil from Gen6 on: which unit tests them, and the separate stencil buffer (SNB and IVB PRM vol. 2
 * part 1, chapters on the windower and on the depth and stencil buffers).
 */
#include <string.h>

#include "color/state.h"
#include "core/report.h"

/* ---- before or after the shader ---- */

void g4_decide_tests_gen6(const struct g4_draw_state *draw, struct g4_iz *iz) {
    const struct g4_windower_state *const wm = &draw->windower;
    const struct g4_depth_stencil *const tests = &draw->depth_stencil;
    const bool depth = draw->depth_buffer.present && (tests->depth_test || tests->depth_write);
    const bool stencil = draw->stencil_buffer.present && tests->stencil_test;
    const bool computes = wm->computed_depth != G4_DEPTH_NOT_COMPUTED || wm->computes_stencil;
    const bool kills = wm->kills_pixels || wm->writes_sample_mask || draw->color.alpha_test.enable ||
                       (draw->color.alpha_to_coverage && draw->multisampling.samples > 1);
    /* Pixels are counted once the killed ones are known. */
    const bool matters = depth || stencil || draw->stage[G4_STAGE_WM].statistics;
    const bool late =
        wm->early_tests == G4_TESTS_AFTER_SHADER || (wm->early_tests == G4_TESTS_WHEN_POSSIBLE && (kills || computes));

    *iz = (struct g4_iz){.mode = late && matters && wm->thread_dispatch ? G4_IZ_C : G4_IZ_P};
    iz->source_depth_eu = wm->uses_source_depth || iz->mode != G4_IZ_P;
}

/* ---- stencil ---- */

enum {
    STENCIL_UNIT = 8, /* of the alignment of levels */
};

/* The values of a subspan are adjacent in a W tile, in the order of its pixels. */
static g4_address stencil_address(const struct g4_pixel_map *map, uint32_t x, uint32_t y) {
    return g4_pixel_map_address(map, map->x0 + x, map->y0 + y);
}

static uint32_t operate(uint32_t operation, uint32_t s, uint32_t reference) {
    enum {
        TOP = 255
    };
    switch (operation) {
    case G4_STENCIL_OPERATION_ZERO:
        return 0;
    case G4_STENCIL_OPERATION_REPLACE:
        return reference;
    case G4_STENCIL_OPERATION_INCRSAT:
        return s < TOP ? s + 1 : s;
    case G4_STENCIL_OPERATION_DECRSAT:
        return s ? s - 1 : s;
    case G4_STENCIL_OPERATION_INCR:
        return (s + 1) & TOP;
    case G4_STENCIL_OPERATION_DECR:
        return (s - 1) & TOP;
    case G4_STENCIL_OPERATION_INVERT:
        return ~s & TOP;
    default:
        return s;
    }
}

static uint32_t update(const struct g4_stencil_set *set, uint32_t s, uint32_t reference, bool stencil_passed,
                       bool depth_passed) {
    const uint32_t operation = !stencil_passed ? set->fail : depth_passed ? set->zpass : set->zfail;
    const uint32_t result = operate(operation, s, reference);
    return (s & ~(uint32_t)set->write_mask) | (result & set->write_mask);
}

/* The pixels of a subspan that lie in the stencil buffer. */
static uint32_t pixels_inside(const struct g4_pixel_map *map, uint32_t x, uint32_t y) {
    const uint32_t columns = x + 1 < map->width ? 3 : x < map->width ? 1 : 0;
    return (y < map->height ? columns : 0) | (y + 1 < map->height ? columns << 2 : 0);
}

void g4_stencil_select(struct g4_depth *depth) {
    const struct g4_surface *const surface = &depth->stencil_surface;
    const uint32_t slice = g4_cc_slice(surface, surface->mip_count_or_lod, depth->array_index);
    struct g4_level level;

    if (depth->stencil_index == depth->array_index) {
        return;
    }
    g4_surface_level(surface, surface->mip_count_or_lod, &level);
    const struct g4_image image = {
        .base = surface->base,
        .pitch = surface->pitch,
        .tiling = G4_TILING_W,
        .x0 = level.x + level.slice_dx * (slice & level.slice_mask),
        .y0 = level.y + level.slice_dy * (slice >> level.slice_shift),
        .width = level.width,
        .height = level.height,
        .bytes = 1,
    };
    g4_pixel_map_set(&depth->stencil_map, &image, depth->stencil_write);
    depth->stencil_index = depth->array_index;
}

static uint32_t reference_of(const struct g4_stencil_set *set, const struct g4_depth_job *job, uint32_t pixel) {
    return job->references ? job->references[pixel] : set->reference;
}

/* Stencil test, then that of depth, then the new stencil values. */
static uint32_t test_stencil(struct g4_depth *depth, struct g4_port *port, const struct g4_depth_job *job) {
    const struct g4_stencil_set *const set = &depth->stencil[depth->double_sided && job->back_facing];
    g4_address address[4];
    uint8_t value[4][4];
    uint32_t inside = 0;
    uint32_t passed = 0;

    g4_stencil_select(depth);
    const struct g4_pixel_map *const map = &depth->stencil_map;
    for (uint32_t s = 0; s < 4; s++) {
        if (!(job->live >> (4 * s) & 15)) {
            continue;
        }
        const uint32_t here = pixels_inside(map, job->x[s], job->y[s]);
        if (!here) {
            continue; /* there may be no memory */
        }
        inside |= here << (4 * s);
        address[s] = stencil_address(map, job->x[s], job->y[s]);
        (void)g4_mem_read(port, address[s], value[s], sizeof value[s]);
        for (uint32_t p = 0; p < 4; p++) {
            const uint32_t reference = reference_of(set, job, 4 * s + p) & set->test_mask;
            const bool good = g4_cc_compare(set->function, (float)reference, (float)(value[s][p] & set->test_mask));
            passed |= (uint32_t)good << (4 * s + p);
        }
    }
    passed = (passed | ~inside) & job->live;
    struct g4_depth_job rest = *job;
    rest.live = passed;
    const uint32_t survivors = passed && depth->test_depth ? depth->test_depth(depth, port, &rest) : passed;
    const uint32_t changing = job->live & inside;
    for (uint32_t s = 0; s < 4 && depth->stencil_write && job->update; s++) {
        uint8_t new[4];
        if (!(changing >> (4 * s) & 15)) {
            continue;
        }
        for (uint32_t p = 0; p < 4; p++) {
            const uint32_t bit = 1u << (4 * s + p);
            const uint32_t reference = reference_of(set, job, 4 * s + p);
            new[p] = changing &bit ? (uint8_t)update(set, value[s][p], reference, passed & bit, survivors & bit)
                                   : value[s][p];
        }
        (void)g4_mem_write(port, address[s], new, sizeof new);
    }
    return survivors;
}

/* ---- the buffers ---- */

static bool texel_of(uint32_t format, enum g4_surface_format *texel) {
    switch (format) {
    case G4_DEPTH_FORMAT_D32_FLOAT:
        *texel = G4_SURFACE_FORMAT_R32_FLOAT;
        return true;
    case G4_DEPTH_FORMAT_D24_UNORM_X8_UINT:
        *texel = G4_SURFACE_FORMAT_R32_UINT;
        return true;
    case G4_DEPTH_FORMAT_D16_UNORM:
        *texel = G4_SURFACE_FORMAT_R16_UNORM;
        return true;
    default:
        return false;
    }
}

/* Depth and stencil buffers have the samples of a pixel beside each other. */
static void interleave(const struct g4_draw_state *draw, struct g4_surface *surface) {
    const uint32_t samples = draw->multisampling.samples;
    if (samples > 1) {
        surface->width = g4_align(surface->width, 2) * (samples >= 8 ? 4 : 2);
        surface->height = g4_align(surface->height, 2) * (samples >= 16 ? 4 : samples >= 4 ? 2 : 1);
    }
}

/* From Gen8 on the command says how far array elements are apart, and volumes are arrays. */
static void set_element_rows(uint32_t rows, struct g4_surface *surface) {
    if (rows) {
        surface->element_rows = rows;
        surface->slices_are_elements = surface->type == G4_SURFACE_TYPE_SURFTYPE_3D;
    }
}

static void set_depth(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_cc *cc,
                      struct g4_depth *depth) {
    const struct g4_depth_buffer *const buffer = &draw->depth_buffer;
    const struct g4_depth_stencil *const state = &draw->depth_stencil;
    const struct g4_hierarchical_depth *const hiz = &draw->hierarchical_depth;
    enum g4_surface_format texel;

    if (!buffer->present) {
        return;
    }
    if (!texel_of(buffer->format, &texel)) {
        if (worker->index == 0) {
            g4_report(worker->eu.log, G4_EVENT_BAD_FORMAT, draw->color_address, buffer->format);
        }
        return;
    }
    depth->format = buffer->format;
    depth->depth_test = state->depth_test && !hiz->clear;
    depth->depth_write = state->depth_write;
    depth->function = state->depth_function;
    depth->dx = buffer->offset_x;
    depth->dy = buffer->offset_y;
    g4_depth_surface(buffer, texel, &depth->surface);
    interleave(draw, &depth->surface);
    g4_surface_set_layout_gen7(&depth->surface, buffer->format == G4_DEPTH_FORMAT_D16_UNORM ? 8 : 4, 4, false);
    set_element_rows(buffer->element_rows, &depth->surface);
    g4_depth_select(depth, worker->ctx->gen, 0);
    if (depth->depth_test || depth->depth_write) {
        depth->test_depth = cc->depth_ops->test[depth->format][false];
    }
}

static void set_stencil(const struct g4_draw_state *draw, struct g4_depth *depth) {
    const struct g4_stencil_buffer *const buffer = &draw->stencil_buffer;
    const struct g4_depth_stencil *const state = &draw->depth_stencil;

    if (!buffer->present || !state->stencil_test) {
        return;
    }
    depth->stencil_test = true;
    depth->stencil_write = state->stencil_write;
    depth->double_sided = state->double_sided;
    memcpy(depth->stencil, state->stencil, sizeof depth->stencil);
    g4_depth_surface(&draw->depth_buffer, G4_SURFACE_FORMAT_R8_UINT, &depth->stencil_surface);
    interleave(draw, &depth->stencil_surface);
    g4_surface_set_layout_gen7(&depth->stencil_surface, STENCIL_UNIT, STENCIL_UNIT, false);
    set_element_rows(buffer->element_rows, &depth->stencil_surface);
    depth->stencil_surface.base = buffer->address;
    depth->stencil_surface.pitch = buffer->pitch_bytes / (2 * G4_TILE_W_WIDTH) * G4_TILE_W_WIDTH; /* of one row */
    depth->stencil_index = UINT32_MAX;
}

/* The test of whole tiles in their pages, without a hierarchical depth buffer if it is one of depth. */
static void set_tile_test(const struct g4_depth_ops *ops, struct g4_depth *depth) {
    const bool moved = depth->test_depth && (depth->dx | depth->dy); /* and the stencil buffer is not */

    if (depth->stencil_test && !depth->test_depth) {
        depth->tile = ops->tile_stencil;
    } else if (depth->stencil_test) {
        depth->tile = depth->hiz.present || moved ? NULL : ops->tile_separate[depth->format];
    } else if (depth->test_depth) {
        depth->tile = depth->hiz.present ? NULL : ops->tile[depth->format][false];
    }
}

void g4_begin_depth_gen6(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_cc *cc) {
    struct g4_depth *const depth = &cc->depth;

    memset(depth, 0, sizeof *depth);
    set_depth(worker, draw, cc, depth);
    g4_hiz_begin(worker, draw, cc);
    set_stencil(draw, depth);
    depth->test = depth->stencil_test ? test_stencil : depth->test_depth;
    depth->hiz.takes_tiles = depth->hiz.present && depth->test_depth && !depth->stencil_test;
    if (!worker->ctx->options.general_only) {
        set_tile_test(cc->depth_ops, depth);
    }
}
