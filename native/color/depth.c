/*
 * Stencil and depth test (G45 PRM vol. 2, 9) of four subspans, or of an object's pixels in a whole tile: the inner
 * loops, built once per vector variant and depth format.
 */
#include "color/state.h"

#include "core/lanes.h"

/* ---- comparisons: source on the left ---- */

INLINE vi compare_int(uint32_t function, vi a, vi b) {
    const vi all = (vi)vu_all(UINT32_MAX);
    switch (function) {
    case G4_COMPARE_FUNCTION_NEVER:
        return ~all;
    case G4_COMPARE_FUNCTION_LESS:
        return vi_less(a, b);
    case G4_COMPARE_FUNCTION_EQUAL:
        return vi_equal(a, b);
    case G4_COMPARE_FUNCTION_LEQUAL:
        return vi_at_most(a, b);
    case G4_COMPARE_FUNCTION_GREATER:
        return vi_less(b, a);
    case G4_COMPARE_FUNCTION_NOTEQUAL:
        return vi_differ(a, b);
    case G4_COMPARE_FUNCTION_GEQUAL:
        return vi_at_most(b, a);
    default:
        return all;
    }
}

INLINE vi compare_float(uint32_t function, vf a, vf b) {
    const vi all = (vi)vu_all(UINT32_MAX);
    switch (function) {
    case G4_COMPARE_FUNCTION_NEVER:
        return ~all;
    case G4_COMPARE_FUNCTION_LESS:
        return vf_less(a, b);
    case G4_COMPARE_FUNCTION_EQUAL:
        return vf_equal(a, b);
    case G4_COMPARE_FUNCTION_LEQUAL:
        return vf_at_most(a, b);
    case G4_COMPARE_FUNCTION_GREATER:
        return vf_less(b, a);
    case G4_COMPARE_FUNCTION_NOTEQUAL:
        return vf_differ(a, b);
    case G4_COMPARE_FUNCTION_GEQUAL:
        return vf_at_most(b, a);
    default:
        return all;
    }
}

/* `first` plus each of eight steps. */
INLINE vi vi_steps(int32_t first, int32_t a, int32_t b, int32_t c, int32_t d, int32_t e, int32_t f, int32_t g,
                   int32_t h) {
    return (vi)vu_all((uint32_t)first) + (vi){a, b, c, d, e, f, g, h};
}

/* ---- conversion, before anything is compared ---- */

INLINE vf clamp_depth(vf z, float minimum, float maximum) {
    const vf low = vf_all(minimum);
    const vf high = vf_all(maximum);
    const vf above = vf_select(vf_at_most(low, z), z, low); /* NaN becomes the minimum */
    return vf_select(vf_at_most(above, high), above, high);
}

/* floor(z * scale + 0.5) with a single rounding. */
INLINE vi to_unorm(vf z, double scale) {
    const vd wide = vd_of_float(vf_saturate(z));
    const vd scaled = wide * scale + 0.5;
    return __builtin_convertvector(scaled, vi);
}

/* ---- stencil ---- */

INLINE vi stencil_operation(uint32_t operation, vi s, const struct g4_stencil_set *set) {
    const vi zero = (vi){0};
    const vi top = zero + 255;
    switch (operation) {
    case G4_STENCIL_OPERATION_ZERO:
        return zero;
    case G4_STENCIL_OPERATION_REPLACE:
        return zero + set->reference;
    case G4_STENCIL_OPERATION_INCRSAT:
        return vi_select(vi_less(s, top), s + 1, s);
    case G4_STENCIL_OPERATION_DECRSAT:
        return vi_select(vi_less(zero, s), s - 1, s);
    case G4_STENCIL_OPERATION_INCR:
        return (s + 1) & 255;
    case G4_STENCIL_OPERATION_DECR:
        return (s - 1) & 255;
    case G4_STENCIL_OPERATION_INVERT:
        return ~s & 255;
    default:
        return s;
    }
}

/* Skips operations that no pixel needs; in most cases all pixels pass both tests. */
INLINE vi stencil_update(const struct g4_stencil_set *set, vi s, vi stencil_passed, vi depth_passed) {
    vi result = stencil_operation(set->zpass, s, set);
    if (vi_bits(~depth_passed)) {
        result = vi_select(depth_passed, result, stencil_operation(set->zfail, s, set));
    }
    if (vi_bits(~stencil_passed)) {
        result = vi_select(stencil_passed, result, stencil_operation(set->fail, s, set));
    }
    return (s & ~(int32_t)set->write_mask) | (result & (int32_t)set->write_mask);
}

