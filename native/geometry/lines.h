/*
 * Lines: wide, antialiased and cosmetic ones, their coverage and their stipple (spec/20 4.4, spec/30 3.6, 3.17).
 */
#ifndef G4_FF_LINES_H
#define G4_FF_LINES_H

#include "geometry/setup.h"
#include "raster/raster.h"

/* Pixels that a LINE_REGION_WIDTH code stands for. */
float g4_line_region(uint32_t code);

/* The shape of a line whose quantised end points are x[0..1], y[0..1], as drawn. */
void g4_line_setup(const struct g4_sf_frame *frame, struct g4_setup *setup);

/* The pixels of a cosmetic line in a tile. */
void g4_line_cosmetic(const struct g4_setup *setup, struct g4_coverage *coverage);

/* How AA lines fade out, constant during a draw. */
struct g4_line_fade {
    float region, cap_region; /* pixels */
    bool true_distance;
    bool sloped; /* 3DSTATE_AA_LINE_PARAMETERS has slopes */
    float slope, bias, cap_slope, cap_bias;
    float scale; /* full coverage: 15 or 255 */
};

void g4_line_fade_begin(struct g4_line_fade *fade, const struct g4_context *ctx, const struct g4_draw_state *draw);
/* Coverage of a pixel of an AA line, 0..fade->scale. */
uint8_t g4_line_coverage(const struct g4_line_fade *fade, const struct g4_setup *setup, int32_t x, int32_t y);

struct g4_line_stipple {
    uint32_t pattern;
    uint32_t repeat; /* 1 or more */
};

void g4_line_stipple_begin(struct g4_line_stipple *stipple, const struct g4_state *state);
/* Take the pixels away that the stipple leaves out. */
void g4_line_stipple_apply(const struct g4_line_stipple *stipple, const struct g4_setup *setup,
                           struct g4_coverage *coverage);

#endif
