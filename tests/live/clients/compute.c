/*
 * Dispatches compute shaders, and draws with interpolateAt*; writes all results to standard output.  They are integers,
 * or rounded to integers, so that every correct implementation prints the same bytes.
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DWORDS = 16384,
    RESULTS = 8192, /* the first half of the buffer is random */
    SIZE = 64
};

#define HEAD                                                                                                           \
    "#version 420\n#extension GL_ARB_compute_shader : require\n"                                                       \
    "#extension GL_ARB_shader_storage_buffer_object : require\n"                                                       \
    "layout(std430, binding = 0) buffer B { uint x[]; };\nuniform uint k;\n"

struct dispatch {
    const char *source;
    GLuint groups[3];
};

static const struct dispatch dispatches[] = {
    /* numbers of groups and invocations */
    {HEAD "layout(local_size_x = 5, local_size_y = 3, local_size_z = 2) in;\n"
          "void main() {\n"
          "    uint g = gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y *"
          " gl_WorkGroupID.z);\n"
          "    uint i = 8192u + (g * 30u + gl_LocalInvocationIndex) * 4u;\n"
          "    x[i] = gl_GlobalInvocationID.x; x[i + 1u] = gl_GlobalInvocationID.y * k;\n"
          "    x[i + 2u] = gl_GlobalInvocationID.z; x[i + 3u] = gl_LocalInvocationID.x + 10u *"
          " gl_LocalInvocationID.y;\n"
          "}\n",
     {3, 4, 2}},
    /* sums through shared memory */
    {HEAD "layout(local_size_x = 256) in;\nshared uint s[256];\n"
          "void main() {\n"
          "    uint l = gl_LocalInvocationIndex; s[l] = x[gl_GlobalInvocationID.x] * k; barrier();\n"
          "    for (uint j = 128u; j > 0u; j >>= 1) { if (l < j) s[l] += s[l + j]; barrier(); }\n"
          "    if (l == 0u) x[8192u + gl_WorkGroupID.x] = s[0];\n"
          "}\n",
     {16, 1, 1}},
    /* a prefix sum over 512 invocations, then the other way round */
    {HEAD "layout(local_size_x = 512) in;\nshared uint s[512];\n"
          "void main() {\n"
          "    uint l = gl_LocalInvocationIndex; s[l] = x[gl_GlobalInvocationID.x] + k;\n"
          "    for (uint j = 1u; j < 512u; j <<= 1) { barrier(); uint t = l >= j ? s[l - j] : 0u; barrier();"
          " s[l] += t; }\n"
          "    barrier(); x[8192u + gl_GlobalInvocationID.x] = s[511u - l];\n"
          "}\n",
     {5, 1, 1}},
    /* atomics in shared and in global memory */
    {HEAD "layout(local_size_x = 64) in;\nshared uint a, m;\n"
          "void main() {\n"
          "    uint l = gl_LocalInvocationIndex; if (l == 0u) { a = 0u; m = 0u; } barrier();\n"
          "    atomicAdd(a, x[gl_GlobalInvocationID.x] & 255u); atomicMax(m, x[gl_GlobalInvocationID.x] & 1023u);\n"
          "    barrier();\n"
          "    if (l == 0u) { atomicAdd(x[16000], a); atomicMax(x[16001], m); atomicXor(x[16002], a);"
          " x[8192u + gl_WorkGroupID.x] = a ^ m; }\n"
          "}\n",
     {20, 1, 1}},
    /* loops whose channels end at different times, registers by index */
    {HEAD "layout(local_size_x = 33) in;\n"
          "void main() {\n"
          "    uint v = x[gl_GlobalInvocationID.x], n = 0u, t[20];\n"
          "    for (uint i = 0u; i < 20u; i++) t[i] = x[gl_GlobalInvocationID.x + i];\n"
          "    while (v != 1u && n < 200u) { v = (v & 1u) != 0u ? 3u * v + 1u : v >> 1; n++; }\n"
          "    x[8192u + gl_GlobalInvocationID.x] = n + t[n % 20u];\n"
          "}\n",
     {50, 1, 1}},
    /* more invocations than the threads of Bay Trail have with 16 channels: nested branches, memory, barriers */
    {HEAD "layout(local_size_x = 32, local_size_y = 32) in;\nshared uint s[1024];\n"
          "void main() {\n"
          "    uint l = gl_LocalInvocationIndex, v = x[gl_WorkGroupID.x * 1024u + l] * k, n = 0u;\n"
          "    s[l] = v; barrier();\n"
          "    for (uint i = 0u; i < (v & 31u); i++) {\n"
          "        if ((v >> i & 1u) != 0u) { if ((l & 3u) == 1u) continue; n += s[(l + i * 33u) & 1023u]; }\n"
          "        else if (i > 25u && (l & 16u) != 0u) break; else n ^= l << (i & 7u);\n"
          "        switch ((v >> i) & 3u) { case 0u: n += 5u; break; case 1u: n *= 3u; case 2u: n -= i; break;\n"
          "        default: n = n * 17u + 1u; }\n"
          "    }\n"
          "    barrier(); atomicAdd(s[(l * 7u) & 63u], n); barrier();\n"
          "    x[8192u + gl_WorkGroupID.x * 1024u + l] = n ^ s[1023u - l];\n"
          "}\n",
     {7, 1, 1}},
    /* groups that do not fill their last thread */
    {HEAD "layout(local_size_x = 777) in;\n"
          "void main() {\n"
          "    uint i = gl_GlobalInvocationID.x, v = x[i]; int f = int(v) - 70000;\n"
          "    float r = sqrt(float(v)); uint q = uint(f / 7) + v % 1001u + uint(r);\n"
          "    x[8192u + i] = atomicAdd(x[16000], 0u) + q + bitfieldExtract(v, 3, 9) * k;\n"
          "    atomicAdd(x[16001 + int(gl_WorkGroupID.x)], q);\n"
          "}\n",
     {9, 1, 1}},
};

