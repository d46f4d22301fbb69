/*
 * The payload of pixel shader threads of Gen7 (IVB PRM vol. 2 part 1, Pixel Shader Thread Payload).
 */
#include <stddef.h>
#include <string.h>

#include "color/samples.h"
#include "messages_gen7.h"
#include "raster/barycentrics.h"
#include "raster/windower_state.h"

enum {
    HALF = 8,   /* pixels in a register */
    MODES = 6,  /* of barycentric coordinates */
    LINEAR = 3, /* the first mode without perspective */
    HEADER = G4_WM_HEADER,
};

static const struct g4_barycentric_ops *const variants[] = G4_VARIANT_TABLE(g4_barycentric_ops);

static void put(struct g4_gang *gang, int t, uint32_t grf, const void *from) {
    if (grf < G4_GRF_COUNT) {
        memcpy(gang->grf[grf].ud[t], from, sizeof gang->grf[grf].ud[t]);
    }
}

/* ---- the header ---- */

static void object_header(const struct g4_wm *wm, const struct g4_pixel_block *block, uint32_t r0[8]) {
    const struct g4_draw_state *const draw = wm->draw;
    const struct g4_setup *const setup = block->setup;
    const struct gen7_payload_ps_r0 header = {
        .viewport_index = setup->viewport,
        .render_target_array_index = setup->array_index,
        .back_facing = setup->back_facing,
        .source_depth_present = draw->windower.computed_depth != G4_DEPTH_NOT_COMPUTED,
        .output_mask_present = draw->windower.writes_sample_mask,
        .starting_sample_pair = draw->windower.dispatches_samples ? block->sample[0] / 2u : 0,
        .primitive_topology_type = setup->topology,
        .color_calculator_state_pointer =
            (uint32_t)(draw->color_address - draw->dispatch[G4_STAGE_WM].dynamic_state_base),
    };
    gen7_payload_ps_r0_pack(&header, wm->ctx->gen, r0);
}

/* The sample of each subspan, in threads of samples. */
static uint32_t sample_ids(const struct g4_wm *wm, const struct g4_pixel_block *block) {
    uint32_t ids = 0;
    for (uint32_t i = 0; i < G4_BLOCK_SUBSPANS && wm->draw->windower.dispatches_samples; i++) {
        ids |= (uint32_t)(block->sample[i] & 15) << (4 * i);
    }
    return ids;
}

/* Whether a shader sees a pixel as covered.  With inner coverage, it is if it lies inside of a conservative triangle.
 */
static bool sees_covered(const struct g4_wm *wm, const struct g4_pixel_block *block, uint32_t pixel) {
    return !wm->draw->windower.inner_coverage || !block->setup->conservative ||
           g4_coverage_is_inside(block->setup, block->x[pixel / 4] + (int32_t)(pixel & 1),
                                 block->y[pixel / 4] + (int32_t)(pixel >> 1 & 1));
}

/* The lit pixels as a shader sees them (docs/decisions.md 165). */
static uint32_t seen_pixels(const struct g4_wm *wm, const struct g4_pixel_block *block) {
    uint32_t seen = block->lit;

    for (uint32_t left = wm->draw->windower.inner_coverage ? seen : 0; left; left &= left - 1) {
        const uint32_t pixel = (uint32_t)__builtin_ctz(left);
        seen &= ~((uint32_t)!sees_covered(wm, block, pixel) << pixel);
    }
    return seen;
}

static void put_slots(const struct g4_wm *wm, struct g4_gang *gang, int t, uint32_t grf,
                      const struct g4_pixel_block *block) {
    const struct gen7_payload_ps_r1 slots = {
        .subspan_0_x = block->x[0],
        .subspan_0_y = block->y[0],
        .subspan_1_x = block->x[1],
        .subspan_1_y = block->y[1],
        .subspan_2_x = block->x[2],
        .subspan_2_y = block->y[2],
        .subspan_3_x = block->x[3],
        .subspan_3_y = block->y[3],
        .lit_pixels = seen_pixels(wm, block),
        .dispatched_pixels = g4_whole_subspans(block->lit),
        .sample_ids = wm->ctx->model->quirks.pixel_payload_has_sample_ids ? sample_ids(wm, block) : 0,
    };
    gen7_payload_ps_r1_pack(&slots, wm->ctx->gen, gang->grf[grf].ud[t]);
}

/* ---- values of pixels ---- */

