/*
 * The render target write of the data port (spec/30 3.11 and 3.16, spec/60 4.8): what a message says, thread by thread
 * in order, two subspans at a time.
 */
#include <math.h>

#include "../ff/wm.h"
#include "../report.h"
#include "state.h"

enum {
    ALL_FLAGS = 15 << 26,
    SOURCE_DEPTH = 1 << 29,
    DEST_DEPTH = 1 << 28,
    DEST_STENCIL = 1 << 27,
    AA_ALPHA = 1 << 26,
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
    uint16_t *alpha_passed; /* pixels that an earlier message of the thread let through */
};

static void report(const struct message *m, enum g4_event event, uint32_t value) {
    g4_report(m->eu->log, event, g4_gang_address(m->gang, m->thread), value);
}

static const float *payload(const struct message *m, uint32_t reg) {
    return (const float *)g4_payload(m->gang, m->send, reg, m->thread);
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
        report(m, G4_EVENT_RT_FLAGS, m->send->descriptor); /* has room for colour only */
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
        /* The compiler's idea of the IZ table is not ours.  M1.6 is what counts (spec/30 5.2). */
        report(m, G4_EVENT_RT_FLAGS, m->send->descriptor);
    }
}

/* ---- alpha ---- */

static float coverage(const struct message *m, uint32_t slot) {
    const uint32_t *const aa = g4_payload(m->gang, m->send, m->aa, m->thread);
    if (g4_is_gen45(m->eu->ctx->gen)) {
        return (float)(aa[4 + slot / 4] >> (8 * (slot % 4)) & 255) / 255.0f;
    }
    return (float)(aa[6 + slot / 8] >> (4 * (slot % 8)) & 15) / 15.0f;
}

static bool compare(uint32_t function, float a, float b) {
    switch (function) {
    case G4_COMPARE_FUNCTION_NEVER:
        return false;
    case G4_COMPARE_FUNCTION_LESS:
        return a < b;
    case G4_COMPARE_FUNCTION_EQUAL:
        return a == b;
    case G4_COMPARE_FUNCTION_LEQUAL:
        return a <= b;
    case G4_COMPARE_FUNCTION_GREATER:
        return a > b;
    case G4_COMPARE_FUNCTION_NOTEQUAL:
        return a != b;
    case G4_COMPARE_FUNCTION_GEQUAL:
        return a >= b;
    default:
        return true;
    }
}

static uint32_t alpha_test(const struct g4_color_calc_state *state, const float alpha[8], uint32_t live) {
    const bool bytes = state->alpha_test_format == G4_ALPHA_TEST_FORMAT_UNORM8;
    const float reference =
        bytes ? (float)state->alpha_reference_value_as_unorm8 : state->alpha_reference_value_as_float32;
    uint32_t passed = 0;

    for (uint32_t i = 0; i < 8; i++) {
        float a = alpha[i];
        if (bytes) {
            a = a > 0 ? a : 0;
            a = floorf((a < 1 ? a : 1) * 255.0f + 0.5f);
        }
        passed |= (uint32_t)compare(state->alpha_test_function, a, reference) << i;
    }
    return passed & live;
}

/* ---- stencil and depth after the shader ---- */

static uint32_t late_test(const struct message *m, const struct g4_octet *octet, uint32_t half, uint32_t live) {
    struct g4_depth *const depth = &m->cc->depth;
    const uint32_t viewport = m->header[1][7] >> 27 & 15;
    const uint32_t array_index = m->header[1][7] >> 16 & 0x7ff;

    if (!depth->test || !(m->flags & (SOURCE_DEPTH | DEST_DEPTH | DEST_STENCIL))) {
        return live; /* done before the shader, or not at all */
    }
    if (array_index != depth->array_index) {
        g4_depth_select(depth, m->eu->ctx->gen, array_index);
    }
    const uint32_t second = m->type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16 ? half : 0;
    const struct g4_depth_job job = {
        .live = live,
        .x = {octet->x[0], octet->x[1]},
        .y = {octet->y[0], octet->y[1]},
        .z = (m->flags & SOURCE_DEPTH) ? payload(m, m->source_depth + second) : NULL,
        .minimum = m->cc->viewport[viewport].minimum_depth,
        .maximum = m->cc->viewport[viewport].maximum_depth,
        .back_facing = m->header[1][6] >> 31,
        .update = m->last,
    };
    return depth->test(depth, &m->eu->worker->port, &job);
}

/* ---- two subspans ---- */

/* Spec/30 3.11. `octet->color` may point at the registers themselves. */
static void write_pixels(const struct message *m, struct g4_octet *octet, uint32_t half) {
    const struct g4_color_calc_state *const state = &m->cc->state;
    const bool counts = m->last && (m->flags & (SOURCE_DEPTH | DEST_DEPTH | DEST_STENCIL));
    float alpha[8];
    uint32_t colored = octet->live;

    if (m->flags & AA_ALPHA) {
        for (uint32_t i = 0; i < 8; i++) {
            alpha[i] = octet->color[3][i] * coverage(m, 8 * half + i);
        }
        octet->color[3] = alpha;
    }
    uint32_t tested = colored;
    if (state->alpha_test_enable) {
        if (!m->target->integer) {
            colored = alpha_test(state, octet->color[3], octet->live);
        }
        /* Depth and stencil change where any target's alpha passed (WM-83). */
        tested = colored | (*m->alpha_passed >> (8 * half) & octet->live);
        *m->alpha_passed |= (uint16_t)(colored << (8 * half));
    }
    if (tested) {
        const uint32_t passed = late_test(m, octet, half, tested);
        if (counts && state->statistics_enable) {
            m->eu->ps_depth_count += (uint32_t)__builtin_popcount(passed);
        }
        colored &= passed;
    }
    octet->live = colored;
    if (colored && m->target->write) {
        m->target->write(m->target, &m->eu->worker->port, octet);
    }
}

