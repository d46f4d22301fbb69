/*
 * Prints which of two pixels a draw counts and gives its depth: the left one is discarded by the shader, and a second
 * draw lies behind the first.  One line for each kind of shader.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>

static GLuint shader(GLenum kind, const char *header, const char *text) {
    const char *const sources[2] = {header, text};
    const GLuint s = glCreateShader(kind);
    GLint good;
    glShaderSource(s, 2, sources, NULL);
    glCompileShader(s);
    glGetShaderiv(s, GL_COMPILE_STATUS, &good);
    if (!good) {
        exit(3);
    }
    return s;
}

static unsigned draw(float z) {
    GLuint query, passed;
    glGenQueries(1, &query);
    glUniform1f(0, z);
    glBeginQuery(GL_SAMPLES_PASSED, query);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glEndQuery(GL_SAMPLES_PASSED);
    glGetQueryObjectuiv(query, GL_QUERY_RESULT, &passed);
    glDeleteQueries(1, &query);
    return passed;
}

static void test(const char *name, const char *header, const char *text) {
    const GLuint program = glCreateProgram();
    unsigned char color[8];
    float depth[2];

    glAttachShader(program, shader(GL_VERTEX_SHADER,
                                   "#version 330\n#extension GL_ARB_shader_image_load_store : enable\n#extension "
                                   "GL_ARB_explicit_uniform_location : enable\n",
                                   "layout(location = 0) uniform float z;\n"
                                   "void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1,\n"
                                   "gl_VertexID == 2 ? 3 : -1, z, 1); }\n"));
    glAttachShader(program, shader(GL_FRAGMENT_SHADER, header, text));
    glLinkProgram(program);
    glUseProgram(program);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    const unsigned front = draw(-0.5f);
    const unsigned after = draw(0.5f);
    glReadPixels(0, 0, 2, 1, GL_RGBA, GL_UNSIGNED_BYTE, color);
    glReadPixels(0, 0, 2, 1, GL_DEPTH_COMPONENT, GL_FLOAT, depth);
    printf("%s: %u %u samples, colors %u %u, depths %.2f %.2f\n", name, front, after, color[0], color[4], depth[0],
           depth[1]);
}

int main(void) {
    static const char late[] = "#version 330\n#extension GL_ARB_shader_image_load_store : enable\n#extension "
                               "GL_ARB_explicit_uniform_location : enable\nout vec4 to;\n";
    static const char early[] =
        "#version 330\n#extension GL_ARB_shader_image_load_store : enable\n#extension GL_ARB_explicit_uniform_location "
        ": enable\nlayout(early_fragment_tests) in;\nout vec4 to;\n";
    static const char plain[] = "void main() { to = vec4(1); }\n";
    static const char kills[] = "void main() { if (gl_FragCoord.x < 1.0) discard; to = vec4(1); }\n";
    static const char computes[] = "void main() { to = vec4(1); gl_FragDepth = gl_FragCoord.x < 1.0 ? 0.9 : 0.1; }\n";
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
    EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 3, EGL_NONE};
    GLuint frame, buffers[2], array;

    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    EGLContext context = eglCreateContext(display, NULL, EGL_NO_CONTEXT, attributes);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);
    glGenVertexArrays(1, &array);
    glBindVertexArray(array);
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glGenRenderbuffers(2, buffers);
    for (int i = 0; i < 2; i++) {
        glBindRenderbuffer(GL_RENDERBUFFER, buffers[i]);
        glRenderbufferStorage(GL_RENDERBUFFER, i ? GL_DEPTH_COMPONENT24 : GL_RGBA8, 2, 1);
        glFramebufferRenderbuffer(GL_FRAMEBUFFER, i ? GL_DEPTH_ATTACHMENT : GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER,
                                  buffers[i]);
    }
    glViewport(0, 0, 2, 1);
    glEnable(GL_DEPTH_TEST);
    test("plain", late, plain);
    test("kills", late, kills);
    test("kills, early tests", early, kills);
    test("computes depth", late, computes);
    test("computes depth, early tests", early, computes);
    return glGetError() != GL_NO_ERROR;
}
