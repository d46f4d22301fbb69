/*
 * The render cache of Gen7: shared function 5.
 */
#ifndef G4_RENDER_TARGET_WRITE_GEN7_H
#define G4_RENDER_TARGET_WRITE_GEN7_H

#include "eu/worker.h"

/* All messages of the function. */
g4_message_fn g4_render_cache_gen7;

g4_message_fn g4_render_target_write_gen7;

#endif
