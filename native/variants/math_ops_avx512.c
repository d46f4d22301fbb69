#include "begin_avx512.h"
#ifdef G4_VARIANT_SUFFIX
#include "../shared/math_ops.c"
#endif
#include "end.h"
