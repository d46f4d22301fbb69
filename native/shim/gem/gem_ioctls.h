/* The ioctls of buffer objects (spec/80 3.2, 3.4). */
#ifndef SHIM_GEM_H
#define SHIM_GEM_H
#include <stdint.h>

#include "shim/device/drm_file.h"

int gem_create(struct file *file, void *argument, uint32_t size);
int gem_create_ext(struct file *file, void *argument, uint32_t size);
int gem_close(struct file *file, void *argument, uint32_t size);
int gem_pread(struct file *file, void *argument, uint32_t size);
int gem_pwrite(struct file *file, void *argument, uint32_t size);
int gem_mmap(struct file *file, void *argument, uint32_t size);
int gem_mmap_offset(struct file *file, void *argument, uint32_t size);
int gem_set_domain(struct file *file, void *argument, uint32_t size);
int gem_sw_finish(struct file *file, void *argument, uint32_t size);
int gem_set_tiling(struct file *file, void *argument, uint32_t size);
int gem_get_tiling(struct file *file, void *argument, uint32_t size);
int gem_set_caching(struct file *file, void *argument, uint32_t size);
int gem_get_caching(struct file *file, void *argument, uint32_t size);
int gem_madvise(struct file *file, void *argument, uint32_t size);
int gem_aperture(struct file *file, void *argument, uint32_t size);
int gem_busy(struct file *file, void *argument, uint32_t size);
int gem_wait(struct file *file, void *argument, uint32_t size);
int gem_throttle(struct file *file, void *argument, uint32_t size);

/* share.c: buffers of several open files and processes */
int gem_flink(struct file *file, void *argument, uint32_t size);
int gem_open(struct file *file, void *argument, uint32_t size);
int gem_to_fd(struct file *file, void *argument, uint32_t size);
int gem_from_fd(struct file *file, void *argument, uint32_t size);
/* Other processes hear of a new tiling. */
void share_tell_tiling(struct file *file, struct object *object);

#endif
