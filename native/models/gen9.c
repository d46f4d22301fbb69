/*
 * The Gen9 family: Skylake and Kaby Lake.  Only their execution units are modelled: nothing draws or computes yet.
 */
#include "chips.h"
#include "core/model.h"
#include "eu/op.h"
#include "functions/table.h"
#include "models/models.h"

/* Messages have the descriptors of Gen7.5. */
#define UNITS                                                                                                          \
    .layout_gen = G4_GEN_HSW, .expand_instruction = g4_expand_gen9, .decode_instruction = g4_decode_gen9,              \
    .functions = g4_message_functions_gen75,                                                                           \
    .quirks = {.rounds_by_control_register = true, .has_channel_pointers = true}

const struct g4_model g4_model_skylake = {.chip = &g4_chip_skl, UNITS};
const struct g4_model g4_model_kaby_lake = {.chip = &g4_chip_kbl, UNITS};
