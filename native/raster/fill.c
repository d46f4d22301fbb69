/*
 * Fast path for objects that give all their pixels the same value, such as clears.  One thread, or one early test, of
 * the first tile computes the value, and all other pixels are filled with it.  Statistics count the threads that were
 * not run.
 */
#include <math.h>
#include <string.h>

#include "color/state.h"
#include "eu/kernel.h"
#include "raster/windower_state.h"

enum {
    MIN_SUBSPANS = 16, /* of an object; for fewer, threads are faster */
    LAST_SUBSPANS = 8, /* of an object; while more are left, all threads have the same mode */
};

/* The value of all pixels. */
struct fill {
    const struct g4_fill_ops *ops;
    uint32_t bytes; /* of a pixel */
    struct g4_pixel_pattern value;
    struct g4_pixel_pattern keep; /* bits that are not written; they are 0 in the value */
};

static struct g4_pixel_pattern repeat(const void *pixel, uint32_t bytes) {
    struct g4_pixel_pattern pattern;
    for (uint32_t at = 0; at < sizeof pattern; at += bytes) {
        memcpy((uint8_t *)&pattern + at, pixel, bytes);
    }
    return pattern;
}

/* `value`: that of a pixel, whose bits in `keep` do not matter. */
static struct fill fill_of(const struct g4_cc *cc, uint32_t bytes, const struct g4_pixel_pattern *value,
                           const struct g4_pixel_pattern *keep) {
    struct fill fill = {.ops = cc->fill_ops, .bytes = bytes, .value = *value, .keep = *keep};
    for (uint32_t i = 0; i < G4_PIXEL_BYTES / 8; i++) {
        fill.value.word[i] &= ~keep->word[i];
    }
    return fill;
}

static void fill_pixel(const struct fill *fill, uint8_t *pixel) {
    if (fill->bytes == 4) { /* most are */
        uint32_t v;
        memcpy(&v, pixel, sizeof v);
        v = (v & (uint32_t)fill->keep.word[0]) | (uint32_t)fill->value.word[0];
        memcpy(pixel, &v, sizeof v);
        return;
    }
    for (uint32_t i = 0; i < fill->bytes; i++) {
        pixel[i] = (uint8_t)((pixel[i] & ((const uint8_t *)&fill->keep)[i]) | ((const uint8_t *)&fill->value)[i]);
    }
}

static void fill_memory(const struct fill *fill, const struct g4_filled_rows *rows) {
    fill->ops->rows(rows, &fill->value, &fill->keep);
}

/* `bytes` is a multiple of two pixels. */
static void fill_row(const struct fill *fill, uint8_t *row, uint32_t bytes) {
    fill_memory(fill, &(struct g4_filled_rows){.first = row, .count = 1, .bytes = bytes});
}

/* The pixels of a row are `distance` bytes apart. */
static void fill_pixels(const struct fill *fill, uint8_t *const row[2], uint32_t distance, uint32_t lit) {
    for (uint32_t p = 0; p < 4; p++) {
        if (lit >> p & 1) {
            fill_pixel(fill, row[p >> 1] + (size_t)(p & 1) * distance);
        }
    }
}

static void fill_subspan(const struct fill *fill, struct g4_pixel_map *map, struct g4_port *port,
                         const struct g4_subspan *s) {
    const uint16_t x[4] = {s->x};
    const uint16_t y[4] = {s->y};
    struct g4_subspan_rows rows;
    uint8_t *const first = g4_pixel_map_columns(map, port, s->x, s->y);
    if (first) {
        fill_pixels(fill, (uint8_t *const[2]){first, first + G4_PIXEL_MAP_COLUMN}, G4_PIXEL_MAP_NEXT, s->lit);
        return;
    }
    g4_pixel_map_open(map, port, x, y, s->lit, &rows);
    fill_pixels(fill, rows.row, fill->bytes, s->lit & rows.inside);
    g4_pixel_map_close(map, port, x, y, s->lit & rows.inside, &rows);
}

/* The number of adjacent, completely lit subspans from the first on. */
static uint32_t run_length(const struct g4_subspan *s, uint32_t count) {
    uint32_t n = 0;
    while (n < count && s[n].lit == 15 && s[n].y == s[0].y && s[n].x == s[0].x + 2 * n) {
        n++;
    }
    return n;
}

