/*
 * Writes a picture to stdout whose pixels have the time at which they were shaded.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SIZE = 256
};

static void attach(GLuint program, GLenum kind, const char *text) {
    const GLuint shader = glCreateShader(kind);
    glShaderSource(shader, 1, &text, NULL);
    glCompileShader(shader);
    glAttachShader(program, shader);
}

int main(void) {
    static unsigned char picture[SIZE * SIZE * 4];
    static const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 3, EGL_NONE};
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
    GLuint frame, target, array;
    GLint linked;

    if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API)) {
        return 2;
    }
    EGLContext context = eglCreateContext(display, NULL, EGL_NO_CONTEXT, version);
    if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
        return 2;
    }
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glGenTextures(1, &target);
    glBindTexture(GL_TEXTURE_2D, target);
    glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, SIZE, SIZE);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target, 0);
    glViewport(0, 0, SIZE, SIZE);
    glGenVertexArrays(1, &array);
    glBindVertexArray(array);

    const GLuint program = glCreateProgram();
    attach(program, GL_VERTEX_SHADER,
           "#version 330\n"
           "void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }\n");
    attach(program, GL_FRAGMENT_SHADER,
           "#version 330\n"
           "#extension GL_ARB_shader_clock : require\n"
           "out vec4 color;\n"
           "void main() {\n"
           "    uvec2 time = clock2x32ARB();\n"
           "    color = vec4(time.x & 255u, time.x >> 8 & 255u, time.x >> 16 & 255u, 255u) / 255.0;\n"
           "}\n");
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &linked);
    if (!linked) {
        return 3;
    }
    glUseProgram(program);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, picture);
    return fwrite(picture, sizeof picture, 1, stdout) == 1 && glGetError() == GL_NO_ERROR ? 0 : 4;
}
