/*
 * Fast path for objects that give all their pixels the same value, such as clears.  Threads of each width, or an early
 * test, compute the value for the first few subspans, and the other pixels are filled with it, as are those of later
 * tiles and of objects that have the same value.  Statistics count the threads that were not run.
 */
#include <math.h>
#include <string.h>

#include "color/state.h"
#include "eu/kernel.h"
#include "raster/fill_pixels.h"
#include "raster/windower_state.h"

enum {
    /* Of an object whose value is not known, and is of no use for the next object: for fewer, threads are faster. */
    MIN_SUBSPANS = 16,
};

/* ---- color ---- */

static const struct g4_kernel *kernel_of(const struct g4_wm *wm, enum g4_wm_mode mode) {
    return wm->draw->wm_kernel[wm->dispatch.entry[mode]];
}

/* Whether the kernel of a mode, of threads of 8 or 16 pixels, gives all pixels of an object the same color. */
static bool is_flat(const struct g4_wm *wm, enum g4_wm_mode mode) {
    const struct g4_draw_state *const draw = wm->draw;
    const struct g4_windower_state *const state = &draw->windower;
    const struct g4_dispatch *const dispatch = &draw->dispatch[G4_STAGE_WM];
    const struct g4_kernel *const kernel = kernel_of(wm, mode);
    const uint32_t pixels = mode == G4_WM_16 ? 16 : 8;
    const bool by_width = state->kernels_by_width;
    const uint32_t start = by_width ? state->grf_start[mode] : draw->stage[G4_STAGE_WM].grf_start;
    const uint32_t own = by_width ? g4_pixel_payload_gen7_own(state, pixels / 8) : G4_WM_HEADER;

    return kernel && kernel->flat.pixels == pixels && start >= own && kernel->flat.from >= start &&
           kernel->grf_top <= dispatch->grf_count && !dispatch->exceptions;
}

/* Whether such a kernel reads no coefficients of the object. */
static bool reads_constants_only(const struct g4_wm *wm, enum g4_wm_mode mode) {
    const struct g4_draw_state *const draw = wm->draw;
    const struct g4_stage *const stage = &draw->stage[G4_STAGE_WM];
    const bool by_width = draw->windower.kernels_by_width;
    const uint32_t start = by_width ? draw->windower.grf_start[mode] : stage->grf_start;
    const uint32_t constants = by_width && !stage->constants ? 0 : stage->constant_rows;

    return kernel_of(wm, mode)->flat.to <= start + constants;
}

static bool has_separate_stencil(const struct g4_depth *depth) {
    return depth->stencil_test && depth->stencil_surface.present;
}

/* Whether all pixels get the same stencil value in the bits that may be written.  True without a stencil test.  Both
 * faces have the same state here, and stencil has its own buffer or shares the words of depth. */
static bool stencil_is_constant(const struct g4_depth *depth) {
    const struct g4_stencil_set *const set = &depth->stencil[0];
    const uint32_t operation = set->zpass;

    return !depth->stencil_test ||
           ((depth->format == G4_DEPTH_FORMAT_D24_UNORM_S8_UINT || depth->stencil_surface.present) &&
            !depth->double_sided && set->function == G4_COMPARE_FUNCTION_ALWAYS &&
            (!depth->stencil_write || operation == G4_STENCIL_OPERATION_KEEP ||
             operation == G4_STENCIL_OPERATION_ZERO || operation == G4_STENCIL_OPERATION_REPLACE));
}

static bool depth_is_constant(const struct g4_depth *depth) {
    return depth->test && !depth->hiz.present && stencil_is_constant(depth) && depth->depth_write &&
           depth->map.writes && (!depth->depth_test || depth->function == G4_COMPARE_FUNCTION_ALWAYS) &&
           (depth->map.bytes == 2 || depth->map.bytes == 4);
}

