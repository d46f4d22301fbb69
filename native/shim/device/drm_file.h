/* Open device files, as the kernel's struct drm_file.
 *
 * The program's descriptor is one end of a socket pair, so that poll(), epoll and read() work unhooked.  The socket's
 * inode identifies the open file, through any number of duplicates.  When the shim's end reports a hangup, the last
 * descriptor in any process has been closed.
 */
#ifndef SHIM_DRM_FILE_H
#define SHIM_DRM_FILE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/handle_table.h"
#include "shim/base/ranges.h"
#include "shim/device/connection.h"

struct context;
struct display;
struct gem_object;
struct vma;
struct syncobj;

/* A GEM object in the graphics address space of an open file. */
struct vma {
    struct drm_file *file;
    struct gem_object *object;
    struct vma *next_of_object;
    struct vma *previous, *next; /* list of the file */
    uint32_t handles;
    bool bound;
    uint64_t address;
    uint64_t reserved;                 /* bytes from the address on, while bound: the object and padding after it */
    uint32_t file_number;              /* the protocol's number of the memfd, while bound */
    uint64_t last_use, last_write;     /* sequence numbers of submissions */
    uint64_t used_by[G4_LIVE_ENGINES]; /* the last use by each engine */
    enum g4_live_engine writer;        /* the engine of the last write */
    uint64_t stamp;                    /* of the last EXECBUFFER2 that lists it */
    uint32_t index;                    /* in that EXECBUFFER2's list */
};

struct drm_file {
    struct drm_file *next;
    uint32_t refs;
    uint64_t id; /* unique in the process */
    uint64_t inode;
    int minor;
    int peer_fd;   /* the shim's end of the socket pair; -1: another process has it */
    bool closed;   /* its last descriptor is */
    bool swept;    /* it is closed and idle, and references of running calls are all that it has left */
    bool has_name; /* SET_VERSION has been called: GET_UNIQUE returns the bus id */
    struct connection connection;
    struct handle_table gem_handles; /* struct vma */
    struct handle_table syncobjs;    /* struct syncobj */
    struct handle_table contexts;    /* struct context */
    struct context *default_context;
    struct vma *vmas;
    struct ranges addresses;
    struct g4_live_range *changes; /* of the address space, not yet sent to the server */
    uint32_t change_count, change_capacity;
    uint64_t stamp;
    struct display *display;
};

/* Callbacks into the layers above (driver.c), called with the lock held. */
struct drm_driver {
    bool (*open)(struct drm_file *file); /* false: no memory */
    /* After connecting to the server; false: it is gone again. */
    bool (*connected)(struct drm_file *file);
    void (*release)(struct drm_file *file); /* free everything that belongs to the file */
    void (*forked)(struct drm_file *file);  /* in the child of a fork: nothing is bound any more */
    /* A submission of `owner`, which is a file, did not end with G4_LIVE_DONE. */
    void (*result)(void *owner, uint32_t context, uint32_t status);
};
void drm_file_set_driver(const struct drm_driver *driver);

/* Open a node; returns a descriptor, or -1 with errno. */
int drm_file_open(int minor, int flags);
/* The open file of a descriptor, with a reference; NULL if it is not a device's.  The lock must be held. */
struct drm_file *drm_file_of_descriptor(int fd);
/* NULL if it has been closed. */
struct drm_file *drm_file_of_id(uint64_t id);
/* Create the open file of a descriptor that came from another process; other sockets are ignored. */
void drm_file_adopt(int fd, uint64_t inode);
/* The minor number of the open file whose socket has this inode, or -1. */
int drm_file_minor_of_inode(uint64_t inode);
/* True once this process has had an open device file. */
bool drm_file_ever_opened(void);
void drm_file_put(struct drm_file *file);
/* Free the open files whose last descriptor has been closed.  Those with long submissions wait for a later call. */
void drm_file_sweep(void);
bool drm_file_is_descriptor(int fd);
/* True if `fd`, which is about to be closed, is a device file: drm_file_sweep() must be called afterwards. */
bool drm_file_loses_descriptor(int fd);
/* Any descriptors are about to be closed: the numbers of device files may soon be those of others. */
void drm_file_forget_descriptor(void);

/* Connect to the server unless connected; 0 or an errno. */
int drm_file_connect(struct drm_file *file);
void drm_file_after_fork(void);

#endif
