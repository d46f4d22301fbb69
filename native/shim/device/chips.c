#include "shim/device/chips.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/user.h"
#include "shim/device/memfd.h"
#include "shim/uapi.h"

static const struct g4_live_chip *chip_of(const struct drm_file *file) {
    return &file->connection.welcome.chip;
}

static bool has_engine(const struct g4_live_chip *chip, enum g4_live_engine engine) {
    return chip->engines >> engine & 1;
}

bool chip_has_engine(const struct drm_file *file, enum g4_live_engine engine) {
    return has_engine(chip_of(file), engine);
}

bool chip_can_snoop(const struct drm_file *file) {
    return chip_of(file)->can_snoop;
}

bool chip_has_secure_batches(const struct drm_file *file) {
    return chip_of(file)->secure_batches;
}

bool chip_can_reset_offsets(const struct drm_file *file) {
    return chip_of(file)->offset_reset;
}

/* Bits of chip.scheduler (I915_SCHEDULER_CAP_*). */
enum {
    PRIORITIES = 2,
    PREEMPTION = 4,
    SEMAPHORES = 8
};

bool chip_has_priorities(const struct drm_file *file) {
    return chip_of(file)->scheduler & PRIORITIES;
}

bool chip_can_preempt(const struct drm_file *file) {
    return chip_of(file)->scheduler & PREEMPTION;
}

/* Linux lets all chips that can snoop; Mesa's drivers of Gen4 work without. */
bool chip_has_user_pages(const struct drm_file *file) {
    const struct g4_live_chip *const chip = chip_of(file);
    return chip->can_snoop && chip->ppgtt;
}

bool chip_can_tile(const struct drm_file *file, uint32_t mode, uint32_t pitch) {
    enum {
        X = 1,
        Y
    };
    return pitch && pitch % (mode == X ? 512 : 128) == 0 && pitch <= chip_of(file)->tiled_pitch && mode <= Y;
}

bool chip_is_wide(const struct drm_file *file) {
    return chip_of(file)->wide;
}

uint64_t chip_gtt_size(const struct drm_file *file) {
    return chip_of(file)->gtt_size;
}

uint64_t chip_address_to_client(const struct drm_file *file, uint64_t address) {
    const uint64_t sign = (uint64_t)1 << 47;
    return chip_is_wide(file) ? ((address & (2 * sign - 1)) ^ sign) - sign : address;
}

uint64_t chip_address_from_client(const struct drm_file *file, uint64_t address) {
    return chip_is_wide(file) ? address & (((uint64_t)1 << 48) - 1) : address;
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
    IS_ABSENT = -1,
    IS_OF_CHIP = -2
};

/* Indexed by I915_PARAM_*, from 1 on (include/uapi/drm/i915_drm.h). */
static const int32_t params[] = {
    [1] = IS_ABSENT,   /* IRQ_ACTIVE */
    [2] = IS_ABSENT,   /* ALLOW_BATCHBUFFER */
    [3] = IS_ABSENT,   /* LAST_DISPATCH */
    [4] = IS_OF_CHIP,  /* CHIPSET_ID */
    [5] = 1,           /* HAS_GEM */
    [6] = IS_OF_CHIP,  /* NUM_FENCES_AVAIL */
    [7] = 0,           /* HAS_OVERLAY */
    [8] = 1,           /* HAS_PAGEFLIPPING */
    [9] = 1,           /* HAS_EXECBUF2 */
    [10] = IS_OF_CHIP, /* HAS_BSD */
    [11] = IS_OF_CHIP, /* HAS_BLT */
    [12] = 1,          /* HAS_RELAXED_FENCING */
    [13] = 1,          /* HAS_COHERENT_RINGS */
    [14] = IS_ABSENT,  /* HAS_EXEC_CONSTANTS */
    [15] = 1,          /* HAS_RELAXED_DELTA */
    [16] = 1,          /* HAS_GEN7_SOL_RESET */
    [17] = IS_OF_CHIP, /* HAS_LLC */
    [18] = IS_OF_CHIP, /* HAS_ALIASING_PPGTT */
    [19] = 1,          /* HAS_WAIT_TIMEOUT */
    [20] = IS_OF_CHIP, /* HAS_SEMAPHORES */
    [21] = 1,          /* HAS_PRIME_VMAP_FLUSH */
    [22] = IS_OF_CHIP, /* HAS_VEBOX */
    [23] = IS_OF_CHIP, /* HAS_SECURE_BATCHES */
    [24] = 1,          /* HAS_PINNED_BATCHES */
    [25] = 1,          /* HAS_EXEC_NO_RELOC */
    [26] = 1,          /* HAS_EXEC_HANDLE_LUT */
    [27] = 0,          /* HAS_WT */
    [28] = IS_OF_CHIP, /* CMD_PARSER_VERSION */
    [29] = 1,          /* HAS_COHERENT_PHYS_GTT */
    [30] = 1,          /* MMAP_VERSION */
    [31] = 0,          /* HAS_BSD2 */
    [32] = IS_OF_CHIP, /* REVISION */
    [33] = IS_OF_CHIP, /* SUBSLICE_TOTAL */
    [34] = IS_OF_CHIP, /* EU_TOTAL */
    [35] = 1,          /* HAS_GPU_RESET */
    [36] = 0,          /* HAS_RESOURCE_STREAMER */
    [37] = 1,          /* HAS_EXEC_SOFTPIN */
    [38] = 0,          /* HAS_POOLED_EU */
    [39] = 0,          /* MIN_EU_IN_POOL */
    [40] = 4,          /* MMAP_GTT_VERSION */
    [41] = IS_OF_CHIP, /* HAS_SCHEDULER */
    [42] = IS_ABSENT,  /* HUC_STATUS */
    [43] = 1,          /* HAS_EXEC_ASYNC */
    [44] = 1,          /* HAS_EXEC_FENCE */
    [45] = 1,          /* HAS_EXEC_CAPTURE */
    [46] = IS_OF_CHIP, /* SLICE_MASK */
    [47] = IS_OF_CHIP, /* SUBSLICE_MASK */
    [48] = 1,          /* HAS_EXEC_BATCH_FIRST */
    [49] = 1,          /* HAS_EXEC_FENCE_ARRAY */
    [50] = IS_OF_CHIP, /* HAS_CONTEXT_ISOLATION */
    [51] = IS_OF_CHIP, /* CS_TIMESTAMP_FREQUENCY */
    [52] = 1,          /* MMAP_GTT_COHERENT */
    [53] = 1,          /* HAS_EXEC_SUBMIT_FENCE */
    [54] = 5,          /* PERF_REVISION */
    [55] = 1,          /* HAS_EXEC_TIMELINE_FENCES */
    [56] = 1,          /* HAS_USERPTR_PROBE */
};

