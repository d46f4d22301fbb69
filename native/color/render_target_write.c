/*
 * The render target write message of the data port (965 PRM vol. 4, 5.10.6), executed thread by thread in order.
 */
#include <math.h>

#include "color/pixel_fate.h"
#include "color/state.h"
#include "core/hooks.h"
#include "core/report.h"
#include "hw_messages.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
    SOURCE_DEPTH = G4_PAYLOAD_PS_R1_SOURCE_DEPTH_TO_RENDER_TARGET_MASK,
    DEST_DEPTH = G4_PAYLOAD_PS_R1_DESTINATION_DEPTH_PRESENT_MASK,
    DEST_STENCIL = G4_PAYLOAD_PS_R1_DESTINATION_STENCIL_PRESENT_MASK,
    AA_ALPHA = G4_PAYLOAD_PS_R1_ANTIALIAS_ALPHA_TO_RENDER_TARGET_MASK,
    ALL_FLAGS = SOURCE_DEPTH | DEST_DEPTH | DEST_STENCIL | AA_ALPHA,
    FLAGS = G4_PAYLOAD_PS_R1_SOURCE_DEPTH_TO_RENDER_TARGET_DWORD,
    SUBSPANS = G4_PAYLOAD_PS_R1_SUBSPAN_0_X_DWORD, /* of four dwords with the positions of subspans */
};

/* One thread's message. */
struct message {
    struct g4_eu *eu;
    struct g4_cc *cc;
    struct g4_gang *gang;
    const struct g4_send *send;
    int thread;
    uint32_t type; /* enum g4_render_target_write_type */
    bool last;
    const uint32_t *header[2];
    uint32_t flags;                   /* M1.6 */
    uint32_t aa, color, source_depth; /* payload registers */
    struct g4_target *target;
    uint16_t *alpha_passed; /* pixels that passed the alpha test of an earlier message of the thread */
};

static void report(const struct message *m, enum g4_event event, uint32_t value) {
    g4_report(m->eu->log, event, g4_gang_address(m->gang, m->thread), value);
}

static const float *payload(const struct message *m, uint32_t reg) {
    return (const float *)g4_payload(m->gang, m->send, reg, m->thread);
}

static uint32_t binding_table_index(const struct g4_send *send) {
    return g4_data_port_write_message_binding_table_index(send->descriptor);
}

static struct g4_target *target_of(const struct message *m, uint32_t array_index) {
    const struct g4_target_key key = {.index = binding_table_index(m->send), .array_index = array_index};
    return g4_target_get(m->eu->worker, m->gang->dispatch, &key, &m->cc->state.blend);
}

/* The position of a subspan of M1: the layout of all of them is that of the first. */
static uint16_t subspan_x(const uint32_t *m1, uint32_t subspan) {
    return (uint16_t)g4_payload_ps_r1_subspan_0_x(m1 + subspan);
}

static uint16_t subspan_y(const uint32_t *m1, uint32_t subspan) {
    return (uint16_t)g4_payload_ps_r1_subspan_0_y(m1 + subspan);
}

/* ---- layout ---- */

static uint32_t color_registers(uint32_t type) {
    switch (type) {
    case G4_RENDER_TARGET_WRITE_TYPE_SIMD16_REPLICATED:
        return 1;
    case G4_RENDER_TARGET_WRITE_TYPE_SIMD8_SUBSPANS_01:
        return 4;
    default:
        return 8;
    }
}

static bool is_dual(uint32_t type) {
    return type == G4_RENDER_TARGET_WRITE_TYPE_SIMD8_DUAL_SOURCE_SUBSPANS_01 ||
           type == G4_RENDER_TARGET_WRITE_TYPE_SIMD8_DUAL_SOURCE_SUBSPANS_23;
}

static void find_payload(struct message *m) {
    const uint32_t depth_registers = m->type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16 ? 2 : 1;
    uint32_t next = 2;

    if (m->type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16_REPLICATED && (m->flags & ALL_FLAGS)) {
        report(m, G4_EVENT_RT_FLAGS, m->send->descriptor); /* this type has registers for color only */
        m->flags &= ~(uint32_t)ALL_FLAGS;
    }
    m->aa = next;
    next += (m->flags & (DEST_STENCIL | AA_ALPHA)) ? 1 : 0;
    m->color = next;
    next += color_registers(m->type);
    m->source_depth = next;
    next += (m->flags & SOURCE_DEPTH) ? depth_registers : 0;
    next += (m->flags & DEST_DEPTH) ? depth_registers : 0;
    if (next != m->send->mlen) {
        /* The kernel was compiled for other results of the IZ unit.  M1.6 decides. */
        report(m, G4_EVENT_RT_FLAGS, m->send->descriptor);
    }
}