/* The number of pixels from (x, y) on that are contiguous in memory, at most `most`. */
static uint32_t in_one_piece(const struct g4_pixel_map *map, uint32_t x, uint32_t most) {
    if (map->tiling != G4_TILING_Y) {
        return most;
    }
    const uint32_t left =
        (G4_PIXEL_MAP_COLUMN - (map->x0 + x + map->dx) * map->bytes % G4_PIXEL_MAP_COLUMN) / map->bytes;
    return left < most ? left : most;
}

static void fill_run(const struct fill *fill, struct g4_pixel_map *map, struct g4_port *port,
                     const struct g4_subspan *s, uint32_t count) {
    for (uint32_t done = 0; done < count;) {
        uint8_t *row[2];
        const uint32_t pixels = in_one_piece(map, s[done].x, 2 * (count - done));
        if (pixels >= 2 && g4_pixel_map_rows(map, port, s[done].x, s[done].y, pixels, row)) {
            fill_row(fill, row[0], pixels * fill->bytes);
            fill_row(fill, row[1], pixels * fill->bytes);
            done += pixels / 2;
        } else {
            fill_subspan(fill, map, port, &s[done++]);
        }
    }
}

/* Whether the object covers all pixels of the tile of the windower. */
static bool covers_tile(const struct g4_wm *wm) {
    uint32_t lit = 15;

    if (wm->subspans != G4_TILE_SUBSPANS) {
        return false;
    }
    for (uint32_t i = 0; i < G4_TILE_SUBSPANS; i++) { /* without a branch, so that compilers use vectors */
        lit &= wm->subspan[i].lit;
    }
    return lit == 15;
}

/* Whole rows of a tile of the windower: an even number of them, from an even one on. */
struct tile_rows {
    uint32_t x, y;
    uint32_t count;
};

/* The pixels of the first row of a column in a Y tile; NULL: they are not directly accessible.  `y` is even. */
static uint8_t *top_of_column(struct g4_pixel_map *map, struct g4_port *port, uint32_t x, uint32_t y, uint32_t pixels) {
    uint8_t *row[2];
    if (map->columns) {
        uint8_t *const pair = g4_pixel_map_columns(map, port, x & ~1u, y);
        return pair ? pair + (size_t)(x & 1) * G4_PIXEL_MAP_NEXT : NULL;
    }
    return g4_pixel_map_rows(map, port, x, y, pixels, row) ? row[0] : NULL;
}

/* Fill rows in a Y tile: columns of 16 bytes, whose rows are contiguous. */
static bool fill_columns(const struct tile_rows *rows, const struct fill *fill, struct g4_pixel_map *map,
                         struct g4_port *port) {
    const uint32_t pixels = G4_PIXEL_MAP_COLUMN / map->bytes;
    const uint32_t sx = rows->x + map->dx;
    const uint32_t sy = rows->y + map->dy;

    if (map->line_shift || (map->x0 + sx) % pixels || (map->y0 + sy) % G4_TILE_SIZE + rows->count > G4_TILE_SIZE ||
        map->height < rows->count || sy > map->height - rows->count) {
        return false;
    }
    for (uint32_t x = 0; x < G4_TILE_SIZE; x += pixels) {
        uint8_t *const column = top_of_column(map, port, rows->x + x, rows->y, pixels);
        if (!column) {
            return false;
        }
        fill_row(fill, column, rows->count * G4_PIXEL_MAP_COLUMN);
    }
    return true;
}

/* The number of rows of an X tile from the row of a pixel on, at most `most`. */
static uint32_t rows_of_tile(const struct g4_pixel_map *map, uint32_t y, uint32_t most) {
    const uint32_t left = G4_TILE_X_HEIGHT - (map->y0 + y + map->dy) % G4_TILE_X_HEIGHT;
    return left < most ? left : most;
}

/* The memory of whole rows, in pieces whose rows have the same distance. */
struct row_memory {
    struct g4_filled_rows piece[G4_TILE_SIZE / G4_TILE_X_HEIGHT + 1];
    uint32_t pieces; /* 0: it is not known */
};

static void fill_pieces(const struct row_memory *memory, const struct fill *fill) {
    for (uint32_t i = 0; i < memory->pieces; i++) {
        fill_memory(fill, &memory->piece[i]);
    }
}

