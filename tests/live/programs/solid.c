/* Scenes with depth: gears, a cube map on a ball, a grid. */
#include <math.h>
#include <stdlib.h>

#include "scenes.h"

#define PI   3.14159265f
#define ROOM 60000 /* floats in a mesh */

static GLuint program, vertices, indices;
static int count[3];

static const char lit_vertex[] =
    "attribute vec3 position; attribute vec3 color; uniform mat4 view, whole;\n"
    "varying vec3 normal; varying vec3 place;\n"
    "void main() { normal = mat3(view[0].xyz, view[1].xyz, view[2].xyz) * color;\n"
    "  place = (view * vec4(position, 1.0)).xyz; gl_Position = whole * vec4(position, 1.0); }\n";
static const char lit_fragment[] =
    "uniform vec4 tint; varying vec3 normal; varying vec3 place;\n"
    "void main() { vec3 n = normalize(normal); float d = max(dot(n, normalize(vec3(5.0, 5.0, 10.0))), 0.0);\n"
    "  gl_FragColor = vec4(tint.rgb * (0.2 + 0.8 * d), 1.0); }\n";
static const char mirror_fragment[] =
    "uniform samplerCube sky; varying vec3 normal; varying vec3 place;\n"
    "void main() { gl_FragColor = textureCube(sky, reflect(normalize(place), normalize(normal))); }\n";

struct mesh {
    float *floats;
    int used;
};

/* A vertex: position and normal. */
static void vertex(struct mesh *mesh, float x, float y, float z, float nx, float ny, float nz) {
    const float data[] = {x, y, z, nx, ny, nz};
    for (int i = 0; i < 6 && mesh->used < ROOM; i++) {
        mesh->floats[mesh->used++] = data[i];
    }
}

/* A face between two points of the outline, from front to back. */
static void side(struct mesh *mesh, const float *a, const float *b, float z) {
    const float nx = b[1] - a[1], ny = a[0] - b[0], length = sqrtf(nx * nx + ny * ny);
    const float corners[6][3] = {{a[0], a[1], z}, {a[0], a[1], -z}, {b[0], b[1], z},
                                 {b[0], b[1], z}, {a[0], a[1], -z}, {b[0], b[1], -z}};
    for (int i = 0; i < 6; i++) {
        vertex(mesh, corners[i][0], corners[i][1], corners[i][2], nx / length, ny / length, 0);
    }
}

static void front(struct mesh *mesh, const float *hub0, const float *hub1, const float *a, const float *b, float z) {
    const float *const corners[6] = {hub0, a, b, hub0, b, hub1};
    for (int i = 0; i < 6; i++) {
        vertex(mesh, corners[i][0], corners[i][1], z, 0, 0, z > 0 ? 1 : -1);
    }
}

/* Each tooth has four points on the rim: up, along, down, along. */
static void gear(struct mesh *mesh, float hub, float rim, float half_width, int teeth) {
    for (int i = 0; i < 4 * teeth; i++) {
        float points[2][2], hubs[2][2];
        for (int end = 0; end < 2; end++) {
            const int at = i + end;
            const float angle = 2 * PI * (float)at / (float)(4 * teeth);
            const float radius = at % 4 == 1 || at % 4 == 2 ? rim + 0.35f : rim - 0.35f;
            points[end][0] = radius * cosf(angle);
            points[end][1] = radius * sinf(angle);
            hubs[end][0] = hub * cosf(angle);
            hubs[end][1] = hub * sinf(angle);
        }
        side(mesh, points[0], points[1], half_width);
        side(mesh, hubs[1], hubs[0], half_width);
        front(mesh, hubs[0], hubs[1], points[0], points[1], half_width);
        front(mesh, hubs[0], hubs[1], points[0], points[1], -half_width);
    }
}

static void upload(struct mesh *mesh) {
    vertices = make_buffer(GL_ARRAY_BUFFER, mesh->floats, (size_t)mesh->used * sizeof(float));
    attribute(0, 3, 6, 0);
    attribute(1, 3, 6, 3);
    free(mesh->floats);
    glEnable(GL_DEPTH_TEST);
}

static void set_matrices(const float view[16]) {
    float whole[16];
    identity(whole);
    frustum(whole, -1, 1, -1, 1, 5, 60);
    multiply(whole, view);
    glUniformMatrix4fv(glGetUniformLocation(program, "view"), 1, GL_FALSE, view);
    glUniformMatrix4fv(glGetUniformLocation(program, "whole"), 1, GL_FALSE, whole);
}

static void gears_setup(const struct canvas *canvas) {
    static const float shape[3][3] = {{1, 4, 0.5f}, {0.5f, 2, 1}, {1.3f, 2, 0.25f}};
    struct mesh mesh = {malloc(ROOM * sizeof(float)), 0};
    (void)canvas;
    program = make_program(lit_vertex, lit_fragment);
    for (int i = 0; i < 3; i++) {
        const int before = mesh.used;
        gear(&mesh, shape[i][0], shape[i][1], shape[i][2], i ? 10 : 20);
        count[i] = (mesh.used - before) / 6;
    }
    upload(&mesh);
}

