/* Which parts of the program's address space are buffers (spec/80 3.2, 3.6). */
#ifndef SHIM_MAPS_H
#define SHIM_MAPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gem/gem_object.h"

/* Offset by which mmap() finds the object; `gtt`: through the aperture, that is without tiling. */
uint64_t cpu_map_offset(const struct gem_object *object, bool gtt);
/* mmap() of an open file, or MAP_FAILED with errno. */
void *cpu_map_create(struct drm_file *file, void *address, size_t length, int protection, int flags, uint64_t offset);
/* Might a part of this be a buffer?  Without the lock. */
bool cpu_map_may_contain(const void *address, size_t length);
/* The program unmaps a range, or maps something else there. */
void cpu_map_forget(void *address, size_t length);
/* mremap() of one of ours; false: it is none. */
bool cpu_map_resize(void *address, size_t old_length, size_t length, int flags, void *wanted, void **result);
/* The object's memory has changed: put the same addresses on what is right now.  False: no memory, and some of them may
 * still show what was there. */
bool cpu_map_replace(struct gem_object *object);
/* Change the tiling, for maps as well, when the GPU is done with it; 0, or ENOMEM and all is as it was. */
int cpu_map_set_tiling(struct gem_object *object, uint32_t tiling, uint32_t pitch);

#endif
