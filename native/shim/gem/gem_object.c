#define _GNU_SOURCE
#include "shim/gem/gem_object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/handle_table.h"
#include "shim/base/lock.h"
#include "shim/gem/cpu_view.h"
#include "shim/gem/gtt.h"
#include "shim/gem/user_pages.h"

static struct handle_table slots; /* struct gem_object */
static struct gem_object *dead;   /* without references, but in use by the server */

static struct gem_object *create(struct memfd *memfd, uint64_t offset, uint64_t size) {
    struct gem_object *const object = calloc(1, sizeof *object);
    if (!object) {
        return NULL;
    }
    *object = (struct gem_object){.refs = 1, .memfd = memfd, .offset = offset, .size = size};
    object->slot = handle_add(&slots, object);
    if (!object->slot) {
        free(object);
        return NULL;
    }
    return object;
}

struct gem_object *gem_object_new(uint64_t size) {
    gem_object_reap();
    struct memfd *const arena = memfd_arena();
    const uint64_t offset = arena ? memfd_alloc(arena, size) : RANGES_NONE;
    if (offset == RANGES_NONE) {
        return NULL;
    }
    struct gem_object *const object = create(memfd_get(arena), offset, size);
    if (!object) {
        memfd_free(arena, offset, size);
        memfd_put(arena);
    }
    return object;
}

struct gem_object *gem_object_of_memfd(struct memfd *memfd, uint64_t size) {
    struct gem_object *const object = create(memfd, 0, size);
    if (object) {
        object->shared = true;
        object->imported = true;
    }
    return object;
}

struct gem_object *gem_object_of_user(struct user_pages *pages, uint64_t offset, uint64_t size) {
    struct gem_object *const object = create(memfd_get(user_pages_memfd(pages)), offset, size);
    if (object) {
        object->user = pages;
    } else {
        memfd_put(user_pages_memfd(pages));
    }
    return object;
}

struct gem_object *gem_object_find(const struct memfd *memfd) {
    for (uint32_t i = 1; i < slots.capacity; i++) {
        struct gem_object *const object = slots.items[i];
        if (object && object->memfd == memfd && object->offset == 0 && object->shared) {
            return object;
        }
    }
    return NULL;
}

struct gem_object *gem_object_of_slot(uint32_t slot) {
    return handle_lookup(&slots, slot);
}

struct gem_object *gem_object_get(struct gem_object *object) {
    object->refs++;
    return object;
}

static void destroy(struct gem_object *object) {
    cpu_view_destroy(object);
    while (object->vmas) {
        vma_destroy(object->vmas);
    }
    memfd_free(object->memfd, object->offset, object->size);
    memfd_put(object->memfd);
    if (object->user) {
        user_pages_put(object->user);
    }
    free(object);
}

void gem_object_put(struct gem_object *object) {
    if (--object->refs) {
        return;
    }
    handle_remove(&slots, object->slot);
    if (gem_object_is_busy(object, false)) {
        object->next_dead = dead;
        dead = object;
        return;
    }
    destroy(object);
}

void gem_object_reap(void) {
    for (struct gem_object **vma = &dead; *vma;) {
        struct gem_object *const object = *vma;
        for (const struct vma *use = object->vmas; use; use = use->next_of_object) {
            connection_receive(&use->file->connection);
        }
        if (gem_object_is_busy(object, false)) {
            vma = &object->next_dead;
        } else {
            *vma = object->next_dead;
            destroy(object);
        }
    }
}

/* --- handles --- */

static struct vma *vma_of(const struct drm_file *file, const struct gem_object *object) {
    struct vma *vma = object->vmas;
    while (vma && vma->file != file) {
        vma = vma->next_of_object;
    }
    return vma;
}

uint32_t gem_handle_create(struct drm_file *file, struct gem_object *object, bool reuse) {
    struct vma *vma = vma_of(file, object);
    if (vma && vma->handles && reuse) {
        for (uint32_t handle = 1; handle < file->gem_handles.capacity; handle++) {
            if (file->gem_handles.items[handle] == vma) {
                return handle;
            }
        }
    }
    if (!vma) {
        vma = vma_create(file, object);
    }
    const uint32_t handle = vma ? handle_add(&file->gem_handles, vma) : 0;
    if (handle) {
        vma->handles++;
        gem_object_get(object);
    }
    return handle;
}

struct vma *vma_lookup(const struct drm_file *file, uint32_t handle) {
    return handle_lookup(&file->gem_handles, handle);
}

bool gem_handle_delete(struct drm_file *file, uint32_t handle) {
    struct vma *const vma = handle_remove(&file->gem_handles, handle);
    if (!vma) {
        return false;
    }
    vma->handles--;
    gem_object_put(vma->object);
    return true;
}

void gem_handle_delete_all(struct drm_file *file) {
    for (uint32_t handle = 1; handle < file->gem_handles.capacity; handle++) {
        (void)gem_handle_delete(file, handle);
    }
    while (file->vmas) {
        vma_destroy(file->vmas);
    }
    free(file->gem_handles.items);
    file->gem_handles = (struct handle_table){0};
    gem_object_reap();
}

/* --- waiting --- */

static struct vma *busy_vma(const struct gem_object *object, bool writing) {
    for (struct vma *vma = object->vmas; vma; vma = vma->next_of_object) {
        if (!connection_is_done(&vma->file->connection, writing ? vma->last_write : vma->last_use)) {
            return vma;
        }
    }
    return NULL;
}

bool gem_object_is_busy(const struct gem_object *object, bool writing) {
    return busy_vma(object, writing) != NULL;
}

int gem_object_wait(struct gem_object *object, bool writing, int64_t deadline) {
    for (struct vma *vma; (vma = busy_vma(object, writing)) != NULL;) {
        struct drm_file *const file = vma->file;
        file->refs++;
        const int late = connection_wait(&file->connection, writing ? vma->last_write : vma->last_use, deadline);
        drm_file_put(file);
        if (late) {
            return late;
        }
    }
    return 0;
}
