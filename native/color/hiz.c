#include "color/hiz.h"

#include <math.h>
#include <string.h>

#include "color/state.h"
#include "core/context.h"
#include "core/util.h"

enum {
    HALF_MASK = 0xffff,
    MAXIMUM_SHIFT = 16,
    MINIMUM_SHIFT = 40,
    MINIMUM_TOP = 0x7fffff, /* 23 bits: the lowest of a minimum's 24 is dropped */
    SIGN = 31,
};

static const double scale = G4_HIZ_TOP;
static const uint64_t plane_bit = UINT64_C(1) << 63;

/* ---- entries ---- */

/* Bit 127.  Bit 63 is the sign of Cy in a plane, and always 0 in the range of a half. */
bool g4_hiz_is_plane(const struct g4_hiz_entry *entry) {
    return entry->slot[1] & plane_bit;
}

uint64_t g4_hiz_encode_half(const struct g4_hiz_half *half) {
    const bool known = half->minimum <= half->maximum;
    const uint64_t minimum = known ? half->minimum >> 1 : MINIMUM_TOP;
    const uint64_t maximum = known ? half->maximum : 0;
    return half->mask | maximum << MAXIMUM_SHIFT | minimum << MINIMUM_SHIFT;
}

struct g4_hiz_half g4_hiz_decode_half(uint64_t slot) {
    return (struct g4_hiz_half){
        .mask = slot & HALF_MASK,
        .minimum = (uint32_t)(slot >> MINIMUM_SHIFT & MINIMUM_TOP) << 1,
        .maximum = slot >> MAXIMUM_SHIFT & G4_HIZ_TOP,
    };
}

bool g4_hiz_encode_plane(const struct g4_hiz_plane *plane, struct g4_hiz_entry *entry) {
    const float c0 = (float)plane->c0 + 0.0f; /* -0.0 becomes 0.0 */
    const float cx = (float)plane->cx;
    const float cy = (float)plane->cy;

    if (!(c0 >= 0) || !isfinite(c0) || !isfinite(cx) || !isfinite(cy)) {
        return false;
    }
    entry->slot[0] = (uint64_t)g4_hw_bits(cy) << 32 | UINT32_MAX;
    entry->slot[1] = plane_bit | (uint64_t)g4_hw_bits(c0) << 32 | g4_hw_bits(cx);
    return true;
}

struct g4_hiz_plane g4_hiz_decode_plane(const struct g4_hiz_entry *entry) {
    return (struct g4_hiz_plane){
        .c0 = g4_hw_float(entry->slot[1] >> 32 & ~(1u << SIGN)),
        .cx = g4_hw_float((uint32_t)entry->slot[1]),
        .cy = g4_hw_float((uint32_t)(entry->slot[0] >> 32)),
    };
}

/* ---- depths ---- */

static bool is_float(uint32_t format) {
    return format == G4_DEPTH_FORMAT_D32_FLOAT;
}

uint32_t g4_hiz_sample_bytes(uint32_t format) {
    return format == G4_DEPTH_FORMAT_D16_UNORM ? 2 : 4;
}

/* As convert_depth() of depth.c. */
uint32_t g4_hiz_quantize(uint32_t format, float z, float minimum, float maximum) {
    if (is_float(format)) {
        const float above = z >= minimum ? z : minimum;
        return g4_hw_bits(above <= maximum ? above : maximum);
    }
    const float above = z > minimum ? z : minimum;
    const float within = above < maximum ? above : maximum;
    const float low = within > 0 ? within : 0;
    const float saturated = low < 1 ? low : 1;
    return (uint32_t)((double)saturated * (format == G4_DEPTH_FORMAT_D16_UNORM ? 65535.0 : scale) + 0.5);
}

/* The depth of a plane at a place in the group, as the test would store it. */
static uint32_t plane_depth(uint32_t format, const struct g4_hiz_plane *plane, double x, double y) {
    const float z = (float)(plane->c0 + plane->cx * x + plane->cy * y);
    return is_float(format) ? g4_hw_bits(z) : g4_hiz_quantize(format, z, 0, 1);
}

