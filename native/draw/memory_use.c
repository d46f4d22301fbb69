#include "draw/memory_use.h"

#include <stdlib.h>
#include <string.h>

#include "api/live.h"
#include "color/state.h"
#include "core/surface.h"
#include "eu/eu.h"
#include "sampler/texture.h"

enum {
    MOST_BYTES = 1 << 28, /* of one range: checking each page of more is not worth it */
    PLACES = 1 << 14,     /* for written pages: twice the 32 MiB that fit */
    MOST_PAGES = PLACES / 2,
    BLOCK_PAGES = 16,  /* adjacent pages with adjacent places */
    MOST_PROBES = 256, /* of a search among the places */
    CHECKED = 64,      /* ranges that are known to be unread by the waiting draws' writes */
    MOST_OFFSET = 32,  /* of the last byte of a vertex element from its start */
    TALLEST_TILE = 64,
};

/* ---- ranges ---- */

static void add_range(struct g4_memory_use *use, g4_address address, uint64_t bytes) {
    if (bytes == 0) {
        return;
    }
    for (uint32_t i = 0; i < use->reads; i++) {
        if (use->read[i].address == address && use->read[i].bytes >= bytes) {
            return;
        }
    }
    if (use->reads == G4_READ_RANGES || bytes > MOST_BYTES) {
        use->known = false;
        return;
    }
    use->read[use->reads].address = address;
    use->read[use->reads++].bytes = bytes;
}

/* ---- vertices ---- */

static void add_vertex_buffer(struct g4_memory_use *use, const struct g4_draw_state *draw, uint32_t index,
                              uint64_t elements_end) {
    const struct g4_vertex_buffer *const buffer = &draw->vertex_buffer[index];
    const struct g4_primitive *const primitive = &draw->primitive;

    if (buffer->null) {
        return;
    }
    if (buffer->has_end) {
        add_range(use, buffer->address, buffer->end < buffer->address ? 0 : buffer->end - buffer->address + 1);
    } else if (buffer->max_index) {
        add_range(use, buffer->address, (uint64_t)buffer->max_index * buffer->pitch_bytes + elements_end);
    } else if (!primitive->indexed) {
        const uint64_t vertices = (uint64_t)primitive->start_vertex + primitive->vertex_count;
        const uint64_t instances = (uint64_t)primitive->start_instance + primitive->instance_count;
        add_range(use, buffer->address,
                  (vertices > instances ? vertices : instances) * buffer->pitch_bytes + elements_end);
    } else {
        use->known = false;
    }
}

static void add_vertices(struct g4_memory_use *use, const struct g4_draw_state *draw) {
    const struct g4_index_buffer *const indices = &draw->index_buffer;
    uint64_t end[G4_VERTEX_BUFFERS] = {0}; /* of the elements, from the start of a vertex; 0: the buffer is not used */

    for (uint32_t i = 0; i < draw->vertex_elements; i++) {
        const struct g4_vertex_element *const element = &draw->vertex_element[i];
        const uint64_t behind = (uint64_t)element->offset_bytes + element->bytes_behind + MOST_OFFSET;
        if (element->buffer < G4_VERTEX_BUFFERS && behind > end[element->buffer]) {
            end[element->buffer] = behind;
        }
    }
    for (uint32_t b = 0; b < G4_VERTEX_BUFFERS; b++) {
        if (end[b]) {
            add_vertex_buffer(use, draw, b, end[b]);
        }
    }
    if (draw->primitive.indexed) {
        const uint64_t start = indices->address + (uint64_t)draw->primitive.start_vertex * indices->index_bytes;
        add_range(use, start, (uint64_t)draw->primitive.vertex_count * indices->index_bytes);
    }
}

/* ---- surfaces ---- */

static uint64_t blocks(uint32_t texels, uint32_t size) {
    return (texels + UINT64_C(1) * size - 1) / size;
}

