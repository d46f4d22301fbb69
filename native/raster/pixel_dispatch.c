/*
 * Pixel dispatch: an object's subspans become threads (G45 PRM vol. 2, 8.5.1), which run in gangs.
 */
#include <string.h>

#include "core/hooks.h"
#include "core/report.h"
#include "eu/counters.h"
#include "eu/line_counts.h"
#include "eu/pixel_maps.h"
#include "raster/windower_state.h"

/* Kernel entry points by the enabled modes: contiguous 64, contiguous 32, 32, 16, 8 from bit 4 down. */
static const struct {
    uint8_t enables;
    uint8_t entry[G4_WM_MODES]; /* 8, 16, 32, contiguous 32, contiguous 64 */
} entry_points[] = {
    {0x01, {0, 0, 0, 0, 0}}, {0x02, {0, 0, 0, 0, 0}}, {0x03, {0, 2, 0, 0, 0}}, {0x04, {0, 0, 0, 0, 0}},
    {0x06, {0, 2, 1, 0, 0}}, {0x07, {0, 2, 1, 0, 0}}, {0x08, {0, 0, 0, 0, 0}}, {0x0c, {0, 0, 0, 1, 0}},
    {0x0e, {0, 0, 1, 2, 0}}, {0x10, {0, 0, 0, 0, 0}}, {0x14, {0, 0, 0, 0, 1}}, {0x16, {0, 0, 1, 0, 2}},
    {0x18, {0, 0, 0, 0, 1}}, {0x1c, {0, 0, 0, 1, 2}}, {0x1e, {0, 0, 1, 2, 3}},
};

void g4_wm_dispatch_begin(struct g4_wm_dispatch *dispatch, const struct g4_windower_state *state) {
    *dispatch = (struct g4_wm_dispatch){
        .enabled = {state->dispatch_8, state->dispatch_16, state->dispatch_32, state->contiguous_32,
                    state->contiguous_64},
    };
    bool *const on = dispatch->enabled;
    if (state->kernels_by_width) {
        static const uint8_t by_width[G4_WM_MODES] = {0, 1, 2};
        memcpy(dispatch->entry, by_width, sizeof by_width);
        on[G4_WM_32] = on[G4_WM_32] && !on[G4_WM_8] && !on[G4_WM_16]; /* docs/decisions.md 99 */
        dispatch->any_normal = on[G4_WM_8] || on[G4_WM_16] || on[G4_WM_32];
        return;
    }
    dispatch->any_normal = on[G4_WM_8] || on[G4_WM_16] || on[G4_WM_32];
    dispatch->any_contiguous = on[G4_WM_CONTIGUOUS_32] || on[G4_WM_CONTIGUOUS_64];
    const unsigned enables = (unsigned)on[G4_WM_8] | (unsigned)on[G4_WM_16] << 1 | (unsigned)on[G4_WM_32] << 2 |
                             (unsigned)on[G4_WM_CONTIGUOUS_32] << 3 | (unsigned)on[G4_WM_CONTIGUOUS_64] << 4;
    for (size_t i = 0; i < sizeof entry_points / sizeof entry_points[0]; i++) {
        if (entry_points[i].enables == enables) {
            memcpy(dispatch->entry, entry_points[i].entry, sizeof dispatch->entry);
        }
    }
}

uint32_t g4_wm_entries(const struct g4_windower_state *state) {
    struct g4_wm_dispatch dispatch;
    uint32_t entries = 0;
    g4_wm_dispatch_begin(&dispatch, state);
    for (uint32_t mode = 0; mode < G4_WM_MODES; mode++) {
        entries |= (uint32_t)dispatch.enabled[mode] << dispatch.entry[mode];
    }
    return entries;
}

static enum g4_wm_mode first_enabled(const struct g4_wm_dispatch *dispatch, enum g4_wm_mode a, enum g4_wm_mode b,
                                     enum g4_wm_mode c) {
    return dispatch->enabled[a] ? a : dispatch->enabled[b] ? b : c;
}

