#define _GNU_SOURCE
#include "shim/hooks/redirect.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shim/base/real.h"
#include "shim/device/drm_file.h"
#include "shim/uapi.h"

bool path_live;

static char directory_path[PATH_MAX]; /* the server's */
static char root_path[PATH_MAX];      /* the fake tree's */
static size_t root_length;

static const char *const prefixes[] = {
    "/dev/dri",
    "/sys/class/drm",
    "/sys/dev/char/226:",
    "/sys/devices/pci0000:00/0000:00:02.0",
    "/sys/bus/pci/devices/0000:00:02.0",
    "/sys/kernel/debug/dri",
};

/* Directories of the system that must list the device, too: the server has a listing of each. */
static const char *const listed[] = {"/sys/class", "/sys/bus/pci/devices"};

/* The nodes, and the placeholder file of each. */
static struct {
    int minor;
    const char *name;
    dev_t device;
    uint64_t inode;
} nodes[] = {{DRM_MINOR_CARD, "/dev/dri/card0", 0, 0}, {DRM_MINOR_RENDER, "/dev/dri/renderD128", 0, 0}};
enum {
    NODES = sizeof nodes / sizeof nodes[0]
};
static struct stat64 node_directory;

/* Without a message, the program would silently use another renderer. */
static void report_missing_server(const char *directory) {
    char text[PATH_MAX + 96];
    const int size = snprintf(text, sizeof text,
                              "gen4emu: no server in %s: this program does not see the emulated GPU\n", directory);
    const ssize_t written = write(STDERR_FILENO, text, (size_t)size);
    (void)written;
}

void path_start(void) {
    const char *const live = secure_getenv("GEN4EMU_LIVE");
    if (!live || live[0] != '/' || strlen(live) + sizeof "/root/dev/dri/renderD128" > PATH_MAX) {
        return;
    }
    strcpy(directory_path, live);
    if (!REAL(realpath)(live, root_path)) {
        report_missing_server(live);
        return;
    }
    if (strlen(root_path) + sizeof "/root/dev/dri/renderD128" > PATH_MAX) {
        return;
    }
    char name[PATH_MAX + 32];
    struct stat64 status;
    (void)snprintf(name, sizeof name, "%s/socket", root_path);
    if (REAL(stat64)(name, &status)) {
        report_missing_server(live);
    }
    strcat(root_path, "/root");
    root_length = strlen(root_path);
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(name, sizeof name, "%s%s", root_path, nodes[i].name);
        if (!REAL(stat64)(name, &status)) {
            nodes[i].device = status.st_dev;
            nodes[i].inode = status.st_ino;
        }
    }
    (void)snprintf(name, sizeof name, "%s/dev/dri", root_path);
    (void)REAL(stat64)(name, &node_directory);
    path_live = true;
}

const char *path_directory(void) {
    return directory_path;
}

/* The rest of `path` after `prefix`, where "//" and "/./" count as "/"; NULL if it does not start with it. */
static const char *after_prefix(const char *path, const char *prefix) {
    while (*prefix) {
        if (*path != *prefix) {
            return NULL;
        }
        if (*path == '/') {
            while (path[1] == '/' || (path[1] == '.' && (path[2] == '/' || path[2] == 0))) {
                path += path[1] == '/' ? 1 : 2;
            }
        }
        path++;
        prefix++;
    }
    return *path == 0 || *path == '/' || prefix[-1] == ':' ? path : NULL;
}

static const char *redirect_absolute(const char *path, struct path_buffer *buffer) {
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        const char *const rest = after_prefix(path, prefixes[i]);
        if (rest) {
            const int length = snprintf(buffer->text, sizeof buffer->text, "%s%s%s", root_path, prefixes[i], rest);
            return length > 0 && (size_t)length < sizeof buffer->text ? buffer->text : NULL;
        }
    }
    return NULL;
}

/* A relative path can only lead into the tree if it contains one of these. */
static bool could_be_ours(const char *path) {
    static const char *const parts[] = {"dri", "drm", "226:", "0000:00:02.0", "card", "render"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(path, parts[i])) {
            return true;
        }
    }
    return false;
}

const char *path_redirect(int directory, const char *path, struct path_buffer *buffer) {
    if (!path || path[0] == 0) {
        return path;
    }
    if (path[0] == '/') {
        const char *const other = redirect_absolute(path, buffer);
        return other ? other : path;
    }
    if (!could_be_ours(path)) {
        return path;
    }
    char whole[2 * PATH_MAX];
    size_t length = 0;
    if (directory == AT_FDCWD) {
        if (!getcwd(whole, PATH_MAX)) {
            return path;
        }
        length = strlen(whole);
    } else {
        char link[64];
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        const ssize_t got = REAL(readlink)(link, whole, PATH_MAX - 1);
        if (got <= 0 || whole[0] != '/') {
            return path;
        }
        length = (size_t)got;
    }
    (void)snprintf(whole + length, sizeof whole - length, "/%s", path);
    const char *const other = redirect_absolute(whole, buffer);
    return other ? other : path;
}

