/* The display's state, its mode, what is shown (display.h). */
#define _GNU_SOURCE
#include "display.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "gtt.h"
#include "objects.h"
#include "real.h"
#include "start.h"
#include "views.h"

enum {
    REFRESH = 60
};
static const int64_t second = 1000000000;
static const uint64_t scanout_alignment = 64 << 10;

/* --- the mode --- */

static const struct kms_mode standard = {
    .clock = 65000,
    .hdisplay = 1024,
    .hsync_start = 1048,
    .hsync_end = 1184,
    .htotal = 1344,
    .vdisplay = 768,
    .vsync_start = 771,
    .vsync_end = 777,
    .vtotal = 806,
    .vrefresh = REFRESH,
    .flags = KMS_MODE_NHSYNC | KMS_MODE_NVSYNC,
    .type = KMS_MODE_TYPE_PREFERRED | KMS_MODE_TYPE_DRIVER,
    .name = "1024x768",
};

/* GEN4EMU_MODE=WIDTHxHEIGHT: any size, with blanks of no particular standard. */
static struct kms_mode wanted_mode(void) {
    enum {
        HORIZONTAL_BLANK = 160,
        VERTICAL_BLANK = 38
    };
    const char *const text = getenv("GEN4EMU_MODE");
    struct kms_mode mode = standard;
    char *end = NULL;
    const unsigned long width = text ? strtoul(text, &end, 10) : 0;
    const unsigned long height = text && *end == 'x' ? strtoul(end + 1, NULL, 10) : 0;
    if (width < 16 || height < 16 || width > 4096 || height > 4096 ||
        (width == standard.hdisplay && height == standard.vdisplay)) {
        return mode;
    }
    mode.hdisplay = (uint16_t)width;
    mode.hsync_start = (uint16_t)(width + 48);
    mode.hsync_end = (uint16_t)(width + 80);
    mode.htotal = (uint16_t)(width + HORIZONTAL_BLANK);
    mode.vdisplay = (uint16_t)height;
    mode.vsync_start = (uint16_t)(height + 3);
    mode.vsync_end = (uint16_t)(height + 9);
    mode.vtotal = (uint16_t)(height + VERTICAL_BLANK);
    mode.clock = (uint32_t)mode.htotal * mode.vtotal * REFRESH / 1000;
    (void)snprintf(mode.name, sizeof mode.name, "%lux%lu", width, height);
    return mode;
}

/* What the monitor says of itself: version 1.3 with one detailed timing. */
static void make_edid(uint8_t *edid, const struct kms_mode *mode) {
    static const uint8_t start[] = {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,    0x1c, 0x8e, 4,    0,   1,
                                    0, 0,    0,    1,    17,   1,    3,    0x08, 27,   20,   0x78, 0x0a};
    memset(edid, 0, DISPLAY_EDID_SIZE);
    memcpy(edid, start, sizeof start);
    memset(edid + 38, 1, 16); /* no standard timings */
    uint8_t *const timing = edid + 54;
    const uint32_t clock = mode->clock / 10;
    const uint32_t hblank = (uint32_t)mode->htotal - mode->hdisplay;
    const uint32_t vblank = (uint32_t)mode->vtotal - mode->vdisplay;
    const uint32_t hfront = (uint32_t)mode->hsync_start - mode->hdisplay;
    const uint32_t hsync = (uint32_t)mode->hsync_end - mode->hsync_start;
    const uint32_t vfront = (uint32_t)mode->vsync_start - mode->vdisplay;
    const uint32_t vsync = (uint32_t)mode->vsync_end - mode->vsync_start;
    timing[0] = (uint8_t)clock;
    timing[1] = (uint8_t)(clock >> 8);
    timing[2] = (uint8_t)mode->hdisplay;
    timing[3] = (uint8_t)hblank;
    timing[4] = (uint8_t)((uint32_t)mode->hdisplay >> 8 << 4 | hblank >> 8);
    timing[5] = (uint8_t)mode->vdisplay;
    timing[6] = (uint8_t)vblank;
    timing[7] = (uint8_t)((uint32_t)mode->vdisplay >> 8 << 4 | vblank >> 8);
    timing[8] = (uint8_t)hfront;
    timing[9] = (uint8_t)hsync;
    timing[10] = (uint8_t)(vfront << 4 | vsync);
    timing[12] = 270 & 0xff; /* millimetres */
    timing[13] = 203;
    timing[14] = 270 >> 8 << 4;
    timing[17] = 0x18; /* separate syncs, negative */
    for (int i = 1; i < 4; i++) {
        edid[54 + 18 * i + 3] = 0x10; /* no further descriptors */
    }
    uint8_t sum = 0;
    for (int i = 0; i < DISPLAY_EDID_SIZE - 1; i++) {
        sum = (uint8_t)(sum + edid[i]);
    }
    edid[DISPLAY_EDID_SIZE - 1] = (uint8_t)-sum;
}

/* --- life --- */

struct display *display_of(struct file *file) {
    if (file->display) {
        return file->display;
    }
    struct display *const display = calloc(1, sizeof *display);
    if (!display) {
        return NULL;
    }
    display->mode = wanted_mode();
    display->start = shim_now();
    const char *const atomic = getenv("GEN4EMU_ATOMIC");
    display->offers_atomic = atomic && strcmp(atomic, "1") == 0;
    make_edid(display->edid, &display->mode);
    for (int i = 0; i < DISPLAY_GAMMA_SIZE; i++) {
        for (int channel = 0; channel < 3; channel++) {
            display->gamma[channel][i] = (uint16_t)(i * 0x101);
        }
    }
    file->display = display;
    return display;
}

void display_free(struct file *file) {
    if (file->display) {
        framebuffer_free_all(file->display);
        property_free_blobs(file->display);
        free(file->display);
        file->display = NULL;
    }
}

/* --- pictures --- */

static struct place *place_of(struct file *file, struct object *object) {
    for (struct place *place = object->places; place; place = place->next_of_object) {
        if (place->file == file) {
            return place;
        }
    }
    return place_create(file, object);
}

int display_show(struct file *file, uint32_t fb) {
    struct framebuffer *const framebuffer = framebuffer_get(file->display, fb);
    if (!framebuffer) {
        return ENOENT;
    }
    const int error = file_connect(file);
    if (error) {
        return error;
    }
    const struct framebuffer shown = *framebuffer;
    struct object *const object = object_keep(shown.object);
    (void)object_wait(object, true, INT64_MAX);
    view_pick_up(object);
    struct place *const place = place_of(file, object);
    const struct gtt_request request = {.alignment = scanout_alignment};
    int failed = place ? gtt_bind(place, &request, file->stamp + 1) : ENOMEM;
    if (!failed && !gtt_flush(file)) {
        failed = EIO;
    }
    if (!failed) {
        struct g4_live_mark mark = {
            .header = {.type = G4_LIVE_MARK},
            .address = place->address + shown.offset,
            .width = shown.width,
            .height = shown.height,
            .pitch = shown.pitch,
            .tiling = shown.tiling,
            .fourcc = shown.format,
        };
        failed = link_send(&file->link, &mark, sizeof mark, -1) ? 0 : EIO;
    }
    object_drop(object);
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

int display_event(const struct file *file, const void *event, uint32_t size) {
    if (file->back < 0) {
        return EINVAL;
    }
    return send(file->back, event, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size ? 0 : ENOMEM;
}

bool display_has_events(const struct file *file) {
    int unread = 0;
    return file->back >= 0 && REAL(ioctl)(file->back, SIOCOUTQ, &unread) == 0 && unread > 0;
}
