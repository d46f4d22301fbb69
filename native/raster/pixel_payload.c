/*
 * The payload of pixel shader threads (G45 PRM vol. 2, 8.5.2 and 8.5.3).
 */
#include <string.h>

#include "hw_messages.h"
#include "raster/windower_state.h"

enum {
    ALL_PIXELS = 0xffff,
    HEADER_REGISTERS = G4_WM_HEADER,
};

static void put_words(struct g4_gang *gang, int t, uint32_t grf, const void *words, size_t size) {
    if (grf < G4_GRF_COUNT) {
        memcpy(gang->grf[grf].ud[t], words, size);
    }
}

/* AA coverage and destination stencil of four subspans: the layouts PAYLOAD_PS_ANTIALIAS_STENCIL names. */
static void put_coverage_stencil(const struct g4_wm *wm, struct g4_gang *gang, int t, uint32_t grf,
                                 const uint8_t coverage[16], const uint8_t stencil[16]) {
    uint32_t dw[8] = {0};
    memcpy(dw, stencil, 16);
    if (wm->ctx->model->quirks.has_8_bit_coverage) {
        memcpy(dw + 4, coverage, 16);
    } else {
        for (uint32_t i = 0; i < 16; i++) {
            dw[6 + i / 8] |= (uint32_t)(coverage[i] & 15) << (4 * (i % 8));
        }
    }
    put_words(gang, t, grf, dw, sizeof dw);
}

/* Whether threads of an object have optional payload registers. */
static bool has_optional(const struct g4_wm *wm, const struct g4_setup *setup) {
    const struct g4_iz *const iz = &wm->iz;
    return iz->source_depth_eu || iz->dest_depth || iz->dest_stencil || setup->antialias;
}

/* The number of optional registers of four subspans. */
static uint32_t count_optional(const struct g4_wm *wm, const struct g4_setup *setup) {
    const struct g4_iz *const iz = &wm->iz;
    return (iz->source_depth_eu ? 2u : 0) + (setup->antialias || iz->dest_stencil ? 1u : 0) + (iz->dest_depth ? 2u : 0);
}

/* The optional registers of four subspans: source depth, coverage and stencil, destination depth. */
static uint32_t put_optional(struct g4_worker *worker, int t, const struct g4_pixel_block *block, uint32_t grf) {
    const struct g4_wm *const wm = worker->wm;
    struct g4_gang *const gang = worker->gang;
    const bool antialias = block->setup->antialias;
    uint32_t depth[16] = {0};
    uint8_t stencil[16] = {0};

    if (wm->iz.dest_depth || wm->iz.dest_stencil) {
        g4_cc_destination(worker, block->x, block->y, block->lit, block->setup->array_index, depth, stencil);
    }
    if (wm->iz.source_depth_eu) {
        put_words(gang, t, grf++, block->z, 32);
        put_words(gang, t, grf++, block->z + 8, 32);
    }
    if (antialias || wm->iz.dest_stencil) {
        put_coverage_stencil(wm, gang, t, grf++, block->coverage, stencil);
    }
    if (wm->iz.dest_depth) {
        put_words(gang, t, grf++, depth, 32);
        put_words(gang, t, grf++, depth + 8, 32);
    }
    return grf;
}

static uint32_t number_of(const struct g4_wm *wm, const struct g4_setup *setup) {
    return (wm->first_number[setup->chunk] + setup->primitive) & G4_OBJECT_NUMBERS;
}

/* The parts of R0 and R1 that all threads of an object share. */
static void object_header(const struct g4_wm *wm, const struct g4_setup *setup, uint32_t r0[8], uint32_t r1[8]) {
    const struct g4_payload_ps_r0 first = {
        .color_calculator_state_pointer =
            (uint32_t)(wm->draw->color_address - wm->draw->dispatch[G4_STAGE_WM].general_state_base),
        .primitive_thread_id = number_of(wm, setup),
    };
    const struct g4_payload_ps_r1 second = {
        .x_start = setup->x_start,
        .y_start = setup->y_start,
        .back_facing = setup->back_facing,
        .source_depth_present = wm->iz.source_depth_eu,
        .source_depth_to_render_target = wm->iz.source_depth_rt,
        .destination_depth_present = wm->iz.dest_depth,
        .destination_stencil_present = wm->iz.dest_stencil,
        .antialias_alpha_to_render_target = setup->antialias,
        .antialias_alpha_present = setup->antialias,
        .primitive_topology_type = setup->topology,
        .viewport_index = setup->viewport,
        .render_target_array_index = setup->array_index,
    };
    g4_payload_ps_r0_pack(&first, wm->ctx->gen, r0);
    g4_payload_ps_r1_pack(&second, wm->ctx->gen, r1);
}

