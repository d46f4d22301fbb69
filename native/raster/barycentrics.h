/*
 * Barycentric coordinates and w of the pixels of a block: built once per vector variant.
 */
#ifndef G4_BARYCENTRICS_H
#define G4_BARYCENTRICS_H

#include "color/color.h"
#include "core/variant.h"
#include "geometry/object.h"

enum {
    G4_BLOCK_PIXELS = 16,
};

/* Values to compute. */
enum {
    G4_VALUE_PERSPECTIVE = 1,
    G4_VALUE_LINEAR = 2,
    G4_VALUE_W = 4,
};

struct g4_pixel_places {
    _Alignas(64) float x[G4_BLOCK_PIXELS], y[G4_BLOCK_PIXELS];
};

struct g4_pixel_values {
    _Alignas(64) float perspective[2][G4_BLOCK_PIXELS]; /* of vertices 1 and 2 of the object */
    float linear[2][G4_BLOCK_PIXELS];
    float w[G4_BLOCK_PIXELS];
};

/* The values of pixels with one sample. */
struct g4_center_values {
    struct g4_pixel_values at;
    float z[G4_BLOCK_PIXELS];
};

enum {
    G4_PIXEL_PAYLOAD_ROWS = 2 * (6 * 2 + 2), /* both coordinates in six modes, depth and w, of two halves */
};

/* The registers that a block of pixels with one sample gets, one after the other. */
struct g4_center_rows {
    uint32_t wanted;
    bool depth;
    uint32_t pixels; /* 8 or 16 */
    uint32_t count;
    uint8_t from[G4_PIXEL_PAYLOAD_ROWS]; /* the first float of a register in struct g4_center_values */
};

struct g4_barycentric_ops {
    /* The pixels of four subspans. */
    void (*locate)(const uint16_t x[4], const uint16_t y[4], struct g4_pixel_places *out);
    /* The depth of eight or sixteen places. */
    void (*depths)(const struct g4_plane *plane, const struct g4_pixel_places *places, uint32_t pixels,
                   float z[G4_BLOCK_PIXELS]);
    /* The wanted values of eight or sixteen places. */
    void (*evaluate)(const struct g4_object_planes *planes, const struct g4_pixel_places *places, uint32_t pixels,
                     uint32_t wanted, struct g4_pixel_values *out);
    /* All three, for the registers of a thread; `stride` is the distance of two registers, in floats. */
    void (*centers)(const struct g4_center_rows *rows, const struct g4_object_planes *planes,
                    const struct g4_plane *depth, const uint16_t x[4], const uint16_t y[4], float *out, size_t stride);
};

G4_VARIANT_DECLARE(struct g4_barycentric_ops, g4_barycentric_ops);

#endif
