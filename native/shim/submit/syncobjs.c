#define _GNU_SOURCE
#include "shim/submit/syncobjs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/handle_table.h"
#include "shim/base/lock.h"
#include "shim/base/named_socket.h"
#include "shim/base/real.h"
#include "shim/base/user.h"
#include "shim/submit/sync_file.h"
#include "shim/uapi.h"

/* Signalled when a submission of an open file has completed, or the file has been closed. */
struct syncobj_fence {
    uint64_t point; /* 0: binary */
    uint64_t file;  /* id of the open file; 0: signalled */
    uint64_t sequence;
};

/* Without fences: not submitted.  A timeline's fences are sorted by point; completed ones are dropped from the front.
 */
struct syncobj {
    uint32_t refs;
    struct syncobj_fence *fences;
    uint32_t count, capacity;
};

/* A descriptor that stands for an object. */
struct export {
    struct export *next;
    uint64_t inode;
    struct syncobj *object;
};
static struct export *exports;

enum {
    MAX_HANDLES = 65536
};
static const int64_t slice = 1000000; /* ns; polling interval when waiting for several things */

static void drop(struct syncobj *object) {
    if (--object->refs == 0) {
        free(object->fences);
        free(object);
    }
}

struct syncobj *syncobj_lookup(const struct drm_file *file, uint32_t handle) {
    return handle_lookup(&file->syncobjs, handle);
}

void syncobj_free_all(struct drm_file *file) {
    for (uint32_t i = 1; i < file->syncobjs.capacity; i++) {
        if (file->syncobjs.items[i]) {
            drop(file->syncobjs.items[i]);
        }
    }
    free(file->syncobjs.items);
}

/* --- fences --- */

static struct drm_file *pending_file(const struct syncobj_fence *fence) {
    struct drm_file *const file = fence->file ? drm_file_of_id(fence->file) : NULL;
    if (!file) {
        return NULL;
    }
    connection_receive(&file->connection);
    return connection_is_done(&file->connection, fence->sequence) ? NULL : file;
}

static int set_fence(struct syncobj *object, struct syncobj_fence fence) {
    if (fence.point == 0) {
        object->count = 0;
    }
    while (object->count > 1 && !pending_file(&object->fences[0])) {
        object->count--;
        memmove(&object->fences[0], &object->fences[1], object->count * sizeof object->fences[0]);
    }
    if (object->count == object->capacity) {
        const uint32_t capacity = object->capacity ? object->capacity * 2 : 1;
        struct syncobj_fence *const larger = realloc(object->fences, capacity * sizeof *larger);
        if (!larger) {
            return ENOMEM;
        }
        object->fences = larger;
        object->capacity = capacity;
    }
    const uint64_t latest = object->count ? object->fences[object->count - 1].point : 0;
    if (fence.point && fence.point <= latest) {
        fence.point = latest; /* points out of order: the kernel only logs it, too */
    }
    object->fences[object->count++] = fence;
    shim_announce();
    return 0;
}

/* The number of fences up to the one that reaches `point` (0: all); 0 if none does. */
static uint32_t fences_until(const struct syncobj *object, uint64_t point) {
    if (point == 0) {
        return object->count;
    }
    for (uint32_t i = 0; i < object->count; i++) {
        if (object->fences[i].point >= point) {
            return i + 1;
        }
    }
    return 0;
}

/* An open file with a pending submission that `point` depends on, or NULL. */
static struct drm_file *pending_file_of(const struct syncobj *object, uint64_t point) {
    const uint32_t count = fences_until(object, point);
    for (uint32_t i = 0; i < count; i++) {
        struct drm_file *const file = pending_file(&object->fences[i]);
        if (file) {
            return file;
        }
    }
    return NULL;
}

static void wait_until_done(struct syncobj *object, uint64_t point) {
    object->refs++;
    for (struct drm_file *file; (file = pending_file_of(object, point)) != NULL;) {
        file->refs++;
        connection_pause(&file->connection, INT64_MAX);
        drm_file_put(file);
    }
    drop(object);
}