/* The lowest of the samples that are covered; -1 if all are, or none: then the pixel's location stands for them
 * (docs/decisions.md 99). */
static int centroid_sample(const struct g4_multisampling *m, uint32_t covered) {
    const uint32_t all = (1u << m->samples) - 1;
    return covered == 0 || (covered & all) == all ? -1 : __builtin_ctz(covered);
}

/* The sample that stands for a pixel at a place; -1: its location does. */
static int sample_at(const struct g4_wm *wm, const struct g4_pixel_block *block, uint32_t pixel,
                     enum g4_sample_place place) {
    const struct g4_draw_state *const draw = wm->draw;
    if (draw->multisampling.samples <= 1) {
        return -1;
    }
    if (place == G4_PLACE_CENTROID) {
        return centroid_sample(&draw->multisampling, block->covered[pixel]);
    }
    return place == G4_PLACE_SAMPLE && draw->windower.dispatches_samples ? block->sample[pixel / 4] : -1;
}

static void find_places(const struct g4_wm *wm, const struct g4_pixel_block *block, enum g4_sample_place place,
                        struct g4_pixel_places *places) {
    variants[g4_variant_current()]->locate(block->x, block->y, places);
    for (uint32_t i = 0; i < G4_BLOCK_PIXELS && wm->draw->multisampling.samples > 1; i++) {
        const int sample = sample_at(wm, block, i, place);
        if (sample >= 0) {
            double x, y;
            g4_sample_offset(&wm->draw->multisampling, (uint32_t)sample, &x, &y);
            places->x[i] += (float)x;
            places->y[i] += (float)y;
        }
    }
}

/* Where the pixels of a thread are evaluated: a mode of barycentrics for each place, with and without perspective. */
static enum g4_sample_place place_of(uint32_t mode) {
    static const enum g4_sample_place places[LINEAR] = {G4_PLACE_PIXEL, G4_PLACE_CENTROID, G4_PLACE_SAMPLE};
    return places[mode % LINEAR];
}

/* The values of all places that the payload has. */
struct values {
    struct g4_pixel_values at[G4_PLACE_SAMPLE + 1];
    float z[G4_BLOCK_PIXELS];
};

static void find_values(const struct g4_wm *wm, const struct g4_pixel_block *block, uint32_t pixels,
                        struct values *values) {
    const struct g4_windower_state *const state = &wm->draw->windower;
    uint32_t wanted[G4_PLACE_SAMPLE + 1] = {0};

    for (uint32_t mode = 0; mode < MODES; mode++) {
        if (state->barycentrics >> mode & 1) {
            wanted[place_of(mode)] |= mode < LINEAR ? G4_VALUE_PERSPECTIVE : G4_VALUE_LINEAR;
        }
    }
    wanted[state->position_zw] |= state->uses_source_w ? G4_VALUE_W : 0u;
    for (uint32_t place = G4_PLACE_PIXEL; place <= G4_PLACE_SAMPLE; place++) {
        struct g4_pixel_places places;
        const bool has_depth = state->uses_source_depth && state->position_zw == place;
        if (!wanted[place] && !has_depth) {
            continue;
        }
        find_places(wm, block, (enum g4_sample_place)place, &places);
        variants[g4_variant_current()]->evaluate(block->setup->planes, &places, pixels, wanted[place],
                                                 &values->at[place]);
        if (has_depth) {
            variants[g4_variant_current()]->depths(&block->depth, &places, pixels, values->z);
        }
    }
}

/* Two bytes a pixel: where it is evaluated, in 1/16 from its upper left corner. */
static void put_offsets(const struct g4_wm *wm, struct g4_gang *gang, int t, uint32_t grf,
                        const struct g4_pixel_block *block) {
    const struct g4_multisampling *const m = &wm->draw->multisampling;
    const uint8_t location = m->upper_left ? 0 : 8;
    uint8_t offset[G4_BLOCK_PIXELS][2];

    for (uint32_t i = 0; i < G4_BLOCK_PIXELS; i++) {
        const int sample = sample_at(wm, block, i, (enum g4_sample_place)wm->draw->windower.position_offset);
        offset[i][0] = sample >= 0 ? m->x[sample] : location;
        offset[i][1] = sample >= 0 ? m->y[sample] : location;
    }
    put(gang, t, grf, offset);
}

