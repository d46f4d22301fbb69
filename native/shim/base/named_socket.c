#define _GNU_SOURCE
#include "shim/base/named_socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/real.h"

/* In the abstract namespace: the name disappears with the socket, and there is no file. */
static socklen_t make_name(struct sockaddr_un *address, const char *kind, uint64_t inode) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "gen4emu/%s/%llu", kind,
                                (unsigned long long)inode);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

bool named_socket_bind(int fd, const char *kind) {
    struct stat64 status;
    struct sockaddr_un address;
    if (REAL(fstat64)(fd, &status)) {
        return false;
    }
    const socklen_t length = make_name(&address, kind, status.st_ino);
    return bind(fd, (struct sockaddr *)&address, length) == 0;
}

int named_socket_new(const char *kind, bool ready) {
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    if (fd >= 0 && named_socket_bind(fd, kind) && getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
        (!ready || sendto(fd, "", 1, MSG_NOSIGNAL, (struct sockaddr *)&address, length) == 1)) {
        return fd;
    }
    if (fd >= 0) {
        REAL(close)(fd);
    }
    return -1;
}

bool named_socket_is(int fd, const char *kind) {
    struct stat64 status;
    struct sockaddr_un wanted;
    struct sockaddr_un found = {0};
    socklen_t length = sizeof found;
    if (REAL(fstat64)(fd, &status) || !S_ISSOCK(status.st_mode) ||
        getsockname(fd, (struct sockaddr *)&found, &length)) {
        return false;
    }
    return length == make_name(&wanted, kind, status.st_ino) && memcmp(&found, &wanted, length) == 0;
}

bool named_socket_is_open(const char *kind, uint64_t inode) {
    struct sockaddr_un address;
    const socklen_t length = make_name(&address, kind, inode);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return true;
    }
    const bool alive = connect(fd, (struct sockaddr *)&address, length) == 0;
    REAL(close)(fd);
    return alive;
}
