#include "raster/windower.h"

#include <string.h>

#include "color/state.h"
#include "core/hooks.h"
#include "core/util.h"
#include "eu/counters.h"
#include "eu/pixel_maps.h"
#include "geometry/coverage.h"
#include "raster/fast_clear.h"
#include "raster/samples.h"
#include "raster/windower_state.h"

enum {
    FEW_SUBSPANS = 12,
    PREFETCH_FAR = 16, /* objects ahead */
    PREFETCH_NEAR = 2,
};

void g4_wm_begin_batch(struct g4_wm *wm) {
    wm->fills.color.of = wm->fills.depth.of = wm->held.of = NULL;
}

void g4_wm_set_fills(struct g4_wm *wm, const struct g4_wm_fills *fills) {
    wm->fills = *fills;
}

void g4_wm_get_fills(const struct g4_wm *wm, struct g4_wm_fills *fills) {
    *fills = wm->fills;
}

void g4_wm_prepare(struct g4_wm *wm, const struct g4_context *ctx, const struct g4_draw_state *draw) {
    const struct g4_depth_stencil *const tests = &draw->depth_stencil;
    const bool present = draw->depth_buffer.present;

    wm->ctx = ctx;
    wm->draw = draw;
    wm->mode = G4_WM_8;
    wm->thread = wm->queue[wm->mode];
    g4_wm_drop_threads(wm);
    g4_wm_begin_batch(wm);
    memset(wm->claimed, 0, sizeof wm->claimed);
    ctx->model->decide_tests(draw, &wm->iz);
    wm->depth_needed =
        wm->iz.source_depth_eu || wm->iz.mode != G4_IZ_P || (present && (tests->depth_test || tests->depth_write));
    wm->centers[0].known = wm->centers[1].known = false;
    wm->single_subspan = ctx->hooks && ctx->hooks->single_subspan && wm->iz.mode != G4_IZ_P;
    wm->whole_tiles = wm->iz.mode == G4_IZ_P || !draw->windower.thread_dispatch;
    g4_depth_offset_begin(&wm->offset, draw);
    g4_wm_dispatch_begin(&wm->dispatch, &draw->windower);
}

/* Whether threads of several modes may wait together: their order matters to observers, to threads of different samples
 * of a pixel, to entries of hierarchical depth that they write, and if kernels write memory, which only some models
 * find out, or read a clock. */
static bool can_park(const struct g4_worker *worker, const struct g4_draw_state *draw) {
    const bool writes_entries = g4_cc_of(worker)->depth.hiz.present && worker->wm->iz.mode != G4_IZ_P;
    bool parks = worker->ctx->model->message_writes && !worker->eu.observed && !draw->windower.dispatches_samples &&
                 !writes_entries;
    for (uint32_t i = 0; i < G4_WM_ENTRIES && parks; i++) {
        const struct g4_kernel *const kernel = draw->wm_kernel[i];
        parks = !kernel || !(g4_kernel_writes_memory(kernel) || g4_kernel_reads_clock(kernel));
    }
    return parks;
}

bool g4_wm_allocate(struct g4_worker *worker) {
    if (!worker->wm) {
        worker->wm = g4_new_cleared(sizeof *worker->wm);
    }
    return worker->wm && g4_cc_allocate(worker);
}

enum g4_status g4_wm_begin(struct g4_worker *worker, const struct g4_draw_state *draw) {
    if (!g4_wm_allocate(worker)) {
        return G4_NO_MEMORY;
    }
    g4_wm_prepare(worker->wm, worker->ctx, draw);
    g4_wm_payload_begin(worker, draw);
    const enum g4_status status = g4_cc_begin(worker, draw);
    if (status == G4_OK) {
        worker->wm->parks = can_park(worker, draw);
        g4_wm_fill_begin(worker);
        worker->wm->whole_tiles = worker->wm->whole_tiles && !worker->eu.observed; /* observers see each subspan */
    }
    return status;
}

/* interpolate_depth for at most FEW_SUBSPANS, without tables of columns and rows. */
static void interpolate_few(struct g4_wm *wm, const struct g4_plane *plane) {
    for (uint32_t s = 0; s < wm->subspans; s++) {
        const int32_t i = wm->subspan[s].x;
        const int32_t j = wm->subspan[s].y;
        const double left = plane->c0 + plane->cx * (i - plane->x_start);
        const double right = plane->c0 + plane->cx * (i + 1 - plane->x_start);
        const double upper = plane->cy * (j - plane->y_start);
        const double lower = plane->cy * (j + 1 - plane->y_start);
        wm->z[s][0] = (float)(left + upper);
        wm->z[s][1] = (float)(right + upper);
        wm->z[s][2] = (float)(left + lower);
        wm->z[s][3] = (float)(right + lower);
    }
}

