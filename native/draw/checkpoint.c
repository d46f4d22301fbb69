/* The state of a device between submissions, besides memory and struct g4_state (api/checkpoint.h). */
#include "api/checkpoint.h"
#include "color/state.h"
#include "draw/device.h"
#include "media/checkpoint.h"

struct device_image {
    uint32_t next_object;
    struct g4_device_counts counts;
    struct g4_report_log log;
    struct g4_fault_log faults;
    struct g4_hiz_counts hiz;
    struct g4_hiz_watch_image watched; /* zeros without a watch */
    struct g4_media_checkpoint media;
};

size_t g4_device_image_size(void) {
    return sizeof(struct device_image);
}

bool g4_device_save(const struct g4_device *device, void *image) {
    struct device_image *const to = image;

    memset(to, 0, sizeof *to); /* padding, too: equal states are equal bytes */
    if (!g4_media_save(device->media, &to->media)) {
        return false;
    }
    to->next_object = device->next_object;
    to->counts = device->counts;
    to->log = device->log;
    to->faults = device->port.log;
    g4_device_hiz_counts(device, &to->hiz);
    if (device->ctx.hiz_watch) {
        g4_hiz_watch_save(device->ctx.hiz_watch, &to->watched);
    }
    return true;
}

void g4_device_load(struct g4_device *device, const void *image) {
    const struct device_image *const from = image;

    g4_media_load(device->media, &from->media);
    device->next_object = from->next_object;
    device->counts = from->counts;
    g4_device_set_clocks(device);
    device->log = from->log;
    device->port.log = from->faults;
    for (uint32_t i = 0; i < device->workers; i++) {
        struct g4_cc *const cc = g4_cc_of(device->worker[i]);
        if (cc) {
            memset(&cc->hiz_counts, 0, sizeof cc->hiz_counts);
        }
    }
    device->hiz_before = from->hiz;
    if (device->ctx.hiz_watch) {
        g4_hiz_watch_load(device->ctx.hiz_watch, &from->watched);
    }
}
