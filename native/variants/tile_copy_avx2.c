#include "begin_avx2.h"
#ifdef G4_VARIANT_SUFFIX
#include "../tile_copy.c"
#endif
#include "end.h"
