#include "sampler/load.h"

static void outside(const struct g4_texture *texture, uint32_t out[4]) {
    for (int channel = 0; channel < 4; channel++) {
        out[channel] = texture->source[channel] == G4_SOURCE_ONE && !texture->black_outside ? texture->one : 0;
    }
}

/* Replaces the channels of the format by those that the surface selects. */
static void select_channels(const struct g4_texture *texture, uint32_t texel[4]) {
    uint32_t own[4];
    if (!texture->surface.selects_channels) {
        return;
    }
    memcpy(own, texel, sizeof own);
    for (int channel = 0; channel < 4; channel++) {
        const uint8_t source = texture->source[channel];
        texel[channel] = source == G4_SOURCE_ZERO  ? 0
                         : source == G4_SOURCE_ONE ? texture->one
                                                   : own[texture->channel[source]];
    }
}

/* Finds the texel of a lane.  False: it is outside the level. */
static inline bool locate(const struct g4_texture *texture, const struct g4_level *level, const uint32_t uvr[3],
                          const int32_t offset[3], uint32_t *x, uint32_t *y, uint32_t *slice) {
    const bool one_dimension = texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_1D;
    *x = uvr[0] + (uint32_t)offset[0];
    *y = one_dimension ? 0 : uvr[1] + (uint32_t)offset[1];
    /* Offsets do not apply to the index of an array. */
    *slice = (one_dimension ? uvr[1] : uvr[2]) + (texture->volume ? (uint32_t)offset[2] : 0);
    return *x < level->width && *y < level->height && *slice < level->depth;
}

static uint32_t first_slice(const struct g4_texture *texture) {
    return texture->volume ? 0 : texture->surface.minimum_array_element;
}

/* True if G4x silicon returns something else (docs/decisions.md 34). */
static bool differs(const struct g4_texture *texture, uint32_t level, bool beyond_first_slice) {
    return texture->volume && level >= 1 && beyond_first_slice && texture->quirks->ld_of_deep_volume_levels_differs;
}

bool g4_load_texel(struct g4_texel_reader *reader, const struct g4_texture *texture, const struct g4_load *load,
                   uint32_t out[4]) {
    const struct g4_surface *const surface = &texture->surface;
    if (reader->log) {
        reader->log->next.level = load->lod;
        reader->log->next.weight = 1.0f;
    }
    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER) {
        if (load->u < surface->buffer_entries) {
            g4_texel_read_entry(reader, texture, load->u, out);
            select_channels(texture, out);
        } else {
            outside(texture, out);
        }
        return false;
    }
    if (load->lod > texture->mip_count) {
        outside(texture, out);
        return false;
    }
    const struct g4_level *const level = &texture->level[load->lod + texture->min_lod];
    uint32_t x;
    uint32_t y;
    uint32_t slice;
    if (!locate(texture, level, (const uint32_t[3]){load->u, load->v, load->r}, load->offset, &x, &y, &slice)) {
        outside(texture, out);
        return false;
    }
    const uint32_t real = slice + first_slice(texture);
    const struct g4_texel_place place = {
        .level = level,
        .x0 = level->x + level->slice_dx * (real & level->slice_mask),
        .y0 = level->y + level->slice_dy * (real >> level->slice_shift),
        .x = x,
        .y = y,
    };
    g4_texel_read(reader, texture, &place, NULL, out);
    select_channels(texture, out);
    return differs(texture, load->lod + texture->min_lod, slice >= 1);
}

/* ---- many at once ---- */

static uint32_t first_lane(g4_lanes lanes) {
    return (uint32_t)__builtin_ctzll(lanes);
}

/* Returns the lanes that are inside the level; x, y and slice of the others repeat those of the first lane inside. */
static g4_lanes place(const struct g4_texture *texture, const struct g4_sampler_ops *ops, const struct g4_level *level,
                      const struct g4_load_lanes *load, g4_lanes active, struct g4_load_work *work) {
    const bool one_dimension = texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_1D;
    const uint32_t *const coordinate[3] = {load->u, one_dimension ? NULL : load->v, one_dimension ? load->v : load->r};
    const uint32_t offset[3] = {(uint32_t)load->offset[0], one_dimension ? 0 : (uint32_t)load->offset[1],
                                texture->volume ? (uint32_t)load->offset[2] : 0};
    const uint32_t size[3] = {level->width, level->height, level->depth};
    const g4_lanes found =
        active & ops->locate(coordinate, offset, size, (int32_t *const[3]){work->x, work->y, work->slice});
    const uint32_t first = found ? first_lane(found) : 0;
    const uint32_t minimum = first_slice(texture);

    for (g4_lanes left = ~found; left; left &= left - 1) {
        const uint32_t i = first_lane(left);
        work->x[i] = work->x[first];
        work->y[i] = work->y[first];
        work->slice[i] = work->slice[first];
    }
    for (uint32_t i = 0; minimum && i < G4_BATCH; i++) {
        work->slice[i] += (int32_t)minimum;
    }
    return found;
}

