/* fixed FIRST COUNT OUTPUT [FEATURES]: draws pictures with random state of OpenGL's fixed functions.
 * fixed - - OUTPUT: reads seeds and features from standard input instead, and draws each at once.
 *
 * The picture of a seed is the same sequence of calls everywhere, so that renderers can be compared.  Each feature has
 * its own random numbers: FEATURES, a hexadecimal mask, removes some of them and leaves all others as they are.
 * Writes for each seed: WIDTH x HEIGHT pixels of RGBA, as many bytes of stencil, as many floats of depth, bottom row
 * first, and NUMBERS numbers of 32 bits (samples of queries, checksums of glReadPixels; the last
 * two are the step between colors and whether the renderer lacks a format of the picture).
 * `fixed features` prints the names of the features in the order of their bits.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 72,
    HEIGHT = 56,
    NUMBERS = 16,
    STEPS = 5,
    VERTICES = 24,
};

enum feature {
    FORMAT, /* of the framebuffer */
    SAMPLES,
    PERSPECTIVE,
    VIEWPORT,
    DEPTH_RANGE,
    SCISSOR,
    ARRAYS, /* or immediate mode, display lists, indices */
    TEXTURE,
    TEXTURE_KIND,   /* cube maps, volumes, lines, rectangles */
    TEXTURE_FORMAT, /* other than RGBA8 */
    FILTER,
    WRAP,
    SHADOW,
    SECOND_TEXTURE,
    TEXTURE_ENVIRONMENT,
    COMBINE,
    TEXTURE_MATRIX,
    TEXGEN,
    FOG,
    LIGHTING,
    TWO_SIDED,
    COLOR_SUM,
    STENCIL,
    DEPTH,
    BLEND,
    LOGIC,
    ALPHA_TEST,
    COLOR_MASK,
    POLYGON_MODE,
    POLYGON_OFFSET,
    POLYGON_STIPPLE,
    CULL,
    LINE_WIDTH,
    LINE_STIPPLE,
    POINT_SIZE,
    SPRITES,
    CLIP_PLANES,
    FLAT,
    DRAW_PIXELS,
    COPY_PIXELS,
    BITMAP,
    COPY_TEXTURE,
    CLEARS,
    QUERY,
    READ_PIXELS,
    FEATURES
};

static const char *const names[FEATURES] = {
    "format",
    "samples",
    "perspective",
    "viewport",
    "depth range",
    "scissor",
    "arrays",
    "texture",
    "texture kind",
    "texture format",
    "filter",
    "wrap",
    "shadow",
    "second texture",
    "texture environment",
    "combine",
    "texture matrix",
    "texgen",
    "fog",
    "lighting",
    "two sided",
    "color sum",
    "stencil",
    "depth",
    "blend",
    "logic",
    "alpha test",
    "color mask",
    "polygon mode",
    "polygon offset",
    "polygon stipple",
    "cull",
    "line width",
    "line stipple",
    "point size",
    "sprites",
    "clip planes",
    "flat",
    "draw pixels",
    "copy pixels",
    "bitmap",
    "copy texture",
    "clears",
    "query",
    "read pixels",
};

static uint64_t features, stream;
static uint32_t seed, step;
static uint32_t numbers[NUMBERS];
static int number_count;
static int is_other; /* this renderer does not have a format: its picture is not that of others */
static GLuint framebuffer, resolved;
static GLsizei samples;
static int has_depth16;
static int color_step; /* between colors of the framebuffer's format, as bytes */

static void fail(const char *what) {
    (void)fprintf(stderr, "fixed: %s\n", what);
    exit(1);
}

static void check(const char *where) {
    const GLenum error = glGetError();
    if (error) {
        (void)fprintf(stderr, "fixed: seed %u: GL error 0x%04x in %s\n", seed, error, where);
        exit(1);
    }
}

static int has_extension(const char *name) {
    return strstr((const char *)glGetString(GL_EXTENSIONS), name) != NULL;
}

/* Random numbers: splitmix64, seeded again for each feature of each step. */
static uint32_t next(void) {
    uint64_t z = stream += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

static void start(unsigned what) {
    stream = ((uint64_t)seed << 32) ^ (uint64_t)(step * 256 + what) * 0xd1342543de82ef95;
    (void)next();
}

static int below(int count) {
    return (int)(next() % (uint32_t)count);
}

static int chance(int percent) {
    return below(100) < percent;
}

static float range(float low, float high) {
    return low + (high - low) * (float)(next() >> 8) / 16777216.0f;
}

/* Levels that all formats of eight bits store exactly. */
static float level(void) {
    return (float)below(256) / 255.0f;
}

#define PICK(list) ((list)[below((int)(sizeof(list) / sizeof *(list)))])

/* Whether a feature is used in this step, in `percent` of all. */
static int uses(enum feature feature, int percent) {
    start(feature);
    return chance(percent) && features >> feature & 1;
}

static int whole_picture_uses(enum feature feature, int percent) {
    const uint32_t now = step;
    step = STEPS;
    const int used = uses(feature, percent);
    step = now;
    return used;
}

static void set_enabled(GLenum what, int enabled) {
    if (enabled) {
        glEnable(what);
    } else {
        glDisable(what);
    }
}

static void four(float v[4], float low, float high) {
    for (int i = 0; i < 4; i++) {
        v[i] = range(low, high);
    }
}

/* Framebuffers. */

static GLuint make_framebuffer(GLenum color, GLenum depth, GLsizei count) {
    GLuint buffers[2], made;
    glGenFramebuffers(1, &made);
    glBindFramebuffer(GL_FRAMEBUFFER, made);
    glGenRenderbuffers(2, buffers);
    glBindRenderbuffer(GL_RENDERBUFFER, buffers[0]);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, count, color, WIDTH, HEIGHT);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, buffers[0]);
    glBindRenderbuffer(GL_RENDERBUFFER, buffers[1]);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, count, depth, WIDTH, HEIGHT);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, buffers[1]);
    if (depth != GL_DEPTH_COMPONENT16) {
        glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_STENCIL_ATTACHMENT, GL_RENDERBUFFER, buffers[1]);
    }
    return made;
}

