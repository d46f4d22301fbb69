/*
 * The render target write message from Gen6 on (SNB PRM vol. 4 part 1, 2.10; IVB PRM vol. 4 part 1, 3.9), executed
 * thread by thread in order.
 */
#include <string.h>

#include "color/pixel_fate.h"
#include "color/samples.h"
#include "color/state.h"
#include "core/hooks.h"
#include "core/report.h"
#include "messages_gen7.h"
#include "messages_gen9.h"

enum {
    HEADER = 2,  /* registers */
    HALF = 8,    /* pixels in a register */
    PIXELS = 16, /* of a block */
    NONE = 0xff,
};

/* One thread's message. */
struct write_message_gen7 {
    struct g4_eu *eu;
    struct g4_cc *cc;
    struct g4_gang *gang;
    const struct g4_send *send;
    int thread;
    uint32_t type; /* enum gen7_render_target_write_type_gen6 */
    bool last, has_header;
    uint32_t first, pixels;    /* of the block: 0 or 8; 8 or 16 */
    const uint32_t *header[2]; /* NULL without */
    const struct g4_pixel_block *block;
    uint32_t source0_alpha, sample_mask, color, source_depth, stencil; /* payload registers; NONE: there are none */
    struct g4_target *target;
};

static void report(const struct write_message_gen7 *m, enum g4_event event, uint32_t value) {
    g4_report(m->eu->log, event, g4_gang_address(m->gang, m->thread), value);
}

static const float *payload(const struct write_message_gen7 *m, uint32_t reg) {
    return (const float *)g4_payload(m->gang, m->send, reg, m->thread);
}

static bool is_replicated(const struct write_message_gen7 *m) {
    return m->type == GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD16_REPLICATED;
}

static bool is_simd16(const struct write_message_gen7 *m) {
    return m->type == GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD16 || is_replicated(m);
}

static bool is_dual(const struct write_message_gen7 *m) {
    return m->type == GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD8_DUAL_SOURCE_LOW ||
           m->type == GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD8_DUAL_SOURCE_HIGH;
}

/* ---- layout ---- */

/* Finds the parts of the payload.  A header says which are present; without one, the state of the draw does. */
static void find_payload(struct write_message_gen7 *m) {
    const struct g4_windower_state *const state = &m->cc->windower;
    const uint32_t halves = is_simd16(m) ? 2 : 1;
    const uint32_t *const r0 = m->header[0];
    const bool source0 = r0 && gen7_render_target_write_header_source0_alpha_present(r0);
    const bool mask = r0 ? gen7_render_target_write_header_output_mask_present(r0) : state->writes_sample_mask;
    const bool depth =
        r0 ? gen7_render_target_write_header_source_depth_present(r0) : state->computed_depth != G4_DEPTH_NOT_COMPUTED;
    const bool stencil = state->computes_stencil && (!r0 || gen9_render_target_write_header_stencil_present(r0));
    uint32_t next = m->has_header ? HEADER : 0;

    m->source0_alpha = m->sample_mask = m->source_depth = m->stencil = NONE;
    if (is_replicated(m)) {
        m->color = next++;
    } else {
        m->source0_alpha = source0 ? next : NONE;
        next += source0 ? halves : 0;
        m->sample_mask = mask ? next : NONE;
        next += mask ? 1 : 0;
        m->color = next;
        next += (is_dual(m) ? 8 : 4) * halves;
        m->source_depth = depth ? next : NONE;
        next += depth ? halves : 0;
        m->stencil = stencil ? next : NONE;
        next += stencil ? 1 : 0;
    }
    if (next != m->send->mlen) {
        report(m, G4_EVENT_RT_FLAGS, m->send->descriptor); /* registers beyond the payload are zeros */
    }
}

