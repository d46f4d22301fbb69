/* Scenes without depth: clears, a triangle, textures, blending, stencil, rendering to a texture, sprites. */
#include <stddef.h>

#include "scenes.h"

static GLuint program, texture, other, target;

static const char plain_vertex[] = "attribute vec4 position; attribute vec4 color; varying vec4 v;\n"
                                   "void main() { gl_Position = position; v = color; }\n";
static const char plain_fragment[] = "varying vec4 v; void main() { gl_FragColor = v; }\n";
static const char flat_vertex[] = "attribute vec4 position; void main() { gl_Position = position; }\n";
static const char flat_fragment[] = "uniform vec4 tint; void main() { gl_FragColor = tint; }\n";
static const char textured_vertex[] =
    "attribute vec4 position; attribute vec2 texcoord; varying vec2 t; uniform vec2 scale;\n"
    "void main() { gl_Position = position; t = texcoord * scale; }\n";
static const char textured_fragment[] =
    "uniform sampler2D image; varying vec2 t; void main() { gl_FragColor = texture2D(image, t); }\n";

static void start(float r, float g, float b, float a) {
    glClearColor(r, g, b, a);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
}

static void clear_setup(const struct canvas *canvas) {
    (void)canvas;
}

static void clear_draw(const struct canvas *canvas, int frame) {
    const int w = canvas->width, h = canvas->height;
    glColorMask(1, 1, 1, 1);
    start(0.2f, 0.4f, 0.6f, 0.8f);
    glEnable(GL_SCISSOR_TEST);
    glScissor(w / 8 + frame, h / 4, w / 3, h / 5);
    start(1, 0.5f, 0, 1);
    glScissor(w / 5, h / 3, w / 2, h / 2);
    glColorMask(1, 0, 1, 0);
    start(0, 1, 0.75f, 0);
    glDisable(GL_SCISSOR_TEST);
}

static void triangle_setup(const struct canvas *canvas) {
    static const float corners[] = {-0.8f, -0.7f, 0, 1, 1,    0,     0, 1, 0.9f, -0.5f, 0, 1,
                                    0,     1,     0, 1, 0.1f, 0.85f, 0, 1, 0,    0,     1, 1};
    (void)canvas;
    program = make_program(plain_vertex, plain_fragment);
    make_buffer(GL_ARRAY_BUFFER, corners, sizeof corners);
    attribute(0, 4, 8, 0);
    attribute(1, 4, 8, 4);
}

static void triangle_draw(const struct canvas *canvas, int frame) {
    (void)canvas;
    start(0.1f, 0.1f, 0.1f * (float)(frame + 1), 1);
    glDrawArrays(GL_TRIANGLES, 0, 3);
}

static void texture_setup(const struct canvas *canvas) {
    (void)canvas;
    program = make_program(textured_vertex, textured_fragment);
    texture = make_texture(64, 1, GL_LINEAR_MIPMAP_LINEAR, GL_REPEAT);
    other = make_texture(32, 4, GL_NEAREST, GL_CLAMP_TO_EDGE);
}

static void texture_draw(const struct canvas *canvas, int frame) {
    (void)canvas;
    start(0, 0, 0, 1);
    uniform2(program, "scale", 1, 1);
    glBindTexture(GL_TEXTURE_2D, other);
    rectangle(-0.9f, -0.9f, -0.1f, -0.1f);
    glBindTexture(GL_TEXTURE_2D, texture);
    uniform2(program, "scale", 0.5f, 0.5f);
    rectangle(0, -1, 1, 0);
    uniform2(program, "scale", 8 + (float)frame, 6);
    rectangle(-1, 0, 1, 1);
}

static void blend_setup(const struct canvas *canvas) {
    (void)canvas;
    program = make_program(flat_vertex, flat_fragment);
}