int syncobj_wait_before(struct drm_file *file, struct syncobj *object, uint64_t point) {
    if (fences_until(object, point) == 0) {
        return EINVAL;
    }
    const struct drm_file *const other = pending_file_of(object, point);
    if (other && other != file) {
        wait_until_done(object, point);
        return EAGAIN; /* the lock was released: start again */
    }
    return 0;
}

int syncobj_signal_after(struct syncobj *object, struct drm_file *file, uint64_t sequence, uint64_t point) {
    return set_fence(object, (struct syncobj_fence){.point = point, .file = file->id, .sequence = sequence});
}

/* --- ioctls: creating and destroying --- */

static int add(struct drm_file *file, struct syncobj *object, uint32_t *handle) {
    *handle = handle_add(&file->syncobjs, object);
    if (!*handle) {
        drop(object);
        return ENOMEM;
    }
    return 0;
}

static struct syncobj *create(bool signaled) {
    struct syncobj *const object = calloc(1, sizeof *object);
    if (!object) {
        return NULL;
    }
    object->refs = 1;
    if (signaled && set_fence(object, (struct syncobj_fence){0})) {
        drop(object);
        return NULL;
    }
    return object;
}

int syncobj_create(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_syncobj_create *const request = argument;
    if (request->flags & ~(uint32_t)SYNCOBJ_CREATE_SIGNALED) {
        return EINVAL;
    }
    struct syncobj *const object = create(request->flags & SYNCOBJ_CREATE_SIGNALED);
    return object ? add(file, object, &request->handle) : ENOMEM;
}

int syncobj_destroy(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct drm_syncobj_destroy *const request = argument;
    if (request->pad) {
        return EINVAL;
    }
    struct syncobj *const object = handle_remove(&file->syncobjs, request->handle);
    if (!object) {
        return EINVAL;
    }
    drop(object);
    return 0;
}

/* --- ioctls: descriptors --- */

static void forget_closed_exports(void) {
    for (struct export **link = &exports; *link;) {
        struct export *const entry = *link;
        if (named_socket_is_open("syncobj", entry->inode)) {
            link = &entry->next;
        } else {
            *link = entry->next;
            drop(entry->object);
            free(entry);
        }
    }
}

static int export_object(struct syncobj *object, int32_t *fd) {
    forget_closed_exports();
    struct export *const entry = calloc(1, sizeof *entry);
    struct stat64 status;
    *fd = entry ? named_socket_new("syncobj", false) : -1;
    if (*fd < 0 || REAL(fstat64)(*fd, &status)) {
        free(entry);
        return entry ? errno : ENOMEM;
    }
    *entry = (struct export){.next = exports, .inode = status.st_ino, .object = object};
    exports = entry;
    object->refs++;
    return 0;
}

int syncobj_to_fd(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_syncobj_fd *const request = argument;
    struct syncobj *const object = syncobj_lookup(file, request->handle);
    if (request->pad || request->flags & ~(uint32_t)SYNCOBJ_FD_SYNC_FILE || !object) {
        return EINVAL;
    }
    if (!(request->flags & SYNCOBJ_FD_SYNC_FILE)) {
        return export_object(object, &request->fd);
    }
    if (object->count == 0) {
        return EINVAL;
    }
    struct drm_file *const pending = pending_file(&object->fences[0]);
    if (pending && object->count == 1 && object->fences[0].sequence == pending->connection.submitted) {
        request->fd = sync_file_after_submissions(pending);
    } else {
        wait_until_done(object, 0);
        request->fd = sync_file_new();
    }
    return request->fd < 0 ? errno : 0;
}

int syncobj_from_fd(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_syncobj_fd *const request = argument;
    if (request->pad || request->flags & ~(uint32_t)SYNCOBJ_FD_SYNC_FILE) {
        return EINVAL;
    }
    if (request->flags & SYNCOBJ_FD_SYNC_FILE) {
        uint64_t sequence = 0;
        const struct drm_file *const origin = sync_file_origin(request->fd, &sequence);
        int error = EAGAIN;
        while (!origin && error == EAGAIN) {
            error = sync_file_wait_before(request->fd, NULL);
        }
        struct syncobj *const object = syncobj_lookup(file, request->handle);
        error = origin ? 0 : error;
        if (error || !object) {
            return error ? error : ENOENT;
        }
        return set_fence(object, origin ? (struct syncobj_fence){.file = origin->id, .sequence = sequence}
                                        : (struct syncobj_fence){0});
    }
    struct stat64 status;
    if (!REAL(fstat64)(request->fd, &status) && named_socket_is(request->fd, "syncobj")) {
        for (const struct export *entry = exports; entry; entry = entry->next) {
            if (entry->inode == status.st_ino) {
                entry->object->refs++;
                return add(file, entry->object, &request->handle);
            }
        }
    }
    return EINVAL;
}

