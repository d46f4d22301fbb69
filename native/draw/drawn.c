/*
 * Which surfaces a draw wrote to: the render targets that its pixel shader names, as their states are in memory.
 */
#include "draw/device.h"

uint32_t g4_device_targets(struct g4_device *device, uint32_t (*states)[6], uint32_t room) {
    const struct g4_draw_state *const draw = &device->draw_state;
    const struct g4_dispatch *const dispatch = &draw->dispatch[G4_STAGE_WM];
    const struct g4_kernel *const kernel = draw->wm_kernel[0];
    const uint8_t *entries;
    struct g4_port port;

    if (!kernel) {
        return 0;
    }
    g4_port_init(&port, device->ctx.mem, G4_UNIT_CPU, false); /* what is missing reads as 0, and is nobody's fault */
    const uint32_t named = g4_kernel_targets(kernel, &entries);
    const uint32_t count = named < room ? named : room;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t entry = g4_mem_read32(&port, dispatch->binding_table + 4u * entries[i]) & ~31u;
        (void)g4_mem_read(&port, dispatch->surface_state_base + entry, states[i], sizeof states[i]);
    }
    return count;
}
