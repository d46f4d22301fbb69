/* Buffer objects: memory with a tiling, named by handles, kept alive by whoever uses it (spec/80 3.2). */
#ifndef SHIM_OBJECTS_H
#define SHIM_OBJECTS_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/device/drm_file.h"
#include "shim/device/memfd.h"

struct cpu_view;

struct gem_object {
    uint32_t refs;                /* handles, mappings, framebuffers, users for the moment */
    uint32_t slot;                /* its number in this process; gives its offset for mmap */
    struct gem_object *next_dead; /* dead, but the server may still use the memory */
    struct memfd *memfd;
    uint64_t offset; /* in the store */
    uint64_t size;
    uint32_t tiling, pitch;
    uint32_t caching;
    uint32_t name;     /* global, or 0 */
    uint32_t scanouts; /* framebuffers of it: the tiling is fixed */
    uint32_t mappings, gtt_mappings;
    uint32_t view_users;   /* who need the view for the moment, also without a mapping */
    uintptr_t gtt_address; /* of the only mapping through the aperture, 0 when that is not known */
    uint64_t gtt_offset, gtt_length;
    bool shared; /* other processes may see it */
    bool imported;
    bool used; /* by batches that did not say that they write it, since its view was made or refreshed */
    struct vma *vmas;
    struct cpu_view *view;
};

enum {
    /* Offsets for mmap: the object's number, whether through the aperture, and the offset in it. */
    MAP_SLOT_SHIFT = 36,
    MAP_GTT_SHIFT = 35,
};

/* Of whole pages, zeroed; NULL: no memory. */
struct gem_object *gem_object_new(uint64_t size);
/* Of a store of its own, which is taken over. */
struct gem_object *gem_object_of_memfd(struct memfd *memfd, uint64_t size);
/* One that this process knows already, or NULL. */
struct gem_object *gem_object_find(const struct memfd *memfd);
struct gem_object *gem_object_of_slot(uint32_t slot);
struct gem_object *gem_object_get(struct gem_object *object);
void gem_object_put(struct gem_object *object);
/* Free what died while it was in use. */
void gem_object_reap(void);
static inline uint8_t *gem_object_memory(const struct gem_object *object) {
    return object->memfd->map + object->offset;
}

/* A new handle; 0: no memory.  Same object and file: `reuse` gives the handle that there is. */
uint32_t gem_handle_create(struct drm_file *file, struct gem_object *object, bool reuse);
struct vma *vma_lookup(const struct drm_file *file, uint32_t handle);
/* False: no such handle. */
bool gem_handle_delete(struct drm_file *file, uint32_t handle);
/* The file is gone. */
void gem_handle_delete_all(struct drm_file *file);

/* The server is not done with it; `writing`: with writing it. */
bool gem_object_is_busy(const struct gem_object *object, bool writing);
/* 0 or ETIME.  Gives the lock up; the caller keeps the object. */
int gem_object_wait(struct gem_object *object, bool writing, int64_t deadline);

#endif
