/* A display with one CRTC and one connector, for programs that set modes.
 *
 * Each open file of the card node has its own.  Nothing is scanned out: whenever a picture would appear, the server
 * receives a MARK with its address.  No thread waits for vertical blanks: a flip completes, and its event becomes
 * readable, as soon as the rendering has completed.
 */
#ifndef SHIM_DISPLAY_H
#define SHIM_DISPLAY_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/device/drm_file.h"
#include "shim/kms/kms_uapi.h"

enum display_ids {
    DISPLAY_CRTC = 40,
    DISPLAY_CONNECTOR = 50,
    DISPLAY_ENCODER = 51,
    DISPLAY_PRIMARY = 60,
    DISPLAY_CURSOR = 61,
    DISPLAY_GAMMA_SIZE = 256,
    DISPLAY_MAX_SIZE = 8192,
    DISPLAY_EDID_SIZE = 128,
    DISPLAY_MAX_MODES = 16,
    DISPLAY_WIDTH_MM = 270,
    DISPLAY_HEIGHT_MM = 203,
};

struct framebuffer {
    uint32_t width, height, pitch, offset, format;
    uint32_t tiling;
    uint64_t modifier;
    bool has_modifier;
    struct gem_object *object;
};

enum display_property {
    PROPERTY_DPMS = 100,
    PROPERTY_EDID,
    PROPERTY_TYPE,
    PROPERTY_IN_FORMATS,
    /* Atomic mode setting only: */
    PROPERTY_CRTC_ID,
    PROPERTY_FB_ID,
    PROPERTY_SRC_X,
    PROPERTY_SRC_Y,
    PROPERTY_SRC_W,
    PROPERTY_SRC_H,
    PROPERTY_CRTC_X,
    PROPERTY_CRTC_Y,
    PROPERTY_CRTC_W,
    PROPERTY_CRTC_H,
    PROPERTY_IN_FENCE_FD,
    PROPERTY_ACTIVE,
    PROPERTY_MODE_ID,
    PROPERTY_OUT_FENCE_PTR,
};

/* State of a plane: value[property - PROPERTY_CRTC_ID].  SRC_* are in 1/65536 pixels. */
enum {
    PLANE_VALUES = PROPERTY_CRTC_H - PROPERTY_CRTC_ID + 1
};
struct plane {
    uint64_t value[PLANE_VALUES];
};

struct blob {
    uint32_t length;
    uint8_t data[];
};

struct display {
    struct handle_table framebuffers;         /* struct framebuffer */
    struct handle_table blobs;                /* struct blob, created by the program */
    struct kms_mode modes[DISPLAY_MAX_MODES]; /* of the connector, the preferred one first */
    uint32_t mode_count;
    uint8_t edid[DISPLAY_EDID_SIZE];
    bool universal_planes;
    bool offers_atomic, atomic;
    /* The CRTC */
    bool active;
    struct kms_mode current;
    uint32_t fb, x, y;
    bool dark; /* has a mode, but ACTIVE is 0 */
    struct plane cursor;
    uint32_t dpms;
    uint16_t gamma[3][DISPLAY_GAMMA_SIZE];
    int64_t start; /* time of vertical blank 0, ns */
    uint64_t last_sequence;
    int64_t flip_until; /* when the last flip would complete on a real display, ns */
};

/* The display of a file, created by the first call; NULL: no memory. */
struct display *display_of(struct drm_file *file);
void display_free(struct drm_file *file);
/* Show a framebuffer: wait for rendering into it, and send the server a mark.  0 or an errno. */
int display_show(struct drm_file *file, uint32_t fb);
/* The number of vertical blanks so far, at 60 Hz. */
uint64_t display_sequence(const struct display *display);
int64_t display_time(const struct display *display, uint64_t sequence);
/* Queue an event for read(); 0 or an errno. */
int display_event(const struct drm_file *file, const void *event, uint32_t size);
/* True if there are events that the program has not read. */
bool display_has_events(const struct drm_file *file);

typedef int kms_handler(struct drm_file *file, void *argument, uint32_t size);

/* modes.c */
/* Fill in the modes of the connector, the preferred one first; returns their number. */
uint32_t modes_make(struct kms_mode *modes);
/* Fill in the monitor's EDID. */
void modes_make_edid(uint8_t *edid, const struct kms_mode *modes, uint32_t count);

/* kms.c: resources and modes */
kms_handler kms_set_client_cap, kms_get_resources, kms_get_crtc, kms_set_crtc, kms_get_encoder, kms_get_connector,
    kms_get_planes, kms_get_plane, kms_set_plane, kms_cursor, kms_get_gamma, kms_set_gamma, kms_get_pipe;
/* framebuffers.c */
kms_handler kms_add_fb, kms_add_fb2, kms_get_fb, kms_get_fb2, kms_remove_fb, kms_dirty_fb, kms_create_dumb,
    kms_map_dumb, kms_destroy_dumb;
struct framebuffer *framebuffer_lookup(const struct display *display, uint32_t fb);
void framebuffer_free_all(struct display *display);
extern const uint32_t framebuffer_formats[];
extern const uint32_t framebuffer_format_count;
/* flips.c */
/* Queue a flip event with the present time. */
int display_flip_event(struct drm_file *file, uint64_t user);
extern const int64_t display_frame; /* duration, ns */
/* True if a real display would not have completed the last flip yet. */
bool display_is_flipping(const struct drm_file *file);
kms_handler kms_page_flip, kms_wait_vblank, kms_get_sequence, kms_queue_sequence;
/* properties.c */
kms_handler kms_get_property, kms_set_property, kms_object_get_properties, kms_object_set_property, kms_get_blob,
    kms_create_blob, kms_destroy_blob;
enum {
    DISPLAY_MAX_PROPERTIES = 16
};
/* The properties of a mode object that the program may see, and their values.  0 or an errno. */
int properties_of(const struct display *display, uint32_t object, uint32_t *properties, uint64_t *values,
                  uint32_t *count);
/* properties_of() the connector; returns their number. */
uint32_t properties_of_connector(const struct display *display, uint32_t *properties, uint64_t *values);
/* The mode in a blob, or NULL if it does not hold one. */
const struct kms_mode *property_mode(const struct display *display, uint64_t blob);
void property_free_blobs(struct display *display);
/* atomic.c */
kms_handler kms_atomic;
/* The state of the primary plane, as an atomic program sees it. */
struct plane display_primary(const struct display *display);

#endif
