/*
 * Draws overlapping triangles whose pixels take numbers from a counter, a buffer and images, and writes to standard
 * output the images and the colors, which say who came when.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SIDE = 160,
    CELLS = 8, /* a side of the images that are changed */
    TRIANGLES = 12
};

static const char vertex_text[] = "#version 420\nlayout(location = 0) in vec2 at; flat out uint triangle;\n"
                                  "void main() { gl_Position = vec4(at, 0, 1); triangle = uint(gl_VertexID / 3); }\n";
static const char pixel_text[] = "#version 420\n"
                                 "#extension GL_ARB_shader_storage_buffer_object : require\n"
                                 "layout(binding = 0) uniform atomic_uint counter;\n"
                                 "layout(std430, binding = 1) buffer B { uint sum; uint last; } buffers;\n"
                                 "layout(binding = 0, r32ui) uniform uimage2D sums;\n"
                                 "layout(binding = 1, r32i) uniform iimage2D extremes;\n"
                                 "layout(binding = 2, r32ui) uniform uimage2D order;\n"
                                 "flat in uint triangle;\n"
                                 "layout(location = 0) out uvec4 color;\n"
                                 "void main() {\n"
                                 "    ivec2 p = ivec2(gl_FragCoord.xy);\n"
                                 "    ivec2 cell = p % 8;\n"
                                 "    uint n = atomicCounterIncrement(counter);\n"
                                 "    uint before = atomicAdd(buffers.sum, triangle + 1u);\n"
                                 "    uint swapped = atomicExchange(buffers.last, uint(p.x + 160 * p.y));\n"
                                 "    uint found = imageAtomicAdd(sums, cell, uint(p.x));\n"
                                 "    int low = imageAtomicMin(extremes, cell, p.y - p.x);\n"
                                 "    uint same = imageAtomicCompSwap(order, p, triangle, n);\n"
                                 "    color = uvec4(n ^ before, swapped, found, uint(low) ^ same);\n"
                                 "}\n";

static GLuint link_program(void) {
    const char *const texts[2] = {vertex_text, pixel_text};
    const GLenum kinds[2] = {GL_VERTEX_SHADER, GL_FRAGMENT_SHADER};
    const GLuint program = glCreateProgram();
    GLint linked;

    for (int i = 0; i < 2; i++) {
        const GLuint shader = glCreateShader(kinds[i]);
        glShaderSource(shader, 1, &texts[i], NULL);
        glCompileShader(shader);
        glAttachShader(program, shader);
    }
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &linked);
    if (!linked) {
        (void)fputs("a shader does not link\n", stderr);
        exit(1);
    }
    return program;
}

static GLuint image(GLuint unit, GLenum format, GLsizei side, GLenum kind) {
    static const GLuint zeros[SIDE * SIDE];
    GLuint texture;
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexStorage2D(GL_TEXTURE_2D, 1, format, side, side);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, side, side, GL_RED_INTEGER, kind, zeros);
    glBindImageTexture(unit, texture, 0, GL_FALSE, 0, GL_READ_WRITE, format);
    return texture;
}

static void buffer(GLenum target, GLuint index) {
    static const GLuint zeros[2];
    GLuint name;
    glGenBuffers(1, &name);
    glBindBufferBase(target, index, name);
    glBufferData(target, sizeof zeros, zeros, GL_DYNAMIC_COPY);
}

static void print_image(GLuint texture, GLsizei side, GLenum format, GLenum kind, size_t bytes) {
    static unsigned char data[SIDE * SIDE * 16];
    glBindTexture(GL_TEXTURE_2D, texture);
    glGetTexImage(GL_TEXTURE_2D, 0, format, kind, data);
    (void)fwrite(data, bytes, (size_t)side * (size_t)side, stdout);
}

static void print_buffer(GLenum target, GLsizei bytes) {
    GLuint data[2];
    glGetBufferSubData(target, 0, bytes, data);
    (void)fwrite(data, (size_t)bytes, 1, stdout);
}

int main(void) {
    static const EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION,
                                        4,
                                        EGL_CONTEXT_MINOR_VERSION,
                                        2,
                                        EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                        EGL_CONTEXT_OPENGL_COMPATIBILITY_PROFILE_BIT,
                                        EGL_NONE};
    float at[TRIANGLES][3][2];
    GLuint colors, frame;
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    EGLContext context = eglCreateContext(display, NULL, EGL_NO_CONTEXT, attributes);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);

    glUseProgram(link_program());
    buffer(GL_ATOMIC_COUNTER_BUFFER, 0);
    buffer(GL_SHADER_STORAGE_BUFFER, 1);
    const GLuint sums = image(0, GL_R32UI, CELLS, GL_UNSIGNED_INT);
    const GLuint extremes = image(1, GL_R32I, CELLS, GL_INT);
    const GLuint order = image(2, GL_R32UI, SIDE, GL_UNSIGNED_INT);
    glGenTextures(1, &colors);
    glBindTexture(GL_TEXTURE_2D, colors);
    glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA32UI, SIDE, SIDE);
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, colors, 0);
    glViewport(0, 0, SIDE, SIDE);
    glClearBufferuiv(GL_COLOR, 0, (const GLuint[4]){0, 0, 0, 0});
    for (int i = 0; i < TRIANGLES; i++) {
        const float x = -1.0f + 0.11f * (float)i;
        const float corners[3][2] = {{x, -0.9f}, {x + 0.9f, -0.7f + 0.1f * (float)i}, {0.3f - x, 0.95f}};
        for (int c = 0; c < 3; c++) {
            at[i][c][0] = corners[c][0];
            at[i][c][1] = corners[c][1];
        }
    }
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, at);
    glEnableVertexAttribArray(0);
    glDrawArrays(GL_TRIANGLES, 0, 3 * TRIANGLES);
    glMemoryBarrier(GL_ALL_BARRIER_BITS);
    print_buffer(GL_ATOMIC_COUNTER_BUFFER, 4);
    print_buffer(GL_SHADER_STORAGE_BUFFER, 8);
    print_image(sums, CELLS, GL_RED_INTEGER, GL_UNSIGNED_INT, 4);
    print_image(extremes, CELLS, GL_RED_INTEGER, GL_INT, 4);
    print_image(order, SIDE, GL_RED_INTEGER, GL_UNSIGNED_INT, 4);
    print_image(colors, SIDE, GL_RGBA_INTEGER, GL_UNSIGNED_INT, 16);
    return glGetError() != GL_NO_ERROR;
}
