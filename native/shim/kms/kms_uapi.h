/* Numbers and layouts of the kernel's mode setting interface (include/uapi/drm/drm_mode.h and drm.h). */
#ifndef SHIM_KMS_UAPI_H
#define SHIM_KMS_UAPI_H
#include <stdint.h>

enum kms_number {
    KMS_SET_CLIENT_CAP = 0x0d,
    KMS_WAIT_VBLANK = 0x3a,
    KMS_GET_SEQUENCE = 0x3b,
    KMS_QUEUE_SEQUENCE = 0x3c,
    KMS_GET_PIPE = 0x65,
    KMS_GET_RESOURCES = 0xa0,
    KMS_GET_CRTC = 0xa1,
    KMS_SET_CRTC = 0xa2,
    KMS_CURSOR = 0xa3,
    KMS_GET_GAMMA = 0xa4,
    KMS_SET_GAMMA = 0xa5,
    KMS_GET_ENCODER = 0xa6,
    KMS_GET_CONNECTOR = 0xa7,
    KMS_GET_PROPERTY = 0xaa,
    KMS_SET_PROPERTY = 0xab,
    KMS_GET_BLOB = 0xac,
    KMS_GET_FB = 0xad,
    KMS_ADD_FB = 0xae,
    KMS_REMOVE_FB = 0xaf,
    KMS_PAGE_FLIP = 0xb0,
    KMS_DIRTY_FB = 0xb1,
    KMS_CREATE_DUMB = 0xb2,
    KMS_MAP_DUMB = 0xb3,
    KMS_DESTROY_DUMB = 0xb4,
    KMS_GET_PLANES = 0xb5,
    KMS_GET_PLANE = 0xb6,
    KMS_SET_PLANE = 0xb7,
    KMS_ADD_FB2 = 0xb8,
    KMS_OBJECT_GET_PROPERTIES = 0xb9,
    KMS_OBJECT_SET_PROPERTY = 0xba,
    KMS_CURSOR2 = 0xbb,
    KMS_ATOMIC = 0xbc,
    KMS_CREATE_BLOB = 0xbd,
    KMS_DESTROY_BLOB = 0xbe,
    KMS_CREATE_LEASE = 0xc6,
    KMS_LIST_LESSEES = 0xc7,
    KMS_GET_LEASE = 0xc8,
    KMS_REVOKE_LEASE = 0xc9,
    KMS_GET_FB2 = 0xce,
};

struct kms_mode {
    uint32_t clock; /* kHz */
    uint16_t hdisplay, hsync_start, hsync_end, htotal, hskew;
    uint16_t vdisplay, vsync_start, vsync_end, vtotal, vscan;
    uint32_t vrefresh, flags, type;
    char name[32];
};
enum {
    KMS_MODE_PHSYNC = 1,
    KMS_MODE_NHSYNC = 2,
    KMS_MODE_PVSYNC = 4,
    KMS_MODE_NVSYNC = 8,
    KMS_MODE_TYPE_PREFERRED = 8,
    KMS_MODE_TYPE_DRIVER = 0x40,
};

struct kms_client_cap {
    uint64_t capability, value;
};
struct kms_resources {
    uint64_t fbs, crtcs, connectors, encoders;
    uint32_t fb_count, crtc_count, connector_count, encoder_count;
    uint32_t min_width, max_width, min_height, max_height;
};
struct kms_crtc {
    uint64_t connectors;
    uint32_t connector_count, crtc, fb, x, y, gamma_size, mode_valid;
    struct kms_mode mode;
};
struct kms_cursor {
    uint32_t flags, crtc;
    int32_t x, y;
    uint32_t width, height, handle;
    int32_t hot_x, hot_y; /* CURSOR2 only */
};
struct kms_gamma {
    uint32_t crtc, size;
    uint64_t red, green, blue;
};
struct kms_encoder {
    uint32_t encoder, type, crtc, possible_crtcs, possible_clones;
};
struct kms_connector {
    uint64_t encoders, modes, properties, values;
    uint32_t mode_count, property_count, encoder_count;
    uint32_t encoder, connector, type, type_number, connection, mm_width, mm_height, subpixel, pad;
};
struct kms_property {
    uint64_t values, enums;
    uint32_t property, flags;
    char name[32];
    uint32_t value_count, enum_count;
};
struct kms_property_enum {
    uint64_t value;
    char name[32];
};
struct kms_set_property {
    uint64_t value;
    uint32_t property, connector;
};
struct kms_object_properties {
    uint64_t properties, values;
    uint32_t count, object, type;
};
struct kms_object_set_property {
    uint64_t value;
    uint32_t property, object, type;
};
struct kms_blob {
    uint32_t blob, length;
    uint64_t data;
};
struct kms_fb {
    uint32_t fb, width, height, pitch, bpp, depth, handle;
};
struct kms_fb2 {
    uint32_t fb, width, height, format, flags;
    uint32_t handles[4], pitches[4], offsets[4];
    uint64_t modifiers[4];
};
struct kms_create_blob {
    uint64_t data;
    uint32_t length, blob;
};
struct kms_atomic {
    uint32_t flags, count;
    uint64_t objects, counts, properties, values, reserved, user;
};
struct kms_flip {
    uint32_t crtc, fb, flags, reserved;
    uint64_t user;
};
struct kms_dirty {
    uint32_t fb, flags, color, count;
    uint64_t clips;
};
struct kms_create_dumb {
    uint32_t height, width, bpp, flags, handle, pitch;
    uint64_t size;
};
struct kms_map_dumb {
    uint32_t handle, pad;
    uint64_t offset;
};
struct kms_planes {
    uint64_t planes;
    uint32_t count;
};
struct kms_plane {
    uint32_t plane, crtc, fb, possible_crtcs, gamma_size, format_count;
    uint64_t formats;
};
struct kms_set_plane {
    uint32_t plane, crtc, fb, flags;
    int32_t crtc_x, crtc_y;
    uint32_t crtc_width, crtc_height, x, y, height, width;
};
union kms_vblank {
    struct {
        uint32_t type, sequence;
        uintptr_t user; /* as in uapi.h */
    } request;
    struct {
        uint32_t type, sequence;
        intptr_t seconds, microseconds;
    } reply;
};
struct kms_get_sequence {
    uint32_t crtc, active;
    uint64_t sequence;
    int64_t time;
};
struct kms_queue_sequence {
    uint32_t crtc, flags;
    uint64_t sequence, user;
};
struct kms_pipe {
    uint32_t crtc, pipe;
};

