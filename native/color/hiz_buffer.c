#include "color/hiz_buffer.h"

#include <string.h>

#include "color/state.h"
#include "core/util.h"

enum {
    UNIT_WIDTH = 16, /* of the alignment of levels, samples: two entries each */
    UNIT_HEIGHT = 8,
    MOST_GROUPS = 1 << 26, /* that one surface has filled: more than memory can have */
};

/* ---- the depth buffer ---- */

struct depth_group {
    struct g4_depth *depth;
    struct g4_port *port;
    uint32_t x, y; /* of its upper left corner, in the image */
    struct g4_hiz_memory memory;
    struct g4_hiz_group entry;
};

static g4_address address_of(const struct depth_group *group, uint32_t pixel, uint32_t sample) {
    const struct g4_pixel_map *const map = &group->depth->map;
    uint32_t x = group->x + g4_hiz_pixel_x(pixel);
    uint32_t y = group->y + g4_hiz_pixel_y(pixel);
    g4_interleave(group->depth->hiz.surface.samples, sample, &x, &y);
    return g4_pixel_map_address(map, (map->x0 + x) * map->bytes, map->y0 + y);
}

static uint32_t bytes_of(const struct depth_group *group) {
    return group->depth->map.bytes == 2 ? 2 : 4;
}

static uint32_t raw(struct depth_group *group, uint32_t pixel, uint32_t sample) {
    const g4_address address = address_of(group, pixel, sample);
    const uint32_t bytes = bytes_of(group);
    uint32_t value = 0;
    if ((address & G4_PAGE_OFFSET) + bytes > G4_PAGE_SIZE) { /* the buffer is not aligned */
        (void)g4_mem_read(group->port, address, &value, bytes);
        return value;
    }
    const uint8_t *const host = g4_pixel_map_host(&group->depth->map, group->port, address);
    if (host) {
        memcpy(&value, host, bytes);
    }
    return value;
}

static uint32_t unused_bits(const struct depth_group *group) {
    return group->depth->format == G4_DEPTH_FORMAT_D24_UNORM_X8_UINT ? 0xff000000 : 0;
}

static uint32_t load(void *owner, uint32_t pixel, uint32_t sample) {
    struct depth_group *const group = owner;
    return raw(group, pixel, sample) & ~unused_bits(group);
}

static void store(void *owner, uint32_t pixel, uint32_t sample, uint32_t depth) {
    struct depth_group *const group = owner;
    const uint32_t keep = unused_bits(group);
    const uint32_t value = keep ? (raw(group, pixel, sample) & keep) | depth : depth;
    (void)g4_mem_write(group->port, address_of(group, pixel, sample), &value, bytes_of(group));
}

/* ---- entries ---- */

static g4_address entry_address(const struct depth_group *group) {
    const struct g4_hiz_buffer *const hiz = &group->depth->hiz;
    return g4_hiz_address(hiz->base, hiz->pitch_bytes, hiz->column + group->x / G4_HIZ_WIDTH,
                          hiz->row + group->y / G4_HIZ_HEIGHT);
}

/* Opens the group with (x, y) of the image. */
static void open_group(struct depth_group *group, struct g4_depth *depth, struct g4_port *port, uint32_t x,
                       uint32_t y) {
    *group = (struct depth_group){
        .depth = depth,
        .port = port,
        .x = x / G4_HIZ_WIDTH * G4_HIZ_WIDTH,
        .y = y / G4_HIZ_HEIGHT * G4_HIZ_HEIGHT,
        .memory = {.owner = group, .load = load, .store = store, .exact = depth->hiz.exact},
    };
    group->entry = (struct g4_hiz_group){
        .surface = &depth->hiz.surface,
        .memory = &group->memory,
        .inside = g4_hiz_inside(depth->hiz.width - group->x, depth->hiz.height - group->y),
    };
    (void)g4_mem_read(port, entry_address(group), &group->entry.entry, sizeof group->entry.entry);
}

