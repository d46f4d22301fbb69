/*
 * The history of one pixel: the fate of each of its fragments in the windower and the color calculator.
 */
#include <string.h>

#include "debugger/debug.h"

/* ---- the watched pixel ---- */

/* Read the raw bytes of a pixel; false if it is outside the surface. */
static bool peek(struct g4_debug *debug, const struct g4_pixel_map *map, uint32_t x, uint32_t y, void *raw,
                 size_t size) {
    struct g4_subspan_rows rows;

    memset(raw, 0, size);
    if (!map->present) {
        return false;
    }
    rows.inside = rows.staged = 0;
    g4_pixel_map_stage(map, &debug->quiet_port, x, y, 0, 1, &rows);
    memcpy(raw, rows.stage[0], map->bytes < size ? map->bytes : size);
    return rows.inside & 1;
}

static void peek_depth(struct g4_debug *debug, struct g4_worker *worker, uint32_t raw[2]) {
    struct g4_depth *const depth = &g4_cc_of(worker)->depth;
    (void)peek(debug, &depth->map, debug->setup.x, debug->setup.y, raw, 8);
}

static bool stencil_fails(const struct g4_depth *depth, const uint32_t raw[2], bool back_facing) {
    const struct g4_stencil_set *const set = &depth->stencil[depth->double_sided && back_facing];
    const bool d24 = depth->format == G4_DEPTH_FORMAT_D24_UNORM_S8_UINT;
    const uint32_t value = d24 ? raw[0] >> 24 : raw[1] & 0xff;
    return depth->stencil_test &&
           !g4_cc_compare(set->function, (float)(set->reference & set->test_mask), (float)(value & set->test_mask));
}

/* ---- the windower ---- */

static void report_fragment(struct g4_debug *debug, struct g4_debug_event *event) {
    event->kind = G4_DEBUG_FRAGMENT;
    event->which = G4_DEBUG_NONE;
    event->thread.unit = G4_UNIT_WM;
    (void)g4_debug_report(debug, event);
}

void g4_debug_pixel_covered(struct g4_hooks *hooks, struct g4_worker *worker, const struct g4_setup *setup, bool lit,
                            float z) {
    struct g4_debug *const debug = g4_debug_of(hooks);

    debug->covered_z = z;
    if (lit) {
        struct g4_depth *const depth = &g4_cc_of(worker)->depth;
        if (setup->array_index != depth->array_index) {
            g4_depth_select(depth, worker->ctx->gen, setup->array_index);
        }
        peek_depth(debug, worker, debug->covered_depth);
    } else {
        struct g4_debug_event event = {
            .object = setup->primitive,
            .fragment = {
                .fate = G4_FATE_STIPPLED, .object = setup->primitive, .back_facing = setup->back_facing, .z = z}};
        report_fragment(debug, &event);
    }
}

void g4_debug_pixel_tested(struct g4_hooks *hooks, struct g4_worker *worker, const struct g4_setup *setup, bool passed,
                           bool threads) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    const struct g4_depth *const depth = &g4_cc_of(worker)->depth;
    uint32_t after[2];

    peek_depth(debug, worker, after);
    if (passed && threads) { /* its render target write will report the fate */
        struct g4_debug_early *const early = &debug->early[debug->early_next++ % G4_DEBUG_EARLY];
        *early =
            (struct g4_debug_early){.valid = depth->test != NULL, .object = setup->primitive, .z = debug->covered_z};
        memcpy(early->before, debug->covered_depth, sizeof early->before);
        memcpy(early->after, after, sizeof early->after);
        return;
    }
    struct g4_debug_event event = {.object = setup->primitive,
                                   .fragment = {
                                       .fate = passed ? G4_FATE_DEPTH_ONLY
                                               : stencil_fails(depth, debug->covered_depth, setup->back_facing)
                                                   ? G4_FATE_EARLY_STENCIL
                                                   : G4_FATE_EARLY_DEPTH,
                                       .object = setup->primitive,
                                       .back_facing = setup->back_facing,
                                       .z = debug->covered_z,
                                       .tested = depth->test != NULL,
                                       .depth_format = depth->format,
                                   }};
    memcpy(event.fragment.depth_before, debug->covered_depth, sizeof debug->covered_depth);
    memcpy(event.fragment.depth_after, after, sizeof after);
    report_fragment(debug, &event);
}

