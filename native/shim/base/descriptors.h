/* Hidden descriptors: the shim's own sockets and memfds, which the program must not close.
 *
 * They have high numbers.  For the program they do not exist: close() and dup2() on them fail with EBADF.
 */
#ifndef SHIM_DESCRIPTORS_H
#define SHIM_DESCRIPTORS_H
#include <stdbool.h>

/* Take ownership of `fd`, move it to a high number and return that.  -1 stays -1. */
int descriptor_hide(int fd);
/* Close a hidden descriptor; -1 is ignored. */
void descriptor_close(int fd);
bool descriptor_is_hidden(int fd);
/* The lowest hidden descriptor in first..last, or -1. */
int descriptor_next(unsigned first, unsigned last);

/* Send to and receive from a socket; `passed` is a descriptor that goes with the data, or -1. */
long descriptor_send(int socket, const void *data, unsigned long size, int passed);
long descriptor_receive(int socket, void *data, unsigned long size, int *passed, int flags);

#endif
