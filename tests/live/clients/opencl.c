/*
 * OpenCL kernels with results that are exact: prints each kernel's name, and "right" or the first wrong element.
 *
 * Integers, floats, doubles and half floats, local memory with barriers, atomics, branches that diverge, private
 * arrays, images with a sampler.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_device.h"

enum {
    ITEMS = 1000,
    GROUP = 40,
    SIDE = 16
};

static const char source[] =
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "kernel void words(global const int *a, global const int *b, global long *to) {\n"
    "    size_t i = get_global_id(0);\n"
    "    to[i] = add_sat((long)a[i] << 31, (long)b[i] << 40) ^ upsample(a[i], (uint)b[i]);\n"
    "}\n"
    "kernel void doubles(global const int *a, global const int *b, global double *to) {\n"
    "    size_t i = get_global_id(0);\n"
    "    to[i] = (double)a[i] / (b[i] ? b[i] : 3) + sqrt((double)abs(a[i]));\n"
    "}\n"
    "kernel void branches(global const int *a, global const int *b, global long *to) {\n"
    "    size_t i = get_global_id(0);\n"
    "    uint n = a[i] & 1023, steps = 0;\n"
    "    while (n > 1) {\n"
    "        n = n & 1 ? 3 * n + 1 : n / 2;\n"
    "        if (++steps > 60) break;\n"
    "    }\n"
    "    switch (b[i] & 3) {\n"
    "    case 0: steps += 1000; break;\n"
    "    case 1: steps *= 2; break;\n"
    "    case 2: if (steps < 20) { steps = 5; } break;\n"
    "    }\n"
    "    to[i] = steps;\n"
    "}\n"
    "kernel void group(global const int *a, global const int *b, global long *to, local int *shared) {\n"
    "    size_t l = get_local_id(0), n = get_local_size(0);\n"
    "    shared[l] = a[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    local int *sum = shared + n;\n"
    "    if (l == 0) *sum = 0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    atomic_add(sum, shared[l]);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[get_global_id(0)] = (long)shared[n - 1 - l] + 3L * *sum;\n"
    "}\n"
    "kernel void private_array(global const int *a, global const int *b, global long *to) {\n"
    "    size_t i = get_global_id(0);\n"
    "    int values[16];\n"
    "    for (int k = 0; k < 16; k++) values[k] = a[i] * k;\n"
    "    to[i] = values[b[i] & 15] - values[(a[i] >> 3) & 15];\n"
    "}\n"
    "kernel void image(read_only image2d_t from, write_only image2d_t to) {\n"
    "    const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    uint4 texel = read_imageui(from, nearest, at - 1);\n"
    "    write_imageui(to, at, texel.wzyx + (uint4)(1, 2, 3, 4));\n"
    "}\n";

static cl_kernel kernel_named(const char *name) {
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, name);
    return kernel;
}

/* ---- kernels on arrays ---- */

static int32_t a[ITEMS], b[ITEMS];

