#include "geometry/lines.h"

#include <math.h>
#include <stdlib.h>

enum {
    HALF_PIXEL = G4_ONE_PIXEL / 2
};

static int32_t floor_pixel(int32_t v) {
    return v >> G4_SUB_PIXEL_BITS;
}

/* ---- cosmetic lines ---- */

/* A directed segment, relative to a pixel's sample point. */
struct segment {
    int64_t u, v;   /* start */
    int64_t du, dv; /* to the end */
    bool legacy;
};

/* The strict bounds that one pair of a diamond's sides puts on the segment's parameter, as fractions over `den` > 0. */
struct span {
    int64_t low, high, den;
    bool none;
};

/* Where |start + t * delta| < 1/2 pixel. */
static struct span between(int64_t start, int64_t delta) {
    if (delta == 0) {
        /* all t, for which [-1, 2] stands, or none */
        return (struct span){-1, 2, 1, start <= -HALF_PIXEL || start >= HALF_PIXEL};
    }
    const int64_t a = delta > 0 ? -HALF_PIXEL - start : start - HALF_PIXEL;
    const int64_t b = delta > 0 ? HALF_PIXEL - start : start + HALF_PIXEL;
    return (struct span){a, b, delta > 0 ? delta : -delta, false};
}

/* Some t of 0..1 lies strictly inside both spans. */
static bool meet(const struct span *a, const struct span *b) {
    if (a->none || b->none) {
        return false;
    }
    return a->low * b->den < b->high * a->den && b->low * a->den < a->high * b->den && a->low < a->den &&
           b->low < b->den && a->high > 0 && b->high > 0;
}

static bool through_point(const struct segment *s, int64_t u, int64_t v) {
    const int64_t pu = u - s->u;
    const int64_t pv = v - s->v;
    const int64_t along = pu * s->du + pv * s->dv;
    if (s->du == 0 && s->dv == 0) {
        return pu == 0 && pv == 0;
    }
    return pu * s->dv == pv * s->du && along >= 0 && along <= s->du * s->du + s->dv * s->dv;
}

/* The segment touches the open side of the diamond where `fixed` is `side` half pixels; start and delta of that and of
 * the other diagonal coordinate. */
static bool touches_side(int64_t fixed, int64_t fixed_delta, int64_t side, int64_t other, int64_t other_delta) {
    const int64_t gap = side - fixed;
    if (fixed_delta == 0) {
        const struct span whole = {-1, 2, 1, false};
        const struct span inside = between(other, other_delta);
        return gap == 0 && meet(&inside, &whole);
    }
    const int64_t size = fixed_delta > 0 ? fixed_delta : -fixed_delta;
    const int64_t t = fixed_delta > 0 ? gap : -gap; /* over size */
    const int64_t at = other * size + t * other_delta;
    return t >= 0 && t <= size && at > -HALF_PIXEL * size && at < HALF_PIXEL * size;
}

static bool meets_inside(const struct segment *s) {
    const int64_t a = s->u + s->v;
    const int64_t b = s->u - s->v;
    const int64_t da = s->du + s->dv;
    const int64_t db = s->du - s->dv;
    const struct span span_a = between(a, da);
    const struct span span_b = between(b, db);
    return meet(&span_a, &span_b);
}

/* Parts of the diamond's border belong to it, depending on the slope of the line (G45 PRM vol. 2, 7.3.13). */
static bool meets_border(const struct segment *s, int64_t line_du, int64_t line_dv) {
    const int64_t a = s->u + s->v;
    const int64_t b = s->u - s->v;
    const int64_t da = s->du + s->dv;
    const int64_t db = s->du - s->dv;
    const bool rises_one = line_dv == line_du;  /* slope +1, y down */
    const bool falls_one = line_dv == -line_du; /* slope -1 */
    const bool y_major = line_dv * line_dv > line_du * line_du;
    const bool lower_left = s->legacy ? rises_one : true;
    const bool lower_right = s->legacy ? falls_one : true;
    const bool right = s->legacy ? !rises_one : y_major;
    const bool left = s->legacy && rises_one;

    return through_point(s, 0, HALF_PIXEL) || (right && through_point(s, HALF_PIXEL, 0)) ||
           (left && through_point(s, -HALF_PIXEL, 0)) || (lower_left && touches_side(b, db, -HALF_PIXEL, a, da)) ||
           (lower_right && touches_side(a, da, HALF_PIXEL, b, db));
}