/* A depth in units of 2^-24, without rounding: depths are in the same order.  NaN stays. */
static double scaled(uint32_t format, uint32_t depth) {
    if (is_float(format)) {
        return g4_hw_float(depth) * scale; /* 24 bits times 24 bits are exact */
    }
    return format == G4_DEPTH_FORMAT_D16_UNORM ? (double)(depth << 8) : depth;
}

bool g4_hiz_bounds(uint32_t format, uint32_t depth, uint32_t *below, uint32_t *above) {
    const double value = scaled(format, depth);

    if (!(value >= 0 && value <= scale)) {
        return false;
    }
    *below = (uint32_t)value;
    *above = (uint32_t)ceil(value);
    return true;
}

static bool compare(uint32_t format, uint32_t function, uint32_t source, uint32_t destination) {
    return g4_cc_compare(function, scaled(format, source), scaled(format, destination));
}

/* ---- the first level ---- */

static enum g4_hiz_verdict when(bool pass, bool fail) {
    return pass ? G4_HIZ_PASS : fail ? G4_HIZ_FAIL : G4_HIZ_UNDECIDED;
}

enum g4_hiz_verdict g4_hiz_verdict(uint32_t function, struct g4_hiz_range s, struct g4_hiz_range d, bool is_clear) {
    const bool apart = s.maximum < d.minimum || s.minimum > d.maximum;
    const bool same = is_clear && s.minimum == s.maximum && s.minimum == d.minimum;

    if (function == G4_COMPARE_FUNCTION_ALWAYS || function == G4_COMPARE_FUNCTION_NEVER) {
        return function == G4_COMPARE_FUNCTION_ALWAYS ? G4_HIZ_PASS : G4_HIZ_FAIL;
    }
    if (!s.known || !d.known) {
        return G4_HIZ_UNDECIDED;
    }
    switch (function) {
    case G4_COMPARE_FUNCTION_LESS:
        return when(s.maximum < d.minimum, s.minimum >= d.maximum);
    case G4_COMPARE_FUNCTION_LEQUAL:
        return when(s.maximum <= d.minimum, s.minimum > d.maximum);
    case G4_COMPARE_FUNCTION_GREATER:
        return when(s.minimum > d.maximum, s.maximum <= d.minimum);
    case G4_COMPARE_FUNCTION_GEQUAL:
        return when(s.minimum >= d.maximum, s.maximum < d.minimum);
    case G4_COMPARE_FUNCTION_EQUAL:
        return when(same, apart);
    default: /* NOTEQUAL */
        return when(apart, same);
    }
}

/* ---- ranges ---- */

static const struct g4_hiz_range nothing = {.minimum = INFINITY, .maximum = -INFINITY, .known = true};

static struct g4_hiz_range join(struct g4_hiz_range a, struct g4_hiz_range b) {
    return (struct g4_hiz_range){
        .minimum = a.minimum < b.minimum ? a.minimum : b.minimum,
        .maximum = a.maximum > b.maximum ? a.maximum : b.maximum,
        .known = a.known && b.known,
    };
}

static struct g4_hiz_range with_depth(struct g4_hiz_range range, uint32_t format, uint32_t depth) {
    const double value = scaled(format, depth);
    return join(range, (struct g4_hiz_range){value, value, !isnan(value)});
}

static struct g4_hiz_range clear_range(const struct g4_hiz_surface *surface) {
    return with_depth(nothing, surface->format, surface->clear_bits);
}

static struct g4_hiz_range range_of(const struct g4_hiz_half *half) {
    return (struct g4_hiz_range){half->minimum, half->maximum, half->minimum <= half->maximum};
}

/* A half with this range, rounded outward. */
static struct g4_hiz_half half_of(uint32_t mask, struct g4_hiz_range range) {
    if (!range.known || !(range.minimum >= 0 && range.maximum <= scale)) {
        return (struct g4_hiz_half){mask, 1, 0};
    }
    return (struct g4_hiz_half){mask, (uint32_t)range.minimum, (uint32_t)ceil(range.maximum)};
}

static struct g4_hiz_half clear_half(const struct g4_hiz_surface *surface) {
    return half_of(0, clear_range(surface));
}

static uint32_t all_samples(const struct g4_hiz_group *group) {
    return (1u << group->surface->samples) - 1;
}

