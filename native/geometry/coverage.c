#include "geometry/coverage.h"

#include <stdlib.h>

#include "core/util.h"
#include "geometry/edges.h"
#include "geometry/lines.h"

enum {
    LAST = G4_TILE_SIZE - 1,
    MAX_CORNERS = 4
};

static const struct g4_edge_ops *const edge_variants[] = G4_VARIANT_TABLE(g4_edge_ops);

/*
 * Twice what the function of an edge gains or loses between the location of a pixel and the corners of its square.  The
 * square reaches half a sub-pixel further than the pixel, as far as rounding may have moved the outline.
 */
static int64_t reach(int64_t dx, int64_t dy) {
    return (G4_ONE_PIXEL + 1) * (llabs(dx) + llabs(dy));
}

static struct g4_edge edge_of(const struct g4_setup *setup, int a, int b, int32_t tile_x, int32_t tile_y) {
    const int64_t dx = (int64_t)setup->x[b] - setup->x[a];
    const int64_t dy = (int64_t)setup->y[b] - setup->y[a];
    const bool includes = dy < 0 || (dy == 0 && dx > 0); /* left and top edges */
    const int64_t x = (int64_t)tile_x * G4_ONE_PIXEL - setup->x[a];
    const int64_t y = (int64_t)tile_y * G4_ONE_PIXEL - setup->y[a];
    const int64_t e = dx * y - dy * x + (setup->conservative ? reach(dx, dy) / 2 : includes ? 0 : -1);
    return (struct g4_edge){.value = e >> G4_SUB_PIXEL_BITS, .dx = (int32_t)dx, .dy = (int32_t)dy};
}

struct pixel_window {
    int32_t left, right, top, bottom; /* pixels of the tile, inclusive */
};

/* The pixels of the window inside the edge: -1 none, 1 all, 0 some. */
static int classify(const struct g4_edge *edge, const struct pixel_window *w) {
    const int64_t dx = edge->dx;
    const int64_t dy = edge->dy;
    const int64_t top = edge->value + dx * w->top;
    const int64_t bottom = edge->value + dx * w->bottom;
    const int64_t high = (top > bottom ? top : bottom) - dy * (dy > 0 ? w->left : w->right);
    const int64_t low = (top < bottom ? top : bottom) - dy * (dy > 0 ? w->right : w->left);
    return high < 0 ? -1 : low >= 0 ? 1 : 0;
}

/* Twice the area; positive where the corners run clockwise on a screen whose y points down. */
static int64_t area(const struct g4_setup *setup) {
    int64_t sum = 0;
    for (int i = 0, n = setup->corners; i < n; i++) {
        const int k = i + 1 == n ? 0 : i + 1;
        sum += (int64_t)setup->x[i] * setup->y[k] - (int64_t)setup->x[k] * setup->y[i];
    }
    return sum;
}

static bool polygon(const struct g4_setup *setup, const struct pixel_window *w, struct g4_coverage *coverage) {
    const int corners = setup->corners < MAX_CORNERS ? setup->corners : MAX_CORNERS;
    const int64_t size = area(setup);
    struct g4_edge crossing[MAX_CORNERS];
    uint32_t crossings = 0;

    if (size == 0) {
        return false;
    }
    for (int i = 0; i < corners; i++) {
        const int k = i + 1 == corners ? 0 : i + 1;
        const struct g4_edge edge =
            size > 0 ? edge_of(setup, i, k, coverage->x, coverage->y) : edge_of(setup, k, i, coverage->x, coverage->y);
        if (edge.dx == 0 && edge.dy == 0) {
            continue;
        }
        const int class = classify(&edge, w);
        if (class < 0) {
            return false;
        }
        if (class == 0) {
            crossing[crossings++] = edge;
        }
    }
    if (crossings) {
        edge_variants[g4_variant_current()]->cut(crossing, crossings, w->top, w->bottom, coverage->row);
    }
    return true;
}

static bool trim(struct g4_coverage *coverage) {
    while (coverage->first <= coverage->last && coverage->row[coverage->first] == 0) {
        coverage->first++;
    }
    while (coverage->first <= coverage->last && coverage->row[coverage->last] == 0) {
        coverage->last--;
    }
    return coverage->first <= coverage->last;
}

static int32_t span(const int32_t v[3]) {
    const int32_t low = v[0] < v[1] ? v[0] : v[1];
    const int32_t high = v[0] < v[1] ? v[1] : v[0];
    return (v[2] > high ? v[2] : high) - (v[2] < low ? v[2] : low);
}

void g4_coverage_find_small(struct g4_setup *setup) {
    setup->small = setup->type == G4_OBJECT_TRIANGLE && !setup->conservative &&
                   (uint32_t)(setup->x_max - setup->x_min) < G4_SMALL_SIZE &&
                   (uint32_t)(setup->y_max - setup->y_min) < G4_SMALL_SIZE && span(setup->x) < G4_SMALL_REACH &&
                   span(setup->y) < G4_SMALL_REACH;
    if (setup->small) {
        setup->mask = edge_variants[g4_variant_current()]->mask(setup);
    }
}

