/* scenes SCENE OUTPUT SIZE FRAMES: draws with EGL, without a window, into a framebuffer object.
 *
 * Writes the pixels of every frame to OUTPUT, RGBA, bottom row first; with "-", prints the time of the first frame and
 * the mean of the others instead, and the processor time of both in this process, which is the driver's.  Prints the
 * renderer's name to standard output.
 */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scenes.h"

static void fail(const char *what) {
    (void)fprintf(stderr, "scenes: %s\n", what);
    exit(1);
}

static void make_context(void) {
    PFNEGLGETPLATFORMDISPLAYEXTPROC get_display =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    EGLDisplay display = get_display ? get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL) : NULL;
    if (!display || !eglInitialize(display, NULL, NULL)) {
        fail("no display");
    }
#ifdef ES2
    const EGLint kind = EGL_OPENGL_ES2_BIT, version[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
    eglBindAPI(EGL_OPENGL_ES_API);
#else
    const EGLint kind = EGL_OPENGL_BIT, version[] = {EGL_NONE};
    eglBindAPI(EGL_OPENGL_API);
#endif
    const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, kind, EGL_NONE};
    EGLConfig config = NULL;
    EGLint count = 0;
    if (!eglChooseConfig(display, wanted, &config, 1, &count) || count < 1) {
        fail("no config");
    }
    EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
        fail("no context");
    }
}

static void make_framebuffer(struct canvas *canvas) {
    GLuint color = 0, depth = 0;
    glGenTextures(1, &color);
    glBindTexture(GL_TEXTURE_2D, color);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, canvas->width, canvas->height, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glGenRenderbuffers(1, &depth);
    glBindRenderbuffer(GL_RENDERBUFFER, depth);
    glRenderbufferStorage(GL_RENDERBUFFER, 0x88F0 /* depth 24, stencil 8 */, canvas->width, canvas->height);
    glGenFramebuffers(1, &canvas->framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, canvas->framebuffer);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, color, 0);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, depth);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_STENCIL_ATTACHMENT, GL_RENDERBUFFER, depth);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
        fail("the framebuffer is not complete");
    }
    glBindTexture(GL_TEXTURE_2D, 0);
    glViewport(0, 0, canvas->width, canvas->height);
}

static const struct scene *find(const struct scene *scene, const char *name) {
    for (; scene->name; scene++) {
        if (!strcmp(scene->name, name)) {
            return scene;
        }
    }
    return NULL;
}

static int number(const char *text) {
    char *end = NULL;
    const long value = strtol(text, &end, 10);
    if (*end || value < 1 || value > 1000000) {
        fail("SIZE and FRAMES are numbers");
    }
    return (int)value;
}

static double milliseconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now(void) {
    return milliseconds(CLOCK_MONOTONIC);
}

static double own(void) {
    return milliseconds(CLOCK_PROCESS_CPUTIME_ID);
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fail("usage: scenes SCENE OUTPUT SIZE FRAMES");
    }
    const struct scene *const lists[] = {simple_scenes, solid_scenes, heavy_scenes, volume_scenes};
    const struct scene *scene = NULL;
    for (int i = 0; i < 4 && !scene; i++) {
        scene = find(lists[i], argv[1]);
    }
    if (!scene) {
        fail("no such scene");
    }
    const int side = number(argv[3]), frames = number(argv[4]);
    struct canvas canvas = {side, side, 0};
    make_context();
    printf("%s\n", (const char *)glGetString(GL_RENDERER));
    make_framebuffer(&canvas);
    scene->setup(&canvas);

    const size_t size = (size_t)canvas.width * (size_t)canvas.height * 4;
    unsigned char *const pixels = calloc(1, size);
    FILE *const out = strcmp(argv[2], "-") ? fopen(argv[2], "wb") : NULL;
    const double begin = now(), own_begin = own();
    double start = begin, own_start = own_begin;
    for (int frame = 0; frame < frames; frame++) {
        scene->draw(&canvas, frame);
        glFinish();
        if (out) {
            glReadPixels(0, 0, canvas.width, canvas.height, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
            if (fwrite(pixels, 1, size, out) != size) {
                fail("the pixels could not be written");
            }
        }
        if (frame == 0) {
            start = now();
            own_start = own();
        }
    }
    if (!out && frames > 1) {
        printf("first %.3f ms, others %.3f ms, processor %.3f ms, %.3f ms\n", start - begin,
               (now() - start) / (frames - 1), own_start - own_begin, (own() - own_start) / (frames - 1));
    }
    if (out && fclose(out)) {
        fail("the pixels could not be written");
    }
    const GLenum error = glGetError();
    if (error) {
        (void)fprintf(stderr, "scenes: GL error 0x%04x\n", error);
        return 1;
    }
    free(pixels);
    return 0;
}
