/* Properties of mode objects: names, values, blobs. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/handle_table.h"
#include "shim/base/user.h"
#include "shim/kms/display.h"

enum {
    BLOB_EDID = 200,
    BLOB_IN_FORMATS,
    BLOB_MODE,         /* the current mode */
    BLOB_FIRST = 1000, /* first blob created by the program */
    MAX_BLOB_SIZE = 1 << 20
};
enum {
    OVERLAY,
    PRIMARY,
    CURSOR,
    MAX_VALUES = 4,
    MAX_FORMATS = 4
};

static const struct property {
    uint32_t number, flags;
    const char *name;
    uint32_t count;
    const char *enums[MAX_VALUES];
    uint64_t values[MAX_VALUES]; /* limits of a range; an enumeration's values are its indices */
} properties[] = {
    {PROPERTY_DPMS, KMS_PROPERTY_ENUM, "DPMS", 4, {"On", "Standby", "Suspend", "Off"}, {0}},
    {PROPERTY_EDID, KMS_PROPERTY_BLOB | KMS_PROPERTY_IMMUTABLE, "EDID", 0, {NULL}, {0}},
    {PROPERTY_TYPE, KMS_PROPERTY_ENUM | KMS_PROPERTY_IMMUTABLE, "type", 3, {"Overlay", "Primary", "Cursor"}, {0}},
    {PROPERTY_IN_FORMATS, KMS_PROPERTY_BLOB | KMS_PROPERTY_IMMUTABLE, "IN_FORMATS", 0, {NULL}, {0}},
#define ATOMIC(name, flags, count, ...)                                                                                \
    {                                                                                                                  \
        PROPERTY_##name, KMS_PROPERTY_ATOMIC | (flags), #name, count, {NULL}, {                                        \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
    ATOMIC(CRTC_ID, KMS_PROPERTY_OBJECT, 1, KMS_OBJECT_CRTC),
    ATOMIC(FB_ID, KMS_PROPERTY_OBJECT, 1, KMS_OBJECT_FB),
    ATOMIC(SRC_X, KMS_PROPERTY_RANGE, 2, 0, UINT32_MAX),
    ATOMIC(SRC_Y, KMS_PROPERTY_RANGE, 2, 0, UINT32_MAX),
    ATOMIC(SRC_W, KMS_PROPERTY_RANGE, 2, 0, UINT32_MAX),
    ATOMIC(SRC_H, KMS_PROPERTY_RANGE, 2, 0, UINT32_MAX),
    ATOMIC(CRTC_X, KMS_PROPERTY_SIGNED_RANGE, 2, (uint64_t)INT32_MIN, INT32_MAX),
    ATOMIC(CRTC_Y, KMS_PROPERTY_SIGNED_RANGE, 2, (uint64_t)INT32_MIN, INT32_MAX),
    ATOMIC(CRTC_W, KMS_PROPERTY_RANGE, 2, 0, INT32_MAX),
    ATOMIC(CRTC_H, KMS_PROPERTY_RANGE, 2, 0, INT32_MAX),
    ATOMIC(IN_FENCE_FD, KMS_PROPERTY_SIGNED_RANGE, 2, (uint64_t)-1, INT32_MAX),
    ATOMIC(ACTIVE, KMS_PROPERTY_RANGE, 2, 0, 1),
    ATOMIC(MODE_ID, KMS_PROPERTY_BLOB, 0, 0),
    ATOMIC(OUT_FENCE_PTR, KMS_PROPERTY_RANGE, 2, 0, UINT64_MAX),
#undef ATOMIC
};

static const struct property *find(uint32_t number) {
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++) {
        if (properties[i].number == number) {
            return &properties[i];
        }
    }
    return NULL;
}