/* ---- the formats ---- */

INLINE uint32_t bytes_of(uint32_t format) {
    return format == G4_DEPTH_FORMAT_D16_UNORM ? 2 : format == G4_DEPTH_FORMAT_D32_FLOAT_S8X24_UINT ? 8 : 4;
}

INLINE bool is_float(uint32_t format) {
    return format == G4_DEPTH_FORMAT_D32_FLOAT || format == G4_DEPTH_FORMAT_D32_FLOAT_S8X24_UINT;
}

INLINE bool is_d24(uint32_t format) {
    return format == G4_DEPTH_FORMAT_D24_UNORM_S8_UINT || format == G4_DEPTH_FORMAT_D24_UNORM_X8_UINT;
}

/* The depth in the buffer's format: an integer, or the bits of a float. */
INLINE vi convert_depth(uint32_t format, vf depth, float minimum, float maximum) {
    if (is_float(format)) {
        return (vi)clamp_depth(depth, minimum, maximum);
    }
    /* clamp_depth(), but for the sign of zeros */
    const vf z = vf_min(vf_max(depth, vf_all(minimum)), vf_all(maximum));
    return to_unorm(z, is_d24(format) ? 16777215.0 : 65535.0);
}

/* The facts that a test of eight pixels depends on, apart from their memory. */
struct tested {
    uint32_t format;
    bool stencil;  /* tested, and perhaps written */
    bool separate; /* it is in raw[1], apart from the depth */
    uint32_t function;
    bool present; /* the pixels have a source depth */
    vi z;         /* as convert_depth() returns it */
    const struct g4_stencil_set *set;
    bool tests_depth, writes_depth, writes_stencil;
    vi live; /* pixels whose memory may change */
};

/* Tests eight pixels whose memory is in `raw`, and updates that.  Returns the pixels that pass, and in *changed those
 * whose memory changes. */
INLINE uint32_t test_raw(const struct tested *t, vu raw[4], uint32_t *changed) {
    const vi all = (vi)vu_all(UINT32_MAX);
    const uint32_t format = t->format;
    const bool stencil = t->stencil;
    const struct g4_stencil_set *const set = t->set;
    const vi old = (vi)(is_d24(format) ? raw[0] & 0xffffff : raw[0]);
    const bool packed = is_d24(format) && !t->separate;
    const vi s = (vi)(packed ? raw[0] >> 24 : raw[1] & 0xff);
    vi stencil_passed = all;
    vi depth_passed = all;
    const vi z = t->present ? t->z : old;
    if (stencil) {
        const vi reference = (vi){0} + (set->reference & set->test_mask);
        stencil_passed = compare_int(set->function, reference, s & (int32_t)set->test_mask);
    }
    if (t->present && t->tests_depth) {
        depth_passed = is_float(format) ? compare_float(t->function, (vf)z, (vf)old) : compare_int(t->function, z, old);
    }
    const vi passed = stencil_passed & depth_passed;
    const vi deep = t->writes_depth ? passed & t->live : (vi){0};
    if (t->writes_depth) {
        raw[0] = is_d24(format) ? vu_select(deep & 0xffffff, (vu)z, raw[0]) : vu_select(deep, (vu)z, raw[0]);
    }
    if (t->writes_stencil) {
        const vu code = (vu)vi_select(t->live, stencil_update(set, s, stencil_passed, depth_passed), s);
        if (packed) {
            raw[0] = (raw[0] & 0xffffff) | code << 24;
        } else {
            raw[1] = (raw[1] & 0xffffff00u) | code;
        }
    }
    *changed = t->writes_stencil ? vi_bits(t->live) : t->writes_depth ? vi_bits(deep) : 0;
    return vi_bits(passed);
}

INLINE struct tested tested_of(uint32_t format, bool stencil, const struct g4_depth *depth, uint32_t function,
                               bool back_facing) {
    return (struct tested){
        .format = format,
        .stencil = stencil,
        .function = function,
        .present = true,
        .tests_depth = depth->depth_test,
        .writes_depth = depth->depth_write,
        .writes_stencil = stencil && depth->stencil_write,
        .set = &depth->stencil[depth->double_sided && back_facing],
    };
}

/* ---- four subspans ---- */

