/* Sockets whose own address, gen4emu/KIND/INODE, tells any process with a shim what they stand for. */
#ifndef SHIM_NAMED_SOCKET_H
#define SHIM_NAMED_SOCKET_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bind a socket to the address of its kind. */
bool named_socket_bind(int fd, const char *kind);
/* A new named socket; if `ready`, poll() always reports it readable.  -1 with errno. */
int named_socket_new(const char *kind, bool ready);
bool named_socket_is(int fd, const char *kind);
/* True while some process has the socket with this inode open. */
bool named_socket_is_open(const char *kind, uint64_t inode);

#endif