/* Finds the colors of all pixels: channel c of each half. */
static void find_colors(const struct write_message_gen7 *m, struct g4_pixels *pixels, float replicated[4][HALF]) {
    const uint32_t halves = is_simd16(m) ? 2 : 1;

    for (uint32_t c = 0; c < 4; c++) {
        if (is_replicated(m)) {
            for (uint32_t i = 0; i < HALF; i++) {
                memcpy(&replicated[c][i], payload(m, m->color) + c, sizeof(float));
            }
            pixels->color[0][c] = pixels->color[1][c] = replicated[c];
        } else {
            pixels->color[0][c] = payload(m, m->color + c * halves);
            pixels->color[1][c] = halves == 2 ? payload(m, m->color + c * halves + 1) : NULL;
        }
        pixels->color1[0][c] = is_dual(m) ? payload(m, m->color + 4 + c) : pixels->color[0][c];
        pixels->color1[1][c] = pixels->color[1][c];
    }
}

/* Alpha of antialiased lines counts as much as the line covers the pixel. */
static void scale_alpha(const struct write_message_gen7 *m, struct g4_pixels *pixels, float alpha[2][HALF]) {
    enum {
        FULL = 255
    };
    for (uint32_t i = 0; i < m->pixels; i++) {
        const float coverage = (float)m->block->coverage[m->first + i] / FULL;
        alpha[i / HALF][i % HALF] = pixels->color[i / HALF][3][i % HALF] * coverage;
    }
    for (uint32_t h = 0; h < m->pixels / HALF; h++) {
        pixels->color[h][3] = alpha[h];
    }
}

/* ---- the pixels ---- */

/* The pixels to write, from the first of the message on. */
static uint32_t live_pixels(const struct write_message_gen7 *m) {
    const uint32_t lit = m->block->lit >> m->first;
    const uint32_t all = (1u << m->pixels) - 1;
    if (m->has_header) {
        return gen7_payload_ps_r1_lit_pixels(m->header[1]) >> m->first & lit & all;
    }
    const uint32_t enabled =
        g4_thread_lanes(m->send->emask[0], m->thread) | g4_thread_lanes(m->send->emask[1], m->thread) << HALF;
    return enabled & lit & all;
}

/* The samples of a pixel that the shader's mask lets through: a 16-bit word for each. */
static uint32_t shader_mask(const struct write_message_gen7 *m, uint32_t pixel) {
    const uint16_t *const words = (const uint16_t *)g4_payload(m->gang, m->send, m->sample_mask, m->thread);
    return m->sample_mask != NONE ? words[m->first + pixel] : UINT32_MAX;
}

/* The pixels whose sample 0 the shader's mask lets through. */
static uint32_t masked(const struct write_message_gen7 *m) {
    uint32_t out = 0;
    for (uint32_t i = 0; i < m->pixels; i++) {
        out |= (shader_mask(m, i) & 1) << i;
    }
    return out;
}

/* ---- depth and stencil ---- */

static bool tests_late(const struct write_message_gen7 *m) {
    return m->cc->depth.test && m->block->iz_mode != G4_IZ_P;
}

/* The stencil references that the shader computed: a byte for each pixel of the message. */
static const uint8_t *references(const struct write_message_gen7 *m) {
    return m->stencil != NONE ? (const uint8_t *)g4_payload(m->gang, m->send, m->stencil, m->thread) : NULL;
}

/* Tests pixels at places of the depth buffer; z has sixteen depths. */
static uint32_t late_test_at(const struct write_message_gen7 *m, const uint16_t x[4], const uint16_t y[4],
                             const float *z, uint32_t live) {
    struct g4_depth *const depth = &m->cc->depth;
    const struct g4_pixel_block *const block = m->block;
    const struct g4_depth_range *const range = &m->cc->state.depth_range[block->viewport & 15];

    if (!tests_late(m) || !live) {
        return live;
    }
    if (block->array_index != depth->array_index) {
        g4_depth_select(depth, m->eu->ctx->gen, block->array_index);
    }
    struct g4_depth_job job = {
        .live = live,
        .minimum = range->minimum,
        .maximum = range->maximum,
        .back_facing = block->back_facing,
        .update = m->last,
        .z = z,
        .references = references(m),
    };
    memcpy(job.x, x, sizeof job.x);
    memcpy(job.y, y, sizeof job.y);
    return depth->test(depth, &m->eu->worker->port, &job);
}

