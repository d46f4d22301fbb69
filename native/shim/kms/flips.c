/* Page flips and vertical blanks. */
#include <errno.h>

#include "shim/base/lock.h"
#include "shim/kms/display.h"

const int64_t display_frame = 1000000000 / 60;

static uint32_t seconds_of(int64_t time) {
    return (uint32_t)(time / 1000000000);
}

static uint32_t microseconds_of(int64_t time) {
    return (uint32_t)(time % 1000000000 / 1000);
}

bool display_is_flipping(const struct drm_file *file) {
    return display_has_events(file) && shim_now() < file->display->flip_until;
}

int display_flip_event(struct drm_file *file, uint64_t user) {
    struct display *const display = file->display;
    const int64_t time = shim_now();
    const struct kms_event event = {.type = KMS_EVENT_FLIP,
                                    .length = sizeof event,
                                    .user = user,
                                    .seconds = seconds_of(time),
                                    .microseconds = microseconds_of(time),
                                    .sequence = (uint32_t)display->last_sequence,
                                    .crtc = DISPLAY_CRTC};
    return display_event(file, &event, sizeof event);
}

int kms_page_flip(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_flip *const request = argument;
    struct display *const display = display_of(file);
    if (request->flags & ~(uint32_t)KMS_FLIP_EVENT || request->reserved) {
        return EINVAL;
    }
    if (!display || request->crtc != DISPLAY_CRTC) {
        return display ? ENOENT : ENOMEM;
    }
    const struct framebuffer *const next = framebuffer_lookup(display, request->fb);
    const struct framebuffer *const now = framebuffer_lookup(display, display->fb);
    if (!next) {
        return ENOENT;
    }
    if (!display->active || !now || display_is_flipping(file)) {
        return EBUSY;
    }
    if (next->format != now->format || next->pitch != now->pitch || next->tiling != now->tiling) {
        return EINVAL;
    }
    if (next->width < display->x + display->current.hdisplay || next->height < display->y + display->current.vdisplay) {
        return ENOSPC;
    }
    const int error = display_show(file, request->fb);
    if (error) {
        return error;
    }
    display->fb = request->fb;
    display->last_sequence = display_sequence(display) + 1;
    display->flip_until = shim_now() + display_frame;
    return request->flags & KMS_FLIP_EVENT ? display_flip_event(file, request->user) : 0;
}

/* The requested vertical blank.  With `next_on_miss`, one that has passed means the next one. */
static uint64_t target_of(uint64_t present, uint64_t wanted, bool relative, bool next_on_miss) {
    const uint64_t target = relative ? present + wanted : wanted;
    return target <= present && next_on_miss ? present + 1 : target;
}

static void wait_until(int64_t time) {
    while (shim_now() < time) {
        shim_pause(time);
    }
}

int kms_wait_vblank(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    union kms_vblank *const vblank = argument;
    const uint32_t type = vblank->request.type;
    struct display *const display = display_of(file);
    if (!display) {
        return ENOMEM;
    }
    if (type & (KMS_VBLANK_SIGNAL | KMS_VBLANK_SECONDARY | KMS_VBLANK_HIGH_CRTC)) {
        return EINVAL;
    }
    const uint64_t present = display_sequence(display);
    const bool relative = type & KMS_VBLANK_RELATIVE;
    const uint64_t wanted = relative
                                ? vblank->request.sequence
                                : present + (uint64_t)(int64_t)(int32_t)(vblank->request.sequence - (uint32_t)present);
    uint64_t target = target_of(present, wanted, relative, type & KMS_VBLANK_NEXT_ON_MISS);
    if (type & KMS_VBLANK_EVENT) {
        const int64_t time = shim_now();
        const struct kms_event event = {.type = KMS_EVENT_VBLANK,
                                        .length = sizeof event,
                                        .user = vblank->request.user,
                                        .seconds = seconds_of(time),
                                        .microseconds = microseconds_of(time),
                                        .sequence = (uint32_t)(target > present ? target : present),
                                        .crtc = DISPLAY_CRTC};
        vblank->reply.sequence = event.sequence;
        return display_event(file, &event, sizeof event);
    }
    if (target > present) {
        wait_until(display_time(display, target));
    } else {
        target = present;
    }
    const int64_t time = display_time(display, target);
    vblank->reply.sequence = (uint32_t)target;
    vblank->reply.seconds = time / 1000000000;
    vblank->reply.microseconds = time % 1000000000 / 1000;
    return 0;
}

int kms_get_sequence(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_get_sequence *const request = argument;
    const struct display *const display = display_of(file);
    if (!display || request->crtc != DISPLAY_CRTC) {
        return display ? ENOENT : ENOMEM;
    }
    request->active = display->active;
    request->sequence = display_sequence(display);
    request->time = display_time(display, request->sequence);
    return 0;
}

int kms_queue_sequence(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_queue_sequence *const request = argument;
    const struct display *const display = display_of(file);
    if (!display || request->crtc != DISPLAY_CRTC) {
        return display ? ENOENT : ENOMEM;
    }
    if (request->flags & ~(uint32_t)(KMS_SEQUENCE_RELATIVE | KMS_SEQUENCE_NEXT_ON_MISS)) {
        return EINVAL;
    }
    const uint64_t present = display_sequence(display);
    const uint64_t target = target_of(present, request->sequence, request->flags & KMS_SEQUENCE_RELATIVE,
                                      request->flags & KMS_SEQUENCE_NEXT_ON_MISS);
    const struct kms_sequence_event event = {.type = KMS_EVENT_SEQUENCE,
                                             .length = sizeof event,
                                             .user = request->user,
                                             .time = display_time(display, target),
                                             .sequence = target > present ? target : present};
    request->sequence = event.sequence;
    return display_event(file, &event, sizeof event);
}
