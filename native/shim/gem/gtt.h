/* The graphics address space of an open file: allocates addresses, and collects the changes for the server. */
#ifndef SHIM_GTT_H
#define SHIM_GTT_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/gem/gem_object.h"

struct vma *vma_create(struct drm_file *file, struct gem_object *object);
/* Unbind and free. */
void vma_destroy(struct vma *vma);
/* The object's memory has moved: bind the new memory at the same address, if bound. */
void vma_rebind(struct vma *vma);

/* Requirements on an address. */
struct gtt_request {
    uint64_t alignment; /* 0 or a power of two */
    uint64_t minimum;
    uint64_t limit;   /* end of the addresses that the client accepts; 0: any */
    uint64_t size;    /* of the object and the padding after it, if larger than the object */
    bool pinned;      /* it must be at `address` */
    uint64_t address; /* otherwise, a proposal, which is followed if it is free; 0: there is none */
};

/* Bind a VMA, or keep its address if that will do.  Evicts others, but not those with this stamp; 0 or an errno. */
int gtt_bind(struct vma *vma, const struct gtt_request *request, uint64_t stamp);
void gtt_unbind(struct vma *vma);
/* Unbind all VMAs of a file, so that the free space is contiguous. */
void gtt_unbind_all(struct drm_file *file);
/* Send the changes to the server; false: it is gone. */
bool gtt_flush(struct drm_file *file);
/* In the child of a fork: unbind everything without telling the server. */
void gtt_forget(struct drm_file *file);

#endif
