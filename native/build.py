"""Builds the C core and the shim.

The core is the extension module `gen4emu._native`, made by cffi in API mode from the headers of API; the
shim is a library of its own, gen4emu/live/libgen4emu-shim.so, which does not depend on Python.
A build in place also makes `gen4emu._harness`, the core once more with native/harness, for tests and benchmarks.

setup.py names the ffibuilders and uses `Compilations` and `Shim` below.  By hand: `python native/build.py` builds
in place for developers; `python native/build.py --sanitize --output DIR` makes DIR/gen4emu, the package with a core and
a shim that check themselves.

MAX_JOBS=N limits how many compilers run at the same time.  CFLAGS=-g adds full debugging information.
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
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import cffi
from setuptools.errors import CompileError

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "native"
GENERATED = NATIVE / "generated"
NOT_THE_CORE = {"shim", "gl", "generated", "harness"}  # the shim and its companion are libraries of their own

# The headers that Python sees, each after those that it needs.
API = ["api/status.h", "api/variant.h", "api/memory.h", "api/tiling.h", "api/picture.h", "api/blake3.h", "api/png.h",
       "api/state.h", "api/device.h", "api/streamer.h", "api/counters.h", "api/mesh.h",
       "api/debugger.h", "api/media.h", "api/blitter.h", "api/video_enhancement.h", "api/live.h", "api/checkpoint.h",
       "api/sandbox.h", "shim/protocol.h"]
HARNESS_API = ["api/harness.h"]
HARNESS = "gen4emu._harness"  # the name of its module

# Sources that are compiled once more for each of VECTOR_LEVELS (core/variant.h).
VARIANTS = ["color/blend_store.c", "color/blend_wide.c", "color/depth.c", "color/fill_rows.c", "core/texel_rows.c",
            "core/tile_copy.c", "eu/fast/double.c", "eu/fast/float.c", "eu/fast/int.c", "eu/fast/quad.c",
            "eu/math_ops.c", "geometry/edges.c", "image/blake3.c", "image/png_tokens.c", "raster/barycentrics.c",
            "sampler/bilinear.c", "sampler/formats.c", "sampler/inner_loops.c"]
VECTOR_LEVELS = ["avx2", "avx512"]

# Headers that are derived from descriptions in Python: file name -> module with `generate() -> str`, or the module and
# another function.
DERIVED = {"enums.h": "gen4emu.core_enums", "hw_enums.h": "gen4emu.hw.c_header:enumerations",
           "hw_messages.h": "gen4emu.hw.c_header:messages", "hw_state.h": "gen4emu.hw.c_header:state",
           "hw_formats.h": "gen4emu.hw.formats_c", "sampler_messages.h": "gen4emu.hw.message_shapes_c",
           "chips.h": "gen4emu.hw.chips", "isa.h": "gen4emu.isa.c_header",
           "isa_gen7.h": "gen4emu.isa.gen7_c", "isa_gen9.h": "gen4emu.isa.gen9_c", "mpeg2.h": "gen4emu.hw.mpeg2_c",
           "state_gen7.h": "gen4emu.hw.gen7.c_header:state", "messages_gen7.h": "gen4emu.hw.gen7.c_header:messages",
           "state_gen9.h": "gen4emu.hw.gen9.c_header:state", "messages_gen9.h": "gen4emu.hw.gen9.c_header:messages"}

# Equal bits everywhere: no fused multiply-add, no instructions beyond the platform's baseline (variant.h chooses
# those when the program runs).  Guest memory and registers have no C type, hence no aliasing rules.
COMPILE = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-fvisibility=hidden",
           "-pthread", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Wno-psabi"]
LINK = ["-pthread"]
# Names and lines for backtraces.  Full debugging information, the default of most Python builds, takes a third of the
# build time.
DEBUG = ["-g1"]
# GCC copies and clears structs of some hundred bytes with `rep movs` and `rep stos`, whose start-up costs more than the
# work itself.
STRATEGIES = [f"-mmem{what}-strategy=vector_loop:1024:noalign,libcall:-1:noalign" for what in ("cpy", "set")]
# -fno-wrapv: many Python builds pass -fwrapv, which would hide signed overflow.
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-wrapv", "-fno-omit-frame-pointer",
            "-O1", "-g"]

# The shim is loaded into arbitrary programs: it exports its hooks only, and needs libc only.  It is built without
# AddressSanitizer, which must be loaded first: tests run it under valgrind instead.
SHIM = Path("live", "libgen4emu-shim.so")
SHIM_32 = Path("live", "libgen4emu-shim-32.so")  # for programs of 32 bits, where the compiler can make such
GL = Path("live", "libgen4emu-gl.so")  # beside the shim, for `capture --gl`
GL_32 = Path("live", "libgen4emu-gl-32.so")
SHIM_COMPILE = ["-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-strict-aliasing", "-pthread",
                "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-U_FORTIFY_SOURCE"]
SHIM_LINK = ["-Wl,-z,defs", "-Wl,-z,now", "-ldl"]
SHIM_COMPILE_32 = ["-m32", "-Wno-conversion"]  # lengths that were checked are narrowed everywhere
SHIM_SANITIZE = ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-static-libubsan"]
SHIM_SHARES = ["core/tile_copy.c"]  # sources of the core

SECONDS_ON_ONE_CORE = 100

# Functions of Python that the core calls: native/api/debugger.h has their types.
CALLBACKS = 'extern "Python" uint32_t gen4emu_debug_event(void *, const struct g4_debug_event *);'


def sources() -> list[Path]:
    """Every C file of the core: new files are found by themselves."""
    return sorted(p for p in NATIVE.rglob("*.c") if not NOT_THE_CORE & set(p.relative_to(NATIVE).parts))


def harness_sources() -> list[Path]:
    return sorted((NATIVE / "harness").glob("*.c"))


def headers() -> list[Path]:
    return sorted(NATIVE.rglob("*.h"))


def write_if_changed(path: Path, text: str) -> None:
    """Write a file unless it has this text already, so that its time stays."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def derived(name: str) -> str:
    """The text of one of the DERIVED headers."""
    module, _, function = DERIVED[name].partition(":")
    sys.path.insert(0, str(ROOT))
    try:
        return str(getattr(import_module(module), function or "generate")())
    finally:
        sys.path.remove(str(ROOT))


