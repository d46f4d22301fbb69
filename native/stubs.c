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
