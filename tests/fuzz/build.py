"""Builds the targets of native/ with clang's libFuzzer, AddressSanitizer and UBSan."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent / "native"
COMPILE = ["-std=c11", "-O1", "-g1", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-pthread",
           "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION"]
CHECKED = ["-fsanitize=address,undefined"]
# Comparisons are not traced: 40 % of the time, and the seeds have the numbers of the hardware already.
COVERED = ["-fsanitize=fuzzer-no-link,address,undefined", "-fno-sanitize-coverage=trace-cmp"]
LINK = ["-fsanitize=fuzzer,address,undefined", "-pthread"]


@dataclass(frozen=True, slots=True)
class Program:
    source: str  # below native/
    flags: tuple[str, ...] = ()
    # The sources whose edges guide the search, by how their paths below native/ begin; the others have the sanitizers
    # only.  libFuzzer looks at the counter of every edge after each execution, which takes longer than many an input.
    covers: tuple[str, ...] = ()  # none: all


PROGRAMS = {
    "kernel": Program("kernel.c"),
    "machine_code": Program("kernel.c", ("-DMACHINE_CODE",)),
    "scene": Program("scene.c"),
    "message": Program("message.c"),
    "decode": Program("decode.c", covers=("eu/decode", "eu/fast/prepare", "eu/halves", "eu/kernel", "eu/not_finite",
                                          "eu/row_set", "eu/start_state", "eu/uniform")),
    "commands": Program("commands.c", covers=("blitter/", "core/memory", "core/far_pages", "core/physical",
                                              "core/tiling", "draw/streamer", "draw/memory_use")),
}


def native_build() -> ModuleType:
    """native/build.py, which knows the sources of the core."""
    spec = importlib.util.spec_from_file_location("native_build", ROOT / "native" / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def clang() -> str | None:
    """clang, if it has libFuzzer."""
    compiler = shutil.which("clang")
    if compiler is None:
        return None
    done = subprocess.run([compiler, *LINK, "-xc", "-", "-o", "/dev/null"], capture_output=True, check=False,
                          input=b"int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return 0; }")
    return compiler if done.returncode == 0 else None


def build(folder: Path, jobs: int = 0) -> dict[str, Path]:
    """Build all programs into FOLDER; objects that are newer than every source stay."""
    native = native_build()
    compiler = clang()
    if compiler is None:
        raise RuntimeError("clang with libFuzzer was not found (Debian: apt-get install clang)")
    generated = folder / "generated"
    native.write_derived_headers(generated)
    sources = [*native.sources(), *native.harness_sources(), *native.write_variants(generated)]
    newest = max(path.stat().st_mtime for path in [*native.headers(), *generated.glob("*.h")])
    command = [*_cached(compiler), *COMPILE, "-I", str(native.NATIVE), "-I", str(generated)]
    compiled: list[tuple[Path, Path, list[str]]] = []  # target, source, flags
    objects: dict[str, list[Path]] = {}
    for name, program in PROGRAMS.items():
        target = folder / "objects" / f"{name}.o"
        compiled.append((target, HERE / program.source, [*COVERED, *program.flags, "-Wall", "-Wextra", "-Werror"]))
        objects[name] = [target]
        for source in sources:
            covered = is_covered(program, source, native.NATIVE)
            flags = [*(COVERED if covered else CHECKED), "-w"]  # of the core, the warnings of the usual build count
            place = "objects" if covered else "checked"
            objects[name].append(folder / place / f"{source.relative_to(source.anchor)}.o")
            each = objects[name][-1], source, flags
            if each not in compiled and not _is_newer(each[0], source, newest):
                compiled.append(each)
    with native.Compilations(len(compiled), jobs or native.jobs()) as compilations:
        started = []
        for target, source, flags in compiled:
            target.parent.mkdir(parents=True, exist_ok=True)
            started.append(compilations.start(
                source.name, native.run_compiler, [*command, *flags, "-c", str(source), "-o", str(target)]))
        for each_started in started:
            each_started.result()
    for name in PROGRAMS:
        native.run_compiler([compiler, *LINK, *map(str, objects[name]), "-o", str(folder / name)])
    return {name: folder / name for name in PROGRAMS}


def is_covered(program: Program, source: Path, root: Path) -> bool:
    """Whether the edges of a source below ROOT guide a program; those of generated variants guide all or none."""
    if not program.covers:
        return True
    return source.is_relative_to(root) and str(source.relative_to(root)).startswith(program.covers)


def _is_newer(target: Path, source: Path, newest: float) -> bool:
    return target.exists() and target.stat().st_mtime > max(source.stat().st_mtime, newest)


def _cached(compiler: str) -> list[str]:
    """The compiler behind ccache, if there is one: most rebuilds change a few sources."""
    cache = shutil.which("ccache")
    return [cache, compiler] if cache else [compiler]