/* Find rows in X tiles.  False: they are not directly accessible. */
static bool find_in_x_tiles(const struct tile_rows *rows, struct g4_pixel_map *map, struct g4_port *port,
                            struct row_memory *memory) {
    uint32_t pieces = 0;

    memory->pieces = 0;
    if (map->line_shift || map->height < rows->count || rows->y + map->dy > map->height - rows->count) {
        return false;
    }
    for (uint32_t y = 0; y < rows->count;) {
        const uint32_t count = rows_of_tile(map, rows->y + y, rows->count - y);
        uint8_t *row[2];
        if (!g4_pixel_map_rows(map, port, rows->x, rows->y + y, G4_TILE_SIZE, row)) {
            return false;
        }
        memory->piece[pieces++] = (struct g4_filled_rows){row[0], count, G4_TILE_SIZE * map->bytes, G4_TILE_X_WIDTH};
        y += count;
    }
    memory->pieces = pieces;
    return true;
}

static bool fill_x_tiles(const struct tile_rows *rows, const struct fill *fill, struct g4_pixel_map *map,
                         struct g4_port *port) {
    struct row_memory memory;
    const bool found = find_in_x_tiles(rows, map, port, &memory);
    fill_pieces(&memory, fill);
    return found;
}

/* Fill rows in a linear surface. */
static bool fill_lines(const struct tile_rows *rows, const struct fill *fill, struct g4_pixel_map *map,
                       struct g4_port *port) {
    for (uint32_t y = 0; y < rows->count; y += 2) {
        uint8_t *row[2];
        if (!g4_pixel_map_rows(map, port, rows->x, rows->y + y, G4_TILE_SIZE, row)) {
            return false;
        }
        fill_row(fill, row[0], G4_TILE_SIZE * fill->bytes);
        fill_row(fill, row[1], G4_TILE_SIZE * fill->bytes);
    }
    return true;
}

/* Whether all pixels of the rows are inside an image. */
static bool are_inside(const struct tile_rows *rows, const struct g4_pixel_map *map) {
    const uint32_t sx = rows->x + map->dx;
    const uint32_t sy = rows->y + map->dy;
    return map->width >= G4_TILE_SIZE && sx <= map->width - G4_TILE_SIZE && map->height >= rows->count &&
           sy <= map->height - rows->count;
}

/* The memory of a tile that is a page; NULL: it is none, or not directly accessible. */
static uint8_t *page_of(const struct tile_rows *tile, struct g4_pixel_map *map, struct g4_port *port) {
    return tile->count == G4_TILE_SIZE && are_inside(tile, map) ? g4_pixel_map_page(map, port, tile->x, tile->y) : NULL;
}

/* False: the pixels cannot be accessed as whole rows; some may have been filled. */
static bool fill_tile(const struct tile_rows *rows, const struct fill *fill, struct g4_pixel_map *map,
                      struct g4_port *port) {
    uint8_t *const page = page_of(rows, map, port);
    if (page) {
        fill_row(fill, page, G4_PAGE_SIZE);
        return true;
    }
    switch (map->tiling) {
    case G4_TILING_Y:
        return fill_columns(rows, fill, map, port);
    case G4_TILING_X:
        return fill_x_tiles(rows, fill, map, port) || fill_lines(rows, fill, map, port);
    default:
        return fill_lines(rows, fill, map, port);
    }
}

/* Fill subspans of a tile of pixels of 32 bits that is a page: columns of four pixels, whose rows are 16 bytes. */
static void fill_page(const struct g4_wm *wm, const struct fill *fill, uint8_t *page) {
    const uint64_t kept = fill->keep.word[0];
    for (uint32_t i = 0; i < wm->subspans; i++) {
        const struct g4_subspan *const s = &wm->subspan[i];
        const uint32_t column = s->x % G4_TILE_SIZE / 4u;
        uint8_t *const upper =
            page + (column * G4_TILE_SIZE + s->y % G4_TILE_SIZE) * G4_PIXEL_MAP_COLUMN + s->x % 4 * 4;
        uint8_t *const row[2] = {upper, upper + G4_PIXEL_MAP_COLUMN};
        for (uint32_t r = 0; r < 2 && s->lit == 15; r++) {
            uint64_t pair = 0;
            if (kept) {
                memcpy(&pair, row[r], sizeof pair);
            }
            pair = (pair & kept) | fill->value.word[0];
            memcpy(row[r], &pair, sizeof pair);
        }
        if (s->lit != 15) {
            fill_pixels(fill, row, fill->bytes, s->lit);
        }
    }
}

