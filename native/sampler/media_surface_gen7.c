/*
 * MEDIA_SURFACE_STATE of Ivy Bridge and Haswell (layout as in intel-vaapi-driver, i965_structs.h).
 */
#include "api/video_enhancement.h"
#include "core/surface.h"
#include "sampler/media_image.h"
#include "state_gen7.h"

static enum g4_tiling tiling_of(const struct gen7_media_surface_state *state) {
    if (!state->tiled_surface) {
        return G4_TILING_LINEAR;
    }
    return state->tile_walk == GEN7_TILE_WALK_YMAJOR ? G4_TILING_Y : G4_TILING_X;
}

static void put_plane(struct g4_media_image *image, enum g4_media_channel channel, uint32_t x0, uint32_t step) {
    image->plane[channel] = (struct g4_media_plane){
        .step = step, .x0 = x0, .width = image->width, .height = image->height, .pitch = image->pitch};
}

/* Half the columns, and maybe rows, of a channel. */
static void subsample(struct g4_media_image *image, enum g4_media_channel channel) {
    struct g4_media_plane *const plane = &image->plane[channel];
    plane->width = (image->width + (1u << image->chroma_x) - 1) >> image->chroma_x;
    plane->height = (image->height + (1u << image->chroma_y) - 1) >> image->chroma_y;
}

/* Four bytes hold two pixels. */
static void unpack_packed(struct g4_media_image *image, uint32_t luma, uint32_t cb, uint32_t cr) {
    image->packed = true;
    image->chroma_x = 1;
    put_plane(image, G4_MEDIA_Y, luma, 2);
    put_plane(image, G4_MEDIA_CB, cb, 4);
    put_plane(image, G4_MEDIA_CR, cr, 4);
    subsample(image, G4_MEDIA_CB);
    subsample(image, G4_MEDIA_CR);
}

/* A plane of luma, then one with both chroma channels, or two. */
static void unpack_planar(struct g4_media_image *image, const struct gen7_media_surface_state *state, uint32_t chroma_x,
                          uint32_t chroma_y) {
    const uint32_t step = state->interleave_chroma ? 2 : 1;

    image->chroma_x = chroma_x;
    image->chroma_y = chroma_y;
    put_plane(image, G4_MEDIA_Y, 0, 1);
    put_plane(image, G4_MEDIA_CB, state->x_offset_for_cb, step);
    put_plane(image, G4_MEDIA_CR, state->interleave_chroma ? state->x_offset_for_cb + 1 : state->x_offset_for_cr, step);
    image->plane[G4_MEDIA_CB].y0 = state->y_offset_for_cb;
    image->plane[G4_MEDIA_CR].y0 = state->interleave_chroma ? state->y_offset_for_cb : state->y_offset_for_cr;
    for (enum g4_media_channel c = G4_MEDIA_RED; c <= G4_MEDIA_BLUE; c += G4_MEDIA_BLUE - G4_MEDIA_RED) {
        subsample(image, c);
        if (state->half_pitch_for_chroma && image->pitch > 1) { /* the offset counts rows of luma */
            image->plane[c].pitch = image->pitch / 2;
            image->plane[c].y0 *= 2;
        }
    }
}