/* The part of a small triangle's mask that lies in the window. */
static bool small(const struct g4_setup *setup, const struct pixel_window *w, struct g4_coverage *coverage) {
    const uint64_t every_row = UINT64_C(0x0101010101010101);
    const int32_t right = setup->x_min - coverage->x; /* -7 to 31 */
    const int32_t down = setup->y_min - coverage->y;
    const uint64_t columns =
        (0xffu << (w->left - right) & 0xffu >> (G4_SMALL_SIZE - 1 - (w->right - right))) * every_row;
    const uint64_t rows = UINT64_MAX << (G4_SMALL_SIZE * (w->top - down)) &
                          UINT64_MAX >> (G4_SMALL_SIZE * (G4_SMALL_SIZE - 1 - (w->bottom - down)));
    const uint64_t mask = setup->mask & columns & rows;

    if (mask == 0) {
        return false;
    }
    const int32_t first = __builtin_ctzll(mask) / G4_SMALL_SIZE;
    const int32_t last = (63 - __builtin_clzll(mask)) / G4_SMALL_SIZE;
    coverage->first = down + first;
    coverage->last = down + last;
    for (int32_t j = first; j <= last; j++) {
        const uint32_t pixels = (uint32_t)(mask >> (G4_SMALL_SIZE * j)) & 0xff;
        coverage->row[down + j] = right < 0 ? pixels >> -right : pixels << right;
    }
    return true;
}

bool g4_coverage_find(const struct g4_setup *setup, int32_t tile_x, int32_t tile_y, struct g4_coverage *coverage) {
    struct pixel_window w = {
        .left = setup->x_min - tile_x,
        .right = setup->x_max - tile_x,
        .top = setup->y_min - tile_y,
        .bottom = setup->y_max - tile_y,
    };
    w.left = w.left < 0 ? 0 : w.left;
    w.top = w.top < 0 ? 0 : w.top;
    w.right = w.right > LAST ? LAST : w.right;
    w.bottom = w.bottom > LAST ? LAST : w.bottom;
    if (w.left > w.right || w.top > w.bottom) {
        return false;
    }
    coverage->x = tile_x;
    coverage->y = tile_y;
    if (setup->small) {
        return small(setup, &w, coverage);
    }
    coverage->first = w.top;
    coverage->last = w.bottom;
    const uint32_t columns = UINT32_MAX << w.left & UINT32_MAX >> (LAST - w.right);
    for (int32_t j = w.top; j <= w.bottom; j++) {
        coverage->row[j] = columns;
    }
    if (setup->fills_box) {
        return true;
    }
    if (setup->cosmetic) {
        g4_line_cosmetic(setup, coverage);
        return trim(coverage);
    }
    return polygon(setup, &w, coverage) && trim(coverage);
}

bool g4_coverage_is_inside(const struct g4_setup *setup, int32_t x, int32_t y) {
    const int64_t size = area(setup);

    for (int i = 0; i < setup->corners; i++) {
        const int k = i + 1 == setup->corners ? 0 : i + 1;
        const int64_t dx = (int64_t)setup->x[k] - setup->x[i];
        const int64_t dy = (int64_t)setup->y[k] - setup->y[i];
        const int64_t px = (int64_t)x * G4_ONE_PIXEL - setup->x[i];
        const int64_t py = (int64_t)y * G4_ONE_PIXEL - setup->y[i];
        const int64_t e = dx * py - dy * px;
        if (2 * (size > 0 ? e : -e) < reach(dx, dy)) {
            return false;
        }
    }
    return true;
}

uint32_t g4_coverage_pixels(const struct g4_coverage *coverage) {
    return g4_count_bits(&coverage->row[coverage->first], coverage->last - coverage->first + 1);
}

static uint32_t subspans_of(const struct g4_coverage *coverage, int32_t j) {
    return g4_rows_subspans(g4_coverage_row(coverage, j), g4_coverage_row(coverage, j + 1));
}

uint32_t g4_coverage_subspans(const struct g4_coverage *coverage) {
    uint32_t lit[G4_TILE_SIZE / 2];
    int32_t rows = 0;
    for (int32_t j = coverage->first & ~1; j <= coverage->last; j += 2) {
        lit[rows++] = subspans_of(coverage, j);
    }
    return g4_count_bits(lit, rows);
}

struct g4_coverage g4_coverage_first_subspans(const struct g4_coverage *coverage, uint32_t count) {
    struct g4_coverage part = {.x = coverage->x, .y = coverage->y, .first = coverage->first & ~1, .last = -1};
    uint32_t left = count;

    for (int32_t j = part.first; j <= coverage->last && left; j += 2) {
        uint32_t kept = 0;
        for (uint32_t subspans = subspans_of(coverage, j); subspans && left; subspans &= subspans - 1, left--) {
            kept |= 3u << __builtin_ctz(subspans);
        }
        part.row[j] = g4_coverage_row(coverage, j) & kept;
        part.row[j + 1] = g4_coverage_row(coverage, j + 1) & kept;
        part.last = j + 1;
    }
    return part;
}

struct g4_coverage g4_coverage_split_last(struct g4_coverage *coverage, uint32_t count) {
    struct g4_coverage part = {.x = coverage->x, .y = coverage->y, .first = coverage->last + 1, .last = coverage->last};
    uint32_t left = count;

    for (int32_t j = coverage->last & ~1; j >= coverage->first - 1 && left; j -= 2) {
        uint32_t taken = 0;
        for (uint32_t subspans = subspans_of(coverage, j); subspans && left; left--) {
            const uint32_t highest = 31u - (uint32_t)__builtin_clz(subspans);
            taken |= 3u << highest;
            subspans &= ~(1u << highest);
        }
        for (int32_t k = j; k <= j + 1 && k <= coverage->last; k++) {
            part.row[k] = g4_coverage_row(coverage, k) & taken;
            if (k >= coverage->first) {
                coverage->row[k] &= ~taken;
            }
        }
        part.first = j;
    }
    return part;
}