/* ---- alpha ---- */

static float coverage(const struct message *m, uint32_t slot) {
    const uint32_t *const aa = g4_payload(m->gang, m->send, m->aa, m->thread);
    if (m->eu->ctx->model->quirks.has_8_bit_coverage) {
        return (float)(aa[4 + slot / 4] >> (8 * (slot % 4)) & 255) / 255.0f;
    }
    return (float)(aa[6 + slot / 8] >> (4 * (slot % 8)) & 15) / 15.0f;
}

uint32_t g4_cc_alpha_test(const struct g4_alpha_test *test, const float *const alpha[2], uint32_t live) {
    uint32_t passed = 0;

    for (uint32_t left = live; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        float a = alpha[i / 8][i % 8];
        if (test->unorm8) {
            a = a > 0 ? a : 0;
            a = floorf((a < 1 ? a : 1) * 255.0f + 0.5f);
        }
        passed |= (uint32_t)g4_cc_compare(test->function, a, test->reference) << i;
    }
    return passed;
}

/* ---- stencil and depth after the shader ---- */

static bool tests_late(const struct message *m) {
    return m->cc->depth.test && (m->flags & (SOURCE_DEPTH | DEST_DEPTH | DEST_STENCIL));
}

static uint32_t late_test(const struct message *m, const struct g4_pixels *pixels, uint32_t live) {
    struct g4_depth *const depth = &m->cc->depth;
    const uint32_t viewport = g4_payload_ps_r1_viewport_index(m->header[1]);
    const uint32_t array_index = g4_payload_ps_r1_render_target_array_index(m->header[1]);

    if (!tests_late(m)) {
        return live; /* tested before the shader, or not at all */
    }
    if (array_index != depth->array_index) {
        g4_depth_select(depth, m->eu->ctx->gen, array_index);
    }
    struct g4_depth_job job = {
        .live = live,
        .minimum = m->cc->state.depth_range[viewport].minimum,
        .maximum = m->cc->state.depth_range[viewport].maximum,
        .back_facing = g4_payload_ps_r1_back_facing(m->header[1]),
        .update = m->last,
    };
    float z[2][8] = {{0}};
    if (m->flags & SOURCE_DEPTH) {
        memcpy(z[0], payload(m, m->source_depth), sizeof z[0]);
        if (m->type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16) {
            memcpy(z[1], payload(m, m->source_depth + 1), sizeof z[1]);
        }
        job.z = z[0];
    }
    memcpy(job.x, pixels->x, sizeof job.x);
    memcpy(job.y, pixels->y, sizeof job.y);
    return depth->test(depth, &m->eu->worker->port, &job);
}

/* ---- the pixels ---- */

/* The source depth of pixel `index`; 0 if there is none. */
static float source_depth(const struct message *m, int index) {
    const bool present = index >= 0 && (m->flags & SOURCE_DEPTH);
    return present ? payload(m, m->source_depth + (uint32_t)index / 8)[index % 8] : 0.0f;
}

/* The pixels that pass the stencil test alone, of those that enter the late tests. */
static uint32_t past_stencil(const struct message *m, const struct g4_pixels *pixels, uint32_t tested) {
    return tests_late(m) ? g4_cc_stencil_passes(m->eu->worker, pixels->x, pixels->y, tested,
                                                g4_payload_ps_r1_render_target_array_index(m->header[1]),
                                                g4_payload_ps_r1_back_facing(m->header[1]), NULL)
                         : tested;
}

/* Tests and writes pixels.  `first` is the number of the first pixel in the thread.  If `counting`, counters may be
 * attached. */