static inline enum g4_wm_mode choose(const struct g4_wm_dispatch *dispatch, const struct g4_quirks *quirks,
                                     uint32_t subspans) {
    const bool *const on = dispatch->enabled;
    if (quirks->dispatches_widest_first) {
        if (subspans >= 4) {
            return first_enabled(dispatch, G4_WM_32, G4_WM_16, G4_WM_8);
        }
        return subspans >= 2 ? first_enabled(dispatch, G4_WM_16, G4_WM_8, G4_WM_32)
                             : first_enabled(dispatch, G4_WM_8, G4_WM_16, G4_WM_32);
    }
    if (on[G4_WM_32] && (subspans > 7 || !(on[G4_WM_16] || on[G4_WM_8]))) {
        return G4_WM_32;
    }
    return on[G4_WM_16] && (subspans > 2 || !on[G4_WM_8]) ? G4_WM_16 : G4_WM_8;
}

enum g4_wm_mode g4_wm_choose(const struct g4_wm_dispatch *dispatch, const struct g4_quirks *quirks, uint32_t subspans) {
    return choose(dispatch, quirks, subspans);
}

enum g4_wm_mode g4_wm_choose_contiguous(const struct g4_wm_dispatch *dispatch, bool both_halves) {
    const enum g4_wm_mode preferred = both_halves ? G4_WM_CONTIGUOUS_64 : G4_WM_CONTIGUOUS_32;
    const enum g4_wm_mode other = both_halves ? G4_WM_CONTIGUOUS_32 : G4_WM_CONTIGUOUS_64;
    return dispatch->enabled[preferred] ? preferred : other;
}

/* ---- subspans ---- */

/* A row of subspans that are lit completely, each written as one word, whose lowest 16 bits are x. */
static inline __attribute__((always_inline)) void collect_row(struct g4_subspan *subspan, uint16_t x, uint16_t y) {
    const struct g4_subspan leftmost = {.x = x, .y = y, .lit = 15};
    uint64_t word;

    _Static_assert(sizeof leftmost == sizeof word, "a subspan is a word");
    memcpy(&word, &leftmost, sizeof word);
    for (uint32_t s = 0; s < G4_TILE_SIZE / 2; s++, word += 2) {
        memcpy(&subspan[s], &word, sizeof word);
    }
}

void g4_wm_collect(struct g4_wm *wm, const struct g4_coverage *coverage) {
    uint32_t n = 0;
    for (int32_t j = coverage->first & ~1; j <= coverage->last; j += 2) {
        const uint32_t upper = g4_coverage_row(coverage, j);
        const uint32_t lower = g4_coverage_row(coverage, j + 1);
        if ((upper & lower) == UINT32_MAX) {
            collect_row(&wm->subspan[n], (uint16_t)coverage->x, (uint16_t)(coverage->y + j));
            n += G4_TILE_SIZE / 2;
            continue;
        }
        for (uint32_t left = g4_rows_subspans(upper, lower); left; left &= left - 1) {
            const uint32_t i = (uint32_t)__builtin_ctz(left);
            wm->subspan[n++] = (struct g4_subspan){
                .x = (uint16_t)(coverage->x + (int32_t)i),
                .y = (uint16_t)(coverage->y + j),
                .lit = g4_rows_subspan(upper, lower, i),
            };
        }
    }
    wm->subspans = n;
    wm->is_listed = true;
}

/* ---- the gang ---- */

static void add_subspans(struct g4_thread_start *start, const struct g4_pixel_block *block) {
    for (uint32_t s = 0; s < 4; s++) {
        if ((block->lit >> (4 * s) & 15) && start->subspans < G4_THREAD_SUBSPANS) {
            start->x[start->subspans] = block->x[s];
            start->y[start->subspans++] = block->y[s];
        }
    }
}

/* Whether a mode has a queue of its own. */
static inline bool has_queue(enum g4_wm_mode mode) {
    return mode <= G4_WM_32;
}

/* The object of all waiting threads; NULL: there are several. */
static const struct g4_setup *common_object(const struct g4_wm *wm) {
    const struct g4_setup *const first = wm->thread[0].block[0].setup;
    bool same = true;
    for (uint32_t t = 1; t < wm->waiting; t++) {
        same &= wm->thread[t].block[0].setup == first;
    }
    return same ? first : NULL;
}

