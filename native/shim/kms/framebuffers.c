/* Framebuffers, and dumb buffers. */
#include <errno.h>
#include <stdlib.h>

#include "shim/base/handle_table.h"
#include "shim/gem/cpu_map.h"
#include "shim/gem/gem_ioctls.h"
#include "shim/gem/gem_object.h"
#include "shim/kms/display.h"
#include "shim/uapi.h"

#define FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum {
    LINEAR,
    X,
    PITCH_UNIT = 64,
    MAX_PITCH = 32 << 10,
    X_TILE_HEIGHT = 8
};

static const struct {
    uint32_t format, bpp, depth;
} formats[] = {
    {FOURCC('X', 'R', '2', '4'), 32, 24},
    {FOURCC('A', 'R', '2', '4'), 32, 32},
    {FOURCC('R', 'G', '1', '6'), 16, 16},
    {FOURCC('X', 'R', '3', '0'), 32, 30},
};
enum {
    FORMATS = sizeof formats / sizeof formats[0]
};

const uint32_t framebuffer_formats[] = {FOURCC('X', 'R', '2', '4'), FOURCC('A', 'R', '2', '4'),
                                        FOURCC('R', 'G', '1', '6'), FOURCC('X', 'R', '3', '0')};
const uint32_t framebuffer_format_count = FORMATS;

struct framebuffer *framebuffer_lookup(const struct display *display, uint32_t fb) {
    return display ? handle_lookup(&display->framebuffers, fb) : NULL;
}

static void destroy(struct framebuffer *framebuffer) {
    framebuffer->object->scanouts--;
    gem_object_put(framebuffer->object);
    free(framebuffer);
}

void framebuffer_free_all(struct display *display) {
    for (uint32_t fb = 1; fb < display->framebuffers.capacity; fb++) {
        struct framebuffer *const framebuffer = handle_remove(&display->framebuffers, fb);
        if (framebuffer) {
            destroy(framebuffer);
        }
    }
    free(display->framebuffers.items);
}

static uint32_t bpp_of(uint32_t format) {
    for (int i = 0; i < FORMATS; i++) {
        if (formats[i].format == format) {
            return formats[i].bpp;
        }
    }
    return 0;
}

static int check(const struct framebuffer *framebuffer) {
    const uint32_t bpp = bpp_of(framebuffer->format);
    const struct gem_object *const object = framebuffer->object;
    if (!bpp || framebuffer->width == 0 || framebuffer->height == 0 || framebuffer->width > DISPLAY_MAX_SIZE ||
        framebuffer->height > DISPLAY_MAX_SIZE) {
        return EINVAL;
    }
    if (framebuffer->pitch < framebuffer->width * bpp / 8 || framebuffer->pitch > MAX_PITCH ||
        framebuffer->pitch % (framebuffer->tiling == X ? 512 : PITCH_UNIT)) {
        return EINVAL;
    }
    /* The display reads linear and X-tiled surfaces only, and the object's pitch must be the framebuffer's. */
    if (framebuffer->tiling > X || (object->tiling && object->tiling != framebuffer->tiling) ||
        (object->tiling && object->pitch != framebuffer->pitch)) {
        return EINVAL;
    }
    const uint64_t unit = framebuffer->tiling == X ? X_TILE_HEIGHT : 1;
    const uint64_t rows = (framebuffer->height + unit - 1) / unit * unit;
    const uint64_t size = rows * framebuffer->pitch + framebuffer->offset;
    return framebuffer->offset & 4095 || size > object->size ? EINVAL : 0;
}

static int add(struct drm_file *file, const struct framebuffer *wanted, uint32_t *fb) {
    struct display *const display = display_of(file);
    const int error = check(wanted);
    struct framebuffer *const framebuffer = error || !display ? NULL : malloc(sizeof *framebuffer);
    if (!framebuffer) {
        return error ? error : ENOMEM;
    }
    *framebuffer = *wanted;
    *fb = handle_add(&display->framebuffers, framebuffer);
    if (!*fb) {
        free(framebuffer);
        return ENOMEM;
    }
    gem_object_get(framebuffer->object)->scanouts++;
    return 0;
}

int kms_add_fb(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_fb *const request = argument;
    const struct vma *const vma = vma_lookup(file, request->handle);
    if (!vma) {
        return ENOENT;
    }
    struct framebuffer framebuffer = {.width = request->width,
                                      .height = request->height,
                                      .pitch = request->pitch,
                                      .tiling = vma->object->tiling,
                                      .object = vma->object};
    for (int i = 0; i < FORMATS; i++) {
        if (formats[i].bpp == request->bpp && formats[i].depth == request->depth) {
            framebuffer.format = formats[i].format;
        }
    }
    return add(file, &framebuffer, &request->fb);
}

