/* Memory as the CPU sees it through the aperture and its fences.
 *
 * A fence makes a tiled region look linear, with the fence's pitch.  Only accesses of the CPU use fences: the units of
 * the GPU read the tiling of each surface from its state.
 */
#include "api/tiling.h"
#include "core/memory.h"

int g4_aperture_find_fence(const struct g4_aperture *aperture, g4_address address) {
    for (int i = 0; i < G4_FENCE_COUNT; i++) {
        const struct g4_aperture_fence *const fence = &aperture->fences[i];
        if (fence->valid && fence->start <= address && address <= fence->last) {
            return i;
        }
    }
    return -1;
}

/* Bytes that one copy transfers: within one page of the aperture and one row of a fence. */
struct fence_run {
    bool fenced;
    size_t size;
    struct g4_surface_layout layout;
    struct g4_rectangle rectangle;
};

static struct fence_run run_at(const struct g4_aperture *aperture, g4_address address, size_t size) {
    const size_t rest_of_page = G4_PAGE_SIZE - (address & G4_PAGE_OFFSET);
    const size_t wanted = size < rest_of_page ? size : rest_of_page;
    const int number = g4_aperture_find_fence(aperture, address);
    if (number < 0) {
        return (struct fence_run){.size = wanted};
    }
    const struct g4_aperture_fence fence = aperture->fences[number];
    if (fence.pitch_bytes == 0) {
        return (struct fence_run){.fenced = true, .size = wanted}; /* a layout that no copy accepts */
    }
    const uint32_t y = (uint32_t)(address - fence.start) / fence.pitch_bytes;
    const uint32_t x = (uint32_t)(address - fence.start) % fence.pitch_bytes;
    const uint32_t rest_of_row = fence.pitch_bytes - x;
    const uint32_t part = wanted < rest_of_row ? (uint32_t)wanted : rest_of_row;
    return (struct fence_run){
        .fenced = true,
        .size = part,
        .layout =
            {
                .base = fence.start,
                .pitch_bytes = fence.pitch_bytes,
                .width_bytes = fence.pitch_bytes,
                .height_rows = y + 1,
                .tiling = fence.tiling,
                .swizzle = fence.tiling == G4_TILING_Y ? aperture->swizzle_y : aperture->swizzle_x,
            },
        .rectangle = {(int32_t)x, (int32_t)y, part, 1},
    };
}

enum g4_status g4_aperture_read(struct g4_port *port, const struct g4_aperture *aperture, g4_address address,
                                void *data, size_t size) {
    uint8_t *to = data;
    while (size) {
        const struct fence_run run = run_at(aperture, address, size);
        const enum g4_status status = run.fenced
                                          ? g4_surface_read(port, &run.layout, &run.rectangle, to, run.size, run.size)
                                          : g4_mem_read(port, address, to, run.size);
        if (status != G4_OK) {
            return status;
        }
        to += run.size;
        address += run.size;
        size -= run.size;
    }
    return G4_OK;
}

enum g4_status g4_aperture_write(struct g4_port *port, const struct g4_aperture *aperture, g4_address address,
                                 const void *data, size_t size) {
    const uint8_t *from = data;
    while (size) {
        const struct fence_run run = run_at(aperture, address, size);
        const enum g4_status status =
            run.fenced ? g4_surface_write(port, &run.layout, &run.rectangle, from, run.size, run.size)
                       : g4_mem_write(port, address, from, run.size);
        if (status != G4_OK) {
            return status;
        }
        from += run.size;
        address += run.size;
        size -= run.size;
    }
    return G4_OK;
}
