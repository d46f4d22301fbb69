/* EXECBUFFER2: check, bind, relocate, send to the server. */
#ifndef SHIM_EXECBUFFER_H
#define SHIM_EXECBUFFER_H
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
    struct i915_execbuffer2 *exec; /* argument of the ioctl */
    struct i915_exec_object *objects;
    struct vma **vmas; /* by index in `objects` */
    bool *written;
    struct gem_object **seen; /* scratch: written objects with a CPU view or shared with other processes */
    struct submission_fence *fences;
    uint32_t fence_count;
    uint32_t batch; /* index in `objects` */
    int engine;     /* enum g4_live_engine */
    uint64_t stamp;
};

/* These return 0, an errno, or EAGAIN if the lock was released and everything must be looked up again. */
int relocate(struct submission *submission);
int exec_fences_read(struct submission *submission);
int exec_fences_wait(const struct submission *submission);
/* Make the fences signal after submission `sequence`; 0 or an errno. */
int exec_fences_signal(const struct submission *submission, uint64_t sequence);

int execbuffer_ioctl(struct drm_file *file, void *argument, uint32_t size);

#endif
