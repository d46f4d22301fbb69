/*
 * The state of one draw: read from memory and unpacked once, before the draw starts; constant while it runs.
 */
#ifndef G4_DRAW_STATE_H
#define G4_DRAW_STATE_H

#include "core/context.h"
#include "core/dispatch.h"

struct g4_kernel; /* eu/kernel.h */

enum {
    G4_STAGE_VS,
    G4_STAGE_GS,
    G4_STAGE_CLIP,
    G4_STAGE_SF,
    G4_STAGE_WM,
    G4_STAGES
};
enum {
    G4_WM_ENTRIES = 4
};

struct g4_draw_state {
    struct g4_vs_state vs;
    struct g4_gs_state gs;
    struct g4_clip_state clip;
    struct g4_sf_state sf;
    struct g4_wm_state wm;
    struct g4_color_calc_state cc;
    struct g4_clip_viewport clip_viewport[16];
    struct g4_sf_viewport sf_viewport[16];
    struct g4_cc_viewport cc_viewport[16];
    struct g4_3dprimitive primitive;
    bool gs_enable, clip_enable;

    struct g4_dispatch dispatch[G4_STAGES];
    const struct g4_kernel *kernel[G4_STAGES];        /* NULL where the stage runs none; WM has its own three */
    const struct g4_kernel *wm_kernel[G4_WM_ENTRIES]; /* entry points, 16 bytes apart (spec/30 3.9) */
};

#endif
