/* A display with one connector, for programs that set modes (spec/80 3.8).
 *
 * It belongs to an open file of the card node.  Nothing is scanned out: whenever a picture would appear, the server
 * gets a mark that says where it is.  There is no thread that would wait for a vertical blank: a flip is done, and its
 * event there to be read, when the rendering is.
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
    DISPLAY_LARGEST = 8192,
    DISPLAY_EDID_SIZE = 128,
    DISPLAY_MOST_MODES = 16,
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
    /* Of atomic mode setting */
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

/* What a plane shows, and where; SRC in 1/65536 pixels.  By their properties: value[property - PROPERTY_CRTC_ID]. */
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
    struct handle_table framebuffers;          /* struct framebuffer */
    struct handle_table blobs;                 /* struct blob, of the program */
    struct kms_mode modes[DISPLAY_MOST_MODES]; /* the connector's; the preferred one first */
    uint32_t mode_count;
    uint8_t edid[DISPLAY_EDID_SIZE];
    bool universal_planes;
    bool offers_atomic, atomic;
    /* The one CRTC */
    bool active;
    struct kms_mode current;
    uint32_t fb, x, y;
    bool dark; /* it has a mode, but is switched off */
    struct plane cursor;
    uint32_t dpms;
    uint16_t gamma[3][DISPLAY_GAMMA_SIZE];
    int64_t start; /* of the count of vertical blanks, ns */
    uint64_t last_sequence;
    int64_t flip_until; /* when a flip would be done on a real display */
};

/* Made when it is first asked for; NULL: no memory. */
struct display *display_of(struct drm_file *file);
void display_free(struct drm_file *file);
/* Show a framebuffer: wait for what renders into it, and tell the server.  0 or an errno. */
int display_show(struct drm_file *file, uint32_t fb);
/* Vertical blanks so far, at 60 Hz. */
uint64_t display_sequence(const struct display *display);
int64_t display_time(const struct display *display, uint64_t sequence);
/* Put an event where read() finds it; 0 or an errno. */
int display_event(const struct drm_file *file, const void *event, uint32_t size);
/* Events that the program has not read yet. */
bool display_has_events(const struct drm_file *file);

typedef int kms_handler(struct drm_file *file, void *argument, uint32_t size);

/* modes.c */
/* The modes of the connector, the preferred one first; how many. */
uint32_t modes_make(struct kms_mode *modes);
/* What the monitor says of itself. */
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
/* An event of this kind, with the time that it is now. */
int display_flip_event(struct drm_file *file, uint64_t user);
extern const int64_t display_frame; /* ns */
/* A flip that a real display would not have done yet. */
bool display_is_flipping(const struct drm_file *file);
kms_handler kms_page_flip, kms_wait_vblank, kms_get_sequence, kms_queue_sequence;
/* properties.c */
kms_handler kms_get_property, kms_set_property, kms_object_get_properties, kms_object_set_property, kms_get_blob,
    kms_create_blob, kms_destroy_blob;
enum {
    DISPLAY_MOST_PROPERTIES = 16
};
/* The properties of an object that the program may see: their number, and two arrays.  0 or an errno. */
int properties_of(const struct display *display, uint32_t object, uint32_t *properties, uint64_t *values,
                  uint32_t *count);
/* Those of the connector, for GETCONNECTOR. */
uint32_t properties_of_connector(const struct display *display, uint32_t *properties, uint64_t *values);
/* The mode in a blob, or NULL. */
const struct kms_mode *property_mode(const struct display *display, uint64_t blob);
void property_free_blobs(struct display *display);
/* atomic.c */
kms_handler kms_atomic;
/* What the primary plane shows, as an atomic program sees it. */
struct plane display_primary(const struct display *display);

#endif
