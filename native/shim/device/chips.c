#include "shim/device/chips.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/user.h"
#include "shim/uapi.h"

static bool is_g4x(const struct drm_file *file) {
    const uint32_t id = file->connection.welcome.pci_id;
    return id == 0x2a42 || (id & 0xff00) == 0x2e00;
}

bool chip_has_video_engine(const struct drm_file *file) {
    return is_g4x(file);
}

bool chip_can_snoop(const struct drm_file *file) {
    return is_g4x(file);
}

/* --- version --- */

/* As drm_version() does: copy what fits, and return the whole length. */
static bool put_text(const char *text, uintptr_t address, uintptr_t *length) {
    const size_t whole = strlen(text);
    const size_t part = *length < whole ? (size_t)*length : whole;
    *length = whole;
    return !address || user_write(address, text, part);
}

int chip_version(struct drm_file *file, void *argument, uint32_t size) {
    (void)file;
    (void)size;
    struct drm_version *const version = argument;
    version->major = 1;
    version->minor = 6;
    version->patch = 0;
    return put_text("i915", version->name, &version->name_length) &&
                   put_text("20201103", version->date, &version->date_length) &&
                   put_text("Intel Graphics", version->text, &version->text_length)
               ? 0
               : EFAULT;
}

/* --- parameters --- */

enum {
    IS_ID = -1,
    IS_REVISION = -2,
    IS_G4X = -3,
    IS_ABSENT = -4
};

/* Indexed by I915_PARAM_*, from 1 on (include/uapi/drm/i915_drm.h). */
static const int32_t params[] = {
    [1] = IS_ABSENT,    /* IRQ_ACTIVE */
    [2] = IS_ABSENT,    /* ALLOW_BATCHBUFFER */
    [3] = IS_ABSENT,    /* LAST_DISPATCH */
    [4] = IS_ID,        /* CHIPSET_ID */
    [5] = 1,            /* HAS_GEM */
    [6] = 16,           /* NUM_FENCES_AVAIL */
    [7] = 0,            /* HAS_OVERLAY */
    [8] = 1,            /* HAS_PAGEFLIPPING */
    [9] = 1,            /* HAS_EXECBUF2 */
    [10] = IS_G4X,      /* HAS_BSD */
    [11] = 0,           /* HAS_BLT */
    [12] = 1,           /* HAS_RELAXED_FENCING */
    [13] = 1,           /* HAS_COHERENT_RINGS */
    [14] = IS_ABSENT,   /* HAS_EXEC_CONSTANTS */
    [15] = 1,           /* HAS_RELAXED_DELTA */
    [16] = 1,           /* HAS_GEN7_SOL_RESET */
    [17] = 0,           /* HAS_LLC */
    [18] = 0,           /* HAS_ALIASING_PPGTT */
    [19] = 1,           /* HAS_WAIT_TIMEOUT */
    [20] = 0,           /* HAS_SEMAPHORES */
    [21] = 1,           /* HAS_PRIME_VMAP_FLUSH */
    [22] = 0,           /* HAS_VEBOX */
    [23] = 0,           /* HAS_SECURE_BATCHES */
    [24] = 1,           /* HAS_PINNED_BATCHES */
    [25] = 1,           /* HAS_EXEC_NO_RELOC */
    [26] = 1,           /* HAS_EXEC_HANDLE_LUT */
    [27] = 0,           /* HAS_WT */
    [28] = 0,           /* CMD_PARSER_VERSION */
    [29] = 1,           /* HAS_COHERENT_PHYS_GTT */
    [30] = 1,           /* MMAP_VERSION */
    [31] = 0,           /* HAS_BSD2 */
    [32] = IS_REVISION, /* REVISION */
    [33] = IS_ABSENT,   /* SUBSLICE_TOTAL */
    [34] = IS_ABSENT,   /* EU_TOTAL */
    [35] = 1,           /* HAS_GPU_RESET */
    [36] = 0,           /* HAS_RESOURCE_STREAMER */
    [37] = 1,           /* HAS_EXEC_SOFTPIN */
    [38] = 0,           /* HAS_POOLED_EU */
    [39] = 0,           /* MIN_EU_IN_POOL */
    [40] = 4,           /* MMAP_GTT_VERSION */
    [41] = 0,           /* HAS_SCHEDULER */
    [42] = IS_ABSENT,   /* HUC_STATUS */
    [43] = 1,           /* HAS_EXEC_ASYNC */
    [44] = 1,           /* HAS_EXEC_FENCE */
    [45] = 1,           /* HAS_EXEC_CAPTURE */
    [46] = IS_ABSENT,   /* SLICE_MASK */
    [47] = IS_ABSENT,   /* SUBSLICE_MASK */
    [48] = 1,           /* HAS_EXEC_BATCH_FIRST */
    [49] = 1,           /* HAS_EXEC_FENCE_ARRAY */
    [50] = 0,           /* HAS_CONTEXT_ISOLATION */
    [51] = 12500000,    /* CS_TIMESTAMP_FREQUENCY */
    [52] = 1,           /* MMAP_GTT_COHERENT */
    [53] = 1,           /* HAS_EXEC_SUBMIT_FENCE */
    [54] = 5,           /* PERF_REVISION */
    [55] = 1,           /* HAS_EXEC_TIMELINE_FENCES */
    [56] = 1,           /* HAS_USERPTR_PROBE */
};