static void close_group(struct depth_group *group, const struct g4_hiz_entry *before) {
    if (memcmp(before, &group->entry.entry, sizeof *before) != 0) {
        (void)g4_mem_write(group->port, entry_address(group), &group->entry.entry, sizeof group->entry.entry);
    }
}

/* Test an object's samples in a group, or clear them; `object` is complete.  passed[p] are the samples that pass. */
static void work_on_group(struct depth_group *group, const struct g4_hiz_object *object, struct g4_hiz_counts *counts,
                          uint16_t passed[G4_HIZ_PIXELS]) {
    const struct g4_hiz_buffer *const hiz = &group->depth->hiz;
    const struct g4_hiz_entry before = group->entry.entry;
    const uint64_t contradictions = counts->contradictions;

    if (hiz->clears) {
        uint32_t pixels = 0;
        for (uint32_t p = 0; p < G4_HIZ_PIXELS; p++) {
            pixels |= (uint32_t)(object->covered[p] >> hiz->first_sample & 1) << p; /* once for all samples */
            passed[p] = object->covered[p];
        }
        g4_hiz_clear(&group->entry, pixels, counts);
    } else {
        g4_hiz_draw(&group->entry, object, counts, passed);
    }
    close_group(group, &before);
    if (counts->contradictions != contradictions) {
        g4_report(hiz->log, G4_EVENT_HIERARCHICAL_DEPTH, entry_address(group), (uint32_t)group->depth->surface.base);
    }
}

static void begin_object(struct g4_hiz_object *object, const struct g4_depth *depth) {
    memset(object->covered, 0, sizeof object->covered);
    memset(object->killed, 0, sizeof object->killed);
    object->function = depth->function;
    object->test = depth->depth_test;
    object->write = depth->depth_write && depth->map.writes;
    object->computed = object->corners = object->literal = false;
    object->plane = NULL;
}

/* ---- subspans ---- */

static bool sample_place(const struct g4_depth *depth, const struct g4_depth_job *job, uint32_t bit, uint32_t *x,
                         uint32_t *y) {
    *x = ((job->x[bit / 4] + (bit & 1)) & 0xffffu) + depth->map.dx;
    *y = ((job->y[bit / 4] + (bit >> 1 & 1)) & 0xffffu) + depth->map.dy;
    return *x < depth->map.width && *y < depth->map.height;
}

/* In place of the test of subspans: a group at a time. */
static uint32_t test(struct g4_depth *depth, struct g4_port *port, const struct g4_depth_job *job) {
    const uint32_t samples = depth->hiz.surface.samples;
    struct g4_hiz_counts unused = {0};
    struct g4_hiz_object object;
    uint32_t passed = 0;

    if (!job->z) {
        return job->live;
    }
    for (uint32_t left = job->live; left;) {
        uint32_t here = 0; /* of `left`, in the group of its first */
        uint8_t pixel[16], sample[16];
        uint16_t passes[G4_HIZ_PIXELS];
        struct depth_group group;
        uint32_t x, y;
        if (!sample_place(depth, job, (uint32_t)__builtin_ctz(left), &x, &y)) {
            passed |= left & (0u - left); /* outside the depth buffer */
            left &= left - 1;
            continue;
        }
        (void)g4_deinterleave(samples, &x, &y);
        open_group(&group, depth, port, x, y);
        begin_object(&object, depth);
        object.write = object.write && job->update;
        for (uint32_t more = left; more; more &= more - 1) {
            const uint32_t bit = (uint32_t)__builtin_ctz(more);
            if (!sample_place(depth, job, bit, &x, &y)) {
                continue;
            }
            const uint32_t s = g4_deinterleave(samples, &x, &y);
            if (x - group.x < G4_HIZ_WIDTH && y - group.y < G4_HIZ_HEIGHT) {
                const uint32_t p = g4_hiz_pixel(x - group.x, y - group.y);
                pixel[bit] = (uint8_t)p;
                sample[bit] = (uint8_t)s;
                object.covered[p] |= (uint16_t)(1u << s);
                object.depth[p * samples + s] = g4_hiz_quantize(depth->format, job->z[bit], job->minimum, job->maximum);
                here |= 1u << bit;
            }
        }
        work_on_group(&group, &object, job->update ? depth->hiz.counts : &unused, passes);
        for (uint32_t more = here; more; more &= more - 1) {
            const uint32_t bit = (uint32_t)__builtin_ctz(more);
            passed |= (uint32_t)(passes[pixel[bit]] >> sample[bit] & 1) << bit;
        }
        left &= ~here;
    }
    return passed;
}

