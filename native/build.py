"""Builds the C core and the shim.

The core is the extension module `gen4emu._native`, made by cffi in API mode from border.h and shim/protocol.h; the shim
is a library of its own, gen4emu/live/libgen4emu-shim.so, which knows nothing of Python.

setup.py names `ffibuilder()` and calls `build_shim()` below.  By hand: `python native/build.py` builds in place for
developers; `python native/build.py --sanitize --output DIR` makes DIR/gen4emu, the package with a core and a shim that
check themselves.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import import_module
from pathlib import Path

import cffi

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "native"
GENERATED = NATIVE / "generated"
NOT_THE_CORE = {"shim", "generated"}  # the shim is a library of its own

# Headers that are derived from the hardware descriptions: file name -> module with `generate() -> str`.
DERIVED = {"hw.h": "gen4emu.hw.c_header", "isa.h": "gen4emu.isa.c_header", "mpeg2.h": "gen4emu.hw.mpeg2_c"}

# The same bits everywhere: no fused multiply-add, no instructions beyond the platform's baseline (variant.h chooses
# those when the program runs).  Guest memory and registers have no C type, hence no aliasing rules.
COMPILE = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-fvisibility=hidden",
           "-pthread", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Wno-psabi"]
LINK = ["-pthread"]
# GCC's own choice for structs of some hundred bytes, `rep stos` and `rep movs`, takes longer to start than to do.
STRATEGIES = [f"-mmem{what}-strategy=vector_loop:1024:noalign,libcall:-1:noalign" for what in ("cpy", "set")]
# -fno-wrapv: many builds of Python hand down -fwrapv, with which signed overflow would not be reported.
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-wrapv", "-fno-omit-frame-pointer",
            "-O1", "-g"]

# The shim is loaded into programs that know nothing of it: it shows its hooks only, and needs libc only.  No
# AddressSanitizer, which wants to be loaded first: valgrind looks after its memory.
SHIM = Path("live", "libgen4emu-shim.so")
SHIM_32 = Path("live", "libgen4emu-shim-32.so")  # for programs of 32 bits, where the compiler can make such
SHIM_COMPILE = ["-std=c11", "-O2", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-strict-aliasing", "-pthread",
                "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-U_FORTIFY_SOURCE"]
SHIM_LINK = ["-Wl,-z,defs", "-Wl,-z,now", "-ldl"]
SHIM_COMPILE_32 = ["-m32", "-Wno-conversion"]  # lengths that were checked are narrowed everywhere
SHIM_SANITIZE = ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-static-libubsan"]
SHIM_SHARES = ["tile_copy.c"]  # sources of the core

# Functions of Python that the core calls: native/border.h has their types.
CALLBACKS = 'extern "Python" uint32_t gen4emu_debug_event(void *, const struct g4_debug_event *);'

# What only cffi's own generated file needs.
GLUE = '#include "border.h"\n#include "shim/protocol.h"\n#pragma GCC diagnostic ignored "-Wconversion"\n'


def sources() -> list[Path]:
    """Every C file of the core; a new file takes part by being there."""
    return sorted(p for p in NATIVE.rglob("*.c") if not NOT_THE_CORE & set(p.relative_to(NATIVE).parts))


def headers() -> list[Path]:
    return sorted(NATIVE.rglob("*.h"))


def write_derived_headers() -> None:
    """Bring native/generated up to date with the descriptions.  An unchanged file keeps its time."""
    sys.path.insert(0, str(ROOT))
    try:
        for name, module in DERIVED.items():
            text = import_module(module).generate()
            path = GENERATED / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                GENERATED.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    finally:
        sys.path.remove(str(ROOT))


def declarations() -> str:
    """border.h and the shim's protocol as cffi wants them: without preprocessor lines."""
    lines = [line for name in ("border.h", "shim/protocol.h")
             for line in (NATIVE / name).read_text(encoding="utf-8").splitlines()]
    return "\n".join(line for line in lines if not line.startswith("#"))


