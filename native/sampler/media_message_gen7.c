/*
 * The sampler's media messages of Ivy Bridge and Haswell: sample_8x8, sample_unorm, denoise and deinterlace, and states
 * (IVB PRM vol. 4 part 1; layouts as in intel-vaapi-driver, i965_structs.h, and its kernels).
 */
#include "sampler/media_message.h"

#include <string.h>

#include "core/report.h"
#include "core/surface.h"
#include "eu/message.h"
#include "eu/op.h"
#include "eu/worker.h"
#include "messages_gen7.h"
#include "sampler/deinterlace.h"
#include "sampler/sample_unorm.h"
#include "sampler/scaler.h"
#include "sampler/texture.h"
#include "state_gen7.h"

enum {
    SAMPLER_UNIT = 16, /* bytes that a sampler index counts */
    PAYLOAD_REGISTERS = 2,
    MOST_REGISTERS = 16, /* of a response */
    /* message types */
    TYPE_UNORM_32 = 0, /* 12 and 10 are the same messages */
    TYPE_UNORM_32_KILLPIX = 2,
    TYPE_DEINTERLACE = 8,
    TYPE_UNORM_64_KILLPIX = 10,
    TYPE_SAMPLE_8X8 = 11,
    TYPE_UNORM_64 = 12,
    TYPE_CACHE_FLUSH = 31,
    /* sizes of states, in dwords */
    SAMPLER_STATE_DWORDS = 4,
    SAMPLER_8X8_DWORDS = 4,
    SAMPLER_8X8_STATE_DWORDS = 138,
    DNDI_STATE_DWORDS = 8,
};

struct call {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    struct g4_port *port;
    uint32_t index; /* of the binding table */
};

static void load_image(const struct call *c, uint32_t offset, struct g4_media_image *image) {
    const struct g4_dispatch *const dispatch = c->gang->dispatch;
    g4_media_image_load_fn *const own = c->eu->ctx->model->samplers->load_media_image;
    g4_media_image_load_fn *const load = own ? own : g4_media_image_load;

    load(image, c->port, c->eu->ctx->model->surfaces, c->eu->ctx->gen, dispatch->surface_state_base,
         dispatch->binding_table, c->index + offset);
}

/* The pointer is that of the thread's dispatch: the driver's kernels leave it out of the header (docs/decisions.md
 * 123). */
static g4_address state_address(const struct call *c) {
    return c->gang->dispatch->sampler_state + SAMPLER_UNIT * gen7_sampler_message_sampler_index(c->send->descriptor);
}

/* Store a response of `registers` registers, or as many as the message takes. */
static void respond(const struct call *c, int thread, const void *data, uint32_t registers) {
    if (c->send->rlen != registers) {
        g4_message_error(c->eu, c->gang, c->send, thread, G4_EVENT_BAD_RESPONSE, c->send->descriptor);
    }
    for (uint32_t r = 0; r < c->send->rlen; r++) {
        uint32_t *const row = g4_response(c->gang, c->send, r, thread);
        if (row && r < registers) {
            memcpy(row, (const uint8_t *)data + (size_t)G4_REGISTER_BYTES * r, G4_REGISTER_BYTES);
        } else if (row) {
            memset(row, 0, G4_REGISTER_BYTES);
        }
    }
}

/* ---- sample_8x8 ---- */

/* The coefficients of a phase: four tables of eight bytes. */
static void load_phase(const uint32_t *dw, uint32_t phase, struct g4_scaler *scaler) {
    for (uint32_t t = 0; t < 4; t++) {
        memcpy(scaler->table[t / 2][t % 2].tap[phase], dw + 2 * (4 * phase + t), G4_SCALER_TAPS);
    }
}