/* Whether the waiting threads are a gang of which every channel runs. */
static bool fills_gang(const struct g4_wm *wm) {
    bool is_full = wm->waiting == G4_GANG_THREADS && wm->mode < G4_WM_CONTIGUOUS_32;
    for (uint32_t t = 0; t < G4_GANG_THREADS && is_full; t++) {
        is_full = g4_whole_subspans(wm->thread[t].block[0].lit) == UINT16_MAX &&
                  (wm->mode != G4_WM_32 || g4_whole_subspans(wm->thread[t].block[1].lit) == UINT16_MAX);
    }
    return is_full;
}

/* Whether a set has none of the registers that all threads of an object have in common, nor of their headers. */
static bool lacks_common(const struct g4_row_set *set, const struct g4_common_rows *common) {
    bool lacks = !g4_row_set_has(set, 0) && !g4_row_set_has(set, 1);
    for (uint32_t r = 0; r < common->count && common->first + r < G4_GRF_COUNT; r++) {
        lacks = lacks && !g4_row_set_has(set, common->first + r);
    }
    return lacks;
}

/* A set without the registers that all threads of an object have in common. */
static struct g4_row_set without_common(struct g4_row_set set, const struct g4_common_rows *common) {
    for (uint32_t r = 0; r < common->count; r++) {
        g4_row_set_remove(&set, common->first + r);
    }
    return set;
}

/* Whether the gang holds the payload of an object and a kernel, for the waiting threads. */
static bool is_held(const struct g4_worker *worker, const struct g4_setup *object, const struct g4_kernel *kernel) {
    const struct g4_wm *const wm = worker->wm;
    const struct g4_held_payload *const held = &wm->held;
    return worker->gang->holder == wm && held->of == object && held->kernel == kernel && held->mode == wm->mode &&
           held->threads >= wm->waiting;
}

bool g4_wm_holds_rows(const struct g4_worker *worker, const struct g4_kernel *kernel) {
    const struct g4_wm *const wm = worker->wm;
    return wm->are_rows && wm->held.are_rows && wm->held.shares_rest && is_held(worker, wm->setup, kernel);
}

const struct g4_row_set *g4_wm_start_gang(struct g4_worker *worker, const struct g4_dispatch *dispatch,
                                          const struct g4_kernel *kernel, const struct g4_common_rows *common) {
    struct g4_wm *const wm = worker->wm;
    struct g4_gang *const gang = worker->gang;
    struct g4_held_payload *const held = &wm->held;
    const struct g4_start_state *const state = &kernel->start;
    const struct g4_setup *const object = wm->are_rows ? wm->setup : common_object(wm);
    const bool is_full = wm->are_rows || fills_gang(wm);

    held->are_rows = wm->are_rows;
    if (object && is_held(worker, object, kernel)) {
        g4_gang_start_again(gang, kernel, (int)wm->waiting, is_full, &held->cleared[is_full]);
        return is_full ? &state->stale_if_full : &state->stale;
    }
    g4_gang_start_for(gang, dispatch, kernel, (int)wm->waiting, is_full);
    const bool overlaps = common->count && common->first < common->own;
    if (object && state->can_start_again && has_queue(wm->mode) && !overlaps && !dispatch->exceptions &&
        !dispatch->observed) {
        gang->holder = wm;
        *held = (struct g4_held_payload){
            object,
            kernel,
            wm->mode,
            wm->waiting,
            {without_common(state->stale, common), without_common(state->stale_if_full, common)},
            lacks_common(&state->stale_if_full, common),
            wm->are_rows,
        };
    }
    return NULL;
}

void g4_wm_set_masks(const struct g4_wm *wm, struct g4_gang *gang) {
    g4_lanes enabled[2] = {~(g4_lanes)0, ~(g4_lanes)0};

    if (!wm->are_rows) {
        enabled[0] = enabled[1] = 0;
        for (uint32_t t = 0; t < wm->waiting; t++) {
            const uint16_t dmask = g4_whole_subspans(wm->thread[t].block[0].lit);
            enabled[0] |= (g4_lanes)(dmask & 0xff) << (8 * t);
            enabled[1] |= (g4_lanes)(dmask >> 8) << (8 * t);
        }
    }
    g4_gang_set_all_dmasks(gang, enabled);
}

static enum g4_status notify_start(struct g4_worker *worker) {
    const struct g4_wm *const wm = worker->wm;
    struct g4_hooks *const hooks = worker->eu.hooks;
    struct g4_thread_start start[G4_GANG_THREADS];
    const uint32_t blocks = wm->mode == G4_WM_32 ? 2 : 1;

