/* Mode setting: resources, connector, CRTC, planes, cursor and gamma. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/user.h"
#include "shim/gem/gem_object.h"
#include "shim/kms/display.h"

/* Write an array if the program's buffer has the capacity; set `count` to its length in any case. */
static bool put_numbers(uint64_t address, uint32_t *count, const uint32_t *numbers, uint32_t there) {
    const bool fits = *count >= there;
    *count = there;
    return !fits || user_write(address, numbers, there * sizeof numbers[0]);
}

int kms_set_client_cap(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_client_cap *const request = argument;
    struct display *const display = display_of(file);
    if (!display) {
        return ENOMEM;
    }
    switch (request->capability) {
    case KMS_CAP_UNIVERSAL_PLANES:
        if (request->value > 1) {
            return EINVAL;
        }
        display->universal_planes = request->value;
        return 0;
    case KMS_CAP_ATOMIC:
        /* Before Ironlake, kernels offer it only with i915.nuclear_pageflip. */
        if (!display->offers_atomic) {
            return EOPNOTSUPP;
        }
        if (request->value > 2) {
            return EINVAL;
        }
        display->atomic = request->value;
        display->universal_planes |= display->atomic;
        return 0;
    case KMS_CAP_STEREO:
    case KMS_CAP_ASPECT_RATIO:
        return request->value > 1 ? EINVAL : 0;
    default:
        return EOPNOTSUPP;
    }
}

int kms_get_resources(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_resources *const request = argument;
    const struct display *const display = display_of(file);
    if (!display) {
        return ENOMEM;
    }
    const uint32_t capacity = display->framebuffers.capacity;
    uint32_t *const fbs = calloc(capacity + 1, sizeof *fbs);
    if (!fbs) {
        return ENOMEM;
    }
    uint32_t count = 0;
    for (uint32_t fb = 1; fb < capacity; fb++) {
        if (display->framebuffers.items[fb]) {
            fbs[count++] = fb;
        }
    }
    const bool fine =
        put_numbers(request->fbs, &request->fb_count, fbs, count) &&
        put_numbers(request->crtcs, &request->crtc_count, (const uint32_t[]){DISPLAY_CRTC}, 1) &&
        put_numbers(request->connectors, &request->connector_count, (const uint32_t[]){DISPLAY_CONNECTOR}, 1) &&
        put_numbers(request->encoders, &request->encoder_count, (const uint32_t[]){DISPLAY_ENCODER}, 1);
    free(fbs);
    request->min_width = 0;
    request->min_height = 0;
    request->max_width = DISPLAY_MAX_SIZE;
    request->max_height = DISPLAY_MAX_SIZE;
    return fine ? 0 : EFAULT;
}

int kms_get_encoder(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_encoder *const request = argument;
    const struct display *const display = display_of(file);
    if (!display || request->encoder != DISPLAY_ENCODER) {
        return display ? ENOENT : ENOMEM;
    }
    request->type = KMS_ENCODER_DAC;
    request->crtc = display->active ? DISPLAY_CRTC : 0;
    request->possible_crtcs = 1;
    request->possible_clones = 0;
    return 0;
}

int kms_get_connector(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_connector *const request = argument;
    const struct display *const display = display_of(file);
    if (!display || request->connector != DISPLAY_CONNECTOR) {
        return display ? ENOENT : ENOMEM;
    }
    uint32_t numbers[DISPLAY_MAX_PROPERTIES];
    uint64_t values[DISPLAY_MAX_PROPERTIES];
    const uint32_t count = properties_of_connector(display, numbers, values);
    bool fine = put_numbers(request->encoders, &request->encoder_count, (const uint32_t[]){DISPLAY_ENCODER}, 1);
    if (request->mode_count >= display->mode_count) {
        fine = fine && user_write(request->modes, display->modes, display->mode_count * sizeof display->modes[0]);
    }
    if (request->property_count >= count) {
        fine = fine && user_write(request->values, values, count * sizeof values[0]);
    }
    fine = fine && put_numbers(request->properties, &request->property_count, numbers, count);
    request->mode_count = display->mode_count;
    request->encoder = display->active ? DISPLAY_ENCODER : 0; /* the current one */
    request->type = KMS_CONNECTOR_VGA;
    request->type_number = 1;
    request->connection = KMS_CONNECTED;
    request->mm_width = DISPLAY_WIDTH_MM;
    request->mm_height = DISPLAY_HEIGHT_MM;
    request->subpixel = KMS_SUBPIXEL_UNKNOWN;
    return fine ? 0 : EFAULT;
}

/* --- the CRTC --- */

int kms_get_crtc(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_crtc *const request = argument;
    const struct display *const display = display_of(file);
    if (!display || request->crtc != DISPLAY_CRTC) {
        return display ? ENOENT : ENOMEM;
    }
    request->fb = display->fb;
    request->x = display->x;
    request->y = display->y;
    request->gamma_size = DISPLAY_GAMMA_SIZE;
    request->mode_valid = display->active;
    request->mode = display->current;
    return 0;
}