static void fill_all(const struct g4_wm *wm, const struct fill *fill, struct g4_pixel_map *map, struct g4_port *port) {
    const struct tile_rows tile = {(uint32_t)wm->tile_x, (uint32_t)wm->tile_y, G4_TILE_SIZE};

    if (covers_tile(wm) && fill_tile(&tile, fill, map, port)) {
        return;
    }
    uint8_t *const page = page_of(&tile, map, port);
    if (page) {
        fill_page(wm, fill, page);
        return;
    }
    for (uint32_t i = 0; i < wm->subspans;) {
        const uint32_t run = run_length(&wm->subspan[i], wm->subspans - i);
        if (run) {
            fill_run(fill, map, port, &wm->subspan[i], run);
            i += run;
        } else {
            fill_subspan(fill, map, port, &wm->subspan[i++]);
        }
    }
}

/* The first lit pixel of a subspan in memory; NULL unless it is directly accessible. */
static const uint8_t *first_pixel(struct g4_pixel_map *map, struct g4_port *port, const struct g4_subspan *s) {
    const uint32_t p = (uint32_t)__builtin_ctz(s->lit | 16);
    uint8_t *row[2];
    if (p > 3) {
        return NULL;
    }
    if (map->columns) {
        const uint8_t *const first = g4_pixel_map_columns(map, port, s->x, s->y);
        return first ? first + (size_t)(p >> 1) * G4_PIXEL_MAP_COLUMN + (size_t)(p & 1) * G4_PIXEL_MAP_NEXT : NULL;
    }
    if (!g4_pixel_map_rows(map, port, s->x, s->y, 2, row)) {
        return NULL;
    }
    return row[p >> 1] + (size_t)(p & 1) * map->bytes;
}

/* ---- color ---- */

/* Whether the kernel of a mode, of threads of 8 or 16 pixels, gives all pixels of an object the same color. */
static bool is_flat(const struct g4_wm *wm, enum g4_wm_mode mode) {
    const struct g4_draw_state *const draw = wm->draw;
    const struct g4_windower_state *const state = &draw->windower;
    const struct g4_dispatch *const dispatch = &draw->dispatch[G4_STAGE_WM];
    const struct g4_kernel *const kernel = draw->wm_kernel[wm->dispatch.entry[mode]];
    const uint32_t pixels = mode == G4_WM_16 ? 16 : 8;
    const bool by_width = state->kernels_by_width;
    const uint32_t start = by_width ? state->grf_start[mode] : draw->stage[G4_STAGE_WM].grf_start;
    const uint32_t own = by_width ? g4_pixel_payload_gen7_own(state, pixels / 8) : G4_WM_HEADER;

    return kernel && kernel->flat.pixels == pixels && start >= own && kernel->flat.from >= start &&
           kernel->grf_top <= dispatch->grf_count && !dispatch->exceptions;
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

    return is_d24 ? repeat(&keep, sizeof keep) : (struct g4_pixel_pattern){{0}};
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
}

static const struct g4_kernel *kernel_of(const struct g4_wm *wm, enum g4_wm_mode mode) {
    return wm->draw->wm_kernel[wm->dispatch.entry[mode]];
}

/* The number of threads of one mode that the next `subspans` of an object start with, at least 1. */
static uint32_t threads_alike(uint32_t subspans, uint32_t capacity) {
    const uint32_t before_end = subspans > LAST_SUBSPANS ? (subspans - LAST_SUBSPANS) / capacity : 0;
    return before_end ? before_end : 1;
}

/* Count the threads that are not run for `subspans` of an object. */
static void count_threads(struct g4_worker *worker, uint32_t subspans) {
    const struct g4_wm *const wm = worker->wm;
    struct g4_eu *const eu = &worker->eu;

    while (subspans) {
        const enum g4_wm_mode mode = g4_wm_choose(&wm->dispatch, &wm->ctx->model->quirks, subspans);
        const struct g4_kernel *const kernel = kernel_of(wm, mode);
        const uint32_t capacity = kernel->flat.pixels / 4;
        const uint32_t threads = threads_alike(subspans, capacity);
        const uint32_t instructions = threads * kernel->count;
        subspans -= subspans < threads * capacity ? subspans : threads * capacity;
        eu->instructions += instructions;
        eu->channel_ops += threads * kernel->flat.channel_ops;
        eu->messages[kernel->ops[kernel->count - 1].function] += threads;
        eu->instruction_budget -= instructions < eu->instruction_budget ? instructions : eu->instruction_budget;
    }
}