int kms_get_property(struct drm_file *file, void *argument, uint32_t size) {
    (void)file;
    (void)size;
    struct kms_property *const request = argument;
    const struct property *const property = find(request->property);
    if (!property) {
        return ENOENT;
    }
    request->flags = property->flags;
    (void)snprintf(request->name, sizeof request->name, "%s", property->name);
    const uint32_t count = property->count;
    const bool is_enum = property->flags & KMS_PROPERTY_ENUM;
    for (uint32_t i = 0; i < count && is_enum && request->enum_count >= count; i++) {
        struct kms_property_enum entry = {.value = i};
        (void)snprintf(entry.name, sizeof entry.name, "%s", property->enums[i]);
        if (!user_write(request->enums + i * sizeof entry, &entry, sizeof entry)) {
            return EFAULT;
        }
    }
    for (uint64_t i = 0; i < count && request->value_count >= count; i++) {
        const uint64_t value = is_enum ? i : property->values[i];
        if (!user_write(request->values + i * sizeof value, &value, sizeof value)) {
            return EFAULT;
        }
    }
    request->enum_count = is_enum ? count : 0;
    request->value_count = count;
    return 0;
}

/* --- values --- */

struct property_list {
    uint32_t *numbers;
    uint64_t *values;
    uint32_t count;
};

static void add(struct property_list *list, enum display_property property, uint64_t value) {
    list->numbers[list->count] = property;
    list->values[list->count++] = value;
}

static void add_plane(struct property_list *list, const struct plane *plane) {
    for (uint32_t i = 0; i < PLANE_VALUES; i++) {
        add(list, PROPERTY_CRTC_ID + i, plane->value[i]);
    }
    add(list, PROPERTY_IN_FENCE_FD, UINT64_MAX);
}

uint32_t properties_of_connector(const struct display *display, uint32_t *numbers, uint64_t *values) {
    struct property_list list = {numbers, values, 0};
    add(&list, PROPERTY_EDID, BLOB_EDID);
    add(&list, PROPERTY_DPMS, display->dpms);
    if (display->atomic) {
        add(&list, PROPERTY_CRTC_ID, display->active ? DISPLAY_CRTC : 0);
    }
    return list.count;
}

int properties_of(const struct display *display, uint32_t object, uint32_t *numbers, uint64_t *values,
                  uint32_t *count) {
    struct property_list list = {numbers, values, 0};
    const struct plane primary = display_primary(display);
    switch (object) {
    case DISPLAY_CONNECTOR:
        list.count = properties_of_connector(display, numbers, values);
        break;
    case DISPLAY_PRIMARY:
    case DISPLAY_CURSOR:
        add(&list, PROPERTY_TYPE, object == DISPLAY_PRIMARY ? PRIMARY : CURSOR);
        if (object == DISPLAY_PRIMARY) {
            add(&list, PROPERTY_IN_FORMATS, BLOB_IN_FORMATS);
        }
        if (display->atomic) {
            add_plane(&list, object == DISPLAY_PRIMARY ? &primary : &display->cursor);
        }
        break;
    case DISPLAY_CRTC:
        if (display->atomic) {
            add(&list, PROPERTY_ACTIVE, display->active && !display->dark);
            add(&list, PROPERTY_MODE_ID, display->active ? BLOB_MODE : 0);
            add(&list, PROPERTY_OUT_FENCE_PTR, 0);
        }
        break;
    case DISPLAY_ENCODER:
        return EINVAL;
    default:
        return ENOENT;
    }
    *count = list.count;
    return 0;
}

int kms_object_get_properties(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_object_properties *const request = argument;
    const struct display *const display = display_of(file);
    uint32_t numbers[DISPLAY_MAX_PROPERTIES];
    uint64_t values[DISPLAY_MAX_PROPERTIES];
    uint32_t count;
    const int error = display ? properties_of(display, request->object, numbers, values, &count) : ENOMEM;
    if (error) {
        return error;
    }
    const uint32_t part = request->count < count ? request->count : count;
    request->count = count;
    return user_write(request->properties, numbers, part * sizeof numbers[0]) &&
                   user_write(request->values, values, part * sizeof values[0])
               ? 0
               : EFAULT;
}

static int set(struct drm_file *file, uint32_t object, uint32_t property, uint64_t value) {
    struct display *const display = display_of(file);
    if (!display) {
        return ENOMEM;
    }
    if (object != DISPLAY_CONNECTOR || !find(property)) {
        return ENOENT;
    }
    if (property != PROPERTY_DPMS || value >= find(property)->count) {
        return EINVAL;
    }
    display->dpms = (uint32_t)value;
    return 0;
}

