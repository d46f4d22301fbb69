#define _GNU_SOURCE
#include "shim/device/drm_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/descriptors.h"
#include "shim/base/lock.h"
#include "shim/base/named_socket.h"
#include "shim/base/real.h"
#include "shim/device/memfd.h"
#include "shim/uapi.h"

static const struct drm_driver *driver;
static struct drm_file *files;
static bool ever_opened;
static uint64_t last_id;
/* The descriptor that was used last, and the inode of its socket, which it takes a system call to find; fd -1: none. */
static struct {
    int fd;
    uint64_t inode;
} last_used = {.fd = -1};

static const int64_t close_timeout = 2000000000; /* ns; the longest wait for submissions of a closed file */

void drm_file_set_driver(const struct drm_driver *the_driver) {
    driver = the_driver;
}

bool drm_file_ever_opened(void) {
    return __atomic_load_n(&ever_opened, __ATOMIC_RELAXED);
}

static struct drm_file *find(uint64_t inode) {
    struct drm_file *file = files;
    while (file && (file->inode != inode || file->closed)) {
        file = file->next;
    }
    return file;
}

static struct drm_file *create(int minor, int peer_fd, uint64_t inode) {
    struct drm_file *const file = calloc(1, sizeof *file);
    if (!file) {
        return NULL;
    }
    *file = (struct drm_file){
        .refs = 1, .id = ++last_id, .minor = minor, .peer_fd = peer_fd, .inode = inode, .connection = {.fd = -1}};
    file->connection.owner = file;
    file->connection.result = driver->result;
    if (!driver->open(file)) {
        free(file);
        return NULL;
    }
    file->next = files;
    files = file;
    __atomic_store_n(&ever_opened, true, __ATOMIC_RELAXED);
    return file;
}

void drm_file_put(struct drm_file *file) {
    if (--file->refs) {
        return;
    }
    for (struct drm_file **link = &files; *link; link = &(*link)->next) {
        if (*link == file) {
            *link = file->next;
            break;
        }
    }
    driver->release(file);
    descriptor_close(file->peer_fd);
    connection_close(&file->connection);
    ranges_destroy(&file->addresses);
    free(file->changes);
    free(file);
    if (!files) {
        memfd_release_kept();
    }
}

/* The kind of the socket (named_socket.h): any process with a shim finds the node by it. */
static const char *kind_of_minor(int minor) {
    return minor == DRM_MINOR_CARD ? "card" : "render";
}

int drm_file_open(int minor, int flags) {
    int ends[2];
    const int kind = SOCK_SEQPACKET | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0) | (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0);
    if (socketpair(AF_UNIX, kind, 0, ends)) {
        return -1;
    }
    const int peer_fd = descriptor_hide(ends[1]);
    struct stat64 status;
    int error = 0;
    shim_lock();
    drm_file_sweep();
    struct drm_file *file = NULL;
    if (peer_fd < 0 || REAL(fstat64)(ends[0], &status) || !named_socket_bind(ends[0], kind_of_minor(minor))) {
        error = errno;
    } else if (!(file = create(minor, peer_fd, status.st_ino))) {
        error = ENOMEM;
    } else {
        error = drm_file_connect(file);
    }
    if (error) {
        if (file) {
            drm_file_put(file);
        } else {
            descriptor_close(peer_fd);
        }
        REAL(close)(ends[0]);
    }
    shim_unlock();
    errno = error ? error : errno;
    return error ? -1 : ends[0];
}

/* The descriptor came from another process: a file of the same node, without any of its handles. */
static struct drm_file *adopt(int fd, uint64_t inode) {
    static const int minors[] = {DRM_MINOR_CARD, DRM_MINOR_RENDER};
    for (int i = 0; i < 2; i++) {
        if (named_socket_is(fd, kind_of_minor(minors[i]))) {
            return create(minors[i], -1, inode);
        }
    }
    return NULL;
}

void drm_file_adopt(int fd, uint64_t inode) {
    shim_lock();
    if (!find(inode)) {
        (void)adopt(fd, inode);
    }
    shim_unlock();
}

void drm_file_forget_descriptor(void) {
    shim_lock();
    last_used.fd = -1;
    shim_unlock();
}

struct drm_file *drm_file_of_descriptor(int fd) {
    struct stat64 status;
    struct drm_file *const used = fd == last_used.fd ? find(last_used.inode) : NULL;
    if (used) {
        used->refs++;
        return used;
    }
    if (REAL(fstat64)(fd, &status) || !S_ISSOCK(status.st_mode)) {
        return NULL;
    }
    struct drm_file *file = find(status.st_ino);
    if (!file) {
        file = adopt(fd, status.st_ino);
    }
    if (file) {
        file->refs++;
        last_used.fd = fd;
        last_used.inode = status.st_ino;
    }
    return file;
}

struct drm_file *drm_file_of_id(uint64_t id) {
    struct drm_file *file = files;
    while (file && file->id != id) {
        file = file->next;
    }
    return file;
}

int drm_file_minor_of_inode(uint64_t inode) {
    if (!drm_file_ever_opened()) {
        return -1;
    }
    shim_lock();
    const struct drm_file *const file = find(inode);
    const int minor = file ? file->minor : -1;
    shim_unlock();
    return minor;
}

bool drm_file_is_descriptor(int fd) {
    struct stat64 status;
    return drm_file_ever_opened() && REAL(fstat64)(fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
           drm_file_minor_of_inode(status.st_ino) >= 0;
}

bool drm_file_loses_descriptor(int fd) {
    const bool ours = drm_file_is_descriptor(fd);
    if (ours) {
        drm_file_forget_descriptor();
    }
    return ours;
}

static bool hung_up(const struct drm_file *file) {
    struct pollfd poll_peer = {.fd = file->peer_fd, .events = 0};
    return file->peer_fd >= 0 && poll(&poll_peer, 1, 0) == 1 && (poll_peer.revents & (POLLHUP | POLLERR));
}

/* Whether the server no longer uses the memory of a file, which others may get once it is free. */
static bool is_idle(struct drm_file *file) {
    connection_receive(&file->connection);
    return connection_is_done(&file->connection, file->connection.submitted);
}

void drm_file_sweep(void) {
    last_used.fd = -1;
    for (struct drm_file *file = files; file;) {
        if (!file->closed && hung_up(file)) {
            file->closed = true;
            file->refs++;
            (void)connection_wait(&file->connection, file->connection.submitted, shim_now() + close_timeout);
        } else if (file->closed && !file->swept && is_idle(file)) {
            file->swept = true;
        } else {
            file = file->next;
            continue;
        }
        drm_file_put(file);
        file = files; /* the list may have changed while we waited */
    }
}

int drm_file_connect(struct drm_file *file) {
    if (file->connection.fd >= 0 || file->connection.dead) {
        return file->connection.dead ? EIO : 0;
    }
    const int error = connection_open(&file->connection);
    if (error) {
        return error;
    }
    if (!file->addresses.free && !ranges_init(&file->addresses, 0, file->connection.welcome.chip.gtt_size)) {
        return ENOMEM;
    }
    return driver->connected(file) ? 0 : EIO;
}

void drm_file_after_fork(void) {
    for (struct drm_file *file = files; file; file = file->next) {
        driver->forked(file);
        connection_abandon(&file->connection);
        file->refs = 1; /* the references of other threads do not exist in the child */
    }
    memfd_after_fork();
}
