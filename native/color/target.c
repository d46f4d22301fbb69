/*
 * Unpacks render targets, once per draw and target: everything that the surface, its format and the color
 * calculator's state decide together (G45 PRM vol. 2, 9).
 */
#include <math.h>
#include <string.h>

#include "color/state.h"

static const float half_largest = 65504;

/* ---- channels ---- */

/* The largest finite number of an unsigned float: 65024 with six bits of mantissa, 64512 with five. */
static float ufloat_largest(uint32_t bits) {
    return bits == 11 ? 65024 : 64512;
}

/* The range of a channel; channels that the format lacks have the range of the others. */
static void format_range(const struct g4_target *target, uint32_t c, float *low, float *high) {
    const struct g4_channel *const like = &target->channel[target->channel[c].stored   ? c
                                                           : target->channel[0].stored ? 0
                                                                                       : 3];
    *low = -INFINITY;
    *high = INFINITY;
    switch (like->type) {
    case G4_CHANNEL_UNORM:
        *low = 0;
        *high = 1;
        break;
    case G4_CHANNEL_SNORM:
        *low = -1;
        *high = 1;
        break;
    case G4_CHANNEL_FLOAT:
        if (like->bits == 16) {
            *low = -half_largest;
            *high = half_largest;
        }
        break;
    case G4_CHANNEL_UFLOAT:
        /* R11G11B10 treats its missing alpha as a half */
        *low = c == 3 ? -half_largest : 0;
        *high = c == 3 ? half_largest : ufloat_largest(like->bits);
        break;
    default:
        break;
    }
}

static void clamp_ranges(struct g4_target *target, const struct g4_blend_state *state) {
    for (uint32_t c = 0; c < 4; c++) {
        struct g4_channel *const channel = &target->channel[c];
        float low, high;
        format_range(target, c, &low, &high);
        channel->low = channel->post_low = low;
        channel->high = channel->post_high = high;
        if (state->clamp_range == G4_COLOR_CLAMP_RANGE_UNORM || state->clamp_range == G4_COLOR_CLAMP_RANGE_SNORM) {
            channel->low = state->clamp_range == G4_COLOR_CLAMP_RANGE_UNORM ? 0 : -1;
            channel->high = 1;
            if (state->post_clamp) {
                channel->post_low = fmaxf(low, channel->low);
                channel->post_high = 1;
            }
        }
    }
}

static bool encodable(const struct g4_format_channel *channel) {
    switch (channel->type) {
    case G4_CHANNEL_UNORM:
    case G4_CHANNEL_SNORM:
    case G4_CHANNEL_UINT:
    case G4_CHANNEL_SINT:
        break;
    case G4_CHANNEL_FLOAT:
        if (channel->bits != 16 && channel->bits != 32) {
            return false;
        }
        break;
    case G4_CHANNEL_UFLOAT:
        break;
    default:
        return false;
    }
    return channel->bits > 0 && channel->at % 32 + channel->bits <= 32;
}

/* False if the format's pixels do not consist of channels. */
static bool set_channels(struct g4_target *target, const struct g4_format *format, const struct g4_surface *surface) {
    uint32_t taken[4] = {0};
    bool good = true;

    for (uint32_t c = 0; c < 4; c++) {
        const struct g4_format_channel *const from = &format->channel[c];
        struct g4_channel *const to = &target->channel[c];
        const bool constant = from->type == G4_CHANNEL_ZERO || from->type == G4_CHANNEL_ONE;
        memset(to, 0, sizeof *to);
        if (constant || from->type == G4_CHANNEL_UNUSED) {
            continue;
        }
        if (!encodable(from)) {
            good = false;
            continue;
        }
        to->type = from->type;
        to->bits = from->bits;
        to->plane = from->at / 32;
        to->shift = from->at % 32;
        to->stored = true;
        to->written = !((surface->color_write_disable | target->state->write_disable) >> c & 1);
        to->mask = UINT32_MAX >> (32 - from->bits);
        to->scale = (float)(from->type == G4_CHANNEL_SNORM ? to->mask >> 1 : to->mask);
        to->srgb = format->srgb && c < 3 ? g4_srgb_get(from->bits) : NULL;
        if (to->plane > 3 || (taken[to->plane] & to->mask << to->shift)) {
            good = false;
            to->plane &= 3;
        }
        taken[to->plane] |= to->mask << to->shift;
        target->write_mask[to->plane] |= to->written ? to->mask << to->shift : 0;
    }
    return good;
}