static void load_scaler(const struct call *c, g4_address address, struct g4_scaler *scaler) {
    const uint32_t gen = c->eu->ctx->gen;
    uint32_t dw[SAMPLER_8X8_STATE_DWORDS];
    struct gen7_sampler_8x8 sampler;
    struct gen7_sampler_8x8_state tables;

    (void)g4_mem_read(c->port, address, dw, SAMPLER_8X8_DWORDS * sizeof *dw);
    gen7_sampler_8x8_unpack(dw, gen, &sampler);
    (void)g4_mem_read(c->port, c->gang->dispatch->dynamic_state_base + sampler.sampler_8x8_state_pointer, dw,
                      sizeof dw);
    gen7_sampler_8x8_state_unpack(dw, gen, &tables);
    *scaler = (struct g4_scaler){
        .nearest = sampler.disable_8x8_filter,
        .enhances = !sampler.ief_bypass,
        .all_channels_sharp = tables.adaptive_filter_for_all_channels,
        .sharpness = tables.default_sharpness_level,
        .adapts = {!tables.bypass_x_adaptive_filtering, !tables.bypass_y_adaptive_filtering},
        .most_difference = {tables.max_derivative_4_pixels, tables.max_derivative_8_pixels},
        .transition_shift = {tables.transition_area_with_4_pixels, tables.transition_area_with_8_pixels},
    };
    for (uint32_t phase = 0; phase < G4_SCALER_PHASES; phase++) {
        load_phase(dw, phase, scaler);
    }
}

static void scale(const struct call *c, int thread, const struct gen7_sampler_message_header *header) {
    const bool masked[G4_MEDIA_CHANNELS] = {header->red_write_channel_mask, header->green_write_channel_mask,
                                            header->blue_write_channel_mask, header->alpha_write_channel_mask};
    uint16_t value[G4_MEDIA_CHANNELS][G4_SCALER_ROWS][G4_SCALER_COLUMNS];
    struct gen7_sample_8x8_payload payload;
    struct g4_media_image image;
    struct g4_scaler scaler;
    uint32_t count = 0;

    const uint32_t *const words = g4_payload(c->gang, c->send, 1, thread);
    g4_scaler_load_fn *const own = c->eu->ctx->model->samplers->load_scaler;

    load_image(c, 0, &image);
    if (own) {
        own(c->port, c->eu->ctx->gen, state_address(c), words, &scaler);
    } else {
        load_scaler(c, state_address(c), &scaler);
    }
    gen7_sample_8x8_payload_unpack(words, c->eu->ctx->gen, &payload);
    if (!image.present) {
        g4_message_error(c->eu, c->gang, c->send, thread, G4_EVENT_BAD_FORMAT, image.format);
    }
    if (scaler.enhances) { /* docs/decisions.md 125 */
        g4_message_error(c->eu, c->gang, c->send, thread, G4_EVENT_UNMODELLED, c->send->descriptor);
    }
    const struct g4_scaler_block block = {
        .u = payload.u,
        .v = payload.v + (float)(payload.vertical_block_number * G4_SCALER_ROWS) * payload.delta_v,
        .du = payload.delta_u,
        .dv = payload.delta_v,
        .ddu = payload.second_derivative_of_u,
    };
    for (enum g4_media_channel channel = G4_MEDIA_RED; channel < G4_MEDIA_CHANNELS; channel++) {
        if (!masked[channel]) {
            g4_scale(&scaler, &image, c->port, channel, &block, value[count++]);
        }
    }
    respond(c, thread, value, count * G4_SCALER_ROWS);
}

/* ---- sample_unorm ---- */

/* Other address modes are reported, and clamp. */
static enum g4_unorm_address address_mode(const struct call *c, int thread, uint32_t mode) {
    switch (mode) {
    case GEN7_TEXTURE_COORDINATE_MODE_WRAP:
        return G4_UNORM_WRAP;
    case GEN7_TEXTURE_COORDINATE_MODE_MIRROR:
        return G4_UNORM_MIRROR;
    case GEN7_TEXTURE_COORDINATE_MODE_CLAMP:
        return G4_UNORM_CLAMP;
    default:
        g4_message_error(c->eu, c->gang, c->send, thread, G4_EVENT_UNMODELLED, c->send->descriptor);
        return G4_UNORM_CLAMP;
    }
}

/* Lookups have no level of detail: the filter is that of magnification.  With killpix, a register with a bit for each
 * pixel that the chroma key leaves follows the channels; no key is modelled. */