static int enable_crtc(struct drm_file *file, const struct kms_crtc *request) {
    struct display *const display = file->display;
    const uint32_t fb = request->fb == UINT32_MAX ? display->fb : request->fb; /* all ones: keep the current one */
    const struct framebuffer *const framebuffer = framebuffer_lookup(display, fb);
    uint32_t connector;
    if (!framebuffer) {
        return ENOENT;
    }
    if (request->connector_count != 1 || request->mode.hdisplay == 0 || request->mode.vdisplay == 0) {
        return EINVAL;
    }
    if (!user_read(&connector, request->connectors, sizeof connector)) {
        return EFAULT;
    }
    if (connector != DISPLAY_CONNECTOR) {
        return ENOENT;
    }
    if (request->x > framebuffer->width || request->y > framebuffer->height ||
        request->mode.hdisplay > framebuffer->width - request->x ||
        request->mode.vdisplay > framebuffer->height - request->y) {
        return ENOSPC;
    }
    const int error = display_show(file, fb);
    if (!error) {
        display->active = true;
        display->dark = false;
        display->fb = fb;
        display->x = request->x;
        display->y = request->y;
        display->current = request->mode;
    }
    return error;
}

int kms_set_crtc(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_crtc *const request = argument;
    struct display *const display = display_of(file);
    if (!display || request->crtc != DISPLAY_CRTC) {
        return display ? ENOENT : ENOMEM;
    }
    if (request->mode_valid) {
        return enable_crtc(file, request);
    }
    if (request->connector_count) {
        return EINVAL;
    }
    display->active = false;
    display->fb = 0;
    return 0;
}

int kms_get_pipe(struct drm_file *file, void *argument, uint32_t size) {
    (void)file;
    (void)size;
    struct kms_pipe *const request = argument;
    if (request->crtc != DISPLAY_CRTC) {
        return ENOENT;
    }
    request->pipe = 0;
    return 0;
}

/* --- planes --- */

int kms_get_planes(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_planes *const request = argument;
    const struct display *const display = display_of(file);
    if (!display) {
        return ENOMEM;
    }
    static const uint32_t planes[] = {DISPLAY_PRIMARY, DISPLAY_CURSOR};
    return put_numbers(request->planes, &request->count, planes, display->universal_planes ? 2 : 0) ? 0 : EFAULT;
}

int kms_get_plane(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_plane *const request = argument;
    const struct display *const display = display_of(file);
    if (!display || (request->plane != DISPLAY_PRIMARY && request->plane != DISPLAY_CURSOR)) {
        return display ? ENOENT : ENOMEM;
    }
    const bool shows = request->plane == DISPLAY_PRIMARY && display->active;
    request->crtc = shows ? DISPLAY_CRTC : 0;
    request->fb = shows ? display->fb : 0;
    request->possible_crtcs = 1;
    request->gamma_size = 0;
    /* The cursor's only format is the second one, ARGB8888. */
    const bool is_cursor = request->plane == DISPLAY_CURSOR;
    return put_numbers(request->formats, &request->format_count, framebuffer_formats + is_cursor,
                       is_cursor ? 1 : framebuffer_format_count)
               ? 0
               : EFAULT;
}

int kms_set_plane(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_set_plane *const request = argument;
    struct display *const display = display_of(file);
    if (!display || (request->plane != DISPLAY_PRIMARY && request->plane != DISPLAY_CURSOR)) {
        return display ? ENOENT : ENOMEM;
    }
    if (request->fb == 0) {
        return 0;
    }
    if (request->crtc != DISPLAY_CRTC || !framebuffer_lookup(display, request->fb)) {
        return ENOENT;
    }
    if (request->plane == DISPLAY_CURSOR) {
        return 0;
    }
    const int error = display->active ? display_show(file, request->fb) : EINVAL;
    if (!error) {
        display->fb = request->fb;
    }
    return error;
}

/* --- cursor and gamma: checked, but without effect on pictures --- */

int kms_cursor(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_cursor *const request = argument;
    if (request->flags == 0 || request->flags & ~(uint32_t)(KMS_CURSOR_BO | KMS_CURSOR_MOVE)) {
        return EINVAL;
    }
    if (request->crtc != DISPLAY_CRTC) {
        return ENOENT;
    }
    return request->flags & KMS_CURSOR_BO && request->handle && !vma_lookup(file, request->handle) ? ENOENT : 0;
}

static int move_gamma(struct drm_file *file, const struct kms_gamma *request, bool set) {
    struct display *const display = display_of(file);
    if (!display || request->crtc != DISPLAY_CRTC) {
        return display ? ENOENT : ENOMEM;
    }
    if (request->size != DISPLAY_GAMMA_SIZE) {
        return EINVAL;
    }
    const uint64_t tables[3] = {request->red, request->green, request->blue};
    for (int i = 0; i < 3; i++) {
        const bool fine = set ? user_read(display->gamma[i], tables[i], sizeof display->gamma[i])
                              : user_write(tables[i], display->gamma[i], sizeof display->gamma[i]);
        if (!fine) {
            return EFAULT;
        }
    }
    return 0;
}

int kms_get_gamma(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    return move_gamma(file, argument, false);
}

int kms_set_gamma(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    return move_gamma(file, argument, true);
}