/* ---- blending ---- */

static bool is_source1(uint32_t factor) {
    return factor == G4_BLEND_FACTOR_SRC1_COLOR || factor == G4_BLEND_FACTOR_SRC1_ALPHA ||
           factor == G4_BLEND_FACTOR_INV_SRC1_COLOR || factor == G4_BLEND_FACTOR_INV_SRC1_ALPHA;
}

static bool is_reserved(uint32_t factor) {
    const uint32_t low = factor & 15;
    return low == 0 || low > 10 || factor == 22; /* reserved codes; 22 would be an inverted SATURATE */
}

static void complain(struct g4_target *target, enum g4_event event, uint32_t value) {
    if (target->event == G4_EVENTS) {
        target->event = event;
        target->event_value = value;
    }
}

static void set_blend(struct g4_target *target, const struct g4_blend_state *state) {
    const uint32_t *const function = state->function;
    const uint32_t *const source = state->source;
    const uint32_t *const destination = state->destination;
    bool replaces = true;

    for (int set = 0; set < 2; set++) {
        target->function[set] = (uint8_t)function[set];
        target->source[set] = (uint8_t)source[set];
        target->destination[set] = (uint8_t)destination[set];
        target->dual_source |= is_source1(source[set]) || is_source1(destination[set]);
        replaces = replaces && function[set] == G4_BLEND_FUNCTION_ADD && source[set] == G4_BLEND_FACTOR_ONE &&
                   destination[set] == G4_BLEND_FACTOR_ZERO;
        if (is_reserved(source[set])) {
            complain(target, G4_EVENT_BAD_STATE, source[set]);
        }
        if (is_reserved(destination[set])) {
            complain(target, G4_EVENT_BAD_STATE, destination[set]);
        }
        if (function[set] > G4_BLEND_FUNCTION_MAX) {
            complain(target, G4_EVENT_BAD_STATE, function[set]);
        }
    }
    target->blend = !(replaces && target->saturate); /* the blender clamps floats to their format */
    for (uint32_t c = 0; c < 4; c++) {
        float k = state->constant[c];
        if (target->pre_clamp) {
            k = k < target->channel[c].low ? target->channel[c].low : k;
            k = k > target->channel[c].high ? target->channel[c].high : k;
        }
        if (target->saturate) {
            k = k > 0 ? k : 0;
            k = k < 1 ? k : 1;
        }
        target->constant[c] = k;
    }
}

/* ---- the loop that serves a target ---- */

static bool is_over(const struct g4_target *target) {
    bool over = true;
    for (int set = 0; set < 2; set++) {
        over = over && target->function[set] == G4_BLEND_FUNCTION_ADD &&
               target->source[set] == G4_BLEND_FACTOR_SRC_ALPHA &&
               target->destination[set] == G4_BLEND_FACTOR_INV_SRC_ALPHA;
    }
    return over;
}

/* Whether a pixel is four channels of eight bits. */
static bool is_bytes(const struct g4_target *target, enum g4_channel_type type) {
    bool plain = target->map.bytes == 4;
    for (int c = 0; c < 4; c++) {
        const struct g4_channel *const channel = &target->channel[c];
        plain = plain && channel->stored && channel->type == type && channel->bits == 8 && !channel->srgb;
    }
    return plain;
}

static bool is_unorm8(const struct g4_target *target) {
    return is_bytes(target, G4_CHANNEL_UNORM) && !target->dither;
}

/* Whether the colors of a message are pixels without any conversion. */
static bool is_dwords(const struct g4_target *target) {
    bool plain = target->integer && target->whole && !target->reads;
    for (uint32_t c = 0; c < 4; c++) {
        const struct g4_channel *const channel = &target->channel[c];
        plain = plain && channel->mask == UINT32_MAX && channel->plane == c;
    }
    return plain;
}

static g4_color_fn *choose(const struct g4_target *target, const struct g4_color_ops *ops, bool yuv) {
    if (yuv) {
        return ops->yuv;
    }
    if (target->integer) {
        return target->map.columns && is_dwords(target) ? ops->dwords : ops->integer;
    }
    if (!is_unorm8(target)) {
        return ops->general;
    }
    if (!target->blend) {
        return ops->unorm8;
    }
    return is_over(target) ? ops->unorm8_over : ops->unorm8_blend;
}

