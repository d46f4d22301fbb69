/* Open device files: what the kernel calls an open file description (spec/80 3.1, 3.9).
 *
 * The program's descriptor is one end of a socket pair, so that poll, epoll and read work by themselves; which open
 * file a descriptor means is told by the socket's inode, through any number of duplicates.  When the other end, which
 * we keep, hangs up, the last descriptor in any process is gone.
 */
#ifndef SHIM_FILES_H
#define SHIM_FILES_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/ranges.h"
#include "shim/device/connection.h"

struct context;
struct display;
struct gem_object;
struct vma;
struct syncobj;

/* Where a buffer is in an open file's graphics address space, and who uses it there. */
struct vma {
    struct drm_file *file;
    struct gem_object *object;
    struct vma *next_of_object;
    struct vma *previous, *next; /* of the file */
    uint32_t handles;
    bool bound;
    uint32_t address;
    uint32_t file_number;          /* of the protocol, while bound */
    uint64_t last_use, last_write; /* submissions */
    uint64_t stamp;                /* of the last EXECBUFFER2 that listed it */
    uint32_t index;                /* there */
};

/* Handles from 1 on, the lowest free one first. */
struct handle_table {
    void **items;
    uint32_t capacity, lowest;
};

struct drm_file {
    struct drm_file *next;
    uint32_t refs;
    uint64_t id; /* never used again */
    uint64_t inode;
    int minor;
    int peer_fd; /* our end; -1: another process has it */
    bool closed;
    bool has_name; /* of the bus, by SET_VERSION */
    struct connection connection;
    struct handle_table gem_handles; /* struct place */
    struct handle_table syncobjs;    /* struct syncobj */
    struct handle_table contexts;    /* struct context */
    struct context *default_context;
    struct vma *vmas;
    struct ranges addresses;
    struct g4_live_range *changes; /* of the address space that the server has not heard of */
    uint32_t change_count, change_capacity;
    uint64_t stamp;
    struct display *display;
};

/* Callbacks into the layers above (driver.c).  All are called with the lock. */
struct drm_driver {
    bool (*open)(struct drm_file *file); /* false: no memory */
    /* There is a new connection to the server; false: it is gone. */
    bool (*connected)(struct drm_file *file);
    void (*release)(struct drm_file *file); /* free what they keep */
    void (*forked)(struct drm_file *file);  /* in the child: nothing is bound with its server */
    /* A submission of `owner`, which is a file, did not end with G4_LIVE_DONE. */
    void (*result)(void *owner, uint32_t context, uint32_t status);
};
void drm_file_set_driver(const struct drm_driver *driver);

/* Open a node; a descriptor, or -1 with errno. */
int drm_file_open(int minor, int flags);
/* The open file of a descriptor, with a reference; NULL when it is none of ours.  With the lock. */
struct drm_file *drm_file_of_descriptor(int fd);
/* NULL: it is gone. */
struct drm_file *drm_file_of_id(uint64_t id);
/* A socket that may be an open file of another process. */
void drm_file_adopt(int fd, uint64_t inode);
/* The node of an open file by the inode of its socket, or -1. */
int drm_file_minor_of_inode(uint64_t inode);
/* There has been an open file in this process. */
bool drm_file_ever_opened(void);
void drm_file_put(struct drm_file *file);
/* Find open files whose last descriptor is closed. */
void drm_file_sweep(void);
/* `fd` is about to be closed: true when it is one of ours, so that a sweep is due afterwards. */
bool drm_file_is_descriptor(int fd);

/* Connect if need be; 0 or an errno. */
int drm_file_connect(struct drm_file *file);
void drm_file_after_fork(void);

/* 0: no memory. */
uint32_t handle_add(struct handle_table *handles, void *item);
void *handle_lookup(const struct handle_table *handles, uint32_t handle);
void *handle_remove(struct handle_table *handles, uint32_t handle);

#endif
