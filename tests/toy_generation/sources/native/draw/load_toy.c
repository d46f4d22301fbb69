/*
 * The toy's state of a draw: that of Gen4.5, but for the drawing rectangle, whose fields moved.
 */
#include "core/draw_state.h"
#include "hw_toy.h"
#include "models/models.h"

enum g4_status g4_load_draw_toy(const struct g4_draw_loader *loader, const uint32_t *primitive,
                                struct g4_draw_state *draw, struct g4_fault *fault) {
    const enum g4_status status = g4_load_draw_gen4(loader, primitive, draw, fault);
    struct toy_3dstate_drawing_rectangle rectangle;

    toy_3dstate_drawing_rectangle_unpack(loader->ctx->state->drawing_rectangle, G4_GEN_TOY, &rectangle);
    draw->drawing_rectangle.x_max = (int32_t)rectangle.clipped_drawing_rectangle_x_max;
    draw->drawing_rectangle.y_max = (int32_t)rectangle.clipped_drawing_rectangle_y_max;
    return status;
}
