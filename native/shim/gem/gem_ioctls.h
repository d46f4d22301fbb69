/* The GEM ioctls. */
#ifndef SHIM_GEM_IOCTLS_H
#define SHIM_GEM_IOCTLS_H
#include <stdint.h>

#include "shim/device/drm_file.h"

int gem_create(struct drm_file *file, void *argument, uint32_t size);
int gem_create_ext(struct drm_file *file, void *argument, uint32_t size);
int gem_userptr(struct drm_file *file, void *argument, uint32_t size);
int gem_close(struct drm_file *file, void *argument, uint32_t size);
int gem_pread(struct drm_file *file, void *argument, uint32_t size);
int gem_pwrite(struct drm_file *file, void *argument, uint32_t size);
int gem_mmap(struct drm_file *file, void *argument, uint32_t size);
int gem_mmap_offset(struct drm_file *file, void *argument, uint32_t size);
int gem_set_domain(struct drm_file *file, void *argument, uint32_t size);
int gem_sw_finish(struct drm_file *file, void *argument, uint32_t size);
int gem_set_tiling(struct drm_file *file, void *argument, uint32_t size);
int gem_get_tiling(struct drm_file *file, void *argument, uint32_t size);
int gem_set_caching(struct drm_file *file, void *argument, uint32_t size);
int gem_get_caching(struct drm_file *file, void *argument, uint32_t size);
int gem_madvise(struct drm_file *file, void *argument, uint32_t size);
int gem_aperture(struct drm_file *file, void *argument, uint32_t size);
int gem_busy(struct drm_file *file, void *argument, uint32_t size);
int gem_wait(struct drm_file *file, void *argument, uint32_t size);
int gem_throttle(struct drm_file *file, void *argument, uint32_t size);

/* prime.c: objects shared between open files and processes */
int gem_flink(struct drm_file *file, void *argument, uint32_t size);
int gem_open(struct drm_file *file, void *argument, uint32_t size);
int gem_to_fd(struct drm_file *file, void *argument, uint32_t size);
int gem_from_fd(struct drm_file *file, void *argument, uint32_t size);
/* Tell the server, and thereby other processes, about a new tiling. */
void prime_announce_tiling(struct drm_file *file, struct gem_object *object);

#endif
