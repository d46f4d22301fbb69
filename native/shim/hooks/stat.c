/* Hooks of the stat family: redirect paths, and make the nodes look like character devices. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "shim/base/real.h"
#include "shim/device/drm_file.h"
#include "shim/hooks/redirect.h"
#include "shim/hooks/start.h"

static int stat_at(int directory, const char *path, struct stat64 *status, int flags) {
    if (!shim_active()) {
        return REAL(fstatat64)(directory, path, status, flags);
    }
    struct path_buffer buffer;
    const int result = REAL(fstatat64)(directory, path_redirect(directory, path, &buffer), status, flags);
    if (result == 0) {
        path_fix_stat(status);
    }
    return result;
}

static int stat_fd(int fd, struct stat64 *status) {
    const int result = REAL(fstat64)(fd, status);
    if (result == 0 && shim_active()) {
        if (S_ISSOCK(status->st_mode)) {
            drm_file_adopt(fd, status->st_ino);
        }
        path_fix_stat(status);
    }
    return result;
}

/* Convert to the struct of programs without large-file support; on 64-bit systems both are the same. */
static int narrow(int result, const struct stat64 *wide, struct stat *status) {
    if (result) {
        return result;
    }
    *status = (struct stat){
        .st_dev = wide->st_dev,
        .st_ino = (ino_t)wide->st_ino,
        .st_mode = wide->st_mode,
        .st_nlink = wide->st_nlink,
        .st_uid = wide->st_uid,
        .st_gid = wide->st_gid,
        .st_rdev = wide->st_rdev,
        .st_size = (off_t)wide->st_size,
        .st_blksize = wide->st_blksize,
        .st_blocks = (blkcnt_t)wide->st_blocks,
        .st_atim = wide->st_atim,
        .st_mtim = wide->st_mtim,
        .st_ctim = wide->st_ctim,
    };
    if (status->st_ino != wide->st_ino || status->st_size != wide->st_size || status->st_blocks != wide->st_blocks) {
        errno = EOVERFLOW;
        return -1;
    }
    return 0;
}

static int narrow_stat_at(int directory, const char *path, struct stat *status, int flags) {
    struct stat64 wide;
    return narrow(stat_at(directory, path, &wide, flags), &wide, status);
}

static int narrow_stat_fd(int fd, struct stat *status) {
    struct stat64 wide;
    return narrow(stat_fd(fd, &wide), &wide, status);
}

/* Programs linked with a libc before 2.33 call the last four. */
#define HOOK_STATS(suffix, type, at, of)                                                                               \
    HOOK int stat##suffix(const char *path, struct type *status) {                                                     \
        return at(AT_FDCWD, path, status, 0);                                                                          \
    }                                                                                                                  \
    HOOK int lstat##suffix(const char *path, struct type *status) {                                                    \
        return at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);                                                        \
    }                                                                                                                  \
    HOOK int fstat##suffix(int fd, struct type *status) {                                                              \
        return of(fd, status);                                                                                         \
    }                                                                                                                  \
    HOOK int fstatat##suffix(int directory, const char *path, struct type *status, int flags) {                        \
        return at(directory, path, status, flags);                                                                     \
    }                                                                                                                  \
    HOOK int __xstat##suffix(int version, const char *path, struct type *status);                                      \
    HOOK int __xstat##suffix(int version, const char *path, struct type *status) {                                     \
        (void)version;                                                                                                 \
        return at(AT_FDCWD, path, status, 0);                                                                          \
    }                                                                                                                  \
    HOOK int __lxstat##suffix(int version, const char *path, struct type *status);                                     \
    HOOK int __lxstat##suffix(int version, const char *path, struct type *status) {                                    \
        (void)version;                                                                                                 \
        return at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);                                                        \
    }                                                                                                                  \
    HOOK int __fxstat##suffix(int version, int fd, struct type *status);                                               \
    HOOK int __fxstat##suffix(int version, int fd, struct type *status) {                                              \
        (void)version;                                                                                                 \
        return of(fd, status);                                                                                         \
    }                                                                                                                  \
    HOOK int __fxstatat##suffix(int version, int directory, const char *path, struct type *status, int flags);         \
    HOOK int __fxstatat##suffix(int version, int directory, const char *path, struct type *status, int flags) {        \
        (void)version;                                                                                                 \
        return at(directory, path, status, flags);                                                                     \
    }
HOOK_STATS(, stat, narrow_stat_at, narrow_stat_fd)
HOOK_STATS(64, stat64, stat_at, stat_fd)

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

/* --- statfs: libudev accepts devices in sysfs only --- */

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