/* Events, as returned by read(). */
struct kms_event {
    uint32_t type, length;
    uint64_t user;
    uint32_t seconds, microseconds, sequence, crtc;
};
struct kms_sequence_event {
    uint32_t type, length;
    uint64_t user;
    int64_t time;
    uint64_t sequence;
};

enum {
    KMS_EVENT_VBLANK = 1,
    KMS_EVENT_FLIP = 2,
    KMS_EVENT_SEQUENCE = 3,

    KMS_FLIP_EVENT = 1,

    KMS_VBLANK_RELATIVE = 1,
    KMS_VBLANK_HIGH_CRTC = 0x3e,
    KMS_VBLANK_EVENT = 0x4000000,
    KMS_VBLANK_NEXT_ON_MISS = 0x10000000,
    KMS_VBLANK_SECONDARY = 0x20000000,
    KMS_VBLANK_SIGNAL = 0x40000000,

    KMS_SEQUENCE_RELATIVE = 1,
    KMS_SEQUENCE_NEXT_ON_MISS = 2,

    KMS_FB_INTERLACED = 1,
    KMS_FB_MODIFIERS = 2,

    KMS_PROPERTY_RANGE = 2,
    KMS_PROPERTY_IMMUTABLE = 4,
    KMS_PROPERTY_ENUM = 8,
    KMS_PROPERTY_BLOB = 16,
    KMS_PROPERTY_OBJECT = 1 << 6,
    KMS_PROPERTY_SIGNED_RANGE = 2 << 6,

    KMS_ATOMIC_ASYNC = 2,
    KMS_ATOMIC_TEST_ONLY = 0x100,
    KMS_ATOMIC_NONBLOCK = 0x200,
    KMS_ATOMIC_ALLOW_MODESET = 0x400,
    KMS_ATOMIC_KNOWN_FLAGS = 0x703,

    KMS_CURSOR_BO = 1,
    KMS_CURSOR_MOVE = 2,

    KMS_CAP_STEREO = 1,
    KMS_CAP_UNIVERSAL_PLANES = 2,
    KMS_CAP_ATOMIC = 3,
    KMS_CAP_ASPECT_RATIO = 4,

    KMS_OBJECT_ANY = 0,
    KMS_CONNECTED = 1,
    KMS_SUBPIXEL_UNKNOWN = 1,
    KMS_ENCODER_DAC = 1,
    KMS_CONNECTOR_VGA = 1,
};
#define KMS_PROPERTY_ATOMIC  UINT32_C(0x80000000)
#define KMS_OBJECT_FB        UINT32_C(0xfbfbfbfb)
#define KMS_OBJECT_CRTC      UINT32_C(0xcccccccc)
#define KMS_OBJECT_CONNECTOR UINT32_C(0xc0c0c0c0)
#define KMS_OBJECT_ENCODER   UINT32_C(0xe0e0e0e0)
#define KMS_OBJECT_PLANE     UINT32_C(0xeeeeeeee)
#define KMS_MODIFIER_LINEAR  UINT64_C(0)
#define KMS_MODIFIER_X       UINT64_C(0x0100000000000001)

#endif
