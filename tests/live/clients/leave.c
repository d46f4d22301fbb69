/*
 * Submits draws that take seconds, closes the device without a wait for them, and ends.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stddef.h>

enum {
    SIZE = 512,
    DRAWS = 60,
};

static const char *const fragment = "#version 120\n"
                                    "uniform int count;\n"
                                    "void main() {\n"
                                    "    float x = gl_FragCoord.x;\n"
                                    "    for (int i = 0; i < count; i++) {\n"
                                    "        x = fract(sin(x) * 43758.5);\n"
                                    "    }\n"
                                    "    gl_FragColor = vec4(x);\n"
                                    "}\n";

int main(void) {
    GLuint buffer, name;
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);

    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    EGLContext context = eglCreateContext(display, NULL, EGL_NO_CONTEXT, NULL);
    if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
        return 2;
    }
    glGenFramebuffers(1, &name);
    glBindFramebuffer(GL_FRAMEBUFFER, name);
    glGenRenderbuffers(1, &buffer);
    glBindRenderbuffer(GL_RENDERBUFFER, buffer);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, SIZE, SIZE);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, buffer);
    glViewport(0, 0, SIZE, SIZE);

    const GLuint program = glCreateProgram();
    const GLuint shader = glCreateShader(GL_FRAGMENT_SHADER);
    glShaderSource(shader, 1, &fragment, NULL);
    glCompileShader(shader);
    glAttachShader(program, shader);
    glLinkProgram(program);
    glUseProgram(program);
    glUniform1i(glGetUniformLocation(program, "count"), 100);
    for (int i = 0; i < DRAWS; i++) {
        glBegin(GL_TRIANGLES);
        glVertex2f(-1, -1);
        glVertex2f(3, -1);
        glVertex2f(-1, 3);
        glEnd();
        glUniform1i(glGetUniformLocation(program, "count"), 100 + i % 2);
    }
    glFlush();
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(display, context);
    eglTerminate(display);
    return 0;
}
