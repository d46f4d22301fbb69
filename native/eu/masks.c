/*
 * Predicates over a gang's flags, eight channels of all threads at a time (spec/40 8.2).
 */
#include "eu/run.h"

#define NIBBLES UINT64_C(0x1111111111111111)
#define PAIRS   UINT64_C(0x5555555555555555)

/* Every lane of a group of n gets whether any of the group's is set. */
static g4_lanes any_of(g4_lanes x, unsigned n) {
    switch (n) {
    case 2:
        x = (x | x >> 1) & PAIRS;
        return x | x << 1;
    case 4:
        x |= x >> 1;
        return ((x | x >> 2) & NIBBLES) * 15;
    default:
        return g4_lanes_of(g4_threads_any(x));
    }
}

static g4_lanes any_over(const struct g4_gang *gang, unsigned flag, int half, unsigned n, bool all) {
    const g4_lanes invert = all ? G4_EVERY_LANE : 0;
    g4_lanes x = gang->flag[flag][half] ^ invert;
    if (n >= 16) {
        x |= gang->flag[flag][half ^ 1] ^ invert;
    }
    if (n >= 32) {
        x |= (gang->flag[flag ^ 1][0] ^ invert) | (gang->flag[flag ^ 1][1] ^ invert);
    }
    return any_of(x, n) ^ invert;
}

g4_lanes g4_predicate_combined(const struct g4_gang *gang, const struct g4_op *op, int half) {
    const unsigned p = op->predicate;

    if (op->align16 && p >= G4_PRED16_X && p <= G4_PRED16_W) {
        return (gang->flag[op->flag][half] >> (p - G4_PRED16_X) & NIBBLES) * 15;
    }
    switch (p) {
    case G4_PRED_ANYV:
        return gang->flag[0][half] | gang->flag[1][half];
    case G4_PRED_ALLV:
        return gang->flag[0][half] & gang->flag[1][half];
    default:
        return any_over(gang, op->flag, half, 2u << ((p - G4_PRED_ANY2H) / 2), (p - G4_PRED_ANY2H) & 1);
    }
}
