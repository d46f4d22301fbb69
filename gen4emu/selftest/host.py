"""The facts about a host on which results could depend, to paste into a bug report."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

import gen4emu
from gen4emu._native import lib

VARIANTS = ("128 bits", "AVX2", "AVX-512")  # by enum g4_variant

# Features of x86 that the core chooses by, or that change how floating point behaves.
_FEATURES = ("avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl",
             "avx512_vbmi", "avx512_vbmi2", "gfni", "hypervisor")
_PACKAGES = ("numpy", "cffi", "click", "pillow")


def facts() -> dict[str, str]:
    """Names and values, in the order in which they are shown."""
    cpu = _cpu()
    features = [name for name in _FEATURES if name in cpu.get("flags", "").split()]
    return {
        "gen4emu": gen4emu.__version__,
        "vectors": VARIANTS[lib.g4_variant_current()],
        "kernels": back_end(),
        "processor": f"{cpu.get('model name', platform.machine())}, {len(os.sched_getaffinity(0))} usable",
        "features": " ".join(features) or "-",
        "microcode": cpu.get("microcode", "-"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}, {' '.join(platform.libc_ver())}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
    }


def back_end() -> str:
    """How the core executes kernels."""
    variant = lib.g4_variant_current()
    return f"{VARIANTS[variant]} machine code" if variant else "interpreted"


def _cpu() -> dict[str, str]:
    """The first processor of /proc/cpuinfo; empty where it cannot be read."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "?"