/* The depths that the shader computed, if the message has them. */
static void put_computed_depth(const struct write_message_gen7 *m, float z[PIXELS]) {
    for (uint32_t h = 0; h < m->pixels / HALF && m->source_depth != NONE; h++) {
        memcpy(z + (size_t)HALF * h, payload(m, m->source_depth + h), HALF * sizeof z[0]);
    }
}

static uint32_t late_test(const struct write_message_gen7 *m, const struct g4_pixels *pixels, uint32_t live) {
    float z[PIXELS] = {0};

    memcpy(z, m->block->z + m->first, m->pixels * sizeof z[0]);
    put_computed_depth(m, z);
    return late_test_at(m, pixels->x, pixels->y, z, live);
}

/* ---- counters ---- */

static uint32_t count_of(uint32_t pixels) {
    return (uint32_t)__builtin_popcount(pixels);
}

static void count_pixels(const struct write_message_gen7 *m, const struct g4_pixels *pixels, uint32_t live,
                         uint32_t tested, uint32_t past, uint32_t passed, uint32_t colored) {
    const struct g4_pixel_fate fate = {
        .live = live,
        .tested = tested,
        .past = past,
        .passed = passed,
        .colored = colored,
        .last = m->last,
        .late = tests_late(m),
        .z = true,
        .visible = m->block->iz_mode != G4_IZ_P,
    };
    g4_cc_count_pixels(m->eu, m->target, pixels, &fate);
}

/* The pixels that pass the stencil test alone, of those that enter the late tests. */
static uint32_t past_stencil(const struct write_message_gen7 *m, const struct g4_pixels *pixels, uint32_t tested) {
    const struct g4_pixel_block *const block = m->block;
    return tests_late(m) ? g4_cc_stencil_passes(m->eu->worker, pixels->x, pixels->y, tested, block->array_index,
                                                block->back_facing, references(m))
                         : tested;
}

/* ---- one sample a pixel ---- */

/* Alpha of render target 0 is tested, whichever target the message writes, if the message has it. */
static uint32_t test_alpha(const struct write_message_gen7 *m, const struct g4_pixels *pixels, uint32_t live) {
    const float *alpha[2] = {pixels->color[0][3], pixels->color[1][3]};
    if (m->source0_alpha != NONE) {
        alpha[0] = payload(m, m->source0_alpha);
        alpha[1] = is_simd16(m) ? payload(m, m->source0_alpha + 1) : NULL;
    } else if (m->target->integer) {
        return live;
    }
    return g4_cc_alpha_test(&m->cc->state.alpha_test, alpha, live);
}

/* Alpha to one: of every target. */
static void make_opaque(const struct write_message_gen7 *m, struct g4_pixels *pixels) {
    static const float one[HALF] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (m->cc->state.alpha_to_one && !m->target->integer) {
        pixels->color[0][3] = one;
        pixels->color[1][3] = pixels->color[1][3] ? one : NULL;
    }
}

