/* Hooks of functions that take a path: open, access, readlink, directories. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/real.h"
#include "shim/device/drm_file.h"
#include "shim/hooks/redirect.h"
#include "shim/hooks/start.h"

/* --- open --- */

/* The minor number of the node at a path, or -1. */
static int node_of_path(int directory, const char *path) {
    struct stat64 status;
    return REAL(fstatat64)(directory, path, &status, 0) == 0 ? path_node(&status) : -1;
}

static bool opens_node(int flags) {
    return !(flags & (O_PATH | O_DIRECTORY)) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
}

/* open() of /proc/self/fd/N: a real device node would be opened again, but a socket cannot be opened. */
static int reopen(const char *path, int flags) {
    struct stat64 status;
    const int minor =
        REAL(stat64)(path, &status) == 0 && S_ISSOCK(status.st_mode) ? drm_file_minor_of_inode(status.st_ino) : -1;
    if (minor < 0) {
        errno = ENXIO;
        return -1;
    }
    return drm_file_open(minor, flags);
}

static int open_any(int directory, const char *path, int flags, mode_t mode) {
    if (!shim_active()) {
        return REAL(openat)(directory, path, flags, mode);
    }
    struct path_buffer buffer;
    const char *const target = path_redirect(directory, path, &buffer);
    if (target && opens_node(flags) && (target != path || path_is_suspect(path))) {
        const int minor = node_of_path(directory, target);
        if (minor >= 0) {
            return drm_file_open(minor, flags);
        }
    }
    const int fd = REAL(openat)(directory, target, flags, mode);
    return fd < 0 && errno == ENXIO && target == path && path_is_suspect(path) ? reopen(path, flags) : fd;
}

static mode_t mode_argument(int flags, va_list arguments) {
    const bool creates = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    return creates ? va_arg(arguments, mode_t) : 0;
}

#define HOOK_OPEN(name)                                                                                                \
    HOOK int name(const char *path, int flags, ...) {                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        const mode_t mode = mode_argument(flags, arguments);                                                           \
        va_end(arguments);                                                                                             \
        return open_any(AT_FDCWD, path, flags, mode);                                                                  \
    }
#define HOOK_OPENAT(name)                                                                                              \
    HOOK int name(int directory, const char *path, int flags, ...) {                                                   \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        const mode_t mode = mode_argument(flags, arguments);                                                           \
        va_end(arguments);                                                                                             \
        return open_any(directory, path, flags, mode);                                                                 \
    }
HOOK_OPEN(open)
HOOK_OPEN(open64)
HOOK_OPENAT(openat)
HOOK_OPENAT(openat64)

/* Called by programs built with _FORTIFY_SOURCE. */
#define HOOK_OPEN_2(name)                                                                                              \
    HOOK int name(const char *path, int flags);                                                                        \
    HOOK int name(const char *path, int flags) {                                                                       \
        return open_any(AT_FDCWD, path, flags, 0);                                                                     \
    }
#define HOOK_OPENAT_2(name)                                                                                            \
    HOOK int name(int directory, const char *path, int flags);                                                         \
    HOOK int name(int directory, const char *path, int flags) {                                                        \
        return open_any(directory, path, flags, 0);                                                                    \
    }
HOOK_OPEN_2(__open_2)
HOOK_OPEN_2(__open64_2)
HOOK_OPENAT_2(__openat_2)
HOOK_OPENAT_2(__openat64_2)

#define HOOK_CREAT(name)                                                                                               \
    HOOK int name(const char *path, mode_t mode) {                                                                     \
        return open_any(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);                                           \
    }
HOOK_CREAT(creat)
HOOK_CREAT(creat64)

/* --- functions that only need another path --- */

#define REDIRECTED(directory, path)                                                                                    \
    struct path_buffer buffer;                                                                                         \
    const char *const target = shim_active() ? path_redirect(directory, path, &buffer) : (path)

#define HOOK_FOPEN(name)                                                                                               \
    HOOK FILE *name(const char *path, const char *mode) {                                                              \
        REDIRECTED(AT_FDCWD, path);                                                                                    \
        return REAL(name)(target, mode);                                                                               \
    }
HOOK_FOPEN(fopen)
HOOK_FOPEN(fopen64)

#define HOOK_FREOPEN(name)                                                                                             \
    HOOK FILE *name(const char *path, const char *mode, FILE *stream) {                                                \
        REDIRECTED(AT_FDCWD, path);                                                                                    \
        return REAL(name)(target, mode, stream);                                                                       \
    }
HOOK_FREOPEN(freopen)
HOOK_FREOPEN(freopen64)

#define HOOK_ACCESS(name)                                                                                              \
    HOOK int name(const char *path, int mode) {                                                                        \
        REDIRECTED(AT_FDCWD, path);                                                                                    \
        return REAL(name)(target, mode);                                                                               \
    }
HOOK_ACCESS(access)
HOOK_ACCESS(euidaccess)
HOOK_ACCESS(eaccess)

HOOK int faccessat(int directory, const char *path, int mode, int flags) {
    REDIRECTED(directory, path);
    return REAL(faccessat)(directory, target, mode, flags);
}

/* --- links --- */

