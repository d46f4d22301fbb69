/*
 * Draws into depth buffers of each format and number of samples, and writes to standard output everything that depends
 * on them: colors, depths read back, depths sampled, and occlusion counts.  Arguments: numbers of samples; or "layers",
 * for the levels and layers of an array.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 77,
    HEIGHT = 50
};

static GLuint compile(const char *pixel) {
    const char *const sources[2] = {
        "#version 130\nin vec4 at; out vec4 color;\n"
        "void main() { gl_Position = at; color = vec4(at.xy * 0.5 + 0.5, at.z, 1.0); }\n",
        pixel,
    };
    const GLenum kinds[2] = {GL_VERTEX_SHADER, GL_FRAGMENT_SHADER};
    const GLuint program = glCreateProgram();
    GLint linked;

    for (int i = 0; i < 2; i++) {
        const GLuint shader = glCreateShader(kinds[i]);
        glShaderSource(shader, 1, &sources[i], NULL);
        glCompileShader(shader);
        glAttachShader(program, shader);
    }
    glBindAttribLocation(program, 0, "at");
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &linked);
    if (!linked) {
        (void)fputs("a shader does not link\n", stderr);
        exit(1);
    }
    return program;
}

static GLuint plain, discards, computes, samples_depth, samples_layer;

/* A triangle whose corners have depths a, b, c. */
static void triangle(float x, float y, float size, float a, float b, float c) {
    const float at[3][3] = {{x, y, a}, {x + size, y, b}, {x, y + size, c}};
    glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, 0, at);
    glDrawArrays(GL_TRIANGLES, 0, 3);
}

static void draw(void) {
    GLuint query, passed;

    glGenQueries(1, &query);
    glDisable(GL_SCISSOR_TEST);
    glEnable(GL_DEPTH_TEST);
    glDepthMask(GL_TRUE);
    glDepthFunc(GL_LESS);
    glClearDepth(0.75);
    glClearColor(0.1f, 0.2f, 0.3f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glUseProgram(plain);
    glBeginQuery(GL_SAMPLES_PASSED, query);
    triangle(-1, -1, 4, 0.25f, 0.25f, 0.25f);     /* everywhere, one depth */
    triangle(-1, -1, 4, 0.5f, 0.5f, 0.5f);        /* behind it */
    triangle(-0.5f, -0.5f, 1, -0.5f, 0.9f, 0.3f); /* through it */
    glUseProgram(discards);
    triangle(-0.9f, -0.9f, 2, -0.7f, 0.1f, 0.2f);
    glUseProgram(computes);
    triangle(0, -1, 2, 0, 0, 0);
    glEnable(GL_SCISSOR_TEST);
    glScissor(5, 3, 41, 21);
    glClear(GL_DEPTH_BUFFER_BIT); /* a part */
    glDisable(GL_SCISSOR_TEST);
    glUseProgram(plain);
    for (int i = 0; i < 8; i++) {
        glDepthFunc(GL_NEVER + (GLenum)i);
        glDepthMask(i % 3 != 2);
        triangle(-1 + 0.2f * (float)i, -0.8f, 0.7f, 0.1f * (float)i - 0.3f, 0.4f, 0.2f);
    }
    glEndQuery(GL_SAMPLES_PASSED);
    glGetQueryObjectuiv(query, GL_QUERY_RESULT, &passed);
    (void)fwrite(&passed, sizeof passed, 1, stdout);
    glDeleteQueries(1, &query);
}

static void read_back(void) {
    static unsigned char color[WIDTH * HEIGHT * 4];
    static float depth[WIDTH * HEIGHT];
    glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, color);
    glReadPixels(0, 0, WIDTH, HEIGHT, GL_DEPTH_COMPONENT, GL_FLOAT, depth);
    (void)fwrite(color, sizeof color, 1, stdout);
    (void)fwrite(depth, sizeof depth, 1, stdout);
}

static void framebuffer(GLuint textures[2], GLuint buffers[2], GLenum format, int samples) {
    GLuint frame;
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    if (samples) {
        glGenRenderbuffers(2, buffers);
        glBindRenderbuffer(GL_RENDERBUFFER, buffers[0]);
        glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, GL_RGBA8, WIDTH, HEIGHT);
        glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, buffers[0]);
        glBindRenderbuffer(GL_RENDERBUFFER, buffers[1]);
        glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, format, WIDTH, HEIGHT);
        glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, buffers[1]);
        return;
    }
    glGenTextures(2, textures);
    for (int i = 0; i < 2; i++) {
        glBindTexture(GL_TEXTURE_2D, textures[i]);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    }
    glTexImage2D(GL_TEXTURE_2D, 0, (GLint)format, WIDTH, HEIGHT, 0, GL_DEPTH_COMPONENT, GL_FLOAT, NULL);
    glBindTexture(GL_TEXTURE_2D, textures[0]);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, WIDTH, HEIGHT, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, textures[0], 0);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, textures[1], 0);
}