    memset(start, 0, sizeof start);
    for (uint32_t t = 0; t < wm->waiting; t++) {
        const struct g4_pixel_block *const block = wm->thread[t].block;
        start[t].setup = block->setup;
        for (uint32_t b = 0; b < blocks; b++) {
            add_subspans(&start[t], block + b);
        }
    }
    return hooks->threads_started(hooks, worker->gang, start, (int)wm->waiting);
}

/* Add the instructions of each thread that ran to its pixels. */
static void map_instructions(const struct g4_worker *worker) {
    const struct g4_wm *const wm = worker->wm;
    const struct g4_counters *const counters = worker->eu.counters;

    for (uint32_t t = 0; t < wm->waiting; t++) {
        const struct g4_pixel_thread *const thread = &wm->thread[t];
        const uint32_t count = counters->lines->thread[t];
        for (uint32_t i = 0; i < 16 && wm->mode >= G4_WM_CONTIGUOUS_32; i++) {
            g4_pixel_maps_add(counters->maps, G4_MAP_INSTRUCTIONS, thread->x + i % 4 * 2, thread->y + i / 4 * 2,
                              thread->mask[i / 8] >> (i % 8 * 4), count);
        }
        for (uint32_t b = 0; b < (wm->mode == G4_WM_32 ? 2u : 1u) && wm->mode < G4_WM_CONTIGUOUS_32; b++) {
            const struct g4_pixel_block *const block = &thread->block[b];
            for (uint32_t s = 0; s < G4_BLOCK_SUBSPANS; s++) {
                g4_pixel_maps_add(counters->maps, G4_MAP_INSTRUCTIONS, block->x[s], block->y[s], block->lit >> (4 * s),
                                  count);
            }
        }
    }
}

static bool is_parked(const struct g4_wm *wm) {
    uint32_t parked = 0;
    for (uint32_t mode = 0; mode < G4_WM_QUEUES; mode++) {
        parked |= wm->parked[mode];
    }
    return parked != 0;
}

/* Make the queue of a mode the current one. */
static void use_queue(struct g4_wm *wm, enum g4_wm_mode mode) {
    const uint32_t own = has_queue(mode) ? mode : 0;
    if (wm->waiting) {
        wm->parked[wm->mode] = wm->waiting;
    }
    wm->mode = mode;
    wm->thread = wm->queue[own];
    wm->waiting = wm->parked[own];
    wm->parked[own] = 0;
}

/* The threads of the current queue have run. */
static void end_waiting(struct g4_wm *wm) {
    wm->waiting = 0;
    if (!is_parked(wm)) {
        wm->clash = false;
        memset(wm->claimed, 0, sizeof wm->claimed);
    }
}

/* Run the threads of the current queue. */
static enum g4_status run_waiting(struct g4_worker *worker) {
    struct g4_wm *const wm = worker->wm;
    if (wm->waiting == 0) {
        return G4_OK;
    }
    const struct g4_kernel *const kernel = wm->draw->wm_kernel[wm->dispatch.entry[wm->mode]];
    enum g4_status status = G4_FAULT;
    if (kernel) {
        wm->ctx->model->start_pixels(worker);
        status = worker->eu.hooks ? notify_start(worker) : G4_OK;
        if (status == G4_OK) {
            status = g4_gang_run(&worker->eu, worker->gang, kernel);
            if (worker->eu.counters && worker->eu.counters->maps && worker->eu.counters->lines && !worker->eu.hooks) {
                map_instructions(worker);
            }
        }
    } else {
        const g4_address address = wm->draw->dispatch[G4_STAGE_WM].kernel_address + wm->dispatch.entry[wm->mode] * 16u;
        worker->eu.fault = (struct g4_fault){.unit = G4_UNIT_WM, .address = address};
    }
    end_waiting(wm);
    return status;
}

enum g4_status g4_wm_flush(struct g4_worker *worker) {
    struct g4_wm *const wm = worker->wm;
    enum g4_status status = run_waiting(worker);
    for (uint32_t mode = 0; mode < G4_WM_QUEUES && status == G4_OK; mode++) {
        if (wm->parked[mode]) {
            use_queue(wm, (enum g4_wm_mode)mode);
            status = run_waiting(worker);
        }
    }
    return status;
}