ALWAYS_INLINE void write_pixels(const struct message *m, struct g4_pixels *pixels, uint32_t first,
                                struct g4_hooks *hooks, bool counting) {
    const bool counted = counting && m->eu->counters;
    const uint32_t live = pixels->live;
    const struct g4_color_state *const state = &m->cc->state;
    const bool counts = m->last && (m->flags & (SOURCE_DEPTH | DEST_DEPTH | DEST_STENCIL));
    float alpha[2][8];
    uint32_t colored = pixels->live;

    const int watched = hooks ? hooks->pixels_started(hooks, pixels) : -1;

    if (m->flags & AA_ALPHA) {
        for (uint32_t i = 0; i < 16; i++) {
            const bool present = i < 8 || pixels->color[1][3];
            alpha[i / 8][i % 8] = present ? pixels->color[i / 8][3][i % 8] * coverage(m, first + i) : 0;
        }
        pixels->color[0][3] = alpha[0];
        pixels->color[1][3] = alpha[1];
    }
    uint32_t tested = colored;
    if (state->alpha_test.enable) {
        if (!m->target->integer) {
            const float *const tried[2] = {pixels->color[0][3], pixels->color[1][3]};
            colored = g4_cc_alpha_test(&state->alpha_test, tried, pixels->live);
        }
        /* Depth and stencil change where the alpha test of any target passed. */
        tested = colored | (*m->alpha_passed >> first & pixels->live);
        *m->alpha_passed |= (uint16_t)(colored << first);
    }
    uint32_t passed = tested;
    const uint32_t past = counted ? past_stencil(m, pixels, tested) : 0;
    if (tested) {
        passed = late_test(m, pixels, tested);
        if (counts && state->statistics) {
            m->eu->ps_depth_count += (uint32_t)__builtin_popcount(passed);
        }
        colored &= passed;
    }
    pixels->live = colored;
    if (colored && m->target->write) {
        m->target->write(m->target, &m->eu->worker->port, pixels);
    }
    if (hooks) {
        hooks->pixels_ended(hooks, pixels, tested, passed, colored, source_depth(m, watched));
    }
    if (counted) {
        const struct g4_pixel_fate fate = {
            .live = live,
            .tested = tested,
            .past = past,
            .passed = passed,
            .colored = colored,
            .last = m->last,
            .late = tests_late(m),
            .z = m->flags & SOURCE_DEPTH,
            .visible = m->flags & (SOURCE_DEPTH | DEST_DEPTH | DEST_STENCIL),
        };
        g4_cc_count_pixels(m->eu, m->target, pixels, &fate);
    }
}

/* Whether two subspans share a pixel.  The windower never dispatches such subspans, but kernels can send any position.
 */
static bool overlap(const struct g4_pixels *pixels) {
    for (uint32_t a = 0; a < 4; a++) {
        for (uint32_t b = a + 1; b < 4; b++) {
            const int dx = pixels->x[a] - pixels->x[b];
            const int dy = pixels->y[a] - pixels->y[b];
            if (dx > -2 && dx < 2 && dy > -2 && dy < 2 && (pixels->live >> (4 * a) & 15) &&
                (pixels->live >> (4 * b) & 15)) {
                return true;
            }
        }
    }
    return false;
}

/* Finds the colors of all pixels.  Messages of eight pixels have no second half. */
static void find_colors(const struct message *m, struct g4_pixels *pixels, float replicated[4][8]) {
    for (uint32_t c = 0; c < 4; c++) {
        if (m->type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16_REPLICATED) {
            for (uint32_t i = 0; i < 8; i++) {
                memcpy(&replicated[c][i], payload(m, m->color) + c, sizeof(float));
            }
            pixels->color[0][c] = pixels->color[1][c] = replicated[c];
        } else {
            pixels->color[0][c] = payload(m, m->color + c);
            pixels->color[1][c] = m->type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16 ? payload(m, m->color + 4 + c) : NULL;
        }
        pixels->color1[0][c] = is_dual(m->type) ? payload(m, m->color + 4 + c) : pixels->color[0][c];
        pixels->color1[1][c] = pixels->color[1][c];
    }
}