/* ---- the color calculator ---- */

/* Fill in the early test of a thread's fragment. */
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

static void report_pixel(struct g4_debug *debug, struct g4_debug_event *event) {
    const struct g4_pixel_message *const message = &debug->pixel.message;
    struct g4_debug_fragment *const fragment = &event->fragment;
    const struct g4_debug_thread *const thread = &debug->current->thread[message->thread];

    event->kind = G4_DEBUG_FRAGMENT;
    event->which = G4_DEBUG_NONE;
    event->object = fragment->object = thread->object;
    fragment->has_thread = true;
    fragment->target = message->target->key.index;
    fragment->slice = message->slice;
    fragment->base = message->target->map.base;
    fragment->bytes = message->target->map.bytes;
    fragment->depth_format = g4_cc_of(debug->device->worker[0])->depth.format;
    (void)g4_debug_report_thread(debug, message->gang, message->thread, message->gang->ip[message->thread], NULL,
                                 event);
}

/* Reports the watched pixel if the kernel has removed it from the message. */
void g4_debug_pixel_message(struct g4_hooks *hooks, const struct g4_pixel_message *message) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    const struct g4_pixel_block *const block = message->gang->unit_data[message->thread];
    const uint32_t type = message->type;

    debug->pixel.message = *message;
    debug->pixel.index = -1;
    if (!hooks->watch_pixel || !block || !message->last) {
        return;
    }
    const bool two =
        type != G4_RENDER_TARGET_WRITE_TYPE_SIMD16 && type != G4_RENDER_TARGET_WRITE_TYPE_SIMD16_REPLICATED;
    const uint32_t first = type == G4_RENDER_TARGET_WRITE_TYPE_SIMD8_DUAL_SOURCE_SUBSPANS_23 ? 2 : 0;
    for (uint32_t s = first; s < first + (two ? 2 : 4); s++) {
        const int p = g4_hooks_watched(hooks, message->x[s], message->y[s]);
        const uint32_t bit = p < 0 ? 0 : 1u << (4 * s + (uint32_t)p);
        if ((block->lit & bit) && !(message->live & bit)) {
            struct g4_debug_event event = {.fragment = {.fate = G4_FATE_KILLED, .z = block->z[4 * s + (uint32_t)p]}};
            report_pixel(debug, &event);
        }
    }
}

/* The register that a part of a payload is; G4_OPERAND_NONE: it is a copy. */
static uint32_t place_of(const struct g4_gang *gang, const void *part, uint32_t *reg) {
    const uintptr_t at = (uintptr_t)part;
    const uintptr_t grf = (uintptr_t)gang->grf;
    const uintptr_t mrf = (uintptr_t)gang->mrf;
    *reg = 0;
    if (at >= grf && at < grf + sizeof gang->grf) {
        *reg = (uint32_t)((at - grf) / sizeof gang->grf[0]);
        return G4_OPERAND_GRF;
    }
    if (at >= mrf && at < mrf + sizeof gang->mrf) {
        *reg = (uint32_t)((at - mrf) / sizeof gang->mrf[0]);
        return G4_OPERAND_MRF;
    }
    return G4_OPERAND_NONE;
}

int g4_debug_pixels_started(struct g4_hooks *hooks, const struct g4_pixels *pixels) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    struct g4_debug_pixel *const pixel = &debug->pixel;

    pixel->index = -1;
    for (uint32_t s = 0; s < 4; s++) {
        const int p = g4_hooks_watched(hooks, pixels->x[s], pixels->y[s]);
        if (p >= 0 && (pixels->live >> (4 * s + (uint32_t)p) & 1)) {
            pixel->index = (int)(4 * s) + p;
        }
    }
    if (pixel->index < 0) {
        return -1;
    }
    for (int c = 0; c < 4; c++) {
        const float *const part = pixels->color[pixel->index / 8][c];
        pixel->color[c] = part[pixel->index % 8];
        pixel->file[c] = place_of(pixel->message.gang, part, &pixel->reg[c]);
    }
    (void)peek(debug, &pixel->message.target->map, hooks->x, hooks->y, pixel->before, sizeof pixel->before);
    peek_depth(debug, debug->device->worker[0], pixel->depth);
    return pixel->index;
}

