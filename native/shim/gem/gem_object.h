/* Buffer objects: memory with a tiling, named by handles, kept alive by whoever uses it (spec/80 3.2). */
#ifndef SHIM_OBJECTS_H
#define SHIM_OBJECTS_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/device/drm_file.h"
#include "shim/device/memfd.h"

struct view;

struct object {
    uint32_t refs;            /* handles, mappings, framebuffers, users for the moment */
    uint32_t slot;            /* its number in this process; gives its offset for mmap */
    struct object *next_idle; /* dead, but the server may still use the memory */
    struct store *store;
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
    bool from_outside;
    bool used; /* by batches that did not say that they write it, since its view was made or refreshed */
    struct place *places;
    struct view *view;
};

enum {
    /* Offsets for mmap: the object's number, whether through the aperture, and the offset in it. */
    MAP_SLOT_SHIFT = 36,
    MAP_GTT_SHIFT = 35,
};

/* Of whole pages, zeroed; NULL: no memory. */
struct object *object_new(uint64_t size);
/* Of a store of its own, which is taken over. */
struct object *object_of_store(struct store *store, uint64_t size);
/* One that this process knows already, or NULL. */
struct object *object_find(const struct store *store);
struct object *object_of_slot(uint32_t slot);
struct object *object_keep(struct object *object);
void object_drop(struct object *object);
/* Free what died while it was in use. */
void object_reap(void);
static inline uint8_t *object_memory(const struct object *object) {
    return object->store->map + object->offset;
}

/* A new handle; 0: no memory.  Same object and file: `reuse` gives the handle that there is. */
uint32_t object_handle(struct file *file, struct object *object, bool reuse);
struct place *object_place(const struct file *file, uint32_t handle);
/* False: no such handle. */
bool object_close(struct file *file, uint32_t handle);
/* The file is gone. */
void object_close_all(struct file *file);

/* The server is not done with it; `writing`: with writing it. */
bool object_is_busy(const struct object *object, bool writing);
/* 0 or ETIME.  Gives the lock up; the caller keeps the object. */
int object_wait(struct object *object, bool writing, int64_t deadline);

#endif
