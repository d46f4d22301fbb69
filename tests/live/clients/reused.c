/*
 * Prints the alpha values of a multisampled triangle, and how many pixels have each.  With the argument "samples" the
 * pixel shader runs for each sample; a second one is their number, else 4.  The buffer of the triangle lies where an
 * opaque one was before, and drivers mark new buffers as clear without a draw, so samples that the triangle leaves out
 * must not keep the old alpha.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE = 256,
};

static GLuint framebuffer(GLenum format, GLsizei samples, GLuint *buffer) {
    GLuint name;
    glGenFramebuffers(1, &name);
    glBindFramebuffer(GL_FRAMEBUFFER, name);
    glGenRenderbuffers(1, buffer);
    glBindRenderbuffer(GL_RENDERBUFFER, *buffer);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, format, SIZE, SIZE);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, *buffer);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
        exit(3);
    }
    glViewport(0, 0, SIZE, SIZE);
    return name;
}

static void draw(float alpha) {
    glClear(GL_COLOR_BUFFER_BIT);
    glColor4f(1, 1, 1, alpha);
    glBegin(GL_TRIANGLES);
    glVertex2f(-0.9f, -0.9f);
    glVertex2f(0.9f, -0.7f);
    glVertex2f(-0.1f, 0.9f);
    glEnd();
}

int main(int argc, char **argv) {
    static unsigned char pixels[SIZE][SIZE][4];
    const GLsizei samples = argc > 2 ? (GLsizei)strtol(argv[2], NULL, 10) : 4;
    int count[256] = {0};
    GLuint buffer, resolved;
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);

    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE,
                        eglCreateContext(display, NULL, EGL_NO_CONTEXT, NULL))) {
        return 2;
    }
    glClearColor(0, 0, 0, 0);
    for (int i = 0; i < 4; i++) {
        const GLuint opaque = framebuffer(GL_RGB8, samples, &buffer);
        draw(1);
        glFinish();
        glDeleteFramebuffers(1, &opaque);
        glDeleteRenderbuffers(1, &buffer);
        glFinish();
    }

    const GLuint drawn = framebuffer(GL_RGBA8, samples, &buffer);
    if (argc > 1 && strcmp(argv[1], "samples") == 0) {
        glEnable(GL_SAMPLE_SHADING);
        glMinSampleShading(1);
    }
    draw(0.25f);
    const GLuint target = framebuffer(GL_RGBA8, 0, &resolved);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, drawn);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, target);
    glBlitFramebuffer(0, 0, SIZE, SIZE, 0, 0, SIZE, SIZE, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glBindFramebuffer(GL_READ_FRAMEBUFFER, target);
    glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    for (int i = 0; i < SIZE * SIZE; i++) {
        count[pixels[i / SIZE][i % SIZE][3]]++;
    }
    for (int alpha = 0; alpha < 256; alpha++) {
        if (count[alpha]) {
            printf("%d %d\n", alpha, count[alpha]);
        }
    }
    return 0;
}