/* 128 + the distance in 1/16 of a pixel from the center to the place that `at` is interpolated at. */
#define PLACE(place)                                                                                                   \
    "#version 400\nnoperspective in vec2 flat_at; in vec2 at; uniform int s; out vec4 color;\n"                        \
    "void main() {\n"                                                                                                  \
    "    vec2 o = vec2(ivec2(gl_FragCoord.xy) & 15) / 16.0 - 0.5;\n"                                                   \
    "    vec4 d = vec4(" place ") - gl_FragCoord.xyxy;\n"                                                              \
    "    color = (round(d * 16.0) + 128.0) / 255.0;\n"                                                                 \
    "}\n"

static const char *const places[] = {
    PLACE("interpolateAtOffset(at, vec2(0.1875, -0.3125)), interpolateAtOffset(flat_at, vec2(-0.5, 0.4375))"),
    PLACE("interpolateAtOffset(at, o), interpolateAtOffset(flat_at, o.yx)"),
    PLACE("interpolateAtSample(at, 1), interpolateAtSample(flat_at, 3)"),
    PLACE("interpolateAtSample(at, s), interpolateAtSample(flat_at, s)"),
    PLACE("interpolateAtSample(flat_at, int(gl_FragCoord.x) & 3), interpolateAtSample(at, int(gl_FragCoord.y) & 3)"),
};

static void fail(const char *what) {
    (void)fprintf(stderr, "%s\n", what);
    exit(1);
}

static GLuint link(const GLenum *kinds, const char *const *sources, int count) {
    const GLuint program = glCreateProgram();
    GLint linked;

    for (int i = 0; i < count; i++) {
        const GLuint shader = glCreateShader(kinds[i]);
        glShaderSource(shader, 1, &sources[i], NULL);
        glCompileShader(shader);
        glAttachShader(program, shader);
    }
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &linked);
    if (!linked) {
        fail("a shader does not link");
    }
    glUseProgram(program);
    return program;
}

