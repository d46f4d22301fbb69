#include "load.h"

static void outside(const struct g4_texture *texture, uint32_t out[4]) {
    memset(out, 0, 4 * sizeof *out);
    if (texture->source[3] == G4_SOURCE_ONE && !texture->black_outside) {
        out[3] = texture->one;
    }
}

bool g4_load_texel(struct g4_texel_reader *reader, const struct g4_texture *texture, const struct g4_load *load,
                   uint32_t out[4]) {
    const struct g4_surface *const surface = &texture->surface;
    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER) {
        if (load->u < surface->buffer_entries) {
            g4_texel_read_entry(reader, texture, load->u, out);
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
    const bool one_dimension = surface->type == G4_SURFACE_TYPE_SURFTYPE_1D;
    const uint32_t x = load->u + (uint32_t)load->offset[0];
    const uint32_t y = one_dimension ? 0 : load->v + (uint32_t)load->offset[1];
    /* An array's index takes no offset. */
    const uint32_t element = one_dimension ? load->v : load->r;
    const uint32_t slice = texture->volume ? load->r + (uint32_t)load->offset[2] : element;

    if (x >= level->width || y >= level->height || slice >= level->depth) {
        outside(texture, out);
        return false;
    }
    const uint32_t real = texture->volume ? slice : slice + surface->state.minimum_array_element;
    const struct g4_texel_place place = {
        .level = level,
        .x0 = level->x + level->slice_dx * (real & level->slice_mask),
        .y0 = level->y + level->slice_dy * (real >> level->slice_shift),
        .x = x,
        .y = y,
    };
    g4_texel_read(reader, texture, &place, NULL, out);
    return texture->volume && load->lod + texture->min_lod >= 1 && slice >= 1 && g4_is_gen45(texture->gen);
}

static uint32_t minify(uint32_t size, uint32_t level) {
    const uint32_t small = level > 31 ? 0 : size >> level;
    return small ? small : 1;
}

void g4_load_info(const struct g4_texture *texture, uint32_t lod, uint32_t out[4]) {
    const struct g4_surface *const surface = &texture->surface;

    memset(out, 0, 4 * sizeof *out);
    if (texture->null) {
        return;
    }
    out[3] = surface->levels;
    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER) {
        out[0] = surface->buffer_entries;
        return;
    }
    if (lod > surface->levels - 1) {
        return;
    }
    const uint32_t level = lod + surface->state.surface_min_lod;
    const uint32_t elements = surface->depth > 1 ? surface->depth : 0;
    out[0] = minify(surface->width, level);
    switch (surface->type) {
    case G4_SURFACE_TYPE_SURFTYPE_1D:
        out[1] = elements;
        break;
    case G4_SURFACE_TYPE_SURFTYPE_3D:
        out[1] = minify(surface->height, level);
        out[2] = minify(surface->depth, level);
        break;
    default:
        out[1] = minify(surface->height, level);
        out[2] = elements;
        break;
    }
}