/* Whether pixels of subspans of the current object may be those of waiting threads. */
static inline bool shares_pixels(const struct g4_wm *wm, const struct g4_subspan *s, uint32_t subspans) {
    bool shares = false;
    for (uint32_t i = 0; wm->clash && i < subspans && !shares; i++) {
        const uint32_t column = s[i].x & (G4_TILE_SIZE - 1);
        const uint32_t *const row = &wm->claimed[s[i].y & (G4_TILE_SIZE - 1)];
        shares = ((row[0] >> column & 3) & s[i].lit) != 0 || ((row[1] >> column & 3) & s[i].lit >> 2) != 0;
    }
    return shares;
}

/* A slot for the next thread, after a flush if necessary; NULL if the flush failed, with its status. */
static inline struct g4_pixel_thread *next_thread(struct g4_worker *worker, enum g4_wm_mode mode,
                                                  const struct g4_subspan *s, uint32_t subspans,
                                                  enum g4_status *status) {
    struct g4_wm *const wm = worker->wm;
    const uint32_t limit = wm->slots[wm->dispatch.entry[mode]].count;
    const bool parks = wm->parks && has_queue(mode) && has_queue(wm->mode);

    *status = G4_OK;
    if (shares_pixels(wm, s, subspans) || (wm->mode != mode && wm->waiting && !parks)) {
        *status = g4_wm_flush(worker);
    }
    if (wm->mode != mode) {
        use_queue(wm, mode);
    }
    if (*status == G4_OK && wm->waiting >= limit) {
        *status = run_waiting(worker);
    }
    return *status == G4_OK ? &wm->thread[wm->waiting++] : NULL;
}

static void find_coverage(const struct g4_wm *wm, struct g4_pixel_block *block, const struct g4_subspan *s,
                          uint32_t count) {
    for (uint32_t i = 0; i < 4 * count; i++) {
        const struct g4_subspan *const at = &s[i / 4];
        block->coverage[i] = g4_line_coverage(&wm->draw->line_antialiasing, wm->setup, at->x + (int32_t)(i & 1),
                                              at->y + (int32_t)(i >> 1 & 1));
    }
}

/* The subspans of a block.  Positions are one store, because loads of all four cannot forward from several stores. */
static inline void put_subspans(const struct g4_wm *wm, struct g4_pixel_block *block, uint64_t x, uint64_t y,
                                uint32_t lit) {
    block->setup = wm->setup;
    block->iz_mode = wm->iz.mode;
    block->alpha_passed = 0;
    memcpy(block->x, &x, sizeof block->x);
    memcpy(block->y, &y, sizeof block->y);
    block->lit = lit;
    memset(block->coverage, 0, sizeof block->coverage);
}

static inline __attribute__((always_inline)) void collect_subspans(const struct g4_wm *wm, struct g4_pixel_block *block,
                                                                   const struct g4_subspan *s, uint32_t count) {
    uint64_t x = 0;
    uint64_t y = 0;
    uint32_t lit = 0;

    for (uint32_t i = 0; i < count; i++) {
        x |= (uint64_t)s[i].x << (16 * i);
        y |= (uint64_t)s[i].y << (16 * i);
        lit |= s[i].lit << (4 * i);
    }
    put_subspans(wm, block, x, y, lit);
}

static void fill_block(const struct g4_wm *wm, struct g4_pixel_block *block, uint32_t first, uint32_t count) {
    const struct g4_subspan *const s = &wm->subspan[first];

    if (count == G4_BLOCK_SUBSPANS) { /* without a loop */
        collect_subspans(wm, block, s, G4_BLOCK_SUBSPANS);
    } else {
        collect_subspans(wm, block, s, count);
    }
    if (wm->iz.source_depth_eu) {
        memcpy(block->z, wm->z[first], count * sizeof wm->z[0]);
        memset(block->z + (size_t)4 * count, 0, (G4_BLOCK_SUBSPANS - (size_t)count) * sizeof wm->z[0]);
    }
    if (wm->draw->multisampling.samples > 1) {
        memset(block->samples, 0, sizeof block->samples);
        memcpy(block->samples, wm->samples[first], count * sizeof wm->samples[0]);
        memcpy(block->covered, wm->covered[first], count * sizeof wm->covered[0]);
        memcpy(block->sample, &wm->sample[first], count);
    }
    if (wm->setup->antialias) {
        find_coverage(wm, block, s, count);
    }
}