static void gears_draw(const struct canvas *canvas, int frame) {
    static const float where[3][4] = {{-3, -2, 1, 0}, {3.1f, -2, -2, -9}, {-3.1f, 4.2f, -2, -25}};
    static const float tints[3][3] = {{0.8f, 0.1f, 0}, {0, 0.8f, 0.2f}, {0.2f, 0.2f, 1}};
    int first = 0;
    (void)canvas;
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    for (int i = 0; i < 3; i++) {
        float view[16];
        identity(view);
        translate(view, 0, 0, -40);
        rotate(view, 20, 0);
        rotate(view, 30, 1);
        translate(view, where[i][0], where[i][1], 0);
        rotate(view, where[i][2] * 7 * (float)frame + where[i][3], 2);
        set_matrices(view);
        uniform4(program, "tint", tints[i][0], tints[i][1], tints[i][2], 1);
        glDrawArrays(GL_TRIANGLES, first, count[i]);
        first += count[i];
    }
}

static void cubemap_setup(const struct canvas *canvas) {
    enum {
        BANDS = 16,
        SIZE = 32
    };
    struct mesh mesh = {malloc(ROOM * sizeof(float)), 0};
    unsigned char *const image = malloc(SIZE * SIZE * 4);
    GLuint sky = 0;
    (void)canvas;
    program = make_program(lit_vertex, mirror_fragment);
    for (int i = 0; i < BANDS; i++) {
        for (int j = 0; j < 2 * BANDS; j++) {
            static const int corner[6][2] = {{0, 0}, {1, 0}, {0, 1}, {0, 1}, {1, 0}, {1, 1}};
            for (int k = 0; k < 6; k++) {
                const float a = PI * (float)(i + corner[k][0]) / BANDS, b = PI * (float)(j + corner[k][1]) / BANDS;
                const float x = sinf(a) * cosf(b), y = cosf(a), z = sinf(a) * sinf(b);
                vertex(&mesh, 6 * x, 6 * y, 6 * z, x, y, z);
            }
        }
    }
    count[0] = mesh.used / 6;
    upload(&mesh);
    glGenTextures(1, &sky);
    glBindTexture(GL_TEXTURE_CUBE_MAP, sky);
    for (unsigned face = 0; face < 6; face++) {
        checker(image, SIZE, face);
        glTexImage2D(GL_TEXTURE_CUBE_MAP_POSITIVE_X + face, 0, GL_RGBA, SIZE, SIZE, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                     image);
    }
    glTexParameteri(GL_TEXTURE_CUBE_MAP, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_CUBE_MAP, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    free(image);
}

static void cubemap_draw(const struct canvas *canvas, int frame) {
    float view[16];
    (void)canvas;
    glClearColor(0.2f, 0, 0.2f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    identity(view);
    translate(view, 0, 0, -40);
    rotate(view, 10 * (float)frame, 1);
    set_matrices(view);
    glDrawArrays(GL_TRIANGLES, 0, count[0]);
}

static const char wave_vertex[] = "attribute vec2 position; uniform float time; varying vec3 v;\n"
                                  "void main() { float h = sin(position.x * 9.0 + time) * cos(position.y * 7.0);\n"
                                  "  v = vec3(position * 0.5 + 0.5, 0.5 + 0.5 * h);\n"
                                  "  gl_Position = vec4(position.x, position.y * 0.8 + 0.1 * h, 0.3 * h, 1.0); }\n";
static const char wave_fragment[] = "varying vec3 v; void main() { gl_FragColor = vec4(v, 1.0); }\n";

/* A grid of `side` times `side` cells, two triangles each, with 16-bit indices. */
static void make_grid(int cells) {
    const int across = cells + 1;
    float *const places = malloc((size_t)(across * across) * 2 * sizeof(float));
    unsigned short *const list = malloc((size_t)(cells * cells) * 6 * sizeof(unsigned short));
    int used = 0;
    for (int i = 0; i < across * across; i++) {
        const int row = i / across;
        places[2 * i] = -0.95f + 1.9f * (float)(i % across) / (float)cells;
        places[2 * i + 1] = -0.95f + 1.9f * (float)row / (float)cells;
    }
    for (int y = 0; y < cells; y++) {
        for (int x = 0; x < cells; x++) {
            const int at = y * across + x;
            const int corners[6] = {at, at + 1, at + across, at + across, at + 1, at + across + 1};
            for (int k = 0; k < 6; k++) {
                list[used++] = (unsigned short)corners[k];
            }
        }
    }
    program = make_program(wave_vertex, wave_fragment);
    vertices = make_buffer(GL_ARRAY_BUFFER, places, (size_t)(across * across) * 2 * sizeof(float));
    attribute(0, 2, 2, 0);
    indices = make_buffer(GL_ELEMENT_ARRAY_BUFFER, list, (size_t)used * sizeof(unsigned short));
    count[0] = used;
    free(places);
    free(list);
    glEnable(GL_DEPTH_TEST);
}

static void grid_setup(const struct canvas *canvas) {
    (void)canvas;
    make_grid(60);
}

static void big_grid_setup(const struct canvas *canvas) {
    (void)canvas;
    make_grid(250);
}

static void grid_draw(const struct canvas *canvas, int frame) {
    (void)canvas;
    glClearColor(0, 0, 0.2f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    uniform1(program, "time", 0.3f * (float)frame);
    glDrawElements(GL_TRIANGLES, count[0], GL_UNSIGNED_SHORT, NULL);
}

const struct scene solid_scenes[] = {
    {"gears", gears_setup, gears_draw},
    {"cubemap", cubemap_setup, cubemap_draw},
    {"grid", grid_setup, grid_draw},
    {"grid-125k", big_grid_setup, grid_draw},
    {0},
};
