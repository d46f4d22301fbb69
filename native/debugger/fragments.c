/*
 * The history of one pixel: what the windower and the colour calculator did with each fragment of it (spec/60 9.4 D8,
 * D10).
 */
#include <string.h>

#include "debugger/debug.h"

/* ---- the watched pixel ---- */

int g4_debug_watched(const struct g4_debug *debug, uint32_t x, uint32_t y) {
    const struct g4_debug_setup *const setup = &debug->setup;
    const uint32_t dx = setup->x - x;
    const uint32_t dy = setup->y - y;
    return setup->watch_pixel && dx < 2 && dy < 2 ? (int)(dy * 2 + dx) : -1;
}

/* The raw bytes of a pixel; false: the surface does not have it. */
static bool peek(struct g4_debug *debug, const struct g4_view *view, uint32_t x, uint32_t y, void *raw, size_t size) {
    struct g4_rows rows;
    struct g4_port *const look = &debug->look;

    memset(raw, 0, size);
    if (!view->present) {
        return false;
    }
    rows.inside = rows.staged = 0;
    g4_view_stage(view, look, x, y, 0, 1, &rows);
    memcpy(raw, rows.stage[0], view->bytes < size ? view->bytes : size);
    return rows.inside & 1;
}

static void peek_depth(struct g4_worker *worker, uint32_t raw[2]) {
    struct g4_debug *const debug = worker->eu.debug;
    struct g4_depth *const depth = &g4_cc_of(worker)->depth;
    (void)peek(debug, &depth->view, debug->setup.x, debug->setup.y, raw, 8);
}

static bool stencil_fails(const struct g4_depth *depth, const uint32_t raw[2], bool back_facing) {
    const struct g4_stencil_set *const set = &depth->stencil[depth->double_sided && back_facing];
    const bool d24 = depth->format == G4_DEPTH_FORMAT_D24_UNORM_S8_UINT;
    const uint32_t value = d24 ? raw[0] >> 24 : raw[1] & 0xff;
    return depth->stencil_test &&
           !g4_cc_compare(set->function, (float)(set->reference & set->test_mask), (float)(value & set->test_mask));
}

/* ---- the windower ---- */

static void tell_fragment(struct g4_debug *debug, struct g4_debug_event *event) {
    event->kind = G4_DEBUG_FRAGMENT;
    event->which = G4_DEBUG_NONE;
    event->thread.unit = G4_UNIT_WM;
    (void)g4_debug_tell(debug, event);
}

void g4_debug_covered(struct g4_worker *worker, const struct g4_setup *setup, bool lit, bool stippled,
                      struct g4_debug_coverage *coverage, float z) {
    struct g4_debug *const debug = worker->eu.debug;

    *coverage = (struct g4_debug_coverage){.covered = lit, .z = z};
    if (lit) {
        struct g4_depth *const depth = &g4_cc_of(worker)->depth;
        if (setup->array_index != depth->array_index) {
            g4_depth_select(depth, worker->ctx->gen, setup->array_index);
        }
        peek_depth(worker, coverage->depth);
    } else if (stippled) {
        struct g4_debug_event event = {
            .object = setup->primitive,
            .fragment = {
                .fate = G4_FATE_STIPPLED, .object = setup->primitive, .back_facing = setup->back_facing, .z = z}};
        tell_fragment(debug, &event);
    }
}