/* Writes two or four subspans from `first` on. */
ALWAYS_INLINE void write_subspans(const struct message *m, uint32_t first, uint32_t count, struct g4_hooks *hooks,
                                  bool counting) {
    const uint32_t *const m1 = m->header[1];
    float replicated[4][8];
    const uint32_t live = g4_render_target_write_header_pixel_enables(m->header[0]) >> (4 * first);
    struct g4_pixels pixels = {.live = live & ((1u << (4 * count)) - 1)};

    if (pixels.live == 0) {
        return;
    }
    for (uint32_t s = 0; s < count; s++) {
        pixels.x[s] = subspan_x(m1, first + s);
        pixels.y[s] = subspan_y(m1, first + s);
    }
    find_colors(m, &pixels, replicated);
    if (g4_pixel_map_side_by_side(pixels.x, pixels.y) || !overlap(&pixels)) {
        write_pixels(m, &pixels, 4 * first, hooks, counting);
        return;
    }
    for (uint32_t s = 0; s < count; s++) {
        struct g4_pixels single = pixels;
        single.live &= 15u << (4 * s);
        write_pixels(m, &single, 4 * first, hooks, counting);
    }
}

/* ---- the message ---- */

static void check_target(const struct message *m) {
    const struct g4_target *const target = m->target;
    if (target->event != G4_EVENTS) {
        report(m, (enum g4_event)target->event, target->event_value);
    }
    if (target->blend && target->dual_source && !is_dual(m->type)) {
        report(m, G4_EVENT_BAD_STATE, m->send->descriptor); /* the first color serves as the second */
    }
}

/* Writes the subspans of a message. */
ALWAYS_INLINE void write_message(const struct message *m, struct g4_hooks *hooks, bool counting) {
    switch (m->type) {
    case G4_RENDER_TARGET_WRITE_TYPE_SIMD16:
    case G4_RENDER_TARGET_WRITE_TYPE_SIMD16_REPLICATED:
        write_subspans(m, 0, 4, hooks, counting);
        break;
    case G4_RENDER_TARGET_WRITE_TYPE_SIMD8_DUAL_SOURCE_SUBSPANS_23:
        write_subspans(m, 2, 2, hooks, counting);
        break;
    default:
        write_subspans(m, 0, 2, hooks, counting);
        break;
    }
}

/* With hooks.  Out of line, so that the usual path stays compact. */
static __attribute__((noinline, cold)) void write_watched(const struct message *m) {
    struct g4_hooks *const hooks = m->eu->hooks;
    struct g4_pixel_message message = {
        .gang = m->gang,
        .thread = m->thread,
        .last = m->last,
        .target = m->target,
        .slice = g4_payload_ps_r1_render_target_array_index(m->header[1]),
        .live = g4_render_target_write_header_pixel_enables(m->header[0]),
        .type = m->type,
        .tests_late = tests_late(m),
        .back_facing = g4_payload_ps_r1_back_facing(m->header[1]),
    };
    for (uint32_t s = 0; s < 4; s++) {
        message.x[s] = subspan_x(m->header[1], s);
        message.y[s] = subspan_y(m->header[1], s);
    }
    hooks->pixel_message(hooks, &message);
    write_message(m, hooks, true);
}

/* With counters and without hooks. */
static __attribute__((noinline, cold)) void write_counted(const struct message *m) {
    write_message(m, NULL, true);
}

static void write_observed(const struct message *m) {
    if (m->eu->hooks) {
        write_watched(m);
    } else {
        write_counted(m);
    }
}

/* ---- the most common messages: colors of sixteen or eight pixels, nothing to test ---- */

enum {
    HEADER = 2, /* registers */
};

static bool is_eight(const struct message *m) {
    return m->type == G4_RENDER_TARGET_WRITE_TYPE_SIMD8_SUBSPANS_01;
}

static bool can_write_fast(const struct message *m) {
    return (m->type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16 || is_eight(m)) &&
           m->send->mlen == HEADER + color_registers(m->type) && !m->eu->observed && !m->cc->state.alpha_test.enable;
}

static __attribute__((noinline)) struct g4_target *usable_target(const struct message *m, uint32_t array_index) {
    struct g4_target *const target = target_of(m, array_index);
    const bool good = g4_target_is_fast(target);
    m->cc->recent = good ? target : NULL;
    return good ? target : NULL;
}

/* Returns the target of a thread whose header has no flags; NULL if it has some, or if the target is not usable. */
static inline struct g4_target *fast_target(const struct message *m, const uint32_t *m1, struct g4_target *last) {
    const uint32_t array_index = g4_payload_ps_r1_render_target_array_index(m1);
    if (m1[FLAGS] & ALL_FLAGS) {
        return NULL;
    }
    return last && last->key.array_index == array_index ? last : usable_target(m, array_index);
}