/* The bits of a pixel of the depth buffer that a constant test leaves unchanged. */
static struct g4_pixel_pattern kept_bits(const struct g4_depth *depth) {
    const struct g4_stencil_set *const set = &depth->stencil[0];
    const bool writes = depth->stencil_test && depth->stencil_write && !depth->stencil_surface.present &&
                        set->zpass != G4_STENCIL_OPERATION_KEEP;
    const uint32_t keep = writes ? ~((uint32_t)set->write_mask << 24) & 0xff000000 : 0xff000000;
    const bool is_d24 =
        depth->format == G4_DEPTH_FORMAT_D24_UNORM_S8_UINT || depth->format == G4_DEPTH_FORMAT_D24_UNORM_X8_UINT;

    return is_d24 ? g4_fill_repeat(&keep, sizeof keep) : (struct g4_pixel_pattern){{0}};
}

/* A fill of the depth buffer with the known depth. */
static struct g4_fill fill_of_depth(const struct g4_wm *wm, const struct g4_cc *cc) {
    const struct g4_pixel_pattern keep = kept_bits(&cc->depth);
    return g4_fill_of(cc, cc->depth.map.bytes, &wm->fills.depth.value, &keep);
}

void g4_wm_fill_begin(struct g4_worker *worker) {
    struct g4_wm *const wm = worker->wm;
    const struct g4_draw_state *const draw = wm->draw;
    const struct g4_wm_dispatch *const modes = &wm->dispatch;
    const struct g4_windower_state *const state = &draw->windower;
    const struct g4_iz *const iz = &wm->iz;
    /* debuggers and counters observe each thread and pixel */
    const bool wanted = !wm->ctx->options.general_only && !worker->eu.observed;

    wm->constant_depth = wanted && !iz->source_depth_eu && depth_is_constant(&g4_cc_of(worker)->depth);
    wm->uniform_color = wanted && draw->windower.thread_dispatch && !draw->color.alpha_test.enable &&
                        iz->mode == G4_IZ_P && !iz->source_depth_rt && !iz->dest_depth && !iz->dest_stencil &&
                        !modes->any_contiguous && !modes->enabled[G4_WM_32] && modes->any_normal &&
                        !state->writes_sample_mask && state->computed_depth == G4_DEPTH_NOT_COMPUTED && !state->resolve;
    for (enum g4_wm_mode mode = G4_WM_8; mode <= G4_WM_16; mode++) {
        wm->uniform_color = wm->uniform_color && (!modes->enabled[mode] || is_flat(wm, mode));
    }
    wm->constant_color = wm->uniform_color;
    for (enum g4_wm_mode mode = G4_WM_8; mode <= G4_WM_16; mode++) {
        wm->constant_color = wm->constant_color && (!modes->enabled[mode] || reads_constants_only(wm, mode));
    }
}

bool g4_wm_mostly_fills(const struct g4_wm *wm) {
    const struct g4_blend_state *const blend = &wm->draw->color.blend;
    return wm->constant_color && wm->draw->multisampling.samples <= 1 && !blend->enable && !blend->logic_op;
}

/* Count the threads of a mode that are not run for `subspans` of an object. */
static void count_threads(struct g4_worker *worker, enum g4_wm_mode mode, uint32_t subspans) {
    struct g4_eu *const eu = &worker->eu;
    const struct g4_kernel *const kernel = kernel_of(worker->wm, mode);
    const uint32_t capacity = kernel->flat.pixels / 4;
    const uint32_t threads = (subspans + capacity - 1) / capacity;
    const uint32_t instructions = threads * kernel->count;

    eu->instructions += instructions;
    eu->channel_ops += threads * kernel->flat.channel_ops;
    eu->messages[kernel->ops[kernel->count - 1].function] += threads;
    eu->instruction_budget -= instructions < eu->instruction_budget ? instructions : eu->instruction_budget;
}

/* The subspans that are left at the end of an object, too few for a thread of its first mode, if threads of the other
 * mode draw them. */
static uint32_t tail_of(const struct g4_wm *wm, enum g4_wm_mode mode, uint32_t subspans) {
    const uint32_t left = subspans % (kernel_of(wm, mode)->flat.pixels / 4);
    return left && g4_wm_choose(&wm->dispatch, &wm->ctx->model->quirks, left) != mode ? left : 0;
}

