#include "shim/submit/execbuffer.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/lock.h"
#include "shim/base/user.h"
#include "shim/device/chips.h"
#include "shim/gem/cpu_view.h"
#include "shim/gem/gtt.h"
#include "shim/submit/contexts.h"
#include "shim/submit/notes.h"
#include "shim/submit/sync_file.h"

enum {
    MAX_OBJECTS = 1 << 20
};

static const uint64_t batch_minimum = 0x40000; /* lowest address of a batch with relocations */

/* --- the argument --- */

/* Only a privileged master of the display may; with the shim, every client of the card node is one. */
static bool may_submit_secure(const struct drm_file *file) {
    return chip_has_secure_batches(file) && file->minor == DRM_MINOR_CARD && geteuid() == 0;
}

static int check(const struct drm_file *file, struct i915_execbuffer2 *exec) {
    const uint64_t flags = exec->flags;
    if (flags & ~(uint64_t)EXEC_KNOWN_FLAGS || flags & (EXEC_CONSTANTS_MASK | EXEC_RESOURCE_STREAMER)) {
        return EINVAL;
    }
    if (!(flags & (EXEC_FENCE_ARRAY | EXEC_USE_EXTENSIONS)) && (exec->cliprect_count || exec->cliprects)) {
        return EINVAL;
    }
    if (exec->dr4 == UINT32_MAX) {
        exec->dr4 = 0;
    }
    if (exec->dr1 || exec->dr4 || (exec->start | exec->length) & 7) {
        return EINVAL;
    }
    if (flags & EXEC_SECURE && !may_submit_secure(file)) {
        return EPERM;
    }
    if (exec->count == 0 || exec->count > MAX_OBJECTS) {
        return EINVAL;
    }
    const struct context *const context = context_lookup(file, (uint32_t)exec->context);
    const int engine = context ? context_engine(file, context, flags) : -1;
    if (context && (engine < 0 || (flags & EXEC_BSD_SELECT_MASK && engine != G4_LIVE_VIDEO))) {
        return EINVAL;
    }
    if (flags & EXEC_GEN7_SOL_RESET && (!chip_can_reset_offsets(file) || (context && engine != G4_LIVE_RENDER))) {
        return EINVAL;
    }
    return (flags & EXEC_FENCE_IN) && (flags & EXEC_FENCE_SUBMIT) ? EINVAL : 0;
}

/* --- the objects --- */

static int lookup_objects(struct submission *submission) {
    struct drm_file *const file = submission->file;
    const uint32_t count = submission->exec->count;
    if (!user_read(submission->objects, submission->exec->objects, count * sizeof submission->objects[0])) {
        return EFAULT;
    }
    submission->stamp = ++file->stamp;
    for (uint32_t i = 0; i < count; i++) {
        struct vma *const vma = vma_lookup(file, submission->objects[i].handle);
        if (!vma) {
            return ENOENT;
        }
        if (vma->stamp == submission->stamp) {
            return EINVAL;
        }
        vma->stamp = submission->stamp;
        vma->index = i;
        submission->vmas[i] = vma;
        submission->written[i] = submission->objects[i].flags & EXEC_OBJECT_WRITE;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct i915_exec_object *const object = &submission->objects[i];
        const bool pinned = object->flags & EXEC_OBJECT_PINNED;
        const bool padded = object->flags & EXEC_OBJECT_PAD_TO_SIZE;
        if (object->flags & ~(uint64_t)EXEC_OBJECT_KNOWN_FLAGS || object->alignment & (object->alignment - 1) ||
            (padded && object->pad_to_size & 4095)) {
            return EINVAL;
        }
        if (pinned &&
            (object->offset & (4095 | (object->alignment ? object->alignment - 1 : 0)) ||
             object->offset != chip_address_to_client(file, chip_address_from_client(file, object->offset)))) {
            return EINVAL;
        }
        submission->objects[i].offset = chip_address_from_client(file, object->offset);
    }
    return 0;
}

static int check_batch(struct submission *submission) {
    struct i915_execbuffer2 *const exec = submission->exec;
    submission->batch = exec->flags & EXEC_BATCH_FIRST ? 0 : exec->count - 1;
    const uint64_t size = submission->vmas[submission->batch]->object->size;
    if (submission->objects[submission->batch].flags & EXEC_OBJECT_WRITE || exec->start > size ||
        exec->length > size - exec->start) {
        return EINVAL;
    }
    return exec->length == 0 && exec->start == size ? EINVAL : 0;
}

/* --- addresses --- */

/* Without the flag for wider ones, clients expect addresses of 32 bits, of which the kernel leaves out the last page.
 */
static uint64_t address_limit(const struct drm_file *file, const struct i915_exec_object *object) {
    static const uint64_t narrow = ((uint64_t)1 << 32) - 4096;
    const uint64_t size = chip_gtt_size(file);
    return object->flags & EXEC_OBJECT_48_BITS || size < narrow ? size : narrow;
}

