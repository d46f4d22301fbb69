/* One source, several sets of vector instructions, the same bits; chosen at run time.
 *
 * A unit whose inner loops gain from wider vectors keeps them in a file of its own, say native/eu/alu.c, and
 *   1. names everything that is not static with G4_V():     const struct alu_ops G4_V(alu_ops) = {...};
 *   2. is listed in VARIANTS of native/build.py, which compiles the file again for each wider instruction set;
 *   3. picks the table where the work starts, never inside the loop:
 *          G4_VARIANT_DECLARE(struct alu_ops, alu_ops);
 *          static const struct alu_ops *const alu[] = G4_VARIANT_TABLE(alu_ops);
 *          const struct alu_ops *ops = alu[g4_variant_current()];
 *
 * Rules that keep the bits identical: no intrinsics that approximate, no fused multiply-add (the build says
 * -ffp-contract=off) but where all variants round the same exact number once (sampler/bilinear.c), no reduction whose
 * order depends on the vector's width.  Vectors wider than 16 bytes never cross a function that is not inlined: how
 * they are passed depends on the variant.
 *
 * The choice is the widest set that the processor has, unless GEN4EMU_VARIANT=plain|avx2|avx512 or g4_set_variant()
 * select another one.  It applies to the whole process and changes only the speed: results do not depend on it.
 */
#ifndef G4_VARIANT_H
#define G4_VARIANT_H
#include "api/variant.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define G4_HAVE_X86_VARIANTS 1
#else
#define G4_HAVE_X86_VARIANTS 0
#endif

/* Set only by the generated variants/ *_avx2.c and *_avx512.c, before they include a unit's source. */
#ifndef G4_VARIANT_SUFFIX
#define G4_VARIANT_SUFFIX plain
#define G4_VARIANT_LEVEL  0 /* 1: AVX2, 2: AVX-512 */
#endif

#define G4_VARIANT_PASTE2(name, suffix) name##_##suffix
#define G4_VARIANT_PASTE(name, suffix)  G4_VARIANT_PASTE2(name, suffix)
#define G4_V(name)                      G4_VARIANT_PASTE(name, G4_VARIANT_SUFFIX)

#if G4_HAVE_X86_VARIANTS
#define G4_VARIANT_DECLARE(type, name) extern const type name##_plain, name##_avx2, name##_avx512
#define G4_VARIANT_TABLE(name)                                                                                         \
    { &name##_plain, &name##_avx2, &name##_avx512 }
#else
#define G4_VARIANT_DECLARE(type, name) extern const type name##_plain
#define G4_VARIANT_TABLE(name)                                                                                         \
    { &name##_plain, &name##_plain, &name##_plain }
#endif

#endif
