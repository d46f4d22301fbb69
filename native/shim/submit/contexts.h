/* Hardware contexts: names for states that the server keeps, and who made the GPU hang (spec/80 3.5). */
#ifndef SHIM_CONTEXTS_H
#define SHIM_CONTEXTS_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/device/drm_file.h"

struct context {
    uint32_t number; /* 0: the default one of the open file */
    uint32_t hangs;
    int64_t hung_at[2]; /* the last two times, ns */
    bool recoverable, bannable, banned;
    int32_t priority;
    uint64_t persistence;
};

/* Make the default context of a new file; false: no memory. */
bool context_open(struct drm_file *file);
/* NULL: there is none. */
struct context *context_lookup(const struct drm_file *file, uint32_t number);
void context_free_all(struct drm_file *file);
/* A new connection: tell the server of those that exist; false: it is gone. */
bool context_announce_all(struct drm_file *file);
/* How a submission ended that was not fine; `owner` is the file. */
void context_result(void *owner, uint32_t number, uint32_t status);

int context_create(struct drm_file *file, void *argument, uint32_t size);
int context_destroy(struct drm_file *file, void *argument, uint32_t size);
int context_get_param(struct drm_file *file, void *argument, uint32_t size);
int context_set_param(struct drm_file *file, void *argument, uint32_t size);
int context_reset_stats(struct drm_file *file, void *argument, uint32_t size);

#endif