static void set_framebuffer(void) {
    static const GLenum colors[] = {GL_RGBA8, GL_RGB8, GL_RGB565, GL_RGBA16F, GL_RGB10_A2, GL_RGBA4, GL_R8, GL_RG8},
                        depths[] = {GL_DEPTH24_STENCIL8, GL_DEPTH_COMPONENT16, GL_DEPTH32F_STENCIL8};
    GLenum color = GL_RGBA8, depth = GL_DEPTH24_STENCIL8;
    if (uses(FORMAT, 40) && !whole_picture_uses(LOGIC, 12)) {
        start(FORMAT);
        color = PICK(colors);
        depth = PICK(depths);
    }
    has_depth16 = depth == GL_DEPTH_COMPONENT16;
    color_step = color == GL_RGBA4 ? 17 : color == GL_RGB565 ? 8 : 1;
    samples = uses(SAMPLES, 12) ? 4 : 0;
    framebuffer = make_framebuffer(color, depth, samples);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
        (void)glGetError();
        is_other = 1;
        samples = 0;
        color = GL_RGBA8;
        depth = GL_DEPTH24_STENCIL8;
        framebuffer = make_framebuffer(color, depth, samples);
        if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
            fail("the framebuffer is not complete");
        }
    }
    resolved = samples ? make_framebuffer(color, depth, 0) : framebuffer;
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    start(FEATURES);
    glDisable(GL_DITHER);
    glClearColor(level(), level(), level(), level());
    glClearDepth(range(0.4f, 1.0f));
    glClearStencil(below(256));
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
}

static void resolve(void) {
    if (samples) {
        glDisable(GL_SCISSOR_TEST);
        glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
        glBindFramebuffer(GL_DRAW_FRAMEBUFFER, resolved);
        glBlitFramebuffer(0, 0, WIDTH, HEIGHT, 0, 0, WIDTH, HEIGHT, GL_COLOR_BUFFER_BIT, GL_NEAREST);
        glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
        glBindFramebuffer(GL_READ_FRAMEBUFFER, resolved);
    }
}

/* Textures: gradients with some blocks, so that levels look alike and small errors of a coordinate stay small. */

static void texels(unsigned char *out, int width, int height, int depth, int turn) {
    for (int z = 0; z < depth; z++) {
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++, out += 4) {
                const int block = (4 * x / width + 4 * y / height + z) & 1;
                out[0] = (unsigned char)(20 + 200 * (x + 1) / (width + 1));
                out[1] = (unsigned char)(20 + 200 * (y + 1) / (height + 1));
                out[2] = (unsigned char)(turn * 40 + (block ? 40 : 0));
                out[3] = (unsigned char)(block ? 255 : 90 + 20 * (z & 7));
            }
        }
    }
}

static GLenum make_texture(int unit, int *volume) {
    static const GLenum kinds[] = {GL_TEXTURE_1D,        GL_TEXTURE_3D,       GL_TEXTURE_CUBE_MAP,
                                   GL_TEXTURE_RECTANGLE, GL_TEXTURE_CUBE_MAP, GL_TEXTURE_3D},
                        formats[] = {GL_RGB8,
                                     GL_LUMINANCE8,
                                     GL_ALPHA8,
                                     GL_INTENSITY8,
                                     GL_LUMINANCE8_ALPHA8,
                                     GL_RGB5,
                                     GL_RGB5_A1,
                                     GL_RGBA4,
                                     GL_R8,
                                     GL_RG8,
                                     GL_RGBA16F,
                                     GL_R11F_G11F_B10F,
                                     GL_RGB9_E5,
                                     GL_SRGB8_ALPHA8,
                                     GL_RGB10_A2,
                                     GL_RGBA16,
                                     GL_RGBA32F,
                                     GL_COMPRESSED_RGBA_S3TC_DXT1_EXT,
                                     GL_COMPRESSED_RGBA_S3TC_DXT5_EXT,
                                     GL_RGBA8_SNORM},
                        minify[] = {GL_NEAREST,
                                    GL_LINEAR,
                                    GL_NEAREST_MIPMAP_NEAREST,
                                    GL_LINEAR_MIPMAP_NEAREST,
                                    GL_NEAREST_MIPMAP_LINEAR,
                                    GL_LINEAR_MIPMAP_LINEAR},
                        wraps[] = {GL_REPEAT, GL_CLAMP_TO_EDGE, GL_CLAMP_TO_BORDER, GL_MIRRORED_REPEAT,
                                   GL_MIRROR_CLAMP_TO_EDGE};
    const unsigned shift = 128U * (unsigned)unit;
    GLenum target = GL_TEXTURE_2D, format = GL_RGBA8;
    if (uses(TEXTURE_KIND, 50)) {
        start(TEXTURE_KIND + shift);
        target = PICK(kinds);
    }
    start(TEXTURE + shift);
    int width = chance(70) ? 1 << (2 + below(5)) : 3 + below(40);
    int height = chance(70) ? 1 << (2 + below(5)) : 3 + below(40);
    int depth = 1 << below(4);
    if (target == GL_TEXTURE_CUBE_MAP) {
        height = width;
    } else if (target == GL_TEXTURE_1D) {
        height = 1;
    }
    if (target != GL_TEXTURE_3D) {
        depth = 1;
    }
    if (uses(TEXTURE_FORMAT, 50)) {
        start(TEXTURE_FORMAT + shift);
        format = PICK(formats);
        if ((format == GL_COMPRESSED_RGBA_S3TC_DXT1_EXT || format == GL_COMPRESSED_RGBA_S3TC_DXT5_EXT) &&
            target != GL_TEXTURE_2D) {
            format = GL_RGBA8;
        }
    }
    *volume = target == GL_TEXTURE_3D || target == GL_TEXTURE_CUBE_MAP;
    GLuint name;
    glGenTextures(1, &name);
    glActiveTexture(GL_TEXTURE0 + (GLenum)unit);
    glBindTexture(target, name);
    unsigned char *const data = malloc((size_t)width * (size_t)height * (size_t)depth * 4);
    const int has_levels = target != GL_TEXTURE_RECTANGLE;
    start(FILTER + shift);
    const int filtered = uses(FILTER, 80);
    glTexParameteri(target, GL_TEXTURE_MIN_FILTER,
                    (GLint)(!filtered    ? GL_NEAREST
                            : has_levels ? PICK(minify)
                                         : minify[below(2)]));
    glTexParameteri(target, GL_TEXTURE_MAG_FILTER, (GLint)(filtered && chance(60) ? GL_LINEAR : GL_NEAREST));
    if (has_levels) {
        glTexParameteri(target, GL_GENERATE_MIPMAP, GL_TRUE);
        if (filtered && chance(20)) {
            glTexParameterf(target, GL_TEXTURE_LOD_BIAS, range(-1.5f, 1.5f));
        }
        if (filtered && chance(20)) {
            glTexParameterf(target, GL_TEXTURE_MIN_LOD, range(0, 2));
            glTexParameterf(target, GL_TEXTURE_MAX_LOD, range(2, 4));
        }
        if (filtered && chance(20)) {
            glTexParameteri(target, GL_TEXTURE_BASE_LEVEL, below(2));
        }
    }
    for (int face = 0; face < (target == GL_TEXTURE_CUBE_MAP ? 6 : 1); face++) {
        texels(data, width, height, depth, (unit * 3 + face) % 5);
        if (target == GL_TEXTURE_1D) {
            glTexImage1D(target, 0, (GLint)format, width, 0, GL_RGBA, GL_UNSIGNED_BYTE, data);
        } else if (target == GL_TEXTURE_3D) {
            glTexImage3D(target, 0, (GLint)format, width, height, depth, 0, GL_RGBA, GL_UNSIGNED_BYTE, data);
        } else {
            glTexImage2D(target == GL_TEXTURE_CUBE_MAP ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + (GLenum)face : target, 0,
                         (GLint)format, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, data);
        }
    }
    free(data);
    const int wrapped = uses(WRAP, 70);
    start(WRAP + shift);
    const GLenum names_of_wraps[] = {GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T, GL_TEXTURE_WRAP_R};
    float border[4];
    for (int i = 0; i < 4; i++) {
        border[i] = level();
    }
    glTexParameterfv(target, GL_TEXTURE_BORDER_COLOR, border);
    for (int i = 0; i < 3; i++) {
        GLenum wrap = wrapped ? PICK(wraps) : GL_CLAMP_TO_EDGE;
        if (!has_levels && (wrap == GL_REPEAT || wrap == GL_MIRRORED_REPEAT || wrap == GL_MIRROR_CLAMP_TO_EDGE)) {
            wrap = GL_CLAMP_TO_BORDER;
        }
        glTexParameteri(target, names_of_wraps[i], (GLint)wrap);
    }
    check("make_texture");
    return target;
}

