/* Hardware contexts.  The server keeps their state; the shim keeps parameters, hangs and bans. */
#ifndef SHIM_CONTEXTS_H
#define SHIM_CONTEXTS_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/device/drm_file.h"
#include "shim/uapi.h"

enum {
    CONTEXT_MAX_ENGINES = 64 /* as many as EXEC_RING_MASK selects */
};

struct context {
    uint32_t number; /* 0: the default context of the open file */
    uint32_t hangs;
    int64_t hung_at[2]; /* times of the last two hangs, ns */
    bool recoverable, bannable, banned, no_error_capture;
    int32_t priority;
    uint64_t persistence;
    bool has_map; /* of engines (I915_CONTEXT_PARAM_ENGINES) */
    uint32_t map_count;
    int8_t map[CONTEXT_MAX_ENGINES]; /* enum g4_live_engine, or -1 */
};

/* Create the default context of a new file; false: no memory. */
bool context_open(struct drm_file *file);
/* NULL if it does not exist. */
struct context *context_lookup(const struct drm_file *file, uint32_t number);
/* The enum g4_live_engine that the flags of an EXECBUFFER2 select, or -1. */
int context_engine(const struct drm_file *file, const struct context *context, uint64_t flags);
/* The index in the context's engine map that an EXECBUFFER2 selects; 0 without a map. */
uint32_t context_slot(const struct drm_file *file, const struct i915_execbuffer2 *exec);
void context_free_all(struct drm_file *file);
/* Create the file's contexts in the server of a new connection; false: it is gone. */
bool context_announce_all(struct drm_file *file);
/* A submission of `owner`, a file, did not end with G4_LIVE_DONE. */
void context_result(void *owner, uint32_t number, uint32_t status);

int context_create(struct drm_file *file, void *argument, uint32_t size);
int context_destroy(struct drm_file *file, void *argument, uint32_t size);
int context_get_param(struct drm_file *file, void *argument, uint32_t size);
int context_set_param(struct drm_file *file, void *argument, uint32_t size);
int context_reset_stats(struct drm_file *file, void *argument, uint32_t size);

#endif
