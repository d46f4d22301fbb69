/* Hooks of the stat family: paths are redirected, our nodes look like character devices (spec/80 2.1). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "files.h"
#include "paths.h"
#include "real.h"
#include "start.h"

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one layout, as on every 64-bit system");

static int stat_at(int directory, const char *path, struct stat *status, int flags) {
    if (!shim_active()) {
        return REAL(fstatat)(directory, path, status, flags);
    }
    struct path_buffer buffer;
    const int result = REAL(fstatat)(directory, path_redirect(directory, path, &buffer), status, flags);
    if (result == 0) {
        path_fix_stat(status);
    }
    return result;
}

static int stat_fd(int fd, struct stat *status) {
    const int result = REAL(fstat)(fd, status);
    if (result == 0 && shim_active()) {
        if (S_ISSOCK(status->st_mode)) {
            file_adopt(fd, status->st_ino);
        }
        path_fix_stat(status);
    }
    return result;
}

HOOK int stat(const char *path, struct stat *status) {
    return stat_at(AT_FDCWD, path, status, 0);
}

HOOK int lstat(const char *path, struct stat *status) {
    return stat_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

HOOK int fstat(int fd, struct stat *status) {
    return stat_fd(fd, status);
}

HOOK int fstatat(int directory, const char *path, struct stat *status, int flags) {
    return stat_at(directory, path, status, flags);
}

HOOK int stat64(const char *path, struct stat64 *status) {
    return stat_at(AT_FDCWD, path, (struct stat *)status, 0);
}

HOOK int lstat64(const char *path, struct stat64 *status) {
    return stat_at(AT_FDCWD, path, (struct stat *)status, AT_SYMLINK_NOFOLLOW);
}

HOOK int fstat64(int fd, struct stat64 *status) {
    return stat_fd(fd, (struct stat *)status);
}

HOOK int fstatat64(int directory, const char *path, struct stat64 *status, int flags) {
    return stat_at(directory, path, (struct stat *)status, flags);
}

/* Programs that were linked with a libc before 2.33 call these. */
#define HOOK_XSTAT(name, type, ...)                                                                                    \
    HOOK int name(int version, type target, struct stat *status);                                                      \
    HOOK int name(int version, type target, struct stat *status) {                                                     \
        (void)version;                                                                                                 \
        return __VA_ARGS__;                                                                                            \
    }
HOOK_XSTAT(__xstat, const char *, stat_at(AT_FDCWD, target, status, 0))
HOOK_XSTAT(__xstat64, const char *, stat_at(AT_FDCWD, target, status, 0))
HOOK_XSTAT(__lxstat, const char *, stat_at(AT_FDCWD, target, status, AT_SYMLINK_NOFOLLOW))
HOOK_XSTAT(__lxstat64, const char *, stat_at(AT_FDCWD, target, status, AT_SYMLINK_NOFOLLOW))
HOOK_XSTAT(__fxstat, int, stat_fd(target, status))
HOOK_XSTAT(__fxstat64, int, stat_fd(target, status))

#define HOOK_XSTATAT(name)                                                                                             \
    HOOK int name(int version, int directory, const char *path, struct stat *status, int flags);                       \
    HOOK int name(int version, int directory, const char *path, struct stat *status, int flags) {                      \
        (void)version;                                                                                                 \
        return stat_at(directory, path, status, flags);                                                                \
    }
HOOK_XSTATAT(__fxstatat)
HOOK_XSTATAT(__fxstatat64)

HOOK int statx(int directory, const char *restrict path, int flags, unsigned mask, struct statx *restrict status) {
    if (!shim_active()) {
        return REAL(statx)(directory, path, flags, mask, status);
    }
    struct path_buffer buffer;
    const int result = REAL(statx)(directory, path_redirect(directory, path, &buffer), flags, mask, status);
    if (result == 0) {
        path_fix_statx(status);
    }
    return result;
}

/* --- which file system: libudev takes only what is in sysfs for a device --- */

#define HOOK_STATFS(name, type)                                                                                        \
    HOOK int f##name(int fd, struct type *status) {                                                                    \
        const int result = REAL(f##name)(fd, status);                                                                  \
        if (result == 0 && shim_active() && path_is_in_sysfs(fd)) {                                                    \
            status->f_type = SYSFS_MAGIC;                                                                              \
        }                                                                                                              \
        return result;                                                                                                 \
    }                                                                                                                  \
    HOOK int name(const char *path, struct type *status) {                                                             \
        struct path_buffer buffer;                                                                                     \
        const char *const target = shim_active() ? path_redirect(AT_FDCWD, path, &buffer) : path;                      \
        const int result = REAL(name)(target, status);                                                                 \
        if (result == 0 && target != path && strncmp(path, "/sys/", 5) == 0) {                                         \
            status->f_type = SYSFS_MAGIC;                                                                              \
        }                                                                                                              \
        return result;                                                                                                 \
    }
HOOK_STATFS(statfs, statfs)
HOOK_STATFS(statfs64, statfs64)
