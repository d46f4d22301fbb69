/* Dispatch of ioctls. */
#ifndef SHIM_IOCTLS_H
#define SHIM_IOCTLS_H
#include <stdbool.h>

/* False if `fd` does not belong to the device.  Otherwise `result` and errno are those of ioctl(). */
bool ioctl_dispatch(int fd, unsigned long request, void *argument, int *result);

#endif