/* Run threads for a part of the object. */
static enum g4_status run_part(struct g4_worker *worker, const struct g4_coverage *part) {
    const struct g4_coverage nothing = {.first = 0, .last = -1};

    g4_wm_collect(worker->wm, part);
    const enum g4_status status = g4_wm_queue(worker, &nothing);
    return status == G4_OK ? g4_wm_flush(worker) : status;
}

/* Whether one color gives all pixels of a target the same bits, but for those that are not written. */
static bool is_fillable(const struct g4_cc *cc, const struct g4_target *target) {
    return target->write && target->write != cc->color_ops->yuv && !target->combines && !target->dither &&
           target->event == G4_EVENTS;
}

/* A fill of a target, with a pixel whose bits that are not written do not matter. */
static struct g4_fill fill_of_target(const struct g4_cc *cc, const struct g4_target *target,
                                     const struct g4_pixel_pattern *color) {
    uint32_t bits[G4_PIXEL_BYTES / 4];
    for (uint32_t plane = 0; plane < G4_PIXEL_BYTES / 4; plane++) {
        bits[plane] = ~target->write_mask[plane];
    }
    const struct g4_pixel_pattern keep = g4_fill_repeat(bits, target->map.bytes);
    return g4_fill_of(cc, target->map.bytes, color, &keep);
}

/* The target that the flat kernel of a mode writes; NULL: it cannot be filled. */
static struct g4_target *flat_target(struct g4_worker *worker, enum g4_wm_mode mode) {
    const struct g4_wm *const wm = worker->wm;
    const struct g4_target_key key = {.index = kernel_of(wm, mode)->flat.target, .array_index = wm->setup->array_index};
    struct g4_target *const target =
        g4_target_get(worker, &wm->draw->dispatch[G4_STAGE_WM], &key, &g4_cc_of(worker)->state.blend);
    return is_fillable(g4_cc_of(worker), target) ? target : NULL;
}

static bool knows_color(const struct g4_wm *wm, enum g4_wm_mode mode) {
    return wm->fills.color.of == wm->setup && wm->fills.color.known[mode];
}

/* Whether two modes give all pixels of the object the same bits. */
static bool have_same_color(const struct g4_wm *wm, enum g4_wm_mode a, enum g4_wm_mode b) {
    const struct g4_fill_color *const color = &wm->fills.color;
    return knows_color(wm, a) && knows_color(wm, b) && kernel_of(wm, a)->flat.target == kernel_of(wm, b)->flat.target &&
           !memcmp(&color->value[a], &color->value[b], sizeof color->value[a]);
}

static const uint8_t *first_pixel(struct g4_worker *worker, struct g4_target *target,
                                  const struct g4_coverage *coverage) {
    struct g4_port *const port = &worker->port;
    const uint32_t unit = port->unit;
    port->unit = G4_UNIT_CC;
    const uint8_t *const pixel = g4_fill_first_pixel(coverage, &target->map, port);
    port->unit = unit;
    return pixel;
}

static void fill_target(struct g4_worker *worker, struct g4_target *target, const struct g4_pixel_pattern *color,
                        const struct g4_coverage *coverage) {
    const struct g4_fill fill = fill_of_target(g4_cc_of(worker), target, color);
    struct g4_port *const port = &worker->port;
    const uint32_t unit = port->unit;
    port->unit = G4_UNIT_CC;
    g4_fill_coverage(&fill, coverage, &target->map, port);
    port->unit = unit;
}

/* Draw pixels of the object, in which so many subspans have lit ones, whose threads have one mode.  `target`: that of
 * the mode; NULL: it cannot be filled. */
