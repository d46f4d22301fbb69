/* Linear views of tiled buffers, which a real machine's fences give on the fly (spec/80 3.6, option A).
 *
 * A view is a copy.  What the program wrote into it is found by comparison with a second copy, and put into the buffer
 * before anybody looks there; what the GPU wrote into the buffer is put into the view when it is done.
 */
#ifndef SHIM_VIEWS_H
#define SHIM_VIEWS_H
#include <stdint.h>

#include "objects.h"

/* The file and place of the object's view, which is made if need be; NULL: no memory. */
struct store *view_store(struct object *object);
uint64_t view_offset(const struct object *object);
/* A good place for a map of all of it, which is the caller's to fill; NULL when it is taken. */
void *view_room(struct object *object, uint64_t length);
/* Program to buffer. */
void view_pick_up(struct object *object);
/* Buffer to program; pick up first. */
void view_refresh(struct object *object);
/* For waits: crocus does not flag depth buffers as written, so whatever batches used may have changed. */
void view_settle(struct object *object);
void view_destroy(struct object *object);
/* In the child. */
void views_after_fork(void);

#endif
