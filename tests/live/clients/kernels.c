/*
 * OpenCL kernels of usual programs, timed: `kernels [NAME ...]` prints for each kernel the milliseconds of the first
 * launch and of one of the others, and whether the results are right.
 *
 * Integers are compared exactly; floats with what the processor computes, within the error that OpenCL allows.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "opencl_device.h"

enum {
    LAUNCHES = 5,
    ITEMS = 1 << 16,
    GROUP = 64,
    TILE = 16,
    SIDE = 96,
    BODIES = 512,
    ROUNDS = 16,
};

static const char source[] =
    "kernel void saxpy(global const float *x, global float *y, float a) {\n"
    "    size_t i = get_global_id(0);\n"
    "    y[i] = a * x[i] + y[i];\n"
    "}\n"
    "kernel void matrix(global const float *a, global const float *b, global float *c) {\n"
    "    local float p[16][16], q[16][16];\n"
    "    const uint x = get_local_id(0), y = get_local_id(1);\n"
    "    const uint row = get_global_id(1), column = get_global_id(0), side = get_global_size(0);\n"
    "    float sum = 0;\n"
    "    for (uint t = 0; t < side; t += 16) {\n"
    "        p[y][x] = a[row * side + t + x];\n"
    "        q[y][x] = b[(t + y) * side + column];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (uint k = 0; k < 16; k++) sum += p[y][k] * q[k][x];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    c[row * side + column] = sum;\n"
    "}\n"
    "kernel void reduction(global const int *from, global int *to) {\n"
    "    local int part[64];\n"
    "    const uint l = get_local_id(0);\n"
    "    part[l] = from[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint s = 32; s; s >>= 1) {\n"
    "        if (l < s) part[l] += part[l + s];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (l == 0) to[get_group_id(0)] = part[0];\n"
    "}\n"
    "kernel void bodies(global const float4 *at, global float4 *force, uint count) {\n"
    "    const float4 me = at[get_global_id(0)];\n"
    "    float4 sum = 0;\n"
    "    for (uint k = 0; k < count; k++) {\n"
    "        const float4 other = at[k];\n"
    "        const float3 d = other.xyz - me.xyz;\n"
    "        const float near = dot(d, d) + 0.01f;\n"
    "        sum.xyz += d * (other.w / (near * sqrt(near)));\n"
    "    }\n"
    "    force[get_global_id(0)] = sum;\n"
    "}\n"
    "kernel void hash(global const ulong *from, global ulong *to, uint rounds) {\n"
    "    size_t i = get_global_id(0);\n"
    "    ulong h = from[i];\n"
    "    for (uint k = 0; k < rounds; k++) {\n"
    "        h ^= h >> 33;\n"
    "        h *= 0xff51afd7ed558ccdul;\n"
    "        h = rotate(h, 31ul) + i;\n"
    "    }\n"
    "    to[i] = h;\n"
    "}\n"
    "kernel void bytes(global const uchar4 *from, global uchar4 *to) {\n"
    "    size_t i = get_global_id(0);\n"
    "    const uchar4 c = from[i];\n"
    "    const uchar gray = (uchar)((77 * c.x + 150 * c.y + 29 * c.z) >> 8);\n"
    "    to[i] = (uchar4)(gray, add_sat(c.y, (uchar)40), max(c.z, c.x), c.w);\n"
    "}\n";

/* ---- kernels ---- */

struct job {
    const char *name;
    unsigned dimensions;
    size_t global[2], local[2];
    size_t input_bytes[2], output_bytes; /* a size of 0: no second input */
    int argument_count;                  /* of buffers; a number may follow */
    uint32_t number;                     /* 0: none */
    void (*fill)(uint32_t *in0, uint32_t *in1);
    int (*is_right)(const void *in0, const void *in1, const void *out);
};

static uint32_t random_state = 1;

static uint32_t random_bits(void) {
    random_state = random_state * 1664525 + 1013904223;
    return random_state ^ random_state >> 15;
}

