/*
 * The media pipeline of a device: the functions of api/media.h.
 */
#include "media/media.h"

#include "draw/device.h"

enum g4_status g4_device_media(struct g4_device *device, const uint32_t *command, uint32_t dwords, g4_address address,
                               struct g4_fault *fault) {
    const enum g4_status status = g4_media_object(device->media, command, dwords, address, fault);
    g4_device_collect(device);
    return status;
}

enum g4_status g4_device_media_run(struct g4_device *device, bool finish, struct g4_fault *fault) {
    const enum g4_status status = g4_media_run(device->media, finish, fault);
    g4_device_collect(device);
    return status;
}

void g4_device_media_reset(struct g4_device *device) {
    g4_ts_clear(device->media);
}

void g4_device_media_counts(const struct g4_device *device, struct g4_media_counts *counts) {
    *counts = device->media->counts;
}

uint32_t g4_device_media_targets(struct g4_device *device, uint32_t (*states)[G4_SURFACE_STATE_DWORDS],
                                 uint32_t capacity) {
    return g4_media_targets(device->media, states, capacity);
}

enum g4_status g4_device_media_watch(struct g4_device *device, uint32_t capacity) {
    return g4_media_watch(device->media, capacity);
}

uint32_t g4_device_media_watched(const struct g4_device *device) {
    return device->media->watched_count;
}

const struct g4_media_payload *g4_device_media_payload(const struct g4_device *device, uint32_t index) {
    return g4_media_payload(device->media, index);
}

uint64_t g4_device_attention(const struct g4_device *device, uint64_t *data) {
    return g4_media_attention(device->media, 0, data);
}

void g4_device_clear_attention(struct g4_device *device, uint64_t threads) {
    uint64_t data;
    (void)g4_media_attention(device->media, threads, &data);
}
