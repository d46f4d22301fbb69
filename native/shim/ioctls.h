/* Which ioctl does what (spec/80 2.2). */
#ifndef SHIM_IOCTLS_H
#define SHIM_IOCTLS_H
#include <stdbool.h>

/* False: `fd` is none of ours.  Otherwise `result` is what ioctl() returns, with errno. */
bool ioctl_dispatch(int fd, unsigned long request, void *argument, int *result);

#endif