/* The function for four subspans side by side; NULL: there is none. */
static g4_wide_fn *choose_wide(const struct g4_target *target, const struct g4_color_ops *ops) {
    static const struct g4_wide_ops *const variants[] = G4_VARIANT_TABLE(g4_wide_ops);
    const struct g4_wide_ops *const wide = variants[g4_variant_current()];
    const bool rgba = target->channel[0].shift == 0 && target->channel[2].shift == 16;
    const bool bgra = target->channel[0].shift == 16 && target->channel[2].shift == 0;
    if (!target->whole || target->logic_op || target->map.stride != 4 || !(rgba || bgra)) {
        return NULL;
    }
    if (target->write == ops->integer) {
        return is_bytes(target, G4_CHANNEL_UINT) ? wide->uints : NULL;
    }
    if (target->write == ops->unorm8_blend) {
        return target->dual_source ? NULL : wide->blend;
    }
    return target->write == ops->unorm8 ? wide->replace : target->write == ops->unorm8_over ? wide->over : NULL;
}

static bool logic_reads(uint32_t function) {
    /* True if the result depends on the destination: the halves D=1 and D=0 of the truth table differ. */
    return (function >> 3 & 1) != (function >> 2 & 1) || (function >> 1 & 1) != (function & 1);
}

/* Up to Gen7.5, logic ops are for UNORM surfaces.  Gen8's are for "all blendable render targets and render targets
 * with *INT formats" (Broadwell PRM vol. 7, Logic Ops); for floats, see docs/decisions.md 262. */
static bool takes_logic_op(const struct g4_model *model, enum g4_channel_type type) {
    const bool is_float = type == G4_CHANNEL_FLOAT || type == G4_CHANNEL_UFLOAT;
    return type == G4_CHANNEL_UNORM || (model->quirks.has_integer_logic_ops && !is_float);
}

static void set_operations(struct g4_target *target, struct g4_worker *worker, const struct g4_format *format,
                           const struct g4_surface *surface, bool yuv) {
    const struct g4_blend_state *const state = target->state;
    const uint32_t gen = g4_format_gen(worker->ctx->model);
    bool takes_logic_ops = !yuv && !format->srgb;

    for (int c = 0; c < 4; c++) {
        const struct g4_channel *const channel = &target->channel[c];
        takes_logic_ops = takes_logic_ops && (!channel->stored || takes_logic_op(worker->ctx->model, channel->type));
        target->saturate |= channel->stored && channel->type == G4_CHANNEL_UNORM;
        target->floats |= channel->type == G4_CHANNEL_FLOAT || channel->type == G4_CHANNEL_UFLOAT;
    }
    for (int c = 0; c < 4; c++) {
        struct g4_channel *const channel = &target->channel[c];
        channel->dither = state->dither && channel->type == G4_CHANNEL_UNORM &&
                          (channel->bits < 8 || worker->ctx->options.dither_all); /* docs/decisions.md 13 */
        target->dither |= channel->dither;
    }
    target->dither_x = (uint8_t)state->dither_x;
    target->dither_y = (uint8_t)state->dither_y;
    clamp_ranges(target, state);
    target->pre_clamp = state->pre_clamp && !target->integer;
    target->post_clamp = true;
    target->logic_op = state->logic_op && takes_logic_ops;
    target->logic = (uint8_t)state->logic_function;

    const bool wants_blend = state->enable && surface->color_blend_enable;
    if (wants_blend && state->logic_op) {
        complain(target, G4_EVENT_BAD_STATE, state->logic_function);
    } else if (wants_blend && (format->blend & gen) && !yuv) {
        set_blend(target, state);
    } else if (wants_blend && !target->integer) {
        complain(target, G4_EVENT_BAD_FORMAT, surface->format_code);
    }
}

static void set_whole(struct g4_target *target) {
    const uint32_t bytes = target->map.bytes;
    const uint32_t full = bytes >= 4 ? UINT32_MAX : (1u << (8 * bytes)) - 1;
    target->whole = true;
    for (uint32_t plane = 0; plane < (bytes + 3) / 4; plane++) {
        target->whole = target->whole && target->write_mask[plane] == full;
    }
    target->combines = target->blend || (target->logic_op && logic_reads(target->logic));
    target->reads = target->combines || !target->whole;
}

