/* @TITLE@
 *
 * It submits the buffers to the i915 driver of the kernel, which relocates their addresses or, with 48 bits, leaves
 * them where they were in the trace, and compares the render targets with those of the emulator.  Exit status: 0 equal,
 * 1 different, 2 could not run.
 *
 *     cc -Wall -Wextra repro.c -o repro && ./repro          on a @CHIP@
 *     gen4emu run --device @DEVICE@ -- ./repro              on the emulator
 *
 *     -d FILE     the device, by default the first of /dev/dri that i915 serves
 *     -p PREFIX   write the render targets to PREFIX-0.ppm and so on, or PREFIX-0.raw if PPM cannot express the format
 *     -r PREFIX   write the bytes of the render targets to PREFIX-0.raw and so on
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#if defined(__has_include) && __has_include(<libdrm/i915_drm.h>)
#include <libdrm/i915_drm.h>
#else
#include <drm/i915_drm.h>
#endif

enum {
    LINEAR,
    X_TILES,
    Y_TILES
};
enum {
    NO_PPM,
    BGR,
    RGB,
    B5G6R5,
    GREY
};

struct object {
    uint32_t size;
    uint64_t address; /* in the trace */
    int is_written;
};

struct run { /* contents; the rest of an object is 0 */
    uint32_t object, offset, dwords;
    const uint32_t *data;
};

struct relocation { /* the dword at `offset` of `object` is an address: of `target`, plus `delta` */
    uint32_t object, offset, target, delta;
};

struct tiles { /* a tiled range, whose bit 6 the memory controller may swizzle */
    uint32_t object, offset, size, tiling;
};

struct target {
    const char *format;
    uint32_t object, offset, pitch, tiling, x, y, row_bytes, rows, pixel_bytes, ppm, crc; /* x in bytes */
};

/* @DATA@ */
static int fd;
static uint32_t swizzles[Y_TILES + 1]; /* the bits of an address that are XORed into bit 6, by tiling */
static uint32_t handles[OBJECTS];

static void fail(const char *what) {
    fprintf(stderr, "repro: %s: %s\n", what, strerror(errno));
    exit(2);
}

static int call(unsigned long request, void *argument) {
    int status;
    do {
        status = ioctl(fd, request, argument);
    } while (status && (errno == EINTR || errno == EAGAIN));
    return status;
}

static int chip_id(void) {
    int id = 0;
    struct drm_i915_getparam request = {.param = I915_PARAM_CHIPSET_ID, .value = &id};
    return call(DRM_IOCTL_I915_GETPARAM, &request) ? 0 : id;
}

static void open_device(const char *name) {
    char path[64];
    int id = 0;
    if (name) {
        fd = open(name, O_RDWR | O_CLOEXEC);
        if (fd < 0) {
            fail(name);
        }
        id = chip_id();
    }
    for (int i = 0; !id && !name && i < 16; i++) {
        snprintf(path, sizeof path, i < 8 ? "/dev/dri/renderD%d" : "/dev/dri/card%d", i < 8 ? 128 + i : i - 8);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd >= 0) {
            id = chip_id();
            if (!id) {
                close(fd);
            }
        }
    }
    if (!id) {
        fprintf(stderr, "repro: no device of the i915 driver\n");
        exit(2);
    }
    if (id != CHIP) {
        fprintf(stderr, "repro: made for chip 0x%04x, but this one is 0x%04x\n", CHIP, (unsigned)id);
    }
}

static uint32_t create(uint32_t size) {
    struct drm_i915_gem_create request = {.size = size};
    if (call(DRM_IOCTL_I915_GEM_CREATE, &request)) {
        fail("a buffer cannot be allocated");
    }
    return request.handle;
}

static void find_swizzle(uint32_t tiling) {
    static const uint32_t bits[] = {
        [I915_BIT_6_SWIZZLE_NONE] = 0,
        [I915_BIT_6_SWIZZLE_9] = 1u << 9,
        [I915_BIT_6_SWIZZLE_9_10] = 1u << 9 | 1u << 10,
        [I915_BIT_6_SWIZZLE_9_11] = 1u << 9 | 1u << 11,
        [I915_BIT_6_SWIZZLE_9_10_11] = 1u << 9 | 1u << 10 | 1u << 11,
    };
    struct drm_i915_gem_set_tiling set = {.handle = create(1u << 20), .tiling_mode = tiling, .stride = 512};
    if (call(DRM_IOCTL_I915_GEM_SET_TILING, &set)) {
        fail("the swizzle of memory is unknown");
    }
    struct drm_i915_gem_get_tiling get = {.handle = set.handle};
    if (call(DRM_IOCTL_I915_GEM_GET_TILING, &get)) {
        fail("the swizzle of memory is unknown");
    }
    if (get.swizzle_mode >= sizeof bits / sizeof bits[0]) {
        fprintf(stderr, "repro: memory is swizzled by bits of physical addresses (mode %u)\n", get.swizzle_mode);
        exit(2);
    }
    swizzles[tiling] = bits[get.swizzle_mode];
}

