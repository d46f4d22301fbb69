/* Expensive scenes: shader loops, ray marching, layers of blended textures, many small draws. */
#include <stddef.h>

#include "scenes.h"

static GLuint program;

static const char place_vertex[] = "attribute vec4 position; varying vec2 p;\n"
                                   "void main() { gl_Position = position; p = position.xy; }\n";
static const char mandelbrot_fragment[] =
    "varying vec2 p; uniform float time;\n"
    "void main() { vec2 c = p * (1.25 - 0.01 * time) - vec2(0.6, 0.0), z = vec2(0.0); float n = 0.0;\n"
    "  for (int i = 0; i < 64; i++) { if (dot(z, z) > 4.0) break;\n"
    "    z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c; n += 1.0; }\n"
    "  gl_FragColor = vec4(n / 64.0, fract(n / 8.0), n == 64.0 ? 0.0 : 0.6, 1.0); }\n";
static const char march_fragment[] =
    "varying vec2 p; uniform float time;\n"
    "float solid(vec3 q) { vec3 r = mod(q + 2.0, 4.0) - 2.0; return length(r) - 0.9; }\n"
    "void main() { vec3 eye = vec3(2.0, 1.7, time * 0.1), ray = normalize(vec3(p, 1.4)); float t = 0.0;\n"
    "  for (int i = 0; i < 40; i++) { float d = solid(eye + ray * t); if (d < 0.01) break; t += d; }\n"
    "  vec3 q = eye + ray * t; vec2 e = vec2(0.01, 0.0);\n"
    "  vec3 n = normalize(vec3(solid(q + e.xyy), solid(q + e.yxy), solid(q + e.yyx)) - solid(q));\n"
    "  gl_FragColor = vec4((0.5 + 0.5 * n) / (1.0 + 0.03 * t * t), 1.0); }\n";

static void fill(const char *fragment) {
    program = make_program(place_vertex, fragment);
}

static void mandelbrot_setup(const struct canvas *canvas) {
    (void)canvas;
    fill(mandelbrot_fragment);
}

static void march_setup(const struct canvas *canvas) {
    (void)canvas;
    fill(march_fragment);
}

static void shader_draw(const struct canvas *canvas, int frame) {
    (void)canvas;
    uniform1(program, "time", (float)frame);
    rectangle(-1, -1, 1, 1);
}

static const char layer_vertex[] =
    "attribute vec4 position; attribute vec2 texcoord; varying vec2 t; uniform vec2 shift;\n"
    "void main() { gl_Position = position; t = texcoord * 4.0 + shift; }\n";
static const char layer_fragment[] = "uniform sampler2D image; varying vec2 t;\n"
                                     "void main() { gl_FragColor = texture2D(image, t) * 0.5; }\n";

static void fill_setup(const struct canvas *canvas) {
    (void)canvas;
    program = make_program(layer_vertex, layer_fragment);
    make_texture(256, 3, GL_LINEAR_MIPMAP_LINEAR, GL_REPEAT);
}

static void fill_draw(const struct canvas *canvas, int frame) {
    (void)canvas;
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glEnable(GL_BLEND);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    for (int i = 0; i < 16; i++) {
        uniform2(program, "shift", 0.1f * (float)(i + frame), 0.03f * (float)i);
        rectangle(-1, -1, 1, 1);
    }
    glDisable(GL_BLEND);
}

static const char tint_fragment[] = "uniform vec4 tint; void main() { gl_FragColor = tint; }\n";

static void draws_setup(const struct canvas *canvas) {
    (void)canvas;
    program = make_program(place_vertex, tint_fragment);
}

static void draws_draw(const struct canvas *canvas, int frame) {
    unsigned seed = 5;
    (void)canvas;
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    for (int i = 0; i < 500; i++) {
        const float x = -1 + 1.9f * random_float(&seed), y = -1 + 1.9f * random_float(&seed);
        uniform4(program, "tint", x * 0.5f + 0.5f, y * 0.5f + 0.5f, 0.01f * (float)frame, 1);
        rectangle(x, y, x + 0.06f, y + 0.06f);
    }
}

const struct scene heavy_scenes[] = {
    {"mandelbrot", mandelbrot_setup, shader_draw},
    {"march", march_setup, shader_draw},
    {"fill", fill_setup, fill_draw},
    {"draws-500", draws_setup, draws_draw},
    {0},
};