/* The subspans at the end of an object that threads of another mode draw, with another kernel. */
static uint32_t tail_of(const struct g4_wm *wm, enum g4_wm_mode mode, uint32_t subspans) {
    const uint32_t capacity = kernel_of(wm, mode)->flat.pixels / 4;
    while (subspans && g4_wm_choose(&wm->dispatch, &wm->ctx->model->quirks, subspans) == mode) {
        const uint32_t drawn = threads_alike(subspans, capacity) * capacity;
        subspans -= subspans < drawn ? subspans : drawn;
    }
    return subspans;
}

/* Run threads for `count` subspans of the object. */
static enum g4_status run_subspans(struct g4_worker *worker, uint32_t first, uint32_t count) {
    struct g4_wm *const wm = worker->wm;
    const struct g4_coverage nothing = {.first = 0, .last = -1};

    memmove(wm->subspan, wm->subspan + first, count * sizeof wm->subspan[0]);
    wm->subspans = count;
    const enum g4_status status = g4_wm_queue(worker, &nothing);
    return status == G4_OK ? g4_wm_flush(worker) : status;
}

/* Whether one color gives all pixels of a target the same bits, but for those that are not written. */
static bool is_fillable(const struct g4_cc *cc, const struct g4_target *target) {
    return target->write && target->write != cc->color_ops->yuv && !target->combines && !target->dither &&
           target->event == G4_EVENTS;
}

/* The bits of a target's pixels that are not written. */
static struct g4_pixel_pattern unwritten_bits(const struct g4_target *target) {
    uint32_t bits[G4_PIXEL_BYTES / 4];
    for (uint32_t plane = 0; plane < G4_PIXEL_BYTES / 4; plane++) {
        bits[plane] = ~target->write_mask[plane];
    }
    return repeat(bits, target->map.bytes);
}

/* The target that the flat kernel of a mode writes; NULL: it cannot be filled. */
static struct g4_target *flat_target(struct g4_worker *worker, enum g4_wm_mode mode) {
    const struct g4_wm *const wm = worker->wm;
    const struct g4_target_key key = {.index = kernel_of(wm, mode)->flat.target, .array_index = wm->setup->array_index};
    struct g4_target *const target =
        g4_target_get(worker, &wm->draw->dispatch[G4_STAGE_WM], &key, &g4_cc_of(worker)->state.blend);
    return is_fillable(g4_cc_of(worker), target) ? target : NULL;
}

