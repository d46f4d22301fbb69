/*
 * A VA-API program for tests: executes the lines of its standard input, and prints the result of each.
 *
 *   surfaces WIDTH HEIGHT FOURCC COUNT     FOURCC 0: without a pixel format
 *   context WIDTH HEIGHT
 *   fill SURFACE FILE                      bytes into the surface's buffer, through vaDeriveImage
 *   picture WIDTH HEIGHT TARGET FORWARD BACKWARD TYPE STRUCTURE F_CODES PRECISION TOP_FIRST FRAME_DCT CONCEALMENT
 *           NONLINEAR INTRA_VLC ALTERNATE SLICES     references: -1 for none; then `matrix` twice, `slice` for each
 *   matrix BYTES                           64 in hexadecimal, in zigzag order
 *   slice COLUMN ROW QUANTIZER BYTES
 *   image FOURCC WIDTH HEIGHT
 *   get SURFACE X Y WIDTH HEIGHT FILE      vaGetImage into the last image
 *   derive SURFACE FILE
 *   window WIDTH HEIGHT PITCH TILING X Y ROWS    with its buffer
 *   show SURFACE SX SY SW SH DX DY DW DH FLAGS FILE
 *   processing WIDTH HEIGHT                a context for the next
 *   process SOURCE TARGET REFERENCE FILTER VALUE     FILTER: scale, denoise, bob, adaptive, contrast,
 *       brightness, hue or saturation; VALUE: strength or flags
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <drm.h>
#include <i915_drm.h>
#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>
#include <va/va_vpp.h>

#include "window.h"

enum {
    SURFACES = 32,
    LINE = 1 << 20,
};

static int device;
static VADisplay display;
static VAConfigID config;
static VAContextID context;
static VASurfaceID surface[SURFACES];
static int surfaces;
static VAImage image;
static uint8_t *window_pixels;
static size_t window_size;
static char line[LINE];

static void fail(const char *what) {
    (void)fprintf(stderr, "video client: %s\n", what);
    exit(1);
}

static void must(VAStatus status, const char *what) {
    if (status != VA_STATUS_SUCCESS) {
        (void)fprintf(stderr, "video client: %s: %s\n", what, vaErrorStr(status));
        exit(1);
    }
}

static VASurfaceID surface_of(int number) {
    if (number < 0) {
        return VA_INVALID_SURFACE;
    }
    if (number >= surfaces) {
        fail("no such surface");
    }
    return surface[number];
}

static void save(const char *path, const void *data, size_t size) {
    FILE *const file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file)) {
        fail(path);
    }
}

/* ---- reading lines ---- */

static const char *next_line(const char *word) {
    const size_t length = strlen(word);
    if (!fgets(line, sizeof line, stdin) || strncmp(line, word, length) != 0) {
        fail(word);
    }
    return line + length;
}

static long number_of(const char **text, int base) {
    char *end = NULL;
    const long value = strtol(*text, &end, base);
    if (end == *text) {
        fail("a number is missing");
    }
    *text = end;
    return value;
}

static int number(const char **text) {
    return (int)number_of(text, 10);
}

static unsigned hexadecimal(const char **text) {
    return (unsigned)number_of(text, 16);
}

