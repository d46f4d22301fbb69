/*
 * Small arithmetic helpers.
 */
#ifndef G4_UTIL_H
#define G4_UTIL_H

#include <stdint.h>
#include <string.h>

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

#endif
