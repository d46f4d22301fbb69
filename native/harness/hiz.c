/*
 * Hierarchical depth alone, for any number of samples: a depth buffer with entries beside one without.
 */
#include "color/hiz.h"

#include <stdlib.h>
#include <string.h>

#include "api/harness.h"
#include "core/context.h"

/* The standard places of samples, 1/16 pixel. */
static const uint8_t places[5][G4_HIZ_SAMPLES][2] = {
    {{8, 8}},
    {{12, 12}, {4, 4}},
    {{6, 2}, {14, 6}, {2, 10}, {10, 14}},
    {{9, 5}, {7, 11}, {13, 9}, {5, 3}, {3, 13}, {1, 7}, {11, 15}, {15, 1}},
    {{9, 9},
     {7, 5},
     {5, 10},
     {12, 7},
     {3, 6},
     {10, 13},
     {13, 11},
     {11, 3},
     {6, 14},
     {8, 1},
     {4, 2},
     {2, 12},
     {0, 8},
     {15, 4},
     {14, 15},
     {1, 0}},
};

struct g4_hiz_model {
    uint32_t width, height, columns, rows;
    bool exact;
    struct g4_hiz_surface surface;
    struct g4_hiz_entry *entry;
    uint32_t *stored, *reference; /* of the buffer with entries and of that without */
    struct g4_hiz_counts counts;
    uint64_t base[3];
    struct g4_hiz_difference difference;
};

/* A group of a model, open. */
struct open {
    struct g4_hiz_model *model;
    uint32_t x, y;
    struct g4_hiz_memory memory;
    struct g4_hiz_group group;
};

/* ---- entries ---- */

uint64_t g4_hiz_bench_encode(uint32_t mask, uint32_t minimum, uint32_t maximum) {
    const struct g4_hiz_half half = {mask, minimum, maximum};
    return g4_hiz_encode_half(&half);
}

struct g4_hiz_half_view g4_hiz_bench_decode(uint64_t slot) {
    const struct g4_hiz_half half = g4_hiz_decode_half(slot);
    return (struct g4_hiz_half_view){half.mask, half.minimum, half.maximum};
}

static struct g4_hiz_entry entry_of(const uint64_t slot[2]) {
    return (struct g4_hiz_entry){{slot[0], slot[1]}};
}

bool g4_hiz_bench_encode_plane(double c0, double cx, double cy, uint64_t slot[2]) {
    const struct g4_hiz_plane plane = {c0, cx, cy};
    struct g4_hiz_entry entry;
    const bool possible = g4_hiz_encode_plane(&plane, &entry);
    if (possible) {
        memcpy(slot, entry.slot, sizeof entry.slot);
    }
    return possible;
}

bool g4_hiz_bench_is_plane(const uint64_t slot[2]) {
    const struct g4_hiz_entry entry = entry_of(slot);
    return g4_hiz_is_plane(&entry);
}

double g4_hiz_bench_plane_value(const uint64_t slot[2], double x, double y) {
    const struct g4_hiz_entry entry = entry_of(slot);
    const struct g4_hiz_plane plane = g4_hiz_decode_plane(&entry);
    return plane.c0 + plane.cx * x + plane.cy * y;
}

uint32_t g4_hiz_bench_verdict(uint32_t function, const double source[2], const double destination[2], bool is_clear) {
    return g4_hiz_verdict(function, (struct g4_hiz_range){source[0], source[1], true},
                          (struct g4_hiz_range){destination[0], destination[1], true}, is_clear);
}

bool g4_hiz_bench_bounds(uint32_t format, uint32_t depth, uint32_t bounds[2]) {
    return g4_hiz_bounds(format, depth, &bounds[0], &bounds[1]);
}

/* ---- memory ---- */

static size_t index_of(const struct g4_hiz_model *model, uint32_t x, uint32_t y, uint32_t sample) {
    return ((size_t)y * model->width + x) * model->surface.samples + sample;
}

