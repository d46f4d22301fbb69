/*
 * Rasterization with several samples a pixel, from Gen6 on: coverage, depth and stencil of each sample, and pixel
 * threads of pixels or of samples (IVB PRM vol. 2 part 1, chapter on the windower).
 */
#include "raster/samples.h"

#include <string.h>

#include "color/samples.h"
#include "color/state.h"
#include "eu/counters.h"
#include "eu/pixel_maps.h"
#include "raster/windower_state.h"

enum {
    CENTER = G4_ONE_PIXEL / 2,
    SAMPLE_UNITS = G4_ONE_PIXEL / 16, /* of a sample's place */
    PIXELS = 4,                       /* of a subspan */
    EXPANDED = 16, /* subspans whose samples are dispatched at a time: 16 samples of each fit into wm->subspan */
};

/* ---- coverage ---- */

/* The object as seen from sample s, where the sample point is the pixel's location. */
static struct g4_setup seen_from(const struct g4_multisampling *m, const struct g4_setup *setup, uint32_t s) {
    const int32_t location = m->upper_left ? 0 : CENTER;
    const int32_t dx = m->x[s] * SAMPLE_UNITS - location;
    const int32_t dy = m->y[s] * SAMPLE_UNITS - location;
    struct g4_setup seen = *setup;

    seen.small = false;
    for (int i = 0; i < 4; i++) {
        seen.x[i] -= dx;
        seen.y[i] -= dy;
    }
    return seen;
}

bool g4_samples_find(const struct g4_wm *wm, const struct g4_setup *setup, const struct g4_tile *tile,
                     struct g4_sampled *out) {
    const struct g4_multisampling *const m = &wm->draw->multisampling;
    const bool pattern = m->pattern && !setup->conservative; /* which covers all samples of a pixel */
    struct g4_coverage one;
    bool found = false;

    memset(out, 0, sizeof *out);
    out->all = (struct g4_coverage){.x = tile->x, .y = tile->y, .first = 0, .last = G4_TILE_SIZE - 1};
    for (uint32_t s = 0; s < m->samples; s++) {
        if (s == 0 || pattern) {
            const struct g4_setup seen = pattern ? seen_from(m, setup, s) : *setup;
            found = g4_coverage_find(&seen, tile->x, tile->y, &one);
            if (found) {
                g4_wm_stipple(wm, setup, &one);
            }
        }
        for (int32_t j = one.first; found && j <= one.last && (m->mask >> s & 1); j++) {
            out->row[s][j] = one.row[j];
            out->all.row[j] |= one.row[j];
        }
    }
    struct g4_coverage *const all = &out->all;
    while (all->first <= all->last && !all->row[all->first]) {
        all->first++;
    }
    while (all->first <= all->last && !all->row[all->last]) {
        all->last--;
    }
    return all->first <= all->last;
}

/* The subspans with covered samples, and those of each of their pixels. */
static void collect(struct g4_wm *wm, const struct g4_sampled *sampled) {
    const struct g4_coverage *const all = &sampled->all;
    uint32_t n = 0;

    for (int32_t j = all->first & ~1; j <= all->last; j += 2) {
        const uint32_t any = all->row[j] | all->row[j + 1];
        for (uint32_t left = (any | any >> 1) & 0x55555555u; left; left &= left - 1) {
            const uint32_t i = (uint32_t)__builtin_ctz(left);
            struct g4_subspan *const subspan = &wm->subspan[n];
            *subspan = (struct g4_subspan){.x = (uint16_t)(all->x + (int32_t)i), .y = (uint16_t)(all->y + j)};
            memset(wm->samples[n], 0, sizeof wm->samples[n]);
            for (uint32_t s = 0; s < wm->draw->multisampling.samples; s++) {
                const uint32_t lit = (sampled->row[s][j] >> i & 3) | (sampled->row[s][j + 1] >> i & 3) << 2;
                subspan->lit |= lit;
                for (uint32_t p = 0; p < PIXELS; p++) {
                    wm->samples[n][p] |= (uint16_t)((lit >> p & 1) << s);
                }
            }
            memcpy(wm->covered[n], wm->samples[n], sizeof wm->covered[n]);
            n++;
        }
    }
    wm->subspans = n;
}

/* ---- counters: a fragment is a sample ---- */

static uint32_t count_samples(const struct g4_wm *wm) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < wm->subspans; i++) {
        for (uint32_t p = 0; p < PIXELS; p++) {
            n += (uint32_t)__builtin_popcount(wm->samples[i][p]);
        }
    }
    return n;
}

/* Add the samples of each pixel to a map. */
static void map_samples(const struct g4_worker *worker, enum g4_counted_pixels map) {
    const struct g4_wm *const wm = worker->wm;

    for (uint32_t i = 0; i < wm->subspans && worker->eu.counters->maps; i++) {
        for (uint32_t p = 0; p < PIXELS; p++) {
            g4_pixel_maps_add(worker->eu.counters->maps, map, wm->subspan[i].x, wm->subspan[i].y, 1u << p,
                              (uint32_t)__builtin_popcount(wm->samples[i][p]));
        }
    }
}

