/*
 * The IZ unit decides which unit tests depth and stencil, and which of them the payload and the message carry (965
 * PRM vol. 2, 8.5).
 */
#include "color/color.h"

/* A cell: the mode in the upper digit, then source depth to EU, source depth to RT, dest depth, dest stencil. */
#define CELL(mode, flags) ((G4_IZ_##mode) << 4 | (flags))

enum {
    SOURCE_EU = 8,
    SOURCE_RT = 4,
    DEST_DEPTH = 2,
    DEST_STENCIL = 1
};

/* [stencil: none, test, test and write][depth: none, write, test, both][2 * computes depth + kills] */
static const uint8_t early[3][4][4] = {
    {
        {CELL(P, 0), CELL(P, 0), CELL(P, 0), CELL(P, 0)},
        {CELL(P, 0), CELL(N, 12), CELL(N, 4), CELL(N, 4)},
        {CELL(P, 0), CELL(P, 0), CELL(C, 6), CELL(C, 6)},
        {CELL(P, 0), CELL(N, 12), CELL(C, 6), CELL(C, 6)},
    },
    {
        {CELL(P, 0), CELL(P, 0), CELL(P, 0), CELL(P, 0)},
        {CELL(P, 0), CELL(N, 13), CELL(N, 5), CELL(N, 5)},
        {CELL(P, 0), CELL(P, 0), CELL(C, 7), CELL(C, 7)},
        {CELL(P, 0), CELL(N, 13), CELL(C, 7), CELL(C, 7)},
    },
    {
        {CELL(P, 0), CELL(C, 1), CELL(P, 0), CELL(C, 5)},
        {CELL(P, 0), CELL(C, 13), CELL(C, 5), CELL(C, 5)},
        {CELL(P, 0), CELL(C, 15), CELL(C, 7), CELL(C, 7)},
        {CELL(P, 0), CELL(C, 15), CELL(C, 7), CELL(C, 7)},
    },
};

static uint32_t late(bool stencil, bool test, bool write, bool computes) {
    if (!stencil && !test && !write && !computes) {
        return CELL(P, 0);
    }
    const uint32_t flags = (!computes && (test || write) ? SOURCE_EU : 0u) |
                           (computes || test || write ? SOURCE_RT : 0u) | (test ? DEST_DEPTH : 0u) |
                           (stencil ? DEST_STENCIL : 0u);
    return CELL(C, flags);
}

void g4_iz_decide(const struct g4_draw_state *draw, struct g4_iz *out) {
    const bool depth_buffer_present = draw->depth_buffer.present;
    const struct g4_depth_stencil *const tests = &draw->depth_stencil;
    const struct g4_windower_state *const wm = &draw->windower;
    const bool test = tests->depth_test && depth_buffer_present;
    const bool write = tests->depth_write && depth_buffer_present;
    const bool stencil = tests->stencil_test && depth_buffer_present;
    const bool stencil_write = stencil && tests->stencil_write;
    const bool computes = wm->computes_depth;
    const bool kills = wm->kills_pixels || draw->color.alpha_test.enable;
    const uint32_t cell = wm->early_depth_test ? early[stencil + stencil_write][2 * test + write][2 * computes + kills]
                                               : late(stencil, test, write, computes);
    struct g4_iz iz = {
        .mode = (uint8_t)(cell >> 4),
        .source_depth_eu = (cell & SOURCE_EU) != 0,
        .source_depth_rt = (cell & SOURCE_RT) != 0,
        .dest_depth = (cell & DEST_DEPTH) != 0,
        .dest_stencil = (cell & DEST_STENCIL) != 0,
    };
    if (draw->stage[G4_STAGE_WM].statistics && kills && iz.mode == G4_IZ_P) {
        /* Pixels can only be counted once the killed ones are known. */
        iz.mode = G4_IZ_N;
        iz.source_depth_rt = true;
        iz.source_depth_eu = true;
    }
    iz.source_depth_eu |= wm->uses_source_depth;
    *out = iz;
}
