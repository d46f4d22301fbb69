/*
 * Draws into multisampled textures, reads each sample with texelFetch, and prints what is wrong:
 *     samples N
 * Each sample of N is in its place, has its number and its bit of the coverage; a triangle covers the samples that lie
 * inside; a mask from the shader leaves the other samples as they were cleared; depth is tested for each sample; and a
 * blit resolves.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SIZE = 24,
    MOST = 16,
    WIDTH = SIZE * MOST,
};

static const char *const vertex = "#version 430\n"
                                  "layout(location = 0) in vec4 place;\n"
                                  "void main() { gl_Position = place; }\n";
static const char *const each_sample = "#version 430\n"
                                       "out vec4 color;\n"
                                       "void main() {\n"
                                       "    color = vec4(gl_SampleID, gl_SampleMaskIn[0], gl_SamplePosition);\n"
                                       "}\n";
static const char *const each_pixel = "#version 430\n"
                                      "layout(location = 0) uniform int mask;\n"
                                      "out vec4 color;\n"
                                      "void main() {\n"
                                      "    color = vec4(7, gl_SampleMaskIn[0], 0, 0);\n"
                                      "    gl_SampleMask[0] = mask;\n"
                                      "}\n";
static const char *const fetch = "#version 430\n"
                                 "layout(binding = 0) uniform sampler2DMS source;\n"
                                 "layout(location = 0) uniform int samples;\n"
                                 "out vec4 color;\n"
                                 "void main() {\n"
                                 "    ivec2 at = ivec2(gl_FragCoord.xy);\n"
                                 "    color = texelFetch(source, ivec2(at.x / samples, at.y), at.x % samples);\n"
                                 "}\n";

static int samples;
static int wrong;
static GLuint fetching, read_framebuffer, framebuffer;
static float sample[SIZE][WIDTH][4];

static void attach(GLuint program, GLenum type, const char *source) {
    char log[1000];
    GLint good;
    const GLuint shader = glCreateShader(type);
    glShaderSource(shader, 1, &source, NULL);
    glCompileShader(shader);
    glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
    if (!good) {
        glGetShaderInfoLog(shader, sizeof log, NULL, log);
        printf("%s\n", log);
        exit(3);
    }
    glAttachShader(program, shader);
}

static GLuint program(const char *fragment) {
    const GLuint name = glCreateProgram();
    attach(name, GL_VERTEX_SHADER, vertex);
    attach(name, GL_FRAGMENT_SHADER, fragment);
    glLinkProgram(name);
    return name;
}

static GLuint texture(GLenum format, int count) {
    GLuint name;
    glGenTextures(1, &name);
    if (count) {
        glBindTexture(GL_TEXTURE_2D_MULTISAMPLE, name);
        glTexStorage2DMultisample(GL_TEXTURE_2D_MULTISAMPLE, count, format, SIZE, SIZE, GL_TRUE);
    } else {
        glBindTexture(GL_TEXTURE_2D, name);
        glTexStorage2D(GL_TEXTURE_2D, 1, format, WIDTH, SIZE);
    }
    return name;
}

static GLuint framebuffer_of(GLuint color, GLuint depth) {
    GLuint name;
    glGenFramebuffers(1, &name);
    glBindFramebuffer(GL_FRAMEBUFFER, name);
    glFramebufferTexture(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, color, 0);
    if (depth) {
        glFramebufferTexture(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, depth, 0);
    }
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
        printf("incomplete\n");
        exit(3);
    }
    return name;
}

static void draw(GLuint with, const float (*place)[4], int count) {
    glUseProgram(with);
    glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 0, place);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, count);
}

static const float everywhere[4][4] = {{-1, -1, 0, 1}, {1, -1, 0, 1}, {-1, 1, 0, 1}, {1, 1, 0, 1}};

/* Reads all samples, those of a pixel side by side. */
static void read_samples(void) {
    glBindFramebuffer(GL_FRAMEBUFFER, read_framebuffer);
    glDisable(GL_DEPTH_TEST);
    glViewport(0, 0, SIZE * samples, SIZE);
    glProgramUniform1i(fetching, 0, samples);
    draw(fetching, everywhere, 4);
    glReadPixels(0, 0, WIDTH, SIZE, GL_RGBA, GL_FLOAT, sample);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glViewport(0, 0, SIZE, SIZE);
}

static void expect(const char *what, int x, int y, int s, float found, float expected) {
    if (fabsf(found - expected) > 1e-6f && wrong++ < 10) {
        printf("%s of sample %d of (%d, %d): %g instead of %g\n", what, s, x, y, found, expected);
    }
}

#define EACH_SAMPLE(x, y, s) (int y = 0; y < SIZE; y++) for (int x = 0; x < SIZE; x++) for (int s = 0; s < samples; s++)

static void place_of(int s, float place[2]) {
    glGetMultisamplefv(GL_SAMPLE_POSITION, (GLuint)s, place);
}