/* The range of the samples mask[p] of the object's pixels in a half. */
static struct g4_hiz_range object_range(const struct g4_hiz_group *group, const struct g4_hiz_object *object,
                                        const uint16_t mask[], uint32_t half) {
    const struct g4_hiz_surface *const surface = group->surface;
    struct g4_hiz_range range = nothing;

    for (uint32_t p = half * G4_HIZ_HALF_PIXELS; p < (half + 1) * G4_HIZ_HALF_PIXELS; p++) {
        for (uint32_t left = mask[p]; left; left &= left - 1) {
            const uint32_t s = (uint32_t)__builtin_ctz(left);
            range = with_depth(range, surface->format, object->depth[p * surface->samples + s]);
        }
    }
    return range;
}

/* The range of a plane at the corners of a half, one last place wider. */
static struct g4_hiz_range corner_range(uint32_t format, const struct g4_hiz_plane *plane, uint32_t half) {
    const double unit = format == G4_DEPTH_FORMAT_D16_UNORM ? 65535.0 : scale;
    float low = INFINITY;
    float high = -INFINITY;

    for (uint32_t corner = 0; corner < 4; corner++) {
        const double x = 4 * (half + (corner & 1));
        const double y = corner & 2 ? G4_HIZ_HEIGHT : 0;
        const float z = (float)(plane->c0 + plane->cx * x + plane->cy * y);
        low = z < low ? z : low;
        high = z > high ? z : high;
    }
    low = nextafterf(low, -INFINITY);
    high = nextafterf(high, INFINITY);
    low = low > 0 ? low < 1 ? low : 1 : 0;
    high = high > 0 ? high < 1 ? high : 1 : 0;
    if (is_float(format)) {
        return (struct g4_hiz_range){low * scale, high * scale, true};
    }
    return (struct g4_hiz_range){floor(low * unit) * (scale / unit >= 2 ? 256 : 1),
                                 ceil(high * unit) * (scale / unit >= 2 ? 256 : 1), true};
}

static struct g4_hiz_range source_range(const struct g4_hiz_group *group, const struct g4_hiz_object *object,
                                        const uint16_t mask[], uint32_t half) {
    return object->corners && object->plane ? corner_range(group->surface->format, object->plane, half)
                                            : object_range(group, object, mask, half);
}

/* ---- groups ---- */

uint32_t g4_hiz_inside(uint32_t columns, uint32_t rows) {
    uint32_t inside = 0;
    for (uint32_t p = 0; p < G4_HIZ_PIXELS; p++) {
        inside |= (uint32_t)(g4_hiz_pixel_x(p) < columns && g4_hiz_pixel_y(p) < rows) << p;
    }
    return inside;
}

static uint32_t plane_sample(const struct g4_hiz_group *group, const struct g4_hiz_plane *plane, uint32_t pixel,
                             uint32_t sample) {
    const uint8_t *const place = group->surface->position[sample];
    return plane_depth(group->surface->format, plane, g4_hiz_pixel_x(pixel) + place[0] / 16.0,
                       g4_hiz_pixel_y(pixel) + place[1] / 16.0);
}

/* The pixels whose depths are in the depth buffer; the others are clear, unless the entry is a plane. */
static uint32_t entry_mask(const struct g4_hiz_entry *entry) {
    return (uint32_t)(entry->slot[0] & HALF_MASK) | (uint32_t)(entry->slot[1] & HALF_MASK) << G4_HIZ_HALF_PIXELS;
}

uint32_t g4_hiz_depth(const struct g4_hiz_group *group, uint32_t pixel, uint32_t sample) {
    const struct g4_hiz_memory *const memory = group->memory;

    if (memory->exact) {
        return memory->load(memory->owner, pixel, sample);
    }
    if (g4_hiz_is_plane(&group->entry)) {
        const struct g4_hiz_plane plane = g4_hiz_decode_plane(&group->entry);
        return plane_sample(group, &plane, pixel, sample);
    }
    return entry_mask(&group->entry) >> pixel & 1 ? memory->load(memory->owner, pixel, sample)
                                                  : group->surface->clear_bits;
}

bool g4_hiz_is_stale(const struct g4_hiz_group *group) {
    return g4_hiz_is_plane(&group->entry) || (~entry_mask(&group->entry) & group->inside);
}

