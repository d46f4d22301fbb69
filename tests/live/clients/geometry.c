/* Geometry and tessellation shaders with their output as text: what transform feedback records, queries, and the colors
 * of layers and viewports.  Every renderer must print the same. */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SIZE = 32,
    LAYERS = 4,
    CAPACITY = 1 << 16, /* bytes for each stream */
    STREAMS = 4,
};

/* Vertex i is at (i, 1, 0, 1). */
static const char *const vertex_text =
    "#version 400\nout float number;\n"
    "void main() { number = gl_VertexID; gl_Position = vec4(gl_VertexID, 1, 0, 1); }\n";

static GLuint attach(GLuint program, GLenum type, const char *text) {
    const GLuint s = glCreateShader(type);
    GLint ok;
    char log[1000];
    glShaderSource(s, 1, &text, NULL);
    glCompileShader(s);
    glGetShaderiv(s, GL_COMPILE_STATUS, &ok);
    if (!ok) {
        glGetShaderInfoLog(s, sizeof log, NULL, log);
        (void)fprintf(stderr, "%s\n%s\n", text, log);
        exit(3);
    }
    glAttachShader(program, s);
    return program;
}

static void use(GLuint program) {
    GLint ok;
    char log[1000];
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &ok);
    if (!ok) {
        glGetProgramInfoLog(program, sizeof log, NULL, log);
        (void)fprintf(stderr, "%s\n", log);
        exit(4);
    }
    glUseProgram(program);
}

/* The result of a query of each stream. */
static void count(const char *what, const GLuint queries[STREAMS]) {
    printf(", %s", what);
    for (int s = 0; s < STREAMS; s++) {
        GLuint result = 0;
        glGetQueryObjectuiv(queries[s], GL_QUERY_RESULT, &result);
        printf(" %u", result);
    }
}

/* Draw, and print the floats that each stream has recorded. */
static void record(const char *what, GLenum mode, GLenum primitive, int vertices, int bytes) {
    static float unwritten[CAPACITY / sizeof(float)];
    GLuint buffers[STREAMS], written[STREAMS], generated[STREAMS];
    for (int i = 0; i < bytes / 4; i++) {
        unwritten[i] = -1;
    }
    glGenBuffers(STREAMS, buffers);
    glGenQueries(STREAMS, written);
    glGenQueries(STREAMS, generated);
    for (unsigned s = 0; s < STREAMS; s++) {
        glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, s, buffers[s]);
        glBufferData(GL_TRANSFORM_FEEDBACK_BUFFER, bytes, unwritten, GL_DYNAMIC_COPY);
        glBeginQueryIndexed(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN, s, written[s]);
        glBeginQueryIndexed(GL_PRIMITIVES_GENERATED, s, generated[s]);
    }
    glEnable(GL_RASTERIZER_DISCARD);
    glBeginTransformFeedback(mode);
    glDrawArrays(primitive, 0, vertices);
    glEndTransformFeedback();
    glDisable(GL_RASTERIZER_DISCARD);
    for (unsigned s = 0; s < STREAMS; s++) {
        glEndQueryIndexed(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN, s);
        glEndQueryIndexed(GL_PRIMITIVES_GENERATED, s);
    }
    printf("%s", what);
    count("written", written);
    count("of", generated);
    for (unsigned s = 0; s < STREAMS; s++) {
        glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, buffers[s]);
        const float *const data = glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, bytes, GL_MAP_READ_BIT);
        printf(";");
        for (int i = 0; i < bytes / 4 && data[i] != -1; i++) {
            printf(" %g", (double)data[i]);
        }
        glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
    }
    printf("\n");
}

/* ---- geometry shaders ---- */

static void geometry(const char *what, const char *text, GLenum mode, GLenum primitive, int vertices, int bytes) {
    static const char *const one[] = {"o"};
    const GLuint program = attach(glCreateProgram(), GL_VERTEX_SHADER, vertex_text);
    attach(program, GL_GEOMETRY_SHADER, text);
    glTransformFeedbackVaryings(program, 1, one, GL_INTERLEAVED_ATTRIBS);
    use(program);
    record(what, mode, primitive, vertices, bytes);
}

