#include "sampler/filter.h"
#include "core/util.h"

#include <math.h>

#include "sampler/bilinear.h"

struct lookup {
    struct g4_batch *b;
    const struct g4_sampler_ops *ops;
    struct g4_texel_reader *reader;
    const struct g4_level *level;
    uint32_t components;
    uint32_t border[4];
    struct g4_texel_key key;
};

/* ---- one texel at a time ---- */

static int32_t within(int32_t value, uint32_t size) {
    const int32_t last = (int32_t)size - 1;
    return value < 0 ? 0 : value > last ? last : value;
}

static void read_at(struct lookup *r, int32_t slice, int32_t x, int32_t y, uint32_t lane, uint32_t out[4]) {
    const struct g4_texture *const texture = r->b->texture;
    const struct g4_level *const level = r->level;

    if (slice == G4_OUTSIDE || x == G4_OUTSIDE || y == G4_OUTSIDE ||
        (texture->cube && !(texture->cube_faces >> (slice & 7) & 1))) {
        memcpy(out, r->border, 4 * sizeof *out);
        return;
    }
    const struct g4_texel_place place = {
        .level = level,
        .x0 = level->x + g4_slice_x(level, (uint32_t)slice),
        .y0 = level->y + g4_slice_y(level, (uint32_t)slice),
        .x = (uint32_t)within(x, level->width),
        .y = (uint32_t)within(y, level->height),
        .smooth = r->b->filter != G4_MAP_FILTER_NEAREST,
    };
    r->key.hit = false;
    g4_texel_read(r->reader, texture, &place, &r->key, out);
    if (r->key.hit) {
        r->b->killed |= UINT64_C(1) << lane;
    }
}

/* ---- cubes: the texels that continue a face beyond its edges ---- */

/* The position of texel (i, j) of a face on the lattice of n * n * n points. */
static void to_lattice(int32_t face, int32_t i, int32_t j, int32_t m, int32_t out[3]) {
    const int32_t across[6][3] = {
        {m, m - j, m - i}, {0, m - j, i}, {i, m, j}, {i, 0, m - j}, {i, m - j, m}, {m - i, m - j, 0},
    };
    for (int k = 0; k < 3; k++) {
        out[k] = across[face][k];
    }
}

static void from_lattice(int32_t face, const int32_t p[3], int32_t m, int32_t *i, int32_t *j) {
    const int32_t texel[6][2] = {
        {m - p[2], m - p[1]}, {p[2], m - p[1]}, {p[0], p[2]}, {p[0], m - p[2]}, {p[0], m - p[1]}, {m - p[0], m - p[1]},
    };
    *i = texel[face][0];
    *j = texel[face][1];
}

/* Replaces a position beside a face by the one on the adjacent face.  i and j are in -1..n.  False: the position is at
 * a corner, where three faces meet. */
static bool cube_neighbour(int32_t *face, int32_t *i, int32_t *j, int32_t n) {
    const bool x_outside = *i < 0 || *i >= n;
    const bool y_outside = *j < 0 || *j >= n;
    int32_t p[3];

    if (x_outside && y_outside) {
        return false;
    }
    if (!x_outside && !y_outside) {
        return true;
    }
    to_lattice(*face, *i, *j, n - 1, p);
    for (int k = 0; k < 3; k++) {
        if (p[k] < 0 || p[k] >= n) {
            *face = 2 * k + (p[k] < 0 ? 1 : 0);
            p[k] = p[k] < 0 ? 0 : n - 1;
        }
    }
    from_lattice(*face, p, n - 1, i, j);
    return true;
}

/* ---- compares ---- */

/* Erratum of Gen4: sample_c of A16_FLOAT takes NaN for infinity. */
static bool nan_counts_as_infinity(const struct g4_texture *texture) {
    return texture->quirks->sample_c_a16_nan_is_infinity && texture->surface.format_code == G4_SURFACE_FORMAT_A16_FLOAT;
}