/* The target that was written last, if the message names the same entry of the binding table. */
static struct g4_target *recent_target(const struct message *m) {
    struct g4_target *const recent = m->cc->recent;
    const bool same = recent && recent->key.index == binding_table_index(m->send) && g4_target_is_fast(recent);
    return same ? recent : NULL;
}

/* Subspans side by side, with the first one lit; x does not wrap around. */
static bool is_row(const uint32_t *m1, uint32_t live) {
    const uint32_t *const position = m1 + SUBSPANS;
    return (live & 15) && subspan_x(m1, 0) < UINT16_MAX - 6 && position[1] - position[0] == 2 &&
           position[2] - position[0] == 4 && position[3] - position[0] == 6;
}

/* True if the registers of the colors follow each other. */
static bool is_in_order(const struct message *m) {
    const uint32_t last = HEADER + color_registers(m->type) - 1;
    return ((m->send->mrf + last) & (G4_MRF_COUNT - 1)) >= last;
}

/* The subspans and lit pixels of a thread. */
static void find_subspans(const struct message *m, const uint32_t *m1, uint32_t live, struct g4_pixels *pixels) {
    pixels->live = is_eight(m) ? live & 0xff : live;
    for (uint32_t s = 0; s < 4; s++) {
        pixels->x[s] = subspan_x(m1, s);
        pixels->y[s] = subspan_y(m1, s);
    }
}

/* False: its subspans share pixels. */
static inline bool write_fast(const struct message *m, struct g4_target *target, uint32_t live, const uint32_t *m1,
                              bool in_order) {
    enum {
        REGISTER = sizeof(union g4_reg) / sizeof(float)
    };
    struct g4_pixels pixels;

    find_subspans(m, m1, live, &pixels);
    if (!is_row(m1, live) && overlap(&pixels)) {
        return false;
    }
    const uint32_t second = is_eight(m) ? 0 : 4; /* messages of eight pixels write none of the other half */
    if (in_order) {
        const float *const first = payload(m, HEADER);
        for (uint32_t c = 0; c < 4; c++) {
            pixels.color[0][c] = first + REGISTER * c;
            pixels.color[1][c] = first + REGISTER * (second + c);
        }
    } else {
        for (uint32_t c = 0; c < 4; c++) {
            pixels.color[0][c] = payload(m, HEADER + c);
            pixels.color[1][c] = payload(m, HEADER + second + c);
        }
    }
    target->write(target, &m->eu->worker->port, &pixels);
    return true;
}

static void write_thread(struct message *m) {
    struct g4_pixel_block *const block = m->gang->unit_data[m->thread];

    m->header[0] = g4_payload(m->gang, m->send, 0, m->thread);
    m->header[1] = g4_payload(m->gang, m->send, 1, m->thread);
    m->flags = m->header[1][FLAGS];
    m->alpha_passed = block ? &block->alpha_passed : &m->cc->alpha_passed[m->thread];
    m->target = target_of(m, g4_payload_ps_r1_render_target_array_index(m->header[1]));
    find_payload(m);
    check_target(m);
    if (m->eu->observed) {
        write_observed(m);
    } else {
        write_message(m, NULL, false);
    }
    if (m->last) {
        *m->alpha_passed = 0;
    }
}

/* Writes threads one by one.  `target` is the fast target of the first thread, if it is known. */
static void write_each(struct message *m, uint32_t threads, bool fast, struct g4_target *target) {
    const union g4_reg *const m0 = g4_payload_register(m->gang, m->send, 0);
    const union g4_reg *const headers = g4_payload_register(m->gang, m->send, 1);
    const bool in_order = is_in_order(m);

    for (; threads; threads &= threads - 1) {
        m->thread = __builtin_ctz(threads);
        const uint32_t *const m1 = headers->ud[m->thread];
        const uint32_t live = g4_render_target_write_header_pixel_enables(m0->ud[m->thread]);
        target = fast ? fast_target(m, m1, target) : NULL;
        if (!target || (live && !write_fast(m, target, live, m1, in_order))) {
            write_thread(m);
        }
    }
}

/* Whether this is the last message of a gang of whole rows, and names all of their pixels. */
static bool has_whole_rows(const struct message *m, uint32_t threads) {
    return m->gang->rows.in_header && m->send->eot && !is_eight(m) && threads == (1u << G4_GANG_THREADS) - 1;
}

