#include "sampler/texture.h"

#include "core/srgb.h"
#include "core/util.h"

static bool constant(const struct g4_format_channel *channel) {
    return channel->type == G4_CHANNEL_ZERO || channel->type == G4_CHANNEL_ONE;
}

static bool same_channel(const struct g4_format_channel *a, const struct g4_format_channel *b) {
    return a->type == b->type && a->bits == b->bits && a->at == b->at;
}

/* Output channels with the same bits share a component, as in L and I formats. */
static void find_components(struct g4_texture *texture) {
    const struct g4_format *const format = texture->format;
    const bool share = format->encoding == G4_ENCODING_PLAIN && format->palette == 0;

    texture->components = 0;
    for (uint8_t c = 0; c < 4; c++) {
        const struct g4_format_channel *const channel = &format->channel[c];
        if (constant(channel)) {
            texture->source[c] = channel->type == G4_CHANNEL_ONE ? G4_SOURCE_ONE : G4_SOURCE_ZERO;
            texture->border_channel[c] = c;
            continue;
        }
        uint8_t k = 0;
        while (k < texture->components && !(share && same_channel(channel, &format->channel[texture->channel[k]]))) {
            k++;
        }
        if (k == texture->components) {
            texture->channel[k] = c;
            texture->components++;
        }
        texture->source[c] = k;
        texture->border_channel[c] = texture->channel[k];
    }
}

/* The shader channel selects of Haswell. */
static void select_channels(struct g4_texture *texture) {
    uint8_t own[4];

    memcpy(own, texture->source, sizeof own);
    for (int c = 0; c < 4; c++) {
        const uint8_t select = texture->surface.channel_select[c];
        texture->source[c] = select >= 4 ? own[select - 4] : select == 1 ? G4_SOURCE_ONE : G4_SOURCE_ZERO;
    }
}

void g4_texture_keep_channels(struct g4_texture *texture) {
    for (uint8_t c = 0; c < 4; c++) {
        texture->source[c] = c;
        texture->channel[c] = c;
    }
    texture->components = 4;
    texture->direct = G4_DIRECT_NONE;
    texture->fetch = texture->fetch == G4_FETCH_BLOCK ? G4_FETCH_BLOCK : G4_FETCH_TEXEL;
}

static void find_tested(struct g4_texture *texture) {
    texture->tested = texture->components ? texture->channel[0] : 0;
    const struct g4_format_channel *const channel = &texture->format->channel[texture->tested];
    texture->clamp_ref = channel->type == G4_CHANNEL_UNORM;
}

/* The reciprocal of the maximum as a sum: the product of a code and `high` is exact, so that adding its product with
 * `low` rounds like a division, for every code of up to 16 bits. */
static void split_reciprocal(uint32_t bits, struct g4_component *out) {
    const double reciprocal = 1.0 / (double)out->mask;
    out->high = g4_hw_float(g4_hw_bits((float)reciprocal) & (bits < 24 ? ~((1u << bits) - 1) : 0));
    out->low = (float)(reciprocal - (double)out->high);
}

/* Describes a component of 32-bit words for the vector path.  False: it cannot be decoded there. */
static bool packed_component(const struct g4_texture *texture, const struct g4_srgb_decoder *srgb, uint8_t c,
                             struct g4_component *out) {
    const struct g4_format_channel *const channel = &texture->format->channel[c];
    const bool curved = texture->format->srgb && c < 3;

    out->shift = channel->at % 32;
    out->word = channel->at / 32;
    out->mask = channel->bits >= 32 ? UINT32_MAX : (UINT32_C(1) << channel->bits) - 1;
    out->maximum = (float)out->mask;
    split_reciprocal(channel->bits, out);
    out->decoded = NULL;
    if (channel->at >= 64 || channel->at % 32 + channel->bits > 32) {
        return false;
    }
    switch (channel->type) {
    case G4_CHANNEL_UNORM:
        if (channel->bits > 24) {
            return false;
        }
        out->kind = channel->bits == 8 ? G4_COMPONENT_UNORM8 : G4_COMPONENT_UNORM;
        if (curved) {
            out->kind = G4_COMPONENT_SRGB;
            out->decoded = g4_srgb_decoder_table(srgb, channel->bits);
        }
        return !curved || out->decoded;
    case G4_CHANNEL_FLOAT:
        out->kind = channel->bits == 32 ? G4_COMPONENT_BITS : G4_COMPONENT_HALF;
        return true;
    case G4_CHANNEL_UINT:
        out->kind = G4_COMPONENT_UINT;
        return true;
    case G4_CHANNEL_SINT:
        out->kind = G4_COMPONENT_SINT;
        return true;
    default:
        return false;
    }
}