/* Reads the component that a compare turns into 0 or 1, or all components. */
static void read_compared(struct lookup *r, int32_t slice, int32_t x, int32_t y, uint32_t lane, float out[4]) {
    const struct g4_texture *const texture = r->b->texture;
    uint32_t channel[4];

    read_at(r, slice, x, y, lane, channel);
    if (r->b->shadow) {
        float texel[G4_BATCH_LEAST] = {g4_hw_float(channel[texture->tested])};
        const float reference[G4_BATCH_LEAST] = {r->b->reference[lane]};
        if (nan_counts_as_infinity(texture) && texel[0] != texel[0]) {
            texel[0] = HUGE_VALF;
        }
        r->ops->compare(r->b->sampler->shadow_function, reference, 1, texel);
        out[0] = texel[0];
        return;
    }
    for (uint32_t k = 0; k < r->components; k++) {
        memcpy(&out[k], &channel[texture->channel[k]], sizeof *out);
    }
}

/* Where three faces meet there is no fourth texel: returns the mean of the three (docs/decisions.md 63). */
static void read_cube_corner(struct lookup *r, int32_t face, int32_t x, int32_t y, uint32_t lane, float out[4]) {
    const int32_t n = (int32_t)r->level->width;
    const int32_t inner[2] = {within(x, r->level->width), within(y, r->level->width)};
    float texel[3][4];

    for (int i = 0; i < 3; i++) {
        int32_t at[3] = {face, i == 1 ? x : inner[0], i == 2 ? y : inner[1]};
        (void)cube_neighbour(&at[0], &at[1], &at[2], n);
        read_compared(r, at[0], at[1], at[2], lane, texel[i]);
    }
    for (uint32_t k = 0; k < r->components; k++) {
        const double sum = (double)texel[0][k] + (double)texel[1][k] + (double)texel[2][k];
        out[k] = (float)(sum / 3.0);
    }
}

static bool is_inside(int32_t index, uint32_t size) {
    return index >= 0 && index < (int32_t)size;
}

static void read_lane(struct lookup *r, int32_t slice, int32_t x, int32_t y, uint32_t lane, float out[4]) {
    const bool inside = is_inside(x, r->level->width) && is_inside(y, r->level->height); /* faces may not be squares */
    if (r->b->texture->cube && !inside && x != G4_OUTSIDE && y != G4_OUTSIDE &&
        !cube_neighbour(&slice, &x, &y, (int32_t)r->level->width)) {
        read_cube_corner(r, slice, x, y, lane, out);
        return;
    }
    read_compared(r, slice, x, y, lane, out);
}

/* ---- a plane: one or four texels of each lookup, all of the slice in work.slice ---- */

/* True if texels of this corner are beyond the vector path: borders, and texels across a cube's edge. */
static bool needs_lane(const struct lookup *r, uint32_t lane, int32_t x, int32_t y) {
    const struct g4_texture *const texture = r->b->texture;
    const int32_t slice = r->b->work.slice[lane];
    return !is_inside(x, r->level->width) || !is_inside(y, r->level->height) || slice == G4_OUTSIDE ||
           (texture->cube && !(texture->cube_faces >> slice & 1));
}

