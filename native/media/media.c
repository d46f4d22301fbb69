/*
 * Entry points of the media pipeline: commands, the state that objects read, ends and hangs.
 */
#include "media/media.h"

#include <stdlib.h>

#include "core/clock.h"
#include "core/hooks.h"
#include "eu/counters.h"
#include "sampler/message.h"

enum {
    DEFAULT_WATCHDOG = 1000, /* units of instructions after a command until it counts as a hang */
};

struct g4_media *g4_media_new(const struct g4_context *ctx, struct g4_port *port, struct g4_kernel_cache *kernels,
                              struct g4_worker *worker) {
    struct g4_media *const media = calloc(1, sizeof *media);
    if (!media) {
        return NULL;
    }
    media->ctx = ctx;
    media->port = port;
    media->kernels = kernels;
    media->worker = worker;
    media->log = worker->eu.log;
    media->indirect = calloc(1, G4_INDIRECT_DATA_BYTES + G4_BITS_PADDING);
    if (!media->indirect) {
        g4_media_free(media);
        return NULL;
    }
    g4_vld_tables_fill(&media->tables);
    return media;
}

void g4_media_free(struct g4_media *media) {
    if (!media) {
        return;
    }
    for (int u = 0; u < G4_MEDIA_THREADS; u++) {
        free(media->unit[u].gang);
    }
    for (int g = 0; g < G4_MEDIA_GROUPS; g++) {
        free(media->group[g].shared);
    }
    free(media->watched);
    free(media->indirect);
    free(media);
}

/* ---- state ---- */

/* Reads the state at the first object after MEDIA_STATE_POINTERS; it is kept with the context. */
static void latch(struct g4_media *media) {
    struct g4_state *const state = g4_media_context(media)->state;
    struct g4_port *const port = media->port;

    if (state->media_pointers_new) {
        state->media_pointers_new = 0;
        state->media_counter_set = 0;
        (void)g4_mem_read(port, state->vfe_state, state->vfe_latched, sizeof state->vfe_latched);
        memset(state->vfe_extended_latched, 0, sizeof state->vfe_extended_latched);
        if (state->vfe_extended) {
            (void)g4_mem_read(port, state->vfe_extended_state, state->vfe_extended_latched,
                              sizeof state->vfe_extended_latched);
        }
    }
    g4_media_context(media)->model->media->load_vfe(g4_media_context(media), &media->vfe);
}

static bool mode_allowed(const struct g4_media *media, enum g4_media_object_kind kind) {
    const struct g4_quirks *const quirks = &g4_media_context(media)->model->quirks;
    const bool ex = kind == G4_MEDIA_OBJECT_EX, prt = kind == G4_MEDIA_OBJECT_PRT;

    switch (media->vfe.mode) {
    case G4_VFE_MODE_GENERIC:
        return true;
    case G4_VFE_MODE_IS:
        return !ex;
    case G4_VFE_MODE_VLD: /* the 965G has no such mode */
        return !ex && !prt && quirks->vfe_has_vld;
    case G4_VFE_MODE_AVC_IT:
    case G4_VFE_MODE_AVC_MC:
    case G4_VFE_MODE_VC1_IT:
        return quirks->vfe_has_avc_and_vc1 && (ex || prt);
    default:
        return false;
    }
}

/* ---- objects ---- */

/* Reads the object's data and adds zeros; data beyond the upper bound is zero, too. */
static void fetch_indirect(struct g4_media *media, const struct g4_media_command *command) {
    const struct g4_vfe *const vfe = &media->vfe;
    const g4_address address = (vfe->indirect_object_base + command->indirect_start) & media->port->mem->address_mask;
    const uint32_t bound = vfe->indirect_object_bound;
    uint32_t length = command->indirect_length;

    memset(media->indirect, 0, (media->indirect_length > length ? media->indirect_length : length) + G4_BITS_PADDING);
    media->indirect_length = length;
    if (bound && address + length > bound) {
        length = bound > address ? (uint32_t)(bound - address) : 0;
        g4_media_bad(media, command->indirect_start);
    }
    if (length) {
        (void)g4_mem_read(media->port, address, media->indirect, length);
    }
}

static enum g4_status run_object(struct g4_media *media, const uint32_t *words, uint32_t dwords) {
    struct g4_media_command command;