/* The covered samples of a pixel. */
static uint32_t coverage_of(const struct g4_wm *wm, const struct g4_pixel_block *block, uint32_t pixel) {
    if (!sees_covered(wm, block, pixel)) {
        return 0;
    }
    if (wm->draw->multisampling.samples <= 1) {
        return block->lit >> pixel & 1;
    }
    return wm->draw->windower.coverage_after_tests ? block->samples[pixel] : block->covered[pixel];
}

/* Writes the optional registers of a block; returns the next register. */
static uint32_t put_values(const struct g4_wm *wm, struct g4_gang *gang, int t, const struct g4_pixel_block *block,
                           uint32_t halves, uint32_t grf) {
    const struct g4_windower_state *const state = &wm->draw->windower;
    struct values values;

    find_values(wm, block, HALF * halves, &values);
    for (uint32_t mode = 0; mode < MODES; mode++) {
        struct g4_pixel_values *const at = &values.at[place_of(mode)];
        float(*const b)[G4_BLOCK_PIXELS] = mode < LINEAR ? at->perspective : at->linear;
        if (!(state->barycentrics >> mode & 1)) {
            continue;
        }
        for (uint32_t h = 0; h < halves; h++) {
            put(gang, t, grf++, b[0] + (size_t)HALF * h);
            put(gang, t, grf++, b[1] + (size_t)HALF * h);
        }
    }
    for (uint32_t h = 0; h < halves && state->uses_source_depth; h++) {
        put(gang, t, grf++, values.z + (size_t)HALF * h);
    }
    for (uint32_t h = 0; h < halves && state->uses_source_w; h++) {
        put(gang, t, grf++, values.at[state->position_zw].w + (size_t)HALF * h);
    }
    if (state->position_offset != G4_PLACE_NONE) {
        put_offsets(wm, gang, t, grf++, block);
    }
    for (uint32_t h = 0; h < halves && state->uses_coverage; h++) {
        uint32_t mask[HALF];
        for (uint32_t i = 0; i < HALF; i++) {
            mask[i] = coverage_of(wm, block, HALF * h + i);
        }
        put(gang, t, grf++, mask);
    }
    return grf;
}

uint32_t g4_pixel_payload_gen7_own(const struct g4_windower_state *state, uint32_t halves) {
    uint32_t values = (uint32_t)state->uses_source_depth + state->uses_source_w + state->uses_coverage;
    for (uint32_t mode = 0; mode < MODES; mode++) {
        values += (state->barycentrics >> mode & 1) * 2;
    }
    return HEADER + values * halves + (state->position_offset != G4_PLACE_NONE);
}

/* Whether every location of a pixel is its center, and its registers hold only values, which *rows then lists. */
static bool has_centers_only(const struct g4_wm *wm, uint32_t halves, struct g4_center_rows *rows) {
    enum {
        Z = offsetof(struct g4_center_values, z) / sizeof(float),
        W = offsetof(struct g4_center_values, at.w) / sizeof(float),
    };
    static const uint8_t start[2][2] = {
        {offsetof(struct g4_center_values, at.perspective[0]) / sizeof(float),
         offsetof(struct g4_center_values, at.perspective[1]) / sizeof(float)},
        {offsetof(struct g4_center_values, at.linear[0]) / sizeof(float),
         offsetof(struct g4_center_values, at.linear[1]) / sizeof(float)},
    };
    const struct g4_windower_state *const state = &wm->draw->windower;
    uint32_t n = 0;

    *rows = (struct g4_center_rows){
        .wanted = state->uses_source_w ? G4_VALUE_W : 0u,
        .depth = state->uses_source_depth,
        .pixels = HALF * halves,
    };
    for (uint32_t mode = 0; mode < MODES; mode++) {
        const uint32_t linear = mode >= LINEAR;
        if (!(state->barycentrics >> mode & 1)) {
            continue;
        }
        rows->wanted |= linear ? G4_VALUE_LINEAR : G4_VALUE_PERSPECTIVE;
        for (uint32_t r = 0; r < 2 * halves; r++) {
            rows->from[n++] = (uint8_t)(start[linear][r % 2] + HALF * (r / 2));
        }
    }
    for (uint32_t h = 0; h < halves && state->uses_source_depth; h++) {
        rows->from[n++] = (uint8_t)(Z + HALF * h);
    }
    for (uint32_t h = 0; h < halves && state->uses_source_w; h++) {
        rows->from[n++] = (uint8_t)(W + HALF * h);
    }
    rows->count = n;
    return wm->draw->multisampling.samples <= 1 && state->position_offset == G4_PLACE_NONE && !state->uses_coverage &&
           HEADER + 1 + 2 * n <= G4_GRF_COUNT;
}