INLINE uint32_t test_half(uint32_t format, bool stencil, const struct g4_depth *depth, const struct g4_depth_job *job,
                          const float *source, uint32_t live, uint8_t *const row[4], uint32_t *changed) {
    vu raw[4] = {{0}};
    struct tested t = tested_of(format, stencil, depth, depth->function, job->back_facing);

    t.present = source != NULL;
    t.writes_depth = t.writes_depth && source && live;
    t.writes_stencil = t.writes_stencil && live;
    t.live = vi_mask(live);
    gather(row, bytes_of(format), raw);
    if (source) {
        t.z = convert_depth(format, vf_load(source), job->minimum, job->maximum);
    }
    const uint32_t passed = test_raw(&t, raw, changed);
    if (*changed) {
        scatter(row, bytes_of(format), raw);
    }
    return passed;
}

INLINE uint32_t test(uint32_t format, bool stencil, struct g4_depth *depth, struct g4_port *port,
                     const struct g4_depth_job *job) {
    struct g4_subspan_rows rows;
    uint32_t passed = 0;
    uint32_t changed = 0;

    g4_pixel_map_open(&depth->map, port, job->x, job->y, job->live, &rows);
    const uint32_t live = job->update && depth->map.writes ? job->live & rows.inside : 0;
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t here = 0;
        if (job->live >> (8 * half) & 0xff) {
            passed |= test_half(format, stencil, depth, job, job->z ? job->z + 8 * half : NULL,
                                live >> (8 * half) & 0xff, &rows.row[4 * half], &here)
                      << (8 * half);
            changed |= here << (8 * half);
        }
    }
    g4_pixel_map_close(&depth->map, port, job->x, job->y, changed, &rows);
    /* Pixels outside the depth buffer pass. */
    return (passed | ~rows.inside) & job->live;
}

#define TEST(name, format, stencil)                                                                                    \
    static uint32_t name(struct g4_depth *depth, struct g4_port *port, const struct g4_depth_job *job) {               \
        return test(format, stencil, depth, port, job);                                                                \
    }

TEST(test_d32s8, G4_DEPTH_FORMAT_D32_FLOAT_S8X24_UINT, false)
TEST(test_d32s8_stencil, G4_DEPTH_FORMAT_D32_FLOAT_S8X24_UINT, true)
TEST(test_d32, G4_DEPTH_FORMAT_D32_FLOAT, false)
TEST(test_d24, G4_DEPTH_FORMAT_D24_UNORM_S8_UINT, false)
TEST(test_d24_stencil, G4_DEPTH_FORMAT_D24_UNORM_S8_UINT, true)
TEST(test_d16, G4_DEPTH_FORMAT_D16_UNORM, false)

/* ---- a tile ---- */

/* Depths are sums of a part that depends on the column and one that depends on the row, as in the windower. */
INLINE vd column_part(const struct g4_plane *plane, int32_t x) {
    const vi at = vi_steps(x, 0, 1, 2, 3, 0, 1, 2, 3);
    return plane->cx * (vd_of_int(at) - plane->x_start) + plane->c0;
}

INLINE vd row_part(const struct g4_plane *plane, int32_t y) {
    const vi at = vi_steps(y, 0, 0, 0, 0, 1, 1, 1, 1);
    return plane->cy * (vd_of_int(at) - plane->y_start);
}

enum {
    TILE_ROWS = 32,
    BLOCK = 4, /* pixels of a row in a column of 16 bytes */
    BLOCKS = 32 / BLOCK,
    COLUMN_BYTES = 512,
    ROW_BYTES = 16,
    LINE_ROWS = G4_CACHE_LINE / ROW_BYTES,
};

/* The stencil values of 4x2 pixels, which a W tile has subspan by subspan. */
typedef uint8_t stencils __attribute__((vector_size(8)));

/* Exchanges the middle pairs. */
INLINE stencils reordered(stencils values) {
    return __builtin_shufflevector(values, values, 0, 1, 4, 5, 2, 3, 6, 7);
}

INLINE vu stencils_load(const uint8_t *memory) {
    stencils values;
    memcpy(&values, memory, sizeof values);
    return __builtin_convertvector(reordered(values), vu);
}

INLINE void stencils_store(uint8_t *memory, vu codes) {
    const stencils values = reordered(__builtin_convertvector(codes, stencils));
    memcpy(memory, &values, sizeof values);
}

