#include "sampler/contiguous.h"

/* Bytes of a level's first slice from the surface's start; whole tiles, if there are some. */
struct bytes {
    uint64_t from, to;
};

static struct bytes bytes_of(const struct g4_texture *texture, const struct g4_level *level) {
    const struct g4_surface *const surface = &texture->surface;
    const uint64_t pitch = surface->pitch;
    const uint64_t texel = texture->bits / 8;
    const uint64_t left = ((uint64_t)level->x + texture->x_offset) * texel;
    const uint64_t right = left + level->width * texel;
    const uint64_t lines = (uint64_t)texture->line_offset + texture->y_offset;
    const uint64_t first = ((uint64_t)level->y << texture->line_shift) + lines;
    const uint64_t last = (((uint64_t)level->y + level->height - 1) << texture->line_shift) + lines;

    if (surface->tiling == G4_TILING_LINEAR) {
        return (struct bytes){first * pitch + left, last * pitch + right};
    }
    const uint64_t width = g4_tile_width(surface->tiling);
    const uint64_t height = g4_tile_height(surface->tiling);
    return (struct bytes){
        first / height * (pitch * height) + left / width * G4_PAGE_SIZE,
        last / height * (pitch * height) + ((right - 1) / width + 1) * G4_PAGE_SIZE,
    };
}

/* Host address of the first of these pages, if the others follow it. */
static uint8_t *one_piece(struct g4_mem *mem, uint32_t first, uint32_t last) {
    uint8_t *const start = g4_mem_ptr(mem, first << G4_PAGE_SHIFT);
    for (uint32_t page = first; start && page <= last; page++) {
        if (g4_mem_ptr(mem, page << G4_PAGE_SHIFT) != start + (size_t)(page - first) * G4_PAGE_SIZE) {
            return NULL;
        }
    }
    return start;
}

uintptr_t g4_flat_base(const struct g4_texture *texture, uint32_t level, struct g4_mem *mem, uint32_t lookups) {
    struct g4_flat *const flat = texture->flat ? &texture->flat[level] : NULL;
    if (!flat) {
        return 0;
    }
    if (flat->state != G4_FLAT_UNKNOWN) {
        return flat->base;
    }
    const struct bytes bytes = bytes_of(texture, &texture->level[level]);
    const uint64_t from = texture->surface.base + bytes.from;
    const uint64_t last = texture->surface.base + bytes.to - 1;
    if (last > UINT32_MAX) {
        flat->state = G4_FLAT_NO; /* around the end of memory */
        return 0;
    }
    flat->lookups += lookups;
    if (flat->lookups >= (last - from) >> G4_PAGE_SHIFT) {
        const uint32_t page = (uint32_t)from >> G4_PAGE_SHIFT;
        const uint8_t *const host = one_piece(mem, page, (uint32_t)last >> G4_PAGE_SHIFT);
        flat->state = host ? G4_FLAT_YES : G4_FLAT_NO;
        flat->base = host ? (uintptr_t)host - (uintptr_t)page * G4_PAGE_SIZE : 0;
    }
    return flat->base;
}