int kms_set_property(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_set_property *const request = argument;
    return set(file, request->connector, request->property, request->value);
}

int kms_object_set_property(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_object_set_property *const request = argument;
    return set(file, request->object, request->property, request->value);
}

/* --- blobs --- */

/* The IN_FORMATS blob of the primary plane: all formats with both modifiers. */
struct in_formats {
    uint32_t version, flags, format_count, formats_offset, modifier_count, modifiers_offset;
    uint32_t formats[MAX_FORMATS];
    struct {
        uint64_t formats;
        uint32_t first, pad;
        uint64_t modifier;
    } modifiers[2];
};

int kms_get_blob(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_blob *const request = argument;
    const struct display *const display = display_of(file);
    struct in_formats in_formats = {.version = 1,
                                    .format_count = framebuffer_format_count,
                                    .formats_offset = offsetof(struct in_formats, formats),
                                    .modifier_count = 2,
                                    .modifiers_offset = offsetof(struct in_formats, modifiers)};
    const uint64_t all = ((uint64_t)1 << framebuffer_format_count) - 1;
    memcpy(in_formats.formats, framebuffer_formats, framebuffer_format_count * sizeof(uint32_t));
    in_formats.modifiers[0].formats = all;
    in_formats.modifiers[0].modifier = KMS_MODIFIER_LINEAR;
    in_formats.modifiers[1].formats = all;
    in_formats.modifiers[1].modifier = KMS_MODIFIER_X;
    if (!display) {
        return ENOMEM;
    }
    const void *data = NULL;
    uint32_t length = 0;
    const struct blob *const own =
        request->blob >= BLOB_FIRST ? handle_lookup(&display->blobs, request->blob - BLOB_FIRST) : NULL;
    if (own) {
        data = own->data;
        length = own->length;
    } else if (request->blob == BLOB_EDID) {
        data = display->edid;
        length = DISPLAY_EDID_SIZE;
    } else if (request->blob == BLOB_IN_FORMATS) {
        data = &in_formats;
        length = sizeof in_formats;
    } else if (request->blob == BLOB_MODE && display->active) {
        data = &display->current;
        length = sizeof display->current;
    }
    if (!data) {
        return ENOENT;
    }
    const bool wanted = request->length == length;
    request->length = length;
    return !wanted || user_write(request->data, data, length) ? 0 : EFAULT;
}

int kms_create_blob(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_create_blob *const request = argument;
    struct display *const display = display_of(file);
    if (request->length == 0) {
        return EINVAL;
    }
    struct blob *const blob =
        display && request->length <= MAX_BLOB_SIZE ? malloc(sizeof *blob + request->length) : NULL;
    if (!blob) {
        return ENOMEM;
    }
    blob->length = request->length;
    const bool fine = user_read(blob->data, request->data, request->length);
    const uint32_t handle = fine ? handle_add(&display->blobs, blob) : 0;
    if (!handle) {
        free(blob);
        return fine ? ENOMEM : EFAULT;
    }
    request->blob = BLOB_FIRST + handle;
    return 0;
}

int kms_destroy_blob(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const uint32_t *const number = argument;
    struct display *const display = display_of(file);
    struct blob *const blob =
        display && *number >= BLOB_FIRST ? handle_remove(&display->blobs, *number - BLOB_FIRST) : NULL;
    free(blob);
    return blob ? 0 : ENOENT;
}

void property_free_blobs(struct display *display) {
    for (uint32_t handle = 1; handle < display->blobs.capacity; handle++) {
        free(handle_remove(&display->blobs, handle));
    }
    free(display->blobs.items);
}

const struct kms_mode *property_mode(const struct display *display, uint64_t blob) {
    if (blob == BLOB_MODE && display->active) {
        return &display->current;
    }
    if (blob < BLOB_FIRST || blob > UINT32_MAX) {
        return NULL;
    }
    const struct blob *const own = handle_lookup(&display->blobs, (uint32_t)blob - BLOB_FIRST);
    return own && own->length == sizeof(struct kms_mode) ? (const struct kms_mode *)own->data : NULL;
}