/* ---- gangs of two whole rows of subspans ---- */

enum {
    ROW_SUBSPANS = G4_TILE_SIZE / 2,
    GANG_SUBSPANS = G4_GANG_THREADS * G4_BLOCK_SUBSPANS, /* of threads of 16 pixels */
};

_Static_assert(GANG_SUBSPANS == 2 * ROW_SUBSPANS, "the threads of a gang draw two rows of subspans");

/* Whether subspans from one on are two whole rows, with all pixels lit.  They are in order. */
static bool are_rows(const struct g4_subspan *s) {
    const struct g4_subspan *const last = &s[GANG_SUBSPANS - 1];
    uint32_t lit = 15;

    if (last->y != s->y + 2 || last->x != s->x + 2 * (ROW_SUBSPANS - 1)) {
        return false;
    }
    for (uint32_t i = 0; i < GANG_SUBSPANS; i++) {
        lit &= s[i].lit;
    }
    return lit == 15;
}

/* Whether threads of the current object have 16 pixels as long as four subspans are left, and need nothing but places.
 */
static bool has_plain_threads(const struct g4_worker *worker) {
    const struct g4_wm *const wm = worker->wm;
    return !worker->eu.observed && wm->dispatch.enabled[G4_WM_16] && !wm->dispatch.enabled[G4_WM_32] &&
           !wm->single_subspan && !wm->iz.source_depth_eu && wm->draw->multisampling.samples <= 1 &&
           !wm->setup->antialias;
}

/* Whether such threads may be a gang. */
static bool has_gang(const struct g4_wm *wm) {
    return wm->slots[wm->dispatch.entry[G4_WM_16]].count == G4_GANG_THREADS;
}

/* Let the threads of two whole rows of subspans of the current object wait, from the left edge of the tile on. */
static void queue_two_rows(struct g4_wm *wm, uint16_t x, uint16_t y) {
    enum {
        THREADS = ROW_SUBSPANS / G4_BLOCK_SUBSPANS, /* of a row */
        WIDTH = 2 * G4_BLOCK_SUBSPANS
    };
    const uint64_t each = UINT64_C(0x0001000100010001);
    const uint64_t next = UINT64_C(0x0006000400020000);

    for (uint32_t t = 0; t < G4_GANG_THREADS; t++) {
        put_subspans(wm, &wm->thread[t].block[0], (x + t % THREADS * WIDTH) * each + next, (y + t / THREADS * 2) * each,
                     UINT16_MAX);
    }
    wm->waiting = G4_GANG_THREADS;
}

/* Let the threads of the next two rows wait, below those that have just run. */
static void queue_next_rows(struct g4_wm *wm) {
    for (uint32_t t = 0; t < G4_GANG_THREADS; t++) {
        struct g4_pixel_block *const block = &wm->thread[t].block[0];
        uint64_t y;
        memcpy(&y, block->y, sizeof y);
        y += UINT64_C(0x0004000400040004);
        memcpy(block->y, &y, sizeof y);
        block->alpha_passed = 0;
    }
}

static enum g4_status run_two_rows(struct g4_worker *worker, uint16_t x, uint16_t y) {
    struct g4_wm *const wm = worker->wm;
    queue_two_rows(wm, x, y);
    wm->are_rows = true;
    const enum g4_status status = run_waiting(worker);
    wm->are_rows = false;
    return status;
}

/* Run threads for whole rows of the current object, from subspan `first` on.  Returns the next subspan. */
static uint32_t run_rows(struct g4_worker *worker, uint32_t first, enum g4_status *status) {
    struct g4_wm *const wm = worker->wm;

    if (!has_gang(wm) || (wm->mode != G4_WM_16 && wm->parked[G4_WM_16])) {
        return first;
    }
    if (wm->mode != G4_WM_16) {
        use_queue(wm, G4_WM_16);
    }
    while (*status == G4_OK && wm->waiting == 0 && first + GANG_SUBSPANS <= wm->subspans &&
           are_rows(&wm->subspan[first])) {
        *status = run_two_rows(worker, wm->subspan[first].x, wm->subspan[first].y);
        first += GANG_SUBSPANS;
    }
    return first;
}