static void interpolate_depth(struct g4_wm *wm) {
    double column[G4_TILE_SIZE];
    double row[G4_TILE_SIZE];
    struct g4_plane plane;

    if (!wm->depth_needed) {
        return;
    }
    g4_wm_plane(wm, wm->setup, &plane);
    if (wm->subspans <= FEW_SUBSPANS) {
        interpolate_few(wm, &plane);
        return;
    }
    for (int32_t i = 0; i < G4_TILE_SIZE; i++) {
        column[i] = plane.c0 + plane.cx * (wm->tile_x + i - plane.x_start);
        row[i] = plane.cy * (wm->tile_y + i - plane.y_start);
    }
    for (uint32_t s = 0; s < wm->subspans; s++) {
        const double *const x = &column[wm->subspan[s].x % G4_TILE_SIZE];
        const double *const y = &row[wm->subspan[s].y % G4_TILE_SIZE];
        wm->z[s][0] = (float)(x[0] + y[0]);
        wm->z[s][1] = (float)(x[1] + y[0]);
        wm->z[s][2] = (float)(x[0] + y[1]);
        wm->z[s][3] = (float)(x[1] + y[1]);
    }
}

static uint32_t lit_pixels(const struct g4_wm *wm) {
    static const uint8_t ones[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    uint32_t pixels = 0;
    for (uint32_t s = 0; s < wm->subspans; s++) {
        pixels += ones[wm->subspan[s].lit & 15];
    }
    return pixels;
}

/* The early test for all pixels of the tile at once, before they are collected.  False: nothing was done. */
static bool test_tile_early(struct g4_worker *worker, struct g4_coverage *coverage) {
    struct g4_wm *const wm = worker->wm;
    struct g4_plane plane;

    g4_wm_plane(wm, wm->setup, &plane);
    const struct g4_early_tile tile = g4_wm_early_tile(wm, coverage, &plane);
    return g4_cc_early_tile(worker, &tile, coverage->row);
}

/* Append subspan `s` with these lit pixels to the survivors, of which there are at most `s`; drop it if none is lit. */
static void keep(struct g4_wm *wm, uint32_t s, uint32_t lit, uint32_t *survivors) {
    if (!lit) {
        return;
    }
    wm->subspan[*survivors] = (struct g4_subspan){.x = wm->subspan[s].x, .y = wm->subspan[s].y, .lit = lit};
    if (*survivors != s) {
        memcpy(wm->z[*survivors], wm->z[s], sizeof wm->z[0]);
    }
    (*survivors)++;
}

/* Drop pixels of the subspans that are no longer in `coverage`. */
static void keep_covered(struct g4_wm *wm, const struct g4_coverage *coverage) {
    uint32_t survivors = 0;

    for (uint32_t s = 0; s < wm->subspans; s++) {
        const struct g4_subspan *const subspan = &wm->subspan[s];
        const uint32_t i = subspan->x - (uint32_t)coverage->x;
        const uint32_t *const row = &coverage->row[subspan->y - (uint32_t)coverage->y];
        keep(wm, s, subspan->lit & g4_rows_subspan(row[0], row[1], i), &survivors);
    }
    wm->subspans = survivors;
}

/* Remove pixels of a subspan. */
static void remove_pixels(struct g4_coverage *coverage, const struct g4_subspan *subspan, uint32_t lit) {
    uint32_t *const row = &coverage->row[subspan->y - (uint32_t)coverage->y];
    const uint32_t i = subspan->x - (uint32_t)coverage->x;
    row[0] &= ~((lit & 3) << i);
    row[1] &= ~((lit >> 2) << i);
}

/* Mode P: depth and stencil before the shader, of the listed subspans of `coverage`.  Removes failing pixels from both,
 * and subspans without pixels. */
static void test_early(struct g4_worker *worker, struct g4_coverage *coverage) {
    struct g4_wm *const wm = worker->wm;
    const struct g4_setup *const setup = wm->setup;
    uint32_t survivors = 0;

    if (!g4_cc_of(worker)->depth.test) {
        worker->eu.ps_depth_count += g4_cc_of(worker)->wm_statistics ? g4_coverage_pixels(coverage) : 0;
        return;
    }
    if (g4_cc_of(worker)->depth.hiz.takes_tiles) {
        /* True for these buffers.  Entries depend on the pixels that are tested together, so observers test tiles, too.
         */
        (void)test_tile_early(worker, coverage);
        keep_covered(wm, coverage);
        return;
    }
    for (uint32_t first = 0; first < wm->subspans; first += G4_BLOCK_SUBSPANS) {
        const uint32_t left = wm->subspans - first;
        const uint32_t count = left < G4_BLOCK_SUBSPANS ? left : G4_BLOCK_SUBSPANS;
        uint16_t x[G4_BLOCK_SUBSPANS] = {0};
        uint16_t y[G4_BLOCK_SUBSPANS] = {0};
        uint32_t lit = 0;
        for (uint32_t i = 0; i < count; i++) {
            x[i] = wm->subspan[first + i].x;
            y[i] = wm->subspan[first + i].y;
            lit |= wm->subspan[first + i].lit << (4 * i);
        }
        lit = g4_cc_early(worker, x, y, lit, wm->z[first], setup->viewport, setup->array_index, setup->back_facing);
        for (uint32_t i = 0; i < count; i++, lit >>= 4) {
            const struct g4_subspan *const subspan = &wm->subspan[first + i];
            if ((lit & 15) != subspan->lit) {
                remove_pixels(coverage, subspan, subspan->lit & ~lit);
            }
            keep(wm, first + i, lit & 15, &survivors);
        }
    }
    wm->subspans = survivors;
}

/* Is the watched pixel covered? */
static bool covers(const struct g4_hooks *hooks, const struct g4_coverage *coverage) {
    const uint32_t i = hooks->x - (uint32_t)coverage->x;
    const uint32_t j = hooks->y - (uint32_t)coverage->y;
    return hooks->watch_pixel && i < G4_TILE_SIZE && (int32_t)j >= coverage->first && (int32_t)j <= coverage->last &&
           (coverage->row[j] >> i & 1);
}

/* Is the watched pixel lit?  If its subspan is there, *z becomes its depth. */
static bool find_watched(const struct g4_wm *wm, const struct g4_hooks *hooks, float *z) {
    for (uint32_t s = 0; s < wm->subspans; s++) {
        const int p = g4_hooks_watched(hooks, wm->subspan[s].x, wm->subspan[s].y);
        if (p >= 0) {
            *z = wm->depth_needed ? wm->z[s][p] : 0;
            return wm->subspan[s].lit >> p & 1;
        }
    }
    return false;
}

/* work_on_depth() for an object that covers the watched pixel: reports the fate of that pixel. */
static void work_on_watched_depth(struct g4_worker *worker, struct g4_coverage *coverage, bool threads) {
    struct g4_wm *const wm = worker->wm;
    struct g4_hooks *const hooks = worker->eu.hooks;
    float z = 0;

    g4_wm_collect(wm, coverage);
    interpolate_depth(wm);
    const bool lit = find_watched(wm, hooks, &z);
    hooks->pixel_covered(hooks, worker, wm->setup, lit, z);
    if (wm->iz.mode == G4_IZ_P || !threads) {
        test_early(worker, coverage);
        if (lit) {
            hooks->pixel_tested(hooks, worker, wm->setup, find_watched(wm, hooks, &z), threads);
        }
    }
}

/* Prefetch the next objects and their coefficients twice: gangs evict the first-level cache in between. */
static void prefetch(const struct g4_tile *tile, uint32_t i) {
    if (i + PREFETCH_FAR < tile->setups) {
        __builtin_prefetch(tile->setup[i + PREFETCH_FAR]);
        const uint8_t *const entry = (const uint8_t *)tile->setup[i + PREFETCH_FAR / 2]->entry;
        __builtin_prefetch(entry);
        __builtin_prefetch(entry + 64);
    }
    if (i + PREFETCH_NEAR < tile->setups) {
        __builtin_prefetch(tile->setup[i + PREFETCH_NEAR]);
        __builtin_prefetch(tile->setup[i + PREFETCH_NEAR - 1]->entry);
    }
}

/* The lit subspans for threads, after all tests of depth before the shader: none is listed if all of a tile run, or if
 * they may be filled. */
static void collect_for_threads(struct g4_worker *worker, const struct g4_coverage *coverage, bool threads) {
    struct g4_wm *const wm = worker->wm;
    wm->is_whole = threads && g4_coverage_is_whole(coverage) && g4_wm_runs_whole_tiles(worker);
    if (wm->is_whole) {
        wm->subspans = G4_TILE_SUBSPANS;
    } else if (threads && g4_wm_may_fill_color(wm) && !wm->iz.source_depth_eu) {
        wm->subspans = g4_coverage_subspans(coverage);
        wm->is_listed = false;
    } else {
        g4_wm_collect(wm, coverage);
    }
}

/* Give all pixels of an object whose depth is constant that depth.  False: they must be tested; nothing was done. */
static bool fill_depth(struct g4_worker *worker, const struct g4_coverage *coverage) {
    struct g4_wm *const wm = worker->wm;
    struct g4_coverage sample;

    if (!g4_wm_can_fill_depth(worker, coverage, &sample)) {
        return false;
    }
    if (!g4_wm_knows_depth(wm)) {
        g4_wm_collect(wm, &sample);
        interpolate_depth(wm);
        test_early(worker, &sample);
    }
    g4_wm_fill_depth(worker, coverage, &sample);
    return true;
}

/* Collect the pixels, interpolate depth, and test it if that comes before the shader. */
static void work_on_depth(struct g4_worker *worker, struct g4_coverage *coverage, bool threads) {
    struct g4_wm *const wm = worker->wm;
    const bool early = wm->iz.mode == G4_IZ_P || !threads;
    const bool flat = early && g4_wm_depth_is_constant(wm);

    if (wm->whole_tiles && !flat && test_tile_early(worker, coverage)) {
        collect_for_threads(worker, coverage, threads);
        if (threads && wm->iz.source_depth_eu) {
            interpolate_depth(wm); /* to the depths that were tested */
        }
        return;
    }
    if (flat && fill_depth(worker, coverage)) {
        if (threads) {
            collect_for_threads(worker, coverage, threads);
        }
        return;
    }
    if (wm->depth_needed || g4_cc_of(worker)->depth.test) {
        g4_wm_collect(wm, coverage);
    } else {
        collect_for_threads(worker, coverage, threads);
    }
    interpolate_depth(wm);
    if (early) {
        test_early(worker, coverage);
    }
}

/* ---- counters ---- */

/* Add `count` to the lit pixels in a map. */
static void map_lit(struct g4_pixel_maps *maps, enum g4_counted_pixels map, const struct g4_wm *wm, uint32_t count) {
    for (uint32_t s = 0; s < wm->subspans; s++) {
        g4_pixel_maps_add(maps, map, wm->subspan[s].x, wm->subspan[s].y, wm->subspan[s].lit, count);
    }
}

/* The number of pixels of the object that pass the stencil test; with maps, each counts as dropped by one of
 * both tests. */
static uint32_t stencil_passes(struct g4_worker *worker) {
    const struct g4_wm *const wm = worker->wm;
    struct g4_pixel_maps *const maps = worker->eu.counters->maps;
    uint32_t pixels = 0;

    for (uint32_t s = 0; s < wm->subspans; s++) {
        const uint16_t x[G4_BLOCK_SUBSPANS] = {wm->subspan[s].x};
        const uint16_t y[G4_BLOCK_SUBSPANS] = {wm->subspan[s].y};
        const uint32_t passed = g4_cc_stencil_passes(worker, x, y, wm->subspan[s].lit, wm->setup->array_index,
                                                     wm->setup->back_facing, NULL);
        pixels += (uint32_t)__builtin_popcount(passed);
        if (maps) {
            g4_pixel_maps_add(maps, G4_MAP_STENCIL_FAILED, x[0], y[0], wm->subspan[s].lit & ~passed, 1);
            g4_pixel_maps_add(maps, G4_MAP_DEPTH_FAILED, x[0], y[0], passed, 1); /* those that pass are taken off */
        }
    }
    return pixels;
}

/* Work on depth, and count the pixels that each test before the shader drops. */
static void count_covered(struct g4_worker *worker, struct g4_coverage *coverage, bool threads, bool watched) {
    struct g4_wm *const wm = worker->wm;
    struct g4_draw_counters *const sum = &worker->eu.counters->sum;
    struct g4_pixel_maps *const maps = worker->eu.counters->maps;
    const bool early = wm->iz.mode == G4_IZ_P || !threads;
    const bool tests = early && g4_cc_of(worker)->depth.test;
    g4_wm_collect(wm, coverage);
    const uint32_t pixels = lit_pixels(wm);
    const uint32_t blocks = wm->subspans;
    if (maps) {
        map_lit(maps, G4_MAP_COVERED, wm, 1);
    }
    const uint32_t past_stencil = tests ? stencil_passes(worker) : pixels;

    if (watched) {
        work_on_watched_depth(worker, coverage, threads);
    } else {
        work_on_depth(worker, coverage, threads);
    }
    const uint32_t left = lit_pixels(wm);
    sum->blocks += blocks;
    sum->fragments += pixels;
    if (tests) {
        sum->early_tested += pixels;
        sum->early_stencil_failed += pixels - past_stencil;
        sum->early_depth_failed += past_stencil - left;
        g4_cc_count_depth(worker, pixels, left, true, true);
        if (maps) {
            map_lit(maps, G4_MAP_DEPTH_FAILED, wm, UINT32_MAX); /* one less */
        }
    }
    sum->depth_passed += early ? left : 0;
    if (!threads) {
        sum->without_shader += left;
    } else if (wm->dispatch.any_normal || wm->dispatch.any_contiguous) {
        sum->shaded += left;
        if (maps) {
            map_lit(maps, G4_MAP_SHADED, wm, 1);
        }
    }
}

/* Built twice, so that counting costs nothing when it is off. */
static inline __attribute__((always_inline)) enum g4_status work_on_tile(struct g4_worker *worker,
                                                                         const struct g4_draw_state *draw,
                                                                         const struct g4_tile *tile,
                                                                         const bool counting) {
    struct g4_wm *const wm = worker->wm;
    const bool threads = draw->windower.thread_dispatch;
    struct g4_coverage coverage;
    enum g4_status status = G4_OK;

    wm->tile_x = tile->x;
    wm->tile_y = tile->y;
    wm->first_number = tile->first_number;
    for (uint32_t i = 0; i < tile->setups && status == G4_OK; i++) {
        const struct g4_setup *const setup = tile->setup[i];
        prefetch(tile, i);
        if (!g4_coverage_find(setup, tile->x, tile->y, &coverage)) {
            continue;
        }
        const bool watched = worker->eu.hooks && covers(worker->eu.hooks, &coverage);
        g4_wm_stipple(wm, setup, &coverage);
        if (threads && draw->stage[G4_STAGE_WM].statistics) {
            worker->eu.ps_invocations += g4_coverage_pixels(&coverage);
        }
        wm->setup = setup;
        wm->is_whole = false;
        g4_wm_share_fills(wm);
        if ((wm->fills.color.of == setup || wm->fills.depth.of == setup) && g4_coverage_is_whole(&coverage) &&
            g4_wm_fill_tile(worker, &coverage, threads, &status)) {
            continue;
        }
        if (counting) {
            count_covered(worker, &coverage, threads, watched);
        } else if (watched) {
            work_on_watched_depth(worker, &coverage, threads);
        } else {
            work_on_depth(worker, &coverage, threads);
        }
        if (wm->is_whole) {
            status = g4_wm_run_tile(worker);
        } else if (threads && wm->subspans && !g4_wm_fill_color(worker, &coverage, &status)) {
            if (!wm->is_listed) {
                g4_wm_collect(wm, &coverage);
            }
            status = g4_wm_queue(worker, &coverage);
        }
    }
    if (status == G4_OK) {
        status = g4_wm_flush(worker);
    }
    g4_wm_drop_threads(wm);
    return status;
}

static __attribute__((noinline, cold)) enum g4_status
count_tile(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_tile *tile) {
    return work_on_tile(worker, draw, tile, true);
}

/* Whether the sample mask excludes a pixel with one sample; with several, the mask is part of their coverage. */
static bool masks_pixels(const struct g4_multisampling *multisampling) {
    return multisampling->samples == 1 && !(multisampling->mask & 1);
}

enum g4_status g4_wm_tile(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_tile *tile) {
    if (draw->windower.fast_clear) {
        g4_fast_clear_tile(worker, draw, tile);
        return G4_OK;
    }
    if (masks_pixels(&draw->multisampling)) {
        return G4_OK;
    }
    if (draw->multisampling.samples > 1) {
        return g4_samples_tile(worker, draw, tile);
    }
    return worker->eu.counters ? count_tile(worker, draw, tile) : work_on_tile(worker, draw, tile, false);
}