static void test(GLenum format, int samples) {
    GLuint textures[2], buffers[2], resolved[2], unused[2], frame;

    framebuffer(textures, buffers, format, samples);
    glViewport(0, 0, WIDTH, HEIGHT);
    draw();
    if (samples) {
        glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, (GLint *)&frame);
        framebuffer(resolved, unused, format, 0);
        glBindFramebuffer(GL_READ_FRAMEBUFFER, frame);
        glBlitFramebuffer(0, 0, WIDTH, HEIGHT, 0, 0, WIDTH, HEIGHT, GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT,
                          GL_NEAREST);
        glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, (GLint *)&frame);
        glBindFramebuffer(GL_READ_FRAMEBUFFER, frame);
        read_back();
        return;
    }
    /* Sample it, draw on, and read it. */
    GLuint other[2];
    framebuffer(other, unused, GL_DEPTH_COMPONENT24, 0);
    glDisable(GL_DEPTH_TEST);
    glBindTexture(GL_TEXTURE_2D, textures[1]);
    glUseProgram(samples_depth);
    triangle(-1, -1, 4, 0, 0, 0);
    read_back();
    glEnable(GL_DEPTH_TEST);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, textures[1], 0);
    glUseProgram(plain);
    glDepthFunc(GL_LEQUAL);
    triangle(-0.5f, -1, 2, -0.9f, 0.9f, 0.5f);
    read_back();
}

/* Each level of each layer is cleared to its own depth, and drawn to in part; then all are sampled. */
static void test_layers(GLenum format) {
    enum {
        SIDE = 64,
        LAYERS = 3,
        LEVELS = 2
    };
    GLuint frame, texture, textures[2], buffers[2];

    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D_ARRAY, texture);
    glTexParameteri(GL_TEXTURE_2D_ARRAY, GL_TEXTURE_MIN_FILTER, GL_NEAREST_MIPMAP_NEAREST);
    glTexParameteri(GL_TEXTURE_2D_ARRAY, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexStorage3D(GL_TEXTURE_2D_ARRAY, LEVELS, format, SIDE, SIDE, LAYERS);
    glDrawBuffer(GL_NONE);
    glUseProgram(plain);
    glEnable(GL_DEPTH_TEST);
    glDepthFunc(GL_LESS);
    for (int i = 0; i < LAYERS * LEVELS; i++) {
        glFramebufferTextureLayer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, texture, i / LAYERS, i % LAYERS);
        glViewport(0, 0, SIDE >> i / LAYERS, SIDE >> i / LAYERS);
        glClearDepth(0.9 - 0.1 * i);
        glClear(GL_DEPTH_BUFFER_BIT);
        triangle(-0.7f, -0.7f, 1.2f, 0.1f * (float)i - 0.8f, -0.3f, 0.1f);
    }
    framebuffer(textures, buffers, GL_DEPTH_COMPONENT24, 0);
    glViewport(0, 0, WIDTH, HEIGHT);
    glDisable(GL_DEPTH_TEST);
    glUseProgram(samples_layer);
    glBindTexture(GL_TEXTURE_2D_ARRAY, texture);
    for (int i = 0; i < LAYERS * LEVELS; i++) {
        const int layer = i % LAYERS;
        const int level = i / LAYERS;
        glUniform2f(glGetUniformLocation(samples_layer, "where"), (float)layer, (float)level);
        triangle(-1, -1, 4, 0, 0, 0);
        read_back();
    }
}

int main(int count, char **arguments) {
    static const GLenum formats[] = {GL_DEPTH_COMPONENT16, GL_DEPTH_COMPONENT24, GL_DEPTH_COMPONENT32F,
                                     GL_DEPTH24_STENCIL8};
    static const char *const usual[] = {"0", "4", "8"};
    const char *const *const samples = count > 1 ? (const char *const *)arguments + 1 : usual;
    const int kinds = count > 1 ? count - 1 : 3;
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    EGLContext context = eglCreateContext(display, NULL, EGL_NO_CONTEXT, NULL);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);

    plain = compile("#version 130\nin vec4 color; out vec4 to;\nvoid main() { to = color; }\n");
    discards = compile("#version 130\nin vec4 color; out vec4 to;\n"
                       "void main() { if (fract(gl_FragCoord.x * 0.3) < 0.5) discard; to = color.zxyw; }\n");
    computes = compile("#version 130\nin vec4 color; out vec4 to;\n"
                       "void main() { to = color.yzxw; gl_FragDepth = fract(gl_FragCoord.y * 0.07); }\n");
    samples_depth = compile("#version 130\nin vec4 color; out vec4 to; uniform sampler2D t;\n"
                            "void main() { to = fract(vec4(1, 16, 256, 0) * texture(t, color.xy).x); }\n");
    samples_layer = compile("#version 130\n#extension GL_EXT_texture_array : enable\n"
                            "in vec4 color; out vec4 to; uniform sampler2DArray t; uniform vec2 where;\n"
                            "void main() { float d = textureLod(t, vec3(color.xy, where.x), where.y).x;\n"
                            "to = fract(vec4(1, 16, 256, 0) * d); }\n");
    glEnableVertexAttribArray(0);
    for (unsigned f = 0; f < sizeof formats / sizeof *formats; f++) {
        for (int s = 0; s < kinds; s++) {
            if (strcmp(samples[s], "layers") == 0) {
                test_layers(formats[f]);
            } else {
                test(formats[f], (int)strtol(samples[s], NULL, 10));
            }
        }
    }
    return glGetError() != GL_NO_ERROR;
}