static uint32_t swizzled(uint32_t tiling, uint32_t offset) {
    return offset ^ (uint32_t)(__builtin_popcount(offset & swizzles[tiling]) & 1) << 6;
}

static void pwrite_object(uint32_t object, uint32_t offset, const void *data, uint32_t size) {
    struct drm_i915_gem_pwrite request = {
        .handle = handles[object], .offset = offset, .size = size, .data_ptr = (uintptr_t)data};
    if (call(DRM_IOCTL_I915_GEM_PWRITE, &request)) {
        fail("a buffer cannot be written");
    }
}

/* The contents of all objects.  Those of tiled ranges go where the memory controller will look for them. */
static void upload(void) {
    for (uint32_t object = 0; object < OBJECTS; object++) {
        uint8_t *const bytes = calloc(1, objects[object].size);
        if (!bytes) {
            fail("memory");
        }
        for (int i = 0; i < RUNS; i++) {
            if (runs[i].object == object) {
                memcpy(bytes + runs[i].offset, runs[i].data, 4 * (size_t)runs[i].dwords);
            }
        }
        for (int i = 0; i < TILED_RANGES; i++) {
            const struct tiles *const range = &tiled_ranges[i];
            for (uint32_t at = range->offset; range->object == object && at < range->offset + range->size; at += 64) {
                const uint32_t other = swizzled(range->tiling, at);
                if (at < other) {
                    uint8_t line[64];
                    memcpy(line, bytes + at, 64);
                    memcpy(bytes + at, bytes + other, 64);
                    memcpy(bytes + other, line, 64);
                }
            }
        }
        handles[object] = create(objects[object].size);
        pwrite_object(object, 0, bytes, objects[object].size);
        free(bytes);
    }
}

static void submit(void) {
    static struct drm_i915_gem_relocation_entry entries[RELOCATIONS + 1];
    static struct drm_i915_gem_exec_object2 buffers[OBJECTS];
    uint32_t count = 0;
    for (uint32_t object = 0; object < OBJECTS; object++) {
        const uint32_t first = count;
        for (int i = 0; i < RELOCATIONS; i++) {
            const struct relocation *const from = &relocations[i];
            if (from->object == object) {
                entries[count++] = (struct drm_i915_gem_relocation_entry){
                    .target_handle = handles[from->target],
                    .delta = from->delta,
                    .offset = from->offset,
                    .presumed_offset = objects[from->target].address,
                    .read_domains = I915_GEM_DOMAIN_RENDER,
                };
            }
        }
        buffers[object] = (struct drm_i915_gem_exec_object2){
            .handle = handles[object],
            .relocation_count = count - first,
            .relocs_ptr = (uintptr_t)(entries + first),
            .alignment = 4096,
            .offset = objects[object].address,
            .flags = (objects[object].is_written ? EXEC_OBJECT_WRITE : 0) |
                     (PINNED ? EXEC_OBJECT_PINNED | EXEC_OBJECT_SUPPORTS_48B_ADDRESS : 0),
        };
    }
    struct drm_i915_gem_execbuffer2 request = {
        .buffers_ptr = (uintptr_t)buffers,
        .buffer_count = OBJECTS, /* the last one is the batch */
        .batch_len = BATCH_BYTES,
        .flags = ENGINE,
    };
    if (call(DRM_IOCTL_I915_GEM_EXECBUFFER2, &request)) {
        fail("the batch cannot be submitted");
    }
    struct drm_i915_gem_wait wait = {.bo_handle = handles[OBJECTS - 1], .timeout_ns = 60000000000};
    if (call(DRM_IOCTL_I915_GEM_WAIT, &wait)) {
        fail("the batch does not end");
    }
}

