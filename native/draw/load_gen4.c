/*
 * Reading the 3D pipeline's state from memory (spec/10 3.1): once per 3DPRIMITIVE, unpacked with the generated
 * functions.
 */
#include <string.h>

#include "draw/device.h"
#include "raster/windower.h"

enum {
    VIEWPORT_COUNT = 16
};

static void read_dwords(struct g4_port *port, uint32_t address, uint32_t *dw, uint32_t count) {
    (void)g4_mem_read(port, address, dw, count * sizeof *dw); /* what is missing reads as 0 and is in the port's log */
}

/* NOLINTBEGIN(bugprone-macro-parentheses): `dwords` is an array size, `block` part of a name */
#define READ(block, dwords, address, out)                                                                              \
    do {                                                                                                               \
        uint32_t raw[dwords];                                                                                          \
        read_dwords(port, (address), raw, dwords);                                                                     \
        g4_##block##_unpack(raw, ctx->gen, (out));                                                                     \
    } while (0)

/* All of them, of which most draws have one, or with `used` off none: what is missing of the others is no news. */
#define VIEWPORTS(block, dwords, address, used, array)                                                                 \
    do {                                                                                                               \
        uint32_t raw[(dwords)*VIEWPORT_COUNT];                                                                         \
        read_dwords((used) ? &device->port : &device->look, (address), raw, dwords);                                   \
        read_dwords(&device->look, (address) + (dwords)*4, raw + (dwords), (dwords) * (VIEWPORT_COUNT - 1));           \
        for (uint32_t i = 0; i < VIEWPORT_COUNT; i++) {                                                                \
            g4_##block##_unpack(raw + (size_t)i * (dwords), ctx->gen, &(array)[i]);                                    \
        }                                                                                                              \
    } while (0)
/* NOLINTEND(bugprone-macro-parentheses) */

/* What all thread-spawning state blocks have in common, into the dispatch of a stage. */
#define DISPATCH(stage, unit_id, block)                                                                                \
    draw->dispatch[stage] = (struct g4_dispatch) {                                                                     \
        .unit = unit_id, .kernel_address = state->general_state_base + (block).kernel_start_pointer,                   \
        .general_state_base = state->general_state_base, .surface_state_base = state->surface_state_base,              \
        .binding_table = state->binding_table[stage],                                                                  \
        .scratch_base = state->general_state_base + (block).scratch_space_base_pointer,                                \
        .scratch_bytes = 1024u << ((block).per_thread_scratch_space > 11 ? 11 : (block).per_thread_scratch_space),     \
        .grf_count = (block).grf_register_count, .alternate_fp = (block).floating_point_mode != 0,                     \
        .single_program_flow = (block).single_program_flow,                                                            \
        .exceptions = exceptions((block).illegal_opcode_exception_enable, (block).mask_stack_exception_enable,         \
                                 (block).software_exception_enable),                                                   \
    }

/* cr0.1 has mask stack at bit 11, illegal opcode at 12, software at 13 (spec/40 12). */
static uint8_t exceptions(bool illegal_opcode, bool mask_stack, bool software) {
    return (uint8_t)(mask_stack | illegal_opcode << 1 | software << 2);
}

static enum g4_status load_kernel(struct g4_device *device, int stage, struct g4_fault *fault) {
    struct g4_draw_state *const draw = &device->draw_state;
    draw->kernel[stage] = g4_kernel_get(device->kernels, &device->ctx, draw->dispatch[stage].kernel_address, fault);
    return draw->kernel[stage] ? G4_OK : G4_FAULT;
}

static enum g4_status load_vertex_stages(struct g4_device *device, struct g4_fault *fault) {
    const struct g4_context *const ctx = &device->ctx;
    const struct g4_state *const state = ctx->state;
    struct g4_draw_state *const draw = &device->draw_state;
    struct g4_port *const port = &device->port;
    enum g4_status status = G4_OK;

    READ(vs_state, 7, state->vs_state, &draw->vs);
    DISPATCH(G4_STAGE_VS, G4_UNIT_VS, draw->vs);
    draw->dispatch[G4_STAGE_VS].sampler_state = state->general_state_base + draw->vs.sampler_state_pointer;
    if (draw->vs.vs_function_enable) {
        status = load_kernel(device, G4_STAGE_VS, fault);
    }