    g4_media_context(media)->model->media->load_object(g4_media_context(media), words, dwords, &command);
    if (!mode_allowed(media, command.kind)) {
        g4_media_bad(media, media->vfe.mode);
        return G4_OK;
    }
    fetch_indirect(media, &command);
    media->counts.objects++;
    if (command.waits) {
        const enum g4_status status = g4_ts_run(media, true);
        if (status != G4_OK) {
            return status;
        }
    }
    if (command.kind == G4_MEDIA_OBJECT_PRT) {
        return g4_vfe_generic(media, &command);
    }
    if (command.kind == G4_MEDIA_OBJECT_WALKER) {
        return g4_vfe_walk(media, &command);
    }
    switch (media->vfe.mode) {
    case G4_VFE_MODE_VLD:
        return g4_vfe_vld(media, &command);
    case G4_VFE_MODE_IS:
        return g4_vfe_is(media, &command);
    case G4_VFE_MODE_AVC_IT:
    case G4_VFE_MODE_AVC_MC:
        return g4_vfe_avc(media, &command);
    case G4_VFE_MODE_VC1_IT:
        return g4_vfe_vc1(media, &command);
    default:
        return g4_vfe_generic(media, &command);
    }
}

/* ---- calls ---- */

static void enter(struct g4_media *media, struct g4_fault *fault) {
    const uint32_t watchdog = g4_media_context(media)->options.watchdog;
    struct g4_worker *const worker = media->worker;

    memset(fault, 0, sizeof *fault);
    memset(&worker->eu.fault, 0, sizeof worker->eu.fault);
    media->fault = fault;
    worker->eu.instruction_budget = (watchdog ? watchdog : DEFAULT_WATCHDOG) * G4_WATCHDOG_UNIT;
    worker->eu.alone = true;
    if (worker->eu.hooks) {
        worker->eu.hooks->media_started(worker->eu.hooks);
    }
    worker->eu.written = &media->written;
    if (worker->eu.counters) {
        g4_counters_begin(worker->eu.counters);
    }
    g4_surface_cache_reset(worker->surfaces);
    g4_sampler_cache_reset(worker->eu.samplers);
}

static enum g4_status leave(struct g4_media *media, enum g4_status status) {
    media->worker->eu.alone = false;
    media->worker->eu.written = NULL;
    if (status != G4_OK) {
        g4_ts_clear(media);
    }
    return status;
}

enum g4_status g4_media_object(struct g4_media *media, const uint32_t *command, uint32_t dwords, g4_address address,
                               struct g4_fault *fault) {
    const uint64_t start = g4_now_ns();

    if (dwords < 4) {
        memset(fault, 0, sizeof *fault);
        return G4_BAD_VALUE;
    }
    media->command = address;
    enter(media, fault);
    enum g4_status status = G4_OK;
    if (media->ctx->state->media_pointers_new) { /* running threads still belong to the old state */
        status = g4_vfe_release_held(media);
        if (status == G4_OK) {
            status = g4_ts_run(media, false);
        }
    }
    latch(media);
    if (status == G4_OK) {
        status = run_object(media, command, dwords);
    }
    media->counts.ns += g4_now_ns() - start;
    return leave(media, status);
}

enum g4_status g4_media_run(struct g4_media *media, bool finish, struct g4_fault *fault) {
    const uint64_t start = g4_now_ns();

    enter(media, fault);
    enum g4_status status = g4_vfe_release_held(media);
    if (status == G4_OK) {
        status = g4_ts_run(media, finish);
    }
    media->counts.ns += g4_now_ns() - start;
    return leave(media, status);
}

uint32_t g4_media_targets(struct g4_media *media, uint32_t (*states)[G4_SURFACE_STATE_DWORDS], uint32_t capacity) {
    struct g4_written *const written = &media->written;
    const uint32_t count = written->count < capacity ? written->count : capacity;
    struct g4_port port;

    g4_port_init(&port, media->ctx->mem, G4_UNIT_CPU, false); /* missing memory reads as 0 and is not reported */
    for (uint32_t i = 0; i < count; i++) {
        (void)g4_mem_read(&port, written->surface[i], states[i],
                          media->ctx->model->chip->surface_state_dwords * sizeof states[i][0]);
    }
    written->count = 0;
    return count;
}

enum g4_status g4_media_watch(struct g4_media *media, uint32_t capacity) {
    media->watched_count = 0;
    if (capacity == media->watched_capacity) {
        return G4_OK;
    }
    free(media->watched);
    media->watched = NULL;
    media->watched_capacity = 0;
    if (capacity) {
        media->watched = malloc(capacity * sizeof *media->watched);
        if (!media->watched) {
            return G4_NO_MEMORY;
        }
        media->watched_capacity = capacity;
    }
    return G4_OK;
}

const struct g4_media_payload *g4_media_payload(const struct g4_media *media, uint32_t index) {
    return index < media->watched_count && index < media->watched_capacity ? &media->watched[index] : NULL;
}