/* The rows of texels or blocks of the whole miptree, up to the last one that a lookup can reach. */
static uint64_t rows_of(const struct g4_surface *surface) {
    const uint32_t levels = surface->min_lod + surface->mip_count_or_lod;
    const bool cube = surface->type == G4_SURFACE_TYPE_SURFTYPE_CUBE;
    const bool compressed = g4_format_is_compressed(surface->format);
    const uint32_t block_width = compressed ? surface->format->block_width : 1;
    const uint32_t block_height = compressed ? surface->format->block_height : 1;
    uint64_t rows = 0;

    for (uint32_t l = 0; l <= levels && l < G4_TEXTURE_LEVELS; l++) {
        struct g4_level level;
        g4_surface_level(surface, l, &level);
        const uint64_t slices =
            ((uint64_t)surface->minimum_array_element + level.depth * (cube ? UINT64_C(6) : UINT64_C(1))) *
            g4_surface_sample_elements(surface);
        if (slices == 0) {
            continue;
        }
        const uint64_t last = (slices - 1) >> level.slice_shift;
        const uint64_t beside = slices - 1 < level.slice_mask ? slices - 1 : level.slice_mask;
        const uint64_t below = level.y + level.slice_dy * last + blocks(level.height, block_height);
        const uint64_t right = level.x + level.slice_dx * beside + blocks(level.width, block_width) + surface->x_offset;
        /* Texels beyond the pitch lie in the rows that follow. */
        const uint64_t further = right * ((surface->format->block_bits + 7u) / 8u) / surface->pitch * TALLEST_TILE;
        rows = below + further > rows ? below + further : rows;
    }
    return rows + surface->y_offset;
}

static void add_surface(struct g4_memory_use *use, const struct g4_surface *surface) {
    static const uint32_t tile_rows[] = {[G4_TILING_LINEAR] = 1, [G4_TILING_X] = 8, [G4_TILING_Y] = 32};

    if (!surface->present) {
        use->known = false; /* each worker reports what is missing */
        return;
    }
    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_NULL) {
        return;
    }
    if (surface->type == G4_SURFACE_TYPE_SURFTYPE_BUFFER) {
        const uint64_t pitch = surface->pitch > 16 ? surface->pitch : 16;
        add_range(use, surface->base, surface->buffer_entries * pitch);
        return;
    }
    if (surface->type > G4_SURFACE_TYPE_SURFTYPE_CUBE || surface->skips_lines || surface->samples > 1 ||
        surface->hiz_base || surface->levels_in_row ||
        (uint32_t)surface->tiling >= sizeof tile_rows / sizeof *tile_rows) {
        use->known = false;
        return;
    }
    const uint64_t unit = tile_rows[surface->tiling];
    const uint64_t rows = surface->pitch ? (rows_of(surface) + unit - 1) / unit * unit : 0;
    if (surface->pitch == 0 || rows > MOST_BYTES / surface->pitch) {
        use->known = false;
        return;
    }
    add_range(use, surface->base, rows * surface->pitch);
}

/* ---- messages ---- */

static void add_message(struct g4_memory_use *use, const struct g4_context *ctx, struct g4_port *port,
                        const struct g4_dispatch *dispatch, const struct g4_sent *sent) {
    uint32_t entry = 0;
    uint32_t sampler = 0;
    struct g4_surface surface;
    struct g4_texture_sampler unpacked;

    switch (ctx->model->message_use(sent->function, sent->descriptor, &entry, &sampler)) {
    case G4_USES_NOTHING:
        return;
    case G4_USES_SAMPLER:
        g4_texture_sampler_setup(&unpacked, port, ctx->model, dispatch->dynamic_state_base,
                                 dispatch->sampler_state + 16 * sampler);
        break;
    case G4_USES_SURFACE:
        break;
    case G4_USES_ANYTHING:
        use->known = false;
        return;
    }
    g4_surface_load(&surface, ctx, port, dispatch->surface_state_base, dispatch->binding_table, entry);
    add_surface(use, &surface);
}

