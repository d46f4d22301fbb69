"""Memory of machine code is never writable and executable at once (native/eu/jit/code_memory.c)."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gen4emu._native import lib

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.skipif(int(lib.g4_variant_best()) == 0, reason="kernels of this host are never machine code"),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="the filter has the system calls of x86-64"),
]

# Draw on several threads until the kernel is machine code.  If its pages were ever writable and executable, the filter
# would refuse them, and the kernel would be interpreted.
DRAW = """
from gen4emu.device.options import Options
from tests.eu import test_code_pages as here
from tests.harness.scene import draw
from tests.harness.scene import Scene

scene = Scene(width=1024, height=1024, options=Options(workers=4))
before = here.executable_pages()
here.refuse_writable_code()
draw(scene, 1024.0, 20)
print(here.executable_pages() - before)
"""

MPROTECT, MMAP, PKEY_MPROTECT = 10, 9, 329  # numbers of x86-64
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
SECCOMP_MODE_FILTER = 2
RET_ALLOW, RET_ERRNO = 0x7FFF0000, 0x00050000
LOAD, AND, JUMP_IF_EQUAL, RETURN = 0x20, 0x54, 0x15, 0x06  # of classic BPF
NUMBER, THIRD_ARGUMENT = 0, 32  # offsets in struct seccomp_data


def refuse_writable_code() -> None:
    """From now on, this thread and those that it starts can neither map nor make memory writable and executable."""
    both = mmap.PROT_WRITE | mmap.PROT_EXEC
    program = [(LOAD, 0, 0, NUMBER),
               (JUMP_IF_EQUAL, 2, 0, MMAP), (JUMP_IF_EQUAL, 1, 0, MPROTECT), (JUMP_IF_EQUAL, 0, 3, PKEY_MPROTECT),
               (LOAD, 0, 0, THIRD_ARGUMENT), (AND, 0, 0, both), (JUMP_IF_EQUAL, 1, 0, both),
               (RETURN, 0, 0, RET_ALLOW), (RETURN, 0, 0, RET_ERRNO | errno.EPERM)]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    text = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) == 0, os.strerror(ctypes.get_errno())


def executable_pages() -> int:
    """The pages of executable memory that belongs to no file; none may be writable."""
    pages = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, access, *_ = line.split()
        assert not ("w" in access and "x" in access), line
        if "x" in access and len(line.split()) == 5:
            start, end = addresses.split("-")
            pages += (int(end, 16) - int(start, 16)) // mmap.PAGESIZE
    return pages


def child(code: str, **more: str) -> str:
    """The output of a Python process, which finds the package where this one does."""
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": path, **more})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("variant", ["avx2", "avx512"][:int(lib.g4_variant_best())])
def test_kernels_are_translated_where_no_memory_may_be_writable_and_executable(variant: str) -> None:
    assert int(child(DRAW, GEN4EMU_VARIANT=variant)) > 0


@pytest.mark.parametrize("made", ["mmap.mmap(-1, 4096, prot=7)", "libc.mprotect(address, 4096, 7)"])
def test_the_filter_of_these_tests_refuses_such_memory(made: str) -> None:
    code = ("import ctypes, mmap\nfrom tests.eu.test_code_pages import refuse_writable_code\n"
            "libc = ctypes.CDLL(None)\nmemory = mmap.mmap(-1, 4096)\n"
            "address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))\n"
            f"refuse_writable_code()\ntry:\n    print({made})\nexcept OSError as e:\n    print(-1)\n")
    assert child(code) == "-1"
