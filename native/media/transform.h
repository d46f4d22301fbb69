/*
 * Inverse transforms of H.264 and VC-1 (spec/70 3.5).  Blocks are rows of a larger array, `stride` apart; in place.
 */
#ifndef G4_MEDIA_TRANSFORM_H
#define G4_MEDIA_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

/* H.264: coefficients already scaled; results are (x + 32) >> 6. */
void g4_avc_4x4(int16_t *block, size_t stride);
void g4_avc_8x8(int16_t *block, size_t stride);
/* DC blocks, not yet scaled: the results are the first coefficients of the 4x4 blocks they belong to. */
void g4_avc_luma_dc(const int16_t in[16], uint32_t level_scale, uint32_t qp, int16_t out[16]);
void g4_avc_chroma_dc(const int16_t in[4], uint32_t level_scale, uint32_t qp, int16_t out[4]);

/* VC-1: 8 or 4 columns, 8 or 4 rows. */
void g4_vc1_transform(int16_t *block, size_t stride, unsigned columns, unsigned rows);
/* Smooth a vertical edge, eight rows of it: `left` and `right` are the blocks on both sides, eight columns each. */
void g4_vc1_smooth(int16_t *left, int16_t *right);

#endif
