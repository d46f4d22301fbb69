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

/* The addressing modes that the loop distinguishes. */
enum wrap_shape {
    ANY,
    WRAP_POWER, /* WRAP around a power of two */
    CLAMP,
};

/* Where an image lies at a multiple of its size, the offsets of its first texel and of texels in it have no bits in
 * common. */
INLINE bool is_aligned(uint32_t first, uint32_t size) {
    return (first & (size - 1)) == 0;
}

/* `first`: where the image starts along this axis. */
INLINE enum wrap_shape shape_of(const struct g4_axis *axis, uint32_t first) {
    if (axis->linear && !axis->round) {
        return ANY;
    }
    if (axis->mode == G4_TEXTURE_COORDINATE_MODE_WRAP && (axis->size & (axis->size - 1)) == 0 &&
        is_aligned(first, axis->size)) {
        return WRAP_POWER;
    }
    return axis->mode == G4_TEXTURE_COORDINATE_MODE_CLAMP && (axis->linear || axis->offset == 0) ? CLAMP : ANY;
}

/* Both axes, because loops are made for a few shapes only. */
INLINE enum wrap_shape common_shape(const struct g4_bilinear *job) {
    const enum wrap_shape x = shape_of(&job->axis[0], job->column);
    const enum wrap_shape y = shape_of(&job->axis[1], job->row);
    return x == y ? x : ANY;
}

/* ---- from numbers of texels to offsets.  If an image's width and height are powers of two, the bits of such a number
 * become bits of the offset. ---- */

/* Shifts by numbers that the compiler does not know; by instructions that shift each lane by its own number, since
 * those for a common number take two steps. */
INLINE vu shift_left(vu v, vu by) {
#ifdef G4_LANES_WIDE
    return (vu)_mm512_sllv_epi32((__m512i)v, (__m512i)by);
#else
    return (vu)_mm256_sllv_epi32((__m256i)v, (__m256i)by);
#endif
}

INLINE vu shift_right(vu v, vu by) {
#ifdef G4_LANES_WIDE
    return (vu)_mm512_srlv_epi32((__m512i)v, (__m512i)by);
#else
    return (vu)_mm256_srlv_epi32((__m256i)v, (__m256i)by);
#endif
}

/* How numbers of texels become offsets, as vectors: made before a loop, because the compiler would make some of them
 * for each vector of lookups. */
struct offsets {
    vu column, row;              /* of the image's first texel; unused in shape WRAP_POWER */
    vu piece, pieces, to_pieces; /* bits of a column in its piece, those of pieces, and how far these move */
    vu line, tiles, to_line;     /* bits of a row in its tile, those of tiles, and how far the former move */
    vu pitch;
};

/* `shift`: logarithm of the bytes of a texel, or of a block if the image is compressed. */
INLINE struct offsets offsets_of(const struct g4_bilinear *job, const struct layout *l, uint32_t shift,
                                 enum wrap_shape shape) {
    struct offsets out = {
        .column = vu_all(job->column),
        .row = vu_all(job->row),
        .piece = vu_all(l->piece),
        .pieces = vu_all(~l->piece),
        .to_pieces = vu_all(l->piece_shift),
        .line = vu_all(l->rows),
        .tiles = vu_all(~l->rows),
        .to_line = vu_all(l->row_shift),
        .pitch = vu_all(job->pitch),
    };
    if (shape == WRAP_POWER) { /* from numbers with 8 fraction bits, which are not wrapped yet */
        const uint32_t bytes = (job->axis[0].size - 1) << shift;
        const uint32_t last = job->axis[1].size - 1;
        out.piece = vu_all(l->piece_shift ? bytes & l->piece : bytes);
        out.pieces = vu_all(l->piece_shift ? (bytes & ~l->piece) << l->piece_shift : 0);
        out.to_pieces = vu_all(8 - shift - l->piece_shift);
        out.line &= vu_all(last);
        out.tiles &= vu_all(last);
    }
    return out;
}

INLINE vu column_of(const struct offsets *o, vi x, uint32_t shift) {
    const vu at = ((vu)x + o->column) << shift;
    return shift_left(at & o->pieces, o->to_pieces) | (at & o->piece);
}

INLINE vu row_of(const struct offsets *o, vi y) {
    const vu line = (vu)y + o->row;
    return (line & o->tiles) * o->pitch + shift_left(line & o->line, o->to_line);
}

