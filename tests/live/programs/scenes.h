/* The scenes of the test and benchmark programs, and their helpers. */
#ifndef SCENES_H
#define SCENES_H
#include <stddef.h>

#ifdef ES2
#include <GLES2/gl2.h>
#define PRECISION "precision highp float;\n"
#else
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#define PRECISION "#version 120\n"
#endif

struct canvas {
    int width, height;
    GLuint framebuffer;
};

struct scene {
    const char *name;
    void (*setup)(const struct canvas *canvas);
    void (*draw)(const struct canvas *canvas, int frame);
};

extern const struct scene simple_scenes[], solid_scenes[], heavy_scenes[],
    volume_scenes[]; /* each array ends with an entry without a name */

/* Link and use a program of two shaders; attributes 0, 1, 2 are called position, color, texcoord. */
GLuint make_program(const char *vertex, const char *fragment);
GLuint make_buffer(GLenum target, const void *data, size_t size);
/* Use floats of the bound buffer as attribute `index`. */
void attribute(GLuint index, int size, int stride_floats, int offset_floats);
/* A checkered texture with all mipmap levels. */
GLuint make_texture(int size, unsigned seed, GLenum minify, GLenum wrap);
void checker(unsigned char *rgba, int size, unsigned seed);
void uniform1(GLuint program, const char *name, float x);
void uniform2(GLuint program, const char *name, float x, float y);
void uniform4(GLuint program, const char *name, float x, float y, float z, float w);
void rectangle(float x0, float y0, float x1, float y1);
float random_float(unsigned *state);

/* Matrices, in column-major order. */
void identity(float m[16]);
void multiply(float m[16], const float a[16]); /* m = m a */
void translate(float m[16], float x, float y, float z);
void rotate(float m[16], float degrees, int axis);
void frustum(float m[16], float left, float right, float bottom, float top, float near, float far);

#endif