const char *path_list(const char *path, struct path_buffer *buffer) {
    for (size_t i = 0; path && i < sizeof listed / sizeof listed[0]; i++) {
        const char *const rest = after_prefix(path, listed[i]);
        if (rest && rest[strspn(rest, "/")] == 0) {
            const int length = snprintf(buffer->text, sizeof buffer->text, "%s/lists%s", root_path, listed[i]);
            return length > 0 && (size_t)length < sizeof buffer->text ? buffer->text : path;
        }
    }
    return path_redirect(AT_FDCWD, path, buffer);
}

bool path_is_in_sysfs(int fd) {
    char link[64], path[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = REAL(readlink)(link, path, sizeof path);
    return length > 0 && (size_t)length >= root_length + 5 && memcmp(path, root_path, root_length) == 0 &&
           memcmp(path + root_length, "/sys/", 5) == 0;
}

void path_restore(char *path) {
    if (strncmp(path, root_path, root_length) == 0 && path[root_length] == '/') {
        memmove(path, path + root_length, strlen(path + root_length) + 1);
        return;
    }
    const char *const socket = strstr(path, "socket:[");
    const int minor = socket ? drm_file_minor_of_inode(strtoull(socket + 8, NULL, 10)) : -1;
    for (int i = 0; i < NODES; i++) {
        if (minor == nodes[i].minor) {
            strcpy(path, nodes[i].name);
        }
    }
}

size_t path_restore_link(char *link, size_t length, size_t size) {
    char text[PATH_MAX + 32];
    if (length >= PATH_MAX) {
        return length;
    }
    (void)snprintf(text, sizeof text, "%.*s", (int)length, link);
    path_restore(text);
    const size_t restored = strlen(text) < size ? strlen(text) : size;
    memcpy(link, text, restored); /* NOLINT(bugprone-not-null-terminated-result): as readlink() gives it */
    return restored;
}

bool path_is_suspect(const char *path) {
    const char *const slash = strrchr(path, '/');
    const char *const name = slash ? slash + 1 : path;
    return strncmp(name, "card", 4) == 0 || strncmp(name, "renderD", 7) == 0 || strncmp(name, "pci-", 4) == 0 ||
           strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/fd/", 8) == 0;
}

int path_node(const struct stat64 *status) {
    for (int i = 0; i < NODES; i++) {
        if (status->st_ino == nodes[i].inode && status->st_dev == nodes[i].device && nodes[i].inode) {
            return nodes[i].minor;
        }
    }
    return -1;
}

bool path_is_node_directory(const struct stat64 *status) {
    return status->st_ino == node_directory.st_ino && status->st_dev == node_directory.st_dev;
}

static int minor_of(const struct stat64 *status) {
    if (S_ISSOCK(status->st_mode)) {
        return drm_file_minor_of_inode(status->st_ino);
    }
    return S_ISREG(status->st_mode) ? path_node(status) : -1;
}

void path_fix_stat(struct stat64 *status) {
    const int minor = minor_of(status);
    for (int i = 0; i < NODES; i++) {
        if (minor == nodes[i].minor) {
            status->st_mode = S_IFCHR | 0666;
            status->st_rdev = makedev(DRM_MAJOR, (unsigned)minor);
            status->st_dev = nodes[i].device;
            status->st_ino = nodes[i].inode;
            status->st_size = 0;
            status->st_blocks = 0;
        }
    }
}

void path_fix_statx(struct statx *status) {
    const struct stat64 known = {.st_mode = status->stx_mode,
                                 .st_ino = status->stx_ino,
                                 .st_dev = makedev(status->stx_dev_major, status->stx_dev_minor)};
    struct stat64 fixed = known;
    path_fix_stat(&fixed);
    if (fixed.st_mode != known.st_mode) {
        status->stx_mode = (uint16_t)fixed.st_mode;
        status->stx_rdev_major = DRM_MAJOR;
        status->stx_rdev_minor = minor(fixed.st_rdev);
        status->stx_dev_major = major(fixed.st_dev);
        status->stx_dev_minor = minor(fixed.st_dev);
        status->stx_ino = fixed.st_ino;
        status->stx_size = 0;
        status->stx_blocks = 0;
    }
}