static void add_color(struct g4_memory_use *use, const struct g4_context *ctx, struct g4_port *port,
                      const struct g4_dispatch *dispatch, uint32_t entry) {
    struct g4_surface surface;
    struct g4_image image;

    g4_surface_load(&surface, ctx, port, dispatch->surface_state_base, dispatch->binding_table, entry);
    if (surface.present && surface.type == G4_SURFACE_TYPE_SURFTYPE_NULL) {
        return;
    }
    if (!surface.present || surface.type != G4_SURFACE_TYPE_SURFTYPE_2D || surface.depth != 1 || surface.skips_lines ||
        surface.format->encoding != G4_ENCODING_PLAIN || surface.samples > 1 || use->colors == G4_COLOR_TARGETS ||
        !g4_surface_image(&surface, ctx->gen, surface.mip_count_or_lod,
                          g4_cc_slice(&surface, surface.mip_count_or_lod, 0), &image)) {
        use->known = false;
        return;
    }
    use->image[use->colors++] = (struct g4_target_image){.base = image.base,
                                                         .tiling = image.tiling,
                                                         .pitch = image.pitch,
                                                         .x0 = image.x0,
                                                         .y0 = image.y0,
                                                         .width = image.width,
                                                         .height = image.height,
                                                         .bytes = image.bytes};
}

static void add_kernel(struct g4_memory_use *use, const struct g4_context *ctx, struct g4_port *port,
                       const struct g4_dispatch *dispatch, const struct g4_kernel *kernel, bool pixels) {
    const struct g4_sent *sent;
    const uint32_t messages = g4_kernel_messages(kernel, &sent);

    if (messages == UINT32_MAX || g4_kernel_writes_memory(kernel) || g4_kernel_reads_clock(kernel) ||
        dispatch->exceptions) {
        use->known = false;
        return;
    }
    for (uint32_t i = 0; i < messages && use->known; i++) {
        if (!sent[i].writes_target) {
            add_message(use, ctx, port, dispatch, &sent[i]);
        } else if (!pixels) {
            use->known = false;
        }
    }
    add_range(use, dispatch->kernel_address, (uint64_t)g4_kernel_instructions(kernel) * 16);
}

static void add_colors(struct g4_memory_use *use, const struct g4_context *ctx, struct g4_port *port,
                       const struct g4_draw_state *draw) {
    bool seen[256] = {false};

    for (int k = 0; k < G4_WM_ENTRIES; k++) {
        const uint8_t *entry = NULL;
        const uint32_t targets = draw->wm_kernel[k] ? g4_kernel_targets(draw->wm_kernel[k], &entry) : 0;
        for (uint32_t i = 0; i < targets && use->known; i++) {
            if (!seen[entry[i]]) {
                seen[entry[i]] = true;
                add_color(use, ctx, port, &draw->dispatch[G4_STAGE_WM], entry[i]);
            }
        }
    }
}

/* ---- depth and stencil ---- */

static void set_image(struct g4_target_image *image, const struct g4_pixel_map *map) {
    *image = (struct g4_target_image){.base = map->base,
                                      .tiling = map->tiling,
                                      .pitch = map->pitch,
                                      .x0 = map->x0,
                                      .y0 = map->y0,
                                      .dx = map->dx,
                                      .dy = map->dy,
                                      .width = map->width,
                                      .height = map->height,
                                      .bytes = map->bytes};
}

static void add_depth(struct g4_memory_use *use, const struct g4_worker *worker) {
    struct g4_depth *const depth = &g4_cc_of(worker)->depth;

    if (!depth->test) {
        return;
    }
    use->known = use->known && !depth->hiz.present && depth->surface.depth <= 1 && depth->surface.samples <= 1 &&
                 depth->surface.type <= G4_SURFACE_TYPE_SURFTYPE_2D;
    if (depth->map.present) {
        set_image(&use->image[G4_COLOR_TARGETS], &depth->map);
    }
    if (depth->stencil_surface.present) {
        g4_stencil_select(depth);
        if (depth->stencil_map.present) {
            set_image(&use->image[G4_COLOR_TARGETS + 1], &depth->stencil_map);
        }
    }
}

/* ---- a draw ---- */

