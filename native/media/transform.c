#include "media/transform.h"

#include <string.h>

/* ---- H.264 ---- */

static void avc_line4(const int32_t in[4], int32_t out[4]) {
    const int32_t a = in[0] + in[2], b = in[0] - in[2];
    const int32_t c = (in[1] >> 1) - in[3], d = in[1] + (in[3] >> 1);

    out[0] = a + d;
    out[1] = b + c;
    out[2] = b - c;
    out[3] = a - d;
}

static void avc_line8(const int32_t in[8], int32_t out[8]) {
    const int32_t a[8] = {
        in[0] + in[4],        -in[3] + in[5] - in[7] - (in[7] >> 1),
        in[0] - in[4],        in[1] + in[7] - in[3] - (in[3] >> 1),
        (in[2] >> 1) - in[6], -in[1] + in[7] + in[5] + (in[5] >> 1),
        in[2] + (in[6] >> 1), in[3] + in[5] + in[1] + (in[1] >> 1),
    };
    const int32_t b[8] = {
        a[0] + a[6], a[1] + (a[7] >> 2), a[2] + a[4], a[3] + (a[5] >> 2),
        a[2] - a[4], (a[3] >> 2) - a[5], a[0] - a[6], a[7] - (a[1] >> 2),
    };
    for (int i = 0; i < 4; i++) {
        const int32_t even = b[2 * i], odd = b[7 - 2 * i];
        out[i] = even + odd;
        out[7 - i] = even - odd;
    }
}

typedef void line_fn(const int32_t *in, int32_t *out);

static void avc_block(int16_t *block, size_t stride, unsigned size, line_fn *line) {
    int32_t rows[8][8], in[8], out[8];

    for (unsigned y = 0; y < size; y++) {
        for (unsigned x = 0; x < size; x++) {
            in[x] = block[y * stride + x];
        }
        line(in, rows[y]);
    }
    for (unsigned x = 0; x < size; x++) {
        for (unsigned y = 0; y < size; y++) {
            in[y] = rows[y][x];
        }
        line(in, out);
        for (unsigned y = 0; y < size; y++) {
            block[y * stride + x] = (int16_t)((out[y] + 32) >> 6);
        }
    }
}

void g4_avc_4x4(int16_t *block, size_t stride) {
    avc_block(block, stride, 4, avc_line4);
}

void g4_avc_8x8(int16_t *block, size_t stride) {
    avc_block(block, stride, 8, avc_line8);
}

static void hadamard4(const int32_t in[4], int32_t out[4]) {
    out[0] = in[0] + in[1] + in[2] + in[3];
    out[1] = in[0] + in[1] - in[2] - in[3];
    out[2] = in[0] - in[1] - in[2] + in[3];
    out[3] = in[0] - in[1] + in[2] - in[3];
}

enum {
    QP_STEPS = 16 /* steps of a factor of two; more do not fit the stored result */
};

/* Shifts by guest values use 64 bits and limited distances. */
static int16_t scaled_luma(int32_t f, uint32_t level_scale, uint32_t qp) {
    const int64_t product = (int64_t)f * level_scale;
    const uint32_t step = qp / 6 < QP_STEPS ? qp / 6 : QP_STEPS;
    if (step >= 6) {
        return (int16_t)(product * (INT64_C(1) << (step - 6)));
    }
    return (int16_t)((product + (INT64_C(1) << (5 - step))) >> (6 - step));
}

void g4_avc_luma_dc(const int16_t in[16], uint32_t level_scale, uint32_t qp, int16_t out[16]) {
    int32_t rows[4][4], line[4], column[4];

    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 4; x++) {
            line[x] = in[4 * y + x];
        }
        hadamard4(line, rows[y]);
    }
    for (int x = 0; x < 4; x++) {
        for (int y = 0; y < 4; y++) {
            line[y] = rows[y][x];
        }
        hadamard4(line, column);
        for (int y = 0; y < 4; y++) {
            out[4 * y + x] = scaled_luma(column[y], level_scale, qp);
        }
    }
}

void g4_avc_chroma_dc(const int16_t in[4], uint32_t level_scale, uint32_t qp, int16_t out[4]) {
    const int32_t f[4] = {
        in[0] + in[1] + in[2] + in[3],
        in[0] - in[1] + in[2] - in[3],
        in[0] + in[1] - in[2] - in[3],
        in[0] - in[1] - in[2] + in[3],
    };
    const uint32_t step = qp / 6 < QP_STEPS ? qp / 6 : QP_STEPS;
    for (int i = 0; i < 4; i++) {
        out[i] = (int16_t)((int64_t)f[i] * level_scale * (INT64_C(1) << step) >> 5);
    }
}

/* ---- VC-1 ---- */

/* Basis vectors: row u is the contribution of coefficient u to the samples. */
static const int8_t vc1_8[8][8] = {
    {12, 12, 12, 12, 12, 12, 12, 12}, {16, 15, 9, 4, -4, -9, -15, -16},     {16, 6, -6, -16, -16, -6, 6, 16},
    {15, -4, -16, -9, 9, 16, 4, -15}, {12, -12, -12, 12, 12, -12, -12, 12}, {9, -16, 4, 15, -15, -4, 16, -9},
    {6, -16, 16, -6, -6, 16, -16, 6}, {4, -9, 15, -16, 16, -15, 9, -4},
};
static const int8_t vc1_4[4][4] = {{17, 17, 17, 17}, {22, 10, -10, -22}, {17, -17, -17, 17}, {10, -22, 22, -10}};

static int32_t vc1_sample(const int32_t *in, unsigned size, unsigned at) {
    int32_t sum = 0;
    for (unsigned u = 0; u < size; u++) {
        sum += in[u] * (size == 8 ? vc1_8[u][at] : vc1_4[u][at]);
    }
    return sum;
}

void g4_vc1_transform(int16_t *block, size_t stride, unsigned columns, unsigned rows) {
    int32_t half[8][8], in[8];

    for (unsigned y = 0; y < rows; y++) {
        for (unsigned x = 0; x < columns; x++) {
            in[x] = block[y * stride + x];
        }
        for (unsigned x = 0; x < columns; x++) {
            half[y][x] = (vc1_sample(in, columns, x) + 4) >> 3;
        }
    }
    for (unsigned x = 0; x < columns; x++) {
        for (unsigned y = 0; y < rows; y++) {
            in[y] = half[y][x];
        }
        for (unsigned y = 0; y < rows; y++) {
            const int32_t one = rows == 8 && y >= 4;
            block[y * stride + x] = (int16_t)((vc1_sample(in, rows, y) + 64 + one) >> 7);
        }
    }
}

void g4_vc1_smooth(int16_t *left, int16_t *right) {
    for (int y = 0; y < 8; y++) {
        int16_t *const l = left + 8 * y + 6, *const r = right + 8 * y;
        const int32_t x0 = l[0], x1 = l[1], x2 = r[0], x3 = r[1];
        const int32_t r0 = y % 2 ? 3 : 4, r1 = 7 - r0;
        l[0] = (int16_t)((7 * x0 + x3 + r0) >> 3);
        l[1] = (int16_t)((-x0 + 7 * x1 + x2 + x3 + r1) >> 3);
        r[0] = (int16_t)((x0 + x1 + 7 * x2 - x3 + r0) >> 3);
        r[1] = (int16_t)((x0 + 7 * x3 + r1) >> 3);
    }
}
