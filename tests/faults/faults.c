/*
 * Preloaded into gen4emu: files that cannot be written or made, slow disks, short writes and reads.
 *
 * GEN4EMU_FAULT is "KIND AT ERRNO", or arm() sets it: calls from the number AT on, from 1, fail with ERRNO.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum kind {
    NONE,
    WRITE,
    CREATE,
    RENAME,
    SHORT
};

static int kind, at, error, count;

void arm(int new_kind, int new_at, int new_error) {
    kind = new_kind;
    at = new_at;
    error = new_error;
    count = 0;
}

/* Calls of the kind that was armed. */
int calls(void) {
    return count;
}

__attribute__((constructor)) static void start(void) {
    const char *text = getenv("GEN4EMU_FAULT");
    int *const numbers[] = {&kind, &at, &error};

    for (size_t i = 0; text && i < sizeof numbers / sizeof *numbers; i++) {
        char *end;
        *numbers[i] = (int)strtol(text, &end, 10);
        if (end == text) {
            abort();
        }
        text = end;
    }
}

static int is_file(int file) {
    struct stat status;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink > 0; /* no temporary file or memfd */
}

static int fails(int this_kind) {
    if (kind != this_kind || ++count < at) {
        return 0;
    }
    errno = error;
    return 1;
}

static size_t shortened(int file, size_t size) {
    if (kind == SHORT && size > 1 && is_file(file)) {
        const struct timespec pause = {.tv_nsec = 200000};
        count++;
        nanosleep(&pause, NULL);
        return (size + 1) / 2 < 40000 ? (size + 1) / 2 : 40000;
    }
    return size;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *data, size_t size) {
    if (kind == WRITE && is_file(file) && fails(WRITE)) {
        return -1;
    }
    return NEXT(write)(file, data, shortened(file, size));
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t size) {
    if (kind == WRITE && is_file(out) && fails(WRITE)) {
        return -1;
    }
    return NEXT(sendfile64)(out, in, offset, size);
}

ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    return sendfile64(out, in, offset, size);
}

ssize_t read(int file, void *data, size_t size) {
    return NEXT(read)(file, data, shortened(file, size));
}

static int open_fails(int flags) {
    return kind == CREATE && (flags & O_ACCMODE) != O_RDONLY && fails(CREATE);
}

#define OPEN(name, parameters, arguments)                                                                              \
    int name parameters {                                                                                              \
        mode_t mode = 0;                                                                                               \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                                                         \
            va_list rest;                                                                                              \
            va_start(rest, flags);                                                                                     \
            mode = va_arg(rest, mode_t);                                                                               \
            va_end(rest);                                                                                              \
        }                                                                                                              \
        return open_fails(flags) ? -1 : NEXT(name) arguments;                                                          \
    }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPEN(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

int rename(const char *from, const char *to) {
    return fails(RENAME) ? -1 : NEXT(rename)(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return fails(RENAME) ? -1 : NEXT(renameat)(from_folder, from, to_folder, to);
}