int chip_get_param(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct i915_getparam *const request = argument;
    if (request->param < 1 || (size_t)request->param >= sizeof params / sizeof params[0]) {
        return EINVAL;
    }
    int32_t value = params[request->param];
    switch (value) {
    case IS_ABSENT:
        return ENODEV;
    case IS_ID:
        value = (int32_t)file->connection.welcome.pci_id;
        break;
    case IS_REVISION:
        value = (int32_t)file->connection.welcome.revision;
        break;
    case IS_G4X:
        value = is_g4x(file);
        break;
    default:
        break;
    }
    return user_write(request->value, &value, sizeof value) ? 0 : EFAULT;
}

/* --- capabilities --- */

int chip_get_cap(struct drm_file *file, void *argument, uint32_t size) {
    (void)file;
    (void)size;
    static const struct {
        uint64_t capability, value;
    } caps[] = {
        {0x01, 1},   /* DUMB_BUFFER */
        {0x02, 1},   /* VBLANK_HIGH_CRTC */
        {0x03, 24},  /* DUMB_PREFERRED_DEPTH */
        {0x04, 1},   /* DUMB_PREFER_SHADOW */
        {0x05, 3},   /* PRIME: import and export */
        {0x06, 1},   /* TIMESTAMP_MONOTONIC */
        {0x07, 0},   /* ASYNC_PAGE_FLIP */
        {0x08, 256}, /* CURSOR_WIDTH */
        {0x09, 256}, /* CURSOR_HEIGHT */
        {0x10, 1},   /* ADDFB2_MODIFIERS */
        {0x11, 0},   /* PAGE_FLIP_TARGET */
        {0x12, 1},   /* CRTC_IN_VBLANK_EVENT */
        {0x13, 1},   /* SYNCOBJ */
        {0x14, 1},   /* SYNCOBJ_TIMELINE */
    };
    struct drm_capability *const request = argument;
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        if (caps[i].capability == request->capability) {
            request->value = caps[i].value;
            return 0;
        }
    }
    return EINVAL;
}

/* --- queries --- */

struct engines {
    uint32_t count, reserved[3];
    struct {
        uint16_t class, instance;
        uint32_t reserved0;
        uint64_t flags, capabilities;
        uint16_t logical_instance, reserved1[3];
        uint64_t reserved2[3];
    } engine[2];
};
enum {
    CLASS_RENDER = 0,
    CLASS_VIDEO = 2,
    QUERY_ENGINES = 2,
    QUERY_REGIONS = 4,
    QUERY_LAST = 6
};

struct regions {
    uint32_t count, reserved[3];
    struct {
        uint16_t class, instance;
        uint32_t reserved0;
        uint64_t probed, unallocated, reserved1[8];
    } region;
};

/* The new `length` of a query item: the size of the data, or a negative errno.  With length 0, nothing is copied. */
static int32_t put_item(const struct i915_query_item *item, const void *data, int32_t size) {
    if (item->flags) {
        return -EINVAL;
    }
    if (item->length == 0) {
        return size;
    }
    if (item->length < size) {
        return -EINVAL;
    }
    return user_write(item->data, data, (size_t)size) ? size : -EFAULT;
}

static int32_t answer(const struct drm_file *file, const struct i915_query_item *item) {
    if (item->id == QUERY_ENGINES) {
        struct engines engines = {.count = is_g4x(file) ? 2 : 1};
        engines.engine[0].class = CLASS_RENDER;
        engines.engine[1].class = CLASS_VIDEO;
        const size_t size = offsetof(struct engines, engine) + engines.count * sizeof engines.engine[0];
        return put_item(item, &engines, (int32_t)size);
    }
    if (item->id == QUERY_REGIONS) {
        struct regions regions = {.count = 1};
        regions.region.probed = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
        regions.region.unallocated = regions.region.probed;
        return put_item(item, &regions, sizeof regions);
    }
    return item->id == 0 || item->id > QUERY_LAST ? -EINVAL : -ENODEV;
}

int chip_query(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct i915_query *const query = argument;
    if (query->flags) {
        return EINVAL;
    }
    for (uint32_t i = 0; i < query->count; i++) {
        const uint64_t address = query->items + i * sizeof(struct i915_query_item);
        struct i915_query_item item;
        if (!user_read(&item, address, sizeof item)) {
            return EFAULT;
        }
        const int32_t length = answer(file, &item);
        if (!user_write(address + offsetof(struct i915_query_item, length), &length, sizeof length)) {
            return EFAULT;
        }
    }
    return 0;
}

/* --- registers --- */

int chip_read_register(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    enum {
        TIMESTAMP = 0x2358,
        EIGHT_BYTES = 1
    };
    struct i915_reg_read *const request = argument;
    if ((request->offset & ~(uint64_t)EIGHT_BYTES) != TIMESTAMP) {
        return EINVAL;
    }
    const int error = drm_file_connect(file);
    if (error) {
        return error;
    }
    struct g4_live_register packet = {.header = {.type = G4_LIVE_REGISTER}, .offset = TIMESTAMP};
    struct g4_live_register reply = {0};
    const int failed = connection_request(&file->connection, &packet, sizeof packet, -1, &reply, sizeof reply, NULL);
    if (failed || reply.status) {
        return failed ? failed : EINVAL;
    }
    request->value = reply.value;
    return 0;
}
