/* GEM objects: memory with a tiling, named by handles, reference counted. */
#ifndef SHIM_GEM_OBJECT_H
#define SHIM_GEM_OBJECT_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/device/drm_file.h"
#include "shim/device/memfd.h"

struct cpu_view;
struct user_pages;

struct gem_object {
    uint32_t refs;                /* of handles, mappings, framebuffers and running calls */
    uint32_t slot;                /* number in this process, from which the mmap offset is made */
    struct gem_object *next_dead; /* list of objects without references that the server still uses */
    struct memfd *memfd;
    uint64_t offset; /* in the memfd */
    uint64_t size;
    uint32_t tiling, pitch;
    uint32_t caching;
    uint32_t name;     /* global name (flink), or 0 */
    uint32_t scanouts; /* framebuffers; while there are any, the tiling is fixed */
    uint32_t mappings, gtt_mappings;
    uint32_t view_users;   /* running calls that need the view */
    uintptr_t gtt_address; /* of the only mapping through the aperture; 0: none, several or unknown */
    uint64_t gtt_offset, gtt_length;
    bool shared; /* other processes may see it */
    bool imported;
    bool used; /* by a batch since the view was refreshed */
    struct vma *vmas;
    struct cpu_view *view;
    struct user_pages *user; /* the program's memory, for which most calls fail; else NULL */
};

enum {
    /* Fake offsets for mmap(): slot, aperture flag, offset in the object. */
    MAP_SLOT_SHIFT = 36,
    MAP_GTT_SHIFT = 35,
};

/* A new zeroed object; `size` is whole pages.  NULL: no memory. */
struct gem_object *gem_object_new(uint64_t size);
/* An imported object that takes over the reference to its memfd. */
struct gem_object *gem_object_of_memfd(struct memfd *memfd, uint64_t size);
/* An object of the program's memory, at an offset in its pages; takes over the reference to them. */
struct gem_object *gem_object_of_user(struct user_pages *pages, uint64_t offset, uint64_t size);
/* The shared object in a memfd, without a reference, or NULL. */
struct gem_object *gem_object_find(const struct memfd *memfd);
struct gem_object *gem_object_of_slot(uint32_t slot);
struct gem_object *gem_object_get(struct gem_object *object);
void gem_object_put(struct gem_object *object);
/* Free the objects without references that the server is done with. */
void gem_object_reap(void);
static inline uint8_t *gem_object_memory(const struct gem_object *object) {
    return object->memfd->map + object->offset;
}

/* A new handle, or, with `reuse`, the file's present handle of the object.  0: no memory. */
uint32_t gem_handle_create(struct drm_file *file, struct gem_object *object, bool reuse);
struct vma *vma_lookup(const struct drm_file *file, uint32_t handle);
/* False: no such handle. */
bool gem_handle_delete(struct drm_file *file, uint32_t handle);
/* When the file is closed. */
void gem_handle_delete_all(struct drm_file *file);

/* True while a submission uses the object; `writing`: while one writes it. */
bool gem_object_is_busy(const struct gem_object *object, bool writing);
/* Wait until gem_object_is_busy() is false; 0 or ETIME.  Releases the lock; the caller holds a reference. */
int gem_object_wait(struct gem_object *object, bool writing, int64_t deadline);

#endif