static uint32_t *sample_of(struct open *open, uint32_t *buffer, uint32_t pixel, uint32_t sample) {
    return &buffer[index_of(open->model, open->x + g4_hiz_pixel_x(pixel), open->y + g4_hiz_pixel_y(pixel), sample)];
}

static uint32_t load(void *owner, uint32_t pixel, uint32_t sample) {
    struct open *const open = owner;
    return *sample_of(open, open->model->stored, pixel, sample);
}

static void store(void *owner, uint32_t pixel, uint32_t sample, uint32_t depth) {
    struct open *const open = owner;
    *sample_of(open, open->model->stored, pixel, sample) = depth;
}

static void open_group(struct open *open, struct g4_hiz_model *model, uint32_t column, uint32_t row) {
    open->model = model;
    open->x = column * G4_HIZ_WIDTH;
    open->y = row * G4_HIZ_HEIGHT;
    open->memory = (struct g4_hiz_memory){.owner = open, .load = load, .store = store, .exact = model->exact};
    open->group = (struct g4_hiz_group){
        .surface = &model->surface,
        .memory = &open->memory,
        .inside = g4_hiz_inside(model->width - open->x, model->height - open->y),
        .entry = model->entry[row * model->columns + column],
    };
}

static void close_group(struct open *open) {
    struct g4_hiz_model *const model = open->model;
    model->entry[open->y / G4_HIZ_HEIGHT * model->columns + open->x / G4_HIZ_WIDTH] = open->group.entry;
}

/* ---- models ---- */

struct g4_hiz_model *g4_hiz_model_new(uint32_t width, uint32_t height, uint32_t samples, uint32_t format, bool exact) {
    struct g4_hiz_model *const model = calloc(1, sizeof *model);
    const size_t count = (size_t)width * height * samples;
    if (!model) {
        return NULL;
    }
    *model = (struct g4_hiz_model){
        .width = width,
        .height = height,
        .columns = (width + G4_HIZ_WIDTH - 1) / G4_HIZ_WIDTH,
        .rows = (height + G4_HIZ_HEIGHT - 1) / G4_HIZ_HEIGHT,
        .exact = exact,
        .surface = {.format = format, .samples = samples, .position = places[__builtin_ctz(samples)]},
        .stored = calloc(count, sizeof(uint32_t)),
        .reference = calloc(count, sizeof(uint32_t)),
    };
    model->entry = calloc((size_t)model->columns * model->rows, sizeof *model->entry);
    if (!model->stored || !model->reference || !model->entry) {
        g4_hiz_model_free(model);
        return NULL;
    }
    return model;
}

void g4_hiz_model_free(struct g4_hiz_model *model) {
    if (model) {
        free(model->stored);
        free(model->reference);
        free(model->entry);
        free(model);
    }
}

static void differ(struct open *open, bool is_verdict, uint32_t pixel, uint32_t sample, uint32_t actual,
                   uint32_t expected) {
    if (actual != expected && !open->model->difference.found) {
        open->model->difference = (struct g4_hiz_difference){
            .found = true,
            .is_verdict = is_verdict,
            .x = open->x + g4_hiz_pixel_x(pixel),
            .y = open->y + g4_hiz_pixel_y(pixel),
            .sample = sample,
            .actual = actual,
            .expected = expected,
        };
    }
}

static void compare_depths(struct open *open) {
    for (uint32_t left = open->group.inside; left; left &= left - 1) {
        const uint32_t p = (uint32_t)__builtin_ctz(left);
        for (uint32_t s = 0; s < open->model->surface.samples; s++) {
            differ(open, false, p, s, g4_hiz_depth(&open->group, p, s), *sample_of(open, open->model->reference, p, s));
        }
    }
}

