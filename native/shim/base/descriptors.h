/* Descriptors that the program did not open and must not close: sockets and memory files of the shim.
 *
 * They live at high numbers.  To the program they do not exist: closing one fails, and dup2() moves ours out of the
 * way.
 */
#ifndef SHIM_DESCRIPTORS_H
#define SHIM_DESCRIPTORS_H
#include <stdbool.h>

/* Takes `fd` over, to a high number; returns that.  -1 stays -1. */
int descriptor_hide(int fd);
/* Close one of ours. */
void descriptor_close(int fd);
bool descriptor_is_hidden(int fd);
/* The lowest hidden one in first..last, or -1. */
int descriptor_next(unsigned first, unsigned last);

/* Send to and receive from a socket, with a descriptor or -1. */
long descriptor_send(int socket, const void *data, unsigned long size, int passed);
long descriptor_receive(int socket, void *data, unsigned long size, int *passed, int flags);

#endif
