/* Rows of texels of four bytes to rows of RGB: the inner loop of picture.c, built once per vector variant. */
#ifndef G4_CORE_TEXEL_ROWS_H
#define G4_CORE_TEXEL_ROWS_H
#include <stdbool.h>
#include <stdint.h>

/* `red_first`: the bytes of a texel are red, green, blue, alpha; else blue, green, red, alpha.  Returns the AND of all
 * texels, which shows whether one is not opaque. */
struct g4_texel_rows {
    uint32_t (*to_rgb)(uint8_t *restrict to, const uint8_t *restrict from, uint32_t count, bool red_first);
};

#endif
