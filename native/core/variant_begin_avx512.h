/* First line of a generated AVX-512 variant (native/build.py): from here on AVX-512 is allowed. */
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h> /* before the target changes: it sets its own */
#define G4_VARIANT_SUFFIX avx512
#define G4_LANES_AVX2
#define G4_VARIANT_LEVEL 2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi,bmi2,f16c,fma"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi,bmi2,f16c,fma")
#endif
#endif