def ffibuilder() -> cffi.FFI:
    """The description of the extension; writes the derived headers on the way."""
    sanitize = os.environ.get("GEN4EMU_SANITIZE", "") not in ("", "0")
    write_derived_headers()
    extra = SANITIZE if sanitize else []
    ffi = cffi.FFI()
    ffi.cdef(declarations())
    ffi.cdef(CALLBACKS)
    ffi.set_source(
        "gen4emu._native",
        GLUE,
        sources=[str(p.relative_to(ROOT)) for p in sources()],
        include_dirs=["native", "native/generated"],
        depends=[str(p.relative_to(ROOT)) for p in headers()],
        extra_compile_args=COMPILE + _known(STRATEGIES) + extra,
        extra_link_args=LINK + extra,
    )
    return ffi


def shim_sources() -> list[Path]:
    return sorted((NATIVE / "shim").glob("*.c")) + [NATIVE / name for name in SHIM_SHARES]


def replace_file(built: Path, target: Path) -> None:
    """Never write over a library that a running process has mapped."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(".new")
    shutil.copy2(built, fresh)
    fresh.replace(target)


def build_shim(package: Path, sanitize: bool = False) -> Path:
    """Compile the shim and put it into PACKAGE; also the one of 32 bits, if that can be done."""
    compiler = _compiler()
    _build_shim([*compiler, *SHIM_COMPILE, *(SHIM_SANITIZE if sanitize else [])], package / SHIM)
    if _makes_32_bits(compiler):
        _build_shim([*compiler, *SHIM_COMPILE, *SHIM_COMPILE_32], package / SHIM_32)
    else:
        (package / SHIM_32).unlink(missing_ok=True)
    return package / SHIM


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def _known(flags: list[str]) -> list[str]:
    """These flags, if the compiler knows them."""
    probe = [*_compiler(), *flags, "-Werror", "-c", "-xc", "-", "-o", os.devnull]
    done = subprocess.run(probe, input=b"int x;\n", capture_output=True, check=False)
    return flags if done.returncode == 0 else []


def _build_shim(command: list[str], target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        objects = []
        for source in shim_sources():
            objects.append(f"{scratch}/{source.stem}.o")
            subprocess.run([*command, "-c", "-I", str(NATIVE), str(source), "-o", objects[-1]], check=True)
        built = Path(scratch, target.name)
        subprocess.run([*command, *objects, "-o", str(built), *SHIM_LINK], check=True)
        replace_file(built, target)


def _makes_32_bits(compiler: list[str]) -> bool:
    """Whether there is a second C library (Debian: gcc-multilib)."""
    if platform.machine() != "x86_64":
        return False
    probe = [*compiler, "-m32", "-shared", "-fPIC", "-xc", "-", "-o", "/dev/null", "-ldl"]
    return subprocess.run(probe, input=b"#include <stdlib.h>\nint x = EXIT_SUCCESS;\n", capture_output=True,
                          check=False).returncode == 0


def build_into(output: Path, sanitize: bool) -> Path:
    """Compile as setup.py does, and put the module into OUTPUT/gen4emu, the shim with it."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "setup.py", "-q", "build_ext", "--build-temp", f"{scratch}/temp",
                   "--build-lib", f"{scratch}/lib"]
        subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "GEN4EMU_SANITIZE": "1" if sanitize else "0"})
        (built,) = Path(scratch, "lib", "gen4emu").glob("_native.*")
        target = output / "gen4emu" / built.name
        replace_file(built, target)
        for shim in (SHIM, SHIM_32):
            if Path(scratch, "lib", "gen4emu", shim).exists():
                replace_file(Path(scratch, "lib", "gen4emu", shim), output / "gen4emu" / shim)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the C core of gen4emu.")
    parser.add_argument("--sanitize", action="store_true", help="with AddressSanitizer and UBSan")
    parser.add_argument("--output", type=Path, default=ROOT,
                        help="make a copy of the package there, instead of building in place")
    options = parser.parse_args()
    if options.output.resolve() != ROOT:
        shutil.copytree(ROOT / "gen4emu", options.output / "gen4emu", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__", "_native*"))
    elif options.sanitize:
        parser.error("--sanitize wants --output: a core in place that needs preloaded libraries breaks every tool")
    print(build_into(options.output.resolve(), options.sanitize))


if __name__ == "__main__":
    main()
