/*
 * The media pipeline (native/media).
 */
#ifndef G4_API_MEDIA_H
#define G4_API_MEDIA_H

#include "api/device.h"

/* Run one MEDIA_OBJECT, MEDIA_OBJECT_EX or MEDIA_OBJECT_PRT of `dwords` dwords with the header, which lies at
 * `address`.  Its threads may still be running when it returns. */
enum g4_status g4_device_media(struct g4_device *device, const uint32_t *command, uint32_t dwords, g4_address address,
                               struct g4_fault *fault);
/* Let threads continue.  `finish`: until all have ended; G4_HANG if they wait for each other. */
enum g4_status g4_device_media_run(struct g4_device *device, bool finish, struct g4_fault *fault);
/* Drop all threads. */
void g4_device_media_reset(struct g4_device *device);

struct g4_media_counts {
    uint64_t objects, macroblocks; /* of VLD slices */
    uint64_t roots, children;      /* threads */
    uint64_t ns;                   /* wall time in these calls */
    uint64_t thread_ns;            /* of that, while threads ran */
};
void g4_device_media_counts(const struct g4_device *device, struct g4_media_counts *counts);

/* The states of the surfaces that media block writes used since the last call, at most `capacity`. */
uint32_t g4_device_media_targets(struct g4_device *device, uint32_t (*states)[G4_SURFACE_STATE_DWORDS],
                                 uint32_t capacity);

/* The registers a thread started with. */
struct g4_media_payload {
    g4_address descriptor, kernel;
    uint32_t mode; /* of VFE when it created the thread; a child: 0 */
    uint32_t child;
    uint32_t first;     /* the register after R0 and the constants */
    uint32_t registers; /* with R0 */
    uint32_t data[128][8];
};
/* Record the next `capacity` payloads; 0 stops. */
enum g4_status g4_device_media_watch(struct g4_device *device, uint32_t capacity);
/* The number of threads started since; the payloads of the first `capacity` are recorded. */
uint32_t g4_device_media_watched(const struct g4_device *device);
const struct g4_media_payload *g4_device_media_payload(const struct g4_device *device, uint32_t index);

/* Media threads that wait for the host: bit euid * threads per EU + tid; `data`: cr0.0 bit 2 of them. */
uint64_t g4_device_attention(const struct g4_device *device, uint64_t *data);
void g4_device_clear_attention(struct g4_device *device, uint64_t threads);

#endif