static void count_covered(const struct g4_worker *worker) {
    struct g4_draw_counters *const sum = &worker->eu.counters->sum;

    sum->blocks += worker->wm->subspans;
    sum->fragments += count_samples(worker->wm);
    map_samples(worker, G4_MAP_COVERED);
}

/* The samples that the tests before the shader leave. */
static void count_left(const struct g4_worker *worker, bool early, bool threads) {
    const struct g4_wm *const wm = worker->wm;
    struct g4_draw_counters *const sum = &worker->eu.counters->sum;
    const uint32_t left = count_samples(wm);

    sum->depth_passed += early ? left : 0;
    if (!threads) {
        sum->without_shader += left;
    } else if (wm->dispatch.any_normal || wm->dispatch.any_contiguous) {
        sum->shaded += left;
        map_samples(worker, G4_MAP_SHADED);
    }
}

/* Sample s of up to four subspans: those that are tested, that pass the stencil test alone, and both tests. */
static void count_tested(struct g4_worker *worker, uint32_t first, uint32_t tested, uint32_t past, uint32_t passed) {
    struct g4_draw_counters *const sum = &worker->eu.counters->sum;
    struct g4_pixel_maps *const maps = worker->eu.counters->maps;
    const uint32_t count = (uint32_t)__builtin_popcount(tested);
    const uint32_t left = (uint32_t)__builtin_popcount(passed);

    sum->early_tested += count;
    sum->early_stencil_failed += count - (uint32_t)__builtin_popcount(past);
    sum->early_depth_failed += (uint32_t)__builtin_popcount(past) - left;
    g4_cc_count_depth(worker, count, left, true, true);
    for (uint32_t i = 0; i < G4_BLOCK_SUBSPANS && maps; i++) {
        const struct g4_subspan *const at = &worker->wm->subspan[first + i];
        if (tested >> (PIXELS * i) & 15) {
            g4_pixel_maps_add(maps, G4_MAP_STENCIL_FAILED, at->x, at->y, (tested & ~past) >> (PIXELS * i), 1);
            g4_pixel_maps_add(maps, G4_MAP_DEPTH_FAILED, at->x, at->y, (past & ~passed) >> (PIXELS * i), 1);
        }
    }
}

/* ---- before the shader ---- */

/* Test sample s of up to four subspans from `first` on. */
static void test_sample(struct g4_worker *worker, const struct g4_plane *plane, uint32_t first, uint32_t count,
                        uint32_t s) {
    struct g4_wm *const wm = worker->wm;
    const struct g4_setup *const setup = wm->setup;
    const struct g4_multisampling *const m = &wm->draw->multisampling;
    uint16_t x[G4_BLOCK_SUBSPANS] = {0};
    uint16_t y[G4_BLOCK_SUBSPANS] = {0};
    float z[G4_BLOCK_SUBSPANS * PIXELS] = {0};
    uint32_t lit = 0;

    for (uint32_t i = 0; i < count; i++) {
        x[i] = wm->subspan[first + i].x;
        y[i] = wm->subspan[first + i].y;
        g4_sample_depths(m, plane, s, x[i], y[i], z + (size_t)PIXELS * i);
        for (uint32_t p = 0; p < PIXELS; p++) {
            lit |= (uint32_t)(wm->samples[first + i][p] >> s & 1) << (PIXELS * i + p);
        }
        g4_sample_place(m->samples, s, &x[i], &y[i]);
    }
    if (!lit) {
        return;
    }
    const bool counted = worker->eu.counters && g4_cc_of(worker)->depth.test;
    const uint32_t past =
        counted ? g4_cc_stencil_passes(worker, x, y, lit, setup->array_index, setup->back_facing, NULL) : 0;
    const uint32_t left = g4_cc_early(worker, x, y, lit, z, setup->viewport, setup->array_index, setup->back_facing);
    if (counted) {
        count_tested(worker, first, lit, past, left);
    }
    for (uint32_t i = 0; i < count * PIXELS; i++) {
        if (!(left >> i & 1)) {
            wm->samples[first + i / PIXELS][i % PIXELS] &= (uint16_t) ~(1u << s);
        }
    }
}

