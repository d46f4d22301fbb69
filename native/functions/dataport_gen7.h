/*
 * The data ports from Ivy Bridge to Kaby Lake.
 */
#ifndef G4_DATAPORT_GEN7_H
#define G4_DATAPORT_GEN7_H

#include "eu/eu.h"

/* SFID 9: constants, read through a cache of their own; SFID 10: the data cache. */
g4_message_fn g4_message_constant_cache_gen7, g4_message_data_cache_gen7;
/* SFID 12 of Haswell; of Gen9 also with 64-bit addresses and atomics on floats. */
g4_message_fn g4_message_data_cache1_gen75, g4_message_data_cache1_gen9;
/* The messages of SFID 5 that are not render target writes or media blocks: typed surfaces, and the memory fence. */
g4_message_fn g4_message_typed_surface_gen7;
/* SFID 5: those, and the others; SFID 4: what SFID 9 reads, and media blocks. */
g4_message_fn g4_message_render_cache_gen7, g4_message_render_cache_gen9, g4_message_sampler_cache_gen7;
/* Models point to this: which of them write to memory (core/model.h). */
g4_message_writes_fn g4_message_writes_gen7, g4_message_writes_gen9;
/* And to this: the memory that they access, those of other functions included. */
g4_message_use_fn g4_message_use_gen7;

#endif