void g4_memory_use_find(struct g4_memory_use *use, const struct g4_worker *worker, const struct g4_draw_state *draw) {
    const struct g4_context *const ctx = worker->ctx;
    const struct g4_windower_state *const windower = &draw->windower;
    const struct g4_hierarchical_depth *const hiz = &draw->hierarchical_depth;
    struct g4_port port;

    g4_port_init(&port, ctx->mem, G4_UNIT_CS, false);
    port.quiet = true;
    port.touched = &use->state;
    use->colors = use->reads = 0;
    memset(use->image, 0, sizeof use->image);
    use->known = ctx->model->message_use && !draw->primitive.indirect && !draw->amplification &&
                 !draw->stream_output.enable && !windower->line_stipple && !windower->fast_clear &&
                 !windower->resolve && !hiz->clear && !hiz->resolve && !hiz->ambiguate &&
                 draw->multisampling.samples <= 1;
    if (!use->known) {
        return;
    }
    add_vertices(use, draw);
    for (int stage = 0; stage < G4_STAGES && use->known; stage++) {
        if (draw->kernel[stage]) {
            add_kernel(use, ctx, &port, &draw->dispatch[stage], draw->kernel[stage], false);
        }
    }
    for (int k = 0; k < G4_WM_ENTRIES && use->known; k++) {
        if (draw->wm_kernel[k]) {
            add_kernel(use, ctx, &port, &draw->dispatch[G4_STAGE_WM], draw->wm_kernel[k], true);
        }
    }
    if (windower->thread_dispatch && use->known) {
        add_colors(use, ctx, &port, draw);
    }
    add_depth(use, worker);
    use->known = use->known && !g4_port_has_faults(&port) && !use->state.full;
}

static bool same_bytes(const void *a, const void *b, size_t size) {
    return memcmp(a, b, size) == 0;
}

bool g4_memory_use_is_like(const struct g4_draw_state *draw, const struct g4_draw_state *before) {
    return !draw->depth_buffer.follows_drawing_rectangle && !draw->primitive.indirect && !draw->amplification &&
           !draw->stream_output.enable && same_bytes(draw->wm_kernel, before->wm_kernel, sizeof draw->wm_kernel) &&
           same_bytes(draw->kernel, before->kernel, sizeof draw->kernel) &&
           same_bytes(draw->dispatch, before->dispatch, sizeof draw->dispatch) &&
           same_bytes(draw->wm_dispatch, before->wm_dispatch, sizeof draw->wm_dispatch) &&
           same_bytes(&draw->windower, &before->windower, sizeof draw->windower) &&
           same_bytes(&draw->depth_buffer, &before->depth_buffer, sizeof draw->depth_buffer) &&
           same_bytes(&draw->depth_stencil, &before->depth_stencil, sizeof draw->depth_stencil) &&
           same_bytes(&draw->stencil_buffer, &before->stencil_buffer, sizeof draw->stencil_buffer) &&
           same_bytes(&draw->hierarchical_depth, &before->hierarchical_depth, sizeof draw->hierarchical_depth) &&
           same_bytes(&draw->multisampling, &before->multisampling, sizeof draw->multisampling);
}

void g4_memory_use_of_vertices(struct g4_memory_use *use, const struct g4_draw_state *draw) {
    use->known = !use->state.full;
    use->reads = 0;
    add_vertices(use, draw);
}

void g4_memory_use_follow(struct g4_memory_use *use, const struct g4_memory_use *before,
                          const struct g4_draw_state *draw) {
    use->colors = before->colors;
    memcpy(use->image, before->image, sizeof use->image);
    g4_memory_use_of_vertices(use, draw);
}

/* ---- pages ---- */

struct written_page {
    uintptr_t page;
    uint64_t number; /* the graphics page through which it is written */
    uint32_t stamp;  /* the place is taken if it is the epoch */
    uint32_t owner;  /* the image that it belongs to */
};

struct g4_written_pages {
    uint32_t count;
    uint32_t epoch;
    uint32_t colors;
    struct g4_target_image image[G4_DRAW_IMAGES];
    struct written_page place[PLACES];
    /* Ranges without written pages. */
    uint32_t checked_epoch[CHECKED];
    g4_address checked[CHECKED];
    uint64_t checked_bytes[CHECKED];
};

struct g4_written_pages *g4_written_pages_new(void) {
    struct g4_written_pages *const pages = calloc(1, sizeof *pages);
    if (pages) {
        g4_written_pages_clear(pages);
    }
    return pages;
}

void g4_written_pages_prepare(struct g4_written_pages *pages) {
    g4_provide(pages, sizeof *pages);
}

void g4_written_pages_free(struct g4_written_pages *pages) {
    free(pages);
}

