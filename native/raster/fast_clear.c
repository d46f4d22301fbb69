/*
 * Fast clears of render targets (IVB PRM vol. 2 part 1, 3DSTATE_PS, Render Target Fast Clear Enable).
 *
 * Hardware only marks blocks of the target as clear.  Here the clear color is written at once, so that a target always
 * has its pixels, and a resolve has nothing to do (docs/decisions.md 95).
 */
#include "raster/fast_clear.h"

#include "color/state.h"
#include "raster/windower_state.h"

enum {
    TARGET = 0, /* binding table index of the only target */
};

static const struct g4_surface *target_of(const struct g4_worker *worker, const struct g4_draw_state *draw) {
    const struct g4_dispatch *const dispatch = &draw->dispatch[G4_STAGE_WM];
    return g4_surface_get(worker->surfaces, worker->ctx, (struct g4_port *)&worker->port, dispatch->surface_state_base,
                          dispatch->binding_table, TARGET);
}

/* ---- pixels ---- */

static void find_color(const struct g4_surface *surface, float color[4][8]) {
    for (uint32_t c = 0; c < 4; c++) {
        for (uint32_t i = 0; i < 8; i++) {
            memcpy(&color[c][i], &surface->clear_color[c], sizeof color[c][i]);
        }
    }
}

/* The lit pixels of four subspans in a row of them. */
static uint32_t lit_pixels(const struct g4_coverage *coverage, int32_t i, int32_t j) {
    const uint32_t upper = g4_coverage_row(coverage, j);
    const uint32_t lower = g4_coverage_row(coverage, j + 1);
    uint32_t lit = 0;
    for (uint32_t s = 0; s < G4_BLOCK_SUBSPANS; s++) {
        lit |= g4_rows_subspan(upper, lower, (uint32_t)i + 2 * s) << (4 * s);
    }
    return lit;
}

static void clear_pixels(struct g4_worker *worker, struct g4_target *target, const struct g4_coverage *coverage,
                         float color[4][8]) {
    enum {
        PIXELS = 2 * G4_BLOCK_SUBSPANS /* across */
    };
    struct g4_pixels pixels = {.live = 0};

    for (uint32_t c = 0; c < 4; c++) {
        pixels.color[0][c] = pixels.color[1][c] = color[c];
        pixels.color1[0][c] = pixels.color1[1][c] = color[c];
    }
    if (g4_wm_fill_rows(worker, target, coverage, &pixels)) {
        return;
    }
    for (int32_t j = coverage->first & ~1; j <= coverage->last; j += 2) {
        for (int32_t i = 0; i < G4_TILE_SIZE; i += PIXELS) {
            pixels.live = lit_pixels(coverage, i, j);
            for (uint32_t s = 0; s < G4_BLOCK_SUBSPANS; s++) {
                pixels.x[s] = (uint16_t)(coverage->x + i + 2 * (int32_t)s);
                pixels.y[s] = (uint16_t)(coverage->y + j);
            }
            if (pixels.live) {
                target->write(target, &worker->port, &pixels);
            }
        }
    }
}

static void mark_pixels(struct g4_worker *worker, const struct g4_target *target, const struct g4_coverage *coverage) {
    for (int32_t j = coverage->first; j <= coverage->last && target->mcs_base; j++) {
        for (uint32_t left = coverage->row[j]; left; left &= left - 1) {
            g4_control_surface_clear(worker, target, (uint32_t)(coverage->x + __builtin_ctz(left)),
                                     (uint32_t)(coverage->y + j));
        }
    }
}

void g4_fast_clear_tile(struct g4_worker *worker, const struct g4_draw_state *draw, const struct g4_tile *tile) {
    static const struct g4_blend_state replace;
    const struct g4_surface *const surface = target_of(worker, draw);
    const uint32_t unit = worker->port.unit;
    float color[4][8];

    find_color(surface, color);
    worker->port.unit = G4_UNIT_CC;
    for (uint32_t i = 0; i < tile->setups; i++) {
        const struct g4_setup *const setup = tile->setup[i];
        struct g4_coverage coverage;
        if (!g4_coverage_find(setup, tile->x, tile->y, &coverage)) {
            continue;
        }
        for (uint32_t s = 0; s < draw->multisampling.samples; s++) {
            const struct g4_target_key key = {.index = TARGET, .array_index = setup->array_index, .sample = (uint8_t)s};
            struct g4_target *const target = g4_target_get(worker, &draw->dispatch[G4_STAGE_WM], &key, &replace);
            if (target->write) {
                clear_pixels(worker, target, &coverage, color);
            }
            if (s == 0) {
                mark_pixels(worker, target, &coverage);
            }
        }
    }
    worker->port.unit = unit;
}