static enum g4_status fill_part(struct g4_worker *worker, enum g4_wm_mode mode, struct g4_target *target,
                                const struct g4_coverage *part, uint32_t subspans) {
    struct g4_wm *const wm = worker->wm;
    uint32_t drawn = 0;

    if (!target) {
        return run_part(worker, part);
    }
    if (!knows_color(wm, mode)) {
        drawn = subspans < G4_WM_SAMPLE ? subspans : G4_WM_SAMPLE;
        const struct g4_coverage few = g4_coverage_first_subspans(part, drawn);
        const uint8_t *const sample = first_pixel(worker, target, &few);
        const enum g4_status status = run_part(worker, sample ? &few : part);
        if (status != G4_OK || !sample) {
            return status;
        }
        if (wm->fills.color.of != wm->setup) {
            wm->fills.color = (struct g4_fill_color){.of = wm->setup};
        }
        wm->fills.color.value[mode] = g4_fill_repeat(sample, target->map.bytes);
        wm->fills.color.known[mode] = true;
    }
    if (drawn < subspans) {
        fill_target(worker, target, &wm->fills.color.value[mode], part);
        count_threads(worker, mode, subspans - drawn);
    }
    return G4_OK;
}

bool g4_wm_fill_color(struct g4_worker *worker, const struct g4_coverage *coverage, enum g4_status *status) {
    struct g4_wm *const wm = worker->wm;
    const uint32_t subspans = wm->subspans;
    const bool pays = wm->constant_color || wm->fills.color.of == wm->setup || subspans >= MIN_SUBSPANS;

    if (!g4_wm_may_fill_color(wm) || !pays) {
        return false;
    }
    const enum g4_wm_mode mode = g4_wm_choose(&wm->dispatch, &wm->ctx->model->quirks, subspans);
    struct g4_target *target = flat_target(worker, mode);
    if (!target || !first_pixel(worker, target, coverage)) {
        return false;
    }
    const uint32_t tail = tail_of(wm, mode, subspans);
    const enum g4_wm_mode last_mode = tail ? g4_wm_choose(&wm->dispatch, &wm->ctx->model->quirks, tail) : mode;
    *status = g4_wm_flush(worker);
    if (*status != G4_OK) {
        return true;
    }
    target = flat_target(worker, mode); /* again: threads that waited may have replaced it */
    if (tail == 0) {
        *status = fill_part(worker, mode, target, coverage, subspans);
        return true;
    }
    if (have_same_color(wm, mode, last_mode)) {
        fill_target(worker, target, &wm->fills.color.value[mode], coverage);
        count_threads(worker, mode, subspans - tail);
        count_threads(worker, last_mode, tail);
        return true;
    }
    struct g4_coverage rest = *coverage;
    const struct g4_coverage last = g4_coverage_split_last(&rest, tail);
    *status = fill_part(worker, mode, target, &rest, subspans - tail);
    if (*status == G4_OK) {
        *status = fill_part(worker, last_mode, flat_target(worker, last_mode), &last, tail);
    }
    return true;
}

/* ---- a separate stencil buffer ---- */

/* Whether the stencil values of the tile, if they are separate, may be accessed together. */
static bool finds_stencil(struct g4_worker *worker) {
    const struct g4_wm *const wm = worker->wm;
    return !has_separate_stencil(&g4_cc_of(worker)->depth) || g4_cc_finds_stencil(worker, wm->tile_x, wm->tile_y);
}

/* Give the covered pixels their stencil value if it is separate.  Call after finds_stencil(). */
static void fill_stencil(struct g4_worker *worker, const struct g4_coverage *coverage) {
    const struct g4_early_tile tile = g4_wm_early_tile(worker->wm, coverage, NULL);
    if (has_separate_stencil(&g4_cc_of(worker)->depth)) {
        g4_cc_stencil_tile(worker, &tile, coverage->row);
    }
}

/* ---- objects alike ----
 *
 * A rectangle that clears or fills is often drawn as two triangles.  In a row of tiles there is one of them, then both,
 * then the other one, whose value is then known if both have the same. */

