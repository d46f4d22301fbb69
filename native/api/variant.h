/*
 * The vector variants of hot loops (core/variant.h).
 */
#ifndef G4_API_VARIANT_H
#define G4_API_VARIANT_H

#include "api/status.h"

enum g4_variant {
    G4_VARIANT_PLAIN,
    G4_VARIANT_AVX2,
    G4_VARIANT_AVX512,
    G4_VARIANT_COUNT,
};

enum g4_variant g4_variant_best(void);
enum g4_variant g4_variant_current(void);
enum g4_status g4_set_variant(enum g4_variant variant);

#endif