static bool same_level(const struct g4_load_lanes *load, g4_lanes active) {
    const uint32_t *const lod = load->lod;
    const uint32_t first = lod[first_lane(active)];

    if (memcmp(lod, lod + 1, (G4_BATCH - 1) * sizeof *lod) == 0) {
        return true;
    }
    for (g4_lanes left = active; left; left &= left - 1) {
        if (lod[first_lane(left)] != first) {
            return false;
        }
    }
    return true;
}

static void fill(uint32_t out[G4_BATCH], uint32_t value) {
    for (uint32_t i = 0; i < G4_BATCH; i++) {
        out[i] = value;
    }
}

bool g4_load_can_batch(const struct g4_texture *texture, const struct g4_load_lanes *load, g4_lanes active) {
    return active && texture->fetch == G4_FETCH_PACKED && texture->surface.type != G4_SURFACE_TYPE_SURFTYPE_BUFFER &&
           same_level(load, active) && load->lod[first_lane(active)] <= texture->mip_count;
}

bool g4_load_batch(struct g4_texel_reader *reader, const struct g4_texture *texture, const struct g4_sampler_ops *ops,
                   const struct g4_load_lanes *load, g4_lanes active, struct g4_load_work *work,
                   uint32_t *const out[4]) {
    const uint32_t number = load->lod[first_lane(active)] + texture->min_lod;
    const struct g4_level *const level = &texture->level[number];
    const g4_lanes found = place(texture, ops, level, load, active, work);
    uint32_t none[4];

    outside(texture, none);
    if (found) {
        ops->slices(level, work->slice, G4_BATCH, work->x0, work->y0);
        ops->columns(texture, work->x0, work->x, level->width, G4_BATCH, work->column[0]);
        ops->rows(texture, work->y0, work->y, level->height, G4_BATCH, work->row[0]);
        ops->fetch(texture, reader->port, work->column, work->row, 1, G4_BATCH, work->texel);
    }
    bool silicon_differs = false;
    for (g4_lanes left = found; left && differs(texture, number, true); left &= left - 1) {
        silicon_differs |= work->slice[first_lane(left)] >= 1;
    }
    for (int channel = 0; channel < 4; channel++) {
        const uint8_t source = texture->source[channel];
        if (source < G4_SOURCE_ZERO) {
            memcpy(out[channel], work->texel[0][source], sizeof work->texel[0][source]);
        } else {
            fill(out[channel], source == G4_SOURCE_ONE ? texture->one : 0);
        }
        for (g4_lanes left = ~found; left; left &= left - 1) {
            out[channel][first_lane(left)] = none[channel];
        }
    }
    return silicon_differs;
}

void g4_load_info(const struct g4_texture *texture, uint32_t lod, uint32_t out[4]) {
    const struct g4_surface *const surface = &texture->surface;

    memset(out, 0, 4 * sizeof *out);
    if (texture->null) {
        return;
    }
    out[3] = surface->mip_count_or_lod + 1;
    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER) {
        out[0] = surface->buffer_entries;
        return;
    }
    if (lod > surface->mip_count_or_lod) {
        return;
    }
    const uint32_t level = lod + surface->min_lod;
    const uint32_t elements = surface->depth > 1 ? surface->depth : 0;
    out[0] = g4_minify(surface->width, level);
    switch (surface->type) {
    case G4_SURFACE_TYPE_SURFTYPE_1D:
        out[1] = elements;
        break;
    case G4_SURFACE_TYPE_SURFTYPE_3D:
        out[1] = g4_minify(surface->height, level);
        out[2] = g4_minify(surface->depth, level);
        break;
    default:
        out[1] = g4_minify(surface->height, level);
        out[2] = elements;
        break;
    }
}
