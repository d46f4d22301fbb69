/*
 * Every model, one line each.
 */
#ifndef G4_MODELS_H
#define G4_MODELS_H

#include "core/model.h"

extern const struct g4_model g4_model_broadwater;
extern const struct g4_model g4_model_crestline;
extern const struct g4_model g4_model_cantiga;
extern const struct g4_model g4_model_eaglelake;

extern const struct g4_model g4_model_ivy_bridge;
extern const struct g4_model g4_model_bay_trail;
extern const struct g4_model g4_model_haswell;

extern const struct g4_model g4_model_skylake;
extern const struct g4_model g4_model_kaby_lake;

/* Implementations that models choose from; models/ itself has only data. */
g4_load_draw_fn g4_load_draw_gen4;                    /* draw/load_gen4.c */
g4_load_inputs_fn g4_load_inputs_gen4;                /* draw/load_gen4.c */
g4_load_inputs_fn g4_load_inputs_gen7;                /* draw/load_gen7.c */
g4_load_inputs_fn g4_load_inputs_gen9;                /* draw/load_gen9.c */
g4_load_draw_fn g4_load_draw_gen7;                    /* draw/load_gen7.c */
g4_load_draw_fn g4_load_draw_gen9;                    /* draw/load_gen9.c */
g4_load_blit_fn g4_load_fill_gen4, g4_load_copy_gen4; /* blitter/load_blit_gen4.c */
g4_load_blit_fn g4_load_fill_gen9, g4_load_copy_gen9; /* blitter/load_blit_gen9.c */

#endif