static bool meets_diamond(const struct segment *s, int64_t line_du, int64_t line_dv) {
    return meets_inside(s) || meets_border(s, line_du, line_dv);
}

static bool cosmetic_pixel(const struct g4_setup *setup, int32_t x, int32_t y) {
    const int64_t du = (int64_t)setup->x[1] - setup->x[0];
    const int64_t dv = (int64_t)setup->y[1] - setup->y[0];
    const struct segment line = {setup->x[0] - (int64_t)x * G4_ONE_PIXEL, setup->y[0] - (int64_t)y * G4_ONE_PIXEL, du,
                                 dv, setup->legacy_diamonds};
    const struct segment end = {line.u + du, line.v + dv, 0, 0, setup->legacy_diamonds};

    return meets_diamond(&line, du, dv) && (setup->last_pixel || !meets_diamond(&end, du, dv));
}

/* The minor coordinate of the line at a pixel's major one, clamped to the line's ends. */
static int32_t minor_at(const struct g4_setup *setup, int32_t pixel) {
    const int32_t *const major = setup->line.x_major ? setup->x : setup->y;
    const int32_t *const minor = setup->line.x_major ? setup->y : setup->x;
    const int32_t low = g4_min_s32(major[0], major[1]);
    const int32_t high = g4_max_s32(major[0], major[1]);
    int64_t at = (int64_t)pixel * G4_ONE_PIXEL;
    at = at < low ? low : at > high ? high : at;
    return (int32_t)(minor[0] + (at - major[0]) * (minor[1] - (int64_t)minor[0]) / (major[1] - (int64_t)major[0]));
}

/* A cosmetic line lights pixels within one of the line itself. */
static bool lights_column(const struct g4_setup *setup, int32_t major) {
    const int32_t middle = floor_pixel(minor_at(setup, major));
    for (int32_t minor = middle - 1; minor <= middle + 2; minor++) {
        if (setup->line.x_major ? cosmetic_pixel(setup, major, minor) : cosmetic_pixel(setup, minor, major)) {
            return true;
        }
    }
    return false;
}

static void cosmetic_setup(struct g4_setup *setup) {
    const int32_t *const major = setup->line.x_major ? setup->x : setup->y;
    int32_t first = floor_pixel(major[0]);
    int32_t last = floor_pixel(major[1]);
    const int32_t step = setup->line.step;

    setup->corners = 2;
    setup->x_min = floor_pixel(g4_min_s32(setup->x[0], setup->x[1]) - HALF_PIXEL);
    setup->y_min = floor_pixel(g4_min_s32(setup->y[0], setup->y[1]) - HALF_PIXEL);
    setup->x_max = g4_ceil_pixel(g4_max_s32(setup->x[0], setup->x[1]) + HALF_PIXEL);
    setup->y_max = g4_ceil_pixel(g4_max_s32(setup->y[0], setup->y[1]) + HALF_PIXEL);
    /* at most two pixels at either end may not be lit */
    first -= 2 * step;
    last += 2 * step;
    for (int i = 0; i < 5 && !lights_column(setup, first); i++) {
        first += step;
    }
    for (int i = 0; i < 5 && !lights_column(setup, last); i++) {
        last -= step;
    }
    setup->line.first = first;
    setup->line.length = (last - first) * step >= 0 ? (uint32_t)((last - first) * step) + 1 : 0;
}