static void test_samples(GLuint with) {
    draw(with, everywhere, 4);
    float place[MOST][2];
    for (int s = 0; s < samples; s++) {
        place_of(s, place[s]);
    }
    read_samples();
    for
        EACH_SAMPLE(x, y, s) {
            const float *const found = sample[y][x * samples + s];
            expect("number", x, y, s, found[0], (float)s);
            expect("coverage", x, y, s, found[1], (float)(1 << s));
            expect("x", x, y, s, found[2], place[s][0]);
            expect("y", x, y, s, found[3], place[s][1]);
        }
}

/* The lower left half of the target, up to a diagonal that no sample lies on. */
static void test_triangle(GLuint with) {
    static const float limit = SIZE + 0.03f;
    static const float far = 2 * limit / SIZE - 1;
    static const float half[3][4] = {{-1, -1, 0, 1}, {far, -1, 0, 1}, {-1, far, 0, 1}};
    float place[MOST][2];
    for (int s = 0; s < samples; s++) {
        place_of(s, place[s]);
    }
    glClearColor(1, 2, 3, 4);
    glClear(GL_COLOR_BUFFER_BIT);
    glProgramUniform1i(with, 0, -1);
    draw(with, half, 3);
    read_samples();
    for
        EACH_SAMPLE(x, y, s) {
            const float *const found = sample[y][x * samples + s];
            const float distance = (float)x + place[s][0] + (float)y + place[s][1] - limit;
            expect("triangle", x, y, s, found[0], distance < 0 ? 7 : 1);
            if (distance < 0) {
                expect("bit of the coverage", x, y, s, (float)((int)found[1] >> s & 1), 1);
            } else {
                expect("alpha of the clear color", x, y, s, found[3], 4);
            }
        }
}

static void test_mask(GLuint with) {
    static const int mask = 0xa5a6;
    glClearColor(0.25f, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glProgramUniform1i(with, 0, mask);
    draw(with, everywhere, 4);
    read_samples();
    for
        EACH_SAMPLE(x, y, s) {
            expect("masked", x, y, s, sample[y][x * samples + s][0], mask >> s & 1 ? 7.0f : 0.25f);
        }
}

/* Depth from 0.45 to 0.55 across each pixel of a column, which is nearer than 0.5 in some samples. */
static void test_depth(GLuint with) {
    const float step = 0.1f * SIZE;
    const float slope[4][4] = {{-1, -1, -step, 1}, {1, -1, step, 1}, {-1, 1, -step, 1}, {1, 1, step, 1}};
    float place[MOST][2];
    for (int s = 0; s < samples; s++) {
        place_of(s, place[s]);
    }
    glClearColor(0, 0, 0, 1);
    glClearDepth(0.5);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glEnable(GL_DEPTH_TEST);
    glEnable(GL_DEPTH_CLAMP);
    glProgramUniform1i(with, 0, -1);
    draw(with, slope, 4);
    glDisable(GL_DEPTH_CLAMP);
    read_samples();
    for
        EACH_SAMPLE(x, y, s) {
            const float distance = (float)x + place[s][0] - SIZE / 2.0f;
            if (fabsf(distance) > 0.01f) {
                expect("depth", x, y, s, sample[y][x * samples + s][0], distance < 0 ? 7 : 0);
            }
        }
}

static void test_resolve(GLuint with) {
    static const int mask = 0x0f17;
    float pixel[4];
    int set = 0;
    for (int s = 0; s < samples; s++) {
        set += mask >> s & 1;
    }
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glProgramUniform1i(with, 0, mask);
    draw(with, everywhere, 4);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, read_framebuffer);
    glBlitFramebuffer(0, 0, SIZE, SIZE, 0, 0, SIZE, SIZE, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glBindFramebuffer(GL_FRAMEBUFFER, read_framebuffer);
    glReadPixels(3, 5, 1, 1, GL_RGBA, GL_FLOAT, pixel);
    expect("resolved", 3, 5, 0, pixel[0], 7.0f * (float)set / (float)samples);
}

int main(int argc, char **argv) {
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);

    samples = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    if (samples < 2 || samples > MOST ||
        !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE,
                        eglCreateContext(display, NULL, EGL_NO_CONTEXT, NULL))) {
        return 2;
    }
    glEnableVertexAttribArray(0);
    const GLuint numbered = program(each_sample);
    const GLuint plain = program(each_pixel);
    fetching = program(fetch);
    read_framebuffer = framebuffer_of(texture(GL_RGBA32F, 0), 0);
    const GLuint color = texture(GL_RGBA32F, samples);
    framebuffer = framebuffer_of(color, texture(GL_DEPTH_COMPONENT24, samples));
    glBindTexture(GL_TEXTURE_2D_MULTISAMPLE, color);
    glViewport(0, 0, SIZE, SIZE);
    test_samples(numbered);
    test_triangle(plain);
    test_mask(plain);
    test_depth(plain);
    glDisable(GL_DEPTH_TEST);
    test_resolve(plain);
    return glGetError() != GL_NO_ERROR ? 4 : wrong ? 1 : 0;
}