/* --- ioctls: arrays of objects --- */

/* Objects, with a reference each, and their points. */
struct syncobj_list {
    struct syncobj **objects;
    uint64_t *points;
    uint32_t count;
};

static void list_free(struct syncobj_list *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        drop(list->objects[i]);
    }
    free(list->objects);
    free(list->points);
}

/* `points` 0: all zero. */
static int list_read(struct syncobj_list *list, const struct drm_file *file, uint64_t handles, uint64_t points,
                     uint32_t count) {
    *list = (struct syncobj_list){0};
    if (count > MAX_HANDLES) {
        return ENOMEM;
    }
    uint32_t *const numbers = calloc(count, sizeof *numbers);
    list->objects = calloc(count, sizeof(struct syncobj *));
    list->points = calloc(count, sizeof *list->points);
    int error = 0;
    if (!numbers || !list->objects || !list->points) {
        error = ENOMEM;
    } else if (!user_read(numbers, handles, count * sizeof *numbers) ||
               (points && !user_read(list->points, points, count * sizeof *list->points))) {
        error = EFAULT;
    }
    for (uint32_t i = 0; i < count && !error; i++) {
        struct syncobj *const object = syncobj_lookup(file, numbers[i]);
        if (object) {
            object->refs++;
            list->objects[list->count++] = object;
        } else {
            error = ENOENT;
        }
    }
    free(numbers);
    if (error) {
        list_free(list);
    }
    return error;
}

/* The state of a wait. */
struct progress {
    uint32_t done, first_done, unsubmitted;
    struct drm_file *pending; /* a file with a pending submission, or NULL */
};

static struct progress examine(const struct syncobj_list *list, uint32_t flags) {
    struct progress progress = {.first_done = UINT32_MAX};
    for (uint32_t i = 0; i < list->count; i++) {
        const bool submitted = fences_until(list->objects[i], list->points[i]) != 0;
        struct drm_file *const held =
            submitted && !(flags & SYNCOBJ_WAIT_AVAILABLE) ? pending_file_of(list->objects[i], list->points[i]) : NULL;
        if (!submitted) {
            progress.unsubmitted++;
        } else if (held) {
            progress.pending = held;
        } else {
            progress.done++;
            progress.first_done = progress.first_done == UINT32_MAX ? i : progress.first_done;
        }
    }
    return progress;
}

static int wait_for(const struct syncobj_list *list, uint32_t flags, int64_t timeout, uint32_t *first) {
    for (;;) {
        const struct progress progress = examine(list, flags);
        if (progress.unsubmitted && !(flags & (SYNCOBJ_WAIT_FOR_SUBMIT | SYNCOBJ_WAIT_AVAILABLE))) {
            return EINVAL;
        }
        if (progress.done == list->count || (progress.done && !(flags & SYNCOBJ_WAIT_ALL))) {
            *first = progress.first_done;
            return 0;
        }
        const int64_t now = shim_now();
        if (timeout <= now) {
            return ETIME;
        }
        if (!progress.pending) {
            shim_pause(timeout);
            continue;
        }
        /* Something other than this connection may end the wait. */
        const bool several = progress.unsubmitted || progress.done + 1 < list->count;
        const int64_t soon = now + slice;
        progress.pending->refs++;
        connection_pause(&progress.pending->connection, several && soon < timeout ? soon : timeout);
        drm_file_put(progress.pending);
    }
}

int syncobj_wait(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_syncobj_wait *const request = argument;
    if (request->flags & ~(uint32_t)(SYNCOBJ_WAIT_ALL | SYNCOBJ_WAIT_FOR_SUBMIT)) {
        return EINVAL;
    }
    if (request->count == 0) {
        return 0;
    }
    struct syncobj_list list;
    int error = list_read(&list, file, request->handles, 0, request->count);
    if (!error) {
        error = wait_for(&list, request->flags, request->timeout, &request->first_signaled);
        list_free(&list);
    }
    return error;
}