/* A texture of depths that is compared with the third coordinate. */
static GLenum make_shadow(int unit) {
    static const GLenum functions[] = {GL_LEQUAL, GL_GEQUAL, GL_LESS, GL_GREATER, GL_ALWAYS, GL_NEVER},
                        modes[] = {GL_LUMINANCE, GL_INTENSITY, GL_ALPHA},
                        formats[] = {GL_DEPTH_COMPONENT16, GL_DEPTH_COMPONENT24, GL_DEPTH_COMPONENT32F};
    start(SHADOW + 128U * (unsigned)unit);
    GLuint name;
    float data[256];
    for (int i = 0; i < 256; i++) {
        data[i] = range(0, 1);
    }
    glGenTextures(1, &name);
    glActiveTexture(GL_TEXTURE0 + (GLenum)unit);
    glBindTexture(GL_TEXTURE_2D, name);
    GLenum format = PICK(formats);
    if (format == GL_DEPTH_COMPONENT32F && !has_extension("GL_ARB_depth_buffer_float")) {
        is_other = 1;
        format = GL_DEPTH_COMPONENT24;
    }
    glTexImage2D(GL_TEXTURE_2D, 0, (GLint)format, 16, 16, 0, GL_DEPTH_COMPONENT, GL_FLOAT, data);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_COMPARE_MODE, GL_COMPARE_R_TO_TEXTURE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_COMPARE_FUNC, (GLint)PICK(functions));
    glTexParameteri(GL_TEXTURE_2D, GL_DEPTH_TEXTURE_MODE, (GLint)PICK(modes));
    check("make_shadow");
    return GL_TEXTURE_2D;
}

static void set_combine(int unit) {
    static const GLenum functions[] = {GL_REPLACE,     GL_MODULATE, GL_ADD,      GL_ADD_SIGNED,
                                       GL_INTERPOLATE, GL_SUBTRACT, GL_DOT3_RGB, GL_DOT3_RGBA},
                        sources[] = {GL_TEXTURE, GL_CONSTANT, GL_PRIMARY_COLOR, GL_PREVIOUS},
                        colors[] = {GL_SRC_COLOR, GL_ONE_MINUS_SRC_COLOR, GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA};
    static const float scales[] = {1, 1, 2, 4};
    start(COMBINE + 128U * (unsigned)unit);
    glTexEnvi(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, GL_COMBINE);
    glTexEnvi(GL_TEXTURE_ENV, GL_COMBINE_RGB, (GLint)PICK(functions));
    glTexEnvi(GL_TEXTURE_ENV, GL_COMBINE_ALPHA, (GLint)functions[below(6)]);
    for (GLenum i = 0; i < 3; i++) {
        glTexEnvi(GL_TEXTURE_ENV, GL_SOURCE0_RGB + i, (GLint)PICK(sources));
        glTexEnvi(GL_TEXTURE_ENV, GL_SOURCE0_ALPHA + i, (GLint)PICK(sources));
        glTexEnvi(GL_TEXTURE_ENV, GL_OPERAND0_RGB + i, (GLint)PICK(colors));
        glTexEnvi(GL_TEXTURE_ENV, GL_OPERAND0_ALPHA + i, (GLint)colors[2 + below(2)]);
    }
    glTexEnvf(GL_TEXTURE_ENV, GL_RGB_SCALE, PICK(scales));
    glTexEnvf(GL_TEXTURE_ENV, GL_ALPHA_SCALE, PICK(scales));
}

static void set_texgen(int unit, int volume) {
    static const GLenum flat[] = {GL_OBJECT_LINEAR, GL_EYE_LINEAR, GL_SPHERE_MAP},
                        round[] = {GL_OBJECT_LINEAR, GL_EYE_LINEAR, GL_NORMAL_MAP, GL_REFLECTION_MAP};
    start(TEXGEN + 128U * (unsigned)unit);
    const GLenum mode = volume ? PICK(round) : PICK(flat);
    for (int i = 0; i < (volume ? 3 : 2); i++) {
        const GLenum coordinate = GL_S + (GLenum)i;
        float plane[4];
        glTexGeni(coordinate, GL_TEXTURE_GEN_MODE, (GLint)mode);
        four(plane, -1, 1);
        glTexGenfv(coordinate, GL_OBJECT_PLANE, plane);
        four(plane, -1, 1);
        glTexGenfv(coordinate, GL_EYE_PLANE, plane);
        glEnable(GL_TEXTURE_GEN_S + (GLenum)i);
    }
}

