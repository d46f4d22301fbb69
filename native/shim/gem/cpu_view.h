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
struct store *view_store(struct object *object);
uint64_t view_offset(const struct object *object);
/* Program to buffer. */
void view_pick_up(struct object *object);
/* Buffer to program; pick up first. */
void view_refresh(struct object *object);
/* For waits: crocus does not flag depth buffers as written, so whatever batches used may have changed. */
void view_settle(struct object *object);
/* No map may show it. */
void view_destroy(struct object *object);
/* The object has no view afterwards; who takes it frees it when no map shows it any more.  Both know NULL. */
struct view *view_take(struct object *object);
void view_free(const struct object *object, struct view *view);
/* In the child. */
void views_after_fork(void);

#endif