/* ---- tiles ---- */

/* The samples of a tile in the group whose first is (x, y) of the tile; their depths as the windower computes them. */
static void cover(struct g4_hiz_object *object, const struct g4_depth *depth, const struct g4_depth_tile *tile,
                  uint32_t x, uint32_t y) {
    const struct g4_plane *const plane = tile->plane;

    for (uint32_t p = 0; p < G4_HIZ_PIXELS; p++) {
        const uint32_t i = x + g4_hiz_pixel_x(p);
        const uint32_t j = y + g4_hiz_pixel_y(p);
        if (j < tile->first || j > tile->last || !(tile->row[j] >> i & 1)) {
            continue;
        }
        const double column = plane->cx * (tile->x + (int32_t)i - plane->x_start) + plane->c0;
        const double row = plane->cy * (tile->y + (int32_t)j - plane->y_start);
        object->covered[p] = 1;
        object->depth[p] = g4_hiz_quantize(depth->format, (float)(column + row), tile->minimum, tile->maximum);
    }
}

void g4_hiz_tile(struct g4_depth *depth, struct g4_port *port, struct g4_depth_tile *tile) {
    const struct g4_plane *const plane = tile->plane;
    const uint32_t left = (uint32_t)tile->x + depth->map.dx;
    const uint32_t top = (uint32_t)tile->y + depth->map.dy;
    struct g4_hiz_object object;

    begin_object(&object, depth);
    for (uint32_t y = 0; y < 32; y += G4_HIZ_HEIGHT) {
        for (uint32_t x = 0; x < 32; x += G4_HIZ_WIDTH) {
            uint16_t passed[G4_HIZ_PIXELS];
            uint32_t lit = 0;
            struct depth_group group;
            for (uint32_t j = y; j < y + G4_HIZ_HEIGHT; j++) {
                lit |= j >= tile->first && j <= tile->last ? tile->row[j] >> x & 0xff : 0;
            }
            if (!lit || left + x >= depth->map.width || top + y >= depth->map.height) {
                continue;
            }
            /* Pixels are evaluated at their index, and entries from the corner of the group on. */
            const struct g4_hiz_plane from_corner = {
                .c0 = plane->c0 + plane->cx * (tile->x + (int32_t)x - 0.5 - plane->x_start) +
                      plane->cy * (tile->y + (int32_t)y - 0.5 - plane->y_start),
                .cx = plane->cx,
                .cy = plane->cy,
            };
            memset(object.covered, 0, sizeof object.covered);
            cover(&object, depth, tile, x, y);
            object.plane = &from_corner;
            open_group(&group, depth, port, left + x, top + y);
            for (uint32_t p = 0; p < G4_HIZ_PIXELS; p++) {
                object.covered[p] &= (uint16_t)(group.entry.inside >> p & 1); /* the others pass */
            }
            work_on_group(&group, &object, depth->hiz.counts, passed);
            for (uint32_t p = 0; p < G4_HIZ_PIXELS; p++) {
                if (object.covered[p] && !passed[p]) {
                    tile->row[y + g4_hiz_pixel_y(p)] &= ~(1u << (x + g4_hiz_pixel_x(p)));
                }
            }
        }
    }
}

/* ---- draws ---- */

void g4_hiz_select(struct g4_depth *depth, uint32_t gen, uint32_t slice) {
    struct g4_hiz_buffer *const hiz = &depth->hiz;
    uint32_t place[2];

    if (g4_surface_start(&hiz->layout, gen, hiz->layout.mip_count_or_lod, slice, place)) {
        hiz->column = place[0] / G4_HIZ_WIDTH;
        hiz->row = place[1] / G4_HIZ_HEIGHT;
    }
    hiz->width = depth->map.width;
    hiz->height = depth->map.height;
    (void)g4_deinterleave(hiz->surface.samples, &hiz->width, &hiz->height); /* even, or one sample a pixel */
}

