/*
 * Motion vectors of MPEG-2 (spec/70 3.4.3; ISO/IEC 13818-2 7.6.3).
 */
#include "media/vld.h"

#include "mpeg2.h"

static uint32_t f_code(const struct g4_vld_state *state, int s, int t) {
    const uint32_t codes[2][2] = {{state->f_code_forward_horizontal, state->f_code_forward_vertical},
                                  {state->f_code_backward_horizontal, state->f_code_backward_vertical}};
    return codes[s][t];
}

static bool take_delta(struct g4_vld *vld, uint32_t code, int32_t *delta) {
    const uint32_t magnitude = g4_vlc_take(&vld->bits, vld->tables->motion_code);
    if (magnitude == G4_VLC_BAD || code == 0) {
        return false;
    }
    *delta = 0;
    if (magnitude) {
        const bool negative = g4_bits_take(&vld->bits, 1);
        const int32_t residual = (int32_t)g4_bits_take(&vld->bits, code - 1);
        const int32_t size = ((int32_t)(magnitude - 1) << (code - 1)) + residual + 1;
        *delta = negative ? -size : size;
    }
    return true;
}

static int32_t take_differential(struct g4_vld *vld) {
    if (!g4_bits_take(&vld->bits, 1)) {
        return 0;
    }
    return g4_bits_take(&vld->bits, 1) ? -1 : 1;
}

/* Into [-16 f, 16 f - 1]. */
static int32_t wrapped(int32_t v, uint32_t code) {
    const int32_t limit = 16 << (code - 1);
    if (v < -limit) {
        return v + 2 * limit;
    }
    return v > limit - 1 ? v - 2 * limit : v;
}

static bool take_vector(struct g4_vld *vld, struct g4_vld_macroblock *mb, int r, int s, int32_t dm[2]) {
    const bool dual = mb->motion_type == G4_MOTION_TYPE_DUAL_PRIME;
    const bool field_format = !vld->frame || mb->motion_type == G4_MOTION_TYPE_FIELD || dual;

    if (field_format && !dual) {
        mb->mvfs[r][s] = g4_bits_take(&vld->bits, 1);
    }
    for (int t = 0; t < 2; t++) {
        const uint32_t code = f_code(vld->state, s, t);
        const bool halve = field_format && t == 1 && vld->frame;
        int32_t *const predictor = &vld->pmv[r][s][t];
        int32_t delta;
        if (!take_delta(vld, code, &delta)) {
            return false;
        }
        if (dual) {
            dm[t] = take_differential(vld);
        }
        const int32_t v = wrapped((halve ? *predictor >> 1 : *predictor) + delta, code);
        *predictor = halve ? 2 * v : v;
        mb->mv[r][s][t] = v;
    }
    return true;
}

/* Half of a vector, rounded away from zero. */
static int32_t half(int32_t a) {
    return (a + (a > 0)) >> 1;
}

/* The vectors to the fields of the other parity. */
static void derive_dual_prime(const struct g4_vld *vld, struct g4_vld_macroblock *mb, const int32_t dm[2]) {
    const int32_t x = mb->mv[0][0][0], y = mb->mv[0][0][1];
    const bool bottom = vld->state->picture_structure == G4_PICTURE_STRUCTURE_BOTTOM_FIELD;

    if (!vld->frame) {
        mb->mv[0][1][0] = half(x) + dm[0];
        mb->mv[0][1][1] = half(y) + dm[1] + (bottom ? 1 : -1);
        mb->mvfs[0][0] = bottom;
        mb->mvfs[0][1] = !bottom;
        return;
    }
    const int32_t top = vld->state->top_field_first ? 1 : 3, low = 4 - top;
    memcpy(mb->mv[1][0], mb->mv[0][0], sizeof mb->mv[0][0]);
    mb->mv[0][1][0] = half(top * x) + dm[0];
    mb->mv[0][1][1] = half(top * y) + dm[1] - 1;
    mb->mv[1][1][0] = half(low * x) + dm[0];
    mb->mv[1][1][1] = half(low * y) + dm[1] + 1;
    mb->mvfs[0][1] = true;
    mb->mvfs[1][0] = true;
}

static bool take_vectors(struct g4_vld *vld, struct g4_vld_macroblock *mb, int s) {
    const bool two = mb->motion_type == (vld->frame ? G4_MOTION_TYPE_FIELD : G4_MOTION_TYPE_FRAME_OR_16X8);
    int32_t dm[2] = {0};

    for (int r = 0; r < (two ? 2 : 1); r++) {
        if (!take_vector(vld, mb, r, s, dm)) {
            return false;
        }
    }
    if (!two) {
        memcpy(vld->pmv[1][s], vld->pmv[0][s], sizeof vld->pmv[0][s]);
    }
    if (mb->motion_type == G4_MOTION_TYPE_DUAL_PRIME) {
        derive_dual_prime(vld, mb, dm);
    }
    return true;
}

/* Concealment vectors move the predictors, but nobody is told of them (G45v2 10.4.2.3.4). */
static bool take_concealment(struct g4_vld *vld) {
    struct g4_vld_macroblock hidden = {.motion_type = vld->frame ? G4_MOTION_TYPE_FRAME_OR_16X8 : G4_MOTION_TYPE_FIELD};
    if (!take_vectors(vld, &hidden, 0)) {
        return false;
    }
    g4_bits_skip(&vld->bits, 1); /* marker */
    return true;
}

void g4_vld_no_motion(struct g4_vld *vld, struct g4_vld_macroblock *mb) {
    const bool bottom = vld->state->picture_structure == G4_PICTURE_STRUCTURE_BOTTOM_FIELD;

    memset(vld->pmv, 0, sizeof vld->pmv);
    mb->flags |= G4_MPEG2_FORWARD;
    mb->motion_type = vld->frame ? G4_MOTION_TYPE_FRAME_OR_16X8 : G4_MOTION_TYPE_FIELD;
    mb->mvfs[0][0] = bottom;
}

bool g4_vld_motion(struct g4_vld *vld, struct g4_vld_macroblock *mb) {
    if (mb->flags & G4_MPEG2_INTRA) {
        if (vld->state->concealment_motion_vector_flag) {
            return take_concealment(vld);
        }
        memset(vld->pmv, 0, sizeof vld->pmv);
        return true;
    }
    if ((mb->flags & G4_MPEG2_FORWARD) && !take_vectors(vld, mb, 0)) {
        return false;
    }
    if ((mb->flags & G4_MPEG2_BACKWARD) && !take_vectors(vld, mb, 1)) {
        return false;
    }
    if (!(mb->flags & (G4_MPEG2_FORWARD | G4_MPEG2_BACKWARD)) &&
        vld->state->picture_coding_type == G4_PICTURE_CODING_TYPE_P_PICTURE) {
        g4_vld_no_motion(vld, mb);
    }
    return true;
}