static void set_unit(int unit) {
    static const GLenum modes[] = {GL_MODULATE, GL_REPLACE, GL_DECAL, GL_BLEND, GL_ADD};
    const unsigned shift = 128U * (unsigned)unit;
    int volume = 0;
    const int shadow = uses(SHADOW, 10);
    const GLenum target = shadow ? make_shadow(unit) : make_texture(unit, &volume);
    glEnable(target);
    float color[4];
    start(TEXTURE_ENVIRONMENT + shift);
    four(color, 0, 1);
    glTexEnvfv(GL_TEXTURE_ENV, GL_TEXTURE_ENV_COLOR, color);
    if (uses(COMBINE, 30)) {
        set_combine(unit);
    } else if (uses(TEXTURE_ENVIRONMENT, 60)) {
        start(TEXTURE_ENVIRONMENT + shift);
        (void)next();
        glTexEnvi(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, (GLint)PICK(modes));
    }
    if (uses(TEXTURE_ENVIRONMENT, 60)) {
        start(TEXTURE_ENVIRONMENT + shift + 64);
        if (chance(20)) {
            glTexEnvf(GL_TEXTURE_FILTER_CONTROL, GL_TEXTURE_LOD_BIAS, range(-1, 1));
        }
    }
    if (uses(TEXGEN, 30)) {
        set_texgen(unit, volume);
    }
    glMatrixMode(GL_TEXTURE);
    glLoadIdentity();
    if (target == GL_TEXTURE_RECTANGLE) {
        glScalef(20, 20, 1);
    }
    if (uses(TEXTURE_MATRIX, 40)) {
        start(TEXTURE_MATRIX + shift);
        glRotatef(range(0, 360), range(-1, 1), range(-1, 1), 1);
        glScalef(range(0.5f, 2), range(0.5f, 2), range(0.5f, 2));
        glTranslatef(range(-1, 1), range(-1, 1), range(-1, 1));
    }
}

static void set_textures(void) {
    if (uses(TEXTURE, 65)) {
        set_unit(0);
    }
    if (uses(SECOND_TEXTURE, 30)) {
        set_unit(1);
    }
    glActiveTexture(GL_TEXTURE0);
}

/* Transformation, lights, fog. */

/* Points whose centers are out of view: GL drops them, Intel's drivers from Gen6 on let them be drawn.  User planes
 * drop them everywhere.
 */
static void drop_points_out_of_view(float x, float y, float z, float w) {
    const double planes[4][4] = {{x, 0, z, w}, {-x, 0, z, w}, {0, y, z, w}, {0, -y, z, w}};
    glMatrixMode(GL_MODELVIEW);
    glLoadIdentity();
    for (GLenum i = 0; i < 4; i++) {
        glClipPlane(GL_CLIP_PLANE0 + i, planes[i]);
        glEnable(GL_CLIP_PLANE0 + i);
    }
}

static void set_transformation(int has_points) {
    const GLenum first_plane = has_points ? 4 : 0;
    glMatrixMode(GL_PROJECTION);
    glLoadIdentity();
    if (has_points) {
        drop_points_out_of_view(1, 1, 0, 1);
    }
    if (uses(PERSPECTIVE, 50)) {
        const float x = range(0.6f, 1.4f), y = range(0.6f, 1.4f);
        if (has_points) {
            drop_points_out_of_view(1 / x, 1 / y, -1, 0);
            glMatrixMode(GL_PROJECTION);
        }
        glFrustum(-x, x, -y, y, 1, range(4, 8));
        glMatrixMode(GL_MODELVIEW);
        glLoadIdentity();
        glTranslatef(0, 0, chance(30) ? -range(0.6f, 1.6f) : -range(2, 3));
        glRotatef(range(0, 360), range(-1, 1), range(-1, 1), range(-1, 1));
    } else {
        glMatrixMode(GL_PROJECTION);
        glOrtho(-1, 1, -1, 1, -1.5, 1.5);
        glMatrixMode(GL_MODELVIEW);
        glLoadIdentity();
    }
    if (!has_points && uses(VIEWPORT, 30)) { /* Intel's drivers let points end there */
        glViewport(below(60) - 30, below(50) - 25, 40 + below(80), 35 + below(65)); /* a part is always in view */
    } else {
        glViewport(0, 0, WIDTH, HEIGHT);
    }
    glDepthRange(0, 1);
    if (uses(DEPTH_RANGE, 20)) {
        const float a = range(0, 1), b = range(0, 1);
        glDepthRange(a, b);
    }
    if (uses(CLIP_PLANES, 15)) {
        const int count = 1 + below(6 - (int)first_plane);
        for (int i = 0; i < count; i++) {
            const double plane[] = {range(-1, 1), range(-1, 1), range(-1, 1), range(0.2f, 1.5f)};
            glClipPlane(GL_CLIP_PLANE0 + first_plane + (GLenum)i, plane);
            glEnable(GL_CLIP_PLANE0 + first_plane + (GLenum)i);
        }
    }
}

static void set_light(GLenum light) {
    float v[4];
    glEnable(light);
    four(v, 0, 0.4f);
    glLightfv(light, GL_AMBIENT, v);
    four(v, 0, 1);
    glLightfv(light, GL_DIFFUSE, v);
    four(v, 0, 1);
    glLightfv(light, GL_SPECULAR, v);
    four(v, -2, 2);
    v[3] = chance(50) ? 0 : 1;
    v[2] = 1.5f;
    glLightfv(light, GL_POSITION, v);
    if (v[3] != 0 && chance(50)) {
        glLightf(light, GL_CONSTANT_ATTENUATION, range(0.5f, 1.5f));
        glLightf(light, GL_LINEAR_ATTENUATION, range(0, 1));
        glLightf(light, GL_QUADRATIC_ATTENUATION, range(0, 0.5f));
    }
    if (v[3] != 0 && chance(40)) {
        float direction[4] = {-v[0], -v[1], -v[2], 0};
        glLightfv(light, GL_SPOT_DIRECTION, direction);
        glLightf(light, GL_SPOT_CUTOFF, range(30, 85));
        glLightf(light, GL_SPOT_EXPONENT, range(0, 10));
    }
}

static void set_lighting(void) {
    static const GLenum materials[] = {GL_AMBIENT_AND_DIFFUSE, GL_AMBIENT, GL_DIFFUSE, GL_EMISSION, GL_SPECULAR};
    if (!uses(LIGHTING, 30)) {
        return;
    }
    float v[4];
    glEnable(GL_LIGHTING);
    glEnable(GL_NORMALIZE);
    for (GLenum i = 0; i < 3; i++) {
        if (chance(60)) {
            set_light(GL_LIGHT0 + i);
        }
    }
    for (int i = 0; i < 2; i++) {
        const GLenum face = i ? GL_BACK : GL_FRONT;
        four(v, 0, 1);
        glMaterialfv(face, GL_AMBIENT, v);
        four(v, 0, 1);
        glMaterialfv(face, GL_DIFFUSE, v);
        four(v, 0, 1);
        glMaterialfv(face, GL_SPECULAR, v);
        four(v, 0, 0.2f);
        glMaterialfv(face, GL_EMISSION, v);
        glMaterialf(face, GL_SHININESS, range(1, 40));
    }
    four(v, 0, 0.5f);
    glLightModelfv(GL_LIGHT_MODEL_AMBIENT, v);
    glLightModeli(GL_LIGHT_MODEL_LOCAL_VIEWER, chance(50));
    glLightModeli(GL_LIGHT_MODEL_COLOR_CONTROL, chance(30) ? GL_SEPARATE_SPECULAR_COLOR : GL_SINGLE_COLOR);
    if (chance(40)) {
        /* Mesa 22.3 computes only red if one face alone has the color of vertices. */
        glColorMaterial(GL_FRONT_AND_BACK, PICK(materials));
        glEnable(GL_COLOR_MATERIAL);
    }
    glLightModeli(GL_LIGHT_MODEL_TWO_SIDE, uses(TWO_SIDED, 50));
}