static void write_pixels(const struct write_message_gen7 *m, struct g4_pixels *pixels) {
    struct g4_hooks *const hooks = m->eu->hooks;
    const bool counted = m->eu->counters != NULL;
    const uint32_t live = pixels->live;
    const int watched = hooks ? hooks->pixels_started(hooks, pixels) : -1;
    uint32_t tested = live;

    if (m->sample_mask != NONE) {
        tested &= masked(m);
    }
    if (m->cc->state.alpha_test.enable) {
        tested = test_alpha(m, pixels, tested);
    }
    make_opaque(m, pixels);
    const uint32_t past = counted ? past_stencil(m, pixels, tested) : 0;
    const uint32_t passed = tested ? late_test(m, pixels, tested) : 0;
    if (m->last && m->block->iz_mode != G4_IZ_P && m->cc->wm_statistics) {
        m->eu->ps_depth_count += count_of(passed);
    }
    pixels->live = passed;
    if (passed && m->target->write) {
        m->target->write(m->target, &m->eu->worker->port, pixels);
    }
    if (hooks) {
        const float z = watched >= 0 ? m->block->z[m->first + (uint32_t)watched] : 0;
        hooks->pixels_ended(hooks, pixels, tested, passed, passed, z);
    }
    if (counted) {
        count_pixels(m, pixels, live, tested, past, passed, passed);
    }
}

/* ---- several samples a pixel ---- */

/* The samples of alpha to coverage: more of them with more alpha, spread over the pixel (docs/decisions.md 98).
 */
static uint32_t alpha_samples(float alpha) {
    enum {
        FULL = 16,
        FOURS = 0xfea80, /* nibbles whose bits grow with the multiple of four */
    };
    const float in_range = alpha > 0 ? alpha < 1 ? alpha : 1 : 0;
    const uint32_t n = (uint32_t)(in_range * FULL);
    return 0x1111 * ((FOURS >> (n & ~3u)) & 15) | 0x0808 * (n & 2) | 0x0100 * (n & 1);
}

/* The samples of each pixel that the message writes, before depth and stencil.  A mask from the shader turns alpha to
 * coverage off (docs/decisions.md 149).
 */
static void find_samples(const struct write_message_gen7 *m, const struct g4_pixels *pixels, uint16_t samples[PIXELS]) {
    const bool has_alpha = m->source0_alpha != NONE || !m->target->integer;
    const bool covers = m->cc->state.alpha_to_coverage && m->sample_mask == NONE && has_alpha;

    for (uint32_t i = 0; i < m->pixels; i++) {
        uint32_t mask = pixels->live >> i & 1 ? m->block->samples[m->first + i] & shader_mask(m, i) : 0;
        if (covers && mask) {
            const float *const alpha =
                m->source0_alpha != NONE ? payload(m, m->source0_alpha + i / HALF) : pixels->color[i / HALF][3];
            mask &= alpha_samples(alpha[i % HALF]);
        }
        samples[i] = (uint16_t)mask;
    }
}

static uint32_t pixels_with(const uint16_t samples[PIXELS], uint32_t s) {
    uint32_t live = 0;
    for (uint32_t i = 0; i < PIXELS; i++) {
        live |= (uint32_t)(samples[i] >> s & 1) << i;
    }
    return live;
}

/* Depth and stencil of sample s of pixels. */
static uint32_t late_test_sample(const struct write_message_gen7 *m, const struct g4_pixels *pixels, uint32_t s,
                                 uint32_t live) {
    const struct g4_multisampling *const multi = &m->cc->multisampling;
    float z[PIXELS] = {0};
    uint16_t x[4], y[4];

    if (!tests_late(m)) {
        return live;
    }
    for (uint32_t i = 0; i < 4; i++) {
        x[i] = pixels->x[i];
        y[i] = pixels->y[i];
        g4_sample_depths(multi, &m->block->depth, s, x[i], y[i], z + (size_t)4 * i);
        g4_sample_place(multi->samples, s, &x[i], &y[i]);
    }
    put_computed_depth(m, z);
    return late_test_at(m, x, y, z, live);
}

/* The pixels whose sample s passes the stencil test alone. */
static uint32_t past_stencil_of_sample(const struct write_message_gen7 *m, const struct g4_pixels *pixels, uint32_t s,
                                       uint32_t tested) {
    struct g4_pixels at = *pixels;

    for (uint32_t i = 0; i < 4; i++) {
        g4_sample_place(m->cc->multisampling.samples, s, &at.x[i], &at.y[i]);
    }
    return past_stencil(m, &at, tested);
}