static uint32_t place(const struct target *target, uint32_t x, uint32_t y) {
    const uint32_t pitch = target->pitch;
    switch (target->tiling) {
    case X_TILES: /* 512 bytes x 8 rows */
        return swizzled(X_TILES, target->offset + y / 8 * 8 * pitch + x / 512 * 4096 + y % 8 * 512 + x % 512);
    case Y_TILES: /* 128 bytes x 32 rows, in columns of 16 bytes */
        return swizzled(Y_TILES, target->offset + y / 32 * 32 * pitch + x / 128 * 4096 + x % 128 / 16 * 512 +
                                     y % 32 * 16 + x % 16);
    default:
        return target->offset + y * pitch + x;
    }
}

/* The rows of a target, without gaps. */
static uint8_t *rows_of(const struct target *target) {
    const uint32_t size = objects[target->object].size;
    uint8_t *const bytes = malloc(size), *const rows = malloc((size_t)target->row_bytes * target->rows + 1);
    struct drm_i915_gem_pread request = {.handle = handles[target->object], .size = size, .data_ptr = (uintptr_t)bytes};
    if (!bytes || !rows || call(DRM_IOCTL_I915_GEM_PREAD, &request)) {
        fail("a render target cannot be read");
    }
    for (uint32_t y = 0; y < target->rows; y++) {
        for (uint32_t x = 0; x < target->row_bytes; x++) {
            const uint32_t at = place(target, target->x + x, target->y + y);
            rows[(size_t)y * target->row_bytes + x] = at < size ? bytes[at] : 0;
        }
    }
    free(bytes);
    return rows;
}

/* CRC-32 as in zlib. */
static uint32_t checksum(const uint8_t *bytes, size_t count) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

static void put_pixel(FILE *file, const uint8_t *pixel, uint32_t ppm) {
    uint8_t rgb[3] = {pixel[0], pixel[0], pixel[0]};
    if (ppm == BGR || ppm == RGB) {
        for (int i = 0; i < 3; i++) {
            rgb[i] = pixel[ppm == BGR ? 2 - i : i];
        }
    } else if (ppm == B5G6R5) {
        const unsigned value = pixel[0] | (unsigned)pixel[1] << 8;
        rgb[0] = (uint8_t)(((value >> 11) * 255 + 15) / 31);
        rgb[1] = (uint8_t)(((value >> 5 & 63) * 255 + 31) / 63);
        rgb[2] = (uint8_t)(((value & 31) * 255 + 15) / 31);
    }
    fwrite(rgb, 1, sizeof rgb, file);
}

static void save(const struct target *target, const uint8_t *rows, const char *prefix, int number, int raw) {
    char name[4096];
    raw |= target->ppm == NO_PPM;
    snprintf(name, sizeof name, "%s-%d.%s", prefix, number, raw ? "raw" : "ppm");
    FILE *const file = fopen(name, "wb");
    if (!file) {
        fail(name);
    }
    const size_t size = (size_t)target->row_bytes * target->rows;
    if (raw) {
        fwrite(rows, 1, size, file);
    } else {
        fprintf(file, "P6\n%u %u\n255\n", target->row_bytes / target->pixel_bytes, target->rows);
        for (size_t at = 0; at < size; at += target->pixel_bytes) {
            put_pixel(file, rows + at, target->ppm);
        }
    }
    if (ferror(file) | fclose(file)) {
        fail(name);
    }
}

int main(int count, char **arguments) {
    const char *device = NULL, *pictures = NULL, *raw = NULL;
    int status = 0;
    for (int option; (option = getopt(count, arguments, "d:p:r:")) != -1;) {
        if (option == '?') {
            return 2;
        }
        *(option == 'd' ? &device : option == 'p' ? &pictures : &raw) = optarg;
    }
    open_device(device);
    if (TILED_RANGES) {
        find_swizzle(X_TILES);
        find_swizzle(Y_TILES);
    }
    upload();
    submit();
    for (int i = 0; i < TARGETS; i++) {
        const struct target *const target = &targets[i];
        uint8_t *const rows = rows_of(target);
        const uint32_t crc = checksum(rows, (size_t)target->row_bytes * target->rows);
        printf("target %d: %ux%u %s: %08x, %s%08x\n", i, target->row_bytes / target->pixel_bytes, target->rows,
               target->format, crc, crc == target->crc ? "as expected: " : "expected ", target->crc);
        status |= crc != target->crc;
        if (pictures) {
            save(target, rows, pictures, i, 0);
        }
        if (raw) {
            save(target, rows, raw, i, 1);
        }
        free(rows);
    }
    return status;
}
