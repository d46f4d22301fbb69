/*
 * Draws overlapping triangles twice, blended by the fixed function and by a shader that reads what is in the
 * framebuffer, and writes both to standard output, sample by sample.  Argument: the number of samples.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SIDE = 96,
    LAYERS = 2, /* color attachments */
    TRIANGLES = 14
};

static GLuint link_program(const char *pixel) {
    const char *const texts[2] = {
        "#version 420\nlayout(location = 0) in vec2 at; flat out float number; noperspective out vec2 place;\n"
        "void main() { gl_Position = vec4(at, 0, 1); number = float(gl_VertexID / 3); place = at; }\n",
        pixel,
    };
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
        char log[2000];
        glGetProgramInfoLog(program, sizeof log, NULL, log);
        (void)fprintf(stderr, "a shader does not link: %s\n", log);
        exit(1);
    }
    return program;
}

static void framebuffer(GLenum target, int samples, GLuint textures[LAYERS]) {
    static const GLenum attachments[LAYERS] = {GL_COLOR_ATTACHMENT0, GL_COLOR_ATTACHMENT1};
    static const GLenum formats[LAYERS] = {GL_RGBA32F, GL_RG16F};
    GLuint frame;

    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glGenTextures(LAYERS, textures);
    for (int i = 0; i < LAYERS; i++) {
        glBindTexture(target, textures[i]);
        if (samples > 1) {
            glTexStorage2DMultisample(target, samples, formats[i], SIDE, SIDE, GL_TRUE);
        } else {
            glTexStorage2D(target, 1, formats[i], SIDE, SIDE);
            glTexParameteri(target, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
        }
        glFramebufferTexture2D(GL_FRAMEBUFFER, attachments[i], target, textures[i], 0);
    }
    glDrawBuffers(LAYERS, attachments);
    glClearBufferfv(GL_COLOR, 0, (const GLfloat[4]){0.5f, 0.25f, 1, 2});
    glClearBufferfv(GL_COLOR, 1, (const GLfloat[4]){3, 1, 0, 0});
}

static void draw(void) {
    float at[TRIANGLES][3][2];
    for (int i = 0; i < TRIANGLES; i++) {
        const float x = -1.0f + 0.1f * (float)i;
        const float corners[3][2] = {{x, -0.93f}, {x + 0.8f, -0.71f + 0.1f * (float)i}, {0.33f - x, 0.97f}};
        for (int c = 0; c < 3; c++) {
            at[i][c][0] = corners[c][0];
            at[i][c][1] = corners[c][1];
        }
    }
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, at);
    glEnableVertexAttribArray(0);
    glDrawArrays(GL_TRIANGLES, 0, 3 * TRIANGLES);
}

/* Each sample of each attachment, through a framebuffer with one. */
static void print(GLenum target, int samples, const GLuint textures[LAYERS]) {
    static float pixels[SIDE * SIDE * 4];
    const GLuint program =
        link_program(samples > 1 ? "#version 420\nuniform sampler2DMS t; uniform int s; out vec4 to;\n"
                                   "void main() { to = texelFetch(t, ivec2(gl_FragCoord.xy), s); }\n"
                                 : "#version 420\nuniform sampler2D t; uniform int s; out vec4 to;\n"
                                   "void main() { to = texelFetch(t, ivec2(gl_FragCoord.xy), s); }\n");
    GLuint copy, frame;

    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glGenTextures(1, &copy);
    glBindTexture(GL_TEXTURE_2D, copy);
    glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA32F, SIDE, SIDE);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, copy, 0);
    glUseProgram(program);
    glDisable(GL_BLEND);
    for (int i = 0; i < LAYERS; i++) {
        glBindTexture(target, textures[i]);
        for (int s = 0; s < samples; s++) {
            glUniform1i(glGetUniformLocation(program, "s"), samples > 1 ? s : 0);
            const float all[3][2] = {{-1, -1}, {3, -1}, {-1, 3}};
            glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, all);
            glDrawArrays(GL_TRIANGLES, 0, 3);
            glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_FLOAT, pixels);
            (void)fwrite(pixels, sizeof pixels, 1, stdout);
        }
    }
}

int main(int count, char **arguments) {
    static const EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION,
                                        4,
                                        EGL_CONTEXT_MINOR_VERSION,
                                        2,
                                        EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                        EGL_CONTEXT_OPENGL_COMPATIBILITY_PROFILE_BIT,
                                        EGL_NONE};
    const int samples = count > 1 ? (int)strtol(arguments[1], NULL, 10) : 1;
    const GLenum target = samples > 1 ? GL_TEXTURE_2D_MULTISAMPLE : GL_TEXTURE_2D;
    GLuint textures[LAYERS];
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    EGLContext context = eglCreateContext(display, NULL, EGL_NO_CONTEXT, attributes);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);

    glViewport(0, 0, SIDE, SIDE);
    framebuffer(target, samples, textures);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE);
    glUseProgram(link_program("#version 420\nflat in float number; layout(location = 0) out vec4 a;\n"
                              "layout(location = 1) out vec2 b;\n"
                              "void main() { a = vec4(number, 1, gl_FragCoord.x, 8); b = vec2(1, 2); }\n"));
    draw();
    print(target, samples, textures);
    framebuffer(target, samples, textures);
    glUseProgram(link_program("#version 420\n#extension GL_EXT_shader_framebuffer_fetch : require\n"
                              "flat in float number; layout(location = 0) inout vec4 a;\n"
                              "layout(location = 1) inout vec2 b;\n"
                              "void main() { a += vec4(number, 1, gl_FragCoord.x, 8); b += vec2(1, 2); }\n"));
    glDisable(GL_BLEND);
    draw();
    print(target, samples, textures);
    return glGetError() != GL_NO_ERROR;
}
