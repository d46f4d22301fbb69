#include "begin_avx2.h"
#ifdef G4_VARIANT_SUFFIX
#include "../eu/fast_int.c"
#endif
#include "end.h"
