/*
 * Draws over two multisampled targets with alpha to coverage and a shader that writes a sample mask, and prints the red
 * of a pixel of each: alpha is 1 in the first target and 0 in the second.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SIZE = 16,
    SAMPLES = 4,
    TARGETS = 2,
};

static const char *const vertex = "#version 130\n"
                                  "void main() { gl_Position = gl_Vertex; }\n";
static const char *const fragment = "#version 130\n"
                                    "#extension GL_ARB_sample_shading : require\n"
                                    "out vec4 color[2];\n"
                                    "void main() {\n"
                                    "    color[0] = vec4(1.0, 0.0, 0.0, 1.0);\n"
                                    "    color[1] = vec4(1.0, 0.0, 0.0, 0.0);\n"
                                    "    gl_SampleMask[0] = 7;\n"
                                    "}\n";

static void attach(GLuint program, GLenum type, const char *source) {
    const GLuint shader = glCreateShader(type);
    glShaderSource(shader, 1, &source, NULL);
    glCompileShader(shader);
    glAttachShader(program, shader);
}

static GLuint framebuffer(GLsizei samples) {
    static const GLenum buffers[TARGETS] = {GL_COLOR_ATTACHMENT0, GL_COLOR_ATTACHMENT1};
    GLuint name, storage[TARGETS];
    glGenFramebuffers(1, &name);
    glBindFramebuffer(GL_FRAMEBUFFER, name);
    glGenRenderbuffers(TARGETS, storage);
    for (int i = 0; i < TARGETS; i++) {
        glBindRenderbuffer(GL_RENDERBUFFER, storage[i]);
        glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, GL_RGBA8, SIZE, SIZE);
        glFramebufferRenderbuffer(GL_FRAMEBUFFER, buffers[i], GL_RENDERBUFFER, storage[i]);
    }
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
        exit(3);
    }
    glDrawBuffers(TARGETS, buffers);
    glViewport(0, 0, SIZE, SIZE);
    glClear(GL_COLOR_BUFFER_BIT);
    return name;
}

int main(void) {
    unsigned char pixel[4];
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);

    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE,
                        eglCreateContext(display, NULL, EGL_NO_CONTEXT, NULL))) {
        return 2;
    }
    const GLuint program = glCreateProgram();
    attach(program, GL_VERTEX_SHADER, vertex);
    attach(program, GL_FRAGMENT_SHADER, fragment);
    glLinkProgram(program);
    glUseProgram(program);
    const GLuint drawn = framebuffer(SAMPLES);
    glEnable(GL_SAMPLE_ALPHA_TO_COVERAGE);
    glRectf(-1, -1, 1, 1);
    glDisable(GL_SAMPLE_ALPHA_TO_COVERAGE);

    const GLuint resolved = framebuffer(0);
    for (int i = 0; i < TARGETS; i++) {
        glBindFramebuffer(GL_READ_FRAMEBUFFER, drawn);
        glReadBuffer(GL_COLOR_ATTACHMENT0 + i);
        glBindFramebuffer(GL_DRAW_FRAMEBUFFER, resolved);
        glDrawBuffer(GL_COLOR_ATTACHMENT0 + i);
        glBlitFramebuffer(0, 0, SIZE, SIZE, 0, 0, SIZE, SIZE, GL_COLOR_BUFFER_BIT, GL_NEAREST);
        glBindFramebuffer(GL_READ_FRAMEBUFFER, resolved);
        glReadBuffer(GL_COLOR_ATTACHMENT0 + i);
        glReadPixels(SIZE / 2, SIZE / 2, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
        printf("%d\n", pixel[0]);
    }
    return glGetError() == GL_NO_ERROR ? 0 : 4;
}