/* The test without entries, in the format's own type. */
static bool passes(uint32_t format, uint32_t function, uint32_t source, uint32_t old) {
    float a, b;
    int order = source < old ? 1 : source == old ? 2 : 4;

    if (format == G4_DEPTH_FORMAT_D32_FLOAT) {
        memcpy(&a, &source, sizeof a);
        memcpy(&b, &old, sizeof b);
        order = a < b ? 1 : a == b ? 2 : 4;
    }
    switch (function) {
    case G4_COMPARE_FUNCTION_NEVER:
        return false;
    case G4_COMPARE_FUNCTION_LESS:
        return order & 1;
    case G4_COMPARE_FUNCTION_EQUAL:
        return order & 2;
    case G4_COMPARE_FUNCTION_LEQUAL:
        return order & 3;
    case G4_COMPARE_FUNCTION_GREATER:
        return order & 4;
    case G4_COMPARE_FUNCTION_NOTEQUAL:
        return order & 5;
    case G4_COMPARE_FUNCTION_GEQUAL:
        return order & 6;
    default:
        return true;
    }
}

/* Draw into both buffers.  Returns the samples that pass. */
static uint64_t draw_group(struct open *open, const struct g4_hiz_object *object) {
    struct g4_hiz_model *const model = open->model;
    const uint32_t bytes = g4_hiz_sample_bytes(model->surface.format);
    const bool reads =
        object->test && object->function != G4_COMPARE_FUNCTION_ALWAYS && object->function != G4_COMPARE_FUNCTION_NEVER;
    uint16_t passed[G4_HIZ_PIXELS];
    uint64_t count = 0;

    g4_hiz_draw(&open->group, object, &model->counts, passed);
    for (uint32_t p = 0; p < G4_HIZ_PIXELS; p++) {
        for (uint32_t left = object->covered[p]; left; left &= left - 1) {
            const uint32_t s = (uint32_t)__builtin_ctz(left);
            const uint32_t depth = object->depth[p * model->surface.samples + s];
            uint32_t *const old = sample_of(open, model->reference, p, s);
            const bool pass = (!object->test || passes(model->surface.format, object->function, depth, *old)) &&
                              !(object->killed[p] >> s & 1);
            differ(open, true, p, s, passed[p] >> s & 1, pass);
            model->base[0] += reads ? bytes : 0;
            model->base[1] += pass && object->write ? bytes : 0;
            count += pass;
            if (pass && object->write) {
                *old = depth;
            }
        }
    }
    compare_depths(open);
    close_group(open);
    return count;
}

/* ---- triangles ---- */

static bool covers(const struct g4_hiz_model_draw *draw, int32_t x, int32_t y) {
    int64_t side[3];
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3;
        side[i] = (int64_t)(draw->x[j] - draw->x[i]) * (y - draw->y[i]) -
                  (int64_t)(draw->y[j] - draw->y[i]) * (x - draw->x[i]);
    }
    return (side[0] >= 0 && side[1] >= 0 && side[2] >= 0) || (side[0] < 0 && side[1] < 0 && side[2] < 0);
}

static uint32_t scramble(uint32_t value) {
    value ^= value << 13;
    value ^= value >> 17;
    value ^= value << 5;
    return value;
}

/* The samples of a triangle in a group.  False: none. */
static bool cover(const struct open *open, const struct g4_hiz_model_draw *draw, struct g4_hiz_object *object,
                  uint32_t *random) {
    const struct g4_hiz_surface *const surface = &open->model->surface;
    const bool killed = draw->kill_seed != 0;
    bool any = false;

    memset(object->covered, 0, sizeof object->covered);
    memset(object->killed, 0, sizeof object->killed);
    for (uint32_t left = open->group.inside; left; left &= left - 1) {
        const uint32_t p = (uint32_t)__builtin_ctz(left);
        for (uint32_t s = 0; s < surface->samples; s++) {
            const uint32_t x = open->x + g4_hiz_pixel_x(p);
            const uint32_t y = open->y + g4_hiz_pixel_y(p);
            const uint8_t *const place = surface->position[s];
            if (!covers(draw, (int32_t)(16 * x + place[0]), (int32_t)(16 * y + place[1]))) {
                continue;
            }
            const double z = draw->c0 + draw->cx * (x + place[0] / 16.0) + draw->cy * (y + place[1] / 16.0);
            *random = scramble(*random);
            object->covered[p] |= (uint16_t)(1u << s);
            object->killed[p] |= (uint16_t)((killed && (*random & 64)) << s);
            object->depth[p * surface->samples + s] =
                g4_hiz_quantize(surface->format, (float)z, draw->minimum, draw->maximum);
            any = true;
        }
    }
    return any;
}

