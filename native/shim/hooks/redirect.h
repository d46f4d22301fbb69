/* Redirects the device's paths in /dev and /sys to the tree that the server has built (gen4emu/live/sysfs.py). */
#ifndef SHIM_REDIRECT_H
#define SHIM_REDIRECT_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct statx;

struct path_buffer {
    char text[PATH_MAX];
};

/* True if this process belongs to a server.  The other functions may only be called if it does. */
extern bool path_live;

/* Read the environment; called once, first. */
void path_start(void);
/* The server's directory. */
const char *path_directory(void);

/* `path` itself, or its replacement in `buffer`. */
const char *path_redirect(int directory, const char *path, struct path_buffer *buffer);
/* path_redirect() for a directory whose entries will be read. */
const char *path_list(const char *path, struct path_buffer *buffer);
/* True if `fd` is in the tree's /sys. */
bool path_is_in_sysfs(int fd);
/* Replace, in place, a path in the tree by the path that the program knows. */
void path_restore(char *path);
/* path_restore() for the result of readlink(), which is not terminated.  Returns the new length, at most `size`. */
size_t path_restore_link(char *link, size_t length, size_t size);
/* True if a path that was not redirected may still lead to a node, for instance through a descriptor of the tree. */
bool path_is_suspect(const char *path);

/* The minor number of the node whose placeholder this is, or -1. */
int path_node(const struct stat64 *status);
/* Make a placeholder or an open device file look like its device node. */
void path_fix_stat(struct stat64 *status);
void path_fix_statx(struct statx *status);
/* True for the tree's /dev/dri. */
bool path_is_node_directory(const struct stat64 *status);

#endif