void g4_line_cosmetic(const struct g4_setup *setup, struct g4_coverage *coverage) {
    uint32_t mask[G4_TILE_SIZE] = {0};
    const int32_t begin = setup->line.x_major ? g4_max_s32(setup->x_min, coverage->x) : coverage->y + coverage->first;
    const int32_t end =
        setup->line.x_major ? g4_min_s32(setup->x_max, coverage->x + G4_TILE_SIZE - 1) : coverage->y + coverage->last;
    for (int32_t major = begin; major <= end; major++) {
        const int32_t middle = floor_pixel(minor_at(setup, major));
        for (int32_t minor = middle - 1; minor <= middle + 2; minor++) {
            const int32_t x = setup->line.x_major ? major : minor;
            const int32_t y = setup->line.x_major ? minor : major;
            const int32_t i = x - coverage->x;
            const int32_t j = y - coverage->y;
            if (i >= 0 && i < G4_TILE_SIZE && j >= coverage->first && j <= coverage->last &&
                cosmetic_pixel(setup, x, y)) {
                mask[j] |= 1u << i;
            }
        }
    }
    for (int32_t j = coverage->first; j <= coverage->last; j++) {
        coverage->row[j] &= mask[j];
    }
}

/* ---- wide and antialiased lines ---- */

static void wide_setup(const struct g4_sf_frame *frame, struct g4_setup *setup) {
    const int32_t half = (int32_t)(setup->line.width * HALF_PIXEL);
    const int32_t across = setup->line.x_major ? 0 : half;
    const int32_t down = setup->line.x_major ? half : 0;
    const int32_t x[2] = {setup->x[0], setup->x[1]};
    const int32_t y[2] = {setup->y[0], setup->y[1]};

    for (int i = 0; i < 2; i++) {
        setup->x[i] = g4_sf_clamp(frame, x[i] - across);
        setup->y[i] = g4_sf_clamp(frame, y[i] - down);
        setup->x[3 - i] = g4_sf_clamp(frame, x[i] + across);
        setup->y[3 - i] = g4_sf_clamp(frame, y[i] + down);
    }
    setup->corners = 4;
}

static void antialiased_setup(const struct g4_sf_frame *frame, struct g4_setup *setup) {
    const double dx = (double)setup->line.x1 - setup->line.x0;
    const double dy = (double)setup->line.y1 - setup->line.y0;
    const double length = sqrt(dx * dx + dy * dy);
    const double ux = dx / length;
    const double uy = dy / length;
    const double half = setup->line.width / 2.0;
    const double cap = frame->state->line_rectangles ? 0.0 : frame->line_cap;
    const double from_x = setup->line.x0 - ux * cap;
    const double from_y = setup->line.y0 - uy * cap;
    const double to_x = setup->line.x1 + ux * cap;
    const double to_y = setup->line.y1 + uy * cap;
    const double x[4] = {from_x + uy * half, to_x + uy * half, to_x - uy * half, from_x - uy * half};
    const double y[4] = {from_y - ux * half, to_y - ux * half, to_y + ux * half, from_y + ux * half};

    for (int i = 0; i < 4; i++) {
        setup->x[i] = g4_sf_quantise(frame, x[i]);
        setup->y[i] = g4_sf_quantise(frame, y[i]);
    }
    setup->corners = 4;
}