/* Store the depths that only the entry has, unless the depth buffer is complete. */
static void store(const struct g4_hiz_group *group, uint32_t pixel, uint32_t sample, uint32_t depth) {
    if (!group->memory->exact) {
        group->memory->store(group->memory->owner, pixel, sample, depth);
    }
}

/* Replace a plane by ranges: its depths go to the depth buffer. */
static void expand(struct g4_hiz_group *group, uint64_t *bytes) {
    const struct g4_hiz_surface *const surface = group->surface;
    const struct g4_hiz_plane plane = g4_hiz_decode_plane(&group->entry);

    for (uint32_t half = 0; half < 2; half++) {
        struct g4_hiz_range range = nothing;
        for (uint32_t p = half * G4_HIZ_HALF_PIXELS; p < (half + 1) * G4_HIZ_HALF_PIXELS; p++) {
            for (uint32_t s = 0; s < surface->samples && (group->inside >> p & 1); s++) {
                const uint32_t depth = plane_sample(group, &plane, p, s);
                store(group, p, s, depth);
                range = with_depth(range, surface->format, depth);
                *bytes += g4_hiz_sample_bytes(surface->format);
            }
        }
        const struct g4_hiz_half out = half_of(HALF_MASK, range);
        group->entry.slot[half] = g4_hiz_encode_half(&out);
    }
}

/* Whether the entry fits the depth buffer. */
static bool is_consistent(const struct g4_hiz_group *group) {
    const struct g4_hiz_surface *const surface = group->surface;
    const struct g4_hiz_memory *const memory = group->memory;
    const bool is_plane = g4_hiz_is_plane(&group->entry);
    const struct g4_hiz_plane plane = g4_hiz_decode_plane(&group->entry);

    for (uint32_t left = group->inside; left; left &= left - 1) {
        const uint32_t p = (uint32_t)__builtin_ctz(left);
        const struct g4_hiz_half half = g4_hiz_decode_half(group->entry.slot[p / G4_HIZ_HALF_PIXELS]);
        const bool ranged = half.mask >> p % G4_HIZ_HALF_PIXELS & 1;
        for (uint32_t s = 0; s < surface->samples; s++) {
            const uint32_t depth = memory->load(memory->owner, p, s);
            const double value = scaled(surface->format, depth);
            if (is_plane ? depth != plane_sample(group, &plane, p, s)
                : ranged ? half.minimum <= half.maximum && !(value >= half.minimum && value <= half.maximum)
                         : depth != surface->clear_bits) {
                return false;
            }
        }
    }
    return true;
}

/* Count a visit of the entry, and check it if it can be checked. */
static void read_entry(const struct g4_hiz_group *group, struct g4_hiz_counts *counts) {
    counts->entry_read_bytes += G4_HIZ_ENTRY_BYTES;
    counts->contradictions += group->memory->exact && !is_consistent(group);
}

static uint32_t pixels_with(const uint16_t samples[], uint32_t half, uint32_t all) {
    uint32_t pixels = 0;
    for (uint32_t p = 0; p < G4_HIZ_HALF_PIXELS; p++) {
        const uint32_t found = samples[half * G4_HIZ_HALF_PIXELS + p];
        pixels |= (uint32_t)(all ? found == all : found != 0) << p;
    }
    return pixels;
}

/* The verdict for a half whose entry is not a plane. */
static enum g4_hiz_verdict test_half(const struct g4_hiz_group *group, const struct g4_hiz_object *object,
                                     uint32_t half, uint32_t function) {
    const struct g4_hiz_half old = g4_hiz_decode_half(group->entry.slot[half]);
    const uint32_t covered = pixels_with(object->covered, half, 0);
    struct g4_hiz_range destination = nothing;

    if (covered & old.mask) {
        destination = join(destination, range_of(&old));
    }
    if (covered & ~old.mask) {
        destination = join(destination, clear_range(group->surface));
    }
    return g4_hiz_verdict(function, source_range(group, object, object->covered, half), destination,
                          !(covered & old.mask));
}

