/* Draws with two programs in debug groups, with labels.  GL functions come from linking, and with an argument
 * "egl", "dlsym" or "dlopen" the noted ones from eglGetProcAddress(), dlsym() or a library of the program's own. */
#define GL_GLEXT_PROTOTYPES
#define _GNU_SOURCE
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE = 64
};

static const char *const vertex_text = "#version 120\n"
                                       "attribute vec2 position;\n"
                                       "void main() { gl_Position = vec4(position, 0.0, 1.0); }\n";
static const char *const red_text[] = {"#version 120\n", "// red \x1b[31m caf\xc3\xa9\n",
                                       "void main() { gl_FragColor = vec4(1.0, 0.0, 0.0, 1.0); }\n junk"};
static const char *const green_text = "#version 120\n"
                                      "uniform float level;\n"
                                      "void main() { gl_FragColor = vec4(0.0, sqrt(level), 0.25, 1.0); }\n";

static struct {
    PFNGLSHADERSOURCEPROC source;
    PFNGLCOMPILESHADERPROC compile;
    PFNGLATTACHSHADERPROC attach;
    PFNGLLINKPROGRAMPROC link;
    PFNGLUSEPROGRAMPROC use;
    PFNGLPUSHDEBUGGROUPPROC push;
    PFNGLPOPDEBUGGROUPPROC pop;
    PFNGLOBJECTLABELPROC label;
    PFNGLDRAWARRAYSEXTPROC draw;
} gl;

static void *library;

static void *by_egl(const char *name) {
    return (void *)eglGetProcAddress(name);
}

static void *by_dlsym(const char *name) {
    return dlsym(library, name);
}

static void load(const char *way) {
    void *(*find)(const char *) = strcmp(way, "egl") == 0 ? by_egl : by_dlsym;
    gl.source = glShaderSource;
    gl.compile = glCompileShader;
    gl.attach = glAttachShader;
    gl.link = glLinkProgram;
    gl.use = glUseProgram;
    gl.push = glPushDebugGroup;
    gl.pop = glPopDebugGroup;
    gl.label = glObjectLabel;
    gl.draw = glDrawArrays;
    if (strcmp(way, "linked") == 0) {
        return;
    }
    library = strcmp(way, "dlopen") == 0 ? dlopen("libGLESv2.so.2", RTLD_NOW | RTLD_LOCAL) : RTLD_DEFAULT;
    gl.source = (PFNGLSHADERSOURCEPROC)find("glShaderSource");
    gl.compile = (PFNGLCOMPILESHADERPROC)find("glCompileShader");
    gl.attach = (PFNGLATTACHSHADERPROC)find("glAttachShader");
    gl.link = (PFNGLLINKPROGRAMPROC)find("glLinkProgram");
    gl.use = (PFNGLUSEPROGRAMPROC)find("glUseProgram");
    gl.draw = (PFNGLDRAWARRAYSEXTPROC)find("glDrawArrays");
    if (strcmp(way, "egl") == 0) {
        gl.push = (PFNGLPUSHDEBUGGROUPPROC)find("glPushDebugGroup");
        gl.pop = (PFNGLPOPDEBUGGROUPPROC)find("glPopDebugGroup");
        gl.label = (PFNGLOBJECTLABELPROC)find("glObjectLabel");
    }
}

static GLuint shader(GLenum type, int count, const char *const *texts, const int *lengths) {
    const GLuint s = glCreateShader(type);
    GLint ok;
    gl.source(s, count, texts, lengths);
    gl.compile(s);
    glGetShaderiv(s, GL_COMPILE_STATUS, &ok);
    if (!ok) {
        exit(3);
    }
    return s;
}

static GLuint program(GLuint vertex, GLuint fragment, const char *name) {
    const GLuint p = glCreateProgram();
    GLint ok;
    gl.attach(p, vertex);
    gl.attach(p, fragment);
    glBindAttribLocation(p, 0, "position");
    gl.link(p);
    glGetProgramiv(p, GL_LINK_STATUS, &ok);
    if (!ok) {
        exit(4);
    }
    gl.label(GL_PROGRAM, p, -1, name);
    return p;
}

int main(int argc, char **argv) {
    static const GLfloat corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
    const int lengths[] = {-1, -1, (int)strlen(red_text[2]) - 5};
    load(argc > 1 ? argv[1] : "linked");

    EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API)) {
        return 1;
    }
    EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, NULL);
    if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
        return 2;
    }
    GLuint texture;
    GLuint framebuffer;
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, SIZE, SIZE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    gl.label(GL_TEXTURE, texture, 6, "colour buffer");
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
    glViewport(0, 0, SIZE, SIZE);

    const GLuint vertex = shader(GL_VERTEX_SHADER, 1, &vertex_text, NULL);
    const GLuint red = program(vertex, shader(GL_FRAGMENT_SHADER, 3, red_text, lengths), "red \x1b[1m");
    const GLuint green = program(vertex, shader(GL_FRAGMENT_SHADER, 1, &green_text, NULL), "green");
    glEnableVertexAttribArray(0);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);

    gl.push(GL_DEBUG_SOURCE_APPLICATION, 1, -1, "scene");
    glClearColor(0, 0, 1, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    gl.push(GL_DEBUG_SOURCE_APPLICATION, 2, 11, "shadow pass and more");
    gl.use(red);
    gl.draw(GL_TRIANGLES, 0, 3);
    gl.draw(GL_TRIANGLES, 0, 0); /* draws nothing */
    gl.draw(GL_TRIANGLES, 1, 3);
    gl.pop();
    gl.push(GL_DEBUG_SOURCE_APPLICATION, 3, -1, "light");
    gl.use(green);
    glUniform1f(glGetUniformLocation(green, "level"), 0.25f);
    gl.draw(GL_TRIANGLE_STRIP, 0, 4);
    gl.pop();
    gl.pop();
    gl.draw(GL_TRIANGLES, 0, 3);

    unsigned char pixel[4];
    glReadPixels(SIZE / 2, SIZE / 2, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
    (void)fputs("groups: NIR (not the driver's)\nNIR ", stderr);
    printf("%d %d %d %d error %x\n", pixel[0], pixel[1], pixel[2], pixel[3], glGetError());
    return 0;
}
