/*
 * Parts of the Gen4 loader for callers that have state blocks of their own: test benches.
 */
#ifndef G4_LOAD_GEN4_H
#define G4_LOAD_GEN4_H

#include "core/draw_state.h"

/* The state that 3DSTATE commands set; everything but vertices, whose buffers are unpacked with the elements. */
void g4_load_commands_gen4(const struct g4_context *ctx, struct g4_draw_state *draw);
/* SF_STATE of 8 dwords and 16 SF_VIEWPORTs of 8. */
void g4_load_setup_gen4(const struct g4_context *ctx, const uint32_t *sf_state, const uint32_t (*viewport)[8],
                        struct g4_draw_state *draw);
/* WM_STATE of 8 dwords. */
void g4_load_windower_gen4(const struct g4_context *ctx, const uint32_t *wm_state, struct g4_draw_state *draw);
/* COLOR_CALC_STATE of 8 dwords, without viewports. */
void g4_load_color_gen4(const struct g4_context *ctx, const uint32_t *color_calc_state, struct g4_draw_state *draw);

#endif