/* The pixels among `live` of which the thread has sample s. */
static uint32_t shaded_in(const struct write_message_gen7 *m, uint32_t live, uint32_t s) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < m->pixels; i++) {
        found |= (uint32_t)(m->block->samples[m->first + i] >> s & 1) << i;
    }
    return found & live;
}

/* Whether a message writes the same to all samples of a pixel. */
static void note_samples(const struct write_message_gen7 *m, const struct g4_pixels *pixels,
                         const uint16_t written[PIXELS]) {
    const uint32_t all = (1u << m->cc->multisampling.samples) - 1;
    for (uint32_t i = 0; i < m->pixels; i++) {
        if (written[i]) {
            g4_control_surface_write(m->eu->worker, m->target, g4_pixels_x(pixels, i), g4_pixels_y(pixels, i),
                                     written[i] == all);
        }
    }
}

/* Give pixels that are only marked as clear their color, before some of their samples are written. */
static void fill_clear_pixels(const struct write_message_gen7 *m, const struct g4_pixels *pixels,
                              const struct g4_target_key *key, const struct g4_blend_state *blend, uint32_t live) {
    struct g4_worker *const worker = m->eu->worker;
    const uint32_t clear = g4_control_surface_find_clear(worker, m->target, pixels, live);

    for (uint32_t s = 0; s < m->cc->multisampling.samples && clear; s++) {
        struct g4_target_key own = *key;
        own.sample = (uint8_t)s;
        struct g4_target *const target = g4_target_get(worker, m->gang->dispatch, &own, blend);
        if (target->write) {
            g4_control_surface_fill(worker, target, pixels, clear);
        }
    }
}

/* Write the pixels whose sample s passes; returns those that the target takes. */
static uint32_t write_sample(const struct write_message_gen7 *m, struct g4_pixels *pixels,
                             const struct g4_target_key *key, const struct g4_blend_state *blend, uint32_t s,
                             uint32_t passed, uint32_t *filled) {
    struct g4_worker *const worker = m->eu->worker;
    struct g4_target_key own = *key;
    own.sample = (uint8_t)s;
    struct g4_target *const target = passed ? g4_target_get(worker, m->gang->dispatch, &own, blend) : NULL;

    if (!target || !target->write) {
        return 0;
    }
    fill_clear_pixels(m, pixels, key, blend, passed & ~*filled);
    *filled |= passed;
    pixels->live = passed;
    target->write(target, &worker->port, pixels);
    return passed;
}

/* `live`: the pixels of the message before the alpha test. */
static void write_samples(const struct write_message_gen7 *m, struct g4_pixels *pixels, uint32_t live,
                          const struct g4_target_key *key, const struct g4_blend_state *blend) {
    const struct g4_counters *const counters = m->eu->counters;
    uint16_t samples[PIXELS] = {0};
    uint16_t written[PIXELS] = {0};
    uint32_t filled = 0;

    find_samples(m, pixels, samples);
    make_opaque(m, pixels);
    for (uint32_t s = 0; s < m->cc->multisampling.samples; s++) {
        const uint32_t tested = pixels_with(samples, s);
        const uint32_t past = counters ? past_stencil_of_sample(m, pixels, s, tested) : 0;
        const uint32_t passed = tested ? late_test_sample(m, pixels, s, tested) : 0;
        if (m->last && m->block->iz_mode != G4_IZ_P && m->cc->wm_statistics) {
            m->eu->ps_depth_count += count_of(passed);
        }
        const uint32_t stored = write_sample(m, pixels, key, blend, s, passed, &filled);
        for (uint32_t i = 0; i < m->pixels && stored; i++) {
            written[i] |= (uint16_t)((stored >> i & 1) << s);
        }
        if (counters) {
            count_pixels(m, pixels, shaded_in(m, live, s), tested, past, passed, stored);
        }
    }
    note_samples(m, pixels, written);
}