/* The second level: each sample of a half alone. */
static void test_samples(const struct g4_hiz_group *group, const struct g4_hiz_object *object, uint32_t half,
                         uint32_t function, struct g4_hiz_counts *counts, uint16_t passed[]) {
    const struct g4_hiz_surface *const surface = group->surface;
    const bool is_plane = g4_hiz_is_plane(&group->entry);
    const uint32_t mask = entry_mask(&group->entry);

    for (uint32_t p = half * G4_HIZ_HALF_PIXELS; p < (half + 1) * G4_HIZ_HALF_PIXELS; p++) {
        passed[p] = 0;
        for (uint32_t left = object->covered[p]; left; left &= left - 1) {
            const uint32_t s = (uint32_t)__builtin_ctz(left);
            const uint32_t old = g4_hiz_depth(group, p, s);
            const bool pass = compare(surface->format, function, object->depth[p * surface->samples + s], old);
            passed[p] |= (uint16_t)(pass << s);
            counts->depth_read_bytes += !is_plane && (mask >> p & 1) ? g4_hiz_sample_bytes(surface->format) : 0;
        }
    }
}

static void count_verdict(enum g4_hiz_verdict verdict, bool is_plane, struct g4_hiz_counts *counts) {
    counts->halves_tested++;
    if (verdict == G4_HIZ_UNDECIDED && is_plane) {
        counts->plane_exact++;
    } else {
        *(verdict == G4_HIZ_PASS   ? &counts->passed
          : verdict == G4_HIZ_FAIL ? &counts->failed
                                   : &counts->undecided) += 1;
    }
}

/* Whether a verdict agrees with the samples. */
static bool is_right(enum g4_hiz_verdict verdict, const uint16_t covered[], const uint16_t passed[]) {
    bool right = true;
    for (uint32_t p = 0; p < G4_HIZ_HALF_PIXELS; p++) {
        right = right && (verdict == G4_HIZ_UNDECIDED || passed[p] == (verdict == G4_HIZ_PASS ? covered[p] : 0));
    }
    return right;
}

static void test(const struct g4_hiz_group *group, const struct g4_hiz_object *object, struct g4_hiz_counts *counts,
                 uint16_t passed[]) {
    const uint32_t function = object->test ? object->function : G4_COMPARE_FUNCTION_ALWAYS;
    const bool is_plane = g4_hiz_is_plane(&group->entry);
    const bool fixed = function == G4_COMPARE_FUNCTION_ALWAYS || function == G4_COMPARE_FUNCTION_NEVER;

    counts->groups_tested += !object->computed;
    for (uint32_t half = 0; half < 2; half++) {
        const uint16_t *const covered = object->covered + (size_t)half * G4_HIZ_HALF_PIXELS;
        uint16_t *const out = passed + (size_t)half * G4_HIZ_HALF_PIXELS;
        enum g4_hiz_verdict verdict = G4_HIZ_UNDECIDED;
        if (!pixels_with(object->covered, half, 0)) {
            memset(out, 0, G4_HIZ_HALF_PIXELS * sizeof *out);
            continue;
        }
        if (fixed || (!object->computed && !is_plane)) {
            verdict = test_half(group, object, half, function);
        }
        if (!object->computed) {
            count_verdict(verdict, is_plane, counts);
        }
        if (verdict == G4_HIZ_UNDECIDED) {
            test_samples(group, object, half, function, counts, passed);
            continue;
        }
        for (uint32_t p = 0; p < G4_HIZ_HALF_PIXELS; p++) {
            out[p] = verdict == G4_HIZ_PASS ? covered[p] : 0;
        }
        if (group->memory->exact) {
            struct g4_hiz_counts unused = {0};
            test_samples(group, object, half, function, &unused, passed);
            counts->contradictions += !is_right(verdict, covered, out);
        }
    }
}

