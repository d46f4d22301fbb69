/* The modes of the connector and the EDID of the monitor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/kms/display.h"

enum {
    REFRESH = 60,
    PREFERRED_WIDTH = 1024,
    PREFERRED_HEIGHT = 768
};

enum { /* bits of byte 17 of a detailed timing */
    EDID_POSITIVE_HSYNC = 2,
    EDID_POSITIVE_VSYNC = 4,
    EDID_SEPARATE_SYNC = 0x18
};

/* The table of the EDID that lists a mode. */
enum edid_table {
    STANDARD,    /* by aspect ratio */
    ESTABLISHED, /* as a bit in two bytes */
    DETAILED
};
enum aspect {
    ASPECT_16_10,
    ASPECT_4_3,
    ASPECT_5_4,
    ASPECT_16_9
};
enum established {
    ESTABLISHED_800X600 = 0x0001,
    ESTABLISHED_640X480 = 0x0020,
    ESTABLISHED_1024X768 = 0x0800
};

/* 60 Hz.  VESA Display Monitor Timings; 2560x1440 is not among them and has CVT timings with reduced blanking.  Sorted
 * by size, the largest first, as kernels do. */
static const struct timing {
    uint32_t clock; /* kHz */
    uint16_t horizontal[4], vertical[4];
    uint32_t flags;
    enum edid_table table;
    uint32_t code; /* an enum aspect, or an enum established */
} timings[] = {
#define P KMS_MODE_PHSYNC | KMS_MODE_PVSYNC
#define H KMS_MODE_PHSYNC | KMS_MODE_NVSYNC
#define V KMS_MODE_NHSYNC | KMS_MODE_PVSYNC
#define N KMS_MODE_NHSYNC | KMS_MODE_NVSYNC
    {241500, {2560, 2608, 2640, 2720}, {1440, 1443, 1448, 1481}, H, DETAILED, 0},
    {193250, {1920, 2056, 2256, 2592}, {1200, 1203, 1209, 1245}, V, STANDARD, ASPECT_16_10},
    {148500, {1920, 2008, 2052, 2200}, {1080, 1084, 1089, 1125}, P, STANDARD, ASPECT_16_9},
    {162000, {1600, 1664, 1856, 2160}, {1200, 1201, 1204, 1250}, P, STANDARD, ASPECT_4_3},
    {146250, {1680, 1784, 1960, 2240}, {1050, 1053, 1059, 1089}, V, STANDARD, ASPECT_16_10},
    {108000, {1600, 1624, 1704, 1800}, {900, 901, 904, 1000}, P, STANDARD, ASPECT_16_9},
    {108000, {1280, 1328, 1440, 1688}, {1024, 1025, 1028, 1066}, P, STANDARD, ASPECT_5_4},
    {85500, {1366, 1436, 1579, 1792}, {768, 771, 774, 798}, P, DETAILED, 0},
    {83500, {1280, 1352, 1480, 1680}, {800, 803, 809, 831}, V, STANDARD, ASPECT_16_10},
    {74250, {1280, 1390, 1430, 1650}, {720, 725, 730, 750}, P, STANDARD, ASPECT_16_9},
    {65000, {1024, 1048, 1184, 1344}, {768, 771, 777, 806}, N, ESTABLISHED, ESTABLISHED_1024X768},
    {40000, {800, 840, 968, 1056}, {600, 601, 605, 628}, P, ESTABLISHED, ESTABLISHED_800X600},
    {25175, {640, 656, 752, 800}, {480, 490, 492, 525}, N, ESTABLISHED, ESTABLISHED_640X480},
#undef P
#undef H
#undef V
#undef N
};
enum {
    TIMINGS = sizeof timings / sizeof timings[0]
};
_Static_assert(TIMINGS + 1 <= DISPLAY_MAX_MODES, "the preferred mode may be another one");