static void set_fog(void) {
    static const GLenum modes[] = {GL_LINEAR, GL_EXP, GL_EXP2};
    if (uses(FOG, 25)) {
        float color[4];
        four(color, 0, 1);
        glEnable(GL_FOG);
        glFogfv(GL_FOG_COLOR, color);
        glFogi(GL_FOG_MODE, (GLint)PICK(modes));
        glFogf(GL_FOG_DENSITY, range(0.2f, 1));
        glFogf(GL_FOG_START, range(-1, 1.5f));
        glFogf(GL_FOG_END, range(2, 4));
        glFogi(GL_FOG_COORD_SRC, chance(30) ? GL_FOG_COORD : GL_FRAGMENT_DEPTH);
    }
    if (uses(COLOR_SUM, 15) && !glIsEnabled(GL_LIGHTING)) {
        glEnable(GL_COLOR_SUM);
    }
}

/* Operations on fragments. */

static const GLenum comparisons[] = {GL_NEVER,   GL_LESS,     GL_EQUAL,  GL_LEQUAL,
                                     GL_GREATER, GL_NOTEQUAL, GL_GEQUAL, GL_ALWAYS};

static void set_stencil(void) {
    static const GLenum operations[] = {GL_KEEP, GL_ZERO,   GL_REPLACE,   GL_INCR,
                                        GL_DECR, GL_INVERT, GL_INCR_WRAP, GL_DECR_WRAP};
    if (!uses(STENCIL, 30)) {
        return;
    }
    glEnable(GL_STENCIL_TEST);
    const int two = chance(50);
    for (int i = 0; i <= two; i++) {
        const GLenum face = !two ? GL_FRONT_AND_BACK : i ? GL_BACK : GL_FRONT;
        GLenum failing = PICK(operations), deep = PICK(operations), passing = PICK(operations);
        glStencilOpSeparate(face, failing, deep, passing);
        const GLenum function = chance(40) ? GL_ALWAYS : PICK(comparisons);
        const int reference = below(256);
        glStencilFuncSeparate(face, function, reference, (GLuint)below(256));
        glStencilMaskSeparate(face, chance(60) ? 255 : (GLuint)below(256));
    }
}

static void set_blend(void) {
    static const GLenum equations[] = {GL_FUNC_ADD, GL_FUNC_SUBTRACT, GL_FUNC_REVERSE_SUBTRACT, GL_MIN, GL_MAX},
                        factors[] = {GL_ZERO,
                                     GL_ONE,
                                     GL_SRC_COLOR,
                                     GL_ONE_MINUS_SRC_COLOR,
                                     GL_DST_COLOR,
                                     GL_ONE_MINUS_DST_COLOR,
                                     GL_SRC_ALPHA,
                                     GL_ONE_MINUS_SRC_ALPHA,
                                     GL_DST_ALPHA,
                                     GL_ONE_MINUS_DST_ALPHA,
                                     GL_CONSTANT_COLOR,
                                     GL_ONE_MINUS_CONSTANT_COLOR,
                                     GL_CONSTANT_ALPHA,
                                     GL_ONE_MINUS_CONSTANT_ALPHA,
                                     GL_SRC_ALPHA_SATURATE};
    if (!uses(BLEND, 35)) {
        return;
    }
    glEnable(GL_BLEND);
    glBlendColor(range(0, 1), range(0, 1), range(0, 1), range(0, 1));
    const GLenum rgb = PICK(equations), alpha = chance(50) ? rgb : PICK(equations);
    glBlendEquationSeparate(rgb, alpha);
    const GLenum source = PICK(factors), target = factors[below(14)];
    if (chance(50)) {
        glBlendFunc(source, target);
    } else {
        const GLenum source_alpha = PICK(factors);
        glBlendFuncSeparate(source, target, source_alpha, factors[below(14)]);
    }
}

