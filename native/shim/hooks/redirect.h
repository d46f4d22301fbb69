/* Where a path really leads: the device's part of /dev and /sys is a tree which the server made (spec/80 2.1). */
#ifndef SHIM_PATHS_H
#define SHIM_PATHS_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct statx;

struct path_buffer {
    char text[PATH_MAX];
};

/* Whether this process belongs to a live device at all; nothing else here is called when it does not. */
extern bool path_live;

/* Reads the environment; called once, before anything else. */
void path_start(void);
/* The server's directory. */
const char *path_directory(void);

/* `path` itself, or what stands for it, in `buffer`. */
const char *path_redirect(int directory, const char *path, struct path_buffer *buffer);
/* The same for a directory whose entries are to be read. */
const char *path_list(const char *path, struct path_buffer *buffer);
/* Is this a descriptor of what the program takes for a part of /sys? */
bool path_is_in_sysfs(int fd);
/* The path as the program knows it, in place: the fake tree's place in front is taken away. */
void path_restore(char *path);
/* As readlink() gives them: not terminated.  Returns the new length, at most `size`. */
size_t path_restore_link(char *link, size_t length, size_t size);
/* Might this path, which we did not redirect, still lead to one of our nodes?  By a descriptor of our tree, say. */
bool path_is_suspect(const char *path);

/* The minor number of the node whose placeholder this is, or -1. */
int path_node(const struct stat64 *status);
/* Make a placeholder, or one of our open files, look like the device node that it stands for. */
void path_fix_stat(struct stat64 *status);
void path_fix_statx(struct statx *status);
/* The directory that holds the nodes. */
bool path_is_node_directory(const struct stat64 *status);

#endif