uint64_t g4_hiz_model_draw(struct g4_hiz_model *model, const struct g4_hiz_model_draw *draw) {
    uint32_t random = draw->kill_seed | 1;
    struct g4_hiz_object object = {
        .function = draw->function,
        .test = draw->test,
        .write = draw->write,
        .computed = draw->computed,
        .corners = draw->corners,
        .literal = draw->literal,
    };
    uint64_t passed = 0;

    for (uint32_t row = 0; row < model->rows; row++) {
        for (uint32_t column = 0; column < model->columns; column++) {
            struct open open;
            open_group(&open, model, column, row);
            const struct g4_hiz_plane plane = {
                .c0 = draw->c0 + draw->cx * open.x + draw->cy * open.y, .cx = draw->cx, .cy = draw->cy};
            object.plane = draw->kill_seed ? NULL : &plane;
            if (cover(&open, draw, &object, &random)) {
                passed += draw_group(&open, &object);
            }
        }
    }
    return passed;
}

uint64_t g4_hiz_model_pixels(struct g4_hiz_model *model, uint32_t column, uint32_t row,
                             const struct g4_hiz_model_pixels *pixels) {
    struct g4_hiz_object object = {
        .function = pixels->function, .test = pixels->test, .write = pixels->write, .literal = pixels->literal};
    struct open open;

    memcpy(object.covered, pixels->covered, sizeof object.covered);
    for (uint32_t p = 0; p < G4_HIZ_PIXELS; p++) {
        memcpy(&object.depth[p * model->surface.samples], &pixels->depth[p * G4_HIZ_SAMPLES],
               model->surface.samples * sizeof(uint32_t));
    }
    open_group(&open, model, column, row);
    return draw_group(&open, &object);
}

/* ---- operations ---- */

static void for_each_group(struct g4_hiz_model *model,
                           void (*operation)(struct g4_hiz_group *group, struct g4_hiz_counts *counts)) {
    for (uint32_t row = 0; row < model->rows; row++) {
        for (uint32_t column = 0; column < model->columns; column++) {
            struct open open;
            open_group(&open, model, column, row);
            operation(&open.group, &model->counts);
            compare_depths(&open);
            close_group(&open);
        }
    }
}

void g4_hiz_model_resolve(struct g4_hiz_model *model) {
    for_each_group(model, g4_hiz_resolve);
}

void g4_hiz_model_ambiguate(struct g4_hiz_model *model) {
    for_each_group(model, g4_hiz_ambiguate);
}

/* Clear a rectangle to the value of the clear register. */
static void clear(struct g4_hiz_model *model, const uint32_t r[4]) {
    for (uint32_t row = 0; row < model->rows; row++) {
        for (uint32_t column = 0; column < model->columns; column++) {
            struct open open;
            uint32_t pixels = 0;
            open_group(&open, model, column, row);
            for (uint32_t left = open.group.inside; left; left &= left - 1) {
                const uint32_t p = (uint32_t)__builtin_ctz(left);
                const uint32_t x = open.x + g4_hiz_pixel_x(p);
                const uint32_t y = open.y + g4_hiz_pixel_y(p);
                const bool here = x >= r[0] && y >= r[1] && x < r[2] && y < r[3];
                pixels |= (uint32_t)here << p;
                for (uint32_t s = 0; here && s < model->surface.samples; s++) {
                    *sample_of(&open, model->reference, p, s) = model->surface.clear_bits;
                    model->base[2] += g4_hiz_sample_bytes(model->surface.format);
                }
            }
            if (pixels) {
                g4_hiz_clear(&open.group, pixels, &model->counts);
                compare_depths(&open);
                close_group(&open);
            }
        }
    }
}

