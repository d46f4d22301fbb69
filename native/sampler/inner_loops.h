/*
 * The inner loops of the sampling engine, over up to 64 lookups of one level with one filter.
 */
#ifndef G4_SAMPLER_LANES_H
#define G4_SAMPLER_LANES_H

#include "sampler/texture.h"

enum {
    G4_BATCH = 64,
    G4_BATCH_LEAST = 8,         /* array sizes are a multiple of this, because loops run over whole vectors */
    G4_OUTSIDE = INT32_MIN,     /* texel index of the border color */
    G4_WEIGHT_ONE = 256,        /* 8 bits of weight (docs/decisions.md 35) */
    G4_SUBSPANS = G4_BATCH / 2, /* subspans of two batches */
};

/* One dimension of lookups: converts a coordinate to texel numbers. */
struct g4_axis {
    uint32_t size;  /* size of the level in texels */
    float scale;    /* texels a unit of the coordinate: the size, or 1 if coordinates count texels */
    uint8_t mode;   /* enum g4_texture_coordinate_mode; for cubes CUBE or CLAMP */
    bool linear;    /* true: two texels and a weight, false: one texel */
    bool round;     /* true: to the nearest 1/256 texel, ties to even; false: down */
    bool shifted;   /* the message has a texel offset along this axis, or it is gather4 */
    int32_t offset; /* in texels, added before addressing */
};

/* Texel numbers; outside 0..size-1 they are G4_OUTSIDE, or -1 and size in mode CUBE. `second` counts with weight / 256
 * and equals `first` if the weight is 0. */
struct g4_axis_lanes {
    int32_t first[G4_BATCH], second[G4_BATCH];
    int32_t weight[G4_BATCH];
};

struct g4_gradient_lanes {
    float dx[3][G4_BATCH], dy[3][G4_BATCH]; /* texels of level 0 */
};

/* How a level of detail, in 1/64, selects one or two levels (lod.c). */
struct g4_level_choice {
    int32_t bias, base; /* lookups with a level at or below `base` are magnified */
    int32_t low, high;
    bool clamp;   /* clamps to the limits before the filter is chosen */
    bool mixed;   /* minified lookups mix two levels */
    bool rounded; /* minified lookups use the nearest level, the next one from `rounded_low` on */
    int32_t floor_low, ceil_high, rounded_low;
};

/* Four texels of up to four components for each lookup. */
struct g4_texel_lanes {
    float texel[4][4][G4_BATCH]; /* [corner][component] */
    float weight[4][G4_BATCH];   /* [corner] */
};

/* The samples of anisotropic lookups: as many as `ways`, `delta` apart, with a share of the sum each. */
struct g4_way_lanes {
    float ways[G4_BATCH];
    float delta[2][G4_BATCH]; /* in units of the coordinates */
    double inner[G4_BATCH], outer[G4_BATCH];
};

struct g4_sampler_ops {
    void (*axis)(const struct g4_axis *axis, const float *coordinate, uint32_t n, struct g4_axis_lanes *out);
    /* Adds offsets to 64 positions, and returns the lanes whose positions are within a size.  NULL: coordinates are 0.
     */
    uint64_t (*locate)(const uint32_t *const coordinate[3], const uint32_t offset[3], const uint32_t size[3],
                       int32_t *const place[3]);
    /* Computes the position of slices in their surface. */
    void (*slices)(const struct g4_level *level, const int32_t *slice, uint32_t n, uint32_t *x0, uint32_t *y0);
    /* Computes the byte offsets of columns x0 + x, and of rows y0 + y with the base added.  Texels outside are clamped.
     */
    void (*columns)(const struct g4_texture *texture, const uint32_t *x0, const int32_t *x, uint32_t size, uint32_t n,
                    uint32_t *out);
    void (*rows)(const struct g4_texture *texture, const uint32_t *y0, const int32_t *y, uint32_t size, uint32_t n,
                 uint32_t *out);
    /* Fetches one or four packed texels for each lookup, at the sums of columns and rows. */
    void (*fetch)(const struct g4_texture *texture, struct g4_port *port, uint32_t column[2][G4_BATCH],
                  uint32_t row[2][G4_BATCH], uint32_t corners, uint32_t n, float out[4][4][G4_BATCH]);
    void (*weights)(const struct g4_axis_lanes *x, const struct g4_axis_lanes *y, uint32_t n,
                    float weight[4][G4_BATCH]);
    /* sum += scale * weighted texels, corner by corner.  finite: no texel is Inf or NaN; of several NaN the first
     * stays, so that results do not depend on the order of operands that a compiler chooses */
    void (*accumulate)(const struct g4_texel_lanes *texels, const double *scale, uint32_t components, bool finite,
                       uint32_t n, double sum[4][G4_BATCH]);
    void (*filter)(const struct g4_texel_lanes *texels, uint32_t components, bool finite, uint32_t n,
                   float out[4][G4_BATCH]);
    /* Prepares the samples of lookups whose footprint is `ratio` times as long as wide, with steps in texels of a level
     * of `scale` texels a unit; returns the largest number of samples. */
    uint32_t (*ways)(const float *ratio, const float *const step[2], const float scale[2], uint32_t n,
                     struct g4_way_lanes *out);
    /* Computes the coordinates of sample number `way` and its share, which is 0 for lookups that have fewer. */
    void (*way)(const struct g4_way_lanes *ways, uint32_t way, const float *const center[2], uint32_t n,
                float coordinate[2][G4_BATCH], double *share);
    void (*compare)(uint32_t function, const float *reference, uint32_t n, float *texel);
    /* Mixes two levels: a + (b - a) * beta / 256. */
    void (*between)(const float *a, const float *b, const int32_t *beta, uint32_t n, float *out);
    /* Copies 64 values to those lanes. */
    void (*merge)(const uint32_t *value, uint64_t lanes, uint32_t *row);
    /* Stores one value to those of 64 lanes. */
    void (*fill)(uint32_t value, uint64_t lanes, uint32_t *row);
    void (*project)(const float *x, const float *y, const float *z, uint32_t n, int32_t *face, float *u, float *v);
    /* Computes the level, the weight of the next level in 1/256, and whether the lookup is magnified.  `n` is a
     * multiple of G4_BATCH_LEAST. */
    void (*choose)(const struct g4_level_choice *choice, const int32_t *lod, uint32_t n, uint8_t *level,
                   uint8_t *magnified, int32_t *beta);
    /* Computes the logarithm of the longer gradient as exponent * 128 + 7 bits of mantissa. */
    void (*length)(const struct g4_gradient_lanes *gradients, uint32_t n, int32_t *out);
    /* Computes length() for the subspans of a message, [half][lane], in an image of so many texels. */
    void (*lengths)(const float *const u[2], const float *const v[2], float width, float height,
                    int32_t out[G4_SUBSPANS]);
    /* Computes the levels of these subspans by the rules from Gen7 on (lod_gen7.c). */
    void (*levels_gen7)(const float *const u[2], const float *const v[2], float width, float height,
                        int32_t out[G4_SUBSPANS]);
};

#endif
