/*
 * Stencil and depth test of four subspans (G45 PRM vol. 2, 9): the inner loop, built once per vector variant and
 * depth format.
 */
#include "color/state.h"

#include "core/lanes.h"

/* ---- comparisons: source on the left ---- */

#define COMPARE(function, a, b, all)                                                                                   \
    switch (function) {                                                                                                \
    case G4_COMPARE_FUNCTION_NEVER:                                                                                    \
        return ~(all);                                                                                                 \
    case G4_COMPARE_FUNCTION_LESS:                                                                                     \
        return (a) < (b);                                                                                              \
    case G4_COMPARE_FUNCTION_EQUAL:                                                                                    \
        return (a) == (b);                                                                                             \
    case G4_COMPARE_FUNCTION_LEQUAL:                                                                                   \
        return (a) <= (b);                                                                                             \
    case G4_COMPARE_FUNCTION_GREATER:                                                                                  \
        return (a) > (b);                                                                                              \
    case G4_COMPARE_FUNCTION_NOTEQUAL:                                                                                 \
        return (a) != (b);                                                                                             \
    case G4_COMPARE_FUNCTION_GEQUAL:                                                                                   \
        return (a) >= (b);                                                                                             \
    default:                                                                                                           \
        return all;                                                                                                    \
    }

INLINE vi compare_int(uint32_t function, vi a, vi b) {
    const vi all = (vi)vu_all(UINT32_MAX);
    COMPARE(function, a, b, all)
}

INLINE vi compare_float(uint32_t function, vf a, vf b) {
    const vi all = (vi)vu_all(UINT32_MAX);
    COMPARE(function, a, b, all)
}

/* ---- conversion, before anything is compared ---- */

INLINE vf clamp_depth(vf z, float minimum, float maximum) {
    const vf low = vf_all(minimum);
    const vf high = vf_all(maximum);
    const vf above = vf_select(z >= low, z, low); /* NaN becomes the minimum */
    return vf_select(above <= high, above, high);
}

/* floor(z * scale + 0.5) with a single rounding. */
INLINE vi to_unorm(vf z, double scale) {
    const vd wide = __builtin_convertvector(vf_saturate(z), vd);
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
        return vi_select(s < top, s + 1, s);
    case G4_STENCIL_OPERATION_DECRSAT:
        return vi_select(s > zero, s - 1, s);
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

INLINE vi stencil_update(const struct g4_stencil_set *set, vi s, vi stencil_passed, vi depth_passed) {
    const vi passed =
        vi_select(depth_passed, stencil_operation(set->zpass, s, set), stencil_operation(set->zfail, s, set));
    const vi result = vi_select(stencil_passed, passed, stencil_operation(set->fail, s, set));
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

/* The source depth in the buffer's format: an integer, or the bits of a float. */
INLINE vi source_depth(uint32_t format, const struct g4_depth_job *job, const float *from) {
    const vf z = clamp_depth(vf_load(from), job->minimum, job->maximum);
    if (is_float(format)) {
        return (vi)z;
    }
    return to_unorm(z, is_d24(format) ? 16777215.0 : 65535.0);
}

/* Tests two subspans.  Returns the pixels that pass, and in *changed those whose memory changes. */
INLINE uint32_t test_half(uint32_t format, bool stencil, const struct g4_depth *depth, const struct g4_depth_job *job,
                          const float *source, uint32_t live, uint8_t *const row[4], uint32_t *changed) {
    const vi all = (vi)vu_all(UINT32_MAX);
    vu raw[4] = {{0}};

    gather(row, bytes_of(format), raw);

    const struct g4_stencil_set *const set = &depth->stencil[depth->double_sided && job->back_facing];
    const vi old = (vi)(is_d24(format) ? raw[0] & 0xffffff : raw[0]);
    const vi s = (vi)(is_d24(format) ? raw[0] >> 24 : raw[1] & 0xff);
    vi stencil_passed = all;
    vi depth_passed = all;
    vi z = old;
    if (stencil) {
        const vi reference = (vi){0} + (set->reference & set->test_mask);
        stencil_passed = compare_int(set->function, reference, s & (int32_t)set->test_mask);
    }
    if (source) {
        z = source_depth(format, job, source);
        if (depth->depth_test) {
            depth_passed = is_float(format) ? compare_float(depth->function, (vf)z, (vf)old)
                                            : compare_int(depth->function, z, old);
        }
    }
    const vi passed = stencil_passed & depth_passed;
    const uint32_t passed_bits = vi_bits(passed);
    const uint32_t depth_bits = depth->depth_write && source ? passed_bits & live : 0;
    const uint32_t stencil_bits = stencil && depth->stencil_write ? live : 0;
    if (depth_bits | stencil_bits) {
        const vi deep = vi_select(vi_mask(depth_bits), z, old);
        vi code = s;
        if (stencil_bits) {
            code = vi_select(vi_mask(stencil_bits), stencil_update(set, s, stencil_passed, depth_passed), s);
        }
        if (is_d24(format)) {
            raw[0] = (vu)deep | (vu)code << 24;
        } else {
            raw[0] = (vu)deep;
            raw[1] = (raw[1] & 0xffffff00u) | (vu)code;
        }
        scatter(row, bytes_of(format), raw);
    }
    *changed = depth_bits | stencil_bits;
    return passed_bits;
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

const struct g4_depth_ops G4_V(g4_depth_ops) = {
    .test =
        {
            [G4_DEPTH_FORMAT_D32_FLOAT_S8X24_UINT] = {test_d32s8, test_d32s8_stencil},
            [G4_DEPTH_FORMAT_D32_FLOAT] = {test_d32, test_d32},
            [G4_DEPTH_FORMAT_D24_UNORM_S8_UINT] = {test_d24, test_d24_stencil},
            [G4_DEPTH_FORMAT_D24_UNORM_X8_UINT] = {test_d24, test_d24},
            [G4_DEPTH_FORMAT_D16_UNORM] = {test_d16, test_d16},
        },
};