static void fill(GLuint buffer) {
    static GLuint data[DWORDS];
    GLuint random = 12345;

    for (int i = 0; i < RESULTS; i++) {
        random = random * 1664525u + 1013904223u;
        data[i] = random >> 8;
    }
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, buffer);
    glBufferData(GL_SHADER_STORAGE_BUFFER, sizeof data, data, GL_DYNAMIC_COPY);
}

static void print_results(void) {
    static GLuint data[DWORDS];

    glMemoryBarrier(GL_ALL_BARRIER_BITS);
    glGetBufferSubData(GL_SHADER_STORAGE_BUFFER, 0, sizeof data, data);
    (void)fwrite(data, 1, sizeof data, stdout);
}

static void compute(void) {
    static const GLenum kind = GL_COMPUTE_SHADER;
    GLuint buffers[2];

    glGenBuffers(2, buffers);
    for (size_t i = 0; i < sizeof dispatches / sizeof dispatches[0]; i++) {
        const GLuint *const groups = dispatches[i].groups;
        const GLuint program = link(&kind, &dispatches[i].source, 1);
        glUniform1ui(glGetUniformLocation(program, "k"), 3);
        fill(buffers[0]);
        glDispatchCompute(groups[0], groups[1], groups[2]);
        print_results();
        glBindBuffer(GL_DISPATCH_INDIRECT_BUFFER, buffers[1]);
        glBufferData(GL_DISPATCH_INDIRECT_BUFFER, 3 * sizeof groups[0], groups, GL_STATIC_DRAW);
        fill(buffers[0]);
        glDispatchComputeIndirect(0);
        print_results();
    }
}

static GLuint framebuffer(GLsizei samples) {
    GLuint framebuffer, color;

    glGenRenderbuffers(1, &color);
    glBindRenderbuffer(GL_RENDERBUFFER, color);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, GL_RGBA8, SIZE, SIZE);
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, color);
    glClear(GL_COLOR_BUFFER_BIT);
    return framebuffer;
}

/* A triangle that covers everything: whole pixels have one color, which a resolve keeps. */
static void interpolate(void) {
    static const GLenum kinds[2] = {GL_VERTEX_SHADER, GL_FRAGMENT_SHADER};
    static GLubyte pixels[SIZE * SIZE * 4];
    GLuint array;

    glGenVertexArrays(1, &array);
    glBindVertexArray(array);
    glViewport(0, 0, SIZE, SIZE);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *const sources[2] = {
            "#version 400\nnoperspective out vec2 flat_at; out vec2 at;\n"
            "void main() {\n"
            "    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0;\n"
            "    gl_Position = vec4(corner, 0.0, 1.0);\n"
            "    at = flat_at = (corner * 0.5 + 0.5) * 64.0;\n"
            "}\n",
            places[i],
        };
        const GLuint program = link(kinds, sources, 2);
        const GLuint sampled = framebuffer(4);
        glUniform1i(glGetUniformLocation(program, "s"), 2);
        glDrawArrays(GL_TRIANGLES, 0, 3);
        (void)framebuffer(0);
        glBindFramebuffer(GL_READ_FRAMEBUFFER, sampled);
        glBlitFramebuffer(0, 0, SIZE, SIZE, 0, 0, SIZE, SIZE, GL_COLOR_BUFFER_BIT, GL_NEAREST);
        glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
        GLint drawn;
        glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &drawn);
        glBindFramebuffer(GL_READ_FRAMEBUFFER, (GLuint)drawn);
        glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
        (void)fwrite(pixels, 1, sizeof pixels, stdout);
    }
}

int main(void) {
    static const EGLint attributes[] = {
        EGL_CONTEXT_MAJOR_VERSION,           4,       EGL_CONTEXT_MINOR_VERSION, 0, EGL_CONTEXT_OPENGL_PROFILE_MASK,
        EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);

    if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API)) {
        fail("no EGL");
    }
    EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
    if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
        fail("no context");
    }
    compute();
    interpolate();
    return glGetError() == GL_NO_ERROR ? 0 : 2;
}