static void blend_draw(const struct canvas *canvas, int frame) {
    static const GLenum factors[][2] = {{GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA},
                                        {GL_ONE, GL_ONE},
                                        {GL_DST_COLOR, GL_ZERO},
                                        {GL_ONE_MINUS_DST_ALPHA, GL_DST_ALPHA},
                                        {GL_CONSTANT_COLOR, GL_SRC_COLOR},
                                        {GL_SRC_ALPHA_SATURATE, GL_ONE}};
    static const GLenum equations[] = {GL_FUNC_ADD, GL_FUNC_SUBTRACT, GL_FUNC_REVERSE_SUBTRACT};
    unsigned seed = 7 + (unsigned)frame;
    (void)canvas;
    start(0.3f, 0.3f, 0.5f, 0.5f);
    glEnable(GL_BLEND);
    glBlendColor(0.2f, 0.6f, 0.4f, 0.7f);
    for (int i = 0; i < 24; i++) {
        const float x = -1 + 1.6f * random_float(&seed), y = -1 + 1.6f * random_float(&seed);
        const float r = random_float(&seed), g = random_float(&seed), b = random_float(&seed);
        glBlendFunc(factors[i % 6][0], factors[i % 6][1]);
        glBlendEquation(equations[i / 6 % 3]);
        uniform4(program, "tint", r, g, b, 0.25f + 0.5f * r);
        rectangle(x, y, x + 0.5f, y + 0.4f);
    }
    glDisable(GL_BLEND);
}

static void stencil_draw(const struct canvas *canvas, int frame) {
    (void)canvas;
    start(0.1f, 0.2f, 0.3f, 1);
    glEnable(GL_STENCIL_TEST);
    glColorMask(0, 0, 0, 0);
    glStencilFunc(GL_ALWAYS, 1, 0xff);
    glStencilOp(GL_KEEP, GL_KEEP, GL_INCR);
    for (int i = 0; i < 5; i++) {
        const float at = -0.9f + 0.25f * (float)i + 0.01f * (float)frame;
        rectangle(at, at, at + 0.7f, at + 0.5f);
    }
    glColorMask(1, 1, 1, 1);
    glStencilOp(GL_KEEP, GL_KEEP, GL_KEEP);
    for (int i = 1; i < 4; i++) {
        glStencilFunc(i == 3 ? GL_LEQUAL : GL_EQUAL, i, 0x0f);
        uniform4(program, "tint", i == 1 ? 1 : 0, i == 2 ? 1 : 0, i == 3 ? 1 : 0, 1);
        rectangle(-1, -1, 1, 1);
    }
    glDisable(GL_STENCIL_TEST);
}

static void fbo_setup(const struct canvas *canvas) {
    program = make_program(textured_vertex, textured_fragment);
    texture = make_texture(64, 2, GL_LINEAR_MIPMAP_LINEAR, GL_REPEAT);
    glGenTextures(1, &other);
    glBindTexture(GL_TEXTURE_2D, other);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 128, 128, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    glGenFramebuffers(1, &target);
    glBindFramebuffer(GL_FRAMEBUFFER, target);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, other, 0);
    glBindFramebuffer(GL_FRAMEBUFFER, canvas->framebuffer);
}

static void fbo_draw(const struct canvas *canvas, int frame) {
    glBindFramebuffer(GL_FRAMEBUFFER, target);
    glViewport(0, 0, 128, 128);
    start(0.5f, 0, 0.2f, 1);
    glBindTexture(GL_TEXTURE_2D, texture);
    uniform2(program, "scale", 2, 2);
    rectangle(-0.7f, -0.7f, 0.7f + 0.02f * (float)frame, 0.7f);
    glBindFramebuffer(GL_FRAMEBUFFER, canvas->framebuffer);
    glViewport(0, 0, canvas->width, canvas->height);
    start(0, 0.3f, 0, 1);
    glBindTexture(GL_TEXTURE_2D, other);
    uniform2(program, "scale", 1, 1);
    rectangle(-0.9f, -0.9f, 0.5f, 0.9f);
    rectangle(0.55f, -0.5f, 0.95f, 0.5f);
}

static void sprites_draw(const struct canvas *canvas, int frame) {
    unsigned seed = 99;
    (void)canvas;
    start(0.2f, 0.2f, 0.2f, 1);
    glBindTexture(GL_TEXTURE_2D, texture);
    uniform2(program, "scale", 1, 1);
    glEnable(GL_BLEND);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    for (int i = 0; i < 500; i++) {
        const float x = -1 + 1.9f * random_float(&seed), y = -1 + 1.9f * random_float(&seed);
        const float size = 0.04f + 0.1f * random_float(&seed);
        rectangle(x, y + 0.01f * (float)frame, x + size, y + size + 0.01f * (float)frame);
    }
    glDisable(GL_BLEND);
}

const struct scene simple_scenes[] = {
    {"clear", clear_setup, clear_draw},       {"triangle", triangle_setup, triangle_draw},
    {"texture", texture_setup, texture_draw}, {"blend", blend_setup, blend_draw},
    {"stencil", blend_setup, stencil_draw},   {"fbo", fbo_setup, fbo_draw},
    {"sprites", texture_setup, sprites_draw}, {0},
};
