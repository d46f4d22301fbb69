/* Helpers for scenes: programs, buffers, textures, matrices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenes.h"

static GLuint make_shader(GLenum kind, const char *source) {
    const char *const parts[] = {PRECISION, source};
    const GLuint shader = glCreateShader(kind);
    GLint good = 0;
    glShaderSource(shader, 2, parts, NULL);
    glCompileShader(shader);
    glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
    if (!good) {
        char text[1024];
        glGetShaderInfoLog(shader, sizeof text, NULL, text);
        (void)fprintf(stderr, "%s\n", text);
        exit(1);
    }
    return shader;
}

GLuint make_program(const char *vertex, const char *fragment) {
    static const char *const names[] = {"position", "color", "texcoord"};
    const GLuint program = glCreateProgram();
    GLint good = 0;
    glAttachShader(program, make_shader(GL_VERTEX_SHADER, vertex));
    glAttachShader(program, make_shader(GL_FRAGMENT_SHADER, fragment));
    for (GLuint i = 0; i < 3; i++) {
        glBindAttribLocation(program, i, names[i]);
    }
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &good);
    if (!good) {
        (void)fprintf(stderr, "scenes: a program does not link\n");
        exit(1);
    }
    glUseProgram(program);
    return program;
}

GLuint make_buffer(GLenum target, const void *data, size_t size) {
    GLuint buffer = 0;
    glGenBuffers(1, &buffer);
    glBindBuffer(target, buffer);
    glBufferData(target, (GLsizeiptr)size, data, GL_STATIC_DRAW);
    return buffer;
}

void attribute(GLuint index, int size, int stride_floats, int offset_floats) {
    glEnableVertexAttribArray(index);
    glVertexAttribPointer(index, size, GL_FLOAT, GL_FALSE, stride_floats * (int)sizeof(float),
                          (const char *)NULL + offset_floats * sizeof(float));
}

void checker(unsigned char *rgba, int size, unsigned seed) {
    for (int y = 0; y < size; y++) {
        for (int x = 0; x < size; x++) {
            unsigned char *const p = rgba + 4 * (y * size + x);
            const int dark = (x / 4 + y / 4) & 1;
            p[0] = (unsigned char)(dark ? 32 : x * 255 / size);
            p[1] = (unsigned char)(dark ? y * 255 / size : 224);
            p[2] = (unsigned char)(seed * 40 + (dark ? 0 : 60));
            p[3] = (unsigned char)(dark ? 255 : 128);
        }
    }
}

GLuint make_texture(int size, unsigned seed, GLenum minify, GLenum wrap) {
    unsigned char *const data = malloc((size_t)size * (size_t)size * 4);
    GLuint texture = 0;
    checker(data, size, seed);
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, size, size, 0, GL_RGBA, GL_UNSIGNED_BYTE, data);
    glGenerateMipmap(GL_TEXTURE_2D);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, (GLint)minify);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, minify == GL_NEAREST ? GL_NEAREST : GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, (GLint)wrap);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, (GLint)wrap);
    free(data);
    return texture;
}

void uniform1(GLuint program, const char *name, float x) {
    glUniform1f(glGetUniformLocation(program, name), x);
}

void uniform2(GLuint program, const char *name, float x, float y) {
    glUniform2f(glGetUniformLocation(program, name), x, y);
}

void uniform4(GLuint program, const char *name, float x, float y, float z, float w) {
    glUniform4f(glGetUniformLocation(program, name), x, y, z, w);
}

void rectangle(float x0, float y0, float x1, float y1) {
    const float corners[] = {x0, y0, 0, 0, x1, y0, 1, 0, x0, y1, 0, 1, x1, y1, 1, 1};
    GLuint buffer = make_buffer(GL_ARRAY_BUFFER, corners, sizeof corners);
    attribute(0, 2, 4, 0);
    attribute(2, 2, 4, 2);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    glDisableVertexAttribArray(2);
    glDeleteBuffers(1, &buffer);
}

float random_float(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 16777216.0f;
}

void identity(float m[16]) {
    for (int i = 0; i < 16; i++) {
        m[i] = i % 5 == 0 ? 1 : 0;
    }
}

void multiply(float m[16], const float a[16]) {
    float out[16];
    for (int column = 0; column < 4; column++) {
        for (int row = 0; row < 4; row++) {
            out[4 * column + row] = 0;
            for (int k = 0; k < 4; k++) {
                out[4 * column + row] += m[4 * k + row] * a[4 * column + k];
            }
        }
    }
    memcpy(m, out, sizeof out);
}

void translate(float m[16], float x, float y, float z) {
    float t[16];
    identity(t);
    t[12] = x;
    t[13] = y;
    t[14] = z;
    multiply(m, t);
}

void rotate(float m[16], float degrees, int axis) {
    const float angle = degrees * 3.14159265f / 180, s = sinf(angle), c = cosf(angle);
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    float r[16];
    identity(r);
    r[4 * a + a] = r[4 * b + b] = c;
    r[4 * a + b] = s;
    r[4 * b + a] = -s;
    multiply(m, r);
}

void frustum(float m[16], float left, float right, float bottom, float top, float near, float far) {
    float f[16] = {0};
    f[0] = 2 * near / (right - left);
    f[5] = 2 * near / (top - bottom);
    f[8] = (right + left) / (right - left);
    f[9] = (top + bottom) / (top - bottom);
    f[10] = -(far + near) / (far - near);
    f[11] = -1;
    f[14] = -2 * far * near / (far - near);
    multiply(m, f);
}