static struct kms_mode mode_of(const struct timing *timing) {
    const uint16_t *const h = timing->horizontal, *const v = timing->vertical;
    struct kms_mode mode = {
        .clock = timing->clock,
        .hdisplay = h[0],
        .hsync_start = h[1],
        .hsync_end = h[2],
        .htotal = h[3],
        .vdisplay = v[0],
        .vsync_start = v[1],
        .vsync_end = v[2],
        .vtotal = v[3],
        .vrefresh = REFRESH,
        .flags = timing->flags,
        .type = KMS_MODE_TYPE_DRIVER,
    };
    (void)snprintf(mode.name, sizeof mode.name, "%ux%u", (unsigned)h[0], (unsigned)v[0]);
    return mode;
}

/* A timing for any size; the blanking intervals follow no standard. */
static struct timing free_timing(uint16_t width, uint16_t height) {
    enum {
        HORIZONTAL_BLANK = 160,
        VERTICAL_BLANK = 38
    };
    const uint16_t right = (uint16_t)(width + HORIZONTAL_BLANK), bottom = (uint16_t)(height + VERTICAL_BLANK);
    return (struct timing){
        .clock = (uint32_t)right * bottom * REFRESH / 1000,
        .horizontal = {width, (uint16_t)(width + 48), (uint16_t)(width + 80), right},
        .vertical = {height, (uint16_t)(height + 3), (uint16_t)(height + 9), bottom},
        .flags = KMS_MODE_NHSYNC | KMS_MODE_NVSYNC,
        .table = DETAILED,
    };
}

static const struct timing *timing_of_size(uint16_t width, uint16_t height) {
    for (uint32_t i = 0; i < TIMINGS; i++) {
        if (timings[i].horizontal[0] == width && timings[i].vertical[0] == height) {
            return &timings[i];
        }
    }
    return NULL;
}

/* GEN4EMU_MODE=WIDTHxHEIGHT. */
static bool wanted_size(uint16_t *width, uint16_t *height) {
    const char *const text = getenv("GEN4EMU_MODE");
    char *end = NULL;
    const unsigned long x = text ? strtoul(text, &end, 10) : 0;
    const unsigned long y = text && *end == 'x' ? strtoul(end + 1, NULL, 10) : 0;
    if (x < 16 || y < 16 || x > 4096 || y > 4096) {
        return false;
    }
    *width = (uint16_t)x;
    *height = (uint16_t)y;
    return true;
}

/* If the user names a size, larger modes are left out: some programs choose the largest one. */
uint32_t modes_make(struct kms_mode *modes) {
    uint16_t width = PREFERRED_WIDTH, height = PREFERRED_HEIGHT;
    const bool named = wanted_size(&width, &height);
    const struct timing *const known = timing_of_size(width, height);
    const struct timing other = free_timing(width, height);
    uint32_t count = 0;
    modes[count] = mode_of(known ? known : &other);
    modes[count++].type |= KMS_MODE_TYPE_PREFERRED;
    for (uint32_t i = 0; i < TIMINGS; i++) {
        const bool fits = timings[i].horizontal[0] <= width && timings[i].vertical[0] <= height;
        if (&timings[i] != known && (fits || !named)) {
            modes[count++] = mode_of(&timings[i]);
        }
    }
    return count;
}

/* --- EDID --- */

enum {
    ESTABLISHED_TIMINGS = 35,
    STANDARD_TIMINGS = 38,
    STANDARD_COUNT = 8,
    DESCRIPTORS = 54,
    DESCRIPTOR_SIZE = 18,
    DESCRIPTOR_COUNT = 4
};

/* True if a detailed timing can hold the mode: sizes have 12 bits, the clock 16 bits in units of 10 kHz. */
static bool fits(const struct kms_mode *mode) {
    return mode->hdisplay < 4096 && mode->vdisplay < 4096 && mode->clock / 10 <= UINT16_MAX;
}