/* Alpha test, then the samples. */
static void write_multisampled(const struct write_message_gen7 *m, struct g4_pixels *pixels,
                               const struct g4_target_key *key, const struct g4_blend_state *blend) {
    const uint32_t live = pixels->live;

    if (m->cc->state.alpha_test.enable) {
        pixels->live = test_alpha(m, pixels, live);
    }
    write_samples(m, pixels, live, key, blend);
}

/* ---- the message ---- */

static void check_target(const struct write_message_gen7 *m) {
    const struct g4_target *const target = m->target;
    if (target->event != G4_EVENTS) {
        report(m, (enum g4_event)target->event, target->event_value);
    }
    if (target->blend && target->dual_source && !is_dual(m)) {
        report(m, G4_EVENT_BAD_STATE, m->send->descriptor); /* the first color serves as the second */
    }
}

static void notify(const struct write_message_gen7 *m, uint32_t live) {
    struct g4_pixel_message message = {
        .gang = m->gang,
        .thread = m->thread,
        .last = m->last,
        .target = m->target,
        .slice = m->block->array_index,
        .live = live << m->first,
        .type = m->type,
        .tests_late = tests_late(m),
        .back_facing = m->block->back_facing,
    };
    memcpy(message.x, m->block->x, sizeof message.x);
    memcpy(message.y, m->block->y, sizeof message.y);
    m->eu->hooks->pixel_message(m->eu->hooks, &message);
}

static void write_thread(struct write_message_gen7 *m, uint32_t index) {
    const struct g4_color_state *const state = &m->cc->state;
    struct g4_target_key key = {.index = index, .array_index = m->block->array_index};
    float replicated[4][HALF];
    float alpha[2][HALF];

    m->header[0] = m->has_header ? g4_payload(m->gang, m->send, 0, m->thread) : NULL;
    m->header[1] = m->has_header ? g4_payload(m->gang, m->send, 1, m->thread) : NULL;
    if (m->has_header) {
        key.render_target = (uint8_t)gen7_render_target_write_header_render_target_index(m->header[0]);
    }
    struct g4_pixels pixels = {.live = live_pixels(m)};
    for (uint32_t s = 0; s < m->pixels / 4; s++) {
        pixels.x[s] = m->block->x[m->first / 4 + s];
        pixels.y[s] = m->block->y[m->first / 4 + s];
    }
    m->target = g4_target_get(m->eu->worker, m->gang->dispatch, &key, &state->target[key.render_target]);
    find_payload(m);
    check_target(m);
    if (pixels.live == 0) {
        return;
    }
    find_colors(m, &pixels, replicated);
    if (m->block->antialias) {
        scale_alpha(m, &pixels, alpha);
    }
    if (m->eu->hooks) {
        notify(m, pixels.live);
    }
    if (m->cc->multisampling.samples > 1) {
        write_multisampled(m, &pixels, &key, &state->target[key.render_target]);
    } else {
        write_pixels(m, &pixels);
    }
}

/* ---- the most common messages: colors of sixteen or eight pixels, nothing to test ---- */

/* Whether colors are all that the messages of a draw have, and nothing but the target decides what is written. */
static bool has_colors_only(const struct write_message_gen7 *m) {
    const struct g4_windower_state *const state = &m->cc->windower;
    const uint32_t colors = 4 * m->pixels / HALF;
    return (m->type == GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD16 ||
            m->type == GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD8) &&
           !m->has_header && m->send->mlen == colors && !state->writes_sample_mask &&
           state->computed_depth == G4_DEPTH_NOT_COMPUTED && !state->computes_stencil && !m->eu->observed &&
           m->cc->multisampling.samples <= 1 && !m->cc->state.alpha_test.enable && !m->cc->state.alpha_to_one;
}

