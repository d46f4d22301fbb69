/* Expensive scenes: shader loops, ray marching, layers of blended textures, many small draws, a game. */
#include <math.h>
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

/* As a game draws a frame: walls with two textures, models, decals and smoke that blend, and a display on top; about
 * fifty draws of three programs and eight textures into the same color and depth buffer. */

static const char world_vertex[] =
    "attribute vec4 position; attribute vec2 texcoord; varying vec2 t; uniform vec4 place; uniform vec2 turn;\n"
    "void main() { vec3 q = position.xyz * place.w; t = texcoord;\n"
    "  q = vec3(q.x * turn.x - q.z * turn.y, q.y, q.x * turn.y + q.z * turn.x) + place.xyz;\n"
    "  gl_Position = vec4(q.xy * 1.5, q.z * 1.02 - 0.2, q.z); }\n";
static const char wall_fragment[] =
    "uniform sampler2D image, light; varying vec2 t;\n"
    "void main() { gl_FragColor = texture2D(image, t) * texture2D(light, t * 0.25); }\n";
static const char model_fragment[] = "uniform sampler2D image; uniform vec4 tint; varying vec2 t;\n"
                                     "void main() { gl_FragColor = texture2D(image, t) * tint; }\n";

enum {
    GAME_TEXTURES = 8,
    MODEL_STEPS = 12, /* of the latitude of a ball; twice as many of its longitude */
    MODEL_VERTICES = MODEL_STEPS * 2 * MODEL_STEPS * 6,
};

static GLuint wall_program, model_program, game_texture[GAME_TEXTURES], quad_buffer, model_buffer;

static void ball_vertex(float *out, int i, int j) {
    const float a = 3.14159265f * (float)i / MODEL_STEPS, b = 3.14159265f * (float)j / MODEL_STEPS;
    out[0] = sinf(a) * cosf(b);
    out[1] = cosf(a);
    out[2] = sinf(a) * sinf(b);
    out[3] = (float)j / MODEL_STEPS;
    out[4] = (float)i / MODEL_STEPS;
}

static void game_setup(const struct canvas *canvas) {
    static const int corner[6][2] = {{0, 0}, {1, 0}, {0, 1}, {0, 1}, {1, 0}, {1, 1}};
    static float ball[MODEL_VERTICES][5], quad[6][5];
    int vertex = 0;
    (void)canvas;
    for (int i = 0; i < MODEL_STEPS; i++) {
        for (int j = 0; j < 2 * MODEL_STEPS; j++) {
            for (int c = 0; c < 6; c++) {
                ball_vertex(ball[vertex++], i + corner[c][0], j + corner[c][1]);
            }
        }
    }
    for (int c = 0; c < 6; c++) {
        const float x = (float)corner[c][0], y = (float)corner[c][1];
        const float made[5] = {2 * x - 1, 2 * y - 1, 0, 2 * x, 2 * y};
        for (int i = 0; i < 5; i++) {
            quad[c][i] = made[i];
        }
    }
    wall_program = make_program(world_vertex, wall_fragment);
    model_program = make_program(world_vertex, model_fragment);
    quad_buffer = make_buffer(GL_ARRAY_BUFFER, quad, sizeof quad);
    model_buffer = make_buffer(GL_ARRAY_BUFFER, ball, sizeof ball);
    for (int i = 0; i < GAME_TEXTURES; i++) {
        game_texture[i] = make_texture(i % 2 ? 128 : 256, (unsigned)i, GL_LINEAR_MIPMAP_LINEAR, GL_REPEAT);
    }
}

static void game_use(GLuint used, GLuint buffer, int texture, int light) {
    glUseProgram(used);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    attribute(0, 3, 5, 0);
    attribute(2, 2, 5, 3);
    glActiveTexture(GL_TEXTURE1);
    glBindTexture(GL_TEXTURE_2D, game_texture[light % GAME_TEXTURES]);
    glActiveTexture(GL_TEXTURE0);
    glBindTexture(GL_TEXTURE_2D, game_texture[texture % GAME_TEXTURES]);
}

static void game_draw(const struct canvas *canvas, int frame) {
    const float time = 0.05f * (float)frame;
    (void)canvas;
    glClearColor(0.2f, 0.3f, 0.5f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glEnable(GL_DEPTH_TEST);
    for (int i = 0; i < 16; i++) { /* walls, from front to back */
        const int row = i / 4;
        game_use(wall_program, quad_buffer, i, i / 4);
        glUniform1i(glGetUniformLocation(wall_program, "light"), 1);
        uniform2(wall_program, "turn", cosf(0.2f * (float)(i % 5 - 2)), sinf(0.2f * (float)(i % 5 - 2)));
        uniform4(wall_program, "place", (float)(i % 4) - 1.5f, (float)row - 1.5f, 2.2f + 0.1f * (float)i, 0.6f);
        glDrawArrays(GL_TRIANGLES, 0, 6);
    }
    for (int i = 0; i < 12; i++) { /* models */
        const int row = i / 4;
        game_use(model_program, model_buffer, i, 0);
        uniform2(model_program, "turn", cosf(time + (float)i), sinf(time + (float)i));
        uniform4(model_program, "tint", 1, 0.5f + 0.04f * (float)i, 0.8f, 1);
        uniform4(model_program, "place", 0.6f * (float)(i % 4) - 0.9f, 0.7f * (float)row - 0.7f, 1.9f, 0.25f);
        glDrawArrays(GL_TRIANGLES, 0, MODEL_VERTICES);
    }
    glDepthMask(GL_FALSE);
    glEnable(GL_BLEND);
    for (int i = 0; i < 12; i++) { /* smoke */
        glBlendFunc(GL_SRC_ALPHA, i % 2 ? GL_ONE : GL_ONE_MINUS_SRC_ALPHA);
        game_use(model_program, quad_buffer, 3 * i, 0);
        uniform2(model_program, "turn", 1, 0);
        uniform4(model_program, "tint", 1, 1, 1, 0.3f);
        uniform4(model_program, "place", 0.2f * (float)(i % 6) - 0.5f, 0.3f * (float)(i % 3) - 0.3f, 1.6f, 0.35f);
        glDrawArrays(GL_TRIANGLES, 0, 6);
    }
    glDisable(GL_DEPTH_TEST);
    for (int i = 0; i < 8; i++) { /* the display */
        glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
        game_use(model_program, quad_buffer, i, 0);
        uniform2(model_program, "turn", 1, 0);
        uniform4(model_program, "tint", 1, 1, 0.5f, 0.8f);
        uniform4(model_program, "place", 0.16f * (float)i - 0.56f, -0.55f, 1, 0.06f);
        glDrawArrays(GL_TRIANGLES, 0, 6);
    }
    glDisable(GL_BLEND);
    glDepthMask(GL_TRUE);
}

const struct scene heavy_scenes[] = {
    {"mandelbrot", mandelbrot_setup, shader_draw}, {"march", march_setup, shader_draw}, {"fill", fill_setup, fill_draw},
    {"draws-500", draws_setup, draws_draw},        {"game", game_setup, game_draw},     {0},
};
