/* Buffers that several open files or processes use: dma-bufs and global names (spec/80 3.2, 3.7). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/real.h"
#include "shim/gem/cpu_map.h"
#include "shim/gem/cpu_view.h"
#include "shim/gem/gem_ioctls.h"
#include "shim/gem/gem_object.h"
#include "shim/gem/gtt.h"
#include "shim/uapi.h"

/* Move a buffer into a memfd of its own, mappings included, so that a descriptor can stand for it; 0 or an errno. */
static int move_out(struct object *object) {
    if (object->shared) {
        return 0;
    }
    const int late = object_wait(object, false, INT64_MAX);
    if (late || object->shared) {
        return late;
    }
    struct store *const store = store_new(object->size);
    if (!store) {
        return ENOMEM;
    }
    view_pick_up(object);
    memcpy(store->map, object_memory(object), object->size);
    struct store *const old = object->store;
    const uint64_t old_offset = object->offset;
    object->store = store;
    object->offset = 0;
    if (!map_replace(object)) {
        object->store = old;
        object->offset = old_offset;
        (void)map_replace(object);
        store_drop(store);
        return ENOMEM;
    }
    object->shared = true;
    for (struct place *place = object->places; place; place = place->next_of_object) {
        place_move(place);
    }
    store_give(old, old_offset, object->size);
    store_drop(old);
    return 0;
}

/* Tell the server, so that others find it; `name` asks for a global one. */
static int tell(struct file *file, struct object *object, bool name) {
    int error = file_connect(file);
    error = error ? error : move_out(object);
    if (error) {
        return error;
    }
    view_pick_up(object);
    struct g4_live_shared packet = {
        .header = {.type = G4_LIVE_SHARE},
        .name = name,
        .tiling = object->tiling,
        .pitch = object->pitch,
        .size = object->size,
    };
    struct g4_live_shared reply = {0};
    error = link_ask(&file->link, &packet, sizeof packet, object->store->fd, &reply, sizeof reply, NULL);
    if (!error && reply.status) {
        error = ENOMEM;
    }
    if (!error && name) {
        object->name = reply.name;
    }
    return error;
}

void share_tell_tiling(struct file *file, struct object *object) {
    if (object->shared) {
        (void)tell(file, object, false);
    }
}

int gem_flink(struct file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_gem_flink *const request = argument;
    struct place *const place = object_place(file, request->handle);
    if (!place) {
        return ENOENT;
    }
    struct object *const object = object_keep(place->object);
    const int error = object->name ? 0 : tell(file, object, true);
    request->name = object->name;
    object_drop(object);
    return error;
}

int gem_to_fd(struct file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_prime *const request = argument;
    if (request->flags & ~(uint32_t)(O_CLOEXEC | O_RDWR)) {
        return EINVAL;
    }
    struct place *const place = object_place(file, request->handle);
    if (!place) {
        return ENOENT;
    }
    struct object *const object = object_keep(place->object);
    int error = object_wait(object, false, INT64_MAX); /* who gets it does not know what to wait for */
    error = error ? error : tell(file, object, false);
    if (!error) {
        const int command = request->flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;
        request->fd = REAL(fcntl)(object->store->fd, command, 0);
        error = request->fd < 0 ? errno : 0;
    }
    object_drop(object);
    return error;
}

/* Another process may have changed it since. */
static int follow_tiling(struct object *object, uint32_t tiling, uint32_t pitch) {
    const bool changes = object->tiling != tiling || object->pitch != pitch;
    return changes ? map_set_tiling(object, tiling, pitch) : 0;
}

/* Ask the server for a buffer, by name, or by a descriptor whose memory is taken; the object has a reference. */
static int find(struct file *file, uint32_t name, int fd, struct object **found) {
    struct g4_live_shared packet = {.header = {.type = G4_LIVE_FIND}, .name = name};
    struct g4_live_shared reply = {0};
    int received = -1;
    int error = file_connect(file);
    error = error ? error : link_ask(&file->link, &packet, sizeof packet, fd, &reply, sizeof reply, &received);
    const int memory = name ? received : fd;
    if (!error && (reply.status || memory < 0 || reply.size == 0 || reply.size & 4095 || reply.tiling > 2 ||
                   (reply.tiling && reply.pitch == 0))) {
        error = name ? ENOENT : EINVAL;
    }
    if (!error) {
        struct store *const store = store_of_descriptor(memory, reply.size);
        struct object *object = store ? object_find(store) : NULL;
        if (object) {
            object_keep(object);
            store_drop(store);
            error = follow_tiling(object, reply.tiling, reply.tiling ? reply.pitch : 0);
        } else if (store) {
            object = object_of_store(store, reply.size);
            if (object) {
                object->tiling = reply.tiling;
                object->pitch = reply.tiling ? reply.pitch : 0;
                object->name = name;
            } else {
                store_drop(store);
            }
        }
        error = object ? error : ENOMEM;
        if (error && object) {
            object_drop(object);
            object = NULL;
        }
        *found = object;
    }
    if (received >= 0) {
        REAL(close)(received);
    }
    return error;
}

int gem_open(struct file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_gem_open *const request = argument;
    struct object *object = NULL;
    if (request->name == 0) {
        return ENOENT;
    }
    int error = find(file, request->name, -1, &object);
    if (!error) {
        request->handle = object_handle(file, object, false);
        request->size = object->size;
        error = request->handle ? 0 : ENOMEM;
        object_drop(object);
    }
    return error;
}

int gem_from_fd(struct file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_prime *const request = argument;
    if (REAL(fcntl)(request->fd, F_GETFD) < 0) {
        return EBADF;
    }
    struct store *const store = store_find(request->fd);
    struct object *object = store ? object_find(store) : NULL;
    int error = 0;
    if (object) {
        object_keep(object);
    } else {
        error = find(file, 0, request->fd, &object);
    }
    if (!error) {
        request->handle = object_handle(file, object, true);
        error = request->handle ? 0 : ENOMEM;
        object_drop(object);
    }
    return error;
}
