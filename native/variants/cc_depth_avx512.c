#include "begin_avx512.h"
#ifdef G4_VARIANT_SUFFIX
#define G4_LANES_AVX2
#include "../cc/depth.c"
#endif
#include "end.h"
