/* Sync files: descriptors that poll() reports readable once submissions have ended.
 *
 * Each is a socket.  The server has the other end and closes it, so that programs need no thread of the shim, and other
 * processes no shim.
 */
#ifndef SHIM_SYNC_FILE_H
#define SHIM_SYNC_FILE_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/device/drm_file.h"

/* A signalled sync file, or -1. */
int sync_file_new(void);
/* A sync file that the server signals when the submissions of `file` so far have ended; -1 with errno. */
int sync_file_after_submissions(struct drm_file *file);
/* The open file of this process whose pending submission `fd` stands for, and the number of that; else NULL. */
struct drm_file *sync_file_origin(int fd, uint64_t *sequence);
/* Before a submission of `file`, whose submissions run in order, or NULL: 0, EINVAL if `fd` is not a sync file of the
 * shim, or EAGAIN after a wait that released the lock. */
int sync_file_wait_before(int fd, const struct drm_file *file);
/* Wait with the lock held, which the server ends: it lets no submission run forever.  0, or EINVAL as above. */
int sync_file_wait(int fd);
/* ioctl() of a sync file of the shim; false: `fd` is not one, or the request is unknown. */
bool sync_file_ioctl(int fd, unsigned long request, void *argument, int *error);

#endif
