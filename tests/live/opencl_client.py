"""OpenCL programs of tests/live/clients, which run on Intel's unmodified compute driver."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from tests.live import real_client
from tests.live.real_client import CLIENTS

DRIVER = Path("/etc/OpenCL/vendors/intel.icd")  # where the OpenCL loader looks for drivers
KERNELS = ("saxpy", "matrix", "reduction", "bodies", "hash", "bytes")  # of kernels.c
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]


@cache
def missing() -> str:
    """Why OpenCL programs cannot run here; empty if they can."""
    if real_client.missing():
        return real_client.missing()
    if not DRIVER.exists():
        return "Intel's OpenCL driver is not installed"
    probe = "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\nint main(void) { return 0; }\n"
    done = subprocess.run(["gcc", "-xc", "-", "-o", os.devnull, "-lOpenCL"], input=probe.encode(),
                          capture_output=True, check=False)
    return "the OpenCL loader, or its headers, are not installed" if done.returncode else ""


@cache
def program(name: str) -> str:
    output = str(Path(mkdtemp(prefix="gen4emu-test-")) / name)
    subprocess.run(["gcc", *FLAGS, str(CLIENTS / f"{name}.c"), "-o", output, "-lOpenCL", "-lm"], check=True)
    return output


def environment() -> dict[str, str]:
    return real_client.environment(OCL_ICD_VENDORS=str(DRIVER))
