/* Draws of many kinds with counts and pictures as text: instances, base vertices, cuts, indirect and conditional draws,
 * queries, transform feedback.  Every renderer must print the same. */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SIZE = 32
};

static const char *const vertex_text =
    "#version 330\n"
    "layout(location = 0) in vec2 position; layout(location = 1) in vec2 offset;\n"
    "flat out vec4 color; uniform float scale;\n"
    "void main() { color = vec4(gl_InstanceID + 1, gl_VertexID + 1, 8, 255) / 255.0;\n"
    "gl_Position = vec4(position * scale + offset, 0, 1); }\n";
static const char *const fragment_text = "#version 330\nflat in vec4 color; out vec4 o;\n"
                                         "void main() { o = color; }\n";

static GLuint shader(GLenum type, const char *text) {
    const GLuint s = glCreateShader(type);
    GLint ok;
    glShaderSource(s, 1, &text, NULL);
    glCompileShader(s);
    glGetShaderiv(s, GL_COMPILE_STATUS, &ok);
    if (!ok) {
        exit(3);
    }
    return s;
}

static void use_program(const char *const *varyings, int count) {
    const GLuint p = glCreateProgram();
    GLint ok;
    glAttachShader(p, shader(GL_VERTEX_SHADER, vertex_text));
    glAttachShader(p, shader(GL_FRAGMENT_SHADER, fragment_text));
    if (count) {
        glTransformFeedbackVaryings(p, count, varyings, GL_INTERLEAVED_ATTRIBS);
    }
    glLinkProgram(p);
    glGetProgramiv(p, GL_LINK_STATUS, &ok);
    if (!ok) {
        exit(4);
    }
    glUseProgram(p);
    glUniform1f(glGetUniformLocation(p, "scale"), 0.25f);
}

/* The colors in the middles of 8 x 8 tiles, and how many pixels are not black. */
static void show(const char *what) {
    static unsigned char pixels[SIZE][SIZE][4];
    unsigned lit = 0;
    glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    for (int y = 0; y < SIZE; y++) {
        for (int x = 0; x < SIZE; x++) {
            lit += pixels[y][x][2] != 0;
        }
    }
    printf("%s: %u lit:", what, lit);
    for (int y = 3; y < SIZE; y += 8) {
        for (int x = 3; x < SIZE; x += 8) {
            printf(" %u.%u", pixels[y][x][0], pixels[y][x][1]);
        }
    }
    printf("\n");
    glClear(GL_COLOR_BUFFER_BIT);
}

static GLuint query_result(GLuint query) {
    GLuint result = 0;
    glGetQueryObjectuiv(query, GL_QUERY_RESULT, &result);
    return result;
}

static void feedback(GLenum mode, GLenum primitive, int vertices, int bytes) {
    GLuint buffer, queries[2];
    glGenQueries(2, queries);
    glGenBuffers(1, &buffer);
    glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, buffer);
    glBufferData(GL_TRANSFORM_FEEDBACK_BUFFER, bytes, NULL, GL_DYNAMIC_COPY);
    glBeginQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN, queries[0]);
    glBeginQuery(GL_PRIMITIVES_GENERATED, queries[1]);
    glBeginTransformFeedback(mode);
    glDrawArrays(primitive, 0, vertices);
    glDrawArrays(primitive, 0, vertices);
    glEndTransformFeedback();
    glEndQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN);
    glEndQuery(GL_PRIMITIVES_GENERATED);
    const GLuint written = query_result(queries[0]), generated = query_result(queries[1]);
    printf("feedback 0x%x in %d bytes: %u of %u written:", primitive, bytes, written, generated);
    const int floats = 8 * (int)written * (mode == GL_TRIANGLES ? 3 : mode == GL_LINES ? 2 : 1);
    const float *const data = glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, bytes, GL_MAP_READ_BIT);
    for (int i = 0; i < floats; i += 8) {
        printf(" (%g %g %g)", (double)data[i], (double)data[i + 1], (double)(data[i + 5] * 255.0f));
    }
    printf("\n");
    glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
}