void g4_written_pages_clear(struct g4_written_pages *pages) {
    pages->count = 0;
    pages->colors = 0;
    memset(pages->image, 0, sizeof pages->image);
    if (++pages->epoch == 0) {
        memset(pages->place, 0, sizeof pages->place);
        memset(pages->checked_epoch, 0, sizeof pages->checked_epoch);
        pages->epoch = 1;
    }
}

/* The page behind an address, which may have other addresses, too; 0: missing, or it cannot be compared. */
static uintptr_t page_at(struct g4_mem *mem, g4_address address) {
    const uint8_t *const host = g4_mem_ptr(mem, address & ~(g4_address)G4_PAGE_OFFSET);
    return (uintptr_t)host % G4_PAGE_SIZE ? 0 : (uintptr_t)host;
}

/* Adjacent pages get adjacent places, because an image's pages are contiguous. */
static uint32_t place_of(uintptr_t page) {
    const uint64_t number = page >> G4_PAGE_SHIFT;
    const uint64_t block = (number / BLOCK_PAGES) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    return (uint32_t)(block * BLOCK_PAGES + number % BLOCK_PAGES) % PLACES;
}

/* The place of a page, or the free one where it would be; PLACES: there are too many on the way. */
static uint32_t find_place(const struct g4_written_pages *pages, uintptr_t page) {
    uint32_t at = place_of(page);
    for (uint32_t probes = 0; probes < MOST_PROBES; probes++) {
        if (pages->place[at].stamp != pages->epoch || pages->place[at].page == page) {
            return at;
        }
        at = (at + 1) % PLACES;
    }
    return PLACES;
}

/* Whether a page is written, or may be. */
static bool is_written(const struct g4_written_pages *pages, uintptr_t page) {
    const uint32_t at = find_place(pages, page);
    return at == PLACES || pages->place[at].stamp == pages->epoch;
}

/* False: it cannot be written or added, or another image or page of the image is the same memory, so that pixels of
 * different tiles might be at one place. */
static bool add_page(struct g4_written_pages *pages, struct g4_mem *mem, g4_address address, uint32_t owner) {
    const uintptr_t page = page_at(mem, address);
    const struct g4_page *const entry = g4_mem_page(mem, address);
    const uint32_t at = page ? find_place(pages, page) : PLACES;
    if (at == PLACES || pages->count == MOST_PAGES ||
        (atomic_load_explicit(&entry->flags, memory_order_relaxed) & G4_PAGE_READ_ONLY)) {
        return false;
    }
    struct written_page *const place = &pages->place[at];
    if (place->stamp == pages->epoch) {
        return place->owner == owner && place->number == address >> G4_PAGE_SHIFT;
    }
    *place = (struct written_page){page, address >> G4_PAGE_SHIFT, pages->epoch, owner};
    pages->count++;
    return true;
}

/* Add the pages of an image's pixels. */
static bool add_image(struct g4_written_pages *pages, struct g4_mem *mem, const struct g4_target_image *image,
                      uint32_t owner) {
    static const struct {
        uint32_t width_bytes, rows;
    } tiles[] = {[G4_TILING_LINEAR] = {G4_PAGE_SIZE, 1},
                 [G4_TILING_X] = {512, 8},
                 [G4_TILING_Y] = {128, 32},
                 [G4_TILING_W] = {64, 64}};
    const uint64_t right = ((uint64_t)image->x0 + image->width) * image->bytes;
    const uint64_t bottom = (uint64_t)image->y0 + image->height;

    if (image->tiling >= sizeof tiles / sizeof *tiles || right > image->pitch || bottom > MOST_BYTES) {
        return false;
    }
    const uint32_t width = tiles[image->tiling].width_bytes;
    const uint32_t rows = tiles[image->tiling].rows;
    for (uint64_t y = image->y0 / rows * rows; y < bottom; y += rows) {
        for (uint64_t x = (uint64_t)image->x0 * image->bytes / width * width; x < right; x += width) {
            const g4_address address =
                image->base +
                (uint32_t)g4_surface_offset((enum g4_tiling)image->tiling, image->pitch, (uint32_t)x, (uint32_t)y);
            /* The image need not start at a page. */
            if (!add_page(pages, mem, address, owner) ||
                (image->base % G4_PAGE_SIZE && !add_page(pages, mem, address + G4_PAGE_SIZE - 1, owner))) {
                return false;
            }
        }
        if (image->tiling == G4_TILING_LINEAR) { /* the last byte of the row */
            const g4_address last = image->base + y * image->pitch + right - 1;
            if (!add_page(pages, mem, last, owner)) {
                return false;
            }
        }
    }
    return true;
}