bool g4_wm_runs_whole_tiles(const struct g4_worker *worker) {
    const struct g4_wm *const wm = worker->wm;
    return has_plain_threads(worker) && !wm->dispatch.any_contiguous && !wm->uniform_color && has_gang(wm);
}

/* Start the gang of rows 4 * number to 4 * number + 3 of the tile. */
static void start_rows(void *data, uint32_t number) {
    struct g4_worker *const worker = data;
    struct g4_wm *const wm = worker->wm;
    if (number == 0) {
        queue_two_rows(wm, (uint16_t)wm->tile_x, (uint16_t)wm->tile_y);
    } else {
        queue_next_rows(wm);
    }
    wm->ctx->model->start_pixels(worker);
}

enum g4_status g4_wm_run_tile(struct g4_worker *worker) {
    struct g4_wm *const wm = worker->wm;
    const struct g4_kernel *const kernel = wm->draw->wm_kernel[wm->dispatch.entry[G4_WM_16]];
    enum g4_status status = g4_wm_flush(worker);

    if (wm->mode != G4_WM_16) {
        use_queue(wm, G4_WM_16);
    }
    if (status != G4_OK || !kernel) {
        return status != G4_OK ? status : run_two_rows(worker, (uint16_t)wm->tile_x, (uint16_t)wm->tile_y);
    }
    wm->are_rows = true;
    start_rows(worker, 0);
    status = g4_gang_run_series(&worker->eu, worker->gang, kernel, G4_TILE_SIZE / 4, start_rows, worker);
    wm->are_rows = false;
    end_waiting(wm);
    return status;
}

static enum g4_status queue_normal(struct g4_worker *worker) {
    static const uint8_t capacity[] = {[G4_WM_8] = 2, [G4_WM_16] = 4, [G4_WM_32] = 8};
    struct g4_wm *const wm = worker->wm;
    enum g4_status status = G4_OK;
    const bool plain = !wm->clash && has_plain_threads(worker);

    for (uint32_t first = 0; first < wm->subspans;) {
        if (plain && wm->waiting == 0) {
            first = run_rows(worker, first, &status);
            if (status != G4_OK || first == wm->subspans) {
                return status;
            }
        }
        const uint32_t left = wm->subspans - first;
        const enum g4_wm_mode mode = choose(&wm->dispatch, &wm->ctx->model->quirks, left);
        const uint32_t most = wm->single_subspan ? 1 : capacity[mode];
        const uint32_t count = left < most ? left : most;
        struct g4_pixel_thread *const thread = next_thread(worker, mode, &wm->subspan[first], count, &status);
        if (!thread) {
            return status;
        }
        const uint32_t here = count < G4_BLOCK_SUBSPANS ? count : G4_BLOCK_SUBSPANS;
        fill_block(wm, &thread->block[0], first, here);
        if (mode == G4_WM_32) {
            fill_block(wm, &thread->block[1], first + here, count - here);
        }
        first += count;
    }
    return status;
}

/* One thread of a contiguous block: `mask` has the pixels of its upper and lower 8x4 half. */
static enum g4_status queue_block(struct g4_worker *worker, enum g4_wm_mode mode, const struct g4_subspan *s,
                                  uint32_t subspans, uint32_t x, uint32_t y, const uint32_t mask[2]) {
    struct g4_wm *const wm = worker->wm;
    enum g4_status status;
    struct g4_pixel_thread *const thread = next_thread(worker, mode, s, subspans, &status);
    if (thread) {
        *thread = (struct g4_pixel_thread){.x = x, .y = y, .mask = {mask[0], mask[1]}};
        thread->block[0].setup = wm->setup;
        thread->block[0].iz_mode = wm->iz.mode;
    }
    return status;
}

/* Threads of whole 8x8 blocks or their 8x4 halves (G45 PRM vol. 2, 8.5.3). */
static enum g4_status queue_contiguous(struct g4_worker *worker) {
    enum {
        BLOCKS = G4_TILE_SIZE / 8
    };
    struct g4_wm *const wm = worker->wm;