/* The rest of the line. */
static const char *file_name(const char *text) {
    text += strspn(text, " ");
    line[strcspn(line, "\n")] = 0;
    return text;
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t bytes(const char *text, uint8_t *to) {
    size_t n = 0;
    for (; digit(text[2 * n]) >= 0 && digit(text[2 * n + 1]) >= 0; n++) {
        to[n] = (uint8_t)(digit(text[2 * n]) << 4 | digit(text[2 * n + 1]));
    }
    return n;
}

/* ---- decoding ---- */

static void make_surfaces(const char *text) {
    const unsigned width = (unsigned)number(&text), height = (unsigned)number(&text), fourcc = hexadecimal(&text);
    const unsigned count = (unsigned)number(&text);
    VASurfaceAttrib format = {.type = VASurfaceAttribPixelFormat, .flags = VA_SURFACE_ATTRIB_SETTABLE};
    if (count > SURFACES - (unsigned)surfaces) {
        fail("too many surfaces");
    }
    format.value.type = VAGenericValueTypeInteger;
    format.value.value.i = (int)fourcc;
    must(vaCreateSurfaces(display, VA_RT_FORMAT_YUV420, width, height, surface + surfaces, count, &format, fourcc != 0),
         "vaCreateSurfaces");
    surfaces += (int)count;
}

static void make_context(const char *text) {
    const int width = number(&text), height = number(&text);
    must(vaCreateConfig(display, VAProfileMPEG2Main, VAEntrypointVLD, NULL, 0, &config), "vaCreateConfig");
    must(vaCreateContext(display, config, width, height, VA_PROGRESSIVE, surface, surfaces, &context),
         "vaCreateContext");
}

static void render(VABufferType type, size_t size, void *data) {
    VABufferID id;
    must(vaCreateBuffer(display, context, type, (unsigned)size, 1, data, &id), "vaCreateBuffer");
    must(vaRenderPicture(display, context, &id, 1), "vaRenderPicture");
}

static void matrices(void) {
    VAIQMatrixBufferMPEG2 matrix = {.load_intra_quantiser_matrix = 1, .load_non_intra_quantiser_matrix = 1};
    if (bytes(next_line("matrix "), matrix.intra_quantiser_matrix) != 64 ||
        bytes(next_line("matrix "), matrix.non_intra_quantiser_matrix) != 64) {
        fail("matrix");
    }
    render(VAIQMatrixBufferType, sizeof matrix, &matrix);
}

/* The data start after the start code; the slice header has six bits. */
static void slice(void) {
    static uint8_t data[LINE];
    VASliceParameterBufferMPEG2 parameters = {.slice_data_flag = VA_SLICE_DATA_FLAG_ALL, .macroblock_offset = 6};
    const char *text = next_line("slice ");
    parameters.slice_horizontal_position = (uint32_t)number(&text);
    parameters.slice_vertical_position = (uint32_t)number(&text);
    parameters.quantiser_scale_code = number(&text);
    parameters.slice_data_size = (uint32_t)bytes(text + strspn(text, " "), data);
    render(VASliceParameterBufferType, sizeof parameters, &parameters);
    render(VASliceDataBufferType, parameters.slice_data_size, data);
}

static void picture(const char *text) {
    VAPictureParameterBufferMPEG2 parameters = {0};
    parameters.horizontal_size = (uint16_t)number(&text);
    parameters.vertical_size = (uint16_t)number(&text);
    const VASurfaceID target = surface_of(number(&text));
    parameters.forward_reference_picture = surface_of(number(&text));
    parameters.backward_reference_picture = surface_of(number(&text));
    parameters.picture_coding_type = number(&text);
    parameters.picture_coding_extension.bits.picture_structure = (unsigned)number(&text);
    parameters.f_code = (int)hexadecimal(&text);
    parameters.picture_coding_extension.bits.intra_dc_precision = (unsigned)number(&text);
    parameters.picture_coding_extension.bits.top_field_first = (unsigned)number(&text);
    parameters.picture_coding_extension.bits.frame_pred_frame_dct = (unsigned)number(&text);
    parameters.picture_coding_extension.bits.concealment_motion_vectors = (unsigned)number(&text);
    parameters.picture_coding_extension.bits.q_scale_type = (unsigned)number(&text);
    parameters.picture_coding_extension.bits.intra_vlc_format = (unsigned)number(&text);
    parameters.picture_coding_extension.bits.alternate_scan = (unsigned)number(&text);
    const int slices = number(&text);
    must(vaBeginPicture(display, context, target), "vaBeginPicture");
    render(VAPictureParameterBufferType, sizeof parameters, &parameters);
    matrices();
    for (int i = 0; i < slices; i++) {
        slice();
    }
    must(vaEndPicture(display, context), "vaEndPicture");
    must(vaSyncSurface(display, target), "vaSyncSurface");
    (void)printf("picture done\n");
}

/* ---- images ---- */

static void describe(const char *what, VAStatus status, const VAImage *of) {
    (void)printf("%s %d", what, status);
    if (status == VA_STATUS_SUCCESS) {
        (void)printf(" %08x %u %u %u", of->format.fourcc, of->width, of->height, of->data_size);
        for (unsigned p = 0; p < of->num_planes; p++) {
            (void)printf(" %u %u", of->offsets[p], of->pitches[p]);
        }
    }
    (void)printf("\n");
}

static void save_image(const VAImage *of, const char *path) {
    void *data;
    must(vaMapBuffer(display, of->buf, &data), "vaMapBuffer");
    save(path, data, of->data_size);
    must(vaUnmapBuffer(display, of->buf), "vaUnmapBuffer");
}

static void make_image(const char *text) {
    VAImageFormat format = {.fourcc = hexadecimal(&text), .byte_order = VA_LSB_FIRST, .bits_per_pixel = 12};
    const int width = number(&text), height = number(&text);
    describe("image", vaCreateImage(display, &format, width, height, &image), &image);
}

static void get(const char *text) {
    const VASurfaceID from = surface_of(number(&text));
    const int x = number(&text), y = number(&text);
    const unsigned width = (unsigned)number(&text), height = (unsigned)number(&text);
    const VAStatus status = vaGetImage(display, from, x, y, width, height, image.image_id);
    describe("get", status, &image);
    if (status == VA_STATUS_SUCCESS) {
        save_image(&image, file_name(text));
    }
}

static void derive(const char *text) {
    VAImage derived;
    const VAStatus status = vaDeriveImage(display, surface_of(number(&text)), &derived);
    describe("derive", status, &derived);
    if (status == VA_STATUS_SUCCESS) {
        save_image(&derived, file_name(text));
        must(vaDestroyImage(display, derived.image_id), "vaDestroyImage");
    }
}

static void fill(const char *text) {
    VAImage derived;
    void *data;
    must(vaDeriveImage(display, surface_of(number(&text)), &derived), "vaDeriveImage");
    must(vaMapBuffer(display, derived.buf, &data), "vaMapBuffer");
    FILE *const file = fopen(file_name(text), "rb");
    if (!file || fread(data, 1, derived.data_size, file) == 0 || fclose(file)) {
        fail("fill");
    }
    must(vaUnmapBuffer(display, derived.buf), "vaUnmapBuffer");
    must(vaDestroyImage(display, derived.image_id), "vaDestroyImage");
    (void)printf("fill done\n");
}

/* ---- processing ---- */

static void make_processing(const char *text) {
    const int width = number(&text), height = number(&text);
    must(vaCreateConfig(display, VAProfileNone, VAEntrypointVideoProc, NULL, 0, &config), "vaCreateConfig");
    must(vaCreateContext(display, config, width, height, VA_PROGRESSIVE, surface, surfaces, &context),
         "vaCreateContext");
}

/* The buffer of a filter; 0: none. */
static unsigned make_filter(const char *name, float value, VABufferID *id) {
    VAProcFilterParameterBuffer simple = {.type = VAProcFilterNoiseReduction, .value = value};
    VAProcFilterParameterBufferDeinterlacing deinterlacing = {.type = VAProcFilterDeinterlacing,
                                                              .flags = (unsigned)value};
    static const struct {
        const char *name;
        VAProcColorBalanceType type;
    } balances[] = {
        {"contrast ", VAProcColorBalanceContrast},
        {"brightness ", VAProcColorBalanceBrightness},
        {"hue ", VAProcColorBalanceHue},
        {"saturation ", VAProcColorBalanceSaturation},
    };
    VAProcFilterParameterBufferColorBalance balance = {.type = VAProcFilterColorBalance, .value = value};
    void *data = &deinterlacing;
    size_t size = sizeof deinterlacing;

    for (size_t i = 0; i < sizeof balances / sizeof *balances; i++) {
        if (strncmp(name, balances[i].name, strlen(balances[i].name)) == 0) {
            balance.attrib = balances[i].type;
            must(vaCreateBuffer(display, context, VAProcFilterParameterBufferType, sizeof balance, 1, &balance, id),
                 "vaCreateBuffer");
            return 1;
        }
    }

    if (strncmp(name, "denoise", 7) == 0) {
        data = &simple;
        size = sizeof simple;
    } else if (strncmp(name, "bob", 3) == 0) {
        deinterlacing.algorithm = VAProcDeinterlacingBob;
    } else if (strncmp(name, "adaptive", 8) == 0) {
        deinterlacing.algorithm = VAProcDeinterlacingMotionAdaptive;
    } else {
        return 0;
    }
    must(vaCreateBuffer(display, context, VAProcFilterParameterBufferType, (unsigned)size, 1, data, id),
         "vaCreateBuffer");
    return 1;
}

static void process(const char *text) {
    const int source = number(&text), target = number(&text), reference = number(&text);
    const char *const name = text + strspn(text, " ");
    const char *const value = name + strcspn(name, " ");
    VASurfaceID references[1] = {surface_of(reference)};
    VABufferID filter;
    VAProcPipelineParameterBuffer pipeline = {.surface = surface_of(source), .filters = &filter};

    pipeline.num_filters = make_filter(name, strtof(value, NULL), &filter);
    if (reference >= 0) {
        pipeline.forward_references = references;
        pipeline.num_forward_references = 1;
    }
    must(vaBeginPicture(display, context, surface_of(target)), "vaBeginPicture");
    render(VAProcPipelineParameterBufferType, sizeof pipeline, &pipeline);
    must(vaEndPicture(display, context), "vaEndPicture");
    must(vaSyncSurface(display, surface_of(target)), "vaSyncSurface");
    (void)printf("process done\n");
}

/* ---- showing ---- */

static void call(unsigned long request, void *argument, const char *what) {
    if (ioctl(device, request, argument)) {
        (void)fprintf(stderr, "video client: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static void make_window(const char *text) {
    the_window.width = (unsigned)number(&text);
    the_window.height = (unsigned)number(&text);
    the_window.pitch = (unsigned)number(&text);
    const unsigned tiling = (unsigned)number(&text);
    the_window.x = number(&text);
    the_window.y = number(&text);
    const unsigned rows = (unsigned)number(&text);
    window_size = (size_t)the_window.pitch * rows;
    struct drm_i915_gem_create create = {.size = window_size};
    call(DRM_IOCTL_I915_GEM_CREATE, &create, "GEM_CREATE");
    struct drm_i915_gem_set_tiling set = {.handle = create.handle, .tiling_mode = tiling, .stride = the_window.pitch};
    call(DRM_IOCTL_I915_GEM_SET_TILING, &set, "GEM_SET_TILING");
    struct drm_gem_flink flink = {.handle = create.handle};
    call(DRM_IOCTL_GEM_FLINK, &flink, "GEM_FLINK");
    the_window.name = flink.name;
    struct drm_i915_gem_mmap_gtt map = {.handle = create.handle};
    call(DRM_IOCTL_I915_GEM_MMAP_GTT, &map, "GEM_MMAP_GTT");
    window_pixels = mmap(NULL, window_size, PROT_READ | PROT_WRITE, MAP_SHARED, device, (off_t)map.offset);
    if (window_pixels == MAP_FAILED) {
        fail("mmap");
    }
    memset(window_pixels, 0x55, window_size);
}

static void show(const char *text) {
    struct VADriverContext *const driver = ((VADisplayContextP)display)->pDriverContext;
    struct drm_state *const state = driver->drm_state;
    const VASurfaceID from = surface_of(number(&text));
    const int x = number(&text), y = number(&text), width = number(&text), height = number(&text);
    const int to_x = number(&text), to_y = number(&text), to_width = number(&text), to_height = number(&text);
    const unsigned flags = hexadecimal(&text);
    state->auth_type = VA_DRM_AUTH_DRI2; /* as libva-x11 sets it for a connected display */
    const VAStatus status = driver->vtable->vaPutSurface(
        driver, from, NULL, (short)x, (short)y, (unsigned short)width, (unsigned short)height, (short)to_x, (short)to_y,
        (unsigned short)to_width, (unsigned short)to_height, NULL, 0, flags);
    (void)printf("show %d %u\n", status, the_window.swaps);
    save(file_name(text), window_pixels, window_size);
}

static const struct {
    const char *word;
    void (*run)(const char *text);
} COMMANDS[] = {{"surfaces ", make_surfaces},
                {"context ", make_context},
                {"picture ", picture},
                {"image ", make_image},
                {"get ", get},
                {"derive ", derive},
                {"fill ", fill},
                {"processing ", make_processing},
                {"process ", process},
                {"window ", make_window},
                {"show ", show}};

static void run_line(void) {
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
        const size_t length = strlen(COMMANDS[i].word);
        if (strncmp(line, COMMANDS[i].word, length) == 0) {
            COMMANDS[i].run(line + length);
            return;
        }
    }
    fail(line);
}

static int is_valid(VADisplayContextP of) {
    return of != NULL;
}

int main(int count, char **arguments) {
    int major, minor;
    if (count != 2) {
        fail("name a device");
    }
    device = open(arguments[1], O_RDWR);
    display = device < 0 ? NULL : vaGetDisplayDRM(device);
    if (!display) {
        fail("no display");
    }
    /* An X display for the driver; libva-x11 itself would need a server. */
    ((VADisplayContextP)display)->vaIsValid = is_valid;
    ((VADisplayContextP)display)->pDriverContext->display_type = VA_DISPLAY_X11;
    must(vaInitialize(display, &major, &minor), "vaInitialize");
    while (fgets(line, sizeof line, stdin)) {
        run_line();
        (void)fflush(stdout);
    }
    must(vaTerminate(display), "vaTerminate");
    return 0;
}
