/* Sockets that stand for something: their own address, which any process can ask for, tells what (spec/80 3.9). */
#ifndef SHIM_TOKENS_H
#define SHIM_TOKENS_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bind a socket to the name of its kind. */
bool named_socket_bind(int fd, const char *kind);
/* A new one for poll(): readable for ever when `ready`.  -1 with errno. */
int named_socket_new(const char *kind, bool ready);
bool named_socket_is(int fd, const char *kind);
/* Some process still has the token with this inode. */
bool named_socket_is_open(const char *kind, uint64_t inode);

#endif