static bool unpack_format(struct g4_media_image *image, const struct gen7_media_surface_state *state) {
    switch (state->surface_format) {
    case GEN7_MEDIA_SURFACE_FORMAT_YCRCB_NORMAL:
        unpack_packed(image, 0, 1, 3);
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_YCRCB_SWAPUV:
        unpack_packed(image, 0, 3, 1);
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_YCRCB_SWAPY:
        unpack_packed(image, 1, 0, 2);
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_YCRCB_SWAPUVY:
        unpack_packed(image, 1, 2, 0);
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_PLANAR_420_8:
        unpack_planar(image, state, 1, 1);
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_PLANAR_411_8:
        unpack_planar(image, state, 2, 0);
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_PLANAR_422_8:
        unpack_planar(image, state, 1, 0);
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_STMM_DN_STATISTICS:
    case GEN7_MEDIA_SURFACE_FORMAT_Y8_UNORM:
        put_plane(image, G4_MEDIA_Y, 0, 1);
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_R8_UNORM:
        put_plane(image, G4_MEDIA_RED, 0, 1);
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_R8B8_UNORM:
        put_plane(image, G4_MEDIA_RED, 0, 2);
        put_plane(image, G4_MEDIA_BLUE, 1, 2);
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_R8G8B8A8_UNORM:
        for (enum g4_media_channel c = G4_MEDIA_RED; c < G4_MEDIA_CHANNELS; c++) {
            put_plane(image, c, c, 4);
        }
        return true;
    case GEN7_MEDIA_SURFACE_FORMAT_R10G10B10A2_UNORM:
        image->bits = 10;
        for (enum g4_media_channel c = G4_MEDIA_RED; c < G4_MEDIA_CHANNELS; c++) {
            put_plane(image, c, 0, 4);
            image->plane[c].bits = c == G4_MEDIA_ALPHA ? 2 : 10;
            image->plane[c].shift = 10 * c;
        }
        return true;
    default:
        return false;
    }
}

void g4_media_image_setup(struct g4_media_image *image, const struct gen7_media_surface_state *state) {
    const bool field = state->picture_structure != GEN7_SURFACE_PICTURE_STRUCTURE_FRAME_PICTURE;

    *image = (struct g4_media_image){.present = false};
    image->format = state->surface_format;
    image->base = state->surface_base_address;
    image->pitch = state->surface_pitch;
    image->tiling = tiling_of(state);
    image->bits = 8;
    image->width = state->width;
    image->height = state->height;
    image->row_step = field ? 2 : 1; /* docs/decisions.md 124 */
    image->first_row = state->picture_structure == GEN7_SURFACE_PICTURE_STRUCTURE_BOTTOM_FIELD_PICTURE;
    image->chroma_offset_quarters = state->cbcr_vertical_pixel_offset;
    image->present = unpack_format(image, state);
}

/* Samples of 16 bits: their upper bytes (docs/decisions.md 243). */
static void take_upper_bytes(struct g4_media_image *image) {
    image->doubled = true;
    for (enum g4_media_channel c = G4_MEDIA_RED; c <= G4_MEDIA_BLUE; c++) {
        struct g4_media_plane *const plane = &image->plane[c];
        plane->x0 = 2 * plane->x0 + 1;
        plane->step *= 2;
    }
}

bool g4_media_image_of_video(struct g4_media_image *image, const struct g4_video_surface *surface, g4_address base) {
    const struct gen7_media_surface_state state = {
        .surface_format = surface->format,
        .width = surface->width,
        .height = surface->height,
        .surface_pitch = surface->pitch,
        .interleave_chroma = surface->interleaved,
        .half_pitch_for_chroma = surface->half_pitch,
        .tiled_surface = surface->tiling != G4_TILING_LINEAR,
        .tile_walk = surface->tiling == G4_TILING_Y ? GEN7_TILE_WALK_YMAJOR : GEN7_TILE_WALK_XMAJOR,
        .x_offset_for_cb = surface->cb_x,
        .y_offset_for_cb = surface->cb_y,
        .x_offset_for_cr = surface->cr_x,
        .y_offset_for_cr = surface->cr_y,
    };
    g4_media_image_setup(image, &state);
    image->base = base; /* which may have 48 bits */
    if (surface->sample_bytes == 2) {
        take_upper_bytes(image);
    }
    return image->present && image->chroma_x == 1;
}

void g4_media_image_load(struct g4_media_image *image, struct g4_port *port, const struct g4_surface_loader *surfaces,
                         uint32_t gen, g4_address surface_state_base, g4_address binding_table, uint32_t index) {
    struct gen7_media_surface_state state;
    uint32_t dw[8] = {0};
    uint32_t entry = 0;

    (void)g4_mem_read(port, binding_table + 4 * index, &entry, sizeof entry); /* missing memory is in the port's log */
    (void)g4_mem_read(port, surface_state_base + surfaces->state_offset(entry), dw, sizeof dw);
    gen7_media_surface_state_unpack(dw, gen, &state);
    g4_media_image_setup(image, &state);
}