int kms_add_fb2(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_fb2 *const request = argument;
    const bool modified = request->flags & KMS_FB_MODIFIERS;
    if (request->flags & ~(uint32_t)KMS_FB_MODIFIERS || request->handles[1] || request->handles[2] ||
        request->handles[3]) {
        return EINVAL;
    }
    if (modified && request->modifiers[0] != KMS_MODIFIER_LINEAR && request->modifiers[0] != KMS_MODIFIER_X) {
        return EINVAL;
    }
    const struct vma *const vma = vma_lookup(file, request->handles[0]);
    if (!vma) {
        return ENOENT;
    }
    const uint32_t tiling = request->modifiers[0] == KMS_MODIFIER_X ? X : LINEAR;
    const struct framebuffer framebuffer = {.width = request->width,
                                            .height = request->height,
                                            .pitch = request->pitches[0],
                                            .offset = request->offsets[0],
                                            .format = request->format,
                                            .tiling = modified ? tiling : vma->object->tiling,
                                            .modifier = modified ? request->modifiers[0] : 0,
                                            .has_modifier = modified,
                                            .object = vma->object};
    return add(file, &framebuffer, &request->fb);
}

int kms_get_fb(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_fb *const request = argument;
    const struct framebuffer *const framebuffer = framebuffer_lookup(file->display, request->fb);
    if (!framebuffer) {
        return ENOENT;
    }
    request->width = framebuffer->width;
    request->height = framebuffer->height;
    request->pitch = framebuffer->pitch;
    for (int i = 0; i < FORMATS; i++) {
        if (formats[i].format == framebuffer->format) {
            request->bpp = formats[i].bpp;
            request->depth = formats[i].depth;
        }
    }
    request->handle = gem_handle_create(file, framebuffer->object, false);
    return request->handle ? 0 : ENOMEM;
}

int kms_get_fb2(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_fb2 *const request = argument;
    const struct framebuffer *const framebuffer = framebuffer_lookup(file->display, request->fb);
    if (!framebuffer) {
        return ENOENT;
    }
    *request = (struct kms_fb2){.fb = request->fb,
                                .width = framebuffer->width,
                                .height = framebuffer->height,
                                .format = framebuffer->format,
                                .flags = KMS_FB_MODIFIERS,
                                .pitches = {framebuffer->pitch},
                                .offsets = {framebuffer->offset},
                                .modifiers = {framebuffer->tiling == X ? KMS_MODIFIER_X : KMS_MODIFIER_LINEAR}};
    request->handles[0] = gem_handle_create(file, framebuffer->object, false);
    return request->handles[0] ? 0 : ENOMEM;
}

int kms_remove_fb(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const uint32_t *const fb = argument;
    struct display *const display = file->display;
    struct framebuffer *const framebuffer = display ? handle_remove(&display->framebuffers, *fb) : NULL;
    if (!framebuffer) {
        return ENOENT;
    }
    if (display->fb == *fb) {
        display->fb = 0;
        display->active = false;
    }
    if (display->cursor.value[PROPERTY_FB_ID - PROPERTY_CRTC_ID] == *fb) {
        display->cursor = (struct plane){{0}};
    }
    destroy(framebuffer);
    return 0;
}

/* The program has drawn into the framebuffer that is being shown. */
int kms_dirty_fb(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_dirty *const request = argument;
    if (!framebuffer_lookup(file->display, request->fb)) {
        return ENOENT;
    }
    return file->display->active && file->display->fb == request->fb ? display_show(file, request->fb) : 0;
}

/* --- dumb buffers --- */

int kms_create_dumb(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_create_dumb *const request = argument;
    if (request->flags || request->width == 0 || request->height == 0 || request->bpp == 0 || request->bpp > 64 ||
        request->width > UINT16_MAX || request->height > UINT16_MAX) {
        return EINVAL;
    }
    request->pitch = ((request->width * request->bpp + 7) / 8 + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
    struct i915_create create = {.size = (uint64_t)request->pitch * request->height};
    const int error = gem_create(file, &create, sizeof create);
    request->handle = create.handle;
    request->size = create.size;
    return error;
}

int kms_map_dumb(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_map_dumb *const request = argument;
    const struct vma *const vma = vma_lookup(file, request->handle);
    if (!vma) {
        return ENOENT;
    }
    request->offset = cpu_map_offset(vma->object, true);
    return 0;
}

int kms_destroy_dumb(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const uint32_t *const handle = argument;
    return gem_handle_delete(file, *handle) ? 0 : EINVAL;
}