static const struct g4_center_path *center_path(struct g4_wm *wm, uint32_t halves) {
    struct g4_center_path *const path = &wm->centers[halves - 1];
    if (!path->known) {
        path->known = true;
        path->usable = has_centers_only(wm, halves, &path->rows);
        path->ops = variants[g4_variant_current()];
    }
    return path;
}

/* put_values(), by the fast path if the draw has one. */
static uint32_t put_optional(const struct g4_wm *wm, struct g4_gang *gang, int t, const struct g4_pixel_block *block,
                             uint32_t halves, const struct g4_center_path *centers, uint32_t grf) {
    const struct g4_center_rows *const rows = &centers->rows;
    if (!centers->usable) {
        return put_values(wm, gang, t, block, halves, grf);
    }
    if (rows->count) {
        centers->ops->centers(rows, block->setup->planes, &block->depth, block->x, block->y, gang->grf[grf].f[t],
                              sizeof gang->grf[0] / sizeof(float));
    }
    return grf + rows->count;
}

/* ---- push constants and attributes ---- */

static uint32_t put_constants(struct g4_gang *gang, int threads, const struct g4_stage *stage,
                              const struct g4_row_set *missing, uint32_t grf) {
    for (uint32_t r = 0; r < stage->constant_rows && stage->constants && grf < G4_GRF_COUNT; r++, grf++) {
        for (int t = 0; t < threads && g4_is_missing(missing, grf); t++) {
            memcpy(gang->grf[grf].ud[t], stage->constants[r], sizeof stage->constants[r]);
        }
    }
    return grf;
}

static void put_attributes(const struct g4_wm *wm, struct g4_gang *gang, int threads, const struct g4_row_set *missing,
                           uint32_t grf) {
    for (int t = 0; t < threads; t++) {
        const struct g4_setup *const setup = wm->thread[t].block[0].setup;
        for (uint32_t r = 0; r < setup->entry_rows && grf + r < G4_GRF_COUNT; r++) {
            if (g4_is_missing(missing, grf + r)) {
                memcpy(gang->grf[grf + r].ud[t], setup->entry[r], sizeof setup->entry[r]);
            }
        }
    }
}

/* ---- messages to the pixel interpolator ---- */

static int32_t signed_nibble(uint32_t bits) {
    return (int32_t)(bits & 15) - (bits & 8 ? 16 : 0);
}

/* Move the places to offsets from the centers of the pixels, in 1/16. */
static void offset_place(const struct g4_wm *wm, struct g4_pixel_places *places, uint32_t pixel, uint32_t x,
                         uint32_t y) {
    const float center = wm->draw->multisampling.upper_left ? 0.5f : 0.0f;
    places->x[pixel] += center + (float)signed_nibble(x) / 16.0f;
    places->y[pixel] += center + (float)signed_nibble(y) / 16.0f;
}

static void sample_place(const struct g4_wm *wm, struct g4_pixel_places *places, uint32_t pixel, uint32_t sample) {
    const struct g4_multisampling *const m = &wm->draw->multisampling;
    double x = 0;
    double y = 0;
    if (sample < m->samples && m->samples > 1) {
        g4_sample_offset(m, sample, &x, &y);
    }
    places->x[pixel] += (float)x;
    places->y[pixel] += (float)y;
}

static void find_named_places(const struct g4_wm *wm, const struct g4_pixel_block *block, const struct g4_gang *gang,
                              const struct g4_send *send, int t, struct g4_pixel_places *places) {
    const uint32_t data = gen7_pixel_interpolator_message_message_data(send->descriptor);
    const uint32_t groups = gen7_pixel_interpolator_message_simd16(send->descriptor) ? 2 : 1;
    const uint32_t type = gen7_pixel_interpolator_message_message_type(send->descriptor);
    const bool centroid = type == GEN7_INTERPOLATOR_MESSAGE_TYPE_CENTROID;

    find_places(wm, block, centroid ? G4_PLACE_CENTROID : G4_PLACE_PIXEL, places);
    for (uint32_t i = 0; i < HALF * groups; i++) {
        switch (type) {
        case GEN7_INTERPOLATOR_MESSAGE_TYPE_SHARED_OFFSET:
            offset_place(wm, places, i, data, data >> 4);
            break;
        case GEN7_INTERPOLATOR_MESSAGE_TYPE_SAMPLE_POSITION:
            sample_place(wm, places, i, data >> 4 & 15);
            break;
        case GEN7_INTERPOLATOR_MESSAGE_TYPE_PER_SLOT_OFFSET:
            offset_place(wm, places, i, g4_payload(gang, send, i / HALF, t)[i % HALF],
                         g4_payload(gang, send, groups + i / HALF, t)[i % HALF]);
            break;
        default:
            break;
        }
    }
}