static float random_float(void) {
    return (float)(int32_t)(random_bits() >> 8) / 0x1p23f - 1.0f;
}

static int is_near(float found, double expected, double scale) {
    return fabs(found - expected) <= 0x1p-18 * (fabs(expected) + scale);
}

static void fill_floats(uint32_t *in0, uint32_t *in1) {
    for (int i = 0; i < SIDE * SIDE; i++) {
        const float x = random_float(), y = random_float();
        memcpy(&in0[i], &x, sizeof x);
        memcpy(&in1[i], &y, sizeof y);
    }
}

static void fill_long_floats(uint32_t *in0, uint32_t *in1) {
    (void)in1;
    for (int i = 0; i < ITEMS; i++) {
        const float x = random_float();
        memcpy(&in0[i], &x, sizeof x);
    }
}

static void fill_bits(uint32_t *in0, uint32_t *in1) {
    (void)in1;
    for (int i = 0; i < ITEMS; i++) {
        in0[i] = random_bits();
    }
}

/* Launched LAUNCHES times, each of which adds to the output, which is zero at first. */
static int saxpy_is_right(const void *in0, const void *in1, const void *out) {
    const float *const x = in0, *const y = out;
    const float number = 1.5f;
    (void)in1;
    for (int i = 0; i < ITEMS; i++) {
        if (!is_near(y[i], (double)number * LAUNCHES * x[i], 1)) {
            return 0;
        }
    }
    return 1;
}

static int matrix_is_right(const void *in0, const void *in1, const void *out) {
    const float *const a = in0, *const b = in1, *const c = out;
    for (int row = 0; row < SIDE; row++) {
        for (int column = 0; column < SIDE; column++) {
            double sum = 0;
            for (int k = 0; k < SIDE; k++) {
                sum += (double)a[row * SIDE + k] * b[k * SIDE + column];
            }
            if (!is_near(c[row * SIDE + column], sum, SIDE)) {
                return 0;
            }
        }
    }
    return 1;
}

static int reduction_is_right(const void *in0, const void *in1, const void *out) {
    const uint32_t *const from = in0, *const to = out;
    (void)in1;
    for (int group = 0; group < ITEMS / GROUP; group++) {
        uint32_t sum = 0;
        for (int i = 0; i < GROUP; i++) {
            sum += from[group * GROUP + i];
        }
        if (to[group] != sum) {
            return 0;
        }
    }
    return 1;
}

static int bodies_is_right(const void *in0, const void *in1, const void *out) {
    const float(*const at)[4] = in0, (*const force)[4] = out;
    (void)in1;
    for (int i = 0; i < BODIES; i++) {
        double sum[3] = {0}, size = 0;
        for (int k = 0; k < BODIES; k++) {
            double d[3], near = 0.01;
            for (int c = 0; c < 3; c++) {
                d[c] = (double)at[k][c] - at[i][c];
                near += d[c] * d[c];
            }
            for (int c = 0; c < 3; c++) {
                sum[c] += d[c] * at[k][3] / (near * sqrt(near));
                size += fabs(d[c] * at[k][3] / (near * sqrt(near)));
            }
        }
        for (int c = 0; c < 3; c++) {
            if (!is_near(force[i][c], sum[c], 4 * size)) {
                return 0;
            }
        }
    }
    return 1;
}

static int hash_is_right(const void *in0, const void *in1, const void *out) {
    const uint64_t *const from = in0, *const to = out;
    (void)in1;
    for (uint64_t i = 0; i < ITEMS / 2; i++) {
        uint64_t h = from[i];
        for (int k = 0; k < ROUNDS; k++) {
            h ^= h >> 33;
            h *= UINT64_C(0xff51afd7ed558ccd);
            h = (h << 31 | h >> 33) + i;
        }
        if (to[i] != h) {
            return 0;
        }
    }
    return 1;
}