static void add_whole_rows(const struct g4_whole_rows *rows, struct g4_wide_message *wide) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        wide->x[t][0] = (uint16_t)(rows->x + t % 4 * 8);
        wide->y[t][0] = (uint16_t)(rows->y + t / 4 * 2);
        g4_wide_add(wide, t, UINT16_MAX, true);
    }
}

/* Adds the first threads, until one cannot be written with those before it.  Returns the others. */
static uint32_t add_threads(const struct message *m, uint32_t threads, const struct g4_target *target,
                            struct g4_wide_message *wide) {
    const union g4_reg *const m0 = g4_payload_register(m->gang, m->send, 0);
    const union g4_reg *const headers = g4_payload_register(m->gang, m->send, 1);
    const bool eight = is_eight(m);
    uint32_t left = threads;

    for (; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        const uint32_t *const m1 = headers->ud[t];
        uint32_t live = g4_render_target_write_header_pixel_enables(m0->ud[t]);
        const bool row = !eight && is_row(m1, live);
        if ((m1[FLAGS] & ALL_FLAGS) || g4_payload_ps_r1_render_target_array_index(m1) != target->key.array_index) {
            break;
        }
        if (row) {
            wide->x[t][0] = subspan_x(m1, 0);
            wide->y[t][0] = subspan_y(m1, 0);
        } else {
            struct g4_pixels pixels;
            find_subspans(m, m1, live, &pixels);
            if (overlap(&pixels)) {
                break;
            }
            memcpy(wide->x[t], pixels.x, sizeof pixels.x);
            memcpy(wide->y[t], pixels.y, sizeof pixels.y);
            live = pixels.live;
        }
        g4_wide_add(wide, t, live, row);
    }
    return left;
}

/* Writes the first threads of a fast message together to `target`, the first thread's.  Returns the others, which
 * all follow these. */
static __attribute__((noinline)) uint32_t write_together(struct message *m, uint32_t threads,
                                                         struct g4_target *target) {
    struct g4_wide_message wide; /* filled as far as threads have data: clearing it costs a tenth of a plain write */
    uint32_t left = 0;

    wide.threads = wide.rows = 0;
    wide.is_whole = has_whole_rows(m, threads);
    if (wide.is_whole) {
        add_whole_rows(&m->gang->rows, &wide);
    } else {
        left = add_threads(m, threads, target, &wide);
    }
    m->thread = 0;
    wide.half = is_eight(m) ? 0 : (size_t)4 * G4_COLOR_STRIDE;
    for (uint32_t c = 0; c < 4; c++) {
        wide.color[c] = payload(m, HEADER + c);
    }
    return left | g4_wide_write(target, &m->eu->worker->port, &wide);
}

enum g4_status g4_render_target_write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct message m = {
        .eu = eu,
        .cc = g4_cc_of(eu->worker),
        .gang = gang,
        .send = send,
        .type = g4_data_port_write_message_render_target_write_type(send->descriptor),
        .last = g4_data_port_write_message_last_render_target_select(send->descriptor),
    };
    const uint32_t index = binding_table_index(send);
    struct g4_port *const port = &eu->worker->port;
    const uint32_t unit = port->unit;

    if (!m.cc || gang->dispatch->unit != G4_UNIT_WM || m.type > G4_RENDER_TARGET_WRITE_TYPE_SIMD8_SUBSPANS_01 ||
        index == 255 || send->mlen < 3) {
        g4_report(eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(gang, 0), send->descriptor);
        return G4_OK;
    }
    if (is_dual(m.type) && !eu->ctx->model->quirks.has_dual_source_messages) {
        g4_report(eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(gang, 0), send->descriptor);
    }
    port->unit = G4_UNIT_CC;
    const bool fast = can_write_fast(&m);
    uint32_t threads = send->threads;
    struct g4_target *target = NULL;
    if (fast && threads) {
        m.thread = __builtin_ctz(threads);
        target = fast_target(&m, g4_payload(gang, send, 1, m.thread), recent_target(&m));
        if (target && target->wide && is_in_order(&m)) {
            threads = write_together(&m, threads, target);
        }
    }
    write_each(&m, threads, fast, target);
    port->unit = unit;
    return G4_OK;
}
