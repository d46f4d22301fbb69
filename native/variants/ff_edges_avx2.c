#include "begin_avx2.h"
#ifdef G4_VARIANT_SUFFIX
#include "../ff/edges.c"
#endif
#include "end.h"
