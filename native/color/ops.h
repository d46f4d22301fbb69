/*
 * The inner loops of the colour calculator: built once per vector variant, chosen when a draw begins.
 */
#ifndef G4_CC_OPS_H
#define G4_CC_OPS_H

#include "color/state.h"
#include "core/variant.h"

struct g4_depth_ops {
    g4_depth_fn *test[G4_DEPTH_FORMAT_D16_UNORM + 1][2]; /* by format, with stencil test */
};

struct g4_color_ops {
    g4_color_fn *general, *integer, *yuv;
    g4_color_fn *unorm8, *unorm8_blend, *unorm8_over; /* four channels of eight bits */
};

/* For four channels of eight bits; NULL: this variant has no vectors as wide. */
struct g4_wide_ops {
    g4_wide_fn *replace, *blend, *over;
};

G4_VARIANT_DECLARE(struct g4_depth_ops, g4_depth_ops);
G4_VARIANT_DECLARE(struct g4_color_ops, g4_color_ops);
G4_VARIANT_DECLARE(struct g4_wide_ops, g4_wide_ops);

#endif
