/* The graphics address space of an open file: who is where, and what the server has to hear of it (spec/80 3.3). */
#ifndef SHIM_GTT_H
#define SHIM_GTT_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/gem/gem_object.h"

struct vma *vma_create(struct drm_file *file, struct gem_object *object);
/* Unbinds; the place is gone. */
void vma_destroy(struct vma *vma);
/* The object has other memory now: tell the server when it is bound. */
void vma_rebind(struct vma *vma);

/* Demands on an address. */
struct gtt_request {
    uint64_t alignment; /* 0 or a power of two */
    uint64_t minimum;
    bool pinned;
    uint64_t address;
};

/* Give a place an address, or keep the one it has.  Those whose stamp is `stamp` are not evicted; 0 or an errno. */
int gtt_bind(struct vma *vma, const struct gtt_request *request, uint64_t stamp);
void gtt_unbind(struct vma *vma);
/* Unbind all of a file, so that there is one free range. */
void gtt_unbind_all(struct drm_file *file);
/* Send what has changed; false: the server is gone. */
bool gtt_flush(struct drm_file *file);
/* In the child of a fork: nothing is bound with its server. */
void gtt_forget(struct drm_file *file);

#endif
