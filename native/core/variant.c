/* Which vector instructions the core uses (variant.h). */
#include "core/variant.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The result of cpuid and the environment: the only global state of the core. */
static atomic_int chosen = -1;

enum g4_variant g4_variant_best(void) {
#if G4_HAVE_X86_VARIANTS
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("fma")) {
        return G4_VARIANT_AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")) {
        return G4_VARIANT_AVX2;
    }
#endif
    return G4_VARIANT_PLAIN;
}

static enum g4_variant from_environment(void) {
    static const char *const names[G4_VARIANT_COUNT] = {"plain", "avx2", "avx512"};
    const enum g4_variant best = g4_variant_best();
    const char *const wish = getenv("GEN4EMU_VARIANT"); /* NOLINT(concurrency-mt-unsafe): nothing here calls setenv */
    for (enum g4_variant variant = G4_VARIANT_PLAIN; wish && variant < best; variant++) {
        if (strcmp(wish, names[variant]) == 0) {
            return variant;
        }
    }
    return best;
}

enum g4_variant g4_variant_current(void) {
    int variant = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (variant < 0) {
        variant = (int)from_environment();
        atomic_store_explicit(&chosen, variant, memory_order_relaxed);
    }
    return (enum g4_variant)variant;
}

enum g4_status g4_set_variant(enum g4_variant variant) {
    if (variant > g4_variant_best()) {
        return G4_BAD_VALUE;
    }
    atomic_store_explicit(&chosen, (int)variant, memory_order_relaxed);
    return G4_OK;
}
