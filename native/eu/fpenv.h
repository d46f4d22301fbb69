/*
 * The floating point mode of the host while instructions run: round toward zero, flush denormal inputs and results.
 */
#ifndef G4_EU_FPENV_H
#define G4_EU_FPENV_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__SSE2__)
#include <xmmintrin.h>

typedef uint32_t g4_fpenv;

static inline g4_fpenv g4_fpenv_get(void) {
    return _mm_getcsr();
}

static inline void g4_fpenv_set(g4_fpenv env) {
    _mm_setcsr(env);
}

static inline g4_fpenv g4_fpenv_eu(bool to_nearest) {
    const uint32_t masked = 0x1f80, flush_to_zero = 0x8000, denormals_are_zero = 0x0040, toward_zero = 0x6000;
    return masked | flush_to_zero | denormals_are_zero | (to_nearest ? 0 : toward_zero);
}

/* The mode of a rounding field: 0 nearest even, 1 up, 2 down, 3 toward zero; denormals are kept or flushed. */
static inline g4_fpenv g4_fpenv_of_control(uint32_t rounding, bool keep_denormals) {
    const uint32_t fields[4] = {0, 0x4000, 0x2000, 0x6000}, flush = 0x8040;
    return (g4_fpenv_eu(true) & ~(keep_denormals ? flush : 0)) | fields[rounding & 3];
}

#elif defined(__aarch64__)

typedef uint64_t g4_fpenv;

static inline g4_fpenv g4_fpenv_get(void) {
    g4_fpenv env;
    __asm__ volatile("mrs %0, fpcr" : "=r"(env));
    return env;
}

static inline void g4_fpenv_set(g4_fpenv env) {
    __asm__ volatile("msr fpcr, %0" : : "r"(env));
}

static inline g4_fpenv g4_fpenv_eu(bool to_nearest) {
    const uint64_t flush = UINT64_C(1) << 24, toward_zero = UINT64_C(3) << 22;
    return flush | (to_nearest ? 0 : toward_zero);
}

static inline g4_fpenv g4_fpenv_of_control(uint32_t rounding, bool keep_denormals) {
    const uint64_t flush = UINT64_C(1) << 24;
    return (g4_fpenv_eu(true) & ~(keep_denormals ? flush : 0)) | (uint64_t)(rounding & 3) << 22;
}

#else
#error "no way known to round toward zero and flush denormals on this processor"
#endif

#endif