/* The part of R0 and R1 that all threads of an object share, with the pointers of each thread. */
struct headers {
    uint32_t r0[G4_GANG_THREADS][8], r1[8];
};

static void start_object(const struct g4_wm *wm, const struct g4_setup *setup, struct headers *out) {
    const uint32_t(*const pointers)[8] = wm->pointers[wm->dispatch.entry[wm->mode]];
    uint32_t r0[8];

    object_header(wm, setup, r0, out->r1);
    for (uint32_t t = 0; t < wm->waiting; t++) {
        for (int i = 0; i < 8; i++) {
            out->r0[t][i] = r0[i] | pointers[t][i];
        }
    }
}

/* R0 and R1 of a thread, but for put_pixels(). */
static inline void put_header(struct g4_gang *gang, int t, const struct headers *object) {
    memcpy(gang->grf[0].ud[t], object->r0[t], sizeof object->r0[t]);
    memcpy(gang->grf[1].ud[t], object->r1, sizeof object->r1);
}

_Static_assert(G4_PAYLOAD_PS_R1_SUBSPAN_0_X_SHIFT == 0 && G4_PAYLOAD_PS_R1_SUBSPAN_0_Y_SHIFT == 16 &&
                   G4_PAYLOAD_PS_R1_SUBSPAN_3_X_DWORD == G4_PAYLOAD_PS_R1_SUBSPAN_0_X_DWORD + 3,
               "positions are those of g4_wm_put_positions()");

/* The dwords of R0 and R1 that belong to the thread alone.  They replace zeros of the object's registers: loading them
 * as a vector right after they were stored one by one took a quarter of the time of all payloads. */
static inline void put_pixels(struct g4_gang *gang, int t, const struct g4_pixel_block *block) {
    gang->grf[0].ud[t][G4_PAYLOAD_PS_R0_PIXEL_MASK_DWORD] =
        block->lit << G4_PAYLOAD_PS_R0_PIXEL_MASK_SHIFT | block->lit << G4_PAYLOAD_PS_R0_PIXEL_MASK_COPY_SHIFT;
    g4_wm_put_positions(block, &gang->grf[1].ud[t][G4_PAYLOAD_PS_R1_SUBSPAN_0_X_DWORD]);
}

/* Returns the channels that run. */
static uint16_t put_normal(struct g4_worker *worker, int t, struct g4_pixel_thread *thread) {
    const struct g4_wm *const wm = worker->wm;
    struct g4_gang *const gang = worker->gang;
    const bool optional = has_optional(wm, thread->block[0].setup);
    uint16_t dmask = g4_whole_subspans(thread->block[0].lit);
    uint32_t grf = optional ? put_optional(worker, t, &thread->block[0], HEADER_REGISTERS) : HEADER_REGISTERS;

    if (wm->mode == G4_WM_32) {
        const struct g4_pixel_block *const block = &thread->block[1];
        const struct g4_payload_ps_subspans_4_7 more = {
            .pixel_mask = block->lit,
            .pixel_mask_copy = block->lit,
            .subspan_4_x = block->x[0],
            .subspan_4_y = block->y[0],
            .subspan_5_x = block->x[1],
            .subspan_5_y = block->y[1],
            .subspan_6_x = block->x[2],
            .subspan_6_y = block->y[2],
            .subspan_7_x = block->x[3],
            .subspan_7_y = block->y[3],
        };
        uint32_t dw[8];
        g4_payload_ps_subspans_4_7_pack(&more, wm->ctx->gen, dw);
        put_words(gang, t, grf++, dw, sizeof dw);
        (void)put_optional(worker, t, block, grf);
        /* The kernel runs its two halves on the same sixteen channels. */
        dmask |= g4_whole_subspans(block->lit);
    }
    return dmask;
}