HOOK ssize_t readlinkat(int directory, const char *path, char *link, size_t size) {
    REDIRECTED(directory, path);
    const ssize_t length = REAL(readlinkat)(directory, target, link, size);
    return length > 0 && shim_active() ? (ssize_t)path_restore_link(link, (size_t)length, size) : length;
}

HOOK ssize_t readlink(const char *path, char *link, size_t size) {
    return readlinkat(AT_FDCWD, path, link, size);
}

HOOK ssize_t __readlink_chk(const char *path, char *link, size_t size, size_t capacity);
HOOK ssize_t __readlink_chk(const char *path, char *link, size_t size, size_t capacity) {
    return readlinkat(AT_FDCWD, path, link, size < capacity ? size : capacity);
}

HOOK ssize_t __readlinkat_chk(int directory, const char *path, char *link, size_t size, size_t capacity);
HOOK ssize_t __readlinkat_chk(int directory, const char *path, char *link, size_t size, size_t capacity) {
    return readlinkat(directory, path, link, size < capacity ? size : capacity);
}

/* A link in /proc to the socket of a device file, which libc tries to resolve as a path. */
static char *realpath_of_socket(const char *path, char *resolved) {
    char link[PATH_MAX];
    const ssize_t length = REAL(readlink)(path, link, sizeof link);
    const size_t restored = length > 0 ? path_restore_link(link, (size_t)length, sizeof link - 1) : 0;
    if (restored == 0 || link[0] != '/') {
        errno = ENOENT;
        return NULL;
    }
    link[restored] = 0;
    return resolved ? strcpy(resolved, link) : strdup(link);
}

HOOK char *realpath(const char *path, char *resolved) {
    REDIRECTED(AT_FDCWD, path);
    char *result = REAL(realpath)(target, resolved);
    if (!shim_active()) {
        return result;
    }
    if (result) {
        path_restore(result);
    } else if (errno == ENOENT && path && path_is_suspect(path)) {
        result = realpath_of_socket(path, resolved);
    }
    return result;
}

HOOK char *__realpath_chk(const char *path, char *resolved, size_t capacity);
HOOK char *__realpath_chk(const char *path, char *resolved, size_t capacity) {
    (void)capacity;
    return realpath(path, resolved);
}

HOOK char *canonicalize_file_name(const char *path) {
    return realpath(path, NULL);
}

/* --- directories --- */

/* Open streams of the directory with the nodes, whose entries must look like devices. */
enum {
    STREAMS = 16
};
static DIR *streams[STREAMS];
static int stream_count;

static void remember_stream(DIR *stream) {
    struct stat64 status;
    if (!stream || !shim_active() || REAL(fstat64)(dirfd(stream), &status) || !path_is_node_directory(&status)) {
        return;
    }
    for (int i = 0; i < STREAMS; i++) {
        DIR *none = NULL;
        if (__atomic_compare_exchange_n(&streams[i], &none, stream, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            __atomic_add_fetch(&stream_count, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

static int stream_slot(const DIR *stream) {
    if (__atomic_load_n(&stream_count, __ATOMIC_RELAXED) == 0) {
        return -1;
    }
    for (int i = 0; i < STREAMS; i++) {
        if (__atomic_load_n(&streams[i], __ATOMIC_RELAXED) == stream) {
            return i;
        }
    }
    return -1;
}

#define LISTED(path)                                                                                                   \
    struct path_buffer buffer;                                                                                         \
    const char *const target = shim_active() ? path_list(path, &buffer) : (path)

HOOK DIR *opendir(const char *path) {
    LISTED(path);
    DIR *const stream = REAL(opendir)(target);
    if (target != path) {
        remember_stream(stream);
    }
    return stream;
}

HOOK DIR *fdopendir(int fd) {
    DIR *const stream = REAL(fdopendir)(fd);
    remember_stream(stream);
    return stream;
}

HOOK int closedir(DIR *stream) {
    const int slot = stream_slot(stream);
    if (slot >= 0) {
        __atomic_store_n(&streams[slot], NULL, __ATOMIC_RELAXED);
        __atomic_sub_fetch(&stream_count, 1, __ATOMIC_RELAXED);
    }
    return REAL(closedir)(stream);
}

HOOK struct dirent *readdir(DIR *stream) {
    struct dirent *const entry = REAL(readdir)(stream);
    if (entry && entry->d_type == DT_REG && stream_slot(stream) >= 0) {
        entry->d_type = DT_CHR;
    }
    return entry;
}

HOOK struct dirent64 *readdir64(DIR *stream) {
    struct dirent64 *const entry = REAL(readdir64)(stream);
    if (entry && entry->d_type == DT_REG && stream_slot(stream) >= 0) {
        entry->d_type = DT_CHR;
    }
    return entry;
}

typedef int select_entry(const struct dirent *);
typedef int compare_entries(const struct dirent **, const struct dirent **);
typedef int select_entry64(const struct dirent64 *);
typedef int compare_entries64(const struct dirent64 **, const struct dirent64 **);

HOOK int scandir(const char *path, struct dirent ***entries, select_entry *wanted, compare_entries *order) {
    LISTED(path);
    return REAL(scandir)(target, entries, wanted, order);
}

HOOK int scandir64(const char *path, struct dirent64 ***entries, select_entry64 *wanted, compare_entries64 *order) {
    LISTED(path);
    return REAL(scandir64)(target, entries, wanted, order);
}