class DescriptionError(Exception):
    """A description in Python of which no header can be made."""


def write_derived_headers(folder: Path) -> None:
    """Bring the headers in FOLDER up to date with the descriptions in Python."""
    for name in DERIVED:
        try:
            text = derived(name)
        except (KeyError, ValueError) as e:  # what descriptions raise themselves
            frame = traceback.extract_tb(e.__traceback__)[-1]
            place = os.path.relpath(frame.filename, ROOT)
            what = e.args[0] if e.args else type(e).__name__
            raise DescriptionError(f"{name}: {what} ({place}:{frame.lineno})") from e
        write_if_changed(folder / name, text)


def write_variants(folder: Path) -> list[Path]:
    """Write FOLDER/variants: for each source and vector level a file that compiles the source for that level."""
    written = []
    for source in VARIANTS:
        for level in VECTOR_LEVELS:
            path = folder / "variants" / f"{source.removesuffix('.c').replace('/', '_')}_{level}.c"
            write_if_changed(path, f'#include "core/variant_begin_{level}.h"\n#ifdef G4_VARIANT_SUFFIX\n'
                                   f'#include "{source}"\n#endif\n#include "core/variant_end.h"\n')
            written.append(path)
    return written


def without_directives(text: str) -> str:
    """A header as cffi takes it: without preprocessor lines."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def declarations(names: list[str]) -> str:
    """The declarations of these headers below native/, for cffi."""
    return "\n".join(without_directives((NATIVE / name).read_text(encoding="utf-8")) for name in names)


def ffibuilder() -> cffi.FFI:
    """The description of the core.  setup.py adds the derived headers and `compiler_flags()` when it compiles."""
    ffi = cffi.FFI()
    ffi.cdef(without_directives(derived("enums.h")) + declarations(API))
    ffi.cdef(CALLBACKS)
    _set_source(ffi, "gen4emu._native", API, sources())
    return ffi


def harness_ffibuilder() -> cffi.FFI:
    """The description of the harness.  It shares the types of the core's module, so that handles fit both.

    It is linked with a copy of the core, since an extension module shows no symbols to others.  The only variable of
    that copy is the choice of the vector variant: g4_harness_use_variant sets it.
    """
    ffi = cffi.FFI()
    ffi.include(ffibuilder())
    ffi.cdef(declarations(HARNESS_API))
    _set_source(ffi, HARNESS, [*API, *HARNESS_API], [*sources(), *harness_sources()])
    return ffi


def _set_source(ffi: cffi.FFI, module: str, interface: list[str], files: list[Path]) -> None:
    """INTERFACE: the headers that the module's own C file needs."""
    includes = [f'#include "{name}"' for name in interface]
    ffi.set_source(
        module,
        "\n".join([*includes, '#pragma GCC diagnostic ignored "-Wconversion"', ""]),
        sources=[str(p.relative_to(ROOT)) for p in files],
        include_dirs=["native"],
        depends=[str(p.relative_to(ROOT)) for p in headers()],
        extra_compile_args=COMPILE,
        extra_link_args=LINK + (SANITIZE if sanitizing() else []),
    )


