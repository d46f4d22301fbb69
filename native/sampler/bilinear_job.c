#include "sampler/bilinear.h"

#include "core/variant.h"
#include "sampler/contiguous.h"

G4_VARIANT_DECLARE(struct g4_bilinear_ops, g4_bilinear_ops);
static const struct g4_bilinear_ops *const variants[] = G4_VARIANT_TABLE(g4_bilinear_ops);

const struct g4_bilinear_ops *g4_bilinear_of_variant(void) {
    return variants[g4_variant_current()];
}

void g4_bilinear_begin(struct g4_bilinear *job, const struct g4_texture *texture, uint32_t level,
                       const struct g4_axis axis[2], struct g4_port *port, uint32_t lookups) {
    const struct g4_level *const image = &texture->level[level];
    *job = (struct g4_bilinear){
        .axis = {axis[0], axis[1]},
        .column = image->x + texture->x_offset,
        .row = image->y + texture->y_offset,
        .base = texture->surface.base,
        .pitch = texture->surface.pitch,
        .tiling = texture->surface.tiling,
        .flat = g4_flat_base(texture, level, port->mem, lookups),
        .port = port,
    };
}
