#include "begin_avx2.h"
#ifdef G4_VARIANT_SUFFIX
#include "../eu/fast.c"
#endif
#include "end.h"