/* Four subspans side by side, with the first one lit. */
static bool is_row(const struct write_message_gen7 *m, uint32_t live) {
    const struct g4_pixel_block *const block = m->block;
    return m->pixels == PIXELS && (live & 15) && g4_pixel_map_is_row(block->x, block->y);
}

/* Finds the colors of thread 0.  False: the two registers of a channel do not follow each other. */
static bool find_color_registers(const struct write_message_gen7 *m, struct g4_wide_message *wide) {
    const uint32_t halves = m->pixels / HALF;

    wide->half = halves == 2 ? G4_COLOR_STRIDE : 0;
    for (uint32_t c = 0; c < 4; c++) {
        wide->color[c] = (const float *)g4_payload(m->gang, m->send, halves * c, 0);
        if ((const float *)g4_payload(m->gang, m->send, halves * c + halves - 1, 0) != wide->color[c] + wide->half) {
            return false;
        }
    }
    return true;
}

/* Writes the first threads together.  Returns those that are left, all after the others. */
static uint32_t write_together(struct write_message_gen7 *m, uint32_t index, bool second) {
    struct g4_wide_message wide; /* filled as far as threads have data */
    struct g4_target *target = NULL;
    uint32_t left = m->send->threads;
    wide.threads = wide.rows = 0;
    wide.is_whole = false;
    const bool fast = has_colors_only(m) && find_color_registers(m, &wide);

    for (; fast && left; left &= left - 1) {
        m->thread = __builtin_ctz(left);
        m->block = (const struct g4_pixel_block *)m->gang->unit_data[m->thread] + second;
        const uint32_t live = live_pixels(m);
        const struct g4_target_key key = {.index = index, .array_index = m->block->array_index};
        if (!target) {
            target = g4_target_get(m->eu->worker, m->gang->dispatch, &key, &m->cc->state.target[0]);
        }
        if (!target->wide || !g4_target_is_fast(target) || target->key.array_index != key.array_index ||
            m->block->iz_mode != G4_IZ_P || m->block->antialias) {
            break;
        }
        memcpy(wide.x[m->thread], m->block->x, sizeof m->block->x);
        memcpy(wide.y[m->thread], m->block->y, sizeof m->block->y);
        g4_wide_add(&wide, m->thread, live, is_row(m, live));
    }
    m->cc->recent = wide.threads ? target : NULL;
    return left | g4_wide_write(target, &m->eu->worker->port, &wide);
}

enum g4_status g4_render_target_write_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const uint32_t descriptor = send->descriptor;
    const bool second = gen7_render_cache_data_port_message_slot_group(descriptor) && gang->wide; /* decision 234 */
    struct write_message_gen7 m = {
        .eu = eu,
        .cc = g4_cc_of(eu->worker),
        .gang = gang,
        .send = send,
        .type = gen7_render_cache_data_port_message_render_target_write_type(descriptor),
        .last = gen7_render_cache_data_port_message_last_render_target_select(descriptor),
        .has_header = gen7_render_cache_data_port_message_header_present(descriptor),
    };
    struct g4_port *const port = &eu->worker->port;
    const uint32_t unit = port->unit;

    if (!m.cc || gang->dispatch->unit != G4_UNIT_WM || m.type > GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD8 ||
        send->mlen < 1) {
        g4_report(eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(gang, 0), descriptor);
        return G4_OK;
    }
    m.pixels = is_simd16(&m) ? PIXELS : HALF;
    m.first = m.type == GEN7_RENDER_TARGET_WRITE_TYPE_GEN6_SIMD8_DUAL_SOURCE_HIGH ? HALF : 0;
    const uint32_t index = gen7_render_cache_data_port_message_binding_table_index(descriptor);
    port->unit = G4_UNIT_CC;
    for (uint32_t left = write_together(&m, index, second); left; left &= left - 1) {
        m.thread = __builtin_ctz(left);
        m.block = gang->unit_data[m.thread];
        m.block += second;
        write_thread(&m, index);
    }
    port->unit = unit;
    return G4_OK;
}