/* ---- where it lies ---- */

static bool set_view(struct g4_target *target, const struct g4_surface *surface, uint32_t gen) {
    const uint32_t level = surface->mip_count_or_lod;
    struct g4_image image = {
        .base = surface->base,
        .pitch = surface->pitch,
        .tiling = G4_TILING_LINEAR,
        .width = surface->buffer_entries,
        .height = 1,
        .bytes = surface->format->block_bits / 8u,
    };
    const bool buffer = surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER;
    const uint32_t element = g4_cc_slice(surface, level, target->key.array_index);
    const uint32_t slice = element * g4_surface_sample_elements(surface) + target->key.sample;

    if (!buffer && !g4_surface_image(surface, gen, level, slice, &image)) {
        return false;
    }
    if (surface->mcs_base && surface->samples > 1) {
        target->mcs_base = surface->mcs_base;
        target->mcs_pitch = surface->mcs_pitch;
        target->mcs_row = g4_mcs_row(surface, element);
        target->mcs_samples = surface->samples;
        memcpy(target->clear, surface->clear_color, sizeof target->clear);
    }
    if (image.bytes == 0 || image.bytes > G4_PIXEL_BYTES || (image.bytes & (image.bytes - 1))) {
        return false;
    }
    g4_pixel_map_set(&target->map, &image, true);
    target->map.stride = buffer ? surface->pitch : image.bytes;
    if (surface->skips_lines) { /* must be 0, but video clients draw single fields this way */
        target->map.line_shift = 1;
        target->map.line_offset = surface->first_line;
    }
    return true;
}

static void prepare(struct g4_target *target, struct g4_worker *worker, const struct g4_dispatch *dispatch) {
    struct g4_cc *const cc = g4_cc_of(worker);
    const struct g4_context *const ctx = worker->ctx;
    const struct g4_surface *const surface = g4_surface_get(
        worker->surfaces, ctx, &worker->port, dispatch->surface_state_base, dispatch->binding_table, target->key.index);
    const struct g4_format *const format = surface->format;
    const bool yuv = format->encoding == G4_ENCODING_YUV_422;

    if (!surface->present) {
        complain(target, G4_EVENT_BAD_SURFACE, target->key.index);
        return;
    }
    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL) {
        return;
    }
    if (!(format->render_target & g4_format_gen(ctx->model))) {
        complain(target, G4_EVENT_BAD_FORMAT, surface->format_code);
    }
    target->integer = format->data_class != G4_CLASS_FLOAT;
    const bool plain = format->encoding == G4_ENCODING_PLAIN || yuv;
    if (!plain || !set_channels(target, format, surface)) {
        complain(target, G4_EVENT_BAD_FORMAT, surface->format_code);
        return;
    }
    if (!set_view(target, surface, ctx->gen)) {
        complain(target, G4_EVENT_BAD_SURFACE, target->key.index);
        return;
    }
    if (ctx->model->quirks.refuses_y_tiled_wide_targets && target->map.bytes == 16 && surface->tiling == G4_TILING_Y) {
        complain(target, G4_EVENT_BAD_SURFACE, target->key.index); /* not allowed, but written */
    }
    set_operations(target, worker, format, surface, yuv);
    set_whole(target);
    if (target->write_mask[0] | target->write_mask[1] | target->write_mask[2] | target->write_mask[3]) {
        target->write = choose(target, cc->color_ops, yuv);
        target->wide = worker->ctx->options.general_only ? NULL : choose_wide(target, cc->color_ops);
    }
}

struct g4_target *g4_target_get(struct g4_worker *worker, const struct g4_dispatch *dispatch,
                                const struct g4_target_key *key, const struct g4_blend_state *state) {
    const uint32_t slot = key->index + 5 * key->array_index + 3u * key->sample;
    struct g4_target *const target = &g4_cc_of(worker)->target[slot % G4_TARGETS];
    const struct g4_target_key *const old = &target->key;

    if (!target->valid || old->index != key->index || old->array_index != key->array_index ||
        old->render_target != key->render_target || old->sample != key->sample) {
        memset(target, 0, sizeof *target);
        target->valid = true;
        target->key = *key;
        target->state = state;
        target->event = G4_EVENTS;
        prepare(target, worker, dispatch);
    }
    return target;
}