static void sample_unorm(const struct call *c, int thread, const struct gen7_sampler_message_header *header) {
    const bool masked[G4_MEDIA_CHANNELS] = {header->red_write_channel_mask, header->green_write_channel_mask,
                                            header->blue_write_channel_mask, header->alpha_write_channel_mask};
    const uint32_t type = gen7_sampler_message_message_type(c->send->descriptor);
    const bool kills = type == TYPE_UNORM_32_KILLPIX || type == TYPE_UNORM_64_KILLPIX;
    union {
        uint16_t value[G4_MEDIA_CHANNELS][G4_UNORM_ROWS][G4_UNORM_COLUMNS];
        uint32_t dwords[MOST_REGISTERS][G4_REGISTER_BYTES / 4];
    } out;
    struct gen7_sample_8x8_payload payload;
    struct gen7_sampler_state state;
    uint32_t dw[SAMPLER_STATE_DWORDS];
    struct g4_media_image image;
    uint32_t count = 0;

    memset(&out, 0, sizeof out);
    load_image(c, 0, &image);
    (void)g4_mem_read(c->port, state_address(c), dw, sizeof dw);
    gen7_sampler_state_unpack(dw, c->eu->ctx->gen, &state);
    gen7_sample_8x8_payload_unpack(g4_payload(c->gang, c->send, 1, thread), c->eu->ctx->gen, &payload);
    if (!image.present) {
        g4_message_error(c->eu, c->gang, c->send, thread, G4_EVENT_BAD_FORMAT, image.format);
    }
    if (state.chroma_key_enable) {
        g4_message_error(c->eu, c->gang, c->send, thread, G4_EVENT_UNMODELLED, c->send->descriptor);
    }
    const struct g4_unorm_filter filter = {
        .linear = state.mag_mode_filter != GEN7_MAP_FILTER_NEAREST,
        .address = {address_mode(c, thread, state.tcx_address_control_mode),
                    address_mode(c, thread, state.tcy_address_control_mode)},
    };
    const struct g4_unorm_block block = {.u = payload.u, .v = payload.v, .du = payload.delta_u, .dv = payload.delta_v};
    for (enum g4_media_channel channel = G4_MEDIA_RED; channel < G4_MEDIA_CHANNELS; channel++) {
        if (!masked[channel]) {
            g4_sample_unorm(&filter, &image, c->port, channel, &block, out.value[count++]);
        }
    }
    const uint32_t registers = count * (G4_UNORM_ROWS * G4_UNORM_COLUMNS * 2 / G4_REGISTER_BYTES);
    out.dwords[registers][0] = UINT32_MAX;
    respond(c, thread, &out, registers + (kills ? 1 : 0));
}

/* ---- denoise and deinterlace ---- */