int main(void) {
    const PFNEGLGETPLATFORMDISPLAYEXTPROC display_of = (void *)eglGetProcAddress("eglGetPlatformDisplayEXT");
    EGLDisplay display = display_of(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
    const EGLint attributes[] = {
        EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 3, EGL_CONTEXT_OPENGL_PROFILE_MASK, 1, EGL_NONE};
    static const float corners[] = {-1, -1, 1, -1, -1, 1, 1, 1, -1, -1, 1, -1, -1, 1, 1, 1};
    static const float offsets[] = {-0.75f, -0.75f, -0.25f, -0.25f, 0.25f, 0.25f, 0.75f, 0.75f};
    static const unsigned short indices[] = {0, 1, 2, 3, 0xffff, 4, 5, 6, 0xffff, 1, 2, 3};
    GLuint arrays, buffers[4], queries[3], framebuffer, texture;

    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
    if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
        return 1;
    }
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, SIZE, SIZE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
    glViewport(0, 0, SIZE, SIZE);
    glClear(GL_COLOR_BUFFER_BIT);

    glGenVertexArrays(1, &arrays);
    glBindVertexArray(arrays);
    glGenBuffers(4, buffers);
    glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
    glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
    glBindBuffer(GL_ARRAY_BUFFER, buffers[1]);
    glBufferData(GL_ARRAY_BUFFER, sizeof offsets, offsets, GL_STATIC_DRAW);
    glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, 0, NULL);
    glVertexAttribDivisor(1, 1);
    glEnableVertexAttribArray(0);
    glEnableVertexAttribArray(1);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffers[2]);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof indices, indices, GL_STATIC_DRAW);

    use_program(NULL, 0);
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, 4);
    show("instances");
    glVertexAttribDivisor(1, 2);
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 2, 4, 4);
    show("divisor 2");
    glVertexAttribDivisor(1, 1);
    glDrawElementsBaseVertex(GL_TRIANGLE_STRIP, 4, GL_UNSIGNED_SHORT, NULL, 4);
    show("base vertex");
    glEnable(GL_PRIMITIVE_RESTART);
    glPrimitiveRestartIndex(0xffff);
    glDrawElementsInstanced(GL_TRIANGLE_STRIP, 12, GL_UNSIGNED_SHORT, NULL, 2);
    show("cut index");
    glPrimitiveRestartIndex(3);
    glDrawElements(GL_TRIANGLE_STRIP, 4, GL_UNSIGNED_SHORT, NULL);
    show("other cut index");
    glDisable(GL_PRIMITIVE_RESTART);

    const unsigned arrays_command[4] = {4, 2, 0, 0}, elements_command[5] = {4, 1, 0, 4, 0};
    glBindBuffer(GL_DRAW_INDIRECT_BUFFER, buffers[3]);
    glBufferData(GL_DRAW_INDIRECT_BUFFER, sizeof arrays_command, arrays_command, GL_STATIC_DRAW);
    glDrawArraysIndirect(GL_TRIANGLE_STRIP, NULL);
    show("indirect");
    glBufferData(GL_DRAW_INDIRECT_BUFFER, sizeof elements_command, elements_command, GL_STATIC_DRAW);
    glDrawElementsIndirect(GL_TRIANGLE_STRIP, GL_UNSIGNED_SHORT, NULL);
    show("indirect elements");

    glGenQueries(3, queries);
    for (int empty = 0; empty < 2; empty++) {
        glBeginQuery(GL_SAMPLES_PASSED, queries[empty]);
        if (!empty) {
            glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
        }
        glEndQuery(GL_SAMPLES_PASSED);
    }
    show("queried");
    for (int empty = 0; empty < 2; empty++) {
        glBeginConditionalRender(queries[empty], GL_QUERY_WAIT);
        glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, 2);
        glEndConditionalRender();
        show(empty ? "on nothing" : "on samples");
    }
    printf("samples: %u, %u\n", query_result(queries[0]), query_result(queries[1]));

    static const char *const varyings[] = {"gl_Position", "color"};
    use_program(varyings, 2);
    glVertexAttribDivisor(1, 0);
    glDisableVertexAttribArray(1);
    feedback(GL_TRIANGLES, GL_TRIANGLES, 6, 4096);
    feedback(GL_TRIANGLES, GL_TRIANGLE_STRIP, 5, 4096);
    feedback(GL_TRIANGLES, GL_TRIANGLE_STRIP, 5, 4 * 96 + 8);
    feedback(GL_LINES, GL_LINE_STRIP, 3, 4096);
    feedback(GL_POINTS, GL_POINTS, 3, 4096);
    return glGetError() ? 2 : 0;
}
