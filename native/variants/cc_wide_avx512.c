#include "begin_avx512.h"
#ifdef G4_VARIANT_SUFFIX
#include "../cc/wide.c"
#endif
#include "end.h"
