/* A device, its queue and a program, for the OpenCL clients. */
#ifndef CLIENTS_OPENCL_DEVICE_H
#define CLIENTS_OPENCL_DEVICE_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static void check(cl_int status, const char *what) {
    if (status != CL_SUCCESS) {
        (void)fprintf(stderr, "%s: %d\n", what, status);
        exit(1);
    }
}

/* Build the program of a text for a device. */
static void start(cl_device_id device, const char *text) {
    cl_int status;

    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
}

#endif