/* As the kernel does: a topology of zeros is absent. */
static int32_t unless_zero(uint32_t value) {
    return value ? (int32_t)value : IS_ABSENT;
}

static int32_t param_of_chip(const struct g4_live_chip *chip, int32_t param) {
    switch (param) {
    case 4:
        return (int32_t)chip->pci_id;
    case 6:
        return (int32_t)chip->fences;
    case 10:
        return has_engine(chip, G4_LIVE_VIDEO);
    case 11:
        return has_engine(chip, G4_LIVE_BLITTER);
    case 17:
        return (int32_t)chip->has_llc;
    case 18:
        return (int32_t)chip->ppgtt;
    case 20:
        return (chip->scheduler & SEMAPHORES) != 0;
    case 22:
        return has_engine(chip, G4_LIVE_VIDEO_ENHANCE);
    case 28:
        return (int32_t)chip->parser;
    case 32:
        return (int32_t)chip->revision;
    case 33:
        return unless_zero(chip->subslices);
    case 34:
        return unless_zero(chip->subslices * chip->units);
    case 23:
        return chip->secure_batches && geteuid() == 0;
    case 41:
        return (int32_t)chip->scheduler;
    case 46:
        return unless_zero(chip->subslices ? 1 : 0);
    case 47:
        return unless_zero((1U << chip->subslices) - 1);
    case 50:
        return (int32_t)chip->isolation;
    case 51:
        return (int32_t)chip->timestamp;
    default:
        return IS_ABSENT;
    }
}

int chip_get_param(struct drm_file *file, void *argument, uint32_t size) {
    (void)size;
    const struct i915_getparam *const request = argument;
    if (request->param < 1 || (size_t)request->param >= sizeof params / sizeof params[0]) {
        return EINVAL;
    }
    int32_t value = params[request->param];
    if (value == IS_OF_CHIP) {
        value = param_of_chip(chip_of(file), request->param);
    }
    if (value == IS_ABSENT) {
        return ENODEV;
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
    } engine[G4_LIVE_ENGINES];
};
enum {
    QUERY_TOPOLOGY = 1,
    QUERY_ENGINES = 2,
    QUERY_REGIONS = 4,
    QUERY_LAST = 6,
    QUERY_HEADER = 16 /* bytes before the list of engines or regions */
};

/* Classes of engines (I915_ENGINE_CLASS_*) in the order of the kernel's list. */
static const struct {
    uint16_t class;
    enum g4_live_engine engine;
} classes[] = {{0, G4_LIVE_RENDER}, {1, G4_LIVE_BLITTER}, {2, G4_LIVE_VIDEO}, {3, G4_LIVE_VIDEO_ENHANCE}};

int chip_engine_of_class(const struct drm_file *file, uint16_t class, uint16_t instance) {
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (classes[i].class == class && instance == 0 && chip_has_engine(file, classes[i].engine)) {
            return (int)classes[i].engine;
        }
    }
    return -1;
}