/* Bytes of addresses that an object takes, with padding. */
static uint64_t span_of(const struct submission *submission, uint32_t index) {
    const struct i915_exec_object *const object = &submission->objects[index];
    const uint64_t size = submission->vmas[index]->object->size;
    return object->flags & EXEC_OBJECT_PAD_TO_SIZE && object->pad_to_size > size ? object->pad_to_size : size;
}

/* Bind the objects that are pinned, or the others; `proposed`: these where the client proposes it, if that is free. */
static int bind_some(struct submission *submission, bool pinned, bool proposed) {
    for (uint32_t i = 0; i < submission->exec->count; i++) {
        const struct i915_exec_object *const object = &submission->objects[i];
        if (!!(object->flags & EXEC_OBJECT_PINNED) != pinned) {
            continue;
        }
        const uint64_t limit = address_limit(submission->file, object);
        if (pinned && (object->offset >= limit || span_of(submission, i) > limit - object->offset)) {
            return EINVAL;
        }
        const struct gtt_request request = {
            .alignment = object->alignment,
            .limit = limit,
            .minimum = i == submission->batch && object->relocation_count ? batch_minimum : 0,
            .size = span_of(submission, i),
            .pinned = pinned,
            .address = pinned || proposed ? object->offset : 0,
        };
        const int error = gtt_bind(submission->vmas[i], &request, submission->stamp);
        if (error) {
            return error;
        }
    }
    return 0;
}

/* Unbind buffers of this submission that overlap the addresses of pinned ones. */
static void unbind_overlapping(struct submission *submission) {
    for (uint32_t i = 0; i < submission->exec->count; i++) {
        if (!(submission->objects[i].flags & EXEC_OBJECT_PINNED)) {
            continue;
        }
        const uint64_t start = submission->objects[i].offset;
        const uint64_t end = start + span_of(submission, i);
        for (uint32_t other = 0; other < submission->exec->count; other++) {
            struct vma *const vma = submission->vmas[other];
            const bool moves = vma->bound && vma->address < end && start < vma->address + vma->reserved;
            if (moves && !(submission->objects[other].flags & EXEC_OBJECT_PINNED &&
                           submission->objects[other].offset == vma->address)) {
                gtt_unbind(vma);
            }
        }
    }
}

static int bind_all(struct submission *submission) {
    unbind_overlapping(submission);
    int error = bind_some(submission, true, false);
    error = error ? error : bind_some(submission, false, true);
    if (error == ENOSPC) {
        /* The free space may be fragmented, also by proposed addresses. */
        gtt_unbind_all(submission->file);
        error = bind_some(submission, true, false);
        error = error ? error : bind_some(submission, false, false);
    }
    return error;
}

/* --- submit --- */

static bool send_objects(struct submission *submission) {
    enum {
        MAX_ITEMS = (G4_LIVE_MAX_PACKET - sizeof(struct g4_live_objects)) / sizeof(struct g4_live_object)
    };
    static _Alignas(8) uint8_t packet[G4_LIVE_MAX_PACKET];
    struct g4_live_objects *const header = (struct g4_live_objects *)packet;
    struct g4_live_object *const objects = (struct g4_live_object *)(packet + sizeof *header);
    const bool recorded = submission->file->connection.welcome.records_buffers;
    const uint32_t count = recorded ? submission->exec->count : 0;
    for (uint32_t done = 0; done < count;) {
        uint32_t part = 0;
        for (; part < MAX_ITEMS && done < count; part++, done++) {
            const struct vma *const vma = submission->vmas[done];
            const bool captured = submission->objects[done].flags & EXEC_OBJECT_CAPTURE;
            objects[part] = (struct g4_live_object){
                .address = vma->address,
                .size = vma->object->size,
                .flags = (submission->written[done] ? G4_LIVE_OBJECT_WRITTEN : 0u) |
                         (captured ? G4_LIVE_OBJECT_CAPTURE : 0u),
                .tiling = vma->object->tiling,
                .pitch = vma->object->pitch,
            };
        }
        *header = (struct g4_live_objects){.header = {.type = G4_LIVE_OBJECTS}, .count = part};
        if (!connection_send(&submission->file->connection, packet, sizeof *header + part * sizeof *objects, -1)) {
            return false;
        }
    }
    return true;
}