/* Write the debug color to all pixels of a flagged thread, aligned to the top bits of the pixel
 * (965 PRM vol. 4, 3.4.8). */
static void paint(struct g4_debug *debug, const struct g4_pixels *pixels) {
    const struct g4_pixel_map *const map = &debug->pixel.message.target->map;
    struct g4_port *const port = &debug->device->worker[0]->port;
    const uint32_t color = debug->setup.color;

    for (uint32_t s = 0; s < 4; s++) {
        const uint16_t x[4] = {pixels->x[s]};
        const uint16_t y[4] = {pixels->y[s]};
        const uint32_t live = pixels->live >> (4 * s) & 15;
        struct g4_subspan_rows rows;
        if (!live) {
            continue;
        }
        rows.inside = rows.staged = 0;
        g4_pixel_map_stage(map, &debug->quiet_port, x[0], y[0], 0, live, &rows);
        memset(rows.stage, 0, sizeof rows.stage);
        for (uint32_t p = 0; p < 4; p++) {
            uint8_t *const at = rows.stage[p >> 1] + (p & 1) * map->bytes;
            const uint32_t size = map->bytes < 4 ? map->bytes : 4;
            const uint32_t bits = color >> (32 - 8 * size);
            memcpy(at + map->bytes - size, &bits, size);
        }
        g4_pixel_map_unstage(map, port, x, y, live & rows.inside, &rows);
    }
}

void g4_debug_pixels_ended(struct g4_hooks *hooks, const struct g4_pixels *pixels, uint32_t tested, uint32_t passed,
                           uint32_t colored, float z) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    const struct g4_debug_pixel *const pixel = &debug->pixel;
    const struct g4_pixel_message *const message = &pixel->message;
    const struct g4_target *const target = message->target;
    const struct g4_depth *const depth = &g4_cc_of(debug->device->worker[0])->depth;
    const bool paints = debug->setup.debug_color && debug->current->thread[message->thread].flagged && target->write &&
                        target->map.present && target->map.bytes;

    if (paints) {
        paint(debug, pixels);
    }
    if (pixel->index < 0) {
        return;
    }
    const uint32_t bit = 1u << pixel->index;
    struct g4_debug_event event = {.fragment = {.back_facing = message->back_facing, .tested = message->tests_late}};
    struct g4_debug_fragment *const fragment = &event.fragment;
    const bool inside = peek(debug, &target->map, hooks->x, hooks->y, fragment->after, sizeof fragment->after);

    memcpy(fragment->color, pixel->color, sizeof fragment->color);
    memcpy(fragment->color_file, pixel->file, sizeof fragment->color_file);
    memcpy(fragment->color_register, pixel->reg, sizeof fragment->color_register);
    fragment->color_element = (uint32_t)pixel->index % 8;
    fragment->blends = target->reads;
    memcpy(fragment->before, pixel->before, sizeof fragment->before);
    if (message->tests_late) {
        fragment->z = z;
        memcpy(fragment->depth_before, pixel->depth, sizeof fragment->depth_before);
        peek_depth(debug, debug->device->worker[0], fragment->depth_after);
    } else {
        take_early(debug, debug->current->thread[message->thread].object, fragment);
    }
    if ((tested & bit) && !(passed & bit)) {
        fragment->fate = stencil_fails(depth, pixel->depth, message->back_facing) ? G4_FATE_STENCIL : G4_FATE_DEPTH;
    } else if (!(colored & bit)) {
        fragment->fate = G4_FATE_ALPHA; /* in this target at least */
    } else if (!target->write) {
        fragment->fate = G4_FATE_NO_COLOR;
    } else {
        fragment->fate = inside ? G4_FATE_WRITTEN : G4_FATE_OUTSIDE;
    }
    report_pixel(debug, &event);
}
