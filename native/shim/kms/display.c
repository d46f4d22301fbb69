#define _GNU_SOURCE
#include "shim/kms/display.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "shim/base/lock.h"
#include "shim/base/real.h"
#include "shim/gem/cpu_view.h"
#include "shim/gem/gem_object.h"
#include "shim/gem/gtt.h"

enum {
    REFRESH = 60
};
static const int64_t second = 1000000000;
static const uint64_t scanout_alignment = 64 << 10;

/* --- creating and freeing --- */

struct display *display_of(struct drm_file *file) {
    if (file->display) {
        return file->display;
    }
    struct display *const display = calloc(1, sizeof *display);
    if (!display) {
        return NULL;
    }
    display->mode_count = modes_make(display->modes);
    display->start = shim_now();
    const char *const atomic = getenv("GEN4EMU_ATOMIC");
    display->offers_atomic = atomic && strcmp(atomic, "1") == 0;
    modes_make_edid(display->edid, display->modes, display->mode_count);
    for (int i = 0; i < DISPLAY_GAMMA_SIZE; i++) {
        for (int channel = 0; channel < 3; channel++) {
            display->gamma[channel][i] = (uint16_t)(i * 0x101);
        }
    }
    file->display = display;
    return display;
}

void display_free(struct drm_file *file) {
    if (file->display) {
        framebuffer_free_all(file->display);
        property_free_blobs(file->display);
        free(file->display);
        file->display = NULL;
    }
}

/* --- showing framebuffers --- */

static struct vma *vma_of(struct drm_file *file, struct gem_object *object) {
    for (struct vma *vma = object->vmas; vma; vma = vma->next_of_object) {
        if (vma->file == file) {
            return vma;
        }
    }
    return vma_create(file, object);
}

int display_show(struct drm_file *file, uint32_t fb) {
    struct framebuffer *const framebuffer = framebuffer_lookup(file->display, fb);
    if (!framebuffer) {
        return ENOENT;
    }
    const int error = drm_file_connect(file);
    if (error) {
        return error;
    }
    const struct framebuffer shown = *framebuffer;
    struct gem_object *const object = gem_object_get(shown.object);
    (void)gem_object_wait(object, true, INT64_MAX);
    cpu_view_write_back(object);
    struct vma *const vma = vma_of(file, object);
    const struct gtt_request request = {.alignment = scanout_alignment};
    int failed = vma ? gtt_bind(vma, &request, file->stamp + 1) : ENOMEM;
    if (!failed && !gtt_flush(file)) {
        failed = EIO;
    }
    if (!failed) {
        struct g4_live_mark mark = {
            .header = {.type = G4_LIVE_MARK},
            .address = vma->address + shown.offset,
            .width = shown.width,
            .height = shown.height,
            .pitch = shown.pitch,
            .tiling = shown.tiling,
            .fourcc = shown.format,
        };
        failed = connection_send(&file->connection, &mark, sizeof mark, -1) ? 0 : EIO;
    }
    gem_object_put(object);
    return failed;
}

/* --- time --- */

uint64_t display_sequence(const struct display *display) {
    const uint64_t elapsed = (uint64_t)(shim_now() - display->start) / (uint64_t)(second / REFRESH);
    return elapsed > display->last_sequence ? elapsed : display->last_sequence;
}

int64_t display_time(const struct display *display, uint64_t sequence) {
    return display->start + (int64_t)sequence * (second / REFRESH);
}

/* --- events --- */

int display_event(const struct drm_file *file, const void *event, uint32_t size) {
    if (file->peer_fd < 0) {
        return EINVAL;
    }
    return send(file->peer_fd, event, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size ? 0 : ENOMEM;
}

bool display_has_events(const struct drm_file *file) {
    int unread = 0;
    return file->peer_fd >= 0 && REAL(ioctl)(file->peer_fd, SIOCOUTQ, &unread) == 0 && unread > 0;
}
