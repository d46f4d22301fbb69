/* The hash of picture digests: BLAKE3 with its default output of 32 bytes. */
#ifndef G4_IMAGE_BLAKE3_H
#define G4_IMAGE_BLAKE3_H
#include "api/blake3.h"

/* Internal: the inner loops, built once per vector variant.  `out` may overlap `in` where it starts at the same byte.
 */
struct g4_blake3_kernels {
    void (*chunks)(const uint8_t *in, uint32_t count, uint64_t counter, uint8_t *out);
    void (*parents)(const uint8_t *in, uint32_t count, uint8_t *out);
    void (*block)(uint8_t *value, const uint8_t *block, uint64_t counter, uint32_t length, uint32_t flags);
};

#endif
