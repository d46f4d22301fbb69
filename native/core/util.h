/*
 * Small helpers: arithmetic, and memory that is touched when it is allocated.
 */
#ifndef G4_UTIL_H
#define G4_UTIL_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Allocate zeroed memory, to be freed with free().  Its pages are touched here, so that its first use causes no page
 * faults.  NULL: no memory. */
static inline void *g4_new_cleared(size_t bytes) {
    const size_t whole = (bytes + 63) & ~(size_t)63;
    void *const memory = aligned_alloc(64, whole);
    return memory ? memset(memory, 0, whole) : NULL;
}

static inline float g4_hw_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t g4_hw_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* The address that a field of 64 bits holds: bit 47 is repeated above it. */
static inline uint64_t g4_low_48(uint64_t address) {
    return address & 0xffffffffffff;
}

static inline int32_t g4_min_s32(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static inline int32_t g4_max_s32(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* What is not a number becomes LOW. */
static inline float g4_clamp_float(float value, float low, float high) {
    return value > low ? value < high ? value : high : low;
}

static inline uint32_t g4_min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static inline uint32_t g4_max_u32(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* The bits that are set in at most 4,096 words.  Compilers use vectors here, but not for popcount. */
static inline uint32_t g4_count_bits(const uint32_t *word, int32_t words) {
    uint32_t sums = 0; /* of the lower and of the upper halves */
    for (int32_t i = 0; i < words; i++) {
        uint32_t bits = word[i];
        bits -= bits >> 1 & 0x55555555;
        bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
        bits = (bits + (bits >> 4)) & 0x0f0f0f0f;
        sums += (bits & 0x00ff00ff) + (bits >> 8 & 0x00ff00ff);
    }
    return (sums & 0xffff) + (sums >> 16);
}

#endif