/* The response is laid out as the payload: both coordinates of eight pixels, then those of the next eight. */
static void interpolate(struct g4_gang *gang, const struct g4_send *send) {
    const struct g4_wm *const wm = gang->owner.data;
    const bool linear = gen7_pixel_interpolator_message_linear(send->descriptor);
    const uint32_t groups = gen7_pixel_interpolator_message_simd16(send->descriptor) ? 2 : 1;
    const uint32_t upper = gen7_pixel_interpolator_message_slot_group(send->descriptor) && wm->mode == G4_WM_32;

    for (int t = 0; t < G4_GANG_THREADS; t++) {
        struct g4_pixel_places places;
        struct g4_pixel_values values;
        if (!(send->threads >> t & 1)) {
            continue; /* it may have no block */
        }
        const struct g4_pixel_block *const block = (const struct g4_pixel_block *)gang->unit_data[t] + upper;
        find_named_places(wm, block, gang, send, t, &places);
        variants[g4_variant_current()]->evaluate(block->setup->planes, &places, HALF * groups,
                                                 linear ? G4_VALUE_LINEAR : G4_VALUE_PERSPECTIVE, &values);
        for (uint32_t r = 0; r < 2 * groups; r++) {
            const float(*const b)[G4_BLOCK_PIXELS] = linear ? values.linear : values.perspective;
            uint32_t *const row = g4_response(gang, send, r, t);
            const unsigned enable = g4_thread_lanes(send->emask[r / 2], t);
            for (uint32_t i = 0; i < HALF && row; i++) {
                if (enable >> i & 1) {
                    memcpy(&row[i], &b[r % 2][HALF * (r / 2) + i], sizeof row[i]);
                }
            }
        }
    }
}

/* ---- all of it ---- */

/* The properties of an object that the payloads of its threads depend on. */
static void start_block(struct g4_pixel_block *block, const struct g4_plane *depth) {
    block->array_index = block->setup->array_index;
    block->viewport = block->setup->viewport;
    block->back_facing = block->setup->back_facing;
    block->antialias = block->setup->antialias;
    block->depth = *depth;
}

static void put_pointers(struct g4_gang *gang, int t, const uint32_t pointers[8]) {
    uint32_t *const r0 = gang->grf[0].ud[t];
    for (int i = 0; i < 8; i++) {
        r0[i] |= pointers[i];
    }
}

_Static_assert(GEN7_PAYLOAD_PS_R1_SUBSPAN_0_X_SHIFT == 0 && GEN7_PAYLOAD_PS_R1_SUBSPAN_0_Y_SHIFT == 16 &&
                   GEN7_PAYLOAD_PS_R1_SUBSPAN_3_X_DWORD == GEN7_PAYLOAD_PS_R1_SUBSPAN_0_X_DWORD + 3,
               "positions are those of g4_wm_put_positions()");

/* Whether threads of 8 or 16 pixels of an object differ only in their positions, and the values at the centers of
 * their pixels. */
static bool differ_in_positions(const struct g4_wm *wm, const struct g4_center_path *centers) {
    return wm->mode != G4_WM_32 && centers->usable && !wm->draw->windower.dispatches_samples &&
           !wm->draw->windower.inner_coverage;
}