static uint16_t put_contiguous(struct g4_worker *worker, int t, struct g4_pixel_thread *thread) {
    const struct g4_wm *const wm = worker->wm;
    struct g4_gang *const gang = worker->gang;
    const struct g4_setup *const setup = thread->block[0].setup;
    const struct g4_payload_ps_contiguous_r0 r0 = {
        .x = thread->x,
        .y = thread->y,
        .pixel_mask_0 = thread->mask[0],
        .primitive_thread_id = number_of(wm, setup),
    };
    const struct g4_payload_ps_contiguous_r1 r1 = {setup->x_start, setup->y_start, thread->mask[1]};
    g4_payload_ps_contiguous_r0_pack(&r0, wm->ctx->gen, gang->grf[0].ud[t]);
    g4_payload_ps_contiguous_r1_pack(&r1, wm->ctx->gen, gang->grf[1].ud[t]);
    return ALL_PIXELS;
}

void g4_wm_payload_begin(struct g4_worker *worker, const struct g4_draw_state *draw) {
    struct g4_wm *const wm = worker->wm;

    for (uint32_t i = 0; i < G4_WM_ENTRIES; i++) {
        const struct g4_kernel *const kernel = draw->wm_kernel[i];
        wm->slots[i] = (struct g4_slots){.count = 1};
        if (!kernel) {
            continue;
        }
        wm->slots[i] = g4_thread_slots(worker, kernel, G4_UNIT_WM, draw->stage[G4_STAGE_WM].max_threads, 1);
        g4_payload_all_pointers(&draw->dispatch[G4_STAGE_WM], &wm->slots[i], wm->pointers[i]);
    }
}

/* A register of the coefficients of an object; beyond its entry, hardware leaves it undefined. */
static const uint32_t *coefficients(const struct g4_setup *setup, uint32_t row) {
    static const uint32_t nothing[8];
    return row < setup->entry_rows ? setup->entry[row] : nothing;
}

/* Constants and coefficients: those registers that are missing. */
static void put_common(const struct g4_wm *wm, struct g4_gang *gang, const struct g4_row_set *missing,
                       struct g4_common_rows common) {
    const struct g4_stage *const stage = &wm->draw->stage[G4_STAGE_WM];
    const int threads = (int)wm->waiting;

    for (uint32_t r = 0; r < common.count && common.first + r < G4_GRF_COUNT; r++) {
        const uint32_t grf = common.first + r;
        const uint32_t input = stage->input_offset + r - stage->constant_rows;
        if (!g4_is_missing(missing, grf)) {
            continue;
        }
        if (r < stage->constant_rows) {
            (void)g4_payload_constants(gang, threads, &wm->draw->curbe, stage->constant_offset + r, 1, grf);
            continue;
        }
        const uint32_t *const shared = missing ? coefficients(wm->held.of, input) : NULL;
        for (int t = 0; t < threads; t++) {
            memcpy(gang->grf[grf].ud[t], shared ? shared : coefficients(wm->thread[t].block[0].setup, input),
                   G4_REGISTER_BYTES);
        }
    }
}

/* All that differs between threads of an object without optional registers. */
static void put_positions(const struct g4_wm *wm, struct g4_gang *gang) {
    for (uint32_t t = 0; t < wm->waiting; t++) {
        put_pixels(gang, (int)t, &wm->thread[t].block[0]);
    }
    g4_wm_set_masks(wm, gang);
}