static bool has_color_of(const struct g4_wm *wm, const struct g4_setup *other) {
    const struct g4_setup *const setup = wm->setup;
    const size_t bytes = setup->entry_rows * sizeof *setup->entry;
    const bool has_same_coefficients =
        wm->constant_color ||
        (setup->entry_rows == other->entry_rows && (bytes == 0 || !memcmp(setup->entry, other->entry, bytes)));
    return g4_wm_may_fill_color(wm) && has_same_coefficients;
}

static bool has_depth_of(const struct g4_wm *wm, const struct g4_setup *other) {
    struct g4_plane plane;
    struct g4_plane known;

    if (!g4_wm_depth_is_constant(wm) || wm->setup->viewport != other->viewport) {
        return false;
    }
    g4_wm_plane(wm, wm->setup, &plane);
    g4_wm_plane(wm, other, &known);
    return plane.c0 == known.c0 && !signbit(plane.c0) == !signbit(known.c0);
}

void g4_wm_share_fills(struct g4_wm *wm) {
    if (wm->fills.color.of && wm->fills.color.of != wm->setup && has_color_of(wm, wm->fills.color.of)) {
        wm->fills.color.of = wm->setup;
    }
    if (wm->fills.depth.of && wm->fills.depth.of != wm->setup && has_depth_of(wm, wm->fills.depth.of)) {
        wm->fills.depth.of = wm->setup;
    }
}

/* ---- whole tiles ---- */

bool g4_wm_fill_tile(struct g4_worker *worker, const struct g4_coverage *coverage, bool threads,
                     enum g4_status *status) {
    struct g4_wm *const wm = worker->wm;
    struct g4_cc *const cc = g4_cc_of(worker);
    struct g4_depth *const depth = &cc->depth;
    struct g4_port *const port = &worker->port;
    const struct g4_tile_rows tile = {(uint32_t)wm->tile_x, (uint32_t)wm->tile_y, G4_TILE_SIZE};
    const enum g4_wm_mode mode =
        threads ? g4_wm_choose(&wm->dispatch, &wm->ctx->model->quirks, G4_TILE_SUBSPANS) : G4_WM_8;
    struct g4_row_memory colors;
    struct g4_row_memory depths;

    if ((depth->test && !g4_wm_knows_depth(wm)) || (threads && !knows_color(wm, mode)) || depth->hiz.present) {
        return false;
    }
    if (depth->test && wm->setup->array_index != depth->array_index) {
        g4_depth_select(depth, wm->ctx->gen, wm->setup->array_index);
    }
    if (threads) {
        struct g4_target *const target = flat_target(worker, mode);
        if (!target || !g4_fill_find_tile(&tile, &target->map, port, &colors)) {
            return false;
        }
    }
    if (depth->test) {
        const struct g4_fill fill = fill_of_depth(wm, cc);
        if (!g4_fill_find_tile(&tile, &depth->map, port, &depths) || !finds_stencil(worker) ||
            !g4_fill_found_tile(&fill, &tile, &depths, &depth->map, port)) {
            return false;
        }
        fill_stencil(worker, coverage);
    }
    *status = threads ? g4_wm_flush(worker) : G4_OK;
    if (threads && *status == G4_OK) {
        struct g4_target *const target =
            flat_target(worker, mode); /* again: threads that waited may have replaced it */
        const struct g4_fill fill = fill_of_target(cc, target, &wm->fills.color.value[mode]);
        if (!g4_fill_found_tile(&fill, &tile, &colors, &target->map, port)) {
            return false;
        }
        count_threads(worker, mode, G4_TILE_SUBSPANS);
    }
    worker->eu.ps_depth_count += cc->wm_statistics ? G4_TILE_SIZE * G4_TILE_SIZE : 0;
    return true;
}

/* ---- clears without threads ---- */

/* The rows of a tile that the target has, if the object covers all of them.  False: it does not, or their number or
 * place is odd. */