static void put_detailed(uint8_t *to, const struct kms_mode *mode) {
    const uint32_t clock = mode->clock / 10;
    const uint32_t hblank = (uint32_t)mode->htotal - mode->hdisplay;
    const uint32_t vblank = (uint32_t)mode->vtotal - mode->vdisplay;
    const uint32_t hfront = (uint32_t)mode->hsync_start - mode->hdisplay;
    const uint32_t hsync = (uint32_t)mode->hsync_end - mode->hsync_start;
    const uint32_t vfront = (uint32_t)mode->vsync_start - mode->vdisplay;
    const uint32_t vsync = (uint32_t)mode->vsync_end - mode->vsync_start;
    to[0] = (uint8_t)clock;
    to[1] = (uint8_t)(clock >> 8);
    to[2] = (uint8_t)mode->hdisplay;
    to[3] = (uint8_t)hblank;
    to[4] = (uint8_t)((uint32_t)mode->hdisplay >> 8 << 4 | hblank >> 8);
    to[5] = (uint8_t)mode->vdisplay;
    to[6] = (uint8_t)vblank;
    to[7] = (uint8_t)((uint32_t)mode->vdisplay >> 8 << 4 | vblank >> 8);
    to[8] = (uint8_t)hfront;
    to[9] = (uint8_t)hsync;
    to[10] = (uint8_t)(vfront << 4 | vsync);
    to[11] = (uint8_t)(hfront >> 8 << 6 | hsync >> 8 << 4);
    to[12] = DISPLAY_WIDTH_MM & 0xff;
    to[13] = DISPLAY_HEIGHT_MM;
    to[14] = DISPLAY_WIDTH_MM >> 8 << 4;
    to[17] = EDID_SEPARATE_SYNC | (mode->flags & KMS_MODE_PHSYNC ? EDID_POSITIVE_HSYNC : 0) |
             (mode->flags & KMS_MODE_PVSYNC ? EDID_POSITIVE_VSYNC : 0);
}

/* EDID 1.3. */
void modes_make_edid(uint8_t *edid, const struct kms_mode *modes, uint32_t count) {
    static const uint8_t start[] = {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,    0x1c, 0x8e, 4,    0,   1,
                                    0, 0,    0,    1,    17,   1,    3,    0x08, 27,   20,   0x78, 0x0a};
    static const uint8_t name[DESCRIPTOR_SIZE] = {0,   0,   0,   0xfc, 0,   'g', 'e', 'n', '4',
                                                  'e', 'm', 'u', '\n', ' ', ' ', ' ', ' ', ' '};
    memset(edid, 0, DISPLAY_EDID_SIZE);
    memcpy(edid, start, sizeof start);
    memset(edid + STANDARD_TIMINGS, 1, (size_t)2 * STANDARD_COUNT); /* unused */
    uint8_t *standard = edid + STANDARD_TIMINGS;
    uint8_t *descriptor = edid + DESCRIPTORS;
    for (uint32_t i = 0; i < count; i++) {
        const struct timing *const timing = timing_of_size(modes[i].hdisplay, modes[i].vdisplay);
        const enum edid_table table = timing ? timing->table : DETAILED;
        if ((i == 0 || table == DETAILED) && fits(&modes[i])) { /* the preferred mode comes first */
            put_detailed(descriptor, &modes[i]);
            descriptor += DESCRIPTOR_SIZE;
        }
        if (table == ESTABLISHED) {
            edid[ESTABLISHED_TIMINGS] |= (uint8_t)timing->code;
            edid[ESTABLISHED_TIMINGS + 1] |= (uint8_t)(timing->code >> 8);
        } else if (table == STANDARD) {
            *standard++ = (uint8_t)(modes[i].hdisplay / 8 - 31);
            *standard++ = (uint8_t)(timing->code << 6); /* the low bits are the refresh rate - 60 Hz */
        }
    }
    memcpy(descriptor, name, sizeof name);
    while ((descriptor += DESCRIPTOR_SIZE) < edid + DESCRIPTORS + DESCRIPTOR_COUNT * DESCRIPTOR_SIZE) {
        descriptor[3] = 0x10; /* unused */
    }
    uint8_t sum = 0;
    for (int i = 0; i < DISPLAY_EDID_SIZE - 1; i++) {
        sum = (uint8_t)(sum + edid[i]);
    }
    edid[DISPLAY_EDID_SIZE - 1] = (uint8_t)-sum;
}