bool g4_wm_fill_color(struct g4_worker *worker, enum g4_status *status) {
    struct g4_wm *const wm = worker->wm;
    const uint32_t subspans = wm->subspans;

    if (!wm->uniform_color || subspans < MIN_SUBSPANS || wm->setup->antialias) {
        return false;
    }
    const enum g4_wm_mode mode = g4_wm_choose(&wm->dispatch, &wm->ctx->model->quirks, subspans);
    struct g4_target *const target = flat_target(worker, mode);
    if (!target) {
        return false;
    }
    struct g4_port *const port = &worker->port;
    const uint32_t unit = port->unit;
    port->unit = G4_UNIT_CC;
    const uint8_t *const sample = first_pixel(&target->map, port, &wm->subspan[0]);
    port->unit = unit;
    if (!sample) {
        return false;
    }
    const bool is_known = wm->color.of == wm->setup;
    *status = g4_wm_flush(worker);
    if (*status == G4_OK && !is_known) {
        *status = run_subspans(worker, 0, G4_WM_SAMPLE);
        wm->color = (struct g4_fill_value){.of = wm->setup, .value = repeat(sample, target->map.bytes)};
    }
    if (*status == G4_OK) {
        const struct g4_pixel_pattern keep = unwritten_bits(target);
        const struct fill fill = fill_of(g4_cc_of(worker), target->map.bytes, &wm->color.value, &keep);
        const uint32_t tail = tail_of(wm, mode, subspans);
        wm->subspans = subspans - tail;
        port->unit = G4_UNIT_CC;
        fill_all(wm, &fill, &target->map, port);
        port->unit = unit;
        count_threads(worker, subspans - tail - (is_known ? 0 : G4_WM_SAMPLE));
        *status = tail ? run_subspans(worker, subspans - tail, tail) : G4_OK;
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
    /* the kernels read constants and these coefficients only */
    return wm->uniform_color && !setup->antialias && setup->entry_rows == other->entry_rows &&
           (bytes == 0 || !memcmp(setup->entry, other->entry, bytes));
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
    if (wm->color.of && wm->color.of != wm->setup && has_color_of(wm, wm->color.of)) {
        wm->color.of = wm->setup;
    }
    if (wm->depth.of && wm->depth.of != wm->setup && has_depth_of(wm, wm->depth.of)) {
        wm->depth.of = wm->setup;
    }
}

/* ---- whole tiles ---- */

/* Whether all pages of the rows may be accessed: those of the tiles of the surface, or the ends of linear rows. */
static bool are_mapped(const struct tile_rows *rows, struct g4_pixel_map *map, struct g4_port *port) {
    const bool linear = map->tiling == G4_TILING_LINEAR;
    const uint32_t width = g4_tile_width(map->tiling);
    const uint32_t height = map->line_shift ? 1 : g4_tile_height(map->tiling);
    bool mapped = true;

    for (uint32_t y = 0; y < rows->count && mapped; y += height - (map->y0 + rows->y + y + map->dy) % height) {
        for (uint32_t x = 0; x < G4_TILE_SIZE && mapped;) {
            const uint32_t at = (map->x0 + rows->x + x + map->dx) * map->bytes;
            mapped = g4_pixel_map_is_mapped(map, port, rows->x + x, rows->y + y);
            x += linear ? G4_TILE_SIZE - 1 : (width - at % width) / map->bytes;
        }
    }
    return mapped;
}

/* Whether all pixels of the tile are inside an image, and may be accessed; and their memory, if it is simple. */
static bool find_tile(const struct tile_rows *tile, struct g4_pixel_map *map, struct g4_port *port,
                      struct row_memory *memory) {
    memory->pieces = 0;
    if (!(map->fast || map->columns) || !are_inside(tile, map)) {
        return false;
    }
    uint8_t *const page = g4_pixel_map_page(map, port, tile->x, tile->y);
    if (page) {
        memory->piece[0] = (struct g4_filled_rows){.first = page, .count = 1, .bytes = G4_PAGE_SIZE};
        memory->pieces = 1;
        return true;
    }
    return (map->tiling == G4_TILING_X && find_in_x_tiles(tile, map, port, memory)) || are_mapped(tile, map, port);
}

/* Fill a tile that has been found.  False: the pixels cannot be accessed as whole rows; some may have been filled. */
static bool fill_found(const struct tile_rows *tile, const struct row_memory *memory, const struct fill *fill,
                       struct g4_pixel_map *map, struct g4_port *port) {
    fill_pieces(memory, fill);
    return memory->pieces || fill_tile(tile, fill, map, port);
}

bool g4_wm_fill_tile(struct g4_worker *worker, const struct g4_coverage *coverage, bool threads,
                     enum g4_status *status) {
    struct g4_wm *const wm = worker->wm;
    struct g4_cc *const cc = g4_cc_of(worker);
    struct g4_depth *const depth = &cc->depth;
    struct g4_port *const port = &worker->port;
    const struct tile_rows tile = {(uint32_t)wm->tile_x, (uint32_t)wm->tile_y, G4_TILE_SIZE};
    const enum g4_wm_mode mode =
        threads ? g4_wm_choose(&wm->dispatch, &wm->ctx->model->quirks, G4_TILE_SUBSPANS) : G4_WM_8;
    struct g4_target *target = NULL;
    struct row_memory colors;
    struct row_memory depths;
    struct fill color_fill = {NULL};

    if ((depth->test && wm->depth.of != wm->setup) || (threads && wm->color.of != wm->setup) || depth->hiz.present) {
        return false;
    }
    if (depth->test && wm->setup->array_index != depth->array_index) {
        g4_depth_select(depth, wm->ctx->gen, wm->setup->array_index);
    }
    if (threads) {
        target = flat_target(worker, mode);
        if (!target || tail_of(wm, mode, G4_TILE_SUBSPANS) || !find_tile(&tile, &target->map, port, &colors)) {
            return false;
        }
        const struct g4_pixel_pattern keep = unwritten_bits(target); /* now: threads that wait may replace the target */
        color_fill = fill_of(cc, target->map.bytes, &wm->color.value, &keep);
    }
    if (depth->test) {
        const struct g4_pixel_pattern keep = kept_bits(depth);
        const struct fill fill = fill_of(cc, depth->map.bytes, &wm->depth.value, &keep);
        if (!find_tile(&tile, &depth->map, port, &depths) || !finds_stencil(worker) ||
            !fill_found(&tile, &depths, &fill, &depth->map, port)) {
            return false;
        }
        fill_stencil(worker, coverage);
    }
    *status = threads ? g4_wm_flush(worker) : G4_OK;
    if (threads && *status == G4_OK) {
        if (!fill_found(&tile, &colors, &color_fill, &target->map, port)) {
            return false;
        }
        count_threads(worker, G4_TILE_SUBSPANS);
    }
    worker->eu.ps_depth_count += cc->wm_statistics ? G4_TILE_SIZE * G4_TILE_SIZE : 0;
    return true;
}

/* ---- clears without threads ---- */

/* The rows of a tile that the target has, if the object covers all of them.  False: it does not, or their number or
 * place is odd. */
static bool whole_rows(const struct g4_coverage *coverage, const struct g4_pixel_map *map, struct tile_rows *rows) {
    uint32_t lit = UINT32_MAX;

    for (int32_t j = coverage->first; j <= coverage->last; j++) {
        lit &= coverage->row[j];
    }
    *rows = (struct tile_rows){
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
    struct tile_rows rows;

    if (worker->ctx->options.general_only || worker->eu.observed || !is_fillable(cc, target) ||
        !whole_rows(coverage, map, &rows) || !are_mapped(&rows, map, port)) {
        return false;
    }
    const struct g4_subspan first = {(uint16_t)rows.x, (uint16_t)rows.y, .lit = 15};
    const uint8_t *const sample = first_pixel(map, port, &first);
    if (!sample) {
        return false;
    }
    pixels->live = first.lit;
    pixels->x[0] = first.x;
    pixels->y[0] = first.y;
    target->write(target, port, pixels);
    const struct g4_pixel_pattern value = repeat(sample, map->bytes);
    const struct g4_pixel_pattern keep = unwritten_bits(target);
    const struct fill fill = fill_of(cc, map->bytes, &value, &keep);
    return fill_tile(&rows, &fill, map, port);
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

bool g4_wm_can_fill_depth(struct g4_worker *worker) {
    struct g4_wm *const wm = worker->wm;
    struct g4_depth *const depth = &g4_cc_of(worker)->depth;

    if (wm->subspans < MIN_SUBSPANS) {
        return false;
    }
    if (wm->setup->array_index != depth->array_index) {
        g4_depth_select(depth, wm->ctx->gen, wm->setup->array_index);
    }
    return finds_stencil(worker) && first_pixel(&depth->map, &worker->port, &wm->subspan[0]) != NULL;
}

bool g4_wm_knows_depth(const struct g4_wm *wm) {
    return wm->depth.of == wm->setup;
}

void g4_wm_fill_depth(struct g4_worker *worker, const struct g4_coverage *coverage) {
    struct g4_wm *const wm = worker->wm;
    struct g4_cc *const cc = g4_cc_of(worker);
    struct g4_pixel_map *const map = &cc->depth.map;
    const bool is_known = g4_wm_knows_depth(wm);
    const struct g4_pixel_pattern keep = kept_bits(&cc->depth);

    if (!is_known) {
        const uint8_t *const sample = first_pixel(map, &worker->port, &wm->subspan[0]);
        wm->depth = (struct g4_fill_value){.of = wm->setup};
        wm->depth.value = sample ? repeat(sample, map->bytes) : wm->depth.value;
    }
    const struct fill fill = fill_of(cc, map->bytes, &wm->depth.value, &keep);
    fill_all(wm, &fill, map, &worker->port);
    fill_stencil(worker, coverage);
    for (uint32_t i = is_known ? 0 : G4_WM_SAMPLE; i < wm->subspans && cc->wm_statistics; i++) {
        worker->eu.ps_depth_count += (uint32_t)__builtin_popcount(wm->subspan[i].lit);
    }
}