uint16_t chip_class_of_engine(enum g4_live_engine engine) {
    size_t i = 0;
    while (classes[i].engine != engine) {
        i++;
    }
    return classes[i].class;
}

struct regions {
    uint32_t count, reserved[3];
    struct {
        uint16_t class, instance;
        uint32_t reserved0;
        uint64_t probed, unallocated;
        uint64_t cpu_visible_probed, cpu_visible_unallocated; /* the CPU reaches all of system memory */
        uint64_t reserved1[6];
    } region;
};

/* The new `length` of a query item: the size of the data, or a negative errno.  With length 0, nothing is copied.  The
 * first `header` bytes of the client's memory must be 0.  As the kernel does, take a negative length for a large one.
 */
static int32_t put_item(const struct i915_query_item *item, const void *data, int32_t size, size_t header) {
    uint8_t before[QUERY_HEADER];
    if (item->flags) {
        return -EINVAL;
    }
    if (item->length == 0) {
        return size;
    }
    if ((uint32_t)item->length < (uint32_t)size) {
        return -EINVAL;
    }
    if (!user_read(before, item->data, header)) {
        return -EFAULT;
    }
    for (size_t i = 0; i < header; i++) {
        if (before[i]) {
            return -EINVAL;
        }
    }
    return user_write(item->data, data, (size_t)size) ? size : -EFAULT;
}

/* drm_i915_query_topology_info: masks of slices, of the subslices of each slice, and of the EUs of each subslice. */
static int32_t put_topology(const struct g4_live_chip *chip, const struct i915_query_item *item) {
    enum {
        MAX_SLICES = 8,
        MAX_SUBSLICES = 8,
        MAX_UNITS = 16
    };
    struct {
        uint16_t flags, max_slices, max_subslices, max_units;
        uint16_t subslice_offset, subslice_stride, unit_offset, unit_stride;
        uint8_t masks[1 + MAX_SLICES + MAX_SLICES * MAX_SUBSLICES * MAX_UNITS / 8];
    } topology = {0};
    if (!chip->subslices || chip->slice_limit > MAX_SLICES || chip->subslice_limit > MAX_SUBSLICES ||
        chip->units > MAX_UNITS || chip->subslices > chip->subslice_limit) {
        return -ENODEV;
    }
    topology.max_slices = (uint16_t)chip->slice_limit;
    topology.max_subslices = (uint16_t)chip->subslice_limit;
    topology.max_units = (uint16_t)chip->units;
    topology.subslice_offset = 1;
    topology.subslice_stride = 1;
    topology.unit_offset = (uint16_t)(1 + chip->slice_limit);
    topology.unit_stride = (uint16_t)((chip->units + 7) / 8);
    topology.masks[0] = 1;
    topology.masks[1] = (uint8_t)((1U << chip->subslices) - 1);
    for (uint32_t i = 0; i < chip->subslices; i++) {
        const uint32_t units = (1U << chip->units) - 1;
        uint8_t *const mask = topology.masks + topology.unit_offset + (size_t)i * topology.unit_stride;
        mask[0] = (uint8_t)units;
        if (chip->units > 8) {
            mask[1] = (uint8_t)(units >> 8);
        }
    }
    const size_t size = offsetof(__typeof__(topology), masks) + topology.unit_offset +
                        (size_t)chip->slice_limit * chip->subslice_limit * topology.unit_stride;
    return put_item(item, &topology, (int32_t)size, sizeof topology.flags);
}

/* The memory of the machine, but no more than there is space for buffers. */
static uint64_t memory_size(void) {
    const uint64_t installed = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const struct memfd *const arena = memfd_arena();
    return arena && arena->size < installed ? arena->size : installed;
}

static int32_t answer(const struct drm_file *file, const struct i915_query_item *item) {
    if (item->id == QUERY_TOPOLOGY) {
        return put_topology(chip_of(file), item);
    }
    if (item->id == QUERY_ENGINES) {
        struct engines engines = {0};
        for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
            if (chip_has_engine(file, classes[i].engine)) {
                engines.engine[engines.count++].class = classes[i].class;
            }
        }
        const size_t size = offsetof(struct engines, engine) + engines.count * sizeof engines.engine[0];
        return put_item(item, &engines, (int32_t)size, QUERY_HEADER);
    }
    if (item->id == QUERY_REGIONS) {
        struct regions regions = {.count = 1};
        regions.region.probed = memory_size();
        regions.region.unallocated = regions.region.probed;
        regions.region.cpu_visible_probed = regions.region.probed;
        regions.region.cpu_visible_unallocated = regions.region.unallocated;
        return put_item(item, &regions, sizeof regions, QUERY_HEADER);
    }
    return item->id > QUERY_LAST ? -EINVAL : -ENODEV;
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
        if (item.id == 0) {
            return EINVAL;
        }
        const int32_t length = answer(file, &item);
        if (length != item.length &&
            !user_write(address + offsetof(struct i915_query_item, length), &length, sizeof length)) {
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
