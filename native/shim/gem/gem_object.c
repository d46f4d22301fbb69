/* Buffer objects (gem_object.h). */
#define _GNU_SOURCE
#include "shim/gem/gem_object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/lock.h"
#include "shim/gem/cpu_view.h"
#include "shim/gem/gtt.h"

static struct handles slots; /* struct object */
static struct object *dead;  /* still in use by the server */

static struct object *create(struct store *store, uint64_t offset, uint64_t size) {
    struct object *const object = calloc(1, sizeof *object);
    if (!object) {
        return NULL;
    }
    *object = (struct object){.refs = 1, .store = store, .offset = offset, .size = size};
    object->slot = handle_add(&slots, object);
    if (!object->slot) {
        free(object);
        return NULL;
    }
    return object;
}

struct object *object_new(uint64_t size) {
    object_reap();
    struct store *const arena = store_arena();
    const uint64_t offset = arena ? store_take(arena, size) : RANGES_NONE;
    if (offset == RANGES_NONE) {
        return NULL;
    }
    struct object *const object = create(store_keep(arena), offset, size);
    if (!object) {
        store_give(arena, offset, size);
        store_drop(arena);
    }
    return object;
}

struct object *object_of_store(struct store *store, uint64_t size) {
    struct object *const object = create(store, 0, size);
    if (object) {
        object->shared = true;
        object->from_outside = true;
    }
    return object;
}

struct object *object_find(const struct store *store) {
    for (uint32_t i = 1; i < slots.capacity; i++) {
        struct object *const object = slots.items[i];
        if (object && object->store == store && object->offset == 0 && object->shared) {
            return object;
        }
    }
    return NULL;
}

struct object *object_of_slot(uint32_t slot) {
    return handle_get(&slots, slot);
}

struct object *object_keep(struct object *object) {
    object->refs++;
    return object;
}

static void destroy(struct object *object) {
    view_destroy(object);
    while (object->places) {
        place_destroy(object->places);
    }
    store_give(object->store, object->offset, object->size);
    store_drop(object->store);
    free(object);
}

void object_drop(struct object *object) {
    if (--object->refs) {
        return;
    }
    handle_remove(&slots, object->slot);
    if (object_is_busy(object, false)) {
        object->next_idle = dead;
        dead = object;
        return;
    }
    destroy(object);
}

void object_reap(void) {
    for (struct object **place = &dead; *place;) {
        struct object *const object = *place;
        for (const struct place *use = object->places; use; use = use->next_of_object) {
            link_receive(&use->file->link);
        }
        if (object_is_busy(object, false)) {
            place = &object->next_idle;
        } else {
            *place = object->next_idle;
            destroy(object);
        }
    }
}

/* --- handles --- */

static struct place *place_of(const struct file *file, const struct object *object) {
    struct place *place = object->places;
    while (place && place->file != file) {
        place = place->next_of_object;
    }
    return place;
}

uint32_t object_handle(struct file *file, struct object *object, bool reuse) {
    struct place *place = place_of(file, object);
    if (place && place->handles && reuse) {
        for (uint32_t handle = 1; handle < file->buffers.capacity; handle++) {
            if (file->buffers.items[handle] == place) {
                return handle;
            }
        }
    }
    if (!place) {
        place = place_create(file, object);
    }
    const uint32_t handle = place ? handle_add(&file->buffers, place) : 0;
    if (handle) {
        place->handles++;
        object_keep(object);
    }
    return handle;
}

struct place *object_place(const struct file *file, uint32_t handle) {
    return handle_get(&file->buffers, handle);
}

bool object_close(struct file *file, uint32_t handle) {
    struct place *const place = handle_remove(&file->buffers, handle);
    if (!place) {
        return false;
    }
    place->handles--;
    object_drop(place->object);
    return true;
}

void object_close_all(struct file *file) {
    for (uint32_t handle = 1; handle < file->buffers.capacity; handle++) {
        (void)object_close(file, handle);
    }
    while (file->places) {
        place_destroy(file->places);
    }
    free(file->buffers.items);
    file->buffers = (struct handles){0};
    object_reap();
}

/* --- waiting --- */

static struct place *busy_place(const struct object *object, bool writing) {
    for (struct place *place = object->places; place; place = place->next_of_object) {
        if (!link_is_done(&place->file->link, writing ? place->last_write : place->last_use)) {
            return place;
        }
    }
    return NULL;
}

bool object_is_busy(const struct object *object, bool writing) {
    return busy_place(object, writing) != NULL;
}

int object_wait(struct object *object, bool writing, int64_t deadline) {
    for (struct place *place; (place = busy_place(object, writing)) != NULL;) {
        struct file *const file = place->file;
        file->refs++;
        const int late = link_wait(&file->link, writing ? place->last_write : place->last_use, deadline);
        file_drop(file);
        if (late) {
            return late;
        }
    }
    return 0;
}
