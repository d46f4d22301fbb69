/*
 * Images that lie in the host's memory in one piece, as they do in the guest's (memory.h).
 */
#ifndef G4_SAMPLER_FLAT_H
#define G4_SAMPLER_FLAT_H

#include "sampler/texture.h"

enum g4_flat_state {
    G4_FLAT_UNKNOWN,
    G4_FLAT_YES,
    G4_FLAT_NO,
};

/* One level of a texture.  The map does not change during a draw. */
struct g4_flat {
    uint8_t state;
    uint32_t lookups; /* until the state was known */
    uintptr_t base;   /* host address of graphics address 0, if it could be there */
};

/* The host address of graphics address 0 for a level that lies in one piece; 0: go page by page.  Pages are looked
 * through when there have been as many lookups: small draws with large textures do not want that. */
uintptr_t g4_flat_base(const struct g4_texture *texture, uint32_t level, struct g4_mem *mem, uint32_t lookups);

#endif