static void set_fragments(int logic) {
    set_stencil();
    if (uses(DEPTH, 50)) {
        glEnable(GL_DEPTH_TEST);
        glDepthFunc(chance(50) ? GL_LESS : PICK(comparisons));
        glDepthMask(chance(80));
    }
    set_blend();
    if (logic) {
        start(LOGIC);
        (void)next();
        glDisable(GL_BLEND);
        glEnable(GL_COLOR_LOGIC_OP);
        glLogicOp(GL_CLEAR + (GLenum)below(16));
    }
    if (uses(ALPHA_TEST, 25)) {
        glEnable(GL_ALPHA_TEST);
        const GLenum function = PICK(comparisons);
        glAlphaFunc(function, range(0.1f, 0.9f));
    }
    if (uses(COLOR_MASK, 15)) {
        const int mask = below(16);
        glColorMask((mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, (mask & 8) != 0);
    }
    if (uses(SCISSOR, 25)) {
        glEnable(GL_SCISSOR_TEST);
        glScissor(below(40) - 8, below(30) - 8, below(70), below(60));
    }
}

static void set_polygons(void) {
    static const GLenum modes[] = {GL_POINT, GL_LINE, GL_FILL};
    if (uses(POLYGON_MODE, 20)) {
        const GLenum front = PICK(modes);
        glPolygonMode(GL_FRONT, front);
        glPolygonMode(GL_BACK, chance(50) ? front : PICK(modes));
    }
    if (uses(POLYGON_OFFSET, 20)) {
        set_enabled(GL_POLYGON_OFFSET_FILL, chance(80));
        set_enabled(GL_POLYGON_OFFSET_LINE, chance(50));
        set_enabled(GL_POLYGON_OFFSET_POINT, chance(50));
        const float factor = range(-2, 2);
        /* Crocus stores 16 bits of depth in 24, and counts in units of those. */
        glPolygonOffset(factor, has_depth16 ? 0 : range(-200, 200));
    }
    if (uses(POLYGON_STIPPLE, 15)) {
        GLubyte pattern[128];
        for (int i = 0; i < 128; i++) {
            pattern[i] = (GLubyte)next();
        }
        glEnable(GL_POLYGON_STIPPLE);
        glPolygonStipple(pattern);
    }
    if (uses(CULL, 20)) {
        static const GLenum faces[] = {GL_FRONT, GL_BACK, GL_BACK, GL_FRONT_AND_BACK};
        glEnable(GL_CULL_FACE);
        glCullFace(PICK(faces));
        glFrontFace(chance(50) ? GL_CW : GL_CCW);
    }
    if (uses(FLAT, 25)) {
        glShadeModel(GL_FLAT);
        glProvokingVertex(chance(50) ? GL_FIRST_VERTEX_CONVENTION : GL_LAST_VERTEX_CONVENTION);
    }
}

static void set_lines_and_points(void) {
    if (uses(LINE_WIDTH, 40)) {
        glLineWidth(chance(50) ? (float)(1 + below(7)) : range(0.5f, 7));
    }
    if (uses(LINE_STIPPLE, 25)) {
        glEnable(GL_LINE_STIPPLE);
        const int factor = 1 + below(5);
        glLineStipple(factor, (GLushort)next());
    }
    glPointSize(1);
    if (uses(POINT_SIZE, 70)) {
        glPointSize(chance(50) ? (float)(1 + below(20)) : range(1, 20));
        if (chance(30)) {
            const float attenuation[] = {range(0.2f, 1), range(0, 0.5f), range(0, 0.5f)};
            glPointParameterfv(GL_POINT_DISTANCE_ATTENUATION, attenuation);
            glPointParameterf(GL_POINT_SIZE_MIN, range(1, 4));
        }
    }
}

static void set_sprites(GLenum primitive) {
    if (primitive != GL_POINTS || !uses(SPRITES, 50)) {
        return;
    }
    glEnable(GL_POINT_SPRITE);
    for (GLenum unit = 0; unit < 2; unit++) {
        glActiveTexture(GL_TEXTURE0 + unit);
        glTexEnvi(GL_POINT_SPRITE, GL_COORD_REPLACE, chance(70));
    }
    glActiveTexture(GL_TEXTURE0);
    glPointParameteri(GL_POINT_SPRITE_COORD_ORIGIN, chance(50) ? GL_LOWER_LEFT : GL_UPPER_LEFT);
}

/* Vertices. */

struct vertex {
    float place[4], normal[3], color[4], secondary[3], texture[2][4], fog;
};

static void make_vertices(struct vertex *v, int count, int exact) {
    start(FEATURES);
    const int flat = exact || chance(20);
    float same[4];
    for (int i = 0; i < 4; i++) {
        same[i] = level();
    }
    for (int n = 0; n < count; n++, v++) {
        four(v->place, -1.3f, 1.3f);
        v->place[3] = 1;
        if (chance(10)) {
            const float w = range(0.5f, 2);
            for (int i = 0; i < 4; i++) {
                v->place[i] *= w;
            }
        }
        for (int i = 0; i < 3; i++) {
            v->normal[i] = range(-1, 1);
            v->secondary[i] = range(0, 1);
        }
        for (int i = 0; i < 4; i++) {
            v->color[i] = flat ? same[i] : level();
            v->texture[0][i] = range(-0.5f, 1.8f);
            v->texture[1][i] = range(-0.5f, 1.8f);
        }
        v->texture[0][3] = v->texture[1][3] = chance(15) ? range(0.6f, 1.6f) : 1;
        v->fog = range(0, 4);
    }
}

/* Makes each quad a parallelogram with attributes that are linear: how others are divided is left open by GL. */
static void make_parallelograms(struct vertex *v, int count, int strip) {
    enum {
        FLOATS = sizeof *v / sizeof(float)
    };
    float(*const values)[FLOATS] = (float(*)[FLOATS])(void *)v;
    for (int n = 0; n < count; n++) {
        v[n].place[3] = v[n].texture[0][3] = v[n].texture[1][3] = 1;
    }
    for (int n = strip ? 2 : 0; n + 3 < count + (strip ? 2 : 0); n += strip ? 2 : 4) {
        for (int i = 0; i < FLOATS; i++) {
            if (strip) {
                values[n + 1][i] = values[n][i] + values[n - 1][i] - values[n - 2][i];
            } else {
                values[n + 3][i] = values[n][i] + values[n + 2][i] - values[n + 1][i];
            }
        }
    }
}

static void emit(const struct vertex *v) {
    glNormal3fv(v->normal);
    glColor4fv(v->color);
    glSecondaryColor3fv(v->secondary);
    glFogCoordf(v->fog);
    glMultiTexCoord4fv(GL_TEXTURE0, v->texture[0]);
    glMultiTexCoord4fv(GL_TEXTURE1, v->texture[1]);
    glVertex4fv(v->place);
}

static void set_arrays(const struct vertex *v) {
    const GLsizei stride = sizeof *v;
    glVertexPointer(4, GL_FLOAT, stride, v->place);
    glNormalPointer(GL_FLOAT, stride, v->normal);
    glColorPointer(4, GL_FLOAT, stride, v->color);
    glSecondaryColorPointer(3, GL_FLOAT, stride, v->secondary);
    glFogCoordPointer(GL_FLOAT, stride, &v->fog);
    glEnableClientState(GL_VERTEX_ARRAY);
    glEnableClientState(GL_NORMAL_ARRAY);
    glEnableClientState(GL_COLOR_ARRAY);
    glEnableClientState(GL_SECONDARY_COLOR_ARRAY);
    glEnableClientState(GL_FOG_COORD_ARRAY);
    for (GLenum unit = 0; unit < 2; unit++) {
        glClientActiveTexture(GL_TEXTURE0 + unit);
        glTexCoordPointer(4, GL_FLOAT, stride, v->texture[unit]);
        glEnableClientState(GL_TEXTURE_COORD_ARRAY);
    }
}

static void draw_vertices(GLenum primitive, int exact) {
    struct vertex vertices[VERTICES];
    unsigned char bytes[VERTICES];
    GLushort shorts[VERTICES];
    const int quads = primitive == GL_QUADS || primitive == GL_QUAD_STRIP;
    make_vertices(vertices, VERTICES, exact);
    if (quads) {
        make_parallelograms(vertices, VERTICES, primitive == GL_QUAD_STRIP);
    }
    start(FEATURES + 1);
    const int count = primitive == GL_POLYGON ? 3 : 3 + below(VERTICES - 2);
    const int arrays = uses(ARRAYS, 60);
    if (!arrays) {
        glBegin(primitive);
        for (int i = 0; i < count; i++) {
            emit(&vertices[i]);
        }
        glEnd();
        return;
    }
    const int way = below(5);
    if (way == 0) {
        const GLuint list = glGenLists(1);
        glNewList(list, GL_COMPILE);
        glBegin(primitive);
        for (int i = 0; i < count; i++) {
            emit(&vertices[i]);
        }
        glEnd();
        glEndList();
        glCallList(list);
        glDeleteLists(list, 1);
        return;
    }
    const int cuts = way == 4 && primitive != GL_POLYGON && !quads;
    for (int i = 0; i < count; i++) {
        bytes[i] = (unsigned char)(quads ? i : below(VERTICES));
        shorts[i] = (GLushort)(quads ? i : below(VERTICES));
        if (cuts && chance(15)) {
            shorts[i] = 0xffff;
        }
    }
    set_arrays(vertices);
    if (way == 1) {
        glDrawArrays(primitive, 0, count);
    } else if (way == 2) {
        glDrawElements(primitive, count, GL_UNSIGNED_BYTE, bytes);
    } else if (!cuts) {
        glDrawElements(primitive, count, GL_UNSIGNED_SHORT, shorts);
    } else if (has_extension("GL_NV_primitive_restart")) {
        glEnableClientState(GL_PRIMITIVE_RESTART_NV);
        glPrimitiveRestartIndexNV(0xffff);
        glDrawElements(primitive, count, GL_UNSIGNED_SHORT, shorts);
        glDisableClientState(GL_PRIMITIVE_RESTART_NV);
    } else {
        for (int i = 0, begin = 0; i <= count; i++) {
            if (i == count || shorts[i] == 0xffff) {
                glDrawElements(primitive, i - begin, GL_UNSIGNED_SHORT, shorts + begin);
                begin = i + 1;
            }
        }
    }
}

/* Pixels and copies. */

/* Images and bitmaps are drawn without textures and fog: Mesa 22.3 dereferences a null pointer for bitmaps with
 * textures, with each driver, and its programs for images read inputs that none writes.
 */
static void disable_inputs(void) {
    static const GLenum targets[] = {GL_TEXTURE_1D, GL_TEXTURE_2D, GL_TEXTURE_3D, GL_TEXTURE_CUBE_MAP,
                                     GL_TEXTURE_RECTANGLE};
    for (GLenum unit = 0; unit < 2; unit++) {
        glActiveTexture(GL_TEXTURE0 + unit);
        for (int i = 0; i < 5; i++) {
            glDisable(targets[i]);
        }
    }
    glActiveTexture(GL_TEXTURE0);
    glDisable(GL_FOG);
    glDisable(GL_COLOR_SUM);
}

static void draw_pixels(void) {
    static const GLenum formats[] = {GL_RGBA, GL_RGB, GL_LUMINANCE, GL_ALPHA, GL_LUMINANCE_ALPHA, GL_BGRA, GL_RED};
    unsigned char data[24 * 20 * 4];
    const int width = 1 + below(24), height = 1 + below(20);
    texels(data, width, height, 1, below(5));
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glPixelZoom(chance(50) ? 1 : range(-2.5f, 2.5f), chance(50) ? 1 : range(-2.5f, 2.5f));
    if (chance(30)) {
        glPixelTransferf(GL_RED_SCALE, range(0.3f, 1.2f));
        glPixelTransferf(GL_GREEN_BIAS, range(-0.3f, 0.3f));
    }
    glWindowPos3f((float)below(WIDTH - 10) + 0.25f, (float)below(HEIGHT - 10) + 0.25f, range(0, 1));
    if (chance(15)) {
        float depths[64];
        for (int i = 0; i < 64; i++) {
            depths[i] = range(0, 1);
        }
        glDrawPixels(8, 8, GL_DEPTH_COMPONENT, GL_FLOAT, depths);
    } else {
        glDrawPixels(width, height, PICK(formats), GL_UNSIGNED_BYTE, data);
    }
    glPixelZoom(1, 1);
    glPixelTransferf(GL_RED_SCALE, 1);
    glPixelTransferf(GL_GREEN_BIAS, 0);
    check("draw_pixels");
}

static void copy_pixels(void) {
    glPixelZoom(chance(60) ? 1 : range(-2, 2), chance(60) ? 1 : range(-2, 2));
    glWindowPos2f((float)below(WIDTH - 20) + 0.25f, (float)below(HEIGHT - 20) + 0.25f);
    const int x = below(40), y = below(30), width = 1 + below(30), height = 1 + below(20);
    glCopyPixels(x, y, width, height, GL_COLOR);
    glPixelZoom(1, 1);
    check("copy_pixels");
}

static void draw_bitmap(void) {
    unsigned char bits[4 * 24];
    for (int i = 0; i < 4 * 24; i++) {
        bits[i] = (unsigned char)next();
    }
    glColor4f(level(), level(), level(), level());
    glWindowPos2f((float)below(WIDTH) + 0.25f, (float)below(HEIGHT) + 0.25f);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
    const int width = 1 + below(32), height = 1 + below(24);
    glBitmap(width, height, (float)below(10), (float)below(10), 5, 0, bits);
    check("draw_bitmap");
}

/* Copies a part of the picture into a texture and draws that. */
static void copy_texture(void) {
    static const GLenum formats[] = {GL_RGBA8, GL_RGB8, GL_LUMINANCE8, GL_RGB5, GL_INTENSITY8, GL_RGBA4};
    GLuint name;
    glGenTextures(1, &name);
    glBindTexture(GL_TEXTURE_2D, name);
    unsigned char data[32 * 32 * 4];
    texels(data, 32, 32, 1, 2);
    GLenum format = PICK(formats);
    glTexImage2D(GL_TEXTURE_2D, 0, (GLint)format, 32, 32, 0, GL_RGBA, GL_UNSIGNED_BYTE, data);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    const int to_x = below(16), to_y = below(16), x = below(50) - 5, y = below(40) - 5;
    glCopyTexSubImage2D(GL_TEXTURE_2D, 0, to_x, to_y, x, y, 16, 16);
    glEnable(GL_TEXTURE_2D);
    glTexEnvi(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, GL_REPLACE);
    glMatrixMode(GL_PROJECTION);
    glLoadIdentity();
    glOrtho(0, WIDTH, 0, HEIGHT, -1, 1);
    glMatrixMode(GL_MODELVIEW);
    glLoadIdentity();
    const float left = (float)below(WIDTH - 32), low = (float)below(HEIGHT - 32);
    glBegin(GL_QUADS);
    for (int i = 0; i < 4; i++) {
        const float u = i == 1 || i == 2 ? 1 : 0, v = i > 1 ? 1 : 0;
        glTexCoord2f(u, v);
        glVertex2f(left + 32 * u, low + 32 * v);
    }
    glEnd();
    check("copy_texture");
}

static void clear(void) {
    glClearColor(level(), level(), level(), level());
    glClearDepth(range(0, 1));
    glClearStencil(below(256));
    glClear((chance(50) ? GL_COLOR_BUFFER_BIT : 0U) | (chance(50) ? GL_DEPTH_BUFFER_BIT : 0U) |
            (chance(50) ? GL_STENCIL_BUFFER_BIT : 0U));
}

static void note(uint32_t value) {
    if (number_count < NUMBERS - 2) {
        numbers[number_count++] = value;
    }
}

/* Reads a part in another format; notes the sum of its bytes, which small errors change little. */
static void read_pixels(void) {
    static const GLenum formats[] = {GL_RGB, GL_BGRA, GL_RED, GL_ALPHA, GL_LUMINANCE, GL_RGBA};
    unsigned char data[20 * 20 * 4];
    uint32_t sum = 0;
    memset(data, 0, sizeof data);
    resolve();
    glPixelStorei(GL_PACK_ALIGNMENT, chance(50) ? 1 : 4);
    const int x = below(50), y = below(30), width = 1 + below(20), height = 1 + below(20);
    glReadPixels(x, y, width, height, PICK(formats), GL_UNSIGNED_BYTE, data);
    for (size_t i = 0; i < sizeof data; i++) {
        sum += data[i];
    }
    note(sum / 1600);
    check("read_pixels");
}

static void draw_step(void) {
    static const GLenum primitives[] = {GL_TRIANGLES,  GL_TRIANGLE_STRIP, GL_TRIANGLE_FAN, GL_QUADS,
                                        GL_QUAD_STRIP, GL_TRIANGLES,      GL_LINES,        GL_LINE_STRIP,
                                        GL_LINE_LOOP,  GL_POINTS,         GL_POLYGON};
    start(FEATURES + 2);
    const GLenum primitive = PICK(primitives);
    const int logic = whole_picture_uses(LOGIC, 12);
    GLuint query = 0;
    glPushAttrib(GL_ALL_ATTRIB_BITS);
    glPushClientAttrib(GL_CLIENT_ALL_ATTRIB_BITS);
    if (!logic) { /* logic operations need colors that are exact */
        set_textures();
        set_lighting();
        set_fog();
    }
    set_transformation(primitive == GL_POINTS || uses(POLYGON_MODE, 20));
    set_fragments(logic);
    set_polygons();
    set_lines_and_points();
    set_sprites(primitive);
    const int counted = uses(QUERY, 30);
    if (counted) {
        glGenQueries(1, &query);
        glBeginQuery(GL_SAMPLES_PASSED, query);
    }
    check("state");
    draw_vertices(primitive, logic);
    check("draw");
    if (counted) {
        GLuint passed = 0;
        glEndQuery(GL_SAMPLES_PASSED);
        glGetQueryObjectuiv(query, GL_QUERY_RESULT, &passed);
        note(passed);
    }
    glPopClientAttrib();
    disable_inputs();
    if (uses(BITMAP, 10)) {
        draw_bitmap();
    }
    if (!logic && uses(DRAW_PIXELS, 10)) {
        draw_pixels();
    }
    if (!logic && !samples && uses(COPY_PIXELS, 10)) {
        copy_pixels();
    }
    if (uses(CLEARS, 12)) {
        clear();
    }
    glPopAttrib();
    if (!logic && !samples && uses(COPY_TEXTURE, 10)) {
        glPushAttrib(GL_ALL_ATTRIB_BITS);
        copy_texture();
        glPopAttrib();
    }
    if (uses(READ_PIXELS, 15)) {
        read_pixels();
    }
}

static void picture(FILE *out) {
    static unsigned char color[WIDTH * HEIGHT * 4], stencil[WIDTH * HEIGHT];
    static float depth[WIDTH * HEIGHT];
    memset(stencil, 0, sizeof stencil);
    memset(depth, 0, sizeof depth);
    memset(numbers, 0, sizeof numbers);
    number_count = is_other = 0;
    step = STEPS;
    set_framebuffer();
    start(FEATURES + 3);
    const uint32_t steps = 1 + (uint32_t)below(STEPS);
    for (step = 0; step < steps; step++) {
        draw_step();
    }
    resolve();
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, color);
    if (!samples) {
        GLint bits = 0;
        glReadPixels(0, 0, WIDTH, HEIGHT, GL_DEPTH_COMPONENT, GL_FLOAT, depth);
        glGetFramebufferAttachmentParameteriv(GL_FRAMEBUFFER, GL_STENCIL_ATTACHMENT,
                                              GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, &bits);
        if (bits != GL_NONE) {
            glReadPixels(0, 0, WIDTH, HEIGHT, GL_STENCIL_INDEX, GL_UNSIGNED_BYTE, stencil);
        }
    }
    check("picture");
    numbers[NUMBERS - 2] = (uint32_t)color_step;
    numbers[NUMBERS - 1] = (uint32_t)is_other;
    if (fwrite(color, sizeof color, 1, out) != 1 || fwrite(stencil, sizeof stencil, 1, out) != 1 ||
        fwrite(depth, sizeof depth, 1, out) != 1 || fwrite(numbers, sizeof numbers, 1, out) != 1) {
        fail("the picture could not be written");
    }
}