/* Do the two subspans share a pixel?  Never in what the windower dispatches, but kernels can say anything. */
static bool overlap(const struct g4_octet *octet) {
    const int dx = octet->x[0] - octet->x[1];
    const int dy = octet->y[0] - octet->y[1];
    return dx > -2 && dx < 2 && dy > -2 && dy < 2 && (octet->live & 0x0f) && (octet->live & 0xf0);
}

static void write_half(const struct message *m, uint32_t half) {
    const uint32_t *const m1 = m->header[1];
    const uint32_t first = m->color + (m->type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16 ? 4 * half : 0);
    float replicated[4][8];
    struct g4_octet octet = {
        .x = {(uint16_t)m1[2 + 2 * half], (uint16_t)m1[3 + 2 * half]},
        .y = {(uint16_t)(m1[2 + 2 * half] >> 16), (uint16_t)(m1[3 + 2 * half] >> 16)},
        .live = m->header[0][0] >> (8 * half) & 0xff,
    };

    if (octet.live == 0) {
        return;
    }
    for (uint32_t c = 0; c < 4; c++) {
        if (m->type == G4_RENDER_TARGET_WRITE_TYPE_SIMD16_REPLICATED) {
            for (uint32_t i = 0; i < 8; i++) {
                memcpy(&replicated[c][i], payload(m, m->color) + c, sizeof(float));
            }
            octet.color[c] = replicated[c];
        } else {
            octet.color[c] = payload(m, first + c);
        }
        octet.color1[c] = is_dual(m->type) ? payload(m, first + 4 + c) : octet.color[c];
    }
    if (!overlap(&octet)) {
        write_pixels(m, &octet, half);
        return;
    }
    for (uint32_t s = 0; s < 2; s++) {
        struct g4_octet single = octet;
        single.live &= 15u << (4 * s);
        write_pixels(m, &single, half);
    }
}

/* ---- the message ---- */

static void check_target(const struct message *m) {
    const struct g4_target *const target = m->target;
    if (target->event != G4_EVENTS) {
        report(m, (enum g4_event)target->event, target->event_value);
    }
    if (target->blend && target->dual_source && !is_dual(m->type)) {
        report(m, G4_EVENT_BAD_STATE, m->send->descriptor); /* WM-107: the first colour serves as the second */
    }
}

static void write_thread(struct message *m) {
    struct g4_pixel_block *const block = m->gang->unit_data[m->thread];

    m->header[0] = g4_payload(m->gang, m->send, 0, m->thread);
    m->header[1] = g4_payload(m->gang, m->send, 1, m->thread);
    m->flags = m->header[1][6];
    m->alpha_passed = block ? &block->alpha_passed : &m->cc->alpha_passed[m->thread];
    m->target =
        g4_target_get(m->eu->worker, m->gang->dispatch, m->send->descriptor & 0xff, m->header[1][7] >> 16 & 0x7ff);
    find_payload(m);
    check_target(m);
    switch (m->type) {
    case G4_RENDER_TARGET_WRITE_TYPE_SIMD16:
    case G4_RENDER_TARGET_WRITE_TYPE_SIMD16_REPLICATED:
        write_half(m, 0);
        write_half(m, 1);
        break;
    case G4_RENDER_TARGET_WRITE_TYPE_SIMD8_DUAL_SOURCE_SUBSPANS_23:
        write_half(m, 1);
        break;
    default:
        write_half(m, 0);
        break;
    }
    if (m->last) {
        *m->alpha_passed = 0;
    }
}

enum g4_status g4_render_target_write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct message m = {
        .eu = eu,
        .cc = g4_cc_of(eu->worker),
        .gang = gang,
        .send = send,
        .type = send->descriptor >> 8 & 7,
        .last = send->descriptor >> 11 & 1,
    };
    const uint32_t index = send->descriptor & 0xff;
    struct g4_port *const port = &eu->worker->port;
    const uint32_t unit = port->unit;

    if (!m.cc || gang->dispatch->unit != G4_UNIT_WM || m.type > G4_RENDER_TARGET_WRITE_TYPE_SIMD8_SUBSPANS_01 ||
        index == 255 || send->mlen < 3) {
        g4_report(eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(gang, 0), send->descriptor);
        return G4_OK;
    }
    if (is_dual(m.type) && !g4_is_gen45(eu->ctx->gen)) {
        g4_report(eu->log, G4_EVENT_BAD_MESSAGE, g4_gang_address(gang, 0), send->descriptor); /* quirk Q11 */
    }
    port->unit = G4_UNIT_CC;
    for (m.thread = 0; m.thread < G4_GANG_THREADS; m.thread++) {
        if (send->threads >> m.thread & 1) {
            write_thread(&m);
        }
    }
    port->unit = unit;
    return G4_OK;
}