/* Tests 4x2 pixels, `lit` of them, and returns those that pass.  `stencil`: NULL if it is part of the depth buffer. */
INLINE uint32_t test_block(const struct tested *t, const struct g4_depth_tile *tile, uint8_t *memory, uint8_t *stencil,
                           vd depth, uint32_t lit) {
    struct tested here = *t;
    uint32_t changed;
    vu raw[4] = {{0}};

    memcpy(&raw[0], memory, sizeof raw[0]);
    here.z = convert_depth(t->format, vf_of_double(depth), tile->minimum, tile->maximum);
    if (t->separate) {
        raw[1] = stencils_load(stencil);
    }
    here.live = vi_mask(lit);
    const uint32_t passed = test_raw(&here, raw, &changed) & lit;
    if (changed) {
        memcpy(memory, &raw[0], sizeof raw[0]);
    }
    if (changed && t->separate && t->writes_stencil) {
        stencils_store(stencil, raw[1]);
    }
    return passed;
}

/* The offset of the stencil values of 4x2 pixels in a quarter of a W tile. */
INLINE size_t stencil_offset(uint32_t column, uint32_t row) {
    return (size_t)(column & ~1u) << 8 | (row & ~7u) << 3 | (row & 4) << 3 | (column & 1) << 4 | (row & 2) << 2;
}

/* Prefetches rows of a column.  Tests go row by row, so the processor would otherwise miss their cache lines one by
 * one.
 */
INLINE void prefetch_column(const uint8_t *column, uint32_t first, uint32_t last) {
    for (uint32_t row = first & ~(LINE_ROWS - 1u); row <= last; row += LINE_ROWS) {
        __builtin_prefetch(column + (size_t)row * ROW_BYTES);
    }
}

/* The place of the stencil values. */
enum place {
    NOWHERE,
    PACKED,   /* in the depth buffer */
    SEPARATE, /* in a separate buffer */
};

/* Four bytes a pixel: the tile is one page, and two rows of a column are 32 contiguous bytes. */
INLINE void test_tile(uint32_t format, enum place stencil, uint32_t function, const struct g4_depth *depth,
                      struct g4_depth_tile *in) {
    const struct g4_depth_tile tile = *in;
    const struct g4_plane plane = *tile.plane;
    struct tested t = tested_of(format, stencil != NOWHERE, depth, function, tile.back_facing);
    vd column[BLOCKS];
    uint32_t any = 0;

    t.separate = stencil == SEPARATE;
    t.writes_depth = t.writes_depth && depth->map.writes;
    t.writes_stencil = t.writes_stencil && (t.separate ? depth->stencil_map.writes : depth->map.writes);
    for (uint32_t j = tile.first; j <= tile.last; j++) {
        any |= tile.row[j];
    }
    for (uint32_t c = 0; c < BLOCKS; c++) {
        if (any >> (BLOCK * c) & 15) {
            prefetch_column(tile.page + (size_t)c * COLUMN_BYTES, tile.first, tile.last);
            column[c] = column_part(&plane, tile.x + (int32_t)(BLOCK * c));
        }
    }
    for (uint32_t j = tile.first & ~1u; j <= tile.last; j += 2) {
        const uint32_t upper = tile.row[j];
        const uint32_t lower = tile.row[j + 1];
        const vd down = row_part(&plane, tile.y + (int32_t)j);
        uint32_t passed[2] = {0, 0};
        for (uint32_t c = 0; c < BLOCKS; c++) {
            const uint32_t shift = BLOCK * c;
            const uint32_t lit = (upper >> shift & 15) | (lower >> shift & 15) << BLOCK;
            if (lit) {
                uint8_t *const memory = tile.page + (size_t)j * ROW_BYTES + (size_t)c * COLUMN_BYTES;
                uint8_t *const values = t.separate ? tile.stencil + stencil_offset(c, j) : NULL;
                const uint32_t pass = test_block(&t, &tile, memory, values, column[c] + down, lit);
                passed[0] |= (pass & 15) << shift;
                passed[1] |= pass >> BLOCK << shift;
            }
        }
        in->row[j] = passed[0];
        in->row[j + 1] = passed[1];
    }
}