#define LIST_INPUT                                                                                                     \
    "out vec2 o; in float number[]; void main() {\n"                                                                   \
    "for (int i = 0; i < number.length(); i++) { o = vec2(number[i], gl_PrimitiveIDIn); EmitVertex(); } }\n"

static void geometry_input(void) {
    static const struct {
        const char *name, *text;
        GLenum primitive;
        int vertices;
    } inputs[] = {
        {"points", "#version 400\nlayout(points) in; layout(points, max_vertices = 6) out;\n" LIST_INPUT, GL_POINTS, 3},
        {"lines", "#version 400\nlayout(lines) in; layout(points, max_vertices = 6) out;\n" LIST_INPUT, GL_LINE_STRIP,
         4},
        {"loop", "#version 400\nlayout(lines) in; layout(points, max_vertices = 6) out;\n" LIST_INPUT, GL_LINE_LOOP, 4},
        {"triangles", "#version 400\nlayout(triangles) in; layout(points, max_vertices = 6) out;\n" LIST_INPUT,
         GL_TRIANGLES, 9},
        {"strip", "#version 400\nlayout(triangles) in; layout(points, max_vertices = 6) out;\n" LIST_INPUT,
         GL_TRIANGLE_STRIP, 6},
        {"fan", "#version 400\nlayout(triangles) in; layout(points, max_vertices = 6) out;\n" LIST_INPUT,
         GL_TRIANGLE_FAN, 6},
        {"adjacent lines",
         "#version 400\nlayout(lines_adjacency) in; layout(points, max_vertices = 6) out;\n" LIST_INPUT,
         GL_LINES_ADJACENCY, 8},
        {"adjacent line strip",
         "#version 400\nlayout(lines_adjacency) in; layout(points, max_vertices = 6) out;\n" LIST_INPUT,
         GL_LINE_STRIP_ADJACENCY, 6},
        {"adjacent triangles",
         "#version 400\nlayout(triangles_adjacency) in; layout(points, max_vertices = 6) out;\n" LIST_INPUT,
         GL_TRIANGLES_ADJACENCY, 12},
        {"adjacent triangle strip",
         "#version 400\nlayout(triangles_adjacency) in; layout(points, max_vertices = 6) out;\n" LIST_INPUT,
         GL_TRIANGLE_STRIP_ADJACENCY, 12},
    };
    for (unsigned i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        geometry(inputs[i].name, inputs[i].text, GL_POINTS, inputs[i].primitive, inputs[i].vertices, CAPACITY);
    }
}

static void geometry_output(void) {
    geometry("strips",
             "#version 400\nlayout(points) in; layout(triangle_strip, max_vertices = 40) out; out float o;\n"
             "in float number[]; void main() { for (int i = 0; i < 40; i++) { o = number[0] * 100 + i; EmitVertex();\n"
             "if (i % 7 == 6 || i == 1) EndPrimitive(); } }\n",
             GL_TRIANGLES, GL_POINTS, 3, CAPACITY);
    geometry("line strips",
             "#version 400\nlayout(points) in; layout(line_strip, max_vertices = 5) out; out float o;\n"
             "in float number[]; void main() { for (int i = 0; i < 5; i++) { o = number[0] * 100 + i; EmitVertex();\n"
             "if (i == 1) EndPrimitive(); } }\n",
             GL_LINES, GL_POINTS, 4, CAPACITY);
    geometry(
        "overflow",
        "#version 400\nlayout(points) in; layout(triangle_strip, max_vertices = 4) out; out float o;\n"
        "in float number[]; void main() { for (int i = 0; i < 4; i++) { o = number[0] * 100 + i; EmitVertex(); } }\n",
        GL_TRIANGLES, GL_POINTS, 4, 5 * 3 * 4 + 8);
    geometry("instances",
             "#version 400\nlayout(points, invocations = 5) in; layout(points, max_vertices = 2) out; out vec2 o;\n"
             "in float number[]; void main() { for (int i = 0; i < 2; i++) { o = vec2(number[0], gl_InvocationID * 10 "
             "+ i);\n"
             "EmitVertex(); } }\n",
             GL_POINTS, GL_POINTS, 3, CAPACITY);
    geometry(
        "many",
        "#version 400\nlayout(points) in; layout(points, max_vertices = 200) out; out float o; in float number[];\n"
        "void main() { for (int i = 0; i < 200; i++) { o = number[0] + i; EmitVertex(); } }\n",
        GL_POINTS, GL_POINTS, 2, CAPACITY);
}

