/*
 * The sampler's media messages: SIMD32 and SIMD64.
 */
#ifndef G4_SAMPLER_MEDIA_MESSAGE_H
#define G4_SAMPLER_MEDIA_MESSAGE_H

#include "eu/eu.h"

/* Every message has a header and one register more, and threads do not share anything. */
g4_message_fn g4_message_media_sampler_gen7;

#endif