static void load_deinterlacer(const struct call *c, g4_address address, struct g4_deinterlacer *state) {
    uint32_t dw[DNDI_STATE_DWORDS];
    struct gen7_dndi_state in;

    (void)g4_mem_read(c->port, address, dw, sizeof dw);
    gen7_dndi_state_unpack(dw, c->eu->ctx->gen, &in);
    *state = (struct g4_deinterlacer){
        .denoises = in.dn_enable,
        .deinterlaces = in.di_enable,
        .first_frame = in.dndi_first_frame,
        .top_first = in.dndi_top_first,
        .progressive = in.progressive_dn,
        .compensates = in.mcdi_enable,
        .second_of_previous = (enum g4_weave)in.vdi_progressive_cadence_reconstruction_for_2nd_field_of_previous_frame,
        .first_of_current = (enum g4_weave)in.vdi_progressive_cadence_reconstruction_for_1st_field_of_current_frame,
        .stad_threshold = in.denoise_stad_threshold,
        .asd_threshold = in.denoise_asd_threshold,
        .scm_threshold = in.denoise_threshold_for_sum_of_complexity_measure,
        .moving_pixel_threshold = in.denoise_moving_pixel_threshold,
        .history_increase = in.denoise_history_increase,
        .maximum_history = in.denoise_maximum_history,
        .temporal_threshold = in.temporal_difference_threshold,
        .low_temporal_threshold = in.low_temporal_difference_threshold,
        .good_neighbor_threshold = in.good_neighbor_threshold,
        .noise_threshold = in.block_noise_estimate_noise_threshold,
        .noise_edge_threshold = in.block_noise_estimate_edge_threshold,
        .stmm_c2 = in.stmm_c2,
        .stmm_shift_down = in.stmm_shift_down,
        .stmm_shift_up = in.stmm_shift_up,
        .vecm_multiplier = in.multiplier_for_vecm,
        .stmm_large = in.blending_constant_across_time_for_large_values_of_stmm,
        .stmm_small = in.blending_constant_across_time_for_small_values_of_stmm,
        .stmm_large_at_minimum = in.stmm_blending_constant_select,
        .minimum_stmm = in.minimum_stmm,
        .maximum_stmm = in.maximum_stmm,
        .stmm_output_shift = in.stmm_output_shift,
        .sdi_threshold = in.sdi_threshold,
        .sdi_delta = in.sdi_delta,
        .fallback_t1 = in.sdi_fallback_mode_1_t1_constant,
        .fallback_t2 = in.sdi_fallback_mode_1_t2_constant,
        .fallback_2 = in.sdi_fallback_mode_2_constant,
        .film_temporal_threshold = in.fmd_temporal_difference_threshold,
        .film_difference_1 = in.fmd_1_vertical_difference_threshold,
        .film_difference_2 = in.fmd_2_vertical_difference_threshold,
        .tear_threshold = in.fmd_tear_threshold,
        .content_slope = in.content_adaptive_threshold_slope,
        .content_threshold_1 = in.content_adaptive_threshold_1,
        .sad_tight = in.sad_tight_threshold,
        .sad_a = in.sad_threshold_a,
        .sad_b = in.sad_threshold_b,
        .smooth_vector_threshold = in.smooth_mv_threshold,
        .consistency_threshold = in.mc_pixel_consistency_threshold,
        .neighbor_threshold = in.neighbor_pixel_threshold,
    };
    if (in.di_partial) {
        g4_message_report(c->eu, c->gang, c->send, G4_EVENT_UNMODELLED);
    }
}

static uint32_t limited(uint32_t value, uint32_t most) {
    return value < most ? value : most;
}

static uint32_t as_word(uint32_t value) {
    return limited(value, 0xffff);
}

static uint32_t as_byte(uint32_t value) {
    return limited(value, 0xff);
}

/* The response is rows of bytes and a register of statistics. */
union response {
    uint8_t bytes[MOST_REGISTERS][G4_REGISTER_BYTES];
    uint8_t rows[2 * MOST_REGISTERS][G4_DI_COLUMNS];
    uint32_t dwords[MOST_REGISTERS][G4_REGISTER_BYTES / 4];
};

static uint32_t history_of(const struct g4_deinterlace_block *b, uint32_t row) {
    const uint8_t *const h = b->history[row];
    return h[0] | (uint32_t)h[1] << 8 | (uint32_t)h[2] << 16 | (uint32_t)h[3] << 24;
}

static void copy_luma(const struct g4_deinterlace_block *b, int32_t y, uint8_t out[G4_DI_COLUMNS]) {
    memcpy(out, &b->c.row[y + G4_DI_ABOVE][G4_DI_LEFT], G4_DI_COLUMNS);
}

enum {
    /* registers of the response of denoising alone */
    DN_STATISTICS = 4,
    DN_CHROMA = 5,
    /* and of deinterlacing */
    DI_PREVIOUS = 0, /* luma, then chroma */
    DI_CURRENT = 4,
    DI_STMM = 8,
    DI_STATISTICS = 9,
    DI_SECOND_FIELD = 10, /* luma, then chroma of packed formats */
};

