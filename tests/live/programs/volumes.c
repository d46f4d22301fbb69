/* Short-lived volume textures of many small sizes, with all levels: the driver reuses their buffers from its cache,
 * some of them still mapped, with another tiling. */
#include <stddef.h>
#include <stdlib.h>

#include "scenes.h"

#ifdef ES2
const struct scene volume_scenes[] = {{0}};
#else

enum {
    LARGEST = 17
};

static GLuint program;

static const char vertex[] = "attribute vec4 position; attribute vec2 texcoord; varying vec2 t;\n"
                             "void main() { gl_Position = position; t = texcoord; }\n";
static const char fragment[] = "uniform sampler3D image; uniform float slice; varying vec2 t;\n"
                               "void main() { gl_FragColor = texture3D(image, vec3(t, slice)); }\n";

static void volumes_setup(const struct canvas *canvas) {
    (void)canvas;
    program = make_program(vertex, fragment);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
}

static int half(int size) {
    return size > 1 ? size / 2 : 1;
}

/* Whole levels at once: crocus writes all but the first as if their slices were stacked vertically, which ends beyond
 * the buffer.  Only the first level is drawn. */
static void upload(int width, int height, int depth, unsigned seed) {
    const size_t size = (size_t)width * (size_t)height * (size_t)depth * 4;
    unsigned char *const data = malloc(size);
    for (size_t i = 0; i < size; i++) {
        data[i] = (unsigned char)(seed * 29u + i * 7);
    }
    for (int level = 0;; level++) {
        glTexImage3D(GL_TEXTURE_3D, level, GL_RGBA, width, height, depth, 0, GL_RGBA, GL_UNSIGNED_BYTE, data);
        if (width == 1 && height == 1 && depth == 1) {
            break;
        }
        width = half(width);
        height = half(height);
        depth = half(depth);
    }
    free(data);
}

/* 2D textures of the same size reuse the buffers of the volumes with another tiling. */
static void flat(int size) {
    GLuint texture = 0;
    unsigned char *const data = calloc((size_t)size * (size_t)size, 4);
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, size, size, 0, GL_RGBA, GL_UNSIGNED_BYTE, data);
    glDeleteTextures(1, &texture);
    free(data);
}

static void volumes_draw(const struct canvas *canvas, int frame) {
    unsigned seed = 3 + (unsigned)frame;
    const int columns = 8;
    (void)canvas;
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    for (int i = 0; i < columns * columns; i++) {
        const int width = 1 + (int)(random_float(&seed) * LARGEST);
        const int height = 1 + (int)(random_float(&seed) * LARGEST);
        const int depth = 1 + (int)(random_float(&seed) * LARGEST);
        const int column = i % columns;
        const int row = i / columns;
        const float x = -1 + 2 * (float)column / (float)columns;
        const float y = -1 + 2 * (float)row / (float)columns;
        GLuint texture = 0;
        glGenTextures(1, &texture);
        glBindTexture(GL_TEXTURE_3D, texture);
        glTexParameteri(GL_TEXTURE_3D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
        glTexParameteri(GL_TEXTURE_3D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
        upload(width, height, depth, (unsigned)i);
        uniform1(program, "slice", random_float(&seed));
        rectangle(x, y, x + 0.24f, y + 0.24f);
        glDeleteTextures(1, &texture);
        flat(1 + (int)(random_float(&seed) * 64));
    }
}

const struct scene volume_scenes[] = {{"volumes", volumes_setup, volumes_draw}, {0}};
#endif
