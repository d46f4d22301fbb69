/* Open device files (drm_file.h). */
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
static struct file *files;
static bool any;
static uint64_t last_id;

static const int64_t patience = 2000000000; /* ns, with submissions of a closed file */

void file_set_driver(const struct drm_driver *the_driver) {
    driver = the_driver;
}

bool file_any(void) {
    return __atomic_load_n(&any, __ATOMIC_RELAXED);
}

static struct file *find(uint64_t inode) {
    struct file *file = files;
    while (file && (file->inode != inode || file->closed)) {
        file = file->next;
    }
    return file;
}

static struct file *create(int minor, int back, uint64_t inode) {
    struct file *const file = calloc(1, sizeof *file);
    if (!file) {
        return NULL;
    }
    *file = (struct file){.refs = 1, .id = ++last_id, .minor = minor, .back = back, .inode = inode, .link = {.fd = -1}};
    file->link.owner = file;
    file->link.result = driver->result;
    if (!driver->open(file)) {
        free(file);
        return NULL;
    }
    file->next = files;
    files = file;
    __atomic_store_n(&any, true, __ATOMIC_RELAXED);
    return file;
}

void file_drop(struct file *file) {
    if (--file->refs) {
        return;
    }
    for (struct file **link = &files; *link; link = &(*link)->next) {
        if (*link == file) {
            *link = file->next;
            break;
        }
    }
    driver->release(file);
    descriptor_close(file->back);
    link_close(&file->link);
    ranges_destroy(&file->addresses);
    free(file->changes);
    free(file);
}

/* Their names tell any process with a shim which node it is. */
static const char *kind_of_minor(int minor) {
    return minor == DRM_MINOR_CARD ? "card" : "render";
}

int file_open(int minor, int flags) {
    int ends[2];
    const int kind = SOCK_SEQPACKET | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0) | (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0);
    if (socketpair(AF_UNIX, kind, 0, ends)) {
        return -1;
    }
    const int back = descriptor_hide(ends[1]);
    struct stat64 status;
    int error = 0;
    shim_lock();
    file_sweep();
    struct file *file = NULL;
    if (back < 0 || REAL(fstat64)(ends[0], &status) || !token_name(ends[0], kind_of_minor(minor))) {
        error = errno;
    } else if (!(file = create(minor, back, status.st_ino))) {
        error = ENOMEM;
    } else {
        error = file_connect(file);
    }
    if (error) {
        if (file) {
            file_drop(file);
        } else {
            descriptor_close(back);
        }
        REAL(close)(ends[0]);
    }
    shim_unlock();
    errno = error ? error : errno;
    return error ? -1 : ends[0];
}

/* Another process passed it on, or left it to us: a file with the same node, but none of its handles. */
static struct file *adopt(int fd, uint64_t inode) {
    static const int minors[] = {DRM_MINOR_CARD, DRM_MINOR_RENDER};
    for (int i = 0; i < 2; i++) {
        if (token_is(fd, kind_of_minor(minors[i]))) {
            return create(minors[i], -1, inode);
        }
    }
    return NULL;
}

void file_adopt(int fd, uint64_t inode) {
    shim_lock();
    if (!find(inode)) {
        (void)adopt(fd, inode);
    }
    shim_unlock();
}

struct file *file_of_descriptor(int fd) {
    struct stat64 status;
    if (REAL(fstat64)(fd, &status) || !S_ISSOCK(status.st_mode)) {
        return NULL;
    }
    struct file *file = find(status.st_ino);
    if (!file) {
        file = adopt(fd, status.st_ino);
    }
    if (file) {
        file->refs++;
    }
    return file;
}

struct file *file_of_id(uint64_t id) {
    struct file *file = files;
    while (file && file->id != id) {
        file = file->next;
    }
    return file;
}

int file_minor_of_inode(uint64_t inode) {
    if (!file_any()) {
        return -1;
    }
    shim_lock();
    const struct file *const file = find(inode);
    const int minor = file ? file->minor : -1;
    shim_unlock();
    return minor;
}

bool file_is_descriptor(int fd) {
    struct stat64 status;
    return file_any() && REAL(fstat64)(fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
           file_minor_of_inode(status.st_ino) >= 0;
}

static bool hung_up(const struct file *file) {
    struct pollfd poll_back = {.fd = file->back, .events = 0};
    return file->back >= 0 && poll(&poll_back, 1, 0) == 1 && (poll_back.revents & (POLLHUP | POLLERR));
}

void file_sweep(void) {
    for (struct file *file = files; file;) {
        if (file->closed || !hung_up(file)) {
            file = file->next;
            continue;
        }
        file->closed = true;
        /* The server may still work with the memory that is about to be used for something else. */
        (void)link_wait(&file->link, file->link.submitted, shim_now() + patience);
        file_drop(file);
        file = files; /* the list may have changed while we waited */
    }
}

int file_connect(struct file *file) {
    if (file->link.fd >= 0 || file->link.dead) {
        return file->link.dead ? EIO : 0;
    }
    const int error = link_connect(&file->link);
    if (error) {
        return error;
    }
    if (!file->addresses.free && !ranges_init(&file->addresses, 0, file->link.welcome.gtt_size)) {
        return ENOMEM;
    }
    return driver->connected(file) ? 0 : EIO;
}

void file_after_fork(void) {
    for (struct file *file = files; file; file = file->next) {
        driver->forked(file);
        link_abandon(&file->link);
        file->refs = 1; /* those of other threads are not here */
    }
    store_after_fork();
}
