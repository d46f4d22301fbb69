#include "begin_avx512.h"
#ifdef G4_VARIANT_SUFFIX
#include "../eu/fast_float.c"
#endif
#include "end.h"