/* Start the waiting threads with all of their payloads. */
static void start_threads(struct g4_worker *worker, const struct g4_kernel *kernel, uint32_t entry) {
    struct g4_wm *const wm = worker->wm;
    struct g4_gang *const gang = worker->gang;
    const int threads = (int)wm->waiting;
    const struct g4_setup *setup = NULL;
    g4_lanes enabled[2] = {0, 0};
    struct headers object;
    uint16_t x[G4_GANG_THREADS];
    uint16_t y[G4_GANG_THREADS];

    const struct g4_stage *const stage = &wm->draw->stage[G4_STAGE_WM];
    const uint32_t blocks = wm->mode == G4_WM_32 ? 2 : 1;
    const struct g4_common_rows common = {
        .own = HEADER_REGISTERS - 1 + blocks * (1 + count_optional(wm, wm->thread[0].block[0].setup)),
        .first = stage->grf_start * blocks,
        .count = stage->constant_rows + stage->input_rows,
    };
    const struct g4_row_set *const missing =
        g4_wm_start_gang(worker, &wm->draw->dispatch[G4_STAGE_WM], kernel, &common);
    const bool has_headers = !g4_is_missing(missing, 0) && !g4_is_missing(missing, 1);
    if (has_headers && wm->mode == G4_WM_16 && !has_optional(wm, wm->held.of)) {
        put_positions(wm, gang);
        put_common(wm, gang, missing, common);
        return;
    }
    gang->owner = (struct g4_gang_owner){0};
    for (int t = 0; t < threads; t++) {
        struct g4_pixel_thread *const thread = &wm->thread[t];
        uint16_t dmask;
        if (wm->mode >= G4_WM_CONTIGUOUS_32) {
            dmask = put_contiguous(worker, t, thread);
            for (int i = 0; i < 8; i++) {
                gang->grf[0].ud[t][i] |= wm->pointers[entry][t][i];
            }
        } else {
            if (!has_headers) {
                if (thread->block[0].setup != setup) {
                    setup = thread->block[0].setup;
                    start_object(wm, setup, &object);
                }
                put_header(gang, t, &object);
            }
            x[t] = thread->block[0].x[0];
            y[t] = thread->block[0].y[0];
            put_pixels(gang, t, &thread->block[0]);
            dmask = put_normal(worker, t, thread);
        }
        enabled[0] |= (g4_lanes)(dmask & 0xff) << (8 * t);
        enabled[1] |= (g4_lanes)(dmask >> 8) << (8 * t);
        gang->unit_data[t] = &thread->block[0];
        gang->slot[t] = wm->slots[entry].first + (uint32_t)t;
    }
    g4_gang_set_all_dmasks(gang, enabled);
    if (wm->mode < G4_WM_CONTIGUOUS_32) {
        g4_cc_prefetch(worker, wm->waiting, x, y);
    }
    put_common(wm, gang, missing, common);
}

/* Say where the threads are, if they are whole rows and their last message has the headers that they were dispatched
 * with: constants may have replaced these, but not in a gang that is held. */
static void note_rows(const struct g4_wm *wm, const struct g4_kernel *kernel, struct g4_gang *gang) {
    gang->rows = (struct g4_whole_rows){
        .in_header = wm->are_rows && gang->holder == wm && kernel->start.keeps_header,
        .x = wm->thread[0].block[0].x[0],
        .y = wm->thread[0].block[0].y[0],
    };
}

/* Move the threads of a gang of whole rows to where they are now. */
static void move_rows(const struct g4_wm *wm, struct g4_gang *gang) {
    for (uint32_t t = 0; t < G4_GANG_THREADS; t++) {
        g4_wm_put_positions(&wm->thread[t].block[0], &gang->grf[1].ud[t][G4_PAYLOAD_PS_R1_SUBSPAN_0_X_DWORD]);
    }
}

void g4_wm_payloads(struct g4_worker *worker) {
    struct g4_wm *const wm = worker->wm;
    const uint32_t entry = wm->dispatch.entry[wm->mode];
    const struct g4_kernel *const kernel = wm->draw->wm_kernel[entry];
    struct g4_gang *const gang = worker->gang;

    if (g4_wm_holds_rows(worker, kernel) && !has_optional(wm, wm->setup)) {
        g4_gang_start_again(gang, kernel, G4_GANG_THREADS, true, &wm->held.cleared[true]);
        move_rows(wm, gang);
    } else {
        start_threads(worker, kernel, entry);
    }
    note_rows(wm, kernel, gang);
}
