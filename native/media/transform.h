/*
 * Inverse transforms of H.264 and VC-1, in place.  Blocks are rows of a larger array, `stride` apart.
 */
#ifndef G4_MEDIA_TRANSFORM_H
#define G4_MEDIA_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

/* H.264: coefficients are already scaled; results are (x + 32) >> 6. */
void g4_avc_4x4(int16_t *block, size_t stride);
void g4_avc_8x8(int16_t *block, size_t stride);
/* Transforms DC blocks that are not scaled yet: the results are the first coefficients of their 4x4 blocks. */
void g4_avc_luma_dc(const int16_t in[16], uint32_t level_scale, uint32_t qp, int16_t out[16]);
void g4_avc_chroma_dc(const int16_t in[4], uint32_t level_scale, uint32_t qp, int16_t out[4]);

/* VC-1: 8 or 4 columns and rows. */
void g4_vc1_transform(int16_t *block, size_t stride, unsigned columns, unsigned rows);
/* Smooths eight rows of a vertical edge: `left` and `right` are the blocks on both sides, eight columns each. */
void g4_vc1_smooth(int16_t *left, int16_t *right);

#endif