    draw->gs_enable = state->gs_enable != 0;
    if (draw->gs_enable && status == G4_OK) {
        READ(gs_state, 7, state->gs_state, &draw->gs);
        DISPATCH(G4_STAGE_GS, G4_UNIT_GS, draw->gs);
        draw->dispatch[G4_STAGE_GS].sampler_state = state->general_state_base + draw->gs.sampler_state_pointer;
        status = load_kernel(device, G4_STAGE_GS, fault);
    }

    draw->clip_enable = state->clip_enable != 0;
    if (draw->clip_enable && status == G4_OK) {
        READ(clip_state, 11, state->clip_state, &draw->clip);
        DISPATCH(G4_STAGE_CLIP, G4_UNIT_CLIP, draw->clip);
        VIEWPORTS(clip_viewport, 4, state->general_state_base + draw->clip.clipper_viewport_state_pointer,
                  draw->clip.guardband_clip_test_enable, draw->clip_viewport);
        /* Most draws never clip: a kernel that cannot be read is a fault only for the draw that needs it. */
        struct g4_fault unused;
        (void)load_kernel(device, G4_STAGE_CLIP, &unused);
    }
    return status;
}

static enum g4_status load_sf(struct g4_device *device, struct g4_fault *fault) {
    const struct g4_context *const ctx = &device->ctx;
    const struct g4_state *const state = ctx->state;
    struct g4_draw_state *const draw = &device->draw_state;
    struct g4_port *const port = &device->port;

    READ(sf_state, 8, state->sf_state, &draw->sf);
    DISPATCH(G4_STAGE_SF, G4_UNIT_SF, draw->sf);
    VIEWPORTS(sf_viewport, 8, state->general_state_base + draw->sf.setup_viewport_state_offset,
              draw->sf.viewport_transform_enable || draw->sf.scissor_rectangle_enable, draw->sf_viewport);
    return load_kernel(device, G4_STAGE_SF, fault);
}

static enum g4_status load_wm(struct g4_device *device, struct g4_fault *fault) {
    const struct g4_context *const ctx = &device->ctx;
    const struct g4_state *const state = ctx->state;
    struct g4_draw_state *const draw = &device->draw_state;
    struct g4_port *const port = &device->port;

    READ(wm_state, 8, state->wm_state, &draw->wm);
    DISPATCH(G4_STAGE_WM, G4_UNIT_WM, draw->wm);
    draw->dispatch[G4_STAGE_WM].sampler_state = state->general_state_base + draw->wm.sampler_state_pointer;
    READ(color_calc_state, 8, state->cc_state, &draw->cc);
    VIEWPORTS(cc_viewport, 2, state->general_state_base + draw->cc.color_calculator_viewport_state_pointer,
              draw->cc.depth_test_enable, draw->cc_viewport);

    memset(draw->wm_kernel, 0, sizeof draw->wm_kernel);
    if (!draw->wm.thread_dispatch_enable) {
        return G4_OK;
    }
    /* Several dispatch widths enter the kernel at its first instructions, jumps 16 bytes apart (spec/30 3.9). */
    const uint32_t entries = g4_wm_entries(&draw->wm);
    for (uint32_t entry = 0; entry < G4_WM_ENTRIES; entry++) {
        struct g4_fault entry_fault;
        if (entry != 0 && !(entries >> entry & 1)) {
            continue;
        }
        draw->wm_kernel[entry] =
            g4_kernel_get(device->kernels, ctx, draw->dispatch[G4_STAGE_WM].kernel_address + entry * 16, &entry_fault);
        if (!draw->wm_kernel[entry] && entry == 0) {
            *fault = entry_fault;
            return G4_FAULT;
        }
    }
    return G4_OK;
}

enum g4_status g4_load_draw(struct g4_device *device, const uint32_t *primitive, struct g4_fault *fault) {
    struct g4_draw_state *const draw = &device->draw_state;

    memset(draw, 0, sizeof *draw);
    g4_3dprimitive_unpack(primitive, device->ctx.gen, &draw->primitive);
    enum g4_status status = load_vertex_stages(device, fault);
    if (status == G4_OK) {
        status = load_sf(device, fault);
    }
    if (status == G4_OK) {
        status = load_wm(device, fault);
    }
    return status;
}