/* Resolve the whole image, or forget its entries: drivers name the whole image, too. */
static void operate(struct g4_worker *worker, struct g4_depth *depth, bool resolve) {
    for (uint32_t y = 0; y < depth->hiz.height; y += G4_HIZ_HEIGHT) {
        for (uint32_t x = 0; x < depth->hiz.width; x += G4_HIZ_WIDTH) {
            struct depth_group group;
            open_group(&group, depth, &worker->port, x, y);
            const struct g4_hiz_entry before = group.entry.entry;
            (resolve ? g4_hiz_resolve : g4_hiz_ambiguate)(&group.entry, depth->hiz.counts);
            close_group(&group, &before);
        }
    }
}

/* Entries count pixels with their samples, or samples, each of which is a pixel then. */
static void set_samples(const struct g4_draw_state *draw, struct g4_depth *depth) {
    const struct g4_multisampling *const multisampling = &draw->multisampling;
    struct g4_hiz_buffer *const hiz = &depth->hiz;
    const bool pixels = draw->hierarchical_depth.counts_pixels && multisampling->samples > 1;
    const uint32_t samples = pixels ? g4_min_u32(multisampling->samples, G4_HIZ_SAMPLES) : 1;

    for (uint32_t s = 0; s < G4_HIZ_SAMPLES; s++) {
        hiz->position[s][0] = pixels ? multisampling->x[s] : 8;
        hiz->position[s][1] = pixels ? multisampling->y[s] : 8;
    }
    hiz->first_sample = pixels && multisampling->mask ? (uint32_t)__builtin_ctz(multisampling->mask) : 0;
    hiz->surface = (struct g4_hiz_surface){.format = depth->format,
                                           .samples = samples,
                                           .clear_bits = draw->hierarchical_depth.clear_bits,
                                           .position = (const uint8_t(*)[2])hiz->position};
    (void)g4_deinterleave(samples, &hiz->layout.width, &hiz->layout.height);
}

static void attach(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_cc *cc) {
    const struct g4_hierarchical_depth *const state = &draw->hierarchical_depth;
    struct g4_depth *const depth = &cc->depth;
    struct g4_hiz_buffer *const hiz = &depth->hiz;

    hiz->present = true;
    hiz->exact = worker->ctx->options.hierarchical_depth != G4_HIERARCHICAL_DEPTH_MODE_STRICT;
    hiz->clears = state->clear;
    hiz->base = state->address;
    hiz->pitch_bytes = state->pitch_bytes;
    hiz->counts = &cc->hiz_counts;
    hiz->log = worker->eu.log;
    hiz->layout = depth->surface;
    set_samples(draw, depth);
    g4_surface_set_layout_gen7(&hiz->layout, UNIT_WIDTH, UNIT_HEIGHT, false);
    if (state->element_rows) {
        hiz->layout.element_rows = state->element_rows;
    }
    g4_depth_select(depth, worker->ctx->gen, 0);
    if (depth->test_depth) {
        depth->test_depth = test;
    }
}

void g4_hiz_begin(struct g4_worker *worker, const struct g4_draw_state *draw, struct g4_cc *cc) {
    const struct g4_hierarchical_depth *const state = &draw->hierarchical_depth;
    struct g4_depth *const depth = &cc->depth;

    if (worker->ctx->options.hierarchical_depth == G4_HIERARCHICAL_DEPTH_MODE_OFF || !depth->map.present) {
        return;
    }
    if (state->present && state->address && depth->dx % G4_HIZ_WIDTH == 0 && depth->dy % G4_HIZ_HEIGHT == 0) {
        attach(worker, draw, cc);
    }
    if (worker->index != 0) {
        return;
    }
    if (worker->ctx->hiz_watch && (depth->test_depth || state->resolve || state->ambiguate)) {
        g4_hiz_watch_draw(worker->ctx->hiz_watch, depth);
    }
    if (depth->hiz.present && (state->resolve || state->ambiguate)) {
        const uint32_t unit = worker->port.unit;
        worker->port.unit = G4_UNIT_CC;
        operate(worker, depth, state->resolve);
        worker->port.unit = unit;
    }
}

