/*
 * Units that are still to come.  Every definition is weak: the unit's own replaces it, and this file goes when none is
 * left.
 */
#include <stdlib.h>
#include <string.h>

#include "ff/wm.h"
#include "report.h"
#include "sampler/sampler.h"

#define WEAK __attribute__((weak))

static enum g4_status unmodelled(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send) {
    g4_report(eu->log, G4_EVENT_UNMODELLED, g4_gang_address(gang, 0), send->descriptor);
    return G4_OK;
}

#define MESSAGE(name)                                                                                                  \
    WEAK enum g4_status name(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {                     \
        return unmodelled(eu, gang, send);                                                                             \
    }

MESSAGE(g4_message_null)
MESSAGE(g4_message_math)
MESSAGE(g4_message_sampler)
MESSAGE(g4_message_gateway)
MESSAGE(g4_message_dataport_read)
MESSAGE(g4_message_dataport_write)
MESSAGE(g4_message_urb)
MESSAGE(g4_message_spawner)
MESSAGE(g4_render_target_write)

/* surfaces, sampler */
WEAK struct g4_surface_cache *g4_surface_cache_new(void) {
    return calloc(1, 8);
}
WEAK void g4_surface_cache_free(struct g4_surface_cache *cache) {
    free(cache);
}
WEAK void g4_surface_cache_reset(struct g4_surface_cache *cache) {
    (void)cache;
}
WEAK const struct g4_surface *g4_surface_get(struct g4_surface_cache *cache, const struct g4_context *ctx,
                                             struct g4_port *port, uint32_t surface_state_base, uint32_t binding_table,
                                             uint32_t index) {
    static const struct g4_surface none;
    (void)cache;
    (void)ctx;
    (void)port;
    (void)surface_state_base;
    (void)binding_table;
    (void)index;
    return &none;
}
WEAK bool g4_surface_image(const struct g4_surface *surface, uint32_t gen, uint32_t level, uint32_t slice,
                           struct g4_image *image) {
    (void)surface;
    (void)gen;
    (void)level;
    (void)slice;
    (void)image;
    return false;
}
WEAK bool g4_surface_place(const uint32_t *state, uint32_t gen, uint32_t level, uint32_t slice, uint32_t place[2]) {
    (void)state;
    (void)gen;
    (void)level;
    (void)slice;
    (void)place;
    return false;
}
WEAK struct g4_sampler_cache *g4_sampler_cache_new(void) {
    return calloc(1, 8);
}
WEAK void g4_sampler_cache_free(struct g4_sampler_cache *cache) {
    free(cache);
}
WEAK void g4_sampler_cache_reset(struct g4_sampler_cache *cache) {
    (void)cache;
}

/* fixed functions */
WEAK enum g4_status g4_sf_run(struct g4_worker *worker, const struct g4_pipe *pipeline, struct g4_chunk *chunk) {
    (void)worker;
    (void)pipeline;
    chunk->setups = 0;
    return G4_OK;
}
WEAK enum g4_status g4_wm_begin(struct g4_worker *worker, const struct g4_pipe *pipeline) {
    (void)worker;
    (void)pipeline;
    return G4_OK;
}
WEAK enum g4_status g4_wm_tile(struct g4_worker *worker, const struct g4_pipe *pipeline, const struct g4_tile *tile) {
    (void)worker;
    (void)pipeline;
    (void)tile;
    return G4_OK;
}
WEAK struct g4_iz g4_iz_decide(const struct g4_pipe *pipeline, bool depth_buffer_present) {
    const struct g4_iz promoted = {.mode = G4_IZ_P};
    (void)pipeline;
    (void)depth_buffer_present;
    return promoted;
}
WEAK enum g4_status g4_cc_begin(struct g4_worker *worker, const struct g4_pipe *pipeline) {
    (void)worker;
    (void)pipeline;
    return G4_OK;
}
WEAK uint32_t g4_cc_early(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                          const float z[16], uint32_t viewport, uint32_t array_index, bool back_facing) {
    (void)worker;
    (void)x;
    (void)y;
    (void)z;
    (void)viewport;
    (void)array_index;
    (void)back_facing;
    return lit;
}
WEAK void g4_cc_destination(struct g4_worker *worker, const uint16_t x[4], const uint16_t y[4], uint32_t lit,
                            uint32_t array_index, uint32_t depth[16], uint8_t stencil[16]) {
    (void)worker;
    (void)x;
    (void)y;
    (void)lit;
    (void)array_index;
    memset(depth, 0, 16 * sizeof *depth);
    memset(stencil, 0, 16);
}