void g4_hiz_model_clear(struct g4_hiz_model *model, float value, const uint32_t r[4]) {
    const uint32_t bits = g4_hiz_quantize(model->surface.format, value, 0, 1);
    const bool whole = !r[0] && !r[1] && r[2] >= model->width && r[3] >= model->height;
    const uint32_t old = model->surface.clear_bits;

    if (whole || bits == old) {
        model->surface.clear_bits = bits;
        clear(model, r);
        return;
    }
    /* Other groups rely on the old value. */
    g4_hiz_model_resolve(model);
    for (uint32_t row = 0; row < model->rows; row++) {
        for (uint32_t column = 0; column < model->columns; column++) {
            struct g4_hiz_object object = {.function = G4_COMPARE_FUNCTION_ALWAYS, .test = true, .write = true};
            struct open open;
            bool any = false;
            open_group(&open, model, column, row);
            for (uint32_t left = open.group.inside; left; left &= left - 1) {
                const uint32_t p = (uint32_t)__builtin_ctz(left);
                const uint32_t x = open.x + g4_hiz_pixel_x(p);
                const uint32_t y = open.y + g4_hiz_pixel_y(p);
                if (x >= r[0] && y >= r[1] && x < r[2] && y < r[3]) {
                    object.covered[p] = (uint16_t)((1u << model->surface.samples) - 1);
                    any = true;
                }
                for (uint32_t s = 0; s < model->surface.samples; s++) {
                    object.depth[p * model->surface.samples + s] = bits;
                }
            }
            if (any) {
                (void)draw_group(&open, &object);
            }
        }
    }
}

/* ---- soak ---- */

static uint32_t below(uint32_t *random, uint32_t limit) {
    *random = scramble(*random);
    return (*random >> 4) % limit;
}

static void random_triangle(struct g4_hiz_model *model, uint32_t *random) {
    enum {
        STEPS = 64 /* of depth: sums with few bits are exact, and can become planes */
    };
    const bool simple = below(random, 3) == 0;
    struct g4_hiz_model_draw draw = {
        .c0 = simple ? below(random, STEPS) / 64.0 : below(random, 1000000) / 1e6,
        .cx = simple ? ((int)below(random, 5) - 2) / 1024.0 : ((int)below(random, 20001) - 10000) / 1e6,
        .cy = simple ? ((int)below(random, 5) - 2) / 1024.0 : ((int)below(random, 20001) - 10000) / 1e6,
        .function = below(random, 8),
        .test = below(random, 8) != 0,
        .write = below(random, 6) != 0,
        .corners = below(random, 2),
        .computed = below(random, 10) == 0,
        .kill_seed = below(random, 4) == 0 ? 1 + below(random, 1000) : 0,
        .maximum = 1,
    };
    const bool large = below(random, 4) == 0;
    for (int i = 0; i < 3; i++) {
        const uint32_t spread = large ? 4 : 1;
        draw.x[i] = (int32_t)below(random, 16 * spread * model->width) - (int32_t)(8 * (spread - 1) * model->width);
        draw.y[i] = (int32_t)below(random, 16 * spread * model->height) - (int32_t)(8 * (spread - 1) * model->height);
    }
    (void)g4_hiz_model_draw(model, &draw);
}

uint32_t g4_hiz_model_soak(struct g4_hiz_model *model, uint32_t seed, uint32_t steps) {
    uint32_t random = scramble(seed * 2654435761u | 1);
    uint32_t done = 0;

    for (; done < steps && !model->difference.found; done++) {
        const uint32_t kind = below(&random, 40);
        const float value = (float)below(&random, 5) / 4.0f;
        const uint32_t x = below(&random, model->width);
        const uint32_t y = below(&random, model->height);
        const uint32_t part[4] = {x, y, x + 1 + below(&random, model->width), y + 1 + below(&random, model->height)};
        const uint32_t whole[4] = {0, 0, model->width, model->height};
        if (kind == 0) {
            g4_hiz_model_clear(model, value, whole);
        } else if (kind == 1) {
            g4_hiz_model_clear(model, value, part);
        } else if (kind == 2) {
            g4_hiz_model_resolve(model);
        } else {
            random_triangle(model, &random);
        }
    }
    return done;
}

