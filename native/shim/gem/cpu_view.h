/* Linear views of tiled buffers, which a real machine's fences give on the fly (spec/80 3.6, option A).
 *
 * A view is a copy.  What the program wrote into it is found by comparison with a second copy, and put into the buffer
 * before anybody looks there; what the GPU wrote into the buffer is put into the view when it is done.
 */
#ifndef SHIM_VIEWS_H
#define SHIM_VIEWS_H
#include <stdint.h>

#include "shim/gem/gem_object.h"

/* The file and place of the object's view, which is made if need be; NULL: no memory. */
struct memfd *cpu_view_memfd(struct gem_object *object);
uint64_t cpu_view_offset(const struct gem_object *object);
/* Program to buffer. */
void cpu_view_write_back(struct gem_object *object);
/* Buffer to program; pick up first. */
void cpu_view_refresh(struct gem_object *object);
/* For waits: crocus does not flag depth buffers as written, so whatever batches used may have changed. */
void cpu_view_sync(struct gem_object *object);
/* No map may show it. */
void cpu_view_destroy(struct gem_object *object);
/* The object has no view afterwards; who takes it frees it when no map shows it any more.  Both know NULL. */
struct cpu_view *cpu_view_detach(struct gem_object *object);
void cpu_view_free(const struct gem_object *object, struct cpu_view *view);
/* In the child. */
void cpu_view_after_fork(void);

#endif