void g4_debug_early(struct g4_worker *worker, const struct g4_setup *setup, bool passed, bool threads,
                    const struct g4_debug_coverage *coverage) {
    struct g4_debug *const debug = worker->eu.debug;
    const struct g4_depth *const depth = &g4_cc_of(worker)->depth;
    uint32_t after[2];

    peek_depth(worker, after);
    if (passed && threads) { /* the colour calculator tells the rest of the story */
        struct g4_debug_early *const early = &debug->early[debug->early_next++ % G4_DEBUG_EARLY];
        *early = (struct g4_debug_early){.valid = depth->test != NULL, .object = setup->primitive, .z = coverage->z};
        memcpy(early->before, coverage->depth, sizeof early->before);
        memcpy(early->after, after, sizeof early->after);
        return;
    }
    struct g4_debug_event event = {.object = setup->primitive,
                                   .fragment = {
                                       .fate = passed ? G4_FATE_DEPTH_ONLY
                                               : stencil_fails(depth, coverage->depth, setup->back_facing)
                                                   ? G4_FATE_EARLY_STENCIL
                                                   : G4_FATE_EARLY_DEPTH,
                                       .object = setup->primitive,
                                       .back_facing = setup->back_facing,
                                       .z = coverage->z,
                                       .tested = depth->test != NULL,
                                       .depth_format = depth->format,
                                   }};
    memcpy(event.fragment.depth_before, coverage->depth, sizeof coverage->depth);
    memcpy(event.fragment.depth_after, after, sizeof after);
    tell_fragment(debug, &event);
}

/* ---- the colour calculator ---- */

/* The early test that belongs to a thread's fragment. */
static void take_early(struct g4_debug *debug, uint32_t object, struct g4_debug_fragment *fragment) {
    for (int i = 0; i < G4_DEBUG_EARLY; i++) {
        const struct g4_debug_early *const early = &debug->early[i];
        if (early->valid && early->object == object) {
            fragment->tested = true;
            fragment->z = early->z;
            memcpy(fragment->depth_before, early->before, sizeof early->before);
            memcpy(fragment->depth_after, early->after, sizeof early->after);
        }
    }
}

static void tell_pixel(struct g4_debug_pixel *pixel, struct g4_debug_event *event) {
    struct g4_debug *const debug = pixel->debug;
    struct g4_debug_fragment *const fragment = &event->fragment;
    const struct g4_debug_thread *const thread = &debug->current->thread[pixel->thread];

    event->kind = G4_DEBUG_FRAGMENT;
    event->which = G4_DEBUG_NONE;
    event->object = fragment->object = thread->object;
    fragment->has_thread = true;
    fragment->target = pixel->target->index;
    fragment->slice = pixel->slice;
    fragment->base = pixel->target->view.base;
    fragment->bytes = pixel->target->view.bytes;
    fragment->depth_format = g4_cc_of(debug->device->worker[0])->depth.format;
    (void)g4_debug_tell_thread(debug, pixel->gang, pixel->thread, pixel->gang->ip[pixel->thread], NULL, event);
}

/* Pixels of the dispatch that the kernel has taken out of its message. */
void g4_debug_pixel_message(struct g4_debug_pixel *pixel, const uint32_t *const header[2], uint32_t type) {
    const struct g4_pixel_block *const block = pixel->gang->unit_data[pixel->thread];
    const struct g4_debug_setup *const setup = &pixel->debug->setup;

    if (!setup->watch_pixel || !block || !pixel->last) {
        return;
    }
    const bool two =
        type != G4_RENDER_TARGET_WRITE_TYPE_SIMD16 && type != G4_RENDER_TARGET_WRITE_TYPE_SIMD16_REPLICATED;
    const uint32_t first = type == G4_RENDER_TARGET_WRITE_TYPE_SIMD8_DUAL_SOURCE_SUBSPANS_23 ? 2 : 0;
    for (uint32_t s = first; s < first + (two ? 2 : 4); s++) {
        const uint32_t at = header[1][2 + s];
        const int p = g4_debug_watched(pixel->debug, at & 0xffff, at >> 16);
        const uint32_t bit = p < 0 ? 0 : 1u << (4 * s + (uint32_t)p);
        if ((block->lit & bit) && !(header[0][0] & bit)) {
            struct g4_debug_event event = {.fragment = {.fate = G4_FATE_KILLED, .z = block->z[4 * s + (uint32_t)p]}};
            tell_pixel(pixel, &event);
        }
    }
}

