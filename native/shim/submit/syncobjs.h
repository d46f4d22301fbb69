/* Synchronization objects (drm_syncobj), binary and timeline. */
#ifndef SHIM_SYNCOBJS_H
#define SHIM_SYNCOBJS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/device/drm_file.h"

struct syncobj;

struct syncobj *syncobj_lookup(const struct drm_file *file, uint32_t handle);
/* Before a submission of `file` that waits for a point: 0, EINVAL if the point has not been submitted, or EAGAIN after
 * a wait, during which the lock was released. */
int syncobj_wait_before(struct drm_file *file, struct syncobj *object, uint64_t point);
/* Signal the point when submission `sequence` of `file` completes; 0 or ENOMEM. */
int syncobj_signal_after(struct syncobj *object, struct drm_file *file, uint64_t sequence, uint64_t point);
void syncobj_free_all(struct drm_file *file);

int syncobj_create(struct drm_file *file, void *argument, uint32_t size);
int syncobj_destroy(struct drm_file *file, void *argument, uint32_t size);
int syncobj_to_fd(struct drm_file *file, void *argument, uint32_t size);
int syncobj_from_fd(struct drm_file *file, void *argument, uint32_t size);
int syncobj_wait(struct drm_file *file, void *argument, uint32_t size);
int syncobj_reset(struct drm_file *file, void *argument, uint32_t size);
int syncobj_signal(struct drm_file *file, void *argument, uint32_t size);
int syncobj_timeline_wait(struct drm_file *file, void *argument, uint32_t size);
int syncobj_query(struct drm_file *file, void *argument, uint32_t size);
int syncobj_transfer(struct drm_file *file, void *argument, uint32_t size);
int syncobj_timeline_signal(struct drm_file *file, void *argument, uint32_t size);

#endif