/* ---- surfaces ---- */

/* The depth format of texels that the sampler reads through entries; false: it cannot read others so. */
static bool depth_format_of(uint32_t surface_format, uint32_t *format) {
    switch (surface_format) {
    case G4_SURFACE_FORMAT_R32_FLOAT:
        *format = G4_DEPTH_FORMAT_D32_FLOAT;
        return true;
    case G4_SURFACE_FORMAT_R24_UNORM_X8_TYPELESS:
        *format = G4_DEPTH_FORMAT_D24_UNORM_X8_UINT;
        return true;
    case G4_SURFACE_FORMAT_R16_UNORM:
        *format = G4_DEPTH_FORMAT_D16_UNORM;
        return true;
    default:
        return false;
    }
}

/* Other workers may read the same depths. */
static void store_if_other(void *owner, uint32_t pixel, uint32_t sample, uint32_t depth) {
    if (load(owner, pixel, sample) != depth) {
        store(owner, pixel, sample, depth);
    }
}

/* The entries stay as they are, in memory. */
static void fill_image(struct g4_depth *depth, struct g4_port *port) {
    struct g4_hiz_counts unused = {0};

    for (uint32_t y = 0; y < depth->hiz.height; y += G4_HIZ_HEIGHT) {
        for (uint32_t x = 0; x < depth->hiz.width; x += G4_HIZ_WIDTH) {
            struct depth_group group;
            open_group(&group, depth, port, x, y);
            group.memory.store = store_if_other;
            g4_hiz_resolve(&group.entry, &unused);
        }
    }
}

void g4_hiz_fill(struct g4_mem *mem, uint32_t gen, const struct g4_surface *surface) {
    const uint32_t last = surface->min_lod + surface->mip_count_or_lod;
    struct g4_depth depth = {.surface = *surface};
    struct g4_hiz_buffer *const hiz = &depth.hiz;
    uint64_t groups = MOST_GROUPS; /* that are left */
    struct g4_image image;
    struct g4_port port;
    float clear;

    if (!depth_format_of(surface->format_code, &depth.format)) {
        return;
    }
    g4_port_init(&port, mem, G4_UNIT_SAMPLER, false);
    port.quiet = true;
    memcpy(&clear, &surface->clear_color[0], sizeof clear);
    *hiz = (struct g4_hiz_buffer){
        .present = true,
        .base = surface->hiz_base,
        .pitch_bytes = surface->hiz_pitch,
        .layout = *surface,
        .surface = {.format = depth.format,
                    .samples = 1,
                    .clear_bits = g4_hiz_quantize(depth.format, clear, 0, 1),
                    .position = (const uint8_t(*)[2])hiz->position},
        .position = {{8, 8}},
    };
    g4_surface_set_layout_gen7(&hiz->layout, UNIT_WIDTH, UNIT_HEIGHT, false);
    if (surface->hiz_element_rows) {
        hiz->layout.element_rows = surface->hiz_element_rows;
    }
    for (uint32_t level = surface->min_lod; level <= last; level++) {
        for (uint32_t slice = surface->minimum_array_element; g4_surface_image(surface, gen, level, slice, &image);
             slice++) {
            const uint64_t here = (uint64_t)(image.width / G4_HIZ_WIDTH + 1) * (image.height / G4_HIZ_HEIGHT + 1);
            if (here > groups) {
                return;
            }
            groups -= here;
            g4_pixel_map_set(&depth.map, &image, true);
            hiz->layout.mip_count_or_lod = level;
            g4_hiz_select(&depth, gen, slice);
            fill_image(&depth, &port);
        }
    }
}