static void in_new_context(EGLDisplay display, FILE *out) {
    EGLContext context = eglCreateContext(display, NULL, EGL_NO_CONTEXT, NULL);
    if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
        fail("no context");
    }
    picture(out);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(display, context);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "features")) {
        for (int i = 0; i < FEATURES; i++) {
            puts(names[i]);
        }
        return 0;
    }
    if (argc != 4 && argc != 5) {
        fail("usage: fixed FIRST COUNT OUTPUT [FEATURES]");
    }
    const uint32_t first = (uint32_t)strtoul(argv[1], NULL, 10), count = (uint32_t)strtoul(argv[2], NULL, 10);
    features = argc == 5 ? strtoull(argv[4], NULL, 16) : ~0ULL;
    FILE *const out = fopen(argv[3], "wb");
    if (!out) {
        fail("OUTPUT cannot be opened");
    }
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
    if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API)) {
        fail("no display");
    }
    if (!strcmp(argv[1], "-")) {
        char line[64], *end;
        while (fgets(line, sizeof line, stdin)) {
            seed = (uint32_t)strtoul(line, &end, 10);
            features = strtoull(end, NULL, 16);
            in_new_context(display, out);
            if (fflush(out)) {
                fail("the picture could not be written");
            }
        }
    } else {
        for (seed = first; seed - first < count; seed++) {
            in_new_context(display, out);
        }
    }
    if (fclose(out)) {
        fail("the pictures could not be written");
    }
    return 0;
}