uint64_t g4_hiz_model_exhaust(struct g4_hiz_model *model) {
    enum {
        PIXELS = 4,
        COVERAGES = 256,
        DEPTHS = 3,
        FUNCTIONS = 8,
    };
    static const uint32_t depth[DEPTHS] = {0x400000, 0x400001, 0xffffff};
    const uint32_t whole[4] = {0, 0, model->width, model->height};
    struct g4_hiz_model_pixels first = {.write = true};
    struct g4_hiz_model_pixels second = {.write = true, .test = true};
    uint64_t pairs = 0;

    for (uint32_t i = 0; i < COVERAGES * DEPTHS; i++) {
        for (uint32_t j = 0; j < COVERAGES * DEPTHS * FUNCTIONS; j++) {
            second.function = j / (COVERAGES * DEPTHS);
            for (uint32_t p = 0; p < PIXELS; p++) {
                first.covered[p] = (uint16_t)(i % COVERAGES >> (2 * p) & 3);
                second.covered[p] = (uint16_t)(j % COVERAGES >> (2 * p) & 3);
                for (uint32_t s = 0; s < 2; s++) {
                    first.depth[p * G4_HIZ_SAMPLES + s] = depth[i / COVERAGES];
                    second.depth[p * G4_HIZ_SAMPLES + s] = depth[j / COVERAGES % DEPTHS];
                }
            }
            g4_hiz_model_clear(model, 0.25f, whole);
            (void)g4_hiz_model_pixels(model, 0, 0, &first);
            (void)g4_hiz_model_pixels(model, 0, 0, &second);
            if (model->difference.found) {
                return 0;
            }
            pairs++;
        }
    }
    return pairs;
}

/* ---- views ---- */

uint32_t g4_hiz_model_depth(struct g4_hiz_model *model, uint32_t x, uint32_t y, uint32_t sample) {
    struct open open;
    open_group(&open, model, x / G4_HIZ_WIDTH, y / G4_HIZ_HEIGHT);
    return g4_hiz_depth(&open.group, g4_hiz_pixel(x % G4_HIZ_WIDTH, y % G4_HIZ_HEIGHT), sample);
}

uint32_t g4_hiz_model_stored(struct g4_hiz_model *model, uint32_t x, uint32_t y, uint32_t sample) {
    return model->stored[index_of(model, x, y, sample)];
}

void g4_hiz_model_entry(const struct g4_hiz_model *model, uint32_t column, uint32_t row, uint64_t slot[2]) {
    memcpy(slot, model->entry[row * model->columns + column].slot, sizeof model->entry->slot);
}

void g4_hiz_model_set_entry(struct g4_hiz_model *model, uint32_t column, uint32_t row, const uint64_t slot[2]) {
    model->entry[row * model->columns + column] = entry_of(slot);
}

void g4_hiz_model_counts(const struct g4_hiz_model *model, struct g4_hiz_counts *counts) {
    *counts = model->counts;
}

void g4_hiz_model_base(const struct g4_hiz_model *model, uint64_t bytes[3]) {
    memcpy(bytes, model->base, sizeof model->base);
}

struct g4_hiz_difference g4_hiz_model_difference(const struct g4_hiz_model *model) {
    return model->difference;
}

void g4_hiz_model_census(const struct g4_hiz_model *model, uint32_t groups[4]) {
    memset(groups, 0, 4 * sizeof *groups);
    for (uint32_t i = 0; i < model->columns * model->rows; i++) {
        const struct g4_hiz_entry *const entry = &model->entry[i];
        const struct g4_hiz_half left = g4_hiz_decode_half(entry->slot[0]);
        const struct g4_hiz_half right = g4_hiz_decode_half(entry->slot[1]);
        const bool unknown =
            (left.mask && left.minimum > left.maximum) || (right.mask && right.minimum > right.maximum);
        groups[g4_hiz_is_plane(entry) ? 0 : unknown ? 3 : left.mask | right.mask ? 1 : 2]++;
    }
}
