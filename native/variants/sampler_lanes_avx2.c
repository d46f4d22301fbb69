#include "begin_avx2.h"
#ifdef G4_VARIANT_SUFFIX
#define G4_LANES_AVX2
#include "../sampler/lanes.c"
#endif
#include "end.h"
