/*
 * The render cache from Gen7 on: render targets, surfaces that have a type, and media blocks, which the sampler cache
 * reads as well (IVB PRM vol. 4 part 1, 3.9).
 */
#include "color/color.h"
#include "functions/dataport.h"
#include "functions/dataport_gen7.h"
#include "messages_gen7.h"
#include "messages_gen9.h"

enum g4_status g4_message_render_cache_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    switch (gen7_render_cache_data_port_message_message_type(send->descriptor)) {
    case GEN7_RENDER_CACHE_TYPE_GEN7_RENDER_TARGET_WRITE:
        return g4_render_target_write_gen7(eu, gang, send);
    case GEN7_RENDER_CACHE_TYPE_GEN7_MEDIA_BLOCK_READ:
        return g4_media_block_read_gen7(eu, gang, send);
    case GEN7_RENDER_CACHE_TYPE_GEN7_MEDIA_BLOCK_WRITE:
        return g4_media_block_write_gen7(eu, gang, send);
    default:
        return g4_message_typed_surface_gen7(eu, gang, send);
    }
}

enum g4_status g4_message_render_cache_gen9(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    return gen9_render_cache_data_port_message_message_type(send->descriptor) ==
                   GEN9_RENDER_CACHE_TYPE_GEN9_RENDER_TARGET_READ
               ? g4_render_target_read_gen9(eu, gang, send)
               : g4_message_render_cache_gen7(eu, gang, send);
}

enum g4_status g4_message_sampler_cache_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    if (gen7_sampler_cache_data_port_message_message_type(send->descriptor) ==
        GEN7_RENDER_CACHE_TYPE_GEN7_MEDIA_BLOCK_READ) { /* the number that the render cache has */
        return g4_media_block_read_gen7(eu, gang, send);
    }
    return g4_message_constant_cache_gen7(eu, gang, send);
}