static int64_t add_saturated(int64_t x, int64_t y) {
    int64_t sum;
    return __builtin_add_overflow(x, y, &sum) ? (x < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int64_t words(int i) {
    const int64_t joined = (int64_t)((uint64_t)(uint32_t)a[i] << 32 | (uint32_t)b[i]);
    return add_saturated((int64_t)((uint64_t)(int64_t)a[i] << 31), (int64_t)((uint64_t)(int64_t)b[i] << 40)) ^ joined;
}

static int64_t doubles(int i) {
    const double d = (double)a[i] / (b[i] ? b[i] : 3) + sqrt(fabs((double)a[i]));
    int64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static int64_t branches(int i) {
    uint32_t n = a[i] & 1023, steps = 0;
    while (n > 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        if (++steps > 60) {
            break;
        }
    }
    switch (b[i] & 3) {
    case 0:
        return steps + 1000;
    case 1:
        return steps * 2;
    case 2:
        return steps < 20 ? 5 : steps;
    default:
        return steps;
    }
}

static int64_t group(int i) {
    const int first = i / GROUP * GROUP;
    int32_t sum = 0;
    for (int k = 0; k < GROUP; k++) {
        sum = (int32_t)((uint32_t)sum + (uint32_t)a[first + k]);
    }
    return (int64_t)a[first + GROUP - 1 - (i - first)] + 3 * (int64_t)sum;
}

static int64_t private_array(int i) {
    const int32_t x = (int32_t)((uint32_t)a[i] * (uint32_t)(b[i] & 15));
    const int32_t y = (int32_t)((uint32_t)a[i] * (uint32_t)(a[i] >> 3 & 15));
    return (int32_t)((uint32_t)x - (uint32_t)y);
}

static void run(const char *name, int64_t (*expected)(int), size_t local_bytes) {
    static int64_t found[ITEMS];
    const size_t items = ITEMS, size = GROUP;
    cl_int status;
    cl_kernel kernel = kernel_named(name);
    cl_mem in[2] = {clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof a, a, &status),
                    clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof b, b, &status)};
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof found, NULL, &status);

    check(status, "clCreateBuffer");
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &in[0]);
    clSetKernelArg(kernel, 1, sizeof(cl_mem), &in[1]);
    clSetKernelArg(kernel, 2, sizeof(cl_mem), &out);
    if (local_bytes) {
        clSetKernelArg(kernel, 3, local_bytes, NULL);
    }
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &size, 0, NULL, NULL), name);
    check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (int i = 0; i < ITEMS; i++) {
        if (found[i] != expected(i)) {
            printf("%s: item %d is 0x%llx, not 0x%llx\n", name, i, (unsigned long long)found[i],
                   (unsigned long long)expected(i));
            return;
        }
    }
    printf("%s: right\n", name);
}

/* ---- images ---- */

static void run_image(void) {
    uint8_t texels[SIDE][SIDE][4], found[SIDE][SIDE][4];
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc what = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
    const size_t origin[3] = {0}, size[3] = {SIDE, SIDE, 1};
    cl_int status;
    cl_kernel kernel = kernel_named("image");

    for (int i = 0; i < (int)sizeof texels; i++) {
        ((uint8_t *)texels)[i] = (uint8_t)(i * 7 % 200);
    }
    cl_mem from = clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &what, texels, &status);
    check(status, "clCreateImage");
    cl_mem to = clCreateImage(context, CL_MEM_WRITE_ONLY, &format, &what, NULL, &status);
    check(status, "clCreateImage");
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &from);
    clSetKernelArg(kernel, 1, sizeof(cl_mem), &to);
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, size, NULL, 0, NULL, NULL), "image");
    check(clEnqueueReadImage(queue, to, CL_TRUE, origin, size, 0, 0, found, 0, NULL, NULL), "clEnqueueReadImage");
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            const uint8_t *const texel = texels[y ? y - 1 : 0][x ? x - 1 : 0];
            for (int c = 0; c < 4; c++) {
                if (found[y][x][c] != texel[3 - c] + c + 1) {
                    printf("image: channel %d of %d, %d is %d, not %d\n", c, x, y, found[y][x][c],
                           texel[3 - c] + c + 1);
                    return;
                }
            }
        }
    }
    printf("image: right\n");
}

int main(void) {
    cl_platform_id platform;
    cl_device_id device;
    uint32_t state = 1;

    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL), "clGetDeviceIDs");
    for (int i = 0; i < ITEMS; i++) {
        state = state * 1664525 + 1013904223;
        a[i] = (int32_t)state >> (i % 3 * 8);
        state = state * 1664525 + 1013904223;
        b[i] = (int32_t)state >> (i % 5 * 6);
    }
    start(device, source);
    run("words", words, 0);
    run("doubles", doubles, 0);
    run("branches", branches, 0);
    run("group", group, (GROUP + 1) * sizeof(int32_t));
    run("private_array", private_array, 0);
    run_image();
    return 0;
}
