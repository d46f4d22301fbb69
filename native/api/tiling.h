/*
 * Surfaces in memory, and the CPU's aperture (core/tiling.h, core/aperture.c).
 */
#ifndef G4_API_TILING_H
#define G4_API_TILING_H

#include "api/memory.h"

struct g4_surface_layout {
    g4_address base;
    uint32_t pitch_bytes;
    uint32_t width_bytes;
    uint32_t height_rows;
    uint32_t tiling;  /* enum g4_tiling */
    uint32_t swizzle; /* enum g4_swizzle; linear surfaces have none */
};

/* Coordinates in bytes and rows, clipped to the surface. */
struct g4_rectangle {
    int32_t x_bytes;
    int32_t y;
    uint32_t width_bytes;
    uint32_t height;
};

uint64_t g4_tiling_offset(uint32_t tiling, uint32_t pitch_bytes, uint32_t x_bytes, uint32_t y);
enum g4_status g4_tiling_coordinates(uint32_t tiling, uint32_t pitch_bytes, uint64_t offset, uint64_t *x_bytes,
                                     uint64_t *y);
uint64_t g4_swizzle_address(uint32_t swizzle, uint64_t address, uint64_t physical);
enum g4_status g4_layout_check(const struct g4_surface_layout *layout);
enum g4_status g4_surface_read(struct g4_port *port, const struct g4_surface_layout *layout,
                               const struct g4_rectangle *rectangle, void *pixels, size_t size, size_t pitch_bytes);
enum g4_status g4_surface_write(struct g4_port *port, const struct g4_surface_layout *layout,
                                const struct g4_rectangle *rectangle, const void *pixels, size_t size,
                                size_t pitch_bytes);

/* A tiled region of the aperture, as a fence register describes it; `last` is the address of its last byte. */
struct g4_aperture_fence {
    uint32_t start;
    uint32_t last;
    uint32_t pitch_bytes;
    uint32_t tiling; /* G4_TILING_X or G4_TILING_Y */
    bool valid;
};

/* The fences and the swizzle of the CPU's aperture. */
struct g4_aperture {
    struct g4_aperture_fence fences[G4_FENCE_COUNT];
    uint32_t swizzle_x; /* enum g4_swizzle, for X tiled regions */
    uint32_t swizzle_y;
};

int g4_aperture_find_fence(const struct g4_aperture *aperture, g4_address address);
enum g4_status g4_aperture_read(struct g4_port *port, const struct g4_aperture *aperture, g4_address address,
                                void *data, size_t size);
enum g4_status g4_aperture_write(struct g4_port *port, const struct g4_aperture *aperture, g4_address address,
                                 const void *data, size_t size);

#endif