static uint32_t respond_denoised(const struct g4_deinterlace_block *b, union response *out) {
    struct g4_block_sums upper;
    struct g4_block_sums lower;

    g4_block_sums(b, 0, &upper);
    g4_block_sums(b, G4_DI_ROWS, &lower);
    for (int32_t y = 0; y < G4_DN_ROWS; y++) {
        copy_luma(b, y, out->rows[y]);
        if (b->current->packed) {
            g4_deinterlace_chroma_row(b, b->current, y, !b->state->progressive, out->rows[2 * DN_CHROMA + y]);
        }
    }
    const struct gen7_payload_denoise_statistics statistics = {
        .history_0 = history_of(b, 0),
        .history_1 = history_of(b, 1),
        .block_noise_estimate = as_byte(b->noise),
        .svcm_1 = as_word(lower.svcm),
        .shcm_1 = as_word(lower.shcm),
        .stad_1 = as_word(lower.stad),
        .svcm_0 = as_word(upper.svcm),
        .shcm_0 = as_word(upper.shcm),
        .stad_0 = as_word(upper.stad),
        .x = (uint32_t)b->x & 0xffff,
        .y = (uint32_t)b->y & 0xffff,
    };
    gen7_payload_denoise_statistics_pack(&statistics, G4_GEN_IVB, out->dwords[DN_STATISTICS]);
    return b->current->packed ? DN_CHROMA + 4 : DN_CHROMA;
}

static void put_frame(const struct g4_deinterlace_block *b, int frame, union response *out, uint32_t reg) {
    memcpy(out->rows[2 * reg], b->luma[frame], sizeof b->luma[frame]);
    memcpy(out->rows[2 * reg + G4_DI_ROWS], b->chroma[frame], sizeof b->chroma[frame]);
}

/* The lines of the current frame that its first field does not have. */
static void put_second_field(const struct g4_deinterlace_block *b, union response *out) {
    for (int32_t k = 0; k < G4_DI_ROWS / 2; k++) {
        const int32_t second = b->state->top_first ? 1 : 0;
        const int32_t y = 2 * k + ((b->y & 1) ^ second);
        copy_luma(b, y, out->rows[2 * DI_SECOND_FIELD + k]);
        g4_deinterlace_chroma_row(b, b->current, y, true, out->rows[2 * DI_SECOND_FIELD + 2 + k]);
    }
}

static uint32_t respond_deinterlaced(struct g4_deinterlace_block *b, union response *out) {
    struct g4_block_sums sums;
    struct g4_film_values film;

    g4_deinterlace(b);
    g4_block_sums(b, 0, &sums);
    g4_film_values(b, &film);
    put_frame(b, 0, out, DI_PREVIOUS);
    put_frame(b, 1, out, DI_CURRENT);
    memcpy(out->bytes[DI_STMM], b->stmm, sizeof b->stmm);
    const struct gen7_payload_deinterlace_statistics statistics = {
        .history = history_of(b, 0),
        .block_noise_estimate = as_byte(b->noise),
        .moving_count = as_byte(film.moving),
        .tear_count_first_field = as_byte(film.tears_previous),
        .tear_count = as_byte(film.tears_current),
        .current_bottom_previous_top = as_word(film.cb_pt),
        .current_top_previous_bottom = as_word(film.ct_pb),
        .current_top_current_bottom = as_word(film.ct_cb),
        .current_bottom_previous_bottom = as_word(film.cb_pb),
        .current_top_previous_top = as_word(film.ct_pt),
        .svcm = as_word(sums.svcm),
        .shcm = as_word(sums.shcm),
        .stad = as_word(sums.stad),
        .x = (uint32_t)b->x & 0xffff,
        .y = (uint32_t)b->y & 0xffff,
    };
    gen7_payload_deinterlace_statistics_pack(&statistics, G4_GEN_IVB, out->dwords[DI_STATISTICS]);
    if (!b->state->denoises) {
        return DI_SECOND_FIELD;
    }
    put_second_field(b, out);
    return b->current->packed ? DI_SECOND_FIELD + 2 : DI_SECOND_FIELD + 1;
}

/* Motion measures and history: rows of bytes, whose surface has a RENDER_SURFACE_STATE.  Its width is that of the
 * picture, or in units of blocks, but the history is behind the middle of the pitch
 * (docs/decisions.md 137). */
