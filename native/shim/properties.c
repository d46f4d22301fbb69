/* Properties of mode objects: names, values, blobs (spec/80 3.8). */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "display.h"
#include "user.h"

enum {
    PROPERTY_DPMS = 100,
    PROPERTY_EDID,
    PROPERTY_TYPE,
    PROPERTY_IN_FORMATS,
    BLOB_EDID = 200,
    BLOB_IN_FORMATS
};
enum {
    OVERLAY,
    PRIMARY,
    CURSOR,
    MOST_PROPERTIES = 8,
    MOST_ENUMS = 4,
    MOST_FORMATS = 4
};

static const struct property {
    uint32_t number, flags;
    const char *name;
    uint32_t enum_count;
    const char *enums[MOST_ENUMS];
} properties[] = {
    {PROPERTY_DPMS, KMS_PROPERTY_ENUM, "DPMS", 4, {"On", "Standby", "Suspend", "Off"}},
    {PROPERTY_EDID, KMS_PROPERTY_BLOB | KMS_PROPERTY_IMMUTABLE, "EDID", 0, {NULL}},
    {PROPERTY_TYPE, KMS_PROPERTY_ENUM | KMS_PROPERTY_IMMUTABLE, "type", 3, {"Overlay", "Primary", "Cursor"}},
    {PROPERTY_IN_FORMATS, KMS_PROPERTY_BLOB | KMS_PROPERTY_IMMUTABLE, "IN_FORMATS", 0, {NULL}},
};

static const struct property *find(uint32_t number) {
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++) {
        if (properties[i].number == number) {
            return &properties[i];
        }
    }
    return NULL;
}

int kms_get_property(struct file *file, void *argument, uint32_t size) {
    (void)file;
    (void)size;
    struct kms_property *const request = argument;
    const struct property *const property = find(request->property);
    if (!property) {
        return ENOENT;
    }
    request->flags = property->flags;
    (void)snprintf(request->name, sizeof request->name, "%s", property->name);
    const uint32_t count = property->enum_count;
    for (uint32_t i = 0; i < count && request->enum_count >= count; i++) {
        struct kms_property_enum entry = {.value = i};
        (void)snprintf(entry.name, sizeof entry.name, "%s", property->enums[i]);
        if (!user_write(request->enums + i * sizeof entry, &entry, sizeof entry)) {
            return EFAULT;
        }
    }
    for (uint64_t i = 0; i < count && request->value_count >= count; i++) {
        if (!user_write(request->values + i * sizeof i, &i, sizeof i)) {
            return EFAULT;
        }
    }
    request->enum_count = count;
    request->value_count = count;
    return 0;
}

/* --- values --- */

uint32_t properties_of_connector(const struct display *display, uint32_t *numbers, uint64_t *values) {
    numbers[0] = PROPERTY_EDID;
    values[0] = BLOB_EDID;
    numbers[1] = PROPERTY_DPMS;
    values[1] = display->dpms;
    return 2;
}

static int properties_of(const struct display *display, uint32_t object, uint32_t *numbers, uint64_t *values,
                         uint32_t *count) {
    *count = 0;
    switch (object) {
    case DISPLAY_CONNECTOR:
        *count = properties_of_connector(display, numbers, values);
        return 0;
    case DISPLAY_PRIMARY:
    case DISPLAY_CURSOR:
        numbers[0] = PROPERTY_TYPE;
        values[0] = object == DISPLAY_PRIMARY ? PRIMARY : CURSOR;
        numbers[1] = PROPERTY_IN_FORMATS;
        values[1] = BLOB_IN_FORMATS;
        *count = object == DISPLAY_PRIMARY ? 2 : 1;
        return 0;
    case DISPLAY_CRTC:
        return 0;
    case DISPLAY_ENCODER:
        return EINVAL;
    default:
        return ENOENT;
    }
}

int kms_object_get_properties(struct file *file, void *argument, uint32_t size) {
    (void)size;
    struct kms_object_properties *const request = argument;
    const struct display *const display = display_of(file);
    uint32_t numbers[MOST_PROPERTIES];
    uint64_t values[MOST_PROPERTIES];
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

static int set(struct file *file, uint32_t object, uint32_t property, uint64_t value) {
    struct display *const display = display_of(file);
    if (!display) {
        return ENOMEM;
    }
    if (object != DISPLAY_CONNECTOR || !find(property)) {
        return ENOENT;
    }
    if (property != PROPERTY_DPMS || value >= find(property)->enum_count) {
        return EINVAL;
    }
    display->dpms = (uint32_t)value;
    return 0;
}

int kms_set_property(struct file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_set_property *const request = argument;
    return set(file, request->connector, request->property, request->value);
}

int kms_object_set_property(struct file *file, void *argument, uint32_t size) {
    (void)size;
    const struct kms_object_set_property *const request = argument;
    return set(file, request->object, request->property, request->value);
}

/* --- blobs --- */

/* Which formats the primary plane shows with which modifiers: all of them, with both. */
struct in_formats {
    uint32_t version, flags, format_count, formats_offset, modifier_count, modifiers_offset;
    uint32_t formats[MOST_FORMATS];
    struct {
        uint64_t formats;
        uint32_t first, pad;
        uint64_t modifier;
    } modifiers[2];
};

int kms_get_blob(struct file *file, void *argument, uint32_t size) {
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
    const bool is_edid = request->blob == BLOB_EDID;
    if (!is_edid && request->blob != BLOB_IN_FORMATS) {
        return ENOENT;
    }
    const uint32_t length = is_edid ? DISPLAY_EDID_SIZE : (uint32_t)sizeof in_formats;
    const bool wanted = request->length == length;
    request->length = length;
    const void *const data = is_edid ? (const void *)display->edid : &in_formats;
    return !wanted || user_write(request->data, data, length) ? 0 : EFAULT;
}