#define TEST_TILE(name, format, stencil)                                                                               \
    static void name(const struct g4_depth *depth, struct g4_depth_tile *tile) {                                       \
        switch (depth->function) {                                                                                     \
        case G4_COMPARE_FUNCTION_LESS:                                                                                 \
            test_tile(format, stencil, G4_COMPARE_FUNCTION_LESS, depth, tile);                                         \
            break;                                                                                                     \
        case G4_COMPARE_FUNCTION_LEQUAL:                                                                               \
            test_tile(format, stencil, G4_COMPARE_FUNCTION_LEQUAL, depth, tile);                                       \
            break;                                                                                                     \
        default:                                                                                                       \
            test_tile(format, stencil, depth->function, depth, tile);                                                  \
            break;                                                                                                     \
        }                                                                                                              \
    }

TEST_TILE(tile_d32, G4_DEPTH_FORMAT_D32_FLOAT, NOWHERE)
TEST_TILE(tile_d24, G4_DEPTH_FORMAT_D24_UNORM_S8_UINT, NOWHERE)
TEST_TILE(tile_d24_stencil, G4_DEPTH_FORMAT_D24_UNORM_S8_UINT, PACKED)
TEST_TILE(tile_d32_separate, G4_DEPTH_FORMAT_D32_FLOAT, SEPARATE)
TEST_TILE(tile_d24_separate, G4_DEPTH_FORMAT_D24_UNORM_X8_UINT, SEPARATE)

/* ---- a tile's stencil values, where depth is not tested ---- */

enum {
    COLUMNS = 8, /* of the pixels that are tested together */
    ROWS = 4,
};

/* The stencil values of 8x4 pixels, or a mask of them.  In memory they are in the order of a W tile. */
typedef uint8_t bytes __attribute__((vector_size(COLUMNS * ROWS)));

INLINE bytes bytes_all(uint8_t value) {
    return (bytes){0} + value;
}

/* From rows to the order of a W tile, and back. */
INLINE bytes to_memory(bytes rows) {
    return __builtin_shufflevector(rows, rows, 0, 1, 8, 9, 2, 3, 10, 11, 16, 17, 24, 25, 18, 19, 26, 27, 4, 5, 12, 13,
                                   6, 7, 14, 15, 20, 21, 28, 29, 22, 23, 30, 31);
}

INLINE bytes to_rows(bytes memory) {
    return __builtin_shufflevector(memory, memory, 0, 1, 4, 5, 16, 17, 20, 21, 2, 3, 6, 7, 18, 19, 22, 23, 8, 9, 12, 13,
                                   24, 25, 28, 29, 10, 11, 14, 15, 26, 27, 30, 31);
}

/* The mask whose byte i is bit i, and the bits of such a mask. */
INLINE bytes bytes_of_bits(uint32_t bits) {
    static const uint8_t bit[COLUMNS * ROWS] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128,
                                                1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    bytes of_column;
    bytes row;
    memcpy(&of_column, bit, sizeof of_column);
    for (uint32_t r = 0; r < ROWS; r++) {
        const uint64_t each = (bits >> (COLUMNS * r) & 255) * UINT64_C(0x0101010101010101);
        memcpy((uint8_t *)&row + (size_t)COLUMNS * r, &each, sizeof each);
    }
    return (bytes)((row & of_column) != 0);
}

INLINE uint32_t bits_of_bytes(bytes mask) {
    uint32_t bits = 0;
    for (uint32_t r = 0; r < ROWS; r++) {
        uint64_t row;
        memcpy(&row, (const uint8_t *)&mask + (size_t)COLUMNS * r, sizeof row);
        bits |= (uint32_t)((row & UINT64_C(0x8040201008040201)) * UINT64_C(0x0101010101010101) >> 56) << (COLUMNS * r);
    }
    return bits;
}

INLINE bytes compare_bytes(uint32_t function, uint8_t reference, bytes s) {
    const bytes a = bytes_all(reference);
    switch (function) {
    case G4_COMPARE_FUNCTION_NEVER:
        return bytes_all(0);
    case G4_COMPARE_FUNCTION_LESS:
        return (bytes)(a < s);
    case G4_COMPARE_FUNCTION_EQUAL:
        return (bytes)(a == s);
    case G4_COMPARE_FUNCTION_LEQUAL:
        return (bytes)(a <= s);
    case G4_COMPARE_FUNCTION_GREATER:
        return (bytes)(a > s);
    case G4_COMPARE_FUNCTION_NOTEQUAL:
        return (bytes)(a != s);
    case G4_COMPARE_FUNCTION_GEQUAL:
        return (bytes)(a >= s);
    default:
        return bytes_all(255);
    }
}