static void load_statistics(const struct call *c, struct g4_media_image *image) {
    const struct g4_dispatch *const dispatch = c->gang->dispatch;
    const struct g4_surface *const surface = g4_surface_get(
        c->eu->surfaces, c->eu->ctx, c->port, dispatch->surface_state_base, dispatch->binding_table, c->index + 2);
    *image = (struct g4_media_image){
        .present = surface->present && surface->type == G4_SURFACE_TYPE_SURFTYPE_2D,
        .base = surface->base,
        .pitch = surface->pitch,
        .tiling = surface->tiling,
        .width = surface->pitch,
        .height = surface->height,
        .row_step = 1,
    };
    image->plane[G4_MEDIA_Y] =
        (struct g4_media_plane){.step = 1, .width = image->width, .height = image->height, .pitch = image->pitch};
}

static void deinterlace(const struct call *c, int thread, const struct gen7_sampler_message_header *header) {
    (void)header;
    struct g4_media_image current;
    struct g4_media_image previous;
    struct g4_media_image statistics;
    struct g4_deinterlacer state;
    struct gen7_deinterlace_payload payload;
    union response out;

    memset(&out, 0, sizeof out);
    load_deinterlacer(c, state_address(c), &state);
    gen7_deinterlace_payload_unpack(g4_payload(c->gang, c->send, 1, thread), c->eu->ctx->gen, &payload);
    load_image(c, 0, &current);
    load_image(c, 1, &previous);
    load_statistics(c, &statistics);
    if (!current.present) {
        g4_message_error(c->eu, c->gang, c->send, thread, G4_EVENT_BAD_FORMAT, current.format);
    }
    struct g4_deinterlace_block block = {
        .state = &state,
        .current = &current,
        .previous = &previous,
        .statistics = &statistics,
        .port = c->port,
        .x = (int32_t)payload.x,
        .y = (int32_t)payload.y,
    };
    const uint32_t rows = state.deinterlaces ? G4_DI_ROWS : G4_DN_ROWS;
    g4_deinterlace_begin(&block, rows);
    g4_denoise(&block, rows);
    respond(c, thread, &out, state.deinterlaces ? respond_deinterlaced(&block, &out) : respond_denoised(&block, &out));
}

/* ---- messages ---- */

typedef void media_message_fn(const struct call *c, int thread, const struct gen7_sampler_message_header *header);

static media_message_fn *message_of(const struct call *c) {
    switch (gen7_sampler_message_message_type(c->send->descriptor)) {
    case TYPE_DEINTERLACE:
        return c->eu->ctx->model->quirks.sampler_deinterlaces ? deinterlace : NULL;
    case TYPE_SAMPLE_8X8:
        return scale;
    case TYPE_UNORM_32:
    case TYPE_UNORM_32_KILLPIX:
    case TYPE_UNORM_64_KILLPIX:
    case TYPE_UNORM_64:
        return sample_unorm;
    default:
        return NULL;
    }
}

enum g4_status g4_message_media_sampler_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct g4_port *const port = &eu->worker->port;
    const struct call c = {
        .eu = eu,
        .gang = gang,
        .send = send,
        .port = port,
        .index = gen7_sampler_message_binding_table_index(send->descriptor),
    };
    media_message_fn *const message = message_of(&c);
    const uint32_t unit = port->unit;

    if (gen7_sampler_message_message_type(send->descriptor) == TYPE_CACHE_FLUSH) {
        return G4_OK; /* the sampler has no cache here */
    }
    if (!message || !gen7_sampler_message_header_present(send->descriptor)) {
        g4_message_report(eu, gang, send, message ? G4_EVENT_BAD_MESSAGE : G4_EVENT_UNMODELLED);
        return G4_OK;
    }
    if (!g4_message_lengths(eu, gang, send, PAYLOAD_REGISTERS, send->rlen)) {
        return G4_OK;
    }
    port->unit = G4_UNIT_SAMPLER;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        struct gen7_sampler_message_header header;
        if (send->threads >> t & 1) {
            gen7_sampler_message_header_unpack(g4_payload(gang, send, 0, t), eu->ctx->gen, &header);
            message(&c, t, &header);
        }
    }
    port->unit = unit;
    return G4_OK;
}
