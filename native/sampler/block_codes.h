/*
 * Blocks of the compressed formats that Gen7 added: BC6H and BC7 (bptc.c), ETC2 and EAC (etc.c); and Gen9: ASTC
 * (astc.c).
 */
#ifndef G4_SAMPLER_BLOCK_CODES_H
#define G4_SAMPLER_BLOCK_CODES_H

#include "core/srgb.h"
#include "sampler/texel.h"

/* The sixteen texels of a block, row by row. */
void g4_bc6h_decode(const uint8_t *bytes, bool is_signed, float out[16][4]);
void g4_bc7_decode(const uint8_t *bytes, const struct g4_srgb_decoder *srgb, bool curved, float out[16][4]);
void g4_etc2_decode(const uint8_t *bytes, const struct g4_srgb_decoder *srgb, const struct g4_format *format,
                    float out[16][4]);
void g4_eac_decode(const uint8_t *bytes, bool is_signed, int channel, float out[16][4]);
/* Part `part` of a block, which has more than sixteen texels but for 4x4; texels outside the block are 0. */
void g4_astc_decode(const uint8_t *bytes, const struct g4_srgb_decoder *srgb, const struct g4_format *format,
                    uint32_t part, float out[16][4]);

#endif