/* Put all that differs between such threads. */
static void put_positions(const struct g4_wm *wm, struct g4_gang *gang, const struct g4_center_path *centers) {
    for (uint32_t t = 0; t < wm->waiting; t++) {
        const struct g4_pixel_block *const block = &wm->thread[t].block[0];
        uint32_t *const r1 = gang->grf[1].ud[t];
        g4_wm_put_positions(block, &r1[GEN7_PAYLOAD_PS_R1_SUBSPAN_0_X_DWORD]);
        r1[GEN7_PAYLOAD_PS_R1_LIT_PIXELS_DWORD] =
            block->lit << GEN7_PAYLOAD_PS_R1_LIT_PIXELS_SHIFT | (uint32_t)g4_whole_subspans(block->lit)
                                                                    << GEN7_PAYLOAD_PS_R1_DISPATCHED_PIXELS_SHIFT;
        if (centers->rows.count) {
            centers->ops->centers(&centers->rows, block->setup->planes, &block->depth, block->x, block->y,
                                  gang->grf[HEADER].f[t], sizeof gang->grf[0] / sizeof(float));
        }
    }
    g4_wm_set_masks(wm, gang);
}

void g4_pixel_payload_gen7(struct g4_worker *worker) {
    struct g4_wm *const wm = worker->wm;
    const struct g4_draw_state *const draw = wm->draw;
    const struct g4_stage *const stage = &draw->stage[G4_STAGE_WM];
    const uint32_t width = wm->dispatch.entry[wm->mode]; /* 0: 8 pixels, 1: 16, 2: 32 */
    const uint32_t halves = width ? 2 : 1;
    struct g4_gang *const gang = worker->gang;
    const int threads = (int)wm->waiting;
    const struct g4_setup *setup = NULL;
    struct g4_plane depth;
    const struct g4_center_path *const centers = center_path(wm, halves);
    uint32_t r0[8];
    uint16_t x[G4_GANG_THREADS];
    uint16_t y[G4_GANG_THREADS];

    const uint32_t blocks = wm->mode == G4_WM_32 ? 2 : 1;
    const struct g4_common_rows common = {
        .own = centers->usable ? HEADER - 1 + blocks * (1 + centers->rows.count) : G4_GRF_COUNT,
        .first = draw->windower.grf_start[width],
        .count = (stage->constants ? stage->constant_rows : 0) + wm->thread[0].block[0].setup->entry_rows,
    };
    const struct g4_row_set *const missing =
        g4_wm_start_gang(worker, &draw->wm_dispatch[width], draw->wm_kernel[width], &common);
    const bool has_header = !g4_is_missing(missing, 0);
    if (has_header && !g4_is_missing(missing, 1) && differ_in_positions(wm, centers)) {
        put_positions(wm, gang, centers);
        const uint32_t grf = put_constants(gang, threads, stage, missing, draw->windower.grf_start[width]);
        put_attributes(wm, gang, threads, missing, grf);
        return;
    }
    gang->owner = (struct g4_gang_owner){.interpolate = interpolate, .data = wm};
    for (int t = 0; t < threads; t++) {
        struct g4_pixel_thread *const thread = &wm->thread[t];
        struct g4_pixel_block *const block = thread->block;
        if (block->setup != setup) {
            setup = block->setup;
            object_header(wm, block, r0);
            g4_wm_plane(wm, setup, &depth);
        } else if (draw->windower.dispatches_samples) {
            object_header(wm, block, r0);
        }
        start_block(block, &depth);
        if (wm->mode == G4_WM_32) {
            start_block(block + 1, &depth);
        }
        if (!has_header || draw->windower.dispatches_samples) {
            put(gang, t, 0, r0);
            put_pointers(gang, t, wm->pointers[width][t]);
        }
        put_slots(wm, gang, t, 1, block);
        uint32_t grf = HEADER;
        if (wm->mode == G4_WM_32) {
            put_slots(wm, gang, t, grf++, block + 1);
        }
        grf = put_optional(wm, gang, t, block, halves, centers, grf);
        if (wm->mode == G4_WM_32) {
            (void)put_optional(wm, gang, t, block + 1, halves, centers, grf);
            const uint32_t upper = g4_whole_subspans(block[1].lit);
            g4_gang_set_wide_dmask(gang, t, g4_whole_subspans(block->lit) | upper << 16);
        }
        gang->unit_data[t] = block;
        gang->slot[t] = wm->slots[width].first + (uint32_t)t;
        x[t] = block->x[0];
        y[t] = block->y[0];
    }
    if (wm->mode != G4_WM_32) {
        g4_wm_set_masks(wm, gang);
    }
    g4_cc_prefetch(worker, wm->waiting, x, y);
    const uint32_t grf = put_constants(gang, threads, stage, missing, draw->windower.grf_start[width]);
    put_attributes(wm, gang, threads, missing, grf);
}