def sanitizing() -> bool:
    return os.environ.get("GEN4EMU_SANITIZE", "") not in ("", "0")


def compiler_flags() -> list[str]:
    """Flags of the core that depend on the compiler or the environment."""
    return debug_flags() + _known(STRATEGIES) + (SANITIZE if sanitizing() else [])


def debug_flags() -> list[str]:
    """DEBUG, unless CFLAGS has a choice of its own."""
    return [] if any(flag.startswith("-g") for flag in shlex.split(os.environ.get("CFLAGS", ""))) else DEBUG


def without_paths(scratch: Path) -> list[str]:
    """Flags that keep the names of this directory and of a temporary one out of objects: equal sources, equal bytes."""
    return _known([f"-ffile-prefix-map={ROOT}=.", f"-ffile-prefix-map={scratch}=build"])


def jobs() -> int:
    """How many compilers run at the same time: MAX_JOBS, or as many as there are processors for this process."""
    wanted = os.environ.get("MAX_JOBS", "")
    if wanted and not (wanted.isdecimal() and int(wanted) > 0):
        raise CompileError(f"MAX_JOBS must be a number above 0: {wanted!r}")
    return int(wanted) if wanted else len(os.sched_getaffinity(0))


def slowest_first(source: str) -> tuple[bool, bool]:
    """A key for sorting: the slowest files start first, so that no processor waits for them at the end."""
    return "fast" not in source, "variants" not in source and "jit" not in source


def run_compiler(command: list[str]) -> None:
    """Run a compiler and print its warnings.  If it fails, the CompileError has the command and its messages."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                          errors="replace", check=False)
    if done.returncode != 0:
        raise CompileError(f"{shlex.join(command)}\n{done.stdout}")
    if done.stdout:
        print(done.stdout, end="", file=sys.stderr, flush=True)


class Compilations:
    """Several compilers at the same time; each file is reported when it is finished."""

    def __init__(self, files: int, at_once: int) -> None:
        seconds = max(10, SECONDS_ON_ONE_CORE // at_once // 10 * 10)
        print(f"compiling {files} files on {at_once} core{'s' if at_once > 1 else ''}, about {seconds} seconds",
              flush=True)
        self._files = files
        self._finished = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(at_once)

    def start(self, name: str, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        def work() -> Any:
            result = function(*arguments)
            with self._lock:
                self._finished += 1
                print(f"[{self._finished}/{self._files}] {name}", flush=True)
            return result

        return self._pool.submit(work)

    def __enter__(self) -> Compilations:
        return self

    def __exit__(self, *error: object) -> None:
        """After an error, compilations that have not started are cancelled."""
        self._pool.shutdown(cancel_futures=True)


def shim_sources(library: Path) -> list[Path]:
    """The sources of the shim, or of its companion for OpenGL."""
    if library in (GL, GL_32):
        return sorted((NATIVE / "gl").rglob("*.c"))
    return sorted((NATIVE / "shim").rglob("*.c")) + [NATIVE / name for name in SHIM_SHARES]


def replace_file(built: Path, target: Path) -> None:
    """Replace a library by renaming: a running process may have mapped the old one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(".new")
    shutil.copy2(built, fresh)
    fresh.replace(target)


class Shim:
    """The shim and its companion, for programs of 64 bits and, if the compiler supports it, of 32 bits."""

    def __init__(self, scratch: Path, generated: Path, flags: Sequence[str] = ()) -> None:
        compiler = _compiler()
        common = [*compiler, *SHIM_COMPILE, *debug_flags(), *flags, "-I", str(NATIVE), "-I", str(generated)]
        self._commands = {library: [*common, *(SHIM_SANITIZE if sanitizing() else [])] for library in (SHIM, GL)}
        if _makes_32_bits(compiler):
            self._commands |= {library: [*common, *SHIM_COMPILE_32] for library in (SHIM_32, GL_32)}
        self._scratch = scratch
        self._objects: list[Future[Any]] = []

    @property
    def files(self) -> int:
        return sum(len(shim_sources(library)) for library in self._commands)

    def start(self, compilations: Compilations) -> None:
        for library, command in self._commands.items():
            for source in shim_sources(library):
                self._object(library, source).parent.mkdir(parents=True, exist_ok=True)
                name = f"{source.relative_to(ROOT)}{' (32 bits)' if library in (SHIM_32, GL_32) else ''}"
                self._objects.append(compilations.start(
                    name, run_compiler,
                    [*command, "-c", str(source), "-o", str(self._object(library, source))]))

    def finish(self, package: Path) -> None:
        """Wait for the compilations, and put the libraries into PACKAGE."""
        for started in self._objects:
            started.result()
        for library, command in self._commands.items():
            built = self._scratch / library.name
            objects = [str(self._object(library, source)) for source in shim_sources(library)]
            run_compiler([*command, *objects, "-o", str(built), *SHIM_LINK])
            replace_file(built, package / library)
        for library in {SHIM, SHIM_32, GL, GL_32} - self._commands.keys():
            (package / library).unlink(missing_ok=True)

    def _object(self, library: Path, source: Path) -> Path:
        return self._scratch / library.stem / source.relative_to(NATIVE).with_suffix(".o")