/* Whether every sample of the group is lit, and has the depth that the object's plane gives it. */
static bool becomes_plane(const struct g4_hiz_group *group, const struct g4_hiz_object *object, const uint16_t lit[],
                          struct g4_hiz_entry *entry) {
    const struct g4_hiz_surface *const surface = group->surface;

    if (!object->plane || object->computed) {
        return false;
    }
    for (uint32_t left = group->inside; left; left &= left - 1) {
        if (lit[__builtin_ctz(left)] != all_samples(group)) {
            return false;
        }
    }
    if (!g4_hiz_encode_plane(object->plane, entry)) {
        return false;
    }
    const struct g4_hiz_plane plane = g4_hiz_decode_plane(entry);
    for (uint32_t left = group->inside; left; left &= left - 1) {
        const uint32_t p = (uint32_t)__builtin_ctz(left);
        for (uint32_t s = 0; s < surface->samples; s++) {
            if (plane_sample(group, &plane, p, s) != object->depth[p * surface->samples + s]) {
                return false;
            }
        }
    }
    return true;
}

/* The new range of a half: of the old samples that remain, of the lit ones, and the clear value if a pixel has both. */
static void update_half(struct g4_hiz_group *group, const struct g4_hiz_object *object, const uint16_t lit[],
                        uint32_t half, struct g4_hiz_counts *counts) {
    const struct g4_hiz_surface *const surface = group->surface;
    const struct g4_hiz_half old = g4_hiz_decode_half(group->entry.slot[half]);
    const uint32_t inside = group->inside >> (half * G4_HIZ_HALF_PIXELS) & HALF_MASK;
    const uint32_t partly = pixels_with(lit, half, 0);
    const uint32_t fully = pixels_with(lit, half, all_samples(group));
    const uint32_t mixed = partly & ~fully & ~old.mask;
    bool keep = old.mask & ~fully & inside;
    struct g4_hiz_range range = source_range(group, object, lit, half);

    if (!partly) {
        return;
    }
    for (uint32_t left = mixed; left; left &= left - 1) {
        const uint32_t p = half * G4_HIZ_HALF_PIXELS + (uint32_t)__builtin_ctz(left);
        for (uint32_t s = 0; s < surface->samples; s++) {
            if (!(lit[p] >> s & 1)) {
                store(group, p, s, surface->clear_bits);
                counts->fill_bytes += g4_hiz_sample_bytes(surface->format);
            }
        }
    }
    if (object->literal && mixed && !(partly & ~fully & old.mask)) {
        keep = false;
    }
    if (keep) {
        range = join(range, range_of(&old));
    }
    if (mixed) {
        range = join(range, clear_range(surface));
    }
    const struct g4_hiz_half out = half_of(old.mask | partly | (~inside & HALF_MASK), range);
    group->entry.slot[half] = g4_hiz_encode_half(&out);
}

static void write(struct g4_hiz_group *group, const struct g4_hiz_object *object, const uint16_t lit[],
                  struct g4_hiz_counts *counts) {
    const struct g4_hiz_surface *const surface = group->surface;
    const struct g4_hiz_memory *const memory = group->memory;
    struct g4_hiz_entry plane;
    const bool is_plane = becomes_plane(group, object, lit, &plane);

    if (is_plane) {
        group->entry = plane;
    } else if (g4_hiz_is_plane(&group->entry)) {
        expand(group, &counts->expand_bytes);
    }
    for (uint32_t half = 0; half < 2 && !is_plane; half++) {
        update_half(group, object, lit, half, counts);
    }
    for (uint32_t p = 0; p < G4_HIZ_PIXELS && (!is_plane || memory->exact); p++) {
        for (uint32_t left = lit[p]; left; left &= left - 1) {
            const uint32_t s = (uint32_t)__builtin_ctz(left);
            memory->store(memory->owner, p, s, object->depth[p * surface->samples + s]);
            counts->depth_write_bytes += is_plane ? 0 : g4_hiz_sample_bytes(surface->format);
        }
    }
    counts->entry_write_bytes += G4_HIZ_ENTRY_BYTES;
}

static uint32_t count_samples(const uint16_t samples[G4_HIZ_PIXELS]) {
    uint32_t count = 0;
    for (uint32_t p = 0; p < G4_HIZ_PIXELS; p++) {
        count += (uint32_t)__builtin_popcount(samples[p]);
    }
    return count;
}

