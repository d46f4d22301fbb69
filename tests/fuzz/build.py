"""Builds the targets of native/ with clang's libFuzzer, AddressSanitizer and UBSan."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent / "native"
COMPILE = ["-std=c11", "-O1", "-g1", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-pthread", "-w",
           "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION"]
# Comparisons are not traced: 40 % of the time, and the seeds have the numbers of the hardware already.
CORE = ["-fsanitize=fuzzer-no-link,address,undefined", "-fno-sanitize-coverage=trace-cmp"]
LINK = ["-fsanitize=fuzzer,address,undefined", "-pthread"]

# Programs: their source below native/, and flags for it.
PROGRAMS = {"kernel": ("kernel.c", []), "machine_code": ("kernel.c", ["-DMACHINE_CODE"]), "scene": ("scene.c", []),
            "message": ("message.c", []), "decode": ("decode.c", [])}


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
    command = [*_cached(compiler), *COMPILE, *CORE, "-I", str(native.NATIVE), "-I", str(generated)]
    objects = {folder / "objects" / f"{source.relative_to(source.anchor)}.o": source for source in sources}
    stale = {target: source for target, source in objects.items() if not _is_newer(target, source, newest)}
    programs = {folder / "objects" / f"{name}.o": (HERE / source, flags) for name, (source, flags) in PROGRAMS.items()}
    with native.Compilations(len(stale) + len(programs), jobs or native.jobs()) as compilations:
        started = []
        for target, source in stale.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            started.append(compilations.start(
                source.name, native.run_compiler, [*command, "-c", str(source), "-o", str(target)]))
        for target, (source, flags) in programs.items():
            started.append(compilations.start(
                source.name, native.run_compiler, [*command, *flags, "-c", str(source), "-o", str(target)]))
        for each in started:
            each.result()
    for name in PROGRAMS:
        native.run_compiler([compiler, *LINK, str(folder / "objects" / f"{name}.o"), *map(str, objects),
                             "-o", str(folder / name)])
    return {name: folder / name for name in PROGRAMS}


def _is_newer(target: Path, source: Path, newest: float) -> bool:
    return target.exists() and target.stat().st_mtime > max(source.stat().st_mtime, newest)


def _cached(compiler: str) -> list[str]:
    """The compiler behind ccache, if there is one: most rebuilds change a few sources."""
    cache = shutil.which("ccache")
    return [cache, compiler] if cache else [compiler]