INLINE vu wrapped_column(const struct offsets *o, vi fixed, uint32_t shift) {
    return ((vu)fixed >> (8 - shift) & o->piece) | (shift_right((vu)fixed, o->to_pieces) & o->pieces);
}

INLINE vu wrapped_row(const struct offsets *o, vi fixed) {
    const vu line = (vu)fixed >> 8;
    return (line & o->tiles) * o->pitch + shift_left(line & o->line, o->to_line);
}

/* The offset of the image's first texel from the start of the surface. */
INLINE uint32_t first_texel(const struct g4_bilinear *job, const struct layout *l, uint32_t shift) {
    const uint32_t at = job->column << shift;
    return ((at & ~l->piece) << l->piece_shift | (at & l->piece)) + (job->row & ~l->rows) * job->pitch +
           ((job->row & l->rows) << l->row_shift);
}

/* ---- texel numbers ---- */

/* To the nearest number, ties to even; only for values that fit. */
INLINE vi to_nearest(vf x) {
#if defined(G4_LANES_WIDE)
    return (vi)_mm512_cvtps_epi32((__m512)x);
#else
    return (vi)_mm256_cvtps_epi32((__m256)x);
#endif
}

/* Texel numbers with 8 fraction bits, not yet wrapped, of images whose size is a power of two: the product is exact, so
 * it does not matter that it is fused.  `round`: see g4_axis. */
INLINE vi fixed_of_power(const struct g4_axis *axis, bool linear, bool round, const float *coordinate) {
    const vf part = preprocess(vf_load(coordinate), G4_TEXTURE_COORDINATE_MODE_WRAP);
    const vf size = vf_all(256.0f * axis->scale);
    const vf half = vf_all(-128.0f);
#ifdef G4_LANES_WIDE
    const vf scaled = linear ? (vf)_mm512_fmadd_ps((__m512)part, (__m512)size, (__m512)half) : part * size;
#else
    const vf scaled = linear ? (vf)_mm256_fmadd_ps((__m256)part, (__m256)size, (__m256)half) : part * size;
#endif
    return (round ? to_nearest(scaled) : vi_truncate(scaled)) + vi_all(axis->offset * 256);
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
    if (shape == CLAMP) {
        const vf c = preprocess(vf_load(coordinate), G4_TEXTURE_COORDINATE_MODE_CLAMP);
        const vi fixed = fixed_point(c * vf_all(axis->scale) - vf_all(0.5f), true);
        const vi first = (fixed >> 8) + vi_all(axis->offset);
        out.weight = fixed & vi_all(255);
        out.first = vi_max(vi_min(first, last), vi_all(0));
        out.second = vi_max(vi_min(first + vi_all(1), last), vi_all(0));
    } else {
        const vi fixed = fixed_of_power(axis, true, true, coordinate);
        const vi first = fixed >> 8;
        out.weight = fixed & vi_all(255);
        out.first = first & last;
        out.second = (first + vi_all(1)) & last;
    }
    if (!contiguous) {
        out.second = vi_select(out.weight == vi_all(0), out.first, out.second);
    }
    return out;
}

/* The texel of a lookup that is not filtered. */
INLINE vi nearest_texel(const struct g4_axis *axis, enum wrap_shape shape, bool round, const float *coordinate) {
    if (shape == CLAMP) { /* vf_max returns the second operand if the first is NaN */
        const vf x = vf_max(vf_load(coordinate) * vf_all(axis->scale), vf_all(0.0f));
        const vf scaled = vf_min(x, vf_all(16384.0f)) * vf_all(256.0f);
        const vi fixed = round ? to_nearest(scaled) : vi_truncate(scaled);
        return vi_min(fixed >> 8, vi_all((int32_t)axis->size - 1));
    }
    return (vi)inside(axis_texels(axis, axis->mode, vf_load(coordinate)).first, axis->size);
}

/* The offsets of a vector of lookups that are not filtered: from first_texel() in shape WRAP_POWER, else from the start
 * of the surface. */
INLINE vu nearest_offset(const struct g4_axis axis[2], const struct offsets *o, uint32_t shift, enum wrap_shape shape,
                         bool round, const float *u, const float *v) {
    if (shape == WRAP_POWER) {
        return wrapped_column(o, fixed_of_power(&axis[0], false, round, u), shift) +
               wrapped_row(o, fixed_of_power(&axis[1], false, round, v));
    }
    return column_of(o, nearest_texel(&axis[0], shape, round, u), shift) +
           row_of(o, nearest_texel(&axis[1], shape, round, v));
}

#endif
