/* Objects shared between open files and processes: dma-bufs (PRIME) and global names (flink). */
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

/* Move an object and its mappings into a memfd of its own, whose descriptor can be passed on; 0 or an errno. */
static int move_out(struct gem_object *object) {
    if (object->shared) {
        return 0;
    }
    const int late = gem_object_wait(object, false, INT64_MAX);
    if (late || object->shared) {
        return late;
    }
    struct memfd *const memfd = memfd_new(object->size);
    if (!memfd) {
        return ENOMEM;
    }
    cpu_view_write_back(object);
    memcpy(memfd->map, gem_object_memory(object), object->size);
    struct memfd *const old = object->memfd;
    const uint64_t old_offset = object->offset;
    object->memfd = memfd;
    object->offset = 0;
    if (!cpu_map_replace(object)) {
        object->memfd = old;
        object->offset = old_offset;
        (void)cpu_map_replace(object);
        memfd_put(memfd);
        return ENOMEM;
    }
    object->shared = true;
    for (struct vma *vma = object->vmas; vma; vma = vma->next_of_object) {
        vma_rebind(vma);
    }
    memfd_free(old, old_offset, object->size);
    memfd_put(old);
    return 0;
}

/* Register a shared object or its new tiling with the server; `name` requests a global name. */
static int announce(struct drm_file *file, struct gem_object *object, bool name) {
    int error = drm_file_connect(file);
    error = error ? error : move_out(object);
    if (error) {
        return error;
    }
    cpu_view_write_back(object);
    struct g4_live_shared packet = {
        .header = {.type = G4_LIVE_SHARE},
        .name = name,
        .tiling = object->tiling,
        .pitch = object->pitch,
        .size = object->size,
    };
    struct g4_live_shared reply = {0};
    error =
        connection_request(&file->connection, &packet, sizeof packet, object->memfd->fd, &reply, sizeof reply, NULL);
    if (!error && reply.status) {
        error = ENOMEM;
    }
    if (!error && name) {
        object->name = reply.name;
    }
    return error;
}

void prime_announce_tiling(struct drm_file *file, struct gem_object *object) {
    if (object->shared) {
        (void)announce(file, object, false);
    }
}

int gem_flink(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_gem_flink *const request = argument;
    struct vma *const vma = vma_lookup(file, request->handle);
    if (!vma) {
        return ENOENT;
    }
    if (vma->object->user) {
        return EINVAL;
    }
    struct gem_object *const object = gem_object_get(vma->object);
    const int error = object->name ? 0 : announce(file, object, true);
    request->name = object->name;
    gem_object_put(object);
    return error;
}

int gem_to_fd(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_prime *const request = argument;
    if (request->flags & ~(uint32_t)(O_CLOEXEC | O_RDWR)) {
        return EINVAL;
    }
    struct vma *const vma = vma_lookup(file, request->handle);
    if (!vma) {
        return ENOENT;
    }
    if (vma->object->user) {
        return EINVAL;
    }
    struct gem_object *const object = gem_object_get(vma->object);
    int error = gem_object_wait(object, false, INT64_MAX); /* the importer has no fence to wait on */
    error = error ? error : announce(file, object, false);
    if (!error) {
        const int command = request->flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;
        request->fd = REAL(fcntl)(object->memfd->fd, command, 0);
        error = request->fd < 0 ? errno : 0;
    }
    gem_object_put(object);
    return error;
}

/* Adopt the tiling that another process has set. */
static int follow_tiling(struct gem_object *object, uint32_t tiling, uint32_t pitch) {
    const bool changes = object->tiling != tiling || object->pitch != pitch;
    return changes ? cpu_map_set_tiling(object, tiling, pitch) : 0;
}

/* Look an object up in the server, by global name or, if that is 0, by descriptor; returns it with a reference. */
static int find(struct drm_file *file, uint32_t name, int fd, struct gem_object **found) {
    struct g4_live_shared packet = {.header = {.type = G4_LIVE_FIND}, .name = name};
    struct g4_live_shared reply = {0};
    int received = -1;
    int error = drm_file_connect(file);
    error = error ? error
                  : connection_request(&file->connection, &packet, sizeof packet, fd, &reply, sizeof reply, &received);
    const int memory = name ? received : fd;
    if (!error && (reply.status || memory < 0 || reply.size == 0 || reply.size & 4095 || reply.tiling > 2 ||
                   (reply.tiling && reply.pitch == 0))) {
        error = name ? ENOENT : EINVAL;
    }
    if (!error) {
        struct memfd *const memfd = memfd_of_descriptor(memory, reply.size);
        struct gem_object *object = memfd ? gem_object_find(memfd) : NULL;
        if (object) {
            gem_object_get(object);
            memfd_put(memfd);
            error = follow_tiling(object, reply.tiling, reply.tiling ? reply.pitch : 0);
        } else if (memfd) {
            object = gem_object_of_memfd(memfd, reply.size);
            if (object) {
                object->tiling = reply.tiling;
                object->pitch = reply.tiling ? reply.pitch : 0;
                object->name = name;
            } else {
                memfd_put(memfd);
            }
        }
        error = object ? error : ENOMEM;
        if (error && object) {
            gem_object_put(object);
            object = NULL;
        }
        *found = object;
    }
    if (received >= 0) {
        REAL(close)(received);
    }
    return error;
}

int gem_open(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_gem_open *const request = argument;
    struct gem_object *object = NULL;
    if (request->name == 0) {
        return ENOENT;
    }
    int error = find(file, request->name, -1, &object);
    if (!error) {
        request->handle = gem_handle_create(file, object, false);
        request->size = object->size;
        error = request->handle ? 0 : ENOMEM;
        gem_object_put(object);
    }
    return error;
}

int gem_from_fd(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_prime *const request = argument;
    if (REAL(fcntl)(request->fd, F_GETFD) < 0) {
        return EBADF;
    }
    struct memfd *const memfd = memfd_find(request->fd);
    struct gem_object *object = memfd ? gem_object_find(memfd) : NULL;
    int error = 0;
    if (object) {
        gem_object_get(object);
    } else {
        error = find(file, 0, request->fd, &object);
    }
    if (!error) {
        request->handle = gem_handle_create(file, object, true);
        error = request->handle ? 0 : ENOMEM;
        gem_object_put(object);
    }
    return error;
}