static bool whole_rows(const struct g4_coverage *coverage, const struct g4_pixel_map *map, struct g4_tile_rows *rows) {
    uint32_t lit = UINT32_MAX;

    for (int32_t j = coverage->first; j <= coverage->last; j++) {
        lit &= coverage->row[j];
    }
    *rows = (struct g4_tile_rows){
        .x = (uint32_t)coverage->x,
        .y = (uint32_t)(coverage->y + coverage->first),
        .count = (uint32_t)(coverage->last - coverage->first + 1),
    };
    const uint32_t left =
        map->height - (rows->y + map->dy); /* wraps around for rows below the surface, which are not mapped */
    rows->count = left < rows->count ? left : rows->count;
    return lit == UINT32_MAX && rows->y % 2 == 0 && rows->count % 2 == 0 && rows->count != 0;
}

bool g4_wm_fill_rows(struct g4_worker *worker, struct g4_target *target, const struct g4_coverage *coverage,
                     struct g4_pixels *pixels) {
    const struct g4_cc *const cc = g4_cc_of(worker);
    struct g4_port *const port = &worker->port;
    struct g4_pixel_map *const map = &target->map;
    struct g4_tile_rows rows;

    if (worker->ctx->options.general_only || worker->eu.observed || !is_fillable(cc, target) ||
        !whole_rows(coverage, map, &rows) || !g4_fill_are_mapped(&rows, map, port)) {
        return false;
    }
    const uint8_t *const sample = g4_fill_first_pixel(coverage, map, port);
    if (!sample) {
        return false;
    }
    pixels->live = 15;
    pixels->x[0] = (uint16_t)rows.x;
    pixels->y[0] = (uint16_t)rows.y;
    target->write(target, port, pixels);
    const struct g4_pixel_pattern value = g4_fill_repeat(sample, map->bytes);
    const struct g4_fill fill = fill_of_target(cc, target, &value);
    return g4_fill_rows(&fill, &rows, map, port);
}

/* ---- depth ---- */

bool g4_wm_depth_is_constant(const struct g4_wm *wm) {
    struct g4_plane plane;

    if (!wm->constant_depth) {
        return false;
    }
    g4_wm_plane(wm, wm->setup, &plane);
    return plane.cx == 0 && plane.cy == 0;
}

bool g4_wm_knows_depth(const struct g4_wm *wm) {
    return wm->fills.depth.of == wm->setup;
}

bool g4_wm_can_fill_depth(struct g4_worker *worker, const struct g4_coverage *coverage, struct g4_coverage *sample) {
    struct g4_wm *const wm = worker->wm;
    struct g4_depth *const depth = &g4_cc_of(worker)->depth;
    const bool is_known = g4_wm_knows_depth(wm);

    if (!is_known && g4_coverage_subspans(coverage) < MIN_SUBSPANS) {
        return false;
    }
    if (wm->setup->array_index != depth->array_index) {
        g4_depth_select(depth, wm->ctx->gen, wm->setup->array_index);
    }
    *sample = is_known ? *coverage : g4_coverage_first_subspans(coverage, G4_WM_SAMPLE);
    return finds_stencil(worker) && g4_fill_first_pixel(sample, &depth->map, &worker->port) != NULL;
}

void g4_wm_fill_depth(struct g4_worker *worker, const struct g4_coverage *coverage, const struct g4_coverage *sample) {
    struct g4_wm *const wm = worker->wm;
    struct g4_cc *const cc = g4_cc_of(worker);
    struct g4_pixel_map *const map = &cc->depth.map;
    struct g4_port *const port = &worker->port;
    const uint32_t unit = port->unit;
    uint32_t pixels = g4_coverage_pixels(coverage);

    if (!g4_wm_knows_depth(wm)) {
        const uint8_t *const first = g4_fill_first_pixel(sample, map, port);
        wm->fills.depth = (struct g4_fill_depth){wm->setup, g4_fill_repeat(first, map->bytes)};
        pixels -= g4_coverage_pixels(sample);
    }
    const struct g4_fill fill = fill_of_depth(wm, cc);
    port->unit = G4_UNIT_WM;
    g4_fill_coverage(&fill, coverage, map, port);
    fill_stencil(worker, coverage);
    port->unit = unit;
    worker->eu.ps_depth_count += cc->wm_statistics ? pixels : 0;
}