/* Ranges are checked again that had no written pages. */
static void forget_checked(struct g4_written_pages *pages) {
    memset(pages->checked_epoch, 0, sizeof pages->checked_epoch);
}

bool g4_written_pages_add_write(struct g4_written_pages *pages, struct g4_mem *mem, g4_address address) {
    forget_checked(pages);
    return add_page(pages, mem, address, G4_DRAW_IMAGES);
}

static bool is_absent(const struct g4_target_image *image) {
    return image->base == 0 && image->pitch == 0;
}

static bool same_image(const struct g4_target_image *a, const struct g4_target_image *b) {
    return a->base == b->base && a->tiling == b->tiling && a->pitch == b->pitch && a->x0 == b->x0 && a->y0 == b->y0 &&
           a->dx == b->dx && a->dy == b->dy && a->width == b->width && a->height == b->height && a->bytes == b->bytes;
}

bool g4_written_pages_add(struct g4_written_pages *pages, struct g4_mem *mem, const struct g4_memory_use *use,
                          bool *grown) {
    bool added = use->colors == 0 || pages->colors == 0 || use->colors == pages->colors;

    *grown = false;
    for (uint32_t i = 0; i < G4_DRAW_IMAGES && added; i++) {
        const struct g4_target_image *const image = &use->image[i];
        if (is_absent(image)) {
            continue;
        }
        if (is_absent(&pages->image[i])) {
            pages->image[i] = *image;
            *grown = true;
            added = add_image(pages, mem, image, i);
        } else {
            added = same_image(image, &pages->image[i]);
        }
    }
    pages->colors = pages->colors ? pages->colors : use->colors;
    if (*grown) {
        forget_checked(pages);
    }
    return added;
}

bool g4_written_pages_miss(const struct g4_written_pages *pages, struct g4_mem *mem, g4_address address,
                           uint64_t bytes) {
    const g4_address end = address + bytes;
    for (g4_address at = address & ~(g4_address)G4_PAGE_OFFSET; at < end; at += G4_PAGE_SIZE) {
        const uintptr_t page = page_at(mem, at);
        if (!page || is_written(pages, page)) {
            return false;
        }
    }
    return true;
}

/* As g4_written_pages_miss(), for ranges that many draws read. */
static bool misses(struct g4_written_pages *pages, struct g4_mem *mem, g4_address address, uint64_t bytes) {
    const uint32_t place = (uint32_t)((address >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % CHECKED;
    if (pages->checked_epoch[place] == pages->epoch && pages->checked[place] == address &&
        pages->checked_bytes[place] >= bytes) {
        return true;
    }
    if (!g4_written_pages_miss(pages, mem, address, bytes)) {
        return false;
    }
    pages->checked_epoch[place] = pages->epoch;
    pages->checked[place] = address;
    pages->checked_bytes[place] = bytes;
    return true;
}

bool g4_written_pages_keep_state(const struct g4_written_pages *pages, struct g4_mem *mem,
                                 const struct g4_touched_pages *state) {
    bool kept = !state->full;
    for (uint32_t i = 0; i < state->count && kept; i++) {
        const g4_address address = (g4_address)state->page[i] << G4_PAGE_SHIFT;
        const uintptr_t page = page_at(mem, address);
        kept = page ? !is_written(pages, page) : g4_mem_ptr(mem, address) == NULL;
    }
    return kept;
}

bool g4_written_pages_are_unread(struct g4_written_pages *pages, struct g4_mem *mem, const struct g4_memory_use *use) {
    if (!g4_written_pages_keep_state(pages, mem, &use->state)) {
        return false;
    }
    for (uint32_t i = 0; i < use->reads; i++) {
        if (!misses(pages, mem, use->read[i].address, use->read[i].bytes)) {
            return false;
        }
    }
    return true;
}