/* Depth and stencil before the shader.  Removes subspans without samples. */
static void test_early(struct g4_worker *worker) {
    struct g4_wm *const wm = worker->wm;
    struct g4_plane plane;
    uint32_t survivors = 0;

    if (!g4_cc_tests(worker)) {
        return;
    }
    g4_wm_plane(wm, wm->setup, &plane);
    for (uint32_t first = 0; first < wm->subspans; first += G4_BLOCK_SUBSPANS) {
        const uint32_t left = wm->subspans - first;
        const uint32_t count = left < G4_BLOCK_SUBSPANS ? left : G4_BLOCK_SUBSPANS;
        for (uint32_t s = 0; s < wm->draw->multisampling.samples; s++) {
            test_sample(worker, &plane, first, count, s);
        }
    }
    for (uint32_t i = 0; i < wm->subspans; i++) {
        uint32_t lit = 0;
        for (uint32_t p = 0; p < PIXELS; p++) {
            lit |= (uint32_t)(wm->samples[i][p] != 0) << p;
        }
        if (lit) {
            wm->subspan[survivors] = wm->subspan[i];
            wm->subspan[survivors].lit = lit;
            memmove(wm->samples[survivors], wm->samples[i], sizeof wm->samples[i]);
            memmove(wm->covered[survivors], wm->covered[i], sizeof wm->covered[i]);
            survivors++;
        }
    }
    wm->subspans = survivors;
}

/* ---- threads of samples ---- */

/* Samples that a thread has of its only subspan. */
static uint32_t thread_samples(const struct g4_wm *wm) {
    return wm->dispatch.enabled[G4_WM_8] ? 2 : 4;
}

/* Replace the subspans by their samples: a subspan for each, in groups that fill a thread. */
static enum g4_status queue_samples(struct g4_worker *worker, const struct g4_coverage *coverage) {
    struct g4_wm *const wm = worker->wm;
    const uint32_t samples = wm->draw->multisampling.samples;
    const uint32_t group = thread_samples(wm);
    const uint32_t count = wm->subspans;
    struct g4_subspan subspan[G4_TILE_SUBSPANS];
    uint16_t mask[G4_TILE_SUBSPANS][PIXELS];
    uint16_t covered[G4_TILE_SUBSPANS][PIXELS];
    enum g4_status status = G4_OK;

    memcpy(subspan, wm->subspan, count * sizeof subspan[0]);
    memcpy(mask, wm->samples, count * sizeof mask[0]);
    memcpy(covered, wm->covered, count * sizeof covered[0]);
    for (uint32_t first = 0; first < count && status == G4_OK; first += EXPANDED) {
        const uint32_t end = first + EXPANDED < count ? first + EXPANDED : count;
        uint32_t n = 0;
        for (uint32_t i = first; i < end; i++) {
            for (uint32_t s = 0; s < samples; s += group) {
                uint32_t any = 0;
                for (uint32_t k = 0; k < group; k++) {
                    struct g4_subspan *const one = &wm->subspan[n + k];
                    *one = (struct g4_subspan){.x = subspan[i].x, .y = subspan[i].y};
                    for (uint32_t p = 0; p < PIXELS; p++) {
                        const uint32_t here = (uint32_t)mask[i][p] & 1u << (s + k);
                        wm->samples[n + k][p] = (uint16_t)here;
                        wm->covered[n + k][p] = covered[i][p];
                        one->lit |= (uint32_t)(here != 0) << p;
                    }
                    wm->sample[n + k] = (uint8_t)(s + k);
                    any |= one->lit;
                }
                n += any ? group : 0;
            }
        }
        wm->subspans = n;
        status = n ? g4_wm_queue(worker, coverage) : G4_OK;
    }
    return status;
}

static uint32_t invocations(const struct g4_wm *wm) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < wm->subspans; i++) {
        for (uint32_t p = 0; p < PIXELS; p++) {
            const uint32_t samples = (uint32_t)__builtin_popcount(wm->samples[i][p]);
            n += wm->draw->windower.dispatches_samples ? samples : samples != 0;
        }
    }
    return n;
}

enum g4_status g4_samples_tile(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_tile *tile) {
    struct g4_wm *const wm = worker->wm;
    const bool threads = draw->windower.thread_dispatch;
    const bool early = wm->iz.mode == G4_IZ_P || !threads;
    struct g4_sampled sampled;
    enum g4_status status = G4_OK;

    wm->tile_x = tile->x;
    wm->tile_y = tile->y;
    wm->first_number = tile->first_number;
    for (uint32_t i = 0; i < tile->setups && status == G4_OK; i++) {
        wm->setup = tile->setup[i];
        if (!g4_samples_find(wm, wm->setup, tile, &sampled)) {
            continue;
        }
        collect(wm, &sampled);
        if (threads && draw->stage[G4_STAGE_WM].statistics) {
            worker->eu.ps_invocations += invocations(wm);
        }
        if (worker->eu.counters) {
            count_covered(worker);
        }
        if (early) {
            test_early(worker);
        }
        if (worker->eu.counters) {
            count_left(worker, early, threads);
        }
        if (threads && wm->subspans) {
            status = draw->windower.dispatches_samples ? queue_samples(worker, &sampled.all)
                                                       : g4_wm_queue(worker, &sampled.all);
        }
    }
    if (status == G4_OK) {
        status = g4_wm_flush(worker);
    }
    g4_wm_drop_threads(wm);
    return status;
}