/* ---- multisample control surface (IVB PRM vol. 4 part 1, 2.7.1) ---- */

/* An entry says in which array element each sample of a pixel is.  Here sample s is always in element s too, so that an
 * entry is 0, all samples alike; or names all elements; or is all ones, the clear color (docs/decisions.md 96).  Pixels
 * that are clear may have anything in memory: drivers mark new surfaces as clear without drawing. */

static g4_address entry_address(const struct g4_target *target, uint32_t x, uint32_t y) {
    return target->mcs_base + (uint32_t)g4_surface_offset(G4_TILING_Y, target->mcs_pitch,
                                                          x * g4_mcs_entry_bytes(target->mcs_samples),
                                                          target->mcs_row + y);
}

static bool has_entry(const struct g4_target *target, uint32_t x, uint32_t y) {
    return target->mcs_base && x < target->map.width && y < target->map.height;
}

static void put_entry(struct g4_worker *worker, const struct g4_target *target, uint32_t x, uint32_t y,
                      uint64_t entry) {
    (void)g4_mem_write(&worker->port, entry_address(target, x, y), &entry, g4_mcs_entry_bytes(target->mcs_samples));
}

static uint64_t get_entry(struct g4_worker *worker, const struct g4_target *target, uint32_t x, uint32_t y) {
    uint64_t entry = 0;
    (void)g4_mem_read(&worker->port, entry_address(target, x, y), &entry, g4_mcs_entry_bytes(target->mcs_samples));
    return entry;
}

uint32_t g4_control_surface_find_clear(struct g4_worker *worker, const struct g4_target *target,
                                       const struct g4_pixels *pixels, uint32_t live) {
    const uint64_t clear = g4_mcs_clear(target->mcs_samples);
    uint32_t found = 0;
    for (uint32_t left = target->mcs_base ? live : 0; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        const uint32_t x = g4_pixels_x(pixels, i), y = g4_pixels_y(pixels, i);
        if (has_entry(target, x, y) && (get_entry(worker, target, x, y) & clear) == clear) {
            found |= 1u << i;
        }
    }
    return found;
}

/* A target whose pixels are all replaced. */
static struct g4_target replaced(struct g4_worker *worker, const struct g4_target *target) {
    struct g4_target out = *target;

    out.blend = out.logic_op = out.dither = out.pre_clamp = false;
    for (int c = 0; c < 4; c++) {
        struct g4_channel *const channel = &out.channel[c];
        channel->written = channel->stored;
        channel->dither = false;
        out.write_mask[channel->plane] |= channel->stored ? channel->mask << channel->shift : 0;
    }
    set_whole(&out);
    out.write = choose(&out, g4_cc_of(worker)->color_ops, false);
    return out;
}

void g4_control_surface_fill(struct g4_worker *worker, const struct g4_target *target, const struct g4_pixels *pixels,
                             uint32_t live) {
    struct g4_target whole = replaced(worker, target);
    struct g4_pixels clear = *pixels;
    float color[4][8];

    for (uint32_t c = 0; c < 4; c++) {
        for (uint32_t i = 0; i < 8; i++) {
            memcpy(&color[c][i], &target->clear[c], sizeof color[c][i]);
        }
        clear.color[0][c] = clear.color[1][c] = clear.color1[0][c] = clear.color1[1][c] = color[c];
    }
    clear.live = live;
    whole.write(&whole, &worker->port, &clear);
    for (uint32_t left = live; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        put_entry(worker, target, g4_pixels_x(pixels, i), g4_pixels_y(pixels, i), 0);
    }
}

void g4_control_surface_clear(struct g4_worker *worker, const struct g4_target *target, uint32_t x, uint32_t y) {
    if (has_entry(target, x, y)) {
        put_entry(worker, target, x, y, UINT64_MAX);
    }
}

void g4_control_surface_write(struct g4_worker *worker, const struct g4_target *target, uint32_t x, uint32_t y,
                              bool all) {
    const uint32_t samples = target->mcs_samples;
    const uint64_t each = samples >= 8 ? UINT64_C(0xfedcba9876543210) : samples >= 4 ? 0xe4 : 2;

    if (has_entry(target, x, y)) {
        /* samples that were alike stay so */
        const bool alike = all && (!target->reads || get_entry(worker, target, x, y) == 0);
        put_entry(worker, target, x, y, alike ? 0 : each);
    }
}
