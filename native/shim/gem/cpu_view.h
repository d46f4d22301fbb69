/* Linear CPU views of tiled buffers; on a real machine, fence registers detile accesses through the aperture.
 *
 * A view is a copy.  The program's writes are found by comparison with a second copy and written back to the buffer
 * before the GPU or another reader uses it; the GPU's writes are copied into the view when the GPU is done.
 */
#ifndef SHIM_CPU_VIEW_H
#define SHIM_CPU_VIEW_H
#include <stdint.h>

#include "shim/gem/gem_object.h"

/* The memfd with the object's view, which is created on demand; NULL: no memory. */
struct memfd *cpu_view_memfd(struct gem_object *object);
uint64_t cpu_view_offset(const struct gem_object *object);
/* Copy the program's changes to the buffer.  No-op without a view. */
void cpu_view_write_back(struct gem_object *object);
/* Copy the buffer to the view; the program's changes must have been written back.  No-op without a view. */
void cpu_view_refresh(struct gem_object *object);
/* After a wait: write back and refresh if a batch has used the object since the last refresh.  crocus does not flag
 * depth buffers as written, so any use counts. */
void cpu_view_sync(struct gem_object *object);
/* No mapping may show the view. */
void cpu_view_destroy(struct gem_object *object);
/* Take the view from the object.  The caller frees it once no mapping shows it.  Both functions accept NULL. */
struct cpu_view *cpu_view_detach(struct gem_object *object);
void cpu_view_free(const struct gem_object *object, struct cpu_view *view);
/* In the child of a fork. */
void cpu_view_after_fork(void);

#endif