/* True if texels are aligned, and their components are known to the vector paths. */
static bool has_components(struct g4_texture *texture, const struct g4_srgb_decoder *srgb) {
    const struct g4_surface *const surface = &texture->surface;
    const uint32_t bytes = texture->bits / 8;
    const g4_address alignment = surface->base | (surface->tiling == G4_TILING_LINEAR ? surface->pitch : 0);

    if (texture->format->encoding != G4_ENCODING_PLAIN || texture->format->palette ||
        (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || alignment % bytes != 0) {
        return false;
    }
    bool good = true;
    for (uint8_t k = 0; k < texture->components; k++) {
        good = good && packed_component(texture, srgb, texture->channel[k], &texture->component[k]);
    }
    return good;
}

static bool has_bytes(const struct g4_texture *texture) {
    bool good = texture->bits <= 32;
    for (uint8_t k = 0; k < texture->components; k++) {
        good = good && texture->component[k].kind == G4_COMPONENT_UNORM8;
    }
    return good;
}

static enum g4_direct_kind direct_kind(const struct g4_texture *texture, bool components) {
    const struct g4_surface *const surface = &texture->surface;
    const bool image = surface->type == G4_SURFACE_TYPE_SURFTYPE_2D && surface->depth == 1;
    const bool plain = (image || texture->cube) && !texture->line_shift && surface->minimum_array_element == 0 &&
                       !texture->sampled && surface->tiling != G4_TILING_W;
    if (!plain || texture->integers) {
        return G4_DIRECT_NONE;
    }
    if (texture->fetch == G4_FETCH_BLOCK) {
        return texture->block_columns.size == 4 && texture->block_rows.size == 4 ? G4_DIRECT_BLOCKS : G4_DIRECT_NONE;
    }
    if (!components) {
        return G4_DIRECT_NONE;
    }
    return has_bytes(texture) ? G4_DIRECT_BYTES : G4_DIRECT_WORDS;
}

static bool can_be_infinite(const struct g4_format *format) {
    for (int c = 0; c < 4; c++) {
        if (format->channel[c].type == G4_CHANNEL_FLOAT || format->channel[c].type == G4_CHANNEL_UFLOAT) {
            return true;
        }
    }
    return false;
}

/* Formats of the erratum of `black_outside`: 8 bits per channel and no alpha. */
static bool eight_bit_without_alpha(const struct g4_format *format) {
    bool eight = format->encoding == G4_ENCODING_PLAIN && constant(&format->channel[3]);
    for (int c = 0; c < 3; c++) {
        eight = eight && (constant(&format->channel[c]) || format->channel[c].bits == 8);
    }
    return eight;
}

static struct g4_block_axis block_axis(uint32_t size) {
    return (struct g4_block_axis){size, ((UINT32_C(1) << 18) + size - 1) / size};
}

void g4_texture_setup(struct g4_texture *texture, const struct g4_surface *surface, const struct g4_srgb_decoder *srgb,
                      const struct g4_model *model) {
    const uint32_t gen = g4_format_gen(model);
    const struct g4_format *const format = surface->format;
    const bool compressed = format->encoding != G4_ENCODING_PLAIN && format->encoding != G4_ENCODING_YUV_422;

    memset(texture, 0, sizeof *texture);
    texture->surface = *surface;
    texture->format = format;
    texture->gen = gen;
    texture->quirks = &model->quirks;
    texture->null = !surface->present || surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL;
    texture->can_sample =
        (format->sample & gen) != 0 && format->block_bits != 0 && surface->type <= G4_SURFACE_TYPE_SURFTYPE_BUFFER;
    if (texture->null || !texture->can_sample) {
        return;
    }
    texture->array = surface->type == G4_SURFACE_TYPE_SURFTYPE_1D || surface->type == G4_SURFACE_TYPE_SURFTYPE_2D;
    texture->volume = surface->type == G4_SURFACE_TYPE_SURFTYPE_3D;
    texture->cube = surface->type == G4_SURFACE_TYPE_SURFTYPE_CUBE;
    texture->can_filter = (format->filter_on_silicon & gen) != 0;
    texture->finite = !can_be_infinite(format);
    texture->integers = format->data_class != G4_CLASS_FLOAT;
    texture->black_outside = model->quirks.ld_outside_bytes_is_black && eight_bit_without_alpha(format);
    texture->cube_faces = surface->cube_faces;
    texture->one = texture->integers ? 1 : G4_ONE;
    texture->bits = format->encoding == G4_ENCODING_YUV_422 ? 16 : format->block_bits;
    texture->block_columns = block_axis(compressed ? format->block_width : 1);
    texture->block_rows = block_axis(compressed ? format->block_height : 1);
    texture->parts_across = (texture->block_columns.size + 3) / 4;
    texture->line_shift = surface->skips_lines && surface->type == G4_SURFACE_TYPE_SURFTYPE_2D ? 1 : 0;
    texture->line_offset = texture->line_shift ? surface->first_line : 0;
    texture->x_offset = surface->x_offset / texture->block_columns.size;
    texture->y_offset = surface->y_offset / texture->block_rows.size;
    texture->min_lod = surface->min_lod;
    texture->mip_count = surface->mip_count_or_lod;
    texture->max_level = texture->min_lod + texture->mip_count;
    texture->sampled = surface->samples > 1;
    texture->sample_elements = g4_surface_sample_elements(surface);
    texture->lod_rules = model->lod_rules;
    find_components(texture);
    if (surface->selects_channels) {
        select_channels(texture);
    }
    find_tested(texture);
    const bool components = has_components(texture, srgb);
    texture->fetch = compressed ? G4_FETCH_BLOCK : components && texture->bits <= 32 ? G4_FETCH_PACKED : G4_FETCH_TEXEL;
    texture->direct = direct_kind(texture, components);
    for (uint32_t level = 0; level <= texture->max_level; level++) {
        g4_surface_level(surface, level, &texture->level[level]);
    }
}

/* Reserved address modes act as WRAP. */
static uint8_t known_mode(const struct g4_sampler_loader *loader, uint8_t mode) {
    const bool known =
        mode <= G4_TEXTURE_COORDINATE_MODE_MIRROR_ONCE || (mode == G4_HALF_BORDER && loader->half_border);
    return known ? mode : (uint8_t)G4_TEXTURE_COORDINATE_MODE_WRAP;
}

void g4_texture_sampler_setup(struct g4_texture_sampler *sampler, struct g4_port *port, const struct g4_model *model,
                              g4_address general_state_base, g4_address address) {
    memset(sampler, 0, sizeof *sampler);
    const g4_address border_address =
        model->samplers->load(sampler, port, model->layout_gen, general_state_base, address);
    sampler->mono = sampler->filter[0] == G4_MAP_FILTER_MONO || sampler->filter[1] == G4_MAP_FILTER_MONO;
    for (int i = 0; i < 3; i++) {
        sampler->mode[i] = known_mode(model->samplers, sampler->mode[i]);
        sampler->border_mode = sampler->border_mode || sampler->mode[i] == G4_HALF_BORDER ||
                               sampler->mode[i] == G4_TEXTURE_COORDINATE_MODE_CLAMP_BORDER;
    }
    /* The border color is always read, because disabled faces of cubes show it, too; a missing one is not reported for
     * modes that do not use it. */
    if (!sampler->border_mode && !g4_mem_ptr(port->mem, border_address)) {
        return;
    }
    if (model->samplers->load_border) {
        model->samplers->load_border(sampler, port, model->layout_gen, border_address);
    } else {
        (void)g4_mem_read(port, border_address, sampler->border, sizeof sampler->border);
    }
}

/* Where Haswell has channel c of the border of an integer format: 8-bit channels in one dword, 16-bit ones in two, and
 * the green of two 32-bit channels in the place of blue. */
static uint32_t integer_border(const struct g4_format *format, const uint32_t words[4], uint32_t c) {
    const uint32_t bits = format->channel[0].bits;
    if (bits == 8) {
        return words[0] >> (8 * c) & 0xff;
    }
    if (bits < 32) {
        return words[c & 2] >> (16 * (c & 1)) & 0xffff;
    }
    return words[format->components == 2 && c == 1 ? 2 : c];
}

/* Limits a border color to the range of a channel. */
static uint32_t limited(const struct g4_format_channel *channel, uint32_t value) {
    if (channel->bits >= 32) {
        return value;
    }
    if (channel->type == G4_CHANNEL_UINT) {
        const uint32_t most = (UINT32_C(1) << channel->bits) - 1;
        return value < most ? value : most;
    }
    const int32_t most = (int32_t)((UINT32_C(1) << (channel->bits - 1)) - 1);
    const int32_t number = (int32_t)value;
    return (uint32_t)(number > most ? most : number < -most - 1 ? -most - 1 : number);
}

/* A float border of a channel with a range (docs/decisions.md 207); NaN becomes 0. */
static uint32_t normalized(const struct g4_format_channel *channel, uint32_t bits) {
    const float least = channel->type == G4_CHANNEL_SNORM ? -1.0f : 0.0f;
    const float f = g4_hw_float(bits);
    if (channel->type != G4_CHANNEL_UNORM && channel->type != G4_CHANNEL_SNORM) {
        return bits;
    }
    return g4_hw_bits(f != f ? 0.0f : f < least ? least : f > 1.0f ? 1.0f : f);
}

static uint32_t sign_extended(const struct g4_format_channel *channel, uint32_t value) {
    const uint32_t shift = 32u - (channel->bits == 8 ? 8u : 16u);
    const bool negative = channel->type == G4_CHANNEL_SINT && channel->bits < 32;
    return negative ? (uint32_t)((int32_t)(value << shift) >> shift) : value;
}

void g4_texture_border(const struct g4_texture *texture, const struct g4_texture_sampler *sampler, uint32_t out[4]) {
    for (uint32_t c = 0; c < 4; c++) {
        const struct g4_format_channel *const channel = &texture->format->channel[c];
        if (constant(channel)) {
            out[c] = channel->type == G4_CHANNEL_ZERO ? 0 : texture->one;
        } else if (!texture->integers || !texture->quirks->integer_borders_are_integers) {
            const uint32_t border = sampler->border[texture->border_channel[c]];
            out[c] = texture->quirks->limits_borders ? normalized(channel, border) : border;
        } else if (sampler->has_integer_border) {
            out[c] = sign_extended(channel, integer_border(texture->format, sampler->integer_border, c));
        } else {
            out[c] = limited(channel, sampler->border[c]);
        }
    }
}

/* ---- levels that are contiguous in host memory ---- */

/* The bytes of a level's first slice, or of the faces of a cube, from the start of the surface; whole tiles if the
 * surface is tiled. */
struct byte_range {
    uint64_t from, to;
};

enum {
    FACES = 6
};

static struct byte_range bytes_of(const struct g4_texture *texture, const struct g4_level *level) {
    const struct g4_surface *const surface = &texture->surface;
    const uint64_t pitch = surface->pitch;
    const uint64_t texel = texture->bits / 8;
    const uint64_t left = ((uint64_t)level->x + texture->x_offset) * texel;
    uint64_t across = 0;
    uint64_t down = 0;
    for (uint32_t face = 1; texture->cube && face < FACES; face++) {
        across = g4_slice_x(level, face) > across ? g4_slice_x(level, face) : across;
        down = g4_slice_y(level, face) > down ? g4_slice_y(level, face) : down;
    }
    const uint64_t right =
        left + (across + g4_block_number(&texture->block_columns, level->width - 1) + UINT64_C(1)) * texel;
    const uint64_t lines = (uint64_t)texture->line_offset + texture->y_offset;
    const uint64_t first = ((uint64_t)level->y << texture->line_shift) + lines;
    const uint64_t last =
        ((level->y + down + g4_block_number(&texture->block_rows, level->height - 1)) << texture->line_shift) + lines;

    if (surface->tiling == G4_TILING_LINEAR) {
        return (struct byte_range){first * pitch + left, last * pitch + right};
    }
    const uint64_t width = g4_tile_width(surface->tiling);
    const uint64_t height = g4_tile_height(surface->tiling);
    return (struct byte_range){
        first / height * (pitch * height) + left / width * G4_PAGE_SIZE,
        last / height * (pitch * height) + ((right - 1) / width + 1) * G4_PAGE_SIZE,
    };
}

/* The host address of the first of these pages if they are contiguous, else NULL. */
static uint8_t *one_piece(struct g4_mem *mem, uint64_t first, uint64_t last) {
    uint8_t *const start = g4_mem_ptr(mem, first << G4_PAGE_SHIFT);
    for (uint64_t page = first; start && page <= last; page++) {
        if (g4_mem_ptr(mem, page << G4_PAGE_SHIFT) != start + (size_t)(page - first) * G4_PAGE_SIZE) {
            return NULL;
        }
    }
    return start;
}

uintptr_t g4_texture_contiguous_base(const struct g4_texture *texture, uint32_t level, struct g4_mem *mem,
                                     uint32_t lookups) {
    struct g4_contiguous_level *const contiguous = texture->contiguous ? &texture->contiguous[level] : NULL;
    if (!contiguous) {
        return 0;
    }
    if (contiguous->state != G4_CONTIGUITY_UNKNOWN) {
        return contiguous->base;
    }
    const struct byte_range bytes = bytes_of(texture, &texture->level[level]);
    const uint64_t from = texture->surface.base + bytes.from;
    const uint64_t last = texture->surface.base + bytes.to - 1;
    if (last > mem->address_mask || bytes.to > (uint64_t)INT32_MAX + 1) {
        contiguous->state = G4_NOT_CONTIGUOUS; /* it wraps around the end of memory, or gathers cannot reach it */
        return 0;
    }
    contiguous->lookups += lookups;
    if (contiguous->lookups >= (last - from) >> G4_PAGE_SHIFT) {
        const uint64_t page = from >> G4_PAGE_SHIFT;
        const uint8_t *const host = one_piece(mem, page, last >> G4_PAGE_SHIFT);
        contiguous->state = host ? G4_CONTIGUOUS : G4_NOT_CONTIGUOUS;
        contiguous->base = host ? (uintptr_t)host - (uintptr_t)page * G4_PAGE_SIZE : 0;
    }
    return contiguous->base;
}
