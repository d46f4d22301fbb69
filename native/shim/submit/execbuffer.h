/* One EXECBUFFER2 on its way (spec/80 3.3). */
#ifndef SHIM_SUBMISSION_H
#define SHIM_SUBMISSION_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/gem/gem_object.h"
#include "shim/submit/syncobjs.h"
#include "shim/uapi.h"

struct submission_fence {
    uint32_t handle, flags;
    uint64_t point;
};

struct submission {
    struct drm_file *file;
    struct i915_execbuffer2 *exec; /* the ioctl's argument */
    struct i915_exec_object *objects;
    struct vma **vmas; /* of the objects */
    bool *written;
    struct gem_object **seen; /* by others than the GPU: written ones that are shown or shared */
    struct submission_fence *fences;
    uint32_t fence_count;
    uint32_t batch; /* index */
    uint32_t engine;
    uint64_t stamp;
};

/* These return 0, an errno, or EAGAIN: the lock was given up, everything has to be looked up again. */
int relocate(struct submission *submission);
int fences_read(struct submission *submission);
int fences_wait(const struct submission *submission);
/* After the submission `sequence`. */
int fences_signal(const struct submission *submission, uint64_t sequence);

int execbuffer_ioctl(struct drm_file *file, void *argument, uint32_t size);

#endif
