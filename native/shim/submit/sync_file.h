/* Sync files: descriptors that poll() reports readable once something has completed.
 *
 * The shim creates them after completion only, so nothing signals them later.
 */
#ifndef SHIM_SYNC_FILE_H
#define SHIM_SYNC_FILE_H
#include <stdbool.h>

/* A signalled sync file, or -1. */
int sync_file_new(void);
/* 0, or EINVAL if `fd` is not a sync file of the shim. */
int sync_file_wait(int fd);
/* ioctl() of a sync file of the shim; false: `fd` is not one, or the request is unknown. */
bool sync_file_ioctl(int fd, unsigned long request, void *argument, int *error);

#endif
