/*
 * Where the texels of lookups in a 2D image lie: texel numbers and their addresses, a vector of lookups at a time.  For
 * files that are built once per vector variant.
 */
#ifndef G4_SAMPLER_PLACES_H
#define G4_SAMPLER_PLACES_H

#include "sampler/bilinear.h"
#include "sampler/coordinates.h"

/* The layout of a tiling: a row of a tile is split into pieces, and the rows of a tile follow each other. */
struct layout {
    uint32_t piece, piece_shift; /* columns in a piece; distance between pieces */
    uint32_t rows, row_shift;    /* rows of a tile; distance between tiles */
};

INLINE struct layout layout_of(enum g4_tiling tiling) {
    switch (tiling) {
    case G4_TILING_X: /* pieces of 512 bytes, one in a tile: 4096 bytes apart; 8 rows */
        return (struct layout){511, 3, 7, 9};
    case G4_TILING_Y: /* pieces of 16 bytes, 512 bytes apart; 32 rows */
        return (struct layout){15, 5, 31, 4};
    default:
        return (struct layout){0, 0, 0, 0};
    }
}

/* `shift`: logarithm of the bytes of a texel, or of a block if the image is compressed. */
INLINE vu column_of(const struct g4_bilinear *job, const struct layout *l, vi x, uint32_t shift) {
    const vu at = ((vu)x + vu_all(job->column)) << shift;
    return (at & vu_all(~l->piece)) << l->piece_shift | (at & vu_all(l->piece));
}

INLINE vu row_of(const struct g4_bilinear *job, const struct layout *l, vi y) {
    const vu line = (vu)y + vu_all(job->row);
    return (line & vu_all(~l->rows)) * vu_all(job->pitch) + ((line & vu_all(l->rows)) << l->row_shift);
}

/* The addressing modes that the loop distinguishes. */
enum wrap_shape {
    ANY,
    WRAP_POWER, /* WRAP around a power of two */
    CLAMP,
};

INLINE enum wrap_shape shape_of(const struct g4_axis *axis) {
    if (axis->mode == G4_TEXTURE_COORDINATE_MODE_WRAP && axis->round && (axis->size & (axis->size - 1)) == 0) {
        return WRAP_POWER;
    }
    return axis->mode == G4_TEXTURE_COORDINATE_MODE_CLAMP && axis->round ? CLAMP : ANY;
}

/* All supported modes yield coordinates inside the image.  `contiguous`: texels of weight 0 may be read, which changes
 * nothing. */
INLINE struct axis_texels texels_of(const struct g4_axis *axis, enum wrap_shape shape, bool contiguous,
                                    const float *coordinate) {
    const vi last = vi_all((int32_t)axis->size - 1);
    struct axis_texels out;

    if (shape == ANY) {
        out = axis_texels(axis, axis->mode, vf_load(coordinate));
        /* guards against reads outside the image */
        out.first = (vi)inside(out.first, axis->size);
        out.second = (vi)inside(out.second, axis->size);
        return out;
    }
    const uint8_t mode = shape == CLAMP ? G4_TEXTURE_COORDINATE_MODE_CLAMP : G4_TEXTURE_COORDINATE_MODE_WRAP;
    const vf x = preprocess(vf_load(coordinate), mode) * vf_all((float)axis->size) - vf_all(0.5f);
    if (shape == CLAMP) {
        const vi fixed = fixed_point(x, true);
        const vi first = (fixed >> 8) + vi_all(axis->offset);
        out.weight = fixed & vi_all(255);
        out.first = vi_max(vi_min(first, last), vi_all(0));
        out.second = vi_max(vi_min(first + vi_all(1), last), vi_all(0));
    } else {
        const vi fixed = fixed_point_of_small(x);
        const vi first = (fixed >> 8) + vi_all(axis->offset);
        out.weight = fixed & vi_all(255);
        out.first = first & last;
        out.second = (first + vi_all(1)) & last;
    }
    if (!contiguous) {
        out.second = vi_select(out.weight == vi_all(0), out.first, out.second);
    }
    return out;
}

#endif