    for (uint32_t b = 0; b < BLOCKS * BLOCKS; b++) {
        const uint32_t x = (uint32_t)wm->tile_x + b % BLOCKS * 8;
        const uint32_t y = (uint32_t)wm->tile_y + b / BLOCKS * 8;
        uint32_t mask[2] = {0};
        uint32_t count[2] = {0};
        struct g4_subspan sorted[2][16] = {{{0}}};
        for (uint32_t i = 0; i < wm->subspans; i++) {
            const struct g4_subspan s = wm->subspan[i];
            const uint32_t dx = s.x - x;
            const uint32_t dy = s.y - y;
            if (dx < 8 && dy < 8) {
                const uint32_t half = dy / 4;
                /* four subspans of the half's upper rows, then four of its lower ones */
                mask[half] |= s.lit << (4 * (dx / 2 + dy % 4 / 2 * 4));
                sorted[half][count[half]++] = s;
            }
        }
        if (!mask[0] && !mask[1]) {
            continue;
        }
        enum g4_status status = G4_OK;
        const enum g4_wm_mode mode = g4_wm_choose_contiguous(&wm->dispatch, mask[0] && mask[1]);
        if (mode == G4_WM_CONTIGUOUS_64) {
            memcpy(&sorted[0][count[0]], sorted[1], count[1] * sizeof sorted[1][0]);
            status = queue_block(worker, mode, sorted[0], count[0] + count[1], x, y, mask);
        } else {
            for (uint32_t half = 0; half < 2 && status == G4_OK; half++) {
                const uint32_t own[2] = {mask[half], 0};
                if (mask[half]) {
                    status = queue_block(worker, mode, sorted[half], count[half], x, y + 4 * half, own);
                }
            }
        }
        if (status != G4_OK) {
            return status;
        }
    }
    return G4_OK;
}

/* Whether the object has pixels of waiting threads.  Threads of one object share no pixel. */
static bool clashes(const struct g4_wm *wm, const struct g4_coverage *coverage) {
    uint32_t both = 0;
    for (int32_t j = coverage->first; j <= coverage->last; j++) {
        both |= wm->claimed[j] & coverage->row[j];
    }
    return both != 0;
}

static void claim(struct g4_wm *wm, const struct g4_coverage *coverage) {
    for (int32_t j = coverage->first; j <= coverage->last; j++) {
        wm->claimed[j] |= coverage->row[j];
    }
}

static void claim_threads(struct g4_wm *wm, uint32_t mode, uint32_t count) {
    for (uint32_t i = 0; i < count * G4_BLOCKS; i++) {
        const struct g4_pixel_block *const block = &wm->queue[mode][i / G4_BLOCKS].block[i % G4_BLOCKS];
        if (i % G4_BLOCKS && mode != G4_WM_32) {
            continue;
        }
        for (uint32_t s = 0; s < G4_BLOCK_SUBSPANS; s++) {
            uint32_t *const row = &wm->claimed[block->y[s] & (G4_TILE_SIZE - 2)];
            row[0] |= (block->lit >> (4 * s) & 3) << (block->x[s] & (G4_TILE_SIZE - 2));
            row[1] |= (block->lit >> (4 * s + 2) & 3) << (block->x[s] & (G4_TILE_SIZE - 2));
        }
    }
}

/* Reduce the claimed pixels to those of waiting threads, except in contiguous dispatch, which records no subspans. */
static void claim_exactly(struct g4_wm *wm) {
    if (wm->mode >= G4_WM_CONTIGUOUS_32) {
        return;
    }
    memset(wm->claimed, 0, sizeof wm->claimed);
    claim_threads(wm, wm->mode, wm->waiting);
    for (uint32_t mode = 0; mode < G4_WM_QUEUES; mode++) {
        claim_threads(wm, mode, wm->parked[mode]);
    }
}

enum g4_status g4_wm_queue(struct g4_worker *worker, const struct g4_coverage *coverage) {
    struct g4_wm *const wm = worker->wm;
    const struct g4_wm_dispatch *const dispatch = &wm->dispatch;
    const bool contiguous = dispatch->any_contiguous && (wm->setup->contiguous || !dispatch->any_normal);

    if (!contiguous && !dispatch->any_normal) {
        g4_report(worker->eu.log, G4_EVENT_BAD_STATE, wm->draw->windower_address, 0);
        return G4_OK;
    }
    if (clashes(wm, coverage)) {
        claim_exactly(wm);
        wm->clash = clashes(wm, coverage);
    }
    const enum g4_status status = contiguous ? queue_contiguous(worker) : queue_normal(worker);
    claim(wm, coverage);
    return status;
}
