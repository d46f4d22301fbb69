/* The program's mappings of GEM objects. */
#ifndef SHIM_CPU_MAP_H
#define SHIM_CPU_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gem/gem_object.h"

/* The fake offset by which mmap() finds the object; `gtt`: through the aperture, that is, detiled. */
uint64_t cpu_map_offset(const struct gem_object *object, bool gtt);
/* mmap() on a device file; MAP_FAILED with errno. */
void *cpu_map_create(struct drm_file *file, void *address, size_t length, int protection, int flags, uint64_t offset);
/* False if no part of the range is a mapping.  Needs no lock. */
bool cpu_map_may_contain(const void *address, size_t length);
/* Remove a range that the program unmaps or replaces. */
void cpu_map_forget(void *address, size_t length);
/* mremap(); false if `address` is not in a mapping of an object. */
bool cpu_map_resize(void *address, size_t old_length, size_t length, int flags, void *wanted, void **result);
/* Map the object's present memory or view at the addresses of its mappings.  False: no memory; some of them may still
 * show the old memory. */
bool cpu_map_replace(struct gem_object *object);
/* Wait for the GPU, then change the tiling, also in mappings; 0, or ENOMEM with nothing changed. */
int cpu_map_set_tiling(struct gem_object *object, uint32_t tiling, uint32_t pitch);

#endif
