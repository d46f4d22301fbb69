#include "begin_avx2.h"
#ifdef G4_VARIANT_SUFFIX
#include "../sampler/bilinear.c"
#endif
#include "end.h"