INLINE bytes operate_on_bytes(uint32_t operation, bytes s, uint8_t reference) {
    switch (operation) {
    case G4_STENCIL_OPERATION_ZERO:
        return bytes_all(0);
    case G4_STENCIL_OPERATION_REPLACE:
        return bytes_all(reference);
    case G4_STENCIL_OPERATION_INCRSAT:
        return s - (bytes)(s != 255); /* a mask is -1 */
    case G4_STENCIL_OPERATION_DECRSAT:
        return s + (bytes)(s != 0);
    case G4_STENCIL_OPERATION_INCR:
        return s + 1;
    case G4_STENCIL_OPERATION_DECR:
        return s - 1;
    case G4_STENCIL_OPERATION_INVERT:
        return ~s;
    default:
        return s;
    }
}

/* Tests 8x4 pixels, `lit` of them, and returns those that pass: bit 8 * row + column. */
INLINE uint32_t test_stencils(const struct g4_stencil_set *set, bool writes, uint8_t *memory, uint32_t lit) {
    const bool all_pass = set->function == G4_COMPARE_FUNCTION_ALWAYS;
    bytes passed = bytes_all(255);
    bytes s;
    memcpy(&s, memory, sizeof s);
    if (!all_pass) {
        passed =
            compare_bytes(set->function, (uint8_t)(set->reference & set->test_mask), s & bytes_all(set->test_mask));
    }
    if (writes) {
        bytes result = operate_on_bytes(set->zpass, s, set->reference);
        bytes changes = bytes_all(set->write_mask);
        if (!all_pass) {
            result = (result & passed) | (operate_on_bytes(set->fail, s, set->reference) & ~passed);
        }
        if (lit != UINT32_MAX) {
            changes &= to_memory(bytes_of_bits(lit));
        }
        const bytes next = (s & ~changes) | (result & changes);
        memcpy(memory, &next, sizeof next);
    }
    return all_pass ? lit : bits_of_bytes(to_rows(passed)) & lit;
}

static void tile_stencil(const struct g4_depth *depth, struct g4_depth_tile *tile) {
    const struct g4_stencil_set set = depth->stencil[depth->double_sided && tile->back_facing];
    const bool writes = depth->stencil_write && depth->stencil_map.writes;

    for (uint32_t j = tile->first & ~(ROWS - 1u); j <= tile->last; j += ROWS) {
        uint32_t passed[ROWS] = {0};
        for (uint32_t c = 0; c < TILE_ROWS; c += COLUMNS) {
            uint32_t lit = 0;
            for (uint32_t r = 0; r < ROWS; r++) {
                lit |= (tile->row[j + r] >> c & 255) << (COLUMNS * r);
            }
            uint8_t *const memory = tile->stencil + stencil_offset(c / BLOCK, j);
            const uint32_t pass = lit ? test_stencils(&set, writes, memory, lit) : 0;
            for (uint32_t r = 0; r < ROWS; r++) {
                passed[r] |= (pass >> (COLUMNS * r) & 255) << c;
            }
        }
        memcpy(&tile->row[j], passed, sizeof passed);
    }
}

const struct g4_depth_ops G4_V(g4_depth_ops) = {
    .tile =
        {
            [G4_DEPTH_FORMAT_D32_FLOAT] = {tile_d32, tile_d32},
            [G4_DEPTH_FORMAT_D24_UNORM_S8_UINT] = {tile_d24, tile_d24_stencil},
            [G4_DEPTH_FORMAT_D24_UNORM_X8_UINT] = {tile_d24, tile_d24},
        },
    .tile_separate =
        {
            [G4_DEPTH_FORMAT_D32_FLOAT] = tile_d32_separate,
            [G4_DEPTH_FORMAT_D24_UNORM_X8_UINT] = tile_d24_separate,
        },
    .tile_stencil = tile_stencil,
    .test =
        {
            [G4_DEPTH_FORMAT_D32_FLOAT_S8X24_UINT] = {test_d32s8, test_d32s8_stencil},
            [G4_DEPTH_FORMAT_D32_FLOAT] = {test_d32, test_d32},
            [G4_DEPTH_FORMAT_D24_UNORM_S8_UINT] = {test_d24, test_d24_stencil},
            [G4_DEPTH_FORMAT_D24_UNORM_X8_UINT] = {test_d24, test_d24},
            [G4_DEPTH_FORMAT_D16_UNORM] = {test_d16, test_d16},
        },
};