void g4_line_setup(const struct g4_sf_frame *frame, struct g4_setup *setup) {
    const int32_t dx = setup->x[1] - setup->x[0];
    const int32_t dy = setup->y[1] - setup->y[0];
    const int32_t *const major = abs(dx) >= abs(dy) ? setup->x : setup->y;

    setup->line.x_major = major == setup->x;
    setup->line.step = major[1] > major[0] ? 1 : -1;
    setup->line.x0 = (float)setup->x[0] / G4_ONE_PIXEL;
    setup->line.y0 = (float)setup->y[0] / G4_ONE_PIXEL;
    setup->line.x1 = (float)setup->x[1] / G4_ONE_PIXEL;
    setup->line.y1 = (float)setup->y[1] / G4_ONE_PIXEL;
    if (setup->cosmetic) {
        setup->legacy_diamonds = frame->legacy_diamonds;
        cosmetic_setup(setup);
        return;
    }
    /* One pixel for each sample point in the half-open range between the ends. */
    const int32_t low = g4_ceil_pixel(g4_min_s32(major[0], major[1]));
    const int32_t high = g4_ceil_pixel(g4_max_s32(major[0], major[1]));
    setup->line.first = setup->line.step > 0 ? low : high - 1;
    setup->line.length = (uint32_t)(high - low);
    if (setup->antialias || frame->state->line_rectangles) {
        antialiased_setup(frame, setup);
    } else {
        wide_setup(frame, setup);
    }
}

/* ---- coverage of AA lines ---- */

static double unit(double v) {
    return v < 0.0 ? 0.0 : v > 1.0 ? 1.0 : v;
}

uint8_t g4_line_coverage(const struct g4_line_antialiasing *antialiasing, const struct g4_setup *setup, int32_t x,
                         int32_t y) {
    const double dx = (double)setup->line.x1 - setup->line.x0;
    const double dy = (double)setup->line.y1 - setup->line.y0;
    const double px = x - (double)setup->line.x0;
    const double py = y - (double)setup->line.y0;
    const double length = sqrt(dx * dx + dy * dy);
    /* Manhattan length per unit of length, along and across the line. */
    const double stretch = antialiasing->true_distance ? 1.0 : (fabs(dx) + fabs(dy)) / length;
    const double half = setup->line.width / 2.0;
    const double u = (px * dx + py * dy) / length;
    const double v = (px * dy - py * dx) / length * stretch;
    const double before = -u * stretch;          /* beyond the first end point */
    const double after = (u - length) * stretch; /* beyond the last */
    double coverage;

    if (antialiasing->has_slope) {
        coverage = unit(antialiasing->slope * (half - v) - antialiasing->bias) *
                   unit(antialiasing->slope * (half + v) - antialiasing->bias) *
                   unit(antialiasing->cap_slope * (antialiasing->cap_region - before) - antialiasing->cap_bias) *
                   unit(antialiasing->cap_slope * (antialiasing->cap_region - after) - antialiasing->cap_bias);
    } else {
        const double end = before > after ? before : after;
        const double side = unit((half - fabs(v)) / (antialiasing->region / 2.0));
        coverage = side * (end > 0.0 ? unit(1.0 - end / antialiasing->cap_region) : 1.0);
    }
    return (uint8_t)(coverage * antialiasing->scale + 0.5);
}

/* ---- stipple ---- */

static bool is_stippled(const struct g4_line_stipple *stipple, const struct g4_setup *setup, int32_t major) {
    const int32_t steps = (major - setup->line.first) * setup->line.step;
    const uint32_t s = setup->line.stipple_start + (uint32_t)(steps < 0 ? 0 : steps);
    return stipple->pattern >> (s / stipple->repeat & 15) & 1;
}

void g4_line_stipple_apply(const struct g4_line_stipple *stipple, const struct g4_setup *setup,
                           struct g4_coverage *coverage) {
    uint32_t columns = 0;
    if (setup->line.x_major) {
        for (int32_t i = 0; i < G4_TILE_SIZE; i++) {
            columns |= (uint32_t)is_stippled(stipple, setup, coverage->x + i) << i;
        }
    }
    for (int32_t j = coverage->first; j <= coverage->last; j++) {
        const bool lit = !setup->line.x_major && is_stippled(stipple, setup, coverage->y + j);
        coverage->row[j] &= setup->line.x_major ? columns : lit ? UINT32_MAX : 0;
    }
}