def _compiler() -> list[str]:
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(command[0]):
        raise CompileError(f"C compiler {command[0]!r} not found (Debian: apt-get install gcc libc6-dev python3-dev; "
                           "CC names another)")
    return command


def _known(flags: list[str]) -> list[str]:
    """These flags, if the compiler knows them."""
    return flags if _accepts([*_compiler(), *flags, "-Werror", "-c"], "int x;\n") else []


def _accepts(command: list[str], source: str) -> bool:
    done = subprocess.run([*command, "-xc", "-", "-o", os.devnull], input=source.encode(), capture_output=True,
                          check=False)
    return done.returncode == 0


def _makes_32_bits(compiler: list[str]) -> bool:
    """True if a C library and kernel headers for 32 bits are installed (Debian: gcc-multilib)."""
    if platform.machine() != "x86_64":
        return False
    source = "#include <errno.h>\n#include <stdlib.h>\nint x = ENOENT;\n"
    return _accepts([*compiler, "-m32", "-shared", "-fPIC"], source)


def build_into(output: Path, sanitize: bool) -> Path:
    """Compile as setup.py does, and put the modules and the shim into OUTPUT/gen4emu; the core's module."""
    write_derived_headers(GENERATED)  # setup.py does, too, but shows errors in descriptions with long tracebacks
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "setup.py", "-q", "build_ext", "--build-temp", f"{scratch}/temp",
                   "--build-lib", f"{scratch}/lib"]
        subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "GEN4EMU_SANITIZE": "1" if sanitize else "0"})
        for module in ("_harness", "_native"):
            (built,) = Path(scratch, "lib", "gen4emu").glob(f"{module}.*so")
            target = output / "gen4emu" / built.name
            replace_file(built, target)
        for shim in (SHIM, SHIM_32, GL, GL_32):
            if Path(scratch, "lib", "gen4emu", shim).exists():
                replace_file(Path(scratch, "lib", "gen4emu", shim), output / "gen4emu" / shim)
    return target


def build_core(scratch: Path) -> Path:
    """Compile the core alone, unoptimized, and put its module in place: for tests that change a copy of the tree."""
    write_derived_headers(GENERATED)
    module = GENERATED / "_native.c"
    ffibuilder().emit_c_code(str(module))
    files = [*sources(), *write_variants(GENERATED), module]
    command = [*_compiler(), *COMPILE, "-O0", "-w", "-fPIC", "-I", str(NATIVE), "-I", str(GENERATED),
               "-I", sysconfig.get_path("include")]
    objects = [scratch / f"{i}.o" for i in range(len(files))]
    with Compilations(len(files), jobs()) as compilations:
        started = [compilations.start(file.name, run_compiler, [*command, "-c", str(file), "-o", str(object_file)])
                   for file, object_file in zip(files, objects, strict=True)]
        for each in started:
            each.result()
    target = ROOT / "gen4emu" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    run_compiler([*_compiler(), "-shared", *(str(object_file) for object_file in objects), "-o", str(target), *LINK])
    return target


def main() -> None:
    """Errors that a change of the sources causes end it with a message instead of a traceback."""
    try:
        _main()
    except DescriptionError as e:
        sys.exit(f"native/build.py: {e}")
    except CompileError as e:
        sys.exit(f"native/build.py: error: {e}")
    except subprocess.CalledProcessError as e:
        sys.exit(f"native/build.py: setup.py ended with status {e.returncode}; its messages are above")


def _main() -> None:
    parser = argparse.ArgumentParser(description="Build the C core of gen4emu.")
    parser.add_argument("--sanitize", action="store_true", help="with AddressSanitizer and UBSan")
    parser.add_argument("--output", type=Path, default=ROOT,
                        help="make a copy of the package there, instead of building in place")
    parser.add_argument("--core", action="store_true", help="the core alone, in place and unoptimized")
    options = parser.parse_args()
    if options.core:
        with tempfile.TemporaryDirectory() as scratch:
            print(build_core(Path(scratch)))
        return
    if options.output.resolve() != ROOT:
        shutil.copytree(ROOT / "gen4emu", options.output / "gen4emu", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    elif options.sanitize:
        parser.error("--sanitize wants --output: a core in place that needs preloaded libraries breaks every tool")
    print(build_into(options.output.resolve(), options.sanitize))


if __name__ == "__main__":
    main()
