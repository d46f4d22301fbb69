#include "color/pixel_fate.h"

#include "eu/counters.h"
#include "eu/pixel_maps.h"

static uint32_t count_of(uint32_t pixels) {
    return (uint32_t)__builtin_popcount(pixels);
}

static void map_pixels(struct g4_pixel_maps *maps, enum g4_counted_pixels map, const struct g4_pixels *at,
                       uint32_t pixels) {
    for (uint32_t s = 0; s < 4; s++) {
        g4_pixel_maps_add(maps, map, at->x[s], at->y[s], pixels >> (4 * s), 1);
    }
}

static void count_in_maps(struct g4_pixel_maps *maps, const struct g4_pixels *at, const struct g4_pixel_fate *fate,
                          uint32_t written) {
    map_pixels(maps, G4_MAP_ENDED, at, fate->live);
    map_pixels(maps, G4_MAP_ALPHA_FAILED, at, fate->live & ~fate->tested);
    map_pixels(maps, G4_MAP_STENCIL_FAILED, at, fate->late ? fate->tested & ~fate->past : 0);
    map_pixels(maps, G4_MAP_DEPTH_FAILED, at, fate->late ? fate->past & ~fate->passed : 0);
    map_pixels(maps, G4_MAP_WRITTEN, at, written);
    map_pixels(maps, G4_MAP_UNWRITTEN, at, fate->passed & ~written);
}

static void count_in_draw(struct g4_draw_counters *sum, const struct g4_pixel_fate *fate, uint32_t written) {
    sum->ended += count_of(fate->live);
    sum->alpha_failed += count_of(fate->live & ~fate->tested);
    if (fate->late) {
        sum->late_tested += count_of(fate->tested);
        sum->late_stencil_failed += count_of(fate->tested & ~fate->past);
        sum->late_depth_failed += count_of(fate->past & ~fate->passed);
    }
    sum->written += count_of(written);
    sum->unwritten += count_of(fate->passed) - count_of(written);
    sum->depth_passed += fate->visible ? count_of(fate->passed) : 0;
}

void g4_cc_count_pixels(const struct g4_eu *eu, const struct g4_target *target, const struct g4_pixels *at,
                        const struct g4_pixel_fate *fate) {
    struct g4_counters *const counters = eu->counters;
    const uint32_t written = target->write ? fate->colored : 0;
    const uint64_t bytes = (uint64_t)count_of(written) * target->map.bytes;

    if (written) {
        g4_count_bytes(counters, G4_ROLE_RENDER_TARGET, target->map.base, target->reads ? bytes : 0, bytes);
    }
    if (fate->tested && fate->late) {
        g4_cc_count_depth(eu->worker, count_of(fate->tested), count_of(fate->passed), fate->z, fate->last);
    }
    if (fate->last) {
        count_in_draw(&counters->sum, fate, written);
        if (counters->maps) {
            count_in_maps(counters->maps, at, fate, written);
        }
    }
}
