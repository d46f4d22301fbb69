#include "fast.h"

#include "../variant.h"

extern const struct g4_fast_handlers G4_V(g4_fast_handlers);
const struct g4_fast_handlers G4_V(g4_fast_handlers) = {{[G4_FAST_NOTHING] = g4_nop}};
