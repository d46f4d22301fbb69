/*
 * The sampling engine (965 PRM vol. 4, 4).
 */
#ifndef G4_SAMPLER_SAMPLER_H
#define G4_SAMPLER_SAMPLER_H

#include "core/surface.h"
#include "eu/eu.h"
#include "sampler_messages.h"

struct g4_texel_log;
struct g4_sampler_cache; /* SAMPLER_STATE and surfaces of one worker, unpacked */

struct g4_sampler_cache *g4_sampler_cache_new(void);
void g4_sampler_cache_free(struct g4_sampler_cache *cache);
/* Log the texels of subsequent messages; NULL: stop logging. */
void g4_sampler_cache_log(struct g4_sampler_cache *cache, struct g4_texel_log *log);
/* Let the system provide its memory now. */
void g4_sampler_cache_prepare(struct g4_sampler_cache *cache);
/* Must be called at the start of each draw, because state in memory may have changed. */
void g4_sampler_cache_reset(struct g4_sampler_cache *cache);

/* Shared function 2, and that of Gen7. */
g4_message_fn g4_message_sampler, g4_message_sampler_gen7;

/* The messages of a model's sampler, by message type and message length, or from Gen7 on by SIMD mode. */
struct g4_sampler_messages {
    uint32_t types;
    uint32_t absent; /* bit t: type t does not exist */
    const struct g4_sampler_shape (*shape)[G4_SAMPLER_MESSAGE_LENGTHS];
    const struct g4_sampler_shape (*shape_by_mode)[G4_SAMPLER_SIMD_MODES];
    bool beyond_levels_errata; /* of lookups beyond the levels of a surface; see sample() */
};

extern const struct g4_sampler_messages g4_gen4_sampler_messages, g4_gen7_sampler_messages, g4_gen75_sampler_messages,
    g4_gen9_sampler_messages;

#endif