static int send(struct submission *submission) {
    struct drm_file *const file = submission->file;
    const struct i915_execbuffer2 *const exec = submission->exec;
    uint64_t new_bytes = 0;
    for (uint32_t i = 0; i < exec->count; i++) {
        const struct vma *const vma = submission->vmas[i];
        cpu_view_write_back(vma->object);
        new_bytes += vma->last_use ? 0 : vma->object->size;
    }
    const struct vma *const batch = submission->vmas[submission->batch];
    struct g4_live_exec packet = {
        .context = (uint32_t)exec->context,
        .engine = (uint32_t)submission->engine,
        .address = batch->address + exec->start,
        .length = exec->length ? exec->length : (uint32_t)(batch->object->size - exec->start),
        .slot = context_slot(file, exec),
        .flags = exec->flags & EXEC_GEN7_SOL_RESET ? G4_LIVE_EXEC_RESET_OFFSETS : 0,
    };
    if (!gtt_flush(file) || !send_objects(submission) || !notes_send(&file->connection) ||
        !connection_submit(&file->connection, &packet, new_bytes)) {
        return EIO;
    }
    const uint64_t sequence = file->connection.submitted;
    for (uint32_t i = 0; i < exec->count; i++) {
        struct vma *const vma = submission->vmas[i];
        vma->last_use = sequence;
        vma->used_by[submission->engine] = sequence;
        vma->object->used = true;
        if (submission->written[i]) {
            vma->last_write = sequence;
            vma->writer = (enum g4_live_engine)submission->engine;
        }
        const uint64_t address = chip_address_to_client(file, vma->address);
        if (submission->objects[i].offset != vma->address) {
            (void)user_write(exec->objects + i * sizeof submission->objects[0] +
                                 offsetof(struct i915_exec_object, offset),
                             &address, sizeof address);
        }
    }
    return exec_fences_signal(submission, sequence);
}

/* CPU views must be coherent without a fault, and other processes have no fence to wait on; so wait here. */
static void wait_where_needed(struct submission *submission) {
    struct drm_file *const file = submission->file;
    const uint64_t sequence = file->connection.submitted;
    uint32_t count = 0;
    for (uint32_t i = 0; i < submission->exec->count; i++) {
        struct gem_object *const object = submission->vmas[i]->object;
        if (submission->written[i] && (object->view || object->shared)) {
            submission->seen[count++] = gem_object_get(object);
        }
    }
    if (count) {
        (void)connection_wait(&file->connection, sequence, INT64_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        cpu_view_write_back(submission->seen[i]);
        cpu_view_refresh(submission->seen[i]);
        gem_object_put(submission->seen[i]);
    }
}

static int try_submit(struct submission *submission) {
    struct drm_file *const file = submission->file;
    int error = drm_file_connect(file);
    const struct context *const context = context_lookup(file, (uint32_t)submission->exec->context);
    if (!error && !context) {
        error = ENOENT;
    }
    if (!error && file->connection.submitted - file->connection.completed >= CONNECTION_MAX_PENDING) {
        (void)connection_wait(&file->connection, file->connection.submitted - CONNECTION_MAX_PENDING + 1, INT64_MAX);
        return EAGAIN;
    }
    if (!error && context->banned) {
        error = EIO;
    }
    submission->engine = error ? -1 : context_engine(file, context, submission->exec->flags);
    if (!error && submission->engine < 0) {
        error = EINVAL;
    }
    error = error ? error : lookup_objects(submission);
    error = error ? error : check_batch(submission);
    error = error ? error : exec_fences_wait(submission);
    error = error ? error : bind_all(submission);
    error = error ? error : relocate(submission);
    return error ? error : send(submission);
}

/* A client that takes new buffers for each submission would use ever more memory while it is ahead of the server.  If
 * it waits, it finds those that it has freed idle, and takes them again.  The wait is bounded, because a submission may
 * itself wait for the client. */
static void throttle(struct drm_file *file) {
    static const uint64_t limit = (uint64_t)256 << 20; /* bytes */
    static const int64_t longest = 2000000000;         /* ns */
    const struct connection *const connection = &file->connection;
    const int64_t deadline = shim_now() + longest;
    while (connection_new_bytes(connection) > limit &&
           !connection_wait(&file->connection, connection->completed + 1, deadline)) {
    }
}

int execbuffer_ioctl(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct i915_execbuffer2 *const exec = argument;
    struct submission submission = {.file = file, .exec = exec};
    int error = check(file, exec);
    if (error) {
        return error;
    }
    submission.objects = calloc(exec->count, sizeof submission.objects[0]);
    submission.vmas = calloc(exec->count, sizeof(struct vma *));
    submission.written = calloc(exec->count, sizeof submission.written[0]);
    submission.seen = calloc(exec->count, sizeof(struct gem_object *));
    if (!submission.objects || !submission.vmas || !submission.written || !submission.seen) {
        error = ENOMEM;
    }
    error = error ? error : exec_fences_read(&submission);
    if (!error) {
        connection_receive(&file->connection);
        throttle(file);
        do {
            error = try_submit(&submission);
        } while (error == EAGAIN);
    }
    const bool submitted = !error;
    if (!error && exec->flags & EXEC_FENCE_OUT) {
        const int fd = sync_file_after_submissions(file);
        exec->fences = (exec->fences & UINT32_MAX) | (uint64_t)(uint32_t)fd << 32;
        error = fd < 0 ? EMFILE : 0;
    }
    if (submitted) {
        wait_where_needed(&submission);
    }
    free(submission.objects);
    free(submission.vmas);
    free(submission.written);
    free(submission.seen);
    free(submission.fences);
    return error;
}