static int bytes_is_right(const void *in0, const void *in1, const void *out) {
    const uint8_t(*const from)[4] = in0, (*const to)[4] = out;
    (void)in1;
    for (int i = 0; i < ITEMS; i++) {
        const uint8_t *const c = from[i];
        const uint8_t expected[4] = {(uint8_t)((77 * c[0] + 150 * c[1] + 29 * c[2]) >> 8),
                                     (uint8_t)(c[1] > 215 ? 255 : c[1] + 40), c[2] > c[0] ? c[2] : c[0], c[3]};
        if (memcmp(to[i], expected, sizeof expected) != 0) {
            return 0;
        }
    }
    return 1;
}

static const struct job jobs[] = {
    {"saxpy", 1, {ITEMS}, {GROUP}, {4 * ITEMS}, 4 * ITEMS, 2, 0x3fc00000, fill_long_floats, saxpy_is_right},
    {"matrix",
     2,
     {SIDE, SIDE},
     {TILE, TILE},
     {4 * SIDE * SIDE, 4 * SIDE *SIDE},
     4 * SIDE *SIDE,
     3,
     0,
     fill_floats,
     matrix_is_right},
    {"reduction", 1, {ITEMS}, {GROUP}, {4 * ITEMS}, 4 * ITEMS / GROUP, 2, 0, fill_bits, reduction_is_right},
    {"bodies", 1, {BODIES}, {GROUP}, {4 * ITEMS}, 16 * BODIES, 2, BODIES, fill_long_floats, bodies_is_right},
    {"hash", 1, {ITEMS / 2}, {GROUP}, {4 * ITEMS}, 4 * ITEMS, 2, ROUNDS, fill_bits, hash_is_right},
    {"bytes", 1, {ITEMS}, {GROUP}, {4 * ITEMS}, 4 * ITEMS, 2, 0, fill_bits, bytes_is_right},
};

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static void run(const struct job *job) {
    static uint32_t in[2][ITEMS], out[ITEMS];
    const size_t inputs = job->input_bytes[1] ? 2 : 1;
    double first = 0, others = 0;
    cl_int status;
    cl_mem buffer[3];
    cl_kernel kernel = clCreateKernel(program, job->name, &status);

    check(status, job->name);
    memset(out, 0, sizeof out);
    job->fill(in[0], in[1]);
    for (cl_uint b = 0; b <= inputs; b++) {
        const size_t bytes = b < inputs ? job->input_bytes[b] : job->output_bytes;
        buffer[b] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, b < inputs ? in[b] : out, &status);
        check(status, "clCreateBuffer");
        check(clSetKernelArg(kernel, b, sizeof(cl_mem), &buffer[b]), "clSetKernelArg");
    }
    if (job->number) {
        check(clSetKernelArg(kernel, (cl_uint)job->argument_count, sizeof job->number, &job->number), "clSetKernelArg");
    }
    for (int launch = 0; launch < LAUNCHES; launch++) {
        const double start = milliseconds();
        check(clEnqueueNDRangeKernel(queue, kernel, job->dimensions, NULL, job->global, job->local, 0, NULL, NULL),
              job->name);
        check(clFinish(queue), "clFinish");
        *(launch == 0 ? &first : &others) += milliseconds() - start;
    }
    check(clEnqueueReadBuffer(queue, buffer[inputs], CL_TRUE, 0, job->output_bytes, out, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    printf("%s: first %.3f ms, others %.3f ms: %s\n", job->name, first, others / (LAUNCHES - 1),
           job->is_right(in[0], in[1], out) ? "right" : "wrong");
    for (cl_uint b = 0; b <= inputs; b++) {
        clReleaseMemObject(buffer[b]);
    }
    clReleaseKernel(kernel);
}

int main(int argc, char **argv) {
    cl_platform_id platform;
    cl_device_id device;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL), "clGetDeviceIDs");
    start(device, source);
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        int chosen = argc < 2;
        for (int i = 1; i < argc; i++) {
            chosen |= strcmp(argv[i], jobs[j].name) == 0;
        }
        if (chosen) {
            run(&jobs[j]);
        }
    }
    return 0;
}
