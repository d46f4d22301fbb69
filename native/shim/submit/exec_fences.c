/* The fences that an EXECBUFFER2 waits for and signals. */
#include <errno.h>
#include <stdlib.h>

#include "shim/base/user.h"
#include "shim/submit/execbuffer.h"
#include "shim/submit/sync_file.h"

enum {
    MAX_FENCES = 65536
};

static int append(struct submission *submission, uint64_t fences, uint64_t points, uint64_t count) {
    if (count > MAX_FENCES - submission->fence_count) {
        return ENOMEM;
    }
    if (count == 0) {
        return 0;
    }
    struct submission_fence *const larger =
        realloc(submission->fences, (submission->fence_count + count) * sizeof *larger);
    if (!larger) {
        return ENOMEM;
    }
    submission->fences = larger;
    for (uint64_t i = 0; i < count; i++) {
        struct i915_exec_fence fence;
        uint64_t point = 0;
        if (!user_read(&fence, fences + i * sizeof fence, sizeof fence) ||
            (points && !user_read(&point, points + i * sizeof point, sizeof point))) {
            return EFAULT;
        }
        if (fence.flags & ~(uint32_t)(EXEC_FENCE_WAIT | EXEC_FENCE_SIGNAL)) {
            return EINVAL;
        }
        larger[submission->fence_count++] = (struct submission_fence){fence.handle, fence.flags, point};
    }
    return 0;
}

static int read_extensions(struct submission *submission) {
    uint64_t address = submission->exec->cliprects;
    for (int links = 0; address; links++) {
        struct i915_timeline_fences extension;
        if (links == 64) {
            return E2BIG;
        }
        if (!user_read(&extension.base, address, sizeof extension.base)) {
            return EFAULT;
        }
        if (extension.base.name != EXEC_EXTENSION_TIMELINE_FENCES || extension.base.flags) {
            return EINVAL;
        }
        if (!user_read(&extension, address, sizeof extension)) {
            return EFAULT;
        }
        const int error = append(submission, extension.handles, extension.values, extension.count);
        if (error) {
            return error;
        }
        address = extension.base.next;
    }
    return 0;
}

int exec_fences_read(struct submission *submission) {
    const struct i915_execbuffer2 *const exec = submission->exec;
    if (exec->flags & EXEC_USE_EXTENSIONS) {
        return exec->flags & EXEC_FENCE_ARRAY || exec->cliprect_count ? EINVAL : read_extensions(submission);
    }
    return exec->flags & EXEC_FENCE_ARRAY ? append(submission, exec->cliprects, 0, exec->cliprect_count) : 0;
}

int exec_fences_wait(const struct submission *submission) {
    const struct i915_execbuffer2 *const exec = submission->exec;
    if (exec->flags & (EXEC_FENCE_IN | EXEC_FENCE_SUBMIT)) {
        const int error = sync_file_wait_before((int)(uint32_t)exec->fences, submission->file);
        if (error) {
            return error;
        }
    }
    for (uint32_t i = 0; i < submission->fence_count; i++) {
        const struct submission_fence *const fence = &submission->fences[i];
        struct syncobj *const object = syncobj_lookup(submission->file, fence->handle);
        if (!object) {
            return ENOENT;
        }
        if (fence->flags & EXEC_FENCE_WAIT) {
            const int error = syncobj_wait_before(submission->file, object, fence->point);
            if (error) {
                return error;
            }
        }
    }
    return 0;
}

int exec_fences_signal(const struct submission *submission, uint64_t sequence) {
    int error = 0;
    for (uint32_t i = 0; i < submission->fence_count; i++) {
        const struct submission_fence *const fence = &submission->fences[i];
        struct syncobj *const object = syncobj_lookup(submission->file, fence->handle);
        if (object && fence->flags & EXEC_FENCE_SIGNAL) {
            const int failed = syncobj_signal_after(object, submission->file, sequence, fence->point);
            error = failed ? failed : error;
        }
    }
    return error;
}
