/*
 * sRGB to linear, as tables: the standard curve (decision 21), rounded once to float.
 */
#ifndef G4_SAMPLER_GAMMA_H
#define G4_SAMPLER_GAMMA_H

/* Entry i of a table is the curve at i / (length - 1). */
struct g4_gamma {
    float by_4_bits[16];
    float by_5_bits[32];
    float by_6_bits[64];
    float by_8_bits[256];
    float by_10_bits[1024];
    float by_thirds[766]; /* of 8-bit codes: (2a + b) / 765 */
    float by_halves[511]; /* (a + b) / 510 */
};

void g4_gamma_setup(struct g4_gamma *gamma);
/* The table of codes of n bits; NULL: no format has such. */
const float *g4_gamma_table(const struct g4_gamma *gamma, unsigned bits);

#endif
