/*
 * The sampling engine (spec/50).
 */
#ifndef G4_SAMPLER_SAMPLER_H
#define G4_SAMPLER_SAMPLER_H

#include "core/surface.h"
#include "eu/eu.h"

struct g4_sampler_cache; /* per worker: SAMPLER_STATE and surfaces as the sampler wants them */

struct g4_sampler_cache *g4_sampler_cache_new(void);
void g4_sampler_cache_free(struct g4_sampler_cache *cache);
/* At the start of each draw: state in memory may have changed. */
void g4_sampler_cache_reset(struct g4_sampler_cache *cache);

/* Shared function 2. */
g4_message_fn g4_message_sampler;

/* How many texels thread t of a message looks up, for counters: one for each channel or sample that is enabled. */
uint32_t g4_sampler_lookups(const struct g4_eu *eu, const struct g4_send *send, int t);

#endif