void g4_debug_pixel_begin(struct g4_debug_pixel *pixel, const struct g4_pixels *pixels) {
    const struct g4_debug_setup *const setup = &pixel->debug->setup;

    pixel->index = -1;
    for (uint32_t s = 0; s < 4; s++) {
        const int p = g4_debug_watched(pixel->debug, pixels->x[s], pixels->y[s]);
        if (p >= 0 && (pixels->live >> (4 * s + (uint32_t)p) & 1)) {
            pixel->index = (int)(4 * s) + p;
        }
    }
    if (pixel->index < 0) {
        return;
    }
    pixel->x = setup->x;
    pixel->y = setup->y;
    for (int c = 0; c < 4; c++) {
        pixel->color[c] = pixels->color[pixel->index / 8][c][pixel->index % 8];
    }
    (void)peek(pixel->debug, &pixel->target->view, setup->x, setup->y, pixel->before, sizeof pixel->before);
    peek_depth(pixel->debug->device->worker[0], pixel->depth);
}

/* The debug colour in all pixels that a flagged thread has written, from the top of the pixel down (965v4 3.4.8). */
static void paint(struct g4_debug_pixel *pixel, const struct g4_pixels *pixels) {
    struct g4_debug *const debug = pixel->debug;
    const struct g4_view *const view = &pixel->target->view;
    struct g4_port *const port = &debug->device->worker[0]->port;
    const uint32_t color = debug->setup.color;

    for (uint32_t s = 0; s < 4; s++) {
        const uint16_t x[4] = {pixels->x[s]};
        const uint16_t y[4] = {pixels->y[s]};
        const uint32_t live = pixels->live >> (4 * s) & 15;
        struct g4_rows rows;
        if (!live) {
            continue;
        }
        rows.inside = rows.staged = 0;
        g4_view_stage(view, &debug->look, x[0], y[0], 0, live, &rows);
        memset(rows.stage, 0, sizeof rows.stage);
        for (uint32_t p = 0; p < 4; p++) {
            uint8_t *const at = rows.stage[p >> 1] + (p & 1) * view->bytes;
            const uint32_t size = view->bytes < 4 ? view->bytes : 4;
            const uint32_t bits = color >> (32 - 8 * size);
            memcpy(at + view->bytes - size, &bits, size);
        }
        g4_view_unstage(view, port, x, y, live & rows.inside, &rows);
    }
}

void g4_debug_pixel_end(struct g4_debug_pixel *pixel, const struct g4_pixels *pixels, bool tested, bool back_facing) {
    struct g4_debug *const debug = pixel->debug;
    const struct g4_depth *const depth = &g4_cc_of(debug->device->worker[0])->depth;
    const bool paints = debug->setup.debug_color && debug->current->thread[pixel->thread].flagged &&
                        pixel->target->write && pixel->target->view.present && pixel->target->view.bytes;

    if (paints) {
        paint(pixel, pixels);
    }
    if (pixel->index < 0) {
        return;
    }
    const uint32_t bit = 1u << pixel->index;
    struct g4_debug_event event = {.fragment = {.back_facing = back_facing, .tested = tested}};
    struct g4_debug_fragment *const fragment = &event.fragment;
    const bool inside = peek(debug, &pixel->target->view, pixel->x, pixel->y, fragment->after, sizeof fragment->after);

    memcpy(fragment->color, pixel->color, sizeof fragment->color);
    memcpy(fragment->before, pixel->before, sizeof fragment->before);
    if (tested) {
        fragment->z = pixel->z;
        memcpy(fragment->depth_before, pixel->depth, sizeof fragment->depth_before);
        peek_depth(debug->device->worker[0], fragment->depth_after);
    } else {
        take_early(debug, debug->current->thread[pixel->thread].object, fragment);
    }
    if ((pixel->tested & bit) && !(pixel->passed & bit)) {
        fragment->fate = stencil_fails(depth, pixel->depth, back_facing) ? G4_FATE_STENCIL : G4_FATE_DEPTH;
    } else if (!(pixel->colored & bit)) {
        fragment->fate = G4_FATE_ALPHA; /* of this target, if not of all */
    } else if (!pixel->target->write) {
        fragment->fate = G4_FATE_NO_COLOR;
    } else {
        fragment->fate = inside ? G4_FATE_WRITTEN : G4_FATE_OUTSIDE;
    }
    tell_pixel(pixel, &event);
}