static void store_lane(struct lookup *r, uint32_t corner, uint32_t lane, int32_t x, int32_t y) {
    float color[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (r->b->work.texels.weight[corner][lane] != 0.0f) {
        if (r->reader->log) {
            r->reader->log->next.weight = r->b->work.texels.weight[corner][lane];
        }
        read_lane(r, r->b->work.slice[lane], x, y, lane, color);
    }
    for (uint32_t k = 0; k < r->components; k++) {
        memcpy(&r->b->work.texels.texel[corner][k][lane], &color[k], sizeof color[k]);
    }
}

static const int32_t *corner_x(const struct g4_batch *b, uint32_t corner) {
    return corner & 1 ? b->work.axis[0].second : b->work.axis[0].first;
}

static const int32_t *corner_y(const struct g4_batch *b, uint32_t corner) {
    return corner & 2 ? b->work.axis[1].second : b->work.axis[1].first;
}

static void place_slices(struct lookup *r) {
    struct g4_batch *const b = r->b;
    r->ops->slices(r->level, b->work.slice, b->n, b->work.x0, b->work.y0);
}

/* True if some texel may need read_lane(); the other addressing modes never leave the image. */
static bool may_leave(const struct lookup *r) {
    return r->b->sampler->border_mode || r->b->texture->cube;
}

static void fetch_packed(struct lookup *r, uint32_t corners) {
    struct g4_batch *const b = r->b;
    const bool two = corners > 1;

    place_slices(r);
    for (uint32_t k = 0; k < (two ? 2u : 1u); k++) {
        r->ops->columns(b->texture, b->work.x0, corner_x(b, k), r->level->width, b->n, b->work.column[k]);
        r->ops->rows(b->texture, b->work.y0, corner_y(b, 2 * k), r->level->height, b->n, b->work.row[k]);
    }
    r->ops->fetch(b->texture, r->reader->port, b->work.column, b->work.row, corners, b->n, b->work.texels.texel);
    for (uint32_t corner = 0; b->shadow && corner < corners; corner++) {
        r->ops->compare(b->sampler->shadow_function, b->reference, b->n, b->work.texels.texel[corner][0]);
    }
    if (!may_leave(r)) {
        return;
    }
    for (uint32_t corner = 0; corner < corners; corner++) {
        const int32_t *const x = corner_x(b, corner);
        const int32_t *const y = corner_y(b, corner);
        for (uint32_t i = 0; i < b->n; i++) {
            if (needs_lane(r, i, x[i], y[i])) {
                store_lane(r, corner, i, x[i], y[i]);
            }
        }
    }
}

static void fetch_blocks(struct lookup *r, uint32_t corners) {
    struct g4_batch *const b = r->b;
    const bool leaves = may_leave(r);
    uint8_t channel[4];

    memcpy(channel, b->texture->channel, sizeof channel);
    place_slices(r);
    for (uint32_t corner = 0; corner < corners; corner++) {
        const int32_t *const x = corner_x(b, corner);
        const int32_t *const y = corner_y(b, corner);
        float(*const out)[G4_BATCH] = b->work.texels.texel[corner];
        struct g4_last_block last = {0};
        for (uint32_t i = 0; i < b->n; i++) {
            if (leaves && needs_lane(r, i, x[i], y[i])) {
                store_lane(r, corner, i, x[i], y[i]);
                continue;
            }
            const float *const color = g4_texel_near(r->reader, b->texture, &last, b->work.x0[i], b->work.y0[i],
                                                     (uint32_t)x[i], (uint32_t)y[i]);
            for (uint32_t k = 0; k < r->components; k++) {
                out[k][i] = color[channel[k]];
            }
        }
    }
}

static void fetch_lanes(struct lookup *r, uint32_t corners) {
    struct g4_batch *const b = r->b;
    for (uint32_t corner = 0; corner < corners; corner++) {
        const int32_t *const x = corner_x(b, corner);
        const int32_t *const y = corner_y(b, corner);
        for (uint32_t i = 0; i < b->n; i++) {
            store_lane(r, corner, i, x[i], y[i]);
        }
    }
}

/* Texels of weight 0 must not contribute Inf or NaN; the other paths leave such texels out themselves. */
static void drop_weightless(struct lookup *r) {
    struct g4_texel_lanes *const texels = &r->b->work.texels;
    for (uint32_t corner = 0; corner < 4; corner++) {
        for (uint32_t k = 0; k < r->components; k++) {
            for (uint32_t i = 0; i < r->b->n; i++) {
                texels->texel[corner][k][i] = texels->weight[corner][i] != 0.0f ? texels->texel[corner][k][i] : 0.0f;
            }
        }
    }
}

static void fetch(struct lookup *r, uint32_t corners) {
    const struct g4_texture *const texture = r->b->texture;
    /* Only the paths for single texels support compares, chroma keys, and logs. */
    const bool single =
        r->b->keyed || r->reader->log || (r->b->shadow && (texture->components > 1 || nan_counts_as_infinity(texture)));

    if (texture->fetch == G4_FETCH_PACKED && !texture->integers && !single) {
        fetch_packed(r, corners);
        if (corners > 1 && !texture->finite && !r->b->shadow) {
            drop_weightless(r);
        }
    } else if (texture->fetch == G4_FETCH_BLOCK && !single && !r->b->shadow) {
        fetch_blocks(r, corners);
    } else {
        fetch_lanes(r, corners);
    }
}

/* ---- filters ---- */

static uint8_t mode_of(const struct g4_batch *b, int dimension) {
    const struct g4_texture_sampler *const sampler = b->sampler;
    if (dimension == 1 && b->texture->quirks->lines_ignore_v &&
        b->texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_1D) {
        return G4_TEXTURE_COORDINATE_MODE_CLAMP;
    }
    if (!b->texture->cube) {
        return sampler->mode[dimension];
    }
    const bool across = sampler->mode[0] == G4_TEXTURE_COORDINATE_MODE_CUBE || sampler->override_cube;
    return across ? G4_TEXTURE_COORDINATE_MODE_CUBE : G4_TEXTURE_COORDINATE_MODE_CLAMP;
}

static struct g4_axis axis_of(const struct g4_batch *b, int dimension, uint32_t size) {
    const bool mode_is_of_cubes = !b->texture->cube && b->sampler->mode[dimension] == G4_TEXTURE_COORDINATE_MODE_CUBE;
    const int32_t offset = b->texture->cube ? 0 : b->offset[dimension];
    /* 32-bit float textures are not filtered: returns the texel that contains the coordinate (docs/decisions.md 61). */
    return (struct g4_axis){
        .size = size,
        .scale = g4_texel_scale(b->sampler, dimension, size),
        .mode = mode_is_of_cubes ? G4_TEXTURE_COORDINATE_MODE_CLAMP : mode_of(b, dimension),
        .linear = b->filter != G4_MAP_FILTER_NEAREST,
        .round = b->sampler->round[b->magnified][dimension] &&
                 (b->filter != G4_MAP_FILTER_NEAREST || b->sampler->filter[b->magnified] == G4_MAP_FILTER_NEAREST),
        .shifted = offset != 0,
        .offset = offset,
    };
}

static void find_axis(struct lookup *r, int dimension, const float *coordinate, uint32_t size) {
    struct g4_batch *const b = r->b;
    const struct g4_axis axis = axis_of(b, dimension, size);
    r->ops->axis(&axis, coordinate, b->n, &b->work.axis[dimension]);
}

static void set_slices(struct g4_batch *b, const int32_t *slice) {
    memcpy(b->work.slice, slice, b->n * sizeof *slice);
}

/* Whether all texels of all lookups are in one face of a cube, which its lookups then read like a 2D image. */
static bool is_in_one_face(const struct lookup *r, const struct g4_axis axis[2]) {
    const struct g4_batch *const b = r->b;
    const int32_t face = b->slice[0];
    const float *const coordinate[2] = {b->u, b->v};
    uint32_t outside = 0;

    if (face == G4_OUTSIDE || !(b->texture->cube_faces >> face & 1) || r->level != &b->texture->level[b->level]) {
        return false;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        outside |= b->slice[i] != face;
    }
    for (int d = 0; d < 2; d++) {
        const float last = (float)axis[d].size - 1.0f;
        for (uint32_t i = 0; i < b->n; i++) {
            const float x = coordinate[d][i] * axis[d].scale;
            outside |= (uint32_t) !(x >= 1.0f) | (uint32_t) !(x <= last);
        }
    }
    return outside == 0;
}

/* The path for formats that have loops of their own.  False: it does not suit. */
static bool run_direct(struct lookup *r) {
    struct g4_batch *const b = r->b;
    const struct g4_texture *const texture = b->texture;
    g4_bilinear_fn *const run = g4_lookup_function(texture, b->filter != G4_MAP_FILTER_NEAREST);
    const bool reduced = b->reduction != G4_REDUCTION_MEAN && b->filter != G4_MAP_FILTER_NEAREST;
    struct g4_bilinear job;

    if (!run || reduced || b->keyed || b->shadow || r->reader->log || (may_leave(r) && !texture->cube)) {
        return false;
    }
    struct g4_axis axis[2] = {axis_of(b, 0, r->level->width), axis_of(b, 1, r->level->height)};
    if (texture->cube) {
        if (!is_in_one_face(r, axis)) {
            return false;
        }
        axis[0].mode = axis[1].mode = G4_TEXTURE_COORDINATE_MODE_CLAMP; /* all texels are inside of the face */
    }
    if (!g4_lookup_begin(&job, texture, b->level, axis, r->reader, b->n)) {
        return false;
    }
    if (texture->cube) {
        job.column += g4_slice_x(r->level, (uint32_t)b->slice[0]);
        job.row += g4_slice_y(r->level, (uint32_t)b->slice[0]);
    }
    for (uint32_t k = 0; k < r->components; k++) {
        job.out[g4_lookup_output(texture, k)] = b->out[k];
    }
    run(&job, b->u, b->v, b->n);
    return true;
}

/* Whether no texel, or what a compare made of it, is Inf or NaN. */
static bool is_finite(const struct g4_batch *b) {
    return b->texture->finite || b->shadow;
}

static void run_nearest(struct lookup *r) {
    struct g4_batch *const b = r->b;

    if (run_direct(r)) {
        return;
    }
    find_axis(r, 0, b->u, r->level->width);
    find_axis(r, 1, b->v, r->level->height);
    if (b->texture->volume) {
        find_axis(r, 2, b->r, r->level->depth);
        set_slices(b, b->work.axis[2].first);
    } else {
        set_slices(b, b->slice);
    }
    for (uint32_t i = 0; i < b->n; i++) {
        b->work.texels.weight[0][i] = 1.0f;
    }
    fetch(r, 1);
    for (uint32_t k = 0; k < r->components; k++) {
        memcpy(b->out[k], b->work.texels.texel[0][k], b->n * sizeof(float));
    }
}

/* ---- results of several lookups: sums in double, or the least or greatest texel whose weight is above 0 ---- */

static void clear_sum(struct lookup *r) {
    struct g4_batch *const b = r->b;
    for (uint32_t k = 0; k < r->components; k++) {
        memset(b->work.sum[k], 0, b->n * sizeof(double));
        for (uint32_t i = 0; b->reduction != G4_REDUCTION_MEAN && i < b->n; i++) {
            b->out[k][i] = NAN;
        }
    }
}

static void add_texels(struct lookup *r) {
    struct g4_batch *const b = r->b;
    const struct g4_texel_lanes *const texels = &b->work.texels;

    if (b->reduction == G4_REDUCTION_MEAN) {
        r->ops->accumulate(texels, b->work.scale, r->components, is_finite(b), b->n, b->work.sum);
        return;
    }
    for (uint32_t corner = 0; corner < 4; corner++) {
        for (uint32_t k = 0; k < r->components; k++) {
            for (uint32_t i = 0; i < b->n; i++) {
                if (texels->weight[corner][i] > 0.0f) {
                    b->out[k][i] = g4_reduce(b->reduction, b->out[k][i], texels->texel[corner][k][i]);
                }
            }
        }
    }
}

static void finish_sum(struct lookup *r) {
    struct g4_batch *const b = r->b;
    for (uint32_t k = 0; k < r->components && b->reduction == G4_REDUCTION_MEAN; k++) {
        for (uint32_t i = 0; i < b->n; i++) {
            b->out[k][i] = (float)b->work.sum[k][i];
        }
    }
}

static void run_linear(struct lookup *r) {
    struct g4_batch *const b = r->b;

    if (run_direct(r)) {
        return;
    }
    find_axis(r, 0, b->u, r->level->width);
    find_axis(r, 1, b->v, r->level->height);
    r->ops->weights(&b->work.axis[0], &b->work.axis[1], b->n, b->work.texels.weight);
    set_slices(b, b->slice);
    fetch(r, 4);
    if (b->reduction != G4_REDUCTION_MEAN) {
        clear_sum(r);
        add_texels(r);
        return;
    }
    r->ops->filter(&b->work.texels, r->components, is_finite(b), b->n, b->out);
}

/* The texels of a bilinear lookup from the lower left one counterclockwise, as the API has them. */
static void run_gather(struct lookup *r) {
    static const uint8_t corner_of[4] = {2, 3, 1, 0};
    struct g4_batch *const b = r->b;

    for (int dimension = 0; dimension < 2; dimension++) {
        const float *const coordinate = dimension ? b->v : b->u;
        const uint32_t size = dimension ? r->level->height : r->level->width;
        struct g4_axis axis = axis_of(b, dimension, size);
        axis.shifted = true; /* the first texel stays the first where the map is reflected (docs/decisions.md 206) */
        r->ops->axis(&axis, coordinate, b->n, &b->work.axis[dimension]);
        /* The second texel is needed even where its weight is 0. */
        axis.offset++;
        r->ops->axis(&axis, coordinate, b->n, &b->work.axis[2]);
        memcpy(b->work.axis[dimension].second, b->work.axis[2].first, b->n * sizeof(int32_t));
    }
    for (uint32_t i = 0; i < b->n; i++) {
        for (int corner = 0; corner < 4; corner++) {
            b->work.texels.weight[corner][i] = 1.0f;
        }
    }
    set_slices(b, b->slice);
    fetch(r, 4);
    for (uint32_t k = 0; k < 4; k++) {
        memcpy(b->out[k], b->work.texels.texel[corner_of[k]][b->shadow ? 0 : b->gathered], b->n * sizeof(float));
    }
}

/* Filters two slices of four texels each.  A slice of weight 0 is not read. */
static void run_volume(struct lookup *r) {
    struct g4_batch *const b = r->b;
    const struct g4_axis_lanes *const z = &b->work.axis[2];

    find_axis(r, 0, b->u, r->level->width);
    find_axis(r, 1, b->v, r->level->height);
    find_axis(r, 2, b->r, r->level->depth);
    clear_sum(r);
    for (int plane = 0; plane < 2; plane++) {
        r->ops->weights(&b->work.axis[0], &b->work.axis[1], b->n, b->work.texels.weight);
        for (uint32_t i = 0; i < b->n; i++) {
            const int32_t part = plane ? z->weight[i] : G4_WEIGHT_ONE - z->weight[i];
            b->work.scale[i] = 1.0;
            for (int corner = 0; corner < 4; corner++) {
                b->work.texels.weight[corner][i] *= (float)part * (1.0f / G4_WEIGHT_ONE);
            }
        }
        set_slices(b, plane ? z->second : z->first);
        fetch(r, 4);
        add_texels(r);
    }
    finish_sum(r);
}

/* A job for the function that adds lookups up.  NULL: it does not suit. */
static g4_bilinear_add_fn *begin_sum(struct lookup *r, struct g4_bilinear *job) {
    const struct g4_batch *const b = r->b;
    g4_bilinear_add_fn *const add = g4_lookup_add_function(b->texture);

    if (!add || b->reduction != G4_REDUCTION_MEAN || b->keyed || b->shadow || r->reader->log || may_leave(r)) {
        return NULL;
    }
    const struct g4_axis axis[2] = {axis_of(b, 0, r->level->width), axis_of(b, 1, r->level->height)};
    const bool begun = g4_lookup_begin(job, b->texture, b->level, axis, r->reader, b->n);
    return begun && job->contiguous_base ? add : NULL;
}

/* Adds one sample of each lookup; those that have fewer have a share of 0, and are not fetched. */
static void add_way(struct lookup *r) {
    struct g4_batch *const b = r->b;

    find_axis(r, 0, b->work.coordinate[0], r->level->width);
    find_axis(r, 1, b->work.coordinate[1], r->level->height);
    r->ops->weights(&b->work.axis[0], &b->work.axis[1], b->n, b->work.texels.weight);
    for (uint32_t i = 0; i < b->n; i++) {
        for (int corner = 0; corner < 4; corner++) {
            b->work.texels.weight[corner][i] = b->work.scale[i] > 0.0 ? b->work.texels.weight[corner][i] : 0.0f;
        }
    }
    set_slices(b, b->slice);
    fetch(r, 4);
    add_texels(r);
}

/* Bilinear samples one texel apart along the longer gradient. */
static void run_anisotropic(struct lookup *r) {
    struct g4_batch *const b = r->b;
    const struct g4_anisotropy *const a = b->anisotropy;
    const float scale[2] = {g4_texel_scale(b->sampler, 0, r->level->width),
                            g4_texel_scale(b->sampler, 1, r->level->height)};
    const float *const step[2] = {a->step[0], a->step[1]};
    const float *const center[2] = {b->u, b->v};
    struct g4_bilinear job;
    g4_bilinear_add_fn *const add = begin_sum(r, &job);
    const uint32_t most = r->ops->ways(a->ratio, step, scale, b->n, &b->work.ways);

    clear_sum(r);
    for (uint32_t way = 0; way < most; way++) {
        r->ops->way(&b->work.ways, way, center, b->n, b->work.coordinate, b->work.scale);
        if (add) {
            add(&job, b->work.coordinate[0], b->work.coordinate[1], b->work.scale, b->n, b->work.sum);
        } else {
            add_way(r);
        }
    }
    finish_sum(r);
}

/* ---- MAPFILTER_MONO: means of (width + 1) x (height + 1) bits ---- */

static float mono_bit(struct lookup *r, int32_t x, int32_t y) {
    uint32_t color[4];
    if (!is_inside(x, r->level->width) || !is_inside(y, r->level->height)) {
        return 0.0f; /* the border of MONO8 is always black */
    }
    read_at(r, 0, x, y, 0, color);
    return color[0] ? 1.0f : 0.0f;
}

/* The size of the sampler, else that of the context, else one texel. */
static uint32_t mono_size(uint32_t own, uint32_t common) {
    return own ? own : common ? common : 1;
}

/* The first texel of a coordinate, and the filter's start within that texel. */
static int32_t mono_start(float coordinate, float scale, uint32_t taps, double *fraction) {
    const float place = coordinate * scale - (float)taps * 0.5f;
    const float limited = place == place ? (place < -32768.0f ? -32768.0f : place > 32768.0f ? 32768.0f : place) : 0.0f;
    const int32_t whole = (int32_t)limited - (limited < (float)(int32_t)limited ? 1 : 0);
    *fraction = (double)limited - (double)whole;
    return whole;
}

static void run_mono(struct lookup *r) {
    struct g4_batch *const b = r->b;
    const uint32_t *const common = r->reader->state->mono_filter_size; /* docs/decisions.md 100 */
    const uint32_t columns = mono_size(b->sampler->mono_width, common[0]);
    const uint32_t rows = mono_size(b->sampler->mono_height, common[1]);

    for (uint32_t i = 0; i < b->n; i++) {
        double bu;
        double bv;
        const int32_t x0 = mono_start(b->u[i], g4_texel_scale(b->sampler, 0, r->level->width), columns, &bu);
        const int32_t y0 = mono_start(b->v[i], g4_texel_scale(b->sampler, 1, r->level->height), rows, &bv);
        double sum = 0.0;
        for (uint32_t y = 0; y <= rows; y++) {
            const double wy = y == 0 ? 1.0 - bv : y == rows ? bv : 1.0;
            for (uint32_t x = 0; x <= columns; x++) {
                const double wx = x == 0 ? 1.0 - bu : x == columns ? bu : 1.0;
                sum += wx * wy * (double)mono_bit(r, x0 + (int32_t)x, y0 + (int32_t)y);
            }
        }
        const float mean = (float)(sum / (double)(columns * rows));
        for (uint32_t k = 0; k < r->components; k++) {
            b->out[k][i] = mean;
        }
    }
}

void g4_filter_run(struct g4_batch *batch, const struct g4_sampler_ops *ops, struct g4_texel_reader *reader) {
    const struct g4_texture_sampler *const sampler = batch->sampler;
    struct lookup r = {
        .b = batch,
        .ops = ops,
        .reader = reader,
        .level = &batch->texture->level[batch->level],
        .components = batch->shadow ? 1 : batch->texture->components,
        .key = {.enable = batch->keyed,
                .replace = sampler->key_replaces,
                .low = reader->state->chroma_key[sampler->key & 3][0],
                .high = reader->state->chroma_key[sampler->key & 3][1]},
    };
    if (batch->first_slice) {
        batch->work.level = *r.level;
        batch->work.level.y += batch->work.level.slice_dy * batch->first_slice;
        r.level = &batch->work.level;
    }
    if (reader->log) {
        reader->log->next.level = batch->level;
        reader->log->next.weight = 1.0f;
    }
    batch->killed = 0;
    g4_texture_border(batch->texture, sampler, r.border);
    if (batch->gather) {
        run_gather(&r);
        return;
    }
    switch (batch->filter) {
    case G4_MAP_FILTER_LINEAR:
        if (batch->texture->volume) {
            run_volume(&r);
        } else {
            run_linear(&r);
        }
        break;
    case G4_MAP_FILTER_ANISOTROPIC:
        run_anisotropic(&r);
        break;
    case G4_MAP_FILTER_MONO:
        run_mono(&r);
        break;
    default:
        run_nearest(&r);
        break;
    }
}