void g4_hiz_draw(struct g4_hiz_group *group, const struct g4_hiz_object *object, struct g4_hiz_counts *counts,
                 uint16_t passed[G4_HIZ_PIXELS]) {
    const uint32_t bytes = g4_hiz_sample_bytes(group->surface->format);
    const bool reads =
        object->test && object->function != G4_COMPARE_FUNCTION_ALWAYS && object->function != G4_COMPARE_FUNCTION_NEVER;
    uint32_t lit = 0;

    read_entry(group, counts);
    test(group, object, counts, passed);
    for (uint32_t p = 0; p < G4_HIZ_PIXELS; p++) {
        passed[p] &= (uint16_t)~object->killed[p];
        lit |= passed[p];
    }
    counts->base_read_bytes += reads ? (uint64_t)count_samples(object->covered) * bytes : 0;
    counts->base_write_bytes += object->write ? (uint64_t)count_samples(passed) * bytes : 0;
    if (object->write && lit) {
        write(group, object, passed, counts);
    }
}

void g4_hiz_clear(struct g4_hiz_group *group, uint32_t pixels, struct g4_hiz_counts *counts) {
    const struct g4_hiz_surface *const surface = group->surface;
    const struct g4_hiz_memory *const memory = group->memory;
    const struct g4_hiz_half clear = clear_half(surface);

    pixels &= group->inside;
    if (g4_hiz_is_plane(&group->entry) && pixels != group->inside) {
        expand(group, &counts->expand_bytes);
    }
    for (uint32_t half = 0; half < 2; half++) {
        struct g4_hiz_half out = g4_hiz_decode_half(group->entry.slot[half]);
        out.mask &= ~(pixels >> (half * G4_HIZ_HALF_PIXELS));
        if (pixels == group->inside || !(out.mask & group->inside >> (half * G4_HIZ_HALF_PIXELS))) {
            out = clear;
        }
        group->entry.slot[half] = g4_hiz_encode_half(&out);
    }
    for (uint32_t left = pixels; left; left &= left - 1) {
        for (uint32_t s = 0; s < surface->samples; s++) {
            counts->base_clear_bytes += g4_hiz_sample_bytes(surface->format);
            if (memory->exact) {
                memory->store(memory->owner, (uint32_t)__builtin_ctz(left), s, surface->clear_bits);
            }
        }
    }
    counts->entry_write_bytes += G4_HIZ_ENTRY_BYTES;
}

void g4_hiz_resolve(struct g4_hiz_group *group, struct g4_hiz_counts *counts) {
    const struct g4_hiz_surface *const surface = group->surface;

    /* Not checked: drivers resolve images that are larger than those they draw to, up to whole groups. */
    counts->entry_read_bytes += G4_HIZ_ENTRY_BYTES;
    if (!g4_hiz_is_stale(group)) {
        return;
    }
    if (g4_hiz_is_plane(&group->entry)) {
        expand(group, &counts->resolve_bytes);
    }
    for (uint32_t half = 0; half < 2; half++) {
        const struct g4_hiz_half old = g4_hiz_decode_half(group->entry.slot[half]);
        const uint32_t inside = group->inside >> (half * G4_HIZ_HALF_PIXELS) & HALF_MASK;
        struct g4_hiz_range range = old.mask & inside ? range_of(&old) : nothing;
        for (uint32_t left = inside & ~old.mask; left; left &= left - 1) {
            const uint32_t p = half * G4_HIZ_HALF_PIXELS + (uint32_t)__builtin_ctz(left);
            for (uint32_t s = 0; s < surface->samples; s++) {
                store(group, p, s, surface->clear_bits);
                counts->resolve_bytes += g4_hiz_sample_bytes(surface->format);
            }
            range = join(range, clear_range(surface));
        }
        const struct g4_hiz_half out = half_of(HALF_MASK, range);
        group->entry.slot[half] = g4_hiz_encode_half(&out);
    }
    counts->entry_write_bytes += G4_HIZ_ENTRY_BYTES;
}

void g4_hiz_ambiguate(struct g4_hiz_group *group, struct g4_hiz_counts *counts) {
    const bool bounded = !is_float(group->surface->format);
    const struct g4_hiz_half all = {HALF_MASK, bounded ? 0 : 1, bounded ? G4_HIZ_TOP : 0};

    group->entry.slot[0] = group->entry.slot[1] = g4_hiz_encode_half(&all);
    counts->entry_write_bytes += G4_HIZ_ENTRY_BYTES;
}