int syncobj_timeline_wait(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct drm_syncobj_timeline_wait *const request = argument;
    if (request->flags & ~(uint32_t)(SYNCOBJ_WAIT_ALL | SYNCOBJ_WAIT_FOR_SUBMIT | SYNCOBJ_WAIT_AVAILABLE)) {
        return EINVAL;
    }
    if (request->count == 0) {
        return 0;
    }
    struct syncobj_list list;
    int error = list_read(&list, file, request->handles, request->points, request->count);
    if (!error) {
        error = wait_for(&list, request->flags, request->timeout, &request->first_signaled);
        list_free(&list);
    }
    return error;
}

int syncobj_reset(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct drm_syncobj_array *const request = argument;
    struct syncobj_list list;
    if (request->pad || request->count == 0) {
        return EINVAL;
    }
    const int error = list_read(&list, file, request->handles, 0, request->count);
    if (!error) {
        for (uint32_t i = 0; i < list.count; i++) {
            list.objects[i]->count = 0;
        }
        list_free(&list);
    }
    return error;
}

int syncobj_signal(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct drm_syncobj_array *const request = argument;
    struct syncobj_list list;
    if (request->pad || request->count == 0) {
        return EINVAL;
    }
    int error = list_read(&list, file, request->handles, 0, request->count);
    if (!error) {
        for (uint32_t i = 0; i < list.count && !error; i++) {
            error = set_fence(list.objects[i], (struct syncobj_fence){0});
        }
        list_free(&list);
    }
    return error;
}

int syncobj_timeline_signal(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct drm_syncobj_timeline_array *const request = argument;
    struct syncobj_list list;
    if (request->flags || request->count == 0) {
        return EINVAL;
    }
    int error = list_read(&list, file, request->handles, request->points, request->count);
    if (!error) {
        for (uint32_t i = 0; i < list.count && !error; i++) {
            error = set_fence(list.objects[i], (struct syncobj_fence){.point = list.points[i]});
        }
        list_free(&list);
    }
    return error;
}

/* The last point up to which everything has completed or, if `submitted`, has been submitted. */
static uint64_t reached(const struct syncobj *object, bool submitted) {
    uint64_t point = 0;
    for (uint32_t i = 0; i < object->count && (submitted || !pending_file(&object->fences[i])); i++) {
        point = object->fences[i].point;
    }
    return point;
}

int syncobj_query(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct drm_syncobj_timeline_array *const request = argument;
    struct syncobj_list list;
    if (request->flags & ~(uint32_t)SYNCOBJ_QUERY_LAST_SUBMITTED || request->count == 0) {
        return EINVAL;
    }
    int error = list_read(&list, file, request->handles, 0, request->count);
    if (!error) {
        for (uint32_t i = 0; i < list.count; i++) {
            list.points[i] = reached(list.objects[i], request->flags & SYNCOBJ_QUERY_LAST_SUBMITTED);
        }
        error = user_write(request->points, list.points, list.count * sizeof *list.points) ? 0 : EFAULT;
        list_free(&list);
    }
    return error;
}

int syncobj_transfer(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct drm_syncobj_transfer *const request = argument;
    if (request->pad || request->flags & ~(uint32_t)SYNCOBJ_WAIT_FOR_SUBMIT) {
        return EINVAL;
    }
    struct syncobj *const source = syncobj_lookup(file, request->source);
    struct syncobj *const destination = syncobj_lookup(file, request->destination);
    if (!source || !destination) {
        return ENOENT;
    }
    source->refs++;
    destination->refs++;
    while (request->flags & SYNCOBJ_WAIT_FOR_SUBMIT && fences_until(source, request->source_point) == 0) {
        shim_pause(INT64_MAX);
    }
    const uint32_t count = fences_until(source, request->source_point);
    int error = EINVAL;
    if (count) {
        struct syncobj_fence fence = source->fences[count - 1];
        fence.point = request->destination_point;
        error = set_fence(destination, fence);
    }
    drop(source);
    drop(destination);
    return error;
}