static void streams(void) {
    static const char *const text =
        "#version 400\nlayout(points) in; layout(points, max_vertices = 12) out; in float number[];\n"
        "layout(stream = 0) out float a; layout(stream = 1) out vec2 b; layout(stream = 2) out float c;\n"
        "void main() { for (int i = 0; i < 4; i++) { a = number[0] * 10 + i; EmitStreamVertex(0);\n"
        "if (i != 1) { b = vec2(number[0], i); EmitStreamVertex(1); } }\n"
        "if (number[0] > 1) { c = number[0]; EmitStreamVertex(2); } }\n";
    static const char *const names[] = {"a", "gl_NextBuffer", "b", "gl_NextBuffer", "c"};
    const GLuint program = attach(glCreateProgram(), GL_VERTEX_SHADER, vertex_text);
    attach(program, GL_GEOMETRY_SHADER, text);
    glTransformFeedbackVaryings(program, 5, names, GL_INTERLEAVED_ATTRIBS);
    use(program);
    record("streams", GL_POINTS, GL_POINTS, 4, CAPACITY);
}

/* ---- layers and viewports ---- */

static void show(const char *what, unsigned layers) {
    static unsigned char pixels[LAYERS][SIZE][SIZE][4];
    glGetTexImage(GL_TEXTURE_2D_ARRAY, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    printf("%s:", what);
    for (unsigned l = 0; l < layers; l++) {
        printf(" |");
        for (int y = 4; y < SIZE; y += 8) {
            for (int x = 4; x < SIZE; x += 8) {
                printf(" %u.%u", pixels[l][y][x][0], pixels[l][y][x][1]);
            }
        }
    }
    printf("\n");
}

static void layers(const char *what, const char *choice) {
    static const char *const format =
        "#version 410\nlayout(points, invocations = 4) in; layout(triangle_strip, max_vertices = 4) out;\n"
        "out vec4 color; void main() { for (int i = 0; i < 4; i++) { %s = gl_InvocationID;\n"
        "gl_PrimitiveID = 40 + gl_InvocationID;\n"
        "color = vec4(gl_InvocationID * 50 + 50, 20 * i + 10, 0, 255) / 255.0;\n"
        "gl_Position = vec4(i & 1, i >> 1, 0, 1) * 2.0 - 1.0; gl_Position.w = 1; EmitVertex(); } }\n";
    static const char *const picture = "#version 410\nin vec4 color; out vec4 o;\n"
                                       "void main() { o = vec4(color.r, gl_PrimitiveID / 255.0, 0, 1); }\n";
    char text[1000];
    GLuint framebuffer, texture;
    (void)snprintf(text, sizeof text, format, choice);
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D_ARRAY, texture);
    glTexImage3D(GL_TEXTURE_2D_ARRAY, 0, GL_RGBA8, SIZE, SIZE, LAYERS, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glFramebufferTexture(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, texture, 0);
    for (unsigned i = 0; i < 4; i++) {
        glViewportIndexedf(i, (float)(i & 1) * SIZE / 2, (float)(i >> 1) * SIZE / 2, SIZE / 2.0f, SIZE / 2.0f);
    }
    glClear(GL_COLOR_BUFFER_BIT);
    const GLuint program = attach(glCreateProgram(), GL_VERTEX_SHADER, vertex_text);
    attach(program, GL_GEOMETRY_SHADER, text);
    attach(program, GL_FRAGMENT_SHADER, picture);
    use(program);
    glDrawArrays(GL_POINTS, 0, 1);
    show(what, LAYERS);
}

/* ---- tessellation ---- */

static const char *const control_text =
    "#version 400\nlayout(vertices = %d) out; in float number[]; out float mine[]; patch out vec2 all;\n"
    "uniform vec4 outer; uniform vec2 inner; void main() { mine[gl_InvocationID] = number[gl_InvocationID %% 3] + 1;\n"
    "barrier(); float sum = 0; for (int i = 0; i < %d; i++) sum += mine[i];\n"
    "if (gl_InvocationID == 0) { all = vec2(sum, gl_PrimitiveID); gl_TessLevelOuter[0] = outer.x;\n"
    "gl_TessLevelOuter[1] = outer.y; gl_TessLevelOuter[2] = outer.z; gl_TessLevelOuter[3] = outer.w;\n"
    "gl_TessLevelInner[0] = inner.x; gl_TessLevelInner[1] = inner.y; } }\n";
static const char *const evaluation_text =
    "#version 400\nlayout(%s) in; in float mine[]; patch in vec2 all; out vec4 o;\n"
    "void main() { o = vec4(gl_TessCoord.xy, all.x + mine[1], all.y); gl_Position = vec4(0); }\n";

static void tessellate(const char *layout, int vertices, GLenum mode, float outer, float inner) {
    static const char *const one[] = {"o"};
    char control[2000], evaluation[1000], what[200];
    (void)snprintf(control, sizeof control, control_text, vertices, vertices);
    (void)snprintf(evaluation, sizeof evaluation, evaluation_text, layout);
    (void)snprintf(what, sizeof what, "%s, %d vertices, %g, %g", layout, vertices, (double)outer, (double)inner);
    const GLuint program = attach(glCreateProgram(), GL_VERTEX_SHADER, vertex_text);
    attach(program, GL_TESS_CONTROL_SHADER, control);
    attach(program, GL_TESS_EVALUATION_SHADER, evaluation);
    glTransformFeedbackVaryings(program, 1, one, GL_INTERLEAVED_ATTRIBS);
    use(program);
    glUniform4f(glGetUniformLocation(program, "outer"), outer, outer + 1, 2, 3.5f);
    glUniform2f(glGetUniformLocation(program, "inner"), inner, 3);
    glPatchParameteri(GL_PATCH_VERTICES, 3);
    record(what, mode, GL_PATCHES, 6, CAPACITY);
}

static void tessellate_to_geometry(void) {
    static const char *const one[] = {"p"};
    static const char *const text =
        "#version 400\nlayout(triangles) in; layout(points, max_vertices = 3) out; in vec4 o[]; out vec4 p;\n"
        "void main() { for (int i = 0; i < 3; i++) { p = vec4(o[i].xyz, i); EmitVertex(); } }\n";
    char control[2000], evaluation[1000];
    (void)snprintf(control, sizeof control, control_text, 3, 3);
    (void)snprintf(evaluation, sizeof evaluation, evaluation_text, "triangles, equal_spacing");
    const GLuint program = attach(glCreateProgram(), GL_VERTEX_SHADER, vertex_text);
    attach(program, GL_TESS_CONTROL_SHADER, control);
    attach(program, GL_TESS_EVALUATION_SHADER, evaluation);
    attach(program, GL_GEOMETRY_SHADER, text);
    glTransformFeedbackVaryings(program, 1, one, GL_INTERLEAVED_ATTRIBS);
    use(program);
    glUniform4f(glGetUniformLocation(program, "outer"), 2, 3, 1, 1);
    glUniform2f(glGetUniformLocation(program, "inner"), 3, 3);
    record("tessellation and geometry", GL_POINTS, GL_PATCHES, 9, CAPACITY);
}

int main(void) {
    const PFNEGLGETPLATFORMDISPLAYEXTPROC display_of = (void *)eglGetProcAddress("eglGetPlatformDisplayEXT");
    EGLDisplay display = display_of(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
    const EGLint attributes[] = {
        EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 1, EGL_CONTEXT_OPENGL_PROFILE_MASK, 1, EGL_NONE};
    GLuint arrays;

    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
    if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
        return 1;
    }
    glGenVertexArrays(1, &arrays);
    glBindVertexArray(arrays);
    layers("layers", "gl_Layer");
    layers("viewports", "gl_ViewportIndex");
    geometry_input();
    geometry_output();
    streams();
    tessellate("triangles, equal_spacing", 3, GL_TRIANGLES, 2, 4);
    tessellate("triangles, fractional_odd_spacing, cw", 5, GL_TRIANGLES, 2.5f, 3.25f);
    tessellate("quads, fractional_even_spacing", 1, GL_TRIANGLES, 5, 2);
    tessellate("quads, equal_spacing, point_mode", 20, GL_POINTS, 3, 7);
    tessellate("isolines, equal_spacing", 4, GL_LINES, 3, 1);
    tessellate_to_geometry();
    return glGetError() ? 2 : 0;
}
